//! Vectors of 16 bytes on aarch64, where every CPU has them (NEON): what the kernels of `scan` and `parse` share.
//!
//! There is no instruction that gathers a bit of each byte, as `movemask` of x86 does. For text, every fourth byte is
//! loaded into the same vector, so that three shifts with insertion put the bits of four bytes together
//! ([`text_bits`]). For numbers, which have a vector each, a mask is weighted by powers of two, and neighbors are added
//! until a byte is left of eight ([`bits`]).

use crate::tables::{SEPARATORS, SPACES};
use std::arch::aarch64::*;
use std::arch::asm;

/// 64 bytes, or a mask for them: all bits of a byte, or none.
pub(crate) type Vectors = [uint8x16_t; 4];

/// A bit for each byte of eight, twice.
const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// A vector of constants.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn constant(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `bytes` is a reference to 16 bytes, as many as the load reads.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// The bytes of a text: the first, the fifth and so on, then those after them.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn load(block: &[u8; 64]) -> Vectors {
    // SAFETY: `block` is a reference to 64 bytes, as many as the load reads; it needs no alignment.
    let uint8x16x4_t(first, second, third, fourth) = unsafe { vld4q_u8(block.as_ptr()) };
    [first, second, third, fourth]
}

/// The bits of a mask for bytes that [`load`] returned.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn text_bits([first, second, third, fourth]: Vectors) -> u64 {
    let pairs = [vsriq_n_u8::<1>(second, first), vsriq_n_u8::<1>(fourth, third)];
    let fours = vsriq_n_u8::<2>(pairs[1], pairs[0]);
    // Each byte is the bits of four bytes of the text, twice; two of them make a byte of the result.
    let eights = vreinterpretq_u16_u8(vsriq_n_u8::<4>(fours, fours));
    vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(eights)))
}

/// The sums of neighbors. As an intrinsic, compilers see that no two bits meet, and make three instructions of it.
#[target_feature(enable = "neon")]
#[inline]
fn sums(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    let sums;
    // SAFETY: the instruction is part of NEON, reads and writes these registers alone, and has no other effect.
    unsafe {
        asm!("addp {sums:v}.16b, {a:v}.16b, {b:v}.16b", a = in(vreg) a, b = in(vreg) b, sums = lateout(vreg) sums,
            options(pure, nomem, nostack, preserves_flags));
    }
    sums
}

/// The bits of two masks of four vectors, one after another.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn bits([a, b]: [Vectors; 2]) -> [u64; 2] {
    let weights = constant(&WEIGHTS);
    let nibbles = |mask: Vectors| {
        let [first, second, third, fourth] = mask.map(|bytes| vandq_u8(bytes, weights));
        sums(sums(first, second), sums(third, fourth))
    };
    let both = vreinterpretq_u64_u8(sums(nibbles(a), nibbles(b)));
    [vgetq_lane_u64::<0>(both), vgetq_lane_u64::<1>(both)]
}

/// The bits of a mask as bytes: the inverse of [`bits`].
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn spread(bits: u64) -> Vectors {
    let (bits, weights) = (vreinterpretq_u8_u64(vdupq_n_u64(bits)), constant(&WEIGHTS));
    [0, 1, 2, 3].map(|part| {
        let own = vcombine_u8(vdup_n_u8(2 * part), vdup_n_u8(2 * part + 1));
        common(vqtbl1q_u8(bits, own), weights)
    })
}

/// Marks the bytes that have a bit in common. As for [`sums`], the intrinsic becomes more instructions than it is.
#[target_feature(enable = "neon")]
#[inline]
fn common(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    let common;
    // SAFETY: as in `sums`: the instruction reads and writes these registers alone.
    unsafe {
        asm!("cmtst {common:v}.16b, {a:v}.16b, {b:v}.16b", a = in(vreg) a, b = in(vreg) b,
            common = lateout(vreg) common, options(pure, nomem, nostack, preserves_flags));
    }
    common
}

/// Marks the bytes that are this one.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn equal(bytes: Vectors, byte: u8) -> Vectors {
    bytes.map(|bytes| vceqq_u8(bytes, vdupq_n_u8(byte)))
}

/// Marks the bytes that are at their place in a table.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn found(table: &[u8; 16], bytes: Vectors) -> Vectors {
    let table = constant(table);
    bytes.map(|bytes| vceqq_u8(vqtbl1q_u8(table, vandq_u8(bytes, vdupq_n_u8(15))), bytes))
}

/// Marks the bytes that are white space or a slash.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn separators(bytes: Vectors) -> Vectors {
    found(&SEPARATORS, bytes)
}

/// Marks the bytes that are white space.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn spaces(bytes: Vectors) -> Vectors {
    found(&SPACES, bytes)
}

/// Two masks as one.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn either(a: Vectors, b: Vectors) -> Vectors {
    [0, 1, 2, 3].map(|part| vorrq_u8(a[part], b[part]))
}
