//! Bytes of a source that parts are asked of by their place: read there where the source can, and one after another
//! where it cannot. Nothing here knows what they mean.

use super::read::{Extent, Garbage, check_end, failed, fill};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, Source};
use polyhaul_model::error::{Error, Result};

/// How much is asked for at once of what may not be there.
const STEP_BYTES: usize = 1 << 20;

/// The bytes of a source. Of a stream each part must be asked for where the last one ended.
pub struct Bytes<'a> {
    source: &'a Source<'static>,
    garbage: Option<&'a Garbage>,
}

impl<'a> Bytes<'a> {
    /// The bytes of `source`; what follows compressed data is no error where `garbage` is.
    pub fn new(source: &'a Source<'static>, garbage: Option<&'a Garbage>) -> Bytes<'a> {
        Bytes { source, garbage }
    }

    /// Fills `out` with what is at `offset`; returns how much there was.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        if self.source.is_positioned() {
            return self.source.read_at(offset, out).map_err(|error| failed(self.source, error));
        }
        fill(self.source, self.garbage, out)
    }

    /// Reads `count` bytes at `offset` into `out`, or all that there are. It grows as they come: a header's claim alone
    /// takes no memory.
    pub fn read_as_claimed(&self, offset: u64, count: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut filled = 0;
        while filled < count {
            let end = count.min(STEP_BYTES.max(2 * filled));
            out.try_reserve_exact(end.saturating_sub(out.len())).map_err(|_| Error::memory("a part of a file"))?;
            if out.len() < end {
                out.resize(end, 0);
            }
            filled += self.read(offset + filled as u64, &mut out[filled..end])?;
            if filled < end {
                break;
            }
        }
        out.truncate(filled);
        Ok(())
    }

    /// The last `most` bytes of those from `begin` on, and where they begin. All before was read, and `read` behind it.
    pub fn tail(&self, begin: u64, read: &[u8], most: usize, cancel: &Cancel) -> Result<(Vec<u8>, u64)> {
        let last = self.source.len().map_or(0, |len| len.saturating_sub(most as u64));
        let mut begin = if self.in_order() { begin } else { begin.max(last) };
        let mut tail = Vec::new();
        if self.in_order() {
            tail.try_reserve(read.len()).map_err(|_| Error::memory("the end of a file"))?;
            tail.extend_from_slice(read);
        }
        loop {
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            let known = tail.len();
            tail.try_reserve(BLOCK_BYTES).map_err(|_| Error::memory("the end of a file"))?;
            tail.resize(known + BLOCK_BYTES, 0);
            let count = self.read(begin + known as u64, &mut tail[known..])?;
            tail.truncate(known + count);
            let beyond = tail.len().saturating_sub(most);
            // Of a long stream now and then: moving bytes each time would cost more than reading them.
            if count == 0 || beyond > most {
                tail.drain(..beyond);
                begin += beyond as u64;
            }
            if count == 0 {
                return Ok((tail, begin));
            }
        }
    }

    /// Goes to the end of compressed data that is read as a stream: only there damage shows. What follows in another
    /// stream is nobody's business.
    pub fn finish(&self, cancel: &Cancel) -> Result<()> {
        let is_read = self.in_order() && self.source.codec().is_some();
        if is_read { self.tail(0, &[], 0, cancel).map(drop) } else { Ok(()) }
    }

    /// What messages call the source.
    pub fn name(&self) -> &'a str {
        self.source.name()
    }

    /// How many there are, where that is known.
    #[allow(clippy::len_without_is_empty, reason = "of a stream neither is known")]
    pub fn len(&self) -> Option<u64> {
        self.source.len()
    }

    /// Whether they must be read one after another.
    pub fn in_order(&self) -> bool {
        !self.source.is_positioned()
    }

    /// Whether as many as [`Bytes::len`] says are there without doubt: that is no claim of compressed data.
    pub fn is_backed(&self) -> bool {
        self.source.len().is_some() && self.source.compressed().is_none()
    }

    /// As [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(self.source, extent, cancel)
    }
}
