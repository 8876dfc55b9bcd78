//! Projects triangles in batches and culls triangles that cover no sample.
//!
//! Most triangles of a large mesh are smaller than a pixel and fall between its samples. Loops over arrays, which the
//! compiler vectorizes, find them; the few remaining triangles are drawn individually. The test is conservative, so
//! culling never changes a frame.

use crate::brush::Brush;
use crate::camera::Camera;
use crate::clip;
use crate::frame::{FARTHEST, PLACES, SAMPLES};

/// Triangles per batch: the arrays fit in the L1 cache.
const LANES: usize = 64;
/// Distance of the first sample row from the upper border of the picture, in pixels.
const FIRST_ROW: f32 = PLACES[0][1] as f32 / 256.0;
/// Maximum number of sample rows tested per triangle. Taller triangles are drawn without a test.
const ROWS: usize = 6;
/// Value of `touches` for triangles that must be clipped before projection.
const CROSSES: u32 = 2;
/// Snapping moves a corner by at most half a 256th of a pixel; the doubled margin also covers the rounding of this
/// test.
const MARGIN: f32 = 1.0 / 256.0;

/// One coordinate of all triangles of a batch.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct BatchLanes([f32; LANES]);

/// Indexed by corner, then axis.
type Corners = [[BatchLanes; 3]; 3];

/// A batch of pending triangles, each with its payload or the data to compute it.
pub(crate) struct Batch<P> {
    count: usize,
    /// Scene space.
    scene: Corners,
    /// Pixel space, with depth.
    pixels: Corners,
    touches: [u32; LANES],
    payloads: [P; LANES],
}

impl<P: Copy + Default> Batch<P> {
    /// An empty batch.
    pub(crate) fn new() -> Batch<P> {
        let none = [[BatchLanes([0.0; LANES]); 3]; 3];
        Batch { count: 0, scene: none, pixels: none, touches: [0; LANES], payloads: [P::default(); LANES] }
    }

    /// Whether [`Batch::draw`] must run before the next push.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.count == LANES
    }

    /// Adds a triangle. In a full batch, it overwrites the last triangle.
    #[inline]
    pub(crate) fn push(&mut self, corners: [[f32; 3]; 3], payload: P) {
        let at = self.count.min(LANES - 1);
        for (lanes, corner) in self.scene.iter_mut().zip(corners) {
            for (lanes, value) in lanes.iter_mut().zip(corner) {
                lanes.0[at] = value;
            }
        }
        self.payloads[at] = payload;
        self.count = at + 1;
    }

    /// Draws all triangles and empties the batch. Calls `payload` only for triangles that may cover a sample.
    pub(crate) fn draw(&mut self, camera: &Camera, brush: &mut Brush<'_>, payload: impl Fn(&P, [[f32; 3]; 3]) -> u64) {
        self.project(camera, brush.frame.size());
        for at in 0..self.count {
            if self.touches[at] != 0 {
                let corner = |corners: &Corners, corner: usize| {
                    let [x, y, z] = &corners[corner];
                    [x.0[at], y.0[at], z.0[at]]
                };
                let scene = [0, 1, 2].map(|number| corner(&self.scene, number));
                let payload = || payload(&self.payloads[at], scene);
                if self.touches[at] == CROSSES {
                    clip::triangle(camera, scene, |left| {
                        brush.triangle(left.map(|at| camera.project(at)), payload);
                    });
                } else {
                    brush.triangle([0, 1, 2].map(|number| corner(&self.pixels, number)), payload);
                }
            }
        }
        self.count = 0;
    }

    fn project(&mut self, camera: &Camera, size: [usize; 2]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: `is_x86_feature_detected` above confirmed AVX2.
            return unsafe { project_avx2(&self.scene, &mut self.pixels, &mut self.touches, camera, size) };
        }
        project(&self.scene, &mut self.pixels, &mut self.touches, camera, size);
    }
}

/// [`project`] compiled for AVX2, with twice as many lanes per register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn project_avx2(scene: &Corners, pixels: &mut Corners, touches: &mut [u32; LANES], camera: &Camera, size: [usize; 2]) {
    project(scene, pixels, touches, camera, size);
}

/// Projects all corners and marks the triangles that may cover a sample.
#[inline(always)]
fn project(scene: &Corners, pixels: &mut Corners, touches: &mut [u32; LANES], camera: &Camera, size: [usize; 2]) {
    for (from, to) in scene.iter().zip(&mut *pixels) {
        let [x, y, depth] = to;
        for at in 0..LANES {
            [x.0[at], y.0[at], depth.0[at]] = camera.project([from[0].0[at], from[1].0[at], from[2].0[at]]);
        }
    }
    let [width, height] = size.map(|side| side as f32);
    let mut count = 0;
    // Bitwise operators instead of `&&` and `||`: without branches the loop vectorizes.
    for (at, touches) in touches.iter_mut().enumerate() {
        let [left, right] = range(pixels, 0, at);
        let [above, below] = range(pixels, 1, at);
        let first = row_of(above);
        let last = floor(row_of(below));
        // Only the last two rows are tested. Triangles that reach across three or more rows count as touching.
        let mut touched = last - 2.0 >= first;
        for row in [last, last - 1.0] {
            let place = place_of(row);
            // The last sample of the row that is not beyond `right` decides: if it is left of `left`, no sample is
            // between.
            touched |= (row >= first) & (floor(right - place) + place >= left);
        }
        let inside = (right >= 0.0) & (left <= width) & (below >= 0.0) & (above <= height);
        *touches = u32::from(touched & inside);
        count += *touches;
    }
    if camera.nearest() > 0.0 {
        find_crossing(pixels, touches);
    }
    // For ordinary shapes few triangles remain here; drawing them is faster than a second test.
    if count > LANES as u32 / 4 {
        drop_beside(pixels, touches);
    }
}

/// Marks triangles that have both projectable and unprojectable corners.
#[inline(always)]
fn find_crossing(pixels: &Corners, touches: &mut [u32; LANES]) {
    for (at, touches) in touches.iter_mut().enumerate() {
        let mut before = 0;
        let mut beside = 0;
        for [x, y, depth] in pixels {
            let is_in_front = (depth.0[at] > 0.0) & (depth.0[at] <= 1.0);
            before += u32::from(is_in_front);
            // Negated comparisons, so that NaN counts as beside.
            beside |= u32::from(!((x.0[at].abs() < FARTHEST) & (y.0[at].abs() < FARTHEST)));
        }
        let crosses = (before > 0) & ((before < 3) | (beside != 0));
        *touches = if crosses { CROSSES } else { *touches };
    }
}

/// Drops triangles if every sample of their bounding box lies outside at least one edge. This pays off for long, thin
/// triangles, whose boxes contain many samples.
#[inline(always)]
fn drop_beside(pixels: &Corners, touches: &mut [u32; LANES]) {
    for (at, touches) in touches.iter_mut().enumerate() {
        let [left, right] = range(pixels, 0, at);
        let [above, below] = range(pixels, 1, at);
        let first = row_of(above);
        let last = floor(row_of(below));
        let corner = |number: usize| [pixels[number][0].0[at], pixels[number][1].0[at]];
        let sides = Sides::new(corner(0), corner(1), corner(2));
        // Left to the rasterizer: more rows than are tested below, several samples in a row, or an unclear orientation.
        let mut touched = (last - ROWS as f32 >= first) | (right - left >= 1.0) | sides.is_unclear();
        for number in 0..ROWS {
            let row = last - number as f32;
            // A range narrower than a pixel contains at most one sample of the row.
            let place = place_of(row);
            let x = floor(right - place) + place;
            let y = row * (1.0 / SAMPLES as f32) + FIRST_ROW;
            touched |= (row >= first) & (x >= left) & sides.may_have([x, y]);
        }
        // `CROSSES` stays: some corners of such a triangle cannot be projected, so the test does not apply.
        *touches &= CROSSES | u32::from(touched);
    }
}

/// The (fractional) sample row at a y coordinate, counted from 0.
#[inline(always)]
fn row_of(y: f32) -> f32 {
    y * SAMPLES as f32 - FIRST_ROW * SAMPLES as f32
}

/// The edges of a triangle, relative to its first corner.
struct Sides {
    origin: [f32; 2],
    corners: [[f32; 2]; 2],
    /// 1 or -1: orients the edges so that the inside is positive.
    sign: f32,
    area: f32,
    /// Bound on the change of an edge function by snapping. Corners, and thus points on an edge, move by at most 0.003
    /// pixels. A point on the extension of an edge moves further, by the ratio of its distance to the length of the
    /// edge; an edge function is multiplied by that length, so only the extent of the triangle matters.
    margin: f32,
}

impl Sides {
    #[inline(always)]
    fn new(a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> Sides {
        let corners = [[b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]];
        let [b, c] = corners;
        let area = b[0] * c[1] - b[1] * c[0];
        let margin = (b[0].abs() + b[1].abs() + c[0].abs() + c[1].abs()) * (1.0 / 128.0);
        Sides { origin: a, corners, sign: if area < 0.0 { -1.0 } else { 1.0 }, area, margin }
    }

    /// Whether snapping may flip the orientation.
    #[inline(always)]
    fn is_unclear(&self) -> bool {
        self.area.abs() <= self.margin
    }

    /// Whether a point may be inside.
    #[inline(always)]
    fn may_have(&self, [x, y]: [f32; 2]) -> bool {
        let [b, c] = self.corners;
        let x = x - self.origin[0];
        let y = y - self.origin[1];
        let side = |from: [f32; 2], to: [f32; 2]| {
            ((to[0] - from[0]) * (y - from[1]) - (to[1] - from[1]) * (x - from[0])) * self.sign
        };
        (side([0.0; 2], b) >= -self.margin) & (side(b, c) >= -self.margin) & (side(c, [0.0; 2]) >= -self.margin)
    }
}

/// The x offset of a row's samples within their pixels: [`PLACES`] computed arithmetically, so that loops vectorize.
#[inline(always)]
fn place_of(row: f32) -> f32 {
    let number = (row + ROUNDING).to_bits();
    (96 + 128 * (number & 1)).wrapping_sub(64 * (number >> 1 & 1)) as i32 as f32 * (1.0 / 256.0)
}

/// The extent of a triangle along an axis, widened by [`MARGIN`].
#[inline(always)]
fn range(pixels: &Corners, axis: usize, at: usize) -> [f32; 2] {
    let a = pixels[0][axis].0[at];
    let b = pixels[1][axis].0[at];
    let c = pixels[2][axis].0[at];
    // `f32::min` and `f32::max` need extra instructions for NaN.
    let smaller = |a: f32, b: f32| if a < b { a } else { b };
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    [smaller(smaller(a, b), c) - MARGIN, larger(larger(a, b), c) + MARGIN]
}

/// Adding this to a float below 2^22 rounds it to an integer, stored in the low mantissa bits.
const ROUNDING: f32 = 12_582_912.0;

/// Rounds down a number below 2^22. (`f32::floor` is a function call on targets without a rounding instruction.)
#[inline(always)]
fn floor(value: f32) -> f32 {
    let nearest = (value + ROUNDING) - ROUNDING;
    nearest - if nearest > value { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;

    #[test]
    fn what_is_dropped_touches_no_sample() {
        let camera = Camera::framing(
            polyhaul_model::Bounds { min: [-1.0; 3], max: [1.0; 3] },
            crate::View::Front,
            polyhaul_model::Axes::OBJ,
            [40, 30],
        );
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        // From far smaller than the sample distance to larger than the picture.
        for size in [1e-3, 0.01, 0.03, 0.1, 0.3, 3.0] {
            let [batched, direct] = [0; 2].map(|_| Frame::new(40, 30).unwrap());
            let mut brush = Brush::direct(&batched, u64::MAX);
            let mut batch = Batch::new();
            for number in 0..20_000u64 {
                let center = [1.2 * random(), 1.2 * random(), random()];
                let corners = [0; 3].map(|_| center.map(|value| value + size * random()));
                batch.push(corners, number);
                if batch.is_full() {
                    batch.draw(&camera, &mut brush, |&number, _| number);
                }
                direct.triangle(corners.map(|corner| camera.project(corner)), || number);
            }
            batch.draw(&camera, &mut brush, |&number, _| number);
            let pixels = (0..30).flat_map(|y| (0..40).map(move |x| (x, y)));
            let seen = pixels.clone().filter(|&(x, y)| direct.hits(x, y)[0].is_some()).count();
            assert!(seen > 0, "{size}: {seen}");
            assert!(pixels.clone().all(|(x, y)| batched.hits(x, y) == direct.hits(x, y)), "{size}");
        }
    }

    #[test]
    fn the_places_of_samples_are_those_of_the_frame() {
        for row in 0..2000u32 {
            let [x, _] = PLACES[row as usize % SAMPLES];
            assert_eq!(place_of(row as f32), x as f32 / 256.0);
        }
        let numbers = [-3.5, -3.0, -0.1, 0.0, 0.4, 0.5, 0.6, 1.0, 1.5, 2.5, 1e6];
        assert!(numbers.iter().all(|&number| floor(number) == number.floor()));
    }
}
