//! Reads and writes images and textures of all formats.
//!
//! `polyhaul-image` decodes and encodes the pixels of each format.

mod fit;

use crate::containers::Near;
use crate::format::Format;
use crate::input::{Input, Output};
use crate::load::{Content, ContentShape, Read, load_as};
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{format_of, name_of, write_to, write_to_memory};
use crate::report::{Clock, Report};
use crate::resolve::Resolver;
use polyhaul_image::samples::check_image;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, Texture};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::{Phase, span};
use std::path::Path;

pub(crate) use fit::note_unnamed;

/// Reads an input as an image.
pub(crate) fn load(input: Input, options: &ReadOptions) -> Result<Loaded<Image>> {
    load_opened(&Opened::to_read(input, options)?, options)
}

pub(crate) fn load_opened(input: &Opened, options: &ReadOptions) -> Result<Loaded<Image>> {
    match load_as(input, options, &|_| ContentShape::Image)? {
        (Read { content: Content::Image(image), .. }, report) => Ok(Loaded::new(image, report)),
        _ => Err(Error::new(ErrorKind::Internal, "an image was read as something else")),
    }
}

/// Reads the image that a scene refers to as `name`, relative to the scene.
pub(crate) fn load_referenced(scene: Option<&Path>, name: &str, options: &ReadOptions) -> Result<Loaded<Image>> {
    let near = scene.map_or(Ok(Near::Nothing), |path| Near::of_path(path, options))?;
    load_near(&near, name, options)
}

/// Reads an image that a scene refers to, given the location of the scene.
pub(crate) fn load_near(near: &Near, name: &str, options: &ReadOptions) -> Result<Loaded<Image>> {
    let (input, warnings) = open_near(near, name, options)?;
    let mut loaded = load_opened(&input, options)?;
    loaded.report.warnings.extend(warnings);
    Ok(loaded)
}

/// Opens an image that a scene refers to, with warnings about its name.
pub(crate) fn open_near(near: &Near, name: &str, options: &ReadOptions) -> Result<(Opened, Warnings)> {
    let mut resolver = Resolver::beside(near, options);
    let located = resolver.find(name).map_err(|error| match error.kind() {
        ErrorKind::Unsupported => {
            let why = &error.diagnostic().message;
            Error::new(ErrorKind::Unsupported, format!("cannot read the image `{}`: {why}", names::shown(name)))
        }
        _ => error,
    })?;
    let mut warnings = Warnings::default();
    located.note_case(name, &mut warnings);
    Ok((resolver.open(located.origin)?.0, warnings))
}

/// Reads an input as a texture.
pub(crate) fn load_texture(input: Input, options: &ReadOptions) -> Result<Loaded<Texture>> {
    match load_as(&Opened::to_read(input, options)?, options, &|_| ContentShape::Texture)? {
        (Read { content: Content::Texture(texture), .. }, report) => Ok(Loaded::new(texture, report)),
        _ => Err(Error::new(ErrorKind::Internal, "a texture was read as something else")),
    }
}

/// Error for writing an image in a read-only or texture format.
fn not_written(format: Format) -> Error {
    let message = if format.is_texture() {
        format!("{} can be written only from textures, not from images", format.name())
    } else {
        format!("{} is read-only", format.name())
    };
    let written = Format::listed(|format| format.writers().image.is_some());
    Error::new(ErrorKind::Usage, message).with_hint(format!("images can be written as {written}"))
}

/// Writes an image, after checking it and converting it to a form that the format stores.
pub(crate) fn save(image: &Image, output: Output, options: &WriteOptions) -> Result<Report> {
    check_image(image)?;
    let format = format_of(&output, options)?;
    let mut report = Report::of_writing(format.name());
    let clock = Clock::start("write");
    let _span = span(Phase::Encode);
    let no_writer = || if format.is_image() { not_written(format) } else { format.no_image() };
    let writer = format.writers().image.ok_or_else(no_writer)?;
    let image = fit::fit(image, format, &writer, options, &name_of(&output), &mut report.warnings)?;
    write_to(output, Some(format.name()), options, &mut report, |writing, _, _| {
        (writer.write)(&image, options, writing)
    })?;
    clock.stop(&mut report);
    Ok(report)
}

/// Converts an image file of any format to `format`; `name` is its name in messages.
pub(crate) fn convert_image(
    file: Vec<u8>,
    name: &str,
    format: Format,
    run: &RunOptions,
    warnings: &mut Warnings,
) -> Result<Vec<u8>> {
    let reading = ReadOptions::default().with_run(run.clone()).with_target(format.name());
    let Loaded { value: image, report: read } = load(Input::Memory(file, name.into()), &reading)?;
    let writing = WriteOptions::default().with_format(Some(format)).with_run(run.clone());
    let (bytes, written) = write_to_memory(name, |output| save(&image, output, &writing))?;
    warnings.extend(read.warnings);
    warnings.extend(written.warnings);
    Ok(bytes)
}

/// Writes a texture, after checking it.
pub(crate) fn save_texture(texture: &Texture, output: Output, options: &WriteOptions) -> Result<Report> {
    texture.check()?;
    let format = format_of(&output, options)?;
    let mut report = Report::of_writing(format.name());
    let clock = Clock::start("write");
    let _span = span(Phase::Encode);
    let write = format.writers().texture.ok_or_else(|| format.no_texture())?;
    write_to(output, Some(format.name()), options, &mut report, |writing, _, _| write(texture, options, writing))?;
    clock.stop(&mut report);
    Ok(report)
}
