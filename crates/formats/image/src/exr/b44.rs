//! Decodes B44 and B44A: blocks of 4 x 4 half floats in 14 bytes, or in 3 bytes if all are equal.
//!
//! The library for the other compression methods is not used for B44: its decoder overflows on damaged blocks and does
//! not support subsampled channels. The format is described in "Technical Introduction to OpenEXR". The output has the
//! layout of an uncompressed block, in native byte order.
//!
//! A block of 14 bytes is 112 bits, most significant first:
//!
//! | bits | |
//! |---|---|
//! | 16 | the first sample |
//! | 6 | left shift of the differences |
//! | 15 times 6 | differences, plus 32, in the order of `ORDER` |
//!
//! A shift of 13 or more marks a block of 3 bytes, in which all samples equal the first.

use super::header::ExrChannel;
use super::unpack::{ExrRows, samples_of};
use crate::samples::half::of_half;
use exr::prelude::f16;
use polyhaul_model::ChannelType;
use polyhaul_model::error::{Error, Result};

/// Pairs of reference and sample. The reference is the sample above or, in the first row, the sample to the left.
/// Differences are stored in this order, and each reference is decoded before it is used.
const ORDER: [(usize, usize); 15] = [
    (0, 4),
    (4, 8),
    (8, 12),
    (0, 1),
    (4, 5),
    (8, 9),
    (12, 13),
    (1, 2),
    (5, 6),
    (9, 10),
    (13, 14),
    (2, 3),
    (6, 7),
    (10, 11),
    (14, 15),
];

/// Minimum third byte of a block of equal samples. The upper six bits are the shift, which is at most 12 in other
/// blocks.
const FLAT: u8 = 13 << 2;

/// Unpacks a block. Returns `None` if its size is wrong.
pub(super) fn unpack(channels: &[ExrChannel], packed: &[u8], rows: &ExrRows) -> Result<Option<Vec<u8>>> {
    let mut planes = Vec::with_capacity(channels.len());
    let mut rest = packed;
    for channel in channels {
        let size = rows.size(channel);
        let plane = match channel.kind {
            ChannelType::F16 => halves(&mut rest, size, channel.is_linear)?,
            _ => plain(&mut rest, size)?,
        };
        let Some(plane) = plane else { return Ok(None) };
        planes.push(plane);
    }
    let mut out = Vec::new();
    out.try_reserve_exact(rows.bytes(channels)).map_err(|_| Error::memory("a block"))?;
    let mut offsets = vec![0; channels.len()];
    for row in rows.rows() {
        for ((channel, plane), offset) in channels.iter().zip(&planes).zip(&mut offsets) {
            if rows.has_row(channel, row) {
                let count = rows.size(channel)[0] * channel.kind.bytes();
                out.extend_from_slice(plane.get(*offset..*offset + count).unwrap_or_default());
                *offset += count;
            }
        }
    }
    Ok(rest.is_empty().then_some(out))
}

/// Copies uncompressed 4-byte samples.
fn plain(rest: &mut &[u8], [width, height]: [usize; 2]) -> Result<Option<Vec<u8>>> {
    let Some((plain, behind)) = rest.split_at_checked(4 * width * height) else { return Ok(None) };
    *rest = behind;
    let mut samples = Vec::new();
    samples.try_reserve_exact(plain.len()).map_err(|_| Error::memory("a block"))?;
    samples.extend(samples_of(plain).flat_map(|bytes: [u8; 4]| u32::from_le_bytes(bytes).to_ne_bytes()));
    Ok(Some(samples))
}

/// Decodes the samples of a half-float channel.
fn halves(rest: &mut &[u8], [width, height]: [usize; 2], is_linear: bool) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    out.try_reserve_exact(2 * width * height).map_err(|_| Error::memory("a block"))?;
    out.resize(2 * width * height, 0);
    for top in (0..height).step_by(4) {
        for left in (0..width).step_by(4) {
            let Some(block) = block(rest) else { return Ok(None) };
            // Blocks at the edges are padded; only the samples inside are kept.
            for (row, samples) in block.as_chunks::<4>().0.iter().enumerate().take(height - top) {
                let start = 2 * ((top + row) * width + left);
                let count = 2 * (width - left).min(4);
                let to = out[start..start + count].as_chunks_mut::<2>().0;
                for (to, sample) in to.iter_mut().zip(samples) {
                    *to = if is_linear { logarithm(*sample) } else { *sample }.to_ne_bytes();
                }
            }
        }
    }
    Ok(Some(out))
}

/// Decodes the 16 samples of the next block.
fn block(rest: &mut &[u8]) -> Option<[u16; 16]> {
    let first = u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
    let mut samples = [first; 16];
    if *rest.get(2)? >= FLAT {
        *rest = &rest[3..];
    } else {
        let (block, behind) = rest.split_first_chunk::<14>()?;
        *rest = behind;
        let bits = block.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let shift = (bits >> 90 & 0x3F) as u32;
        // The shift is less than 13, since the third byte is less than `FLAT`, so shifting 6 bits cannot overflow.
        for (number, (from, to)) in ORDER.into_iter().enumerate() {
            let step = (bits >> (84 - 6 * number) & 0x3F) as u32;
            // Arithmetic is modulo 2^16; 0x20 is the bias of the differences.
            let by = (step << shift).wrapping_sub(0x20 << shift);
            samples[to] = u32::from(samples[from]).wrapping_add(by) as u16;
        }
    }
    // Stored samples sort like numbers: negative samples have all bits inverted, other samples only the sign bit.
    Some(samples.map(|sample| if sample & 0x8000 == 0 { !sample } else { sample & 0x7FFF }))
}

/// Returns the value of a sample of a perceptually linear channel (`pLinear`): 8 times the natural logarithm of the
/// stored value, or 0 if the logarithm is undefined.
fn logarithm(bits: u16) -> u16 {
    let value = of_half(bits);
    if !value.is_finite() || value < 0.0 {
        return 0;
    }
    f16::from_f32(8.0 * f64::from(value).ln() as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_flat_or_differences() {
        let mut flat: &[u8] = &[0xBC, 0x00, 0xFC, 7];
        assert_eq!(block(&mut flat), Some([0x3C00; 16]));
        assert_eq!(flat, [7]);
        // All differences are 0: a bias of 32 and no shift.
        let mut bits = 0xBC00_u128 << 96;
        (0..15).for_each(|number| bits |= 0x20 << (84 - 6 * number));
        let bytes = bits.to_be_bytes();
        assert_eq!(block(&mut &bytes[2..]), Some([0x3C00; 16]));
        // One step up from the first sample to the one below it, which the samples below and next to that one inherit.
        let bytes = (bits + (1 << 84)).to_be_bytes();
        let samples = block(&mut &bytes[2..]).unwrap();
        assert_eq!(samples[..8], [0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C01, 0x3C01, 0x3C01, 0x3C01]);
        assert_eq!(block(&mut &bytes[2..15]), None);
    }

    #[test]
    fn any_bytes_are_samples() {
        for byte in 0..=u8::MAX {
            assert!(block(&mut &[byte; 14][..]).is_some());
        }
    }

    #[test]
    fn logarithms_match_the_reference_implementation() {
        // Values of the lookup table of OpenEXR.
        for (bits, expected) in [(0, 0xFC00), (1, 0xD829), (0x3C00, 0), (0x7C00, 0), (0x8000, 0xFC00), (0xBC00, 0)] {
            assert_eq!(logarithm(bits), expected, "{bits:x}");
        }
    }
}
