//! Inputs and outputs from Python, and the jobs that read or write them.

use crate::arrays::Held;
use crate::job::{self, Caller, Job};
use crate::options::{NativeReadOptions, NativeWriteOptions};
use crate::report;
use crate::streams::{Callback, HostWriter, PythonReader};
use polyhaul::options::Resolve;
use polyhaul::{Input, Output, ReadOptions, Report, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// An input, created by `surfaces/python/polyhaul/_sources.py`. One of the first three fields is set.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Source {
    path: Option<PathBuf>,
    memory: Option<Held<u8>>,
    read: Option<Py<PyAny>>,
    name: String,
}

/// The input and options of a read: `Reading` in `_io.py`. `resolver` is called with the name of each file that a scene
/// refers to.
#[derive(FromPyObject)]
pub(crate) struct ReadCall<'py> {
    source: Source,
    pub(crate) options: PyRef<'py, NativeReadOptions>,
    resolver: Option<Py<PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
}

/// An output: a path, or functions that accept bytes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    path: Option<PathBuf>,
    write: Option<Py<PyAny>>,
    flush: Option<Py<PyAny>>,
    name: String,
}

/// Runs `work` as a job that reads.
pub(crate) fn run_reading<T: Send + 'static>(
    py: Python<'_>,
    reading: ReadCall<'_>,
    work: impl FnOnce(&Job, Input, &ReadOptions) -> polyhaul::Result<T> + Send + 'static,
) -> PyResult<T> {
    let ReadCall { source, options, resolver, progress } = reading;
    let mut options = options.options.clone();
    job::run(py, progress, move |job| {
        job.rule(&mut options.run);
        options.resolver = resolver.map(|function| resolve(&job.caller, function));
        work(job, source.input(&job.caller), &options)
    })
}

/// Runs `work` as a job that writes; returns the report as a dict.
pub(crate) fn run_writing<'py>(
    py: Python<'py>,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
    work: impl FnOnce(&Job, &WriteOptions) -> polyhaul::Result<Report> + Send + 'static,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = options.options.clone();
    let report = job::run(py, progress, move |job| {
        job.rule(&mut options.run);
        let report = work(job, &options)?;
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &report)
}

/// A resolver that calls `function(name)`, which returns a source as a dict, or `None`.
fn resolve(caller: &Caller, function: Py<PyAny>) -> Resolve {
    let callback = Callback::new(caller, function);
    let caller = caller.clone();
    Resolve(Arc::new(move |name| {
        let name = name.to_owned();
        let source = callback.ask(move |function| function.call1((name,))?.extract::<Option<Source>>())?;
        Ok(source.map(|source| source.input(&caller)))
    }))
}

impl Source {
    /// Converts to an input of the library.
    fn input(self, caller: &Caller) -> Input {
        let Source { path, memory, read, name } = self;
        match (path, memory, read) {
            (Some(path), ..) => Input::Path(path),
            (_, Some(bytes), _) => Input::Shared(Arc::new(bytes), name),
            (.., Some(read)) => Input::Reader(Box::new(PythonReader(Callback::new(caller, read))), name),
            _ => Input::Memory(Vec::new(), name),
        }
    }
}

impl Target {
    /// Converts to an output of the library. If the output creates a file, marks the job as holding it, so that the job
    /// is not abandoned before the file is finished.
    pub(crate) fn output(self, job: &Job) -> polyhaul::Result<Output> {
        let (output, is_file) = self.open(job);
        if is_file {
            job.hold()?;
        }
        Ok(output)
    }

    /// Converts to an output of the library; also returns whether the output creates a file. A pipe does not: writing
    /// to it may block, but leaves no incomplete file.
    pub(crate) fn open(self, job: &Job) -> (Output, bool) {
        let Target { path, write, flush, name } = self;
        let callback = |function| Callback::new(&job.caller, function);
        match (path, write) {
            (_, Some(write)) => {
                let writer = HostWriter::new(callback(write), flush.map(callback));
                (Output::Writer(Box::new(writer), name), false)
            }
            (path, None) => {
                let path = path.unwrap_or_default();
                let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
                (Output::Path(path), is_file)
            }
        }
    }
}
