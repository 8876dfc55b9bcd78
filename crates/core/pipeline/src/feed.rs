//! Bytes of a source in order, for formats that are not line-based: they can be peeked at, taken and put back.
//!
//! If the source fails, the bytes before the error are delivered first. A positioned source can also be read at any
//! offset. [`super::chunk`] cuts text.

use super::chunk::TextChunks;
use super::read::{Extent, Garbage, buffer, check_end, failed, read_part};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, Source};
use polyhaul_model::error::{Error, Result};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A function that reads a source at an offset.
type ReadAt<'a> = fn(&Source<'a>, u64, &mut [u8]) -> io::Result<usize>;

/// A source, and how far it was read in order.
pub struct Feed<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    name: Arc<str>,
    /// Bytes that were read; those from `start` on have not been taken.
    carry: Vec<u8>,
    start: usize,
    /// Offset of the next read: the end of `carry`.
    offset: u64,
    ended: bool,
    /// The error that ended it, if any.
    failed: Option<Error>,
    /// Parts of a positioned source that were read ahead, in order.
    ahead: VecDeque<Part>,
}

/// Bytes of a source, with their offset.
pub struct Part {
    /// Offset of the bytes in the source.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Part {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl<'a> Feed<'a> {
    /// Creates a feed of all bytes of `source`; `garbage` records data after the compressed data.
    pub fn new(source: Source<'a>, garbage: Option<Garbage>) -> Feed<'a> {
        let name = source.name().into();
        let (carry, ahead) = (Vec::new(), VecDeque::new());
        Feed { source, garbage, name, carry, start: 0, offset: 0, ended: false, failed: None, ahead }
    }

    /// Returns a feed of the same source, from its beginning.
    pub fn again(&self) -> Feed<'a> {
        Feed::new(self.source.clone(), self.garbage.clone())
    }

    /// The source itself.
    pub fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Returns the size in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.source.len()
    }

    /// Returns the offset of the next byte to take.
    pub fn at(&self) -> u64 {
        self.offset - (self.carry.len() - self.start) as u64
    }

    /// Reads until `out` is full or the source ends or fails; returns how many bytes were read.
    fn fill(&mut self, out: &mut [u8]) -> usize {
        self.fill_by(out, Source::read_at)
    }

    /// Reads on with `read`, where any place can be read.
    fn fill_by(&mut self, out: &mut [u8], read: ReadAt<'a>) -> usize {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            let part = &mut out[filled..];
            let wanted = part.len();
            let read = if self.source.is_positioned() {
                self.read_by(self.offset, part, read)
            } else {
                read_part(&self.source, self.garbage.as_ref(), part)
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
        self.forget_passed();
        filled
    }

    /// Reads at an offset until `out` is full or the source ends: bytes that were read before come from memory, the
    /// others from `read`.
    fn read_by(&self, offset: u64, out: &mut [u8], read: ReadAt<'a>) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let at = offset + filled as u64;
            let part = &mut out[filled..];
            let known = self.known(at);
            if !known.is_empty() {
                let count = known.len().min(part.len());
                part[..count].copy_from_slice(&known[..count]);
                filled += count;
                continue;
            }
            let next = self.ahead.iter().map(|ahead| ahead.offset).find(|&next| next > at).unwrap_or(u64::MAX);
            let wanted = usize::try_from(next - at).map_or(part.len(), |gap| gap.min(part.len()));
            let count = read(&self.source, at, &mut part[..wanted]).map_err(|error| failed(&self.source, error))?;
            filled += count;
            if count < wanted {
                break;
            }
        }
        Ok(filled)
    }

    /// What was read from `at` on and nobody took.
    fn known(&self, at: u64) -> &[u8] {
        fn behind(bytes: &[u8], begin: u64, at: u64) -> Option<&[u8]> {
            let rest = bytes.get(usize::try_from(at.checked_sub(begin)?).ok()?..)?;
            (!rest.is_empty()).then_some(rest)
        }
        let pending = self.carry.get(self.start..).unwrap_or_default();
        let pending = behind(pending, self.offset - pending.len() as u64, at);
        pending.or_else(|| self.ahead.iter().find_map(|part| behind(&part.bytes, part.offset, at))).unwrap_or_default()
    }

    /// Takes back parts of a positioned source that were read ahead.
    pub fn keep(&mut self, parts: Vec<Part>) {
        self.ahead.extend(parts);
        self.ahead.make_contiguous().sort_by_key(|part| part.offset);
        self.forget_passed();
    }

    /// Drops parts that were read ahead and have been passed.
    fn forget_passed(&mut self) {
        let at = self.offset;
        while self.ahead.front().is_some_and(|part| part.end() <= at) {
            self.ahead.pop_front();
        }
    }

    /// Returns whether everything was taken, up to the end or an error.
    pub fn is_over(&self) -> bool {
        self.ended && self.start == self.carry.len()
    }

    /// Takes bytes into `out` until it is full or the source ends or fails; returns how many.
    pub fn take(&mut self, out: &mut [u8]) -> usize {
        let pending = &self.carry[self.start..];
        let count = pending.len().min(out.len());
        out[..count].copy_from_slice(&pending[..count]);
        self.start += count;
        count + self.fill(&mut out[count..])
    }

    /// Puts back the last bytes that were taken.
    pub fn put_back(&mut self, rest: &[u8]) -> Result<()> {
        if self.start < self.carry.len() {
            // All bytes taken came from here. Copying the rest for each of many small elements would take long.
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
    pub fn seek(&mut self, offset: u64) {
        self.carry.clear();
        self.start = 0;
        (self.offset, self.ended, self.failed) = (offset, false, None);
        self.forget_passed();
    }

    /// Returns the source's name in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether any place can be read.
    pub fn is_positioned(&self) -> bool {
        self.source.is_positioned()
    }

    /// Reads a positioned source at a place, until `out` is full or the end is met.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.read_by(offset, out, Source::read_at)
    }

    /// Same as [`Feed::read_at`], for bytes that will be read once more, then from memory.
    pub fn peek_at(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.read_by(offset, out, Source::peek_at)
    }

    /// Returns the range of piece `number`; see [`Source::piece`].
    pub fn piece(&self, number: u64) -> Option<Range<u64>> {
        self.source.piece(number)
    }

    /// Returns the size of a piece; see [`Source::piece_bytes`].
    pub fn piece_bytes(&self) -> Option<usize> {
        self.source.piece_bytes()
    }

    /// The error, once all that came before it was taken.
    pub fn failed(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Reads ahead without taking anything; returns all bytes not taken, and whether these are all. They at least
    /// double with each call until then; after that, an error is returned if there was one.
    pub fn look_further(&mut self) -> Result<(&[u8], bool)> {
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
        let count = self.fill_by(&mut carry[have..], Source::peek_at);
        carry.truncate(have + count);
        self.carry = carry;
        Ok((&self.carry[self.start..], self.ended && self.failed.is_none()))
    }

    /// Returns the whole source as text, including the bytes that were peeked at.
    pub fn into_text(self) -> TextChunks<'a> {
        TextChunks::new(self.source).tolerant(self.garbage).begun(self.carry)
    }

    /// Leaves out the first `count` bytes, which were looked at.
    pub fn skip(&mut self, count: u64) {
        if self.is_positioned() {
            return self.seek(self.at() + count);
        }
        let pending = self.carry.len() - self.start;
        self.start += usize::try_from(count).map_or(pending, |count| count.min(pending));
    }

    /// Same as [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(&self.source, extent, cancel)
    }

    /// Reads and discards the rest; returns its size.
    pub fn drain(&mut self) -> Result<u64> {
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
