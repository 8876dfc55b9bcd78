//! Arrays in unnamed mapped files.
//!
//! Each array has its own file. The file has no name, so no other program opens or truncates it. All of its disk blocks
//! are reserved, so writing to the array cannot fail for lack of space. The system deletes the file when the array is
//! freed or the process exits for any reason. The parent module decides which arrays are on disk.

use polyhaul_fault::planted;
use std::ffi::CString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Minimum page size of the architectures that Rust supports on Linux. Arrays with a larger alignment never spill.
pub const PAGE_BYTES: usize = 4096;
/// Maximum number of arrays with their own file at a time: each keeps its file open.
const MAX_ARRAYS: usize = 512;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns whether any array is on disk.
pub fn any() -> bool {
    COUNT.load(Relaxed) > 0
}

/// Arrays on disk, in a fixed-size table that never allocates.
pub struct MappedArrays {
    arrays: [MappedArray; MAX_ARRAYS],
    count: usize,
    bytes: u64,
    peak: u64,
}

#[derive(Clone, Copy)]
struct MappedArray {
    start: usize,
    bytes: usize,
    file: i32,
}

pub fn last_error() -> io::Error {
    io::Error::last_os_error()
}

/// Opens the folder for the files.
pub fn open_folder(folder: &Path) -> io::Result<i32> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` is a C string.
    let folder = unsafe { libc::open(path.as_ptr(), libc::O_DIRECTORY | libc::O_PATH | libc::O_CLOEXEC) };
    if folder < 0 {
        return Err(last_error());
    }
    // Fail now, not in the middle of a job, if the file system does not support unnamed files.
    match open(folder) {
        Ok(file) => close(file),
        Err(error) => {
            close_folder(folder);
            return Err(error);
        }
    }
    Ok(folder)
}

/// Closes a folder opened by [`open_folder`].
pub fn close_folder(folder: i32) {
    close(folder);
}

/// Closes a descriptor.
pub fn close(file: i32) {
    // SAFETY: this module owns the descriptor.
    unsafe { libc::close(file) };
}

/// Creates an unnamed file in an opened folder.
pub fn open(folder: i32) -> io::Result<i32> {
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC | libc::O_EXCL;
    // SAFETY: `c"."` is a C string; the last argument is the file's mode.
    let file = unsafe { libc::openat(folder, c".".as_ptr(), flags, 0o600) };
    if file >= 0 {
        return Ok(file);
    }
    let error = last_error();
    // Network file systems may lack unnamed files. Where `O_TMPFILE` is unknown, the flags mean opening the folder for
    // writing, which fails as well (open(2)).
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL) => open_and_unlink(folder),
        _ => Err(error),
    }
}

/// Creates a file with a name and unlinks it.
fn open_and_unlink(folder: i32) -> io::Result<i32> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    for _ in 0..MAX_ARRAYS {
        let mut name = [0u8; 64];
        let number = NUMBER.fetch_add(1, Relaxed);
        let mut rest: &mut [u8] = &mut name;
        // Always shorter than the buffer, so a zero byte remains.
        write!(rest, ".polyhaul-{}-{number}.tmp", std::process::id())?;
        // SAFETY: `name` ends with a zero byte; the last argument is the file's mode.
        let file = unsafe { libc::openat(folder, name.as_ptr().cast(), flags, 0o600) };
        if file >= 0 {
            // SAFETY: as above.
            unsafe { libc::unlinkat(folder, name.as_ptr().cast(), 0) };
            return Ok(file);
        }
        if last_error().raw_os_error() != Some(libc::EEXIST) {
            break;
        }
    }
    Err(last_error())
}

/// Reserves disk blocks for the first `bytes` bytes of a file, extending the file if it is shorter.
pub fn reserve(file: i32, bytes: usize) -> io::Result<()> {
    let bytes = libc::off_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    loop {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file, 0, bytes) } {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

impl MappedArrays {
    pub const fn new() -> MappedArrays {
        MappedArrays { arrays: [MappedArray { start: 0, bytes: 0, file: -1 }; MAX_ARRAYS], count: 0, bytes: 0, peak: 0 }
    }

    /// Returns the maximum total size of the arrays since [`MappedArrays::forget_peak`].
    pub fn peak_bytes(&self) -> u64 {
        self.peak
    }

    pub fn forget_peak(&mut self) {
        self.peak = self.bytes;
    }

    fn used(&self) -> &[MappedArray] {
        self.arrays.get(..self.count).unwrap_or_default()
    }

    fn find(&self, start: *mut u8) -> Option<usize> {
        self.used().iter().position(|array| array.start == start as usize)
    }

    /// Returns whether the array at `start` is on disk.
    pub fn contains(&self, start: *mut u8) -> bool {
        self.find(start).is_some()
    }

    /// Allocates a zeroed array on disk.
    pub fn map(&mut self, folder: i32, bytes: usize) -> io::Result<*mut u8> {
        if self.count == MAX_ARRAYS {
            return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
        }
        let file = open(folder)?;
        let mapped = reserve(file, bytes).and_then(|()| {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the mapping is new and replaces no other, and the file has these bytes.
            match unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0) } {
                libc::MAP_FAILED => Err(last_error()),
                start => Ok(start.cast::<u8>()),
            }
        });
        let start = mapped.inspect_err(|_| close(file))?;
        self.arrays[self.count] = MappedArray { start: start as usize, bytes, file };
        self.count += 1;
        self.changed(bytes, 0);
        Ok(start)
    }

    /// Resizes an array on disk, possibly moving it to a different address.
    pub fn resize(&mut self, start: *mut u8, bytes: usize) -> io::Result<*mut u8> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let number = self.find(start).ok_or_else(missing)?;
        let array = self.arrays.get_mut(number).ok_or_else(missing)?;
        let old_bytes = array.bytes;
        if bytes > old_bytes {
            reserve(array.file, bytes)?;
        }
        // SAFETY: the mapping comes from `map` or an earlier call and has this size; the file has the new size.
        let moved = unsafe { libc::mremap(start.cast(), old_bytes, bytes, libc::MREMAP_MAYMOVE) };
        if moved == libc::MAP_FAILED {
            // A mapping may be longer than its array.
            return if bytes < old_bytes { Ok(start) } else { Err(last_error()) };
        }
        if bytes < old_bytes {
            // SAFETY: the descriptor is open; the pages cut off are no longer mapped.
            unsafe { libc::ftruncate(array.file, bytes.next_multiple_of(PAGE_BYTES) as libc::off_t) };
        }
        array.start = moved as usize;
        array.bytes = bytes;
        self.changed(bytes, old_bytes);
        Ok(moved.cast())
    }

    /// Frees an array. Returns `false` if it is not on disk.
    pub fn unmap(&mut self, start: *mut u8) -> bool {
        let Some(number) = self.find(start) else { return false };
        let array = self.arrays[number];
        // SAFETY: this module created the mapping, and the caller no longer uses it.
        unsafe { libc::munmap(start.cast(), array.bytes) };
        if !planted("spill-open") {
            close(array.file);
        }
        self.count -= 1;
        self.arrays[number] = self.arrays[self.count];
        self.changed(0, array.bytes);
        true
    }

    /// Updates the totals after an array changed from `old_bytes` to `new_bytes`.
    fn changed(&mut self, new_bytes: usize, old_bytes: usize) {
        COUNT.store(self.count, Relaxed);
        self.bytes = self.bytes + new_bytes as u64 - old_bytes as u64;
        self.peak = self.peak.max(self.bytes);
    }

    /// Drops the pages of all arrays from this process's memory. Their contents stay in the file or the page cache and
    /// are mapped again on the next access.
    pub fn release(&self) {
        for array in self.used() {
            // SAFETY: the mapping exists while the table is locked. It is shared, so no content is lost
            // (madvise(2): pages of a shared mapping are repopulated from the file).
            unsafe { libc::madvise(array.start as *mut libc::c_void, array.bytes, libc::MADV_DONTNEED) };
        }
    }
}
