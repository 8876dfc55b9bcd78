//! A stream that is read in calls of at least a block, and buffers bytes beyond the consumer's requests.

use crate::BLOCK_BYTES;
use crate::error::{repeat, retry};
use crate::memory::grow;
use polyhaul_trace::Counters;
use std::io::{self, Read};

/// A reader, and the bytes that were read but not returned yet: more than one block only after a large peek or a
/// rewind.
pub(super) struct PeekableStream<'a> {
    reader: Box<dyn Read + Send + 'a>,
    spill: Vec<u8>,
    /// The buffered bytes are `spill[spill_start..spill_end]`.
    spill_start: usize,
    spill_end: usize,
    /// Whether no bytes were returned yet.
    is_first: bool,
    ended: bool,
    failed: Option<io::Error>,
    /// Whether `failed` is the reader's own error instead of a copy.
    is_original: bool,
    /// The recording, for rewinding.
    tape: Tape,
}

/// A recording of all bytes from the start of a stream.
#[derive(Default)]
enum Tape {
    #[default]
    Off,
    /// The bytes so far, and their maximum number.
    On(Vec<u8>, usize),
}

impl<'a> PeekableStream<'a> {
    pub(super) fn new(reader: Box<dyn Read + Send + 'a>) -> Self {
        PeekableStream {
            reader,
            spill: Vec::new(),
            spill_start: 0,
            spill_end: 0,
            is_first: true,
            ended: false,
            failed: None,
            is_original: false,
            tape: Tape::Off,
        }
    }

    /// Records the bytes read from the start, up to `limit_bytes`.
    pub(super) fn record(&mut self, limit_bytes: usize) -> io::Result<()> {
        if self.is_first && self.spill_start == 0 {
            let peeked = &self.spill[..self.spill_end];
            let mut bytes = Vec::new();
            bytes.try_reserve(peeked.len())?;
            bytes.extend_from_slice(peeked);
            self.tape = Tape::On(bytes, limit_bytes);
        }
        Ok(())
    }

    /// Returns whether the stream failed, and rewinding will lead to the reader's own error.
    pub(super) fn holds_error(&self) -> bool {
        self.is_original && matches!(self.tape, Tape::On(..))
    }

    /// Frees the recording.
    pub(super) fn stop_recording(&mut self) {
        self.tape = Tape::Off;
    }

    /// Rewinds to the start if everything was recorded. Returns whether it did.
    pub(super) fn rewind(&mut self) -> bool {
        let Tape::On(bytes, _) = std::mem::take(&mut self.tape) else { return false };
        self.spill_start = 0;
        self.spill_end = bytes.len();
        self.spill = bytes;
        self.is_first = true;
        true
    }

    /// Ends the stream. Returns the buffered bytes if none were returned before.
    pub(super) fn give_up(&mut self) -> Vec<u8> {
        let is_head = self.spill_start == 0 && self.is_first;
        self.spill.truncate(self.spill_end);
        self.ended = true;
        self.spill_start = 0;
        self.spill_end = 0;
        if is_head { std::mem::take(&mut self.spill) } else { Vec::new() }
    }

    pub(super) fn read_full(&mut self, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read_once(&mut out[filled..], counters)? {
                0 => break,
                n => filled += n,
            }
        }
        Ok(filled)
    }

    pub(super) fn read_once(&mut self, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        self.is_first = false;
        if self.spill_start == self.spill_end {
            if out.len() >= BLOCK_BYTES {
                return self.call(out, counters);
            }
            self.refill_spill(counters)?;
        }
        let count = out.len().min(self.spill_end - self.spill_start);
        out[..count].copy_from_slice(&self.spill[self.spill_start..][..count]);
        self.spill_start += count;
        Ok(count)
    }

    fn refill_spill(&mut self, counters: &Counters) -> io::Result<()> {
        let mut spill = std::mem::take(&mut self.spill);
        grow(&mut spill, BLOCK_BYTES)?;
        let result = self.call(&mut spill, counters);
        self.spill = spill;
        self.spill_start = 0;
        self.spill_end = 0;
        self.spill_end = result?;
        Ok(())
    }

    /// Copies the next bytes without consuming them. Buffers more than a block only if `out` needs more than the reader
    /// returns at a time.
    pub(super) fn peek(&mut self, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        while self.spill_end - self.spill_start < out.len() && !self.ended {
            let mut spill = std::mem::take(&mut self.spill);
            let end = self.spill_end;
            let grown = grow(&mut spill, end + BLOCK_BYTES);
            let result = grown.and_then(|()| self.call(&mut spill[end..], counters));
            self.spill = spill;
            self.spill_end += result?;
        }
        let pending = &self.spill[self.spill_start..self.spill_end];
        let count = pending.len().min(out.len());
        out[..count].copy_from_slice(&pending[..count]);
        Ok(count)
    }

    /// Calls the reader; all its calls are made here.
    fn call(&mut self, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        if let Some(error) = &mut self.failed {
            let copy = repeat(error);
            // The first pass returns copies, and the second one the reader's own error.
            let is_own = self.is_original && matches!(self.tape, Tape::Off);
            self.is_original &= !is_own;
            return Err(if is_own { std::mem::replace(error, copy) } else { copy });
        }
        if self.ended {
            return Ok(0);
        }
        let reader = &mut self.reader;
        let mut read = || checked_count(reader.read(out)?, out.len());
        let result = retry(|| counters.transfer(&mut read));
        match result {
            Ok(count) => {
                self.tape.add(&out[..count]);
                self.ended = count == 0;
                Ok(count)
            }
            Err(error) => {
                let copy = repeat(&error);
                self.is_original = matches!(self.tape, Tape::On(..));
                if self.is_original {
                    self.failed = Some(error);
                    return Err(copy);
                }
                self.failed = Some(copy);
                Err(error)
            }
        }
    }
}

impl Tape {
    /// Adds bytes, or stops recording if there are too many or memory runs out.
    fn add(&mut self, more: &[u8]) {
        let Tape::On(bytes, limit_bytes) = self else { return };
        if bytes.len() + more.len() > *limit_bytes || bytes.try_reserve(more.len()).is_err() {
            *self = Tape::Off;
            return;
        }
        bytes.extend_from_slice(more);
    }
}

fn checked_count(count: usize, requested: usize) -> io::Result<usize> {
    if count <= requested {
        return Ok(count);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the reader returned {count} bytes, more than the {requested} requested"),
    ))
}
