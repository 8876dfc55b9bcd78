//! Decodes the pixels of a BMP file into an image.

use super::header;
use super::header::{BmpHeader, BmpPalette, BmpPixels};
use super::runs::Runs;
use crate::color;
use crate::pieces::Pieces;
use crate::raster::Raster;
use crate::rows::{ImageRows, RowsTurn};
use polyhaul_model::error::{Error, ErrorKind, Result, fault};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ColorProfile, Image, Samples};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::cpu::Level;
use std::mem::MaybeUninit;

/// Maximum size of a profile.
const MAX_PROFILE_BYTES: usize = 4 << 20;

/// Reads a BMP file. Also returns the number of threads used.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<(Image, usize)> {
    let mut pieces = Pieces::new(bytes, options);
    let header = header::read(&mut pieces, &options.limits)?;
    let BmpHeader { width, height, .. } = header;
    let channels = header.pixels.channels();
    let row = width * channels.count();
    let file = pieces.file.clone();
    let profile;
    let (samples, threads) = match &header.pixels {
        BmpPixels::Masked(masks) if masks.is_wide() && !header.has_runs => {
            let raster = Raster::new(row, height, header.is_upward, pieces.backed())?;
            pieces.skip_to(header.body)?;
            let (threads, pieces) = read_rows(pieces, &header, &raster, options, |_, from, to| {
                for (pixel, to) in from.chunks_exact(masks.bytes()).zip(to.chunks_exact_mut(channels.count())) {
                    masks.wide(pixel).into_iter().zip(to).for_each(|(sample, to)| *to = MaybeUninit::new(sample));
                }
                Ok(())
            })?;
            profile = end(pieces, &header, options, warnings)?;
            // SAFETY: `read_rows` succeeded, and its job fills every row or fails.
            (Samples::U16(unsafe { raster.finish(None) }.into()), threads)
        }
        _ => {
            let raster = Raster::new(row, height, header.is_upward, pieces.backed())?;
            pieces.skip_to(header.body)?;
            let (threads, pieces) = if header.has_runs {
                (1, Runs::new(pieces, &header)?.read(&raster, options, warnings)?)
            } else {
                read_bytes(pieces, &header, &raster, options)?
            };
            profile = end(pieces, &header, options, warnings)?;
            // SAFETY: both functions succeeded, and fill every row or fail: `read_rows` in its job, `Runs::read` in
            // `end_row`.
            (Samples::U8(unsafe { raster.finish(None) }.into()), threads)
        }
    };
    let mut image = Image { width, height, channels, samples, ..Image::default() };
    color::keep(&mut image, profile, &file, options.faults, warnings)?;
    Ok((image, threads))
}

/// Reads the profile after the pixels, and finishes the input. Drops a truncated or very large profile, and a profile
/// that starts before the end of the pixels, with a warning.
fn end(
    mut pieces: Pieces<'_>,
    header: &BmpHeader,
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<ColorProfile> {
    let mut profile = ColorProfile::default();
    if let Some((offset, size)) = header.profile {
        let is_readable = offset >= pieces.at() && size <= MAX_PROFILE_BYTES;
        if is_readable {
            pieces.skip_to(offset)?;
            profile.icc = match pieces.take(size, "profile") {
                Err(error) if error.kind() == ErrorKind::Malformed => None,
                icc => Some(icc?),
            };
        }
        if profile.icc.is_none() {
            let why = "is truncated, misplaced or too large";
            color::note_lost(why, &pieces.file, options.faults, warnings)?;
        }
    }
    pieces.finish()?;
    Ok(profile)
}

/// Reads uncompressed rows with 8-bit samples.
fn read_bytes<'a>(
    pieces: Pieces<'a>,
    header: &BmpHeader,
    raster: &Raster<u8>,
    options: &ParseOptions,
) -> Result<(usize, Pieces<'a>)> {
    let file = pieces.file.clone();
    let pixels = &header.pixels;
    let level = Level::best();
    read_rows(pieces, header, raster, options, |offset, from, to| match pixels {
        BmpPixels::Stored(stored) => {
            stored.expand(level, from, to);
            Ok(())
        }
        BmpPixels::Masked(masks) => {
            let size = pixels.channels().count();
            for (pixel, to) in from.chunks_exact(masks.bytes()).zip(to.chunks_exact_mut(size)) {
                masks.narrow(pixel).into_iter().zip(to).for_each(|(sample, to)| *to = MaybeUninit::new(sample));
            }
            Ok(())
        }
        BmpPixels::Mapped(palette) => {
            palette.expand(from, to).map_err(|place| palette.unmapped(&file, offset + place as u64))
        }
    })
}

/// Reads uncompressed rows, which are padded to 32-bit words.
fn read_rows<'a, T: Copy + Send>(
    mut pieces: Pieces<'a>,
    header: &BmpHeader,
    raster: &Raster<T>,
    options: &ParseOptions,
    turn: impl RowsTurn<T>,
) -> Result<(usize, Pieces<'a>)> {
    let file = pieces.file.clone();
    let BmpHeader { width, height, body, pixels, .. } = header;
    let cut = |offset: u64| {
        fault(&file, offset, format!("unexpected end of file: the header declares {width} x {height} pixels"))
    };
    // `skip_to` stops at the end of the file.
    if pieces.at() < *body {
        return Err(cut(pieces.at()));
    }
    let row_bits = width.checked_mul(pixels.bits()).ok_or_else(|| Error::memory("rows"))?;
    let used = row_bits.div_ceil(8);
    let stride = row_bits.div_ceil(32) * 4;
    let rows = ImageRows { bytes: pieces.bytes(), body: *body, stride, used, cut: &cut };
    let end = rows.end(*height);
    // Indices are checked while rows are read, so that an invalid index is reported before a truncated file, as for
    // streams.
    if !matches!(pixels, BmpPixels::Mapped(_))
        && let Some(len) = rows.bytes.len()
        && len < end
    {
        return Err(cut(len));
    }
    let threads = rows.read(raster, &options.run, turn)?;
    // The padding of the last row may be missing; a profile can follow only if it is present.
    let padded = rows.body + stride as u64 * *height as u64;
    pieces.moved_to(if header.profile.is_some() { padded } else { end });
    Ok((threads, pieces))
}

impl BmpPalette {
    /// Expands packed indices, most significant bits first, into colors. On error, returns the position of the first
    /// byte with an index outside the palette.
    fn expand(&self, from: &[u8], to: &mut [MaybeUninit<u8>]) -> std::result::Result<(), usize> {
        let per_byte = 8 / self.bits;
        let mask = (1_u32 << self.bits) - 1;
        for (place, (byte, to)) in from.iter().zip(to.chunks_mut(3 * per_byte)).enumerate() {
            let mut rest = u32::from(*byte);
            for to in to.chunks_exact_mut(3) {
                // The first index is in the highest bits of the byte, and each shift moves the next index just above
                // the byte.
                rest <<= self.bits;
                let color = self.colors.get((rest >> 8 & mask) as usize).ok_or(place)?;
                to.copy_from_slice(&color.map(MaybeUninit::new));
            }
        }
        Ok(())
    }

    /// Creates the error for an index outside the palette.
    pub(super) fn unmapped(&self, file: &std::sync::Arc<str>, offset: u64) -> Error {
        let count = self.colors.len();
        fault(file, offset, format!("palette index out of range; the palette has size {count}"))
    }
}
