//! A moving window over the bytes of a source, for data that must be decoded sequentially.
//!
//! Unused bytes stay, so that an incomplete element is presented again with more bytes after it. This module does not
//! interpret the bytes.

use super::bytes::Bytes;
use crate::arrays::grow_exact;
use polyhaul_model::error::Result;

/// A window of bytes that were read but not yet used.
pub struct SourceWindow {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the source of the bytes after `end`.
    next: u64,
    /// Whether the source has reported its end.
    is_over: bool,
}

impl SourceWindow {
    /// Creates a window of `size` bytes at `offset` of a source that was read up to this offset.
    pub fn new(offset: u64, size: usize) -> Result<SourceWindow> {
        let mut window = SourceWindow { bytes: Vec::new(), start: 0, end: 0, next: offset, is_over: false };
        window.grow(size)?;
        Ok(window)
    }

    fn grow(&mut self, size: usize) -> Result<()> {
        grow_exact(&mut self.bytes, size, "a part of a file")
    }

    /// Returns the unused bytes.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Returns the offset in the source of the first unused byte.
    pub fn offset(&self) -> u64 {
        self.next - (self.end - self.start) as u64
    }

    /// Marks the first `count` unused bytes as used.
    pub fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Reads more bytes after the unused bytes. Returns `false` at the end. A full window grows.
    pub fn refill(&mut self, bytes: &Bytes<'_>) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.bytes.len() {
            self.grow(2 * self.end)?;
        }
        let count = bytes.read(self.next, &mut self.bytes[self.end..])?;
        self.end += count;
        self.next += count as u64;
        self.is_over = count == 0;
        Ok(!self.is_over)
    }

    /// Reads until there are `count` unused bytes or the source ends. Returns the unused bytes.
    pub fn ensure(&mut self, count: usize, bytes: &Bytes<'_>) -> Result<&[u8]> {
        while self.rest().len() < count && self.refill(bytes)? {}
        Ok(self.rest())
    }
}
