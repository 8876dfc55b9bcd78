//! Errors of the host's callbacks: wrapping them to pass through the library, and recognizing them afterwards.

use polyhaul::Error;
use std::io;

/// The negative return value of a failed callback.
#[derive(Debug)]
struct HostCode(i32);

impl std::fmt::Display for HostCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the host's callback returned {}", self.0)
    }
}

impl std::error::Error for HostCode {}

/// A violation of a callback's contract, for which `host_code` is 0.
#[derive(Debug)]
struct Broken(String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// Returns the error for a callback that returned a negative number.
pub(crate) fn failed(code: i64) -> io::Error {
    io::Error::other(HostCode(i32::try_from(code).unwrap_or(i32::MIN)))
}

/// Returns the error for a callback that violated its contract.
pub(crate) fn broken(message: impl Into<String>) -> io::Error {
    io::Error::other(Broken(message.into()))
}

/// Returns the return value of the callback that caused `error`, or 0 if the callback violated its contract. Returns
/// `None` if no callback caused the error.
pub(crate) fn host_code(error: &Error) -> Option<i32> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.io_error()?);
    while let Some(at) = cause {
        if let Some(HostCode(code)) = at.downcast_ref() {
            return Some(*code);
        }
        if at.is::<Broken>() {
            return Some(0);
        }
        // `io::Error::source` skips the wrapped error itself and returns the source of that error.
        let wrapped = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = wrapped.map(|inner| inner as _).or_else(|| at.source());
    }
    None
}
