//! Errors of the host's callbacks: how they pass through the library, and how they are recognized afterwards.

use polyhaul::Error;
use std::io;

/// The number below 0 with which a callback failed.
#[derive(Debug)]
struct HostCode(i32);

impl std::fmt::Display for HostCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the host's callback returned {}", self.0)
    }
}

impl std::error::Error for HostCode {}

/// A breach of the contract; the number is 0.
#[derive(Debug)]
struct Broken(String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// The error of a callback that returned a number below 0.
pub(crate) fn failed(code: i64) -> io::Error {
    io::Error::other(HostCode(i32::try_from(code).unwrap_or(i32::MIN)))
}

/// The error of a callback that broke its contract.
pub(crate) fn broken(message: impl Into<String>) -> io::Error {
    io::Error::other(Broken(message.into()))
}

/// Whether a callback caused `error`, and what it returned; 0 if it broke its contract.
pub(crate) fn host_code(error: &Error) -> Option<i32> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.io_error()?);
    while let Some(at) = cause {
        if let Some(HostCode(code)) = at.downcast_ref() {
            return Some(*code);
        }
        if at.is::<Broken>() {
            return Some(0);
        }
        // An `io::Error` does not return what it wraps as its source.
        let wrapped = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = wrapped.map(|inner| inner as _).or_else(|| at.source());
    }
    None
}
