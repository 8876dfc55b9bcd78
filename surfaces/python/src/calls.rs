//! The main calls of the library as Python functions: read, write, convert, info, validate.

use crate::errors;
use crate::options::{self, NativeWriteOptions};
use crate::report;
use crate::scene::{SceneIn, scene_to_python};
use crate::sources::{ReadCall, Target, run_reading, run_writing};
use polyhaul::model::Axes;
use polyhaul::ops::SceneOps;
use polyhaul::{Content, Report};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Reads a scene; returns the scene and the report as dicts. `flatten` converts a renderer scene to meshes and objects.
/// `turn` contains the requested forward and up axes, if any, and a scale.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
    flatten: bool,
    turn: (Option<(String, String)>, f64),
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

/// Writes a scene; returns the report as a dict.
#[pyfunction]
pub(crate) fn write<'py>(
    py: Python<'py>,
    scene: SceneIn<'py>,
    target: Target,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scene = scene.scene(py)?;
    run_writing(py, options, progress, move |job, options| {
        polyhaul::Writer::new(target.output(job)?).options(options).scene(&scene)
    })
}

/// Converts a source to a target; returns the report as a dict.
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
        // Hold only when writing starts: a job that is still reading may be abandoned.
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

/// Validates a source; returns whether it is valid, the error that stops a read, and the report.
#[pyfunction]
pub(crate) fn validate<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
) -> PyResult<(bool, Option<Bound<'py, PyAny>>, Bound<'py, PyDict>)> {
    let validation = run_reading(py, reading, |_, input, options| polyhaul::inspect::validate(input, options))?;
    let error = validation.error.map(|error| errors::exception(py, &error).into_value(py).into_bound(py).into_any());
    Ok((validation.valid, error, report::report(py, &validation.report)?))
}
