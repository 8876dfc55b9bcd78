//! The calls of the library, as functions of the module.

use crate::arrays::Held;
use crate::errors;
use crate::job::{self, Caller, Job};
use crate::options::{Read, Write};
use crate::report;
use crate::scene::{SceneIn, scene_to_python};
use crate::streams::{Callback, HostReader, HostWriter};
use polyhaul::options::Codec;
use polyhaul::{Input, Output};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::Cursor;
use std::path::PathBuf;

/// Where to read: what `python/polyhaul/_sources.py` made of the argument. One of the first three is there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Source {
    path: Option<PathBuf>,
    memory: Option<Held<u8, u8>>,
    read: Option<Py<PyAny>>,
    name: String,
}

/// Where to write: a path, or functions that take bytes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    path: Option<PathBuf>,
    write: Option<Py<PyAny>>,
    flush: Option<Py<PyAny>>,
    name: String,
}

/// Reads a scene: the scene and the report, as dicts.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    source: Source,
    options: Read,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let mut options = options.options()?;
    let loaded = job::run(py, progress, move |job| {
        job.rule(&mut options.run, source.size());
        let loaded = polyhaul::load(source.input(&job.caller), &options)?;
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    Ok((scene_to_python(py, loaded.scene)?, report::report(py, &loaded.report)?))
}

/// Writes a scene: the report, as a dict.
#[pyfunction]
pub(crate) fn write<'py>(
    py: Python<'py>,
    scene: SceneIn<'py>,
    target: Target,
    options: Write,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = options.options()?;
    let scene = scene.scene()?;
    let done = job::run(py, progress, move |job| {
        job.rule(&mut options.run, None);
        let report = polyhaul::save(&scene, target.output(job)?, &options)?;
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &done)
}

/// Reads a scene and writes it: the report, as a dict.
#[pyfunction]
#[pyo3(signature = (source, target, read, write, progress))]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: Source,
    target: Target,
    read: Read,
    write: Write,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut read, mut write) = (read.options()?, write.options()?);
    let done = job::run(py, progress, move |job| {
        job.rule(&mut read.run, source.size());
        job.rule(&mut write.run, None);
        let polyhaul::Loaded { scene, mut report } = polyhaul::load(source.input(&job.caller), &read)?;
        let output = target.output(job)?;
        report.extend(polyhaul::save(&scene, output, &write)?);
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &done)
}

/// Tells what is inside of a source: its inventory and the report, as dicts.
#[pyfunction]
pub(crate) fn info<'py>(
    py: Python<'py>,
    source: Source,
    options: Read,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let mut options = options.options()?;
    let (inventory, done) = job::run(py, progress, move |job| {
        job.rule(&mut options.run, source.size());
        let (inventory, report) = polyhaul::inspect::info(source.input(&job.caller), &options)?;
        job.complete(report.bytes_in);
        Ok((inventory, report))
    })?;
    Ok((report::inventory(py, &inventory)?, report::report(py, &done)?))
}

/// Collects every complaint about a source: whether it is valid, the error that stops a read, and the report.
#[pyfunction]
pub(crate) fn validate<'py>(
    py: Python<'py>,
    source: Source,
    options: Read,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(bool, Option<Bound<'py, PyAny>>, Bound<'py, PyDict>)> {
    let mut options = options.options()?;
    let found = job::run(py, progress, move |job| {
        job.rule(&mut options.run, source.size());
        polyhaul::inspect::validate(source.input(&job.caller), &options)
    })?;
    let error = found.error.map(|error| errors::exception(py, &error).into_value(py).into_bound(py).into_any());
    Ok((found.valid, error, report::report(py, &found.report)?))
}

impl Source {
    /// The bytes that will be read, where the library cannot know it: of memory that is not compressed.
    fn size(&self) -> Option<u64> {
        let bytes = self.memory.as_ref()?.as_ref();
        Codec::of_content(bytes).is_none().then_some(bytes.len() as u64)
    }

    /// What the library reads.
    fn input(self, caller: &Caller) -> Input {
        let Source { path, memory, read, name } = self;
        match (path, memory, read) {
            (Some(path), ..) => Input::Path(path),
            // Read block by block, so that there is no second copy of it all.
            (_, Some(bytes), _) => Input::Reader(Box::new(Cursor::new(bytes)), name),
            (.., Some(read)) => Input::Reader(Box::new(HostReader(Callback::new(caller, read))), name),
            _ => Input::Memory(Vec::new(), name),
        }
    }
}

impl Target {
    /// What the library writes to. A file that it makes is put in order before the job may end.
    fn output(self, job: &Job) -> polyhaul::Result<Output> {
        let Target { path, write, flush, name } = self;
        let callback = |function| Callback::new(&job.caller, function);
        match (path, write) {
            (_, Some(write)) => {
                let writer = HostWriter::new(callback(write), flush.map(callback));
                Ok(Output::Writer(Box::new(writer), name))
            }
            (path, None) => {
                let path = path.unwrap_or_default();
                // Writing to a pipe may hang, and leaves nothing behind.
                if path.metadata().map_or(true, |found| found.is_file()) {
                    job.hold()?;
                }
                Ok(Output::Path(path))
            }
        }
    }
}
