//! BMP: bitmaps of Windows and OS/2.
//!
//! How polyhaul interprets BMP files where programs differ:
//!
//! - Pixels of 32 bits have alpha if a header of at least 56 bytes has a mask for it and declares that there are masks;
//!   otherwise their last byte is ignored.
//! - Channels of any bits become 8 bits, rounded to the nearest.
//! - Pixels that runs skip (RLE) have the first color, or are black if there is no palette. A run that exceeds the end
//!   of its row is cut there, as every common reader does (`cut-run`). A move outside of the image is an error, and so
//!   is a color that the palette does not have.
//! - With the header of OS/2 2 (16 to 39 or 64 bytes) compression 4 is RLE of 24 bits.
//! - Pixels start at the offset in the file header; color profiles are skipped.
//! - Embedded JPEG and PNG and Huffman codes are not supported.
//!
//! `header`: everything before the pixels. `reader`: rows. `runs`: RLE. Sources: Microsoft's `BITMAPFILEHEADER`,
//! `BITMAPINFOHEADER`, `BITMAPV4HEADER`, `BITMAPV5HEADER`, `BITMAPCOREHEADER` and "Bitmap Compression".

mod header;
mod reader;
mod runs;

pub use reader::read;

/// Whether a file starts like a BMP file.
pub fn looks_like_bmp(bytes: &[u8]) -> bool {
    // Two letters are not enough to identify a format; the size of the next header, after the file header, is a small
    // number.
    let size = bytes.get(14..).and_then(|rest| rest.first_chunk()).map(|size| u32::from_le_bytes(*size));
    bytes.starts_with(b"BM") && size.is_none_or(|size| matches!(size, 12 | 16..=124))
}
