//! Converts long numbers with 16-byte vectors. Values equal those of [`Decimal`].
//!
//! Converts two numbers at a time, up to 30 characters each plus an exponent, without branching on their digits. Each
//! number has a lane of 32 bits; see [`lanes`].

use super::decimal::{Decimal, MAX_DIGITS, exponent};
use super::lanes::{self, FloatMarks, FloatParts};
use super::plain::NumberRun;
use super::swar::{self, ONES};
use crate::vector::{bits, both, digits, either, equal, numbers as eights, reversed, spread};

/// Converts pairs of numbers to the nearest f32s until one is not plain enough.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level), and the ends are as [`NumberRun`]
/// requires.
pub(super) unsafe fn f32s(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
    let take = |index: usize, decimal: Decimal| match (decimal.f32(), out.get_mut(index)) {
        (Some(value), Some(out)) => {
            *out = value;
            true
        }
        _ => false,
    };
    // SAFETY: the conditions of `each` are the same.
    unsafe { each(numbers, take) }
}

/// Converts pairs of numbers to the nearest f64s, with their marks.
///
/// # Safety
/// As for [`f32s`].
pub(super) unsafe fn f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    // SAFETY: the conditions of `marked` are the same.
    unsafe { marked(numbers, out, marks, Decimal::marked) }
}

/// Like [`f64s`], if only the nearest f32s and integers matter; see [`super::tokens::TokenPrecision`].
///
/// # Safety
/// As for [`f32s`].
pub(super) unsafe fn near_f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    // SAFETY: the conditions of `marked` are the same.
    unsafe { marked(numbers, out, marks, Decimal::nearly_marked) }
}

/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn marked(
    numbers: NumberRun<'_>,
    out: &mut [f64],
    marks: &mut [u8],
    convert: fn(Decimal) -> Option<(f64, u8)>,
) -> usize {
    let take = |index: usize, decimal: Decimal| match (convert(decimal), out.get_mut(index), marks.get_mut(index)) {
        (Some(converted), Some(out), Some(mark)) => {
            (*out, *mark) = converted;
            true
        }
        _ => false,
    };
    // SAFETY: the conditions of `each` are the same.
    unsafe { each(numbers, take) }
}

/// Calls `take` with the index and value of each number until one is not plain enough or `take` returns `false`.
/// Returns the number of values accepted.
///
/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn each(numbers: NumberRun<'_>, mut take: impl FnMut(usize, Decimal) -> bool) -> usize {
    let (pairs, _) = numbers.own_ends().as_chunks::<2>();
    for (pair, ends) in pairs.iter().enumerate() {
        // SAFETY: both ends are the run's own; the first condition covers the CPU.
        let decimals = unsafe { two(&numbers, ends.map(|end| end as usize)) };
        for (lane, decimal) in decimals.iter().enumerate() {
            let index = 2 * pair + lane;
            // Field by field: loading whole structs would stall on the stores of their fields.
            let &Some(Decimal { digits, exponent, negative, is_whole }) = decimal else { return index };
            if !take(index, Decimal { digits, exponent, negative, is_whole }) {
                return index;
            }
        }
    }
    2 * pairs.len()
}

/// Parses two numbers that end at `ends`. A result is `None` if its number is not plain enough, and both may be `None`
/// if only one number is not. Not inlined, so that all result types share one copy: the call costs little.
///
/// # Safety
/// As for [`f32s`]; both ends are the run's own.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
unsafe fn two(numbers: &NumberRun<'_>, ends: [usize; 2]) -> [Option<Decimal>; 2] {
    let text = numbers.padded.as_ptr();
    let exponents = TokenExponent::before(numbers.padded, ends);
    let [a, b] = [0, 1].map(|lane| ends[lane] - exponents[lane].size);
    // SAFETY: an end is at least 64 and inside the text, and an exponent has at most 5 characters: the bytes read start
    // at 64 - 5 - 1 - 32 or later.
    let load = |end: usize| unsafe { reversed(text.add(end - 16)) };
    let bytes = [load(a), load(a - 16), load(b), load(b - 16)];
    let (values, digit) = digits(bytes);
    let [digit, point] = bits([digit, equal(bytes, b'.')]);
    // Signs and the bytes before them are checked below.
    let FloatParts { low, high, point, before, bad, .. } =
        lanes::floats::<LANE>(FloatMarks { digit, point, minus: 0, space: u64::MAX });
    if bad != 0 {
        return [None; 2];
    }
    // Close the gap of the point: load the characters before it from one byte further left.
    let moved = [load(a - 1), load(a - 17), load(b - 1), load(b - 17)];
    let whole = both(digits(moved).0, spread(high >> 1));
    let (eights, _) = eights::<false>(either(both(values, spread(low)), whole));
    [0, 1].map(|lane| {
        let [low, middle, high] = *eights[4 * lane..].first_chunk()?;
        let lane_bits = |bits: u64| (bits >> (lane as u32 * LANE)) as u32;
        let exponent = exponents[lane];
        let size = lane_bits(before).trailing_zeros();
        let first = (ends[lane] - exponent.size).wrapping_sub(size as usize + 1);
        let sign = *numbers.padded.get(first)?;
        let negative = sign == b'-';
        // Branch-free: a branch on signs would be mispredicted half of the time.
        let is_separated = numbers.is_before(first - usize::from(negative | (sign == b'+')));
        let is_pointed = lane_bits(point) != 0;
        let fits = size - u32::from(is_pointed) <= MAX_DIGITS as u32;
        let places = if is_pointed { lane_bits(point).trailing_zeros() as i32 } else { 0 };
        // Wraps around only with too many digits, which `fits` rejects.
        let high = u64::from(high) * 100_000_000 + u64::from(middle);
        (fits & is_separated).then_some(Decimal {
            digits: high.wrapping_mul(100_000_000).wrapping_add(low.into()),
            exponent: exponent.value - places,
            negative,
            is_whole: !is_pointed & (exponent.size == 0),
        })
    })
}

/// Bits of a mask per number.
const LANE: u32 = 32;

/// Exponent at the end of a token.
#[derive(Clone, Copy)]
struct TokenExponent {
    /// Number of characters; 0 if there is no exponent.
    size: usize,
    value: i32,
}

impl TokenExponent {
    const NONE: TokenExponent = TokenExponent { size: 0, value: 0 };

    /// Parses the exponents in the last five characters before two ends.
    #[inline(always)]
    fn before(padded: &[u8], ends: [usize; 2]) -> [TokenExponent; 2] {
        let last = ends.map(|end| {
            padded.get(..end).and_then(|text| text.last_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
        });
        // Upper and lower case differ in one bit.
        let letters = last.map(|last| swar::zeros((last | (0x20 * ONES)) ^ (u64::from(b'e') * ONES)) >> 24 << 24);
        if letters == [0; 2] { [TokenExponent::NONE; 2] } else { TokenExponent::parse(last, letters) }
    }

    /// Parses the exponents that start at `letters`. An invalid exponent remains part of its number, which is then not
    /// plain.
    #[inline(never)]
    fn parse(last: [u64; 2], letters: [u64; 2]) -> [TokenExponent; 2] {
        [0, 1].map(|lane| {
            let size = if letters[lane] == 0 { 0 } else { letters[lane].leading_zeros() as usize / 8 + 1 };
            let value = last[lane].to_le_bytes().get(8 - size..).and_then(exponent);
            value.map_or(TokenExponent::NONE, |value| TokenExponent { size, value })
        })
    }
}
