//! Images, read and written as a whole, whatever their format.
//!
//! Pixels of each format are the business of its folder in `formats`; which format a source has is found by `detect`.

mod fit;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Format, bmp, dds, exr, hdr, jpeg, ktx2, names, png, psd, tga};
use crate::load::{Content, Read, Shape, load_as, note_reading};
use crate::model::{Image, Texture};
use crate::open::{Near, Opened, Plain};
use crate::options::{ReadOptions, WriteOptions};
use crate::pipeline::bytes::Bytes;
use crate::pipeline::run::{Phase, span};
use crate::report::{Clock, Report};
use crate::resolve::Resolver;
use crate::save::{format_of, name_of, write_to};
use crate::warnings::Warnings;
use crate::{Input, LoadedImage, LoadedTexture, Output, check, ops};
use std::path::Path;

/// Reads the image of an input.
pub(crate) fn load(input: Input, options: &ReadOptions) -> Result<LoadedImage> {
    load_opened(&Opened::new(input, options)?, options)
}

fn load_opened(input: &Opened, options: &ReadOptions) -> Result<LoadedImage> {
    match load_as(input, options, |_| Shape::Image)? {
        (Read { content: Content::Image(image), .. }, report) => Ok(LoadedImage { image, report }),
        _ => Err(Error::new(ErrorKind::Internal, "an image was read as something else")),
    }
}

/// Reads the image that a scene calls `name`, beside the scene.
pub(crate) fn load_referenced(scene: Option<&Path>, name: &str, options: &ReadOptions) -> Result<LoadedImage> {
    let near = scene.map_or(Ok(Near::Nothing), |path| Near::of_path(path, options))?;
    let mut resolver = Resolver::beside(&near, options);
    let found = resolver.find(name).map_err(|error| match error.kind() {
        ErrorKind::Unsupported => {
            let why = &error.diagnostic().message;
            Error::new(ErrorKind::Unsupported, format!("the image `{}` was not read: {why}", names::shown(name)))
        }
        _ => error,
    })?;
    load_opened(&resolver.open(found.origin)?.0, options)
}

/// Reads an image of a format that is known.
pub(crate) fn read(plain: &Plain, format: Format, options: &ReadOptions, report: &mut Report) -> Result<Image> {
    let _span = span(Phase::Decode);
    let bytes = Bytes::new(plain.source(), plain.garbage());
    let own = plain.options(options);
    let (image, threads) = match format {
        Format::Tga => tga::read(bytes, &own)?,
        Format::Hdr => hdr::read(bytes, &own)?,
        Format::Png => (png::read(bytes, &own)?, 1),
        Format::Jpeg => (jpeg::read(bytes, &own)?, 1),
        Format::Exr => exr::read(bytes, &own)?,
        Format::Bmp => bmp::read(bytes, &own)?,
        Format::Psd => (psd::read(bytes, &own)?, 1),
        Format::Dds => (dds::read(bytes, &own)?, 1),
        Format::Ktx2 => (ktx2::read(bytes, &own)?, 1),
        _ => return Err(no_image(format)),
    };
    note_reading(plain, format, report, threads, Default::default());
    Ok(image)
}

/// Reads the texture of an input.
pub(crate) fn load_texture(input: Input, options: &ReadOptions) -> Result<LoadedTexture> {
    match load_as(&Opened::new(input, options)?, options, |_| Shape::Texture)? {
        (Read { content: Content::Texture(texture), .. }, report) => Ok(LoadedTexture { texture, report }),
        _ => Err(Error::new(ErrorKind::Internal, "a texture was read as something else")),
    }
}

/// Reads a texture of a format that is known.
pub(crate) fn read_texture(
    plain: &Plain,
    format: Format,
    options: &ReadOptions,
    report: &mut Report,
) -> Result<Texture> {
    let _span = span(Phase::Decode);
    let bytes = Bytes::new(plain.source(), plain.garbage());
    let own = plain.options(options);
    let texture = match format {
        Format::Dds => dds::texture(bytes, &own)?,
        Format::Ktx2 => ktx2::texture(bytes, &own)?,
        _ => return Err(no_texture(format)),
    };
    note_reading(plain, format, report, 1, Default::default());
    Ok(texture)
}

/// The error where a texture is wanted, and the format has none.
fn no_texture(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} holds no texture", format.name()));
    error.with_hint("formats of textures are dds and ktx2")
}

/// The error where an image is wanted, and the format has none.
pub(crate) fn no_image(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} holds no image", format.name()));
    error.with_hint(format!("formats of images are {}", Format::images()))
}

/// The error where an image is to be written in a format of images that it is not written in.
fn not_written(format: Format) -> Error {
    let message = match format {
        Format::Dds | Format::Ktx2 => format!("{} is written of textures, and not of images", format.name()),
        _ => format!("{} is read, and not written", format.name()),
    };
    Error::new(ErrorKind::Usage, message).with_hint("images are written as tga, hdr, png and exr")
}

/// The error where something else is wanted of an image.
pub(crate) fn is_image(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} holds an image, and no scene or table", format.name()));
    error.with_hint("images are read by load_image, and converted to images")
}

/// Writes an image that a caller made, as the format holds it.
pub(crate) fn save(image: &Image, output: Output, options: &WriteOptions) -> Result<Report> {
    ops::check_image(image)?;
    let format = format_of(&output, options)?;
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Encode);
    let mut warnings = Warnings::default();
    let image = fit::fit(image, format, options, &name_of(&output), &mut warnings)?;
    write_to(output, Some(format), options, &mut report, |writing, _, _| match format {
        Format::Tga => tga::write(&image, &options.image, &options.run, writing),
        Format::Hdr => hdr::write(&image, &options.run, writing),
        Format::Png => png::write(&image, &options.image, writing),
        Format::Exr => exr::write(&image, &options.image, &options.run, writing),
        format if format.is_image() => Err(not_written(format)),
        format => Err(no_image(format)),
    })?;
    report.warnings.extend(warnings);
    clock.stop(&mut report);
    Ok(report)
}

/// Writes a texture that a caller made.
pub(crate) fn save_texture(texture: &Texture, output: Output, options: &WriteOptions) -> Result<Report> {
    check::texture(texture)?;
    let format = format_of(&output, options)?;
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Encode);
    write_to(output, Some(format), options, &mut report, |writing, _, _| match format {
        Format::Dds => dds::write(texture, &options.run, writing),
        Format::Ktx2 => ktx2::write(texture, &options.image, &options.run, writing),
        format => Err(no_texture(format)),
    })?;
    clock.stop(&mut report);
    Ok(report)
}
