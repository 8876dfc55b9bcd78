//! System calls for measuring beyond the standard library. Linux has all of them; elsewhere the result is unknown, and
//! the figure is left out.

use std::fs::File;
use std::io;

/// Reads at `offset` without moving the position; may return less than requested.
#[cfg(unix)]
pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

/// Reads at `offset`; may return less than requested.
#[cfg(windows)]
pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}

/// A browser has no files.
#[cfg(not(any(unix, windows)))]
pub(super) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Asks the system to drop its cached pages of the file; data that is not on the disk yet stays.
    pub(crate) fn forget_cached(file: &File) {
        // SAFETY: the descriptor is open as long as `file` is borrowed, and the call takes numbers only. It is advice:
        // whether it was followed shows when the file is read.
        let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    /// Makes reads of the file bypass the system's memory from now on; `false` if the file system refuses.
    pub(crate) fn set_direct(file: &File, direct: bool) -> bool {
        let descriptor = file.as_raw_fd();
        // SAFETY: the descriptor is open as long as `file` is borrowed; `F_GETFL` and `F_SETFL` take and return
        // numbers.
        unsafe {
            let flags = libc::fcntl(descriptor, libc::F_GETFL);
            let new_flags = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
            flags >= 0 && libc::fcntl(descriptor, libc::F_SETFL, new_flags) == 0
        }
    }

    /// Bytes that this user can still write to the file system of the file.
    pub(crate) fn free_bytes(file: &File) -> Option<u64> {
        let mut stats = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the descriptor is open as long as `file` is borrowed. `stats` is a writable `statvfs`, which the call
        // fills as a whole if it returns 0; only then it is read.
        let stats = unsafe {
            if libc::fstatvfs(file.as_raw_fd(), stats.as_mut_ptr()) != 0 {
                return None;
            }
            stats.assume_init()
        };
        #[allow(clippy::unnecessary_cast, reason = "both have 32 bits on some systems")]
        Some((stats.f_bavail as u64).saturating_mul(stats.f_frsize as u64))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use std::fs::File;

    pub(crate) fn forget_cached(_: &File) {}

    pub(crate) fn set_direct(_: &File, _: bool) -> bool {
        false
    }

    pub(crate) fn free_bytes(_: &File) -> Option<u64> {
        None
    }
}

pub(super) use linux::{forget_cached, free_bytes, set_direct};
