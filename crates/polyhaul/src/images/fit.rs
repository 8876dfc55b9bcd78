//! Images as the format that they are written in holds them: samples, colour space, channels.
//!
//! What a format cannot store is dropped, clamped or rounded, with a warning that counts it. All else is unchanged.
//! Everything is counted before the first byte is written, so that `strict` leaves an old file alone.

use crate::format::Format;
use crate::options::WriteOptions;
use crate::registry::ImageWriter;
use polyhaul_image::samples::{Cut, SampleType, convert_samples, is_opaque, with_channels};
use polyhaul_image::{exr, png};
use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Channels, ColorSpace, Image};
use std::borrow::Cow;

/// What a format holds of an image.
pub(crate) struct Held {
    kind: SampleType,
    space: ColorSpace,
    channels: Channels,
}

impl Held {
    /// Bytes of sRGB.
    pub(crate) fn bytes(channels: Channels) -> Held {
        Held { kind: SampleType::U8, space: ColorSpace::Srgb, channels }
    }

    /// Floats in proportion to the light.
    pub(crate) fn light(channels: Channels) -> Held {
        Held { kind: SampleType::F32, space: ColorSpace::Linear, channels }
    }

    /// Integers as they are, and floats as 16 bits of sRGB: light has more brightnesses than bytes have.
    pub(crate) fn integers(image: &Image) -> Held {
        let Image { channels, color_space: space, .. } = *image;
        match SampleType::of(&image.samples) {
            SampleType::F32 => Held { kind: SampleType::U16, space: ColorSpace::Srgb, channels },
            kind => Held { kind, space, channels },
        }
    }
}

/// The image as `format` holds it. Notes in `warnings` what does not fit, about the file `output`.
pub(super) fn fit<'a>(
    image: &'a Image,
    (format, writer): (Format, &ImageWriter),
    options: &WriteOptions,
    output: &str,
    warnings: &mut Warnings,
) -> Result<Cow<'a, Image>> {
    let (held, run) = ((writer.held)(image), &options.run);
    let mut log = Log { holder: format.name(), output, warnings };
    let (from, mut image) = (SampleType::of(&image.samples), Cow::Borrowed(image));
    if held.channels != image.channels {
        if !held.channels.has_alpha() && !is_opaque(&image) {
            log.note("left-out-alpha", 1, format!("{} cannot store alpha; it was dropped", format.name()));
        }
        image = Cow::Owned(with_channels(&image, held.channels, run)?);
    }
    if held.kind != SampleType::of(&image.samples) || held.space != image.color_space {
        let adjusted = convert_samples(&image, held.kind, held.space, run)?;
        log.cut(adjusted.cut, "1");
        if !writer.is_lossy {
            log.rounded(adjusted.cut.rounded, held.kind);
        }
        image = Cow::Owned(adjusted.image);
    }
    (writer.note)(&mut log, &image, from, options)?;
    if !writer.has_names {
        log.unnamed(&image);
    }
    Ok(image)
}

/// Channels and attributes, which EXR alone stores: notes in `warnings` that `holder` does not, about the file `name`.
pub(crate) fn note_unnamed(image: &Image, holder: &str, name: &str, warnings: &mut Warnings) {
    Log { holder, output: name, warnings }.unnamed(image);
}

/// What is noted about a file.
pub(crate) struct Log<'a> {
    /// What cannot store it all.
    holder: &'a str,
    output: &'a str,
    warnings: &'a mut Warnings,
}

impl Log<'_> {
    fn note(&mut self, code: &'static str, count: u64, message: String) {
        let mut diagnostic = Diagnostic::new(message);
        diagnostic.place.file = self.output.into();
        self.warnings.push_many(code, count, diagnostic);
    }

    fn unnamed(&mut self, image: &Image) {
        let channels: Vec<&str> = image.extra.iter().map(|channel| channel.name.as_str()).collect();
        let attributes: Vec<&str> = image.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        for (code, what, names) in
            [("left-out-channels", "channels", channels), ("left-out-attributes", "attributes", attributes)]
        {
            let message = format!("{} cannot store these {what}: {}", self.holder, names::listed(&names));
            self.note(code, names.len() as u64, message);
        }
    }

    /// Samples out of the range of a format, which ends at `most`.
    fn cut(&mut self, cut: Cut, most: &str) {
        let Cut { above, below, not_numbers, .. } = cut;
        let kinds = [
            (above, format!("above {most} clamped to {most}")),
            (below, "below 0 clamped to 0".into()),
            (not_numbers, "with NaN replaced by 0".into()),
        ];
        for (count, what) in kinds {
            self.note("cut-samples", count, format!("{} {what} in {}", counted(count, "sample"), self.holder));
        }
    }

    /// Samples that became integers.
    fn rounded(&mut self, count: u64, kind: SampleType) {
        let bits = if kind == SampleType::U8 { 8 } else { 16 };
        let message = format!("{} rounded to {bits} bits in {}", counted(count, "sample"), self.holder);
        self.note("changed-samples", count, message);
    }

    fn hidden(&mut self, count: u64, how: &str) {
        let pixels = counted(count, "fully transparent pixel");
        self.note("left-out-colors", count, format!("colors of {pixels} became black: {} {how}", self.holder));
    }

    pub(crate) fn exr(&mut self, losses: exr::Losses) {
        let exr::Losses { infinite, rounded, hidden } = losses;
        let samples = counted(infinite, "sample");
        let message = format!("{samples} above 65504 became infinite; use `--exr-float` to keep them");
        self.note("cut-samples", infinite, message);
        let samples = counted(rounded, "sample");
        let message = format!("{samples} rounded to 16-bit floats in exr; use `--exr-float` to store 32-bit floats");
        self.note("changed-samples", rounded, message);
        self.hidden(hidden, "stores premultiplied colors");
    }

    pub(crate) fn hdr(&mut self, cut: Cut) {
        self.cut(cut, "1.695e38");
        let pixels = counted(cut.rounded, "pixel");
        let message = format!("{pixels} rounded in hdr, which stores 8 bits per color and a shared exponent");
        self.note("changed-samples", cut.rounded, message);
    }

    pub(crate) fn png(&mut self, losses: png::Losses) {
        let png::Losses { hidden, above, rounded } = losses;
        self.note("cut-samples", above, format!("{} above alpha clamped to it in png", counted(above, "sample")));
        let message = format!("{} rounded when divided by alpha in png", counted(rounded, "sample"));
        self.note("changed-samples", rounded, message);
        self.hidden(hidden, "stores straight colors");
    }

    pub(crate) fn jpeg(&mut self, image: &Image) {
        let count = image.width.saturating_mul(image.height) as u64;
        let verb = if count == 1 { "is" } else { "are" };
        self.note("changed-samples", count, format!("JPEG is lossy: {} {verb} approximate", counted(count, "pixel")));
    }
}

/// So many of something.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
