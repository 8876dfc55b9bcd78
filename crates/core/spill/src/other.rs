//! Systems without spilling: arrays stay in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;

#[derive(Debug)]
pub struct Spill;

impl Spill {
    pub fn start(_folder: &Path, _memory: u64) -> io::Result<Option<Spill>> {
        Ok(None)
    }

    pub fn peak_bytes(&self) -> u64 {
        0
    }

    pub fn is_disk_full(&self) -> bool {
        false
    }
}

/// Returns `false`, so that no array is counted.
pub fn is_large(_bytes: usize) -> bool {
    false
}

pub fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    alloc_small(layout, zeroed)
}

pub fn alloc_small(layout: Layout, zeroed: bool) -> *mut u8 {
    // SAFETY: the caller upholds the contract of `GlobalAlloc`, as the system's allocator requires.
    unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } }
}

/// Returns `false`: no block is on disk.
pub fn has_block(_start: *mut u8) -> bool {
    false
}

/// # Safety
/// As for [`GlobalAlloc::dealloc`].
pub unsafe fn dealloc_block(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's contract.
    unsafe { System.dealloc(start, layout) }
}

/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub unsafe fn realloc_block(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    unsafe { System.realloc(start, layout, bytes) }
}

/// # Safety
/// As for [`GlobalAlloc::dealloc`].
pub unsafe fn dealloc(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's contract.
    unsafe { System.dealloc(start, layout) }
}

/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub unsafe fn realloc(start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    unsafe { System.realloc(start, layout, bytes) }
}

pub fn relieve() {}

pub fn has_arrays_on_disk() -> bool {
    false
}
