//! The bytes of a source one after another, as a window that moves on: for what must be decoded in order.
//!
//! What is not used up yet stays, so that whatever the decoder cannot take apart is there again with more behind it.
//! Nothing here knows what the bytes mean.

use super::bytes::Bytes;
use polyhaul_model::error::{Error, Result};

/// A part of a source.
pub struct Window {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the bytes behind `end` lie in the source.
    next: u64,
    /// Whether the source was asked for more and had nothing.
    is_over: bool,
}

impl Window {
    /// A window of `size` bytes at `offset` of a source that was read up to there.
    pub fn new(offset: u64, size: usize) -> Result<Window> {
        let mut window = Window { bytes: Vec::new(), start: 0, end: 0, next: offset, is_over: false };
        window.grow(size)?;
        Ok(window)
    }

    fn grow(&mut self, size: usize) -> Result<()> {
        let more = size.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(more).map_err(|_| Error::memory("a part of a file"))?;
        self.bytes.resize(self.bytes.len() + more, 0);
        Ok(())
    }

    /// What was read and is not used.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Where the rest begins in the source.
    pub fn offset(&self) -> u64 {
        self.next - (self.end - self.start) as u64
    }

    /// Marks the first `count` bytes of the rest as used.
    pub fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Reads more behind the rest; `false` at the end. A window that is full grows.
    pub fn refill(&mut self, bytes: &Bytes<'_>) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.bytes.len() {
            self.grow(2 * self.end)?;
        }
        let count = bytes.read(self.next, &mut self.bytes[self.end..])?;
        self.end += count;
        self.next += count as u64;
        self.is_over = count == 0;
        Ok(!self.is_over)
    }

    /// Reads on until there are `count` bytes, or all that there are.
    pub fn ensure(&mut self, count: usize, bytes: &Bytes<'_>) -> Result<&[u8]> {
        while self.rest().len() < count && self.refill(bytes)? {}
        Ok(self.rest())
    }
}
