//! Adapts a source to the standard reader traits, for third-party decoders.
//!
//! Decoders request bytes in any size, even one at a time; the source is read in large blocks, in order. Decoders
//! convert or drop errors, so this module keeps the source's error, which takes precedence. This module does not
//! interpret the bytes.

use super::bytes::Bytes;
use super::read::Extent;
use crate::arrays::grow_exact;
use crate::options::RunOptions;
use polyhaul_model::error::{Error, Result};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of bytes to read at a time. It determines how much a decoder sees per call, and with that its messages
/// about damage, so no option changes it.
const CHUNK_BYTES: usize = 256 << 10;
/// Number of bytes by which a decoder can always seek back.
const KEPT_BYTES: usize = 64;
/// The number of bytes between progress reports.
const REPORT_BYTES: u64 = 1 << 20;

/// A source that is being decoded, with the state of its reader.
pub struct Decoding<'a> {
    bytes: &'a Bytes<'a>,
    run: &'a RunOptions,
    state: Mutex<ReaderState>,
}

/// State that a reader stores when it fails or is dropped.
#[derive(Default)]
struct ReaderState {
    failed: Option<Error>,
    /// The decoder's position.
    at: u64,
    /// Offset of the next read.
    next: u64,
    /// The last two bytes that the decoder consumed.
    last: [u8; 2],
}

impl<'a> Decoding<'a> {
    /// Wraps `bytes` for a decoder that stops when `run` is cancelled.
    pub fn new(bytes: &'a Bytes<'a>, run: &'a RunOptions) -> Decoding<'a> {
        Decoding { bytes, run, state: Mutex::new(ReaderState::default()) }
    }

    /// Returns the number of bytes to request at `offset`. Near the end of a source of known size, this is one byte
    /// more than remains, which detects a longer source, instead of a whole chunk, so that a small image does not zero
    /// a whole chunk.
    fn chunk_bytes(&self, offset: u64) -> usize {
        match self.bytes.len() {
            Some(len) if offset <= len => (len - offset).min(CHUNK_BYTES as u64 - 1) as usize + 1,
            _ => CHUNK_BYTES,
        }
    }

    /// Returns the reader, at the start of the source. There must be only one reader at a time.
    pub fn reader(&self) -> BlockReader<'_> {
        BlockReader {
            decoding: self,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            next: 0,
            kept: KEPT_BYTES,
            squeezed: 0,
            is_over: false,
            reported: 0,
        }
    }

    fn state(&self) -> MutexGuard<'_, ReaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the source's error, if any.
    pub fn failed(&self) -> Option<Error> {
        self.state().failed.clone()
    }

    /// Returns the offset after the bytes consumed by the dropped reader.
    pub fn at(&self) -> u64 {
        self.state().at
    }

    /// Returns the last two bytes consumed by the dropped reader.
    pub fn last(&self) -> [u8; 2] {
        self.state().last
    }

    /// Reads a stream to its end, because only its end reveals damage of compressed data. Fails if the file changed.
    pub fn finish(&self) -> Result<()> {
        if self.bytes.in_order() {
            let next = self.state().next;
            let mut reader = self.reader();
            reader.next = next;
            while reader.refill()? {
                reader.start = reader.end;
            }
        }
        self.bytes.check_end(Extent::Whole, &self.run.cancel)
    }
}

/// The bytes of a source, in order.
pub struct BlockReader<'a> {
    decoding: &'a Decoding<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the source of the bytes after `end`.
    next: u64,
    /// Number of bytes kept before `start`.
    kept: usize,
    /// Number of bytes kept by [`BlockReader::squeeze`] at the start of the buffer.
    squeezed: usize,
    is_over: bool,
    reported: u64,
}

impl BlockReader<'_> {
    /// Keeps all bytes from here on, so that [`BlockReader::rewind`] can return here.
    pub fn keep_all(&mut self) {
        self.kept = usize::MAX;
    }

    /// Of the bytes consumed since the last call, keeps only the last `count`. Rewinding skips the other bytes. Each
    /// byte moves at most once.
    pub fn squeeze(&mut self, count: usize) {
        let kept_start = self.start.saturating_sub(count).max(self.squeezed);
        if kept_start > self.squeezed {
            self.buffer.copy_within(kept_start..self.start, self.squeezed);
        }
        self.squeezed += self.start - kept_start;
    }

    /// Rewinds to the start of the kept bytes.
    pub fn rewind(&mut self) {
        if self.squeezed > 0 {
            self.buffer.copy_within(self.start..self.end, self.squeezed);
            self.end -= self.start - self.squeezed;
        }
        self.start = 0;
        self.squeezed = 0;
        self.kept = KEPT_BYTES;
    }

    /// Returns the offset of the next byte in the source.
    pub fn offset(&self) -> u64 {
        self.next - (self.end - self.start) as u64
    }

    /// Reads ahead until `count` bytes are buffered or the source ends. Returns all buffered bytes.
    pub fn ensure(&mut self, count: usize) -> Result<&[u8]> {
        while self.end - self.start < count && self.refill()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns the next `count` bytes, or fewer at the end. Unlike [`BlockReader::ensure`], it stores a source error in
    /// [`Decoding`], as reads do. It is meant for adapters between the source and a decoder.
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.more()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start.saturating_add(count))])
    }

    /// Skips `count` bytes that [`BlockReader::ensure`] returned.
    pub fn pass(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Reads more bytes after the buffered bytes. Returns `false` at the end.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        let run = self.decoding.run;
        run.cancel.check()?;
        let kept_start = self.start.saturating_sub(self.kept);
        self.buffer.copy_within(kept_start..self.end, 0);
        self.start -= kept_start;
        self.end -= kept_start;
        let chunk_bytes = self.decoding.chunk_bytes(self.next);
        if self.buffer.len() < self.end + chunk_bytes {
            let size = (self.end + chunk_bytes).max(KEPT_BYTES + chunk_bytes).max(2 * self.end);
            grow_exact(&mut self.buffer, size, "a part of a file")?;
        }
        let count = self.decoding.bytes.read(self.next, &mut self.buffer[self.end..self.end + chunk_bytes])?;
        self.end += count;
        self.next += count as u64;
        self.is_over = count == 0;
        if let Some(progress) = &run.progress
            && self.next - self.reported >= REPORT_BYTES
        {
            self.reported = self.next;
            progress.report(self.next, self.decoding.bytes.len());
        }
        Ok(!self.is_over)
    }

    /// Reads more bytes if the buffer is empty, then copies as many buffered bytes as fit in `out`.
    #[cold]
    fn read_rest(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end && !self.more()? {
            return Ok(0);
        }
        let count = out.len().min(self.end - self.start);
        out[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }

    /// Same as [`BlockReader::refill`], but stores the error in [`Decoding`].
    fn more(&mut self) -> io::Result<bool> {
        self.refill().map_err(|error| {
            // Stop reading: from now on, decoders see the end of the source.
            self.is_over = true;
            self.decoding.state().failed.get_or_insert(error);
            io::Error::other("the source failed")
        })
    }
}

impl Drop for BlockReader<'_> {
    fn drop(&mut self) {
        let mut state = self.decoding.state();
        state.at = self.offset();
        state.next = self.next;
        if let Some(&last) = self.buffer[..self.start].last_chunk() {
            state.last = last;
        }
    }
}

impl Read for BlockReader<'_> {
    /// Always inlined: bit decoders read eight bytes at a time, which then compiles to a load instead of a call.
    #[inline(always)]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(bytes) = self.buffer[self.start..self.end].get(..out.len()) {
            out.copy_from_slice(bytes);
            self.start += out.len();
            return Ok(out.len());
        }
        self.read_rest(out)
    }
}

impl BufRead for BlockReader<'_> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.more()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}

/// Seeks forward any distance, by reading, and back only within the kept bytes.
impl Seek for BlockReader<'_> {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let far = || io::Error::other("the decoder seeks back too far");
        let by = match to {
            SeekFrom::Current(by) => by,
            SeekFrom::Start(to) => i64::try_from(i128::from(to) - i128::from(self.offset())).map_err(|_| far())?,
            SeekFrom::End(_) => return Err(far()),
        };
        if by < 0 {
            let by = usize::try_from(by.unsigned_abs()).map_err(|_| far())?;
            self.start = self.start.checked_sub(by).ok_or_else(far)?;
            return Ok(self.offset());
        }
        let mut left = by as u64;
        while left > 0 {
            let count = left.min((self.end - self.start) as u64);
            self.start += count as usize;
            left -= count;
            if left > 0 && !self.more()? {
                break;
            }
        }
        Ok(self.offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_bytes::Source;

    fn plain(size: usize) -> Vec<u8> {
        (0..size).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
    }

    #[test]
    fn a_decoder_gets_what_there_is_and_may_go_back_a_little() {
        let plain = plain(3 * CHUNK_BYTES / 2 + 7);
        let reader = io::Cursor::new(plain.clone());
        for source in [Source::memory(plain.clone()), Source::reader(Box::new(reader), "x")] {
            let bytes = Bytes::new(&source, None);
            let run = RunOptions::default();
            let decoding = Decoding::new(&bytes, &run);
            let mut reader = decoding.reader();
            for at in (0..plain.len() - 8).step_by(4) {
                let mut four = [0; 4];
                reader.read_exact(&mut four).unwrap();
                assert_eq!(four, plain[at..at + 4]);
                if at % 1000 == 0 || at.abs_diff(CHUNK_BYTES) < 200 {
                    let back = (at + 4).min(40) as i64;
                    reader.seek(SeekFrom::Current(-back)).unwrap();
                    assert_eq!(reader.fill_buf().unwrap()[0], plain[at + 4 - back as usize]);
                    reader.seek(SeekFrom::Start(at as u64 + 4)).unwrap();
                }
            }
            assert!(reader.seek(SeekFrom::Start(0)).is_err());
            assert_eq!(reader.seek(SeekFrom::Current(1 << 40)).unwrap(), plain.len() as u64);
            assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
            drop(reader);
            assert_eq!((decoding.at(), decoding.last()), (plain.len() as u64, *plain.last_chunk().unwrap()));
            assert!(decoding.failed().is_none());
        }
    }

    #[test]
    fn what_is_kept_can_be_read_again() {
        let plain = plain(2 * CHUNK_BYTES);
        let source = Source::reader(Box::new(io::Cursor::new(plain.clone())), "x");
        let bytes = Bytes::new(&source, None);
        let run = RunOptions::default();
        let decoding = Decoding::new(&bytes, &run);
        let mut reader = decoding.reader();
        reader.keep_all();
        reader.seek(SeekFrom::Start(CHUNK_BYTES as u64 + 5)).unwrap();
        assert_eq!(reader.ensure(9).unwrap()[..9], plain[CHUNK_BYTES + 5..CHUNK_BYTES + 14]);
        reader.rewind();
        let mut contents = Vec::new();
        reader.read_to_end(&mut contents).unwrap();
        assert!(contents == plain);
    }

    #[test]
    fn a_cancelled_reader_says_so_whatever_its_decoder_makes_of_it() {
        let source = Source::memory(vec![0; 10]);
        let bytes = Bytes::new(&source, None);
        let run = RunOptions::default();
        run.cancel.cancel();
        let decoding = Decoding::new(&bytes, &run);
        assert!(decoding.reader().read(&mut [0]).is_err());
        assert_eq!(decoding.failed().unwrap().kind(), polyhaul_model::error::ErrorKind::Cancelled);
    }
}
