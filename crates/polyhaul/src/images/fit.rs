//! Converts images to the samples, color space and channels that a format stores.
//!
//! Anything that a format cannot store is dropped, clamped or rounded, with a warning that counts it. Everything is
//! counted before the first byte is written, so that `strict` leaves an existing file untouched.

use crate::format::Format;
use crate::image_job::Log;
use crate::options::WriteOptions;
use crate::registry::ImageWriter;
use polyhaul_image::samples::{convert_samples, with_channels};
use polyhaul_model::error::Result;
use polyhaul_model::pixels::is_opaque;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, SampleType};
use std::borrow::Cow;

/// Converts an image to the form that `format` stores. Warns about the losses in the file `output`.
pub(super) fn fit<'a>(
    image: &'a Image,
    format: Format,
    writer: &ImageWriter,
    options: &WriteOptions,
    output: &str,
    warnings: &mut Warnings,
) -> Result<Cow<'a, Image>> {
    let held = (writer.held)(image);
    let run = &options.run;
    let title = format.title();
    let mut log = Log { holder: &title, output, warnings };
    let from = SampleType::from_samples(&image.samples);
    let stored = image;
    let mut image = Cow::Borrowed(image);
    if held.channels != image.channels {
        if !held.channels.has_alpha() && !is_opaque(&image) {
            log.note("left-out-alpha", 1, format!("dropped the alpha channel, which {title} cannot store"));
        }
        image = Cow::Owned(with_channels(&image, held.channels, run)?);
    }
    if held.kind != SampleType::from_samples(&image.samples) || held.space != image.color_space {
        let adjusted = convert_samples(&image, held.kind, held.space, run)?;
        log.cut(adjusted.cut, "1");
        if !writer.is_lossy {
            log.rounded(adjusted.cut.rounded, held.kind);
        }
        image = Cow::Owned(adjusted.image);
    }
    (writer.note)(&mut log, &image, from, options)?;
    if !writer.has_names {
        log.unnamed(&image, writer.stores);
    }
    let mut rest = stored.profile.clone();
    if image.profile == stored.profile {
        (writer.store_profile)(&mut rest);
    }
    log.profile(&rest);
    Ok(image)
}

/// Warns that `holder` cannot store the extra channels, the attributes and the color profile of an image. `name` is the
/// output's name in messages.
pub(crate) fn note_unnamed(image: &Image, holder: &str, name: &str, warnings: &mut Warnings) {
    let mut log = Log { holder, output: name, warnings };
    log.unnamed(image, |_| false);
    log.profile(&image.profile);
}
