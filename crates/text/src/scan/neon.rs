//! The index with NEON: the same result as `portable`, 64 bytes at a time.

use super::{Block, Index, Kernel, Masks, Separator, line_ends};
use crate::neon::{either, equal, load, separators, text_bits};
use crate::tables::PLACES;
use std::arch::aarch64::*;

/// Scans lines of tokens.
#[target_feature(enable = "neon")]
pub(super) fn scan(index: &mut Index, padded: &[u8], range: (usize, usize)) {
    scan_with(index, padded, range, |block| masks(block));
}

/// Scans lines of fields.
#[target_feature(enable = "neon")]
pub(super) fn scan_fields(index: &mut Index, padded: &[u8], range: (usize, usize), separator: Separator) {
    match separator {
        Separator::Blanks => {
            scan_with(index, padded, range, |block| Masks { slash: 0, ..masks(block) });
        }
        Separator::Byte(byte) => {
            scan_with(index, padded, range, |block| {
                let bytes = load(block);
                let (feeds, returns) = (equal(bytes, b'\n'), equal(bytes, b'\r'));
                let space = text_bits(either(feeds, returns));
                let (line_feed, carriage_return) = (text_bits(feeds), text_bits(returns));
                Masks { space, slash: text_bits(equal(bytes, byte)), line_feed, carriage_return }
            });
        }
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn scan_with(index: &mut Index, padded: &[u8], range: (usize, usize), masks: impl Fn(&Block) -> Masks) {
    let spread = |bits, base, out: &mut [u32; 64]| spread(bits, base, out);
    index.scan_blocks(padded, range, Kernel { masks, spread, pick, line_ends });
}

#[target_feature(enable = "neon")]
#[inline]
fn masks(block: &Block) -> Masks {
    let bytes = load(block);
    let slash = text_bits(equal(bytes, b'/'));
    let space = text_bits(separators(bytes)) ^ slash;
    let [line_feed, carriage_return] = [b'\n', b'\r'].map(|byte| text_bits(equal(bytes, byte)));
    Masks { space, slash, line_feed, carriage_return }
}

/// Eight places at a time, by a table. Without branches: how many bits a block has cannot be foreseen.
#[target_feature(enable = "neon")]
#[inline]
fn spread(bits: u64, base: u32, out: &mut [u32; 64]) {
    let counts = vget_lane_u64::<0>(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(bits))));
    // Each byte is the number of bits below its own.
    let before = counts.wrapping_mul(0x0101_0101_0101_0101) << 8;
    let mut origin = vdupq_n_u32(base);
    for (byte, before) in bits.to_le_bytes().into_iter().zip(before.to_le_bytes()) {
        // SAFETY: a row of `PLACES` has 8 bytes, as many as `vld1_u8` reads. `before` counts the bits of seven bytes at
        // most, so it is 56 at most, and the stores of eight places end at 64 of 64 at most.
        unsafe {
            let places = vmovl_u8(vld1_u8(PLACES[usize::from(byte)].as_ptr()));
            let slots = out.as_mut_ptr().add(usize::from(before));
            vst1q_u32(slots, vaddw_u16(origin, vget_low_u16(places)));
            vst1q_u32(slots.add(4), vaddw_high_u16(origin, places));
        }
        origin = vaddq_u32(origin, vdupq_n_u32(8));
    }
}

/// Closes up the bits of `from` that are at the bits of `places`. There is no instruction for it; text has few slashes
/// in 64 bytes, and the counts of different ones do not wait for each other.
#[inline(always)]
fn pick(from: u64, places: u64) -> u64 {
    let (mut left, mut picked) = (from & places, 0);
    while left != 0 {
        let below = (left ^ (left - 1)) >> 1;
        picked |= 1 << (places & below).count_ones();
        left &= left - 1;
    }
    picked
}
