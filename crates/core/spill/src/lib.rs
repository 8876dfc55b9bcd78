//! Spills arrays to disk when memory is short.
//!
//! With [`SpillAllocator`] installed, a program can run a job in less memory than its arrays need. While a [`Spill`]
//! exists, arrays that no longer fit are allocated in unnamed memory-mapped files, whose pages are released whenever
//! the process exceeds its limit. Code that fills and reads the arrays needs no changes, and its results are the same.
//!
//! Arrays of 1 MiB and more get a file each. Smaller blocks that are in memory stay there. New small blocks share a
//! file while the process uses more than half to three quarters of the limit, and at least 32 MiB, for anything other
//! than mapped files.
//!
//! If the system is out of memory, the process still gets a few small blocks, so that a job can fail with an error; see
//! `reserve.rs`.
//!
//! Arrays are spilled only on Linux; on other systems they stay in memory, and [`Spill::start`] returns `None`.
//! `linux/arrays.rs` maps the files of large arrays, `linux/blocks.rs` maps the shared file of small blocks, and
//! `linux/warden.rs` releases their pages.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod reserve;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use polyhaul_fault::planted;
use std::alloc::{self, GlobalAlloc, Layout, System};
use std::io;
use std::mem::{self, ManuallyDrop};
use std::path::Path;

/// Keeps the process below the limit of the [`Spill`], if one exists. Call it between pieces of work of about a
/// millisecond or less.
pub fn relieve() {
    system::relieve();
}

/// Iterates over items that may be on disk, such as the objects of a large scene, and calls [`relieve`] between them.
/// Even a pass that only reads maps 64 KiB around each page that it touches, so it can exceed the limit within
/// milliseconds.
///
/// ```
/// assert_eq!(polyhaul_spill::paced(&[1, 2, 3]).sum::<i32>(), 6);
/// ```
pub fn paced<I: IntoIterator>(items: I) -> PacedItems<I::IntoIter> {
    PacedItems { items: items.into_iter(), count: 0 }
}

/// The iterator returned by [`paced`].
#[derive(Clone, Debug)]
pub struct PacedItems<I> {
    items: I,
    count: usize,
}

/// Number of items between two calls of [`relieve`]: few enough to map at most a few megabytes, and many enough that
/// the calls take little time.
const ITEMS_PER_CHECK: usize = 16;

impl<I: Iterator> Iterator for PacedItems<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.count.is_multiple_of(ITEMS_PER_CHECK) {
            relieve();
        }
        self.count += 1;
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for PacedItems<I> {}

/// Returns whether any array is on disk, which makes random access slow.
pub fn has_arrays_on_disk() -> bool {
    system::has_arrays_on_disk()
}

/// Frees the unused capacity of an array. `Vec::shrink_to_fit` aborts if the allocator cannot shrink the block; this
/// function then leaves the array unchanged.
///
/// ```
/// let mut array = Vec::with_capacity(1000);
/// array.extend([1, 2, 3]);
/// polyhaul_spill::shrink(&mut array);
/// assert_eq!((array.len(), array.capacity()), (3, 3));
/// ```
pub fn shrink<T>(array: &mut Vec<T>) {
    let bytes = size_of_val(array.as_slice());
    if array.len() == array.capacity() || size_of::<T>() == 0 {
        return;
    }
    if bytes == 0 {
        *array = Vec::new();
        return;
    }
    let Ok(layout) = Layout::array::<T>(array.capacity()) else { return };
    let mut array_before = ManuallyDrop::new(mem::take(array));
    let start = array_before.as_mut_ptr();
    let len = array_before.len();
    let capacity = array_before.capacity();
    // SAFETY: a `Vec` comes from the global allocator with this layout, and `bytes` is neither 0 nor larger.
    let moved = unsafe { alloc::realloc(start.cast(), layout, bytes) };
    let (start, capacity) = if moved.is_null() { (start, capacity) } else { (moved.cast(), len) };
    // SAFETY: the block has this capacity and these elements, wherever it is now; `ManuallyDrop` keeps the old array
    // from freeing it.
    *array = unsafe { Vec::from_raw_parts(start, len, capacity) };
}

/// The system allocator, which spills arrays while a [`Spill`] exists.
///
/// ```
/// use polyhaul_spill::{Spill, SpillAllocator};
///
/// #[global_allocator]
/// static ALLOCATOR: SpillAllocator = SpillAllocator;
///
/// // Use about 32 MiB of memory, however large the arrays are.
/// let spill = Spill::start(&std::env::temp_dir(), 32 << 20)?;
/// let large = vec![1u8; 64 << 20];
/// assert_eq!(large.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 64 << 20);
/// if let Some(spill) = spill {
///     assert!(spill.peak_bytes() >= 64 << 20);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SpillAllocator;

/// Spills arrays to disk until it is dropped. Spilled arrays stay on disk until they are freed.
///
/// It applies to the whole process, so only one can exist at a time.
#[derive(Debug)]
pub struct Spill(system::Spill);

impl Spill {
    /// Starts spilling arrays to files in `folder`, so that the memory of the process grows by at most about `memory`
    /// bytes. Returns `None` on systems that do not support spilling.
    ///
    /// # Errors
    /// Fails if no file can be created in the folder, or if another `Spill` exists.
    pub fn start(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        Ok(system::Spill::start(folder, memory)?.map(Spill))
    }

    /// Returns the maximum total size of the arrays on disk so far, plus the size of the file of small blocks, in
    /// bytes. Returns 0 if everything fit in memory.
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes()
    }

    /// Returns whether an allocation failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.0.is_disk_full()
    }
}

// SAFETY: each block comes from the system's allocator, from the module `system` or from `reserve`, which uphold the
// contract of `GlobalAlloc`, and is resized and freed where it came from.
unsafe impl GlobalAlloc for SpillAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if system::is_large(layout.size()) {
            return system::alloc(layout, false);
        }
        reserve::or_reserved(system::alloc_small(layout, false), layout, false)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if system::is_large(layout.size()) {
            return system::alloc(layout, true);
        }
        reserve::or_reserved(system::alloc_small(layout, true), layout, true)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if reserve::contains(start) {
            return reserve::dealloc();
        }
        if system::has_block(start) {
            // SAFETY: `start` is a block of `system` and came from `alloc` or `realloc` with this layout.
            return unsafe { system::dealloc_block(start, layout) };
        }
        if system::is_large(layout.size()) {
            // SAFETY: `start` came from `alloc` or `realloc` with this layout, so from `system`, because it is large.
            return unsafe { system::dealloc(start, layout) };
        }
        // SAFETY: as above; other small arrays come from the system's allocator.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if reserve::contains(start) {
            // SAFETY: the caller's contract.
            return unsafe { self.copy_to(start, layout, bytes) };
        }
        if system::has_block(start) {
            // SAFETY: the caller's contract.
            return unsafe { system::realloc_block(start, layout, bytes) };
        }
        if system::is_large(layout.size().max(bytes)) {
            // SAFETY: the caller's contract.
            return unsafe { system::realloc(start, layout, bytes) };
        }
        // SAFETY: as above.
        let moved = unsafe { System.realloc(start, layout, bytes) };
        if moved.is_null() {
            // SAFETY: the caller's contract; the block is where it was.
            return unsafe { self.copy_to(start, layout, bytes) };
        }
        moved
    }
}

impl SpillAllocator {
    /// Copies a block into a new block of a different size, and frees the old block. If there is no memory for the new
    /// block, returns null and does not free the old block.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    unsafe fn copy_to(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that `bytes`, rounded up to the alignment, does not overflow.
        unsafe {
            let target = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !target.is_null() {
                // Only for large blocks: looking up a planted fault reads the environment, which allocates small
                // blocks.
                let lost_bytes = if layout.size() > 1 << 16 && planted("spill-tail") { 4096 } else { 0 };
                target.copy_from_nonoverlapping(start, layout.size().min(bytes) - lost_bytes);
                self.dealloc(start, layout);
            }
            target
        }
    }
}
