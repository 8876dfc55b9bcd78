//! glTF: its files, found and put in place. The format itself is in the crate `polyhaul_gltf`.

mod embed;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
