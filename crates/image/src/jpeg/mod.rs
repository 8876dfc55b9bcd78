//! JPEG: photographs.
//!
//! What polyhaul takes a JPEG file to mean where programs differ:
//!
//! - Gray stays gray; all others become red, green and blue, also inks (CMYK, YCCK), without a profile.
//! - The orientation of EXIF is ignored: pixels are as they are stored. Profiles are not applied.
//! - Stray bytes between segments are skipped, as every common reader does (`stray-bytes`).
//! - Data that ends too early is an error, and so is a file without its last mark; bytes behind it are ignored.
//!
//! What is written is baseline JPEG (JFIF) of bytes in sRGB: gray as gray, colours as YCbCr, at full resolution (4:4:4)
//! from quality 90 on and at half of it each way (4:2:0) below. That the pixels are not quite the same is what JPEG is
//! for, and no warning. Writing takes a band of rows of about 512 KiB for each thread, and what becomes of it.
//!
//! The decoder holds the numbers of all blocks of a progressive file until its last scan: 2 bytes for each sample on
//! top of the image. `header`: what stands before the first scan. `reader`, `writer`: the image. Format: ITU-T T.81.

mod header;
mod reader;
mod writer;

pub use reader::read;
pub use writer::write;

/// Whether a file begins as one of these.
pub fn looks_like_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}
