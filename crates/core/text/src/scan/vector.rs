//! The index with vectors of 16 bytes: the same result as `portable`, 64 bytes at a time.

use super::{Block, Index, Kernel, Masks, Separator, line_ends};
use crate::tables::{PLACES, SEPARATORS};
use crate::vector::{counts, either, equal, found, load, sum, text_bits};

/// Scans lines of tokens.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn scan(index: &mut Index, padded: &[u8], range: (usize, usize)) {
    scan_with(index, padded, range, masks);
}

/// Scans lines of fields.
///
/// # Safety
/// As for [`scan`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn scan_fields(index: &mut Index, padded: &[u8], range: (usize, usize), separator: Separator) {
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

#[inline(always)]
fn scan_with(index: &mut Index, padded: &[u8], range: (usize, usize), masks: impl Fn(&Block) -> Masks) {
    let spread = |bits, base, out: &mut [u32; 64]| spread(bits, base, out);
    index.scan_blocks(padded, range, Kernel { masks, spread, pick, line_ends });
}

#[inline(always)]
fn masks(block: &Block) -> Masks {
    let bytes = load(block);
    let slash = text_bits(equal(bytes, b'/'));
    let space = text_bits(found(&SEPARATORS, bytes)) ^ slash;
    let (line_feed, carriage_return) = (text_bits(equal(bytes, b'\n')), text_bits(equal(bytes, b'\r')));
    Masks { space, slash, line_feed, carriage_return }
}

/// Eight places at a time, by a table. Without branches: how many bits a block has cannot be foreseen.
#[inline(always)]
pub(crate) fn spread(bits: u64, base: u32, out: &mut [u32; 64]) {
    // Each byte is the number of bits below its own.
    let before = counts(bits).wrapping_mul(0x0101_0101_0101_0101) << 8;
    let bytes = bits.to_le_bytes().into_iter().zip(before.to_le_bytes());
    for (base, (byte, before)) in (base..).step_by(8).zip(bytes) {
        // SAFETY: `before` counts the bits of seven bytes at most, so it is 56 at most, and eight places end at 64 of
        // 64 at most. A check would cost a branch for each byte.
        let slots = unsafe { &mut *out.as_mut_ptr().add(usize::from(before)).cast::<[u32; 8]>() };
        *slots = sum(&PLACES[usize::from(byte)], base);
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
