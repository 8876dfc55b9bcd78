//! 16-byte vectors with WebAssembly's simd128, which is enabled for a whole module or not at all.
//!
//! One instruction collects a bit per byte. Digits are joined within their lanes, because there is no byte
//! multiplication.

use super::{Vectors, WEIGHTS};
use std::arch::wasm32::*;

pub(crate) type ByteVector = v128;
pub(crate) type DoublePair = v128;

#[inline(always)]
pub(crate) fn constant(bytes: &[u8; 16]) -> ByteVector {
    // SAFETY: `bytes` is a reference to 16 bytes, as many as the load reads.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

#[inline(always)]
pub(crate) fn load(block: &[u8; 64]) -> Vectors {
    let (parts, _) = block.as_chunks::<16>();
    [0, 1, 2, 3].map(|part| constant(&parts[part]))
}

#[inline(always)]
pub(crate) fn text_bits(mask: Vectors) -> u64 {
    let parts = mask.map(|bytes| u64::from(u8x16_bitmask(bytes)));
    parts[0] | parts[1] << 16 | parts[2] << 32 | parts[3] << 48
}

#[inline(always)]
pub(crate) fn bits(masks: [Vectors; 2]) -> [u64; 2] {
    masks.map(text_bits)
}

#[inline(always)]
pub(crate) fn spread(bits: u64) -> Vectors {
    let bits = u64x2_splat(bits);
    let weights = constant(&WEIGHTS);
    [0, 1, 2, 3].map(|part| {
        let indices = u64x2(0x0101_0101_0101_0101 * (2 * part), 0x0101_0101_0101_0101 * (2 * part + 1));
        u8x16_eq(v128_and(u8x16_swizzle(bits, indices), weights), weights)
    })
}

#[inline(always)]
pub(crate) fn equal(bytes: Vectors, byte: u8) -> Vectors {
    bytes.map(|bytes| u8x16_eq(bytes, u8x16_splat(byte)))
}

#[inline(always)]
pub(crate) fn in_table(table: &[u8; 16], bytes: Vectors) -> Vectors {
    let table = constant(table);
    bytes.map(|bytes| u8x16_eq(u8x16_swizzle(table, v128_and(bytes, u8x16_splat(15))), bytes))
}

#[inline(always)]
pub(crate) fn either(a: Vectors, b: Vectors) -> Vectors {
    [0, 1, 2, 3].map(|part| v128_or(a[part], b[part]))
}

#[inline(always)]
pub(crate) fn both(a: Vectors, b: Vectors) -> Vectors {
    [0, 1, 2, 3].map(|part| v128_and(a[part], b[part]))
}

#[inline(always)]
pub(crate) fn moved_down(bytes: Vectors) -> Vectors {
    bytes.map(|bytes| i8x16_shuffle::<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>(bytes, u8x16_splat(0)))
}

#[inline(always)]
pub(crate) fn digits(bytes: Vectors) -> (Vectors, Vectors) {
    let values = bytes.map(|bytes| u8x16_sub(bytes, u8x16_splat(b'0')));
    (values, values.map(|values| u8x16_le(values, u8x16_splat(9))))
}

#[inline(always)]
pub(crate) fn counts(bits: u64) -> u64 {
    u64x2_extract_lane::<0>(u8x16_popcnt(u64x2_splat(bits)))
}

#[inline(always)]
pub(crate) fn sum(places: &[u8; 8], base: u32) -> [u32; 8] {
    let mut sums = [0u32; 8];
    // SAFETY: `places` is a reference to 8 bytes, as many as the load reads, and each store writes half of `sums`.
    unsafe {
        let origin = u32x4_splat(base);
        let places = u16x8_load_extend_u8x8(places.as_ptr());
        let out: *mut v128 = sums.as_mut_ptr().cast();
        v128_store(out, u32x4_add(origin, u32x4_extend_low_u16x8(places)));
        v128_store(out.add(1), u32x4_add(origin, u32x4_extend_high_u16x8(places)));
    }
    sums
}

#[inline(always)]
pub(crate) unsafe fn reversed(text: *const u8) -> ByteVector {
    // SAFETY: the load requires the same bytes as this function, and no alignment.
    unsafe {
        let bytes = v128_load(text.cast());
        i8x16_shuffle::<15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>(bytes, bytes)
    }
}

#[inline(always)]
pub(crate) unsafe fn reversed_halves([a, b]: [*const u8; 2]) -> ByteVector {
    // SAFETY: as for `reversed`.
    unsafe {
        let bytes = v128_load64_lane::<1>(v128_load64_zero(a.cast()), b.cast());
        i8x16_shuffle::<7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8>(bytes, bytes)
    }
}

/// Joins 64 digits into numbers of eight digits; of two adjacent digits, the less significant one is first.
#[inline(always)]
fn eights(digits: Vectors) -> [v128; 2] {
    // Joins adjacent bytes: the lower one plus the upper one times a factor.
    let joined = |bytes, factor| {
        i16x8_add(v128_and(bytes, u16x8_splat(0xFF)), i16x8_mul(u16x8_shr(bytes, 8), u16x8_splat(factor)))
    };
    let pairs = digits.map(|digits| joined(digits, 10));
    [[pairs[0], pairs[1]], [pairs[2], pairs[3]]].map(|[a, b]| {
        let fours = joined(u8x16_narrow_i16x8(a, b), 100);
        i32x4_dot_i16x8(fours, u32x4_splat(10_000 << 16 | 1))
    })
}

#[inline(always)]
pub(crate) fn wholes(digits: Vectors) -> [DoublePair; 2] {
    eights(digits).map(|numbers| {
        let low = f64x2_convert_low_u32x4(i32x4_shuffle::<0, 2, 0, 2>(numbers, numbers));
        let high = f64x2_convert_low_u32x4(i32x4_shuffle::<1, 3, 1, 3>(numbers, numbers));
        // Both are below 10^8, and there are at most 14 digits: this is exact.
        f64x2_add(low, f64x2_mul(high, f64x2_splat(1e8)))
    })
}

#[inline(always)]
pub(crate) fn numbers<const NEGATIVE: bool>(digits: Vectors) -> ([u32; 8], u8) {
    let numbers = eights(digits).map(|numbers| if NEGATIVE { i32x4_neg(numbers) } else { numbers });
    let mut result = [0u32; 8];
    // SAFETY: `result` is an array of eight `u32`s; each store writes four of them.
    unsafe {
        let out: *mut v128 = result.as_mut_ptr().cast();
        v128_store(out, numbers[0]);
        v128_store(out.add(1), numbers[1]);
    }
    let zeros = numbers.map(|numbers| i32x4_bitmask(i32x4_eq(numbers, u32x4_splat(0))));
    (result, zeros[0] | zeros[1] << 4)
}

#[inline(always)]
pub(crate) fn doubles([a, b]: [f64; 2]) -> DoublePair {
    f64x2(a, b)
}

#[inline(always)]
pub(crate) fn product(a: DoublePair, b: DoublePair) -> DoublePair {
    f64x2_mul(a, b)
}

#[inline(always)]
pub(crate) fn quotient(a: DoublePair, b: DoublePair) -> DoublePair {
    f64x2_div(a, b)
}

#[inline(always)]
pub(crate) fn is_any(values: [DoublePair; 2], add: u64, mask: u64, value: u64) -> bool {
    let is_equal = values.map(|values| {
        let sums = u64x2_add(values, u64x2_splat(add));
        i64x2_eq(v128_and(sums, u64x2_splat(mask)), u64x2_splat(value))
    });
    v128_any_true(v128_or(is_equal[0], is_equal[1]))
}

/// Moves the signs, the top bits of 16-bit lanes, to the top bits of 32-bit lanes.
#[inline(always)]
fn words(signs: u64) -> v128 {
    i32x4_shl(u32x4_extend_low_u16x8(u64x2_splat(signs)), 16)
}

#[inline(always)]
pub(crate) fn singles(values: [DoublePair; 2], signs: u64) -> [f32; 4] {
    let mut result = [0f32; 4];
    // SAFETY: `result` is an array of four f32s, as many as the store writes.
    unsafe {
        let [a, b] = values.map(|values| f32x4_demote_f64x2_zero(values));
        let values = i32x4_shuffle::<0, 1, 4, 5>(a, b);
        v128_store(result.as_mut_ptr().cast(), v128_xor(values, words(signs)));
    }
    result
}

#[inline(always)]
pub(crate) fn signed(values: [DoublePair; 2], signs: u64) -> [f64; 4] {
    let signs = words(signs);
    let mut result = [0f64; 4];
    // SAFETY: `result` is an array of four f64s; each store writes two of them.
    unsafe {
        let halves = [u64x2_extend_low_u32x4(signs), u64x2_extend_high_u32x4(signs)].map(|half| i64x2_shl(half, 32));
        let out: *mut v128 = result.as_mut_ptr().cast();
        for half in 0..2 {
            v128_store(out.add(half), v128_xor(values[half], halves[half]));
        }
    }
    result
}
