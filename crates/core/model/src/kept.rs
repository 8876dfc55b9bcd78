//! Immutable arrays whose memory may be shared.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// A read-only array, in a shared block of memory or in its own vector.
pub struct Kept<T> {
    values: NonNull<T>,
    count: usize,
    /// `None` if there are no values.
    owner: Option<Arc<dyn Send + Sync>>,
}

// SAFETY: a `Kept` only gives out `&[T]`, which other threads may have if `T: Sync`. Its owner is `Send + Sync`, so any
// thread may drop it.
unsafe impl<T: Sync> Send for Kept<T> {}
// SAFETY: as for `Send`: a shared `Kept` gives out the same `&[T]`.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T: Copy> Kept<T> {
    /// An array of `count` values that lie in the memory of `owner`.
    ///
    /// # Safety
    /// As long as `owner` is alive, `values` must point to `count` initialized, properly aligned values, and nothing
    /// may write to them.
    pub unsafe fn from_raw_parts(values: NonNull<T>, count: usize, owner: Arc<dyn Send + Sync>) -> Kept<T> {
        Kept { values, count, owner: Some(owner) }
    }
}

impl<T: Copy + Send + Sync + 'static> From<Vec<T>> for Kept<T> {
    fn from(mut values: Vec<T>) -> Self {
        if values.is_empty() {
            return Kept::default();
        }
        let (start, count) = (values.as_mut_ptr(), values.len());
        NonNull::new(start).map_or_else(Kept::default, |start| Kept {
            values: start,
            count,
            // The contents of a vector do not move when the vector does.
            owner: Some(Arc::new(values)),
        })
    }
}

impl<T> Deref for Kept<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `Kept::of` requires `count` values that live, unchanged, as long as `owner`, which `self` holds. A
        // vector in an `Arc` fulfills that, and a dangling pointer is valid for none.
        unsafe { slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept { values: NonNull::dangling(), count: 0, owner: None }
    }
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Kept { values: self.values, count: self.count, owner: self.owner.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
