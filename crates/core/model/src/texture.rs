//! Textures: pixels in GPU formats.
//!
//! Plain data: mip levels of compressed blocks or uncompressed pixels, as stored in DDS and KTX2. For decoded pixels,
//! see [`Image`](super::Image); for conversions between the two, see `polyhaul-image`.

use super::array::Array;
use super::image::ColorSpace;
use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// A texture: pixels in a GPU format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texture {
    /// Width of the largest level in pixels.
    pub width: usize,
    /// Height of the largest level in pixels.
    pub height: usize,
    /// Number of slices in the largest level: 1 except for volumes.
    pub depth: usize,
    /// Number of array layers: 1 for a texture that is not an array.
    pub layers: usize,
    /// 6 for cube maps (+x, -x, +y, -y, +z, -z), otherwise 1.
    pub faces: usize,
    /// The encoding of the pixels.
    pub encoding: Encoding,
    /// The color space of the samples.
    pub color_space: ColorSpace,
    /// Whether the colors are premultiplied by alpha.
    pub premultiplied: bool,
    /// The bytes of each mip level, largest first. Within a level, the order is layers, faces, slices, then rows from
    /// top to bottom, without padding.
    pub levels: Vec<Array<u8>>,
}

/// The pixel encoding of a texture.
///
/// BC1 to BC7 are blocks of 4 x 4 pixels; see Microsoft's "Texture Block Compression in Direct3D 11".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Color with 1-bit alpha: 8 bytes per block.
    Bc1,
    /// Color with 4-bit alpha: 16 bytes per block.
    Bc2,
    /// Color with interpolated alpha: 16 bytes per block.
    Bc3,
    /// One channel: 8 bytes per block.
    Bc4 {
        /// Whether the range is -1 to 1 instead of 0 to 1.
        signed: bool,
    },
    /// Two channels, for normals: 16 bytes per block.
    Bc5 {
        /// Whether the ranges are -1 to 1 instead of 0 to 1.
        signed: bool,
    },
    /// HDR color: 16 bytes per block.
    Bc6h {
        /// Whether values may be negative.
        signed: bool,
    },
    /// High-quality color and alpha: 16 bytes per block.
    Bc7,
    /// Uncompressed pixels with 1, 2 or 4 channels.
    Plain {
        /// Number of samples per pixel: red; red and green; or red, green, blue and alpha.
        channels: u8,
        /// The type of a sample.
        texel: Texel,
    },
}

/// The sample type of uncompressed pixels. Samples are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// 0 to 255.
    U8,
    /// 0 to 65,535.
    U16,
    /// 16-bit float (IEEE binary16).
    F16,
    /// 32-bit float.
    F32,
}

impl Encoding {
    /// Bytes per block of 4 x 4 pixels, or per pixel if uncompressed.
    pub const fn bytes(self) -> usize {
        match self {
            Encoding::Bc1 | Encoding::Bc4 { .. } => 8,
            Encoding::Plain { channels, texel } => channels as usize * texel.bytes(),
            _ => 16,
        }
    }

    /// The side of a block in pixels: 4, or 1 if uncompressed.
    pub const fn side(self) -> usize {
        match self {
            Encoding::Plain { .. } => 1,
            _ => 4,
        }
    }

    /// Returns the size of one image (a face or slice of a level) in bytes, or `None` on overflow.
    pub fn image_bytes(self, width: usize, height: usize) -> Option<usize> {
        let [across, down] = [width, height].map(|count| count.div_ceil(self.side()));
        across.checked_mul(down)?.checked_mul(self.bytes())
    }
}

/// A stable name: `bc7`, `bc5-signed`, `rgba8`, `rg16f`.
impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Encoding::Bc1 => "bc1",
            Encoding::Bc2 => "bc2",
            Encoding::Bc3 => "bc3",
            Encoding::Bc4 { signed: false } => "bc4",
            Encoding::Bc4 { signed: true } => "bc4-signed",
            Encoding::Bc5 { signed: false } => "bc5",
            Encoding::Bc5 { signed: true } => "bc5-signed",
            Encoding::Bc6h { signed: false } => "bc6h",
            Encoding::Bc6h { signed: true } => "bc6h-signed",
            Encoding::Bc7 => "bc7",
            Encoding::Plain { channels, texel } => {
                let channels = "rgba".get(..usize::from(*channels)).unwrap_or("rgba");
                let bits = match texel {
                    Texel::U8 => "8",
                    Texel::U16 => "16",
                    Texel::F16 => "16f",
                    Texel::F32 => "32f",
                };
                return write!(f, "{channels}{bits}");
            }
        };
        f.write_str(name)
    }
}

/// Red, green, blue and alpha, 8 bits each.
impl Default for Encoding {
    fn default() -> Self {
        Encoding::Plain { channels: 4, texel: Texel::U8 }
    }
}

impl Texel {
    /// Bytes per sample.
    pub const fn bytes(self) -> usize {
        match self {
            Texel::U8 => 1,
            Texel::U16 | Texel::F16 => 2,
            Texel::F32 => 4,
        }
    }
}

impl Texture {
    /// Returns the width, height and depth of mip level `number`.
    pub fn level_size(&self, number: usize) -> [usize; 3] {
        let half = |count: usize| count.checked_shr(number as u32).unwrap_or(0).max(1);
        [half(self.width), half(self.height), half(self.depth)]
    }

    /// Returns the size of mip level `number` in bytes, including all layers, faces and slices, or `None` on overflow.
    pub fn level_bytes(&self, number: usize) -> Option<usize> {
        let [width, height, depth] = self.level_size(number);
        let images = depth.checked_mul(self.layers)?.checked_mul(self.faces)?;
        self.encoding.image_bytes(width, height)?.checked_mul(images)
    }

    /// Returns the maximum number of mip levels. The last level is a single pixel.
    pub fn max_levels(&self) -> usize {
        let longest = self.width.max(self.height).max(self.depth).max(1);
        longest.ilog2() as usize + 1
    }
}

impl Texture {
    /// Checks that the texture is valid and that the byte count of each level matches its size.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the texture is invalid.
    pub fn check(&self) -> Result<()> {
        let Texture { width, height, depth, layers, faces, encoding, .. } = *self;
        let refuse = |message: String| Err(Error::new(ErrorKind::Usage, message));
        if let Encoding::Plain { channels, .. } = encoding
            && !matches!(channels, 1 | 2 | 4)
        {
            return refuse(format!("invalid texture: expected 1, 2 or 4 channels, found {channels}"));
        }
        let is_size = [width, height, depth, layers].iter().all(|count| *count > 0 && u32::try_from(*count).is_ok());
        let is_cube = faces == 6 && width == height;
        if !is_size || faces != 1 && !is_cube || depth > 1 && faces * layers > 1 {
            return refuse(format!(
                "invalid texture: {width} x {height} x {depth} pixels, {layers} layers and {faces} faces"
            ));
        }
        let level_count = self.levels.len();
        let max_levels = self.max_levels();
        if level_count == 0 || level_count > max_levels {
            return refuse(format!(
                "invalid texture: {width} x {height} pixels allow 1 to {max_levels} levels, found {level_count}"
            ));
        }
        for (number, level) in self.levels.iter().enumerate() {
            if self.level_bytes(number) != Some(level.len()) {
                let message =
                    format!("invalid texture: level {number} has {} bytes, which does not match its size", level.len());
                return refuse(message);
            }
        }
        Ok(())
    }
}
