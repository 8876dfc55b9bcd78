//! The inner loop of inflate, which decodes symbols while neither input nor output is near its end.
//!
//! Margins replace all bounds checks with one check per round, so a round may use pointers. The callers handle the
//! ends: `mod.rs`, which decodes into bytes, and `blind.rs`, which decodes into bytes or into 16-bit symbols that may
//! be markers.
//!
//! A round relies on three guarantees of `table.rs`: a literal entry has one or two literals, a length is at most 258,
//! and a distance at least 1.

use super::table::{InflateKind, SymbolTable, TableEntry};
use super::{Bits, Codes, State};
use crate::compress::format::OutputBuffer;

/// A round loads 8 bytes up to twice, at most 7 bytes apart.
pub(super) const IN_MARGIN: usize = 16;
/// A round writes three pairs of literals, or two pairs and a match of up to 258 symbols plus up to 15 more.
pub(super) const OUT_MARGIN: usize = 3 * 2 + 258 + 15;

/// A decoded symbol: a byte, or a wider integer whose lowest 256 values are bytes. All bit patterns are valid.
pub(super) trait Symbol: Copy + Default + From<u8> {
    fn pair(literals: u32) -> [Self; 2];
}

impl Symbol for u8 {
    #[inline(always)]
    fn pair(literals: u32) -> [u8; 2] {
        (literals as u16).to_le_bytes()
    }
}

impl Symbol for u16 {
    #[inline(always)]
    fn pair(literals: u32) -> [u16; 2] {
        [literals as u16 & 0xff, literals as u16 >> 8]
    }
}

/// Decodes as much as possible. Returns the number of input bytes used, and the next state: [`State::Symbols`] if a
/// margin was reached, [`State::End`] at the end of the block, [`State::Match`] for a match that reaches into an
/// earlier buffer, or [`State::Invalid`].
pub(super) fn decode<T: Symbol>(
    input: &[u8],
    out: &mut OutputBuffer<'_, T>,
    bits: &mut Bits,
    codes: &Codes,
) -> (usize, State) {
    if input.len() < IN_MARGIN || out.bytes.len() - out.filled < OUT_MARGIN {
        return (0, State::Symbols);
    }
    #[cfg(target_arch = "x86_64")]
    if has_bmi() {
        // SAFETY: `run_bmi2` needs BMI1, BMI2 and LZCNT, which were just detected.
        return unsafe { run_bmi2(input, out, bits, codes) };
    }
    run(input, out, bits, codes)
}

/// Returns whether this processor has the instructions used by `run_bmi2`. A hypervisor may hide any of them.
#[cfg(target_arch = "x86_64")]
fn has_bmi() -> bool {
    use std::is_x86_feature_detected as has;
    has!("bmi1") && has!("bmi2") && has!("lzcnt")
}

/// [`run`] compiled with shifts that do not change the flags.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
fn run_bmi2<T: Symbol>(input: &[u8], out: &mut OutputBuffer<'_, T>, bits: &mut Bits, codes: &Codes) -> (usize, State) {
    run(input, out, bits, codes)
}

#[inline(always)]
fn run<T: Symbol>(input: &[u8], out: &mut OutputBuffer<'_, T>, bits: &mut Bits, codes: &Codes) -> (usize, State) {
    let mut cursor = SymbolCursor {
        source: input.as_ptr(),
        at: 0,
        target: out.bytes.as_mut_ptr(),
        to: out.filled,
        value: bits.value,
        count: bits.count,
    };
    let in_last = input.len() - IN_MARGIN;
    let out_last = out.bytes.len() - OUT_MARGIN;
    // SAFETY: `decode`, the only caller, checked that the input has `IN_MARGIN` bytes, so `in_last` did not wrap and
    // that many bytes follow it. Likewise `OUT_MARGIN` bytes follow `out_last`, and `out.filled` is at most that.
    let state = unsafe { rounds(&mut cursor, in_last, out_last, codes) };
    out.filled = cursor.to;
    // Returns unused whole bytes to the input.
    let count = cursor.count & 63;
    *bits = Bits { value: cursor.value & ((1 << (count & 7)) - 1), count: count & 7 };
    (cursor.at - (count >> 3) as usize, state)
}

/// Decodes until `cursor` is past `in_last` or `out_last`, or until the block ends, a code is invalid, or a match
/// reaches into an earlier buffer.
///
/// # Safety
/// - `in_last + IN_MARGIN` bytes of `source` are readable, and `cursor.at` is at most `in_last`.
/// - `out_last + OUT_MARGIN` bytes of `target` are readable and writable, in one allocation.
#[inline(always)]
unsafe fn rounds<T: Symbol>(cursor: &mut SymbolCursor<T>, in_last: usize, out_last: usize, codes: &Codes) -> State {
    let Codes { symbols, distances, .. } = codes;
    // SAFETY: a round starts with `at <= in_last` and refills at most twice, the first time moving `at` by at most 7:
    // it reads up to `in_last + 15`. It starts with `to <= out_last`, and stores three pairs, or two and a match of at
    // most 258 + 15 bytes, `OUT_MARGIN` at most. A match has `distance <= to`, checked above its copy.
    unsafe {
        cursor.refill();
        let mut entry = symbols.first(cursor.value);
        while cursor.at <= in_last && cursor.to <= out_last {
            // At least 56 bits are loaded: enough for three codes of 11 bits, or for a length (15 + 5 bits) and a
            // distance (15 + 13 bits), which are 48 bits.
            if entry.is_literal() {
                cursor.literals(entry);
                entry = symbols.first(cursor.value);
                if entry.is_literal() {
                    cursor.literals(entry);
                    entry = symbols.first(cursor.value);
                    if entry.is_literal() {
                        entry = cursor.last_literals(entry, symbols);
                        continue;
                    }
                }
                cursor.refill();
            }
            if entry.kind() == InflateKind::SECOND {
                cursor.consume(entry);
                entry = symbols.second(entry, cursor.value);
                if entry.is_literal() {
                    entry = cursor.last_literals(entry, symbols);
                    continue;
                }
            }
            if entry.kind() != InflateKind::VALUE {
                return cursor.end(entry);
            }
            let length = cursor.value_of(entry);
            let mut back = distances.first(cursor.value);
            if back.kind() == InflateKind::SECOND {
                cursor.consume(back);
                back = distances.second(back, cursor.value);
            }
            if back.kind() != InflateKind::VALUE {
                return State::Invalid;
            }
            let distance = cursor.value_of(back);
            if distance > cursor.to {
                return State::Match { length, distance };
            }
            // Looked up before the copy, so that the lookup does not wait for the copy.
            cursor.refill();
            entry = symbols.first(cursor.value);
            copy_match(cursor.target.add(cursor.to), distance, length);
            cursor.to += length;
        }
    }
    State::Symbols
}

/// The positions in input and output, and the bits that were loaded but not used.
struct SymbolCursor<T> {
    source: *const u8,
    at: usize,
    target: *mut T,
    to: usize,
    value: u64,
    /// The number of loaded bits in `value`, in the lowest 6 bits; the other bits are meaningless. Higher bits of
    /// `value` are the next bits to load, or 0.
    count: u32,
}

impl<T: Symbol> SymbolCursor<T> {
    /// Loads more bits, so that at least 56 are loaded.
    ///
    /// # Safety
    /// `source[at..at + 8]` is readable.
    #[inline(always)]
    unsafe fn refill(&mut self) {
        // SAFETY: the caller ensures that `source[at..at + 8]` is readable; `read_unaligned` needs no alignment.
        let word = unsafe { self.source.add(self.at).cast::<u64>().read_unaligned() };
        self.value |= u64::from_le(word) << (self.count & 63);
        self.at += (!self.count >> 3 & 7) as usize;
        self.count |= 56;
    }

    #[inline(always)]
    fn consume(&mut self, entry: TableEntry) {
        self.value >>= entry.raw_bits() & 63;
        self.count = self.count.wrapping_sub(entry.raw_bits());
    }

    /// Decodes a length or a distance.
    #[inline(always)]
    fn value_of(&mut self, entry: TableEntry) -> usize {
        let value = entry.value_in(self.value);
        self.consume(entry);
        value
    }

    /// # Safety
    /// `target[to..to + 2]` is writable.
    #[inline(always)]
    unsafe fn literals(&mut self, entry: TableEntry) {
        // SAFETY: the caller ensures that `target[to..to + 2]` is writable; `write_unaligned` needs no alignment.
        unsafe { self.target.add(self.to).cast::<[T; 2]>().write_unaligned(T::pair(entry.literals())) };
        self.to += entry.literal_count();
        self.consume(entry);
    }

    /// Writes the last literals of a round, and returns the entry for the next round.
    ///
    /// # Safety
    /// `target[to..to + 2]` is writable, and `source[at..at + 8]` readable.
    #[inline(always)]
    unsafe fn last_literals(&mut self, entry: TableEntry, symbols: &SymbolTable) -> TableEntry {
        // SAFETY: the caller ensures the conditions of `literals` and `refill`.
        unsafe {
            self.literals(entry);
            self.refill();
        }
        symbols.first(self.value)
    }

    /// Returns the state after an entry that is neither a literal nor a length.
    #[cold]
    fn end(&mut self, entry: TableEntry) -> State {
        if entry.kind() != InflateKind::END {
            return State::Invalid;
        }
        self.consume(entry);
        State::End
    }
}

/// Copies `length` symbols to `to` from `distance` symbols before it, and writes up to 15 symbols more.
///
/// # Safety
/// The `distance` symbols before `to` are readable, and `length + 15` at `to` are readable and writable, in one
/// allocation.
#[inline(always)]
unsafe fn copy_match<T: Symbol>(to: *mut T, distance: usize, length: usize) {
    // SAFETY: every copy starts below `to + length` and has at most 16 symbols, so it ends at `to + length + 15` at
    // most; reads start at `from`, which is `distance` symbols before `to`. A copy reads everything before it writes,
    // so overlap is fine.
    unsafe {
        let from = to.sub(distance);
        if distance >= length.min(16) {
            copy::<T, 16>(from, to);
            let mut copied = 16;
            while copied < length {
                copy::<T, 16>(from.add(copied), to.add(copied));
                copied += 16;
            }
        } else if distance >= 8 {
            // At least 8 symbols apart, a copy of 8 reads only symbols that earlier copies have written.
            let mut copied = 0;
            while copied < length {
                copy::<T, 8>(from.add(copied), to.add(copied));
                copied += 8;
            }
        } else if distance == 1 {
            let symbol = *from;
            std::slice::from_raw_parts_mut(to, length).fill(symbol);
        } else {
            // Each symbol may be one just written: a pattern of 2 to 7 symbols repeats.
            for i in 0..length {
                *to.add(i) = *from.add(i);
            }
        }
    }
}

/// # Safety
/// `N` symbols at `from` are readable, and `N` at `to` writable.
#[inline(always)]
unsafe fn copy<T: Symbol, const N: usize>(from: *const T, to: *mut T) {
    // SAFETY: the caller ensures that `N` symbols are readable and writable; unaligned access needs no alignment.
    unsafe { to.cast::<[T; N]>().write_unaligned(from.cast::<[T; N]>().read_unaligned()) }
}
