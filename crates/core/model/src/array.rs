//! An array that owns its memory or shares the memory of another owner.
//!
//! Readers create arrays that own their elements. Callers can pass existing data, such as a Python buffer or the host's
//! memory, without copying it. Shared elements are copied on write.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An array of `T`, owned or shared. Dereferences to `[T]`.
///
/// ```
/// use polyhaul_model::Array;
/// use std::sync::Arc;
///
/// let mut owned = Array::from(vec![1, 2, 3]);
/// owned.to_mut()?.push(4);
///
/// let shared = Array::shared(Arc::new(vec![1, 2, 3, 4]));
/// assert_eq!(owned, shared);
/// assert_eq!(shared.iter().sum::<i32>(), 10);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub struct Array<T> {
    /// Empty if there is an `owner`, which then holds the elements.
    owned: Vec<T>,
    owner: Option<Arc<dyn AsRef<[T]> + Send + Sync>>,
}

impl<T> Array<T> {
    /// Creates an array in the memory of `owner`, which is neither copied nor written to. The owner must return the
    /// same elements each time.
    pub fn shared(owner: Arc<dyn AsRef<[T]> + Send + Sync>) -> Array<T> {
        Array { owned: Vec::new(), owner: Some(owner) }
    }

    /// Returns the elements.
    pub fn as_slice(&self) -> &[T] {
        self.owner.as_deref().map_or(&self.owned, |owner| owner.as_ref())
    }

    /// Shares this array's memory, so that later clones are cheap. Does not move the elements.
    pub fn share(&mut self)
    where
        T: Send + Sync + 'static,
    {
        if self.owner.is_none() {
            self.owner = Some(Arc::new(std::mem::take(&mut self.owned)));
        }
    }

    /// Returns the size of the elements in bytes.
    pub fn heap_bytes(&self) -> u64 {
        size_of_val(self.as_slice()) as u64
    }
}

impl<T: Clone> Array<T> {
    /// Returns the elements for modification. Shared elements are copied first.
    ///
    /// # Errors
    /// Fails if there is no memory for the copy.
    pub fn to_mut(&mut self) -> Result<&mut Vec<T>, TryReserveError> {
        if let Some(owner) = &self.owner {
            self.owned = copy((**owner).as_ref())?;
            self.owner = None;
        }
        Ok(&mut self.owned)
    }

    /// Returns the elements as a `Vec`; shared elements are copied.
    ///
    /// # Errors
    /// Fails if there is no memory for the copy.
    pub fn into_vec(mut self) -> Result<Vec<T>, TryReserveError> {
        self.to_mut().map(std::mem::take)
    }

    /// Copies the array. If it is shared, the copy shares the same memory.
    ///
    /// # Errors
    /// Fails if there is no memory for the copy.
    pub fn try_clone(&self) -> Result<Array<T>, TryReserveError> {
        let owned = copy(&self.owned)?;
        Ok(Array { owned, owner: self.owner.clone() })
    }
}

fn copy<T: Clone>(elements: &[T]) -> Result<Vec<T>, TryReserveError> {
    let mut result = Vec::new();
    result.try_reserve_exact(elements.len())?;
    result.extend_from_slice(elements);
    Ok(result)
}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(vec: Vec<T>) -> Self {
        Array { owned: vec, owner: None }
    }
}

impl<T, const N: usize> From<[T; N]> for Array<T> {
    fn from(elements: [T; N]) -> Self {
        Vec::from(elements).into()
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Vec::from_iter(iter).into()
    }
}

impl<'a, T> IntoIterator for &'a Array<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Clone> Clone for Array<T> {
    fn clone(&self) -> Self {
        Array { owned: self.owned.clone(), owner: self.owner.clone() }
    }
}

impl<T: PartialEq, S: AsRef<[T]> + ?Sized> PartialEq<S> for Array<T> {
    fn eq(&self, other: &S) -> bool {
        self.as_slice() == other.as_ref()
    }
}

impl<T: Eq> Eq for Array<T> {}

impl<T> AsRef<[T]> for Array<T> {
    fn as_ref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
