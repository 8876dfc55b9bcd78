//! Frames decoded by the zstd library.

use super::{Head, block_bytes, is_magic, other_data};
use crate::Buffer;
use crate::compress::decoder::{Member, Output};
use crate::compress::error::{Stop, corrupt, truncated};
use std::io;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// A frame being read.
pub(in crate::compress) struct Zstd {
    context: Option<DCtx<'static>>,
    memory_bytes: u64,
    /// `None` where members are decoded whole.
    steps: Option<Steps>,
}

/// Bytes returned by a library call before it fails are lost. So that the bytes before an error do not depend on the
/// caller's buffers, a call gets one part of a frame, or only flushes the rest of the previous part.
struct Steps {
    /// The rest of this part, in bytes.
    left: usize,
    next: Part,
    /// Whether there may be more of the previous part.
    is_full: bool,
}

/// A part of a frame.
enum Part {
    BlockHead,
    Block { bytes: usize, is_last: bool },
    Checksum,
}

impl Steps {
    /// Begins with the head of a frame.
    fn of_frame(head_bytes: usize) -> Steps {
        Steps { left: head_bytes, next: Part::BlockHead, is_full: false }
    }

    /// The input for the next call.
    fn input<'b>(&mut self, input: &'b mut Buffer<'_>) -> Result<&'b [u8], Stop> {
        while self.left == 0 && !self.is_full {
            match self.next {
                Part::BlockHead => {
                    let word = input.ensure(3)?.first_chunk().ok_or_else(truncated)?;
                    let (is_last, bytes) = block_bytes(*word);
                    self.next = Part::Block { bytes: bytes as usize, is_last };
                    self.left = word.len();
                }
                Part::Block { bytes, is_last } => {
                    self.next = if is_last { Part::Checksum } else { Part::BlockHead };
                    self.left = bytes;
                }
                Part::Checksum => self.left = 4,
            }
        }
        input.ensure(self.left)?.get(..self.left).ok_or_else(truncated)
    }
}

impl Zstd {
    pub(in crate::compress) fn new(memory_bytes: u64) -> Self {
        Zstd { context: None, memory_bytes, steps: Some(Steps::of_frame(0)) }
    }

    fn reset_context(&mut self) -> Result<(), Stop> {
        if let Some(context) = &mut self.context {
            return context.reset(ResetDirective::SessionOnly).map(drop).map_err(fault);
        }
        let mut context = DCtx::try_create().ok_or_else(out_of_memory)?;
        // The window was already checked, to the byte; the library's own limit is a power of two, and lower.
        let largest_log = if cfg!(target_pointer_width = "64") { 31 } else { 30 };
        context.set_parameter(DParameter::WindowLogMax(largest_log)).map_err(fault)?;
        self.context = Some(context);
        Ok(())
    }
}

impl Member for Zstd {
    const MAY_SKIP: bool = true;

    fn begins(bytes: &[u8]) -> bool {
        is_magic(bytes)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), Stop> {
        let head = Head::read(input, self.memory_bytes)?;
        self.reset_context()?;
        self.steps = self.steps.take().map(|_| Steps::of_frame(head.bytes));
        Ok(())
    }

    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<bool, Stop> {
        let Some(context) = &mut self.context else {
            return Ok(true);
        };
        let pending = match &mut self.steps {
            Some(steps) => steps.input(input)?,
            None => input.ensure(1)?,
        };
        let mut from = InBuffer::around(pending);
        let mut to = OutBuffer::around_pos(&mut *out.bytes, out.filled);
        let result = context.decompress_stream(&mut to, &mut from);
        let (taken, given) = (from.pos(), to.pos() - out.filled);
        let is_stuck = taken == 0 && given == 0 && pending.is_empty() && self.steps.is_none();
        out.filled += given;
        input.consume(taken);
        if let Some(steps) = &mut self.steps {
            steps.left -= taken.min(steps.left);
            steps.is_full = out.is_full();
        }
        match result {
            Err(code) => Err(fault(code)),
            Ok(0) => Ok(true),
            Ok(_) if is_stuck => Err(truncated()),
            Ok(_) => Ok(false),
        }
    }

    fn restart(&mut self) {
        self.steps = None;
    }
}

fn out_of_memory() -> Stop {
    Stop::Io(io::Error::new(io::ErrorKind::OutOfMemory, "out of memory in the zstd decoder"))
}

/// The library's codes are told apart by their texts, the only public property they have.
#[cold]
fn fault(code: zstd_safe::ErrorCode) -> Stop {
    let text = zstd_safe::get_error_name(code);
    if text.contains("checksum") {
        other_data()
    } else if text.contains("not enough memory") {
        out_of_memory()
    } else {
        corrupt(format!("zstd: {}", text.to_ascii_lowercase()))
    }
}
