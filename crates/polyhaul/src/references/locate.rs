//! Locates the file that a name refers to: on disk, in an object store, or in an archive.
//!
//! Opens only archives, and does not decide what may be done with a file. See `references`.

use crate::containers::{self, InnerFile, Member, Shelf};
use crate::letter_case::{LetterCase, actual_path};
use crate::options::ReadOptions;
use crate::paths::{self, LONGEST_NAME_BYTES, slashed};
use polyhaul_bytes::place::{self, PlaceKind};
use polyhaul_model::FolderPlace;
use polyhaul_model::error::{ErrorKind, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of locating a name.
pub(super) enum Located {
    File(LocatedFile),
    Member(Member),
    /// A file inside a file.
    Inner(LocatedFile),
    /// A folder, FIFO or device.
    Irregular,
    Missing,
}

/// A regular file.
pub(super) struct LocatedFile {
    /// The folder that the name is relative to.
    pub(super) base: PathBuf,
    /// Path relative to `base`.
    pub(super) path: PathBuf,
    /// Canonical path.
    pub(super) real: PathBuf,
    /// Whether the name on disk differs in case.
    pub(super) is_other_case: bool,
}

/// Locates files, and caches folders and archives.
#[derive(Default)]
pub(super) struct Locator {
    letter_case: LetterCase,
    archives: HashMap<PathBuf, Option<Arc<Shelf>>>,
}

impl Locator {
    /// Locates `name` relative to `folder` and to `included`, the folder of an included file relative to the scene's
    /// folder: empty, or ending with a slash.
    pub(super) fn locate(
        &mut self,
        folder: &FolderPlace,
        included: &str,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Located> {
        if name.is_empty() || name.len() > LONGEST_NAME_BYTES {
            return Ok(Located::Missing);
        }
        let path = slashed(name);
        if folder.in_archive {
            return self.locate_member(folder, included, &path, options);
        }
        if place::leads_to_device(&path) {
            return Ok(Located::Irregular);
        }
        if !folder.allow_outside && paths::leads_off_disk(&path, &folder.scene) {
            return Ok(Located::Missing);
        }
        let mut is_irregular = false;
        for base in bases(folder, included) {
            if let Some(inner) = InnerFile::at(&base.join(&path))
                && let Ok(real) = inner.real()
            {
                return Ok(Located::Inner(LocatedFile { base, path, real, is_other_case: false }));
            }
            match place::find(&base.join(&path)) {
                Ok(found) if found.kind == PlaceKind::File => {
                    if let Some(file) = located(&base, path.clone(), false) {
                        return Ok(file);
                    }
                }
                Ok(_) => is_irregular = true,
                Err(_) => {}
            }
        }
        if is_irregular {
            return Ok(Located::Irregular);
        }
        // In object stores, only the exact name is looked up.
        for base in bases(folder, included).into_iter().filter(|base| !place::is_url(base)) {
            // `none/../x` is valid even if the folder `none` does not exist, as in readers.
            if let Some(file) = paths::below(name).and_then(|path| located(&base, path, false)) {
                return Ok(file);
            }
            if let Some(file) = latin1(name).and_then(|path| located(&base, path, false)) {
                return Ok(file);
            }
            if let Some(file) = self.letter_case.find(&base, &path).and_then(|path| located(&base, path, true)) {
                return Ok(file);
            }
        }
        Ok(Located::Missing)
    }

    fn locate_member(
        &mut self,
        folder: &FolderPlace,
        included: &str,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Located> {
        for base in bases(folder, included) {
            let Some(whole) = place::cleaned(&base.join(path)) else { continue };
            if !folder.allow_outside && !whole.starts_with(&folder.scene) {
                continue;
            }
            let Some((archive, inner)) = containers::split(&whole) else { continue };
            let shelf = match self.archives.get(&archive) {
                Some(shelf) => shelf.clone(),
                None => {
                    let shelf = containers::open_at(&archive, options)?;
                    self.archives.insert(archive, shelf.clone());
                    shelf
                }
            };
            match shelf.map(|shelf| shelf.member_in_any_case(&inner, options)) {
                Some(Ok(member)) => return Ok(Located::Member(member)),
                Some(Err(error)) if error.kind() != ErrorKind::Io => return Err(error),
                _ => {}
            }
        }
        Ok(Located::Missing)
    }
}

/// The folders to search, in order.
pub(super) fn bases(folder: &FolderPlace, included: &str) -> Vec<PathBuf> {
    let mut bases: Vec<PathBuf> = folder.library.iter().chain([&folder.scene]).cloned().collect();
    if !included.is_empty() {
        bases.push(folder.scene.join(slashed(included)));
    }
    bases
}

fn located(base: &Path, path: PathBuf, is_other_case: bool) -> Option<Located> {
    let real = place::real(&base.join(&path)).ok().filter(|real| place::is_url(real) || real.is_file())?;
    let actual = actual_path(base, &path);
    let is_other_case = is_other_case || actual.is_some();
    Some(Located::File(LocatedFile { base: base.to_path_buf(), path: actual.unwrap_or(path), real, is_other_case }))
}

/// Path for a name that is not UTF-8 and was read as Latin-1.
#[cfg(unix)]
fn latin1(name: &str) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    if name.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = name.replace('\\', "/").chars().map(|letter| u8::try_from(letter).ok()).collect();
    Some(OsString::from_vec(bytes?).into())
}

#[cfg(not(unix))]
fn latin1(_: &str) -> Option<PathBuf> {
    None
}
