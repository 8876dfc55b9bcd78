//! Clips triangles and segments that extend behind the camera or far beyond the picture, so that they can be projected.
//!
//! Only needed for cameras inside a scene. [`crate::batch`] detects the triangles to clip.

use crate::camera::Camera;
use polyhaul_geometry::linear::{Vector, add, scale, subtract, wide};

/// Maximum distance of clipped corners from the picture's center, as a multiple of half the picture's size.
const BESIDE: f64 = 32.0;
/// Distance that rounding a position near the camera to floats, and projecting it, can move it forward, as a fraction
/// of its largest coordinate: 32 times the spacing of floats.
const ROUNDING: f64 = 4e-6;
/// Maximum corner count of a triangle clipped by five planes.
/// Each plane adds at most one corner.
const MAX_CORNERS: usize = 8;

/// A corner with its signed distance to each plane (positive is inside).
#[derive(Clone, Copy)]
struct ClipCorner {
    position: Vector,
    inside: [f64; 5],
}

impl ClipCorner {
    fn new(camera: &Camera, position: Vector) -> ClipCorner {
        let [right, up, forward] = camera.seen_wide(position);
        let [across, down] = camera.reach().map(|reach| BESIDE * reach * forward);
        // Beyond the near plane by more than rounding the cut to floats moves it: a corner in front of the plane would
        // discard its triangle.
        let largest = camera.eye().into_iter().fold(0.0, |largest: f64, part| largest.max(part.abs()));
        let near = forward - 1.001 * camera.nearest() - ROUNDING * largest;
        ClipCorner { position, inside: [near, across - right, across + right, down - up, down + up] }
    }

    /// Intersects the segment to `other` with a plane. The result is the same from both ends, so adjacent triangles
    /// share the exact cut.
    fn cut(self, other: ClipCorner, plane: usize) -> ClipCorner {
        let (a, b) = if self.position < other.position { (self, other) } else { (other, self) };
        let part = a.inside[plane] / (a.inside[plane] - b.inside[plane]);
        ClipCorner {
            position: add(a.position, scale(subtract(b.position, a.position), part)),
            inside: std::array::from_fn(|at| a.inside[at] + part * (b.inside[at] - a.inside[at])),
        }
    }
}

/// Clips a triangle and calls `draw` for each resulting triangle.
pub(crate) fn triangle(camera: &Camera, corners: [[f32; 3]; 3], mut draw: impl FnMut([[f32; 3]; 3])) {
    let corners = corners.map(|corner| ClipCorner::new(camera, wide(corner)));
    if corners.iter().flat_map(|corner| corner.inside).any(|inside| !inside.is_finite()) {
        return;
    }
    let mut polygon = [corners[0]; MAX_CORNERS];
    let mut count = 3;
    polygon[..3].copy_from_slice(&corners);
    for plane in 0..5 {
        let from = polygon;
        let before = count;
        count = 0;
        for at in 0..before {
            let here = from[at];
            let next = from[(at + 1) % before];
            let is_inside = |corner: &ClipCorner| corner.inside[plane] >= 0.0;
            let inside_corner = is_inside(&here).then_some(here);
            let cut = (is_inside(&here) != is_inside(&next)).then(|| here.cut(next, plane));
            for corner in inside_corner.into_iter().chain(cut) {
                polygon[count.min(MAX_CORNERS - 1)] = corner;
                count = (count + 1).min(MAX_CORNERS);
            }
        }
    }
    let at = |number: usize| polygon[number].position.map(|value| value as f32);
    (2..count).for_each(|last| draw([at(0), at(last - 1), at(last)]));
}

/// The visible part of a segment, as start and end fractions of its length, or `None` if no part is visible.
pub(crate) fn segment(camera: &Camera, ends: [[f32; 3]; 2]) -> Option<[f32; 2]> {
    let [a, b] = ends.map(|end| ClipCorner::new(camera, wide(end)).inside);
    if a.iter().chain(&b).any(|inside| !inside.is_finite()) {
        return None;
    }
    let mut from = 0.0f64;
    let mut to = 1.0f64;
    for (a, b) in a.into_iter().zip(b) {
        let cut = a / (a - b);
        match (a >= 0.0, b >= 0.0) {
            (true, true) => {}
            (false, true) => from = from.max(cut),
            (true, false) => to = to.min(cut),
            (false, false) => return None,
        }
    }
    (from < to).then_some([from as f32, to as f32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SceneCamera;

    /// A camera at the origin, looking along z.
    fn camera() -> Camera {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        Camera::from_scene(&SceneCamera { axes, eye: [0.0; 3], tangent: 1.0 }, 0.01, [100, 100]).reversed(0.01)
    }

    #[test]
    fn what_is_left_of_a_triangle_can_be_projected() {
        let camera = camera();
        let count = |corners: [[f32; 3]; 3]| {
            let mut count = 0;
            triangle(&camera, corners, |left| {
                count += 1;
                for corner in left {
                    let [x, y, depth] = camera.project(corner);
                    assert!(x.abs() < 1e4 && y.abs() < 1e4 && depth > 0.0 && depth <= 1.0, "{x} {y} {depth}");
                }
            });
            count
        };
        assert_eq!(count([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), 1);
        assert_eq!(count([[0.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]), 0);
        assert!(count([[-1.0, -0.1, 1.0], [1.0, -0.1, 1.0], [0.0, -0.1, -1.0]]) >= 2);
        assert!(count([[-1e6, -1.0, 1e6], [1e6, -1.0, 1e6], [0.0, -1.0, -1e6]]) >= 2);
        assert_eq!(count([[f32::NAN, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), 0);
        assert_eq!(count([[f32::INFINITY, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), 0);
    }

    #[test]
    fn cuts_are_beyond_the_near_plane_far_from_the_origin() {
        let axes = [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]];
        for eye in [[0.0; 3], [12.0, 5.0, 8.0], [5030.0, 46.0, 8.0]] {
            let camera = Camera::from_scene(&SceneCamera { axes, eye, tangent: 1.0 }, 1e-4, [100, 100]).reversed(1e-4);
            let mut count = 0;
            for number in 0..500_u32 {
                // Triangles whose center is at the camera.
                let part = |at: u32| f64::from((number * 7919 + at * 104_729) % 1000) / 10.0 - 50.0;
                let [first, second] = [0, 1].map(|at| [0, 1, 2].map(|axis| part(at * 3 + axis)));
                let offsets = [first, second, scale(add(first, second), -1.0)];
                let corners = offsets.map(|offset| add(eye, offset).map(|value| value as f32));
                triangle(&camera, corners, |left| {
                    count += 1;
                    let depths = left.map(|corner| camera.project(corner)[2]);
                    assert!(depths.iter().all(|depth| *depth > 0.0 && *depth <= 1.0), "{eye:?}: {depths:?}");
                });
            }
            assert!(count > 200, "{count}");
        }
    }

    #[test]
    fn what_is_left_of_a_segment_is_in_front() {
        let camera = camera();
        assert_eq!(segment(&camera, [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]), Some([0.0, 1.0]));
        let [from, to] = segment(&camera, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]).unwrap();
        assert!((from - 0.505).abs() < 1e-3 && to == 1.0, "{from} {to}");
        assert_eq!(segment(&camera, [[0.0, 0.0, -1.0], [0.0, 0.0, -2.0]]), None);
        assert_eq!(segment(&camera, [[0.0, 0.0, f32::NAN], [0.0, 0.0, 1.0]]), None);
    }
}
