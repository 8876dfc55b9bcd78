//! Fixed digits for the values that the fast path leaves over: ties, everything large, infinities,
//! NaN.
//!
//! Integer arithmetic on the value's own bits, in fixed arrays. Never on a hot path.

use super::fixed::POWERS;
use super::integer;
use super::pen::Pen;
use super::shortest::nonfinite;

/// Stores a value of any size: at most 309 digits, a sign, a point and 12 digits.
///
/// # Safety
/// `MAX_FIXED_F64` + 1 bytes of room (`MAX_FIXED_F32` + 1 where `magnitude` fits an f32); `digits`
/// at most 12.
#[cold]
#[inline(never)]
pub(super) unsafe fn fixed(pen: Pen, negative: bool, magnitude: f64, digits: usize) -> Pen {
    // SAFETY: the caller vouches for the room; the longest text is that of the largest value.
    unsafe {
        if !magnitude.is_finite() {
            return pen.copy(nonfinite(magnitude.is_nan(), negative));
        }
        let pen = pen.put([b'-'], usize::from(negative));
        let (significand, exponent) = split_bits(magnitude);
        if exponent <= 11 {
            let (whole, fraction) = whole_and_fraction(significand, exponent, digits);
            return put_fraction(integer::u64(pen, whole), fraction, digits);
        }
        put_fraction(put_large(pen, significand, exponent), 0, digits)
    }
}

/// `magnitude` = significand · 2^exponent, with the significand below 2^53.
fn split_bits(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let field = (bits >> 52) as i32;
    let below = bits & ((1 << 52) - 1);
    if field == 0 { (below, -1074) } else { (below | 1 << 52, field - 1075) }
}

/// The rounded value as its whole part and its fraction in units of 10^-digits, for exponents up to
/// 11.
fn whole_and_fraction(significand: u64, exponent: i32, digits: usize) -> (u64, u64) {
    if exponent >= 0 {
        return (significand << exponent, 0);
    }
    let shift = exponent.unsigned_abs();
    let whole = significand.checked_shr(shift).unwrap_or(0);
    let rest = if shift < 64 { significand & ((1 << shift) - 1) } else { significand };
    // Below 2^53 · 10^12 < 2^93, so from a shift of 94 on it is less than one half.
    let scaled = u128::from(rest) * u128::from(POWERS[digits]);
    if shift >= 94 {
        return (whole, 0);
    }
    let fraction = (scaled >> shift) as u64;
    let below = scaled & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let odd = if digits == 0 { whole } else { fraction } & 1 == 1;
    let rounded = fraction + u64::from(below > half || (below == half && odd));
    if rounded == POWERS[digits] { (whole + 1, 0) } else { (whole, rounded) }
}

/// Stores the point and `digits` digits of `fraction`, or nothing for no digits.
///
/// # Safety
/// `digits + 1` bytes of room.
unsafe fn put_fraction(mut pen: Pen, fraction: u64, digits: usize) -> Pen {
    // SAFETY: one byte for the point and one per digit, as the caller vouches.
    unsafe {
        if digits == 0 {
            return pen;
        }
        pen = pen.put([b'.'], 1);
        for place in (0..digits).rev() {
            pen = pen.put([b'0' + (fraction / POWERS[place] % 10) as u8], 1);
        }
        pen
    }
}

/// 1024 bits: the largest f64 as an integer.
const LIMBS: usize = 32;
/// 309 digits in groups of nine.
const GROUPS: usize = 35;

/// Stores the integer `significand · 2^exponent` (exponent above 0, value below 2^1024).
///
/// # Safety
/// 310 bytes of room (40 where the value is below 2^128).
unsafe fn put_large(mut pen: Pen, significand: u64, exponent: i32) -> Pen {
    let mut limbs = [0u32; LIMBS];
    let mut used = shifted(&mut limbs, significand, exponent.unsigned_abs());
    let mut groups = [0u32; GROUPS];
    let mut count = 0;
    while used > 0 && count < GROUPS {
        groups[count] = divide_by_billion(&mut limbs[..used]);
        count += 1;
        while used > 0 && limbs[used - 1] == 0 {
            used -= 1;
        }
    }
    // SAFETY: every group is a remainder below 10^9, and the caller vouches for the room.
    unsafe {
        let Some((first, rest)) = groups[..count].split_last() else {
            return pen;
        };
        pen = integer::u32(pen, *first);
        for &group in rest.iter().rev() {
            pen = integer::groups3(pen, group);
        }
        pen
    }
}

/// Fills `limbs` (lowest first) with `significand << shift`; returns how many limbs are in use.
fn shifted(limbs: &mut [u32; LIMBS], significand: u64, shift: u32) -> usize {
    let first = (shift / 32) as usize;
    let wide = u128::from(significand) << (shift % 32);
    let parts = [wide as u32, (wide >> 32) as u32, (wide >> 64) as u32];
    for (limb, part) in limbs[first..].iter_mut().zip(parts) {
        *limb = part;
    }
    let used = (first + parts.len()).min(LIMBS);
    limbs[..used].iter().rposition(|&limb| limb != 0).map_or(0, |last| last + 1)
}

/// Divides in place and returns the remainder.
fn divide_by_billion(limbs: &mut [u32]) -> u32 {
    let mut rest = 0u64;
    for limb in limbs.iter_mut().rev() {
        let value = rest << 32 | u64::from(*limb);
        *limb = (value / 1_000_000_000) as u32;
        rest = value % 1_000_000_000;
    }
    rest as u32
}
