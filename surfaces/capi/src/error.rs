//! Status codes, and the last error of each thread.
//!
//! [`guard`] runs the body of every function that can fail, so that neither an error nor a panic crosses into C.

use crate::host_error::host_code;
use crate::raw::{self, Record};
use polyhaul::{Error, ErrorKind, Result};
use polyhaul_fault::planted;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the version of the library, such as "0.1.0". The string is static.
#[unsafe(no_mangle)]
pub extern "C" fn ph_version() -> *const c_char {
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version.as_ptr(),
        Err(_) => c"".as_ptr(),
    }
}

/// The result of a call: PH_OK, or one of the `PH_ERROR_` codes, which never change.
pub type ph_status = i32;

/// Success.
pub const PH_OK: ph_status = 0;
/// The data is malformed.
pub const PH_ERROR_MALFORMED: ph_status = 1;
/// The data exceeds a limit; the message names it.
pub const PH_ERROR_LIMIT: ph_status = 2;
/// The data uses an unsupported feature of its format, the output format cannot store the content, or a struct sets
/// fields of a newer header.
pub const PH_ERROR_UNSUPPORTED: ph_status = 3;
/// An error of the operating system: missing file, full disk, closed pipe.
pub const PH_ERROR_IO: ph_status = 4;
/// Invalid arguments: null handle, invalid `struct_size`, unknown option, index out of range.
pub const PH_ERROR_USAGE: ph_status = 5;
/// A callback failed or violated its contract. `host_code` of ph_error is its negative return value, or 0.
pub const PH_ERROR_HOST: ph_status = 6;
/// Out of memory.
pub const PH_ERROR_MEMORY: ph_status = 7;
/// The job was cancelled.
pub const PH_ERROR_CANCELLED: ph_status = 8;
/// An internal error of polyhaul; please report it.
pub const PH_ERROR_INTERNAL: ph_status = 9;

/// An unknown number, such as the size of a stream or the position of an error.
pub const PH_UNKNOWN: u64 = u64::MAX;

/// Details of an error. Strings are zero-terminated UTF-8, never null, and empty if they do not apply. They are valid
/// until another call fails on the same thread.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_error {
    /// `sizeof(ph_error)`.
    pub struct_size: usize,
    /// The status that the call returned; PH_OK if no call has failed on this thread.
    pub status: ph_status,
    /// The negative return value of the callback that failed; otherwise 0.
    pub host_code: i32,
    /// The complete error on one line: position, message, expected value, hint.
    pub text: *const c_char,
    /// The problem.
    pub message: *const c_char,
    /// The expected value.
    pub expected: *const c_char,
    /// The suggested fix.
    pub hint: *const c_char,
    /// The name of the file or input.
    pub file: *const c_char,
    /// Line, starting at 1, or PH_UNKNOWN.
    pub line: u64,
    /// Column in bytes, starting at 1, or PH_UNKNOWN.
    pub column: u64,
    /// Offset in bytes, starting at 0, or PH_UNKNOWN.
    pub offset: u64,
}

// SAFETY: `repr(C)`, `struct_size` first, then integers and pointers: any bytes are values.
unsafe impl Record for ph_error {
    const NAME: &'static str = "ph_error";
}

/// The last error of a thread.
#[derive(Default)]
struct Last {
    status: ph_status,
    host_code: i32,
    /// The strings of [`ph_error`], in the order of its fields.
    texts: [CString; 5],
    /// Line, column, offset.
    place: [Option<u64>; 3],
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Returns the last error of the calling thread. Successful calls do not change it.
///
/// Each thread has its own last error: call this on the thread of the failed call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_last_error(error: *mut ph_error) -> ph_status {
    let lend = |last: &Last| {
        let [text, message, expected, hint, file] = last.texts.each_ref().map(|text| text.as_ptr());
        let [line, column, offset] = last.place.map(|number| number.unwrap_or(PH_UNKNOWN));
        let status = last.status;
        let host_code = last.host_code;
        let struct_size = size_of::<ph_error>();
        ph_error { struct_size, status, host_code, text, message, expected, hint, file, line, column, offset }
    };
    let error_info = LAST.try_with(|last| lend(&last.borrow())).map_err(|_| raw::usage("the thread is ending"));
    // SAFETY: `error` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
    // (A failure of `put` becomes the last error.)
    guard(|| unsafe { raw::put(error, error_info?) })
}

/// Returns `text` of the last error of the calling thread: never null, empty if no call has failed.
#[unsafe(no_mangle)]
pub extern "C" fn ph_last_error_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().texts[0].as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the name of a status, such as "malformed" or "limit"; "ok" for PH_OK, "unknown" for other numbers. Names
/// never change. The string is static.
#[unsafe(no_mangle)]
pub extern "C" fn ph_status_name(status: ph_status) -> *const c_char {
    let name = match status {
        PH_OK => c"ok",
        PH_ERROR_MALFORMED => c"malformed",
        PH_ERROR_LIMIT => c"limit",
        PH_ERROR_UNSUPPORTED => c"unsupported",
        PH_ERROR_IO => c"io",
        PH_ERROR_USAGE => c"usage",
        PH_ERROR_HOST => c"host",
        PH_ERROR_MEMORY => c"memory",
        PH_ERROR_CANCELLED => c"cancelled",
        PH_ERROR_INTERNAL => c"internal",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// Runs the body of a function of the header, and returns its status. Stores an error or panic as the last error of the
/// thread.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> ph_status {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return PH_OK,
        Ok(Err(error)) => error,
        Err(payload) => {
            if planted("c-panic") {
                std::panic::resume_unwind(payload);
            }
            // Dropping the payload may panic again.
            std::mem::forget(payload);
            Error::new(ErrorKind::Internal, "internal error (a panic); please report it")
        }
    };
    let last = Last::from_error(&error);
    let status = last.status;
    // The thread-local value may already be destroyed while the thread exits.
    let _ = LAST.try_with(|place| place.replace(last));
    status
}

/// Drops a handle. Panics are ignored: functions that free a handle return nothing.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(handle))) {
        std::mem::forget(payload);
    }
}

impl Last {
    fn from_error(error: &Error) -> Last {
        let says = error.diagnostic();
        let place = error.place();
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let text = match &says.hint {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        };
        let texts = [text, says.message.clone(), part(&says.expected), part(&says.hint), place.file.as_ref().into()];
        let code = host_code(error);
        Last {
            status: if code.is_some() { PH_ERROR_HOST } else { status_of(error.kind()) },
            host_code: code.unwrap_or(0),
            texts: texts.map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default()),
            place: [place.line, place.column, place.offset],
        }
    }
}

fn status_of(kind: ErrorKind) -> ph_status {
    match kind {
        ErrorKind::Malformed => PH_ERROR_MALFORMED,
        ErrorKind::Limit => PH_ERROR_LIMIT,
        ErrorKind::Unsupported => PH_ERROR_UNSUPPORTED,
        ErrorKind::Io => PH_ERROR_IO,
        ErrorKind::Usage => PH_ERROR_USAGE,
        ErrorKind::Host => PH_ERROR_HOST,
        ErrorKind::Memory => PH_ERROR_MEMORY,
        ErrorKind::Cancelled => PH_ERROR_CANCELLED,
        _ => PH_ERROR_INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_a_number_and_a_text() {
        assert_eq!(guard(|| panic!("a planted panic")), PH_ERROR_INTERNAL);
        // SAFETY: the text is valid until the next failure on this thread.
        let text = unsafe { CStr::from_ptr(ph_last_error_text()) };
        assert_eq!(text, c"internal error (a panic); please report it");
        assert_eq!(guard(|| Ok(())), PH_OK);
    }

    #[test]
    fn a_panic_of_a_handle_that_is_freed_stops_there() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("a planted panic");
            }
        }
        free(Some(Box::new(Bomb)));
        assert_eq!(guard(|| std::panic::panic_any(Bomb)), PH_ERROR_INTERNAL);
    }

    #[test]
    fn every_kind_of_error_has_its_number_and_name() {
        let kinds = [ErrorKind::Malformed, ErrorKind::Limit, ErrorKind::Unsupported, ErrorKind::Io, ErrorKind::Usage];
        let others = [ErrorKind::Host, ErrorKind::Memory, ErrorKind::Cancelled, ErrorKind::Internal];
        for (kind, status) in kinds.into_iter().chain(others).zip(1..) {
            assert_eq!(guard(|| Err(Error::new(kind, "zero \0 inside"))), status);
            // SAFETY: names are static, and texts are valid until the next failure.
            let [name, text] =
                [ph_status_name(status), ph_last_error_text()].map(|text| unsafe { CStr::from_ptr(text) });
            assert_eq!((name.to_str(), text), (Ok(kind.name()), c"zero   inside"));
        }
    }
}
