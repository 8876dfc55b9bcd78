//! OpenEXR: linear-light images with any number of channels.
//!
//! Choices where programs interpret EXR files differently:
//!
//! - The image is the first part and layer with red, green and blue (`R`, `G`, `B`) or luminance (`Y`), with `A` as
//!   alpha if present. Channels without a layer come first, then the layers (`beauty.R`) in alphabetical order. If no
//!   layer qualifies, the image is an incomplete set of colors, with missing colors set to 0, or the first channel, as
//!   gray. `ImageReadOptions` selects another layer or part.
//! - All other channels of the part (or of the requested layer) are kept with their names and types. Colors are read as
//!   floats; if they are stored as 32-bit integers, the integers are kept, too. Other parts and smaller levels are
//!   dropped with a warning.
//! - Luminance and chroma (`Y`, `RY`, `BY`) are converted to RGB with the file's chromaticities. Chroma may be
//!   subsampled by 2. Other subsampled channels are upsampled by repeating samples, with a warning.
//! - The image covers the data window. Windows, chromaticities and all other attributes are kept.
//! - Colors are linear and premultiplied; unpremultiplied colors are premultiplied for writing.
//! - Deep images and HTJ2K are not supported. A block that exceeds the memory limit is an error.
//!
//! Files are written in blocks of rows with lossless compression (ZIP): each channel in the type it was read with,
//! other colors as half floats, or as 32-bit floats if requested. The offset table precedes the blocks, so compressed
//! blocks stay in memory until the last block is compressed.
//!
//! `header`: parts, channels, attributes. `layer`: selection of channels. `reader`: blocks to rows, in parallel;
//! `unpack` and `b44`: decompression of a block; `plane`: one channel; `chroma`: luminance and chroma to RGB. `writer`:
//! the reverse; `channels`: the written channels; `losses`: values that writing changes. Source: "OpenEXR File Layout".

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

/// Returns whether a file starts like an EXR file.
pub fn looks_like_exr(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x76\x2f\x31\x01")
}
