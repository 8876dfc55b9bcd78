//! Shadow of a scene on the ground plane below it, cast by a light overhead.
//!
//! The scene is rendered again from above at low resolution; covered pixels darken the ground.

use crate::camera::{Camera, View};
use crate::draw::draw;
use crate::frame::{Frame, SAMPLES};
use crate::scene::SceneParts;
use crate::texture::Textures;
use crate::work::PictureWork;
use polyhaul_geometry::linear::{add, dot, scale, wide};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Axes, Bounds};

/// Width and height of the light's view in pixels.
const SIDE: usize = 256;
/// Blur radius of shadows, in pixels of the light's view.
const SOFT: usize = 4;
/// Fraction of the light that a full shadow removes.
const STRENGTH: f32 = 0.45;

/// A shadow map for the ground plane.
pub(crate) struct Ground {
    light: Camera,
    /// Up direction, and the height of the ground along it.
    up: [f64; 3],
    height: f64,
    /// Covered fraction of each pixel of the light's view.
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
        // Two box blurs per direction approximate a Gaussian.
        for step in [1, SIDE, 1, SIDE] {
            hidden = softened(&hidden, step)?;
        }
        let up = axes.up.direction();
        let lowest = [bounds.min, bounds.max].map(|corner| dot(up, wide(corner)));
        Ok(Ground { light, up, height: lowest[0].min(lowest[1]), hidden })
    }

    /// Fraction of the light that reaches the ground at the intersection with a camera ray.
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

/// Box blur with radius [`SOFT`]; `step` is 1 along rows and [`SIDE`] along columns.
fn softened(values: &[f32], step: usize) -> Result<Vec<f32>> {
    let mut means = Vec::new();
    means.try_reserve_exact(values.len()).map_err(|_| Error::memory("a shadow"))?;
    means.extend((0..values.len()).map(|at| {
        let place = at / step % SIDE;
        let range = place.saturating_sub(SOFT)..(place + SOFT + 1).min(SIDE);
        let sum: f32 = range.map(|other| values[at - place * step + other * step]).sum();
        // The divisor is the full width at the border, too: outside the view of the light, nothing casts a shadow.
        sum / (2 * SOFT + 1) as f32
    }));
    Ok(means)
}
