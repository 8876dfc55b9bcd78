//! Temporary files left by a killed process: found by their names and removed if nobody has them locked.
//!
//! The writer of a temporary file holds a lock on it, which the system releases when the process ends in any way. So a
//! file with such a name that is not locked and has not changed for a minute is a leftover. Only regular files whose
//! whole name has our form are touched, never the target of a symlink. Nothing here fails: without a lock or the
//! folder's list, files stay. The names are made in `sink/temporary.rs`.

use super::temporary::{ENDING, MARK};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A file that changed within this time may belong to a writer that has not locked it yet, or cannot.
const MIN_AGE: Duration = Duration::from_secs(60);

/// How long this process waits before it searches a folder again: folders may have very many files.
const PAUSE: Duration = Duration::from_secs(60);

/// The number of folders that are remembered; others are searched again.
const MAX_FOLDERS: usize = 32;

/// The folders that were searched last, and when.
static SEARCHED: Mutex<Vec<(PathBuf, Instant)>> = Mutex::new(Vec::new());

/// A lock on a temporary file, which lasts until this is dropped.
///
/// On Unix it is a duplicate of the descriptor, which shares the lock: the file itself is closed before it is renamed.
/// On Windows an open file cannot be renamed, so the lock ends when the file is closed.
pub(super) struct Lock {
    #[cfg(unix)]
    _duplicate: File,
}

impl Lock {
    /// Locks a file that was just created; `None` if the file system has no locks.
    #[cfg(unix)]
    pub(super) fn new(file: &File) -> Option<Lock> {
        file.try_lock().ok()?;
        Some(Lock { _duplicate: file.try_clone().ok()? })
    }

    #[cfg(not(unix))]
    pub(super) fn new(file: &File) -> Option<Lock> {
        file.try_lock().ok()?;
        Some(Lock {})
    }
}

/// Removes what killed processes left in this folder, unless it was searched recently.
pub(super) fn remove_from(folder: &Path) {
    if is_due(folder) {
        let leftovers = names_in(folder).into_iter().filter(|name| name.to_str().is_some_and(is_ours));
        leftovers.for_each(|name| remove(&folder.join(name)));
    }
}

/// Whether the folder was not searched recently; records that it is now.
fn is_due(folder: &Path) -> bool {
    // The current folder may have changed by then.
    let Ok(folder) = fs::canonicalize(folder) else { return false };
    let (now, mut searched) = (Instant::now(), SEARCHED.lock().unwrap_or_else(PoisonError::into_inner));
    searched.retain(|(_, when)| now.duration_since(*when) < PAUSE);
    if searched.iter().any(|(known, _)| *known == folder) {
        return false;
    }
    if searched.len() == MAX_FOLDERS {
        searched.remove(0);
    }
    searched.push((folder, now));
    true
}

/// Whether a name has the form `.STEM.polyhaul-PROCESS-SERIAL.tmp`.
fn is_ours(name: &str) -> bool {
    let parts = || {
        let (stem, numbers) = name.strip_prefix('.')?.strip_suffix(ENDING)?.rsplit_once(MARK)?;
        let (process, serial) = numbers.split_once('-')?;
        Some((stem, process, serial))
    };
    let is_number = |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    parts().is_some_and(|(stem, process, serial)| !stem.is_empty() && is_number(process) && is_number(serial))
}

/// Removes a file unless it is locked or changed recently.
fn remove(path: &Path) {
    let Ok(before) = fs::symlink_metadata(path) else { return };
    if !before.is_file() || !is_old(&before) {
        return;
    }
    // Some file systems lock only files that are open for writing.
    let Ok(file) = open(path, true).or_else(|_| open(path, false)) else { return };
    if file.try_lock().is_err() {
        return;
    }
    // Under the lock: nobody else removes this file now, so the name still refers to it, or to a file that is not ours.
    let is_same = match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(locked), Ok(named)) => is_old(&locked) && is_same_file(&locked, &named),
        _ => false,
    };
    if cfg!(windows) {
        drop(file);
    }
    if is_same {
        let _ = fs::remove_file(path);
    }
}

fn is_old(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age >= MIN_AGE)
}

#[cfg(unix)]
fn names_in(folder: &Path) -> Vec<OsString> {
    crate::descriptor::names_in(folder)
}

#[cfg(not(unix))]
fn names_in(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
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
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    other.is_file() && one.created().ok() == other.created().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for a test, with a file of this name and age.
    fn file(test: &str, name: &str, age: u64) -> (PathBuf, File) {
        let folder = std::env::temp_dir().join(format!("polyhaul-leftovers-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        (path, file)
    }

    /// Whether the file still exists; removes it and its folder.
    fn stays(path: &Path) -> bool {
        let is_there = fs::symlink_metadata(path).is_ok();
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        is_there
    }

    const NAME: &str = ".a.obj.polyhaul-12-0.tmp";

    #[test]
    fn only_names_of_ours_are_taken() {
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
    fn a_leftover_goes_and_what_is_young_or_locked_stays() {
        let (old, _open) = file("old", NAME, 120);
        remove_from(old.parent().unwrap());
        assert!(!stays(&old));
        let (young, _open) = file("young", NAME, 30);
        remove_from(young.parent().unwrap());
        assert!(stays(&young));
        let (locked, open) = file("locked", NAME, 120);
        let lock = Lock::new(&open).unwrap();
        // On unix the lock outlives the handle that was written through.
        if cfg!(unix) {
            drop(open);
        }
        remove_from(locked.parent().unwrap());
        assert!(stays(&locked));
        drop(lock);
    }

    #[test]
    fn files_of_users_stay() {
        let (user, _open) = file("user", ".a.obj.12-0.tmp", 10_000);
        remove_from(user.parent().unwrap());
        assert!(stays(&user));
    }

    #[test]
    #[cfg(unix)]
    fn links_and_folders_stay_with_what_they_lead_to() {
        let (target, _open) = file("link", "precious", 120);
        let folder = target.parent().unwrap();
        std::os::unix::fs::symlink(&target, folder.join(NAME)).unwrap();
        fs::create_dir(folder.join(".b.obj.polyhaul-12-0.tmp")).unwrap();
        remove_from(folder);
        assert!(folder.join(NAME).is_symlink() && folder.join(".b.obj.polyhaul-12-0.tmp").is_dir());
        assert!(stays(&target));
    }

    #[test]
    fn a_folder_is_searched_once_a_minute() {
        let (path, _open) = file("once", NAME, 0);
        let folder = path.parent().unwrap();
        assert!(is_due(folder) && !is_due(folder) && !is_due(&folder.join(".")));
        assert!(stays(&path));
    }
}
