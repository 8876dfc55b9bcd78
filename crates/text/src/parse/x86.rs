//! Conversion of several tokens at once with AVX-512: the same answers as `swar`.
//!
//! Floats: four tokens, 16 bytes each. Indices: eight tokens, 8 bytes each. A token is found from
//! its end backwards: the highest byte that cannot be part of it is what separates it. The masks
//! of 64 bytes are worked on in general registers, a lane of 16 or 8 bits per token.

use super::POWERS;
use crate::scan::x86::space_mask;
use std::arch::x86_64::*;

/// The lowest bit of each lane of 16.
const LANES: u64 = 0x0001_0001_0001_0001;
/// The lowest bit of each lane of 8.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// Up to four floats that end at `ends`; `None` where one of them is not plain.
///
/// # Safety
/// The CPU has AVX-512 F, BW, DQ and VL; 16 bytes before each end are readable.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
pub(super) unsafe fn floats<const N: usize>(text: *const u8, ends: &[u32; 4]) -> Option<[f32; N]> {
    // SAFETY: the caller's promise.
    let load = |lane: usize| unsafe { _mm_loadu_si128(text.add(ends[lane] as usize - 16).cast()) };
    let mut bytes = _mm512_castsi128_si512(load(0));
    bytes = _mm512_inserti32x4::<1>(bytes, load(1));
    if N > 2 {
        bytes = _mm512_inserti32x4::<2>(bytes, load(2));
    }
    if N > 3 {
        bytes = _mm512_inserti32x4::<3>(bytes, load(3));
    }
    let used = u64::MAX >> (64 - 16 * N);
    let lanes = LANES & used;

    let values = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
    let digit = _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9));
    let point = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'.' as i8));
    let minus = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'-' as i8));
    let space = space_mask(bytes);

    // Every bit up to the highest one that is neither digit nor point.
    let mut outside = !(digit | point) & used;
    outside |= outside >> 1 & 0x7FFF * LANES;
    outside |= outside >> 2 & 0x3FFF * LANES;
    outside |= outside >> 4 & 0x0FFF * LANES;
    outside |= outside >> 8 & 0x00FF * LANES;
    let inside = !outside & used;
    let top = outside & !(outside >> 1 & 0x7FFF * LANES);
    let negative = minus & top;
    let separated = top & space | negative & (space << 1) & !LANES;
    let point = point & inside;
    let below = point.wrapping_sub(lanes);
    // One end and one point in each lane, the end a space or a minus after one, two characters at least.
    let plain = outside & lanes == lanes
        && separated == top
        && point.count_ones() == N as u32
        && point & below == 0
        && inside & (lanes << 14) == lanes << 14;
    if !plain {
        return None;
    }
    // Close the gap of the point: what is before it moves up by one byte.
    let moved = _mm512_maskz_bslli_epi128_1((inside & below) << 1, values);
    let digits = _mm512_mask_mov_epi8(moved, inside & !(point | below), values);
    let whole = combine(digits);
    let places = point_places::<N>(point);
    let quotients = _mm256_div_pd(whole, places);
    let bits = _mm256_castpd_si256(quotients);
    let low = _mm256_and_si256(bits, _mm256_set1_epi64x(0x1FFF_FFFF));
    let midpoint = _mm256_cmpeq_epi64_mask(low, _mm256_set1_epi64x(0x1000_0000));
    if midpoint & ((1 << N) - 1) as u8 != 0 {
        return None;
    }
    let signs = _pext_u64(negative.wrapping_add(0x7FFF * LANES), 0x8000 * LANES) as u8;
    let rounded = _mm256_cvtpd_ps(quotients);
    let flipped = _mm_mask_xor_ps(rounded, signs, rounded, _mm_set1_ps(-0.0));
    let mut lanes = [0.0; 4];
    // SAFETY: four floats fit.
    unsafe { _mm_storeu_ps(lanes.as_mut_ptr(), flipped) };
    let mut result = [0.0; N];
    result.copy_from_slice(&lanes[..N]);
    Some(result)
}

/// Each lane's bytes one up, where `mask` says so, zero elsewhere.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
#[allow(non_snake_case)]
fn _mm512_maskz_bslli_epi128_1(mask: u64, values: __m512i) -> __m512i {
    _mm512_maskz_mov_epi8(mask, _mm512_bslli_epi128::<1>(values))
}

/// Sixteen digits per lane to one f64 per lane.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn combine(digits: __m512i) -> __m256d {
    let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
    let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
    let packed = _mm512_packus_epi32(fours, fours);
    let eights = _mm512_madd_epi16(packed, _mm512_set1_epi32(0x0001_2710));
    let upper = _mm512_mul_epu32(eights, _mm512_set1_epi64(100_000_000));
    let whole = _mm512_add_epi64(upper, _mm512_srli_epi64::<32>(eights));
    let compact = _mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 0, 0, 6, 4, 2, 0), whole);
    _mm256_cvtepi64_pd(_mm512_castsi512_si256(compact))
}

/// The power of ten that each lane is divided by.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,lzcnt")]
#[inline]
fn point_places<const N: usize>(point: u64) -> __m256d {
    let place = |lane: usize| POWERS[((point >> (16 * lane)) as u16).leading_zeros() as usize & 15];
    let lanes = LANES & (u64::MAX >> (64 - 16 * N));
    let first = point & 0xFFFF;
    if first * lanes == point {
        return _mm256_set1_pd(place(0));
    }
    let third = if N > 2 { place(2) } else { 1.0 };
    let fourth = if N > 3 { place(3) } else { 1.0 };
    _mm256_set_pd(fourth, third, place(1), place(0))
}

/// What [`indices`] found, a bit per token.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// Tokens of value zero, empty ones included.
    pub(super) zeros: u32,
    /// Empty tokens.
    pub(super) empty: u32,
    /// Tokens that are not plain.
    pub(super) bad: u32,
}

/// Eight indices of up to eight digits that end at `ends[1..9]`; `ends[0]` is the end before.
///
/// # Safety
/// The CPU has AVX-512 F, BW, DQ, VL; 8 bytes before each end are readable; `out` has 8 places.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
pub(super) unsafe fn indices(text: *const u8, ends: *const u32, out: *mut u32) -> Found {
    // SAFETY: the caller's promise.
    let (before, at) = unsafe {
        (_mm256_loadu_si256(ends.cast()), _mm256_loadu_si256(ends.add(1).cast()))
    };
    // SAFETY: the caller's promise: 8 bytes before each end are readable.
    let bytes = unsafe { _mm512_i32gather_epi64::<1>(at, text.sub(8).cast()) };
    let values = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
    let digit = _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9));
    let separator = space_mask(bytes) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'/' as i8));
    let mut outside = !digit;
    outside |= outside >> 1 & 0x7F * BYTES;
    outside |= outside >> 2 & 0x3F * BYTES;
    outside |= outside >> 4 & 0x0F * BYTES;
    let top = outside & !(outside >> 1 & 0x7F * BYTES);
    // Eight digits and no separator in sight: only right if the token is eight long.
    let length = _mm256_sub_epi32(at, before);
    let nine = _mm256_cmpeq_epi32_mask(length, _mm256_set1_epi32(9));
    let eight_digits = !(_pext_u64(outside, BYTES) as u8);
    let odd = top & !separator;
    let odd_lanes = if odd == 0 { 0 } else { _pext_u64(lane_tops(odd), 0x80 * BYTES) as u8 };
    let empty = _pext_u64(top, 0x80 * BYTES) as u8;

    let digits = _mm512_maskz_mov_epi8(!outside, values);
    let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
    let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
    let upper = _mm512_mul_epu32(fours, _mm512_set1_epi64(10_000));
    let whole = _mm512_add_epi64(upper, _mm512_srli_epi64::<32>(fours));
    let result = _mm512_cvtepi64_epi32(whole);
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_si256(out.cast(), result) };
    Found {
        zeros: u32::from(_mm256_testn_epi32_mask(result, result)),
        empty: u32::from(empty),
        bad: u32::from(odd_lanes | eight_digits & !nine),
    }
}

/// The top bit of each lane of 8 that has any bit.
#[inline]
fn lane_tops(bits: u64) -> u64 {
    ((bits & !(0x80 * BYTES)) + 0x7F * BYTES | bits) & 0x80 * BYTES
}
