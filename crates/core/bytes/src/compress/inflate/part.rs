//! Parts that were decoded without the bytes before them, and their conversion into bytes once those are known.
//!
//! `blind.rs` creates parts, and the sequential decoder takes them (`follower.rs`). Both the sequential decoder and the
//! threads that work ahead replace the markers of a part with the last bytes of the previous part
//! ([`SymbolBytes::after`]). `queue.rs` ensures that a part starts at exactly the bit where the previous one ends.

use super::fast::{OUT_MARGIN, Symbol};
use super::{Bits, WINDOW_BYTES};
use crate::compress::error::{DecodeStop, corrupt};
use crate::compress::format::OutputBuffer;
use crate::memory::{grow, no_memory};
use std::io;

/// Marker flag. The lower bits are the index of a byte in the window before the part.
const MARKER: u16 = 0x8000;
/// Initial capacity of a part, in symbols.
const FIRST_ROOM: usize = 4 * WINDOW_BYTES;
/// Number of symbols to replace at a time. Most groups have no markers and need no lookups.
const GROUP: usize = 16;

/// Decoded blocks and their range in the compressed data.
#[derive(Default)]
pub(crate) struct InflatedPart {
    /// Bytes and markers, after a window of markers.
    pub(super) symbols: SymbolBuffer<u16>,
    /// Bytes after a window of known bytes; empty if the part never switched to bytes (`try_bytes`).
    pub(super) bytes: SymbolBuffer<u8>,
    is_resolved: bool,
    /// The bit offset of the first block in the compressed data.
    pub(super) start_bit: u64,
    /// The end: an offset in the compressed data, and the unused bits of the byte before it.
    pub(super) end: (u64, Bits),
}

/// Reused memory, and how much of it is filled.
#[derive(Default)]
pub(super) struct SymbolBuffer<T> {
    pub(super) data: Vec<T>,
    pub(super) filled: usize,
}

impl<T: Symbol> SymbolBuffer<T> {
    /// Restarts with a window.
    fn start(&mut self, window: impl Iterator<Item = T>) -> io::Result<()> {
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

    /// Doubles the length, up to `max_len` symbols. Fails if this does not leave room for another round.
    pub(super) fn grow(&mut self, max_len: usize) -> Result<(), DecodeStop> {
        let len = (2 * self.data.len()).min(max_len);
        if len < self.data.len() + OUT_MARGIN {
            return Err(corrupt("a part is too large to be decoded ahead"));
        }
        Ok(self.resize(len)?)
    }

    /// Returns the symbols after the window.
    pub(super) fn fresh(&self) -> &[T] {
        self.data.get(WINDOW_BYTES..self.filled).unwrap_or_default()
    }
}

impl InflatedPart {
    /// Returns the number of uncompressed bytes.
    pub(crate) fn len(&self) -> usize {
        self.symbols.fresh().len() + self.bytes.fresh().len()
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        2 * self.symbols.data.len() + self.bytes.data.len()
    }

    /// Replaces the part with an empty one at these bits.
    #[cfg(all(test, polyhaul_shuttle))]
    pub(crate) fn mark(&mut self, start_bit: u64, end_bit: u64) {
        *self = InflatedPart { start_bit, end: (end_bit.div_ceil(8), Bits::default()), ..InflatedPart::default() };
        self.end.1.count = (8 * self.end.0 - end_bit) as u32;
    }

    pub(crate) fn start_bit(&self) -> u64 {
        self.start_bit
    }

    /// Returns the bit offset of the end of the part.
    pub(crate) fn end_bit(&self) -> u64 {
        let (offset, bits) = self.end;
        8 * offset - u64::from(bits.count)
    }

    pub(super) fn end(&self) -> (u64, Bits) {
        self.end
    }

    pub(crate) fn is_resolved(&self) -> bool {
        self.is_resolved
    }

    pub(super) fn start(&mut self, start_bit: u64) -> io::Result<()> {
        self.start_bit = start_bit;
        self.end = (0, Bits::default());
        self.is_resolved = false;
        self.bytes.filled = 0;
        self.symbols.start((0..WINDOW_BYTES as u16).map(|index| MARKER | index))
    }

    /// Switches to bytes if the last window contains no markers and the memory suffices.
    pub(super) fn try_bytes(&mut self, max_bytes: usize) -> io::Result<()> {
        let window = self.symbols.filled - WINDOW_BYTES..self.symbols.filled;
        let has_markers = has_marker(&self.symbols.data[window.clone()]);
        if has_markers || 2 * self.symbols.filled + FIRST_ROOM > max_bytes {
            return Ok(());
        }
        if 2 * self.symbols.data.len() + self.bytes.data.len().max(FIRST_ROOM) > max_bytes {
            // Frees memory that either buffer allocated for an earlier part.
            self.symbols.data.truncate(self.symbols.filled);
            polyhaul_spill::shrink(&mut self.symbols.data);
            self.bytes = SymbolBuffer::default();
        }
        self.bytes.start(self.symbols.data[window].iter().map(|&symbol| symbol as u8))
    }

    /// Replaces the markers with bytes.
    pub(crate) fn resolve(&mut self, symbol_bytes: &SymbolBytes) {
        let symbols = self.symbols.data.get_mut(WINDOW_BYTES..self.symbols.filled).unwrap_or_default();
        let (groups, rest) = symbols.as_chunks_mut::<GROUP>();
        for group in groups.iter_mut().filter(|group| has_marker(&group[..])) {
            *group = group.map(|symbol| u16::from(symbol_bytes.byte(symbol)));
        }
        rest.iter_mut().for_each(|symbol| *symbol = u16::from(symbol_bytes.byte(*symbol)));
        self.is_resolved = true;
    }

    /// Copies as many uncompressed bytes from offset `at` as fit. Returns the number of copied bytes. Looks up markers
    /// in `symbol_bytes`.
    pub(crate) fn copy(&self, at: usize, symbol_bytes: &SymbolBytes, out: &mut OutputBuffer<'_>) -> usize {
        let symbols = self.symbols.fresh();
        if at >= symbols.len() {
            return out.take_from(self.bytes.fresh().get(at - symbols.len()..).unwrap_or_default());
        }
        let count = (symbols.len() - at).min(out.bytes.len() - out.filled);
        let to = &mut out.rest()[..count];
        let symbols = &symbols[at..at + count];
        if self.is_resolved {
            to.iter_mut().zip(symbols).for_each(|(to, &symbol)| *to = symbol as u8);
        } else {
            symbol_bytes.copy(symbols, to);
        }
        out.filled += count;
        count
    }
}

fn has_marker(symbols: &[u16]) -> bool {
    symbols.iter().fold(0, |bits, symbol| bits | symbol) & MARKER != 0
}

/// Maps each symbol to a byte, once the bytes before a part are known.
pub(crate) struct SymbolBytes(Box<[u8; 1 << 16]>);

impl SymbolBytes {
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = Vec::new();
        grow(&mut bytes, 1 << 16)?;
        bytes.iter_mut().zip(0..=255).for_each(|(byte, symbol)| *byte = symbol);
        let bytes = bytes.into_boxed_slice().try_into().map_err(|_| no_memory(1 << 16))?;
        Ok(SymbolBytes(bytes))
    }

    /// Returns the window of bytes before a part, which the caller must set.
    pub(crate) fn window(&mut self) -> &mut [u8] {
        &mut self.0[usize::from(MARKER)..][..WINDOW_BYTES]
    }

    /// Returns the last bytes of an unresolved part, which are the window before the next part.
    pub(crate) fn after(&self, part: &InflatedPart) -> io::Result<Vec<u8>> {
        let mut window = Vec::new();
        grow(&mut window, WINDOW_BYTES)?;
        match part.bytes.filled {
            // If a part is shorter than a window, the markers before it provide the rest of the window.
            0 => self.copy(&part.symbols.data[part.symbols.filled - WINDOW_BYTES..part.symbols.filled], &mut window),
            filled => window.copy_from_slice(&part.bytes.data[filled - WINDOW_BYTES..filled]),
        }
        Ok(window)
    }

    #[inline(always)]
    fn byte(&self, symbol: u16) -> u8 {
        self.0[usize::from(symbol)]
    }

    fn copy(&self, symbols: &[u16], out: &mut [u8]) {
        // Does not skip groups without markers: in PNG data, the branch would often be mispredicted.
        let (groups, rest) = symbols.as_chunks::<8>();
        let (to_groups, to_rest) = out.as_chunks_mut::<8>();
        for (to, group) in to_groups.iter_mut().zip(groups) {
            let word = group.iter().rev().fold(0, |word: u64, &symbol| word << 8 | u64::from(self.byte(symbol)));
            *to = word.to_le_bytes();
        }
        to_rest.iter_mut().zip(rest).for_each(|(to, &symbol)| *to = self.byte(symbol));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_replaced_in_place_or_on_the_way() {
        let mut symbol_bytes = SymbolBytes::new().unwrap();
        symbol_bytes.window().iter_mut().enumerate().for_each(|(i, byte)| *byte = (i % 251) as u8);
        for count in [1, 2, 31, 32, 33, 100, 40_001, FIRST_ROOM - WINDOW_BYTES] {
            let mut part = InflatedPart::default();
            part.start(0).unwrap();
            let symbol = |i: usize| if i % 97 < 50 { (i % 256) as u16 } else { MARKER | (i * 7 % WINDOW_BYTES) as u16 };
            (0..count).for_each(|i| part.symbols.data[WINDOW_BYTES + i] = symbol(i));
            part.symbols.filled += count;
            let byte = |i: usize| if i % 97 < 50 { (i % 256) as u8 } else { (i * 7 % WINDOW_BYTES % 251) as u8 };
            let expected: Vec<u8> = (0..count).map(byte).collect();
            let before: Vec<u8> = symbol_bytes.window().to_vec();
            assert!([before, expected.clone()].concat().ends_with(&symbol_bytes.after(&part).unwrap()));
            for is_resolved in [false, true] {
                if is_resolved {
                    part.resolve(&symbol_bytes);
                }
                for step in [1, 2, 7, 64, usize::MAX] {
                    let mut plain = vec![0; count];
                    let mut at = 0;
                    while at < count {
                        let end = count.min(at.saturating_add(step));
                        at += part.copy(at, &symbol_bytes, &mut OutputBuffer { bytes: &mut plain[at..end], filled: 0 });
                    }
                    assert!(plain == expected, "{count} {is_resolved} {step}");
                }
            }
        }
    }
}
