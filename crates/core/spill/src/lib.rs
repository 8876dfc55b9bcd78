//! Large arrays on disk when memory is short.
//!
//! A program that installs [`SpillAllocator`] can run a job in less memory than its arrays need. While a [`Spill`]
//! exists, arrays that no longer fit are allocated in files without a name, which are mapped into memory, and the
//! pages of these files are released whenever the process grows beyond its limit. The code that fills and reads the
//! arrays is the same, and so is its result.
//!
//! Only Linux does so; elsewhere arrays stay in memory, and [`Spill::begin`] returns `None`. Arrays below 1 MiB never
//! move. Nothing here knows what the arrays are. Where to look next: `linux/arrays.rs` for the files, `linux/warden.rs`
//! for the release of pages.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;

/// Keeps the process below the limit of a [`Spill`]: to be called between pieces of work of about a millisecond or
/// less. Without a `Spill` it does nothing.
pub fn relieve() {
    system::relieve();
}

/// Whether an array is on disk now, so that reading in random order is slow.
pub fn has_arrays_on_disk() -> bool {
    system::has_arrays_on_disk()
}

/// The system's allocator, except for large arrays while a [`Spill`] exists.
///
/// ```
/// use polyhaul_spill::{Spill, SpillAllocator};
///
/// #[global_allocator]
/// static ALLOCATOR: SpillAllocator = SpillAllocator;
///
/// // At most about 32 MiB of memory, whatever the arrays take.
/// let spill = Spill::begin(&std::env::temp_dir(), 32 << 20)?;
/// let large = vec![1u8; 64 << 20];
/// assert_eq!(large.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 64 << 20);
/// if let Some(spill) = spill {
///     assert!(spill.peak_bytes() >= 64 << 20);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SpillAllocator;

/// Arrays may be moved to disk until this is dropped. Those that are on disk then stay there until they are freed.
///
/// It is a property of the process, as memory is: there is only one at a time.
#[derive(Debug)]
pub struct Spill(system::Spill);

impl Spill {
    /// Moves large arrays to files in `folder` once the process would grow by more than `memory` bytes. `None` on
    /// systems that cannot.
    ///
    /// # Errors
    /// If no file can be created in the folder, or another `Spill` exists.
    pub fn begin(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        Ok(system::Spill::begin(folder, memory)?.map(Spill))
    }

    /// The largest size on disk so far, in bytes; 0 if all fit into memory.
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes()
    }

    /// Whether an array could not be allocated because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.0.is_disk_full()
    }
}

// SAFETY: every call goes to the system's allocator, or to `system` for arrays that are large, which keeps the contract
// of `GlobalAlloc` for these.
unsafe impl GlobalAlloc for SpillAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if system::is_large(layout.size()) {
            return system::alloc(layout, false);
        }
        // SAFETY: the caller's contract is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if system::is_large(layout.size()) {
            return system::alloc(layout, true);
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if system::is_large(layout.size()) {
            // SAFETY: `start` came from `alloc` or `realloc` with this layout, so from `system`, because it is large.
            return unsafe { system::dealloc(start, layout) };
        }
        // SAFETY: as above; a small array always is the system's.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if system::is_large(layout.size().max(bytes)) {
            // SAFETY: the caller's contract.
            return unsafe { system::realloc(start, layout, bytes) };
        }
        // SAFETY: as above.
        unsafe { System.realloc(start, layout, bytes) }
    }
}
