//! How images and textures are written, with the defaults.

/// How an image or a texture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageStyle {
    /// TGA: runs of equal pixels as packets (RLE), which is smaller and slower (default: off).
    pub tga_rle: bool,
    /// KTX 2: the level of zstd, 1 (fast) to 22 (small), by which each mip level is compressed; `None`: as it is
    /// (default: 3).
    pub ktx2_zstd_level: Option<i32>,
}

impl Default for ImageStyle {
    fn default() -> Self {
        ImageStyle { tga_rle: false, ktx2_zstd_level: Some(3) }
    }
}
