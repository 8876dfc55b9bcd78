//! Operations on images. The implementations are in `polyhaul-image`.

#[cfg(feature = "textures")]
pub use polyhaul_image::blocks::{self, BlockQuality, compress};
pub use polyhaul_image::mipmaps::{MipmapContent, MipmapEdges, MipmapFilter, MipmapOptions};
pub use polyhaul_image::samples::{Adjusted, Cut};

use crate::options::RunOptions;
use polyhaul_image::{mipmaps, samples};
use polyhaul_model::error::Result;
use polyhaul_model::{Channels, ColorSpace, Image, SampleType};

/// Sample, channel and mip-level conversions for [`Image`].
///
/// ```
/// use polyhaul::model::{Channels, Image, Samples};
/// use polyhaul::ops::{ImageOps, MipmapOptions};
///
/// let samples = Samples::U8([0, 255, 255, 0].into());
/// let image = Image { width: 2, height: 2, channels: Channels::Gray, samples, ..Image::default() };
/// let levels = image.mipmaps(&MipmapOptions::default())?;
/// assert_eq!((levels.len(), levels[0].width), (1, 1));
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub trait ImageOps {
    /// Converts the samples to another type and color space; also counts the samples that were clamped or rounded.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size.
    fn convert_samples(&self, to: SampleType, space: ColorSpace) -> Result<Adjusted> {
        self.convert_samples_with(to, space, &RunOptions::default())
    }

    /// Like [`ImageOps::convert_samples`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`ImageOps::convert_samples`].
    fn convert_samples_with(&self, to: SampleType, space: ColorSpace, run: &RunOptions) -> Result<Adjusted>;

    /// Converts the image to other channels: drops alpha or adds opaque alpha; converts color to grayscale or grayscale
    /// to color.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size.
    fn convert_channels(&self, channels: Channels) -> Result<Image> {
        self.convert_channels_with(channels, &RunOptions::default())
    }

    /// Like [`ImageOps::convert_channels`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`ImageOps::convert_channels`].
    fn convert_channels_with(&self, channels: Channels, run: &RunOptions) -> Result<Image>;

    /// Computes the mip levels below the image. Width and height are half those of the previous level, rounded down,
    /// but at least 1.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size or the options do
    /// not fit the image.
    fn mipmaps(&self, options: &MipmapOptions) -> Result<Vec<Image>> {
        self.mipmaps_with(options, &RunOptions::default())
    }

    /// Like [`ImageOps::mipmaps`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`ImageOps::mipmaps`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn mipmaps_with(&self, options: &MipmapOptions, run: &RunOptions) -> Result<Vec<Image>>;
}

impl ImageOps for Image {
    fn convert_samples_with(&self, to: SampleType, space: ColorSpace, run: &RunOptions) -> Result<Adjusted> {
        samples::convert_samples(self, to, space, run)
    }

    fn convert_channels_with(&self, channels: Channels, run: &RunOptions) -> Result<Image> {
        samples::with_channels(self, channels, run)
    }

    fn mipmaps_with(&self, options: &MipmapOptions, run: &RunOptions) -> Result<Vec<Image>> {
        mipmaps::mipmaps(self, options, run)
    }
}
