//! Pixel formats of texture files, and the conversion of formats without an encoding in the model.

use crate::masks::ChannelMasks;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Encoding, Texel};

/// The layout of pixels in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Texels {
    /// An encoding of the model.
    Same(Encoding),
    /// Red, green and blue of this type; opaque alpha is added.
    Three(Texel),
    /// Channels packed into an integer.
    Masked(ChannelMasks),
    /// Indices of palette colors, as red, green, blue and alpha.
    Mapped(Box<[[u8; 4]; 256]>),
    /// Unsigned floats with 5 exponent bits: red (lowest bits) and green with 6 mantissa bits, blue with 5.
    ThreeFloats,
    /// Mantissas of 9 bits for red (lowest bits), green and blue, then a shared exponent of 5 bits.
    SharedExponent,
    /// 1, 2 or 4 channels of one or two bytes that represent -1 to 1.
    Signed { channels: u8, bytes: u8 },
}

impl Texels {
    /// Returns the encoding after conversion.
    pub(crate) fn encoding(&self) -> Encoding {
        match self {
            Texels::Same(encoding) => *encoding,
            Texels::Three(texel) => Encoding::Plain { channels: 4, texel: *texel },
            Texels::Masked(masks) => masks.encoding(),
            Texels::Mapped(_) => Encoding::default(),
            // Half floats represent all values of these formats exactly.
            Texels::ThreeFloats | Texels::SharedExponent => Encoding::Plain { channels: 4, texel: Texel::F16 },
            Texels::Signed { channels, .. } => Encoding::Plain { channels: *channels, texel: Texel::F32 },
        }
    }

    /// Returns the stored size of an image, or `None` on overflow.
    pub(crate) fn stored_bytes(&self, width: usize, height: usize) -> Option<usize> {
        let bytes = match self {
            Texels::Same(encoding) => return encoding.image_bytes(width, height),
            Texels::Three(texel) => 3 * texel.bytes(),
            Texels::Masked(masks) => masks.bytes(),
            Texels::Mapped(_) => 1,
            Texels::ThreeFloats | Texels::SharedExponent => 4,
            Texels::Signed { channels, bytes } => usize::from(channels * bytes),
        };
        width.checked_mul(height)?.checked_mul(bytes)
    }

    /// Converts whole stored images to [`Texels::encoding`].
    pub(crate) fn expand(&self, stored: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Texels::Same(_) => Ok(stored),
            Texels::Masked(masks) => masks.expand(&stored),
            Texels::Mapped(colors) => expanded(&stored, |[number]: [u8; 1]| colors[usize::from(number)]),
            Texels::ThreeFloats => expanded(&stored, |bytes| {
                let bits = u32::from_le_bytes(bytes);
                // Aligns the exponents with that of a half, whose mantissa has 4 bits more than red and green, and 5
                // more than blue.
                let [red, green, blue] = [bits << 4 & 0x7FF0, bits >> 7 & 0x7FF0, bits >> 17 & 0x7FE0];
                halves([red as u16, green as u16, blue as u16])
            }),
            Texels::SharedExponent => expanded(&stored, |bytes| {
                let bits = u32::from_le_bytes(bytes);
                halves([0, 9, 18].map(|shift| scaled_half(bits >> shift & 511, bits >> 27)))
            }),
            Texels::Signed { bytes: 1, .. } => {
                expanded(&stored, |[byte]: [u8; 1]| signed(byte.cast_signed().into(), 127.0))
            }
            Texels::Signed { .. } => expanded(&stored, |pair| signed(i16::from_le_bytes(pair).into(), 32_767.0)),
            Texels::Three(texel) => {
                let full = opaque(*texel);
                let pixels = stored.chunks_exact(3 * texel.bytes());
                let mut to = Vec::new();
                to.try_reserve_exact(stored.len() / 3 * 4).map_err(|_| Error::memory("pixels"))?;
                for pixel in pixels {
                    to.extend_from_slice(pixel);
                    to.extend_from_slice(full);
                }
                Ok(to)
            }
        }
    }
}

/// Converts each `FROM` bytes to `TO` bytes.
fn expanded<const FROM: usize, const TO: usize>(
    stored: &[u8],
    expand: impl Fn([u8; FROM]) -> [u8; TO],
) -> Result<Vec<u8>> {
    let stored = stored.as_chunks::<FROM>().0;
    let mut to = Vec::new();
    to.try_reserve_exact(stored.len().saturating_mul(TO)).map_err(|_| Error::memory("pixels"))?;
    stored.iter().for_each(|bytes| to.extend_from_slice(&expand(*bytes)));
    Ok(to)
}

/// Returns three half floats with opaque alpha.
fn halves([red, green, blue]: [u16; 3]) -> [u8; 8] {
    let mut bytes = [0, 0, 0, 0, 0, 0, 0, 0x3C];
    for (to, half) in bytes.chunks_exact_mut(2).zip([red, green, blue]) {
        to.copy_from_slice(&half.to_le_bytes());
    }
    bytes
}

/// Returns `number`, which has 9 bits, times 2^(`exponent` - 24), as the bits of a half float.
fn scaled_half(number: u32, exponent: u32) -> u16 {
    // Left shift that moves the leading bit of `number` to bit 10, the implicit bit of a half.
    let Some(shift) = (number.leading_zeros()).checked_sub(21).filter(|_| number > 0) else { return 0 };
    // Below 2^-14, the result is subnormal, without an implicit bit.
    let moved = shift.min(exponent);
    let mantissa = number << moved;
    let biased = if mantissa < 1 << 10 { 0 } else { exponent - moved + 1 };
    (biased << 10 | mantissa & 0x3FF) as u16
}

/// Divides an integer by the largest integer of its type. The smallest integer would be below -1 and is clamped.
fn signed(number: f32, largest: f32) -> [u8; 4] {
    (number / largest).max(-1.0).to_le_bytes()
}

/// Returns the bytes of opaque alpha.
fn opaque(texel: Texel) -> &'static [u8] {
    match texel {
        Texel::U8 => &[255],
        Texel::U16 => &[255; 2],
        Texel::F16 => &[0, 0x3C],
        Texel::F32 => &[0, 0, 0x80, 0x3F],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::half::of_half;

    #[test]
    fn packed_floats_are_exact() {
        for exponent in 0..32 {
            for number in 0..512 {
                let expected = f64::from(number) * f64::from(exponent as f32 - 24.0).exp2();
                assert_eq!(f64::from(of_half(scaled_half(number, exponent))), expected, "{number} {exponent}");
            }
        }
        // 1, 0.5 and 2.
        let bits: u32 = 15 << 6 | 14 << 17 | 16 << 27;
        let halves = Texels::ThreeFloats.expand(bits.to_le_bytes().to_vec()).unwrap();
        assert_eq!(halves, [0, 0x3C, 0, 0x38, 0, 0x40, 0, 0x3C]);
    }
}
