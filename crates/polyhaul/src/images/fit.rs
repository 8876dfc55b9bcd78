//! Images as the format that they are written in holds them: samples, colour space, channels.
//!
//! What a format cannot hold is left out or cut off, and noted. Nothing is changed that it holds.

use crate::WriteOptions;
use crate::error::{Diagnostic, Result};
use crate::formats::Format;
use crate::model::{Channels, ColorSpace, Image, Samples};
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
            let message = format!("{} has no alpha: it was left out", format.name());
            warnings.push("left-out-alpha", about(output, message));
        }
        image = Cow::Owned(with_channels(&image, held.channels, run)?);
    }
    if held.kind != SampleType::of(&image.samples) || held.space != image.color_space {
        let adjusted = convert_samples(&image, held.kind, held.space, run)?;
        note_cut(adjusted.cut, format, output, warnings);
        image = Cow::Owned(adjusted.image);
    }
    if format == Format::Exr && !options.image.exr_float {
        note_infinite(&image.samples, output, warnings);
    }
    Ok(image)
}

/// What halves do not hold.
fn note_infinite(samples: &Samples, output: &str, warnings: &mut Warnings) {
    let Samples::F32(samples) = samples else { return };
    let count = samples.iter().filter(|sample| sample.is_finite() && sample.abs() >= LEAST_INFINITE).count() as u64;
    let message = format!("samples above 65504 became infinite in exr: {count}; exr_float keeps them");
    warnings.push_many("cut-samples", count, about(output, message));
}

/// What integers do not hold.
fn note_cut(cut: Cut, format: Format, output: &str, warnings: &mut Warnings) {
    let Cut { above, below, not_numbers } = cut;
    let kinds =
        [(above, "above 1 were cut off"), (below, "below 0 became 0"), (not_numbers, "that are no numbers became 0")];
    for (count, what) in kinds {
        let message = format!("samples {what} in {}: {count}", format.name());
        warnings.push_many("cut-samples", count, about(output, message));
    }
}

fn about(output: &str, message: String) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.place.file = output.into();
    diagnostic
}
