//! Finds files whose names differ from the requested names in case: files from Windows and macOS may refer to their
//! neighbors in any case.
//!
//! Callers use [`LetterCase::find`] only after the exact name was not found; it succeeds only if a single name matches.

use polyhaul_bytes::place;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of names that are compared in a folder.
const LISTED_NAMES: usize = 20_000;
/// Maximum number of folders that are listed.
const LISTED_FOLDERS: usize = 256;

/// Names in a folder by their lowercase form, or `None` if two names differ only in case.
type NamesByCase = HashMap<String, Option<OsString>>;

/// Names in folders, each listed once.
#[derive(Default)]
pub(crate) struct LetterCase {
    folders: HashMap<PathBuf, NamesByCase>,
}

impl LetterCase {
    /// Finds the path, relative to `base`, that differs from `path` only in case.
    pub(crate) fn find(&mut self, base: &Path, path: &Path) -> Option<PathBuf> {
        let mut actual = PathBuf::new();
        for part in path.components() {
            match part {
                Component::Normal(name) if !base.join(&actual).join(name).exists() => {
                    let names = self.names_in(&base.join(&actual))?;
                    actual.push(names.get(&name.to_str()?.to_lowercase())?.as_ref()?);
                }
                part => actual.push(part),
            }
        }
        Some(actual)
    }

    fn names_in(&mut self, folder: &Path) -> Option<&NamesByCase> {
        if !self.folders.contains_key(folder) {
            if self.folders.len() >= LISTED_FOLDERS {
                return None;
            }
            let mut names = HashMap::new();
            for entry in folder.read_dir().ok()?.take(LISTED_NAMES).flatten() {
                let name = entry.file_name();
                let Some(lower) = name.to_str().map(str::to_lowercase) else { continue };
                names.try_reserve(1).ok()?;
                // Two names that differ only in case are ambiguous, so neither is used.
                names.entry(lower).and_modify(|same| *same = None).or_insert(Some(name));
            }
            self.folders.insert(folder.to_path_buf(), names);
        }
        self.folders.get(folder)
    }
}

/// Returns the path on disk, relative to `folder`, if the system found the file although the case of its name differs.
pub(crate) fn actual_path(folder: &Path, name: &Path) -> Option<PathBuf> {
    if !cfg!(any(windows, target_os = "macos")) || place::is_url(folder) {
        return None;
    }
    let names: Vec<Component<'_>> = name.components().filter(|part| *part != Component::CurDir).collect();
    let real = place::real(&folder.join(name)).ok()?;
    let parts: Vec<Component<'_>> = real.components().collect();
    let actual: PathBuf = parts.get(parts.len().checked_sub(names.len())?..)?.iter().collect();
    let names: PathBuf = names.into_iter().collect();
    let is_same_in_lower_case = || actual.to_str()?.to_lowercase().eq(&names.to_str()?.to_lowercase()).then_some(());
    (actual != names && is_same_in_lower_case().is_some()).then_some(actual)
}
