//! Converts BGR to RGB with SIMD instructions. The portable loop converts the last pixels of a row.

use polyhaul_text::cpu::Level;
use std::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_ET0, _mm_loadu_si128, _mm_prefetch, _mm_storeu_si128, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_set_m128i, _mm256_setr_epi8, _mm256_shuffle_epi8, _mm512_loadu_si512,
    _mm512_permutexvar_epi8, _mm512_storeu_si512,
};
use std::mem::MaybeUninit;

/// Prefetch distance for writes, in bytes: pages zeroed by the kernel have already left the nearest caches.
const AHEAD: usize = 1024;

/// Converts all pixels except the last few, or none below AVX2. Returns the number of converted bytes.
pub(super) fn swap_three(level: Level, from: &[u8], to: &mut [MaybeUninit<u8>]) -> usize {
    let count = from.len().min(to.len());
    let from = &from[..count];
    let to = &mut to[..count];
    match level.min(Level::best()) {
        Level::Portable | Level::Vector => 0,
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX2; both slices have `count` elements.
        Level::Avx2 => unsafe { swap_avx2(from, to) },
        // SAFETY: `Level::best()` bounds the level, and AVX-512 here includes VBMI; both slices have `count` elements.
        Level::Avx512 => unsafe { swap_avx512(from, to) },
    }
}

/// Converts 8 pixels per step.
///
/// # Safety
/// The CPU has AVX2, and `to` is at least as long as `from`.
#[target_feature(enable = "avx2")]
unsafe fn swap_avx2(from: &[u8], to: &mut [MaybeUninit<u8>]) -> usize {
    #[rustfmt::skip]
    let order = _mm256_setr_epi8(
        2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, -1, -1, -1, -1, 2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, -1, -1, -1, -1,
    );
    let mut converted = 0;
    // The last four bytes of each store are overwritten by the next store.
    while converted + 28 <= from.len() {
        // SAFETY: `converted + 28 <= from.len()`, and `to` has that length: loads and stores access 16 bytes at
        // `converted` and at `converted + 12`.
        unsafe {
            let low = from.as_ptr().add(converted);
            let high = from.as_ptr().add(converted + 12);
            let pixels = _mm256_set_m128i(_mm_loadu_si128(high.cast()), _mm_loadu_si128(low.cast()));
            let turned = _mm256_shuffle_epi8(pixels, order);
            let to: *mut __m128i = to.as_mut_ptr().add(converted).cast();
            _mm_storeu_si128(to, _mm256_castsi256_si128(turned));
            _mm_storeu_si128(to.byte_add(12), _mm256_extracti128_si256::<1>(turned));
        }
        converted += 24;
    }
    converted
}

/// Converts 21 pixels per step.
///
/// # Safety
/// The CPU has AVX-512 F and VBMI, and `to` is at least as long as `from`.
#[target_feature(enable = "avx512f,avx512vbmi")]
unsafe fn swap_avx512(from: &[u8], to: &mut [MaybeUninit<u8>]) -> usize {
    let mut order = [63_u8; 64];
    for (place, byte) in order.iter_mut().enumerate().take(63) {
        *byte = (place / 3 * 3 + 2 - place % 3) as u8;
    }
    // SAFETY: `order` is an array of 64 bytes, as many as the load reads.
    let order: __m512i = unsafe { _mm512_loadu_si512(order.as_ptr().cast()) };
    let mut converted = 0;
    // The last byte of each store is overwritten by the next step.
    while converted + 64 <= from.len() {
        // SAFETY: `converted + 64 <= from.len()`, and `to` has that length: load and store access 64 bytes at
        // `converted`. A prefetch never faults, and `wrapping_add` may leave the slice.
        unsafe {
            let turned = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(from.as_ptr().add(converted).cast()));
            let target = to.as_mut_ptr().add(converted);
            _mm_prefetch::<_MM_HINT_ET0>(target.wrapping_add(AHEAD).cast());
            _mm512_storeu_si512(target.cast(), turned);
        }
        converted += 63;
    }
    converted
}
