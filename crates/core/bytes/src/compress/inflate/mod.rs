//! Deflate (RFC 1951), decoded from pending bytes directly into the caller's buffer.
//!
//! This is our own code because no crate comes close to ISA-L on mesh text; see `compress/mod.rs`. It is fast for three
//! reasons: tables that return up to two literals per lookup (`table.rs`), 64 bits of input at a time, and copies of 16
//! bytes (`fast.rs`). The slow path here does the rest: block headers, the ends of input and output, and matches that
//! reach into an earlier buffer.
//!
//! The boundary between the fast loop and the slow path must not be observable: how input and output are divided
//! changes neither the bytes nor the error.

mod blind;
mod fast;
mod find;
mod follower;
mod part;
mod queue;
mod table;

pub(super) use blind::BlindDecoder;
pub(super) use part::{InflatedPart, SymbolBytes};
pub(super) use queue::{AheadParts, PartJob, PartSizes};

use super::error::{DecodeStop, corrupt, truncated};
use super::format::OutputBuffer;
use crate::Buffer;
use crate::memory::reserve;
use follower::Follower;
use std::io;
use std::sync::Arc;
use table::{DISTANCE_COUNT, DistanceTable, InflateKind, NumberTable, SYMBOL_COUNT, SymbolTable, TableEntry};

/// Maximum distance of a match (RFC 1951, 2).
pub(super) const WINDOW_BYTES: usize = 32 << 10;
/// Maximum size of a dynamic block's header (RFC 1951, 3.2.7), rounded up: 3 + 14 + 19 · 3 bits, and 320 lengths of up
/// to 14 bits.
const HEAD_BYTES: usize = 640;
/// The order in which a header lists the lengths of the code length code (3.2.7). Rarely used lengths come last, so
/// that they can be omitted.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Maximum size of a length and its distance in bytes, rounded up: 15 + 5 + 15 + 13 bits.
const SYMBOL_BYTES: usize = 8;

/// A decoder that can stop at any output byte.
pub(super) struct Inflate {
    state: State,
    is_last_block: bool,
    /// The bit offset of the current block in the input.
    block_bit: u64,
    bits: Bits,
    codes: Codes,
    /// The last bytes of earlier buffers, at most [`WINDOW_BYTES`].
    history: Vec<u8>,
    /// Takes parts that other threads decoded ahead, if any.
    follower: Option<Box<Follower>>,
}

/// The codes of the current block, and the code length code of its header.
struct Codes {
    symbols: SymbolTable,
    distances: DistanceTable,
    numbers: NumberTable,
    /// Whether a block may contain only the end symbol.
    may_lack: bool,
    /// The number of blocks with dynamic codes so far.
    built: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Stored {
        left: usize,
    },
    Symbols,
    Match {
        length: usize,
        distance: usize,
    },
    /// Copying blocks that another thread decoded.
    Ahead,
    /// An unassigned code, found by the fast loop.
    Invalid,
    End,
}

/// Bits read from the input but not used yet. Fewer than 8 between steps, so that the rest of the input is whole bytes.
#[derive(Clone, Copy, Default)]
struct Bits {
    value: u64,
    count: u32,
}

impl Inflate {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Inflate {
            state: State::End,
            is_last_block: false,
            block_bit: 0,
            bits: Bits::default(),
            codes: Codes::new(true)?,
            history: Vec::new(),
            follower: None,
        })
    }

    /// Creates a decoder that uses `parts` decoded by other threads.
    pub(super) fn following(parts: Arc<AheadParts>) -> io::Result<Self> {
        Ok(Inflate { follower: Some(Box::new(Follower::new(parts)?)), ..Inflate::new()? })
    }

    /// Like [`Inflate::new`], but for zlib data in spans (`compress/spans.rs`): a block with only an end symbol is an
    /// error.
    pub(super) fn in_spans() -> io::Result<Self> {
        Ok(Inflate { codes: Codes::new(false)?, state: State::Head, ..Inflate::new()? })
    }

    /// Returns the number of blocks with dynamic codes so far.
    pub(super) fn built(&self) -> u64 {
        self.codes.built
    }

    /// Returns whether a block starts at the current position.
    pub(super) fn is_between_blocks(&self) -> bool {
        self.state == State::Head
    }

    /// Continues after `part`.
    pub(super) fn pass(&mut self, part: &InflatedPart, input: &mut Buffer<'_>) -> io::Result<()> {
        let (offset, bits) = part.end();
        self.bits = bits;
        input.skip(offset - input.offset())
    }

    /// Restarts for new data, without history.
    pub(super) fn restart(&mut self) {
        self.state = State::Head;
        self.is_last_block = false;
        self.bits = Bits::default();
        self.history.clear();
    }

    /// Decodes until `out` is full or the data ends. Returns whether the data ended. Consumes input up to the last byte
    /// of the data, but no further.
    pub(super) fn decode(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        let is_over = self.decode_until(u64::MAX, input, out)?;
        if !is_over {
            self.keep_history(out)?;
        }
        Ok(is_over)
    }

    /// Like [`Inflate::decode`], but stops before a block that starts at or after bit `until` of the input, and keeps
    /// no history.
    pub(super) fn decode_until(
        &mut self,
        until: u64,
        input: &mut Buffer<'_>,
        out: &mut OutputBuffer<'_>,
    ) -> Result<bool, DecodeStop> {
        loop {
            match self.state {
                State::End => return Ok(true),
                State::Head if self.bit(input) >= until => return Ok(false),
                State::Head => self.start_block(input, out)?,
                _ if out.is_full() => return Ok(false),
                State::Stored { left } => self.read_stored(left, input, out)?,
                State::Ahead => self.copy_ahead(input, out)?,
                State::Invalid => return Err(corrupt("the data contains an invalid Huffman code")),
                State::Match { length, distance } => self.copy_match(length, distance, out)?,
                State::Symbols => {
                    let pending = input.ensure(SYMBOL_BYTES)?;
                    let (count, state) = fast::decode(pending, out, &mut self.bits, &self.codes);
                    input.consume(count);
                    self.state = state;
                    if state == State::Symbols && !out.is_full() {
                        self.read_symbol(input, out)?;
                    } else if state == State::End {
                        self.end_block();
                    }
                }
            }
        }
    }

    /// Returns the bit offset in the input of the current block or, after the end, of the last one.
    pub(super) fn last_block_bit(&self) -> u64 {
        self.block_bit
    }

    /// Returns the bit offset in the input of the next bit to decode.
    pub(super) fn bit(&self, input: &Buffer<'_>) -> u64 {
        8 * input.offset() - u64::from(self.bits.count)
    }

    fn end_block(&mut self) {
        self.state = if self.is_last_block { State::End } else { State::Head };
    }

    /// Starts the next block, or starts to copy a part that another thread decoded from this bit.
    fn start_block(&mut self, input: &mut Buffer<'_>, out: &OutputBuffer<'_>) -> Result<(), DecodeStop> {
        let bit = self.bit(input);
        if let Some(follower) = &mut self.follower
            && follower.start(bit, &self.history, &out.bytes[..out.filled])?
        {
            self.state = State::Ahead;
            return Ok(());
        }
        self.block_bit = bit;
        self.read_head(input)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let mut reader = BitReader::new(self.bits, input.ensure(HEAD_BYTES)?);
        (self.is_last_block, self.state) = self.codes.read_head(&mut reader)?;
        let (bits, used) = reader.finish();
        self.bits = bits;
        input.consume(used);
        if self.state == (State::Stored { left: 0 }) {
            self.end_block();
        }
        Ok(())
    }

    fn read_stored(
        &mut self,
        left: usize,
        input: &mut Buffer<'_>,
        out: &mut OutputBuffer<'_>,
    ) -> Result<(), DecodeStop> {
        let pending = input.ensure(1)?;
        if pending.is_empty() {
            return Err(truncated());
        }
        let count = out.take_from(&pending[..pending.len().min(left)]);
        input.consume(count);
        self.state = State::Stored { left: left - count };
        if left == count {
            self.end_block();
        }
        Ok(())
    }

    /// Decodes one symbol.
    fn read_symbol(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        let mut reader = BitReader::new(self.bits, input.ensure(SYMBOL_BYTES)?);
        let mut entry = self.codes.symbols.first(reader.peek());
        if entry.kind() == InflateKind::SECOND {
            reader.take(entry.bits())?;
            entry = self.codes.symbols.second(entry, reader.peek());
        }
        if entry.is_literal() {
            // Takes only the first literal: a second one may be past the end of the input or the output.
            let byte = entry.literals() as u8;
            reader.take(self.codes.symbols.literal_bits(entry, byte))?;
            out.take_from(&[byte]);
        } else {
            self.state = self.read_match(entry, &mut reader)?;
        }
        let (bits, used) = reader.finish();
        self.bits = bits;
        input.consume(used);
        if self.state == State::End {
            self.end_block();
        }
        Ok(())
    }

    fn read_match(&self, entry: TableEntry, reader: &mut BitReader<'_>) -> Result<State, DecodeStop> {
        match entry.kind() {
            InflateKind::END => {
                reader.take(entry.bits())?;
                return Ok(State::End);
            }
            InflateKind::VALUE => {}
            _ => return reader.invalid(),
        }
        let length = entry.value_in(reader.peek());
        reader.take(entry.bits())?;
        let mut entry = self.codes.distances.first(reader.peek());
        if entry.kind() == InflateKind::SECOND {
            reader.take(entry.bits())?;
            entry = self.codes.distances.second(entry, reader.peek());
        }
        if entry.kind() != InflateKind::VALUE {
            return reader.invalid();
        }
        let distance = entry.value_in(reader.peek());
        reader.take(entry.bits())?;
        Ok(State::Match { length, distance })
    }
}

impl Inflate {
    fn copy_ahead(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        if let Some((offset, bits)) = self.follower.as_mut().and_then(|follower| follower.copy(out)) {
            input.skip(offset - input.offset())?;
            self.state = State::Head;
            self.bits = bits;
        }
        Ok(())
    }

    /// Copies as much of a match as fits into `out`, first from the history, then from `out` itself.
    fn copy_match(&mut self, length: usize, distance: usize, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        if distance > out.filled + self.history.len() {
            return Err(corrupt("a back-reference points before the start of the data"));
        }
        let mut left = length;
        while left > 0 && !out.is_full() {
            left -= match distance.checked_sub(out.filled) {
                Some(back) if back > 0 => {
                    let from = &self.history[self.history.len() - back..];
                    out.take_from(&from[..from.len().min(left)])
                }
                _ => {
                    let byte = out.bytes[out.filled - distance];
                    out.take_from(&[byte])
                }
            };
        }
        self.state = if left > 0 { State::Match { length: left, distance } } else { State::Symbols };
        Ok(())
    }

    /// Keeps the bytes that the next buffer may refer to.
    fn keep_history(&mut self, out: &OutputBuffer<'_>) -> Result<(), DecodeStop> {
        let fresh = &out.bytes[..out.filled];
        let fresh = &fresh[fresh.len().saturating_sub(WINDOW_BYTES)..];
        let kept_count = self.history.len().min(WINDOW_BYTES - fresh.len());
        self.history.drain(..self.history.len() - kept_count);
        reserve(&mut self.history, fresh.len())?;
        self.history.extend_from_slice(fresh);
        Ok(())
    }
}

impl Codes {
    fn new(may_lack: bool) -> io::Result<Self> {
        Ok(Codes {
            symbols: SymbolTable::new()?,
            distances: DistanceTable::new()?,
            numbers: NumberTable::new()?,
            may_lack,
            built: 0,
        })
    }

    /// Reads the header of a block. Returns whether it is the last block, and the state after the header.
    fn read_head(&mut self, reader: &mut BitReader<'_>) -> Result<(bool, State), DecodeStop> {
        // BFINAL, then BTYPE (3.2.3).
        let is_last_block = reader.take(1)? == 1;
        let state = match reader.take(2)? {
            0 => State::Stored { left: reader.stored_len()? },
            1 => {
                self.build_fixed()?;
                State::Symbols
            }
            2 => {
                self.build_dynamic(reader)?;
                State::Symbols
            }
            _ => return Err(corrupt("a block has an invalid type")),
        };
        Ok((is_last_block, state))
    }

    fn build_fixed(&mut self) -> Result<(), DecodeStop> {
        // The fixed codes of 3.2.6.
        let mut lengths = [8; SYMBOL_COUNT];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.symbols.build(&lengths, self.may_lack)?;
        self.distances.build(&[5; DISTANCE_COUNT])
    }

    fn build_dynamic(&mut self, reader: &mut BitReader<'_>) -> Result<(), DecodeStop> {
        let symbol_count = 257 + reader.take(5)? as usize;
        let distance_count = 1 + reader.take(5)? as usize;
        let number_count = 4 + reader.take(4)? as usize;
        // 287 and 288 symbols, and 31 and 32 distances, can be encoded but are not allowed.
        if symbol_count > 286 || distance_count > 30 {
            return Err(corrupt("a block has too many length or distance symbols"));
        }
        let mut number_lengths = [0; 19];
        for &number in &ORDER[..number_count] {
            number_lengths[number] = reader.take(3)? as u8;
        }
        self.numbers.build(&number_lengths)?;
        // The lengths are one sequence: a repetition may cross from the symbols to the distances (3.2.7).
        let mut lengths = [0; SYMBOL_COUNT + DISTANCE_COUNT];
        let lengths = &mut lengths[..symbol_count + distance_count];
        self.read_lengths(reader, lengths)?;
        self.symbols.build(&lengths[..symbol_count], self.may_lack)?;
        self.distances.build(&lengths[symbol_count..])?;
        self.built += 1;
        Ok(())
    }

    fn read_lengths(&mut self, reader: &mut BitReader<'_>, lengths: &mut [u8]) -> Result<(), DecodeStop> {
        let mut at = 0;
        while at < lengths.len() {
            let entry = self.numbers.first(reader.peek());
            reader.take(entry.bits())?;
            // 16 to 18 repeat; 0 to 15 are lengths (3.2.7).
            let (length, count) = match entry.base() {
                16 if at == 0 => return Err(corrupt("a repeated code length has no preceding length")),
                16 => (lengths[at - 1], 3 + reader.take(2)? as usize),
                17 => (0, 3 + reader.take(3)? as usize),
                18 => (0, 11 + reader.take(7)? as usize),
                length => (length as u8, 1),
            };
            let Some(run) = lengths.get_mut(at..at + count) else {
                return Err(corrupt("a block has too many code lengths"));
            };
            run.fill(length);
            at += count;
        }
        Ok(())
    }
}

/// Reads bits from pending bytes.
struct BitReader<'b> {
    value: u64,
    count: u32,
    bytes: &'b [u8],
    used: usize,
}

impl<'b> BitReader<'b> {
    fn new(bits: Bits, bytes: &'b [u8]) -> Self {
        let mut reader = BitReader { value: bits.value, count: bits.count, bytes, used: 0 };
        reader.refill();
        reader
    }

    /// Creates a reader at bit `bit` of `bytes`.
    fn at(bytes: &'b [u8], bit: usize) -> Self {
        let bytes = bytes.get(bit / 8..).unwrap_or_default();
        let mut reader = BitReader::new(Bits::default(), bytes);
        reader.value >>= bit % 8;
        reader.count = reader.count.saturating_sub((bit % 8) as u32);
        reader.refill();
        reader
    }

    /// Loads at least 56 bits, unless the bytes end.
    fn refill(&mut self) {
        while self.count <= 56
            && let Some(&byte) = self.bytes.get(self.used)
        {
            self.value |= u64::from(byte) << self.count;
            self.count += 8;
            self.used += 1;
        }
    }

    /// Returns the next bits, padded with zeros after the end.
    fn peek(&self) -> u64 {
        self.value
    }

    /// Takes up to 56 bits.
    fn take(&mut self, count: u32) -> Result<u64, DecodeStop> {
        if count > self.count {
            return Err(truncated());
        }
        let bits = self.value & ((1 << count) - 1);
        self.value >>= count;
        self.count -= count;
        self.refill();
        Ok(bits)
    }

    /// Reads the header of a stored block (3.2.4), which starts at the next byte boundary: its length, then the one's
    /// complement of its length.
    fn stored_len(&mut self) -> Result<usize, DecodeStop> {
        self.take(self.count % 8)?;
        let len = self.take(16)?;
        let complement = self.take(16)?;
        if len ^ complement != 0xffff {
            return Err(corrupt("the length of a stored block does not match its complement"));
        }
        Ok(len as usize)
    }

    /// Returns the state after an invalid code. If fewer than 15 bits are left, the data may be truncated instead,
    /// which is a different error. As in [`fast`], the codes before the invalid one count as used: whether this reader
    /// or the fast loop finds it depends on how the input is divided, but the error must not.
    fn invalid(&self) -> Result<State, DecodeStop> {
        if self.count < 15 { Err(truncated()) } else { Ok(State::Invalid) }
    }

    /// Returns the unused bits of the last byte read, and the number of bytes used.
    fn finish(mut self) -> (Bits, usize) {
        self.used -= (self.count / 8) as usize;
        self.count %= 8;
        (Bits { value: self.value & ((1 << self.count) - 1), count: self.count }, self.used)
    }
}
