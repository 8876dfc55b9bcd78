//! Passes images to and from Python as samples with a shape. The public class is in
//! `surfaces/python/polyhaul/_image.py`.
//!
//! Python owns the samples of an image that was read, so it may change them. Samples to write are used in place.

use crate::arrays::{Array, Held};
use crate::options::NativeWriteOptions;
use crate::report;
use crate::sources::{ReadCall, Target, run_reading, run_writing};
use polyhaul::Loaded;
use polyhaul::model::{
    ChannelSamples, ChannelType, Channels, ColorChannel, ColorSpace, Image, ImageAttribute, ImageChannel, Samples,
};
use polyhaul::options::OptionValue;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::TryReserveError;

/// An image for Python: sample type, samples, shape as (rows, columns, channels), color space, whether it is
/// premultiplied, other contents, and the report as a dict.
#[derive(IntoPyObject)]
pub(crate) struct ImageOut<'py>(
    &'static str,
    Array,
    (usize, usize, usize),
    String,
    bool,
    BesideOut,
    Bound<'py, PyDict>,
);

/// The contents of an image other than its colors: extra channels (name, type, samples), the names and types of the
/// color channels in the file, and attributes (name, type, value).
#[derive(IntoPyObject)]
pub(crate) struct BesideOut(
    Vec<(String, &'static str, Array)>,
    Vec<(String, &'static str)>,
    Vec<(String, String, Array)>,
);

/// An image from Python: samples, shape as (rows, columns, channels), color space, whether it is premultiplied, and
/// other contents. No samples are copied.
#[derive(FromPyObject)]
pub(crate) struct ImageIn(SamplesIn, (usize, usize, usize), String, bool, BesideIn);

/// The counterpart of [`BesideOut`].
#[derive(FromPyObject)]
struct BesideIn(Vec<(String, String, PlaneIn)>, Vec<(String, String)>, Vec<(String, String, Vec<u8>)>);

/// Samples of a channel; 16-bit floats are passed as their bits.
struct PlaneIn(ChannelSamples);

/// Samples of any supported type.
struct SamplesIn(Samples);

/// Reads an image.
#[pyfunction]
pub(crate) fn read_image<'py>(py: Python<'py>, reading: ReadCall<'py>) -> PyResult<ImageOut<'py>> {
    let loaded = run_reading(py, reading, |job, input, options| {
        let loaded = polyhaul::Reader::new(input).options(options).image()?;
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    image_to_python(py, loaded)
}

/// Moves an image and its report to Python.
pub(crate) fn image_to_python(py: Python<'_>, loaded: Loaded<Image>) -> PyResult<ImageOut<'_>> {
    let Image { width, height, channels, samples, color_space, premultiplied, extra, stored, attributes, .. } =
        loaded.value;
    let no_memory = |error: TryReserveError| PyMemoryError::new_err(error.to_string());
    let (kind, samples) = owned(samples).map_err(no_memory)?;
    let shape = (height, width, channels.count());
    let extra = extra
        .into_iter()
        .map(|ImageChannel { name, samples }| Ok((name, samples.kind().name(), plane(samples).map_err(no_memory)?)));
    let beside = BesideOut(
        extra.collect::<PyResult<_>>()?,
        stored.into_iter().map(|ColorChannel { name, kind }| (name, kind.name())).collect(),
        attributes.into_iter().map(|ImageAttribute { name, kind, value }| (name, kind, Array::text(value))).collect(),
    );
    let report = report::report(py, &loaded.report)?;
    Ok(ImageOut(kind, samples, shape, color_space.print(), premultiplied, beside, report))
}

/// Writes an image; returns the report as a dict.
#[pyfunction]
pub(crate) fn write_image<'py>(
    py: Python<'py>,
    image: ImageIn,
    target: Target,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let image = image.image()?;
    run_writing(py, options, progress, move |job, options| {
        polyhaul::Writer::new(target.output(job)?).options(options).image(&image)
    })
}

impl ImageIn {
    fn image(self) -> PyResult<Image> {
        let ImageIn(SamplesIn(samples), (height, width, count), space, premultiplied, beside) = self;
        let BesideIn(extra, stored, attributes) = beside;
        let layouts = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];
        let channels = layouts.into_iter().find(|channels| channels.count() == count);
        let channels = channels.ok_or_else(|| PyValueError::new_err(format!("invalid number of channels: {count}")))?;
        let channel = |(name, kind, PlaneIn(samples)): (String, String, PlaneIn)| {
            let samples = match samples {
                ChannelSamples::U16(bits) if kind == ChannelType::F16.name() => ChannelSamples::F16(bits),
                samples => samples,
            };
            ImageChannel { name, samples }
        };
        let color = |(name, kind): (String, String)| {
            let channel_type = TYPES.into_iter().find(|channel_type| channel_type.name() == kind);
            let unknown = || PyValueError::new_err(format!("unknown channel type {kind:?}"));
            Ok(ColorChannel { name, kind: channel_type.ok_or_else(unknown)? })
        };
        let attribute = |(name, kind, value)| ImageAttribute { name, kind, value };
        Ok(Image {
            width,
            height,
            channels,
            samples,
            color_space: ColorSpace::parse(&space).map_err(PyValueError::new_err)?,
            premultiplied,
            extra: extra.into_iter().map(channel).collect(),
            stored: stored.into_iter().map(color).collect::<PyResult<_>>()?,
            attributes: attributes.into_iter().map(attribute).collect(),
            ..Image::default()
        })
    }
}

const TYPES: [ChannelType; 5] =
    [ChannelType::U8, ChannelType::U16, ChannelType::U32, ChannelType::F16, ChannelType::F32];

/// Moves samples to Python; also returns their numpy type.
fn owned(samples: Samples) -> Result<(&'static str, Array), TryReserveError> {
    Ok(match samples {
        Samples::U8(samples) => ("u1", Array::owned(samples.into_vec()?)),
        Samples::U16(samples) => ("u2", Array::owned(samples.into_vec()?)),
        Samples::F32(samples) => ("f4", Array::owned(samples.into_vec()?)),
    })
}

/// Moves the samples of a channel to Python.
fn plane(samples: ChannelSamples) -> Result<Array, TryReserveError> {
    Ok(match samples {
        ChannelSamples::U8(samples) => Array::owned(samples.into_vec()?),
        ChannelSamples::U16(samples) | ChannelSamples::F16(samples) => Array::owned(samples.into_vec()?),
        ChannelSamples::U32(samples) => Array::owned(samples.into_vec()?),
        ChannelSamples::F32(samples) => Array::owned(samples.into_vec()?),
    })
}

impl<'a, 'py> FromPyObject<'a, 'py> for PlaneIn {
    type Error = PyErr;

    /// Uses the samples in place.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let held = Held::get(&object).map(|held: Held<u8>| ChannelSamples::U8(held.into()));
        held.or_else(|| Held::get(&object).map(|held: Held<u16>| ChannelSamples::U16(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<u32>| ChannelSamples::U32(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<f32>| ChannelSamples::F32(held.into())))
            .map(PlaneIn)
            .ok_or_else(|| PyValueError::new_err("the type or layout of a channel's samples does not match"))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for SamplesIn {
    type Error = PyErr;

    /// Uses the samples in place.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let held = Held::get(&object).map(|held: Held<u8>| Samples::U8(held.into()));
        held.or_else(|| Held::get(&object).map(|held: Held<u16>| Samples::U16(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<f32>| Samples::F32(held.into())))
            .map(SamplesIn)
            .ok_or_else(|| PyValueError::new_err("the type or layout of the samples does not match"))
    }
}
