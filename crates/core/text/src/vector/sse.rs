//! 16-byte vectors with SSSE3, SSE4.1 and POPCNT, for x86-64 without AVX2 (which has separate kernels).
//!
//! Every function is inlined into its kernel, because compilers emit these instructions only in functions with the
//! target features. `movemask` collects one bit per byte; multiply-add instructions join adjacent digits.

use super::{Vectors, WEIGHTS};
use std::arch::x86_64::*;

pub(crate) type ByteVector = __m128i;
pub(crate) type DoublePair = __m128d;

/// Wraps instructions that access only registers.
macro_rules! sse {
    ($($body:tt)*) => {
        // SAFETY: the instructions take and return values. Only kernels of `Level::Vector` use this module, and
        // those are called on CPUs that have its instructions.
        unsafe { $($body)* }
    };
}

#[inline(always)]
pub(crate) fn constant(bytes: &[u8; 16]) -> ByteVector {
    // SAFETY: `bytes` is a reference to 16 bytes, as many as the load reads.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline(always)]
pub(crate) fn load(block: &[u8; 64]) -> Vectors {
    let (parts, _) = block.as_chunks::<16>();
    four!(part => constant(&parts[part]))
}

#[inline(always)]
pub(crate) fn text_bits(mask: Vectors) -> u64 {
    let parts = four!(part => u64::from(sse!(_mm_movemask_epi8(mask[part])) as u32));
    parts[0] | parts[1] << 16 | parts[2] << 32 | parts[3] << 48
}

#[inline(always)]
pub(crate) fn bits([a, b]: [Vectors; 2]) -> [u64; 2] {
    [text_bits(a), text_bits(b)]
}

#[inline(always)]
pub(crate) fn spread(bits: u64) -> Vectors {
    const ONES: i64 = 0x0101_0101_0101_0101;
    let bits = sse!(_mm_set1_epi64x(bits as i64));
    let weights = constant(&WEIGHTS);
    four!(part => sse! {
        let indices = _mm_set_epi64x(ONES * (2 * part + 1), ONES * (2 * part));
        _mm_cmpeq_epi8(_mm_and_si128(_mm_shuffle_epi8(bits, indices), weights), weights)
    })
}

#[inline(always)]
pub(crate) fn equal(bytes: Vectors, byte: u8) -> Vectors {
    four!(part => sse!(_mm_cmpeq_epi8(bytes[part], _mm_set1_epi8(byte as i8))))
}

#[inline(always)]
pub(crate) fn in_table(table: &[u8; 16], bytes: Vectors) -> Vectors {
    let table = constant(table);
    // Bytes other than ASCII look up a zero.
    four!(part => sse!(_mm_cmpeq_epi8(_mm_shuffle_epi8(table, bytes[part]), bytes[part])))
}

#[inline(always)]
pub(crate) fn either(a: Vectors, b: Vectors) -> Vectors {
    four!(part => sse!(_mm_or_si128(a[part], b[part])))
}

#[inline(always)]
pub(crate) fn both(a: Vectors, b: Vectors) -> Vectors {
    four!(part => sse!(_mm_and_si128(a[part], b[part])))
}

#[inline(always)]
pub(crate) fn moved_down(bytes: Vectors) -> Vectors {
    four!(part => sse!(_mm_bsrli_si128::<1>(bytes[part])))
}

#[inline(always)]
pub(crate) fn digits(bytes: Vectors) -> (Vectors, Vectors) {
    let values = four!(part => sse!(_mm_sub_epi8(bytes[part], _mm_set1_epi8(b'0' as i8))));
    (values, four!(part => sse!(_mm_cmpeq_epi8(_mm_min_epu8(values[part], _mm_set1_epi8(9)), values[part]))))
}

#[inline(always)]
pub(crate) fn counts(bits: u64) -> u64 {
    // Sums of adjacent bits, pairs, fours.
    let pairs = bits - (bits >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F
}

#[inline(always)]
pub(crate) fn sum(places: &[u8; 8], base: u32) -> [u32; 8] {
    let mut sums = [0u32; 8];
    // SAFETY: `places` is a reference to 8 bytes, as many as the load reads, and each store writes half of `sums`. The
    // instructions are available as in `sse!`.
    unsafe {
        let origin = _mm_set1_epi32(base as i32);
        let places = _mm_loadl_epi64(places.as_ptr().cast());
        let out: *mut __m128i = sums.as_mut_ptr().cast();
        _mm_storeu_si128(out, _mm_add_epi32(origin, _mm_cvtepu8_epi32(places)));
        _mm_storeu_si128(out.add(1), _mm_add_epi32(origin, _mm_cvtepu8_epi32(_mm_bsrli_si128::<4>(places))));
    }
    sums
}

#[inline(always)]
pub(crate) unsafe fn reversed(text: *const u8) -> ByteVector {
    // SAFETY: the load requires the same bytes as this function, and no alignment.
    unsafe { _mm_shuffle_epi8(_mm_loadu_si128(text.cast()), constant(&crate::tables::REVERSE)) }
}

#[inline(always)]
pub(crate) unsafe fn reversed_halves([a, b]: [*const u8; 2]) -> ByteVector {
    // SAFETY: as for `reversed`.
    unsafe {
        // Swapping the halves and reversing all bytes reverses each half.
        let bytes = _mm_unpacklo_epi64(_mm_loadl_epi64(b.cast()), _mm_loadl_epi64(a.cast()));
        _mm_shuffle_epi8(bytes, constant(&crate::tables::REVERSE))
    }
}

/// Joins 64 digits into numbers of eight digits; of two adjacent digits, the less significant one is first.
#[inline(always)]
fn eights(digits: Vectors) -> [ByteVector; 2] {
    sse! {
        let tens = _mm_set1_epi16(0x0A01);
        let hundreds = _mm_set1_epi32(0x0064_0001);
        let fours = four!(part => _mm_madd_epi16(_mm_maddubs_epi16(digits[part], tens), hundreds));
        let packed = [_mm_packus_epi32(fours[0], fours[1]), _mm_packus_epi32(fours[2], fours[3])];
        let ten_thousands = _mm_set1_epi32(0x2710_0001);
        [_mm_madd_epi16(packed[0], ten_thousands), _mm_madd_epi16(packed[1], ten_thousands)]
    }
}

#[inline(always)]
pub(crate) fn wholes(digits: Vectors) -> [DoublePair; 2] {
    let [a, b] = eights(digits);
    [whole(a), whole(b)]
}

/// Joins the two parts of each of two numbers, the lower part first.
#[inline(always)]
fn whole(eights: ByteVector) -> DoublePair {
    sse! {
        // As part of a 64-bit word, the upper part weighs 2^32 instead of 10^8.
        let excess = _mm_mul_epu32(_mm_srli_epi64::<32>(eights), _mm_set1_epi64x((1 << 32) - 100_000_000));
        let whole = _mm_sub_epi64(eights, excess);
        // For integers below 2^52, OR-ing the bits of 2^52 adds it.
        let magic = _mm_set1_pd((1u64 << 52) as f64);
        _mm_sub_pd(_mm_castsi128_pd(_mm_or_si128(whole, _mm_castpd_si128(magic))), magic)
    }
}

#[inline(always)]
pub(crate) fn numbers<const NEGATIVE: bool>(digits: Vectors) -> ([u32; 8], u8) {
    let eights = eights(digits);
    let mut result = [0u32; 8];
    // SAFETY: `result` is an array of eight `u32`s; each store writes four of them. The instructions are available as
    // in `sse!`.
    let zeros = unsafe {
        let zero = _mm_setzero_si128();
        let [a, b] = if NEGATIVE { [_mm_sub_epi32(zero, eights[0]), _mm_sub_epi32(zero, eights[1])] } else { eights };
        let out: *mut __m128i = result.as_mut_ptr().cast();
        _mm_storeu_si128(out, a);
        _mm_storeu_si128(out.add(1), b);
        let words = _mm_packs_epi32(_mm_cmpeq_epi32(a, zero), _mm_cmpeq_epi32(b, zero));
        _mm_movemask_epi8(_mm_packs_epi16(words, words))
    };
    (result, zeros as u8)
}

#[inline(always)]
pub(crate) fn doubles([a, b]: [f64; 2]) -> DoublePair {
    sse!(_mm_set_pd(b, a))
}

#[inline(always)]
pub(crate) fn product(a: DoublePair, b: DoublePair) -> DoublePair {
    sse!(_mm_mul_pd(a, b))
}

#[inline(always)]
pub(crate) fn quotient(a: DoublePair, b: DoublePair) -> DoublePair {
    sse!(_mm_div_pd(a, b))
}

#[inline(always)]
pub(crate) fn is_any(values: [DoublePair; 2], add: u64, mask: u64, value: u64) -> bool {
    let [a, b] = values;
    sse! {
        let add = _mm_set1_epi64x(add as i64);
        let mask = _mm_set1_epi64x(mask as i64);
        let value = _mm_set1_epi64x(value as i64);
        let a = _mm_and_si128(_mm_add_epi64(_mm_castpd_si128(a), add), mask);
        let b = _mm_and_si128(_mm_add_epi64(_mm_castpd_si128(b), add), mask);
        _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi64(a, value), _mm_cmpeq_epi64(b, value))) != 0
    }
}

/// Moves the signs, the top bits of 16-bit lanes, to the top bits of 32-bit lanes.
#[inline(always)]
fn words(signs: u64) -> ByteVector {
    sse!(_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_cvtsi64_si128(signs as i64)))
}

#[inline(always)]
pub(crate) fn singles(values: [DoublePair; 2], signs: u64) -> [f32; 4] {
    let mut result = [0.0; 4];
    // SAFETY: `result` is an array of four f32s, as many as the store writes.
    unsafe {
        let values = _mm_movelh_ps(_mm_cvtpd_ps(values[0]), _mm_cvtpd_ps(values[1]));
        _mm_storeu_ps(result.as_mut_ptr(), _mm_xor_ps(values, _mm_castsi128_ps(words(signs))));
    }
    result
}

#[inline(always)]
pub(crate) fn signed(values: [DoublePair; 2], signs: u64) -> [f64; 4] {
    let mut result = [0.0; 4];
    // SAFETY: `result` is an array of four f64s; each store writes two of them.
    unsafe {
        let zero = _mm_setzero_si128();
        let signs = words(signs);
        let halves = [_mm_unpacklo_epi32(zero, signs), _mm_unpackhi_epi32(zero, signs)];
        for half in 0..2 {
            let values = _mm_xor_pd(values[half], _mm_castsi128_pd(halves[half]));
            _mm_storeu_pd(result.as_mut_ptr().add(2 * half), values);
        }
    }
    result
}
