//! PNG.
//!
//! How polyhaul interprets PNG files where programs differ:
//!
//! - Samples of 1, 2 and 4 bits are scaled to 8; those of 16 bits stay. Palette colors become pixels of 8 bits, with
//!   alpha if the file has a list of it (`tRNS`). In other files `tRNS` is one transparent color, which gets alpha 0;
//!   all others are opaque. Colors are not premultiplied; premultiplied ones are divided by alpha when they are
//!   written.
//! - Samples are linear if the file declares it: `cICP` with the linear transfer, or `gAMA` of 1 and no `sRGB`. All
//!   others are taken for sRGB. Profiles (`iCCP`) and other descriptions of colors that are not sRGB are kept with the
//!   image, and are not applied (`changed-color-space`).
//! - Pixels are kept as stored unless the caller requests the EXIF orientation (`eXIf`)
//!   (`unapplied-orientation`).
//! - Checksums (CRC) of all chunks are verified, including unused ones, and the checksum of the pixels (Adler-32) too.
//!   A damaged ancillary chunk is skipped (`bad-checksum`).
//! - A color that the palette does not have is an error. Compressed data after the last row and bytes after the last
//!   chunk are ignored. A file without its last chunk is truncated.
//! - An image of more than 512 MiB in a file that is over 100 times smaller is refused (`Limits::image_ratio`).
//! - The still image of an animation is read, and its frames are dropped with a warning (`left-out-frames`). A damaged
//!   or truncated animation does not affect the image (`broken-animation`).
//!
//! `reader`: the image, by the library. `overlap`: the same for large images, on one thread or more, with `idat`:
//! compressed data, `spans`: parts of it decoded ahead, and `rows`: inflated rows to pixels. `still`: chunks without
//! those of an animation. `layout`: stored rows to pixels. `writer`: the opposite direction, `filter`: filters of rows,
//! `sums`: checksums of parts. Format: Portable Network Graphics (PNG) Specification, third edition (W3C).

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

/// The first bytes of a file.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Whether a file starts like a PNG file.
pub fn looks_like_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}
