//! Code shared by all compressed formats: output buffers and member boundaries.
//!
//! A [`MemberFormat`] describes a format; a file is a sequence of members. A decoder turns pending bytes of a
//! [`Buffer`] into uncompressed bytes in the caller's buffer until that is full. It keeps its own history, so the
//! caller may pass a different buffer each time.

use super::error::{DecodeStop, corrupt, truncated};
use crate::Buffer;
use crate::codec::{GZIP_MAGIC, LZ4_LEGACY_MAGIC, LZ4_MAGIC, SKIPPABLE_MAGIC, ZSTD_MAGIC, skippable_len};
use crate::error::DecompressErrorKind;

/// The caller's buffer, and how much of it is filled. The rest may be overwritten with arbitrary data.
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

    /// Copies as much of `from` as fits. Returns the number of copied items.
    pub(super) fn take_from(&mut self, from: &[T]) -> usize {
        let count = from.len().min(self.bytes.len() - self.filled);
        self.rest()[..count].copy_from_slice(&from[..count]);
        self.filled += count;
        count
    }
}

/// The decoder of a whole stream.
pub(super) trait StreamFormat: Send {
    /// Decodes until `out` is full or the last member ends. Leaves part of `out` unfilled only at the end.
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop>;
    /// Resets the state.
    fn restart(&mut self);
}

/// The decoder of a format's members, one at a time.
pub(super) trait MemberFormat: Send {
    /// Whether skippable frames may occur between members.
    const MAY_SKIP: bool;

    /// Returns whether bytes start with the signature of a member.
    fn has_signature(bytes: &[u8]) -> bool;
    /// Reads the header of the next member.
    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop>;
    /// Decodes some data into `out`, which must not be full. Returns whether the member, including its trailer, has
    /// ended.
    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop>;
    /// Resets the state.
    fn restart(&mut self);
}

/// A sequence of members.
pub(super) struct Sequence<M> {
    member: M,
    state: State,
    is_first: bool,
    /// Whether this is a range of members from an index, after which no data may follow.
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

/// The next item of a stream: a member or the end.
#[derive(Debug, PartialEq, Eq)]
enum NextMember {
    Member,
    End,
}

/// Returns whether a member starts at the current position or the data ends there; anything else is an error. Zeros up
/// to the end count as the end, except before the first member.
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
        _ if is_first => Err(corrupt("invalid signature")),
        _ if is_cut(pending, is_start) => Err(truncated()),
        _ => padding(input),
    }
}

/// Returns whether the remaining bytes are an incomplete signature.
fn is_cut(pending: &[u8], is_start: impl Fn(&[u8]) -> bool) -> bool {
    const GZIP: [u8; 4] = [GZIP_MAGIC[0], GZIP_MAGIC[1], 0, 0];
    [GZIP, ZSTD_MAGIC, LZ4_MAGIC, LZ4_LEGACY_MAGIC, SKIPPABLE_MAGIC].iter().any(|head| {
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
        // The error is at the first nonzero byte, however many zeros precede it.
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
