//! Draws pictures of sources and scenes. The public functions are in `surfaces/python/polyhaul/_preview.py`.

use crate::images::{ImageOut, image_to_python};
use crate::job;
use crate::options::axis;
use crate::scene::SceneIn;
use crate::sources::{ReadCall, run_reading};
use polyhaul::model::{Axes, Axis};
use polyhaul::options::RunOptions;
use polyhaul::preview::{self as pictures, PreviewOptions, Style, View, WorkBudget};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The Python names of views and styles.
const VIEWS: [(&str, View); 8] = [
    ("camera", View::Camera),
    ("iso", View::Iso),
    ("front", View::Front),
    ("back", View::Back),
    ("left", View::Left),
    ("right", View::Right),
    ("top", View::Top),
    ("bottom", View::Bottom),
];
const STYLES: [(&str, Style); 6] = [
    ("shaded", Style::Shaded),
    ("normals", Style::Normals),
    ("depth", Style::Depth),
    ("id", Style::Id),
    ("uv", Style::Uv),
    ("wire", Style::Wire),
];

/// The options of a picture.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PreviewIn {
    size: (usize, usize),
    view: String,
    style: String,
    background: (u8, u8, u8, u8),
    ground: bool,
    up_axis: Option<String>,
}

impl PreviewIn {
    fn options(self) -> PyResult<PreviewOptions> {
        let (width, height) = self.size;
        let (r, g, b, a) = self.background;
        let axes = self.up_axis.map(|up| axis(&up)).transpose()?.map(|up| {
            // Forward is -Z for Y up, as in OBJ, and otherwise Y, as in Blender.
            let forward = if matches!(up, Axis::Y | Axis::NegativeY) { Axis::NegativeZ } else { Axis::Y };
            Axes { forward, up }
        });
        let options = PreviewOptions::default()
            .with_size([width, height])
            .with_view(named(&VIEWS, "view", &self.view)?)
            .with_style(named(&STYLES, "style", &self.style)?)
            .with_background([r, g, b, a])
            .with_ground(self.ground);
        Ok(options.with_axes(axes))
    }
}

fn named<T: Copy>(items: &[(&str, T)], what: &str, name: &str) -> PyResult<T> {
    let value = items.iter().find(|(item, _)| *item == name).map(|(_, value)| *value);
    value.ok_or_else(|| {
        let names: Vec<_> = items.iter().map(|(item, _)| format!("{item:?}")).collect();
        PyValueError::new_err(format!("unknown {what} {name:?}; expected one of {}", names.join(", ")))
    })
}

/// Draws a picture of a source.
#[pyfunction]
pub(crate) fn preview<'py>(py: Python<'py>, reading: ReadCall<'py>, look: PreviewIn) -> PyResult<ImageOut<'py>> {
    let look = look.options()?;
    let drawn = run_reading(py, reading, move |job, input, options| {
        let drawn = pictures::preview(input, options, &look.with_run(options.run.clone()))?;
        job.complete(drawn.report.bytes_in);
        Ok(drawn)
    })?;
    image_to_python(py, drawn)
}

/// Draws a picture of a scene; if `is_quick`, with the work limited to a fraction of a second.
#[pyfunction]
#[pyo3(signature = (scene, look, threads, is_quick))]
pub(crate) fn preview_scene<'py>(
    py: Python<'py>,
    scene: SceneIn<'py>,
    look: PreviewIn,
    threads: Option<usize>,
    is_quick: bool,
) -> PyResult<ImageOut<'py>> {
    let scene = scene.scene(py)?;
    let budget = if is_quick { WorkBudget::Fixed } else { WorkBudget::Proportional };
    let look = look.options()?.with_budget(budget);
    let drawn = job::run(py, None, move |job| {
        let mut run = RunOptions::default().with_threads(threads);
        job.rule(&mut run);
        pictures::preview_scene(&scene, &look.with_run(run))
    })?;
    image_to_python(py, drawn)
}
