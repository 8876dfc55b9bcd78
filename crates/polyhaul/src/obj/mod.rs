//! OBJ files: a scene and its material libraries. `polyhaul-obj` parses and formats their text.

mod read;
mod write;

pub(crate) use read::{pieces, read};
pub(crate) use write::write;
