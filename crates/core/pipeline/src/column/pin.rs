//! A column that stays in place while one thread writes to several columns alternately.
//!
//! [`Column::write`] locks the column for one range at a time. Rows with dozens of columns are written a few rows at a
//! time, while these rows are in the L1 cache. Pinning locks each column once for all of these writes.

use super::{Column, ColumnCell};
use crate::sync::RwLockReadGuard;
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::PoisonError;

/// A range of a column that does not move during the lifetime of this value.
pub struct PinnedColumn<'a, T> {
    items: RwLockReadGuard<'a, Vec<ColumnCell<T>>>,
    range: Range<usize>,
}

impl<T: Copy + Send> Column<T> {
    /// Pins `range`, which [`Column::reserve`] must have reserved.
    ///
    /// # Safety
    /// As for [`Column::write`], for the lifetime of the result.
    pub unsafe fn pin(&self, range: Range<usize>) -> Result<PinnedColumn<'_, T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if range.start > range.end || range.end > items.capacity() {
            return Err(Error::new(ErrorKind::Internal, format!("no space was reserved for these {}", self.name)));
        }
        // SAFETY: the range is in the allocation, which the read lock keeps in place, and by this function's contract
        // no other thread uses it.
        unsafe { self.pages.touch(items.as_ptr(), items.capacity(), range.clone()) };
        Ok(PinnedColumn { items, range })
    }
}

impl<T> PinnedColumn<'_, T> {
    /// Returns a pointer to the first element of the range, valid only for the range. Only one thread at a time may use
    /// an element.
    pub fn start(&self) -> *mut T {
        // SAFETY: `pin` checked `range.end <= capacity`, so the offset is in the allocation, and the guard in `items`
        // keeps that in place. `UnsafeCell` allows writes through a pointer from a shared reference.
        unsafe { self.items.as_ptr().add(self.range.start) as *mut T }
    }
}
