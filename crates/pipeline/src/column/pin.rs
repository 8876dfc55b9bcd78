//! A column held in place, for who writes to many columns in turns.
//!
//! [`Column::write`] looks after one range at a time. Rows that are spread over dozens of columns go there a few rows
//! at a time, while these are in the nearest cache: the columns are held once for all of these turns.

use super::{Cell, Column};
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{PoisonError, RwLockReadGuard};

/// A range of a column that does not move while this lives.
pub struct Pin<'a, T> {
    items: RwLockReadGuard<'a, Vec<Cell<T>>>,
    range: Range<usize>,
}

impl<T: Copy + Send> Column<T> {
    /// Holds `range`, which [`Column::reserve`] made room for.
    pub fn pin(&self, range: Range<usize>) -> Result<Pin<'_, T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if range.start > range.end || range.end > items.capacity() {
            return Err(Error::new(ErrorKind::Internal, format!("no space was reserved for these {}", self.name)));
        }
        Ok(Pin { items, range })
    }
}

impl<T> Pin<'_, T> {
    /// The first place of the range. Who writes there must be the only one who uses that place, and stay in the range.
    pub fn start(&self) -> *mut T {
        // SAFETY: the range lies in the allocation; cells may be written through a shared pointer.
        unsafe { self.items.as_ptr().add(self.range.start) as *mut T }
    }
}
