//! Batches of chosen rows, which a thread reads ahead while Python works with the one before; as columns, or as a
//! stream of Apache Arrow's C interface, which needs no Python to be read from.

use crate::arrow;
use crate::errors;
use crate::options::Read;
use crate::profile;
use crate::tables::{TableOut, tables_to_python};
use polyhaul::model::Table;
use polyhaul::options::{Cancel, Expression};
use polyhaul::{Error, Input, Result};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval of checking for signals.
const STEP: Duration = Duration::from_millis(50);

/// Where rows come from: what can be read without Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ScanSource {
    path: Option<PathBuf>,
    memory: Option<crate::arrays::Held<u8>>,
    name: String,
}

/// Batches, in order. Dropping them ends the reading.
pub(crate) struct Batches {
    batches: Receiver<Result<Table>>,
    cancel: Cancel,
}

impl Batches {
    /// The next one, once there is one.
    pub(crate) fn wait(&self) -> Option<Result<Table>> {
        self.batches.recv().ok()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// An iterator over the batches of a scan.
#[pyclass(frozen)]
pub(crate) struct NativeBatches(Mutex<Option<Batches>>);

#[pymethods]
impl NativeBatches {
    /// Begins to read: about `bytes` bytes of the file at a time.
    #[new]
    fn new(py: Python<'_>, source: ScanSource, options: Read, bytes: usize) -> PyResult<NativeBatches> {
        let mut options = options.options()?;
        let cancel = Cancel::default();
        options.run.cancel = cancel.clone();
        options.run.trace = profile::trace(py)?;
        let input = match (source.path, source.memory) {
            (Some(path), _) => Input::Path(path),
            (None, Some(memory)) => Input::Shared(Arc::new(memory), source.name),
            (None, None) => return Err(PyRuntimeError::new_err("there is no source")),
        };
        // One is on its way while the next is read.
        let (sender, batches) = mpsc::sync_channel(1);
        let work = move || {
            let reader = polyhaul::Reader::new(input).options(&options);
            let failed = reader.batches(bytes, |batch| sender.send(Ok(batch)).map_err(|_| Error::cancelled()));
            if let Err(error) = failed {
                // Nobody listens if the batches were dropped.
                let _ = sender.send(Err(error));
            }
        };
        thread::Builder::new().name("polyhaul".into()).spawn(work)?;
        Ok(NativeBatches(Mutex::new(Some(Batches { batches, cancel }))))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<TableOut>> {
        loop {
            let received = py.detach(|| {
                let batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                batches.as_ref().map_or(Err(RecvTimeoutError::Disconnected), |it| it.batches.recv_timeout(STEP))
            });
            match received {
                Ok(Ok(table)) => return Ok(tables_to_python(vec![table])?.pop()),
                Ok(Err(error)) => return Err(errors::exception(py, &error)),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Ends the reading.
    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The rest of the batches, as a capsule of the Arrow PyCapsule interface.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batches = batches.ok_or_else(|| PyRuntimeError::new_err("the batches were taken already"))?;
        let (first, batches) = py.detach(move || (batches.wait(), batches));
        let first = first.unwrap_or_else(|| Ok(Table::default()));
        let first = first.map_err(|error| errors::exception(py, &error))?;
        arrow::capsule(py, first, batches)
    }
}

/// Raises for a filter that is none.
#[pyfunction]
pub(crate) fn check_filter(py: Python<'_>, text: &str) -> PyResult<()> {
    text.parse::<Expression>().map(drop).map_err(|error| errors::exception(py, &error))
}
