//! The sample buffer of a picture: depth and payload of the nearest surface per sample.
//!
//! Any number of threads draw concurrently. A sample is one 64-bit integer, depth above payload, updated by atomic
//! minimum, so the result does not depend on the drawing order. This module rasterizes triangles in pixel space;
//! payloads are opaque to it. See [`crate::batch`] for the previous stage.

use crate::{MAX_SIDE, PreviewOptions};
use polyhaul_model::error::{Error, ErrorKind, Result, planted};
use std::sync::atomic::{AtomicU64, Ordering};

/// Samples per pixel.
pub(crate) const SAMPLES: usize = 4;
/// Sample positions in a pixel, in 256ths: a rotated grid, so that nearly horizontal and vertical edges get five
/// shades. Each sample is on its own row.
pub(crate) const PLACES: [[i64; 2]; SAMPLES] = [[96, 32], [224, 96], [32, 160], [160, 224]];
/// Corners are snapped to this fraction of a pixel, so that the edges of adjacent triangles coincide exactly.
const PIXEL_UNITS: i64 = 1 << PIXEL_BITS;
const PIXEL_BITS: u32 = 8;
/// Distance between sample rows, and the offset of the first row, in pixel units.
const ROW_UNITS: i64 = 1 << ROW_BITS;
const ROW_BITS: u32 = 6;
const FIRST_ROW: i64 = PLACES[0][1];
/// Maximum distance of corners from the origin in pixels; beyond it, the edge products would overflow.
pub(crate) const FARTHEST: f32 = 1e6;
/// Rows of more than this many pixels are narrowed to the covered span, at the cost of three divisions.
const WIDE: i64 = 12;
/// Triangles whose width and height are below this are drawn immediately. A power of two.
const SMALL_PIXELS: i64 = 16;
/// Work units per triangle drawn, and per sample row.
const TRIANGLE_WORK: u64 = 32;
const ROW_WORK: u64 = 16;
/// Value of an empty sample.
const EMPTY: u64 = u64::MAX;
/// Bits of the payload. The other 24 bits hold the depth, with the precision of a float between 0.5 and 1.
pub(crate) const PAYLOAD_BITS: u32 = 40;
const MAX_DEPTH: f32 = ((1 << (64 - PAYLOAD_BITS)) - 1) as f32;

/// A sample buffer.
pub(crate) struct Frame {
    width: usize,
    height: usize,
    /// Whether depths come from [`crate::camera::Camera::reversed`].
    is_reversed: bool,
    samples: Vec<AtomicU64>,
}

/// A corner in pixels, with depth.
pub(crate) type PixelCorner = [f32; 3];

/// A rectangle of pixels: inclusive minimum, exclusive maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelWindow {
    pub(crate) min: [i64; 2],
    pub(crate) max: [i64; 2],
}

impl PixelWindow {
    /// Number of samples.
    pub(crate) fn samples(&self) -> u64 {
        ((self.max[0] - self.min[0]) * (self.max[1] - self.min[1])) as u64 * SAMPLES as u64
    }
}

/// The nearest surface at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) depth: f32,
    pub(crate) payload: u64,
}

impl Frame {
    /// Allocates an empty frame of the size in the options.
    ///
    /// # Errors
    /// As for [`crate::preview`].
    pub(crate) fn from_options(options: &PreviewOptions) -> Result<Frame> {
        Frame::check_size(options.size)?;
        Frame::new(options.size[0], options.size[1])
    }

    /// Checks the width and height of a picture.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a width or height of 0 or above [`MAX_SIDE`].
    pub(crate) fn check_size([width, height]: [usize; 2]) -> Result<()> {
        if ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side)) {
            let sizes = format!("{width} x {height} pixels; expected 1 to {MAX_SIDE} on each side");
            return Err(Error::new(ErrorKind::Usage, format!("invalid picture size: {sizes}")));
        }
        Ok(())
    }

    /// Allocates an empty frame.
    ///
    /// # Errors
    /// If out of memory.
    pub(crate) fn new(width: usize, height: usize) -> Result<Frame> {
        let count = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(SAMPLES));
        let mut samples = Vec::new();
        let reserved = count.map(|count| samples.try_reserve_exact(count).map(|()| count));
        let count = reserved.and_then(|reserved| reserved.ok()).ok_or_else(|| Error::memory("a picture"))?;
        samples.resize_with(count, || AtomicU64::new(EMPTY));
        Ok(Frame { width, height, is_reversed: false, samples })
    }

    /// Allocates an empty frame for reversed depths. They are stored as 32-bit floats, which leaves 32 bits for
    /// payloads.
    ///
    /// # Errors
    /// As for [`Frame::new`].
    pub(crate) fn reversed([width, height]: [usize; 2]) -> Result<Frame> {
        Ok(Frame { is_reversed: true, ..Frame::new(width, height)? })
    }

    /// The depth bits of a sample, shifted above the payload.
    #[inline(always)]
    fn above(&self, depth: f32) -> u64 {
        // Nonnegative floats are ordered like their bits. These are inverted, because the minimum is kept, and reversed
        // depths are larger when nearer.
        if self.is_reversed { u64::from(!depth.to_bits()) << 32 } else { ((depth * MAX_DEPTH) as u64) << PAYLOAD_BITS }
    }

    /// Width and height in pixels.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// Index of a sample in the buffer.
    pub(crate) fn index(&self, x: usize, y: usize, sample: usize) -> usize {
        (y * self.width + x) * SAMPLES + sample
    }

    /// Empties all samples.
    pub(crate) fn clear(&self) {
        self.samples.iter().for_each(|sample| sample.store(EMPTY, Ordering::Relaxed));
    }

    /// Overwrites a sample.
    pub(crate) fn set(&self, index: usize, hit: Option<Hit>) {
        let value = hit.map_or(EMPTY, |Hit { depth, payload }| self.above(depth.clamp(0.0, 1.0)) | payload);
        self.samples[index].store(value, Ordering::Relaxed);
    }

    /// The nearest hits at the samples of a pixel.
    pub(crate) fn hits(&self, x: usize, y: usize) -> [Option<Hit>; SAMPLES] {
        let first = (y * self.width + x) * SAMPLES;
        std::array::from_fn(|sample| self.hit(first + sample))
    }

    /// The nearest hit at a sample.
    pub(crate) fn hit(&self, index: usize) -> Option<Hit> {
        let value = self.samples[index].load(Ordering::Relaxed);
        let hit = if self.is_reversed {
            Hit { depth: f32::from_bits(!((value >> 32) as u32)), payload: value & u64::from(u32::MAX) }
        } else {
            let depth = (value >> PAYLOAD_BITS) as f32 * (1.0 / MAX_DEPTH);
            Hit { depth, payload: value & ((1 << PAYLOAD_BITS) - 1) }
        };
        (value != EMPTY).then_some(hit)
    }

    /// Draws a triangle, front- or back-facing. Calls `payload` only if the triangle covers a sample.
    #[inline]
    pub(crate) fn triangle(&self, corners: [PixelCorner; 3], payload: impl Fn() -> u64) {
        if let Some(triangle) = Triangle::from_corners(corners) {
            self.fill(&triangle, &self.window(), payload, |_| true);
        }
    }

    /// The whole frame.
    #[inline(always)]
    pub(crate) fn window(&self) -> PixelWindow {
        PixelWindow { min: [0; 2], max: [self.width as i64, self.height as i64] }
    }

    /// Draws the samples of a triangle within a window for which `is_solid` returns true, given the barycentric
    /// weights.
    ///
    /// Tests the samples of the triangle's bounding box; wide rows are narrowed to the covered span first.
    #[inline(always)]
    pub(crate) fn fill(
        &self,
        drawn: &Triangle,
        window: &PixelWindow,
        payload: impl Fn() -> u64,
        is_solid: impl Fn([f32; 3]) -> bool,
    ) {
        let mut payload_bits = None;
        let [[min_x, min_y], [max_x, max_y]] = [drawn.min, drawn.max];
        // Shifts round down for negative coordinates, too, where divisions would round toward 0.
        let last_row = ((max_y - FIRST_ROW) >> ROW_BITS).min(window.max[1] * SAMPLES as i64 - 1);
        let mut row = ((min_y - FIRST_ROW + ROW_UNITS - 1) >> ROW_BITS).max(window.min[1] * SAMPLES as i64);
        while row <= last_row {
            let sample = row as usize % SAMPLES;
            let y = FIRST_ROW + row * ROW_UNITS;
            let place = PLACES[sample][0];
            let first_index = row as usize / SAMPLES * self.width;
            let last = ((max_x - place) >> PIXEL_BITS).min(window.max[0] - 1);
            let mut x = ((min_x - place + PIXEL_UNITS - 1) >> PIXEL_BITS).max(window.min[0]);
            row += 1;
            // Most rows of a thin triangle contain no sample near it.
            if x > last {
                continue;
            }
            let mut weights = drawn.weights([x * PIXEL_UNITS + place, y]);
            let last = if last - x < WIDE { last } else { drawn.narrowed(&mut x, last, &mut weights) };
            while x <= last {
                // A negative weight sets the sign bit of the bitwise OR: three additions and one branch per sample.
                if weights[0] | weights[1] | weights[2] >= 0 {
                    let index = (first_index + x as usize) * SAMPLES + sample;
                    let depth = self.above(drawn.depth(weights));
                    let sample = &self.samples[index];
                    // Most covered samples are hidden, and a load is cheaper than an atomic minimum.
                    let is_last = planted("depth-inverted");
                    // `depth` is compared without a payload: at equal depths, the lower payload can still win.
                    if (is_last || depth <= sample.load(Ordering::Relaxed)) && is_solid(drawn.shares(weights)) {
                        let value = depth | *payload_bits.get_or_insert_with(&payload);
                        if is_last {
                            sample.store(EMPTY, Ordering::Relaxed);
                        }
                        sample.fetch_min(value, Ordering::Relaxed);
                    }
                }
                weights = std::array::from_fn(|side| weights[side] + drawn.steps[side]);
                x += 1;
            }
        }
    }

    /// Lower bound of a triangle's sample values: its nearest corner, minus a margin for rounding.
    pub(crate) fn nearest(&self, corners: &[PixelCorner; 3]) -> u64 {
        const ROUNDING: f32 = 1e-5;
        let depths = corners.map(|[.., depth]| depth);
        // Reversed depths are floats, with relative errors; the other depths are fixed-point numbers, with absolute
        // errors.
        if self.is_reversed {
            self.above(depths.into_iter().fold(0.0, f32::max) * (1.0 + ROUNDING))
        } else {
            self.above((depths.into_iter().fold(1.0, f32::min) - ROUNDING).max(0.0))
        }
    }

    /// The maximum sample value within a window.
    pub(crate) fn farthest(&self, window: &PixelWindow) -> u64 {
        let [left, right] = [window.min[0], window.max[0]].map(|x| x as usize * SAMPLES);
        let rows = (window.min[1] as usize..window.max[1] as usize).map(|y| y * self.width * SAMPLES);
        let samples = rows.flat_map(|first| &self.samples[first + left..first + right]);
        samples.map(|sample| sample.load(Ordering::Relaxed)).fold(0, u64::max)
    }

    /// Draws a square of `size` pixels centered at a corner.
    pub(crate) fn square(&self, [x, y, depth]: PixelCorner, size: f32, payload: u64) {
        let half = 0.5 * size;
        let corner = |dx: f32, dy: f32| [x + dx * half, y + dy * half, depth];
        self.triangle([corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0)], || payload);
        self.triangle([corner(-1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)], || payload);
    }
}

/// A triangle in 256ths of a pixel, oriented so that its area is positive.
pub(crate) struct Triangle {
    /// Bounding box.
    min: [i64; 2],
    max: [i64; 2],
    /// Edge functions: factors of x and y, and the constant, including the bias. Each evaluates to the weight of the
    /// opposite corner.
    sides: [[i64; 3]; 3],
    /// Change of the weights per pixel to the right.
    steps: [i64; 3],
    /// 0 for edges that the triangle owns, otherwise -1, which makes weights on the edge negative.
    biases: [i64; 3],
    /// Depths of the corners.
    depths: [f32; 3],
    /// Twice the area, in square units.
    area: i64,
    /// Whether the last two corners are swapped.
    is_turned: bool,
}

impl Triangle {
    /// Returns `None` for a triangle without area, out of range or with a depth outside of 0 to 1.
    #[inline]
    pub(crate) fn from_corners(corners: [PixelCorner; 3]) -> Option<Triangle> {
        let is_near = |corner: &PixelCorner| corner[0].abs() < FARTHEST && corner[1].abs() < FARTHEST;
        let has_depth = |corner: &PixelCorner| corner[2] >= 0.0 && corner[2] <= 1.0;
        if !corners.iter().all(|corner| is_near(corner) && has_depth(corner)) {
            return None;
        }
        let mut fixed = corners.map(|[x, y, _]| [fixed(x), fixed(y)]);
        let mut depths = corners.map(|[.., depth]| depth);
        let area = edge(fixed[0], fixed[1], fixed[2]);
        if area == 0 {
            return None;
        }
        if area < 0 {
            fixed.swap(1, 2);
            depths.swap(1, 2);
        }
        let [a, b, c] = fixed;
        let opposite = [[b, c], [c, a], [a, b]];
        let biases = opposite.map(|[from, to]| if owns(from, to) || planted("edge-shared") { 0 } else { -1 });
        let sides: [[i64; 3]; 3] = std::array::from_fn(|side| {
            let [from, to] = opposite[side];
            let x = from[1] - to[1];
            let y = to[0] - from[0];
            [x, y, biases[side] - x * from[0] - y * from[1]]
        });
        Some(Triangle {
            min: [a[0].min(b[0]).min(c[0]), a[1].min(b[1]).min(c[1])],
            max: [a[0].max(b[0]).max(c[0]), a[1].max(b[1]).max(c[1])],
            steps: sides.map(|[x, ..]| x * PIXEL_UNITS),
            sides,
            biases,
            depths,
            area: area.abs(),
            is_turned: area < 0,
        })
    }

    /// Whether the triangle is at least [`SMALL_PIXELS`] wide or high.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        (self.max[0] - self.min[0]) | (self.max[1] - self.min[1]) >= SMALL_PIXELS * PIXEL_UNITS
    }

    /// Estimated work units for drawing the triangle within a window, at `sample` units per sample.
    pub(crate) fn work(&self, window: &PixelWindow, sample: u64) -> u64 {
        let pixels = |axis: usize| {
            let from = (self.min[axis] >> PIXEL_BITS).max(window.min[axis]);
            ((self.max[axis] >> PIXEL_BITS) + 1).min(window.max[axis]).saturating_sub(from).max(0) as u64
        };
        // The rows of a slanted, thin triangle are narrowed, so it takes less work than its bounding box.
        let rows = pixels(1) * SAMPLES as u64;
        // `area` is twice the area: shifting by one bit less than a square pixel yields 4 samples per pixel.
        let area = (self.area >> (2 * PIXEL_BITS - 1)) as u64;
        TRIANGLE_WORK + rows * ROW_WORK + (rows * pixels(0)).min(rows + area) * sample
    }

    /// Whether the triangle lies outside of a window, even if its bounding box overlaps the window.
    pub(crate) fn is_beside(&self, window: &PixelWindow) -> bool {
        let [low, high] = [window.min, window.max].map(|corner| corner.map(|pixel| pixel * PIXEL_UNITS));
        let is_apart = (0..2).any(|axis| self.max[axis] < low[axis] || self.min[axis] > high[axis]);
        // A linear function is maximal at a corner of the box.
        let largest = |[by_x, by_y, rest]: [i64; 3]| {
            let x = if by_x > 0 { high[0] } else { low[0] };
            let y = if by_y > 0 { high[1] } else { low[1] };
            by_x * x + by_y * y + rest
        };
        is_apart || self.sides.iter().any(|&side| largest(side) < 0)
    }

    /// Biased weights of a point, which is inside if none is negative. Points on a shared edge belong to exactly one
    /// triangle.
    #[inline]
    fn weights(&self, [x, y]: [i64; 2]) -> [i64; 3] {
        self.sides.map(|[by_x, by_y, rest]| by_x * x + by_y * y + rest)
    }

    /// Advances `x` and `weights` to the first pixel of the row that may be inside. Returns the last such pixel, at
    /// most `last`.
    fn narrowed(&self, x: &mut i64, last: i64, weights: &mut [i64; 3]) -> i64 {
        let mut skipped = 0;
        let mut left = last - *x;
        for (&weight, &step) in weights.iter().zip(&self.steps) {
            match step {
                // Nonnegative starting at this pixel.
                1.. if weight < 0 => skipped = skipped.max((step - 1 - weight) / step),
                // Nonnegative up to this pixel.
                ..0 if weight >= 0 => left = left.min(weight / -step),
                ..=0 if weight < 0 => left = -1,
                _ => {}
            }
        }
        let last = *x + left;
        *x += skipped;
        *weights = std::array::from_fn(|side| weights[side] + skipped * self.steps[side]);
        last
    }

    /// Barycentric weights (sum 1), in the caller's corner order.
    #[inline]
    fn shares(&self, weights: [i64; 3]) -> [f32; 3] {
        let part = 1.0 / self.area as f32;
        let [a, b, c] = std::array::from_fn(|side| (weights[side] - self.biases[side]) as f32 * part);
        if self.is_turned { [a, c, b] } else { [a, b, c] }
    }

    /// Interpolated depth.
    #[inline]
    fn depth(&self, weights: [i64; 3]) -> f32 {
        // Divides here instead of once per triangle: most triangles cover no sample.
        let depth = |side: usize| (weights[side] - self.biases[side]) as f32 * self.depths[side];
        ((depth(0) + depth(1) + depth(2)) / self.area as f32).clamp(0.0, 1.0)
    }
}

/// Converts pixels to the nearest fixed-point unit. (A single conversion; `f32::round` is a function call on targets
/// without a rounding instruction.)
#[inline]
fn fixed(pixels: f32) -> i64 {
    const ABOVE_ALL: i64 = 1 << 32;
    // The sum is positive, because corners are within `FARTHEST`, so truncation rounds down.
    (f64::from(pixels) * PIXEL_UNITS as f64 + (0.5 + ABOVE_ALL as f64)) as i64 - ABOVE_ALL
}

/// Twice the signed area of a triangle: positive if clockwise in the picture, where y points down.
#[inline]
fn edge(a: [i64; 2], b: [i64; 2], c: [i64; 2]) -> i64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Whether points on an edge belong to the triangle on its side. True for exactly one of the two directions.
#[inline]
fn owns(from: [i64; 2], to: [i64; 2]) -> bool {
    from[1] > to[1] || from[1] == to[1] && from[0] < to[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payloads(frame: &Frame) -> Vec<Option<u64>> {
        let [width, height] = frame.size();
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        pixels.flat_map(|(x, y)| frame.hits(x, y).map(|hit| hit.map(|hit| hit.payload))).collect()
    }

    #[test]
    fn neighbors_leave_no_gap_and_share_no_sample() {
        // A fan around corners on and off sample positions: every sample inside is drawn exactly once.
        for center in [[8.0, 8.0], [8.375, 8.125], [7.123, 9.77]] {
            let rim = [[1.0, 1.0], [8.0, 0.5], [15.0, 1.0], [15.5, 8.125], [15.0, 15.0], [8.375, 15.5], [1.0, 15.0]];
            let drawn: Vec<Frame> = (0..rim.len())
                .map(|at| {
                    let frame = Frame::new(16, 16).unwrap();
                    let corner = |[x, y]: [f32; 2]| [x, y, 0.5];
                    frame.triangle([center, rim[at], rim[(at + 1) % rim.len()]].map(corner), || at as u64);
                    frame
                })
                .collect();
            let payloads_of_each: Vec<_> = drawn.iter().map(payloads).collect();
            let owners = |sample: usize| payloads_of_each.iter().filter(|payloads| payloads[sample].is_some()).count();
            let inner = (2..14).flat_map(|y| (2..14).map(move |x| (y * 16 + x) * SAMPLES));
            for sample in inner.flat_map(|first| first..first + SAMPLES) {
                assert_eq!(owners(sample), 1, "{sample} around {center:?}");
            }
            assert!((0..16 * 16 * SAMPLES).all(|sample| owners(sample) <= 1));
        }
    }

    #[test]
    fn the_nearest_remains_whatever_the_order() {
        let triangle = |depth: f32| [[0.0, 0.0, depth], [20.0, 0.0, depth], [0.0, 20.0, depth]];
        let draw = |order: [usize; 3]| {
            let frame = Frame::new(8, 8).unwrap();
            // Two at the same depth: the lower payload wins.
            let triangles = [(0.5, 7), (0.25, 9), (0.25, 8)];
            order.into_iter().for_each(|at| frame.triangle(triangle(triangles[at].0), || triangles[at].1));
            payloads(&frame)
        };
        let first = draw([0, 1, 2]);
        assert!(first.iter().all(|&payload| payload == Some(8)));
        assert!([[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].into_iter().all(|order| draw(order) == first));
    }

    #[test]
    fn depths_are_interpolated_and_what_is_out_of_range_is_left_out() {
        let frame = Frame::new(4, 4).unwrap();
        for odd in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
            frame.triangle([[0.0, 0.0, odd], [4.0, 0.0, 0.5], [0.0, 4.0, 0.5]], || 1);
        }
        frame.triangle([[0.0, 0.0, 0.5], [f32::NAN, 0.0, 0.5], [0.0, 4.0, 0.5]], || 1);
        frame.triangle([[0.0, 0.0, 0.5], [1e9, 0.0, 0.5], [0.0, 4.0, 0.5]], || 1);
        assert!(payloads(&frame).iter().all(Option::is_none));
        frame.triangle([[0.0, 0.0, 0.0], [8.0, 0.0, 1.0], [0.0, 8.0, 0.0]], || 1);
        let hit = frame.hits(2, 0)[0].unwrap();
        assert!((hit.depth - (2.0 + 96.0 / 256.0) / 8.0).abs() < 1e-6, "{}", hit.depth);
    }
}
