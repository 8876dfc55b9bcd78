//! 16-byte vectors with NEON.
//!
//! NEON lacks an equivalent of `movemask`, which collects one bit per byte. For text, each vector is loaded with every
//! fourth byte, so that three shift-and-insert instructions combine the bits of four bytes ([`text_bits`]). For
//! numbers, each in its own vector, the mask is weighted by powers of two, and adjacent bytes are added until eight
//! become one ([`bits`]). Digits become numbers by de-interleaving two vectors (`uzp1`, `uzp2`), which halves the
//! number of vectors with each step.

use super::{Vectors, WEIGHTS};
use std::arch::aarch64::*;
use std::arch::asm;

pub(crate) type ByteVector = uint8x16_t;
pub(crate) type DoublePair = float64x2_t;

/// Wraps instructions that access only registers.
macro_rules! neon {
    ($($body:tt)*) => {
        // SAFETY: every aarch64 CPU has NEON, and the instructions take and return values.
        unsafe { $($body)* }
    };
}

#[inline(always)]
pub(crate) fn constant(bytes: &[u8; 16]) -> ByteVector {
    // SAFETY: `bytes` is a reference to 16 bytes, as many as the load reads.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline(always)]
pub(crate) fn load(block: &[u8; 64]) -> Vectors {
    // SAFETY: `block` is a reference to 64 bytes, as many as the load reads; it needs no alignment.
    let uint8x16x4_t(first, second, third, fourth) = unsafe { vld4q_u8(block.as_ptr()) };
    [first, second, third, fourth]
}

#[inline(always)]
pub(crate) fn text_bits([first, second, third, fourth]: Vectors) -> u64 {
    neon! {
        let pairs = [vsriq_n_u8::<1>(second, first), vsriq_n_u8::<1>(fourth, third)];
        let fours = vsriq_n_u8::<2>(pairs[1], pairs[0]);
        // Each byte holds the bits of four text bytes, twice; two of them make a byte of the result.
        let eights = vreinterpretq_u16_u8(vsriq_n_u8::<4>(fours, fours));
        vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(eights)))
    }
}

/// Adds adjacent bytes. This is not an intrinsic, because compilers see that no two bits collide, and replace the
/// intrinsic with three instructions.
#[inline(always)]
fn sums(a: ByteVector, b: ByteVector) -> ByteVector {
    if cfg!(miri) {
        return neon!(vpaddq_u8(a, b));
    }
    let sums;
    // SAFETY: the instruction is part of NEON, accesses only these registers, and has no other effect.
    unsafe {
        asm!("addp {sums:v}.16b, {a:v}.16b, {b:v}.16b", a = in(vreg) a, b = in(vreg) b, sums = lateout(vreg) sums,
            options(pure, nomem, nostack, preserves_flags));
    }
    sums
}

#[inline(always)]
pub(crate) fn bits([a, b]: [Vectors; 2]) -> [u64; 2] {
    let weights = constant(&WEIGHTS);
    let nibbles = |mask: Vectors| {
        let [first, second, third, fourth] = mask.map(|bytes| neon!(vandq_u8(bytes, weights)));
        sums(sums(first, second), sums(third, fourth))
    };
    let both = sums(nibbles(a), nibbles(b));
    neon! {
        let both = vreinterpretq_u64_u8(both);
        [vgetq_lane_u64::<0>(both), vgetq_lane_u64::<1>(both)]
    }
}

#[inline(always)]
pub(crate) fn spread(bits: u64) -> Vectors {
    let bits = neon!(vreinterpretq_u8_u64(vdupq_n_u64(bits)));
    let weights = constant(&WEIGHTS);
    [0, 1, 2, 3].map(|part| {
        let indices = neon!(vcombine_u8(vdup_n_u8(2 * part), vdup_n_u8(2 * part + 1)));
        common(neon!(vqtbl1q_u8(bits, indices)), weights)
    })
}

/// Marks bytes that share a set bit. As with [`sums`], compilers would expand the intrinsic.
#[inline(always)]
fn common(a: ByteVector, b: ByteVector) -> ByteVector {
    if cfg!(miri) {
        return neon!(vtstq_u8(a, b));
    }
    let common;
    // SAFETY: as in `sums`: the instruction accesses only these registers.
    unsafe {
        asm!("cmtst {common:v}.16b, {a:v}.16b, {b:v}.16b", a = in(vreg) a, b = in(vreg) b,
            common = lateout(vreg) common, options(pure, nomem, nostack, preserves_flags));
    }
    common
}

#[inline(always)]
pub(crate) fn equal(bytes: Vectors, byte: u8) -> Vectors {
    bytes.map(|bytes| neon!(vceqq_u8(bytes, vdupq_n_u8(byte))))
}

#[inline(always)]
pub(crate) fn in_table(table: &[u8; 16], bytes: Vectors) -> Vectors {
    let table = constant(table);
    bytes.map(|bytes| neon!(vceqq_u8(vqtbl1q_u8(table, vandq_u8(bytes, vdupq_n_u8(15))), bytes)))
}

#[inline(always)]
pub(crate) fn either(a: Vectors, b: Vectors) -> Vectors {
    [0, 1, 2, 3].map(|part| neon!(vorrq_u8(a[part], b[part])))
}

#[inline(always)]
pub(crate) fn both(a: Vectors, b: Vectors) -> Vectors {
    [0, 1, 2, 3].map(|part| neon!(vandq_u8(a[part], b[part])))
}

#[inline(always)]
pub(crate) fn moved_down(bytes: Vectors) -> Vectors {
    bytes.map(|bytes| neon!(vextq_u8::<1>(bytes, vdupq_n_u8(0))))
}

#[inline(always)]
pub(crate) fn digits(bytes: Vectors) -> (Vectors, Vectors) {
    let values = bytes.map(|bytes| neon!(vsubq_u8(bytes, vdupq_n_u8(b'0'))));
    (values, values.map(|values| neon!(vcleq_u8(values, vdupq_n_u8(9)))))
}

#[inline(always)]
pub(crate) fn counts(bits: u64) -> u64 {
    neon!(vget_lane_u64::<0>(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(bits)))))
}

#[inline(always)]
pub(crate) fn sum(places: &[u8; 8], base: u32) -> [u32; 8] {
    let mut sums = [0; 8];
    // SAFETY: `places` is a reference to 8 bytes, as many as the load reads, and each store writes half of `sums`.
    unsafe {
        let origin = vdupq_n_u32(base);
        let places = vmovl_u8(vld1_u8(places.as_ptr()));
        vst1q_u32(sums.as_mut_ptr(), vaddw_u16(origin, vget_low_u16(places)));
        vst1q_u32(sums.as_mut_ptr().add(4), vaddw_high_u16(origin, places));
    }
    sums
}

#[inline(always)]
pub(crate) unsafe fn reversed(text: *const u8) -> ByteVector {
    // SAFETY: the load requires the same bytes as this function, and no alignment.
    unsafe { vqtbl1q_u8(vld1q_u8(text), constant(&crate::tables::REVERSE)) }
}

#[inline(always)]
pub(crate) unsafe fn reversed_halves([a, b]: [*const u8; 2]) -> ByteVector {
    // SAFETY: as for `reversed`.
    unsafe { vrev64q_u8(vcombine_u8(vld1_u8(a), vld1_u8(b))) }
}

/// Joins 64 digits into numbers of two digits; of two adjacent digits, the less significant one is first.
#[inline(always)]
fn pairs(digits: Vectors) -> [ByteVector; 2] {
    [[digits[0], digits[1]], [digits[2], digits[3]]]
        .map(|[a, b]| neon!(vmlaq_u8(vuzp1q_u8(a, b), vuzp2q_u8(a, b), vdupq_n_u8(10))))
}

/// Joins 32 numbers of two digits into numbers of four digits.
#[inline(always)]
fn fours([a, b]: [ByteVector; 2]) -> [uint16x8_t; 2] {
    neon! {
        let low = vuzp1q_u8(a, b);
        let high = vuzp2q_u8(a, b);
        [
            vmlal_u8(vmovl_u8(vget_low_u8(low)), vget_low_u8(high), vdup_n_u8(100)),
            vmlal_high_u8(vmovl_high_u8(low), high, vdupq_n_u8(100)),
        ]
    }
}

/// Joins 64 digits into numbers of eight digits.
#[inline(always)]
fn eights(digits: Vectors) -> [uint32x4_t; 2] {
    let [a, b] = fours(pairs(digits));
    neon! {
        let low = vuzp1q_u16(a, b);
        let high = vuzp2q_u16(a, b);
        [
            vmlal_u16(vmovl_u16(vget_low_u16(low)), vget_low_u16(high), vdup_n_u16(10_000)),
            vmlal_high_u16(vmovl_high_u16(low), high, vdupq_n_u16(10_000)),
        ]
    }
}

#[inline(always)]
pub(crate) fn wholes(digits: Vectors) -> [DoublePair; 2] {
    let [a, b] = eights(digits);
    neon! {
        let low = vuzp1q_u32(a, b);
        let high = vuzp2q_u32(a, b);
        let whole = |low, high| vcvtq_f64_u64(vmlal_u32(vmovl_u32(low), high, vdup_n_u32(100_000_000)));
        [whole(vget_low_u32(low), vget_low_u32(high)), whole(vget_high_u32(low), vget_high_u32(high))]
    }
}

#[inline(always)]
pub(crate) fn numbers<const NEGATIVE: bool>(digits: Vectors) -> ([u32; 8], u8) {
    let numbers =
        eights(digits).map(|numbers| if NEGATIVE { neon!(vsubq_u32(vdupq_n_u32(0), numbers)) } else { numbers });
    let mut result = [0; 8];
    // SAFETY: `result` is an array of eight `u32`s; each store writes four of them.
    unsafe {
        vst1q_u32(result.as_mut_ptr(), numbers[0]);
        vst1q_u32(result.as_mut_ptr().add(4), numbers[1]);
    }
    neon! {
        let zeros = numbers.map(|numbers| vmovn_u32(vceqzq_u32(numbers)));
        let zeros = vmovn_u16(vcombine_u16(zeros[0], zeros[1]));
        (result, vaddv_u8(vand_u8(zeros, vcreate_u8(0x8040_2010_0804_0201))))
    }
}

#[inline(always)]
pub(crate) fn doubles([a, b]: [f64; 2]) -> DoublePair {
    neon!(vcombine_f64(vdup_n_f64(a), vdup_n_f64(b)))
}

#[inline(always)]
pub(crate) fn product(a: DoublePair, b: DoublePair) -> DoublePair {
    neon!(vmulq_f64(a, b))
}

#[inline(always)]
pub(crate) fn quotient(a: DoublePair, b: DoublePair) -> DoublePair {
    neon!(vdivq_f64(a, b))
}

#[inline(always)]
pub(crate) fn is_any(values: [DoublePair; 2], add: u64, mask: u64, value: u64) -> bool {
    neon! {
        let is_equal = values.map(|values| {
            let sums = vaddq_u64(vreinterpretq_u64_f64(values), vdupq_n_u64(add));
            vceqq_u64(vandq_u64(sums, vdupq_n_u64(mask)), vdupq_n_u64(value))
        });
        vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(is_equal[0], is_equal[1]))) != 0
    }
}

/// Moves the signs, the top bits of 16-bit lanes, to the top bits of 32-bit lanes.
#[inline(always)]
fn words(signs: u64) -> uint32x4_t {
    neon!(vshll_n_u16::<16>(vcreate_u16(signs)))
}

#[inline(always)]
pub(crate) fn singles(values: [DoublePair; 2], signs: u64) -> [f32; 4] {
    let signs = words(signs);
    let mut result = [0.0; 4];
    // SAFETY: `result` is an array of four f32s, as many as the store writes.
    unsafe {
        let values = vcvt_high_f32_f64(vcvt_f32_f64(values[0]), values[1]);
        vst1q_f32(result.as_mut_ptr(), vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(values), signs)));
    }
    result
}

#[inline(always)]
pub(crate) fn signed(values: [DoublePair; 2], signs: u64) -> [f64; 4] {
    let signs = words(signs);
    let mut result = [0.0; 4];
    // SAFETY: `result` is an array of four f64s; each store writes two of them.
    unsafe {
        let signs = [vshll_n_u32::<32>(vget_low_u32(signs)), vshll_high_n_u32::<32>(signs)];
        for half in 0..2 {
            let values = veorq_u64(vreinterpretq_u64_f64(values[half]), signs[half]);
            vst1q_f64(result.as_mut_ptr().add(2 * half), vreinterpretq_f64_u64(values));
        }
    }
    result
}
