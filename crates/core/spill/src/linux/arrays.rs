//! Arrays that are mapped files without a name.
//!
//! Each has a file of its own, which nobody else can open or shorten, with all its blocks reserved, so that writing to
//! the array cannot fail for lack of space. The system removes the file with the array, however the process ends.
//! When arrays are on disk is decided in the module above.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More arrays than this are not on disk at a time: each has an open file.
const MOST: usize = 512;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether any array is on disk.
pub fn any() -> bool {
    COUNT.load(Relaxed) > 0
}

/// The arrays on disk. It allocates nothing.
pub struct Arrays {
    arrays: [Mapped; MOST],
    count: usize,
    bytes: u64,
    peak: u64,
}

#[derive(Clone, Copy)]
struct Mapped {
    start: usize,
    bytes: usize,
    file: i32,
}

fn last_error() -> io::Error {
    io::Error::last_os_error()
}

/// Opens a folder for files.
pub fn open_folder(folder: &Path) -> io::Result<i32> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: `path` is a C string.
    let folder = unsafe { libc::open(path.as_ptr(), libc::O_DIRECTORY | libc::O_PATH | libc::O_CLOEXEC) };
    if folder < 0 {
        return Err(last_error());
    }
    // Fails now, not in the middle of a job, if the file system has no unnamed files.
    match open(folder) {
        Ok(file) => close(file),
        Err(error) => {
            close_folder(folder);
            return Err(error);
        }
    }
    Ok(folder)
}

/// Closes it.
pub fn close_folder(folder: i32) {
    close(folder);
}

fn close(file: i32) {
    // SAFETY: the descriptor is this module's own.
    unsafe { libc::close(file) };
}

/// A file without a name in an opened folder.
fn open(folder: i32) -> io::Result<i32> {
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC | libc::O_EXCL;
    // SAFETY: `c"."` is a C string; the last argument is the file's mode.
    let file = unsafe { libc::openat(folder, c".".as_ptr(), flags, 0o600) };
    if file < 0 { Err(last_error()) } else { Ok(file) }
}

/// Reserves blocks for the first `bytes` of a file.
fn reserve(file: i32, bytes: usize) -> io::Result<()> {
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

impl Arrays {
    pub const fn new() -> Arrays {
        Arrays { arrays: [Mapped { start: 0, bytes: 0, file: -1 }; MOST], count: 0, bytes: 0, peak: 0 }
    }

    /// The largest size of all together since [`Arrays::forget_peak`].
    pub fn peak_bytes(&self) -> u64 {
        self.peak
    }

    pub fn forget_peak(&mut self) {
        self.peak = self.bytes;
    }

    fn used(&self) -> &[Mapped] {
        self.arrays.get(..self.count).unwrap_or_default()
    }

    fn find(&self, start: *mut u8) -> Option<usize> {
        self.used().iter().position(|array| array.start == start as usize)
    }

    /// Whether the array at `start` is on disk.
    pub fn contains(&self, start: *mut u8) -> bool {
        self.find(start).is_some()
    }

    /// An array of zeros.
    pub fn map(&mut self, folder: i32, bytes: usize) -> io::Result<*mut u8> {
        if self.count == MOST {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let file = open(folder)?;
        let mapped = reserve(file, bytes).and_then(|()| {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping, which replaces no other, of a file that has these bytes.
            match unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0) } {
                libc::MAP_FAILED => Err(last_error()),
                start => Ok(start.cast::<u8>()),
            }
        });
        let start = mapped.inspect_err(|_| close(file))?;
        self.arrays[self.count] = Mapped { start: start as usize, bytes, file };
        self.count += 1;
        self.changed(bytes, 0);
        Ok(start)
    }

    /// Changes the size of an array that is on disk, and perhaps its place.
    pub fn resize(&mut self, start: *mut u8, bytes: usize) -> io::Result<*mut u8> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let number = self.find(start).ok_or_else(missing)?;
        let array = self.arrays.get_mut(number).ok_or_else(missing)?;
        let before = array.bytes;
        if bytes > before {
            reserve(array.file, bytes)?;
        }
        // SAFETY: the mapping is that of `map` or of an earlier call, with this size; the file has the new size too.
        let moved = unsafe { libc::mremap(start.cast(), before, bytes, libc::MREMAP_MAYMOVE) };
        if moved == libc::MAP_FAILED {
            return Err(last_error());
        }
        if bytes < before {
            // SAFETY: the descriptor is open; the pages that go are no longer mapped.
            unsafe { libc::ftruncate(array.file, bytes.next_multiple_of(super::PAGE_BYTES) as libc::off_t) };
        }
        (array.start, array.bytes) = (moved as usize, bytes);
        self.changed(bytes, before);
        Ok(moved.cast())
    }

    /// Frees an array; `false` if it is not on disk.
    pub fn unmap(&mut self, start: *mut u8) -> bool {
        let Some(number) = self.find(start) else { return false };
        let array = self.arrays[number];
        // SAFETY: the mapping is this module's, and its owner gave it up.
        unsafe { libc::munmap(start.cast(), array.bytes) };
        close(array.file);
        self.count -= 1;
        self.arrays[number] = self.arrays[self.count];
        self.changed(0, array.bytes);
        true
    }

    fn changed(&mut self, now: usize, before: usize) {
        COUNT.store(self.count, Relaxed);
        self.bytes = self.bytes + now as u64 - before as u64;
        self.peak = self.peak.max(self.bytes);
    }

    /// Takes the pages of all arrays out of this process's memory. Their contents stay in the file, or in the system's
    /// cache of it, from where a touch brings them back.
    pub fn release(&self) {
        for array in self.used() {
            // SAFETY: the mapping exists while the table is locked. It is shared, so that the advice drops no content
            // (madvise(2): pages of a shared mapping are repopulated from the file).
            unsafe { libc::madvise(array.start as *mut libc::c_void, array.bytes, libc::MADV_DONTNEED) };
        }
    }
}
