//! Indexing with 16-byte vectors, 64 bytes at a time. Results equal those of `portable`.

use super::{Block, BlockMasks, Index, ScanKernel, Separator, line_ends};
use crate::tables::{PLACES, SEPARATORS};
use crate::vector::{counts, either, equal, in_table, load, sum, text_bits};
use std::ops::Range;

/// Scans lines of tokens.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn scan(index: &mut Index, padded: &[u8], range: Range<usize>) {
    scan_with(index, padded, range, masks);
}

/// Scans lines of fields.
///
/// # Safety
/// As for [`scan`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn scan_fields(index: &mut Index, padded: &[u8], range: Range<usize>, separator: Separator) {
    match separator {
        Separator::Blanks => {
            scan_with(index, padded, range, |block| BlockMasks { slash: 0, ..masks(block) });
        }
        Separator::Byte(byte) => {
            scan_with(index, padded, range, |block| {
                let bytes = load(block);
                let feeds = equal(bytes, b'\n');
                let returns = equal(bytes, b'\r');
                let space = text_bits(either(feeds, returns));
                let line_feed = text_bits(feeds);
                let carriage_return = text_bits(returns);
                BlockMasks { space, slash: text_bits(equal(bytes, byte)), line_feed, carriage_return }
            });
        }
    }
}

#[inline(always)]
fn scan_with(index: &mut Index, padded: &[u8], range: Range<usize>, masks: impl Fn(&Block) -> BlockMasks) {
    let spread = |bits, base, out: &mut [u32; 64]| spread(bits, base, out);
    index.scan_blocks(padded, range, ScanKernel { masks, spread, pick, line_ends });
}

#[inline(always)]
fn masks(block: &Block) -> BlockMasks {
    let bytes = load(block);
    let slash = text_bits(equal(bytes, b'/'));
    let space = text_bits(in_table(&SEPARATORS, bytes)) ^ slash;
    let line_feed = text_bits(equal(bytes, b'\n'));
    let carriage_return = text_bits(equal(bytes, b'\r'));
    BlockMasks { space, slash, line_feed, carriage_return }
}

/// Writes the positions of bits, eight bits per table lookup. Branch-free, because the number of bits is unpredictable.
#[inline(always)]
pub(crate) fn spread(bits: u64, base: u32, out: &mut [u32; 64]) {
    // Byte i counts the bits of the bytes below it.
    let before = counts(bits).wrapping_mul(0x0101_0101_0101_0101) << 8;
    let bytes = bits.to_le_bytes().into_iter().zip(before.to_le_bytes());
    for (base, (byte, before)) in (base..).step_by(8).zip(bytes) {
        // SAFETY: `before` counts the bits of at most seven bytes, so it is at most 56, and eight elements end at 64 of
        // 64 or earlier. A bounds check would cost a branch per byte.
        let slots = unsafe { &mut *out.as_mut_ptr().add(usize::from(before)).cast::<[u32; 8]>() };
        *slots = sum(&PLACES[usize::from(byte)], base);
    }
}

/// Extracts `bits` at the set bits of `places`, as PEXT does. The loop is short, because text has few slashes in 64
/// bytes, and the counts for different slashes are independent.
#[inline(always)]
fn pick(bits: u64, places: u64) -> u64 {
    let mut left = bits & places;
    let mut picked = 0;
    while left != 0 {
        let below = (left ^ (left - 1)) >> 1;
        picked |= 1 << (places & below).count_ones();
        left &= left - 1;
    }
    picked
}
