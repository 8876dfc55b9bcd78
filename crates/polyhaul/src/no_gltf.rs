//! Replaces `gltf` if glTF is not built: no file contains images.

pub(crate) mod images {
    use crate::options::ReadOptions;
    use polyhaul_bytes::{Source, place};
    use polyhaul_model::error::Result;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(crate) fn is_image_at(_: &Path) -> bool {
        false
    }

    pub(crate) fn may_be_image(_: &str) -> bool {
        false
    }

    pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
        place::real(path)
    }

    pub(crate) fn file_name(_: &Path) -> Option<String> {
        None
    }

    pub(crate) fn image_at(_: &Path, _: &ReadOptions) -> Result<Option<Source<'static>>> {
        Ok(None)
    }
}
