//! OpenEXR: images of light.
//!
//! What polyhaul takes an EXR file to mean where programs differ:
//!
//! - The image is the data window, as far as it goes. Where it lies in the display window is not kept.
//! - Read is the first part that has red, green and blue (`R`, `G`, `B`) or a brightness (`Y`), with `A` as alpha where
//!   there is one. Channels without a layer come first, and then the layers (`beauty.R`) in the order of their names.
//!   Other channels and parts are passed, and so are smaller levels of tiled images. Where the colours stand at fewer
//!   pixels than the brightness, nothing is read.
//! - All numbers become floats. Colours are linear, and multiplied with alpha; those that are not get multiplied when
//!   they are written.
//! - Deep images and HTJ2K are not read. A block that takes more than the memory limit is refused.
//!
//! Written are rows of floats of 16 bits, or of 32 where that is asked for, in blocks that are packed (ZIP) without
//! loss. What stands before the blocks says where each begins: so packed blocks wait in memory for the last one.
//!
//! `layer`: which channels make the image. `reader`: blocks to rows, side by side.
//! `writer`: the other way. Format: OpenEXR File Layout, of the OpenEXR documentation.

mod layer;
mod reader;
mod writer;

pub(crate) use reader::read;
pub(crate) use writer::write;

/// Whether a file begins as one of these.
pub(crate) fn looks_like_exr(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x76\x2f\x31\x01")
}
