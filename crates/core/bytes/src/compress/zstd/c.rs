//! zstd frames, decoded by the zstd library.

use super::{ZstdHead, block_bytes, other_data};
use crate::Buffer;
use crate::codec::is_zstd;
use crate::compress::error::{DecodeStop, corrupt, truncated};
use crate::compress::format::{MemberFormat, OutputBuffer};
use std::io;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// A frame being read.
pub(crate) struct Zstd {
    context: Option<DCtx<'static>>,
    memory_bytes: u64,
    /// `None` if members are decoded as a whole.
    steps: Option<FrameSteps>,
}

/// The steps of decoding a frame. When a library call fails, the bytes that it decoded are lost. So that the bytes
/// before an error do not depend on the caller's buffers, each call gets a single part of a frame, or only flushes the
/// rest of the previous part.
struct FrameSteps {
    /// The remaining bytes of this part.
    left: usize,
    next: FramePart,
    /// Whether the previous part may have more output.
    is_full: bool,
}

/// A part of a frame.
enum FramePart {
    BlockHead,
    Block { bytes: usize, is_last: bool },
    Checksum,
}

impl FrameSteps {
    /// Starts with the header of a frame.
    fn of_frame(head_bytes: usize) -> FrameSteps {
        FrameSteps { left: head_bytes, next: FramePart::BlockHead, is_full: false }
    }

    /// Returns the input for the next call.
    fn input<'b>(&mut self, input: &'b mut Buffer<'_>) -> Result<&'b [u8], DecodeStop> {
        while self.left == 0 && !self.is_full {
            match self.next {
                FramePart::BlockHead => {
                    let word = input.ensure(3)?.first_chunk().ok_or_else(truncated)?;
                    let (is_last, bytes) = block_bytes(*word);
                    self.next = FramePart::Block { bytes: bytes as usize, is_last };
                    self.left = word.len();
                }
                FramePart::Block { bytes, is_last } => {
                    self.next = if is_last { FramePart::Checksum } else { FramePart::BlockHead };
                    self.left = bytes;
                }
                FramePart::Checksum => self.left = 4,
            }
        }
        input.ensure(self.left)?.get(..self.left).ok_or_else(truncated)
    }
}

impl Zstd {
    pub(crate) fn new(memory_bytes: u64) -> Self {
        Zstd { context: None, memory_bytes, steps: Some(FrameSteps::of_frame(0)) }
    }

    fn reset_context(&mut self) -> Result<(), DecodeStop> {
        if let Some(context) = &mut self.context {
            return context.reset(ResetDirective::SessionOnly).map(drop).map_err(fault);
        }
        let mut context = DCtx::try_create().ok_or_else(out_of_memory)?;
        // The window size was already checked exactly; the library's default limit is a power of two, and may be lower.
        let max_log = if cfg!(target_pointer_width = "64") { 31 } else { 30 };
        context.set_parameter(DParameter::WindowLogMax(max_log)).map_err(fault)?;
        self.context = Some(context);
        Ok(())
    }
}

impl MemberFormat for Zstd {
    const MAY_SKIP: bool = true;

    fn has_signature(bytes: &[u8]) -> bool {
        is_zstd(bytes)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let head = ZstdHead::read(input, self.memory_bytes)?;
        self.reset_context()?;
        self.steps = self.steps.take().map(|_| FrameSteps::of_frame(head.bytes));
        Ok(())
    }

    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
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
        let consumed = from.pos();
        let produced = to.pos() - out.filled;
        let is_stuck = consumed == 0 && produced == 0 && pending.is_empty() && self.steps.is_none();
        out.filled += produced;
        input.consume(consumed);
        if let Some(steps) = &mut self.steps {
            steps.left -= consumed.min(steps.left);
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

fn out_of_memory() -> DecodeStop {
    DecodeStop::Io(io::Error::new(io::ErrorKind::OutOfMemory, "out of memory in the zstd decoder"))
}

/// Classifies the library's error codes by their text, their only public property.
#[cold]
fn fault(code: zstd_safe::ErrorCode) -> DecodeStop {
    let text = zstd_safe::get_error_name(code);
    if text.contains("checksum") {
        other_data()
    } else if text.contains("not enough memory") {
        out_of_memory()
    } else {
        corrupt(format!("zstd: {}", text.to_ascii_lowercase()))
    }
}
