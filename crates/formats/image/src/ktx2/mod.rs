//! KTX2: texture files of Khronos.
//!
//! Choices where programs interpret KTX2 files differently:
//!
//! - Colors are sRGB if the data format descriptor declares it, otherwise linear. Primaries other than BT.709 are not
//!   applied (`changed-color-space`).
//! - 0 levels, which lets readers generate mip levels, is read as one level.
//! - `BC1_RGB` is read as BC1: its transparent pixels stay transparent.
//! - Pixels without an encoding in the model (three channels, BGR order) become RGBA; without alpha, they are opaque.
//! - Reversed rows and columns (`KTXorientation`) and swizzled channels (`KTXswizzle`) are applied to images and
//!   uncompressed textures; compressed textures are kept as stored, with a warning (`unapplied-orientation`,
//!   `unapplied-swizzle`). Other keys and values are skipped, like padding and gaps between levels; levels that overlap
//!   are an error.
//! - Basis (ETC1S, UASTC), ASTC, ETC and PVRTC are not supported.
//! - Reading a texture as an image returns its first image at full size. Other layers, faces, slices and mip levels are
//!   dropped, each with a warning; for mip levels, it is only a note, since they are derived data.
//!
//! Levels are written smallest first, each as one zstd frame if requested by
//! [`ImageWriteOptions`](polyhaul_model::options::ImageWriteOptions).
//!
//! `header`: header and level index. `vk`: the formats by number. `dfd`: the data format descriptor. `view`:
//! orientation and swizzle. `reader`, `writer`: the rest. Sources: the Khronos KTX File Format Specification 2.0 and
//! the Khronos Data Format Specification 1.3. The descriptor of compressed levels keeps the size of a block, as the
//! Khronos tools have done since 2025.

mod dfd;
mod header;
mod reader;
mod view;
mod vk;
mod writer;

pub use reader::{read, texture};
pub use writer::write;

/// The magic number of a file.
const MAGIC: &[u8; 12] = b"\xABKTX 20\xBB\r\n\x1A\n";

/// Returns whether a file starts like a KTX2 file or a KTX 1 file, which has its own error message.
pub fn looks_like_ktx2(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_1)
}

/// The magic number of version 1.
const MAGIC_1: &[u8; 12] = b"\xABKTX 11\xBB\r\n\x1A\n";
/// Size of the header, without the level index.
const HEADER_BYTES: usize = 80;
/// Size of an entry of the level index.
const ENTRY_BYTES: usize = 24;

/// Supercompression schemes.
const PLAIN: u32 = 0;
const BASIS_LZ: u32 = 1;
const ZSTD: u32 = 2;
const ZLIB: u32 = 3;
