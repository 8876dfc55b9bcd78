//! How images are written, with the defaults.

/// How an image is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageStyle {
    /// TGA: runs of equal pixels as packets (RLE), which is smaller and slower (default: off).
    pub tga_rle: bool,
}
