//! The inner loop of inflate: symbols for as long as neither input nor output are near their ends.
//!
//! Its margins make bounds a matter of one check per round; that is why it may use pointers. Everything else is
//! `mod.rs`'s.

use super::table::{Entry, InflateKind, Symbols};
use super::{Bits, Codes, State};
use crate::compress::decoder::Output;

/// A round loads 8 bytes up to twice, 7 bytes apart at most.
const IN_MARGIN: usize = 16;
/// A round writes up to three pairs of literals, and a match of up to 258 bytes with up to 15 more.
const OUT_MARGIN: usize = 3 * 2 + 258 + 15;

/// Decodes what it can. Gives the number of input bytes that are used up, and
/// [`State::Symbols`] if a margin is met, [`State::End`] at the end of the block, [`State::Match`] for a match from an
/// earlier buffer, or [`State::Invalid`].
pub(super) fn decode(input: &[u8], out: &mut Output<'_>, bits: &mut Bits, codes: &Codes) -> (usize, State) {
    if input.len() < IN_MARGIN || out.bytes.len() - out.filled < OUT_MARGIN {
        return (0, State::Symbols);
    }
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("bmi2") {
        // SAFETY: the CPU has the instructions that the function may use.
        return unsafe { run_bmi2(input, out, bits, codes) };
    }
    run(input, out, bits, codes)
}

/// [`run`] with shifts that leave the flags alone.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
fn run_bmi2(input: &[u8], out: &mut Output<'_>, bits: &mut Bits, codes: &Codes) -> (usize, State) {
    run(input, out, bits, codes)
}

#[inline(always)]
fn run(input: &[u8], out: &mut Output<'_>, bits: &mut Bits, codes: &Codes) -> (usize, State) {
    let mut cursor = Cursor {
        source: input.as_ptr(),
        at: 0,
        target: out.bytes.as_mut_ptr(),
        to: out.filled,
        value: bits.value,
        count: bits.count,
    };
    let (in_last, out_last) = (input.len() - IN_MARGIN, out.bytes.len() - OUT_MARGIN);
    // SAFETY: the caller has seen to it that input and output are longer than their margins, and the rounds go on as
    // long as they are.
    let state = unsafe { rounds(&mut cursor, in_last, out_last, codes) };
    out.filled = cursor.to;
    // Whole bytes go back to the input.
    let count = cursor.count & 63;
    *bits = Bits { value: cursor.value & ((1 << (count & 7)) - 1), count: count & 7 };
    (cursor.at - (count >> 3) as usize, state)
}

/// Decodes until `cursor` is past `in_last` or `out_last`, or something else than a symbol is met.
///
/// # Safety
/// Behind `in_last` are [`IN_MARGIN`] readable bytes, behind `out_last` [`OUT_MARGIN`] writable ones, and all before is
/// valid too.
#[inline(always)]
unsafe fn rounds(cursor: &mut Cursor, in_last: usize, out_last: usize, codes: &Codes) -> State {
    let Codes { symbols, distances } = codes;
    // SAFETY: a round loads at most twice and moves `at` by at most 7 each time; it writes at most three pairs of
    // literals and a match, which reads what is written already: one that reaches further back ends the rounds.
    unsafe {
        cursor.refill();
        let mut entry = symbols.first(cursor.value);
        while cursor.at <= in_last && cursor.to <= out_last {
            // Here are at least 56 bits: enough for three looks, or for a length and a distance of 48 bits.
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
            // Looked up before the copy, which does not wait for it.
            cursor.refill();
            entry = symbols.first(cursor.value);
            copy_match(cursor.target.add(cursor.to), distance, length);
            cursor.to += length;
        }
    }
    State::Symbols
}

/// Where the rounds are, and the bits that were loaded but not used.
struct Cursor {
    source: *const u8,
    at: usize,
    target: *mut u8,
    to: usize,
    value: u64,
    /// How many bits of `value` are counted as loaded, in the lowest 6 bits; the others mean nothing. What lies above
    /// them in `value` are the bits that will be loaded next, if not 0.
    count: u32,
}

impl Cursor {
    /// Loads up to 56 bits or more.
    ///
    /// # Safety
    /// 8 bytes are readable at `at`.
    #[inline(always)]
    unsafe fn refill(&mut self) {
        // SAFETY: as above.
        let word = unsafe { self.source.add(self.at).cast::<u64>().read_unaligned() };
        self.value |= u64::from_le(word) << (self.count & 63);
        self.at += (!self.count >> 3 & 7) as usize;
        self.count |= 56;
    }

    #[inline(always)]
    fn consume(&mut self, entry: Entry) {
        self.value >>= entry.raw_bits() & 63;
        self.count = self.count.wrapping_sub(entry.raw_bits());
    }

    /// Takes a length or a distance.
    #[inline(always)]
    fn value_of(&mut self, entry: Entry) -> usize {
        let value = entry.value_in(self.value);
        self.consume(entry);
        value
    }

    /// # Safety
    /// 2 bytes are writable at `to`.
    #[inline(always)]
    unsafe fn literals(&mut self, entry: Entry) {
        let pair = (entry.literals() as u16).to_le();
        // SAFETY: as above.
        unsafe { self.target.add(self.to).cast::<u16>().write_unaligned(pair) };
        self.to += entry.literal_count();
        self.consume(entry);
    }

    /// The last literals of a round, and the entry for the next one.
    ///
    /// # Safety
    /// 2 bytes are writable at `to`, and 8 bytes readable at `at`.
    #[inline(always)]
    unsafe fn last_literals(&mut self, entry: Entry, symbols: &Symbols) -> Entry {
        // SAFETY: as above.
        unsafe {
            self.literals(entry);
            self.refill();
        }
        symbols.first(self.value)
    }

    /// What to do about an entry that is neither literal nor length.
    #[cold]
    fn end(&mut self, entry: Entry) -> State {
        if entry.kind() != InflateKind::END {
            return State::Invalid;
        }
        self.consume(entry);
        State::End
    }
}

/// Copies `length` bytes from `distance` bytes before `to`, and writes up to 15 bytes more.
///
/// # Safety
/// The `distance` bytes before `to` are readable, and `length + 15` bytes from `to` on writable, in one allocation.
#[inline(always)]
unsafe fn copy_match(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: reads begin before `to + length` and end, as writes do, at most 15 bytes behind it. What a copy reads was
    // written before it, or lies behind the match and does not matter.
    unsafe {
        let from = to.sub(distance);
        if distance >= length.min(16) {
            copy::<16>(from, to);
            let mut done = 16;
            while done < length {
                copy::<16>(from.add(done), to.add(done));
                done += 16;
            }
        } else if distance >= 8 {
            let mut done = 0;
            while done < length {
                copy::<8>(from.add(done), to.add(done));
                done += 8;
            }
        } else if distance == 1 {
            to.write_bytes(*from, length);
        } else {
            for i in 0..length {
                *to.add(i) = *from.add(i);
            }
        }
    }
}

/// # Safety
/// `N` bytes from `from` on are readable, and from `to` on writable.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: as above.
    unsafe { to.cast::<[u8; N]>().write_unaligned(from.cast::<[u8; N]>().read_unaligned()) }
}
