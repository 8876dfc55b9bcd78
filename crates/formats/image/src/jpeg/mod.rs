//! JPEG: photographs.
//!
//! How polyhaul interprets JPEG files where programs differ:
//!
//! - Gray stays gray; everything else becomes red, green and blue, including inks (CMYK, YCCK), without a profile.
//! - Pixels equal those of libjpeg with its accurate transform and interpolated colors, bit for bit.
//! - Pixels are kept as stored unless the caller requests the EXIF orientation (`unapplied-orientation`).
//!   Profiles are kept with the image and not applied (`changed-color-space`).
//! - The first picture of several (MPO) is read; the others are counted (`left-out-frames`), smaller copies are not.
//! - Scans may have any of the components in any order; a sequential component has one scan.
//! - Stray bytes between segments are skipped, as every common reader does (`stray-bytes`).
//! - Data that ends too early is an error, and so is a file without its last marker; bytes after it are ignored.
//!
//! Files are written as baseline JPEG (JFIF) of bytes in sRGB: gray as gray, colors as YCbCr, at full resolution
//! (4:4:4) from quality 90 on and at half of it in each direction (4:2:0) below. Since slightly different pixels are
//! the purpose of JPEG, they cause no warning. Each thread needs memory for a band of rows of about 512 KiB and its
//! compressed form.
//!
//! For a file with several scans, the decoder holds the coefficients of all blocks until the last scan: 2 bytes per
//! sample in addition to the image. `segments`, `frame`: headers and tables. `huffman`, `blocks`, `scans`: decoding of
//! coefficients. `transform`, `lines`: conversion to pixels. `reader`, `writer`: images. Format: ITU-T T.81.

mod blocks;
mod frame;
mod huffman;
mod lines;
mod markers;
mod reader;
mod scans;
mod segments;
mod transform;
mod writer;

pub use reader::read;
pub use writer::write;

/// Whether a file starts like a JPEG file.
pub fn looks_like_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}
