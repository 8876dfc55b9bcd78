//! Fallible allocation for vectors. The error states the size.

use std::io;

/// Reserves space for `extra` more bytes, or returns `OutOfMemory`.
pub(crate) fn reserve(data: &mut Vec<u8>, extra: usize) -> io::Result<()> {
    data.try_reserve(extra).map_err(|_| no_memory(extra))
}

/// Creates the error for a failed allocation of `extra` bytes.
pub(crate) fn no_memory(extra: usize) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, format!("cannot allocate {extra} more bytes"))
}

/// Extends `data` with zeros to `len` bytes, or returns `OutOfMemory`.
pub(crate) fn grow(data: &mut Vec<u8>, len: usize) -> io::Result<()> {
    let extra = len.saturating_sub(data.len());
    reserve(data, extra)?;
    data.resize(data.len() + extra, 0);
    Ok(())
}
