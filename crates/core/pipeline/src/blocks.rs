//! Cuts the bytes of a source into blocks of equal size, for fixed-size records.
//!
//! Workers read their blocks of a positioned source independently; a stream is read sequentially. If a stream fails,
//! the data before the error is delivered first. For text, see [`super::chunk`].

use super::read::{Extent, Garbage, buffer, check_end, failed, read_part};
use crate::arrays::grow_exact;
use crate::options::Cancel;
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// The source that formats read from.
pub use polyhaul_bytes::Source;

/// A source, cut into blocks.
pub struct Blocks<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    /// Offset of the first block.
    start: u64,
    block_bytes: usize,
    stream: Mutex<BlockStream>,
}

/// State of a stream.
#[derive(Default)]
struct BlockStream {
    /// Whether the bytes before the first block were read.
    has_started: bool,
    ended: bool,
    failed: Option<Error>,
}

/// A block in flight.
#[derive(Default)]
pub struct Block {
    bytes: Vec<u8>,
    len: usize,
}

impl Block {
    /// Returns the bytes: a full block, except at the end of the source.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<'a> Blocks<'a> {
    /// Cuts `source` into blocks of `block_bytes` bytes, starting at offset `start`.
    pub fn new(source: Source<'a>, garbage: Option<Garbage>, start: u64, block_bytes: usize) -> Self {
        Blocks { source, garbage, start, block_bytes: block_bytes.max(1), stream: Mutex::default() }
    }

    /// Returns work that idle workers can do before the bytes are taken; see [`Source::ahead`].
    pub fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    /// Returns whether blocks must be taken sequentially.
    pub fn in_order(&self) -> bool {
        !self.source.is_positioned()
    }

    /// Reads a stream to its end, then calls [`check_end`].
    pub fn finish(&self, cancel: &Cancel) -> Result<()> {
        if self.in_order() {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = buffer(self.block_bytes)?;
            while self.fill(&mut rest, &mut stream) > 0 {
                cancel.check()?;
            }
            if let Some(error) = stream.failed.take() {
                return Err(error);
            }
        }
        check_end(&self.source, Extent::Whole, cancel)
    }

    /// Fills `block` with block `number`. Returns `false` if there is no such block.
    pub fn take(&self, number: u64, block: &mut Block) -> Result<bool> {
        grow_exact(&mut block.bytes, self.block_bytes, "a block of bytes")?;
        block.len = if self.in_order() {
            self.take_next(&mut block.bytes)?
        } else {
            let offset = self.start.saturating_add(number.saturating_mul(self.block_bytes as u64));
            self.source.read_at(offset, &mut block.bytes).map_err(|e| failed(&self.source, e))?
        };
        Ok(block.len > 0)
    }

    fn take_next(&self, bytes: &mut [u8]) -> Result<usize> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if !stream.has_started {
            stream.has_started = true;
            let mut left = self.start;
            while left > 0 && !stream.ended {
                let part = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                left -= self.fill(&mut bytes[..part], &mut stream) as u64;
            }
        }
        let len = self.fill(bytes, &mut stream);
        match stream.failed.take_if(|_| len == 0) {
            Some(error) => Err(error),
            None => Ok(len),
        }
    }

    /// Reads from a stream until `out` is full, or the stream ended or failed.
    fn fill(&self, out: &mut [u8], stream: &mut BlockStream) -> usize {
        let mut filled = 0;
        while filled < out.len() && !stream.ended {
            match read_part(&self.source, self.garbage.as_ref(), &mut out[filled..]) {
                Ok(0) => stream.ended = true,
                Ok(count) => filled += count,
                Err(error) => {
                    stream.ended = true;
                    stream.failed = Some(error);
                }
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_same_from_files_and_streams() {
        let bytes: Vec<u8> = (0..100).collect();
        for (start, size) in [(0, 7), (9, 10), (99, 3), (100, 5), (200, 5)] {
            let sources = [Source::memory(bytes.clone()), Source::reader(Box::new(&bytes[..]), "test")];
            for source in sources {
                let blocks = Blocks::new(source, None, start, size);
                let mut block = Block::default();
                let mut joined = Vec::new();
                for number in 0.. {
                    if !blocks.take(number, &mut block).unwrap() {
                        break;
                    }
                    assert!(block.bytes().len() == size || joined.len() + block.bytes().len() + start as usize == 100);
                    joined.extend_from_slice(block.bytes());
                }
                assert_eq!(joined, bytes.get(start as usize..).unwrap_or_default(), "{start} {size}");
            }
        }
    }
}
