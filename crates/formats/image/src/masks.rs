//! Pixels with channels packed into an integer and located by masks, as in DDS and BMP.
//!
//! Does not read file headers.

use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Encoding, Texel};

/// The masks of red, green, blue and alpha. A mask of 0 means that the channel is not stored: missing colors are 0, and
/// missing alpha is opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelMasks {
    /// Bytes per pixel, 1 to 4, little-endian.
    bytes: usize,
    channels: [ChannelMask; 4],
}

/// A channel: an integer from 0 to `max`, shifted left by `shift` bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChannelMask {
    mask: u32,
    shift: u32,
    max: u32,
    /// The 8-bit value of the channel if the mask is 0.
    missing: u8,
    /// The 8-bit value of each integer, for channels of at most 8 bits.
    table: Option<Box<[u8; 256]>>,
}

impl ChannelMask {
    fn new(mask: u32, missing: u8) -> ChannelMask {
        let shift = if mask == 0 { 0 } else { mask.trailing_zeros() };
        let max = mask >> shift;
        let table = (mask != 0 && max < 256).then(|| {
            let mut table = Box::new([0; 256]);
            for (number, to) in (0..=max).zip(table.iter_mut()) {
                *to = scaled(number, max, 255) as u8;
            }
            table
        });
        ChannelMask { mask, shift, max, missing, table }
    }

    #[inline]
    fn narrow(&self, pixel: u32) -> u8 {
        let number = (pixel & self.mask) >> self.shift;
        match &self.table {
            // `& 255` removes the bounds check.
            Some(table) => table[number as usize & 255],
            None if self.mask == 0 => self.missing,
            None => scaled(number, self.max, 255) as u8,
        }
    }

    fn wide(&self, pixel: u32) -> u16 {
        match self.mask {
            0 => u16::from(self.missing) * 257,
            mask => scaled((pixel & mask) >> self.shift, self.max, 65_535) as u16,
        }
    }
}

/// Scales an integer from the range 0 to `from` to the range 0 to `to`, rounding to nearest.
fn scaled(number: u32, from: u32, to: u32) -> u32 {
    // In 64 bits, because the product of a 32-bit channel and 65,535 does not fit in 32 bits.
    let number = u64::from(number);
    let from = u64::from(from);
    let to = u64::from(to);
    ((number * to + from / 2) / from.max(1)) as u32
}

impl ChannelMasks {
    /// Creates masks of red, green, blue and alpha for pixels of 1 to 4 bytes.
    pub(crate) fn new(bytes: usize, [red, green, blue, alpha]: [u32; 4]) -> ChannelMasks {
        let channels = [
            ChannelMask::new(red, 0),
            ChannelMask::new(green, 0),
            ChannelMask::new(blue, 0),
            ChannelMask::new(alpha, 255),
        ];
        ChannelMasks { bytes: bytes.clamp(1, 4), channels }
    }

    /// Returns the bytes per pixel.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether alpha is stored.
    pub(crate) fn has_alpha(&self) -> bool {
        self.channels[3].mask != 0
    }

    /// Returns the lossless encoding: 16-bit samples if a channel has more than 8 bits, otherwise 8-bit samples.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::Plain { channels: 4, texel: if self.is_wide() { Texel::U16 } else { Texel::U8 } }
    }

    /// Returns the little-endian integer of a pixel.
    #[inline]
    fn pixel(bytes: &[u8]) -> u32 {
        bytes.iter().rev().fold(0, |pixel, byte| pixel << 8 | u32::from(*byte))
    }

    /// Decodes a pixel into 8-bit red, green, blue and alpha.
    #[inline]
    pub(crate) fn narrow(&self, bytes: &[u8]) -> [u8; 4] {
        let pixel = ChannelMasks::pixel(bytes);
        [0, 1, 2, 3].map(|channel: usize| self.channels[channel].narrow(pixel))
    }

    /// Returns whether a channel has more than 8 bits.
    pub(crate) fn is_wide(&self) -> bool {
        self.channels.iter().any(|channel| channel.max > 255)
    }

    /// Decodes a pixel into 16-bit red, green, blue and alpha.
    #[inline]
    pub(crate) fn wide(&self, bytes: &[u8]) -> [u16; 4] {
        let pixel = ChannelMasks::pixel(bytes);
        [0, 1, 2, 3].map(|channel: usize| self.channels[channel].wide(pixel))
    }

    /// Decodes pixels into the encoding of [`ChannelMasks::encoding`].
    pub(crate) fn expand(&self, stored: &[u8]) -> Result<Vec<u8>> {
        let encoding = self.encoding();
        let pixels = stored.chunks_exact(self.bytes);
        let mut to = Vec::new();
        to.try_reserve_exact(pixels.len().saturating_mul(encoding.bytes())).map_err(|_| Error::memory("pixels"))?;
        match encoding {
            Encoding::Plain { texel: Texel::U8, .. } => {
                pixels.for_each(|pixel| to.extend_from_slice(&self.narrow(pixel)));
            }
            _ => pixels.map(ChannelMasks::pixel).for_each(|pixel| {
                self.channels.iter().for_each(|channel| to.extend_from_slice(&channel.wide(pixel).to_le_bytes()));
            }),
        }
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_become_eight_or_sixteen_bits() {
        let five = ChannelMasks::new(2, [0xF800, 0x07E0, 0x001F, 0]);
        assert_eq!(five.expand(&[0xFF, 0xFF, 0x10, 0x80]).unwrap(), [255, 255, 255, 255, 132, 0, 132, 255]);
        let mixed = ChannelMasks::new(4, [0xFF, 0xFF00, 0, 0xFF00_0000]);
        assert_eq!(mixed.narrow(&[1, 2, 3, 4]), [1, 2, 0, 4]);
        let ten = ChannelMasks::new(4, [0x3FF, 0x3FF << 10, 0x3FF << 20, 3 << 30]);
        let wide = ten.expand(&u32::MAX.to_le_bytes()).unwrap();
        assert_eq!((wide, ten.narrow(&u32::MAX.to_le_bytes())), (vec![255; 8], [255; 4]));
        let full = ChannelMasks::new(4, [u32::MAX; 4]);
        assert_eq!(full.expand(&[0, 0, 0, 0x80]).unwrap(), [0, 0x80].repeat(4));
    }
}
