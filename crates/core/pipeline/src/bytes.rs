//! Bytes of a source by offset: random access if the source allows it, sequential reads otherwise. This module does not
//! interpret the bytes.

use super::read::{Extent, Garbage, check_end, failed, fill};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, DecodeAhead, Source};
use polyhaul_model::error::{Error, Result};

/// Size of the first request if the source may be shorter. Later requests double in size.
const STEP_BYTES: usize = 1 << 20;

/// The bytes of a source. On a stream, each request must start where the previous request ended.
pub struct Bytes<'a> {
    source: &'a Source<'static>,
    garbage: Option<&'a Garbage>,
}

impl<'a> Bytes<'a> {
    /// Wraps `source`. If `garbage` is given, data after the compressed data is not an error.
    pub fn new(source: &'a Source<'static>, garbage: Option<&'a Garbage>) -> Bytes<'a> {
        Bytes { source, garbage }
    }

    /// Fills `out` with the bytes at `offset`. Returns their number, which is less than `out.len()` only at the end.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        if self.source.is_positioned() {
            return self.source.read_at(offset, out).map_err(|error| failed(self.source, error));
        }
        fill(self.source, self.garbage, out)
    }

    /// Reads `count` bytes at `offset` into `out`, or fewer at the end. `out` grows as data arrives, so that a false
    /// size in a header does not cause a large allocation.
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

    /// Returns the last `max_bytes` bytes at or after `start`, and their offset. The caller has already read everything
    /// up to `start`, and then the bytes `read`.
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
            // Trims a long stream only occasionally: moving bytes after each read would cost more than reading them.
            if count == 0 || excess > max_bytes {
                tail.drain(..excess);
                start += excess as u64;
            }
            if count == 0 {
                return Ok((tail, start));
            }
        }
    }

    /// Reads a compressed stream to its end, because only the end reveals damage. Does nothing for other sources.
    pub fn finish(&self, cancel: &Cancel) -> Result<()> {
        let is_read = self.in_order() && self.source.codec().is_some();
        if is_read { self.tail(0, &[], 0, cancel).map(drop) } else { Ok(()) }
    }

    /// Returns work that idle workers can do before the bytes are read; see [`Source::ahead`].
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

    /// Returns whether [`Bytes::len`] is certain, not just a claim of the compressed data.
    pub fn is_backed(&self) -> bool {
        self.source.len().is_some() && self.source.compressed().is_none()
    }

    /// Same as [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(self.source, extent, cancel)
    }
}
