//! Reads and writes pbrt scenes with their included files and meshes. `polyhaul-pbrt` parses and formats the text.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::save;
