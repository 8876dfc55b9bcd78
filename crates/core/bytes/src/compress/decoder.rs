//! The parts of decompression that all formats share: limits, places of errors, data before errors, and the borders of
//! members.
//!
//! A format is described by its [`Member`], of which a file holds one after the other. It converts pending bytes of a
//! [`Buffer`] to plain bytes in the caller's buffer, as long as there is room. It keeps its own history, so the caller
//! may pass a different buffer each time.

use super::ahead::Parts;
use super::error::{DecompressError, DecompressErrorKind, Stop, corrupt, truncated, unsupported};
use super::{Codec, DecompressLimits, gzip, lz4, skippable_len, zstd};
use crate::error::repeat;
use crate::{Buffer, Source};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// The caller's buffer and how much of it is filled. The rest may be overwritten with anything.
pub(super) struct Output<'o, T = u8> {
    pub(super) bytes: &'o mut [T],
    pub(super) filled: usize,
}

impl<T: Copy> Output<'_, T> {
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
pub(super) trait Format: Send {
    /// Decodes until `out` is full, or to the end of the last member: then there is room left in `out`.
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<(), Stop>;
    /// Forgets all that was read.
    fn restart(&mut self);
}

/// Members of archives are decoded one by one: see `entry.rs`.
struct NoFormat;

impl Format for NoFormat {
    fn decode(&mut self, _: &mut Buffer<'_>, _: &mut Output<'_>) -> Result<(), Stop> {
        Err(unsupported("an archive is not a compressed file"))
    }

    fn restart(&mut self) {}
}

/// The members of a format.
pub(super) trait Member: Send {
    /// Whether skippable frames may occur between members.
    const MAY_SKIP: bool;

    /// Whether bytes begin as a member does.
    fn begins(bytes: &[u8]) -> bool;
    /// Begins with the member that comes next.
    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), Stop>;
    /// Decodes some data into `out`, which has room; returns whether the member ended, including everything after its
    /// data.
    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<bool, Stop>;
    /// Forgets all that was read.
    fn restart(&mut self);
}

/// Members one after the other.
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

impl<M: Member + 'static> Sequence<M> {
    pub(super) fn boxed(member: M) -> Box<dyn Format> {
        Box::new(Sequence { member, state: State::Head, is_first: true, is_part: false })
    }
}

impl<M: Member> Sequence<M> {
    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<State, Stop> {
        let skippable_len = |bytes: &[u8]| skippable_len(bytes).filter(|_| M::MAY_SKIP);
        let begins = |bytes: &[u8]| M::begins(bytes) || skippable_len(bytes).is_some();
        let passed = input.offset();
        if next_member(input, self.is_first, begins)? == Next::End {
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

impl<M: Member> Format for Sequence<M> {
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<(), Stop> {
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
        (self.is_first, self.is_part) = (true, true);
        self.member.restart();
    }
}

/// What follows a member.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Member,
    End,
}

/// Examines the place where a member may begin. Zeros up to the end are an end, except in place of the first member.
fn next_member(input: &mut Buffer<'_>, is_first: bool, begins: impl Fn(&[u8]) -> bool) -> Result<Next, Stop> {
    let pending = input.ensure(8)?;
    match pending {
        [] if is_first => Err(truncated()),
        [] => Ok(Next::End),
        _ if begins(pending) => Ok(Next::Member),
        _ if is_first => Err(corrupt("it does not start with the signature of its format")),
        _ if is_cut(pending, begins) => Err(truncated()),
        _ => padding(input),
    }
}

/// Whether only the first bytes of a signature are left.
fn is_cut(pending: &[u8], begins: impl Fn(&[u8]) -> bool) -> bool {
    const HEADS: [[u8; 4]; 5] = [
        [0x1f, 0x8b, 0, 0],
        [0x28, 0xb5, 0x2f, 0xfd],
        [0x04, 0x22, 0x4d, 0x18],
        [0x02, 0x21, 0x4c, 0x18],
        [0x50, 0x2a, 0x4d, 0x18],
    ];
    HEADS.iter().any(|head| {
        let mut whole = [0; 8];
        whole[..4].copy_from_slice(head);
        pending.len() < 4 && {
            whole[..pending.len()].copy_from_slice(pending);
            begins(&whole)
        }
    })
}

fn padding(input: &mut Buffer<'_>) -> Result<Next, Stop> {
    loop {
        let pending = input.ensure(1)?;
        if pending.is_empty() {
            return Ok(Next::End);
        }
        let zeros = pending.iter().take_while(|&&byte| byte == 0).count();
        let is_all = zeros == pending.len();
        // The error is at the first byte that is not zero, however many zeros precede it.
        input.consume(zeros);
        if !is_all {
            let message = "extra data follows the compressed data".to_owned();
            return Err(Stop::Data(DecompressErrorKind::TrailingGarbage, message));
        }
    }
}

/// Passes over `left` bytes.
pub(super) fn skip(input: &mut Buffer<'_>, mut left: u64) -> Result<(), Stop> {
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

/// Decodes a source from front to back, or one range of it after the other.
pub(crate) struct Decoder<'a> {
    codec: Codec,
    input: Buffer<'a>,
    format: Box<dyn Format>,
    limits: DecompressLimits,
    /// Where the input begins in the compressed data, for messages.
    begin: u64,
    /// Plain bytes handed out, in bytes from the beginning of the plain data.
    plain_offset: u64,
    failed: Option<io::Error>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(codec: Codec, source: Source<'a>, limits: &DecompressLimits) -> io::Result<Self> {
        Self::following(codec, source, limits, None)
    }

    /// A decoder that takes parts of gzip data that other threads decode.
    pub(super) fn following(
        codec: Codec,
        source: Source<'a>,
        limits: &DecompressLimits,
        parts: Option<Arc<Parts>>,
    ) -> io::Result<Self> {
        let format = match codec {
            Codec::Gzip => Sequence::boxed(gzip::Gzip::new(parts)?),
            Codec::Zstd => Sequence::boxed(zstd::Zstd::new(limits.memory_bytes)),
            Codec::Lz4 => Sequence::boxed(lz4::Lz4::new(limits.memory_bytes)),
            Codec::Zip => Box::new(NoFormat),
        };
        let input = Buffer::new(source);
        Ok(Decoder { codec, input, format, limits: limits.clone(), begin: 0, plain_offset: 0, failed: None })
    }

    /// Decodes a part of a source, which begins at byte `begin` of it, according to `format`.
    pub(super) fn of_part(
        codec: Codec,
        (part, begin): (Source<'a>, u64),
        format: Box<dyn Format>,
        limits: &DecompressLimits,
    ) -> Self {
        let input = Buffer::new(part);
        Decoder { codec, input, format, limits: limits.clone(), begin, plain_offset: 0, failed: None }
    }

    /// The number of plain bytes before the next one.
    pub(super) fn plain_offset(&self) -> u64 {
        self.plain_offset
    }

    /// Goes on with the members in `range`, whose first plain byte is `plain_offset`.
    pub(super) fn restart(&mut self, range: Range<u64>, plain_offset: u64) {
        self.input.restart(range);
        self.format.restart();
        self.failed = None;
        self.plain_offset = plain_offset;
    }

    /// Fills `out` from members that hold at least that much.
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

    /// Sees to it that the members end here.
    pub(super) fn check_end(&mut self) -> io::Result<()> {
        if self.read(&mut [0])? == 0 { Ok(()) } else { Err(self.wrong_size()) }
    }

    fn wrong_size(&self) -> io::Error {
        self.place(corrupt("the sizes of its members differ from those declared"))
    }

    fn place(&self, stop: Stop) -> io::Error {
        match stop {
            Stop::Io(error) => error,
            Stop::Data(kind, message) => {
                let (codec, plain_offset) = (self.codec, self.plain_offset);
                let offset = self.begin + self.input.offset();
                DecompressError { codec, offset, plain_offset, kind, message }.into()
            }
        }
    }
}

/// The ratio is checked at multiples of this many plain bytes, and at the end: 1 MiB.
const STEP_BYTES: u64 = 1 << 20;

impl Decoder<'_> {
    /// How many bytes may be decoded until a limit is checked: the place of the check must not depend on the caller's
    /// buffers.
    fn room(&self) -> u64 {
        let to_limit = self.limits.bytes.saturating_sub(self.plain_offset);
        to_limit.min(STEP_BYTES - self.plain_offset % STEP_BYTES)
    }

    /// Decodes, and returns the number of bytes before the error, if any.
    fn decode(&mut self, out: &mut [u8]) -> (usize, Result<(), Stop>) {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        let mut spare = [0];
        // At the limit, one more byte shows whether there is more.
        let most = room.min(out.len());
        let out = if room == 0 { &mut spare } else { &mut out[..most] };
        let mut out = Output { bytes: out, filled: 0 };
        let result = self.format.decode(&mut self.input, &mut out);
        let (filled, is_full) = (out.filled, out.is_full());
        if room == 0 {
            return (0, result.and(if filled > 0 { Err(self.limits.too_many_bytes()) } else { Ok(()) }));
        }
        self.plain_offset += filled as u64;
        let is_step = !is_full || self.plain_offset.is_multiple_of(STEP_BYTES);
        let checked = if is_step { self.limits.check_ratio(self.input.offset(), self.plain_offset) } else { Ok(()) };
        (filled, result.and(checked))
    }
}

impl Read for Decoder<'_> {
    /// Bytes before an error are returned first; then the error, however often it is called.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let error = match self.failed.take() {
            Some(error) => error,
            None => {
                let (filled, result) = self.decode(out);
                let Err(stop) = result else { return Ok(filled) };
                let error = self.place(stop);
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
