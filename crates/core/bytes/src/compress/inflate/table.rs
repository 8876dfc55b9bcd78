//! Decoding tables for the Huffman codes of deflate (RFC 1951, 3.2.2 and 3.2.5).
//!
//! The next bits of the data index a main table; longer codes continue in a subtable, stored after it. An entry has
//! everything that decoding needs, and two literals if both fit into one lookup.
//!
//! Entries have 32 bits, listed from the lowest. The low byte is the number of bits to consume, so that an entry can be
//! used as a shift count without masking:
//!
//! | bits | literals | lengths and distances | subtable |
//! |---|---|---|---|
//! | 0..8 | bits of the codes | bits of the code and of the extra bits | bits of the main table |
//! | 8..12 | bits of the codes | bits of the code | bits of the subtable |
//! | 12..15 | number of literals, 1 or 2 | [`InflateKind`] | [`InflateKind`] |
//! | 15 | 1 | 0 | 0 |
//! | 16..32 | the literals | base | start of the subtable |

use super::super::error::{DecodeStop, corrupt};
use crate::memory::no_memory;
use std::io;

/// Index bits of the main table for literals and lengths: 2048 entries of 4 bytes, which stay in the L1 cache.
pub(super) const SYMBOL_BITS: u32 = 11;
/// Index bits of the main table for distances.
pub(super) const DISTANCE_BITS: u32 = 9;

const MAX_BITS: usize = 15;
pub(super) const SYMBOL_COUNT: usize = 288;
pub(super) const DISTANCE_COUNT: usize = 32;
const END_OF_BLOCK: usize = 256;

/// The kind of an entry without literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InflateKind;

impl InflateKind {
    pub(super) const VALUE: u32 = 0;
    pub(super) const SECOND: u32 = 1;
    pub(super) const END: u32 = 2;
    pub(super) const INVALID: u32 = 3;
}

/// One entry; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableEntry(u32);

impl TableEntry {
    pub(super) const INVALID: TableEntry = TableEntry::other(InflateKind::INVALID);
    const IS_LITERAL: u32 = 1 << 15;

    const fn other(kind: u32) -> TableEntry {
        TableEntry(kind << 12)
    }

    const fn literal(byte: u8) -> TableEntry {
        TableEntry(Self::IS_LITERAL | 1 << 12 | (byte as u32) << 16)
    }

    const fn value(base: u32, extra_bits: u32) -> TableEntry {
        TableEntry(InflateKind::VALUE << 12 | extra_bits | base << 16)
    }

    fn second(start: usize, main_bits: u32, second_bits: u32) -> TableEntry {
        TableEntry(InflateKind::SECOND << 12 | main_bits | second_bits << 8 | (start as u32) << 16)
    }

    /// Adds the length of the code, which is known last.
    fn with_code(self, bits: u32) -> TableEntry {
        TableEntry(self.0 + bits + (bits << 8))
    }

    /// Joins two literals; `self` has the first one.
    fn joined(self, next: TableEntry) -> TableEntry {
        let bits = next.bits();
        TableEntry(self.0 + bits + (bits << 8) + (1 << 12) + (next.literals() << 24))
    }

    /// Returns the number of bits to consume in the lowest 6 bits, for use as a shift count without masking.
    #[inline(always)]
    pub(super) fn raw_bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        self.0 & 63
    }

    #[inline(always)]
    fn code_bits(self) -> u32 {
        self.0 >> 8 & 15
    }

    #[inline(always)]
    pub(super) fn is_literal(self) -> bool {
        self.0 & Self::IS_LITERAL != 0
    }

    /// Returns the number of literals of a literal entry.
    #[inline(always)]
    pub(super) fn literal_count(self) -> usize {
        (self.0 >> 12 & 3) as usize
    }

    /// Returns the literals, the first one in the lowest byte.
    #[inline(always)]
    pub(super) fn literals(self) -> u32 {
        self.0 >> 16
    }

    /// Returns [`InflateKind::VALUE`] or another kind for an entry without literals; any other value means literals.
    #[inline(always)]
    pub(super) fn kind(self) -> u32 {
        self.0 >> 12 & 15
    }

    #[inline(always)]
    pub(super) fn base(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// Returns the length or distance: the base of the entry plus the extra bits in `bits`, which start with the code.
    #[inline(always)]
    pub(super) fn value_in(self, bits: u64) -> usize {
        let masked = bits & !(!0 << (self.raw_bits() & 63));
        self.base() + (masked >> self.code_bits()) as usize
    }
}

const SYMBOLS: [TableEntry; SYMBOL_COUNT] = symbols();
const DISTANCES: [TableEntry; DISTANCE_COUNT] = distances();
const NUMBERS: [TableEntry; 19] = numbers();

const fn symbols() -> [TableEntry; SYMBOL_COUNT] {
    let mut entries = [TableEntry::INVALID; SYMBOL_COUNT];
    let mut i = 0;
    while i < END_OF_BLOCK {
        entries[i] = TableEntry::literal(i as u8);
        i += 1;
    }
    entries[END_OF_BLOCK] = TableEntry::other(InflateKind::END);
    let mut i = 0;
    let mut base = 3;
    // Length codes 257 to 284: eight without extra bits, then four for each number of extra bits (3.2.5).
    while i < 28 {
        let extra_bits = if i < 8 { 0 } else { i / 4 - 1 };
        entries[257 + i as usize] = TableEntry::value(base, extra_bits);
        base += 1 << extra_bits;
        i += 1;
    }
    // Code 284 could encode 258 with the extra bits 31; 285 encodes it without extra bits.
    entries[285] = TableEntry::value(258, 0);
    entries
}

const fn distances() -> [TableEntry; DISTANCE_COUNT] {
    let mut entries = [TableEntry::INVALID; DISTANCE_COUNT];
    // Distance codes 0 to 29: four without extra bits, then two for each number of extra bits (3.2.5).
    let mut i = 0;
    let mut base = 1;
    while i < 30 {
        let extra_bits = if i < 4 { 0 } else { i / 2 - 1 };
        entries[i as usize] = TableEntry::value(base, extra_bits);
        base += 1 << extra_bits;
        i += 1;
    }
    entries
}

const fn numbers() -> [TableEntry; 19] {
    let mut entries = [TableEntry::INVALID; 19];
    let mut i = 0;
    while i < 19 {
        entries[i as usize] = TableEntry::value(i, 0);
        i += 1;
    }
    entries
}

/// A main table of `1 << BITS` entries, followed by room for subtables.
pub(super) struct HuffmanTable<const BITS: u32, const LEN: usize> {
    entries: Box<[TableEntry; LEN]>,
    /// Code lengths of single literals.
    literal_bits: [u8; 256],
}

/// The table of the literal/length code.
pub(super) type SymbolTable = HuffmanTable<SYMBOL_BITS, { 2048 + SECOND_ENTRIES }>;
/// The table of the distance code.
pub(super) type DistanceTable = HuffmanTable<DISTANCE_BITS, { 512 + SECOND_ENTRIES }>;
/// The table of the code length code, whose codes have up to 7 bits.
pub(super) type NumberTable = HuffmanTable<7, 128>;

/// More entries than any complete code needs: at most 294 after 11 bits for 288 symbols, and fewer for distances
/// (counted with zlib's program `enough`). The limit is checked anyway.
const SECOND_ENTRIES: usize = 1024;

impl<const BITS: u32, const LEN: usize> HuffmanTable<BITS, LEN> {
    pub(super) fn new() -> io::Result<Self> {
        let mut entries = Vec::new();
        entries.try_reserve_exact(LEN).map_err(|_| no_memory(LEN * size_of::<TableEntry>()))?;
        entries.resize(LEN, TableEntry::INVALID);
        let entries = entries.into_boxed_slice().try_into().map_err(|_| no_memory(LEN))?;
        Ok(HuffmanTable { entries, literal_bits: [0; 256] })
    }

    /// Returns the main table's entry for the next bits of the data.
    #[inline(always)]
    pub(super) fn first(&self, bits: u64) -> TableEntry {
        self.entries[bits as usize & ((1 << BITS) - 1)]
    }

    /// Follows `first` to its subtable. `bits` start after the bits of the main table, and the returned entry does not
    /// count those.
    #[inline(always)]
    pub(super) fn second(&self, first: TableEntry, bits: u64) -> TableEntry {
        let i = first.base() + (bits as usize & ((1 << first.code_bits()) - 1));
        self.entries.get(i).copied().unwrap_or(TableEntry::INVALID)
    }

    /// Fills the table for codes with these lengths in bits; 0 means that a symbol does not occur.
    fn fill(&mut self, lengths: &[u8], values: &[TableEntry], may_lack: bool) -> Result<(), DecodeStop> {
        let mut counts = [0usize; MAX_BITS + 1];
        lengths.iter().for_each(|&length| counts[usize::from(length & 15)] += 1);
        counts[0] = 0;
        check_complete(&counts, may_lack)?;
        let mut sorted = [0u16; SYMBOL_COUNT];
        sort(lengths, &counts, &mut sorted);
        let mut next = &sorted[..counts.iter().sum()];
        let mut code = CanonicalCode::default();
        let main = 1usize << BITS;
        self.entries[..2].fill(TableEntry::INVALID);
        for bits in 1..=BITS {
            for &symbol in next.split_off(..counts[bits as usize]).unwrap_or_default() {
                self.entries[code.take(bits)] = values[usize::from(symbol)].with_code(bits);
            }
            if bits < BITS {
                // Duplicates the table so far: a longer index ends with the same bits, and its next bit may be 0 or 1.
                self.entries.copy_within(..1 << bits, 1 << bits);
            }
        }
        self.fill_second(code, &counts, next, values, main)
    }

    fn fill_second(
        &mut self,
        mut code: CanonicalCode,
        counts: &[usize; MAX_BITS + 1],
        mut next: &[u16],
        values: &[TableEntry],
        mut end: usize,
    ) -> Result<(), DecodeStop> {
        let main_mask = (1usize << BITS) - 1;
        let mut left = *counts;
        let mut prefix = usize::MAX;
        let mut start = 0;
        for bits in BITS + 1..=MAX_BITS as u32 {
            for &symbol in next.split_off(..counts[bits as usize]).unwrap_or_default() {
                let index = code.take(bits);
                if index & main_mask != prefix {
                    prefix = index & main_mask;
                    start = end;
                    let second_bits = second_table_bits(&left, bits, BITS);
                    end += 1 << second_bits;
                    if end > LEN {
                        return Err(corrupt("a Huffman code needs a table that is too large"));
                    }
                    self.entries[start..end].fill(TableEntry::INVALID);
                    self.entries[prefix] = TableEntry::second(start, BITS, second_bits);
                }
                left[bits as usize] -= 1;
                let entry = values[usize::from(symbol)].with_code(bits - BITS);
                let step = 1usize << (bits - BITS);
                self.entries[start..end].iter_mut().skip(index >> BITS).step_by(step).for_each(|e| *e = entry);
            }
        }
        Ok(())
    }
}

impl SymbolTable {
    /// Builds the table, and joins pairs of literals that fit into one lookup. With `may_lack`, a block may contain
    /// only an end symbol.
    pub(super) fn build(&mut self, lengths: &[u8], may_lack: bool) -> Result<(), DecodeStop> {
        if lengths.get(END_OF_BLOCK).is_none_or(|&length| length == 0) {
            return Err(corrupt("a block has no end-of-block code"));
        }
        self.fill(lengths, &SYMBOLS, may_lack)?;
        self.literal_bits.copy_from_slice(&lengths[..256]);
        self.join_literals();
        Ok(())
    }

    /// Returns the code length of `byte`, the first literal of `entry`.
    pub(super) fn literal_bits(&self, entry: TableEntry, byte: u8) -> u32 {
        if entry.literal_count() == 1 { entry.bits() } else { u32::from(self.literal_bits[usize::from(byte)]) }
    }

    /// Joins literals from the top down: the second entry has a lower index, so it is still single.
    fn join_literals(&mut self) {
        for i in (0..1usize << SYMBOL_BITS).rev() {
            let entry = self.entries[i];
            if entry.is_literal() {
                let next = self.entries[i >> entry.bits()];
                if next.is_literal() && next.bits() + entry.bits() <= SYMBOL_BITS {
                    self.entries[i] = entry.joined(next);
                }
            }
        }
    }
}

impl DistanceTable {
    pub(super) fn build(&mut self, lengths: &[u8]) -> Result<(), DecodeStop> {
        self.fill(lengths, &DISTANCES, true)
    }
}

impl NumberTable {
    pub(super) fn build(&mut self, lengths: &[u8; 19]) -> Result<(), DecodeStop> {
        self.fill(lengths, &NUMBERS, false)
    }
}

/// Canonical codes in increasing order (RFC 1951, 3.2.2). The bits of each are reversed, because the data has the first
/// bit of a code in the lowest position.
#[derive(Default)]
struct CanonicalCode {
    next: u32,
    bits: u32,
}

impl CanonicalCode {
    fn take(&mut self, bits: u32) -> usize {
        self.next <<= bits - self.bits;
        self.bits = bits;
        let reversed = self.next.reverse_bits() >> (32 - bits);
        self.next += 1;
        reversed as usize
    }
}

/// Checks that the code is complete (its Kraft sum is 1) and not oversubscribed. With `may_lack`, also accepts no code,
/// or a single code of one bit, as zlib does.
fn check_complete(counts: &[usize; MAX_BITS + 1], may_lack: bool) -> Result<(), DecodeStop> {
    let mut left = 1isize;
    for &count in &counts[1..] {
        // The number of free codes of this length. Each free code splits into two longer ones.
        left = 2 * left - count as isize;
        if left < 0 {
            return Err(corrupt("a Huffman code is oversubscribed"));
        }
    }
    let total: usize = counts.iter().sum();
    if left > 0 && !(may_lack && (total == 0 || total == 1 && counts[1] == 1)) {
        return Err(corrupt("a Huffman code is incomplete"));
    }
    Ok(())
}

/// Sorts symbols by code length, then by value.
fn sort(lengths: &[u8], counts: &[usize; MAX_BITS + 1], sorted: &mut [u16; SYMBOL_COUNT]) {
    let mut starts = [0; MAX_BITS + 2];
    for bits in 1..=MAX_BITS {
        starts[bits + 1] = starts[bits] + counts[bits];
    }
    for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        let start = &mut starts[usize::from(length & 15)];
        sorted[*start] = symbol as u16;
        *start += 1;
    }
}

/// Returns the number of index bits of the subtable whose first code has `bits` bits: enough for all codes with its
/// prefix.
fn second_table_bits(left: &[usize; MAX_BITS + 1], bits: u32, main_bits: u32) -> u32 {
    let mut second_bits = bits - main_bits;
    let mut room = 1usize << second_bits;
    for &count in &left[bits as usize..] {
        if count >= room {
            break;
        }
        room = (room - count) << 1;
        second_bits += 1;
    }
    second_bits.min(MAX_BITS as u32 - main_bits)
}
