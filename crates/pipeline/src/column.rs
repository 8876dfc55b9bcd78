//! Arrays that many threads fill at once: ranges are handed out in order, and written in parallel.
//!
//! Fresh memory costs more than parsing here (about 2.5 GB/s for pages touched the first time), so
//! an array is never copied into place twice: workers copy from their chunk, which is still in the
//! cache, to the final place. Large arrays ask for huge pages where the system offers them.

pub mod pin;

use polyhaul_model::error::{Error, ErrorKind, Result};
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::slice;
use std::sync::{PoisonError, RwLock};

/// A growing array. Reserving is ordered and done by one thread; writing to ranges is parallel.
pub struct Column<T> {
    name: &'static str,
    items: RwLock<Vec<Cell<T>>>,
}

/// An element that may be written through a shared reference and may not be initialised yet.
type Cell<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: a shared `Column` writes elements only in `write`, whose caller hands each range to one thread, and through
// the pointer of a `Pin`, with the same rule. Elements are `Copy`, so none is dropped, and `Send`, so any thread may
// write them.
unsafe impl<T: Copy + Send> Sync for Column<T> {}

/// Arrays of this many bytes or more ask for huge pages: smaller ones would waste most of one.
#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

impl<T: Copy + Send> Column<T> {
    /// An empty column; `name` is what an error calls it.
    pub fn new(name: &'static str) -> Column<T> {
        Column { name, items: RwLock::new(Vec::new()) }
    }

    /// Makes room for `total` elements in all. Waits for writers where the array must move.
    pub fn reserve(&self, total: usize) -> Result<()> {
        if self.items.read().unwrap_or_else(PoisonError::into_inner).capacity() >= total {
            return Ok(());
        }
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        let filled = items.capacity();
        // Another thread may have made it meanwhile.
        if filled >= total {
            return Ok(());
        }
        // Doubling: each growth leaves a border where no huge page fits.
        let wanted = total.max(2 * filled);
        // SAFETY: `filled` is the capacity, so all these cells are allocated, and a `MaybeUninit` need not be
        // initialized.
        unsafe { items.set_len(filled) };
        if items.try_reserve_exact(wanted - filled).is_err() {
            items.try_reserve_exact(total - filled).map_err(|_| Error::memory(self.name))?;
        }
        advise_huge_pages(items.as_ptr(), items.capacity());
        Ok(())
    }

    /// Hands out `range`, which [`Column::reserve`] made room for, to be filled as a whole.
    ///
    /// # Safety
    /// While `fill` runs, no other thread reads or writes an element of `range`.
    pub unsafe fn write(&self, range: Range<usize>, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<()> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if range.start >= range.end {
            return Ok(());
        }
        if range.end > items.capacity() {
            return Err(Error::new(ErrorKind::Internal, format!("no space was reserved for these {}", self.name)));
        }
        // SAFETY: `range.end <= capacity` was checked, so the range is in the allocation, which the read lock keeps in
        // place. `UnsafeCell` allows the write through a shared reference, and by this function's condition nobody else
        // uses the range.
        fill(unsafe { slice::from_raw_parts_mut(items.as_ptr().add(range.start) as *mut MaybeUninit<T>, range.len()) });
        Ok(())
    }

    /// Copies `values` to the place that begins at `start`.
    ///
    /// # Safety
    /// As for [`Column::write`], of as many elements as `values` has.
    pub unsafe fn copy(&self, start: usize, values: &[T]) -> Result<()> {
        // SAFETY: this function's condition is that of `write` for the same range.
        unsafe {
            self.write(start..start + values.len(), |slots| {
                for (slot, value) in slots.iter_mut().zip(values) {
                    slot.write(*value);
                }
            })
        }
    }

    /// Fills a range with one value.
    ///
    /// # Safety
    /// As for [`Column::write`].
    pub unsafe fn fill(&self, range: Range<usize>, value: T) -> Result<()> {
        // SAFETY: this function's condition is that of `write` for the same range.
        unsafe { self.write(range, |slots| slots.fill(MaybeUninit::new(value))) }
    }

    /// The finished array.
    ///
    /// # Safety
    /// The first `total` elements were all written.
    pub unsafe fn finish(self, total: usize) -> Vec<T> {
        let items = self.items.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut items = ManuallyDrop::new(items);
        let (start, capacity) = (items.as_mut_ptr().cast::<T>(), items.capacity());
        // SAFETY: `UnsafeCell<MaybeUninit<T>>` has the layout of `T`, so pointer and capacity are those of a `Vec<T>`.
        // The first `total` elements were written, this function's condition. `ManuallyDrop` keeps the old vector from
        // freeing them.
        let mut items = unsafe { Vec::from_raw_parts(start, total.min(capacity), capacity) };
        items.shrink_to_fit();
        items
    }
}

/// Asks for huge pages for a large array of `count` elements: a fault then clears 2 MiB at once and not 4 KiB.
#[cfg(target_os = "linux")]
pub fn advise_huge_pages<T>(start: *const T, count: usize) {
    const PAGE: usize = 4096;
    let bytes = count * size_of::<T>();
    if bytes >= HUGE_BYTES {
        // The whole mapping, its first and last page included: a part would split it in two, and
        // then it cannot be moved without a copy when it grows (twice the page faults, measured).
        let from = start as usize / PAGE * PAGE;
        let end = (start as usize + bytes).next_multiple_of(PAGE);
        // SAFETY: the pages hold this array or other memory of the same allocator, and `MADV_HUGEPAGE` changes no
        // contents. A kernel that does not know the advice returns an error, which changes nothing either.
        unsafe { libc::madvise(from as *mut libc::c_void, end - from, libc::MADV_HUGEPAGE) };
    }
}

/// Other systems choose the size of pages themselves.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages<T>(_: *const T, _: usize) {}
