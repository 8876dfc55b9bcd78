//! Containers: files whose names hold further names.
//!
//! A path that continues after an archive names a member of it (`archive`); a name that continues after that of another
//! file may be one of the files inside that (`inner`), if its format has such. Readers, references and outputs ask here
//! what a path leads to, and do not know which formats are containers. [`Near`] is where an input lies for the files
//! that it names: in a folder, or beside the members of an archive.

mod archive;
mod inner;
mod near;

pub(crate) use archive::{Member, Shelf, is_archive, member_at, members_of, open_at, split};
pub(crate) use inner::{InnerFile, is_inner_name};
pub(crate) use near::Near;

use polyhaul_bytes::place;
use std::io;
use std::path::{Path, PathBuf};

/// Whether a path is that of a file inside a file that exists.
pub(crate) fn is_inner_file(path: &Path) -> bool {
    InnerFile::at(path).is_some()
}

/// The path without links, of a file or of one inside a file.
///
/// # Errors
/// Errors of the system.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    InnerFile::at(path).map_or_else(|| place::real(path), |inner| inner.real())
}
