//! Bytes that are read in order, in calls of at least a block; peeked bytes are kept for the next call.

use crate::BLOCK_BYTES;
use crate::error::{repeat, retry};
use crate::memory::grow;
use polyhaul_trace::Counters;
use std::io::{self, Read};

/// A reader, and up to one block of bytes beyond what a consumer requested.
pub(super) struct PeekableStream<'a> {
    reader: Box<dyn Read + Send + 'a>,
    spill: Vec<u8>,
    /// The part of `spill` that was not returned yet.
    spill_start: usize,
    spill_end: usize,
    /// Whether no bytes were returned yet.
    is_first: bool,
    ended: bool,
    failed: Option<io::Error>,
    /// Whether `failed` is the reader's own error, not a copy.
    is_original: bool,
    /// What was read, to be read again.
    tape: Tape,
}

/// A record of all bytes from the start of a stream.
#[derive(Default)]
enum Tape {
    #[default]
    Off,
    /// The bytes so far, and how many there may be.
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

    /// Keeps what is read from the start on, as long as it is at most `limit_bytes`.
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

    /// Whether it failed, and starting again leads to the reader's own error.
    pub(super) fn holds_error(&self) -> bool {
        self.is_original && matches!(self.tape, Tape::On(..))
    }

    /// Frees what was kept.
    pub(super) fn stop_recording(&mut self) {
        self.tape = Tape::Off;
    }

    /// Starts again with the bytes that were kept; returns whether all were.
    pub(super) fn rewind(&mut self) -> bool {
        let Tape::On(bytes, _) = std::mem::take(&mut self.tape) else { return false };
        self.spill_start = 0;
        self.spill_end = bytes.len();
        self.spill = bytes;
        self.is_first = true;
        true
    }

    /// Ends the stream; returns the bytes that were read but not returned, if they are the first ones.
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

    /// Copies the next bytes without consuming them. More than a block is kept only if the reader returns less at a
    /// time than `out` needs.
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

    /// Every call of the reader goes through here.
    fn call(&mut self, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        if let Some(error) = &mut self.failed {
            let copy = repeat(error);
            // The first pass has copies, the second the reader's own error.
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
    /// Adds bytes, or gives up if there are too many or no memory.
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
