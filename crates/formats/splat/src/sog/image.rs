//! Decodes the images of SOG, which are lossless WebP, into pixels of 4 bytes.
//!
//! The container is parsed here, so that sizes are checked before decoding and lossy images are rejected:
//!
//! | bytes | |
//! |---|---|
//! | 12 | `RIFF`, size, `WEBP` |
//! | 8, and its size | chunks: name, size; padded to an even size |
//!
//! The chunk `VP8L` holds the pixels: 0x2f, then width - 1 and height - 1 in 14 bits each, 1 bit for alpha, and 3 bits
//! for the version. Only this module uses the decoder crate.

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
/// Bytes of a chunk's name and size.
const CHUNK_BYTES: usize = 8;
/// Number of bytes of `VP8L` data up to and including the image size.
const SIZE_BYTES: usize = 5;
/// Mask of the alpha bit in the last byte of the image size.
const HAS_ALPHA: u8 = 1 << 4;

/// An image, which is encoded at first and then decoded.
pub(super) struct SogImage {
    /// File name, for messages.
    pub(super) name: Arc<str>,
    pub(super) width: usize,
    pub(super) height: usize,
    /// RGBA pixels in rows from the top; empty until the image is decoded.
    pixels: Vec<u8>,
    file: Vec<u8>,
    /// Range of the `VP8L` data in `file`.
    chunk: Range<usize>,
}

impl SogImage {
    /// Parses the size of an image.
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

    /// Returns the decoded RGBA pixels.
    pub(super) fn pixels(&self) -> &[[u8; 4]] {
        self.pixels.as_chunks().0
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file.len() as u64
    }

    /// Decodes the pixels and frees the encoded file.
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

/// Finds the `VP8L` data in a file.
fn pixel_chunk(name: &Arc<str>, file: &[u8]) -> Result<Range<usize>> {
    if !(file.starts_with(b"RIFF") && file.get(8..RIFF_BYTES) == Some(b"WEBP")) {
        return Err(unsupported(name, 0, "the image is not WebP"));
    }
    let mut start = RIFF_BYTES + CHUNK_BYTES;
    while let Some(&[a, b, c, d, size @ ..]) = file.get(start - CHUNK_BYTES..start).and_then(<[u8]>::first_chunk::<8>) {
        let size = u32::from_le_bytes(size) as usize;
        match &[a, b, c, d] {
            // `start` is inside the file, because the bytes before it were just read.
            b"VP8L" if file.len() - start >= size => return Ok(start..start + size),
            b"VP8L" => return Err(fault(name, file.len() as u64, "unexpected end of file in the pixels")),
            b"VP8 " => {
                return Err(unsupported(name, start as u64, "the image is lossy WebP, whose values are not exact"));
            }
            b"ANMF" => return Err(unsupported(name, start as u64, "the image is animated")),
            // Saturates, so that a huge size ends the loop.
            _ => start = start.saturating_add(size).saturating_add(size % 2).saturating_add(CHUNK_BYTES),
        }
    }
    Err(fault(name, file.len() as u64, "not a valid WebP image: it has no pixels"))
}

fn unsupported(name: &Arc<str>, at: u64, message: &str) -> Error {
    let expected = Some("lossless WebP".to_owned());
    Diagnostic { expected, ..Diagnostic::at(name, at, message) }.into_error(ErrorKind::Unsupported)
}

/// Removes all other chunks and sets the alpha bit, so that the decoder produces RGBA directly and nothing is copied.
fn only_pixels<'f>(file: &'f mut [u8], chunk: &Range<usize>) -> Option<&'f [u8]> {
    let start = chunk.start.checked_sub(RIFF_BYTES + CHUNK_BYTES)?;
    // For decoding, the bit is only a hint: the stored pixels always have alpha.
    *file.get_mut(chunk.start + SIZE_BYTES - 1)? |= HAS_ALPHA;
    let file = file.get_mut(start..chunk.end)?;
    let size = (chunk.len() as u32).to_le_bytes();
    let rest = (chunk.len() as u32).saturating_add(12).to_le_bytes();
    let head = [*b"RIFF", rest, *b"WEBP", *b"VP8L", size];
    file.get_mut(..RIFF_BYTES + CHUNK_BYTES)?.copy_from_slice(head.as_flattened());
    Some(file)
}
