//! Arrays that many threads fill in parallel: ranges are reserved in order and written concurrently.
//!
//! Touching fresh memory costs more than parsing (about 2.5 GB/s for first-touch pages here). So each value is copied
//! once: workers copy from their chunk, while it is still in the cache, to the final position. Large arrays use huge
//! pages if the system has them.

#[cfg(all(test, polyhaul_shuttle))]
mod models_tests;
pub mod pin;

use crate::huge::HugePages;
use crate::sync::{RwLock, mutated};
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::slice;
use std::sync::PoisonError;

/// A growing array. One thread at a time reserves space, in order; many threads write ranges in parallel.
pub struct Column<T> {
    name: &'static str,
    items: RwLock<Vec<ColumnCell<T>>>,
    pages: HugePages,
}

/// An element that may be written through a shared reference and may be uninitialized.
type ColumnCell<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: elements are written through a shared `Column` only in `write`, whose caller assigns each range to one
// thread, and through the pointer of a `PinnedColumn`, under the same rule. Elements are `Copy`, so none is dropped,
// and `Send`, so any thread may write them.
unsafe impl<T: Copy + Send> Sync for Column<T> {}

impl<T: Copy + Send> Column<T> {
    /// Creates an empty column. Errors call it `name`.
    pub fn new(name: &'static str) -> Column<T> {
        Column { name, items: RwLock::new(Vec::new()), pages: HugePages::default() }
    }

    /// Ensures capacity for `total` elements. Waits for writers if the array must move.
    pub fn reserve(&self, total: usize) -> Result<()> {
        if self.items.read().unwrap_or_else(PoisonError::into_inner).capacity() >= total {
            return Ok(());
        }
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        let filled = items.capacity();
        // Another thread may have grown the column meanwhile.
        if filled >= total {
            return Ok(());
        }
        let new_capacity = total.max(Self::grown(filled));
        // SAFETY: `filled` is the capacity, so all these cells are allocated, and a `MaybeUninit` need not be
        // initialized.
        unsafe { items.set_len(filled) };
        if items.try_reserve_exact(new_capacity - filled).is_err() {
            items.try_reserve_exact(total - filled).map_err(|_| Error::memory(self.name))?;
        }
        self.pages.request(items.as_ptr(), items.capacity());
        Ok(())
    }

    /// Returns the next capacity after `filled`.
    fn grown(filled: usize) -> usize {
        if cfg!(target_family = "wasm") {
            // WebAssembly cannot remap pages, so growing copies the array. Untouched pages cost nothing.
            return (4 * filled).max((2 << 20) / size_of::<T>().max(1));
        }
        // Doubles, because each growth leaves an edge that is too short for a huge page.
        2 * filled
    }

    /// Calls `fill` with the slots of `range`, which [`Column::reserve`] must have reserved. `fill` must write all of
    /// them.
    ///
    /// # Safety
    /// While `fill` runs, no other thread reads or writes an element of `range`.
    pub unsafe fn write(&self, range: Range<usize>, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<()> {
        let range = range.start..range.end + usize::from(mutated("column-overlap"));
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if range.start >= range.end {
            return Ok(());
        }
        if range.end > items.capacity() {
            return Err(Error::new(ErrorKind::Internal, format!("no space was reserved for these {}", self.name)));
        }
        // SAFETY: `range.end <= capacity` was checked, and by this function's contract no other thread uses the range,
        // all of which `fill` is about to write.
        unsafe { self.pages.touch(items.as_ptr(), items.capacity(), range.clone()) };
        // SAFETY: `range.end <= capacity` was checked, so the range is in the allocation, which the read lock keeps in
        // place. `UnsafeCell` allows writing through a shared reference, and by this function's contract no other
        // thread uses the range.
        let slots =
            unsafe { slice::from_raw_parts_mut(items.as_ptr().add(range.start) as *mut MaybeUninit<T>, range.len()) };
        // Keeps the array in place until `fill` returns.
        let _items = (!mutated("column-unlocked")).then_some(items);
        fill(slots);
        Ok(())
    }

    /// Copies `values` to the elements starting at `start`.
    ///
    /// # Safety
    /// As for [`Column::write`], for `values.len()` elements.
    pub unsafe fn copy(&self, start: usize, values: &[T]) -> Result<()> {
        // SAFETY: the caller upholds the contract of `write` for the same range.
        unsafe {
            self.write(start..start + values.len(), |slots| {
                for (slot, value) in slots.iter_mut().zip(values) {
                    slot.write(*value);
                }
            })
        }
    }

    /// Fills `range` with `value`.
    ///
    /// # Safety
    /// As for [`Column::write`].
    pub unsafe fn fill(&self, range: Range<usize>, value: T) -> Result<()> {
        // SAFETY: the caller upholds the contract of `write` for the same range.
        unsafe { self.write(range, |slots| slots.fill(MaybeUninit::new(value))) }
    }

    /// Returns the first `total` elements.
    ///
    /// # Safety
    /// The first `total` elements were all written.
    pub unsafe fn written(&mut self, total: usize) -> &[T] {
        let items = self.items.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: at most `capacity` elements are taken, which are in the allocation, and the first `total` were
        // written, by this function's contract. `UnsafeCell<MaybeUninit<T>>` has the layout of `T`, and `&mut self`
        // excludes writers.
        unsafe { slice::from_raw_parts(items.as_ptr().cast::<T>(), total.min(items.capacity())) }
    }

    /// Returns the finished array.
    ///
    /// # Safety
    /// The first `total` elements were all written.
    pub unsafe fn finish(self, total: usize) -> Vec<T> {
        let items = self.items.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut items = ManuallyDrop::new(items);
        let start = items.as_mut_ptr().cast::<T>();
        let capacity = items.capacity();
        // SAFETY: `UnsafeCell<MaybeUninit<T>>` has the layout of `T`, so pointer and capacity are valid for a `Vec<T>`.
        // The first `total` elements were written, by this function's contract. `ManuallyDrop` keeps the old vector
        // from freeing them.
        let mut items = unsafe { Vec::from_raw_parts(start, total.min(capacity), capacity) };
        polyhaul_spill::shrink(&mut items);
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Also run under ThreadSanitizer, which detects overlapping ranges.
    #[test]
    fn adjacent_ranges_are_filled_at_the_same_time() {
        let column = Column::new("values");
        column.reserve(300).unwrap();
        let gate = Barrier::new(2);
        let fill = |range: Range<usize>, value: u32| {
            let fill = |slots: &mut [MaybeUninit<u32>]| {
                gate.wait();
                slots.fill(MaybeUninit::new(value));
            };
            // SAFETY: each thread has its own range.
            unsafe { column.write(range, fill) }.unwrap();
        };
        std::thread::scope(|scope| {
            scope.spawn(|| fill(100..200, 2));
            fill(0..100, 1);
        });
        // SAFETY: both ranges were filled.
        let values = unsafe { column.finish(200) };
        assert_eq!(values, [[1; 100], [2; 100]].concat());
    }
}

/// Programs that break the contract, which Miri must detect: `cargo xtask nightly miri` runs each.
#[cfg(all(test, miri))]
mod planted {
    use super::*;

    fn column() -> Column<u32> {
        let column = Column::new("numbers");
        column.reserve(8).unwrap();
        column
    }

    #[test]
    #[ignore = "two slices that are written overlap"]
    fn overlap() {
        let column = column();
        // SAFETY: none, because the ranges share an element.
        unsafe {
            let both = column.write(0..5, |first| {
                column.write(4..8, |second| second.fill(MaybeUninit::new(2))).unwrap();
                first.fill(MaybeUninit::new(1));
            });
            both.unwrap();
        }
    }

    #[test]
    #[ignore = "two threads write the same elements"]
    fn race() {
        let column = &column();
        let both = &std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for value in 0..2 {
                let write = move |slots: &mut [MaybeUninit<u32>]| {
                    both.wait();
                    slots.fill(MaybeUninit::new(value));
                };
                // SAFETY: none, because both threads write all elements.
                scope.spawn(move || unsafe { column.write(0..8, write).unwrap() });
            }
        });
    }

    #[test]
    #[ignore = "an element was never written"]
    fn unwritten() {
        let column = column();
        // SAFETY: none, because the last element was not written.
        let values = unsafe {
            column.fill(0..7, 1).unwrap();
            column.finish(8)
        };
        assert_ne!(values.iter().sum::<u32>(), 0);
    }
}
