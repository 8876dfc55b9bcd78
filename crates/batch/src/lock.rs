//! Locks and identifies log files, to detect files that a run is still writing and files that were removed, renamed or
//! replaced.
//!
//! On Unix, a run holds a lock (`flock`) on its file until it closes the file or its process ends. On file systems
//! without locks, a file counts as being written if it changed within the last hour. On Windows, a run opens its file
//! such that other processes can only open it for reading, and merges exclude each other ([`exclude_merges`]). Objects
//! in object stores cannot be locked.

use polyhaul::place::is_url;
use polyhaul_fault::planted;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of names to try for a new file.
const MAX_NAMES: u32 = 1000;

/// Time without changes after which a log counts as complete if files cannot be locked. Long, since some assets take a
/// long time to convert.
const MIN_QUIET: Duration = Duration::from_secs(3600);

/// Device and inode numbers, to distinguish files that had the same path. Available only on Unix.
pub(crate) type FileIdentity = (u64, u64);

/// Exclusive access to a log file that is not being written. Holds the lock on the file, if files can be locked, until
/// dropped.
pub(crate) struct LogGuard(Option<File>);

impl LogGuard {
    /// Whether the file still has this size. Always true for objects in object stores, which never grow.
    pub(crate) fn has_bytes(&self, bytes: u64) -> bool {
        self.0.as_ref().is_none_or(|file| file.metadata().is_ok_and(|metadata| metadata.len() == bytes))
    }

    /// Device and inode numbers of the locked file, or `None` for objects in object stores and on systems other than
    /// Unix.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        self.0.as_ref().and_then(|file| identity(&file.metadata().ok()?))
    }
}

/// A log file that a run writes, locked until dropped.
pub(crate) struct LogFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    /// Bytes written so far.
    pub(crate) bytes: u64,
}

impl LogFile {
    /// Creates and locks a file in a folder; creates the folder if necessary.
    ///
    /// # Errors
    /// If the folder or the file cannot be created.
    pub(crate) fn create(folder: &Path, name: &str) -> io::Result<LogFile> {
        let mut options = OpenOptions::new();
        // Readable, so that the rows can be copied if another program removes the file.
        options.create_new(true).read(true).append(true);
        share_for_reading(&mut options);
        let mut number = 0;
        loop {
            std::fs::create_dir_all(folder)?;
            let path = folder.join(if number == 0 { format!("{name}.log") } else { format!("{name}-{number}.log") });
            number += 1;
            let is_last = number == MAX_NAMES;
            let file = match options.open(&path) {
                Ok(file) => LogFile { file, path, bytes: 0 },
                // A run on another machine has the same name, or the folder was removed.
                Err(error) if !is_last && is_transient(&error) => continue,
                Err(error) => return Err(error),
            };
            let is_taken = !planted("log-unlocked") && matches!(lock(&file.file), Lock::Busy);
            // A merge may have locked, replaced or removed the file before this run could lock it. With the last name,
            // the run goes on even without the lock: it copies its rows if the file is removed.
            if !is_taken && file.is_in_place() || is_last {
                return Ok(file);
            }
        }
    }

    /// Whether the path still refers to the file: it was not removed, renamed or replaced.
    pub(crate) fn is_in_place(&self) -> bool {
        let named = std::fs::metadata(&self.path);
        named.is_ok_and(|named| self.file.metadata().is_ok_and(|open| identity(&named) == identity(&open)))
    }

    /// Whether another program truncated the file.
    ///
    /// # Errors
    /// If the size of the file cannot be determined.
    pub(crate) fn is_truncated(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() < self.bytes)
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// Result of an attempt to lock a file.
enum Lock {
    Held,
    /// Another process holds a lock.
    Busy,
    /// The file cannot be locked, usually because the file system does not support locks.
    Unsupported,
}

#[cfg(unix)]
fn lock(file: &File) -> Lock {
    match file.try_lock() {
        Ok(()) => Lock::Held,
        Err(std::fs::TryLockError::WouldBlock) => Lock::Busy,
        Err(std::fs::TryLockError::Error(_)) => Lock::Unsupported,
    }
}

#[cfg(not(unix))]
fn lock(_: &File) -> Lock {
    Lock::Held
}

#[cfg(windows)]
fn share_for_reading(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    options.share_mode(FILE_SHARE_READ);
}

#[cfg(not(windows))]
fn share_for_reading(_: &mut OpenOptions) {}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn identity(metadata: &Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns `None`. Windows needs no identity: other processes cannot remove or rename the open file of a run.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<FileIdentity> {
    None
}

/// Locks a log file. Returns `None` if a run is writing it, another merge has locked it, or it no longer exists.
///
/// # Errors
/// If the file exists but cannot be opened.
pub(crate) fn take(path: &Path) -> io::Result<Option<LogGuard>> {
    if is_url(path) {
        return Ok(Some(LogGuard(None)));
    }
    // Network file systems may require that a file to be locked is open for writing.
    let file = match OpenOptions::new().read(true).append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    };
    let file = match file {
        Ok(file) => LogFile { file, path: path.to_path_buf(), bytes: 0 },
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_in_use(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_free = match lock(&file.file) {
        Lock::Held => true,
        Lock::Busy => false,
        Lock::Unsupported => is_quiet(&file.file),
    };
    let is_free = is_free && file.is_in_place();
    Ok(is_free.then_some(LogGuard(Some(file.file))))
}

/// Excludes other merges of a library until dropped, on Windows only. On other systems, a merge keeps a lock on the log
/// that it replaces.
pub(crate) struct MergeGuard(#[expect(dead_code, reason = "held until dropped")] Option<File>);

/// Starts a merge. Returns `None` if another merge is running. `folder` must exist.
///
/// # Errors
/// I/O errors.
#[cfg(windows)]
pub(crate) fn exclude_merges(folder: &Path) -> io::Result<Option<MergeGuard>> {
    use std::os::windows::fs::OpenOptionsExt;
    if is_url(folder) {
        return Ok(Some(MergeGuard(None)));
    }
    match OpenOptions::new().write(true).create(true).truncate(false).share_mode(0).open(folder.join("merge.lock")) {
        Ok(file) => Ok(Some(MergeGuard(Some(file)))),
        Err(error) if is_in_use(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(windows))]
#[allow(clippy::unnecessary_wraps, reason = "on Windows, it can fail")]
pub(crate) fn exclude_merges(_: &Path) -> io::Result<Option<MergeGuard>> {
    Ok(Some(MergeGuard(None)))
}

/// Whether a file has not changed for [`MIN_QUIET`]. False if its modification time is unknown or in the future.
fn is_quiet(file: &File) -> bool {
    let changed = file.metadata().and_then(|metadata| metadata.modified()).ok();
    changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age >= MIN_QUIET)
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
