//! Images as the format that they are written in holds them: samples, colour space, channels.
//!
//! What a format cannot store is dropped or clamped, with a warning. All else is unchanged.

use crate::WriteOptions;
use crate::error::{Diagnostic, Result};
use crate::formats::{Format, exr, names};
use crate::model::{Channels, ColorSpace, Image, ImageChannel, Samples};
use crate::ops::{Cut, SampleType, convert_samples, with_channels};
use crate::warnings::Warnings;
use std::borrow::Cow;

/// From here on the nearest half is infinite.
const LEAST_INFINITE: f32 = 65520.0;

/// What a format holds.
struct Held {
    kind: SampleType,
    space: ColorSpace,
    channels: Channels,
}

impl Held {
    /// What becomes of the image in a format.
    fn of(image: &Image, format: Format) -> Held {
        let found = SampleType::of(&image.samples);
        let Image { channels, color_space, .. } = *image;
        match format {
            Format::Tga => Held { kind: SampleType::U8, space: ColorSpace::Srgb, channels },
            Format::Hdr => Held { kind: SampleType::F32, space: ColorSpace::Linear, channels: Channels::Rgb },
            Format::Jpeg => {
                let channels = if channels.colors() == 1 { Channels::Gray } else { Channels::Rgb };
                Held { kind: SampleType::U8, space: ColorSpace::Srgb, channels }
            }
            Format::Exr => Held { kind: SampleType::F32, space: ColorSpace::Linear, channels },
            // Light has more brightnesses than bytes have. Integers are kept, linear ones too, which PNG can tell.
            Format::Png if found == SampleType::F32 => {
                Held { kind: SampleType::U16, space: ColorSpace::Srgb, channels }
            }
            _ => Held { kind: found, space: color_space, channels },
        }
    }
}

/// The image as `format` holds it. Notes in `warnings` what does not fit, about the file `output`.
pub(super) fn fit<'a>(
    image: &'a Image,
    format: Format,
    options: &WriteOptions,
    output: &str,
    warnings: &mut Warnings,
) -> Result<Cow<'a, Image>> {
    let (held, run) = (Held::of(image, format), &options.run);
    let mut image = Cow::Borrowed(image);
    if held.channels != image.channels {
        if image.channels.has_alpha() && !held.channels.has_alpha() {
            let message = format!("{} cannot store alpha; it was dropped", format.name());
            warnings.push("left-out-alpha", about(output, message));
        }
        image = Cow::Owned(with_channels(&image, held.channels, run)?);
    }
    if held.kind != SampleType::of(&image.samples) || held.space != image.color_space {
        let adjusted = convert_samples(&image, held.kind, held.space, run)?;
        note_cut(adjusted.cut, format, output, warnings);
        image = Cow::Owned(adjusted.image);
    }
    if format == Format::Exr {
        note_infinite(&image, &exr::halves(&image, &options.image), output, warnings);
    } else {
        note_unnamed(&image, format, output, warnings);
    }
    Ok(image)
}

/// Channels and attributes, which EXR alone stores.
fn note_unnamed(image: &Image, format: Format, output: &str, warnings: &mut Warnings) {
    // Of a channel with the name of a colour the picture shows the values.
    let is_shown = |channel: &&ImageChannel| image.stored.iter().any(|stored| stored.name == channel.name);
    let channels: Vec<&str> =
        image.extra.iter().filter(|channel| !is_shown(channel)).map(|channel| channel.name.as_str()).collect();
    let attributes: Vec<&str> = image.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    for (code, what, names) in
        [("left-out-channels", "channels", channels), ("left-out-attributes", "attributes", attributes)]
    {
        let message = format!("{} cannot store these {what}: {}", format.name(), names::listed(&names));
        warnings.push_many(code, names.len() as u64, about(output, message));
    }
}

/// What halves do not hold: `halves` are the samples of a pixel that become such.
fn note_infinite(image: &Image, halves: &[usize], output: &str, warnings: &mut Warnings) {
    let Samples::F32(samples) = &image.samples else { return };
    let is_infinite = |sample: &f32| sample.is_finite() && sample.abs() >= LEAST_INFINITE;
    let size = image.channels.count();
    let count = |place: &usize| samples.iter().skip(*place).step_by(size).filter(|it| is_infinite(it)).count() as u64;
    let count = halves.iter().map(count).sum::<u64>();
    let message = format!("{} above 65504 became infinite; use `--exr-float` to keep them", counted(count));
    warnings.push_many("cut-samples", count, about(output, message));
}

/// What integers do not hold.
fn note_cut(cut: Cut, format: Format, output: &str, warnings: &mut Warnings) {
    let Cut { above, below, not_numbers } = cut;
    let kinds =
        [(above, "above 1 clamped to 1"), (below, "below 0 clamped to 0"), (not_numbers, "with NaN replaced by 0")];
    for (count, what) in kinds {
        let message = format!("{} {what} in {}", counted(count), format.name());
        warnings.push_many("cut-samples", count, about(output, message));
    }
}

fn counted(count: u64) -> String {
    format!("{count} sample{}", if count == 1 { "" } else { "s" })
}

fn about(output: &str, message: String) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.place.file = output.into();
    diagnostic
}
