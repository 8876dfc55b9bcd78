//! Names of files in files, as paths.

use polyhaul_bytes::place;
use std::path::{Component, Path, PathBuf, Prefix};

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
    // Only Windows takes it for an absolute path.
    if place::has_drive(name) {
        return None;
    }
    let mut path = PathBuf::new();
    let name = slashed(name);
    for part in name.components() {
        match part {
            // On Windows, a drive in the middle would replace what is before it, and other colons lead to streams.
            Component::Normal(part) if cfg!(windows) && part.as_encoded_bytes().contains(&b':') => return None,
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
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
}

/// Files made on Windows name their neighbors with backslashes. A prefix `\\?\` would not work with slashes.
pub(crate) fn slashed(name: &str) -> PathBuf {
    let plain = name.strip_prefix(r"\\?\").filter(|rest| place::has_drive(rest));
    PathBuf::from(plain.unwrap_or(name).replace('\\', "/"))
}

/// Whether a path leads to another computer or a device of Windows while `folder` does not. Merely looking there may
/// send the user's credentials to whoever runs that computer.
pub(crate) fn leads_off_disk(path: &Path, folder: &Path) -> bool {
    let Some(Component::Prefix(prefix)) = path.components().next() else { return false };
    let is_disk = matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_));
    !is_disk && place::absolute(folder).components().next() != Some(Component::Prefix(prefix))
}
