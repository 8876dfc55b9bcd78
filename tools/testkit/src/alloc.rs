//! Global allocators for test binaries: one that counts, one that fails on request.
//!
//! Install one of them in the test binary:
//!
//! ```
//! use polyhaul_testkit::alloc::{Counting, measure};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let (_, used) = measure(|| vec![0u8; 1000]);
//! assert_eq!((used.count, used.total_bytes, used.peak_bytes), (1, 1000, 1000));
//! ```
//!
//! The counters are global to the process, so measurements must not overlap: tests take a lock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK_BYTES: AtomicI64 = AtomicI64::new(0);
static TOTAL_BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);
static MAX_BYTES: AtomicI64 = AtomicI64::new(i64::MAX);

/// The system's allocator, with counters.
///
/// Reallocation counts as one more allocation, with only the added bytes: the system moves large blocks without
/// copying.
pub struct Counting;

/// Allocations during a call of [`measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Allocations and reallocations.
    pub count: u64,
    /// Total allocated bytes.
    pub total_bytes: u64,
    /// Peak of live bytes, minus the bytes live at the start.
    pub peak_bytes: u64,
}

/// Runs `work` and counts its allocations. All counts are zero if [`Counting`] is not installed.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Use) {
    let count = COUNT.load(Relaxed);
    let total = TOTAL_BYTES.load(Relaxed);
    let live = LIVE_BYTES.load(Relaxed);
    PEAK_BYTES.store(live, Relaxed);
    let result = work();
    let used = Use {
        count: COUNT.load(Relaxed) - count,
        total_bytes: TOTAL_BYTES.load(Relaxed) - total,
        peak_bytes: (PEAK_BYTES.load(Relaxed) - live).max(0) as u64,
    };
    (result, used)
}

/// Returns the number of live bytes, or 0 if neither allocator of this module is installed.
pub fn live_bytes() -> i64 {
    LIVE_BYTES.load(Relaxed)
}

/// Limits the live bytes of the process, permanently: a runaway allocation then fails one test instead of exhausting
/// the machine.
pub fn cap(bytes: u64) {
    MAX_BYTES.store(bytes as i64, Relaxed);
}

/// Updates the counters. Returns `false` if the allocation would exceed the cap.
fn note(bytes: i64) -> bool {
    let live = LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes;
    if bytes > 0 {
        if live > MAX_BYTES.load(Relaxed) {
            LIVE_BYTES.fetch_sub(bytes, Relaxed);
            return false;
        }
        COUNT.fetch_add(1, Relaxed);
        TOTAL_BYTES.fetch_add(bytes as u64, Relaxed);
        PEAK_BYTES.fetch_max(live, Relaxed);
    }
    true
}

// SAFETY: every call is forwarded to the system's allocator with its arguments unchanged, or returns null, which means
// out of memory. Counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !note(layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `alloc`, which `System::alloc` shares; `layout` is unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !note(layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `alloc_zeroed`, which `System::alloc_zeroed` shares; `layout` is
        // unchanged.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: `block` was allocated by `System` with this layout, as every block is.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !note(size as i64 - layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: `block` was allocated by `System` with this layout, as every block is; `size` is unchanged.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The system's allocator with counters, which fails the one allocation or reallocation selected by [`fail_at`].
pub struct Failing;

static ARMED: AtomicBool = AtomicBool::new(false);
static MIN_BYTES: AtomicUsize = AtomicUsize::new(0);
static LEFT: AtomicI64 = AtomicI64::new(0);
static TELLS: AtomicBool = AtomicBool::new(false);

/// Runs `work` and fails its allocation `number`, counted from 0 over allocations of at least `least_bytes`. Also
/// returns whether there was such an allocation.
///
/// Requires [`Failing`] as the allocator. Counts allocations of all threads.
pub fn fail_at<T>(number: u64, least_bytes: usize, work: impl FnOnce() -> T) -> (T, bool) {
    LEFT.store(number as i64, Relaxed);
    MIN_BYTES.store(least_bytes, Relaxed);
    ARMED.store(true, Relaxed);
    let result = work();
    ARMED.store(false, Relaxed);
    (result, LEFT.load(Relaxed) < 0)
}

/// Prints polyhaul's functions on the stack of each failing allocation to standard error, from now on. Slow; for
/// diagnosis.
pub fn tell() {
    TELLS.store(true, Relaxed);
}

/// Returns whether an allocation of `size` bytes is the one to fail.
fn fails(size: usize) -> bool {
    let fails = ARMED.load(Relaxed) && size >= MIN_BYTES.load(Relaxed) && LEFT.fetch_sub(1, Relaxed) == 0;
    if fails && TELLS.load(Relaxed) {
        // Capturing the trace allocates too, but `LEFT` is already past 0, so those allocations succeed.
        let trace = Backtrace::force_capture().to_string();
        let names = trace.lines().filter_map(|line| line.split_once(": polyhaul"));
        let names: Vec<&str> = names.map(|(_, name)| name).take(4).collect();
        let _ = writeln!(std::io::stderr(), "asked for by {}", names.join(" < "));
    }
    fails
}

// SAFETY: as for `Counting`: arguments are unchanged, or the result is null.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) || !note(layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `alloc`, which `System::alloc` shares; `layout` is unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) || !note(layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `alloc_zeroed`, which `System::alloc_zeroed` shares; `layout` is
        // unchanged.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: `block` was allocated by `System` with this layout, as every block is.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Shrinking can fail too, since an allocator may have to move the block.
        if fails(size.max(layout.size())) || !note(size as i64 - layout.size() as i64) {
            return std::ptr::null_mut();
        }
        // SAFETY: `block` was allocated by `System` with this layout, as every block is; `size` is unchanged.
        unsafe { System.realloc(block, layout, size) }
    }
}
