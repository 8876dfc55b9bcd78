//! The camera: view direction, distance that fits the bounds, and projection to pixels.
//!
//! Nothing here draws; see [`crate::draw`].

use polyhaul_geometry::linear::{Vector, add, cross, dot, scale, subtract, unit, wide};
use polyhaul_model::{Axes, Bounds};

/// View direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The scene's camera; [`View::Iso`] if it has none.
    #[default]
    Camera,
    /// From the front, the right and above.
    Iso,
    /// From the front.
    Front,
    /// From behind.
    Back,
    /// From the left.
    Left,
    /// From the right.
    Right,
    /// From above.
    Top,
    /// From below.
    Bottom,
}

/// A camera stored in a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneCamera {
    /// Right, up and forward axes in scene space, unit length.
    pub axes: [[f64; 3]; 3],
    /// Position in scene space.
    pub eye: [f64; 3],
    /// Tangent of half the angle of view across the shorter side of the picture.
    pub tangent: f64,
}

/// Half the vertical angle of view of an 85 mm lens on 24 mm film, which shows objects with little distortion.
const HALF_ANGLE: f64 = 0.1403;
/// Fraction of the picture that the bounds fill, in the tighter direction.
const FILLED: f64 = 0.92;

/// A perspective camera.
#[derive(Clone, Debug)]
pub(crate) struct Camera {
    /// World-to-camera rotation: right, up, toward the camera.
    rows: [Vector; 3],
    eye: Vector,
    /// Pixels per unit at distance 1.
    focal: f64,
    center: [f64; 2],
    /// Near plane distance of a scene's camera; 0 for a camera outside the scene.
    nearest: f64,
    projection: Projection,
}

/// The projection in single precision. Accurate to 1/256 pixel, since positions are relative to `middle`: the center of
/// the bounds, or the position of a scene's camera.
#[derive(Clone, Debug)]
struct Projection {
    middle: [f32; 3],
    rows: [[f32; 3]; 3],
    /// Distance from the camera to `middle`.
    distance: f32,
    focal: f32,
    center: [f32; 2],
    /// Depth at distance d is `depth[0] - depth[1] / d`.
    depth: [f32; 2],
}

impl Camera {
    /// Places a camera in direction `view` so that the bounds fill a picture of this size in pixels.
    pub(crate) fn framing(bounds: Bounds, view: View, axes: Axes, [width, height]: [usize; 2]) -> Camera {
        let rows = rows(view, axes);
        let min = wide(bounds.min);
        let max = wide(bounds.max);
        let middle = scale(add(min, max), 0.5);
        let half = subtract(max, middle);
        // A single point has no extent, but the camera must not coincide with it.
        // The factor 1e-7 is about the relative spacing of floats.
        let size = dot(half, half).sqrt().max(1e-7 * dot(middle, middle).sqrt()).max(1e-30);
        let focal = 0.5 * height as f64 / HALF_ANGLE.tan();
        // Visible extent right and up from the center at distance 1.
        let seen = [0.5 * width as f64 / focal * FILLED, 0.5 * height as f64 / focal * FILLED];
        let corner = |number: usize| {
            let sign = |axis: usize| if number >> axis & 1 == 0 { -half[axis] } else { half[axis] };
            let offset = [sign(0), sign(1), sign(2)];
            rows.map(|row| dot(row, offset))
        };
        let mut distance: f64 = 0.0;
        for [right, up, near] in (0..8).map(corner) {
            // `near` is added because a corner toward the camera is seen from that much closer.
            distance = distance.max(near + right.abs() / seen[0]).max(near + up.abs() / seen[1]);
        }
        // Keeps the camera outside of bounds that are flat along the view direction.
        let distance = distance.max(size * 1.01);
        let eye = add(middle, scale(rows[2], distance));
        // Bounds may be estimates, so positions may lie outside.
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

    /// Converts a scene's camera. Depths are valid at distance `near` and beyond.
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
            // There is no far plane: depth 1 is at infinity.
            depth: [1.0, near as f32],
        };
        Camera { rows, eye: lens.eye, focal, center, nearest: 0.0, projection }
    }

    /// The same camera with reversed depth (near is 1, far is 0), which distributes float precision evenly over
    /// distance.
    pub(crate) fn reversed(&self, nearest: f64) -> Camera {
        let mut camera = Camera { nearest, ..self.clone() };
        camera.projection.depth = [0.0, -nearest as f32];
        camera
    }

    /// Near plane distance; 0 if there is no near plane.
    pub(crate) fn nearest(&self) -> f64 {
        self.nearest
    }

    /// Converts depth to forward distance.
    pub(crate) fn distance(&self, depth: f32) -> f32 {
        self.projection.depth[1] / (self.projection.depth[0] - depth)
    }

    /// Converts forward distance to depth.
    pub(crate) fn depth(&self, distance: f32) -> f32 {
        self.projection.depth[0] - self.projection.depth[1] / distance
    }

    /// Camera-space coordinates of a position: right, up, forward.
    pub(crate) fn seen(&self, position: [f32; 3]) -> [f64; 3] {
        self.seen_wide(wide(position))
    }

    /// [`Camera::seen`] in double precision.
    pub(crate) fn seen_wide(&self, position: Vector) -> [f64; 3] {
        let offset = subtract(position, self.eye);
        let [right, up, toward] = self.rows.map(|row| dot(row, offset));
        [right, up, -toward]
    }

    /// Camera-space extent of a box: `[min, max]` along the right, up and forward axes.
    pub(crate) fn seen_box(&self, bounds: &Bounds) -> [[f64; 2]; 3] {
        // Halved first, because sums of large coordinates overflow.
        let [min, max] = [bounds.min, bounds.max].map(|corner| corner.map(|value| 0.5 * value));
        let middle = std::array::from_fn(|axis| min[axis] + max[axis]);
        let half: [f64; 3] = std::array::from_fn(|axis| f64::from(max[axis] - min[axis]));
        let seen = self.seen(middle);
        std::array::from_fn(|axis| {
            let reach: f64 = (0..3).map(|at| self.rows[axis][at].abs() * half[at]).sum();
            [seen[axis] - reach, seen[axis] + reach]
        })
    }

    /// Distance to the center of the bounds; 0 for a scene's camera.
    pub(crate) fn middle_distance(&self) -> f64 {
        f64::from(self.projection.distance)
    }

    /// Pixels per unit at distance 1.
    pub(crate) fn focal(&self) -> f64 {
        self.focal
    }

    /// Pixel coordinates of a camera-space offset at distance 1.
    pub(crate) fn pixel(&self, [right, up]: [f64; 2]) -> [f32; 2] {
        [(self.center[0] + right * self.focal) as f32, (self.center[1] - up * self.focal) as f32]
    }

    /// Offset of a pixel position from the picture's center at distance 1; y points down.
    pub(crate) fn offset(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let Projection { focal, center, .. } = &self.projection;
        [(x - center[0]) / focal, (y - center[1]) / focal]
    }

    /// Half the visible extent at distance 1: right and up.
    pub(crate) fn reach(&self) -> [f64; 2] {
        self.center.map(|center| center / self.focal)
    }

    /// Projects a position to pixel coordinates (origin at the upper left) and depth from 0 (near) to 1 (far).
    /// Positions outside the camera's depth range get a depth outside of 0 to 1, or NaN.
    #[inline]
    pub(crate) fn project(&self, position: [f32; 3]) -> [f32; 3] {
        let Projection { middle, rows, distance, focal, center, depth } = &self.projection;
        let offset = [position[0] - middle[0], position[1] - middle[1], position[2] - middle[2]];
        let dot = |row: &[f32; 3]| row[0] * offset[0] + row[1] * offset[1] + row[2] * offset[2];
        let nearness = 1.0 / (distance - dot(&rows[2]));
        let scale = focal * nearness;
        [center[0] + dot(&rows[0]) * scale, center[1] - dot(&rows[1]) * scale, depth[0] - depth[1] * nearness]
    }

    /// Position of the camera in scene space.
    pub(crate) fn eye(&self) -> Vector {
        self.eye
    }

    /// Ray direction through a pixel position, scaled to advance 1 unit forward.
    pub(crate) fn ray(&self, [x, y]: [f64; 2]) -> Vector {
        let right = (x - self.center[0]) / self.focal;
        let up = (self.center[1] - y) / self.focal;
        let sideways = add(scale(self.rows[0], right), scale(self.rows[1], up));
        subtract(sideways, self.rows[2])
    }

    /// The camera's axes in scene space: right, up, toward the camera.
    pub(crate) fn rows(&self) -> [Vector; 3] {
        self.rows
    }
}

/// Whether the axes are parallel, which leaves the right direction undefined.
pub(crate) fn are_parallel(axes: Axes) -> bool {
    cross(axes.forward.direction(), axes.up.direction()) == [0.0; 3]
}

/// The camera's right, up and toward axes for a view.
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

    /// Pixel position of a projected point, right and up from the picture's center.
    fn seen(camera: &Camera, position: [f32; 3]) -> [f32; 2] {
        let [x, y, _] = camera.project(position);
        [x - 200.0, 150.0 - y]
    }

    #[test]
    fn views_have_the_right_sides() {
        // For OBJ axes x is right and y is up in the front view; for Blender axes z is up.
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

    #[test]
    fn large_coordinates_do_not_overflow() {
        let bounds = Bounds { min: [2e38; 3], max: [2.1e38; 3] };
        let camera = Camera::framing(bounds, View::Iso, Axes::OBJ, [400, 300]);
        let place = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        for bounds in [bounds, crate::scene::moved_box(&place, bounds)] {
            let [right, up, forward] = camera.seen_box(&bounds);
            assert!([right, up].iter().all(|[from, to]| *from < 0.0 && *to > 0.0), "{right:?} {up:?}");
            assert!(forward[0] > 0.0 && forward[1].is_finite(), "{forward:?}");
        }
    }
}
