//! Where a picture is taken from: a direction by name, a distance that fits the bounds, and the projection to pixels.
//!
//! Nothing here draws.

use polyhaul_geometry::linear::{Vector, add, cross, dot, scale, subtract, unit, wide};
use polyhaul_model::{Axes, Bounds};

/// The direction that a scene is seen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// As the scene's own camera sees it; as [`View::Iso`] if it has none.
    #[default]
    Camera,
    /// From the front, the right and above.
    Iso,
    /// From the front: looking forward.
    Front,
    /// From behind.
    Back,
    /// From its left side.
    Left,
    /// From its right side.
    Right,
    /// From above.
    Top,
    /// From below.
    Bottom,
}

/// A scene's own camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneCamera {
    /// Right, up and forward in the scene, each of length 1.
    pub axes: [[f64; 3]; 3],
    /// Its position.
    pub eye: [f64; 3],
    /// The tangent of half its angle of view, across the shorter side of the picture.
    pub tangent: f64,
}

/// Half the vertical angle of view of an 85 mm lens on 24 mm film, which shows objects with little distortion.
const HALF_ANGLE: f64 = 0.1403;
/// The part of the picture that the bounds fill, in its narrower direction.
const FILLED: f64 = 0.92;

/// A camera with perspective, outside of the bounds.
#[derive(Clone, Debug)]
pub(crate) struct Camera {
    /// Rows that turn a position into coordinates of the camera: right, up, and toward it.
    rows: [Vector; 3],
    eye: Vector,
    /// Pixels per unit at distance 1.
    focal: f64,
    center: [f64; 2],
    /// The near plane of a scene's own camera; 0 for a camera outside of the scene.
    nearest: f64,
    projection: Projection,
}

/// The projection in 32-bit floats. They suffice for 256ths of a pixel, since positions are taken relative to the
/// middle of the bounds.
#[derive(Clone, Debug)]
struct Projection {
    middle: [f32; 3],
    rows: [[f32; 3]; 3],
    /// The distance of the middle.
    distance: f32,
    focal: f32,
    center: [f32; 2],
    /// The depth of distance d is `depth[0] - depth[1] / d`.
    depth: [f32; 2],
}

impl Camera {
    /// The camera that sees the bounds in a picture of this size in pixels, from the direction `view` in a scene with
    /// these axes.
    pub(crate) fn framing(bounds: Bounds, view: View, axes: Axes, [width, height]: [usize; 2]) -> Camera {
        let rows = rows(view, axes);
        let min = wide(bounds.min);
        let max = wide(bounds.max);
        let middle = scale(add(min, max), 0.5);
        let half = subtract(max, middle);
        // A single point has no size, and still needs a camera that is elsewhere.
        let size = dot(half, half).sqrt().max(1e-7 * dot(middle, middle).sqrt()).max(1e-30);
        let focal = 0.5 * height as f64 / HALF_ANGLE.tan();
        // How far right and up from the center is seen at distance 1.
        let seen = [0.5 * width as f64 / focal * FILLED, 0.5 * height as f64 / focal * FILLED];
        let corner = |number: usize| {
            let sign = |axis: usize| if number >> axis & 1 == 0 { -half[axis] } else { half[axis] };
            let offset = [sign(0), sign(1), sign(2)];
            rows.map(|row| dot(row, offset))
        };
        let mut distance: f64 = 0.0;
        for [right, up, near] in (0..8).map(corner) {
            distance = distance.max(near + right.abs() / seen[0]).max(near + up.abs() / seen[1]);
        }
        // Keeps the camera outside of bounds that are flat in its direction.
        let distance = distance.max(size * 1.01);
        let eye = add(middle, scale(rows[2], distance));
        // Positions of the model may lie outside of bounds that were estimated.
        let [near, far] = [(distance - 2.0 * size).max(distance * 1e-3), distance + 2.0 * size];
        let center = [0.5 * width as f64, 0.5 * height as f64];
        let narrow = |values: Vector| values.map(|value| value as f32);
        let projection = Projection {
            middle: narrow(middle),
            rows: rows.map(narrow),
            distance: distance as f32,
            focal: focal as f32,
            center: center.map(|value| value as f32),
            depth: [far / (far - near), far * near / (far - near)].map(|value| value as f32),
        };
        Camera { rows, eye, focal, center, nearest: 0.0, projection }
    }

    /// A scene's own camera. Depths are right for what is `near` or farther.
    pub(crate) fn from_scene(lens: &SceneCamera, near: f64, [width, height]: [usize; 2]) -> Camera {
        let [right, up, forward] = lens.axes;
        let rows = [right, up, scale(forward, -1.0)];
        let focal = 0.5 * width.min(height) as f64 / lens.tangent;
        let center = [0.5 * width as f64, 0.5 * height as f64];
        let narrow = |values: Vector| values.map(|value| value as f32);
        let projection = Projection {
            middle: narrow(lens.eye),
            rows: rows.map(narrow),
            distance: 0.0,
            focal: focal as f32,
            center: center.map(|value| value as f32),
            depth: [1.0, near as f32],
        };
        Camera { rows, eye: lens.eye, focal, center, nearest: 0.0, projection }
    }

    /// The same camera with depths that keep what is near and far apart as well as floats do: near is 1, far is 0.
    pub(crate) fn reversed(&self, nearest: f64) -> Camera {
        let mut camera = Camera { nearest, ..self.clone() };
        camera.projection.depth = [0.0, -nearest as f32];
        camera
    }

    /// The distance of the near plane; 0 without one.
    pub(crate) fn nearest(&self) -> f64 {
        self.nearest
    }

    /// The distance forward of a depth.
    pub(crate) fn distance(&self, depth: f32) -> f32 {
        self.projection.depth[1] / (self.projection.depth[0] - depth)
    }

    /// The depth of a distance forward.
    pub(crate) fn depth(&self, distance: f32) -> f32 {
        self.projection.depth[0] - self.projection.depth[1] / distance
    }

    /// How far right, up and forward of the camera a position is.
    pub(crate) fn seen(&self, position: [f32; 3]) -> [f64; 3] {
        self.seen_wide(wide(position))
    }

    /// The same for a position in doubles.
    pub(crate) fn seen_wide(&self, position: Vector) -> [f64; 3] {
        let offset = subtract(position, self.eye);
        let [right, up, toward] = self.rows.map(|row| dot(row, offset));
        [right, up, -toward]
    }

    /// From where to where a box reaches: right, up and forward of the camera.
    pub(crate) fn seen_box(&self, bounds: &Bounds) -> [[f64; 2]; 3] {
        let middle = std::array::from_fn(|axis| 0.5 * (bounds.min[axis] + bounds.max[axis]));
        let half: [f64; 3] = std::array::from_fn(|axis| 0.5 * f64::from(bounds.max[axis] - bounds.min[axis]));
        let seen = self.seen(middle);
        std::array::from_fn(|axis| {
            let reach: f64 = (0..3).map(|at| self.rows[axis][at].abs() * half[at]).sum();
            [seen[axis] - reach, seen[axis] + reach]
        })
    }

    /// How far the middle of the bounds is; 0 for a scene's own camera.
    pub(crate) fn middle_distance(&self) -> f64 {
        f64::from(self.projection.distance)
    }

    /// Pixels per unit at distance 1.
    pub(crate) fn focal(&self) -> f64 {
        self.focal
    }

    /// The pixel coordinates of what is so far right and up at distance 1.
    pub(crate) fn pixel(&self, [right, up]: [f64; 2]) -> [f32; 2] {
        [(self.center[0] + right * self.focal) as f32, (self.center[1] - up * self.focal) as f32]
    }

    /// Offset of a position in the picture from its center at distance 1, in the directions of its pixels.
    pub(crate) fn offset(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let Projection { focal, center, .. } = &self.projection;
        [(x - center[0]) / focal, (y - center[1]) / focal]
    }

    /// How far right and up the picture reaches at distance 1.
    pub(crate) fn reach(&self) -> [f64; 2] {
        self.center.map(|center| center / self.focal)
    }

    /// The pixel coordinates of a position, from the upper left corner, and its depth from 0 (near) to 1 (far). What is
    /// nearer or farther than the camera's range has another depth, or none (NaN).
    #[inline]
    pub(crate) fn project(&self, position: [f32; 3]) -> [f32; 3] {
        let Projection { middle, rows, distance, focal, center, depth } = &self.projection;
        let offset = [position[0] - middle[0], position[1] - middle[1], position[2] - middle[2]];
        let dot = |row: &[f32; 3]| row[0] * offset[0] + row[1] * offset[1] + row[2] * offset[2];
        let nearness = 1.0 / (distance - dot(&rows[2]));
        let scale = focal * nearness;
        [center[0] + dot(&rows[0]) * scale, center[1] - dot(&rows[1]) * scale, depth[0] - depth[1] * nearness]
    }

    /// The camera's position.
    pub(crate) fn eye(&self) -> Vector {
        self.eye
    }

    /// The direction of the ray through a position in the picture, in pixels. It reaches 1 unit forward.
    pub(crate) fn ray(&self, [x, y]: [f64; 2]) -> Vector {
        let right = (x - self.center[0]) / self.focal;
        let up = (self.center[1] - y) / self.focal;
        let sideways = add(scale(self.rows[0], right), scale(self.rows[1], up));
        subtract(sideways, self.rows[2])
    }

    /// Right, up, and toward the camera, in the scene.
    pub(crate) fn rows(&self) -> [Vector; 3] {
        self.rows
    }
}

/// Whether axes leave no direction for the right.
pub(crate) fn are_parallel(axes: Axes) -> bool {
    cross(axes.forward.direction(), axes.up.direction()) == [0.0; 3]
}

/// Right, up and toward the camera for a view.
fn rows(view: View, axes: Axes) -> [Vector; 3] {
    let forward = axes.forward.direction();
    let up = axes.up.direction();
    let front = scale(forward, -1.0);
    let right = cross(forward, up);
    let toward = match view {
        View::Camera | View::Iso => unit(add(add(front, scale(right, 0.7)), scale(up, 0.55))),
        View::Front => front,
        View::Back => forward,
        View::Left => scale(right, -1.0),
        View::Right => right,
        View::Top => up,
        View::Bottom => scale(up, -1.0),
    };
    let above = match view {
        View::Top => forward,
        View::Bottom => front,
        _ => up,
    };
    let right = unit(cross(above, toward));
    [right, cross(toward, right), toward]
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Bounds = Bounds { min: [-1.0, -2.0, -3.0], max: [3.0, 2.0, 1.0] };

    /// Where a camera sees a position: right and up of the picture's center, in pixels.
    fn seen(camera: &Camera, position: [f32; 3]) -> [f32; 2] {
        let [x, y, _] = camera.project(position);
        [x - 200.0, 150.0 - y]
    }

    #[test]
    fn views_have_the_right_sides() {
        // x is right and y up, seen from the front, for the axes of OBJ; z is up for Blender's.
        let center = [1.0, 0.0, -1.0];
        let moved = |axis: usize, by: f32| std::array::from_fn(|at| center[at] + if at == axis { by } else { 0.0 });
        for (axes, view, right, up) in [
            (Axes::OBJ, View::Front, (0, 1.0), (1, 1.0)),
            (Axes::OBJ, View::Back, (0, -1.0), (1, 1.0)),
            (Axes::OBJ, View::Right, (2, -1.0), (1, 1.0)),
            (Axes::OBJ, View::Left, (2, 1.0), (1, 1.0)),
            (Axes::OBJ, View::Top, (0, 1.0), (2, -1.0)),
            (Axes::OBJ, View::Bottom, (0, 1.0), (2, 1.0)),
            (Axes::BLENDER, View::Front, (0, 1.0), (2, 1.0)),
            (Axes::BLENDER, View::Right, (1, 1.0), (2, 1.0)),
            (Axes::BLENDER, View::Top, (0, 1.0), (1, 1.0)),
        ] {
            let camera = Camera::framing(BOX, view, axes, [400, 300]);
            let [x, y] = seen(&camera, moved(right.0, right.1));
            assert!(x > 10.0 && y.abs() < 0.01, "{view:?}: {x} {y}");
            let [x, y] = seen(&camera, moved(up.0, up.1));
            assert!(y > 10.0 && x.abs() < 0.01, "{view:?}: {x} {y}");
        }
    }

    #[test]
    fn bounds_fill_the_picture_and_have_depths() {
        for view in [View::Iso, View::Front, View::Top] {
            for size in [[400, 300], [100, 700], [64, 64]] {
                let camera = Camera::framing(BOX, view, Axes::OBJ, size);
                let mut filled: f32 = 0.0;
                for number in 0..8 {
                    let pick = |at: usize| if number >> at & 1 == 0 { BOX.min[at] } else { BOX.max[at] };
                    let [x, y, depth] = camera.project([pick(0), pick(1), pick(2)]);
                    assert!((0.0..=1.0).contains(&depth), "{depth}");
                    let [across, down] = [x / size[0] as f32, y / size[1] as f32];
                    assert!((0.0..=1.0).contains(&across) && (0.0..=1.0).contains(&down), "{across} {down}");
                    filled = filled.max((2.0 * across - 1.0).abs()).max((2.0 * down - 1.0).abs());
                }
                assert!(filled > 0.9, "{view:?} {size:?}: {filled}");
            }
        }
    }

    #[test]
    fn a_ray_meets_what_is_projected_there() {
        let camera = Camera::framing(BOX, View::Iso, Axes::OBJ, [400, 300]);
        for position in [[0.5f32, 1.0, -2.0], [3.0, 2.0, 1.0], [-1.0, -2.0, 0.0]] {
            let [x, y, _] = camera.project(position);
            let ray = unit(camera.ray([x, y].map(f64::from)));
            let toward = unit(subtract(wide(position), camera.eye()));
            assert!(dot(ray, toward) > 1.0 - 1e-9);
        }
    }

    #[test]
    fn a_single_point_is_in_the_middle() {
        let bounds = Bounds { min: [5.0; 3], max: [5.0; 3] };
        let [x, y, depth] = Camera::framing(bounds, View::Iso, Axes::OBJ, [400, 300]).project([5.0; 3]);
        assert!(
            (x - 200.0).abs() < 0.01 && (y - 150.0).abs() < 0.01 && (0.0..=1.0).contains(&depth),
            "{x} {y} {depth}"
        );
    }
}
