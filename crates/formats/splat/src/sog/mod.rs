//! Reads SOG ("spatially ordered gaussians"): splats as pixels of lossless WebP images, described by a JSON file.
//!
//! Sources: <https://developer.playcanvas.com/user-manual/gaussian-splatting/formats/sog/> (version 2) and the first
//! program that wrote it, <https://github.com/playcanvas/splat-transform> (version 1, which has no specification). The
//! JSON, usually `meta.json`, has the number of splats, ranges and tables, and the names of the images next to it, in a
//! folder or a zip archive (`.sog`). Pixel i of an image, row by row, is splat i, except in `shN_centroids`; pixels
//! after the last splat are ignored.
//!
//! | image | red, green, blue | alpha |
//! |---|---|---|
//! | `means_l`, `means_u` | low and high byte of x, y, z: 0 to 65535 for the range of sign(x) · ln(1 + abs(x)) | |
//! | `scales` | logarithms of the standard deviations | |
//! | `quats` | the rotation without its largest component, 0 to 255 for -√½ to √½ | 252 to 255: w, x, y, z is largest |
//! | `sh0` | constant harmonics | opacity, 0 to 255 for 0 to 1 |
//! | `shN_labels` | low and high byte of the palette index | |
//! | `shN_centroids` | harmonics, one per pixel; 3, 8 or 15 pixels per entry, 64 entries per row | |
//!
//! In version 2, the bytes of scales and harmonics are indices into tables of 256 numbers (`codebook`); in version 1, 0
//! to 255 represent the range from `mins` to `maxs`. This also applies to the opacities, which are logits.
//!
//! Values are the same as in PLY files: axes are not converted. SOG is never written, and the caller opens the images
//! by name. `meta` parses the JSON, `image` decodes images, `decode` converts pixels to values.

mod decode;
mod image;
mod meta;

pub use meta::looks_like_sog;

use crate::SplatsFound;
use crate::records::resize_column;
use decode::{SogFaults, decode};
use image::SogImage;
use meta::{Harmonics, SogMeta, in_file, wrong};
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, limit_hint, planted, try_push};
use polyhaul_model::pixels::check_ratio;
use polyhaul_model::splats::{ANTIALIASED_COMMENT, HARMONICS, SplatColumns};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::read::Extent;
use std::sync::Arc;

/// Palette entries per row.
const ROW_ENTRIES: usize = 64;
/// Columns per splat, except positions and harmonics above the constant.
const PLAIN_COLUMNS: usize = 11;

/// A file that SOG refers to.
pub struct SogFile {
    /// File name, for messages.
    pub name: Arc<str>,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// Reads the splats of a JSON file. `open` reads an image, given its name in the JSON.
///
/// # Errors
/// Errors of `open`; [`ErrorKind::Malformed`] for invalid or inconsistent JSON and images, and for invalid values
/// unless faults are skipped; [`ErrorKind::Unsupported`] for other versions and for images that are not lossless WebP;
/// `Limit`, `Memory`, `Cancelled`.
pub fn read(
    bytes: &Bytes<'_>,
    options: &ParseOptions,
    open: &mut dyn FnMut(&str) -> Result<SogFile>,
) -> Result<SplatsFound> {
    let file: Arc<str> = bytes.name().into();
    let text = json_text(bytes, &file, options)?;
    let meta = SogMeta::parse(&text, &file, &options.limits)?;
    let mut images = Vec::new();
    for name in &meta.files {
        let SogFile { name, bytes } = open(name)?;
        try_push(&mut images, SogImage::new(name, bytes, &options.limits)?, "images")?;
    }
    let degree = check_images(&meta, &images, options)?;
    let threads = options.run.worker_threads();
    try_for_each_item(threads, &options.run.cancel, images.iter_mut(), || (), |(), image| image.decode())?;
    let mut columns = room(meta.count, degree)?;
    let faults = decode(&meta, &images, &mut columns, degree, &options.run)?;
    let mut warnings = Warnings::default();
    note_faults(&faults, &images, options, &mut warnings)?;
    drop(images);
    let mut scene = columns.into_scene()?;
    if meta.is_antialiased {
        try_push(&mut scene.comments, ANTIALIASED_COMMENT.to_owned(), "remarks")?;
    }
    Ok(SplatsFound { scene, warnings, threads })
}

/// Reads the whole JSON.
fn json_text(bytes: &Bytes<'_>, file: &Arc<str>, options: &ParseOptions) -> Result<Vec<u8>> {
    let limit = options.limits.header_bytes;
    let max_bytes = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut text = Vec::new();
    // Reading one byte beyond the limit shows whether the text exceeds it.
    bytes.read_as_claimed(0, max_bytes.saturating_add(1), &mut text)?;
    if text.len() > max_bytes {
        let message = format!("the SOG JSON is longer than the limit `header_bytes` ({limit} bytes)");
        return Err(Diagnostic::at(file, limit, message)
            .into_error(ErrorKind::Limit)
            .with_hint(limit_hint("header_bytes")));
    }
    bytes.check_end(Extent::Whole, &options.run.cancel)?;
    Ok(text)
}

/// Checks the sizes of the images. Returns the degree of the harmonics.
fn check_images(meta: &SogMeta, images: &[SogImage], options: &ParseOptions) -> Result<usize> {
    let number_of_palette = meta.harmonics.as_ref().map(|_| meta::CENTROIDS);
    for (number, image) in images.iter().enumerate() {
        if Some(number) != number_of_palette && image.pixel_count() < meta.count && !planted("sog-pixels") {
            let message =
                format!("the image has only {} x {} pixels for {} splats", image.width, image.height, meta.count);
            return Err(wrong(&image.name, message));
        }
    }
    let degree = match (&meta.harmonics, images.get(meta::CENTROIDS)) {
        (Some(harmonics), Some(palette)) => palette_degree(harmonics, palette)?,
        _ => 0,
    };
    // Compares the size of everything that decoding will allocate (pixels, and the columns of all splats) with the
    // compressed size.
    let pixels: u64 = images.iter().map(|image| 4 * image.pixel_count() as u64).sum();
    let columns = 3 + PLAIN_COLUMNS + 3 * HARMONICS[degree];
    let plain = pixels + (columns * size_of::<f32>()) as u64 * meta.count as u64;
    let packed: u64 = images.iter().map(SogImage::file_bytes).sum();
    if let Some(first) = images.first() {
        check_ratio(plain, packed, &options.limits, &first.name, 0)?;
    }
    Ok(degree)
}

/// Determines the degree of the harmonics from the width of the palette.
fn palette_degree(harmonics: &Harmonics, palette: &SogImage) -> Result<usize> {
    let degree = (1..4).find(|degree| palette.width == ROW_ENTRIES * HARMONICS[*degree]);
    let Some(degree) = degree.filter(|degree| harmonics.bands.is_none_or(|bands| bands == *degree)) else {
        let expected = match harmonics.bands {
            Some(bands) => format!("{}", ROW_ENTRIES * HARMONICS[bands]),
            None => "192, 512 or 960".to_owned(),
        };
        let diagnostic = in_file(&palette.name, format!("the palette is {} pixels wide", palette.width));
        return Err(Diagnostic { expected: Some(expected), ..diagnostic }.into_error(ErrorKind::Malformed));
    };
    let entries = ROW_ENTRIES * palette.height;
    if let Some(count) = harmonics.count.filter(|count| *count > entries) {
        return Err(wrong(&palette.name, format!("the palette has room for {entries} entries; expected {count}")));
    }
    Ok(degree)
}

/// Allocates columns of zeros.
fn room(count: usize, degree: usize) -> Result<SplatColumns> {
    let mut columns = SplatColumns::default();
    columns.rest.resize_with(3 * HARMONICS[degree], Vec::new);
    let SplatColumns { positions, opacities, scales, rotations, constants, rest } = &mut columns;
    resize_column(positions, count)?;
    let others = scales.iter_mut().chain(rotations).chain(constants).chain(rest);
    std::iter::once(opacities).chain(others).try_for_each(|column| resize_column(column, count))?;
    Ok(columns)
}

/// Reports invalid values.
fn note_faults(faults: &SogFaults, images: &[SogImage], options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
    let rotations = (faults.rotations(), meta::QUATS, "the alpha of a rotation must be 252 to 255");
    let labels = (faults.labels(), meta::LABELS, "the palette entry does not exist");
    for ((count, first), image, what) in [rotations, labels] {
        let Some(image) = images.get(image).filter(|_| count > 0) else { continue };
        let diagnostic = in_file(&image.name, format!("invalid value for splat {}: {what}", first + 1));
        warnings.broken(options.faults, "bad-value", diagnostic)?;
        // A single message covers all of them.
        warnings.count("bad-value", count - 1);
    }
    Ok(())
}
