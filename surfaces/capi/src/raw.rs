//! Memory passed by C: structs with their sizes, strings, arrays, handles. All unsafe handling of arguments is here,
//! except for callbacks.
//!
//! Detectable mistakes (null, an invalid size or alignment, text that is not UTF-8) are [`ErrorKind::Usage`]. The
//! validity of other pointers cannot be checked: it is a rule of the header, and the `# Safety` sections here state the
//! sizes.

use polyhaul::model::Array;
use polyhaul::{Error, ErrorKind, Result};
use polyhaul_fault::planted;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A struct of the header that starts with its size.
///
/// # Safety
/// The struct is `repr(C)` and starts with a `usize`. Any bytes that C stores in its fields are valid values, and so
/// are all zeros.
pub(crate) unsafe trait Record: Copy {
    /// The name in C.
    const NAME: &'static str;
    /// The size of the struct in the first header that had it, which is the minimum of `struct_size`. It does not
    /// change when the struct grows, so that old programs continue to work.
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Maximum size of a struct, including fields of newer headers.
const MAX_BYTES: usize = 4096;

/// Returns a usage error.
pub(crate) fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Checks the size of a struct, which may come from an older or newer header.
fn check_size<T: Record>(size: usize) -> Result<()> {
    if (T::FIRST_BYTES <= size || planted("c-size")) && size <= MAX_BYTES {
        Ok(())
    } else {
        let message = format!("struct_size of {} is {size}; expected {}", T::NAME, size_of::<T>());
        Err(usage(message).with_hint("set struct_size to the size of the struct (sizeof), and unused fields to 0"))
    }
}

/// Copies the caller's struct. Returns `None` for null. Fields that an older header lacks are zero; nonzero fields of a
/// newer header are an error.
///
/// # Safety
/// `given` is null, or points to as many bytes as the `usize` at its start says.
pub(crate) unsafe fn take<T: Record>(given: *const T) -> Result<Option<T>> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: `given` is not null, so it points to a `usize` by this function's contract; `read_unaligned` needs no
    // alignment.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    // SAFETY: `size` is that first field, so `given` has this many bytes by this function's contract; `check_size`
    // bounds it by `MAX_BYTES`.
    let bytes = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
    let (known_bytes, later) = bytes.split_at(size.min(size_of::<T>()));
    if later.iter().any(|&byte| byte != 0) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("{} sets fields that this version of the library does not know", T::NAME),
        ));
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known_bytes` has at most the size of `T`, so the copy stays inside `value`. By the contract of `Record`,
    // the bytes of C and the zeros after them are valid values.
    unsafe {
        value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(known_bytes.as_ptr(), known_bytes.len());
        Ok(Some(value.assume_init()))
    }
}

/// Like [`take`], but null is an error.
///
/// # Safety
/// As for [`take`].
pub(crate) unsafe fn need<T: Record>(given: *const T) -> Result<T> {
    // SAFETY: `take` has the same contract.
    unsafe { take(given) }?.ok_or_else(|| null(T::NAME))
}

/// Fills in the caller's struct. Its `struct_size` is kept, and fields of a newer header are set to 0. Null is an
/// error.
///
/// # Safety
/// `out` is null, or points to as many writable bytes as the `usize` at its start says.
pub(crate) unsafe fn put<T: Record>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: `out` is not null, so it points to a `usize` by this function's contract; `read_unaligned` needs no
    // alignment.
    let size = unsafe { out.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    let known_size = size.min(size_of::<T>());
    // SAFETY: `size` bytes are writable at `out` by this function's contract. `known_size` is at most `size`, and at
    // most the size of `value`, which is a local variable and so does not overlap.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping((&raw const value).cast(), known_size);
        out.cast::<u8>().add(known_size).write_bytes(0, size - known_size);
        out.cast::<usize>().write_unaligned(size);
    }
    Ok(())
}

/// Returns the error for a null pointer.
pub(crate) fn null(what: &str) -> Error {
    usage(format!("{what} is a null pointer"))
}

/// Returns the caller's handle; null is an error.
pub(crate) fn handle<'h, T>(given: Option<&'h T>, what: &str) -> Result<&'h T> {
    given.ok_or_else(|| null(what))
}

/// Returns the caller's handle for modification; null is an error.
pub(crate) fn handle_mut<'h, T>(given: Option<&'h mut T>, what: &str) -> Result<&'h mut T> {
    given.ok_or_else(|| null(what))
}

/// The caller's variable for a new handle. Create this before anything can fail, so that the variable is null after a
/// failure.
pub(crate) struct Out<'o, T>(&'o mut MaybeUninit<*mut T>);

impl<'o, T> Out<'o, T> {
    /// Sets the variable to null. A null pointer is an error.
    pub(crate) fn new(out: Option<&'o mut MaybeUninit<*mut T>>) -> Result<Out<'o, T>> {
        let out = out.ok_or_else(|| null("the output handle"))?;
        out.write(std::ptr::null_mut());
        Ok(Out(out))
    }

    /// Stores a handle, which the caller then owns.
    pub(crate) fn give(self, value: T) {
        self.0.write(Box::into_raw(Box::new(value)));
    }
}

/// Returns the bytes of a zero-terminated string, or `None` for null.
///
/// # Safety
/// `given` is null, or points to a zero-terminated string that stays unchanged for `'t`.
pub(crate) unsafe fn bytes_of<'t>(given: *const c_char) -> Option<&'t [u8]> {
    // SAFETY: the closure only runs if `given` is not null, so it is zero-terminated by this function's contract.
    (!given.is_null()).then(|| unsafe { CStr::from_ptr(given) }.to_bytes())
}

/// Like [`bytes_of`], but checks that the string is UTF-8, and returns an empty string for null.
///
/// # Safety
/// As for [`bytes_of`].
pub(crate) unsafe fn text<'t>(given: *const c_char, what: &str) -> Result<&'t str> {
    // SAFETY: `bytes_of` has the same contract.
    let bytes = unsafe { bytes_of(given) }.unwrap_or_default();
    std::str::from_utf8(bytes).map_err(|_| usage(format!("{what} is not UTF-8")))
}

/// Like [`text`], but null is an error.
///
/// # Safety
/// As for [`bytes_of`].
pub(crate) unsafe fn need_text<'t>(given: *const c_char, what: &str) -> Result<&'t str> {
    if given.is_null() {
        return Err(null(what));
    }
    // SAFETY: `text` has the same contract.
    unsafe { text(given, what) }
}

/// Returns the elements of an array, which may be null if `count` is 0. `what` names the array in errors.
///
/// # Safety
/// `data` is null, or points to `count` elements that stay unchanged for `'s`.
pub(crate) unsafe fn slice<'s, T: Copy>(data: *const T, count: usize, what: &str) -> Result<&'s [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(usage(format!("{what}: null pointer with a count of {count}")));
    }
    if !data.is_aligned() {
        return Err(usage(format!("{what}: the array is not aligned")));
    }
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
    if !fits {
        return Err(usage(format!("{what}: a count of {count} is too large")));
    }
    // SAFETY: null, alignment and size were checked above; `data` has `count` elements, unchanged for `'s`, by this
    // function's contract.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// A borrowed array of the caller.
struct Borrowed<T>(*const T, usize);

// SAFETY: other threads only read the elements, which are `Sync`. By the contract of [`array`], which creates this,
// they stay unchanged as long as any clone.
unsafe impl<T: Sync> Send for Borrowed<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for Borrowed<T> {}

impl<T> AsRef<[T]> for Borrowed<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `array` took the pointer and the length from a slice. By its contract, the slice stays valid and
        // unchanged as long as this value.
        unsafe { std::slice::from_raw_parts(self.0, self.1) }
    }
}

/// Borrows the caller's array if `borrow` is set, otherwise copies it.
///
/// # Safety
/// As for [`slice`]; with `borrow`, the elements stay unchanged as long as the result and its clones.
pub(crate) unsafe fn array<T>(data: *const T, count: usize, what: &str, borrow: bool) -> Result<Array<T>>
where
    T: Copy + Send + Sync + 'static,
{
    // SAFETY: `slice` has the same contract; the slice is copied before this returns, or kept as `Borrowed`.
    let elements = unsafe { slice(data, count, what) }?;
    if borrow {
        return Ok(Array::shared(Arc::new(Borrowed(elements.as_ptr(), elements.len()))));
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(count).map_err(|_| Error::memory(what))?;
    copy.extend_from_slice(elements);
    Ok(copy.into())
}

/// Returns the pointer to an array for C: null if it is empty.
pub(crate) fn pointer<T>(elements: &[T]) -> *const T {
    if elements.is_empty() { std::ptr::null() } else { elements.as_ptr() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ph_error;

    #[test]
    fn structs_have_the_size_of_a_version() {
        let first = ph_error::FIRST_BYTES;
        for size in [first, size_of::<ph_error>(), size_of::<ph_error>() + 8, MAX_BYTES] {
            assert!(check_size::<ph_error>(size).is_ok(), "{size}");
        }
        for size in [0, first - 1, MAX_BYTES + 1, usize::MAX] {
            let error = check_size::<ph_error>(size).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{size}");
            assert!(error.to_string().contains(&size.to_string()), "{error}");
        }
    }
}
