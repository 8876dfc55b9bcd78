//! The images of SOG: lossless WebP, as pixels of four bytes.
//!
//! The container is read here, so that sizes are checked before anything is decoded, and lossy images are rejected:
//!
//! | bytes | |
//! |---|---|
//! | 12 | `RIFF`, size, `WEBP` |
//! | 8, and its size | chunks: name, size; padded to an even size |
//!
//! The pixels are the chunk `VP8L`: 0x2f, then 14 bits each of width and height less 1, a bit for alpha, 3 for a
//! version. Only this module uses the crate that decodes.

use image_webp::{DecodingError, WebPDecoder};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;
use polyhaul_pipeline::arrays::zeroed;
use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

/// Bytes before the first chunk.
const RIFF_BYTES: usize = 12;
/// The name and the size of a chunk.
const CHUNK_BYTES: usize = 8;
/// Bytes of a chunk of pixels up to the size of the image.
const SIZE_BYTES: usize = 5;
/// The bit for alpha, in the last byte of the size.
const HAS_ALPHA: u8 = 1 << 4;

/// An image, first encoded, later decoded.
pub(super) struct SogImage {
    /// The name of its file in messages.
    pub(super) name: Arc<str>,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Four bytes each, row by row from the top; empty until they are decoded.
    pixels: Vec<u8>,
    file: Vec<u8>,
    /// The data of the chunk of pixels.
    chunk: Range<usize>,
}

impl SogImage {
    /// Reads the size of an image.
    pub(super) fn new(name: Arc<str>, file: Vec<u8>, limits: &Limits) -> Result<SogImage> {
        let chunk = pixel_chunk(&name, &file)?;
        let data = file.get(chunk.clone()).unwrap_or_default();
        let Some(&[0x2f, a, b, c, d]) = data.first_chunk::<SIZE_BYTES>() else {
            return Err(fault(&name, chunk.start as u64, "not a valid WebP image: its size is missing"));
        };
        let size = u32::from_le_bytes([a, b, c, d]);
        let [width, height] = [size, size >> 14].map(|side| (side & 0x3fff) as usize + 1);
        check_size([width, height], limits, &name, chunk.start as u64)?;
        Ok(SogImage { name, width, height, pixels: Vec::new(), file, chunk })
    }

    pub(super) fn pixel_count(&self) -> usize {
        self.width * self.height
    }

    /// Red, green, blue and alpha of each pixel that was decoded.
    pub(super) fn pixels(&self) -> &[[u8; 4]] {
        self.pixels.as_chunks().0
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file.len() as u64
    }

    /// Decodes the pixels, and frees the file.
    pub(super) fn decode(&mut self) -> Result<()> {
        let mut file = std::mem::take(&mut self.file);
        let at = self.chunk.start as u64;
        self.pixels = zeroed(4 * self.pixel_count(), "an image")?;
        let decoded = only_pixels(&mut file, &self.chunk).ok_or(DecodingError::ChunkMissing).and_then(|file| {
            let mut decoder = WebPDecoder::new(Cursor::new(file))?;
            decoder.read_image(&mut self.pixels)
        });
        decoded.map_err(|error| {
            fault(&self.name, at, format!("not a valid WebP image: {}", error.to_string().to_ascii_lowercase()))
        })
    }
}

/// The range of the pixels in a file.
fn pixel_chunk(name: &Arc<str>, file: &[u8]) -> Result<Range<usize>> {
    if !(file.starts_with(b"RIFF") && file.get(8..RIFF_BYTES) == Some(b"WEBP")) {
        return Err(unsupported(name, 0, "the image is not WebP"));
    }
    let mut start = RIFF_BYTES + CHUNK_BYTES;
    while let Some(&[a, b, c, d, size @ ..]) = file.get(start - CHUNK_BYTES..start).and_then(<[u8]>::first_chunk::<8>) {
        let size = u32::from_le_bytes(size) as usize;
        match &[a, b, c, d] {
            b"VP8L" if file.len() - start >= size => return Ok(start..start + size),
            b"VP8L" => return Err(fault(name, file.len() as u64, "unexpected end of file in the pixels")),
            b"VP8 " => {
                return Err(unsupported(name, start as u64, "the image is lossy WebP, whose values are not exact"));
            }
            b"ANMF" => return Err(unsupported(name, start as u64, "the image is animated")),
            _ => start = start.saturating_add(size).saturating_add(size % 2).saturating_add(CHUNK_BYTES),
        }
    }
    Err(fault(name, file.len() as u64, "not a valid WebP image: it has no pixels"))
}

fn unsupported(name: &Arc<str>, at: u64, message: &str) -> Error {
    let error = Diagnostic::at(name, at, message).into_error(ErrorKind::Unsupported);
    error.with_hint("SOG images must be lossless WebP")
}

/// The same file without other chunks. Its alpha bit is set, so that decoders produce pixels of four bytes for all
/// images, and none has to be copied.
fn only_pixels<'f>(file: &'f mut [u8], chunk: &Range<usize>) -> Option<&'f [u8]> {
    let start = chunk.start.checked_sub(RIFF_BYTES + CHUNK_BYTES)?;
    *file.get_mut(chunk.start + SIZE_BYTES - 1)? |= HAS_ALPHA;
    let file = file.get_mut(start..chunk.end)?;
    let size = (chunk.len() as u32).to_le_bytes();
    let rest = (chunk.len() as u32).saturating_add(12).to_le_bytes();
    let head = [*b"RIFF", rest, *b"WEBP", *b"VP8L", size];
    file.get_mut(..RIFF_BYTES + CHUNK_BYTES)?.copy_from_slice(head.as_flattened());
    Some(file)
}
