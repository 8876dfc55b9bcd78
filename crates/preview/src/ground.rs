//! The shadow of a scene on the ground below it, from a light far above.
//!
//! The scene is drawn once more, small, as the light sees it: where the ground is hidden from the light, it is darker.

use crate::camera::{Camera, View};
use crate::draw::draw;
use crate::frame::{Frame, SAMPLES};
use crate::scene::SceneParts;
use crate::texture::Textures;
use crate::work::PictureWork;
use polyhaul_geometry::linear::{add, dot, scale, wide};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Axes, Bounds};

/// Pixels on each side of the light's view.
const SIDE: usize = 256;
/// How far shadows are softened, in these pixels.
const SOFT: usize = 4;
/// The part of the light that a full shadow removes.
const STRENGTH: f32 = 0.45;

/// Where the ground is dark.
pub(crate) struct Ground {
    light: Camera,
    /// Up, and how high the ground is along it.
    up: [f64; 3],
    height: f64,
    /// For each pixel of the light's view, the part that is hidden.
    hidden: Vec<f32>,
}

impl Ground {
    pub(crate) fn new(
        parts: &mut SceneParts<'_>,
        textures: &Textures,
        bounds: Bounds,
        axes: Axes,
        work: &PictureWork<'_>,
    ) -> Result<Ground> {
        let frame = Frame::new(SIDE, SIDE)?;
        let light = Camera::framing(bounds, View::Top, axes, [SIDE, SIDE]);
        draw(parts, textures, &light, &frame, work)?;
        let mut hidden = Vec::new();
        hidden.try_reserve_exact(SIDE * SIDE).map_err(|_| Error::memory("a shadow"))?;
        hidden.extend((0..SIDE * SIDE).map(|at| {
            let hits = frame.hits(at % SIDE, at / SIDE).into_iter().flatten().count();
            hits as f32 / SAMPLES as f32
        }));
        // Two means of squares in each direction are nearly a Gaussian.
        for step in [1, SIDE, 1, SIDE] {
            hidden = softened(&hidden, step)?;
        }
        let up = axes.up.direction();
        let lowest = [bounds.min, bounds.max].map(|corner| dot(up, wide(corner)));
        Ok(Ground { light, up, height: lowest[0].min(lowest[1]), hidden })
    }

    /// The part of the light that reaches the ground where a ray of the camera meets it.
    pub(crate) fn open(&self, eye: [f64; 3], ray: [f64; 3]) -> f32 {
        let slope = dot(self.up, ray);
        let far = (self.height - dot(self.up, eye)) / slope;
        if !(far > 0.0 && far.is_finite()) {
            return 1.0;
        }
        let at = add(eye, scale(ray, far));
        let [x, y, _] = self.light.project(at.map(|value| value as f32));
        if !(x >= 0.0 && y >= 0.0 && x < SIDE as f32 && y < SIDE as f32) {
            return 1.0;
        }
        1.0 - STRENGTH * self.hidden[y as usize * SIDE + x as usize]
    }
}

/// The mean of some pixels on both sides; `step` is 1 along rows, and the width along columns.
fn softened(values: &[f32], step: usize) -> Result<Vec<f32>> {
    let mut means = Vec::new();
    means.try_reserve_exact(values.len()).map_err(|_| Error::memory("a shadow"))?;
    means.extend((0..values.len()).map(|at| {
        let place = at / step % SIDE;
        let range = place.saturating_sub(SOFT)..(place + SOFT + 1).min(SIDE);
        let sum: f32 = range.map(|other| values[at - place * step + other * step]).sum();
        sum / (2 * SOFT + 1) as f32
    }));
    Ok(means)
}
