//! The pixel formats of texture files, and the conversion of those for which the model has no encoding.

use crate::masks::ChannelMasks;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Encoding, Texel};

/// The layout of pixels in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Texels {
    /// As in the model.
    Same(Encoding),
    /// Red, green and blue of this kind, which get an opaque alpha.
    Three(Texel),
    /// Bits of a number.
    Masked(ChannelMasks),
    /// Indices of palette colors: red, green, blue and alpha.
    Mapped(Box<[[u8; 4]; 256]>),
    /// Channels of one or two bytes that go from -1 to 1, 1, 2 or 4 of them.
    Signed { channels: u8, bytes: u8 },
}

impl Texels {
    /// The encoding after conversion.
    pub(crate) fn encoding(&self) -> Encoding {
        match self {
            Texels::Same(encoding) => *encoding,
            Texels::Three(texel) => Encoding::Plain { channels: 4, texel: *texel },
            Texels::Masked(masks) => masks.encoding(),
            Texels::Mapped(_) => Encoding::default(),
            Texels::Signed { channels, .. } => Encoding::Plain { channels: *channels, texel: Texel::F32 },
        }
    }

    /// Bytes of an image of this size in the file; `None` on overflow.
    pub(crate) fn stored_bytes(&self, width: usize, height: usize) -> Option<usize> {
        let bytes = match self {
            Texels::Same(encoding) => return encoding.image_bytes(width, height),
            Texels::Three(texel) => 3 * texel.bytes(),
            Texels::Masked(masks) => masks.bytes(),
            Texels::Mapped(_) => 1,
            Texels::Signed { channels, bytes } => usize::from(channels * bytes),
        };
        width.checked_mul(height)?.checked_mul(bytes)
    }

    /// Converts whole images of the file to the model's layout.
    pub(crate) fn expand(&self, stored: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Texels::Same(_) => Ok(stored),
            Texels::Masked(masks) => masks.expand(&stored),
            Texels::Mapped(colors) => expanded(&stored, |[number]: [u8; 1]| colors[usize::from(number)]),
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

/// The bytes that each `FROM` bytes become.
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

/// A number divided by the largest one, at least -1: the smallest number would be below.
fn signed(number: f32, largest: f32) -> [u8; 4] {
    (number / largest).max(-1.0).to_le_bytes()
}

/// A full alpha.
fn opaque(texel: Texel) -> &'static [u8] {
    match texel {
        Texel::U8 => &[255],
        Texel::U16 => &[255; 2],
        Texel::F16 => &[0, 0x3C],
        Texel::F32 => &[0, 0, 0x80, 0x3F],
    }
}
