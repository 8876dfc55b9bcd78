//! KTX 2: the texture files of Khronos.
//!
//! How polyhaul interprets KTX 2 files where programs differ:
//!
//! - Colors are sRGB if the data format descriptor declares it, otherwise linear.
//! - 0 levels, which allows a reader to generate mip levels, is one level.
//! - `BC1_RGB` is BC1: its transparent pixels stay transparent.
//! - Pixels without an encoding in the model (three channels, blue first) get an opaque alpha, with red first.
//! - Rows and columns in reverse order (`KTXorientation`) and exchanged channels (`KTXswizzle`) are put in order in
//!   images and in textures of plain pixels; compressed textures stay as they are stored, with a warning
//!   (`unapplied-orientation`, `unapplied-swizzle`). Other keys and values are skipped, like padding and gaps between
//!   the levels; levels that overlap are an error.
//! - Basis (ETC1S, UASTC), ASTC, ETC and PVRTC are not supported.
//! - Read as an image, a texture is its first picture in full size; other layers, faces and slices are dropped with a
//!   warning for each kind. Mip levels are derived from it, so dropping them loses nothing.
//!
//! The smallest level is written first, each level as one frame of zstd if
//! [`ImageWriteOptions`](polyhaul_model::options::ImageWriteOptions) asks for that.
//!
//! `header`: header and level index. `vk`: the formats by number. `dfd`: the data format descriptor. `reader`,
//! `writer`: the rest. Sources: the Khronos KTX File Format Specification 2.0 and the Khronos Data Format Specification
//! 1.3. The descriptor of compressed levels keeps the bytes of a block, as Khronos' own tools do since 2025.

mod dfd;
mod header;
mod reader;
mod view;
mod vk;
mod writer;

pub use reader::{read, texture};
pub use writer::write;

/// The first bytes of a file.
const MAGIC: &[u8; 12] = b"\xABKTX 20\xBB\r\n\x1A\n";

/// Whether a file starts like a KTX 2 file, or like one of version 1, which has its own error message.
pub fn looks_like_ktx2(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_1)
}

/// The first bytes of a file of the first version.
const MAGIC_1: &[u8; 12] = b"\xABKTX 11\xBB\r\n\x1A\n";
/// Bytes of the header, without the level index.
const HEADER_BYTES: usize = 80;
/// Bytes of a level in the index.
const ENTRY_BYTES: usize = 24;

/// Compression methods of levels, by number.
const PLAIN: u32 = 0;
const BASIS_LZ: u32 = 1;
const ZSTD: u32 = 2;
const ZLIB: u32 = 3;
