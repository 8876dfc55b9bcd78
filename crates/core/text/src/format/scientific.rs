//! Writes non-negative values as `%e` and `%g` do; callers handle signs, padding, infinities and NaN.

use super::big::LongDigits;
use super::digits::{ascii, eight, left_aligned, sixteen};
use super::fixed::POWERS;
use super::pen::Pen;
use super::significant::{self, Significant, significant};

/// Notation of `%e` and `%g`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notation {
    /// Digits after the point for `%e`, significant digits for `%g`; at most 61 significant digits.
    pub(super) precision: usize,
    /// Writes `E` instead of `e`.
    pub(super) upper: bool,
    /// `#`: always writes the point and keeps trailing zeros.
    pub(super) alternate: bool,
}

/// Stores a value as `%e` does: one digit before the point, and an exponent.
///
/// # Safety
/// The value is finite and not negative. Room for `precision` + 7 bytes, the longest text, and 24 more.
#[inline]
pub(super) unsafe fn scientific(pen: Pen, magnitude: f64, notation: Notation) -> Pen {
    let digits = notation.precision + 1;
    // SAFETY: up to 19 digits: the arrays of 8 or 24 bytes at `after`, one byte on, end within 25 bytes. Then at most
    // `precision` + 2 bytes are passed, and `put_exponent` has the 7 bytes it requires.
    unsafe {
        if digits > significant::MAX {
            return long_scientific(pen, magnitude, notation);
        }
        let Significant { integer, exponent } = significant(magnitude, digits);
        let after = pen.advance(1);
        let first = if digits <= 8 {
            let word = ascii(eight((integer * POWERS[8 - digits]) as u32)).to_le_bytes();
            after.put(word, 0);
            word[0]
        } else {
            let text = left_aligned(integer, digits);
            after.put(text, 0);
            text[0]
        };
        pen.put([first, b'.'], 0);
        let point = usize::from(digits > 1 || notation.alternate);
        put_exponent(pen.advance(digits + point), exponent, notation.upper)
    }
}

/// Stores a value as `%g` does: in scientific notation if the exponent is below -4 or at least the precision, otherwise
/// with fixed digits; without trailing zeros unless `alternate` is set.
///
/// # Safety
/// The value is finite and not negative. Room for `precision` + 8 bytes, the longest text, and 32 more.
#[inline]
pub(super) unsafe fn general(pen: Pen, magnitude: f64, notation: Notation) -> Pen {
    let digits = notation.precision.max(1);
    // SAFETY: each helper requires the same as this function; `digits` fits the word of its arm (8 and 16 bytes).
    unsafe {
        match digits {
            ..=8 => {
                let Significant { integer, exponent } = significant(magnitude, digits);
                general_in_8(pen, eight((integer * POWERS[8 - digits]) as u32), digits, exponent, notation)
            }
            9..=16 => {
                let Significant { integer, exponent } = significant(magnitude, digits);
                let [low, high] = sixteen(integer, digits);
                general_in_16(pen, u128::from(low) | u128::from(high) << 64, digits, exponent, notation)
            }
            17..=significant::MAX => {
                let Significant { integer, exponent } = significant(magnitude, digits);
                lay_out(pen, &left_aligned(integer, digits)[..digits], exponent, notation)
            }
            _ => long_general(pen, magnitude, notation),
        }
    }
}

/// [`scientific`] with more digits than a [`Significant`] holds.
///
/// # Safety
/// As for [`scientific`].
#[inline(never)]
unsafe fn long_scientific(pen: Pen, magnitude: f64, notation: Notation) -> Pen {
    let (text, exponent) = long(magnitude, notation.precision + 1);
    // SAFETY: `with_point` needs the digits and one byte, `precision` + 2; `put_exponent` the 7 bytes after them.
    unsafe { put_exponent(with_point(pen, text.all(), notation.alternate), exponent, notation.upper) }
}

/// [`general`] with more digits than a [`Significant`] holds.
///
/// # Safety
/// As for [`general`].
#[inline(never)]
unsafe fn long_general(pen: Pen, magnitude: f64, notation: Notation) -> Pen {
    let (text, exponent) = long(magnitude, notation.precision);
    // SAFETY: `lay_out` requires the same as this function, and `text` has `notation.precision` digits.
    unsafe { lay_out(pen, text.all(), exponent, notation) }
}

/// [`general`] for digits in a register: one per byte, the first digit in the lowest byte. The first `count` digits are
/// significant, the others zeros.
macro_rules! general_in {
    ($name:ident, $word:ty) => {
        /// # Safety
        /// As for [`general`]; `count` is at most the bytes of the word.
        #[inline(always)]
        unsafe fn $name(pen: Pen, digits: $word, count: usize, exponent: i32, notation: Notation) -> Pen {
            const BYTES: usize = size_of::<$word>();
            const ZEROS: $word = <$word>::from_le_bytes([b'0'; BYTES]);
            let needed =
                if notation.alternate { count } else { BYTES - (digits.leading_zeros() as usize / 8).min(BYTES - 1) };
            let text = digits | ZEROS;
            // SAFETY: the last store ends 33 bytes from `pen` at the latest (16 digits, a point, 16 bytes), within
            // `precision` + 40. `put_exponent` comes after at most `count` + 1 bytes, so it has the 7 that it requires.
            unsafe {
                if exponent < -4 || exponent >= count as i32 {
                    pen.advance(1).put(text.to_le_bytes(), 0);
                    pen.put([text as u8, b'.'], 0);
                    let point = usize::from(needed > 1 || notation.alternate);
                    return put_exponent(pen.advance(needed + point), exponent, notation.upper);
                }
                if exponent < 0 {
                    let pen = pen.put(*b"0.000\0\0\0", 1 + exponent.unsigned_abs() as usize);
                    return pen.put(text.to_le_bytes(), needed);
                }
                let whole = exponent as usize + 1;
                let pen = pen.put(text.to_le_bytes(), whole);
                if needed <= whole {
                    return pen.put([b'.'], usize::from(notation.alternate));
                }
                let fraction = text >> (8 * whole);
                pen.put([b'.'], 1).put(fraction.to_le_bytes(), needed - whole)
            }
        }
    };
}

general_in!(general_in_8, u64);
general_in!(general_in_16, u128);

/// [`general`] from `notation.precision` digits.
///
/// # Safety
/// As for [`general`]; at least one digit.
unsafe fn lay_out(pen: Pen, digits: &[u8], exponent: i32, notation: Notation) -> Pen {
    let plain = exponent >= -4 && exponent < digits.len() as i32;
    let whole = if plain { exponent.max(-1) + 1 } else { 1 } as usize;
    let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    let needed = if notation.alternate { digits.len() } else { (digits.len() - zeros).max(whole) };
    // SAFETY: all slices are disjoint parts of `digits`; with `0.000` (8 bytes stored), a point or an
    // exponent (7 bytes) they are within `precision` + 8 and the 32 bytes more.
    unsafe {
        if !plain {
            return put_exponent(with_point(pen, &digits[..needed], notation.alternate), exponent, notation.upper);
        }
        if exponent < 0 {
            let pen = pen.put(*b"0.000\0\0\0", 1 + exponent.unsigned_abs() as usize);
            return pen.copy(&digits[..needed.max(1)]);
        }
        let (before, after) = digits[..needed].split_at(whole);
        let pen = pen.copy(before);
        if after.is_empty() { pen.put([b'.'], usize::from(notation.alternate)) } else { pen.put([b'.'], 1).copy(after) }
    }
}

/// Computes more digits than a [`Significant`] holds, and the exponent of the first digit.
fn long(magnitude: f64, digits: usize) -> (LongDigits, i32) {
    let exponent = if magnitude == 0.0 { 0 } else { significant::exponent(magnitude) };
    LongDigits::significant(magnitude, exponent, digits)
}

/// Stores digits with a point after the first.
///
/// # Safety
/// At least one digit, and room for one byte more than the digits.
unsafe fn with_point(pen: Pen, digits: &[u8], always: bool) -> Pen {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    // SAFETY: `first` and `rest` are all digits, with a point between them: one byte more than the digits.
    unsafe {
        let pen = pen.copy(first);
        if rest.is_empty() && !always { pen } else { pen.put([b'.'], 1).copy(rest) }
    }
}

/// Stores `e` or `E`, the sign of the exponent, and its two or three digits.
///
/// # Safety
/// 7 bytes of room. The exponent is between -999 and 999.
#[inline(always)]
pub(super) unsafe fn put_exponent(pen: Pen, exponent: i32, upper: bool) -> Pen {
    let letter = if upper { b'E' } else { b'e' };
    let sign = if exponent < 0 { b'-' } else { b'+' };
    // SAFETY: 2 bytes for letter and sign, then `group` and `pair` store 4: 6 bytes. Both need a number below 1000.
    unsafe {
        let pen = pen.put([letter, sign], 2);
        let exponent = exponent.unsigned_abs() as usize;
        if exponent >= 100 { pen.group(exponent, 3) } else { pen.pair(exponent) }
    }
}
