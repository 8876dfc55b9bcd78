//! Writes JPEG files: bands of rows are encoded in parallel and joined into one scan.
//!
//! Bands are separated by restart markers (T.81, B.1.1.3), at which predictions are reset and bits are byte-aligned, so
//! bands are independent. The size of a band depends only on the width, so the output does not depend on the number of
//! threads. Only this module uses the encoder library, `jpeg-encoder`: it encodes each band as a separate image, whose
//! header and markers are removed.

use crate::raster::page_of;
use jpeg_encoder::{ColorType, Encoder, EncodingError, JfifWrite, SamplingFactor};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{Channels, Image, Samples};
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::{Range, RangeInclusive};

/// Approximate size of the pixels of a band. The output depends on it.
const BAND_BYTES: usize = 512 << 10;

/// Maximum number of rows, and of columns.
const MAX_SIDE: usize = u16::MAX as usize;

/// Valid qualities.
const QUALITIES: RangeInclusive<u8> = 1..=100;

/// Minimum quality for full chroma resolution (4:4:4); below it, chroma is subsampled (4:2:0).
const MIN_FULL_QUALITY: u8 = 90;

/// The end marker (EOI), and the first of the cyclic restart markers (RST0 to RST7) between bands.
const END: [u8; 2] = [0xFF, 0xD9];
const RESTART: u8 = 0xD0;

/// The prefix of a profile segment (ICC.1:2022, Annex B.4), and the maximum size of its part of the profile.
const PROFILE_NAME: &[u8] = b"ICC_PROFILE\0";
const PROFILE_BYTES: usize = 65_535 - 2 - PROFILE_NAME.len() - 2;

/// Offset of the image height in a frame segment: after the marker, the length and the sample precision.
const HEIGHT_AT: usize = 5;

/// Writes an 8-bit image without alpha.
///
/// # Errors
/// [`ErrorKind::Usage`] for other samples and channels, unsupported sizes, and an invalid quality.
pub fn write(image: &Image, style: &ImageWriteOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let usage = |message: String| Error::new(ErrorKind::Usage, message);
    let samples = match &image.samples {
        Samples::U8(samples) if !image.channels.has_alpha() => samples,
        _ => return Err(usage("JPEG stores 8-bit samples without alpha".into()).with_hint("convert it to 8-bit RGB")),
    };
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&image.width) || !sides.contains(&image.height) {
        let Image { width, height, .. } = image;
        return Err(usage(format!(
            "JPEG cannot store {width} x {height} pixels; expected 1 to {MAX_SIDE} rows and columns"
        )));
    }
    let quality = style.quality;
    if !QUALITIES.contains(&quality) {
        return Err(usage(format!("invalid JPEG quality {quality}; expected 1 to 100")));
    }
    let bands = JpegPages::new(image, samples, quality);
    // Encoded here only for its header; `format` encodes it again.
    let mut first = Band::default();
    bands.take(0, &mut first)?;
    bands.encode(&mut first)?;
    writing.set_head(header(&first, image)?);
    writing.announce((samples.len() / 8) as u64);
    let count = image.height.div_ceil(bands.rows) as u64;
    writing.pages(&bands, &mut (), count, 2 * bands.rows * bands.row_bytes)
}

/// Returns whether JPEG can store an ICC profile, which has at most 255 parts.
pub fn stores(icc: &[u8]) -> bool {
    icc.len() <= 255 * PROFILE_BYTES
}

/// Splits an image into bands.
struct JpegPages<'a> {
    image: &'a Image,
    samples: &'a [u8],
    row_bytes: usize,
    /// Rows per band.
    rows: usize,
    /// MCUs per band: the restart interval.
    interval: u16,
    quality: u8,
}

/// A band, encoded as a separate file.
#[derive(Default)]
struct Band {
    number: u64,
    rows: Range<usize>,
    file: Encoded,
    /// The range of its compressed pixels in the file.
    pixels: Range<usize>,
}

/// The output buffer of the encoder.
#[derive(Default)]
struct Encoded(Vec<u8>);

impl JfifWrite for &mut Encoded {
    fn write_all(&mut self, bytes: &[u8]) -> std::result::Result<(), EncodingError> {
        self.0.try_reserve(bytes.len()).map_err(|_| EncodingError::Write("out of memory".into()))?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl<'a> JpegPages<'a> {
    fn new(image: &'a Image, samples: &'a [u8], quality: u8) -> JpegPages<'a> {
        let row_bytes = image.width * image.channels.count();
        // Side of an MCU: a block of 8 x 8 pixels, or four blocks with subsampled chroma.
        let side = if image.channels == Channels::Gray || quality >= MIN_FULL_QUALITY { 8 } else { 16 };
        let across = image.width.div_ceil(side);
        // A restart interval has 16 bits.
        let max_down = usize::from(u16::MAX) / across;
        let down = (BAND_BYTES / (row_bytes * side)).clamp(1, max_down);
        JpegPages { image, samples, row_bytes, rows: down * side, interval: (down * across) as u16, quality }
    }

    /// Encodes a band, and locates its compressed pixels.
    fn encode(&self, band: &mut Band) -> Result<()> {
        band.file.0.clear();
        let mut encoder = Encoder::new(&mut band.file, self.quality);
        encoder.set_restart_interval(self.interval);
        encoder.set_sampling_factor(match self.quality {
            MIN_FULL_QUALITY.. => SamplingFactor::F_1_1,
            _ => SamplingFactor::F_2_2,
        });
        let kind = if self.image.channels == Channels::Gray { ColorType::Luma } else { ColorType::Rgb };
        let samples = &self.samples[band.rows.start * self.row_bytes..band.rows.end * self.row_bytes];
        let width = self.image.width as u16;
        let height = band.rows.len() as u16;
        encoder.encode(samples, width, height, kind).map_err(|error| match error {
            EncodingError::Write(_) => Error::memory("a part of an image"),
            error => Error::new(ErrorKind::Internal, error.to_string()),
        })?;
        let start = segments(&band.file.0).last().map(|(_, segment)| segment.end);
        let end = band.file.0.len() - END.len();
        band.pixels = start.filter(|start| *start <= end).ok_or_else(broken)?..end;
        Ok(())
    }
}

/// Creates the error for invalid output of the encoder.
fn broken() -> Error {
    Error::new(ErrorKind::Internal, "the encoder wrote no image")
}

/// Iterates over markers and the ranges of their segments, up to the first scan header.
fn segments(file: &[u8]) -> impl Iterator<Item = (u8, Range<usize>)> {
    const SCAN: u8 = 0xDA;
    // The start marker has no length.
    let mut next = Some(2);
    std::iter::from_fn(move || {
        let start = next?;
        let Some(&[0xFF, mark, high, low]) = file.get(start..)?.first_chunk() else { return None };
        let end = start + 2 + usize::from(u16::from_be_bytes([high, low]));
        next = (mark != SCAN).then_some(end);
        Some((mark, start..end))
    })
}

/// Builds the header of the whole image: the header of a band with the full height and the profile.
fn header(band: &Band, image: &Image) -> Result<Vec<u8>> {
    let mut header = Vec::new();
    let profile = image.profile.icc.as_deref().filter(|icc| stores(icc)).unwrap_or_default();
    header.try_reserve_exact(band.pixels.start + profile.len() + 32 * profile.len().div_ceil(PROFILE_BYTES))?;
    header.extend_from_slice(&band.file.0[..band.pixels.start]);
    // SOF0: the encoder writes baseline JPEG.
    const FRAME: u8 = 0xC0;
    let frame = segments(&header).find(|(mark, _)| *mark == FRAME).ok_or_else(broken)?.1.start;
    let place = header.get_mut(frame + HEIGHT_AT..frame + HEIGHT_AT + 2).ok_or_else(broken)?;
    place.copy_from_slice(&(image.height as u16).to_be_bytes());
    // The profile follows the JFIF segment, which is the first segment. Parts are inserted in reverse, so that they end
    // up in order.
    let first = segments(&header).next().ok_or_else(broken)?.1.end;
    let count = profile.len().div_ceil(PROFILE_BYTES);
    for (index, part) in profile.chunks(PROFILE_BYTES).enumerate().rev() {
        let length = (2 + PROFILE_NAME.len() + 2 + part.len()) as u16;
        let segment =
            [&[0xFF, 0xE2][..], &length.to_be_bytes(), PROFILE_NAME, &[index as u8 + 1, count as u8], part].concat();
        header.splice(first..first, segment);
    }
    Ok(header)
}

impl Pages for JpegPages<'_> {
    type Slot = Band;
    type State = ();

    fn slot(&self) -> Result<Band> {
        Ok(Band::default())
    }

    fn take(&self, number: u64, band: &mut Band) -> Result<bool> {
        band.number = number;
        band.rows = page_of(number, self.rows, self.image.height);
        Ok(!band.rows.is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn format(&self, band: &mut Band) -> Result<()> {
        self.encode(band)?;
        // Replaces the end marker of a band with a restart marker, except in the last band.
        if band.rows.end < self.image.height {
            let mark = band.pixels.end + 1;
            band.file.0[mark] = RESTART + (band.number % 8) as u8;
        }
        band.pixels.end += END.len();
        Ok(())
    }

    fn bytes<'a>(&'a self, band: &'a Band) -> &'a [u8] {
        &band.file.0[band.pixels.clone()]
    }
}
