//! Converts images to GPU textures. The public function is in `surfaces/python/polyhaul/_texture.py`.

use crate::options::NativeWriteOptions;
use crate::report;
use crate::sources::{ReadCall, Target, run_reading};
use polyhaul::options::OptionGroup;
use polyhaul::textures::{TextureOptions, import_texture as import};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A finished texture: width, height, encoding, level count, and the report as a dict.
#[derive(IntoPyObject)]
pub(crate) struct Made<'py>(usize, usize, String, usize, Bound<'py, PyDict>);

/// Converts an image to a texture. `settings` has the names and values of texture options, as strings.
#[pyfunction]
pub(crate) fn import_texture<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
    settings: Vec<(String, String)>,
    alpha_cutoff: Option<f32>,
    target: Target,
    writing: &NativeWriteOptions,
) -> PyResult<Made<'py>> {
    let writing = writing.options.clone();
    let mut options = TextureOptions::default().with_alpha_cutoff(alpha_cutoff);
    for (name, text) in settings {
        options.set(&name, &text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    let made = run_reading(py, reading, move |job, input, read| {
        let options = options
            .with_format(writing.format)
            .with_image(writing.image)
            .with_durable(writing.durable)
            .with_from(read.format)
            .with_limits(read.limits)
            .with_on_error(read.on_error)
            .with_strict(read.strict)
            .with_allow(read.allow)
            .with_run(read.run.clone().with_write_throttle(writing.run.write_throttle));
        let made = import(input, target.output(job)?, &options)?;
        job.complete(made.report.bytes_in);
        Ok(made)
    })?;
    Ok(Made(made.width, made.height, made.encoding.to_string(), made.level_count, report::report(py, &made.report)?))
}
