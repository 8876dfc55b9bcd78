//! Decodes blocks from the middle of the data without the bytes before them, on threads that work ahead of the reading
//! thread (`compress/ahead.rs`).
//!
//! A match may reach up to 32 KiB before the first block. These bytes are still unknown, so a part is decoded into
//! 16-bit symbols: bytes, and *markers* for the bytes before the part, which matches copy like any other symbol. Once
//! the last 32 KiB contain no marker, none can follow, and the rest is decoded into bytes. When the bytes before the
//! part are known, they replace the markers (`part.rs`).
//!
//! A part ends at the last block boundary that was reached, also after a failure: the sequential decoder will find the
//! same error. It never contains the last block of the data.

use super::fast::{self, OUT_MARGIN, Symbol};
use super::part::{InflatedPart, SymbolBuffer};
use super::{BitReader, Bits, Codes, HEAD_BYTES, State, find};
use crate::compress::error::{DecodeStop, corrupt, truncated};
use crate::compress::format::OutputBuffer;
use crate::{Buffer, Source};
use std::io;
use std::ops::Range;

/// Input size that guarantees that the fast loop decodes at least one symbol.
const MIN_ROUND_BYTES: usize = 4 * fast::IN_MARGIN;
/// Maximum number of possible block starts to try in a span.
const MAX_TRIES: usize = 8;
/// Maximum number of bytes to search in a span. zlib's blocks are up to 70 kB long.
const MAX_SEARCH_BYTES: u64 = 128 << 10;

/// Decodes parts without the bytes before them.
pub(crate) struct BlindDecoder<'a> {
    input: Buffer<'a>,
    bits: Bits,
    codes: Codes,
}

impl<'a> BlindDecoder<'a> {
    pub(crate) fn new(source: Source<'a>) -> io::Result<Self> {
        Ok(BlindDecoder { input: Buffer::new(source), bits: Bits::default(), codes: Codes::new(false)? })
    }

    /// Sets `bytes`, which start at offset `base`, as the input instead of the source. [`BlindDecoder::give_back`]
    /// returns them.
    pub(crate) fn hand(&mut self, bytes: Vec<u8>, base: u64) {
        self.input.hand(bytes, base, base);
    }

    pub(crate) fn give_back(&mut self) -> Vec<u8> {
        self.input.give_back()
    }

    /// Decodes the blocks that start in `span`, a range of compressed bytes, with at most `max_bytes` of memory. Calls
    /// `on_block` with the bit offset of each possible first block, and stops if it returns `false`. Returns whether
    /// `part` contains any blocks.
    pub(crate) fn decode(
        &mut self,
        span: &Range<u64>,
        max_bytes: usize,
        part: &mut InflatedPart,
        mut on_block: impl FnMut(u64) -> bool,
    ) -> io::Result<bool> {
        let end = self.input.len().unwrap_or(0);
        let mut search_start = 8 * span.start;
        let search_end = 8 * span.end.min(span.start + MAX_SEARCH_BYTES);
        for _ in 0..MAX_TRIES {
            self.input.restart(search_start / 8..end);
            let Some(bit) = self.find(search_start, search_end)? else { break };
            part.start(bit)?;
            if !on_block(bit) {
                break;
            }
            // The reading thread will find the same error.
            _ = self.blocks(8 * span.end, max_bytes, part);
            if part.end_bit() > 0 {
                return Ok(true);
            }
            search_start = bit + 1;
        }
        Ok(false)
    }

    /// Finds the first bit from `bit` up to `end` at which a valid header of a block with dynamic codes starts, and
    /// leaves the input at the byte that contains it. `bit` must be in the next input byte.
    fn find(&mut self, mut bit: u64, end: u64) -> io::Result<Option<u64>> {
        while bit < end {
            let base = 8 * self.input.offset();
            let bytes = self.input.ensure(2 * HEAD_BYTES)?;
            let Some(room) = bytes.len().checked_sub(HEAD_BYTES) else { break };
            let limit = (8 * room as u64).min(end - base) as usize;
            let candidate = find::candidate(bytes, (bit - base) as usize, limit).unwrap_or(limit);
            bit = base + candidate as u64;
            let is_head = candidate < limit && {
                let mut reader = BitReader::at(bytes, candidate);
                matches!(self.codes.read_head(&mut reader), Ok((false, State::Symbols)))
            };
            self.input.consume(candidate / 8);
            if is_head {
                self.bits = Bits::default();
                return Ok(Some(bit));
            }
            bit += u64::from(candidate < limit);
            if candidate == limit && room < HEAD_BYTES {
                break;
            }
        }
        Ok(None)
    }

    /// Decodes blocks up to the first one that starts at or after bit `end`, or up to the last block of the data.
    fn blocks(&mut self, end: u64, max_bytes: usize, part: &mut InflatedPart) -> Result<(), DecodeStop> {
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
            let symbol_count = part.symbols.filled;
            let byte_count = part.bytes.filled;
            let result = match byte_count {
                0 => self.block(state, &mut part.symbols, |room| {
                    // Frees the memory of an earlier part's bytes.
                    part.bytes = SymbolBuffer::default();
                    room.grow(max_bytes / 2)
                }),
                _ => {
                    let max_len = max_bytes.saturating_sub(2 * part.symbols.data.len());
                    self.block(state, &mut part.bytes, |room| room.grow(max_len))
                }
            };
            if let Err(stop) = result {
                part.symbols.filled = symbol_count;
                part.bytes.filled = byte_count;
                return Err(stop);
            }
            part.end = (self.input.offset(), self.bits);
            if part.bytes.filled == 0 {
                part.try_bytes(max_bytes)?;
            }
        }
        Ok(())
    }

    fn skip_bits(&mut self, count: u32) -> Result<(), DecodeStop> {
        self.bits = Bits::default();
        if count > 0 {
            let byte = *self.input.ensure(1)?.first().ok_or_else(truncated)?;
            self.bits = Bits { value: u64::from(byte) >> count, count: 8 - count };
            self.input.consume(1);
        }
        Ok(())
    }

    /// Decodes the rest of a block, starting in `state`. Calls `grow` for more room.
    fn block<T: Symbol>(
        &mut self,
        mut state: State,
        room: &mut SymbolBuffer<T>,
        mut grow: impl FnMut(&mut SymbolBuffer<T>) -> Result<(), DecodeStop>,
    ) -> Result<(), DecodeStop> {
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
                    let pending = self.input.ensure(MIN_ROUND_BYTES)?;
                    if pending.len() < MIN_ROUND_BYTES {
                        return Err(truncated());
                    }
                    let mut out = OutputBuffer { bytes: &mut room.data[..], filled: room.filled };
                    let (count, next) = fast::decode(pending, &mut out, &mut self.bits, &self.codes);
                    room.filled = out.filled;
                    self.input.consume(count);
                    state = next;
                }
                _ => return Err(corrupt("the data contains an invalid Huffman code")),
            }
        }
        Ok(())
    }
}
