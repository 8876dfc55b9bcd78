//! Converts long numbers with AVX2. Values equal those of [`Decimal`].
//!
//! [`four_f32s`] converts four numbers at a time: it reads the first 14 characters of each and bounds the rest, which
//! suffices for nearly all f32s. [`each`] converts single numbers of up to 30 characters without branching on their
//! digits, twice as fast as `Decimal`. [`f32s`] and [`f64s`] convert four numbers at a time where possible, and single
//! numbers otherwise.

use super::consts::{NOT_INTEGER, TOGETHER};
use super::decimal::{Decimal, MAX_DIGITS, exponent};
use super::plain::{NumberRun, Preceding};
use super::x86::FourNumbers;
use super::{FLOAT_SIZE, NO_POINT, TENTHS, plain_x86, x86};
use crate::arch::*;
use crate::scan::x86::{movemask, separators};

/// Maximum number of characters that [`four_f32s`] bounds instead of reading.
const MAX_REST: i32 = 16;
/// Largest magnitude of an exponent in [`four_f32s`]: powers of ten up to this one are exact as f64s.
const MAX_EXPONENT: usize = 22;
/// Characters of an exponent: a letter, a sign, two digits.
const EXPONENT_SIZE: i32 = 4;

/// Converts four numbers from `starts` to `ends` to the nearest f32s. Returns `None` unless all are decimal, have up to
/// 30 characters and an optional exponent of a sign and two digits, and round with certainty.
///
/// A value lies between the number that its first 14 characters form and the next larger one of the same length. If
/// both round to the same f32, so does the value. Bounds are widened by 2^-50, more than the sum of five f64 roundings
/// (two factors, three products).
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable. Each start is
/// at most its end and `text[start - 16..end]` is readable.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn four_f32s(text: *const u8, starts: [u32; 4], ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: the condition on ends is the same.
    let exponents = unsafe { FourExponents::before(text, ends) }?;
    let stops = _mm_sub_epi32(four(ends), exponents.sizes);
    let starts = four(starts);
    let sizes = _mm_sub_epi32(stops, starts);
    let heads = _mm_min_epi32(sizes, _mm_set1_epi32(FLOAT_SIZE as i32));
    let rests = _mm_sub_epi32(sizes, heads);
    // SAFETY: a head ends between its start and its end, so that the 16 bytes before it are readable.
    let number = unsafe {
        x86::four_avx2(text, array(_mm_add_epi32(starts, heads)), |low, high| {
            movemask(separators(low), separators(high))
        })
    }?;
    let is_cut = _mm_cmpgt_epi32(rests, _mm_setzero_si128());
    if _mm_testz_si128(is_cut, is_cut) == 0 {
        // Without a point in the head, the remaining digits would change the magnitude.
        let points = _mm_cvtepu16_epi32(_mm_cvtsi64_si128(number.point as i64));
        let pointless = _mm_cmpeq_epi32(points, _mm_setzero_si128());
        // SAFETY: stops are at most the ends and at least the starts, so that the 16 bytes before them are readable.
        let digits = unsafe { are_digits(text, array(stops), rests) };
        if !digits || _mm_testz_si128(pointless, is_cut) == 0 {
            return None;
        }
    }
    let power = _mm256_mul_pd(x86::by_point_avx2(number.point, &TENTHS), exponents.powers());
    // A cut lane is all ones: -1.
    let next = _mm256_sub_pd(number.whole, _mm256_cvtepi32_pd(is_cut));
    let low = _mm256_mul_pd(_mm256_mul_pd(number.whole, power), _mm256_set1_pd(1.0 - WIDENING));
    let high = _mm256_mul_pd(_mm256_mul_pd(next, power), _mm256_set1_pd(1.0 + WIDENING));
    let low = _mm256_cvtpd_ps(low);
    let high = _mm256_cvtpd_ps(high);
    let is_certain = _mm_movemask_ps(_mm_cmpeq_ps(low, high)) == 0b1111;
    is_certain.then(|| x86::signed(low, number.negative))
}

/// Relative widening of the bounds of [`four_f32s`].
const WIDENING: f64 = 1.0 / (1u64 << 50) as f64;

/// Exponents of four numbers.
struct FourExponents {
    /// Number of characters of each: 4 or 0.
    sizes: __m128i,
    values: __m128i,
}

impl FourExponents {
    /// Parses the exponents before four ends; see [`FourExponents::find`].
    ///
    /// # Safety
    /// The CPU has AVX2. For each end, `text[end - 4..end]` is readable.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn before(text: *const u8, ends: [u32; 4]) -> Option<FourExponents> {
        // SAFETY: the four bytes before an end are readable, as this function requires.
        let suffix = ends.map(|end| unsafe { text.add(end as usize - 4).cast::<i32>().read_unaligned() });
        FourExponents::find(_mm_setr_epi32(suffix[0], suffix[1], suffix[2], suffix[3]))
    }

    /// Finds exponents in the last four characters of four numbers. Returns `None` if one starts with an `e` or `E`
    /// that is not followed by a sign and two digits, or is too large.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find(suffixes: __m128i) -> Option<FourExponents> {
        let is_byte = |index: i32, byte: u8| {
            _mm_cmpeq_epi32(
                _mm_and_si128(suffixes, _mm_set1_epi32(0xFF << (8 * index))),
                _mm_set1_epi32(i32::from(byte) << (8 * index)),
            )
        };
        let has_exponent = _mm_or_si128(is_byte(0, b'e'), is_byte(0, b'E'));
        if _mm_testz_si128(has_exponent, has_exponent) == 1 {
            return Some(FourExponents { sizes: _mm_setzero_si128(), values: _mm_setzero_si128() });
        }
        let negative = is_byte(1, b'-');
        let values = _mm_sub_epi8(suffixes, _mm_set1_epi8(b'0' as i8));
        let digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
        let are_digits = _mm_cmpeq_epi32(_mm_srli_epi32::<16>(digits), _mm_set1_epi32(0xFFFF));
        let size = _mm_srli_epi32::<16>(_mm_maddubs_epi16(values, _mm_set1_epi32(0x010A_0000)));
        let is_small = _mm_cmpgt_epi32(_mm_set1_epi32(MAX_EXPONENT as i32 + 1), size);
        let is_valid = _mm_and_si128(_mm_or_si128(negative, is_byte(1, b'+')), _mm_and_si128(are_digits, is_small));
        if _mm_testc_si128(is_valid, has_exponent) == 0 {
            return None;
        }
        // -x is the complement of x, plus 1.
        let values = _mm_and_si128(_mm_sub_epi32(_mm_xor_si128(size, negative), negative), has_exponent);
        Some(FourExponents { sizes: _mm_and_si128(has_exponent, _mm_set1_epi32(EXPONENT_SIZE)), values })
    }

    /// Looks up the powers of ten. Powers with negative exponents are rounded.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn powers(&self) -> __m256d {
        power_of(array(_mm_add_epi32(self.values, _mm_set1_epi32(MAX_EXPONENT as i32))))
    }

    /// Scales numbers by powers of ten such that each result is rounded only once. Returns the numbers, without regard
    /// to their points, times a power, and the divisors to apply. Returns `None` if a power is too large.
    #[target_feature(enable = "avx2,bmi1")]
    #[inline]
    fn scale(&self, four: &FourNumbers) -> Option<(FourNumbers, __m256d)> {
        let places = |lane: usize| (four.point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as i32 & 15;
        let places = _mm_setr_epi32(places(0), places(1), places(2), places(3));
        let exponents = _mm_sub_epi32(self.values, places);
        let is_large = _mm_cmpgt_epi32(_mm_abs_epi32(exponents), _mm_set1_epi32(MAX_EXPONENT as i32));
        if _mm_testz_si128(is_large, is_large) == 0 {
            return None;
        }
        let zero = _mm_setzero_si128();
        // One of the two is 10^0.
        let power = |exponent| power_of(array(_mm_add_epi32(exponent, _mm_set1_epi32(MAX_EXPONENT as i32))));
        let factor = power(_mm_max_epi32(exponents, zero));
        let divisor = power(_mm_max_epi32(_mm_sub_epi32(zero, exponents), zero));
        Some((FourNumbers { whole: _mm256_mul_pd(four.whole, factor), ..*four }, divisor))
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn power_of(indices: [u32; 4]) -> __m256d {
    let power = indices.map(|index| POWERS[index as usize & 63]);
    _mm256_setr_pd(power[0], power[1], power[2], power[3])
}

/// 10^-22 to 10^22, each rounded once, then ones. 64 entries: any six bits are a valid index.
static POWERS: [f64; 64] = {
    let mut table = [1.0; 64];
    let mut size = 0;
    let mut power = 1.0;
    while size <= MAX_EXPONENT {
        table[MAX_EXPONENT + size] = power;
        table[MAX_EXPONENT - size] = 1.0 / power;
        power *= 10.0;
        size += 1;
    }
    table
};

/// Returns whether the last `sizes` (at most 16) characters before each of four ends are digits.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn are_digits(text: *const u8, ends: [u32; 4], sizes: __m128i) -> bool {
    let too_long = _mm_cmpgt_epi32(sizes, _mm_set1_epi32(MAX_REST));
    // SAFETY: the 16 bytes before each end are readable, as this function requires.
    let bytes = unsafe { [x86::load_pair(text, [ends[0], ends[1]]), x86::load_pair(text, [ends[2], ends[3]])] };
    // Number of characters from each one to the end, to be compared with the size of its lane.
    let behind = _mm256_broadcastsi128_si256(_mm_setr_epi8(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1));
    let sizes = _mm256_broadcastsi128_si256(sizes);
    let lanes = |low: i8, high: i8| {
        let lane = _mm256_setr_epi64x(
            i64::from(low) * ONES,
            i64::from(low) * ONES,
            i64::from(high) * ONES,
            i64::from(high) * ONES,
        );
        _mm256_shuffle_epi8(sizes, lane)
    };
    let odd = |bytes: __m256i, sizes: __m256i| {
        let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
        let is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
        _mm256_andnot_si256(is_digit, _mm256_cmpeq_epi8(_mm256_max_epi8(behind, sizes), sizes))
    };
    let odd = _mm256_or_si256(odd(bytes[0], lanes(0, 4)), odd(bytes[1], lanes(8, 12)));
    _mm256_testz_si256(odd, odd) == 1 && _mm_testz_si128(too_long, too_long) == 1
}

/// 1 in each byte.
const ONES: i64 = 0x0101_0101_0101_0101;

#[target_feature(enable = "avx2")]
#[inline]
fn four(values: [u32; 4]) -> __m128i {
    // SAFETY: `values` has 16 bytes, as many as the load reads.
    unsafe { _mm_loadu_si128(values.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn array(values: __m128i) -> [u32; 4] {
    let mut array = [0; 4];
    // SAFETY: `array` has 16 bytes, as many as the store writes.
    unsafe { _mm_storeu_si128(array.as_mut_ptr().cast(), values) };
    array
}

/// Converts numbers to the nearest f32s until one is not plain enough: first a single number, because its start is
/// unknown, then four at a time while [`four_f32s`] accepts them, then single numbers again, and so on.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the ends are as [`NumberRun`] requires.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f32s(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
    /// Maximum count of numbers converted individually before retrying four: STL has keywords between numbers.
    const MAX_SINGLES: usize = 64;
    let count = numbers.own_ends().len().min(out.len());
    let mut converted = 0;
    let mut singles = 1;
    while converted < count {
        let stop = count.min(converted + singles);
        let take = |index: usize, decimal: Decimal| decimal.f32().map(|value| out[converted + index] = value).is_some();
        // SAFETY: the conditions of `each` are the same.
        let more = unsafe { each(numbers.part(converted, stop - converted), take) };
        converted += more;
        if converted < stop {
            return converted;
        }
        let before = converted;
        // `four_f32s` does not support the separators of fields.
        while converted + 4 <= count && !matches!(numbers.preceding, Preceding::Field(_)) {
            let Some(&[before, a, b, c, last]) = numbers.own_ends()[converted - 1..].first_chunk() else { break };
            let starts = [before, a, b, c].map(|end| numbers.start_after(end));
            // SAFETY: the ends are the run's own, at least 64 bytes into the text and inside it. A start is after the
            // end of the previous number, and at most its own end: neither the bytes of a token nor the slash after an
            // empty one are white space.
            let Some(values) = (unsafe { four_f32s(numbers.padded.as_ptr(), starts, [a, b, c, last]) }) else { break };
            out[converted..converted + 4].copy_from_slice(&values);
            converted += 4;
        }
        singles = if converted > before { 1 } else { MAX_SINGLES.min(2 * singles) };
    }
    converted
}

/// Converts numbers to the nearest f64s, with marks. Short numbers with an exponent are converted four at a time, all
/// other numbers individually.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let count = numbers.own_ends().len().min(out.len()).min(marks.len());
    // Plain numbers are converted elsewhere. Here, it is only worthwhile to convert short numbers with an exponent four
    // at a time.
    let is_short = |index: usize| {
        let Some(&[end, next]) = numbers.own_ends().get(index..index + 2) else { return false };
        numbers.padded[end as usize - EXPONENT_SIZE as usize] | 0x20 == b'e'
            && next.wrapping_sub(end) <= FLOAT_SIZE as u32 + EXPONENT_SIZE as u32 + 1
    };
    let mut converted = 0;
    while converted < count {
        let mut stop = count;
        if is_short(converted) {
            // SAFETY: the conditions are the same.
            converted += unsafe {
                scaled_f64s(numbers.part(converted, count - converted), &mut out[converted..], &mut marks[converted..])
            };
            stop = count.min(converted + TOGETHER);
        }
        let take = |index: usize, decimal: Decimal| {
            decimal.marked().map(|marked| (out[converted + index], marks[converted + index]) = marked).is_some()
        };
        // SAFETY: the conditions of `each` are the same.
        let more = unsafe { each(numbers.part(converted, stop - converted), take) };
        converted += more;
        if more == 0 {
            break;
        }
    }
    converted
}

/// Converts numbers of up to 14 characters, with an optional exponent of a sign and two digits, four at a time.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn scaled_f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let text = numbers.padded.as_ptr();
    let split = |ends: &[u32; 4]| {
        // SAFETY: `fours` passes the run's own ends, with 64 bytes before each. This function has the same features.
        let exponents = unsafe { FourExponents::before(text, *ends) }?;
        Some((array(_mm_sub_epi32(four(*ends), exponents.sizes)), exponents))
    };
    let convert = |numbers: &FourNumbers, exponents: FourExponents, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(<[f64]>::first_chunk_mut) else { return false };
        let Some(marks) = marks.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return false };
        let Some((whole, divisor)) = exponents.scale(numbers) else { return false };
        plain_x86::store(&whole, divisor, out, marks);
        marks.iter_mut().zip(array(exponents.sizes)).for_each(|(mark, size)| *mark |= u8::from(size > 0) * NOT_INTEGER);
        true
    };
    // SAFETY: the conditions of `fours` are the same; `split` moves ends by four bytes at most.
    unsafe { plain_x86::fours(numbers, split, convert) }
}

/// Calls `take` with the index and value of each number until one is not plain enough or `take` returns `false`.
/// Returns the number of values accepted.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn each(numbers: NumberRun<'_>, mut take: impl FnMut(usize, Decimal) -> bool) -> usize {
    // SAFETY: called with `end`, `last` and `last - 1`. An end is at least 64 and inside `padded`; `last` is at
    // most 5 bytes before it (`behind_letter < 5`), so that the 32 bytes read start at 64 - 6 - 32 = 26 or later.
    let load = |end: usize| unsafe { _mm256_loadu_si256(numbers.padded.as_ptr().add(end - 32).cast()) };
    let zero = _mm256_set1_epi8(b'0' as i8);
    for (at, &end) in numbers.own_ends().iter().enumerate() {
        let end = end as usize;
        let mut last = end;
        let mut scale = 0;
        let mut bytes = load(end);
        // The last character has the highest bit. Upper and lower case differ in one bit.
        let behind_letter = _lzcnt_u32(equal(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'e'));
        if behind_letter < 5 {
            last = end - behind_letter as usize - 1;
            let Some(exponent) = numbers.padded.get(last..end).and_then(exponent) else { return at };
            scale = exponent;
            bytes = load(last);
        }
        let values = _mm256_sub_epi8(bytes, zero);
        let is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
        let digit = _mm256_movemask_epi8(is_digit) as u32;
        let point = equal(bytes, b'.');
        let size = _lzcnt_u32(!(digit | point));
        let point = point & !u32::MAX.checked_shr(size).unwrap_or(0);
        let is_pointed = u32::from(point != 0);
        let count = size - is_pointed;
        let places = _lzcnt_u32(point);
        let first = last - size as usize - 1;
        let sign = numbers.padded[first];
        let negative = sign == b'-';
        // Branch-free: a branch on signs would be mispredicted half of the time.
        let is_separated = numbers.is_before(first - usize::from(negative | (sign == b'+')));
        if !is_separated || count.wrapping_sub(1) >= MAX_DIGITS as u32 || point & point.wrapping_sub(1) != 0 {
            return at;
        }
        let digits = digits(values, _mm256_sub_epi8(load(last - 1), zero), places, count);
        let exponent = scale - (places * is_pointed) as i32;
        let decimal = Decimal { digits, exponent, negative, is_whole: is_pointed == 0 && last == end };
        if !take(at, decimal) {
            return at;
        }
    }
    numbers.own_ends().len()
}

/// Returns a mask of the bytes that equal `byte`.
#[target_feature(enable = "avx2")]
#[inline]
fn equal(bytes: __m256i, byte: u8) -> u32 {
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))) as u32
}

/// Joins `count` digits. The last `places` of them are at the end of `values`; the ones before the point are at the end
/// of `moved`.
#[target_feature(enable = "avx2")]
#[inline]
fn digits(values: __m256i, moved: __m256i, places: u32, count: u32) -> u64 {
    // Number of characters after each one.
    let behind = _mm256_sub_epi8(_mm256_set1_epi8(31), iota());
    let limit = |count: u32| _mm256_cmpgt_epi8(_mm256_set1_epi8(count as i8), behind);
    let digits = _mm256_and_si256(_mm256_blendv_epi8(moved, values, limit(places)), limit(count));
    let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
    let packed = _mm256_packus_epi32(fours, fours);
    let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x0001_2710));
    // The lower half of a lane holds the first of its 16 digits.
    let upper = _mm256_extract_epi64::<0>(eights) as u64 >> 32;
    let lower = _mm256_extract_epi64::<2>(eights) as u64;
    upper * 10_000_000_000_000_000 + (lower & 0xFFFF_FFFF) * 100_000_000 + (lower >> 32)
}

#[target_feature(enable = "avx2")]
#[inline]
fn iota() -> __m256i {
    static IOTA: [u8; 32] = {
        let mut table = [0; 32];
        let mut at = 0;
        while at < 32 {
            table[at] = at as u8;
            at += 1;
        }
        table
    };
    // SAFETY: `IOTA` has 32 bytes, as many as the load reads.
    unsafe { _mm256_loadu_si256(IOTA.as_ptr().cast()) }
}
