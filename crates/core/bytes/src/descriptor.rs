//! Operations on Unix descriptors that std lacks. Besides these, only the inner loop of inflate is `unsafe` in this
//! crate.
//!
//! `source` and `layer` decide what to read and write.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

/// Closes `file`, and returns the system's error: on network file systems or with quotas, a failed write may not be
/// reported until here.
///
/// An interrupted close is an error too, because the descriptor is gone and the state of the data unknown.
pub(crate) fn close(file: File) -> io::Result<()> {
    let descriptor = file.into_raw_fd();
    // SAFETY: `into_raw_fd` gave up ownership, so this function owns the descriptor and is the only one to close it.
    check(unsafe { libc::close(descriptor) }).map(drop)
}

/// Fails if this process may not write to `path`. Opening the file instead would notify its watchers of a write.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is NUL-terminated and lives until the call returns.
    check(unsafe { libc::access(path.as_ptr(), libc::W_OK) }).map(drop)
}

/// Duplicates the descriptor that `path` refers to (`/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/3`). Returns `None` for
/// other paths.
///
/// Opening such a path again would lose the position shared with the process that passed the descriptor.
pub(crate) fn duplicate(path: &Path) -> io::Result<Option<File>> {
    let Some(number) = own_descriptor(path) else {
        return Ok(None);
    };
    // SAFETY: the arguments are plain numbers; a number that is not open yields EBADF.
    let descriptor = check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) })?;
    // SAFETY: the call above has just created this descriptor, so it is open and has no other owner.
    Ok(Some(unsafe { File::from_raw_fd(descriptor) }))
}

fn own_descriptor(path: &Path) -> Option<RawFd> {
    let name = path.file_name()?.to_str()?;
    if path.parent()? == Path::new("/dev") {
        return match name {
            "stdin" => Some(0),
            "stdout" => Some(1),
            "stderr" => Some(2),
            _ => None,
        };
    }
    let number = name.parse().ok().filter(|&n: &RawFd| n >= 0)?;
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let is_ours = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == folder);
    (is_ours("/dev/fd") || is_ours("/proc/self/fd")).then_some(number)
}

/// Waits up to `timeout` until poll(2) reports `events`, a hang-up or an error for `file`. Returns whether it did. A
/// signal also ends the wait.
pub(crate) fn wait(file: &File, events: libc::c_short, timeout: Duration) -> io::Result<bool> {
    let mut request = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    let milliseconds = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the pointer is to one `pollfd`, matching the count, and the call does not keep it.
    match check(unsafe { libc::poll(&raw mut request, 1, milliseconds) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Returns whether the byte at `offset` is in the page cache, or `None` if that is unknown, for example because the
/// file system does not support non-blocking reads. Does not wait for a missing page, but may cause it to be fetched.
#[cfg(target_os = "linux")]
pub(crate) fn is_cached(file: &File, offset: u64) -> Option<bool> {
    let mut byte = 0u8;
    let part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // The offset is passed in two halves; on 64-bit systems, the low half holds the whole offset.
    let low = offset as libc::c_long;
    let high = (offset >> 32) as libc::c_long;
    // SAFETY: the descriptor is open; the one part is a byte that outlives the call, which keeps neither pointer. Uses
    // `syscall` because musl has no function for this call.
    let count =
        unsafe { libc::syscall(libc::SYS_preadv2, file.as_raw_fd(), &raw const part, 1, low, high, libc::RWF_NOWAIT) };
    match count {
        0.. => Some(true),
        _ => (io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock).then_some(false),
    }
}

/// Returns the names in a folder, in any order, including `.` and `..`.
///
/// Unlike `std::fs::read_dir`, ignores a failure to close the folder instead of panicking.
pub(crate) fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` ends with NUL and lives through the call. `stream` is not null, is used by this thread alone, and
    // is closed once, after the loop. A record that `readdir` returns is valid until its next call, and its name ends
    // with NUL.
    unsafe {
        let stream = libc::opendir(path.as_ptr());
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        let result = loop {
            forget_error();
            // Does not create a reference to the whole record, which may be shorter than the struct.
            let entry = libc::readdir(stream);
            if entry.is_null() {
                let error = io::Error::last_os_error();
                break if error.raw_os_error() == Some(0) { Ok(names) } else { Err(error) };
            }
            let name = CStr::from_ptr((&raw const (*entry).d_name).cast());
            names.push(OsString::from_vec(name.to_bytes().to_vec()));
        };
        libc::closedir(stream);
        result
    }
}

/// Clears `errno`: `readdir` returns null both at the end and after an error.
fn forget_error() {
    // SAFETY: the pointer is to a variable of this thread.
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    unsafe {
        *libc::__errno_location() = 0;
    }
    // SAFETY: as above.
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    unsafe {
        *libc::__error() = 0;
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_distinguished_from_other_paths() {
        assert_eq!(own_descriptor(Path::new("/dev/stdout")), Some(1));
        assert_eq!(own_descriptor(Path::new("/dev/fd/7")), Some(7));
        for other in ["/dev/null", "7", "/tmp/7", "/", "/dev/fd/x", "/dev/fd/-1", "stdout"] {
            assert_eq!(own_descriptor(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_duplicate_shares_the_position() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let path = format!("/dev/fd/{}", file.as_raw_fd());
        let mut copy = duplicate(Path::new(&path)).unwrap().unwrap();
        io::Read::read_exact(&mut copy, &mut [0; 10]).unwrap();
        assert_eq!(io::Seek::stream_position(&mut &file).unwrap(), 10);
    }

    #[test]
    fn a_number_that_is_not_open_is_an_error() {
        assert!(duplicate(Path::new("/dev/fd/1000000")).is_err());
    }

    #[test]
    fn the_names_in_a_folder_are_found() {
        let names = names_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(names.iter().any(|name| name == "Cargo.toml"), "{names:?}");
        let missing = names_in(Path::new("/polyhaul/no such folder"));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn close_closes_once() {
        close(File::open("/dev/null").unwrap()).unwrap();
    }
}
