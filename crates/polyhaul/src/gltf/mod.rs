//! glTF files: resolving references and writing. The crate `polyhaul_gltf` reads and writes the format.

mod embed;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
