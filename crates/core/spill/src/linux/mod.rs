//! When large arrays are in memory and when on disk.
//!
//! They are counted always, so that a [`Spill`] knows what exists already. While there is one, an array that would
//! exceed its memory is a mapped file ([`arrays`]); one that grows beyond it moves there. Nothing here allocates:
//! the allocator calls it.

mod arrays;
mod warden;

use arrays::Arrays;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warden::Warden;

/// The least size of a large array: smaller ones are too many to be files.
const LEAST_BYTES: usize = 1 << 20;
/// A page of any architecture that Rust supports on Linux is at least this; files serve no larger alignment.
const PAGE_BYTES: usize = 4096;

/// The memory that is kept for pages of files, or most of it if there is less. Where a table is filled, each column has
/// a page in use that is as large as the system reads ahead, up to 2 MiB: 120 MiB for splats, whatever is released.
const FILE_BYTES: u64 = 168 << 20;

/// The bytes of large arrays in memory.
static HELD: AtomicU64 = AtomicU64::new(0);
/// How many of them may be; `u64::MAX` without a `Spill`.
static MOST_HELD: AtomicU64 = AtomicU64::new(u64::MAX);
/// The folder of files, while there is a `Spill`.
static FOLDER: AtomicI32 = AtomicI32::new(-1);
static IS_DISK_FULL: AtomicBool = AtomicBool::new(false);
static ARRAYS: Mutex<Arrays> = Mutex::new(Arrays::new());

pub use arrays::any as has_arrays_on_disk;
pub use warden::relieve;

/// Whether there is a `Spill`.
fn is_active() -> bool {
    FOLDER.load(Relaxed) >= 0
}

fn try_mapped() -> Option<MutexGuard<'static, Arrays>> {
    ARRAYS.try_lock().ok()
}

fn mapped() -> MutexGuard<'static, Arrays> {
    ARRAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files and the thread that releases their pages.
#[derive(Debug)]
pub struct Spill {
    _warden: Warden,
}

impl Spill {
    pub fn begin(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        let mut arrays = mapped();
        if FOLDER.load(Relaxed) >= 0 {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "arrays are moved to disk already"));
        }
        let folder = arrays::open_folder(folder)?;
        // The last step that can fail: a warden that ends is waited for, and may wait for the arrays itself.
        let warden = Warden::begin(memory).inspect_err(|_| arrays::close_folder(folder))?;
        MOST_HELD.store((memory / 2).min(memory.saturating_sub(FILE_BYTES).max(memory / 8)), Relaxed);
        FOLDER.store(folder, Relaxed);
        IS_DISK_FULL.store(false, Relaxed);
        arrays.forget_peak();
        Ok(Some(Spill { _warden: warden }))
    }

    pub fn peak_bytes(&self) -> u64 {
        mapped().peak_bytes()
    }

    pub fn is_disk_full(&self) -> bool {
        IS_DISK_FULL.load(Relaxed)
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let _arrays = mapped();
        MOST_HELD.store(u64::MAX, Relaxed);
        arrays::close_folder(FOLDER.swap(-1, Relaxed));
    }
}

/// Whether an array of this size is counted, and perhaps on disk.
pub fn is_large(bytes: usize) -> bool {
    bytes >= LEAST_BYTES
}

/// Whether an array that takes so much more memory belongs on disk.
fn is_too_much(more: usize, layout: Layout) -> bool {
    let most = MOST_HELD.load(Relaxed);
    layout.align() <= PAGE_BYTES && most != u64::MAX && HELD.load(Relaxed).saturating_add(more as u64) > most
}

/// Allocates a large array.
pub fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    if is_too_much(layout.size(), layout) {
        return map(layout.size());
    }
    // SAFETY: the layout is large, so its size is not 0.
    let start = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if !start.is_null() {
        HELD.fetch_add(layout.size() as u64, Relaxed);
    }
    start
}

/// An array on disk, of zeros.
fn map(bytes: usize) -> *mut u8 {
    match mapped().map(FOLDER.load(Relaxed), bytes) {
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
    if arrays::any() && mapped().unmap(start) {
        return;
    }
    HELD.fetch_sub(layout.size() as u64, Relaxed);
    // SAFETY: it is not on disk, so it came from the system's allocator.
    unsafe { System.dealloc(start, layout) }
}

/// Changes the size of an array that is or becomes large.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub unsafe fn realloc(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    let was_large = is_large(layout.size());
    if was_large && arrays::any() && mapped().contains(start) {
        if is_large(bytes) {
            return mapped().resize(start, bytes).unwrap_or(ptr::null_mut());
        }
        // SAFETY: the caller's contract.
        return unsafe { moved(start, layout, bytes, |layout| System.alloc(layout)) };
    }
    let held = if was_large { layout.size() } else { 0 };
    if is_large(bytes) && bytes > held && is_too_much(bytes - held, layout) {
        // SAFETY: the caller's contract.
        return unsafe { moved(start, layout, bytes, |layout| map(layout.size())) };
    }
    // SAFETY: the array is not on disk, so it came from the system's allocator; the rest is the caller's contract.
    let moved = unsafe { System.realloc(start, layout, bytes) };
    if !moved.is_null() {
        HELD.fetch_sub(held as u64, Relaxed);
        HELD.fetch_add(if is_large(bytes) { bytes as u64 } else { 0 }, Relaxed);
    }
    moved
}

/// Copies an array to one of another size from `alloc`, and frees it.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
unsafe fn moved(start: *mut u8, layout: Layout, bytes: usize, alloc: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
    // SAFETY: `realloc` guarantees that `bytes`, rounded up to the alignment, does not overflow.
    let target = alloc(unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) });
    if target.is_null() {
        return target;
    }
    // SAFETY: both arrays have at least so many bytes, and they are distinct allocations. After that, nobody uses the
    // old one, which came from this allocator.
    unsafe {
        ptr::copy_nonoverlapping(start, target, layout.size().min(bytes));
        if is_large(layout.size()) { dealloc(start, layout) } else { System.dealloc(start, layout) }
    }
    target
}
