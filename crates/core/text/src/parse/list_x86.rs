//! [`super::list`] with AVX2 and AVX-512. Results equal those of the portable code.

use super::list::{ListMasks, TokenEnds, find_blocks};
use super::plain::integers;
use super::x86;
use crate::arch::*;
use crate::scan::x86::{movemask, spread_avx2, spread_avx512};
use crate::tables::{BEFORE_IN_LIST, BLANKS, STOPS};

/// Finds token ends; see [`super::list`].
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn find_avx512(padded: &[u8], start: usize, end: usize, ends: &mut TokenEnds) -> usize {
    let masks = |block: &[u8; 64]| {
        // SAFETY: `block` is a reference to 64 bytes, as many as the load reads; it needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let space = lookup_avx512(&BLANKS, bytes);
        let tab = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(0x0B));
        ListMasks { space, stop: lookup_avx512(&STOPS, bytes) | tab }
    };
    find_blocks(padded, start, end, ends, masks, |bits, base, out| spread_avx512(bits, base, out))
}

/// Like [`find_avx512`].
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn find_avx2(padded: &[u8], start: usize, end: usize, ends: &mut TokenEnds) -> usize {
    let masks = |block: &[u8; 64]| {
        let from = block.as_ptr().cast::<__m256i>();
        // SAFETY: `block` is a reference to 64 bytes: the two loads read bytes 0 to 31 and 32 to 63, and need no
        // alignment.
        let [low, high] = unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] };
        let tab = _mm256_set1_epi8(0x0B);
        let tab = movemask(_mm256_cmpeq_epi8(low, tab), _mm256_cmpeq_epi8(high, tab));
        ListMasks { space: lookup_avx2(&BLANKS, low, high), stop: lookup_avx2(&STOPS, low, high) | tab }
    };
    find_blocks(padded, start, end, ends, masks, |bits, base, out| spread_avx2(bits, base, out))
}

/// Returns a mask of the bytes that are in a table.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn lookup_avx512(table: &[u8; 16], bytes: __m512i) -> u64 {
    // SAFETY: `table` is a reference to 16 bytes, as many as the load reads.
    let table = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(table.as_ptr().cast()) });
    _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(table, bytes), bytes)
}

#[target_feature(enable = "avx2")]
#[inline]
fn lookup_avx2(table: &[u8; 16], low: __m256i, high: __m256i) -> u64 {
    // SAFETY: `table` is a reference to 16 bytes, as many as the load reads.
    let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) });
    let find = |bytes: __m256i| _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, bytes), bytes);
    movemask(find(low), find(high))
}

/// Returns a mask of the bytes that may precede a number.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn before_avx512(bytes: __m512i) -> u64 {
    lookup_avx512(&BEFORE_IN_LIST, bytes)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn before_avx2(low: __m256i, high: __m256i) -> u64 {
    lookup_avx2(&BEFORE_IN_LIST, low, high)
}

/// Converts plain integers that end at `ends`, eight at a time. Returns the number of converted integers.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and every end is at least 64 and at most `padded.len()`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
pub(super) unsafe fn i32s_avx512(padded: &[u8], ends: &[u32], out: &mut [i32]) -> usize {
    integers(padded, ends, out, |ends, out| {
        // SAFETY: the closure receives elements of `ends`, at least 64 bytes into `padded` by the second condition; the
        // first one includes the features of `indices_avx512`.
        let faults = unsafe { x86::indices_avx512::<false>(padded.as_ptr(), ends, 0xFF, out) };
        faults.bad | faults.empty
    })
}

/// Like [`i32s_avx512`].
///
/// # Safety
/// The CPU has the features that `target_feature` names, and every end is at least 16 and at most `padded.len()`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) unsafe fn i32s_avx2(padded: &[u8], ends: &[u32], out: &mut [i32]) -> usize {
    integers(padded, ends, out, |ends, out| {
        // SAFETY: the closure receives elements of `ends`, at least 16 bytes into `padded` by the second condition; the
        // first one equals the features of `indices_avx2`.
        let faults = unsafe { x86::indices_avx2::<false>(padded.as_ptr(), ends, 0xFF, out) };
        faults.bad | faults.empty
    })
}
