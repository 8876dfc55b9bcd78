//! How images and textures are written, with the defaults.

/// How an image or a texture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageStyle {
    /// TGA: runs of equal pixels as packets (RLE), which is smaller and slower (default: off).
    pub tga_rle: bool,
    /// PNG: how hard it is packed.
    pub png_level: PngLevel,
    /// OpenEXR: floats of 32 bits, as they are, and not of 16, to which they are rounded (default: off).
    pub exr_float: bool,
    /// KTX 2: the level of zstd, 1 (fast) to 22 (small), by which each mip level is compressed; `None`: as it is
    /// (default: 3).
    pub ktx2_zstd_level: Option<i32>,
}

impl Default for ImageStyle {
    fn default() -> Self {
        ImageStyle { tga_rle: false, png_level: PngLevel::default(), exr_float: false, ktx2_zstd_level: Some(3) }
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
