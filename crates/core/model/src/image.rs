//! Images: a rectangle of pixels, plus extra named channels.
//!
//! Plain data in memory order: rows from top to bottom with interleaved samples; each extra channel is a separate
//! plane. File layouts are up to the formats; for operations on images, see `polyhaul-image`.

use super::array::Array;
use std::collections::TryReserveError;

/// A rectangle of pixels.
///
/// ```
/// use polyhaul_model::{Channels, Image, Samples};
///
/// let image = Image {
///     width: 2,
///     height: 1,
///     channels: Channels::Rgb,
///     samples: Samples::U8([255, 0, 0, 0, 0, 255].into()),
///     ..Image::default()
/// };
/// assert_eq!(image.samples.len(), image.sample_count().unwrap());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// The channels of a pixel.
    pub channels: Channels,
    /// `width * height * channels.count()` samples, starting at the top left.
    pub samples: Samples,
    /// The color space of the color samples.
    pub color_space: ColorSpace,
    /// Whether the colors are premultiplied by alpha.
    pub premultiplied: bool,
    /// Channels other than color and alpha (depth, IDs, normals, other layers), in file order. If an extra channel has
    /// the same name as a [`ColorChannel`], it contains the exact values of that color, and `samples` contains rounded
    /// values.
    pub extra: Vec<ImageChannel>,
    /// For each sample of a pixel, in order: the name and type of its channel in the file. Empty for formats without
    /// named channels. Used to write EXR.
    pub stored: Vec<ColorChannel>,
    /// Additional attributes of the file. EXR writes them unchanged; HDR writes those that
    /// its header can hold, such as the exposure.
    pub attributes: Vec<ImageAttribute>,
    /// The color description, if the colors are neither sRGB nor linear. PNG and JPEG store it.
    pub profile: ColorProfile,
}

/// A description of an image's colors, for color spaces that [`ColorSpace`] does not cover. Samples are stored as in
/// the file, and operations interpret them according to [`Image::color_space`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorProfile {
    /// An ICC profile.
    pub icc: Option<Vec<u8>>,
    /// Color primaries, transfer function, matrix coefficients and full-range flag, as code points of ITU-T H.273
    /// (`cICP` in PNG).
    pub code_points: Option<[u8; 4]>,
    /// The exponent that converts light to samples, times 100,000 (`gAMA` in PNG).
    pub gamma: Option<u32>,
    /// x and y of white, red, green and blue, times 100,000 (`cHRM` in PNG).
    pub chromaticities: Option<[u32; 8]>,
}

impl ColorProfile {
    /// Returns whether there is no description.
    pub fn is_empty(&self) -> bool {
        *self == ColorProfile::default()
    }

    /// Returns the names of the descriptions that are present, for messages.
    pub fn names(&self) -> Vec<&'static str> {
        let names = [
            (self.icc.is_some(), "an ICC profile (iCCP)"),
            (self.code_points.is_some(), "coding-independent code points (cICP)"),
            (self.gamma.is_some(), "a gamma (gAMA)"),
            (self.chromaticities.is_some(), "chromaticities (cHRM)"),
        ];
        names.into_iter().filter(|(is_present, _)| *is_present).map(|(_, name)| name).collect()
    }
}

/// An extra channel of an image: a named plane of samples.
///
/// ```
/// use polyhaul_model::{ChannelSamples, Image, ImageChannel};
///
/// let depth = ImageChannel { name: "Z".into(), samples: ChannelSamples::F32([0.5, 7.0].into()) };
/// let image = Image { extra: vec![depth], ..Image::default() };
/// assert_eq!(image.extra[0].samples.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageChannel {
    /// The name, with its layer and view: `Z`, `diffuse.R`, `left.diffuse.R`.
    pub name: String,
    /// `width * height` samples, starting at the top left.
    pub samples: ChannelSamples,
}

/// The samples of one channel, in the file's type.
#[derive(Clone, Debug, PartialEq)]
pub enum ChannelSamples {
    /// 0 to 255.
    U8(Array<u8>),
    /// 0 to 65,535.
    U16(Array<u16>),
    /// 32-bit integers, such as IDs.
    U32(Array<u32>),
    /// 16-bit floats (IEEE binary16), as bits.
    F16(Array<u16>),
    /// 32-bit floats.
    F32(Array<f32>),
}

/// The type of a channel's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChannelType {
    /// 0 to 255.
    U8,
    /// 0 to 65,535.
    U16,
    /// 32-bit integers.
    U32,
    /// 16-bit floats.
    #[default]
    F16,
    /// 32-bit floats.
    F32,
}

/// The name and type of one color channel in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorChannel {
    /// The name, with its layer and view: `R`, `diffuse.R`. Empty for a color that the file lacks; its samples are 0.
    pub name: String,
    /// The type.
    pub kind: ChannelType,
}

/// An attribute of an image file: its name, type and raw value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageAttribute {
    /// The name: `owner`, `chromaticities`.
    pub name: String,
    /// The OpenEXR name of the type: `string`, `float`, `box2i`.
    pub kind: String,
    /// The value in OpenEXR's encoding of its type.
    pub value: Vec<u8>,
}

/// The channels of a pixel, in sample order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// Grayscale.
    Gray,
    /// Grayscale and alpha.
    GrayAlpha,
    /// Red, green and blue.
    #[default]
    Rgb,
    /// Red, green, blue and alpha.
    Rgba,
}

/// The samples of an image, all of the same type.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// 0 to 255.
    U8(Array<u8>),
    /// 0 to 65,535.
    U16(Array<u16>),
    /// Floats of any brightness; 1 is white.
    F32(Array<f32>),
}

crate::choices! {
    /// The color space of color samples. Alpha is always linear.
    pub enum ColorSpace = Srgb {
        /// sRGB-encoded. The default for files that do not specify a color space.
        "srgb" => Srgb,
        /// Linear: proportional to light intensity.
        "linear" => Linear,
    }
}

/// A part of a multipart image file (OpenEXR), without pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImagePart {
    /// The name; empty if there is none.
    pub name: String,
    /// The view (`left`, `right`); empty if there is none.
    pub view: String,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Whether the part is a deep image, which is not supported.
    pub is_deep: bool,
    /// Whether this part was read.
    pub is_chosen: bool,
    /// Number of resolution levels: 1 unless the part is a mipmap or a ripmap.
    pub levels: usize,
    /// The names of the channels' layers in alphabetical order; the name is empty for channels without a layer.
    pub layers: Vec<String>,
    /// The channels in alphabetical order.
    pub channels: Vec<PartChannel>,
}

/// A channel of a part, without its samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartChannel {
    /// The name, with its layer and view.
    pub name: String,
    /// The type of its samples.
    pub kind: ChannelType,
    /// Subsampling: the number of pixel columns and of pixel rows per sample.
    pub sampling: [usize; 2],
}

impl Image {
    /// Returns the number of samples in an image of this size, or `None` on overflow.
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

    /// Color samples per pixel: 1 or 3.
    pub const fn colors(self) -> usize {
        match self {
            Channels::Gray | Channels::GrayAlpha => 1,
            Channels::Rgb | Channels::Rgba => 3,
        }
    }

    /// Returns the same channels without alpha.
    pub const fn without_alpha(self) -> Channels {
        if self.colors() == 1 { Channels::Gray } else { Channels::Rgb }
    }

    /// Returns whether the last sample of a pixel is alpha.
    pub const fn has_alpha(self) -> bool {
        matches!(self, Channels::GrayAlpha | Channels::Rgba)
    }
}

impl Samples {
    /// Returns the number of samples of all channels.
    pub fn len(&self) -> usize {
        match self {
            Samples::U8(samples) => samples.len(),
            Samples::U16(samples) => samples.len(),
            Samples::F32(samples) => samples.len(),
        }
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A type of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleType {
    /// 0 to 255.
    U8,
    /// 0 to 65,535.
    U16,
    /// Floats; 1 is white.
    F32,
}

impl SampleType {
    /// Returns the type of `samples`.
    pub fn from_samples(samples: &Samples) -> SampleType {
        match samples {
            Samples::U8(_) => SampleType::U8,
            Samples::U16(_) => SampleType::U16,
            Samples::F32(_) => SampleType::F32,
        }
    }
}

/// No samples.
impl Default for Samples {
    fn default() -> Self {
        Samples::U8(Array::default())
    }
}

impl ChannelSamples {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        match self {
            ChannelSamples::U8(samples) => samples.len(),
            ChannelSamples::U16(samples) | ChannelSamples::F16(samples) => samples.len(),
            ChannelSamples::U32(samples) => samples.len(),
            ChannelSamples::F32(samples) => samples.len(),
        }
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the samples. If they are shared, the copy shares the same memory.
    ///
    /// # Errors
    /// Fails if there is no memory for the copy.
    pub fn try_clone(&self) -> Result<ChannelSamples, TryReserveError> {
        Ok(match self {
            ChannelSamples::U8(samples) => ChannelSamples::U8(samples.try_clone()?),
            ChannelSamples::U16(samples) => ChannelSamples::U16(samples.try_clone()?),
            ChannelSamples::U32(samples) => ChannelSamples::U32(samples.try_clone()?),
            ChannelSamples::F16(samples) => ChannelSamples::F16(samples.try_clone()?),
            ChannelSamples::F32(samples) => ChannelSamples::F32(samples.try_clone()?),
        })
    }

    /// Returns the type of the samples.
    pub const fn kind(&self) -> ChannelType {
        match self {
            ChannelSamples::U8(_) => ChannelType::U8,
            ChannelSamples::U16(_) => ChannelType::U16,
            ChannelSamples::U32(_) => ChannelType::U32,
            ChannelSamples::F16(_) => ChannelType::F16,
            ChannelSamples::F32(_) => ChannelType::F32,
        }
    }
}

/// No samples.
impl Default for ChannelSamples {
    fn default() -> Self {
        ChannelSamples::F32(Array::default())
    }
}

impl ChannelType {
    /// Returns the numpy name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            ChannelType::U8 => "uint8",
            ChannelType::U16 => "uint16",
            ChannelType::U32 => "uint32",
            ChannelType::F16 => "float16",
            ChannelType::F32 => "float32",
        }
    }

    /// Returns the number of bytes per sample.
    pub const fn bytes(self) -> usize {
        match self {
            ChannelType::U8 => 1,
            ChannelType::U16 | ChannelType::F16 => 2,
            ChannelType::U32 | ChannelType::F32 => 4,
        }
    }
}
