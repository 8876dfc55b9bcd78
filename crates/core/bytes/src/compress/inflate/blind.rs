//! Blocks decoded from the middle of the data, without the bytes before them: what threads do ahead of the one that
//! reads (`compress/ahead.rs`).
//!
//! A match may reach up to 32 KiB before the first block. The bytes there are not known yet, so a part is decoded to
//! numbers of 16 bits: bytes, and *markers* for the bytes before it, which matches copy like any other. Once the last
//! 32 KiB hold no marker, none can follow, and the rest is decoded to bytes. When the bytes before the part are known,
//! the markers are replaced (`part.rs`).
//!
//! A part ends at the last boundary between blocks that was reached, and never holds the last block of the data.
//! Whatever goes wrong ends it there: an error is for the decoder to find that knows what came before.

use super::fast::{self, OUT_MARGIN, Symbol};
use super::part::{Part, Room};
use super::{BitReader, Bits, Codes, HEAD_BYTES, State, find};
use crate::compress::decoder::Output;
use crate::compress::error::{Stop, corrupt, truncated};
use crate::{Buffer, Source};
use std::io;
use std::ops::Range;

/// With so many bytes of input, the fast loop decodes at least a symbol.
const ROUND_BYTES: usize = 4 * fast::IN_MARGIN;
/// How many places that look like a block are tried in a span.
const TRIES: usize = 8;
/// How much of a span is searched. The blocks of zlib have up to 70 kB.
const SEARCH_BYTES: u64 = 128 << 10;

/// Decodes one part after the other.
pub(in crate::compress) struct Blind<'a> {
    input: Buffer<'a>,
    bits: Bits,
    codes: Codes,
}

impl<'a> Blind<'a> {
    pub(in crate::compress) fn new(source: Source<'a>) -> io::Result<Self> {
        Ok(Blind { input: Buffer::new(source), bits: Bits::default(), codes: Codes::new(false)? })
    }

    /// Decodes `bytes`, which begin at `base`, instead of the source. [`Blind::give_back`] returns them.
    pub(in crate::compress) fn hand(&mut self, bytes: Vec<u8>, base: u64) {
        self.input.hand(bytes, base, base);
    }

    pub(in crate::compress) fn give_back(&mut self) -> Vec<u8> {
        self.input.give_back()
    }

    /// Decodes the blocks that begin in `span`, a range of compressed bytes, in at most `most_bytes` of memory. `found`
    /// is told where the first one begins, and decides whether to go on. Returns whether there is a part.
    pub(in crate::compress) fn decode(
        &mut self,
        span: &Range<u64>,
        most_bytes: usize,
        part: &mut Part,
        mut found: impl FnMut(u64) -> bool,
    ) -> io::Result<bool> {
        let end = self.input.len().unwrap_or(0);
        let mut from = 8 * span.start;
        let last = 8 * span.end.min(span.start + SEARCH_BYTES);
        for _ in 0..TRIES {
            self.input.restart(from / 8..end);
            let Some(bit) = self.find(from, last)? else { break };
            part.begin(bit)?;
            if !found(bit) {
                break;
            }
            // What stops it is for the reading thread to find.
            _ = self.blocks(8 * span.end, most_bytes, part);
            if part.end_bit() > 0 {
                return Ok(true);
            }
            from = bit + 1;
        }
        Ok(false)
    }

    /// The next place from bit `from` on, which is in the next byte, at which the header of a block is valid. The input
    /// is then there.
    fn find(&mut self, mut from: u64, end: u64) -> io::Result<Option<u64>> {
        while from < end {
            let base = 8 * self.input.offset();
            let bytes = self.input.ensure(2 * HEAD_BYTES)?;
            let Some(room) = bytes.len().checked_sub(HEAD_BYTES) else { break };
            let to = (8 * room as u64).min(end - base) as usize;
            let bit = find::candidate(bytes, (from - base) as usize, to).unwrap_or(to);
            from = base + bit as u64;
            let is_head = bit < to && {
                let mut reader = BitReader::at(bytes, bit);
                matches!(self.codes.read_head(&mut reader), Ok((false, State::Symbols)))
            };
            self.input.consume(bit / 8);
            if is_head {
                self.bits = Bits::default();
                return Ok(Some(from));
            }
            from += u64::from(bit < to);
            if bit == to && room < HEAD_BYTES {
                break;
            }
        }
        Ok(None)
    }

    /// Decodes blocks up to the first one that begins at or after bit `end`, or to the last one of the data.
    fn blocks(&mut self, end: u64, most_bytes: usize, part: &mut Part) -> Result<(), Stop> {
        self.skip_bits((part.start_bit % 8) as u32)?;
        while part.end_bit() < end {
            let mut reader = BitReader::new(self.bits, self.input.ensure(HEAD_BYTES)?);
            let (is_last, state) = self.codes.read_head(&mut reader)?;
            if is_last {
                break;
            }
            let (bits, used) = reader.finish();
            self.bits = bits;
            self.input.consume(used);
            let (symbols, bytes) = (part.symbols.filled, part.bytes.filled);
            let result = match bytes {
                0 => self.block(state, &mut part.symbols, |room| {
                    // Memory for bytes, from an earlier part.
                    part.bytes = Room::default();
                    room.grow(most_bytes / 2)
                }),
                _ => {
                    let most = most_bytes.saturating_sub(2 * part.symbols.data.len());
                    self.block(state, &mut part.bytes, |room| room.grow(most))
                }
            };
            if let Err(stop) = result {
                (part.symbols.filled, part.bytes.filled) = (symbols, bytes);
                return Err(stop);
            }
            part.end = (self.input.offset(), self.bits);
            if part.bytes.filled == 0 {
                part.try_bytes(most_bytes)?;
            }
        }
        Ok(())
    }

    fn skip_bits(&mut self, count: u32) -> Result<(), Stop> {
        self.bits = Bits::default();
        if count > 0 {
            let byte = *self.input.ensure(1)?.first().ok_or_else(truncated)?;
            self.bits = Bits { value: u64::from(byte) >> count, count: 8 - count };
            self.input.consume(1);
        }
        Ok(())
    }

    /// Decodes the rest of a block, which begins in `state`; `grow` makes more room.
    fn block<T: Symbol>(
        &mut self,
        mut state: State,
        room: &mut Room<T>,
        mut grow: impl FnMut(&mut Room<T>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        while !matches!(state, State::Stored { left: 0 } | State::End) {
            if room.data.len() - room.filled < OUT_MARGIN {
                grow(room)?;
            }
            match state {
                State::Stored { left } => {
                    let pending = self.input.ensure(1)?;
                    let count = pending.len().min(left).min(room.data.len() - room.filled);
                    if pending.is_empty() {
                        return Err(truncated());
                    }
                    let to = room.data[room.filled..].iter_mut();
                    to.zip(&pending[..count]).for_each(|(to, &byte)| *to = T::from(byte));
                    room.filled += count;
                    self.input.consume(count);
                    state = State::Stored { left: left - count };
                }
                State::Symbols => {
                    let pending = self.input.ensure(ROUND_BYTES)?;
                    if pending.len() < ROUND_BYTES {
                        return Err(truncated());
                    }
                    let mut out = Output { bytes: &mut room.data[..], filled: room.filled };
                    let (count, next) = fast::decode(pending, &mut out, &mut self.bits, &self.codes);
                    room.filled = out.filled;
                    self.input.consume(count);
                    state = next;
                }
                _ => return Err(corrupt("the data contains an invalid symbol")),
            }
        }
        Ok(())
    }
}
