//! DDS: textures as Direct3D has them.
//!
//! What polyhaul takes a DDS file to mean where programs differ:
//!
//! - Files with the older header do not say whether colours are sRGB: BC1 to BC3 and pixels of up to 8 bits a channel
//!   are taken to be, everything else is linear, and so are one or two channels that are not said to be brightness.
//!   Files with the newer one (`DX10`) are what they say.
//! - Rows have no padding, whatever the pitch says.
//! - The number of mip levels counts whether its flag is set or not; 0 is one level.
//! - `DXT2` and `DXT4` are BC2 and BC3 with colours that are multiplied with alpha.
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

pub(crate) use reader::{read, texture};
pub(crate) use writer::write;

/// Whether a file begins as one of these.
pub(crate) fn looks_like_dds(bytes: &[u8]) -> bool {
    bytes.starts_with(b"DDS ")
}

/// Bytes of the older header, the first four included.
const HEADER_BYTES: usize = 128;
/// Bytes of what the newer one adds.
const MORE_BYTES: usize = 20;
