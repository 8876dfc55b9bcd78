//! OBJ as files: a scene and its material libraries. The meaning of their text is up to `polyhaul-obj`.

mod read;
mod write;

pub(crate) use read::{pieces, read};
pub(crate) use write::write;
