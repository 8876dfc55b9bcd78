//! Decodes the coefficients of a block from compressed data: sequential (T.81, F.2) and progressive (T.81, G.1).

use super::huffman::{JpegBits, JpegCodes, JpegDamage};

/// The coefficients of 8 x 8 samples, row by row.
pub(super) type Block = [i16; 64];

/// The zigzag order: the position in a block of each coefficient in the file (T.81, figure A.6).
#[rustfmt::skip]
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55,
    62, 63,
];

/// The range of coefficients and bits in a scan (T.81, B.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    /// The first coefficient and the last one, in the order of the file.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The lowest bit of earlier scans, or 0.
    pub(super) high: u32,
    /// The lowest bit of this scan.
    pub(super) low: u32,
}

/// The position of coefficient `index` in the block.
#[inline(always)]
fn place(index: usize) -> Result<usize, JpegDamage> {
    ZIGZAG.get(index).map(|place| usize::from(*place)).ok_or(JpegDamage::Block)
}

/// Reads a block of a sequential scan into zeroed coefficients. Returns the index of the last nonzero one.
#[inline(always)]
pub(super) fn sequential(
    bits: &mut JpegBits<'_>,
    means: &JpegCodes,
    details: &JpegCodes,
    mean: &mut i32,
    block: &mut Block,
) -> Result<usize, JpegDamage> {
    *mean = mean.wrapping_add(bits.difference(means)?);
    block[0] = *mean as i16;
    let mut last = 0;
    let mut index = 1;
    while index < 64 {
        let next = bits.coefficient(details)?;
        if next.value == 0 {
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
    if index > 64 { Err(JpegDamage::Block) } else { Ok(last) }
}

/// Reads the DC coefficient of a progressive block: its upper bits, or one more bit.
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
        None if bits.bit() => block[0] |= 1 << band.low,
        None => {}
    }
    Ok(())
}

/// Reads the upper bits of AC coefficients in a progressive file. `blocks` counts the blocks, including this one,
/// Reads the upper bits of AC coefficients in a progressive file. /// without any.
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

/// Reads one more bit of the AC coefficients in a progressive file.
pub(super) fn progressive_next(
    bits: &mut JpegBits<'_>,
    details: &JpegCodes,
    band: Band,
    blocks: &mut u32,
    block: &mut Block,
) -> Result<(), JpegDamage> {
    let step = 1_i16 << band.low;
    let mut index = band.start;
    while *blocks == 0 && index <= band.end {
        let symbol = bits.next_symbol(details)?;
        let mut zeros = usize::from(symbol >> 4);
        let value = match symbol & 15 {
            0 if zeros < 15 => {
                *blocks = (1 << zeros) + bits.number(zeros as u32);
                break;
            }
            0 => 0,
            1 if bits.bit() => step,
            1 => -step,
            _ => return Err(JpegDamage::Block),
        };
        // The zeros are those coefficients that are 0 so far; the others get their bit on the way.
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

/// Adds the next bit of a nonzero coefficient.
#[inline(always)]
fn refine(bits: &mut JpegBits<'_>, coefficient: &mut i16, step: i16) {
    if bits.bit() && *coefficient & step == 0 {
        *coefficient = coefficient.wrapping_add(if *coefficient < 0 { -step } else { step });
    }
}
