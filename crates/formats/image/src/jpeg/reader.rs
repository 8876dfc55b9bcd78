//! The pixels of a JPEG file to an image.

use super::header;
use super::header::JpegFrame;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted};
use polyhaul_model::pixels::{check_ratio, min_file_bytes};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Channels, Image, Samples};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::{BlockReader, Decoding};
use std::sync::Arc;
use zune_core::bytestream::ZByteIoError;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

/// The offset of errors about the size: the offset of the frame is not known any more.
const SIZE_AT: u64 = 0;

/// The mark that ends an image.
const END: [u8; 2] = [0xFF, 0xD9];

/// Maximum pixels that a byte can hold: one bit for a block of 8 x 8. Files that claim more are truncated.
const MAX_PIXELS_PER_BYTE: usize = 8 * 64;

/// Maximum scans of a progressive file. Each visits all pixels, however few bytes it has.
const MAX_SCANS: usize = 100;

/// Reads a file.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Image> {
    let file: Arc<str> = bytes.name().into();
    let decoding = Decoding::new(&bytes, &options.run);
    let mut reader = decoding.reader();
    reader.keep_all();
    let frame = header::read(&mut reader, &file, options, warnings)?;
    reader.rewind();
    check_backed(&bytes, &mut reader, &frame, options)?;
    let mut samples = room(&frame)?;
    let result = decode(reader, &frame, &mut samples);
    if let Some(error) = decoding.failed() {
        return Err(error);
    }
    result.map_err(|error| of_decoder(error, &file, decoding.at()))?;
    if decoding.last() != END && !planted("jpg-end") {
        return Err(fault(&file, decoding.at(), "the image does not end with FF D9: the file is truncated or damaged"));
    }
    decoding.finish()?;
    let JpegFrame { width, height, .. } = frame;
    let channels = frame.channels();
    Ok(Image { width, height, channels, samples: Samples::U8(samples.into()), ..Image::default() })
}

impl JpegFrame {
    fn channels(&self) -> Channels {
        if self.components == 1 { Channels::Gray } else { Channels::Rgb }
    }

    fn sample_count(&self) -> usize {
        self.width * self.height * self.channels().count()
    }
}

/// An error if the file is too small for the pixels that it claims.
fn check_backed(
    bytes: &Bytes<'_>,
    reader: &mut BlockReader<'_>,
    frame: &JpegFrame,
    options: &ParseOptions,
) -> Result<()> {
    let JpegFrame { width, height, .. } = *frame;
    let file = &bytes.name().into();
    let samples = frame.sample_count() as u64;
    let min_by_ratio = usize::try_from(min_file_bytes(samples, &options.limits)).unwrap_or(usize::MAX);
    let min_bytes = (width * height / MAX_PIXELS_PER_BYTE).max(min_by_ratio);
    let size = match bytes.len().filter(|_| bytes.is_backed()) {
        Some(size) => size,
        None => {
            // Segments that the decoder does not need were dropped.
            let dropped = reader.offset();
            let rest = min_bytes.saturating_sub(usize::try_from(dropped).unwrap_or(usize::MAX));
            dropped + reader.ensure(rest)?.len() as u64
        }
    };
    if size < (width * height / MAX_PIXELS_PER_BYTE) as u64 {
        let message = format!("unexpected end of file: the header declares {width} x {height} pixels");
        return Err(fault(file, size, message));
    }
    check_ratio(samples, size, &options.limits, file, SIZE_AT)
}

/// Room for the samples.
fn room(frame: &JpegFrame) -> Result<Vec<u8>> {
    let samples = zeroed(frame.sample_count(), "an image")?;
    if frame.is_progressive {
        // The decoder cannot report a lack of memory, so that is checked here.
        let numbers = frame.width.next_multiple_of(64) * frame.height.next_multiple_of(64) * frame.components;
        Vec::<i16>::new().try_reserve_exact(numbers).map_err(|_| Error::memory("a progressive image"))?;
    }
    Ok(samples)
}

fn decode(reader: BlockReader<'_>, frame: &JpegFrame, samples: &mut [u8]) -> std::result::Result<(), DecodeErrors> {
    let target = if frame.channels() == Channels::Gray { ColorSpace::Luma } else { ColorSpace::RGB };
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(frame.width)
        .set_max_height(frame.height)
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(target);
    let mut decoder = JpegDecoder::new_with_options(reader, options);
    decoder.decode_headers()?;
    if decoder.output_buffer_size() != Some(samples.len()) {
        return Err(DecodeErrors::FormatStatic("the file declares a second size"));
    }
    decoder.decode_into(samples)
}

fn of_decoder(error: DecodeErrors, file: &Arc<str>, at: u64) -> Error {
    match error {
        DecodeErrors::Unsupported(what) => {
            Diagnostic::at(file, at, format!("this kind of JPEG is not supported: {what:?}"))
                .into_error(ErrorKind::Unsupported)
        }
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(ZByteIoError::NotEnoughBytes(..)) => {
            fault(file, at, "unexpected end of file")
        }
        error => {
            let message = error.to_string();
            fault(file, at, format!("not a valid JPEG: {}", message.trim().trim_end_matches('.')))
        }
    }
}
