//! pbrt scenes as files: their own text, parts that they include, meshes. What text means is `polyhaul-pbrt`'s
//! business.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::save;
