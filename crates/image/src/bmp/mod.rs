//! BMP: bitmaps of Windows and OS/2.
//!
//! What polyhaul takes a BMP file to mean where programs differ:
//!
//! - Pixels of 32 bits have alpha where a header of 56 bytes or more has a mask for it and says that there are masks;
//!   otherwise their last byte means nothing.
//! - Channels of any bits become 8 bits, rounded to the nearest.
//! - Pixels that runs pass over (RLE) have the first colour, or are black if there is no palette. A run that passes the
//!   end of its row is cut there, as every common reader does (`cut-run`). A move outside of the image is an error, and
//!   so is a colour that the palette does not have.
//! - With the header of OS/2 2 (16 to 39 or 64 bytes) compression 4 is RLE of 24 bits.
//! - Pixels start where the file header says; colour profiles are skipped.
//! - Embedded JPEG and PNG and Huffman codes are not supported.
//!
//! `header`: all that stands before the pixels. `reader`: rows. `runs`: RLE. Sources: Microsoft's `BITMAPFILEHEADER`,
//! `BITMAPINFOHEADER`, `BITMAPV4HEADER`, `BITMAPV5HEADER`, `BITMAPCOREHEADER` and "Bitmap Compression".

mod header;
mod reader;
mod runs;

pub use reader::read;

/// Whether a file begins as one of these.
pub fn looks_like_bmp(bytes: &[u8]) -> bool {
    // The letters alone are few; behind the file header the size of the next one is a small number.
    let size = bytes.get(14..).and_then(|rest| rest.first_chunk()).map(|size| u32::from_le_bytes(*size));
    bytes.starts_with(b"BM") && size.is_none_or(|size| matches!(size, 12 | 16..=124))
}
