//! OpenEXR: images of light, with any channels besides the colors.
//!
//! How polyhaul interprets EXR files where programs differ:
//!
//! - The picture is the first part and layer with red, green and blue (`R`, `G`, `B`) or a luminance (`Y`), with `A` as
//!   alpha if there is one. Channels without a layer come first, then the layers (`beauty.R`) in alphabetical order. If
//!   no layer has these, the picture is some of the colors, the others being 0, or the first channel, as gray.
//!   `ImageReadOptions` chooses another layer or part.
//! - All other channels of the part are kept under their names and in their types. Colors are kept as floats; if they
//!   are stored as 32-bit integers, those are kept too. Other parts and smaller levels are dropped with a warning.
//! - Luminance with chroma (`Y`, `RY`, `BY`) becomes red, green and blue by the file's chromaticities. Chroma may have
//!   a sample for every second column and row. Other subsampled channels are enlarged by repeating samples, with a
//!   warning.
//! - The image covers the data window. Windows, chromaticities and all other attributes are kept.
//! - Colors are linear and premultiplied; others are multiplied with alpha when they are written.
//! - Deep images and HTJ2K are not supported. A block that takes more than the memory limit is refused.
//!
//! Files are written as rows, in blocks that are compressed (ZIP) without loss: each channel in the type in which it
//! was read, other colors as floats of 16 bits, or of 32 if requested. The table before the blocks holds the offset of
//! each, so compressed blocks wait in memory for the last one.
//!
//! `header`: parts, channels, attributes. `layer`: which channels make up the picture. `reader`: blocks to rows, in
//! parallel; `unpack` and `b44`: the content of a block; `plane`: one channel; `chroma`: luminance and chroma to
//! colors. `writer`: the opposite direction; `channels`: the written channels; `losses`: the lost values. Format:
//! OpenEXR File Layout, of the OpenEXR documentation.

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

/// Whether a file starts like an EXR file.
pub fn looks_like_exr(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x76\x2f\x31\x01")
}
