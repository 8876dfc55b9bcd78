//! System calls beyond the portable part of the standard library. All are implemented on Linux. On other systems, all
//! except `read_at` have no effect or no result, and figures that depend on them are omitted.

use std::fs::File;
use std::io;

/// Reads at `offset` without changing the file position. May read less than requested.
#[cfg(unix)]
pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

/// Reads at `offset`. May read less than requested.
#[cfg(windows)]
pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}

/// Unsupported: browsers have no files.
#[cfg(not(any(unix, windows)))]
pub(super) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Asks the system to drop cached pages of the file. Dirty pages stay.
    pub(crate) fn forget_cached(file: &File) {
        // SAFETY: the descriptor stays open while `file` is borrowed, and the call takes only numbers. It is advice:
        // whether it was followed shows when the file is read.
        let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    /// Switches direct I/O, which bypasses the page cache, on or off. Returns `false` if the file system refuses.
    pub(crate) fn set_direct(file: &File, direct: bool) -> bool {
        let descriptor = file.as_raw_fd();
        // SAFETY: the descriptor stays open while `file` is borrowed; `F_GETFL` and `F_SETFL` take and return only
        // numbers.
        unsafe {
            let flags = libc::fcntl(descriptor, libc::F_GETFL);
            let new_flags = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
            flags >= 0 && libc::fcntl(descriptor, libc::F_SETFL, new_flags) == 0
        }
    }

    /// Bytes available to this user on the file's file system.
    pub(crate) fn free_bytes(file: &File) -> Option<u64> {
        let mut stats = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the descriptor stays open while `file` is borrowed. `stats` is a writable `statvfs` that the call
        // fills completely if it returns 0, and it is read only in that case.
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
