//! What an image is.

use crate::model::{Channels, ColorSpace, Image, Samples};

/// What an image is, its pixels apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSummary {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What a pixel has.
    pub channels: Channels,
    /// Bits of a sample: 8, 16, or 32, which are floats.
    pub bits: u32,
    /// What the samples of colours mean.
    pub color_space: ColorSpace,
    /// Whether the colours are multiplied with alpha already.
    pub premultiplied: bool,
}

impl ImageSummary {
    /// Of this image.
    pub fn of(image: &Image) -> ImageSummary {
        let Image { width, height, channels, color_space, premultiplied, .. } = *image;
        let bits = match image.samples {
            Samples::U8(_) => 8,
            Samples::U16(_) => 16,
            Samples::F32(_) => 32,
        };
        ImageSummary { width, height, channels, bits, color_space, premultiplied }
    }
}
