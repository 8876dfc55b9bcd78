//! Converts several tokens at once with AVX2 and AVX-512. Results equal those of `swar`.
//!
//! Floats are converted four at a time, from 16 bytes each, and indices eight at a time, from 8 bytes each. Loading
//! reverses the bytes of each token; see [`lanes`].

use super::faces::IndexFaults;
use super::lanes::{self, FloatMarks, FloatParts, IndexParts, NARROW, NARROW_TOP, WIDE, WIDE_TOP};
use super::swar::unseparated;
use super::{MARGIN, MIDDLE, MIDDLE_MASK, NO_POINT, TENTHS};
use crate::arch::*;
use crate::scan::x86::{movemask, separator_mask, separators};
use crate::tables::{PLACES, REVERSE};

/// Parts of four plain numbers: the digits as one number, a bit at each point, and a bit in each negative lane.
pub(super) struct FourNumbers {
    pub(super) whole: __m256d,
    pub(super) point: u64,
    pub(super) negative: u64,
}

/// Converts four floats that end at `ends`. Returns `None` if one is not plain.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn floats_avx512(text: *const u8, ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: `load_four_avx512` reads the 16 bytes before each end, which this function's condition covers.
    let bytes = unsafe { load_four_avx512(text, ends) };
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    let values = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
    let parts = lanes::floats::<16>(FloatMarks {
        digit: _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9)),
        point: equal(b'.'),
        minus: equal(b'-'),
        space: separator_mask(bytes),
    });
    if parts.bad != 0 {
        return None;
    }
    let fours = fours_avx512(values, &parts);
    let packed = _mm512_packus_epi32(fours, fours);
    let eights = _mm512_madd_epi16(packed, _mm512_set1_epi32(0x2710_0001));
    let eights = _mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 0, 0, 6, 4, 2, 0), eights);
    let whole = _mm256_cvtepi64_pd(join_eights(_mm512_castsi512_si256(eights)));
    round(whole, by_point_avx512(parts.point, &TENTHS_BY_ZEROS), parts.negative)
}

/// Loads the 16 bytes before each of four ends, reversed.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) unsafe fn load_four_avx512(text: *const u8, ends: [u32; 4]) -> __m512i {
    // SAFETY: `load_pair` reads the 16 bytes before each end, which this function's condition covers; AVX-512 F
    // includes AVX2.
    let (low, high) = unsafe { (load_pair(text, [ends[0], ends[1]]), load_pair(text, [ends[2], ends[3]])) };
    let bytes = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(constant(&REVERSE)))
}

/// Joins the digits of four numbers into parts of four digits, the least significant part first.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn fours_avx512(values: __m512i, parts: &FloatParts) -> __m512i {
    // Close the gap of the point: the bytes before it move down by one.
    let digits = _mm512_maskz_mov_epi8(parts.low, values);
    let digits = _mm512_mask_mov_epi8(digits, parts.high >> 1, _mm512_bsrli_epi128::<1>(values));
    let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x0A01));
    _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0064_0001))
}

/// Reorders a table of powers for [`by_point_avx512`]: a point at bit p of its 64 bits has 63 - p leading zeros, whose
/// low four bits are 15 - p; without a point they are 0.
pub(super) const fn by_zeros(by_places: &[f64]) -> [f64; 16] {
    let mut table = [1.0; 16];
    let mut zeros = 1;
    while zeros < 16 {
        table[zeros] = by_places[15 - zeros];
        zeros += 1;
    }
    table
}

static TENTHS_BY_ZEROS: [f64; 16] = by_zeros(&TENTHS);

/// Looks up a power of ten for each of four numbers by the position of its point.
#[target_feature(enable = "avx512f,avx512cd,avx512vl")]
#[inline]
fn by_point_avx512(point: u64, by_zeros: &[f64; 16]) -> __m256d {
    let points = _mm256_cvtepu16_epi64(_mm_cvtsi64_si128(point as i64));
    let zeros = _mm512_castsi256_si512(_mm256_lzcnt_epi64(points));
    // SAFETY: `by_zeros` is a reference to 16 f64s: the loads read elements 0 to 7 and 8 to 15, and need no alignment.
    let (few, many) = unsafe { (_mm512_loadu_pd(by_zeros.as_ptr()), _mm512_loadu_pd(by_zeros.as_ptr().add(8))) };
    _mm512_castpd512_pd256(_mm512_permutex2var_pd(few, zeros, many))
}

/// Like [`floats_avx512`].
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn floats_avx2(text: *const u8, ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: `four_avx2` reads the 16 bytes before each end, which this function's condition covers.
    let four = unsafe { four_avx2(text, ends, |low, high| movemask(separators(low), separators(high))) }?;
    floats_of_avx2(&four)
}

/// Rounds four numbers to the nearest f32s. Returns `None` if double rounding could go wrong.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
pub(super) fn floats_of_avx2(four: &FourNumbers) -> Option<[f32; 4]> {
    round(four.whole, by_point_avx2(four.point, &TENTHS), four.negative)
}

/// Loads four numbers that end at `ends`. Returns `None` if one is not plain. `spaces` finds the characters that may
/// precede them.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn four_avx2(
    text: *const u8,
    ends: [u32; 4],
    spaces: impl Fn(__m256i, __m256i) -> u64,
) -> Option<FourNumbers> {
    let reverse = _mm256_broadcastsi128_si256(constant(&REVERSE));
    // SAFETY: `load_pair` reads the 16 bytes before each end, which this function's condition covers.
    let (low, high) = unsafe { (load_pair(text, [ends[0], ends[1]]), load_pair(text, [ends[2], ends[3]])) };
    let low = _mm256_shuffle_epi8(low, reverse);
    let high = _mm256_shuffle_epi8(high, reverse);
    let equal = |byte: u8| {
        let byte = _mm256_set1_epi8(byte as i8);
        movemask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    };
    let value = |bytes| _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
    let is_digit = |value| _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    let values = [value(low), value(high)];
    let parts = lanes::floats::<16>(FloatMarks {
        digit: movemask(is_digit(values[0]), is_digit(values[1])),
        point: equal(b'.'),
        minus: equal(b'-'),
        space: spaces(low, high),
    });
    if parts.bad != 0 {
        return None;
    }
    let before = spread(parts.high >> 1);
    let behind = spread(parts.low);
    let fours = |half: usize| {
        // Close the gap of the point: the bytes before it move down by one.
        let moved = _mm256_and_si256(_mm256_bsrli_epi128::<1>(values[half]), before[half]);
        let digits = _mm256_or_si256(_mm256_and_si256(values[half], behind[half]), moved);
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x0A01));
        _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0064_0001))
    };
    let packed = _mm256_packus_epi32(fours(0), fours(1));
    let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x2710_0001));
    let whole = join_eights(_mm256_permute4x64_epi64::<0b11_01_10_00>(eights));
    // For integers below 2^52, OR-ing the bits of 2^52 adds it.
    let magic = _mm256_set1_pd((1u64 << 52) as f64);
    let shifted = _mm256_castsi256_pd(_mm256_or_si256(whole, _mm256_castpd_si256(magic)));
    Some(FourNumbers { whole: _mm256_sub_pd(shifted, magic), point: parts.point, negative: parts.negative })
}

/// Expands each bit of a mask to a byte of ones or zeros.
#[target_feature(enable = "avx2")]
#[inline]
fn spread(mask: u64) -> [__m256i; 2] {
    let mask = _mm256_set1_epi64x(mask as i64);
    let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let eighths = |first: i64| {
        let ones = NARROW as i64;
        _mm256_set_epi64x((first + 3) * ones, (first + 2) * ones, (first + 1) * ones, first * ones)
    };
    [eighths(0), eighths(4)].map(|bytes| {
        let weighted = _mm256_and_si256(_mm256_shuffle_epi8(mask, bytes), bits);
        _mm256_cmpeq_epi8(weighted, bits)
    })
}

/// Looks up a power of ten for each of four numbers by the position of its point.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
pub(super) fn by_point_avx2(point: u64, by_places: &[f64; 32]) -> __m256d {
    let tenth = |lane: usize| by_places[(point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as usize & 31];
    // The numbers of a file usually have the same number of decimals.
    if (point & 0xFFFF) * WIDE == point {
        return _mm256_set1_pd(tenth(0));
    }
    _mm256_set_pd(tenth(3), tenth(2), tenth(1), tenth(0))
}

/// Loads the 16 bytes before each of two ends.
///
/// # Safety
/// The CPU has AVX2. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn load_pair(text: *const u8, ends: [u32; 2]) -> __m256i {
    // SAFETY: called with the two ends: the 16 bytes before each are readable, and the load needs no alignment.
    let load = |end: u32| unsafe { _mm_loadu_si128(text.add(end as usize - 16).cast()) };
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(load(ends[0])), load(ends[1]))
}

#[target_feature(enable = "avx2")]
#[inline]
fn constant(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: `bytes` is a reference to 16 bytes, as many as the load reads.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Joins two parts of up to eight digits, less significant part first, in each of four lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn join_eights(eights: __m256i) -> __m256i {
    // As part of a 64-bit word, the upper part weighs 2^32 instead of 10^8.
    let excess = _mm256_mul_epu32(_mm256_srli_epi64::<32>(eights), _mm256_set1_epi64x((1 << 32) - 100_000_000));
    _mm256_sub_epi64(eights, excess)
}

/// Rounds the products to f32s with their signs. Returns `None` if double rounding could go wrong. See
/// [`quotient`](super::quotient).
#[target_feature(enable = "avx2")]
#[inline]
fn round(whole: __m256d, tenths: __m256d, negative: u64) -> Option<[f32; 4]> {
    let products = _mm256_mul_pd(whole, tenths);
    let near = _mm256_add_epi64(_mm256_castpd_si256(products), _mm256_set1_epi64x(MARGIN as i64));
    let near = _mm256_and_si256(near, _mm256_set1_epi64x(MIDDLE_MASK as i64));
    let middle = _mm256_cmpeq_epi64(near, _mm256_set1_epi64x(MIDDLE as i64));
    if _mm256_testz_si256(middle, middle) == 0 {
        return None;
    }
    Some(signed(_mm256_cvtpd_ps(products), negative))
}

/// Negates each lane with a bit in `negative`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn signed(values: __m128, negative: u64) -> [f32; 4] {
    let signs = (negative + (WIDE_TOP - WIDE)) & WIDE_TOP;
    let signs = _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_cvtsi64_si128(signs as i64));
    let values = _mm_xor_ps(values, _mm_castsi128_ps(signs));
    let mut result = [0.0; 4];
    // SAFETY: `result` is an array of four f32s, as many as the store writes.
    unsafe { _mm_storeu_ps(result.as_mut_ptr(), values) };
    result
}

/// Converts eight indices that end at `ends`, and stores the indices with a bit in `keep` contiguously. With
/// `NEGATIVE`, indices are relative (negative), and their bits are stored.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 64..end]` is readable.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
#[inline]
pub(super) unsafe fn indices_avx512<const NEGATIVE: bool>(
    text: *const u8,
    ends: &[u32; 8],
    keep: u8,
    out: &mut [u32; 8],
) -> IndexFaults {
    // SAFETY: the conditions of `load_eight_avx512` are the same.
    let bytes = unsafe { load_eight_avx512(text, ends) };
    let values = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
    let digit = _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9));
    let parts = if NEGATIVE {
        let minus = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'-' as i8));
        lanes::negative_indices(digit, minus, separator_mask(bytes))
    } else {
        lanes::indices(digit, separator_mask(bytes))
    };
    let pairs = _mm512_maddubs_epi16(_mm512_maskz_mov_epi8(parts.digits, values), _mm512_set1_epi16(0x0A01));
    let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0064_0001));
    // As part of a 64-bit word, the upper four digits weigh 2^32 instead of 10^4.
    let excess = _mm512_mul_epu32(_mm512_srli_epi64::<32>(fours), _mm512_set1_epi64((1 << 32) - 10_000));
    let result = _mm512_cvtepi64_epi32(_mm512_sub_epi64(fours, excess));
    let result = if NEGATIVE { _mm256_sub_epi32(_mm256_setzero_si256(), result) } else { result };
    let compressed = _mm256_maskz_compress_epi32(keep, result);
    // SAFETY: `out` is a reference to eight `u32`s, the 32 bytes that the store writes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), compressed) };
    let zeros = _mm256_testn_epi32_mask(result, result);
    // SAFETY: `judge` reads one byte 9 before an end, which is among the 64 that this function's condition covers.
    unsafe { judge(text, ends, &parts, zeros) }
}

/// Loads the eight bytes before each of eight ends, reversed.
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 64..end]` is readable.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
unsafe fn load_eight_avx512(text: *const u8, ends: &[u32; 8]) -> __m512i {
    const LANE: i64 = NARROW as i64;
    let last = ends[7];
    // SAFETY: `ends` is a reference to eight `u32`s, the 32 bytes that the load reads.
    let ends_vector = unsafe { _mm256_loadu_si256(ends.as_ptr().cast()) };
    if last.wrapping_sub(ends[0]) > 56 {
        // SAFETY: each lane reads `text[end - 8..end]`, which this function's condition covers; only the base may lie
        // before the text, so it wraps. `cvtepu32` extends without a sign: offsets from 2^31 on stay positive.
        let bytes =
            unsafe { _mm512_i64gather_epi64::<1>(_mm512_cvtepu32_epi64(ends_vector), text.wrapping_sub(8).cast()) };
        let backwards = _mm_set_epi64x(0x0809_0A0B_0C0D_0E0F, 0x0001_0203_0405_0607);
        return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(backwards));
    }
    // All tokens are within one vector, and one load is cheaper than eight.
    // SAFETY: `text[last - 64..last]`: `last` is one of the ends, and this function's condition covers 64 bytes before
    // each.
    let bytes = unsafe { _mm512_loadu_si512(text.add(last as usize - 64).cast()) };
    // Byte i of a token is at its end - 1 - i; byte 0 of the vector is at `last` - 64.
    let fours = _mm512_set_epi64(28 * LANE, 24 * LANE, 20 * LANE, 16 * LANE, 12 * LANE, 8 * LANE, 4 * LANE, 0);
    let lane_ends = _mm512_permutexvar_epi8(fours, _mm512_castsi256_si512(ends_vector));
    let back = _mm512_sub_epi8(_mm512_set1_epi64(0x3839_3A3B_3C3D_3E3F), _mm512_set1_epi8(last as i8));
    _mm512_permutexvar_epi8(_mm512_add_epi8(lane_ends, back), bytes)
}

/// Like [`indices_avx512`].
///
/// # Safety
/// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[inline]
pub(super) unsafe fn indices_avx2<const NEGATIVE: bool>(
    text: *const u8,
    ends: &[u32; 8],
    keep: u8,
    out: &mut [u32; 8],
) -> IndexFaults {
    // SAFETY: `load_four` reads the eight bytes before each end, which this function's condition covers.
    let bytes = unsafe {
        [load_four(text, [ends[0], ends[1], ends[2], ends[3]]), load_four(text, [ends[4], ends[5], ends[6], ends[7]])]
    };
    let values = bytes.map(|bytes| _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8)));
    let is_digit = |value| _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    let digit = movemask(is_digit(values[0]), is_digit(values[1]));
    let separator = movemask(separators(bytes[0]), separators(bytes[1]));
    let parts = if NEGATIVE {
        let minus = bytes.map(|bytes| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'-' as i8)));
        lanes::negative_indices(digit, movemask(minus[0], minus[1]), separator)
    } else {
        lanes::indices(digit, separator)
    };
    let digits = spread(parts.digits);
    let fours = |half: usize| {
        let pairs = _mm256_maddubs_epi16(_mm256_and_si256(values[half], digits[half]), _mm256_set1_epi16(0x0A01));
        _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0064_0001))
    };
    let packed = _mm256_packus_epi32(fours(0), fours(1));
    let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x2710_0001));
    let result = _mm256_permute4x64_epi64::<0b11_01_10_00>(eights);
    let result = if NEGATIVE { _mm256_sub_epi32(_mm256_setzero_si256(), result) } else { result };
    // SAFETY: a row of `PLACES` has 8 bytes, as many as `_mm_loadl_epi64` reads; `out` has eight `u32`s, as many as the
    // store writes.
    unsafe {
        let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[usize::from(keep)].as_ptr().cast()));
        _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(result, places));
    }
    let zeros = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(result, _mm256_setzero_si256())));
    // SAFETY: `judge` reads one byte 9 before an end, which is among the 16 that this function's condition covers.
    unsafe { judge(text, ends, &parts, zeros as u8) }
}

/// Loads the eight bytes before each of four ends, reversed.
///
/// # Safety
/// The CPU has AVX2. For each end, `text[end - 8..end]` is readable.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load_four(text: *const u8, ends: [u32; 4]) -> __m256i {
    // SAFETY: the eight bytes before an end are readable, as this function requires; `read_unaligned` needs no
    // alignment.
    let load = |end: u32| unsafe { text.add(end as usize - 8).cast::<u64>().read_unaligned().swap_bytes() as i64 };
    _mm256_set_epi64x(load(ends[3]), load(ends[2]), load(ends[1]), load(ends[0]))
}

/// Finds the invalid and the empty tokens among eight indices.
///
/// # Safety
/// The CPU has BMI2. For each end, `text[end - 9]` is readable.
#[target_feature(enable = "bmi1,bmi2")]
#[inline]
unsafe fn judge(text: *const u8, ends: &[u32; 8], parts: &IndexParts, zeros: u8) -> IndexFaults {
    let mut bad = _pext_u64(((parts.bad & !NARROW_TOP) + (NARROW_TOP - NARROW)) | parts.bad, NARROW_TOP);
    let empty = _pext_u64(parts.empty, NARROW);
    // SAFETY: the condition of `unseparated` is the same.
    bad |= unsafe { unseparated(text, ends, parts.full) };
    IndexFaults { bad: bad | u64::from(zeros) & !empty, empty }
}
