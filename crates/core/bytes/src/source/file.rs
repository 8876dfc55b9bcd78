//! Regular files: opened without waiting, read at any offset.

use super::prefetch::ReadProgress;
use crate::error::{context, retry};
use polyhaul_fault::planted;
use polyhaul_trace::Counters;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A regular file, with its properties when it was opened.
pub(super) struct RegularFile {
    pub(super) file: File,
    /// The offset in the file at which the source starts.
    pub(super) base: u64,
    /// Bytes from `base` to the end.
    pub(super) len: u64,
    modified: Option<SystemTime>,
    pub(super) progress: ReadProgress,
}

impl RegularFile {
    pub(super) fn new(file: File, base: u64, metadata: &Metadata) -> Self {
        RegularFile {
            file,
            base,
            len: metadata.len().saturating_sub(base),
            modified: metadata.modified().ok(),
            progress: ReadProgress::default(),
        }
    }

    /// Never reads past the length that the file had when it was opened, so finding the end takes no call, and growth
    /// has no effect.
    pub(super) fn read_at(&self, offset: u64, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        let remaining = self.len.saturating_sub(offset);
        let count = usize::try_from(remaining).map_or(out.len(), |r| r.min(out.len()));
        let mut filled = 0;
        self.progress.reach(offset.min(self.len) + count as u64);
        while filled < count {
            let at = self.base + offset + filled as u64;
            let part = &mut out[filled..count];
            let transfer = || counters.transfer_at(Some(at - self.base), || read_file_at(&self.file, at, part));
            match retry(transfer).map_err(|error| context(error, format!("at byte {at}")))? {
                0 if planted("source-shrinks") => return Ok(count),
                0 => return Err(self.shrank(at)),
                n => filled += n,
            }
        }
        Ok(count)
    }

    fn shrank(&self, end: u64) -> io::Error {
        let expected = self.base + self.len;
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!(
                "the file shrank while it was being read: it ends at byte {end}, but had {expected} bytes when it was opened"
            ),
        )
    }

    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        let now = self.file.metadata()?;
        let before = self.base + self.len;
        let after = now.len();
        let change = if before != after {
            format!("its size changed from {before} to {after} bytes")
        } else if self.modified != now.modified().ok() {
            "its modification time changed".to_owned()
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("the file changed while it was being read: {change}")))
    }
}

pub(super) fn directory_error() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file")
}

pub(super) fn refuse_irregular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() || planted("source-device") {
        return Ok(());
    }
    if metadata.is_dir() {
        return Err(directory_error());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, not a regular file", kind_of(metadata))))
}

#[cfg(unix)]
fn kind_of(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind_of(_: &Metadata) -> &'static str {
    "a device"
}

#[cfg(unix)]
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // std adds O_CLOEXEC. A FIFO or a terminal may have replaced the file since the check.
    std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

#[cfg(not(unix))]
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
pub(super) fn read_file_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

#[cfg(windows)]
pub(super) fn read_file_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}

#[cfg(unix)]
pub(super) fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(super) fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// Never called: a browser has no files that could have been opened.
#[cfg(not(any(unix, windows)))]
pub(super) fn read_file_at(_: &File, _: u64, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(unix, windows)))]
pub(super) fn stdin_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    /// Opens the FIFO directly, because the earlier check would hide an open that waits: the FIFO never has a writer.
    #[test]
    fn opening_never_waits_and_the_second_check_refuses() {
        let name = format!("polyhaul-bytes-fifo-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let file = open_without_waiting(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(refuse_irregular(&file.unwrap().metadata().unwrap()).is_err());
    }
}
