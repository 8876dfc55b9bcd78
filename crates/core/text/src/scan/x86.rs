//! Indexing with AVX2 and AVX-512, 64 bytes at a time. Results equal those of `portable`.

use super::{Block, BlockMasks, Index, LineEnd, ScanKernel, Separator, line_ends};
use crate::arch::*;
use crate::tables::{PLACES, SEPARATORS};
use std::ops::Range;

/// Scans with AVX-512.
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_avx512(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    // SAFETY: the condition of `scan_avx512_with` is the same.
    unsafe { scan_avx512_with(index, padded, start..end, |block| masks_avx512(block)) }
}

/// Like [`scan_avx512`], for fields.
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_fields_avx512(
    index: &mut Index,
    padded: &[u8],
    start: usize,
    end: usize,
    separator: Separator,
) {
    // SAFETY: the condition of `scan_avx512_with` is the same. `block` is a
    // reference to 64 bytes, as many as `_mm512_loadu_si512` reads; it needs no alignment.
    unsafe {
        match separator {
            Separator::Blanks => {
                scan_avx512_with(index, padded, start..end, |block| BlockMasks { slash: 0, ..masks_avx512(block) })
            }
            Separator::Byte(byte) => scan_avx512_with(index, padded, start..end, |block| {
                prefetch(block);
                let bytes = _mm512_loadu_si512(block.as_ptr().cast());
                let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
                let line_feed = equal(b'\n');
                let carriage_return = equal(b'\r');
                BlockMasks { space: line_feed | carriage_return, slash: equal(byte), line_feed, carriage_return }
            }),
        }
    }
}

/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
unsafe fn scan_avx512_with(
    index: &mut Index,
    padded: &[u8],
    range: Range<usize>,
    masks: impl Fn(&Block) -> BlockMasks,
) {
    index.scan_blocks(
        padded,
        range,
        ScanKernel {
            masks,
            spread: |bits, base, out: &mut [u32; 64]| spread_avx512(bits, base, out),
            pick: |from, places| _pext_u64(from, places),
            line_ends: |newlines, ends, origin, out: &mut [LineEnd; 64]| line_ends_avx512(newlines, ends, origin, out),
        },
    );
}

/// Prefetches the text 1 KiB ahead, which doubles the scanning speed of text outside the cache.
#[inline(always)]
fn prefetch(block: &Block) {
    // SAFETY: a prefetch never faults and reads nothing into the program, so any address is valid; `wrapping_add` may
    // leave the text.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().wrapping_add(1024).cast()) };
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn masks_avx512(block: &Block) -> BlockMasks {
    prefetch(block);
    // SAFETY: `block` is a reference to 64 bytes, as many as the load reads; it needs no alignment.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    let slash = equal(b'/');
    let space = separator_mask(bytes) ^ slash;
    BlockMasks { space, slash, line_feed: equal(b'\n'), carriage_return: equal(b'\r') }
}

/// Returns a mask of the bytes that are white space or a slash.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(crate) fn separator_mask(bytes: __m512i) -> u64 {
    // SAFETY: `SEPARATORS` has 16 bytes, as many as the load reads.
    let table = unsafe { _mm_loadu_si128(SEPARATORS.as_ptr().cast()) };
    let entries = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), bytes);
    _mm512_cmpeq_epi8_mask(entries, bytes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
#[inline]
pub(crate) fn spread_avx512(bits: u64, base: u32, out: &mut [u32; 64]) {
    // SAFETY: `IOTA` has 64 bytes, as many as the load reads.
    let offsets = _mm512_maskz_compress_epi8(bits, unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast()) });
    let origin = _mm512_set1_epi32(base as i32);
    let mut store = |part: usize, offsets: __m128i| {
        let wide = _mm512_add_epi32(_mm512_cvtepu8_epi32(offsets), origin);
        // SAFETY: `part` is 0 to 3 in all four calls below: the store of 16 elements starts at 48 of 64 at most.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(16 * part).cast(), wide) };
    };
    // Text rarely has more than 32 tokens in 64 bytes, so this branch is predictable; a branch at 16 tokens would not
    // be.
    store(0, _mm512_castsi512_si128(offsets));
    store(1, _mm512_extracti32x4_epi32::<1>(offsets));
    if bits.count_ones() > 32 {
        store(2, _mm512_extracti32x4_epi32::<2>(offsets));
        store(3, _mm512_extracti32x4_epi32::<3>(offsets));
    }
}

/// Like [`line_ends`], eight lines at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,popcnt")]
#[inline]
fn line_ends_avx512(newlines: u64, ends: u64, origin: LineEnd, out: &mut [LineEnd; 64]) {
    // SAFETY: `IOTA` has 64 bytes, as many as the load reads.
    let mut places = _mm512_maskz_compress_epi8(newlines, unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast()) });
    let origin = _mm512_set1_epi64((u64::from(origin.tokens) << 32 | u64::from(origin.newline)) as i64);
    let ends = _mm512_set1_epi64(ends as i64);
    let (steps, _) = out.as_chunks_mut::<8>();
    for (step, slots) in steps.iter_mut().enumerate() {
        let newline = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(places));
        let behind = _mm512_sllv_epi64(_mm512_set1_epi64(-2), newline);
        let tokens = _mm512_popcnt_epi64(_mm512_andnot_si512(behind, ends));
        let lines = _mm512_add_epi64(origin, _mm512_or_si512(newline, _mm512_slli_epi64::<32>(tokens)));
        // SAFETY: `slots` is a reference to eight `LineEnd`s. `LineEnd` is `repr(C)` with two `u32`s, `newline` first,
        // so that they are 64 bytes without padding, and each lane holds a valid value.
        unsafe { _mm512_storeu_si512(slots.as_mut_ptr().cast(), lines) };
        if newlines.count_ones() as usize <= 8 * (step + 1) {
            break;
        }
        places = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), places);
    }
}

static IOTA: [u8; 64] = {
    let mut table = [0; 64];
    let mut i = 0;
    while i < 64 {
        table[i] = i as u8;
        i += 1;
    }
    table
};

/// Scans with AVX2.
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_avx2(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    // SAFETY: the condition of `scan_avx2_with` is the same.
    unsafe { scan_avx2_with(index, padded, start..end, |block| masks_avx2(block)) }
}

/// Like [`scan_avx2`], for fields.
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_fields_avx2(
    index: &mut Index,
    padded: &[u8],
    start: usize,
    end: usize,
    separator: Separator,
) {
    // SAFETY: the condition of `scan_avx2_with` is the same.
    unsafe {
        match separator {
            Separator::Blanks => {
                scan_avx2_with(index, padded, start..end, |block| BlockMasks { slash: 0, ..masks_avx2(block) })
            }
            Separator::Byte(byte) => scan_avx2_with(index, padded, start..end, |block| {
                let [low, high] = load_avx2(block);
                let equal = |byte: u8| {
                    let byte = _mm256_set1_epi8(byte as i8);
                    movemask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
                };
                let line_feed = equal(b'\n');
                let carriage_return = equal(b'\r');
                BlockMasks { space: line_feed | carriage_return, slash: equal(byte), line_feed, carriage_return }
            }),
        }
    }
}

/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
unsafe fn scan_avx2_with(index: &mut Index, padded: &[u8], range: Range<usize>, masks: impl Fn(&Block) -> BlockMasks) {
    index.scan_blocks(
        padded,
        range,
        ScanKernel {
            masks,
            spread: |bits, base, out: &mut [u32; 64]| spread_avx2(bits, base, out),
            pick: |from, places| _pext_u64(from, places),
            line_ends,
        },
    );
}

/// Loads a block and prefetches a later one.
#[target_feature(enable = "avx2")]
#[inline]
fn load_avx2(block: &Block) -> [__m256i; 2] {
    prefetch(block);
    let start = block.as_ptr().cast::<__m256i>();
    // SAFETY: `block` is a reference to 64 bytes: the two loads read bytes 0 to 31 and 32 to 63, and need no alignment.
    unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] }
}

#[target_feature(enable = "avx2")]
#[inline]
fn masks_avx2(block: &Block) -> BlockMasks {
    let [low, high] = load_avx2(block);
    let equal = |byte: u8| {
        let byte = _mm256_set1_epi8(byte as i8);
        movemask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    };
    let slash = equal(b'/');
    let space = movemask(separators(low), separators(high)) ^ slash;
    BlockMasks { space, slash, line_feed: equal(b'\n'), carriage_return: equal(b'\r') }
}

/// Marks the bytes that are white space or a slash.
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn separators(bytes: __m256i) -> __m256i {
    // SAFETY: `SEPARATORS` has 16 bytes, as many as the load reads.
    let table = unsafe { _mm_loadu_si128(SEPARATORS.as_ptr().cast()) };
    _mm256_cmpeq_epi8(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), bytes), bytes)
}

/// Returns the top bits of the bytes of two vectors.
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn movemask(low: __m256i, high: __m256i) -> u64 {
    let low = _mm256_movemask_epi8(low) as u32;
    let high = _mm256_movemask_epi8(high) as u32;
    u64::from(high) << 32 | u64::from(low)
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
pub(crate) fn spread_avx2(bits: u64, base: u32, out: &mut [u32; 64]) {
    let mut origin = _mm256_set1_epi32(base as i32);
    for (step, byte) in bits.to_le_bytes().into_iter().enumerate() {
        let before = bits & ((1 << (8 * step)) - 1);
        // SAFETY: a row of `PLACES` has 8 bytes, as many as `_mm_loadl_epi64` reads. `before` has only the bits of
        // earlier steps, at most 8 · 7 = 56, so the store of eight elements ends at 64 of 64 at most.
        unsafe {
            let places = _mm_loadl_epi64(PLACES[usize::from(byte)].as_ptr().cast());
            let wide = _mm256_add_epi32(_mm256_cvtepu8_epi32(places), origin);
            _mm256_storeu_si256(out.as_mut_ptr().add(before.count_ones() as usize).cast(), wide);
        }
        origin = _mm256_add_epi32(origin, _mm256_set1_epi32(8));
    }
}
