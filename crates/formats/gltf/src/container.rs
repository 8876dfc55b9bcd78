//! Layout of the `.glb` container: a header, a JSON chunk, and an optional binary chunk.
//!
//! Source: <https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#binary-gltf-layout>.

/// First bytes of a `.glb` file.
pub(crate) const MAGIC: &[u8; 4] = b"glTF";
/// Container version.
pub(crate) const VERSION: u32 = 2;
/// Size of the header: magic, version, length of the file.
pub(crate) const HEADER_BYTES: usize = 12;
/// Size of a chunk header: length, type.
pub(crate) const CHUNK_HEADER_BYTES: usize = 8;
/// Type of the first chunk.
pub(crate) const JSON: &[u8; 4] = b"JSON";
/// Type of the second chunk.
pub(crate) const BINARY: &[u8; 4] = b"BIN\0";

/// Returns whether `head` starts with the complete header (12 bytes) of a `.glb` file of version 2.
///
/// ```
/// assert!(polyhaul_gltf::looks_like_glb(b"glTF\x02\0\0\0\x14\0\0\0"));
/// assert!(!polyhaul_gltf::looks_like_glb(b"glTF"));
/// ```
pub fn looks_like_glb(head: &[u8]) -> bool {
    head.len() >= HEADER_BYTES && head.starts_with(MAGIC) && head[4..8] == VERSION.to_le_bytes()
}
