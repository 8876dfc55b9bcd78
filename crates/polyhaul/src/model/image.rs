//! An image: a rectangle of pixels.
//!
//! Plain data, as it lies in memory: row after row from the top, the samples of a pixel side by side. What files call
//! their pixels is the business of their formats; what is done with images is in [`crate::ops`].

use super::array::Array;

/// A rectangle of pixels.
///
/// ```
/// use polyhaul::model::{Channels, ColorSpace, Image, Samples};
///
/// let image = Image {
///     width: 2,
///     height: 1,
///     channels: Channels::Rgb,
///     samples: Samples::U8([255, 0, 0, 0, 0, 255].into()),
///     color_space: ColorSpace::Srgb,
///     premultiplied: false,
/// };
/// assert_eq!(image.samples.len(), image.sample_count().unwrap());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What a pixel has.
    pub channels: Channels,
    /// The samples, `width * height * channels.count()` of them, from the top left.
    pub samples: Samples,
    /// What the samples of colours mean.
    pub color_space: ColorSpace,
    /// Whether the colours are multiplied with alpha already.
    pub premultiplied: bool,
}

/// What a pixel has, in the order of its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// A brightness.
    Gray,
    /// A brightness and alpha.
    GrayAlpha,
    /// Red, green and blue.
    #[default]
    Rgb,
    /// Red, green, blue and alpha.
    Rgba,
}

/// The samples of an image, in one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// 0 to 255.
    U8(Array<u8>),
    /// 0 to 65,535.
    U16(Array<u16>),
    /// Any brightness; 1 is white.
    F32(Array<f32>),
}

/// What the samples of colours mean. Alpha is linear always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorSpace {
    /// Encoded as sRGB does it: what is not said to be anything else.
    #[default]
    Srgb,
    /// In proportion to the light.
    Linear,
}

impl Image {
    /// How many samples an image of this size has; `None` where no memory holds so many.
    pub fn sample_count(&self) -> Option<usize> {
        self.width.checked_mul(self.height)?.checked_mul(self.channels.count())
    }
}

impl Channels {
    /// Samples per pixel.
    pub const fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::GrayAlpha => 2,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }

    /// Samples of colour per pixel: 1 or 3.
    pub const fn colors(self) -> usize {
        match self {
            Channels::Gray | Channels::GrayAlpha => 1,
            Channels::Rgb | Channels::Rgba => 3,
        }
    }

    /// Whether the last sample of a pixel is alpha.
    pub const fn has_alpha(self) -> bool {
        matches!(self, Channels::GrayAlpha | Channels::Rgba)
    }
}

impl Samples {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Samples::U8(samples) => samples.len(),
            Samples::U16(samples) => samples.len(),
            Samples::F32(samples) => samples.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// None.
impl Default for Samples {
    fn default() -> Self {
        Samples::U8(Array::default())
    }
}
