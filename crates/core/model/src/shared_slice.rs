//! Read-only arrays whose memory may be shared.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// A read-only array, in a shared block of memory or in an owned vector.
pub struct SharedSlice<T> {
    values: NonNull<T>,
    count: usize,
    /// `None` for an empty array.
    owner: Option<Arc<dyn Send + Sync>>,
}

// SAFETY: a `SharedSlice` only hands out `&[T]`, which may cross threads if `T: Sync`. The owner is `Send + Sync`, so
// any thread may drop it.
unsafe impl<T: Sync> Send for SharedSlice<T> {}
// SAFETY: as for `Send`: a shared reference hands out the same `&[T]`.
unsafe impl<T: Sync> Sync for SharedSlice<T> {}

impl<T: Copy> SharedSlice<T> {
    /// Creates an array of `count` values in the memory of `owner`.
    ///
    /// # Safety
    /// As long as `owner` is alive, `values` must point to `count` initialized, properly aligned values, and nothing
    /// may write to them.
    pub unsafe fn from_raw_parts(values: NonNull<T>, count: usize, owner: Arc<dyn Send + Sync>) -> SharedSlice<T> {
        SharedSlice { values, count, owner: Some(owner) }
    }
}

impl<T: Copy + Send + Sync + 'static> From<Vec<T>> for SharedSlice<T> {
    fn from(mut values: Vec<T>) -> Self {
        if values.is_empty() {
            return SharedSlice::default();
        }
        let count = values.len();
        NonNull::new(values.as_mut_ptr()).map_or_else(SharedSlice::default, |start| SharedSlice {
            values: start,
            count,
            // Moving a vector does not move its contents.
            owner: Some(Arc::new(values)),
        })
    }
}

impl<T> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `from_raw_parts` requires `count` values that live unchanged as long as `owner`, which `self` holds.
        // A vector in an `Arc` meets this requirement, and a dangling pointer is valid for zero values.
        unsafe { slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl<T> Default for SharedSlice<T> {
    fn default() -> Self {
        SharedSlice { values: NonNull::dangling(), count: 0, owner: None }
    }
}

impl<T> Clone for SharedSlice<T> {
    fn clone(&self) -> Self {
        SharedSlice { values: self.values, count: self.count, owner: self.owner.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A test that breaks the contract of `from_raw_parts`. Run by `cargo xtask nightly miri`, which expects Miri to detect
/// it.
#[cfg(all(test, miri))]
mod planted {
    use super::*;

    #[test]
    #[ignore = "the array is one element too long"]
    fn out_of_bounds() {
        let owner = Arc::new([1_u32, 2, 3]);
        // SAFETY: none, because there are only three elements.
        let values = unsafe { SharedSlice::from_raw_parts(NonNull::from(&owner[0]), 4, owner.clone()) };
        assert_ne!(values.iter().sum::<u32>(), 0);
    }
}
