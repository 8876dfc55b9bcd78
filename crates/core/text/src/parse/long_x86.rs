//! Long numbers with AVX2: the same values as [`Decimal`]'s.
//!
//! [`four_f32s`] converts four numbers at a time. It reads the first 14 characters of each and bounds the rest, which
//! suffices for nearly all f32s. [`f32s`] and [`f64s`] convert one number of up to 30 characters at a time, without
//! branches on its digits, in half of `Decimal`'s time.

use super::consts::{NOT_INTEGER, TOGETHER};
use super::decimal::{Decimal, MOST_DIGITS, exponent};
use super::plain::{Before, Numbers};
use super::x86::Four;
use super::{FLOAT_SIZE, NO_POINT, TENTHS, plain_x86, x86};
use crate::scan::x86::{movemask, separators};
use std::arch::x86_64::*;

/// The most characters of a number that [`four_f32s`] bounds instead of reading them.
const MOST_REST: i32 = 16;
/// The largest exponent, either way, that [`four_f32s`] takes: powers of ten up to this are exact as f64s.
const MOST_EXPONENT: usize = 22;
/// Characters of an exponent: a letter, a sign, two digits.
const EXPONENT_SIZE: i32 = 4;

/// Four numbers in the text from `starts` to `ends`, as the nearest f32s; `None` unless all are decimal, of up to 30
/// characters, with an exponent of a sign and two digits or none, and their values are certain.
///
/// A value lies between the number that its first 14 characters write and the next larger one with as many characters.
/// If both round to the same f32, so does the value. Bounds are widened by 2^-50, more than the five roundings of an
/// f64 (two factors, three products) can add up to.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable. Each start is
/// at most its end and `text[start - 16..end]` is readable.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn four_f32s(text: *const u8, starts: [u32; 4], ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: the condition on ends is this function's.
    let exponents = unsafe { Exponents::before(text, ends) }?;
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
        // Without a point in the head, the digits after it would count.
        let points = _mm_cvtepu16_epi32(_mm_cvtsi64_si128(number.point as i64));
        let pointless = _mm_cmpeq_epi32(points, _mm_setzero_si128());
        // SAFETY: stops are at most the ends and at least the starts, so that the 16 bytes before them are readable.
        let digits = unsafe { are_digits(text, array(stops), rests) };
        if !digits || _mm_testz_si128(pointless, is_cut) == 0 {
            return None;
        }
    }
    let power = _mm256_mul_pd(x86::by_point_avx2(number.point, &TENTHS), exponents.powers());
    // A cut lane is all ones, which is -1.
    let next = _mm256_sub_pd(number.whole, _mm256_cvtepi32_pd(is_cut));
    let low = _mm256_mul_pd(_mm256_mul_pd(number.whole, power), _mm256_set1_pd(1.0 - WIDENING));
    let high = _mm256_mul_pd(_mm256_mul_pd(next, power), _mm256_set1_pd(1.0 + WIDENING));
    let (low, high) = (_mm256_cvtpd_ps(low), _mm256_cvtpd_ps(high));
    let is_certain = _mm_movemask_ps(_mm_cmpeq_ps(low, high)) == 0b1111;
    is_certain.then(|| x86::signed(low, number.negative))
}

/// How far the bounds of [`four_f32s`] are moved apart, relative to their values.
const WIDENING: f64 = 1.0 / (1u64 << 50) as f64;

/// The exponents of four numbers.
struct Exponents {
    /// The size of each in characters: four or none.
    sizes: __m128i,
    values: __m128i,
}

impl Exponents {
    /// The exponents of four numbers; see [`Exponents::find`].
    ///
    /// # Safety
    /// The CPU has AVX2. For each end, `text[end - 4..end]` is readable.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn before(text: *const u8, ends: [u32; 4]) -> Option<Exponents> {
        // SAFETY: the four bytes before an end are readable, this function's condition.
        let suffix = ends.map(|end| unsafe { text.add(end as usize - 4).cast::<i32>().read_unaligned() });
        Exponents::find(_mm_setr_epi32(suffix[0], suffix[1], suffix[2], suffix[3]))
    }

    /// Finds exponents in the last four characters of four numbers; `None` if one looks like an exponent but is not a
    /// sign and two digits, or is too large.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find(suffixes: __m128i) -> Option<Exponents> {
        let byte = |at: i32, wanted: u8| {
            _mm_cmpeq_epi32(
                _mm_and_si128(suffixes, _mm_set1_epi32(0xFF << (8 * at))),
                _mm_set1_epi32(i32::from(wanted) << (8 * at)),
            )
        };
        // Letters differ from capitals by one bit.
        let found = _mm_or_si128(byte(0, b'e'), byte(0, b'E'));
        if _mm_testz_si128(found, found) == 1 {
            return Some(Exponents { sizes: _mm_setzero_si128(), values: _mm_setzero_si128() });
        }
        let negative = byte(1, b'-');
        let values = _mm_sub_epi8(suffixes, _mm_set1_epi8(b'0' as i8));
        let digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
        let are_digits = _mm_cmpeq_epi32(_mm_srli_epi32::<16>(digits), _mm_set1_epi32(0xFFFF));
        let size = _mm_srli_epi32::<16>(_mm_maddubs_epi16(values, _mm_set1_epi32(0x010A_0000)));
        let is_small = _mm_cmpgt_epi32(_mm_set1_epi32(MOST_EXPONENT as i32 + 1), size);
        let right = _mm_and_si128(_mm_or_si128(negative, byte(1, b'+')), _mm_and_si128(are_digits, is_small));
        if _mm_testc_si128(right, found) == 0 {
            return None;
        }
        // Minus a number is its complement and one more.
        let values = _mm_and_si128(_mm_sub_epi32(_mm_xor_si128(size, negative), negative), found);
        Some(Exponents { sizes: _mm_and_si128(found, _mm_set1_epi32(EXPONENT_SIZE)), values })
    }

    /// Powers of ten, of which the negative ones are rounded.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn powers(&self) -> __m256d {
        power_of(array(_mm_add_epi32(self.values, _mm_set1_epi32(MOST_EXPONENT as i32))))
    }

    /// Multiplies numbers by powers of ten such that the result is rounded once: returns them with what they are still
    /// to be divided by, without their points; `None` if a power is too large.
    #[target_feature(enable = "avx2,bmi1")]
    #[inline]
    fn scale(&self, four: &Four) -> Option<(Four, __m256d)> {
        let places = |lane: usize| (four.point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as i32 & 15;
        let places = _mm_setr_epi32(places(0), places(1), places(2), places(3));
        let exponents = _mm_sub_epi32(self.values, places);
        let is_large = _mm_cmpgt_epi32(_mm_abs_epi32(exponents), _mm_set1_epi32(MOST_EXPONENT as i32));
        if _mm_testz_si128(is_large, is_large) == 0 {
            return None;
        }
        let zero = _mm_setzero_si128();
        // One of both is 10^0.
        let power = |exponent| power_of(array(_mm_add_epi32(exponent, _mm_set1_epi32(MOST_EXPONENT as i32))));
        let factor = power(_mm_max_epi32(exponents, zero));
        let divisor = power(_mm_max_epi32(_mm_sub_epi32(zero, exponents), zero));
        Some((Four { whole: _mm256_mul_pd(four.whole, factor), ..*four }, divisor))
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn power_of(places: [u32; 4]) -> __m256d {
    let power = places.map(|place| POWERS[place as usize & 63]);
    _mm256_setr_pd(power[0], power[1], power[2], power[3])
}

/// 10^-22 to 10^22, each rounded once, and ones: 64, so that any six bits are an index.
static POWERS: [f64; 64] = {
    let (mut table, mut size, mut power) = ([1.0; 64], 0, 1.0);
    while size <= MOST_EXPONENT {
        (table[MOST_EXPONENT + size], table[MOST_EXPONENT - size]) = (power, 1.0 / power);
        power *= 10.0;
        size += 1;
    }
    table
};

/// Whether the last `sizes` characters before each of four ends are digits, 16 of them at most.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn are_digits(text: *const u8, ends: [u32; 4], sizes: __m128i) -> bool {
    let too_long = _mm_cmpgt_epi32(sizes, _mm_set1_epi32(MOST_REST));
    // SAFETY: the 16 bytes before each end are readable, this function's condition.
    let bytes = unsafe { [x86::load_pair(text, [ends[0], ends[1]]), x86::load_pair(text, [ends[2], ends[3]])] };
    // The number of characters from each to the end, to be compared with the size of its lane.
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

/// A byte of one in each of eight.
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

/// Converts numbers to the nearest f32s until one is not plain enough: one, whose start is unknown, and then four at a
/// time as long as [`four_f32s`] takes them.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the wanted ends are as [`Numbers`] requires.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f32s(numbers: Numbers<'_>, out: &mut [f32]) -> usize {
    /// The most that are converted one by one before four are tried again: between those of STL are keywords.
    const MOST_SINGLES: usize = 64;
    let (count, mut done, mut singles) = (numbers.wanted().len().min(out.len()), 0, 1);
    while done < count {
        let stop = count.min(done + singles);
        let take = |at: usize, decimal: Decimal| decimal.f32().map(|value| out[done + at] = value).is_some();
        // SAFETY: both conditions of `each` are this function's.
        let more = unsafe { each(numbers.part(done, stop - done), take) };
        done += more;
        if done < stop {
            return done;
        }
        let before = done;
        // Fields are separated by bytes that `four_f32s` does not know.
        while done + 4 <= count && !matches!(numbers.before, Before::Field(_)) {
            let Some(&[before, a, b, c, last]) = numbers.wanted()[done - 1..].first_chunk() else { break };
            let starts = [before, a, b, c].map(|end| numbers.start_after(end));
            // SAFETY: the ends are wanted ones, at least 64 bytes into the text and inside it. A start is after the end
            // of the number before it, and not after its own end, since that byte is no white space.
            let Some(values) = (unsafe { four_f32s(numbers.padded.as_ptr(), starts, [a, b, c, last]) }) else { break };
            out[done..done + 4].copy_from_slice(&values);
            done += 4;
        }
        singles = if done > before { 1 } else { MOST_SINGLES.min(2 * singles) };
    }
    done
}

/// The same as f64s with their marks: four at a time while they have up to 14 characters and perhaps an exponent,
/// otherwise one by one.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let count = numbers.wanted().len().min(out.len()).min(marks.len());
    // Plain ones were taken before: without an exponent, or longer, none of four would fit.
    let is_short = |at: usize| {
        let Some(&[end, next]) = numbers.wanted().get(at..at + 2) else { return false };
        numbers.padded[end as usize - EXPONENT_SIZE as usize] | 0x20 == b'e'
            && next.wrapping_sub(end) <= FLOAT_SIZE as u32 + EXPONENT_SIZE as u32 + 1
    };
    let mut done = 0;
    while done < count {
        let mut stop = count;
        if is_short(done) {
            // SAFETY: both conditions are this function's.
            done += unsafe { scaled_f64s(numbers.part(done, count - done), &mut out[done..], &mut marks[done..]) };
            stop = count.min(done + TOGETHER);
        }
        let take = |at: usize, decimal: Decimal| {
            decimal.marked().map(|(value, mark)| (out[done + at], marks[done + at]) = (value, mark)).is_some()
        };
        // SAFETY: both conditions of `each` are this function's.
        let more = unsafe { each(numbers.part(done, stop - done), take) };
        done += more;
        if more == 0 {
            break;
        }
    }
    done
}

/// Converts numbers of up to 14 characters with or without an exponent of a sign and two digits, four at a time.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn scaled_f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let text = numbers.padded.as_ptr();
    let split = |ends: &[u32; 4]| {
        // SAFETY: `fours` hands on wanted ends, with 64 bytes before each. The features are this function's.
        let exponents = unsafe { Exponents::before(text, *ends) }?;
        Some((array(_mm_sub_epi32(four(*ends), exponents.sizes)), exponents))
    };
    let convert = |found: &Four, exponents: Exponents, at: usize| {
        let (Some(out), Some(marks)) = (out.get_mut(at..), marks.get_mut(at..)) else { return false };
        let (Some(out), Some(marks)) = (out.first_chunk_mut(), marks.first_chunk_mut()) else { return false };
        let Some((whole, divisor)) = exponents.scale(found) else { return false };
        plain_x86::store(&whole, divisor, out, marks);
        marks.iter_mut().zip(array(exponents.sizes)).for_each(|(mark, size)| *mark |= u8::from(size > 0) * NOT_INTEGER);
        true
    };
    // SAFETY: both conditions of `fours` are this function's; `split` moves ends by four bytes at most.
    unsafe { plain_x86::fours(numbers, split, convert) }
}

/// Passes numbers to `take`, with how many precede each, until one is not plain enough or `take` refuses; returns how
/// many it took.
///
/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn each(numbers: Numbers<'_>, mut take: impl FnMut(usize, Decimal) -> bool) -> usize {
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

/// The number written by `count` digits. The last `places` of them are at the end of `values`; the others, before a
/// point, are at their places in `moved`.
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
