//! Numbers of up to 30 characters, one at a time without branches on their digits, with AVX2: the same answers as
//! [`Decimal::of`], in half its time.

use super::decimal::{Decimal, MOST_DIGITS, exponent};
use super::plain::Numbers;
use std::arch::x86_64::*;

/// Converts numbers to the nearest f32s until one is not plain enough.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the wanted ends are as [`Numbers`] requires.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f32s(numbers: Numbers<'_>, out: &mut [f32]) -> usize {
    let take = |at: usize, decimal: Decimal| {
        let place = out.get_mut(at).zip(decimal.f32());
        place.map(|(out, value)| *out = value).is_some()
    };
    // SAFETY: both conditions of `each` are this function's.
    unsafe { each(numbers, take) }
}

/// The same as f64s with their marks.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let take = |at: usize, decimal: Decimal| {
        let place = out.get_mut(at).zip(marks.get_mut(at)).zip(decimal.marked());
        place.map(|((out, mark), (value, found))| (*out, *mark) = (value, found)).is_some()
    };
    // SAFETY: both conditions of `each` are this function's.
    unsafe { each(numbers, take) }
}

/// Hands numbers to `take`, with how many came before, until one is not plain enough or `take` says no; how many it
/// took.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn each(numbers: Numbers<'_>, mut take: impl FnMut(usize, Decimal) -> bool) -> usize {
    // SAFETY: called with `end`, `last` and `last - 1`. A wanted end is at least 64 and inside `padded`; `last` is at
    // most 5 bytes before it (`behind_letter < 5`), so that the 32 bytes read start at 64 - 6 - 32 = 26 or later.
    let load = |end: usize| unsafe { _mm256_loadu_si256(numbers.padded.as_ptr().add(end - 32).cast()) };
    let zero = _mm256_set1_epi8(b'0' as i8);
    for (at, &end) in numbers.wanted().iter().enumerate() {
        let (end, mut last, mut scale) = (end as usize, end as usize, 0);
        let mut bytes = load(end);
        // The last character has the highest bit. Letters differ from capitals by one bit.
        let behind_letter = _lzcnt_u32(equal(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'e'));
        if behind_letter < 5 {
            last = end - behind_letter as usize - 1;
            let Some(found) = numbers.padded.get(last..end).and_then(exponent) else { return at };
            (scale, bytes) = (found, load(last));
        }
        let values = _mm256_sub_epi8(bytes, zero);
        let is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
        let (digit, point) = (_mm256_movemask_epi8(is_digit) as u32, equal(bytes, b'.'));
        let size = _lzcnt_u32(!(digit | point));
        let point = point & !u32::MAX.checked_shr(size).unwrap_or(0);
        let is_pointed = u32::from(point != 0);
        let (count, places) = (size - is_pointed, _lzcnt_u32(point));
        let first = last - size as usize - 1;
        let sign = numbers.padded[first];
        let negative = sign == b'-';
        // No branch on signs: half of them would be mispredicted.
        let is_right = numbers.is_before(first - usize::from(negative | (sign == b'+')));
        if !is_right || count.wrapping_sub(1) >= MOST_DIGITS as u32 || point & point.wrapping_sub(1) != 0 {
            return at;
        }
        let digits = digits(values, _mm256_sub_epi8(load(last - 1), zero), places, count);
        let exponent = scale - (places * is_pointed) as i32;
        let decimal = Decimal { digits, exponent, negative, is_whole: is_pointed == 0 && last == end };
        if !take(at, decimal) {
            return at;
        }
    }
    numbers.wanted().len()
}

/// A bit for each byte that is `byte`.
#[target_feature(enable = "avx2")]
#[inline]
fn equal(bytes: __m256i, byte: u8) -> u32 {
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))) as u32
}

/// The number that `count` digits write. The last `places` of them are at the end of `values`; the others, which stand
/// before a point, are at their places in `moved`.
#[target_feature(enable = "avx2")]
#[inline]
fn digits(values: __m256i, moved: __m256i, places: u32, count: u32) -> u64 {
    // How many characters follow each.
    let behind = _mm256_sub_epi8(_mm256_set1_epi8(31), iota());
    let limit = |count: u32| _mm256_cmpgt_epi8(_mm256_set1_epi8(count as i8), behind);
    let digits = _mm256_and_si256(_mm256_blendv_epi8(moved, values, limit(places)), limit(count));
    let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
    let packed = _mm256_packus_epi32(fours, fours);
    let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x0001_2710));
    // The lower half of a lane has the first of its 16 digits.
    let upper = _mm256_extract_epi64::<0>(eights) as u64 >> 32;
    let lower = _mm256_extract_epi64::<2>(eights) as u64;
    upper * 10_000_000_000_000_000 + (lower & 0xFFFF_FFFF) * 100_000_000 + (lower >> 32)
}

#[target_feature(enable = "avx2")]
#[inline]
fn iota() -> __m256i {
    static IOTA: [u8; 32] = {
        let (mut table, mut at) = ([0; 32], 0);
        while at < 32 {
            table[at] = at as u8;
            at += 1;
        }
        table
    };
    // SAFETY: `IOTA` has 32 bytes, as many as the load reads.
    unsafe { _mm256_loadu_si256(IOTA.as_ptr().cast()) }
}
