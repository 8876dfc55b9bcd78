//! zstd frames (RFC 8878): headers are parsed here, so that limits and sizes are known; the data is decoded by the zstd
//! library.
//!
//! | bytes | header of a frame (RFC 8878, 3.1.1) |
//! |---|---|
//! | 4 | magic 28 B5 2F FD |
//! | 1 | descriptor: bytes of the content size (bits 6, 7), single segment (5), checksum (2), bytes of the dictionary |
//! | | (0, 1) |
//! | 1 | window, unless it is a single segment: exponent in bits 3 to 7, mantissa in eighths in bits 0 to 2 |
//! | 0, 1, 2 or 4 | dictionary |
//! | 0, 1, 2, 4 or 8 | content size; 2 bytes count from 256 |
//!
//! A block has a header of 3 bytes: last block in bit 0, type in bits 1 and 2, size above.

use super::decoder::{Member, Output};
use super::error::{DecompressLimit, Stop, checksum, corrupt, limit, truncated, unsupported};
use crate::Buffer;
use std::io;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// The longest header of a frame.
pub(super) const HEAD_BYTES: usize = 18;

pub(super) fn is_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

/// What the header of a frame declares.
pub(super) struct Head {
    pub(super) bytes: usize,
    /// Plain bytes of the frame, if told.
    pub(super) content_bytes: Option<u64>,
    pub(super) window_bytes: u64,
    pub(super) has_checksum: bool,
    has_dictionary: bool,
}

impl Head {
    /// `None` if `bytes` end too early.
    pub(super) fn parse(bytes: &[u8]) -> Option<Head> {
        let (&descriptor, mut rest) = bytes.get(4..)?.split_first()?;
        let is_single = descriptor & 0x20 != 0;
        let mut window_bytes = 0;
        if !is_single {
            let (&window, after) = rest.split_first()?;
            let base = 1u64 << (10 + (window >> 3));
            window_bytes = base + base / 8 * u64::from(window & 7);
            rest = after;
        }
        let dictionary = number(&mut rest, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
        let content_len = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let content = number(&mut rest, content_len)?;
        let content_bytes = match content_len {
            0 => None,
            2 => Some(content + 256),
            _ => Some(content),
        };
        Some(Head {
            bytes: bytes.len() - rest.len(),
            content_bytes,
            window_bytes: if is_single { content } else { window_bytes },
            has_checksum: descriptor & 4 != 0,
            has_dictionary: dictionary != 0,
        })
    }
}

/// Whether a block is the last of its frame, and how many bytes follow its header of 3 bytes: one for a run (RLE).
pub(super) fn block_bytes([a, b, c]: [u8; 3]) -> (bool, u64) {
    let word = u32::from_le_bytes([a, b, c, 0]);
    let is_repeat = word >> 1 & 3 == 1;
    (word & 1 == 1, if is_repeat { 1 } else { u64::from(word >> 3) })
}

/// Takes a little-endian number of `len` bytes, at most 8.
fn number(rest: &mut &[u8], len: usize) -> Option<u64> {
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// A frame being read.
pub(super) struct Zstd {
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
    pub(super) fn new(memory_bytes: u64) -> Self {
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
        let head = Head::parse(input.ensure(HEAD_BYTES)?).ok_or_else(truncated)?;
        if head.has_dictionary {
            return Err(unsupported("it needs a dictionary, which is not supported"));
        }
        if head.window_bytes > self.memory_bytes {
            let (window, memory) = (head.window_bytes, self.memory_bytes);
            let message = format!("it needs a window of {window} bytes; the memory limit is {memory} bytes");
            return Err(limit(DecompressLimit::Memory, message));
        }
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
        checksum("the checksum of a frame does not match its data")
    } else if text.contains("not enough memory") {
        out_of_memory()
    } else {
        corrupt(format!("zstd: {}", text.to_ascii_lowercase()))
    }
}
