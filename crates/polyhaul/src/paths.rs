//! Names of files in files, as paths.

use std::path::{Component, Path, PathBuf};

/// Longer names cannot be files. File systems allow 255 bytes for each part of a path; and the standard library copies
/// paths with allocations that abort the process if they fail.
pub(crate) const LONGEST_NAME_BYTES: usize = 768;

/// The folder that a file lies in.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// `name` as a path relative to some folder; `None` if it leaves the folder. A `..` takes back the part before it.
pub(crate) fn below(name: &str) -> Option<PathBuf> {
    if has_drive(name) {
        return None;
    }
    let mut path = PathBuf::new();
    let name = slashed(name);
    for part in name.components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    // A folder stays one: a file is not read by such a name.
    if names_folder(&name) {
        path.push("");
    }
    Some(path)
}

/// Whether a path ends as that of a folder.
pub(crate) fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Files made on Windows name their neighbors with backslashes.
pub(crate) fn slashed(name: &str) -> PathBuf {
    PathBuf::from(name.replace('\\', "/"))
}

/// `C:` and the like, which only Windows takes for absolute.
fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
