//! Screen-space ambient occlusion: darkens corners and creases, computed from the depth buffer.
//!
//! Each pixel is compared with pairs of pixels on opposite sides. If both are nearer than the plane through the pixel,
//! the surface is concave and receives less light; on a plane of any slope the two cancel out. The effect also makes
//! the shapes of point clouds without normals visible.

use crate::camera::Camera;
use crate::frame::Frame;
use crate::parallel::draw_each;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;

/// Offsets of the pairs, as fractions of the picture's shorter side.
const PAIRS: [[f32; 2]; 8] = [
    [0.012, 0.0],
    [0.0085, 0.0085],
    [0.0, 0.012],
    [-0.0085, 0.0085],
    [0.0277, 0.0115],
    [0.0115, 0.0277],
    [-0.0115, 0.0277],
    [-0.0277, 0.0115],
];
/// Pixels nearer by more than this multiple of their lateral distance belong to another object and occlude nothing.
const FARTHEST: f32 = 3.0;
/// Maximum fraction of the light that occlusion removes.
const STRENGTH: f32 = 0.55;

/// Distances of the visible surface, for ambient occlusion.
pub(crate) struct Occlusion {
    size: [usize; 2],
    /// Per pixel; infinite for the background.
    distances: Vec<f32>,
    /// Width of a pixel at distance 1.
    pixel: f32,
}

impl Occlusion {
    pub(crate) fn new(frame: &Frame, camera: &Camera, run: &RunOptions) -> Result<Occlusion> {
        let [width, height] = frame.size();
        let mut distances = Vec::new();
        distances.try_reserve_exact(width * height).map_err(|_| Error::memory("a picture"))?;
        distances.resize(width * height, f32::INFINITY);
        let rows = distances.chunks_exact_mut(width).enumerate();
        draw_each(
            run,
            rows,
            || (),
            |(), (y, row)| {
                for (x, distance) in row.iter_mut().enumerate() {
                    let nearest = frame.hits(x, y).iter().flatten().map(|hit| hit.depth).reduce(f32::min);
                    *distance = nearest.map_or(f32::INFINITY, |depth| camera.distance(depth));
                }
                Ok(())
            },
        )?;
        Ok(Occlusion { size: [width, height], distances, pixel: (1.0 / camera.focal()) as f32 })
    }

    /// Fraction of the ambient light that reaches a pixel.
    pub(crate) fn open(&self, x: usize, y: usize) -> f32 {
        let [width, height] = self.size;
        let here = self.distances[y * width + x];
        if here == f32::INFINITY {
            return 1.0;
        }
        let side = width.min(height) as f32;
        let mut hidden = 0.0;
        for [dx, dy] in PAIRS {
            let [dx, dy] = [(dx * side).round() as isize, (dy * side).round() as isize];
            let apart = ((dx * dx + dy * dy) as f32).sqrt() * self.pixel * here;
            let nearer = |sign: isize| {
                let by = (here - self.at(x as isize + sign * dx, y as isize + sign * dy)) / apart;
                // Ignores silhouettes of other objects, and limits the effect of surfaces far behind.
                if by > FARTHEST || by.is_nan() { 0.0 } else { by.max(-FARTHEST) }
            };
            if apart > 0.0 {
                hidden += (0.5 * (nearer(1) + nearer(-1))).clamp(0.0, 1.0);
            }
        }
        1.0 - STRENGTH * (hidden / PAIRS.len() as f32 * 2.0).min(1.0)
    }

    fn at(&self, x: isize, y: isize) -> f32 {
        let [width, height] = self.size;
        let inside = (0..width as isize).contains(&x) && (0..height as isize).contains(&y);
        if inside { self.distances[y as usize * width + x as usize] } else { f32::INFINITY }
    }
}
