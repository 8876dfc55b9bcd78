//! Decides whether large arrays are in memory or on disk.
//!
//! They are always counted, so that a new [`Spill`] knows how much memory is in use. While one exists, an array that
//! would exceed its limit becomes a mapped file ([`arrays`]), and an array that outgrows the limit moves to one.
//! Nothing here allocates, because the allocator calls it.

mod arrays;
mod warden;

use arrays::MappedArrays;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warden::Warden;

/// Minimum size of a large array: there are too many smaller ones to give each a file.
const MIN_LARGE_BYTES: usize = 1 << 20;
/// Minimum page size of the architectures that Rust supports on Linux. Arrays with a larger alignment never spill.
const PAGE_BYTES: usize = 4096;

/// Memory reserved for pages of files, unless the limit is too small for it. While a table is filled, each column has a
/// page in use that is as large as the system's read-ahead, up to 2 MiB: 120 MiB for splats, even right after a
/// release.
const FILE_BYTES: u64 = 168 << 20;

/// Bytes of large arrays in memory.
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);
/// Maximum of [`HELD_BYTES`]; `u64::MAX` without a `Spill`.
static MAX_HELD_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
/// Descriptor of the folder for files while a `Spill` exists; otherwise -1.
static FOLDER: AtomicI32 = AtomicI32::new(-1);
static IS_DISK_FULL: AtomicBool = AtomicBool::new(false);
static ARRAYS: Mutex<MappedArrays> = Mutex::new(MappedArrays::new());

pub use arrays::any as has_arrays_on_disk;
pub use warden::relieve;

/// Returns whether a `Spill` exists.
fn is_active() -> bool {
    FOLDER.load(Relaxed) >= 0
}

fn try_lock_arrays() -> Option<MutexGuard<'static, MappedArrays>> {
    ARRAYS.try_lock().ok()
}

fn lock_arrays() -> MutexGuard<'static, MappedArrays> {
    ARRAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The spilled arrays and the thread that releases their pages.
#[derive(Debug)]
pub struct Spill {
    _warden: Warden,
}

impl Spill {
    pub fn start(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        let mut arrays = lock_arrays();
        if FOLDER.load(Relaxed) >= 0 {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "arrays are moved to disk already"));
        }
        let folder = arrays::open_folder(folder)?;
        // The last step that can fail: dropping a warden joins its thread, which may be waiting for the lock on
        // `arrays`.
        let warden = Warden::start(memory).inspect_err(|_| arrays::close_folder(folder))?;
        MAX_HELD_BYTES.store((memory / 2).min(memory.saturating_sub(FILE_BYTES).max(memory / 8)), Relaxed);
        FOLDER.store(folder, Relaxed);
        IS_DISK_FULL.store(false, Relaxed);
        arrays.forget_peak();
        Ok(Some(Spill { _warden: warden }))
    }

    pub fn peak_bytes(&self) -> u64 {
        lock_arrays().peak_bytes()
    }

    pub fn is_disk_full(&self) -> bool {
        IS_DISK_FULL.load(Relaxed)
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let _arrays = lock_arrays();
        MAX_HELD_BYTES.store(u64::MAX, Relaxed);
        arrays::close_folder(FOLDER.swap(-1, Relaxed));
    }
}

/// Returns whether an array of this size is counted and may spill.
pub fn is_large(bytes: usize) -> bool {
    bytes >= MIN_LARGE_BYTES
}

/// Returns whether an array that needs `added_bytes` more memory belongs on disk.
fn is_too_much(added_bytes: usize, layout: Layout) -> bool {
    let max_bytes = MAX_HELD_BYTES.load(Relaxed);
    layout.align() <= PAGE_BYTES
        && max_bytes != u64::MAX
        && HELD_BYTES.load(Relaxed).saturating_add(added_bytes as u64) > max_bytes
}

/// Allocates a large array.
pub fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    if is_too_much(layout.size(), layout) {
        return map(layout.size());
    }
    // SAFETY: the layout is large, so its size is not 0.
    let start = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if !start.is_null() {
        HELD_BYTES.fetch_add(layout.size() as u64, Relaxed);
    }
    start
}

/// Allocates an array of zeros on disk.
fn map(bytes: usize) -> *mut u8 {
    match lock_arrays().map(FOLDER.load(Relaxed), bytes) {
        Ok(start) => start,
        Err(error) => {
            if error.kind() == io::ErrorKind::StorageFull {
                IS_DISK_FULL.store(true, Relaxed);
            }
            ptr::null_mut()
        }
    }
}

/// Frees a large array.
///
/// # Safety
/// As for [`GlobalAlloc::dealloc`].
pub unsafe fn dealloc(start: *mut u8, layout: Layout) {
    if arrays::any() && lock_arrays().unmap(start) {
        return;
    }
    HELD_BYTES.fetch_sub(layout.size() as u64, Relaxed);
    // SAFETY: the array is not on disk, so it came from the system's allocator.
    unsafe { System.dealloc(start, layout) }
}

/// Changes the size of an array that is or becomes large.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub unsafe fn realloc(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    let was_large = is_large(layout.size());
    if was_large && arrays::any() && lock_arrays().contains(start) {
        if is_large(bytes) {
            return lock_arrays().resize(start, bytes).unwrap_or(ptr::null_mut());
        }
        // SAFETY: the caller upholds the contract.
        return unsafe { copy_to(start, layout, bytes, |layout| System.alloc(layout)) };
    }
    let held = if was_large { layout.size() } else { 0 };
    if is_large(bytes) && bytes > held && is_too_much(bytes - held, layout) {
        // SAFETY: the caller upholds the contract.
        return unsafe { copy_to(start, layout, bytes, |layout| map(layout.size())) };
    }
    // SAFETY: the array is not on disk, so it came from the system's allocator; the caller upholds the rest of the
    // contract.
    let moved = unsafe { System.realloc(start, layout, bytes) };
    if !moved.is_null() {
        HELD_BYTES.fetch_sub(held as u64, Relaxed);
        HELD_BYTES.fetch_add(if is_large(bytes) { bytes as u64 } else { 0 }, Relaxed);
    }
    moved
}

/// Copies an array to a new one of another size from `alloc`, and frees the old one.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
unsafe fn copy_to(start: *mut u8, layout: Layout, bytes: usize, alloc: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
    // SAFETY: `realloc` guarantees that `bytes`, rounded up to the alignment, does not overflow.
    let target = alloc(unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) });
    if target.is_null() {
        return target;
    }
    // SAFETY: both arrays have at least this many bytes, and they are distinct allocations. The old one came from this
    // allocator and is not used afterwards.
    unsafe {
        ptr::copy_nonoverlapping(start, target, layout.size().min(bytes));
        if is_large(layout.size()) { dealloc(start, layout) } else { System.dealloc(start, layout) }
    }
    target
}
