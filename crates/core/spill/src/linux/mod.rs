//! Decides which arrays and blocks are in memory and which are on disk.
//!
//! Large arrays are always counted, so that a new [`Spill`] takes the memory already in use into account. While a
//! `Spill` exists, a new array that would exceed the limit for arrays is allocated in a mapped file ([`arrays`]), and
//! an array that would exceed the limit by growing moves to such a file. Smaller blocks go to a shared file
//! ([`blocks`]) while the process uses too much memory for anything other than mapped files ([`warden`]). Functions
//! that the allocator calls do not allocate.

mod arrays;
mod blocks;
mod warden;

use crate::SpillAllocator;
use arrays::{MappedArrays, PAGE_BYTES};
use blocks::SpillBlocks;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warden::Warden;

/// Minimum size of a large array: smaller arrays are too numerous to get a file each.
const MIN_LARGE_BYTES: usize = 1 << 20;

/// Memory reserved for pages of files, unless the limit is too small. While a table is filled, each column has a
/// resident page as large as the system's read-ahead, up to 2 MiB: 120 MiB for splats, even right after a release.
const FILE_BYTES: u64 = 168 << 20;

/// Minimum amount of memory that a job may use before its small blocks go to disk, where buffers would be slow.
const MIN_OWN_BYTES: u64 = 32 << 20;

/// Bytes of large arrays in memory.
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);
/// Maximum of [`HELD_BYTES`]; `u64::MAX` without a `Spill`.
static MAX_HELD_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
/// Descriptor of the folder for files while a `Spill` exists; otherwise -1.
static FOLDER: AtomicI32 = AtomicI32::new(-1);
static IS_DISK_FULL: AtomicBool = AtomicBool::new(false);
static ARRAYS: Mutex<MappedArrays> = Mutex::new(MappedArrays::new());
static BLOCKS: Mutex<SpillBlocks> = Mutex::new(SpillBlocks::new());

pub use arrays::any as has_arrays_on_disk;
pub use warden::relieve;

/// Returns whether a `Spill` exists.
fn is_active() -> bool {
    FOLDER.load(Relaxed) >= 0
}

fn lock_arrays() -> MutexGuard<'static, MappedArrays> {
    ARRAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_blocks() -> MutexGuard<'static, SpillBlocks> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running spill. It owns the thread that releases the pages of arrays.
#[derive(Debug)]
pub struct Spill {
    _warden: Warden,
}

impl Spill {
    pub fn start(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        let mut arrays = lock_arrays();
        if FOLDER.load(Relaxed) >= 0 {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "arrays are already spilled to disk"));
        }
        let folder = arrays::open_folder(folder)?;
        // Starting the warden must be the last step that can fail: dropping a warden joins its thread, which may be
        // waiting for the lock on `arrays`.
        let max_held_bytes = (memory / 2).min(memory.saturating_sub(FILE_BYTES).max(memory / 8));
        // Arrays, plus a quarter of the limit for buffers. With small limits, one half is for arrays and blocks, and
        // the other half for pages of files.
        let max_own_bytes = (memory / 2).max(max_held_bytes + memory / 4).max(MIN_OWN_BYTES);
        let warden = Warden::start(memory, max_own_bytes).inspect_err(|_| arrays::close_folder(folder))?;
        MAX_HELD_BYTES.store(max_held_bytes, Relaxed);
        FOLDER.store(folder, Relaxed);
        IS_DISK_FULL.store(false, Relaxed);
        arrays.forget_peak();
        Ok(Some(Spill { _warden: warden }))
    }

    pub fn peak_bytes(&self) -> u64 {
        lock_arrays().peak_bytes() + lock_blocks().bytes() as u64
    }

    pub fn is_disk_full(&self) -> bool {
        IS_DISK_FULL.load(Relaxed)
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let _arrays = lock_arrays();
        MAX_HELD_BYTES.store(u64::MAX, Relaxed);
        let mut blocks = lock_blocks();
        arrays::close_folder(FOLDER.swap(-1, Relaxed));
        blocks.finish();
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

/// Allocates a large array, on disk if it would exceed the limit for arrays in memory.
pub fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    if is_too_much(layout.size(), layout) { map(layout) } else { hold(layout, zeroed) }
}

/// Allocates a large array in memory.
fn hold(layout: Layout, zeroed: bool) -> *mut u8 {
    // SAFETY: the layout is large, so its size is not 0.
    let start = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if !start.is_null() {
        HELD_BYTES.fetch_add(layout.size() as u64, Relaxed);
    }
    start
}

/// Allocates a zeroed array on disk.
fn map(layout: Layout) -> *mut u8 {
    let mapped = lock_arrays().map(FOLDER.load(Relaxed), layout.size());
    // If descriptors or table entries run out, the array goes to the file of small blocks, unless it is larger than a
    // block there can be. An array that must be aligned more than a block stays in memory.
    let has_no_file = |error: &io::Error| error.kind() == io::ErrorKind::QuotaExceeded || is_out_of_files(error);
    let can_be_block = layout.align() <= blocks::ALIGNMENT;
    match mapped {
        Ok(start) => start,
        Err(error) if can_be_block && has_no_file(&error) => {
            alloc_block(layout.size(), true).unwrap_or(ptr::null_mut())
        }
        Err(error) if !can_be_block && has_no_file(&error) => hold(layout, true),
        Err(error) => {
            note_full_disk(&error);
            ptr::null_mut()
        }
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn note_full_disk(error: &io::Error) {
    if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)) {
        IS_DISK_FULL.store(true, Relaxed);
    }
}

/// Allocates a block on disk. Returns `None` if there is no room or no `Spill`.
fn alloc_block(bytes: usize, zeroed: bool) -> Option<*mut u8> {
    let mut blocks = lock_blocks();
    // Read under the lock: otherwise a `Spill` that ends meanwhile would miss the block.
    let folder = FOLDER.load(Relaxed);
    if folder < 0 {
        return None;
    }
    let start = blocks.alloc(folder, bytes).inspect_err(note_full_disk).ok()?;
    drop(blocks);
    relieve();
    if zeroed {
        // SAFETY: the block is new and has this size.
        unsafe { start.write_bytes(0, bytes) };
    }
    Some(start)
}

/// Allocates a block that is not large: on disk if the process uses too much memory and there is room, and otherwise in
/// memory.
pub fn alloc_small(layout: Layout, zeroed: bool) -> *mut u8 {
    if warden::are_blocks_on_disk(layout.size())
        && layout.align() <= blocks::ALIGNMENT
        && let Some(start) = alloc_block(layout.size(), zeroed)
    {
        return start;
    }
    // SAFETY: the caller upholds the contract of `GlobalAlloc`, as the system's allocator requires.
    unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } }
}

pub use blocks::contains as has_block;

/// Frees a block on disk.
///
/// # Safety
/// As for [`GlobalAlloc::dealloc`], for a block for which [`has_block`] is true.
pub unsafe fn dealloc_block(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's contract; blocks of this address come from `alloc_block`.
    unsafe { lock_blocks().free(start, layout.size(), is_active()) }
    // Filling or freeing lists of a million small blocks touches as many pages.
    relieve();
}

/// Resizes a block on disk.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`], for a block for which [`has_block`] is true.
pub unsafe fn realloc_block(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    if blocks::is_same_class(layout.size(), bytes) {
        return start;
    }
    // SAFETY: the caller upholds the contract.
    unsafe { SpillAllocator.copy_to(start, layout, bytes) }
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

/// Resizes an array that is or becomes large.
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub unsafe fn realloc(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    let was_large = is_large(layout.size());
    if was_large && arrays::any() && lock_arrays().contains(start) {
        if is_large(bytes) {
            return lock_arrays().resize(start, bytes).inspect_err(note_full_disk).unwrap_or(ptr::null_mut());
        }
        // SAFETY: the caller upholds the contract.
        return unsafe { SpillAllocator.copy_to(start, layout, bytes) };
    }
    let held = if was_large { layout.size() } else { 0 };
    if is_large(bytes) && bytes > held && is_too_much(bytes - held, layout) {
        // SAFETY: the caller upholds the contract. The new array is on disk, since it needs even more memory than the
        // difference.
        return unsafe { SpillAllocator.copy_to(start, layout, bytes) };
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
