//! Conversion of tokens whose end is known, in portable Rust: eight digits in one 64-bit word.
//!
//! The twin that the vector paths are held to. It takes plain tokens only (digits with at most one
//! point and a minus) and says no to everything else.

use super::quotient;
use crate::scan::is_space;

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The top bit of every byte that is not a digit.
#[inline(always)]
fn nondigits(word: u64) -> u64 {
    let values = word ^ (0x30 * ONES);
    ((values & !TOPS) + 0x76 * ONES | values) & TOPS
}

/// The top bit of every byte that equals `byte`.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (u64::from(byte) * ONES);
    !(((difference & !TOPS) + !TOPS) | difference) & TOPS
}

/// Eight digits in memory order, the values 0 to 9 already: the number that they write.
#[inline(always)]
fn eight_digits(word: u64) -> u64 {
    let pairs = (word * 10 + (word >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF
}

/// The 8 bytes before `end`.
#[inline(always)]
fn word_before(padded: &[u8], end: usize) -> u64 {
    match padded.get(end.wrapping_sub(8)..end) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Clears all bytes up to and with the highest marked one.
#[inline(always)]
fn after_highest(word: u64, marks: u64) -> u64 {
    let shift = 64 - marks.leading_zeros();
    word.checked_shr(shift).unwrap_or(0).wrapping_shl(shift)
}

/// Whether a byte may stand before a token.
#[inline(always)]
fn separates(byte: u8) -> bool {
    is_space(byte) || byte == b'/'
}

/// An index of 1 to 8 digits that ends at `end`: `Some(0)` for an empty token, `None` for a
/// literal zero and for everything else.
#[inline(always)]
pub(super) fn index(padded: &[u8], end: usize) -> Option<u32> {
    let word = word_before(padded, end);
    let other = nondigits(word);
    let digits = (other.leading_zeros() / 8) as usize;
    let before = *padded.get(end.wrapping_sub(digits + 1))?;
    if !separates(before) {
        return None;
    }
    let value = eight_digits(after_highest(word ^ (0x30 * ONES), other)) as u32;
    (value != 0 || digits == 0).then_some(value)
}

/// A float of up to 15 characters that ends at `end`.
#[inline(always)]
pub(super) fn float(padded: &[u8], end: usize) -> Option<f32> {
    let (high, low) = (word_before(padded, end.wrapping_sub(8)), word_before(padded, end));
    let wide = |high: u64, low: u64| u128::from(low) << 64 | u128::from(high);
    let points = wide(equal(high, b'.'), equal(low, b'.'));
    let others = wide(nondigits(high), nondigits(low)) & !points;
    let size = others.leading_zeros();
    let length = (size / 8) as usize;
    if others == 0 || length == 0 {
        return None;
    }
    let inside = u128::MAX << (128 - size);
    let point = points & inside;
    let mut values = (wide(high, low) ^ wide(0x30 * ONES, 0x30 * ONES)) & inside;
    let mut places = 0;
    if point != 0 {
        // Close the gap of the point: what is before it moves up by one byte.
        places = (point.leading_zeros() / 8) as usize;
        let fraction = u128::MAX.checked_shl(128 - 8 * places as u32).unwrap_or(0);
        values = values & fraction | (values << 8) & !fraction;
    }
    if point & point.wrapping_sub(1) != 0 || length < 2 && point != 0 {
        return None;
    }
    let sign = *padded.get(end.wrapping_sub(length + 1))?;
    let negative = sign == b'-';
    let before = *padded.get(end.wrapping_sub(length + 1 + usize::from(negative)))?;
    if !is_space(before) {
        return None;
    }
    let digits = eight_digits(values as u64) * 100_000_000 + eight_digits((values >> 64) as u64);
    let value = quotient(digits, places)?;
    Some(if negative { -value } else { value })
}
