//! Converts file names that occur in files to paths.

use polyhaul_bytes::place;
use std::path::{Component, Path, PathBuf, Prefix};

/// Maximum length of a file name in bytes. File systems allow 255 bytes per path component. Longer names are not looked
/// up: the standard library copies paths, and a failed allocation of such a copy aborts the process.
pub(crate) const LONGEST_NAME_BYTES: usize = 768;

/// The folder that contains a file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Converts `name` to a relative path, in which `..` removes the component before it. Returns `None` if the name is
/// absolute or leads out of its folder.
pub(crate) fn below(name: &str) -> Option<PathBuf> {
    // On systems other than Windows, a drive letter would be part of a relative path.
    if place::has_drive(name) {
        return None;
    }
    let mut path = PathBuf::new();
    let name = slashed(name);
    for part in name.components() {
        match part {
            // On Windows, a drive in the middle replaces the path before it, and other colons refer to alternate data
            // streams.
            Component::Normal(part) if cfg!(windows) && part.as_encoded_bytes().contains(&b':') => return None,
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    // Keep a trailing slash, so that the name of a folder does not open a file.
    if names_folder(&name) {
        path.push("");
    }
    Some(path)
}

/// Whether a path ends with a separator.
pub(crate) fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
}

/// Replaces backslashes, which files from Windows use, with slashes. Removes the prefix `\\?\`, which does not work
/// with slashes.
pub(crate) fn slashed(name: &str) -> PathBuf {
    let plain = name.strip_prefix(r"\\?\").filter(|rest| place::has_drive(rest));
    PathBuf::from(plain.unwrap_or(name).replace('\\', "/"))
}

/// Whether a path leads to another computer or a Windows device while `folder` does not. Even a lookup may send the
/// user's credentials to that computer.
pub(crate) fn leads_off_disk(path: &Path, folder: &Path) -> bool {
    let Some(Component::Prefix(prefix)) = path.components().next() else { return false };
    let is_disk = matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_));
    !is_disk && place::absolute(folder).components().next() != Some(Component::Prefix(prefix))
}
