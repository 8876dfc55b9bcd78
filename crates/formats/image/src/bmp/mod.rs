//! BMP: bitmaps from Windows and OS/2.
//!
//! Choices where programs interpret BMP files differently:
//!
//! - Pixels have alpha if the header declares masks and there is a mask for alpha: in a header of at least 56 bytes, or
//!   after a header of 40 bytes with compression 6. Otherwise, the last byte of 32-bit pixels is ignored.
//! - Samples have 8 bits, or 16 bits if a channel mask has more than 8 bits, rounded to nearest.
//! - Pixels skipped by runs (RLE) have the first color of the palette, or are black without a palette. A run that
//!   extends past the end of its row is truncated, as in all common readers (`cut-run`). A delta that moves outside the
//!   image and an index outside the palette are errors.
//! - With the OS/2 2 header (16 to 39 or 64 bytes), compression 4 is RLE24.
//! - Pixels start at the offset in the file header. An embedded ICC profile is kept, or dropped with a warning if it is
//!   damaged (`changed-color-space`); other color spaces are ignored.
//! - Embedded JPEG and PNG and Huffman coding are not supported.
//!
//! `header`: everything before the pixels. `reader`: rows. `runs`: RLE. Sources: Microsoft's `BITMAPFILEHEADER`,
//! `BITMAPINFOHEADER`, `BITMAPV4HEADER`, `BITMAPV5HEADER`, `BITMAPCOREHEADER` and "Bitmap Compression".

mod header;
mod reader;
mod runs;

pub use reader::read;

/// Returns whether a file starts like a BMP file.
pub fn looks_like_bmp(bytes: &[u8]) -> bool {
    // Two letters do not identify a format, so the size of the second header is also checked.
    let size = bytes.get(14..).and_then(|rest| rest.first_chunk()).map(|size| u32::from_le_bytes(*size));
    bytes.starts_with(b"BM") && size.is_none_or(|size| matches!(size, 12 | 16..=124))
}
