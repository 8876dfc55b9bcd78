//! pbrt scenes as files: their own text, included parts, meshes. The meaning of text is up to `polyhaul-pbrt`.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::save;
