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
        }
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
            grow(&mut spill, self.spill_end + BLOCK_BYTES)?;
            let result = self.call(&mut spill[self.spill_end..], counters);
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
        if let Some(error) = &self.failed {
            return Err(repeat(error));
        }
        if self.ended {
            return Ok(0);
        }
        let reader = &mut self.reader;
        let mut read = || checked_count(reader.read(out)?, out.len());
        let result = retry(|| counters.transfer(&mut read));
        match &result {
            Ok(count) => self.ended = *count == 0,
            Err(error) => self.failed = Some(repeat(error)),
        }
        result
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
