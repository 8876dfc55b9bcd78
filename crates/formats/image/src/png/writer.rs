//! Writes PNG files: parts of several rows are filtered and compressed in parallel, each into its own chunk.
//!
//! A part depends only on its own rows and the row before them, so the output does not depend on the number of threads.
//! Each part ends byte-aligned (a sync flush of deflate), so that parts can be concatenated. The Adler-32 checksum is
//! combined from the checksums of all parts.

use super::SIGNATURE;
use super::filter;
use super::sums::Adler;
use crate::raster::page_of;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::{ImageWriteOptions, PngLevel};
use polyhaul_model::{Channels, ColorProfile, ColorSpace, Image, Samples};
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;

/// Approximate size of the rows of a part. The output depends on it.
const PART_BYTES: usize = 512 << 10;

/// Maximum number of rows, and of columns.
const MAX_SIDE: usize = i32::MAX as usize;

/// The zlib header (RFC 1950): deflate with a window of 32 KiB, default level. As a big-endian number, it is a multiple
/// of 31.
const ZLIB_HEAD: [u8; 2] = [0x78, 0x9C];

/// Memory of a compressor: tables and window.
const COMPRESS_BYTES: usize = 512 << 10;

/// Writes an image.
pub fn write(image: &Image, style: &ImageWriteOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let sample_bytes = match &image.samples {
        Samples::U8(_) => 1,
        Samples::U16(_) => 2,
        Samples::F32(_) => {
            let error = Error::new(ErrorKind::Usage, "PNG stores only samples of 8 or 16 bits");
            return Err(error.with_hint("convert the floats to integers first, or write EXR"));
        }
    };
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&image.width) || !sides.contains(&image.height) {
        let Image { width, height, .. } = image;
        let message = format!("PNG cannot store {width} x {height} pixels; expected 1 to {MAX_SIDE} rows and columns");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let pixel_bytes = image.channels.count() * sample_bytes;
    let row_bytes = image.width * pixel_bytes;
    let part_rows = (PART_BYTES / row_bytes).max(1);
    let parts = PngPages { image, pixel_bytes, row_bytes, part_rows, level: level(style.png_level) };
    writing.set_head(head(image, sample_bytes)?);
    writing.announce((row_bytes * image.height) as u64);
    let count = image.height.div_ceil(part_rows);
    let part_bytes = part_rows * row_bytes;
    let slot_bytes = 3 * part_bytes + 8 * row_bytes + COMPRESS_BYTES;
    writing.pages(&parts, &mut Adler::default(), count as u64, slot_bytes)?;
    writing.end(chunk(*b"IEND", &[])?)
}

/// Returns whether colors must be unpremultiplied.
fn divides(image: &Image) -> bool {
    image.premultiplied && image.channels.has_alpha()
}

/// Returns the level of the compressor.
fn level(level: PngLevel) -> Compression {
    Compression::new(match level {
        PngLevel::Fast => 1,
        PngLevel::Balanced => 4,
        PngLevel::Best => 9,
    })
}

/// Builds everything before the pixels.
fn head(image: &Image, sample_bytes: usize) -> Result<Vec<u8>> {
    let kind = match image.channels {
        Channels::Gray => 0,
        Channels::Rgb => 2,
        Channels::GrayAlpha => 4,
        Channels::Rgba => 6,
    };
    let sides = [image.width, image.height].map(|side| (side as u32).to_be_bytes());
    // Compression, filter and interlace methods are 0.
    let size = [sides.as_flattened(), &[8 * sample_bytes as u8, kind, 0, 0, 0]].concat();
    Ok([&SIGNATURE[..], &chunk(*b"IHDR", &size)?, &colors(image)?].concat())
}

/// Builds the chunks about the color space.
fn colors(image: &Image) -> Result<Vec<u8>> {
    let ColorProfile { icc, code_points, gamma, chromaticities } = &image.profile;
    let mut chunks = Vec::new();
    if let Some(points) = code_points {
        chunks.extend(chunk(*b"cICP", points)?);
    }
    if let Some(icc) = icc {
        chunks.extend(profile_chunk(icc)?);
    }
    match gamma {
        Some(gamma) => chunks.extend(chunk(*b"gAMA", &gamma.to_be_bytes())?),
        // A gamma of 1 declares linear light.
        None if image.color_space == ColorSpace::Linear => {
            chunks.extend(chunk(*b"gAMA", &100_000_u32.to_be_bytes())?);
        }
        None if image.profile.is_empty() => chunks.extend(chunk(*b"sRGB", &[0])?),
        None => {}
    }
    if let Some(numbers) = chromaticities {
        chunks.extend(chunk(*b"cHRM", numbers.map(u32::to_be_bytes).as_flattened())?);
    }
    Ok(chunks)
}

/// Builds a profile chunk: name, compression method, and zlib data.
fn profile_chunk(icc: &[u8]) -> Result<Vec<u8>> {
    let mut data = start_chunk(*b"iCCP", icc.len() / 2 + 64)?;
    data.extend_from_slice(b"ICC profile\0\0");
    let mut compress = Compress::new(level(PngLevel::Best), true);
    loop {
        let used = compress.total_in() as usize;
        data.try_reserve(4096)?;
        let status = compress.compress_vec(&icc[used..], &mut data, FlushCompress::Finish);
        if status.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))? == Status::StreamEnd {
            break;
        }
    }
    finish_chunk(&mut data)?;
    Ok(data)
}

/// Builds a chunk.
fn chunk(kind: [u8; 4], data: &[u8]) -> Result<Vec<u8>> {
    let mut chunk = start_chunk(kind, data.len())?;
    chunk.extend_from_slice(data);
    finish_chunk(&mut chunk)?;
    Ok(chunk)
}

/// Starts a chunk with capacity for `room` bytes of data.
fn start_chunk(kind: [u8; 4], room: usize) -> Result<Vec<u8>> {
    let mut chunk = Vec::new();
    chunk.try_reserve(room + 12)?;
    chunk.extend_from_slice(&[0; 4]);
    chunk.extend_from_slice(&kind);
    Ok(chunk)
}

/// Sets the length of a chunk, and appends its checksum.
fn finish_chunk(chunk: &mut Vec<u8>) -> Result<()> {
    let too_long =
        || Error::new(ErrorKind::Usage, "a chunk exceeds the PNG maximum of 2^31 - 1 bytes: the rows are too long");
    // Chunk lengths have 31 bits.
    let size = chunk.len().checked_sub(8).and_then(|size| u32::try_from(size).ok()).filter(|size| size >> 31 == 0);
    chunk[..4].copy_from_slice(&size.ok_or_else(too_long)?.to_be_bytes());
    let mut sum = Crc::new();
    sum.update(&chunk[4..]);
    chunk.try_reserve(4)?;
    chunk.extend_from_slice(&sum.sum().to_be_bytes());
    Ok(())
}

struct PngPages<'a> {
    image: &'a Image,
    /// Bytes per pixel.
    pixel_bytes: usize,
    /// Bytes per row.
    row_bytes: usize,
    part_rows: usize,
    level: Compression,
}

struct PngPageSlot {
    rows: Range<usize>,
    /// A row as stored, unfiltered.
    row: Vec<u8>,
    /// The row above it.
    above: Vec<u8>,
    /// The row with each filter applied.
    tried: [Vec<u8>; 5],
    filtered: Vec<u8>,
    chunk: Vec<u8>,
    sum: Adler,
    compress: Compress,
}

impl PngPages<'_> {
    /// Converts a row to stored samples.
    fn store(&self, number: usize, row: &mut Vec<u8>) {
        let row_samples = self.image.width * self.image.channels.count();
        let range = number * row_samples..(number + 1) * row_samples;
        row.clear();
        match &self.image.samples {
            Samples::U8(samples) if divides(self.image) => {
                let pixels = samples[range].chunks_exact(self.image.channels.count());
                pixels.for_each(|pixel| row.extend(divided(pixel).map(|sample| sample as u8)));
            }
            Samples::U16(samples) if divides(self.image) => {
                let pixels = samples[range].chunks_exact(self.image.channels.count());
                pixels.for_each(|pixel| row.extend(divided(pixel).flat_map(|sample| (sample as u16).to_be_bytes())));
            }
            Samples::U8(samples) => row.extend_from_slice(&samples[range]),
            Samples::U16(samples) => row.extend(samples[range].iter().flat_map(|sample| sample.to_be_bytes())),
            Samples::F32(_) => {}
        }
    }

    fn filter(&self, slot: &mut PngPageSlot) -> Result<()> {
        let PngPageSlot { rows, row, above, tried, filtered, .. } = slot;
        filtered.clear();
        filtered.try_reserve(rows.len() * (self.row_bytes + 1))?;
        [&mut *row, above].into_iter().chain(tried.iter_mut()).try_for_each(|row| {
            row.clear();
            row.try_reserve(self.row_bytes)
        })?;
        match rows.start.checked_sub(1) {
            Some(before) => self.store(before, above),
            None => above.resize(self.row_bytes, 0),
        }
        for number in rows.clone() {
            self.store(number, row);
            filter::append(row, above, self.pixel_bytes, tried, filtered);
            std::mem::swap(row, above);
        }
        Ok(())
    }

    fn is_last(&self, slot: &PngPageSlot) -> bool {
        slot.rows.end == self.image.height
    }

    /// Compresses the filtered rows into an unfinished chunk.
    fn pack(&self, slot: &mut PngPageSlot) -> Result<()> {
        slot.chunk = start_chunk(*b"IDAT", slot.filtered.len() / 2 + 64)?;
        if slot.rows.start == 0 {
            slot.chunk.extend_from_slice(&ZLIB_HEAD);
        }
        // Without a reset, a part could refer to bytes of the previous part in this slot.
        slot.compress.reset();
        let flush = if self.is_last(slot) { FlushCompress::Finish } else { FlushCompress::Sync };
        loop {
            let used = slot.compress.total_in() as usize;
            let status = slot.compress.compress_vec(&slot.filtered[used..], &mut slot.chunk, flush);
            let status = status.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
            // Spare capacity means that the compressor has no more output.
            if status == Status::StreamEnd || slot.chunk.len() < slot.chunk.capacity() {
                return Ok(());
            }
            slot.chunk.try_reserve(slot.filtered.len() / 4 + 64)?;
        }
    }
}

impl Pages for PngPages<'_> {
    type Slot = PngPageSlot;
    /// The combined checksum of all previous parts.
    type State = Adler;

    fn prepares(&self) -> bool {
        true
    }

    fn slot(&self) -> Result<PngPageSlot> {
        Ok(PngPageSlot {
            rows: 0..0,
            row: Vec::new(),
            above: Vec::new(),
            tried: Default::default(),
            filtered: Vec::new(),
            chunk: Vec::new(),
            sum: Adler::default(),
            compress: Compress::new(self.level, false),
        })
    }

    fn take(&self, number: u64, slot: &mut PngPageSlot) -> Result<bool> {
        slot.rows = page_of(number, self.part_rows, self.image.height);
        Ok(!slot.rows.is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn prepare(&self, slot: &mut PngPageSlot) -> Result<()> {
        self.filter(slot)?;
        slot.sum = Adler::from_bytes(&slot.filtered);
        self.pack(slot)
    }

    fn format(&self, slot: &mut PngPageSlot) -> Result<()> {
        // By now, `order` has combined the checksums of all parts.
        if self.is_last(slot) {
            slot.chunk.try_reserve(8)?;
            slot.chunk.extend_from_slice(&slot.sum.value().to_be_bytes());
        }
        finish_chunk(&mut slot.chunk)
    }

    fn order(&self, sum: &mut Adler, slot: &mut PngPageSlot) -> Result<()> {
        *sum = sum.then(slot.sum);
        slot.sum = *sum;
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a PngPageSlot) -> &'a [u8] {
        &slot.chunk
    }
}

/// Unpremultiplies a pixel, rounded to nearest; colors above alpha become the maximum.
fn divided<T: Copy + Into<u32> + Bounded>(pixel: &[T]) -> impl Iterator<Item = u32> {
    let max = T::MAX;
    let alpha = pixel.last().map_or(0, |alpha| (*alpha).into());
    let last = pixel.len().saturating_sub(1);
    pixel.iter().enumerate().map(move |(place, sample)| match (*sample).into() {
        alpha if place == last => alpha,
        _ if alpha == 0 => 0,
        sample => {
            ((u64::from(sample) * u64::from(max) + u64::from(alpha) / 2) / u64::from(alpha)).min(max.into()) as u32
        }
    })
}

/// Losses from unpremultiplying colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PngLosses {
    /// Pixels with alpha 0 whose colors become 0.
    pub hidden: u64,
    /// Samples above alpha, which become the maximum.
    pub above: u64,
    /// Other samples that are rounded.
    pub rounded: u64,
}

/// Counts the losses from writing an image. There are none if its colors need not be unpremultiplied.
pub fn losses(image: &Image) -> PngLosses {
    let size = image.channels.count();
    match &image.samples {
        _ if !divides(image) => PngLosses::default(),
        Samples::U8(samples) => lost(samples.chunks_exact(size)),
        Samples::U16(samples) => lost(samples.chunks_exact(size)),
        Samples::F32(_) => PngLosses::default(),
    }
}

fn lost<'a, T: Copy + Into<u32> + Bounded + 'a>(pixels: impl Iterator<Item = &'a [T]>) -> PngLosses {
    let mut losses = PngLosses::default();
    for pixel in pixels {
        let Some((alpha, colors)) = pixel.split_last() else { continue };
        let alpha: u32 = (*alpha).into();
        let mut colors = colors.iter().map(|color| (*color).into());
        // Dividing by full alpha changes nothing.
        if alpha == T::MAX {
            continue;
        }
        if alpha == 0 {
            losses.hidden += u64::from(colors.any(|color| color != 0));
            continue;
        }
        for color in colors {
            losses.above += u64::from(color > alpha);
            let rest = u64::from(color) * u64::from(T::MAX) % u64::from(alpha);
            losses.rounded += u64::from(color <= alpha && rest != 0);
        }
    }
    losses
}

/// A sample type with a maximum.
trait Bounded {
    const MAX: u32;
}

impl Bounded for u8 {
    const MAX: u32 = u8::MAX as u32;
}

impl Bounded for u16 {
    const MAX: u32 = u16::MAX as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_divided_by_alpha() {
        let samples = |pixel: &[u8]| divided(pixel).collect::<Vec<_>>();
        assert_eq!(samples(&[10, 64, 128]), [20, 128, 128]);
        assert_eq!(samples(&[10, 200, 0, 255]), [10, 200, 0, 255]);
        assert_eq!(samples(&[10, 0]), [0, 0]);
        assert_eq!(samples(&[200, 100]), [255, 100]);
        assert_eq!(divided(&[1_u16, 2, 3, 32768]).collect::<Vec<_>>(), [2, 4, 6, 32768]);
    }
}
