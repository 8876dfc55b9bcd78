//! Decodes the coefficients of a block from compressed data: sequential (T.81, F.2) and progressive (T.81, G.1).

use super::huffman::{JpegBits, JpegCodes, JpegDamage};

/// The coefficients of 8 x 8 samples, in row-major order.
pub(super) type Block = [i16; 64];

/// The zigzag order: the block index of each coefficient, in file order (T.81, figure A.6).
#[rustfmt::skip]
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55,
    62, 63,
];

/// The range of coefficients and bits of a scan (T.81, B.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    /// The first and last coefficient, in zigzag order.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The lowest bit of earlier scans (Ah), or 0.
    pub(super) high: u32,
    /// The lowest bit of this scan (Al).
    pub(super) low: u32,
}

/// Converts a zigzag index to an index in the block.
#[inline(always)]
fn place(index: usize) -> Result<usize, JpegDamage> {
    ZIGZAG.get(index).map(|place| usize::from(*place)).ok_or(JpegDamage::Block)
}

/// Decodes a block of a sequential scan into zeroed coefficients. Returns the zigzag index of the last nonzero AC
/// coefficient, or 0 if there is none.
#[inline(always)]
pub(super) fn sequential(
    bits: &mut JpegBits<'_>,
    means: &JpegCodes,
    details: &JpegCodes,
    mean: &mut i32,
    block: &mut Block,
) -> Result<usize, JpegDamage> {
    // Wrapping, because the differences of a damaged file can add up to any value.
    *mean = mean.wrapping_add(bits.difference(means)?);
    block[0] = *mean as i16;
    let mut last = 0;
    let mut index = 1;
    while index < 64 {
        let next = bits.coefficient(details)?;
        if next.value == 0 {
            // A run of 15 without a value is ZRL: 16 zeros. Any other run without a value is EOB.
            if next.zeros != 15 {
                break;
            }
            index += 16;
            continue;
        }
        index += next.zeros;
        block[place(index)?] = next.value as i16;
        last = index;
        index += 1;
    }
    // `place` rejects a coefficient past the end, but 16 zeros without a value only move the index.
    if index > 64 { Err(JpegDamage::Block) } else { Ok(last) }
}

/// Decodes the DC coefficient of a progressive block: its upper bits, or one more bit.
#[inline(always)]
pub(super) fn progressive_mean(
    bits: &mut JpegBits<'_>,
    means: Option<&JpegCodes>,
    band: Band,
    mean: &mut i32,
    block: &mut Block,
) -> Result<(), JpegDamage> {
    match means {
        Some(means) => {
            *mean = mean.wrapping_add(bits.difference(means)?);
            block[0] = mean.wrapping_shl(band.low) as i16;
        }
        // Without a table, the scan refines by one bit.
        None if bits.bit() => block[0] |= 1 << band.low,
        None => {}
    }
    Ok(())
}

/// Decodes the upper bits of the AC coefficients of a progressive block. `blocks` is the number of remaining blocks
/// without such coefficients, including this one.
#[inline(always)]
pub(super) fn progressive_first(
    bits: &mut JpegBits<'_>,
    details: &JpegCodes,
    band: Band,
    blocks: &mut u32,
    block: &mut Block,
) -> Result<(), JpegDamage> {
    if *blocks > 0 {
        *blocks -= 1;
        return Ok(());
    }
    let mut index = band.start;
    while index <= band.end {
        let symbol = bits.next_symbol(details)?;
        let zeros = u32::from(symbol >> 4);
        let size = u32::from(symbol & 15);
        if size == 0 && zeros < 15 {
            // EOBn: this block ends here, and the next `blocks` blocks have no coefficients in this band.
            *blocks = (1 << zeros) - 1 + bits.number(zeros);
            return Ok(());
        }
        index += zeros as usize;
        if size > 0 {
            if index > band.end {
                return Err(JpegDamage::Block);
            }
            block[place(index)?] = bits.value(size).wrapping_shl(band.low) as i16;
        }
        index += 1;
    }
    if index > band.end + 1 { Err(JpegDamage::Block) } else { Ok(()) }
}

/// Decodes one more bit of the AC coefficients of a progressive block.
pub(super) fn progressive_next(
    bits: &mut JpegBits<'_>,
    details: &JpegCodes,
    band: Band,
    blocks: &mut u32,
    block: &mut Block,
) -> Result<(), JpegDamage> {
    // Fits in 16 bits, because scan headers with `low` above 13 are rejected.
    let step = 1_i16 << band.low;
    let mut index = band.start;
    while *blocks == 0 && index <= band.end {
        let symbol = bits.next_symbol(details)?;
        let mut zeros = usize::from(symbol >> 4);
        let value = match symbol & 15 {
            0 if zeros < 15 => {
                // Includes this block, whose nonzero coefficients are still refined below.
                *blocks = (1 << zeros) + bits.number(zeros as u32);
                break;
            }
            0 => 0,
            1 if bits.bit() => step,
            1 => -step,
            _ => return Err(JpegDamage::Block),
        };
        // Only coefficients that are still 0 count as zeros; nonzero coefficients are refined on the way.
        loop {
            let Some(coefficient) = (index <= band.end).then(|| place(index)).transpose()? else {
                return if value == 0 { Ok(()) } else { Err(JpegDamage::Block) };
            };
            index += 1;
            if block[coefficient] != 0 {
                refine(bits, &mut block[coefficient], step);
            } else if zeros == 0 {
                block[coefficient] = value;
                break;
            } else {
                zeros -= 1;
            }
        }
    }
    if *blocks > 0 {
        for index in index..=band.end {
            let coefficient = &mut block[place(index)?];
            if *coefficient != 0 {
                refine(bits, coefficient, step);
            }
        }
        *blocks -= 1;
    }
    Ok(())
}

/// Decodes the next bit of a nonzero coefficient.
#[inline(always)]
fn refine(bits: &mut JpegBits<'_>, coefficient: &mut i16, step: i16) {
    if bits.bit() && *coefficient & step == 0 {
        *coefficient = coefficient.wrapping_add(if *coefficient < 0 { -step } else { step });
    }
}
