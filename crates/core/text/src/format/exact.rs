//! Writes fixed digits where the fast path does not suffice: for ties, large values, infinities, NaN, and more than
//! [`MAX_DIGITS`](super::MAX_DIGITS) decimals.
//!
//! Uses integer arithmetic on the value's bits: in 128 bits if they suffice, otherwise with [`super::big`].

use super::big::LongDigits;
use super::digits::left_aligned;
use super::fixed::POWERS;
use super::integer;
use super::pen::Pen;
use super::shortest::nonfinite;
use super::significant;

/// Stores any value: at most a sign, 309 digits, a point and 12 decimals.
///
/// # Safety
/// As for [`magnitude`], and one byte for the sign.
#[cold]
#[inline(never)]
pub(super) unsafe fn fixed(pen: Pen, negative: bool, value: f64, digits: usize) -> Pen {
    // SAFETY: a word has at most 4 bytes; a sign advances by at most 1, which leaves what `magnitude` requires.
    unsafe {
        if !value.is_finite() {
            return pen.copy(nonfinite(value.is_nan(), negative));
        }
        magnitude(pen.put([b'-'], usize::from(negative)), value, digits)
    }
}

/// Stores a finite non-negative value with up to 384 decimals.
///
/// # Safety
/// Room for the whole part (309 bytes; 39 if the value fits an f32), a point, the digits, and 32 bytes more.
pub(super) unsafe fn magnitude(pen: Pen, magnitude: f64, digits: usize) -> Pen {
    let (significand, exponent) = split_bits(magnitude);
    // SAFETY: below 2^53 · 2^11 the whole part has at most 20 digits: `integer::u64` stores one byte past them and
    // `put_fraction` at most 25 from there, within this function's room. `digits <= significant::MAX`, which is 19.
    unsafe {
        if exponent <= 11 && digits <= significant::MAX {
            let (whole, fraction) = whole_and_fraction(significand, exponent, digits);
            return put_fraction(integer::u64(pen, whole), fraction, digits);
        }
        all_digits(pen, magnitude, digits)
    }
}

/// [`magnitude`] for any finite value and number of decimals, with big integers.
///
/// # Safety
/// As for [`magnitude`].
#[inline(never)]
unsafe fn all_digits(pen: Pen, magnitude: f64, digits: usize) -> Pen {
    let text = LongDigits::with_decimals(magnitude, digits);
    let (whole, fraction) = text.parts();
    // SAFETY: `whole` has at most 309 digits and `fraction` has `digits`; both are stored exactly, with a point between
    // them.
    unsafe {
        let pen = pen.copy(whole);
        if digits == 0 { pen } else { pen.put([b'.'], 1).copy(fraction) }
    }
}

/// Splits `magnitude` into significand · 2^exponent, with the significand below 2^53.
#[inline(always)]
pub(super) fn split_bits(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let field = (bits >> 52) as i32;
    let below = bits & ((1 << 52) - 1);
    if field == 0 { (below, -1074) } else { (below | 1 << 52, field - 1075) }
}

/// Rounds a value and splits it into its whole part and its fraction in units of 10^-digits, for exponents up to 11 and
/// up to 19 digits.
#[inline]
fn whole_and_fraction(significand: u64, exponent: i32, digits: usize) -> (u64, u64) {
    if exponent >= 0 {
        return (significand << exponent, 0);
    }
    let shift = exponent.unsigned_abs();
    let whole = significand.checked_shr(shift).unwrap_or(0);
    let rest = if shift < 64 { significand & ((1 << shift) - 1) } else { significand };
    // Below 2^53 · 10^19 < 2^117, so less than one half with a shift of 118 or more.
    let scaled = u128::from(rest) * u128::from(POWERS[digits]);
    if shift >= 118 {
        return (whole, 0);
    }
    let fraction = (scaled >> shift) as u64;
    let below = scaled & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let odd = if digits == 0 { whole } else { fraction } & 1 == 1;
    let rounded = fraction + u64::from(below > half || (below == half && odd));
    if rounded == POWERS[digits] { (whole + 1, 0) } else { (whole, rounded) }
}

/// Stores the point and `digits` digits of `fraction`, or nothing if `digits` is 0.
///
/// # Safety
/// 25 bytes of room. `digits` is at most 19, and `fraction` below 10^`digits`.
unsafe fn put_fraction(pen: Pen, fraction: u64, digits: usize) -> Pen {
    // SAFETY: the point advances by 1 and the array that follows has 24 bytes: 25 in all. `digits` is at most 19.
    unsafe {
        if digits == 0 {
            return pen;
        }
        pen.put([b'.'], 1).put(left_aligned(fraction, digits), digits)
    }
}
