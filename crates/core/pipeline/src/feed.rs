//! Bytes of a source in order, for formats that are not line-based. They can be peeked at, taken and put back.
//!
//! If the source fails, the bytes before the error are delivered first. A positioned source can also be read at any
//! offset. For text, see [`super::chunk`].

use super::chunk::TextChunks;
use super::read::{Extent, Garbage, buffer, check_end, failed, kept, read_part};
use crate::options::Cancel;
use polyhaul_bytes::{BLOCK_BYTES, Source};
use polyhaul_model::error::{Error, Result};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A function that reads a source at an offset.
type ReadAt<'a> = fn(&Source<'a>, u64, &mut [u8]) -> io::Result<usize>;

/// A source and its position in sequential reading.
pub struct Feed<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    name: Arc<str>,
    /// Buffered bytes. The bytes from `start` on have not been taken.
    carry: Vec<u8>,
    start: usize,
    /// Offset of the next read: the end of `carry`.
    offset: u64,
    ended: bool,
    /// The error that ended the source, if any.
    failed: Option<Error>,
    /// Parts of a positioned source that were read ahead, in order of offset.
    ahead: VecDeque<FeedPart>,
}

/// Bytes of a source, with their offset.
pub struct FeedPart {
    /// Offset of the bytes in the source.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl FeedPart {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl<'a> Feed<'a> {
    /// Creates a feed of `source`. `garbage` records data after the compressed data.
    pub fn new(source: Source<'a>, garbage: Option<Garbage>) -> Feed<'a> {
        let name = source.name().into();
        Feed {
            source,
            garbage,
            name,
            carry: Vec::new(),
            start: 0,
            offset: 0,
            ended: false,
            failed: None,
            ahead: VecDeque::new(),
        }
    }

    /// Restarts the feed from memory if its source is a short stream; see [`kept`].
    ///
    /// # Errors
    /// Errors of reading the stream.
    pub fn kept(self) -> Result<Feed<'a>> {
        let source = kept(self.source, self.garbage.as_ref())?;
        Ok(Feed::new(source, self.garbage))
    }

    /// Returns a new feed that starts at the beginning of the same source.
    pub fn again(&self) -> Feed<'a> {
        Feed::new(self.source.clone(), self.garbage.clone())
    }

    /// Returns the source.
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

    /// Reads until `out` is full or the source ends or fails. Returns the number of bytes.
    fn fill(&mut self, out: &mut [u8]) -> usize {
        self.fill_by(out, Source::read_at)
    }

    /// Same as [`Feed::fill`], but reads a positioned source with `read`.
    fn fill_by(&mut self, out: &mut [u8], read: ReadAt<'a>) -> usize {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            let part = &mut out[filled..];
            let part_len = part.len();
            let read = if self.source.is_positioned() {
                self.read_by(self.offset, part, read)
            } else {
                read_part(&self.source, self.garbage.as_ref(), part)
            };
            match read {
                Ok(count) => {
                    filled += count;
                    self.offset += count as u64;
                    self.ended = count == 0 || self.source.is_positioned() && count < part_len;
                }
                Err(error) => {
                    self.ended = true;
                    self.failed = Some(error);
                }
            }
        }
        self.forget_passed();
        filled
    }

    /// Reads at an offset until `out` is full or the source ends, from buffered bytes if possible and with `read`
    /// otherwise.
    fn read_by(&self, offset: u64, out: &mut [u8], read: ReadAt<'a>) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let at = offset + filled as u64;
            let part = &mut out[filled..];
            let buffered = self.buffered(at);
            if !buffered.is_empty() {
                let count = buffered.len().min(part.len());
                part[..count].copy_from_slice(&buffered[..count]);
                filled += count;
                continue;
            }
            let next = self.ahead.iter().map(|ahead| ahead.offset).find(|&next| next > at).unwrap_or(u64::MAX);
            let missing = usize::try_from(next - at).map_or(part.len(), |gap| gap.min(part.len()));
            let count = read(&self.source, at, &mut part[..missing]).map_err(|error| failed(&self.source, error))?;
            filled += count;
            if count < missing {
                break;
            }
        }
        Ok(filled)
    }

    /// Returns the buffered bytes that start at `at` and have not been taken.
    fn buffered(&self, at: u64) -> &[u8] {
        fn rest_at(bytes: &[u8], start: u64, at: u64) -> Option<&[u8]> {
            let rest = bytes.get(usize::try_from(at.checked_sub(start)?).ok()?..)?;
            (!rest.is_empty()).then_some(rest)
        }
        let pending = self.carry.get(self.start..).unwrap_or_default();
        let pending = rest_at(pending, self.offset - pending.len() as u64, at);
        pending.or_else(|| self.ahead.iter().find_map(|part| rest_at(&part.bytes, part.offset, at))).unwrap_or_default()
    }

    /// Stores parts of a positioned source that were read ahead.
    pub fn keep(&mut self, parts: Vec<FeedPart>) {
        self.ahead.extend(parts);
        self.ahead.make_contiguous().sort_by_key(|part| part.offset);
        self.forget_passed();
    }

    /// Drops parts that end at or before the current offset.
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

    /// Takes bytes into `out` until it is full or the source ends or fails. Returns the number of bytes.
    pub fn take(&mut self, out: &mut [u8]) -> usize {
        let pending = &self.carry[self.start..];
        let count = pending.len().min(out.len());
        out[..count].copy_from_slice(&pending[..count]);
        self.start += count;
        count + self.fill(&mut out[count..])
    }

    /// Puts back `rest`, the last bytes taken.
    pub fn put_back(&mut self, rest: &[u8]) -> Result<()> {
        if self.start < self.carry.len() {
            // All bytes taken came from `carry`. Copying the rest for each of many small elements would be slow.
            self.start -= rest.len();
            return Ok(());
        }
        self.carry.clear();
        self.start = 0;
        self.carry.try_reserve(rest.len()).map_err(|_| Error::memory("a row"))?;
        self.carry.extend_from_slice(rest);
        Ok(())
    }

    /// Seeks to `offset` of a positioned source.
    pub fn seek(&mut self, offset: u64) {
        self.carry.clear();
        self.start = 0;
        self.offset = offset;
        self.ended = false;
        self.failed = None;
        self.forget_passed();
    }

    /// Returns the source's name in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns whether the source can be read at any offset.
    pub fn is_positioned(&self) -> bool {
        self.source.is_positioned()
    }

    /// Reads a positioned source at an offset, until `out` is full or the source ends.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.read_by(offset, out, Source::read_at)
    }

    /// Same as [`Feed::read_at`], for bytes that will be read again: the source buffers them until then.
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

    /// Takes the error of the source, if any. Call it after all bytes before the error were taken.
    pub fn failed(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Reads ahead without taking bytes. Returns all bytes that have not been taken, and whether the source ends after
    /// them. Until the end, each call at least doubles the number of these bytes. A further call returns the source's
    /// error, if any.
    pub fn look_further(&mut self) -> Result<(&[u8], bool)> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let filled = self.carry.len();
        let room = self.size().map_or(u64::MAX, |size| size.saturating_sub(self.offset));
        // For a small file, allocates no more than it needs.
        let step = usize::try_from(room).map_or(usize::MAX, |room| room.saturating_add(1)).min(filled.max(BLOCK_BYTES));
        self.carry.try_reserve(step).map_err(|_| Error::memory("the header"))?;
        let mut carry = std::mem::take(&mut self.carry);
        carry.resize(filled + step, 0);
        let count = self.fill_by(&mut carry[filled..], Source::peek_at);
        carry.truncate(filled + count);
        self.carry = carry;
        Ok((&self.carry[self.start..], self.ended && self.failed.is_none()))
    }

    /// Returns the whole source as text, including the bytes peeked at.
    pub fn into_text(self) -> TextChunks<'a> {
        TextChunks::new(self.source).tolerant(self.garbage).continued_after(self.carry)
    }

    /// Skips the next `count` bytes, which must have been peeked at.
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

    /// Skips the rest, or reads and discards it if the source is a stream. Returns the size of the rest.
    pub fn drain(&mut self) -> Result<u64> {
        let start = self.at();
        self.carry = Vec::new();
        self.start = 0;
        if let Some(size) = self.size().filter(|_| self.source.is_positioned()) {
            return Ok(size.saturating_sub(start));
        }
        let mut block = buffer(BLOCK_BYTES)?;
        while self.fill(&mut block) > 0 {}
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.offset - start),
        }
    }
}
