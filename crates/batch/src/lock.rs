//! Locks on log files: which files runs are writing, and whether they still exist.
//!
//! On Unix, a run holds a lock (`flock`) on its file; it ends with the process. On Windows, a run opens its file so
//! that others can only read it. Objects in stores have no locks.

use polyhaul::place::is_url;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// How many names to try for a new file.
const MAX_NAMES: u32 = 1000;

/// An exclusive lock on a log file that no run is writing, held until dropped.
pub(crate) struct LogGuard(Option<File>);

impl LogGuard {
    /// Whether the file has this size. Objects in stores never grow.
    pub(crate) fn has_bytes(&self, bytes: u64) -> bool {
        self.0.as_ref().is_none_or(|file| file.metadata().is_ok_and(|metadata| metadata.len() == bytes))
    }
}

/// Creates and locks a log file in a folder, which is created if necessary.
///
/// # Errors
/// Errors of the system.
pub(crate) fn create(folder: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).read(true).append(true);
    share_for_reading(&mut options);
    let mut number = 0;
    loop {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(if number == 0 { format!("{name}.log") } else { format!("{name}-{number}.log") });
        number += 1;
        let is_last = number == MAX_NAMES;
        let file = match options.open(&path) {
            Ok(file) => file,
            // A run on another machine has the same name, or somebody removed the folder.
            Err(error) if !is_last && is_transient(&error) => continue,
            Err(error) => return Err(error),
        };
        // Without locks, only merging during a run is affected, and the run notices it.
        let is_locked = lock(&file);
        // A merge may have found the file before it was locked.
        if is_locked && !is_removed(&file)? || is_last {
            return Ok(file);
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// Locks a file that was just created; false if a merge has locked it.
#[cfg(unix)]
fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

#[cfg(not(unix))]
fn lock(_: &File) -> bool {
    true
}

#[cfg(windows)]
fn share_for_reading(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    options.share_mode(FILE_SHARE_READ);
}

#[cfg(not(windows))]
fn share_for_reading(_: &mut OpenOptions) {}

/// Whether an open file has been unlinked.
///
/// # Errors
/// Errors of the system.
#[cfg(unix)]
pub(crate) fn is_removed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() == 0)
}

/// On Windows, an open file cannot be removed.
#[cfg(not(unix))]
pub(crate) fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Locks a log file; `None` if a run is writing it, or another merge has taken it.
///
/// # Errors
/// Errors of the system.
pub(crate) fn take(path: &Path) -> io::Result<Option<LogGuard>> {
    if is_url(path) {
        return Ok(Some(LogGuard(None)));
    }
    // Locks of network file systems need a file that can be written.
    let file = match OpenOptions::new().read(true).append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    };
    match file {
        Ok(file) if lock(&file) && !is_removed(&file)? => Ok(Some(LogGuard(Some(file)))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_in_use(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(windows)]
fn is_in_use(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}

#[cfg(not(windows))]
fn is_in_use(_: &io::Error) -> bool {
    false
}
