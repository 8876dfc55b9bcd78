//! How images and textures are written, with the defaults.

/// Which image is read of a file that holds many (OpenEXR). By default it is the first one with all its colours, and
/// every other channel of its part is kept beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageReadOptions {
    /// The layer or view whose channels are read: `diffuse` for `diffuse.R`, `diffuse.G` and `diffuse.B`. Where no
    /// channel has such a layer, the part of that name or view.
    pub layer: Option<String>,
    /// The part, by its name, its number (from 0) or its view.
    pub part: Option<String>,
}

/// How an image or a texture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageStyle {
    /// TGA: runs of equal pixels as packets (RLE), which is smaller and slower (default: off).
    pub tga_rle: bool,
    /// PNG: how hard it is packed.
    pub png_level: PngLevel,
    /// JPEG: the quality, 1 (small) to 100 (nearly exact). From 90 on colours are stored at full resolution (4:4:4),
    /// below at half of it each way (4:2:0) (default: 90).
    pub jpeg_quality: u8,
    /// OpenEXR: floats of 32 bits, as they are, and not of 16, to which they are rounded (default: off).
    pub exr_float: bool,
    /// KTX 2: the level of zstd, 1 (fast) to 22 (small), by which each mip level is compressed; `None`: as it is
    /// (default: 3).
    pub ktx2_zstd_level: Option<i32>,
}

impl Default for ImageStyle {
    fn default() -> Self {
        ImageStyle {
            tga_rle: false,
            png_level: PngLevel::default(),
            jpeg_quality: 90,
            exr_float: false,
            ktx2_zstd_level: Some(3),
        }
    }
}

/// How hard a PNG is packed. The pixels are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PngLevel {
    /// Fast, and somewhat larger.
    Fast,
    /// Neither.
    #[default]
    Balanced,
    /// Small, and slow.
    Best,
}
