//! DDS: textures as Direct3D has them.
//!
//! What polyhaul takes a DDS file to mean where programs differ:
//!
//! - Files with the older header do not declare whether colours are sRGB: BC1 to BC3 and pixels of up to 8 bits a
//!   channel are read as sRGB, everything else as linear, and so are one or two channels that are not declared to be
//!   brightness. Files with the newer one (`DX10`) declare it.
//! - Rows have no padding, whatever the pitch says.
//! - The number of mip levels counts whether its flag is set or not; 0 is one level.
//! - `DXT2` and `DXT4` are BC2 and BC3 with colours that are multiplied with alpha. `RXGB` is BC3 with red as alpha:
//!   its blocks become plain pixels with red in its place. `ATI2` and `A2XY` are BC5 with the first channel first.
//! - An array of size 0 is read as one of size 1 (`array-size`), as other readers do.
//! - Brightness (`DDPF_LUMINANCE`) may leave its masks out, and may count 8 bits for a pixel of 16.
//! - Palettes (`DDPF_PALETTEINDEXED8`) are 256 times red, green, blue, alpha; where alpha is 0 for all and not
//!   declared, colours are opaque.
//! - Signed channels (`V8U8`, `Q8W8V8U8`, `V16U16`, formats that end in SNORM) become floats from -1 to 1.
//! - Read as an image, a texture is its first picture in full size; other layers, faces and slices are dropped with a
//!   warning for each kind. Mip levels are derived from it, and no loss.
//! - Pixels that the model has no encoding for (five bits, blue first, three channels) become red, green, blue and
//!   alpha of 8 bits, or of 16 where a channel has more than 8.
//!
//! What is written always has the newer header: it alone says what is sRGB and what is premultiplied, and every reader
//! of BC7 knows it.
//!
//! `header`: both headers. `dxgi`: the formats by number. `reader`, `writer`: the rest. Sources: Microsoft's
//! "Programming Guide for DDS", `DDS_HEADER`, `DDS_HEADER_DXT10` and `DXGI_FORMAT`.

mod dxgi;
mod header;
mod reader;
mod writer;

pub use reader::{read, texture};
pub use writer::write;

/// Whether a file begins as one of these.
pub fn looks_like_dds(bytes: &[u8]) -> bool {
    bytes.starts_with(b"DDS ")
}

/// Bytes of the older header, the first four included.
const HEADER_BYTES: usize = 128;
/// Bytes of what the newer one adds.
const MORE_BYTES: usize = 20;
