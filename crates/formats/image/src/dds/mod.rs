//! DDS: texture files of Direct3D.
//!
//! Choices where programs interpret DDS files differently:
//!
//! - Files without a DX10 header do not declare sRGB: BC1 to BC3 and pixels with up to 8 bits per channel are read as
//!   sRGB, everything else as linear, including one or two channels not declared as luminance.
//! - Rows have no padding, regardless of the pitch.
//! - The number of mip levels is used even if its flag is not set; 0 means one level.
//! - `DXT2` and `DXT4` are BC2 and BC3 with premultiplied colors. `RXGB` is linear BC3 with red in alpha: its blocks
//!   are decoded into plain pixels with red restored. `ATI2` and `A2XY` are BC5 with the first channel first.
//! - An array size of 0 is read as 1 (`array-size`), as in other readers.
//! - Luminance (`DDPF_LUMINANCE`) may omit its masks, and may declare 8 bits for a 16-bit pixel.
//! - Palettes (`DDPF_PALETTEINDEXED8`) have 256 entries of red, green, blue and alpha. If alpha is 0 in all entries and
//!   not declared, colors are opaque.
//! - Signed channels (`V8U8`, `Q8W8V8U8`, `V16U16`, SNORM formats) become floats from -1 to 1.
//! - Reading a texture as an image returns its first image at full size. Other layers, faces, slices and mip levels are
//!   dropped, each with a warning; for mip levels, it is only a note, since they are derived data.
//! - Pixels without an encoding in the model (5-bit channels, BGR order, three channels) become RGBA: integers with 8
//!   bits per channel, or 16 if a channel has more than 8, and floats for floats.
//!
//! Files are always written with the DX10 header: only this header declares sRGB and premultiplied colors, and every
//! reader of BC7 supports it.
//!
//! `header`: the DDS header and the DX10 header. `dxgi`: the formats by number. `reader`, `writer`: the rest. Sources:
//! Microsoft's "Programming Guide for DDS", `DDS_HEADER`, `DDS_HEADER_DXT10` and `DXGI_FORMAT`.

mod dxgi;
mod header;
mod reader;
mod writer;

pub use reader::{read, texture};
pub use writer::write;

/// Returns whether a file starts like a DDS file.
pub fn looks_like_dds(bytes: &[u8]) -> bool {
    bytes.starts_with(b"DDS ")
}

/// Size of the DDS header, including the signature.
const HEADER_BYTES: usize = 128;
/// Size of the `DX10` header.
const MORE_BYTES: usize = 20;
