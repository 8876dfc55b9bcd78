//! A texture: pixels as a graphics card reads them.
//!
//! Plain data: mip levels of blocks or of plain pixels, as DDS and KTX2 hold them. An [`Image`](super::Image) is what
//! people see; how one becomes the other is in `polyhaul-image`.

use super::array::Array;
use super::image::ColorSpace;
use crate::error::{Error, ErrorKind, Result};

/// Pixels as a graphics card reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texture {
    /// Pixels in a row of the largest level.
    pub width: usize,
    /// Rows of the largest level.
    pub height: usize,
    /// Slices of the largest level: 1 but for volumes.
    pub depth: usize,
    /// How many there are in an array: 1 but for arrays.
    pub layers: usize,
    /// 6 for cube maps (+x, -x, +y, -y, +z, -z), otherwise 1.
    pub faces: usize,
    /// What the bytes of a level are.
    pub encoding: Encoding,
    /// What the samples of colours mean.
    pub color_space: ColorSpace,
    /// Whether the colours are multiplied with alpha already.
    pub premultiplied: bool,
    /// The bytes of each mip level, the largest first: for each layer its faces, for each face its slices, and rows
    /// from the top without padding.
    pub levels: Vec<Array<u8>>,
}

/// What the bytes of a texture are.
///
/// BC1 to BC7 are blocks of 4 x 4 pixels, see Microsoft's "Texture Block Compression in Direct3D 11".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Colours, and whether a pixel is there at all: 8 bytes a block.
    Bc1,
    /// Colours, and alpha of 4 bits: 16 bytes a block.
    Bc2,
    /// Colours, and smooth alpha: 16 bytes a block.
    Bc3,
    /// One channel: 8 bytes a block.
    Bc4 {
        /// Whether it goes from -1 to 1.
        signed: bool,
    },
    /// Two channels, for normals: 16 bytes a block.
    Bc5 {
        /// Whether they go from -1 to 1.
        signed: bool,
    },
    /// Colours of any brightness: 16 bytes a block.
    Bc6h {
        /// Whether they may be negative.
        signed: bool,
    },
    /// Colours and alpha, in the best quality: 16 bytes a block.
    Bc7,
    /// Pixels one after another, of 1, 2 or 4 channels.
    Plain {
        /// Samples of a pixel: red; red and green; red, green, blue and alpha.
        channels: u8,
        /// What a sample is.
        texel: Texel,
    },
}

/// A sample of plain pixels, in little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// 0 to 255.
    U8,
    /// 0 to 65,535.
    U16,
    /// Half a float: IEEE binary16.
    F16,
    /// A float.
    F32,
}

impl Encoding {
    /// Bytes of a block of 4 x 4 pixels; of one pixel where it is plain.
    pub const fn bytes(self) -> usize {
        match self {
            Encoding::Bc1 | Encoding::Bc4 { .. } => 8,
            Encoding::Plain { channels, texel } => channels as usize * texel.bytes(),
            _ => 16,
        }
    }

    /// Pixels along the side of a block: 4, or 1 where it is plain.
    pub const fn side(self) -> usize {
        match self {
            Encoding::Plain { .. } => 1,
            _ => 4,
        }
    }

    /// Bytes of an image of this size; `None` where no memory holds so many.
    pub fn image_bytes(self, width: usize, height: usize) -> Option<usize> {
        let [across, down] = [width, height].map(|count| count.div_ceil(self.side()));
        across.checked_mul(down)?.checked_mul(self.bytes())
    }
}

/// Red, green, blue and alpha, 8 bits each.
impl Default for Encoding {
    fn default() -> Self {
        Encoding::Plain { channels: 4, texel: Texel::U8 }
    }
}

impl Texel {
    /// Bytes of a sample.
    pub const fn bytes(self) -> usize {
        match self {
            Texel::U8 => 1,
            Texel::U16 | Texel::F16 => 2,
            Texel::F32 => 4,
        }
    }
}

impl Texture {
    /// Width, height and depth of mip level `number`.
    pub fn level_size(&self, number: usize) -> [usize; 3] {
        let half = |count: usize| count.checked_shr(number as u32).unwrap_or(0).max(1);
        [half(self.width), half(self.height), half(self.depth)]
    }

    /// Bytes of mip level `number`, all its layers, faces and slices; `None` where no memory holds so many.
    pub fn level_bytes(&self, number: usize) -> Option<usize> {
        let [width, height, depth] = self.level_size(number);
        let images = depth.checked_mul(self.layers)?.checked_mul(self.faces)?;
        self.encoding.image_bytes(width, height)?.checked_mul(images)
    }

    /// How many levels there can be: the last one is a single pixel.
    pub fn most_levels(&self) -> usize {
        let longest = self.width.max(self.height).max(self.depth).max(1);
        longest.ilog2() as usize + 1
    }
}

impl Texture {
    /// Fails where the levels do not have the bytes that the size says, or there is no such texture.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`].
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
        let (count, most) = (self.levels.len(), self.most_levels());
        if count == 0 || count > most {
            return refuse(format!(
                "invalid texture: {width} x {height} pixels allow 1 to {most} levels, found {count}"
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
