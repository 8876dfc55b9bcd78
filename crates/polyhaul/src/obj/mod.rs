//! OBJ as files: a scene and its material libraries. What their text means is `polyhaul-mesh`'s business.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
