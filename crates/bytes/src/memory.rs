//! Memory that may not be there: vectors that grow, or an error that says by how much.

use std::io;

/// Makes room for `extra` more bytes, or says that memory is out.
pub(crate) fn reserve(data: &mut Vec<u8>, extra: usize) -> io::Result<()> {
    data.try_reserve(extra).map_err(|_| no_memory(extra))
}

/// There is no memory for so many bytes.
pub(crate) fn no_memory(extra: usize) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, format!("cannot allocate {extra} more bytes"))
}

/// Makes `data` `len` bytes long, the new ones 0, or says that memory is out.
pub(crate) fn grow(data: &mut Vec<u8>, len: usize) -> io::Result<()> {
    let extra = len.saturating_sub(data.len());
    reserve(data, extra)?;
    data.resize(data.len() + extra, 0);
    Ok(())
}
