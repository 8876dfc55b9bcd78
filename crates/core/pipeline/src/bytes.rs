//! Bytes of a source, requested by offset: read in place if the source allows it, and sequentially otherwise. This
//! module does not interpret them.

use super::read::{Extent, Garbage, check_end, failed, fill};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, DecodeAhead, Source};
use polyhaul_model::error::{Error, Result};

/// Bytes requested at first if the source may be shorter; later requests double.
const STEP_BYTES: usize = 1 << 20;

/// The bytes of a source. For a stream, each request must start where the last one ended.
pub struct Bytes<'a> {
    source: &'a Source<'static>,
    garbage: Option<&'a Garbage>,
}

impl<'a> Bytes<'a> {
    /// Wraps `source`; data after the compressed data is not an error if `garbage` is given.
    pub fn new(source: &'a Source<'static>, garbage: Option<&'a Garbage>) -> Bytes<'a> {
        Bytes { source, garbage }
    }

    /// Fills `out` from `offset`; returns the number of bytes, which is smaller only at the end.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        if self.source.is_positioned() {
            return self.source.read_at(offset, out).map_err(|error| failed(self.source, error));
        }
        fill(self.source, self.garbage, out)
    }

    /// Reads `count` bytes at `offset` into `out`, or fewer at the end. `out` grows with the data, so that a false size
    /// in a header takes no memory.
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

    /// Returns the last `max_bytes` bytes at or after `start`, and their offset. Everything before `start` has been
    /// read, and `read` are the bytes read from there.
    pub fn tail(&self, start: u64, read: &[u8], max_bytes: usize, cancel: &Cancel) -> Result<(Vec<u8>, u64)> {
        let last = self.source.len().map_or(0, |len| len.saturating_sub(max_bytes as u64));
        let mut start = if self.in_order() { start } else { start.max(last) };
        let mut tail = Vec::new();
        if self.in_order() {
            tail.try_reserve(read.len()).map_err(|_| Error::memory("the end of a file"))?;
            tail.extend_from_slice(read);
        }
        loop {
            cancel.check()?;
            let filled = tail.len();
            tail.try_reserve(BLOCK_BYTES).map_err(|_| Error::memory("the end of a file"))?;
            tail.resize(filled + BLOCK_BYTES, 0);
            let count = self.read(start + filled as u64, &mut tail[filled..])?;
            tail.truncate(filled + count);
            let excess = tail.len().saturating_sub(max_bytes);
            // A long stream is trimmed occasionally: moving bytes each time would cost more than reading them.
            if count == 0 || excess > max_bytes {
                tail.drain(..excess);
                start += excess as u64;
            }
            if count == 0 {
                return Ok((tail, start));
            }
        }
    }

    /// Reads a compressed stream to its end, because only that reveals damage. Data after the end of other streams is
    /// ignored.
    pub fn finish(&self, cancel: &Cancel) -> Result<()> {
        let is_read = self.in_order() && self.source.codec().is_some();
        if is_read { self.tail(0, &[], 0, cancel).map(drop) } else { Ok(()) }
    }

    /// Returns work for idle workers before the bytes are taken; see [`Source::ahead`].
    pub fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    /// Returns the source's name in messages.
    pub fn name(&self) -> &'a str {
        self.source.name()
    }

    /// Returns the number of bytes, if known.
    #[allow(clippy::len_without_is_empty, reason = "both are unknown for a stream")]
    pub fn len(&self) -> Option<u64> {
        self.source.len()
    }

    /// Returns whether the bytes must be read sequentially.
    pub fn in_order(&self) -> bool {
        !self.source.is_positioned()
    }

    /// Returns whether the number of bytes from [`Bytes::len`] is certain, rather than claimed by compressed data.
    pub fn is_backed(&self) -> bool {
        self.source.len().is_some() && self.source.compressed().is_none()
    }

    /// Same as [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(self.source, extent, cancel)
    }
}
