//! Images in Python, as samples and their shape. The class that users see is in `python/polyhaul/_image.py`.
//!
//! Samples of an image that was read belong to Python alone, so they may be changed there; those that are written are
//! looked at where they are.

use crate::arrays::{Array, Held};
use crate::calls::{Source, Target, reading};
use crate::job;
use crate::options::{Read, Write};
use crate::report;
use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An image on its way to Python: the type of its samples, the samples, rows, columns and channels, the colour space,
/// whether it is premultiplied, and the report, as a dict.
#[derive(IntoPyObject)]
pub(crate) struct ImageOut<'py>(&'static str, Array, (usize, usize, usize), &'static str, bool, Bound<'py, PyDict>);

/// An image of Python: samples, rows, columns and channels, the colour space, and whether it is premultiplied. Nothing
/// of it is copied.
#[derive(FromPyObject)]
pub(crate) struct ImageIn(SamplesIn, (usize, usize, usize), String, bool);

/// Samples of any type.
struct SamplesIn(Samples);

/// Reads the image of a source.
#[pyfunction]
pub(crate) fn read_image<'py>(
    py: Python<'py>,
    source: Source,
    options: Read,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<ImageOut<'py>> {
    let loaded = reading(py, source, options, progress, |job, input, options| {
        let loaded = polyhaul::load_image(input, options)?;
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    let Image { width, height, channels, samples, color_space, premultiplied } = loaded.image;
    let (kind, samples) = owned(samples).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
    let shape = (height, width, channels.count());
    Ok(ImageOut(kind, samples, shape, space_name(color_space), premultiplied, report::report(py, &loaded.report)?))
}

/// Writes an image: the report, as a dict.
#[pyfunction]
pub(crate) fn write_image<'py>(
    py: Python<'py>,
    image: ImageIn,
    target: Target,
    options: Write,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = options.options()?;
    let image = image.image()?;
    let done = job::run(py, progress, move |job| {
        job.rule(&mut options.run);
        let report = polyhaul::save_image(&image, target.output(job)?, &options)?;
        job.complete(report.bytes_out);
        Ok(report)
    })?;
    report::report(py, &done)
}

impl ImageIn {
    fn image(self) -> PyResult<Image> {
        let ImageIn(SamplesIn(samples), (height, width, count), space, premultiplied) = self;
        let all = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];
        let channels = all.into_iter().find(|channels| channels.count() == count);
        let channels = channels.ok_or_else(|| PyValueError::new_err(format!("there are no pixels of {count}")))?;
        Ok(Image { width, height, channels, samples, color_space: space_named(&space)?, premultiplied })
    }
}

const SPACES: [(ColorSpace, &str); 2] = [(ColorSpace::Srgb, "srgb"), (ColorSpace::Linear, "linear")];

fn space_name(space: ColorSpace) -> &'static str {
    SPACES.iter().find(|(known, _)| *known == space).map_or("", |(_, name)| name)
}

pub(crate) fn space_named(name: &str) -> PyResult<ColorSpace> {
    let known = SPACES.iter().find(|(_, known)| *known == name).map(|(space, _)| *space);
    known.ok_or_else(|| PyValueError::new_err(format!("there is no colour space {name:?}")))
}

/// The samples, for Python alone, and what numpy calls their type.
fn owned(samples: Samples) -> Result<(&'static str, Array), std::collections::TryReserveError> {
    Ok(match samples {
        Samples::U8(samples) => ("u1", Array::owned(samples.into_vec()?)),
        Samples::U16(samples) => ("u2", Array::owned(samples.into_vec()?)),
        Samples::F32(samples) => ("f4", Array::owned(samples.into_vec()?)),
    })
}

impl<'a, 'py> FromPyObject<'a, 'py> for SamplesIn {
    type Error = PyErr;

    /// The samples where they are.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let held = Held::get(&object).map(|held: Held<u8>| Samples::U8(held.into()));
        held.or_else(|| Held::get(&object).map(|held: Held<u16>| Samples::U16(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<f32>| Samples::F32(held.into())))
            .map(SamplesIn)
            .ok_or_else(|| PyValueError::new_err("the samples' type or layout does not fit"))
    }
}
