//! Converts long numbers with AVX2 to f64s with the same nearest f32s as the exact numbers.
//!
//! The first 16 characters after the sign of a number like `-1.9958388417042257` nearly always determine its nearest
//! f32: the rest changes the value by less than one unit of the 15th digit, and if both bounds have the same nearest
//! f32, so does the number. Using all digits ([`super::long_x86`]) requires 128-bit products. The benchmark is `read
//! ply style printf17`.

use super::consts::NOT_INTEGER;
use super::decimal::Decimal;
use super::plain::{NumberRun, Preceding};
use super::{long_x86, swar};
use crate::arch::*;

/// Characters to read: 15 digits and a point.
const HEAD: usize = 16;
/// Maximum number of characters after the sign; the last [`HEAD`] are only checked to be digits.
const MAX_SIZE: usize = 2 * HEAD;
/// Relative widening of the bounds: more than the roundings of four products, of a power of ten, and of the number to
/// an f64, 2^-53 each.
const WIDENING: f64 = 1.0 / (1u64 << 50) as f64;

/// Converts numbers to f64s with marks until one is not plain enough. Integers are exact; other values have the same
/// nearest f32s as the nearest f64s.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the ends are as [`NumberRun`] requires.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let mut before = None;
    let slots = out.iter_mut().zip(marks.iter_mut());
    for (index, (&end, (out, mark))) in numbers.own_ends().iter().zip(slots).enumerate() {
        // SAFETY: the end belongs to the run: it is below the end of the text, with 64 bytes before it.
        let near = unsafe { number(&numbers, before, end as usize) };
        let marked = near.or_else(|| {
            let mut exact = None;
            let take = |_, decimal: Decimal| {
                exact = decimal.marked();
                exact.is_some()
            };
            // SAFETY: the conditions of `each` are the same.
            unsafe { long_x86::each(numbers.part(index, 1), take) };
            exact
        });
        let Some(marked) = marked else { return index };
        (*out, *mark) = marked;
        before = Some(end);
    }
    numbers.own_ends().len().min(out.len()).min(marks.len())
}

/// Converts the number that ends at `end`, with a mark. Returns `None` if the end of the previous number is unknown, if
/// the number is not plain enough, or if its nearest f32 is uncertain.
///
/// # Safety
/// The CPU has AVX2, and `end` is an end of `numbers`.
#[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
#[inline]
unsafe fn number(numbers: &NumberRun<'_>, before: Option<u32>, end: usize) -> Option<(f64, u8)> {
    if matches!(numbers.preceding, Preceding::Field(_)) {
        return None;
    }
    let start = numbers.start_after(before?) as usize;
    let negative = *numbers.padded.get(start)? == b'-';
    let first = start + usize::from(negative);
    let size = end.wrapping_sub(first);
    if size < HEAD {
        return swar::double_after(numbers.padded, end, |at| numbers.is_before(at));
    }
    let text = numbers.padded.get(first..end).filter(|text| text.len() <= MAX_SIZE)?;
    let value = value_of_head(text.first_chunk()?, text.last_chunk()?, size)?;
    Some((f64::from_bits(value.to_bits() | u64::from(negative) << 63), NOT_INTEGER))
}

/// Computes a value with the same nearest f32 as the number of `size` characters with this head and tail. Returns
/// `None` if that is uncertain.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn value_of_head(head: &[u8; HEAD], tail: &[u8; HEAD], size: usize) -> Option<f64> {
    // SAFETY: both arrays have 16 bytes, as many as the loads read.
    let (head, tail) = unsafe { (_mm_loadu_si128(head.as_ptr().cast()), _mm_loadu_si128(tail.as_ptr().cast())) };
    let (values, odd) = digits(head);
    let point = odd.trailing_zeros();
    let is_point = _mm_movemask_epi8(_mm_cmpeq_epi8(head, _mm_set1_epi8(b'.' as i8))) as u32 == odd;
    // The point may also be in the tail.
    let in_tail = ((1u64 << HEAD << point) >> size) as u32;
    if !is_point || odd.count_ones() != 1 || digits(tail).1 != in_tail {
        return None;
    }
    let point = point as usize & 15;
    // SAFETY: a row of `WITHOUT` has 16 bytes, as many as the load reads.
    let without = unsafe { _mm_loadu_si128(WITHOUT[point].as_ptr().cast()) };
    let pairs = _mm_maddubs_epi16(_mm_shuffle_epi8(values, without), _mm_set1_epi16(0x010A));
    let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
    let eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x0001_2710));
    let eights = _mm_cvtsi128_si64(eights) as u64;
    // Below 10^15, so exact.
    let whole = ((eights & 0xFFFF_FFFF) * 100_000_000 + (eights >> 32)) as f64;
    let value = whole * TENTHS[point];
    let low = value * (1.0 - WIDENING);
    let high = (whole + 1.0) * TENTHS[point] * (1.0 + WIDENING);
    (low as f32 == high as f32).then_some(value)
}

/// Returns the values of digits, and a bit for each byte that is not a digit.
#[target_feature(enable = "avx2")]
#[inline]
fn digits(bytes: __m128i) -> (__m128i, u32) {
    let values = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8));
    let are_digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
    (values, _mm_movemask_epi8(are_digits) as u32 ^ 0xFFFF)
}

/// Shuffles that drop the point: for each position of the point, the indices of the other characters, preceded by an
/// index that yields zero.
static WITHOUT: [[u8; HEAD]; HEAD] = {
    let mut table = [[0x80; HEAD]; HEAD];
    let mut point = 0;
    while point < HEAD {
        let mut at = 1;
        while at < HEAD {
            table[point][at] = if at <= point { at as u8 - 1 } else { at as u8 };
            at += 1;
        }
        point += 1;
    }
    table
};

/// For each position of the point, the weight of the last of 15 digits, rounded once.
static TENTHS: [f64; HEAD] = {
    let mut table = [1.0; HEAD];
    let mut point = HEAD - 1;
    let mut power = 1.0;
    while point > 0 {
        point -= 1;
        power *= 10.0;
        table[point] = 1.0 / power;
    }
    table
};
