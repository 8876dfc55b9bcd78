//! Rounds to a given number of significant digits, for `%e` and `%g`.
//!
//! The value times a power of ten, in 192 bits, is truncated to an integer of that many digits. The power is truncated
//! to 128 bits, so the product is too small by less than 2 units of its bit 64 (3 units of its bit 63). Only a value
//! that appears that close to a tie is passed to [`super::big`]: all other values are rounded correctly.

use super::big;
use super::fixed::POWERS;
use super::power::{is_exact, power};

/// Maximum number of digits of a [`Significant`].
pub(super) const MAX: usize = 19;

/// One half in units of 2^-64.
const HALF: u64 = 1 << 63;

/// The significant digits of a number, and the decimal exponent of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Significant {
    /// At least 10^(digits-1) and below 10^digits; 0 for zero.
    pub(super) integer: u64,
    pub(super) exponent: i32,
}

/// Rounds a finite value to `digits` (1 to [`MAX`]) significant digits, to nearest, ties to even.
#[inline]
pub(super) fn significant(magnitude: f64, digits: usize) -> Significant {
    if magnitude == 0.0 {
        return Significant { integer: 0, exponent: 0 };
    }
    let (bits, first_bit) = normalized(magnitude);
    let exponent = first_digit(bits, first_bit);
    let scale = digits as i32 - 1 - exponent;
    let (power, highest_bit) = power(scale);
    let lower = u128::from(bits) * u128::from(power.low);
    let mut product = u128::from(bits) * u128::from(power.high) + (lower >> 64);
    // The value is `product` · 2^-(64 + shift). Its integer part has at most 64 bits, and `product` has 127 or 128.
    let mut shift = 62 - first_bit - highest_bit;
    if shift < 0 {
        product = product << 1 | lower >> 63 & 1;
        shift += 1;
    }
    let shift = shift as u32 & 63;
    let integer = ((product >> 64) as u64) >> shift;
    let fraction = (product >> shift) as u64;
    if (HALF - 2..HALF).contains(&fraction) && !is_exact(scale) {
        return big::significant(magnitude, exponent, digits);
    }
    // Branch-free: branches on the rounded bits would be mispredicted half of the time.
    let more = (product as u64 & ((1 << shift) - 1)) | lower as u64 | u64::from(!is_exact(scale));
    let up = (fraction > HALF) | (fraction == HALF) & ((more != 0) | (integer & 1 == 1));
    carried(integer + u64::from(up), exponent, digits)
}

/// Corrects a result that gained a digit by rounding up (99 became 100).
#[inline(always)]
pub(super) fn carried(integer: u64, exponent: i32, digits: usize) -> Significant {
    match POWERS.get(digits) {
        Some(&power) if integer == power => Significant { integer: power / 10, exponent: exponent + 1 },
        _ => Significant { integer, exponent },
    }
}

/// Returns the decimal exponent of the first digit.
pub(super) fn exponent(magnitude: f64) -> i32 {
    let (bits, first_bit) = normalized(magnitude);
    first_digit(bits, first_bit)
}

/// Normalizes the significand so that its highest bit is set. Returns it and the binary exponent of that bit.
#[inline(always)]
fn normalized(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    if bits >> 52 == 0 {
        return ((bits << (bits.leading_zeros() & 63)), -1011 - bits.leading_zeros() as i32);
    }
    (bits << 11 | 1 << 63, (bits >> 52) as i32 - 1023)
}

/// Returns the decimal exponent of the first digit of `bits` · 2^(first_bit - 63).
///
/// It is the exponent of 2^first_bit, or the next one if the value reaches the next power of ten. From 10^28 on, that
/// power has more than 64 significant bits, so it is greater than any value with the same upper 64 bits.
#[inline(always)]
fn first_digit(bits: u64, first_bit: i32) -> i32 {
    let exponent = (first_bit * 1_262_611) >> 22;
    let (next, highest_bit) = power(exponent + 1);
    let reached = (first_bit == highest_bit) & ((bits > next.high) | (bits == next.high) & (next.low == 0));
    exponent + i32::from(reached)
}
