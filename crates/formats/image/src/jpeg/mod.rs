//! JPEG: photographs.
//!
//! Choices where programs interpret JPEG files differently:
//!
//! - Gray stays gray; all other color models become RGB, including inks (CMYK, YCCK), which are converted without a
//!   profile.
//! - Pixels equal those of libjpeg with its accurate transform and interpolated chroma, bit for bit.
//! - Pixels are kept as stored unless the caller requests the EXIF orientation (`unapplied-orientation`). Profiles are
//!   kept with the image and not applied (`changed-color-space`).
//! - Of multiple images (MPO), the first is read; other images, except thumbnails, are counted (`left-out-frames`).
//! - Scans may contain any components in any order. In a sequential image, each component has one scan.
//! - Stray bytes between segments are skipped, as in all common readers (`stray-bytes`).
//! - Truncated pixels are an error. If only the end marker is missing, reading can continue past the error with the
//!   whole image (`truncated`). Bytes after the end marker are ignored.
//!
//! Files are written as 8-bit baseline JPEG (JFIF) in sRGB: gray images as gray, colors as YCbCr, at full resolution
//! (4:4:4) at quality 90 and above, and at half resolution (4:2:0) below. The writer reports
//! no loss; its caller warns that samples change. Each thread needs memory for a band of rows of about 512 KiB and its
//! compressed form.
//!
//! For a file with several scans, the decoder keeps the coefficients of all blocks until the last scan: 2 bytes per
//! sample, in addition to the image. `segments`, `frame`: headers and tables. `huffman`, `blocks`, `scans`: decoding of
//! coefficients. `transform`, `lines`: conversion to pixels. `reader`, `writer`: images. Source: ITU-T T.81.

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
pub use writer::{stores, write};

/// Returns whether a file starts like a JPEG file.
pub fn looks_like_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}
