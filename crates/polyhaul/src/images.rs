//! Images, read and written as a whole, whatever their format.
//!
//! Pixels of each format are the business of its folder in `formats`; which format a source has is found by `detect`.

mod fit;

use crate::format::Format;
use crate::load::{Content, Read, Shape, load_as, note_reading};
use crate::open::{Near, Opened, Plain};
use crate::options::{ReadOptions, WriteOptions};
use crate::report::{Clock, Report};
use crate::resolve::Resolver;
use crate::save::{format_of, name_of, write_to};
use crate::{Input, LoadedImage, LoadedTexture, Output};
use polyhaul_image::options::ImageReadOptions;
use polyhaul_image::samples::check_image;
use polyhaul_image::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, ImagePart, Texture};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::run::{Phase, span};
use std::path::Path;

pub(crate) use fit::note_unnamed;

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
            Error::new(ErrorKind::Unsupported, format!("cannot read the image `{}`: {why}", names::shown(name)))
        }
        _ => error,
    })?;
    load_opened(&resolver.open(found.origin)?.0, options)
}

/// An image that was read, and the parts of its file where the format has such.
pub(crate) struct ReadImage {
    pub(crate) image: Image,
    pub(crate) parts: Vec<ImagePart>,
}

/// Reads an image of a format that is known.
pub(crate) fn read(plain: &Plain, format: Format, options: &ReadOptions, report: &mut Report) -> Result<ReadImage> {
    let _span = span(Phase::Decode);
    let mut parts = Vec::new();
    let bytes = Bytes::new(plain.source(), plain.garbage());
    let own = plain.options(options);
    let mut warnings = Warnings::default();
    let (image, threads) = match format {
        Format::Tga => tga::read(bytes, &own, &mut warnings)?,
        Format::Hdr => hdr::read(bytes, &own)?,
        Format::Png => (png::read(bytes, &own, &mut warnings)?, 1),
        Format::Jpeg => (jpeg::read(bytes, &own, &mut warnings)?, 1),
        Format::Exr => {
            let found = exr::read(bytes, &own.with(options.image.clone()), &mut warnings)?;
            parts = found.parts;
            (found.image, found.threads)
        }
        Format::Bmp => bmp::read(bytes, &own, &mut warnings)?,
        Format::Psd => (psd::read(bytes, &own, &mut warnings)?, 1),
        Format::Dds => (dds::read(bytes, &own, &mut warnings)?, 1),
        Format::Ktx2 => (ktx2::read(bytes, &own, &mut warnings)?, 1),
        _ => return Err(no_image(format)),
    };
    note_reading(plain, format, report, threads, warnings);
    Ok(ReadImage { image, parts })
}

/// Fails where a layer or part is asked for, of a format that has none.
pub(crate) fn check_choice(format: Format, options: &ReadOptions) -> Result<()> {
    if format == Format::Exr || options.image == ImageReadOptions::default() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("{} has no layers or parts to choose from", format.name())))
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
    let mut warnings = Warnings::default();
    let texture = match format {
        Format::Dds => dds::texture(bytes, &own, &mut warnings)?,
        Format::Ktx2 => ktx2::texture(bytes, &own)?,
        _ => return Err(no_texture(format)),
    };
    note_reading(plain, format, report, 1, warnings);
    Ok(texture)
}

/// The error where a texture is wanted, and the format has none.
fn no_texture(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} is not a texture format", format.name()));
    error.with_hint("texture formats are dds and ktx2")
}

/// The error where an image is wanted, and the format has none.
pub(crate) fn no_image(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} is not an image format", format.name()));
    error.with_hint(format!("image formats are {}", Format::images()))
}

/// The error where an image is to be written in a format of images that it is not written in.
fn not_written(format: Format) -> Error {
    let message = match format {
        Format::Dds | Format::Ktx2 => format!("{} can be written only from textures, not from images", format.name()),
        _ => format!("{} is read-only", format.name()),
    };
    Error::new(ErrorKind::Usage, message).with_hint("images can be written as tga, hdr, png, jpg and exr")
}

/// The error where something else is wanted of an image.
pub(crate) fn is_image(format: Format) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("{} stores an image, not a scene or a table", format.name()));
    error.with_hint("read it with load_image, or convert it to an image format")
}

/// Writes an image that a caller made, as the format holds it.
pub(crate) fn save(image: &Image, output: Output, options: &WriteOptions) -> Result<Report> {
    check_image(image)?;
    let format = format_of(&output, options)?;
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Encode);
    let image = fit::fit(image, format, options, &name_of(&output), &mut report.warnings)?;
    write_to(output, Some(format), options, &mut report, |writing, _, _| match format {
        Format::Tga => tga::write(&image, &options.image, &options.run, writing),
        Format::Hdr => hdr::write(&image, &options.run, writing),
        Format::Png => png::write(&image, &options.image, writing),
        Format::Jpeg => jpeg::write(&image, &options.image, writing),
        Format::Exr => exr::write(&image, &options.image, &options.run, writing),
        format if format.is_image() => Err(not_written(format)),
        format => Err(no_image(format)),
    })?;
    clock.stop(&mut report);
    Ok(report)
}

/// Writes a texture that a caller made.
pub(crate) fn save_texture(texture: &Texture, output: Output, options: &WriteOptions) -> Result<Report> {
    texture.check()?;
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
