//! Long numbers with vectors of 16 bytes: the same values as [`Decimal`]'s.
//!
//! Two numbers at a time, of up to 30 characters each and perhaps an exponent, without branches on their digits: a lane
//! of 32 bits for each, see [`lanes`].

use super::decimal::{Decimal, MOST_DIGITS, exponent};
use super::lanes::{self, FloatMarks, Floats};
use super::plain::Numbers;
use super::swar::{self, ONES};
use crate::vector::{bits, both, digits, either, equal, numbers as eights, reversed, spread};

/// Converts pairs of numbers to the nearest f32s until one is not plain enough.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level), and the wanted ends are as [`Numbers`]
/// requires.
pub(super) unsafe fn f32s(numbers: Numbers<'_>, out: &mut [f32]) -> usize {
    let take = |at: usize, decimal: Decimal| match (decimal.f32(), out.get_mut(at)) {
        (Some(value), Some(out)) => {
            *out = value;
            true
        }
        _ => false,
    };
    // SAFETY: both conditions of `each` are this function's.
    unsafe { each(numbers, take) }
}

/// The same as f64s with their marks.
///
/// # Safety
/// As for [`f32s`].
pub(super) unsafe fn f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    // SAFETY: both conditions of `marked` are this function's.
    unsafe { marked(numbers, out, marks, Decimal::marked) }
}

/// The same, where only the nearest f32s and integers matter; see [`super::tokens::Precision`].
///
/// # Safety
/// As for [`f32s`].
pub(super) unsafe fn near_f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    // SAFETY: both conditions of `marked` are this function's.
    unsafe { marked(numbers, out, marks, Decimal::nearly_marked) }
}

/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn marked(
    numbers: Numbers<'_>,
    out: &mut [f64],
    marks: &mut [u8],
    convert: fn(Decimal) -> Option<(f64, u8)>,
) -> usize {
    let take = |at: usize, decimal: Decimal| match (convert(decimal), out.get_mut(at), marks.get_mut(at)) {
        (Some(found), Some(out), Some(mark)) => {
            (*out, *mark) = found;
            true
        }
        _ => false,
    };
    // SAFETY: both conditions of `each` are this function's.
    unsafe { each(numbers, take) }
}

/// Passes pairs of numbers to `take`, with how many precede each, until one is not plain enough or `take` refuses;
/// returns how many it took.
///
/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn each(numbers: Numbers<'_>, mut take: impl FnMut(usize, Decimal) -> bool) -> usize {
    let (pairs, _) = numbers.wanted().as_chunks::<2>();
    for (pair, ends) in pairs.iter().enumerate() {
        // SAFETY: both are wanted ends; the CPU is as the first condition says.
        let found = unsafe { two(&numbers, ends.map(|end| end as usize)) };
        for (at, decimal) in found.iter().enumerate() {
            let at = 2 * pair + at;
            // Each by itself: as a whole, they would be loaded before their parts are stored, and wait.
            let &Some(Decimal { digits, exponent, negative, is_whole }) = decimal else { return at };
            if !take(at, Decimal { digits, exponent, negative, is_whole }) {
                return at;
            }
        }
    }
    2 * pairs.len()
}

/// Two numbers that end at `ends`, if they are plain enough. There is one copy of it for all types of results: the call
/// takes little of its time.
///
/// # Safety
/// As for [`f32s`]; both ends are wanted ones.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
unsafe fn two(numbers: &Numbers<'_>, ends: [usize; 2]) -> [Option<Decimal>; 2] {
    let text = numbers.padded.as_ptr();
    let exponents = Exponent::before(numbers.padded, ends);
    let [a, b] = [0, 1].map(|at| ends[at] - exponents[at].size);
    // SAFETY: a wanted end is at least 64 and inside the text, and an exponent has 5 characters at most: the bytes that
    // are read begin at 64 - 5 - 1 - 32 or later.
    let load = |end: usize| unsafe { reversed(text.add(end - 16)) };
    let bytes = [load(a), load(a - 16), load(b), load(b - 16)];
    let (values, digit) = digits(bytes);
    let [digit, point] = bits([digit, equal(bytes, b'.')]);
    // Signs, and what precedes them, are looked at below.
    let Floats { low, high, point, before, bad, .. } =
        lanes::floats::<LANE>(FloatMarks { digit, point, minus: 0, space: u64::MAX });
    if bad != 0 {
        return [None; 2];
    }
    // Close the gap of the point: before it, the characters are those of one place further on.
    let moved = [load(a - 1), load(a - 17), load(b - 1), load(b - 17)];
    let whole = both(digits(moved).0, spread(high >> 1));
    let (eights, _) = eights::<false>(either(both(values, spread(low)), whole));
    [0, 1].map(|at| {
        let [low, middle, high] = *eights[4 * at..].first_chunk()?;
        let own = |bits: u64| (bits >> (at as u32 * LANE)) as u32;
        let (exponent, size) = (exponents[at], own(before).trailing_zeros());
        let first = (ends[at] - exponent.size).wrapping_sub(size as usize + 1);
        let sign = *numbers.padded.get(first)?;
        let negative = sign == b'-';
        // No branch on signs: half of them would be mispredicted.
        let is_right = numbers.is_before(first - usize::from(negative | (sign == b'+')));
        let is_pointed = own(point) != 0;
        let fits = size - u32::from(is_pointed) <= MOST_DIGITS as u32;
        let places = if is_pointed { own(point).trailing_zeros() as i32 } else { 0 };
        // Wraps around only if there are too many digits.
        let high = u64::from(high) * 100_000_000 + u64::from(middle);
        (fits & is_right).then_some(Decimal {
            digits: high.wrapping_mul(100_000_000).wrapping_add(low.into()),
            exponent: exponent.value - places,
            negative,
            is_whole: !is_pointed & (exponent.size == 0),
        })
    })
}

/// The bits of a number.
const LANE: u32 = 32;

/// The exponent of a number.
#[derive(Clone, Copy)]
struct Exponent {
    /// Its size in characters; 0 if there is none.
    size: usize,
    value: i32,
}

impl Exponent {
    const NONE: Exponent = Exponent { size: 0, value: 0 };

    /// The exponents in the last five characters before two ends.
    #[inline(always)]
    fn before(padded: &[u8], ends: [usize; 2]) -> [Exponent; 2] {
        let last = ends
            .map(|end| padded.get(..end).and_then(|text| text.last_chunk()).map_or(0, |it| u64::from_le_bytes(*it)));
        // Letters differ from capitals by one bit.
        let letters = last.map(|last| swar::zeros((last | (0x20 * ONES)) ^ (u64::from(b'e') * ONES)) >> 24 << 24);
        if letters == [0; 2] { [Exponent::NONE; 2] } else { Exponent::found(last, letters) }
    }

    /// One that is not plain stays part of its number, which is therefore not plain.
    #[inline(never)]
    fn found(last: [u64; 2], letters: [u64; 2]) -> [Exponent; 2] {
        [0, 1].map(|at| {
            let size = if letters[at] == 0 { 0 } else { letters[at].leading_zeros() as usize / 8 + 1 };
            let found = last[at].to_le_bytes().get(8 - size..).and_then(exponent);
            found.map_or(Exponent::NONE, |value| Exponent { size, value })
        })
    }
}
