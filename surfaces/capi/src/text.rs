//! Strings returned from handles, and strings passed by the caller.

use crate::error::{guard, ph_status};
use crate::raw;
use polyhaul::{Error, Result};
use std::ffi::c_char;

/// A UTF-8 string with a size; not zero-terminated. Print it with `"%.*s", (int)text.size, text.data`.
///
/// A string returned from a handle is valid until the handle is changed or freed. `data` may be null if `size` is 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_string {
    /// The first byte.
    pub data: *const c_char,
    /// Size in bytes.
    pub size: usize,
}

/// Returns a zero-terminated string as a ph_string, without copying it. Null becomes an empty string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_text(text: *const c_char) -> ph_string {
    let mut result = view("");
    let _: ph_status = guard(|| {
        // SAFETY: `text` is null or zero-terminated by the header's rules; the result points into it and is not read
        // here.
        let bytes = unsafe { raw::bytes_of(text) }.unwrap_or_default();
        result = ph_string { data: bytes.as_ptr().cast(), size: bytes.len() };
        Ok(())
    });
    result
}

/// Borrows a string for C.
pub(crate) fn view(text: &str) -> ph_string {
    ph_string { data: text.as_ptr().cast(), size: text.len() }
}

/// Copies the caller's string. `what` names it in errors.
///
/// # Errors
/// [`polyhaul::ErrorKind::Usage`] if it is null with a size, or not UTF-8; [`polyhaul::ErrorKind::Memory`].
///
/// # Safety
/// `text.data` is null, or points to `text.size` bytes.
pub(crate) unsafe fn owned(text: ph_string, what: &str) -> Result<String> {
    // SAFETY: `text.data` is valid for `text.size` bytes by this function's contract; they are copied below.
    let bytes = unsafe { raw::slice(text.data.cast::<u8>(), text.size, what) }?;
    let checked = std::str::from_utf8(bytes).map_err(|_| raw::usage(format!("{what} is not UTF-8")))?;
    let mut copy = String::new();
    copy.try_reserve_exact(checked.len()).map_err(|_| Error::memory(what))?;
    copy.push_str(checked);
    Ok(copy)
}
