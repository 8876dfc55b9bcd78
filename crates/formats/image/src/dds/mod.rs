//! DDS: the texture files of Direct3D.
//!
//! How polyhaul interprets DDS files where programs differ:
//!
//! - Files with the older header do not declare whether colors are sRGB: BC1 to BC3 and pixels of up to 8 bits per
//!   channel are read as sRGB, everything else as linear, including one or two channels that are not declared to be
//!   brightness. Files with the newer one (`DX10`) declare it.
//! - Rows have no padding, whatever the pitch says.
//! - The number of mip levels counts whether its flag is set or not; 0 is one level.
//! - `DXT2` and `DXT4` are BC2 and BC3 with premultiplied colors. `RXGB` is BC3 with red as alpha: its blocks become
//!   plain pixels with red in its place. `ATI2` and `A2XY` are BC5 with the first channel first.
//! - An array of size 0 is read as one of size 1 (`array-size`), as other readers do.
//! - Brightness (`DDPF_LUMINANCE`) may omit its masks, and may declare 8 bits for a pixel of 16.
//! - Palettes (`DDPF_PALETTEINDEXED8`) are 256 times red, green, blue, alpha; if alpha is 0 for all and not declared,
//!   colors are opaque.
//! - Signed channels (`V8U8`, `Q8W8V8U8`, `V16U16`, formats that end in SNORM) become floats from -1 to 1.
//! - Read as an image, a texture is its first picture in full size; other layers, faces and slices are dropped with a
//!   warning for each kind. Mip levels are derived from it, so dropping them loses nothing.
//! - Pixels without an encoding in the model (five bits, blue first, three channels) become red, green, blue and alpha
//!   of 8 bits, or of 16 if a channel has more than 8.
//!
//! The newer header is always written: only it declares sRGB and premultiplied colors, and every reader of BC7 supports
//! it.
//!
//! `header`: both headers. `dxgi`: the formats by number. `reader`, `writer`: the rest. Sources: Microsoft's
//! "Programming Guide for DDS", `DDS_HEADER`, `DDS_HEADER_DXT10` and `DXGI_FORMAT`.

mod dxgi;
mod header;
mod reader;
mod writer;

pub use reader::{read, texture};
pub use writer::write;

/// Whether a file starts like a DDS file.
pub fn looks_like_dds(bytes: &[u8]) -> bool {
    bytes.starts_with(b"DDS ")
}

/// Bytes of the older header, the first four included.
const HEADER_BYTES: usize = 128;
/// Bytes that the newer one adds.
const MORE_BYTES: usize = 20;
