//! Python file objects as readers and writers of the library.
//!
//! All calls run on the calling thread of the job. A file object that violates its contract (returns text, or more
//! bytes than requested) raises an exception; nothing is repaired.

use crate::errors;
use crate::job::Caller;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBlockingIOError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// A Python function to call from a job.
#[derive(Clone)]
pub(crate) struct Callback {
    caller: Caller,
    function: Arc<Py<PyAny>>,
}

impl Callback {
    /// Prepares `function` for calls from the job of `caller`.
    pub(crate) fn new(caller: &Caller, function: Py<PyAny>) -> Callback {
        Callback { caller: caller.clone(), function: Arc::new(function) }
    }

    /// Calls `task` with the function on the calling thread.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> io::Result<T> {
        let function = self.function.clone();
        self.caller.ask(move |py| task(function.bind(py)))
    }
}

/// Reads by calling `read(count) -> bytes`.
pub(crate) struct PythonReader(pub(crate) Callback);

impl Read for PythonReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let requested_bytes = out.len();
        let bytes = self.0.ask(move |read| read_once(read, requested_bytes))?;
        out[..bytes.len()].copy_from_slice(&bytes); // `read_once` returns at most `out.len()` bytes.
        Ok(bytes.len())
    }
}

/// Calls `read` once; returns at most `requested_bytes` bytes.
fn read_once(read: &Bound<'_, PyAny>, requested_bytes: usize) -> PyResult<PyBackedBytes> {
    let py = read.py();
    let got = read.call1((requested_bytes,))?;
    if got.is_none() {
        return Err(PyBlockingIOError::new_err("read() returned None: the source is in non-blocking mode"));
    }
    if got.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("read() returned str: open the source in binary mode (\"rb\")"));
    }
    let wrong = |_| {
        let name = got.get_type().name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("read() returned {name}; expected bytes"))
    };
    let bytes: PyBackedBytes = match got.cast::<PyBytes>() {
        Ok(bytes) => bytes.clone().into(),
        Err(_) => PyBytes::new(py, &PyBuffer::<u8>::get(&got).map_err(wrong)?.to_vec(py)?).into(),
    };
    if bytes.len() <= requested_bytes {
        Ok(bytes)
    } else {
        let message = format!("read() returned {} bytes, more than the {requested_bytes} requested", bytes.len());
        Err(errors::host(py, &message))
    }
}

/// Writes by calling `write(bytes) -> count`.
pub(crate) struct HostWriter {
    write: Callback,
    /// Called at the end, if set.
    flush: Option<Callback>,
    /// Reused between calls.
    block: Vec<u8>,
}

impl HostWriter {
    /// A writer that calls `write`, and `flush` at the end.
    pub(crate) fn new(write: Callback, flush: Option<Callback>) -> HostWriter {
        HostWriter { write, flush, block: Vec::new() }
    }
}

impl Write for HostWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        block.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        block.extend_from_slice(bytes);
        let (count, block) = self.write.ask(move |write| Ok((write_once(write, &block)?, block)))?;
        self.block = block;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush.as_ref().map_or(Ok(()), |flush| flush.ask(|flush| flush.call0().map(drop)))
    }
}

/// Calls `write` once; returns the number of bytes written. Many file objects return `None` after writing everything.
fn write_once(write: &Bound<'_, PyAny>, bytes: &[u8]) -> PyResult<usize> {
    let py = write.py();
    let got = write.call1((PyBytes::new(py, bytes),))?;
    if got.is_none() {
        return Ok(bytes.len());
    }
    match got.extract::<usize>() {
        Ok(count) if count <= bytes.len() => Ok(count),
        _ => {
            let message = format!("write() returned {got}; expected a count from 0 to {}", bytes.len());
            Err(errors::host(py, &message))
        }
    }
}
