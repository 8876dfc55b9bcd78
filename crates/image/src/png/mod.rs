//! PNG.
//!
//! What polyhaul takes a PNG file to mean where programs differ:
//!
//! - Samples of 1, 2 and 4 bits become 8, so that the largest becomes 255; those of 16 bits stay. Colours of a
//!   palette become pixels of 8 bits, with alpha where the file has a list of it (`tRNS`). The one colour that it makes
//!   transparent in other files becomes alpha 0, and all others have the largest. Colours are not multiplied with
//!   alpha; those that are get divided by it when they are written.
//! - Samples are linear where the file says so: `cICP` with the linear transfer, or `gAMA` of 1 and no `sRGB`.
//!   All others are taken for sRGB; profiles (`iCCP`) are not looked at.
//! - Sums (CRC) of all chunks are checked, also of those that nobody needs, and the sum of the pixels (Adler-32) too.
//! - A colour that the palette does not have is an error. Compressed data behind the last row and bytes behind the last
//!   chunk are ignored. A file without its last chunk is cut.
//! - An image of more than 512 MiB in a file that is over 100 times smaller is refused (`Limits::image_ratio`).
//! - Of an animation the still image is read, and the frames beside it are dropped with a warning (`left-out-frames`).
//!   A damaged animation, also one that is cut off, does not affect the image (`broken-animation`).
//!
//! `reader`: the image, in order. `still`: chunks without those of an animation. `layout`: rows as they are stored to
//! pixels. `writer`: the other way, `filter`: rows that can be packed well, `sums`: sums of parts. Format: Portable
//! Network Graphics (PNG) Specification, third edition (W3C).

mod filter;
mod layout;
mod reader;
mod still;
mod sums;
mod writer;

pub use reader::read;
pub use writer::{PngLosses, losses, write};

/// What a file begins with.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Whether a file begins as one of these.
pub fn looks_like_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}
