//! Ambient occlusion: less light in corners and behind edges, computed from the distances in a picture alone.
//!
//! A pixel is compared with pairs of others on opposite sides of it: where both are nearer than the plane through it,
//! the surface is concave there, and less light comes in. On a plane, whatever its slope, the two cancel out. It
//! also makes shapes visible in point clouds without normals.

use crate::camera::Camera;
use crate::frame::Frame;
use crate::parallel::draw_each;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;

/// Directions of the pairs, and how far they are, as parts of the picture's shorter side.
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
/// A pixel nearer by more than this many times its lateral distance occludes nothing: it is another object in front.
const FARTHEST: f32 = 3.0;
/// The part of the light that corners lose at most.
const STRENGTH: f32 = 0.55;

/// The distance of the visible surface at each pixel.
pub(crate) struct Occlusion {
    size: [usize; 2],
    /// Infinite where nothing is seen.
    distances: Vec<f32>,
    /// The width of a pixel at distance 1.
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

    /// The part of the light that reaches a pixel.
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
                // Silhouettes of other objects do not count, nor surfaces far behind.
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
