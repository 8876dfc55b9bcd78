//! Scans: batches of selected rows. A thread reads the next batch while Python processes the previous one. Batches are
//! returned as columns, or as a stream of Arrow's C interface, which can be read without Python.

use crate::arrow;
use crate::errors;
use crate::options::NativeReadOptions;
use crate::profile;
use crate::report;
use crate::tables::{TableOut, tables_to_python};
use polyhaul::model::Table;
use polyhaul::options::{Cancel, Expression};
use polyhaul::{Error, ErrorKind, Input, Report, Result};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval between checks for signals.
const STEP: Duration = Duration::from_millis(50);

/// A source of rows that can be read without Python: one of `path` and `memory` is set.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ScanSource {
    path: Option<PathBuf>,
    memory: Option<crate::arrays::Held<u8>>,
    name: String,
}

/// A message of the reading thread.
enum Message {
    Batch(Table),
    /// The last message, unless the thread was cancelled.
    Done(Box<Result<Report>>),
}

/// The batches, in order. Dropping them cancels reading.
pub(crate) struct Batches {
    messages: Receiver<Message>,
    cancel: Cancel,
    report: Option<Report>,
}

impl Batches {
    /// Waits for the next batch. Returns `None` after the last batch.
    pub(crate) fn wait(&mut self) -> Option<Result<Table>> {
        loop {
            if let Some(next) = self.wait_for(STEP) {
                return next;
            }
        }
    }

    /// Waits for at most `time`; the outer `None` means a timeout.
    fn wait_for(&mut self, time: Duration) -> Option<Option<Result<Table>>> {
        if self.report.is_some() {
            return Some(None);
        }
        match self.messages.recv_timeout(time) {
            Ok(Message::Batch(table)) => Some(Some(Ok(table))),
            Ok(Message::Done(done)) => match *done {
                Ok(report) => {
                    self.report = Some(report);
                    Some(None)
                }
                Err(error) => Some(Some(Err(error))),
            },
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the thread that read the file ended early";
                Some(Some(Err(Error::new(ErrorKind::Internal, message))))
            }
        }
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
    /// Starts reading, in batches of about `bytes` bytes of the file.
    #[new]
    fn new(py: Python<'_>, source: ScanSource, options: &NativeReadOptions, bytes: usize) -> PyResult<NativeBatches> {
        let mut options = options.options.clone();
        let cancel = Cancel::default();
        options.run.cancel = cancel.clone();
        options.run.trace = profile::trace(py)?;
        let memory = source.memory.map(Arc::new);
        let input = match (source.path, &memory) {
            (Some(path), _) => Input::Path(path),
            (None, Some(memory)) => Input::Shared(memory.clone(), source.name),
            (None, None) => return Err(PyRuntimeError::new_err("no source")),
        };
        // With a capacity of 1, a batch waits in the channel while the next one is read.
        let (sender, messages) = mpsc::sync_channel(1);
        let work = move || {
            let reader = polyhaul::Reader::new(input).options(&options);
            let send = |batch| sender.send(Message::Batch(batch)).map_err(|_| Error::cancelled());
            let result = reader.batches(bytes, send);
            // Fails if the batches were dropped.
            let _ = sender.send(Message::Done(Box::new(result)));
            // Release Python's memory only after the last message: the release needs the interpreter, which the thread
            // that waits for the message may hold.
            drop(memory);
        };
        thread::Builder::new().name("polyhaul".into()).spawn(work)?;
        Ok(NativeBatches(Mutex::new(Some(Batches { messages, cancel, report: None }))))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<TableOut>> {
        loop {
            let next = py.detach(|| self.batches().as_mut().map_or(Some(None), |batches| batches.wait_for(STEP)));
            match next {
                Some(Some(Ok(table))) => return Ok(tables_to_python(vec![table])?.pop()),
                Some(Some(Err(error))) => return Err(errors::exception(py, &error)),
                Some(None) => return Ok(None),
                None => py.check_signals()?,
            }
        }
    }

    /// Stops reading.
    fn close(&self) {
        *self.batches() = None;
    }

    /// The report; `None` until the scan has ended.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let report = self.batches().as_ref().and_then(|batches| batches.report.clone());
        report.map(|report| report::report(py, &report)).transpose()
    }

    /// Exports the remaining batches as a stream, in a capsule of the Arrow PyCapsule interface.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches().take();
        let mut batches = batches.ok_or_else(|| PyRuntimeError::new_err("the batches have already been consumed"))?;
        let first = loop {
            let next;
            (next, batches) = py.detach(move || (batches.wait_for(STEP), batches));
            match next {
                Some(first) => break first.unwrap_or_else(|| Ok(Table::default())),
                None => py.check_signals()?,
            }
        };
        let first = first.map_err(|error| errors::exception(py, &error))?;
        arrow::capsule(py, first, std::iter::from_fn(move || batches.wait()))
    }
}

impl NativeBatches {
    fn batches(&self) -> MutexGuard<'_, Option<Batches>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Raises an exception if a filter is invalid.
#[pyfunction]
pub(crate) fn check_filter(py: Python<'_>, text: &str) -> PyResult<()> {
    text.parse::<Expression>().map(drop).map_err(|error| errors::exception(py, &error))
}
