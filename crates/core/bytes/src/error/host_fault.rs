//! The error for a host that failed or broke its contract.

use std::fmt;
use std::io;

/// A host failed or broke its contract. Downcast an `io::Error` to detect it; [`HostFault::cause_of`] returns the
/// host's error.
#[derive(Debug)]
pub struct HostFault(io::Error);

impl HostFault {
    pub(crate) fn wrap(cause: io::Error) -> io::Error {
        io::Error::new(cause.kind(), HostFault(cause))
    }

    /// Creates the error for a broken contract.
    pub(crate) fn broken(message: impl Into<String>) -> io::Error {
        Self::wrap(io::Error::new(io::ErrorKind::InvalidData, message.into()))
    }

    pub(super) fn cause(&self) -> &io::Error {
        &self.0
    }

    /// Returns the host's error, if `error` is a host fault.
    ///
    /// # Errors
    /// Returns `error` unchanged if it is not a host fault.
    pub fn cause_of(error: io::Error) -> Result<io::Error, io::Error> {
        if !error.get_ref().is_some_and(|inner| inner.is::<HostFault>()) {
            return Err(error);
        }
        let kind = error.kind();
        match error.into_inner().map(|inner| inner.downcast::<HostFault>()) {
            Some(Ok(fault)) => Ok(fault.0),
            _ => Ok(kind.into()),
        }
    }
}

impl fmt::Display for HostFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for HostFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
