//! Blocks decoded from the middle of the data, without the bytes before them: what threads do ahead of the one that
//! reads (`compress/ahead.rs`).
//!
//! A match may reach up to 32 KiB before the first block. The bytes there are not known yet, so a part is decoded to
//! numbers of 16 bits: bytes, and *markers* for the bytes before it, which matches copy like any other. Once the last 32
//! KiB hold no marker, none can follow, and the rest is decoded to bytes. When the bytes before the part are known, the
//! markers are replaced ([`Part::copy`]).
//!
//! A part ends at the last boundary between blocks that was reached, and never holds the last block of the data. Whatever
//! goes wrong ends it there: an error is for the decoder to find that knows what came before.

use super::fast::{self, OUT_MARGIN, Symbol};
use super::find;
use super::{BitReader, Bits, Codes, HEAD_BYTES, State, WINDOW_BYTES};
use crate::Buffer;
use crate::Source;
use crate::compress::ahead::Parts;
use crate::compress::decoder::Output;
use crate::compress::error::{Stop, corrupt, truncated};
use crate::memory::no_memory;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Set in a marker, whose lower bits are the place of a byte in the window before the part.
const MARKER: u16 = 0x8000;
/// How much room is made for a part at first, in symbols.
const FIRST_ROOM: usize = 4 * WINDOW_BYTES;
/// With so many bytes of input, the fast loop decodes at least a symbol.
const ROUND_BYTES: usize = 4 * fast::IN_MARGIN;
/// How many places that look like a block are tried in a span.
const TRIES: usize = 8;

/// Decodes one part after the other.
pub(in crate::compress) struct Blind<'a> {
    input: Buffer<'a>,
    bits: Bits,
    codes: Codes,
}

/// Decoded blocks, and their place in the compressed data.
#[derive(Default)]
pub(in crate::compress) struct Part {
    /// After a window of markers.
    symbols: Room<u16>,
    /// After a window of known bytes; empty if there were markers up to the end.
    bytes: Room<u8>,
    /// The first bit of the first block, in bits of the compressed data.
    pub(super) start_bit: u64,
    /// The bytes of the compressed data up to its end, and the bits of the last one that are not used.
    pub(super) end: (u64, Bits),
}

/// Memory that is used again, with how much of it is filled.
#[derive(Default)]
struct Room<T> {
    data: Vec<T>,
    filled: usize,
}

impl<T: Symbol> Room<T> {
    /// Begins with a window.
    fn begin(&mut self, window: impl Iterator<Item = T>) -> io::Result<()> {
        if self.data.len() < FIRST_ROOM {
            self.resize(FIRST_ROOM)?;
        }
        self.data.iter_mut().zip(window).for_each(|(to, symbol)| *to = symbol);
        self.filled = WINDOW_BYTES;
        Ok(())
    }

    fn resize(&mut self, len: usize) -> io::Result<()> {
        let more = len.saturating_sub(self.data.len());
        self.data.try_reserve_exact(more).map_err(|_| no_memory(more * size_of::<T>()))?;
        self.data.resize(len, T::default());
        Ok(())
    }

    /// Makes more room, up to `most` symbols.
    fn grow(&mut self, most: usize) -> Result<(), Stop> {
        let len = (2 * self.data.len()).min(most);
        if len < self.data.len() + OUT_MARGIN {
            return Err(corrupt("a part is too large to be decoded ahead"));
        }
        Ok(self.resize(len)?)
    }

    /// The symbols after the window.
    fn fresh(&self) -> &[T] {
        self.data.get(WINDOW_BYTES..self.filled).unwrap_or_default()
    }
}

impl Part {
    /// How many plain bytes it has.
    pub(in crate::compress) fn len(&self) -> usize {
        self.symbols.fresh().len() + self.bytes.fresh().len()
    }

    #[cfg(test)]
    pub(in crate::compress) fn memory_bytes(&self) -> usize {
        2 * self.symbols.data.len() + self.bytes.data.len()
    }

    pub(in crate::compress) fn start_bit(&self) -> u64 {
        self.start_bit
    }

    fn begin(&mut self, start_bit: u64) -> io::Result<()> {
        self.start_bit = start_bit;
        self.bytes.filled = 0;
        self.symbols.begin((0..WINDOW_BYTES as u16).map(|place| MARKER | place))
    }

    /// Goes on with bytes if the window holds no marker.
    fn try_bytes(&mut self, most_bytes: usize) -> io::Result<()> {
        let window = self.symbols.filled - WINDOW_BYTES..self.symbols.filled;
        if self.symbols.data[window.clone()].iter().fold(0, |all, symbol| all | symbol) & MARKER != 0 {
            return Ok(());
        }
        if 2 * self.symbols.filled + FIRST_ROOM > most_bytes {
            return Ok(());
        }
        if 2 * self.symbols.data.len() + self.bytes.data.len().max(FIRST_ROOM) > most_bytes {
            // Memory that one of the two took for an earlier part.
            self.symbols.data.truncate(self.symbols.filled);
            self.symbols.data.shrink_to_fit();
            self.bytes = Room::default();
        }
        self.bytes.begin(self.symbols.data[window].iter().map(|&symbol| symbol as u8))
    }

    /// Copies plain bytes from `at` on, as many as fit; returns how many. The markers are looked up in `known`.
    pub(super) fn copy(&self, at: usize, known: &Known, out: &mut Output<'_>) -> usize {
        let symbols = self.symbols.fresh();
        let Some(symbols) = symbols.get(at..).filter(|symbols| !symbols.is_empty()) else {
            return out.take_from(self.bytes.fresh().get(at - symbols.len()..).unwrap_or_default());
        };
        let count = symbols.len().min(out.bytes.len() - out.filled);
        known.copy(&symbols[..count], &mut out.rest()[..count]);
        out.filled += count;
        count
    }
}

/// The byte that each symbol means, once the bytes before a part are known.
pub(super) struct Known(Box<[u8; 1 << 16]>);

impl Known {
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = Vec::new();
        crate::memory::grow(&mut bytes, 1 << 16)?;
        for (byte, symbol) in bytes.iter_mut().zip(0..=255) {
            *byte = symbol;
        }
        let bytes = bytes.into_boxed_slice().try_into().map_err(|_| no_memory(1 << 16))?;
        Ok(Known(bytes))
    }

    /// The last bytes before a part.
    pub(super) fn window(&mut self) -> &mut [u8] {
        &mut self.0[usize::from(MARKER)..][..WINDOW_BYTES]
    }

    fn copy(&self, symbols: &[u16], out: &mut [u8]) {
        const GROUP: usize = 32;
        let (groups, rest) = symbols.as_chunks::<GROUP>();
        let (to_groups, to_rest) = out.as_chunks_mut::<GROUP>();
        for (to, group) in to_groups.iter_mut().zip(groups) {
            if group.iter().fold(0, |all, symbol| all | symbol) & MARKER == 0 {
                *to = group.map(|symbol| symbol as u8);
            } else {
                *to = group.map(|symbol| self.0[usize::from(symbol)]);
            }
        }
        to_rest.iter_mut().zip(rest).for_each(|(to, &symbol)| *to = self.0[usize::from(symbol)]);
    }
}

/// What the decoder that knows the bytes before a part needs to take it.
pub(super) struct Follower {
    parts: Arc<Parts>,
    known: Known,
    /// The part that is being taken, and how much of it was.
    part: Option<Part>,
    at: usize,
}

impl Follower {
    pub(super) fn new(parts: Arc<Parts>) -> io::Result<Self> {
        Ok(Follower { parts, known: Known::new()?, part: None, at: 0 })
    }

    /// Looks for a part that begins at `bit`, after the bytes of `history` and `fresh`; returns whether there is one.
    pub(super) fn begin(&mut self, bit: u64, history: &[u8], fresh: &[u8]) -> bool {
        let Some(part) = self.parts.take(bit) else { return false };
        let fresh = &fresh[fresh.len().saturating_sub(WINDOW_BYTES)..];
        let missing = WINDOW_BYTES - fresh.len();
        // Matches that reach to before the beginning of the data are an error, which this decoder has to find.
        let Some(old) = history.len().checked_sub(missing).and_then(|from| history.get(from..)) else {
            self.parts.give_back(part);
            return false;
        };
        let (to_old, to_fresh) = self.known.window().split_at_mut(missing);
        to_old.copy_from_slice(old);
        to_fresh.copy_from_slice(fresh);
        (self.part, self.at) = (Some(part), 0);
        true
    }

    /// Copies as much of the part as fits; at its end, returns where it ends.
    pub(super) fn copy(&mut self, out: &mut Output<'_>) -> Option<(u64, Bits)> {
        let part = self.part.as_ref()?;
        while self.at < part.len() && !out.is_full() {
            self.at += part.copy(self.at, &self.known, out);
        }
        let part = self.part.take_if(|part| self.at == part.len())?;
        let end = part.end;
        self.parts.give_back(part);
        Some(end)
    }
}

impl<'a> Blind<'a> {
    pub(in crate::compress) fn new(source: Source<'a>) -> io::Result<Self> {
        Ok(Blind { input: Buffer::new(source), bits: Bits::default(), codes: Codes::new()? })
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
        let end = self.input.source().len().unwrap_or(0);
        let mut from = 8 * span.start;
        for _ in 0..TRIES {
            self.input.restart(from / 8..end);
            let Some(bit) = self.find(from, 8 * span.end)? else { break };
            part.begin(bit)?;
            part.end = (0, Bits::default());
            if !found(bit) {
                break;
            }
            // What stops it is of no interest.
            let _ = self.blocks(8 * span.end, most_bytes, part);
            if part.end.0 > 0 {
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
            if bit == to && room < find::LOOK_BYTES {
                break;
            }
        }
        Ok(None)
    }

    /// Decodes blocks up to the first one that begins at or after bit `end`, or to the last one of the data.
    fn blocks(&mut self, end: u64, most_bytes: usize, part: &mut Part) -> Result<(), Stop> {
        self.skip_bits((part.start_bit % 8) as u32)?;
        while part.end.0 == 0 || 8 * part.end.0 - u64::from(part.end.1.count) < end {
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
                0 => self.block(state, most_bytes / 2, &mut part.symbols),
                _ => self.block(state, most_bytes.saturating_sub(2 * part.symbols.data.len()), &mut part.bytes),
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

    /// Decodes the rest of a block, which begins in `state`.
    fn block<T: Symbol>(&mut self, mut state: State, most: usize, room: &mut Room<T>) -> Result<(), Stop> {
        while !matches!(state, State::Stored { left: 0 } | State::End) {
            if room.data.len() - room.filled < OUT_MARGIN {
                room.grow(most)?;
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

#[cfg(test)]
mod spike {
    use super::*;
    use std::time::Instant;

    #[test]
    #[ignore = "measures"]
    fn spike() {
        let path = std::env::var("SPIKE").unwrap();
        let span_bytes: u64 = std::env::var("SPAN").map_or(256 << 10, |s| s.parse().unwrap());
        let packed = std::fs::read(path).unwrap();
        let len = packed.len() as u64;
        let source = Source::memory(&packed[..]);
        for _ in 0..3 {
            let mut blind = Blind::new(source.clone()).unwrap();
            // search only
            let begin = Instant::now();
            let (mut found, mut passed) = (0, 0);
            for k in 1..len / span_bytes {
                blind.input.restart(k * span_bytes..len);
                if let Some(bit) = blind.find(8 * k * span_bytes, 8 * (k + 1) * span_bytes).unwrap() {
                    found += 1;
                    passed += bit - 8 * k * span_bytes;
                }
            }
            let searched = begin.elapsed().as_secs_f64();
            println!(
                "search: {found} of {} spans, {:.0} bytes each, {:.1} MB/s, {searched:.4} s",
                len / span_bytes - 1,
                passed as f64 / 8.0 / f64::from(found),
                passed as f64 / 8e6 / searched
            );
            let mut part = Part::default();
            let begin = Instant::now();
            let (mut plain, mut marked, mut covered) = (0, 0, 0);
            for k in 1..len / span_bytes {
                let span = k * span_bytes..(k + 1) * span_bytes;
                if blind.decode(&span, 64 << 20, &mut part, |_| true).unwrap() {
                    plain += part.len();
                    marked += part.symbols.fresh().len();
                    covered += 8 * part.end.0 - part.start_bit;
                }
            }
            let time = begin.elapsed().as_secs_f64();
            println!(
                "blind: {:.3} of the data, {} plain, {:.3} marked, {:.1} MB/s, {time:.4} s",
                covered as f64 / 8.0 / len as f64,
                plain,
                marked as f64 / plain as f64,
                plain as f64 / time / 1e6
            );
            let mut known = Known::new().unwrap();
            known.window().fill(b'x');
            let mut out = vec![0; 512 << 10];
            let begin = Instant::now();
            let mut at = 0;
            while at < part.len() {
                at += part.copy(at, &known, &mut Output { bytes: std::hint::black_box(&mut out), filled: 0 });
                std::hint::black_box(&mut out);
            }
            let time = begin.elapsed().as_secs_f64();
            let marks = part.symbols.fresh().iter().filter(|&&s| s >= MARKER).count() as f64 / part.len() as f64;
            println!("copy: {:.1} MB/s of {}, {marks:.3} markers", at as f64 / time / 1e6, at);
            let limits = crate::DecompressLimits::default();
            let plain_source = crate::decompressed(Source::reader(Box::new(&packed[..]), "x"), &limits).unwrap();
            let begin = Instant::now();
            let (mut block, mut all) = (vec![0; 1 << 19], 0);
            loop {
                let n = plain_source.read_next(&mut block).unwrap();
                all += n;
                if n < block.len() {
                    break;
                }
            }
            let time = begin.elapsed().as_secs_f64();
            println!("sequential: {:.1} MB/s, {time:.4} s", all as f64 / time / 1e6);
        }
    }
}
