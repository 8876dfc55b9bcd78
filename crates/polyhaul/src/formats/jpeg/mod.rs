//! JPEG: photographs. They are read only.
//!
//! What polyhaul takes a JPEG file to mean where programs differ:
//!
//! - Gray stays gray; all others become red, green and blue, also inks (CMYK, YCCK), as if nothing were known of them.
//! - How a camera was held (the orientation of EXIF) is not looked at: pixels are as they are stored. Profiles are not
//!   applied.
//! - Data that ends too early is an error, and so is a file without its last mark; what follows it nobody looks at.
//!
//! The decoder holds the numbers of all blocks of a progressive file until its last scan: 2 bytes for each sample on
//! top of the image. `header`: what stands before the first scan. `reader`: the image. Format: ITU-T T.81.

mod header;
mod reader;

pub(crate) use reader::read;

/// Whether a file begins as one of these.
pub(crate) fn looks_like_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}
