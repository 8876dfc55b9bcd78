//! The buffer for sequential reading, which handles refills, the partial tail and the record limit.
//!
//! Even for small requests, it reads the source in blocks of at least 64 KiB, so a file of `n` bytes takes at most
//! about `n / 64 KiB` calls. It never interprets the bytes, and holds at most twice the longest record plus two blocks.
//! Parallel readers call `Source::read_at` instead.

use crate::BLOCK_BYTES;
use crate::memory::grow;
use crate::source::Source;
use polyhaul_trace::Snapshot;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Default limit on the length of a record: 64 MiB.
pub const DEFAULT_RECORD_LIMIT_BYTES: usize = 64 << 20;

/// Initial size: two minimal reads, so that a tail of up to one block still leaves space for a read.
const INITIAL_BYTES: usize = 2 * BLOCK_BYTES;

/// Reads a [`Source`] from front to back.
///
/// Calls [`Source::check_unchanged`] at the end, so a file that changes while it is read is an error.
///
/// ```
/// use polyhaul_bytes::{Buffer, Source};
///
/// # fn main() -> std::io::Result<()> {
/// let mut buffer = Buffer::new(Source::memory(b"P6\n2 1\n255\n......"));
/// assert_eq!(buffer.record(b'\n')?, Some(&b"P6\n"[..]));
/// assert_eq!(buffer.take_exact(7)?, b"2 1\n255");
/// assert_eq!(buffer.offset(), 10);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<'a> {
    source: Source<'a>,
    data: Vec<u8>,
    /// `data[start..end]` was read but not consumed.
    start: usize,
    end: usize,
    /// Offset of `data[start]` in the source, in bytes.
    offset: u64,
    record_limit_bytes: usize,
    /// The offset at which to stop in a positioned source; `None` to read up to its end.
    until: Option<u64>,
    /// Whether `data` was passed to [`Buffer::hand`] and replaces the source.
    is_handed: bool,
    ended: bool,
}

/// The error that a record, or a contiguous run of bytes, exceeds the limit of the buffer. Downcast an `io::Error` to
/// get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTooLong {
    /// The start of the record, in bytes from the start of the source.
    pub offset: u64,
    /// The limit, in bytes.
    pub limit_bytes: usize,
}

impl fmt::Display for RecordTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordTooLong { offset, limit_bytes } = self;
        write!(f, "the record at byte {offset} is longer than the limit of {limit_bytes} bytes")
    }
}

impl std::error::Error for RecordTooLong {}

impl From<RecordTooLong> for io::Error {
    fn from(error: RecordTooLong) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

impl<'a> Buffer<'a> {
    /// Creates a buffer at the start of a positioned source, or at the current position of a stream. Allocates memory
    /// at the first read.
    pub fn new(source: Source<'a>) -> Self {
        Buffer {
            source,
            data: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            record_limit_bytes: DEFAULT_RECORD_LIMIT_BYTES,
            until: None,
            is_handed: false,
            ended: false,
        }
    }

    /// Drops pending bytes and continues with `range` of a positioned source, as if the source ended at the end of the
    /// range. After [`Buffer::hand`], only seeks to the start of the range in the bytes passed to it.
    pub(crate) fn restart(&mut self, range: std::ops::Range<u64>) {
        if self.is_handed {
            self.seek_in_data(range.start);
            return;
        }
        self.start = 0;
        self.end = 0;
        self.offset = range.start;
        self.until = Some(range.end);
        self.ended = false;
    }

    /// Continues at `offset` in `bytes`, which start at offset `base`, as if the source ended after them. Does not read
    /// the source.
    pub(crate) fn hand(&mut self, bytes: Vec<u8>, base: u64, offset: u64) {
        self.start = 0;
        self.offset = base;
        self.end = bytes.len();
        self.until = Some(base + bytes.len() as u64);
        self.data = bytes;
        self.is_handed = true;
        self.seek_in_data(offset);
    }

    /// Returns the bytes passed to [`Buffer::hand`].
    pub(crate) fn give_back(&mut self) -> Vec<u8> {
        self.start = 0;
        self.end = 0;
        std::mem::take(&mut self.data)
    }

    /// Seeks to `offset`, clamped to the bytes passed to [`Buffer::hand`].
    fn seek_in_data(&mut self, offset: u64) {
        let base = self.offset - self.start as u64;
        self.start = usize::try_from(offset.saturating_sub(base)).map_or(self.end, |start| start.min(self.end));
        self.offset = base + self.start as u64;
    }

    /// Returns the offset of the end, if known.
    pub(crate) fn len(&self) -> Option<u64> {
        self.until.or_else(|| self.source.len())
    }

    /// Reads until at least `count` bytes are pending or the source ends. Pending bytes may move.
    ///
    /// # Errors
    /// As for [`Buffer::fill_more`].
    #[inline]
    pub(crate) fn ensure(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.pending().len() < count && self.fill_more()? {}
        Ok(self.pending())
    }

    /// Sets the limit on the length of a record in bytes, including its terminator.
    #[must_use]
    pub fn with_record_limit(mut self, limit_bytes: usize) -> Self {
        self.record_limit_bytes = limit_bytes;
        self
    }

    /// Returns the underlying source.
    pub fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Returns the source's counters so far.
    pub fn snapshot(&self) -> Snapshot {
        self.source.counters().snapshot()
    }

    /// Returns the offset of the next unconsumed byte.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes that were read but not consumed, without reading.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Consumes the first `count` pending bytes, or all if there are fewer.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Appends more bytes to the pending ones with a single read. Returns `false` at the end. Pending bytes may move,
    /// so call [`Buffer::pending`] again.
    ///
    /// # Errors
    /// [`RecordTooLong`] if more bytes than the limit are already pending; errors of the source; `OutOfMemory`.
    pub fn fill_more(&mut self) -> io::Result<bool> {
        self.check_record(self.pending().len())?;
        let next_bytes = self.next_bytes();
        if next_bytes > 0 {
            self.make_room(next_bytes)?;
            let offset = self.offset + self.pending().len() as u64;
            let read_end = self.read_end(offset);
            let count = self.source.read_some(offset, &mut self.data[self.end..read_end])?;
            self.end += count;
            if count > 0 {
                return Ok(true);
            }
        }
        self.meet_end()?;
        Ok(false)
    }

    /// Returns the next record up to and including `end_mark`, without a copy. The last record may lack the mark.
    /// Returns `None` at the end.
    ///
    /// # Errors
    /// As for [`Buffer::fill_more`]; on an error, nothing is consumed.
    pub fn record(&mut self, end_mark: u8) -> io::Result<Option<&[u8]>> {
        let mut scanned = 0;
        let count = loop {
            let fresh = &self.pending()[scanned..];
            if let Some(i) = fresh.iter().position(|&byte| byte == end_mark) {
                break scanned + i + 1;
            }
            scanned = self.pending().len();
            if !self.fill_more()? {
                break scanned;
            }
        };
        self.check_record(count)?;
        Ok(if count == 0 { None } else { Some(self.advance(count)) })
    }

    /// Returns the next `count` bytes as one slice, without a copy.
    ///
    /// # Errors
    /// `UnexpectedEof` if there are fewer bytes, with nothing consumed; [`RecordTooLong`] if `count` exceeds the limit;
    /// otherwise as for [`Buffer::fill_more`].
    #[inline]
    pub fn take_exact(&mut self, count: usize) -> io::Result<&[u8]> {
        self.check_record(count)?;
        while self.pending().len() < count {
            if !self.fill_more()? {
                return Err(self.too_short(count as u64, self.pending().len() as u64));
            }
        }
        Ok(self.advance(count))
    }

    /// Skips `count` bytes, without reading them if the source is positioned.
    ///
    /// # Errors
    /// `UnexpectedEof` if there are fewer bytes; otherwise as for [`Buffer::fill_more`].
    pub fn skip(&mut self, count: u64) -> io::Result<()> {
        if let Some(len) = self.len() {
            let left_count = len.saturating_sub(self.offset);
            if count > left_count {
                return Err(self.too_short(count, left_count));
            }
        }
        let mut left_count = count;
        loop {
            let pending_count = usize::try_from(left_count).unwrap_or(usize::MAX);
            let pending_count = pending_count.min(self.pending().len());
            self.consume(pending_count);
            left_count -= pending_count as u64;
            if left_count == 0 {
                return Ok(());
            }
            if self.source.is_positioned() {
                self.offset += left_count;
                return Ok(());
            }
            if !self.fill_more()? {
                return Err(self.too_short(count, count - left_count));
            }
        }
    }

    #[inline]
    fn advance(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        &self.data[start..start + count]
    }

    fn check_record(&self, count: usize) -> io::Result<()> {
        if count <= self.record_limit_bytes {
            return Ok(());
        }
        Err(RecordTooLong { offset: self.offset, limit_bytes: self.record_limit_bytes }.into())
    }

    fn too_short(&self, requested: u64, available: u64) -> io::Error {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("unexpected end of data: expected {requested} bytes, found {available}"),
        )
    }

    /// Returns the minimum space for the next read: a block, or fewer bytes if the source is known to end earlier.
    fn next_bytes(&self) -> usize {
        let Some(len) = self.len() else {
            return if self.ended { 0 } else { BLOCK_BYTES };
        };
        let read = self.offset + self.pending().len() as u64;
        usize::try_from(len.saturating_sub(read)).map_or(BLOCK_BYTES, |rest| rest.min(BLOCK_BYTES))
    }

    /// Returns the index in `data` up to which a read at `offset` may fill it.
    fn read_end(&self, offset: u64) -> usize {
        let left_count = self.until.map_or(u64::MAX, |until| until.saturating_sub(offset));
        let free_count = self.data.len() - self.end;
        self.end + usize::try_from(left_count).map_or(free_count, |left| left.min(free_count))
    }

    /// Makes room for `count` bytes after `end`. A full buffer doubles, so that moving the tail takes linear time
    /// overall.
    fn make_room(&mut self, count: usize) -> io::Result<()> {
        if self.data.len() - self.end >= count {
            return Ok(());
        }
        self.data.copy_within(self.start..self.end, 0);
        let pending = self.end - self.start;
        self.start = 0;
        self.end = pending;
        let is_tail = count < BLOCK_BYTES;
        let room = self.data.len() - pending;
        if room >= count && (is_tail || room >= self.data.len() / 2) {
            return Ok(());
        }
        let len = if is_tail { pending + count } else { pending.max(INITIAL_BYTES) + pending };
        grow(&mut self.data, len)
    }

    /// Called if no bytes are pending. If `out` has room for a block, reads directly into `out` and returns the number
    /// of bytes. Otherwise, and at the end, refills the buffer and returns `None`.
    #[inline(never)]
    fn refill_for(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        if out.len() >= BLOCK_BYTES && self.next_bytes() > 0 {
            let count = self.source.read_some(self.offset, out)?;
            self.offset += count as u64;
            if count > 0 {
                return Ok(Some(count));
            }
        }
        self.fill_more()?;
        Ok(None)
    }

    fn meet_end(&mut self) -> io::Result<()> {
        if !self.ended {
            if self.until.is_none() {
                self.source.check_unchanged()?;
            }
            self.ended = true;
        }
        Ok(())
    }
}

impl Read for Buffer<'_> {
    // Inlined without the refill, for callers that read a few bytes at a time.
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end
            && let Some(count) = self.refill_for(out)?
        {
            return Ok(count);
        }
        let pending = self.pending();
        let count = pending.len().min(out.len());
        out[..count].copy_from_slice(&pending[..count]);
        Buffer::consume(self, count);
        Ok(count)
    }
}

impl BufRead for Buffer<'_> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.pending().is_empty() {
            self.fill_more()?;
        }
        Ok(self.pending())
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        Buffer::consume(self, count);
    }
}

impl fmt::Debug for Buffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("source", &self.source)
            .field("offset", &self.offset)
            .field("pending", &self.pending().len())
            .finish_non_exhaustive()
    }
}
