//! Indexing in portable Rust: the reference for the vector kernels.

use super::{Block, BlockMasks, Index, ScanKernel, Separator, is_space, line_ends};

/// Lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// Multiplier that collects the lowest bits of all bytes in the top byte, in order: the bit of the first byte becomes
/// the lowest one.
const GATHER: u64 = 0x0102_0408_1020_4080;

pub(super) fn scan(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    index.scan_blocks(padded, start..end, ScanKernel { masks, spread, pick, line_ends });
}

pub(super) fn scan_fields(index: &mut Index, padded: &[u8], start: usize, end: usize, separator: Separator) {
    let masks = |block: &Block| field_masks(block, separator);
    index.scan_blocks(padded, start..end, ScanKernel { masks, spread, pick, line_ends });
}

/// Classifies fields as the vector kernels do: each separator and the first of successive newlines end a field.
#[inline(always)]
fn field_masks(block: &Block, separator: Separator) -> BlockMasks {
    let BlockMasks { space, line_feed, carriage_return, .. } = masks(block);
    match separator {
        Separator::Blanks => BlockMasks { space, slash: 0, line_feed, carriage_return },
        Separator::Byte(byte) => {
            let (words, _) = block.as_chunks::<8>();
            let slash = words.iter().enumerate().fold(0, |mask, (at, word)| {
                let bits = u64::from_le_bytes(word.map(|character| u8::from(character == byte)));
                mask | bits.wrapping_mul(GATHER) >> 56 << (8 * at)
            });
            BlockMasks { space: line_feed | carriage_return, slash, line_feed, carriage_return }
        }
    }
}

#[inline(always)]
fn masks(block: &Block) -> BlockMasks {
    let classes = classes(block, |byte| {
        u8::from(is_space(byte))
            | u8::from(byte == b'/') << 1
            | u8::from(byte == b'\n') << 2
            | u8::from(byte == b'\r') << 3
    });
    let [space, slash, line_feed, carriage_return] = [0, 1, 2, 3].map(|bit| class(&classes, bit));
    BlockMasks { space, slash, line_feed, carriage_return }
}

/// Returns the classes of each byte, one bit per class. Compilers vectorize the loop to any width, 16 bytes with SSE2
/// and NEON.
#[inline(always)]
pub(crate) fn classes(block: &Block, kind: impl Fn(u8) -> u8) -> Block {
    block.map(kind)
}

/// Returns a bit for each byte, set if the byte is in the class with this bit.
#[inline(always)]
pub(crate) fn class(classes: &Block, bit: u32) -> u64 {
    let (words, _) = classes.as_chunks::<8>();
    words.iter().enumerate().fold(0, |mask, (at, &word)| {
        let bits = u64::from_le_bytes(word) >> bit & ONES;
        mask | bits.wrapping_mul(GATHER) >> 56 << (8 * at)
    })
}

#[inline(always)]
fn spread(mut bits: u64, base: u32, out: &mut [u32; 64]) {
    for slot in out {
        if bits == 0 {
            break;
        }
        *slot = base + bits.trailing_zeros();
        bits &= bits - 1;
    }
}

#[inline(always)]
fn pick(mut bits: u64, mut places: u64) -> u64 {
    let mut picked = 0;
    let mut position = 0;
    bits &= places;
    while bits != 0 {
        let lowest = places & places.wrapping_neg();
        picked |= u64::from(bits & lowest != 0) << position;
        bits &= !lowest;
        places ^= lowest;
        position += 1;
    }
    picked
}
