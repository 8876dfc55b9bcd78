//! The file operations that a file sink needs, as a trait, so that tests can make each of them fail.
//!
//! [`Disk`] is the file system: each method performs one operation, and `sink/file.rs` decides their order.
//! [`FaultyLayer`] is the file system with one planted failure.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// File operations of a [`Sink`](crate::Sink). A method repeats interrupted calls unless its docs mention
/// `Interrupted`.
pub trait Layer: Send + Sync {
    /// Returns the metadata of `path` without following a symlink.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// Returns the target of the symlink `path`.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Fails if this process may not write to the file `path`.
    fn check_writable(&self, path: &Path) -> io::Result<()>;
    /// Opens a device or a FIFO for writing, without truncating and without waiting: a FIFO without a reader is an
    /// error (ENXIO), and [`Layer::write`] may fail with `WouldBlock` if the reader is slow.
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Opens a handle for [`Layer::sync_folder`]. Returns `None` if folders cannot be synced (Windows).
    fn open_folder(&self, path: &Path) -> io::Result<Option<File>>;
    /// Creates a file that must not exist yet, with this mode and the umask applied. Windows ignores the mode.
    fn create_new(&self, path: &Path, mode: u32) -> io::Result<File>;
    /// Sets the mode of `file` to the mode of `old` without the set-user-ID and set-group-ID bits, and its owner and
    /// group if the system allows that. Does nothing on Windows.
    fn keep_attributes(&self, file: &File, old: &Metadata) -> io::Result<()>;
    /// Writes some of `bytes`. Returns the number of bytes written. May return `Interrupted`.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;
    /// Makes the content of `file` survive a power failure.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Closes `file`. It is closed even if this fails.
    fn close(&self, file: File) -> io::Result<()>;
    /// Moves `from` to `to` in one step, replacing the old file.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a rename in the folder survive a power failure.
    fn sync_folder(&self, folder: &File) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Layer for Disk {
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::symlink_metadata(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn check_writable(&self, path: &Path) -> io::Result<()> {
        system::check_writable(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true);
        system::set_no_waiting(&mut options).open(path)
    }

    fn open_folder(&self, path: &Path) -> io::Result<Option<File>> {
        system::open_folder(path)
    }

    fn create_new(&self, path: &Path, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        system::set_mode(&mut options, mode).open(path)
    }

    fn keep_attributes(&self, file: &File, old: &Metadata) -> io::Result<()> {
        system::keep_attributes(file, old)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn close(&self, file: File) -> io::Result<()> {
        system::close(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        match folder.sync_all() {
            // Some file systems cannot sync folders; there is no alternative.
            Err(error) if is_unknown(&error) => Ok(()),
            result => result,
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Returns whether the error means that this kind of file does not support the operation.
pub(crate) fn is_unknown(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(unix)]
mod system {
    pub(super) use crate::descriptor::{check_writable, close};
    use std::fs::{File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
    use std::path::Path;

    const GROUP_BITS: u32 = 0o070;
    /// All but the set-user-ID and set-group-ID bits, which writing to the file would have cleared too.
    const KEPT_BITS: u32 = 0o1777;

    pub(super) fn open_folder(path: &Path) -> io::Result<Option<File>> {
        File::open(path).map(Some)
    }

    pub(super) fn set_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
        options.mode(mode)
    }

    pub(super) fn set_no_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
    }

    pub(super) fn keep_attributes(file: &File, old: &Metadata) -> io::Result<()> {
        let new = file.metadata()?;
        let mut mode = old.mode() & KEPT_BITS;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) && !give_away(file, old) {
            // The group has changed, and must not get more rights than everyone had.
            mode &= !GROUP_BITS | (mode << 3);
        }
        // File systems without modes reject a change, but already report the correct mode.
        if new.mode() & KEPT_BITS == mode {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(mode))
    }

    /// Sets the old owner and group, or only the group: only root may change the owner, but the group can often be
    /// kept. Returns whether the file has the old group.
    fn give_away(file: &File, old: &Metadata) -> bool {
        fchown(file, Some(old.uid()), Some(old.gid())).is_ok() || fchown(file, None, Some(old.gid())).is_ok()
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn check_writable(path: &Path) -> io::Result<()> {
        if fs::metadata(path)?.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is marked as read-only"));
        }
        Ok(())
    }

    pub(super) fn open_folder(_: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn set_mode(options: &mut OpenOptions, _: u32) -> &mut OpenOptions {
        options
    }

    pub(super) fn set_no_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn keep_attributes(_: &File, _: &Metadata) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn close(file: File) -> io::Result<()> {
        drop(file);
        Ok(())
    }
}

/// [`Disk`] with one failing operation, for tests of code that writes files.
///
/// Operations are counted from 0 in the order of their calls. The failing operation has no effect, except that a
/// failing close still closes the file.
///
/// ```
/// use polyhaul_bytes::{FaultyLayer, FileOptions, Sink};
/// use std::sync::Arc;
///
/// let path = std::env::temp_dir().join("polyhaul-bytes-never-written");
/// for n in 0.. {
///     let layer = Arc::new(FaultyLayer::new(n, std::io::ErrorKind::StorageFull));
///     let result = Sink::file_with(layer.clone(), &path, FileOptions::default())
///         .and_then(|mut sink| sink.write_all(b"x").and(sink.finish()));
///     if layer.fired().is_none() {
///         assert!(result.is_ok());
///         break;
///     }
///     assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
///     assert!(!path.exists());
/// }
/// # std::fs::remove_file(&path).unwrap();
/// ```
#[derive(Debug)]
pub struct FaultyLayer {
    fail_at: usize,
    fault: PlantedFault,
    write_limit_bytes: usize,
    operations: Mutex<Vec<&'static str>>,
}

/// A failure that can be produced repeatedly.
#[derive(Debug, Clone, Copy)]
enum PlantedFault {
    Kind(io::ErrorKind),
    Os(i32),
}

impl FaultyLayer {
    /// Creates a layer whose operation number `fail_at` fails with an error of this kind.
    pub fn new(fail_at: usize, kind: io::ErrorKind) -> Self {
        Self::with(fail_at, PlantedFault::Kind(kind))
    }

    /// Creates a layer whose operation number `fail_at` fails with an error number of the system, such as `ENOSPC`.
    pub fn with_os_error(fail_at: usize, raw_os_error: i32) -> Self {
        Self::with(fail_at, PlantedFault::Os(raw_os_error))
    }

    /// Creates a layer that never fails, for short writes and for counting operations.
    pub fn harmless() -> Self {
        Self::with(usize::MAX, PlantedFault::Kind(io::ErrorKind::Other))
    }

    fn with(fail_at: usize, fault: PlantedFault) -> Self {
        FaultyLayer { fail_at, fault, write_limit_bytes: usize::MAX, operations: Mutex::new(Vec::new()) }
    }

    /// Limits each write to `limit_bytes` bytes.
    #[must_use]
    pub fn with_short_writes(mut self, limit_bytes: usize) -> Self {
        self.write_limit_bytes = limit_bytes;
        self
    }

    /// Returns the names of the [`Layer`] methods called so far.
    pub fn operations(&self) -> Vec<&'static str> {
        self.log().clone()
    }

    /// Returns the name of the operation that failed, if it was reached.
    pub fn fired(&self) -> Option<&'static str> {
        self.log().get(self.fail_at).copied()
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Vec<&'static str>> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, operation: &'static str) -> io::Result<()> {
        let mut log = self.log();
        log.push(operation);
        if log.len() != self.fail_at.wrapping_add(1) {
            return Ok(());
        }
        Err(match self.fault {
            PlantedFault::Kind(kind) => kind.into(),
            PlantedFault::Os(number) => io::Error::from_raw_os_error(number),
        })
    }
}

impl Layer for FaultyLayer {
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.step("metadata")?;
        Disk.metadata(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.step("read_link")?;
        Disk.read_link(path)
    }

    fn check_writable(&self, path: &Path) -> io::Result<()> {
        self.step("check_writable")?;
        Disk.check_writable(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.step("open")?;
        Disk.open(path)
    }

    fn open_folder(&self, path: &Path) -> io::Result<Option<File>> {
        self.step("open_folder")?;
        Disk.open_folder(path)
    }

    fn create_new(&self, path: &Path, mode: u32) -> io::Result<File> {
        self.step("create_new")?;
        Disk.create_new(path, mode)
    }

    fn keep_attributes(&self, file: &File, old: &Metadata) -> io::Result<()> {
        self.step("keep_attributes")?;
        Disk.keep_attributes(file, old)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.step("write")?;
        Disk.write(file, &bytes[..bytes.len().min(self.write_limit_bytes)])
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step("sync")?;
        Disk.sync(file)
    }

    fn close(&self, file: File) -> io::Result<()> {
        self.step("close")?;
        Disk.close(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename")?;
        Disk.rename(from, to)
    }

    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        self.step("sync_folder")?;
        Disk.sync_folder(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove")?;
        Disk.remove(path)
    }
}
