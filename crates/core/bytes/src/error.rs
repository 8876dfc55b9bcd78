//! Errors, and helpers for `io::Error`: adding context, repeating an error, and retrying interrupted calls.
//!
//! Errors with added context keep the kind of their cause, and return the cause as `source()`.

mod decompress;
mod host_fault;

pub use decompress::{DecompressError, DecompressErrorKind, DecompressLimit};
pub use host_fault::HostFault;

use crate::stop::Stopped;
use std::fmt;
use std::io;

#[derive(Debug)]
struct ErrorContext {
    what: String,
    cause: io::Error,
}

impl fmt::Display for ErrorContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.cause)
    }
}

impl std::error::Error for ErrorContext {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Prefixes the message of `cause` with `what`.
pub(crate) fn context(cause: io::Error, what: impl Into<String>) -> io::Error {
    let what = what.into();
    io::Error::new(cause.kind(), ErrorContext { what, cause })
}

/// Copies an error, for repeated calls. Keeps the system's error number, or the type of a decompression error, a host
/// fault or a stop. Of all other errors, only the kind and the message are kept.
pub(crate) fn repeat(error: &io::Error) -> io::Error {
    if let Some(number) = error.raw_os_error() {
        return io::Error::from_raw_os_error(number);
    }
    let Some(inner) = error.get_ref() else { return error.kind().into() };
    match (inner.downcast_ref::<DecompressError>(), inner.downcast_ref::<HostFault>()) {
        (Some(damage), _) => damage.clone().into(),
        (_, Some(fault)) => HostFault::wrap(repeat(fault.cause())),
        _ if Stopped::caused(error) => io::Error::other(Stopped),
        _ => match inner.downcast_ref() {
            Some(ErrorContext { what, cause }) => context(repeat(cause), what),
            None => io::Error::new(error.kind(), error.to_string()),
        },
    }
}

/// Repeats a call while signals interrupt it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
