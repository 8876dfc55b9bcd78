//! Containers: files that contain other files with paths of their own.
//!
//! A path that continues after an archive refers to a member (`archive`). A name with a suffix may refer to a file
//! inside another file (`inner`), depending on its format. Readers, references and outputs resolve paths here, and do
//! not need to know which formats are containers. [`Near`] is the location of an input, in a folder or in an archive,
//! for finding its neighbors.

mod archive;
mod inner;
mod near;

pub(crate) use archive::{Member, Shelf, is_archive, member_at, members_of, open_at, split};
pub(crate) use inner::{InnerFile, is_inner_name};
pub(crate) use near::Near;

use polyhaul_bytes::place;
use std::io;
use std::path::{Path, PathBuf};

/// Whether a path refers to a file inside an existing file.
pub(crate) fn is_inner_file(path: &Path) -> bool {
    InnerFile::at(path).is_some()
}

/// Canonical path of a file, or of a file inside a file.
///
/// # Errors
/// Errors of the operating system.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    InnerFile::at(path).map_or_else(|| place::real(path), |inner| inner.real())
}
