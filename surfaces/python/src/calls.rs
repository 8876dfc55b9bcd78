//! The calls of the library, as functions of the module.

use crate::arrays::Held;
use crate::errors;
use crate::job::{self, Caller, Job};
use crate::options::{self, NativeReadOptions, NativeWriteOptions};
use crate::report;
use crate::scene::{SceneIn, scene_to_python};
use crate::streams::{Callback, HostWriter, PythonReader};
use polyhaul::model::Axes;
use polyhaul::ops::SceneOps;
use polyhaul::options::Resolve;
use polyhaul::{Content, Input, Output, ReadOptions, Report};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// The input: made from the argument by `surfaces/python/polyhaul/_sources.py`. One of the first three is set.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Source {
    path: Option<PathBuf>,
    memory: Option<Held<u8>>,
    read: Option<Py<PyAny>>,
    name: String,
}

/// What is read and how: `ReadCall` of `_io.py`. The resolver is called with the names of files that a scene refers to.
#[derive(FromPyObject)]
pub(crate) struct ReadCall<'py> {
    source: Source,
    options: PyRef<'py, NativeReadOptions>,
    resolver: Option<Py<PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
}

/// The output: a path, or functions that take bytes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    path: Option<PathBuf>,
    write: Option<Py<PyAny>>,
    flush: Option<Py<PyAny>>,
    name: String,
}

/// Reads a scene: the scene and the report, as dicts. One for a renderer becomes meshes and objects if it should be
/// flattened. `turn` has other axes, forward and up, and a scale.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
    flatten: bool,
    turn: (Option<(String, String)>, f32),
    writable: bool,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (axes, scale) = turn;
    let axes = match axes {
        Some((forward, up)) => Some(Axes { forward: options::axis(&forward)?, up: options::axis(&up)? }),
        None => None,
    };
    let loaded = run_reading(py, reading, move |job, input, options| {
        let loaded = polyhaul::Reader::new(input).options(options).scene()?;
        let mut loaded = if flatten { loaded.flattened(&options.limits)? } else { loaded };
        if axes.is_some() || scale != 1.0 {
            let to = axes.unwrap_or(loaded.value.axes);
            loaded.value.transform_axes_with(to, scale, &options.run)?;
        }
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    Ok((scene_to_python(py, loaded.value, writable)?, report::report(py, &loaded.report)?))
}

/// Writes a scene: the report, as a dict.
#[pyfunction]
pub(crate) fn write<'py>(
    py: Python<'py>,
    scene: SceneIn<'py>,
    target: Target,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = options.options.clone();
    let scene = scene.scene()?;
    let report = job::run(py, progress, move |job| {
        job.rule(&mut options.run);
        let report = polyhaul::Writer::new(target.output(job)?).options(&options).scene(&scene)?;
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &report)
}

/// Reads a scene and writes it: the report, as a dict.
#[pyfunction]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
    target: Target,
    writing: &NativeWriteOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let total_memory = reading.options.memory_limit;
    let mut writing = writing.options.clone();
    let report = run_reading(py, reading, move |job, input, options| {
        job.rule(&mut writing.run);
        let (output, is_file) = target.open(job);
        // While it only reads, it can be abandoned.
        let before = |_: Content<'_>, _: &Report| if is_file { job.hold() } else { Ok(()) };
        let mut options = options.clone();
        options.run.total_memory = total_memory;
        let report = polyhaul::Reader::new(input)
            .options(&options)
            .convert_with(polyhaul::Writer::new(output).options(&writing), before)?
            .report();
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &report)
}

/// Returns the inventory of a source and the report, as dicts.
#[pyfunction]
pub(crate) fn info<'py>(py: Python<'py>, reading: ReadCall<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (inventory, report) = run_reading(py, reading, |job, input, options| {
        let (inventory, report) = polyhaul::inspect::info(input, options)?;
        job.complete(report.bytes_in);
        Ok((inventory, report))
    })?;
    Ok((report::inventory(py, &inventory)?, report::report(py, &report)?))
}

/// Collects every complaint about a source: whether it is valid, the error that stops a read, and the report.
#[pyfunction]
pub(crate) fn validate<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
) -> PyResult<(bool, Option<Bound<'py, PyAny>>, Bound<'py, PyDict>)> {
    let validation = run_reading(py, reading, |_, input, options| polyhaul::inspect::validate(input, options))?;
    let error = validation.error.map(|error| errors::exception(py, &error).into_value(py).into_bound(py).into_any());
    Ok((validation.valid, error, report::report(py, &validation.report)?))
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

/// Asks `function(name)` for files: it returns a source, as a dict, or nothing.
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
    /// In the library's form.
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
    /// In the library's form. A file that it creates must be finished before the job may end.
    pub(crate) fn output(self, job: &Job) -> polyhaul::Result<Output> {
        let (output, is_file) = self.open(job);
        if is_file {
            job.hold()?;
        }
        Ok(output)
    }

    /// In the library's form, and whether that is a file it creates. Writing to a pipe may hang, and leaves nothing
    /// behind.
    fn open(self, job: &Job) -> (Output, bool) {
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
