//! OpenEXR: images of light, with any channels beside the colours.
//!
//! What polyhaul takes an EXR file to mean where programs differ:
//!
//! - The picture is the first part and layer with red, green and blue (`R`, `G`, `B`) or a luminance (`Y`), with `A` as
//!   alpha where there is one. Channels without a layer come first, then the layers (`beauty.R`) in alphabetical order.
//!   Where no layer has these, it is some of the colours, of which the others are 0, or the first channel, as gray.
//!   `ImageReadOptions` chooses another layer or part.
//! - All other channels of the part are kept under their names and in their types. Colours are kept as floats; where
//!   they are stored as 32-bit integers, those are kept beside them. Other parts and smaller levels are left-out
//!   warnings.
//! - Luminance with chroma (`Y`, `RY`, `BY`) becomes red, green and blue by the file's chromaticities. Chroma may have
//!   a sample for every second column and row. Other channels with fewer samples than pixels are enlarged by repeating
//!   samples, which is a warning.
//! - The pixels are those of the data window. Windows, chromaticities and all other attributes are kept as they are.
//! - Colours are linear, and multiplied with alpha; those that are not get multiplied when they are written.
//! - Deep images and HTJ2K are not supported. A block that takes more than the memory limit is refused.
//!
//! Written are rows, in blocks that are packed (ZIP) without loss: each channel in the type that it was read in, other
//! colours as floats of 16 bits, or of 32 where that is asked for. The table before the blocks has the place of each:
//! so packed blocks wait in memory for the last one.
//!
//! `header`: parts, channels, attributes. `layer`: which channels make the picture. `reader`: blocks to rows, side by
//! side; `unpack` and `b44`: what is in a block; `plane`: one channel; `chroma`: luminance and chroma to colours.
//! `writer`: the other way; `channels`: what is written; `losses`: what of it does not come back.
//! Format: OpenEXR File Layout, of the OpenEXR documentation.

mod b44;
mod channels;
mod chroma;
mod header;
mod layer;
mod losses;
mod plane;
mod reader;
mod unpack;
mod writer;

pub use losses::{ExrLosses, losses};
pub use reader::read;
pub use writer::write;

/// Whether a file begins as one of these.
pub fn looks_like_exr(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x76\x2f\x31\x01")
}
