//! Converts planes to pixels with SIMD instructions. The portable loop converts the last pixels of a row.

use polyhaul_text::cpu::Level;
use std::arch::x86_64::{
    __m256i, __m512, __m512i, _CMP_NEQ_UQ, _MM_HINT_ET0, _mm_loadl_epi64, _mm_loadu_si128, _mm_prefetch,
    _mm256_add_epi32, _mm256_andnot_si256, _mm256_blend_ps, _mm256_blendv_epi8, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32, _mm256_mul_ps,
    _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_slli_epi32,
    _mm256_sllv_epi32, _mm256_storeu_ps, _mm256_sub_epi32, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps,
    _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_permutexvar_ps, _mm512_maskz_scalef_ps,
    _mm512_permutex2var_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps, _mm512_sub_ps,
};
use std::mem::MaybeUninit;

/// Prefetch distance for writes, in floats: pages zeroed by the kernel have already left the nearest caches.
const AHEAD: usize = 512;

/// The samples of a pixel.
type Pixel = [MaybeUninit<f32>; 3];

/// Converts all pixels except the last few, or none below AVX2. Returns the number of converted pixels.
pub(super) fn of_planes(level: Level, planes: [&[u8]; 4], to: &mut [Pixel]) -> usize {
    let count = planes.iter().map(|plane| plane.len()).fold(to.len(), usize::min);
    let planes = planes.map(|plane| &plane[..count]);
    let to = &mut to[..count];
    match level.min(Level::best()) {
        Level::Portable | Level::Vector => 0,
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX2; planes and `to` have `count` elements.
        Level::Avx2 => unsafe { of_planes_avx2(planes, to) },
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX-512 F; planes and `to` have `count` elements.
        Level::Avx512 => unsafe { of_planes_avx512(planes, to) },
    }
}

/// Converts 16 pixels per step.
///
/// # Safety
/// The CPU has AVX-512 F, and each plane has at least as many bytes as `to` has pixels.
#[target_feature(enable = "avx512f")]
unsafe fn of_planes_avx512(planes: [&[u8]; 4], to: &mut [Pixel]) -> usize {
    // Source lanes of the 48 samples of a step: one permute selects red and green from two registers (`two`), and a
    // second permute overwrites the lanes in `is_blue`.
    let mut two = [[0_u32; 16]; 3];
    let mut blue = [[0_u32; 16]; 3];
    let mut is_blue = [0_u16; 3];
    for place in 0..48 {
        let pixel = place / 3;
        let channel = place % 3;
        two[place / 16][place % 16] = (pixel + if channel == 1 { 16 } else { 0 }) as u32;
        blue[place / 16][place % 16] = pixel as u32;
        is_blue[place / 16] |= u16::from(channel == 2) << (place % 16);
    }
    // SAFETY: each order is an array of 16 `u32`s, the 64 bytes that the load reads.
    let [two, blue]: [[__m512i; 3]; 2] =
        [two, blue].map(|orders| orders.map(|order| unsafe { _mm512_loadu_si512(order.as_ptr().cast()) }));
    let mut converted = 0;
    while converted + 16 <= to.len() {
        let [red, green, blues, exponent]: [__m512; 4] = planes.map(|plane| {
            // SAFETY: `converted + 16 <= to.len()`, and each plane has that length, so 16 bytes are left at
            // `converted`.
            let bytes = unsafe { _mm_loadu_si128(plane.as_ptr().add(converted).cast()) };
            _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))
        });
        let is_lit = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(exponent, _mm512_setzero_ps());
        // `scalef` multiplies by a power of two even if the power itself is not a normal float, so it needs no table.
        let power = _mm512_sub_ps(exponent, _mm512_set1_ps(136.0));
        let [red, green, blues] = [red, green, blues].map(|mantissa| _mm512_maskz_scalef_ps(is_lit, mantissa, power));
        for part in 0..3 {
            let numbers = _mm512_permutex2var_ps(red, two[part], green);
            let numbers = _mm512_mask_permutexvar_ps(numbers, is_blue[part], blue[part], blues);
            // SAFETY: `converted + 16 <= to.len()`, so 48 floats follow `converted`, 16 of them per part 0 to 2. A
            // prefetch never faults, and `wrapping_add` may leave the slice.
            unsafe {
                let target = to.as_mut_ptr().add(converted).cast::<f32>().add(16 * part);
                _mm_prefetch::<_MM_HINT_ET0>(target.wrapping_add(AHEAD).cast());
                _mm512_storeu_ps(target, numbers);
            }
        }
        converted += 16;
    }
    converted
}

/// Computes the scales of mantissas, as in [`super::row`].
#[target_feature(enable = "avx2")]
fn scales(exponents: __m256i) -> __m256i {
    let number = |number| _mm256_set1_epi32(number);
    // Each of the two formulas is meaningless for the exponents of the other; the blend discards these lanes.
    let whole = _mm256_slli_epi32::<23>(_mm256_sub_epi32(exponents, number(9)));
    let small = _mm256_sllv_epi32(number(1), _mm256_add_epi32(exponents, number(13)));
    let small = _mm256_andnot_si256(_mm256_cmpeq_epi32(exponents, _mm256_setzero_si256()), small);
    _mm256_blendv_epi8(whole, small, _mm256_cmpgt_epi32(number(10), exponents))
}

/// Converts 8 pixels per step.
///
/// # Safety
/// The CPU has AVX2, and each plane has at least as many bytes as `to` has pixels.
#[target_feature(enable = "avx2")]
unsafe fn of_planes_avx2(planes: [&[u8]; 4], to: &mut [Pixel]) -> usize {
    // The pixel of each of the 24 samples of a step.
    let orders = [
        _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2),
        _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5),
        _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7),
    ];
    let mut converted = 0;
    while converted + 8 <= to.len() {
        let [red, green, blue, exponent] = planes.map(|plane| {
            // SAFETY: `converted + 8 <= to.len()`, and each plane has that length, so eight bytes are left at
            // `converted`.
            _mm256_cvtepu8_epi32(unsafe { _mm_loadl_epi64(plane.as_ptr().add(converted).cast()) })
        });
        let scale = _mm256_castsi256_ps(scales(exponent));
        let [red, green, blue] = [red, green, blue].map(|mantissa| {
            let numbers = _mm256_mul_ps(_mm256_cvtepi32_ps(mantissa), scale);
            orders.map(|order| _mm256_permutevar8x32_ps(numbers, order))
        });
        let parts = [
            _mm256_blend_ps::<0x24>(_mm256_blend_ps::<0x92>(red[0], green[0]), blue[0]),
            _mm256_blend_ps::<0x49>(_mm256_blend_ps::<0x24>(red[1], green[1]), blue[1]),
            _mm256_blend_ps::<0x92>(_mm256_blend_ps::<0x49>(red[2], green[2]), blue[2]),
        ];
        for (place, part) in parts.into_iter().enumerate() {
            // SAFETY: `converted + 8 <= to.len()`, so 24 floats follow `converted`, 8 of them per place 0 to 2.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr().add(converted).cast::<f32>().add(8 * place), part) };
        }
        converted += 8;
    }
    converted
}
