//! Images to JPEG: bands of rows that are encoded in parallel and joined in one scan.
//!
//! Bands are separated by a restart marker (T.81, B.1.1.3), after which a decoder starts anew: predictions are reset
//! and bits start at a byte, so no band needs the previous one. The size of a band depends only on the width, so the
//! bytes do not depend on the number of threads. Only this module uses the library that encodes, `jpeg-encoder`: it
//! gets a band as a separate image, whose header and markers are removed.

use crate::raster::page_of;
use jpeg_encoder::{ColorType, Encoder, EncodingError, JfifWrite, SamplingFactor};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{Channels, Image, Samples};
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::{Range, RangeInclusive};

/// Approximate bytes of the pixels of a band. The bytes of the file depend on it.
const BAND_BYTES: usize = 512 << 10;

/// Maximum rows and columns.
const MAX_SIDE: usize = u16::MAX as usize;

/// Valid qualities.
const QUALITIES: RangeInclusive<u8> = 1..=100;

/// From this quality on, colors are stored for every pixel (4:4:4), below it for every fourth one (4:2:0).
const MIN_FULL_QUALITY: u8 = 90;

/// The markers that end an image (EOI) and a band (RST0 to RST7, in turn).
const END: [u8; 2] = [0xFF, 0xD9];
const RESTART: u8 = 0xD0;

/// The start of a segment with a part of a profile (ICC.1:2022, Annex B.4), and the largest such part.
const PROFILE_NAME: &[u8] = b"ICC_PROFILE\0";
const PROFILE_BYTES: usize = 65_535 - 2 - PROFILE_NAME.len() - 2;

/// The place of the image's height in a frame: after the marker, the length and the bits per sample.
const HEIGHT_AT: usize = 5;

/// Writes an image of bytes without alpha.
///
/// # Errors
/// [`ErrorKind::Usage`] for other samples and channels, a size that JPEG cannot store, and an invalid quality.
pub fn write(image: &Image, style: &ImageWriteOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let usage = |message: String| Error::new(ErrorKind::Usage, message);
    let samples = match &image.samples {
        Samples::U8(samples) if !image.channels.has_alpha() => samples,
        _ => return Err(usage("JPEG stores 8-bit samples without alpha".into()).with_hint("convert the image first")),
    };
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&image.width) || !sides.contains(&image.height) {
        let Image { width, height, .. } = image;
        return Err(usage(format!(
            "JPEG stores images of 1 to {MAX_SIDE} rows and columns, not {width} x {height} pixels"
        )));
    }
    let quality = style.quality;
    if !QUALITIES.contains(&quality) {
        return Err(usage(format!("invalid JPEG quality {quality}; expected 1 to 100")));
    }
    let bands = JpegPages::new(image, samples, quality);
    let mut first = Band::default();
    bands.take(0, &mut first)?;
    bands.encode(&mut first)?;
    writing.set_head(header(&first, image)?);
    writing.announce((samples.len() / 8) as u64);
    let count = image.height.div_ceil(bands.rows) as u64;
    writing.pages(&bands, &mut (), count, 2 * bands.rows * bands.row_bytes)
}

/// Rows that are encoded together.
struct JpegPages<'a> {
    image: &'a Image,
    samples: &'a [u8],
    row_bytes: usize,
    /// Rows of a band.
    rows: usize,
    /// Blocks of a band: the restart interval of the decoder.
    interval: u16,
    quality: u8,
}

/// A band as a separate file.
#[derive(Default)]
struct Band {
    number: u64,
    rows: Range<usize>,
    file: Encoded,
    /// The range of its pixels.
    pixels: Range<usize>,
}

/// The output of an encoder.
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
        // The side of the unit of restart intervals (an MCU): a block of 8 x 8, or four of them if colors are halved.
        let side = if image.channels == Channels::Gray || quality >= MIN_FULL_QUALITY { 8 } else { 16 };
        let across = image.width.div_ceil(side);
        // An interval is a number of 16 bits.
        let max_down = usize::from(u16::MAX) / across;
        let down = (BAND_BYTES / (row_bytes * side)).clamp(1, max_down);
        JpegPages { image, samples, row_bytes, rows: down * side, interval: (down * across) as u16, quality }
    }

    /// Encodes a band, and locates its pixels.
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

/// The error for an output of the encoder that is not an image.
fn broken() -> Error {
    Error::new(ErrorKind::Internal, "the encoder wrote no image")
}

/// Marks with their segments, up to the first scan.
fn segments(file: &[u8]) -> impl Iterator<Item = (u8, Range<usize>)> {
    const SCAN: u8 = 0xDA;
    let mut next = Some(2);
    std::iter::from_fn(move || {
        let start = next?;
        let Some(&[0xFF, mark, high, low]) = file.get(start..)?.first_chunk() else { return None };
        let end = start + 2 + usize::from(u16::from_be_bytes([high, low]));
        next = (mark != SCAN).then_some(end);
        Some((mark, start..end))
    })
}

/// Everything before the pixels of the whole image: the header of a band with another height.
fn header(band: &Band, image: &Image) -> Result<Vec<u8>> {
    let mut header = Vec::new();
    let profile = image.profile.icc.as_deref().unwrap_or_default();
    // More parts have no numbers.
    let profile = if profile.len() > 255 * PROFILE_BYTES { &[] } else { profile };
    header.try_reserve_exact(band.pixels.start + profile.len() + 32 * profile.len().div_ceil(PROFILE_BYTES))?;
    header.extend_from_slice(&band.file.0[..band.pixels.start]);
    const FRAME: u8 = 0xC0;
    let frame = segments(&header).find(|(mark, _)| *mark == FRAME).ok_or_else(broken)?.1.start;
    let place = header.get_mut(frame + HEIGHT_AT..frame + HEIGHT_AT + 2).ok_or_else(broken)?;
    place.copy_from_slice(&(image.height as u16).to_be_bytes());
    // The profile follows the first segment, which is that of JFIF.
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
        // The end marker of a band becomes a restart marker, unless it is the last one.
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
