//! The parts of decompression that all formats share: limits, offsets of errors, data before errors, and the boundaries
//! of members.
//!
//! A format is described by its [`MemberFormat`]; a file holds a sequence of members. It converts pending bytes of a
//! [`Buffer`] to plain bytes in the caller's buffer, as long as there is room. It keeps its own history, so the caller
//! may pass a different buffer each time.

use super::ahead::AheadParts;
use super::error::{DecodeStop, DecompressError, DecompressErrorKind, corrupt, truncated, unsupported};
use super::{Codec, DecompressLimits, gzip, lz4, skippable_len, zstd};
use crate::error::repeat;
use crate::{Buffer, Source};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// The caller's buffer and its filled size. The rest may be overwritten with any data.
pub(super) struct OutputBuffer<'o, T = u8> {
    pub(super) bytes: &'o mut [T],
    pub(super) filled: usize,
}

impl<T: Copy> OutputBuffer<'_, T> {
    pub(super) fn is_full(&self) -> bool {
        self.filled == self.bytes.len()
    }

    pub(super) fn rest(&mut self) -> &mut [T] {
        &mut self.bytes[self.filled..]
    }

    /// Copies as much of `from` as fits.
    pub(super) fn take_from(&mut self, from: &[T]) -> usize {
        let count = from.len().min(self.bytes.len() - self.filled);
        self.rest()[..count].copy_from_slice(&from[..count]);
        self.filled += count;
        count
    }
}

/// A format being read.
pub(super) trait StreamFormat: Send {
    /// Decodes until `out` is full, or to the end of the last member, in which case `out` is not full.
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop>;
    /// Resets the state.
    fn restart(&mut self);
}

/// The format of archives, whose members are decoded individually: see `entry.rs`.
struct NoFormat;

impl StreamFormat for NoFormat {
    fn decode(&mut self, _: &mut Buffer<'_>, _: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        Err(unsupported("an archive is not a compressed file"))
    }

    fn restart(&mut self) {}
}

/// The members of a format.
pub(super) trait MemberFormat: Send {
    /// Whether skippable frames may occur between members.
    const MAY_SKIP: bool;

    /// Returns whether bytes start with the signature of a member.
    fn has_signature(bytes: &[u8]) -> bool;
    /// Reads the header of the next member.
    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop>;
    /// Decodes some data into `out`, which has room; returns whether the member ended, including everything after its
    /// data.
    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop>;
    /// Resets the state.
    fn restart(&mut self);
}

/// A sequence of members.
pub(super) struct Sequence<M> {
    member: M,
    state: State,
    is_first: bool,
    /// Whether it is a range of members from an index: nothing may follow them.
    is_part: bool,
}

enum State {
    Head,
    Data,
    End,
}

impl<M: MemberFormat + 'static> Sequence<M> {
    pub(super) fn boxed(member: M) -> Box<dyn StreamFormat> {
        Box::new(Sequence { member, state: State::Head, is_first: true, is_part: false })
    }
}

impl<M: MemberFormat> Sequence<M> {
    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<State, DecodeStop> {
        let skippable_len = |bytes: &[u8]| skippable_len(bytes).filter(|_| M::MAY_SKIP);
        let is_start = |bytes: &[u8]| M::has_signature(bytes) || skippable_len(bytes).is_some();
        let passed = input.offset();
        if next_member(input, self.is_first, is_start)? == NextMember::End {
            return if self.is_part && input.offset() > passed {
                Err(corrupt("its members are not at their declared offsets"))
            } else {
                Ok(State::End)
            };
        }
        self.is_first = false;
        if let Some(len) = skippable_len(input.pending()) {
            skip(input, len)?;
            return Ok(State::Head);
        }
        self.member.read_head(input)?;
        Ok(State::Data)
    }
}

impl<M: MemberFormat> StreamFormat for Sequence<M> {
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        loop {
            match self.state {
                State::Head => self.state = self.read_head(input)?,
                State::End => return Ok(()),
                State::Data if out.is_full() => return Ok(()),
                State::Data => {
                    if self.member.read_data(input, out)? {
                        self.state = State::Head;
                    }
                }
            }
        }
    }

    fn restart(&mut self) {
        self.state = State::Head;
        self.is_first = true;
        self.is_part = true;
        self.member.restart();
    }
}

/// The data after a member.
#[derive(Debug, PartialEq, Eq)]
enum NextMember {
    Member,
    End,
}

/// Examines the position where a member may start. Zeros up to the end count as the end, except before the first
/// member.
fn next_member(
    input: &mut Buffer<'_>,
    is_first: bool,
    is_start: impl Fn(&[u8]) -> bool,
) -> Result<NextMember, DecodeStop> {
    let pending = input.ensure(8)?;
    match pending {
        [] if is_first => Err(truncated()),
        [] => Ok(NextMember::End),
        _ if is_start(pending) => Ok(NextMember::Member),
        _ if is_first => Err(corrupt("it does not start with the signature of its format")),
        _ if is_cut(pending, is_start) => Err(truncated()),
        _ => padding(input),
    }
}

/// Returns whether only the first bytes of a signature are left.
fn is_cut(pending: &[u8], is_start: impl Fn(&[u8]) -> bool) -> bool {
    const HEADS: [[u8; 4]; 5] = [
        [0x1f, 0x8b, 0, 0],
        [0x28, 0xb5, 0x2f, 0xfd],
        [0x04, 0x22, 0x4d, 0x18],
        [0x02, 0x21, 0x4c, 0x18],
        [0x50, 0x2a, 0x4d, 0x18],
    ];
    HEADS.iter().any(|head| {
        let mut padded = [0; 8];
        padded[..4].copy_from_slice(head);
        pending.len() < 4 && {
            padded[..pending.len()].copy_from_slice(pending);
            is_start(&padded)
        }
    })
}

fn padding(input: &mut Buffer<'_>) -> Result<NextMember, DecodeStop> {
    loop {
        let pending = input.ensure(1)?;
        if pending.is_empty() {
            return Ok(NextMember::End);
        }
        let zeros = pending.iter().take_while(|&&byte| byte == 0).count();
        let are_all_zero = zeros == pending.len();
        // The error is at the first byte that is not zero, however many zeros precede it.
        input.consume(zeros);
        if !are_all_zero {
            let message = "extra data follows the compressed data".to_owned();
            return Err(DecodeStop::Data(DecompressErrorKind::TrailingGarbage, message));
        }
    }
}

/// Skips `left` bytes.
pub(super) fn skip(input: &mut Buffer<'_>, mut left: u64) -> Result<(), DecodeStop> {
    while left > 0 {
        let count = input.ensure(1)?.len();
        if count == 0 {
            return Err(truncated());
        }
        let count = usize::try_from(left).map_or(count, |left| left.min(count));
        input.consume(count);
        left -= count as u64;
    }
    Ok(())
}

/// Decodes a source sequentially, or ranges of it.
pub(crate) struct SourceDecoder<'a> {
    codec: Codec,
    input: Buffer<'a>,
    format: Box<dyn StreamFormat>,
    limits: DecompressLimits,
    /// The offset of the input in the compressed data, for messages.
    start: u64,
    /// The offset of the next byte in the plain data.
    plain_offset: u64,
    failed: Option<io::Error>,
}

impl<'a> SourceDecoder<'a> {
    pub(super) fn new(codec: Codec, source: Source<'a>, limits: &DecompressLimits) -> io::Result<Self> {
        Self::following(codec, source, limits, None)
    }

    /// Creates a decoder that takes parts of gzip data decoded by other threads.
    pub(super) fn following(
        codec: Codec,
        source: Source<'a>,
        limits: &DecompressLimits,
        parts: Option<Arc<AheadParts>>,
    ) -> io::Result<Self> {
        let format = match codec {
            Codec::Gzip => Sequence::boxed(gzip::Gzip::new(parts)?),
            Codec::Zstd => Sequence::boxed(zstd::Zstd::new(limits.memory_bytes)),
            Codec::Lz4 => Sequence::boxed(lz4::Lz4::new(limits.memory_bytes)),
            Codec::Zip => Box::new(NoFormat),
        };
        let input = Buffer::new(source);
        Ok(SourceDecoder { codec, input, format, limits: limits.clone(), start: 0, plain_offset: 0, failed: None })
    }

    /// Creates a decoder of `part`, which lies at offset `start` of a source, in `format`.
    pub(super) fn of_part(
        codec: Codec,
        part: Source<'a>,
        start: u64,
        format: Box<dyn StreamFormat>,
        limits: &DecompressLimits,
    ) -> Self {
        let input = Buffer::new(part);
        SourceDecoder { codec, input, format, limits: limits.clone(), start, plain_offset: 0, failed: None }
    }

    /// Returns the offset of the next plain byte.
    pub(super) fn plain_offset(&self) -> u64 {
        self.plain_offset
    }

    /// Continues with the members in `range`, whose first plain byte is at `plain_offset`.
    pub(super) fn restart(&mut self, range: Range<u64>, plain_offset: u64) {
        self.input.restart(range);
        self.format.restart();
        self.failed = None;
        self.plain_offset = plain_offset;
    }

    /// Fills `out` from members that hold at least as many bytes.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read(&mut out[filled..])? {
                0 => return Err(self.wrong_size()),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// Checks that the members end here.
    pub(super) fn check_end(&mut self) -> io::Result<()> {
        if self.read(&mut [0])? == 0 { Ok(()) } else { Err(self.wrong_size()) }
    }

    fn wrong_size(&self) -> io::Error {
        self.located(corrupt("the sizes of its members differ from those declared"))
    }

    fn located(&self, stop: DecodeStop) -> io::Error {
        match stop {
            DecodeStop::Io(error) => error,
            DecodeStop::Data(kind, message) => {
                let offset = self.start + self.input.offset();
                DecompressError { codec: self.codec, offset, plain_offset: self.plain_offset, kind, message }.into()
            }
        }
    }
}

/// The ratio is checked at multiples of this many plain bytes, and at the end: 1 MiB.
const STEP_BYTES: u64 = 1 << 20;

impl SourceDecoder<'_> {
    /// Returns the number of bytes to decode until a limit is checked. The offset of the check must not depend on the
    /// caller's buffers.
    fn room(&self) -> u64 {
        let to_limit = self.limits.bytes.saturating_sub(self.plain_offset);
        to_limit.min(STEP_BYTES - self.plain_offset % STEP_BYTES)
    }

    /// Decodes, and returns the number of bytes before the error, if any.
    fn decode(&mut self, out: &mut [u8]) -> (usize, Result<(), DecodeStop>) {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        let mut spare = [0];
        // At the limit, one more byte shows whether there is more.
        let out_len = room.min(out.len());
        let out = if room == 0 { &mut spare } else { &mut out[..out_len] };
        let mut out = OutputBuffer { bytes: out, filled: 0 };
        let result = self.format.decode(&mut self.input, &mut out);
        let filled = out.filled;
        let is_full = out.is_full();
        if room == 0 {
            return (0, result.and(if filled > 0 { Err(self.limits.too_many_bytes()) } else { Ok(()) }));
        }
        self.plain_offset += filled as u64;
        let is_step = !is_full || self.plain_offset.is_multiple_of(STEP_BYTES);
        let checked = if is_step { self.limits.check_ratio(self.input.offset(), self.plain_offset) } else { Ok(()) };
        (filled, result.and(checked))
    }
}

impl Read for SourceDecoder<'_> {
    /// Returns bytes before an error first; then returns the error, for every further call.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let error = match self.failed.take() {
            Some(error) => error,
            None => {
                let (filled, result) = self.decode(out);
                let Err(stop) = result else { return Ok(filled) };
                let error = self.located(stop);
                if filled > 0 {
                    self.failed = Some(error);
                    return Ok(filled);
                }
                error
            }
        };
        self.failed = Some(repeat(&error));
        Err(error)
    }
}
