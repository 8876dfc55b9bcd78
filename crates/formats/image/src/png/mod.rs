//! PNG: losslessly compressed images with samples of up to 16 bits.
//!
//! Choices where programs interpret PNG files differently:
//!
//! - Samples of 1, 2 and 4 bits are scaled to 8 bits; samples of 16 bits are kept. Palette colors become 8-bit pixels,
//!   with alpha if the file has a `tRNS` chunk. In files without a palette, `tRNS` is a single transparent color, which
//!   gets alpha 0; all other colors are opaque. Colors are unpremultiplied; premultiplied colors are unpremultiplied
//!   for writing.
//! - Samples are linear if declared so: `cICP` with linear transfer, or `gAMA` of 1 without `sRGB`. All other samples
//!   are assumed to be sRGB. Profiles (`iCCP`) and other color descriptions that are not sRGB are kept with the image
//!   and not applied (`changed-color-space`).
//! - Pixels are kept as stored unless the caller requests the EXIF orientation (`eXIf`) (`unapplied-orientation`).
//! - The CRCs of all chunks, including unused chunks, and the Adler-32 checksum of the pixels are verified. A damaged
//!   ancillary chunk is skipped (`bad-checksum`).
//! - An index outside the palette is an error, and so is a missing last chunk (`IEND`). Compressed data after the last
//!   row and bytes after the last chunk are ignored.
//! - An image larger than 512 MiB in a file over 100 times smaller is an error (`Limits::image_ratio`).
//! - Of an animation, the still image is read; frames are dropped with a warning (`left-out-frames`). A damaged or
//!   truncated animation does not affect the image (`broken-animation`).
//!
//! `reader`: decodes images with the `png` crate. `overlap`: decodes large images in parallel, with `idat` (compressed
//! data), `spans` (parts of the data decoded ahead) and `rows` (inflated rows to pixels). `still`: removes the chunks
//! of animations. `layout`: stored rows to pixels. `writer`: encodes images, with `filter` (row filters) and `sums`
//! (combinable checksums). Source: Portable Network Graphics (PNG) Specification, third edition (W3C).

mod filter;
mod idat;
mod layout;
mod overlap;
mod reader;
mod rows;
mod spans;
mod still;
mod sums;
mod writer;

pub use reader::read;
pub use writer::{PngLosses, losses, write};

/// The magic number of a file.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Returns whether a file starts like a PNG file.
pub fn looks_like_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}
