//! Images to textures for graphics cards. The public interface is in `surfaces/python/polyhaul/_texture.py`.

use crate::calls::{ReadCall, Target, run_reading};
use crate::images::space_named;
use crate::options::NativeWriteOptions;
use crate::report;
use polyhaul::model::{Encoding, Texel};
use polyhaul::ops::{BlockQuality, MipmapFilter};
use polyhaul::textures::{TextureOptions, import_texture as import};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How a texture is made.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    encoding: Option<String>,
    quality: String,
    mips: Option<String>,
    alpha_cutoff: Option<f32>,
    normal_map: Option<bool>,
    color_space: Option<String>,
}

/// A texture that was made: width, height, encoding, levels, and the report, as a dict.
#[derive(IntoPyObject)]
pub(crate) struct Made<'py>(usize, usize, String, usize, Bound<'py, PyDict>);

/// Reads an image and writes it as a texture.
#[pyfunction]
pub(crate) fn import_texture<'py>(
    py: Python<'py>,
    reading: ReadCall<'py>,
    how: How,
    target: Target,
    writing: &NativeWriteOptions,
) -> PyResult<Made<'py>> {
    let writing = writing.options.clone();
    let how = how.options()?;
    let made = run_reading(py, reading, move |job, input, read| {
        let options = how
            .with_format(writing.format)
            .with_image(writing.image)
            .with_durable(writing.durable)
            .with_from(read.format)
            .with_limits(read.limits)
            .with_on_error(read.on_error)
            .with_strict(read.strict)
            .with_run(read.run.clone().with_write_throttle(writing.run.write_throttle));
        let made = import(input, target.output(job)?, &options)?;
        job.complete(made.report.bytes_in);
        Ok(made)
    })?;
    let name = encoding_name(made.encoding);
    Ok(Made(made.width, made.height, name, made.level_count, report::report(py, &made.report)?))
}

impl How {
    fn options(&self) -> PyResult<TextureOptions> {
        Ok(TextureOptions::default()
            .with_encoding(self.encoding.as_deref().map(encoding).transpose()?)
            .with_quality(named("quality", &self.quality, &QUALITIES)?)
            .with_mips(self.mips.as_deref().map(|name| named("mips", name, &FILTERS)).transpose()?)
            .with_alpha_cutoff(self.alpha_cutoff)
            .with_normal_map(self.normal_map)
            .with_color_space(self.color_space.as_deref().map(space_named).transpose()?))
    }
}

const QUALITIES: [(BlockQuality, &str); 3] =
    [(BlockQuality::Fast, "fast"), (BlockQuality::Normal, "normal"), (BlockQuality::Best, "best")];

const FILTERS: [(MipmapFilter, &str); 2] = [(MipmapFilter::Box, "box"), (MipmapFilter::Kaiser, "kaiser")];

const ENCODINGS: [(Encoding, &str); 7] = [
    (Encoding::Bc1, "bc1"),
    (Encoding::Bc3, "bc3"),
    (Encoding::Bc4 { signed: false }, "bc4"),
    (Encoding::Bc5 { signed: false }, "bc5"),
    (Encoding::Bc6h { signed: false }, "bc6h"),
    (Encoding::Bc7, "bc7"),
    (Encoding::Plain { channels: 4, texel: Texel::U8 }, "rgba8"),
];

/// The item with this name.
fn named<T: Copy>(what: &str, name: &str, items: &[(T, &str)]) -> PyResult<T> {
    let value = items.iter().find(|(_, item)| *item == name).map(|(value, _)| *value);
    value.ok_or_else(|| PyValueError::new_err(format!("unknown {what} {name:?}")))
}

fn encoding(name: &str) -> PyResult<Encoding> {
    named("encoding", name, &ENCODINGS)
}

fn encoding_name(encoding: Encoding) -> String {
    let entry = ENCODINGS.iter().find(|(entry, _)| *entry == encoding);
    match (entry, encoding) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, Encoding::Plain { channels, texel }) => {
            let kind = match texel {
                Texel::U8 => "8",
                Texel::U16 => "16",
                Texel::F16 => "16f",
                Texel::F32 => "32f",
            };
            let channels = ["", "r", "rg", "rgb", "rgba"].get(usize::from(channels)).unwrap_or(&"");
            format!("{channels}{kind}")
        }
        (None, encoding) => format!("{encoding:?}").to_lowercase(),
    }
}
