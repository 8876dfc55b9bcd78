//! Reads and writes images, for their rows in the registry.
//!
//! `polyhaul-image` decodes and encodes the pixels of each format; `images` has the operations common to all images.

use crate::read_job::ReadJob;
#[cfg(feature = "exr")]
use polyhaul_image::exr;
#[cfg(feature = "png")]
use polyhaul_image::png;
use polyhaul_image::samples::Cut;
use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::names;
use polyhaul_model::options::ImageReadOptions;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Channels, ColorProfile, ColorSpace, Image, ImageAttribute, SampleType};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;

/// Reads an image or a texture with `read`, which also returns the number of threads used.
pub(crate) fn read<T>(
    job: &mut ReadJob<'_>,
    read: impl FnOnce(Bytes<'_>, &ParseOptions, &mut Warnings) -> Result<(T, usize)>,
) -> Result<T> {
    let mut warnings = Warnings::default();
    let (content, threads) = read(job.bytes(), &job.parse_options(), &mut warnings)?;
    job.note(threads, warnings);
    Ok(content)
}

/// Reads an image with `decode`, which applies the orientation in the file if requested.
pub(crate) fn read_turned(
    job: &mut ReadJob<'_>,
    decode: impl FnOnce(Bytes<'_>, &ParseOptions, bool, &mut Warnings) -> Result<Image>,
) -> Result<Image> {
    let ImageReadOptions { orient, .. } = job.options.image;
    read(job, |bytes, options, warnings| Ok((decode(bytes, options, orient, warnings)?, 1)))
}

/// Reads the selected layer of an OpenEXR file, and lists its parts.
#[cfg(feature = "exr")]
pub(crate) fn read_layer(job: &mut ReadJob<'_>) -> Result<Image> {
    let image_options = job.options.image.clone();
    let mut parts = Vec::new();
    let image = read(job, |bytes, options, warnings| {
        let read = exr::read(bytes, &options.clone().with(image_options), warnings)?;
        parts = read.parts;
        Ok((read.image, read.threads))
    })?;
    job.details.parts = parts;
    Ok(image)
}

/// The form in which a format stores an image.
pub(crate) struct Held {
    pub(crate) kind: SampleType,
    pub(crate) space: ColorSpace,
    pub(crate) channels: Channels,
}

impl Held {
    /// 8-bit sRGB.
    pub(crate) fn bytes(channels: Channels) -> Held {
        Held { kind: SampleType::U8, space: ColorSpace::Srgb, channels }
    }

    /// Linear floats.
    pub(crate) fn light(channels: Channels) -> Held {
        Held { kind: SampleType::F32, space: ColorSpace::Linear, channels }
    }

    /// Integers unchanged, and floats as 16-bit sRGB: 8 bits are too few for linear light.
    pub(crate) fn integers(image: &Image) -> Held {
        let Image { channels, color_space: space, .. } = *image;
        match SampleType::from_samples(&image.samples) {
            SampleType::F32 => Held { kind: SampleType::U16, space: ColorSpace::Srgb, channels },
            kind => Held { kind, space, channels },
        }
    }
}

/// Collects warnings about an output.
pub(crate) struct Log<'a> {
    /// Name of the format in messages.
    pub(crate) holder: &'a str,
    pub(crate) output: &'a str,
    pub(crate) warnings: &'a mut Warnings,
}

impl Log<'_> {
    pub(crate) fn note(&mut self, code: &'static str, count: u64, message: String) {
        let mut diagnostic = Diagnostic::new(message);
        diagnostic.place.file = self.output.into();
        self.warnings.push_many(code, count, diagnostic);
    }

    pub(crate) fn unnamed(&mut self, image: &Image, stores: fn(&ImageAttribute) -> bool) {
        let channels: Vec<&str> = image.extra.iter().map(|channel| channel.name.as_str()).collect();
        let attributes = image.attributes.iter().filter(|attribute| !stores(attribute));
        let attributes: Vec<&str> = attributes.map(|attribute| attribute.name.as_str()).collect();
        for (code, nouns, names) in [
            ("left-out-channels", ["channel", "channels"], channels),
            ("left-out-attributes", ["attribute", "attributes"], attributes),
        ] {
            let count = names.len() as u64;
            let what = counted(count, nouns);
            let message = format!("dropped {what}, which {} cannot store: {}", self.holder, names::listed(&names));
            self.note(code, count, message);
        }
    }

    /// Warns about dropped parts of a color profile.
    pub(crate) fn profile(&mut self, dropped: &ColorProfile) {
        let names = dropped.names();
        let message = format!(
            "{} cannot store {}, so other programs assume the default color space",
            self.holder,
            names.join(", ")
        );
        self.note("changed-color-space", u64::from(!names.is_empty()), message);
    }

    /// Warns about clamped samples; `max` is the maximum of the format.
    pub(crate) fn cut(&mut self, cut: Cut, max: &str) {
        let Cut { above, below, not_numbers, .. } = cut;
        let samples = changed(above, "sample", &format!(" above {max}"));
        self.note("cut-samples", above, format!("{samples} clamped to {max}"));
        self.note("cut-samples", below, changed(below, "sample", " below 0") + " clamped to 0");
        let samples = counted(not_numbers, ["NaN sample was", "NaN samples were"]);
        self.note("cut-samples", not_numbers, samples + " replaced by 0");
    }

    /// Warns about samples that were rounded to integers.
    pub(crate) fn rounded(&mut self, count: u64, kind: SampleType) {
        let bits = if kind == SampleType::U8 { 8 } else { 16 };
        self.note("changed-samples", count, format!("{} rounded to {bits} bits", changed(count, "sample", "")));
    }

    fn hidden(&mut self, count: u64, how: &str) {
        let pixels = counted(count, ["fully transparent pixel", "fully transparent pixels"]);
        let colors = if count == 1 { "color" } else { "colors" };
        self.note("left-out-colors", count, format!("the {colors} of {pixels} became black: {} {how}", self.holder));
    }

    #[cfg(feature = "exr")]
    pub(crate) fn exr(&mut self, losses: exr::ExrLosses) {
        let exr::ExrLosses { infinite, rounded, hidden } = losses;
        let samples = counted(infinite, ["sample", "samples"]);
        let message = format!("{samples} above 65504 became infinite; use `--exr-float` to keep them");
        self.note("cut-samples", infinite, message);
        let samples = changed(rounded, "sample", "");
        let message = format!("{samples} rounded to 16-bit floats; use `--exr-float` to store 32-bit floats");
        self.note("changed-samples", rounded, message);
        self.hidden(hidden, "stores premultiplied colors");
    }

    pub(crate) fn hdr(&mut self, cut: Cut) {
        self.cut(cut, "1.695e38");
        let pixels = changed(cut.rounded, "pixel", "");
        let message = format!("{pixels} rounded: HDR stores 8 bits per channel and a shared exponent");
        self.note("changed-samples", cut.rounded, message);
    }

    #[cfg(feature = "png")]
    pub(crate) fn png(&mut self, losses: png::PngLosses) {
        let png::PngLosses { hidden, above, rounded } = losses;
        self.note("cut-samples", above, changed(above, "sample", " above alpha") + " clamped to alpha");
        self.note("changed-samples", rounded, changed(rounded, "sample", "") + " rounded when divided by alpha");
        self.hidden(hidden, "stores straight colors");
    }

    pub(crate) fn jpeg(&mut self, image: &Image) {
        let count = image.width.saturating_mul(image.height) as u64;
        let pixels = counted(count, ["pixel is", "pixels are"]);
        self.note("changed-samples", count, format!("JPEG is lossy: {pixels} approximate"));
    }
}

/// Formats the start of a message about changed values: `1 sample below 0 was`.
fn changed(count: u64, noun: &str, which: &str) -> String {
    counted(count, [&format!("{noun}{which} was"), &format!("{noun}s{which} were")])
}
