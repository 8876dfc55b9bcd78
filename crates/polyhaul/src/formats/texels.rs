//! What the pixels of a texture file are, and how those become what the model has that it has no encoding for.

use super::masks::Masks;
use crate::error::{Error, Result};
use crate::model::{Encoding, Texel};

/// Pixels as a file has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Texels {
    /// As the model has them.
    Same(Encoding),
    /// Red, green and blue of this kind, which get a full alpha.
    Three(Texel),
    /// Bits of a number.
    Masked(Masks),
}

impl Texels {
    /// What they become.
    pub(crate) fn encoding(&self) -> Encoding {
        match self {
            Texels::Same(encoding) => *encoding,
            Texels::Three(texel) => Encoding::Plain { channels: 4, texel: *texel },
            Texels::Masked(masks) => masks.encoding(),
        }
    }

    /// Bytes of an image of this size in the file; `None` where no memory holds so many.
    pub(crate) fn stored_bytes(&self, width: usize, height: usize) -> Option<usize> {
        let bytes = match self {
            Texels::Same(encoding) => return encoding.image_bytes(width, height),
            Texels::Three(texel) => 3 * texel.bytes(),
            Texels::Masked(masks) => masks.bytes(),
        };
        width.checked_mul(height)?.checked_mul(bytes)
    }

    /// Whole images of the file as the model has them.
    pub(crate) fn expand(&self, stored: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Texels::Same(_) => Ok(stored),
            Texels::Masked(masks) => masks.expand(&stored),
            Texels::Three(texel) => {
                let (full, pixels) = (opaque(*texel), stored.chunks_exact(3 * texel.bytes()));
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

/// A full alpha.
fn opaque(texel: Texel) -> &'static [u8] {
    match texel {
        Texel::U8 => &[255],
        Texel::U16 => &[255; 2],
        Texel::F16 => &[0, 0x3C],
        Texel::F32 => &[0, 0, 0x80, 0x3F],
    }
}
