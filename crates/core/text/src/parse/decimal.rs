//! Rounds decimal numbers to the nearest float, exactly, with one multiplication by a 128-bit power of five.
//!
//! The method is Eisel and Lemire's (D. Lemire, "Number Parsing at a Gigabyte per Second", 2021,
//! <https://arxiv.org/abs/2101.11408>): the product of the digits and a power of five, truncated to 128 bits, is too
//! small by less than two units in its last place, so all bits of the float are correct unless the truncated bits
//! decide. If they might, or if the power is outside the table, the result is `None`, and the caller takes a slower
//! path.

use super::consts::{MAX_EXACT, NOT_INTEGER, WIDE};
use super::{MARGIN, MIDDLE, MIDDLE_MASK};

/// Maximum number of digits of an integer that certainly fits 64 bits.
pub(super) const MAX_DIGITS: usize = 19;
/// Powers 5^-55 to 5^55 are in the table: they fit 128 bits exactly, or are reciprocals of powers that do.
const MAX_POWER: i32 = 55;

/// A decimal number as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: u64,
    pub(super) exponent: i32,
    pub(super) negative: bool,
    /// Whether the number has neither point nor exponent.
    pub(super) is_whole: bool,
}

impl Decimal {
    /// Parses all of `token`. Returns `None` unless it has up to 19 digits and consists of an optional sign, digits
    /// with at most one point, and an optional exponent of one to three digits.
    pub(super) fn from_token(token: &[u8]) -> Option<Decimal> {
        let (negative, mut rest) = match token {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, token),
        };
        let mut digits = 0;
        let mut count = take_digits(&mut digits, &mut rest);
        let mut places = 0;
        let is_pointed = rest.first() == Some(&b'.');
        if is_pointed {
            rest = &rest[1..];
            places = take_digits(&mut digits, &mut rest);
            count += places;
        }
        let scale = exponent(rest)?;
        let fits = count > 0 && count <= MAX_DIGITS;
        let exponent = scale - i32::try_from(places).ok()?;
        fits.then_some(Decimal { digits, exponent, negative, is_whole: !is_pointed && rest.is_empty() })
    }

    /// Rounds to the nearest f64. Returns `None` if that is uncertain.
    #[inline]
    pub(super) fn f64(self) -> Option<f64> {
        let bits = match self.digits {
            0 => 0,
            digits => {
                let RoundedBits { significand, exponent } = nearest::<53>(digits, self.exponent)?;
                // With the table's powers, values are neither subnormal nor infinite. A carry into bit 53 correctly
                // increments the exponent.
                (((exponent + 52 + 1023) as u64) << 52) + (significand - (1 << 52))
            }
        };
        Some(f64::from_bits(bits | u64::from(self.negative) << 63))
    }

    /// Rounds to the nearest f64, with a mark; see [`super::fields`].
    #[inline]
    pub(super) fn marked(self) -> Option<(f64, u8)> {
        if !self.is_whole {
            return self.f64().map(|value| (value, NOT_INTEGER));
        }
        let size = self.digits as f64;
        let mark = match self.digits {
            0 => u8::from(self.negative) * NOT_INTEGER,
            digits => u8::from(digits > MAX_EXACT) * WIDE,
        };
        Some((if self.negative { -size } else { size }, mark))
    }

    /// Computes an f64 with the same nearest f32. Returns `None` if that is uncertain.
    ///
    /// The value is rounded three times (the digits, the power, and their product) and is less than four units off. See
    /// [`super::quotient`].
    #[inline(always)]
    fn near(self) -> Option<f64> {
        let power = TENS.get(usize::try_from(self.exponent + MAX_TENS).ok()?)?;
        let value = self.digits as f64 * power;
        let is_certain = value.to_bits().wrapping_add(MARGIN) & MIDDLE_MASK != MIDDLE;
        is_certain.then_some(f64::from_bits(value.to_bits() | u64::from(self.negative) << 63))
    }

    /// Computes an f64 with the same nearest f32, or the exact f64 of an integer, and its mark.
    #[inline(always)]
    pub(super) fn nearly_marked(self) -> Option<(f64, u8)> {
        match self.near() {
            Some(value) if !self.is_whole => Some((value, NOT_INTEGER)),
            _ => self.marked(),
        }
    }

    /// Rounds to the nearest f32. Returns `None` if that is uncertain.
    #[inline(always)]
    pub(super) fn f32(self) -> Option<f32> {
        match self.near() {
            Some(value) => Some(value as f32),
            None => self.rounded_f32(),
        }
    }

    #[inline(never)]
    fn rounded_f32(self) -> Option<f32> {
        let bits = match self.digits {
            0 => 0,
            digits => {
                let RoundedBits { significand, exponent } = nearest::<24>(digits, self.exponent)?;
                let biased = exponent + 23 + 127;
                if !(1..254).contains(&biased) {
                    return None;
                }
                ((biased as u32) << 23) + (significand as u32 - (1 << 23))
            }
        };
        Some(f32::from_bits(bits | u32::from(self.negative) << 31))
    }
}

/// Consumes the leading digits of `rest` and appends them to the number `digits`, which may wrap around beyond
/// [`MAX_DIGITS`] digits. Returns their count.
#[inline(always)]
fn take_digits(digits: &mut u64, rest: &mut &[u8]) -> usize {
    let before = rest.len();
    while let Some((eight, behind)) = rest.split_first_chunk::<8>()
        && let Some(number) = super::swar::eight_digits(u64::from_le_bytes(*eight))
    {
        *digits = digits.wrapping_mul(100_000_000).wrapping_add(number);
        *rest = behind;
    }
    while let Some((byte, behind)) = rest.split_first()
        && byte.is_ascii_digit()
    {
        *digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        *rest = behind;
    }
    before - rest.len()
}

/// Parses an exponent with its letter. Returns 0 if `text` is empty, and `None` if it is not an exponent of one to
/// three digits.
#[inline(always)]
pub(super) fn exponent(text: &[u8]) -> Option<i32> {
    let Some((e, rest)) = text.split_first() else { return Some(0) };
    let (negative, digits) = match rest {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digit = |byte: &u8| i32::from(byte.wrapping_sub(b'0'));
    let size = match digits {
        [ones] => digit(ones),
        [tens, ones] => 10 * digit(tens) + digit(ones),
        [hundreds, tens, ones] => 100 * digit(hundreds) + 10 * digit(tens) + digit(ones),
        _ => return None,
    };
    let is_plain = matches!(e, b'e' | b'E') && digits.iter().all(u8::is_ascii_digit);
    is_plain.then_some(if negative { -size } else { size })
}

/// `significand · 2^exponent`.
struct RoundedBits {
    significand: u64,
    exponent: i32,
}

/// Rounds `digits` (not 0) times 10^`exponent` to `BITS` bits, ties to even. Returns `None` if the result is uncertain
/// or the power is outside the table. A carry makes the significand one bit longer.
#[inline(always)]
fn nearest<const BITS: u32>(digits: u64, exponent: i32) -> Option<RoundedBits> {
    let power = POWERS.get(usize::try_from(exponent + MAX_POWER).ok()?)?;
    let zeros = digits.leading_zeros();
    let factor = u128::from(digits << zeros);
    // Upper 128 of the 192 bits of the product; the highest or second highest bit is set, and the bits left out are
    // less than one unit.
    let rest = factor * u128::from(power.bits as u64);
    let product = factor * (power.bits >> 64) + (rest >> 64);
    let high = (product >> 64) as u64;
    let low = product as u64;
    let shift = 64 - BITS - (1 - (high >> 63) as u32);
    let significand = high >> shift;
    let half = high >> (shift - 1) & 1;
    // A power below 1 is too small by less than a unit and never exact, so the product is too small by less than two.
    // This reaches `high` only if `low` is all ones, and matters only just below the midpoint between two floats:
    // quotients that are floats, such as 0.5, round up to themselves.
    let is_below = exponent < 0;
    if is_below && low == u64::MAX && high & ((1 << shift) - 1) == (1 << (shift - 1)) - 1 {
        return None;
    }
    let is_above_half = is_below | (high << (65 - shift) | low | rest as u64 != 0);
    let up = half & (u64::from(is_above_half) | significand & 1);
    let exponent = (64 + shift) as i32 + 64 - zeros as i32 + power.exponent + exponent;
    Some(RoundedBits { significand: significand + up, exponent })
}

/// Largest magnitude of the exponents in [`TENS`]: products with up to 19 digits are always normal f32s.
const MAX_TENS: i32 = 18;
const TENS_COUNT: usize = 2 * MAX_TENS as usize + 1;

/// 10^-18 to 10^18, each rounded once.
static TENS: [f64; TENS_COUNT] = {
    let mut table = [1.0; TENS_COUNT];
    let mut size = 0;
    let mut power = 1.0;
    while size <= MAX_TENS as usize {
        table[MAX_TENS as usize + size] = power;
        table[MAX_TENS as usize - size] = 1.0 / power;
        power *= 10.0;
        size += 1;
    }
    table
};

/// `bits · 2^exponent`: a power of five, or a number less than one unit below it.
#[derive(Clone, Copy)]
struct PowerOfFive {
    /// Normalized: the highest bit is set.
    bits: u128,
    exponent: i32,
}

static POWERS: [PowerOfFive; 2 * MAX_POWER as usize + 1] = {
    let mut table = [PowerOfFive { bits: 0, exponent: 0 }; 2 * MAX_POWER as usize + 1];
    let mut size = 0;
    let mut power = 1u128;
    loop {
        let zeros = power.leading_zeros();
        table[MAX_POWER as usize + size] = PowerOfFive { bits: power << zeros, exponent: -(zeros as i32) };
        table[MAX_POWER as usize - size] = reciprocal(power);
        if size == MAX_POWER as usize {
            break table;
        }
        size += 1;
        power *= 5;
    }
};

/// Reciprocal of a power of five, truncated to 128 bits.
const fn reciprocal(power: u128) -> PowerOfFive {
    if power == 1 {
        return PowerOfFive { bits: 1 << 127, exponent: -127 };
    }
    // The dividend is the largest power of two below the divisor, so the first quotient bit is the highest bit.
    let bits = (128 - power.leading_zeros()) as i32;
    let mut rest = 1u128 << (bits - 1);
    let mut quotient = 0u128;
    let mut step = 0;
    while step < 128 {
        let carries = rest >> 127 == 1;
        rest <<= 1;
        quotient <<= 1;
        if carries || rest >= power {
            rest = rest.wrapping_sub(power);
            quotient |= 1;
        }
        step += 1;
    }
    PowerOfFive { bits: quotient, exponent: -127 - bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random decimals, most of them at or next to the midpoint between two f32s, where an inexact value could round to
    /// the wrong f32.
    #[test]
    fn near_values_round_like_the_numbers() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut near = 0;
        // Miri takes a thousand times as long.
        let rounds = if cfg!(miri) { 24 } else { 60_000 };
        for round in 0..rounds {
            let single = f32::from_bits((next() as u32 % (90 << 23)) + (80 << 23));
            let middle = (f64::from(single) + f64::from(single.next_up())) / 2.0;
            let text = format!("{middle:.18e}");
            let (digits, scale) = text.split_once('e').unwrap();
            let size = 17 + round % 3;
            let digits: u64 = digits.replace('.', "")[..size].parse().unwrap();
            let (digits, exponent) = match round % 4 {
                0 => (next() >> (next() % 60), (next() % 40) as i32 - 20),
                side => (digits + side as u64 - 1, scale.parse::<i32>().unwrap() - (size as i32 - 1)),
            };
            let decimal = Decimal { digits, exponent, negative: round % 2 == 0, is_whole: exponent == 0 };
            let text = format!("{}{digits}e{exponent}", if decimal.negative { "-" } else { "" });
            let expected = text.parse::<f32>().unwrap();
            assert!(decimal.f32().is_none_or(|value| value.to_bits() == expected.to_bits()), "{text}");
            let narrowed = text.parse::<f64>().unwrap() as f32;
            assert!(decimal.nearly_marked().is_none_or(|(value, _)| (value as f32).to_bits() == narrowed.to_bits()));
            near += usize::from(decimal.near().is_some());
        }
        assert!((rounds / 6..rounds / 6 * 5).contains(&near), "{near}");
    }
}
