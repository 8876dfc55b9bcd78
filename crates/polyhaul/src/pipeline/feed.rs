//! The bytes of a source in order, for formats whose bytes are no lines: looked at, taken, given back.
//!
//! What comes before an error of the source has its turn first: the error waits until all of it was taken. A positioned
//! source may be read at any place beside that. Text is cut by [`super::chunk`].

use super::chunk::TextChunks;
use super::read::{Extent, Garbage, buffer, check_end, failed, read_part};
use crate::error::{Error, Result};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, Source};
use std::sync::Arc;

/// A source, and how far it was read in order.
pub(crate) struct Feed<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    name: Arc<str>,
    /// What was read; from `start` on nobody took it.
    carry: Vec<u8>,
    start: usize,
    /// Where the source is read on: the end of `carry`.
    offset: u64,
    ended: bool,
    /// Why it ended, where it should not have.
    failed: Option<Error>,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(source: Source<'a>, garbage: Option<Garbage>) -> Feed<'a> {
        let name = source.name().into();
        Feed { source, garbage, name, carry: Vec::new(), start: 0, offset: 0, ended: false, failed: None }
    }

    /// The size in bytes, where that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.source.len()
    }

    /// Where the next byte that nobody took lies.
    pub(crate) fn at(&self) -> u64 {
        self.offset - (self.carry.len() - self.start) as u64
    }

    /// Reads on until `out` is full, or the source ended or failed; returns how much that is.
    fn fill(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            let part = &mut out[filled..];
            let wanted = part.len();
            let read = match self.source.is_positioned() {
                true => self.source.read_at(self.offset, part).map_err(|error| failed(&self.source, error)),
                false => read_part(&self.source, self.garbage.as_ref(), part),
            };
            match read {
                Ok(count) => {
                    filled += count;
                    self.offset += count as u64;
                    self.ended = count == 0 || self.source.is_positioned() && count < wanted;
                }
                Err(error) => (self.ended, self.failed) = (true, Some(error)),
            }
        }
        filled
    }

    /// Whether there is nothing more to take: the end, or an error.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.start == self.carry.len()
    }

    /// Takes bytes into `out` until it is full, or the source ended or failed; returns how many.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> usize {
        let pending = &self.carry[self.start..];
        let count = pending.len().min(out.len());
        out[..count].copy_from_slice(&pending[..count]);
        self.start += count;
        count + self.fill(&mut out[count..])
    }

    /// Gives back the last bytes that were taken.
    pub(crate) fn put_back(&mut self, rest: &[u8]) -> Result<()> {
        if self.start < self.carry.len() {
            // All that was taken came from here. Copying what is left for each of many small elements would take long.
            self.start -= rest.len();
            return Ok(());
        }
        self.carry.clear();
        self.start = 0;
        self.carry.try_reserve(rest.len()).map_err(|_| Error::memory("a row"))?;
        self.carry.extend_from_slice(rest);
        Ok(())
    }

    /// Goes on at `offset` of a positioned source.
    pub(crate) fn seek(&mut self, offset: u64) {
        self.carry.clear();
        self.start = 0;
        (self.offset, self.ended, self.failed) = (offset, false, None);
    }

    /// What messages call the source.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether any place can be read.
    pub(crate) fn is_positioned(&self) -> bool {
        self.source.is_positioned()
    }

    /// Reads a positioned source at a place, until `out` is full or the end is met.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.source.read_at(offset, out).map_err(|error| failed(&self.source, error))
    }

    /// The error, once all that came before it was taken.
    pub(crate) fn failed(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Reads on without taking anything: all that nobody took, and whether that is all there is. It at least doubles
    /// with each call until then; after that there is an error, if there was one.
    pub(crate) fn look_further(&mut self) -> Result<(&[u8], bool)> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let have = self.carry.len();
        let room = self.size().map_or(u64::MAX, |size| size.saturating_sub(self.offset));
        // A small file takes no more than it has.
        let step = usize::try_from(room).map_or(usize::MAX, |room| room.saturating_add(1)).min(have.max(BLOCK_BYTES));
        self.carry.try_reserve(step).map_err(|_| Error::memory("the header"))?;
        let mut carry = std::mem::take(&mut self.carry);
        carry.resize(have + step, 0);
        let count = self.fill(&mut carry[have..]);
        carry.truncate(have + count);
        self.carry = carry;
        Ok((&self.carry[self.start..], self.ended && self.failed.is_none()))
    }

    /// The whole source as text, what was looked at included.
    pub(crate) fn into_text(self) -> TextChunks<'a> {
        TextChunks::new(self.source).tolerant(self.garbage).begun(self.carry)
    }

    /// Leaves out the first `count` bytes, which were looked at.
    pub(crate) fn skip(&mut self, count: u64) {
        if self.is_positioned() {
            return self.seek(self.at() + count);
        }
        let pending = self.carry.len() - self.start;
        self.start += usize::try_from(count).map_or(pending, |count| count.min(pending));
    }

    /// As [`check_end`].
    pub(crate) fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(&self.source, extent, cancel)
    }

    /// Reads what is left, for nobody; returns how much that was.
    pub(crate) fn drain(&mut self) -> Result<u64> {
        let from = self.at();
        (self.carry, self.start) = (Vec::new(), 0);
        if let Some(size) = self.size().filter(|_| self.source.is_positioned()) {
            return Ok(size.saturating_sub(from));
        }
        let mut block = buffer(BLOCK_BYTES)?;
        while self.fill(&mut block) > 0 {}
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.offset - from),
        }
    }
}
