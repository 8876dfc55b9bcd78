//! Temporary files left behind by killed processes, which are found by name and removed if they are not locked.
//!
//! The writer of a temporary file holds a lock on it, which the system releases however the process ends. So a file
//! with such a name that is not locked and has not changed for a minute is a leftover. Only regular files with exactly
//! such a name are removed, never the target of a symlink. This module never fails: if files cannot be locked or the
//! folder cannot be listed, they stay. For the names, see `sink/temporary.rs`.

use super::temporary::{ENDING, MARK};
use crate::place::names_in;
use polyhaul_fault::planted;
use std::fs::{self, File, Metadata, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A file that changed within this time may belong to a writer that has not locked it yet or cannot lock files.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Minimum time between searches of the same folder, because folders may have very many files.
const PAUSE: Duration = Duration::from_secs(60);

/// Maximum number of folders to remember. Forgotten ones may be searched again sooner.
const MAX_FOLDERS: usize = 32;

/// Recently searched folders, and the times of the searches.
static SEARCHED: Mutex<Vec<(PathBuf, Instant)>> = Mutex::new(Vec::new());

/// A lock on a temporary file, released when this is dropped.
///
/// On Unix, this is a duplicate of the descriptor, which shares the lock: the file itself is closed before it is
/// renamed. Windows cannot rename an open file, so there the lock ends when the file is closed.
pub(super) struct FileLock {
    #[cfg(unix)]
    _duplicate: File,
}

impl FileLock {
    /// Locks a file that was just created. Returns `None` if the file system does not support locks.
    #[cfg(unix)]
    pub(super) fn new(file: &File) -> Option<FileLock> {
        file.try_lock().ok()?;
        Some(FileLock { _duplicate: file.try_clone().ok()? })
    }

    #[cfg(not(unix))]
    pub(super) fn new(file: &File) -> Option<FileLock> {
        file.try_lock().ok()?;
        Some(FileLock {})
    }
}

/// Removes files that killed processes left in this folder, unless it was searched recently.
pub(super) fn remove_from(folder: &Path) {
    if is_due(folder) {
        let names = names_in(folder).unwrap_or_default();
        let leftovers = names.into_iter().filter(|name| name.to_str().is_some_and(is_ours));
        leftovers.for_each(|name| remove(&folder.join(name)));
    }
}

/// Returns whether the folder was not searched recently, and records the search.
fn is_due(folder: &Path) -> bool {
    // Relative paths are ambiguous, because the current folder may change.
    let Ok(folder) = fs::canonicalize(folder) else { return false };
    let now = Instant::now();
    let mut searched = SEARCHED.lock().unwrap_or_else(PoisonError::into_inner);
    searched.retain(|(_, when)| now.duration_since(*when) < PAUSE);
    if searched.iter().any(|(path, _)| *path == folder) {
        return false;
    }
    if searched.len() == MAX_FOLDERS {
        searched.remove(0);
    }
    searched.push((folder, now));
    true
}

/// Returns whether a name has the form `.STEM.polyhaul-PROCESS-SERIAL.tmp`.
fn is_ours(name: &str) -> bool {
    let parts = || {
        let (stem, numbers) = name.strip_prefix('.')?.strip_suffix(ENDING)?.rsplit_once(MARK)?;
        let (process, serial) = numbers.split_once('-')?;
        Some((stem, process, serial))
    };
    let is_number = |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    parts().is_some_and(|(stem, process, serial)| !stem.is_empty() && is_number(process) && is_number(serial))
}

/// Removes a file unless it is locked or has changed recently.
fn remove(path: &Path) {
    let Ok(before) = fs::symlink_metadata(path) else { return };
    if !before.is_file() || !is_old(&before) {
        return;
    }
    // Some file systems lock only files that are open for writing.
    let Ok(file) = open(path, true).or_else(|_| open(path, false)) else { return };
    if file.try_lock().is_err() && !planted("leftover-locked") {
        return;
    }
    // While this file is locked, no other process removes it. So the name still refers to it, or to an unrelated file.
    let is_same = match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(locked), Ok(named)) => is_old(&locked) && is_same_file(&locked, &named),
        _ => false,
    };
    if cfg!(windows) {
        drop(file);
    }
    if is_same && !planted("leftover-stays") {
        let _ = fs::remove_file(path);
    }
}

fn is_old(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age >= MIN_AGE)
}

#[cfg(unix)]
fn open(path: &Path, write: bool) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, write: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(write).open(path)
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    b.is_file() && a.created().ok() == b.created().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder for a test, with a file of this name and age.
    fn file(test: &str, name: &str, age: u64) -> (PathBuf, File) {
        let folder = std::env::temp_dir().join(format!("polyhaul-leftovers-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        (path, file)
    }

    /// Returns whether the file still exists; removes it and its folder.
    fn stays(path: &Path) -> bool {
        let exists = fs::symlink_metadata(path).is_ok();
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        exists
    }

    const NAME: &str = ".a.obj.polyhaul-12-0.tmp";

    #[test]
    fn only_names_of_temporary_files_match() {
        for ours in [NAME, "..polyhaul-1-2.polyhaul-1-2.tmp", ".ü.polyhaul-4294967295-99.tmp"] {
            assert!(is_ours(ours), "{ours}");
        }
        let others =
            ["a.obj.polyhaul-12-0.tmp", ".a.obj.polyhaul-12-0.tmp~", ".a.obj.polyhaul-12.tmp", ".a.obj.12-0.tmp"];
        for other in others.into_iter().chain([".a.polyhaul-1-.tmp", ".a.polyhaul-1-0x2.tmp", ".polyhaul-1-2.tmp", ""])
        {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn a_leftover_is_removed_and_a_young_or_locked_file_stays() {
        let (old, _) = file("old", NAME, 120);
        remove_from(old.parent().unwrap());
        assert!(!stays(&old));
        let (young, _) = file("young", NAME, 30);
        remove_from(young.parent().unwrap());
        assert!(stays(&young));
        let (locked, open) = file("locked", NAME, 120);
        let lock = FileLock::new(&open).unwrap();
        // On Unix, the lock outlives the handle used for writing.
        let open = Some(open).filter(|_| cfg!(not(unix)));
        remove_from(locked.parent().unwrap());
        assert!(locked.exists());
        drop((open, lock));
        assert!(stays(&locked));
    }

    #[test]
    fn files_of_users_stay() {
        let (user, _) = file("user", ".a.obj.12-0.tmp", 10_000);
        remove_from(user.parent().unwrap());
        assert!(stays(&user));
    }

    #[test]
    #[cfg(unix)]
    fn links_and_folders_stay_and_so_do_their_targets() {
        let (target, _) = file("link", "precious", 120);
        let folder = target.parent().unwrap();
        std::os::unix::fs::symlink(&target, folder.join(NAME)).unwrap();
        fs::create_dir(folder.join(".b.obj.polyhaul-12-0.tmp")).unwrap();
        remove_from(folder);
        assert!(folder.join(NAME).is_symlink() && folder.join(".b.obj.polyhaul-12-0.tmp").is_dir());
        assert!(stays(&target));
    }

    #[test]
    fn a_folder_is_searched_once_a_minute() {
        let (path, _) = file("once", NAME, 0);
        let folder = path.parent().unwrap();
        assert!(is_due(folder) && !is_due(folder) && !is_due(&folder.join(".")));
        assert!(stays(&path));
    }
}
