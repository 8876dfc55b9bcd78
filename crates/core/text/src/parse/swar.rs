//! Converts tokens with known ends in portable Rust, eight digits at a time in a 64-bit word.
//!
//! This is the reference for testing the vector kernels. It accepts only plain tokens: digits with at most one point,
//! after an optional minus.

use super::consts::{NOT_INTEGER, TENS};
use super::{FLOAT_SIZE, HALF_UNIT, TENTHS, quotient};
use crate::scan::is_space;

pub(super) const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Sets the top bit of every byte that is at most a space (0x20), and clears all other bits.
#[inline(always)]
pub(super) fn up_to_blank(word: u64) -> u64 {
    // 0x21 + 0x5F is 0x80.
    !(((word & !TOPS) + 0x5F * ONES) | word) & TOPS
}

/// Sets the top bit of every zero byte, and clears all other bits.
#[inline(always)]
pub(super) fn zeros(word: u64) -> u64 {
    !(((word & !TOPS) + !TOPS) | word) & TOPS
}

/// A run of digits.
struct DigitRun {
    value: u64,
    count: usize,
    /// The byte before the run.
    before: u8,
}

/// Parses up to 16 digits of a run that ends at `end`.
#[inline(always)]
fn digits(padded: &[u8], end: usize) -> Option<DigitRun> {
    let low = eight(padded, end)?;
    if low.count < 8 {
        return Some(low);
    }
    let high = eight(padded, end - 8)?;
    let value = high.value * 100_000_000 + low.value;
    Some(DigitRun { value, count: high.count + 8, before: high.before })
}

/// Parses up to eight digits of a run that ends at `end`.
#[inline(always)]
fn eight(padded: &[u8], end: usize) -> Option<DigitRun> {
    let word = u64::from_le_bytes(*padded.get(..end)?.last_chunk()?);
    let values = word ^ (0x30 * ONES);
    // Set the top bit of every byte above 9: 0x76 + 10 is 0x80, so a carry reaches only the top bit of its byte.
    let others = (((values & !TOPS) + 0x76 * ONES) | values) & TOPS;
    let bits = others.leading_zeros();
    let count = bits as usize / 8;
    let before = *padded.get(end.wrapping_sub(count + 1))?;
    let outside = u64::MAX.checked_shr(bits).unwrap_or(0);
    Some(DigitRun { value: number(values & !outside), count, before })
}

/// Joins eight digit values (0 to 9) in memory order.
#[inline(always)]
fn number(word: u64) -> u64 {
    // Join adjacent parts: digits to pairs, pairs to fours, fours to eight digits. Each step adds 10, 100 or 10,000
    // times the first part, which is in the lower byte, to the second part.
    let pairs = (word * 10 + (word >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF
}

/// Parses eight characters in memory order. Returns `None` unless all are digits.
#[inline(always)]
pub(super) fn eight_digits(word: u64) -> Option<u64> {
    let values = word ^ (0x30 * ONES);
    let others = (((values & !TOPS) + 0x76 * ONES) | values) & TOPS;
    (others == 0).then(|| number(values))
}

/// Returns whether a byte may precede an index.
#[inline(always)]
pub(super) fn separates(byte: u8) -> bool {
    is_space(byte) || byte == b'/'
}

/// Returns a bit for each of eight indices without a separator before it. `full` has the top bit of each index to
/// check; the eight loaded characters of these indices all belong to the index.
///
/// # Safety
/// For each end, `text[end - 9]` is readable, and `full` has at most the top bit of each byte.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
pub(super) unsafe fn unseparated(text: *const u8, ends: &[u32; 8], mut full: u64) -> u64 {
    let mut bad = 0;
    while full != 0 {
        let lane = full.trailing_zeros() as usize / 8;
        // SAFETY: `full` has at most the top bit of each of eight bytes, so `lane` is 0 to 7, and `text[end - 9]` is
        // readable.
        let before = unsafe { *text.add(ends[lane] as usize - 9) };
        bad |= u64::from(!separates(before)) << lane;
        full &= full - 1;
    }
    bad
}

/// Parses an index of 1 to 8 digits that ends at `end`. Returns `Some(0)` for an empty token, and `None` for a literal
/// zero and any other token.
#[inline(always)]
pub(super) fn index(padded: &[u8], end: usize) -> Option<u32> {
    let DigitRun { value, count, before } = eight(padded, end)?;
    let is_plain = separates(before) && (value != 0 || count == 0);
    is_plain.then_some(value as u32)
}

/// Parses an index of a minus and 1 to 7 digits that ends at `end`, and returns its bits. Returns `Some(0)` for an
/// empty token, and `None` for any other token.
#[inline(always)]
pub(super) fn negative_index(padded: &[u8], end: usize) -> Option<u32> {
    let DigitRun { value, count, before } = eight(padded, end)?;
    if count == 0 {
        return separates(before).then_some(0);
    }
    let is_plain = before == b'-' && count < 8 && value != 0 && separates(*padded.get(end.wrapping_sub(count + 2))?);
    is_plain.then_some((value as u32).wrapping_neg())
}

/// Parses an integer of 1 to 8 digits, with an optional minus, that ends at `end`.
#[inline(always)]
pub(super) fn integer(padded: &[u8], end: usize) -> Option<i32> {
    let DigitRun { value, count, before } = eight(padded, end)?;
    let minus = before == b'-';
    let before = if minus { *padded.get(end.wrapping_sub(count + 2))? } else { before };
    if count == 0 || !is_space(before) {
        return None;
    }
    // Below 10^8.
    let size = value as i32;
    Some(if minus { -size } else { size })
}

/// Parses a float of up to [`FLOAT_SIZE`] characters, with an optional minus, that ends at `end`.
#[inline(always)]
pub(super) fn float(padded: &[u8], end: usize) -> Option<f32> {
    float_after(padded, end, |at| is_space(padded[at]))
}

/// A plain number: `digits / 10^places`.
struct PlainDecimal {
    digits: u64,
    places: usize,
    has_point: bool,
    /// 1 if the number has a minus.
    minus: u32,
}

#[inline(always)]
fn decimal(padded: &[u8], end: usize, is_before: impl Fn(usize) -> bool) -> Option<PlainDecimal> {
    let mut whole = digits(padded, end)?;
    let mut size = whole.count;
    let mut places = 0;
    if whole.before == b'.' {
        places = whole.count.min(FLOAT_SIZE);
        let fraction = whole.value;
        whole = digits(padded, end - places - 1)?;
        whole.value = whole.value.wrapping_mul(POWERS[places]).wrapping_add(fraction);
        whole.count += places;
        size = whole.count + 1;
    }
    let minus = u32::from(whole.before == b'-');
    let before = end.checked_sub(size + 1 + minus as usize)?;
    let is_plain = whole.count > 0 && size <= FLOAT_SIZE && is_before(before);
    is_plain.then_some(PlainDecimal { digits: whole.value, places, has_point: size > whole.count, minus })
}

/// Parses a float that ends at `end`, if `is_before` accepts the offset of the byte before it.
#[inline(always)]
pub(super) fn float_after(padded: &[u8], end: usize, is_before: impl Fn(usize) -> bool) -> Option<f32> {
    let PlainDecimal { digits, places, minus, .. } = decimal(padded, end, is_before)?;
    // Branch-free: a branch on signs would be mispredicted half of the time.
    Some(f32::from_bits(quotient(digits, places)?.to_bits() | minus << 31))
}

/// Like [`float_after`], but also returns whether the number may differ from its f32 by more than half a unit of its
/// last digit.
#[inline(always)]
pub(super) fn checked_float_after(padded: &[u8], end: usize, is_before: impl Fn(usize) -> bool) -> Option<(f32, bool)> {
    let PlainDecimal { digits, places, minus, .. } = decimal(padded, end, is_before)?;
    let single = quotient(digits, places)?;
    let unit = TENTHS[places & 31];
    let may_lose = (digits as f64 * unit - f64::from(single)).abs() > HALF_UNIT * unit;
    Some((f32::from_bits(single.to_bits() | minus << 31), may_lose))
}

/// Like [`float_after`], for an f64 and its mark; see [`super::fields`].
#[inline(always)]
pub(super) fn double_after(padded: &[u8], end: usize, is_before: impl Fn(usize) -> bool) -> Option<(f64, u8)> {
    let PlainDecimal { digits, places, minus, has_point } = decimal(padded, end, is_before)?;
    let value = digits as f64 / TENS[places & 31];
    let mark = if has_point || minus != 0 && digits == 0 { NOT_INTEGER } else { 0 };
    Some((f64::from_bits(value.to_bits() | u64::from(minus) << 63), mark))
}

/// 10^0 to 10^14.
const POWERS: [u64; FLOAT_SIZE + 1] = {
    let mut table = [1; FLOAT_SIZE + 1];
    let mut places = 1;
    while places <= FLOAT_SIZE {
        table[places] = 10 * table[places - 1];
        places += 1;
    }
    table
};
