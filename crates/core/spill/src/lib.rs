//! Large arrays on disk when memory is short.
//!
//! A program that installs [`SpillAllocator`] can run a job in less memory than its arrays need. While a [`Spill`]
//! exists, arrays that no longer fit are allocated in unnamed files, which are mapped into memory. The pages of these
//! files are released whenever the process exceeds its limit. The code that fills and reads the arrays does not
//! notice, and its results do not change.
//!
//! Only Linux supports this; elsewhere arrays stay in memory, and [`Spill::start`] returns `None`. Arrays below 1 MiB
//! never move. `linux/arrays.rs` maps the files, `linux/warden.rs` releases their pages.

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

/// Keeps the process below the limit of a [`Spill`]: call it between pieces of work of about a millisecond or less.
/// Without a `Spill` it does nothing.
pub fn relieve() {
    system::relieve();
}

/// Returns whether any array is on disk, which makes random access slow.
pub fn has_arrays_on_disk() -> bool {
    system::has_arrays_on_disk()
}

/// The system's allocator, which spills large arrays while a [`Spill`] exists.
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

/// Allows large arrays to spill until this is dropped. Spilled arrays stay on disk until they are freed.
///
/// Applies to the whole process, so only one can exist at a time.
#[derive(Debug)]
pub struct Spill(system::Spill);

impl Spill {
    /// Moves large arrays to files in `folder` once the process would grow by more than `memory` bytes. Returns
    /// `None` on systems that do not support it.
    ///
    /// # Errors
    /// If no file can be created in the folder, or another `Spill` exists.
    pub fn start(folder: &Path, memory: u64) -> io::Result<Option<Spill>> {
        Ok(system::Spill::start(folder, memory)?.map(Spill))
    }

    /// Returns the largest total size on disk so far, in bytes; 0 if everything fit into memory.
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes()
    }

    /// Returns whether an allocation failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.0.is_disk_full()
    }
}

// SAFETY: small arrays go to the system's allocator and large ones to `system`, which upholds the contract of
// `GlobalAlloc` for them.
unsafe impl GlobalAlloc for SpillAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if system::is_large(layout.size()) {
            return system::alloc(layout, false);
        }
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, as the system's allocator requires.
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
        // SAFETY: as above; small arrays always come from the system's allocator.
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
