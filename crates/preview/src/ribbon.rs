//! Rasterizes lines with a scene-space width so that they match ray casting: the set of points within a radius of the
//! line. Ends are therefore round, and joints have no gaps. See [`crate::packet`] for the rays.

use crate::brush::Brush;
use crate::camera::Camera;
use crate::frame::PixelCorner;

/// Cosines of 1, 2 and 3 sixteenths of a circle. An arc needs one more triangle for each of these angles that it
/// exceeds.
const SIXTEENTHS: [f32; 3] = [0.92388, std::f32::consts::FRAC_1_SQRT_2, 0.382683];

/// A line segment in the picture.
pub(crate) struct Ribbon {
    pub(crate) start: Rim,
    pub(crate) end: Rim,
    /// Whether each end is an end of the segment, not a clipped end.
    pub(crate) has_end: [bool; 2],
    /// Unit direction from start to end.
    pub(crate) direction: [f32; 2],
    /// Length in pixels.
    pub(crate) length: f32,
    pub(crate) payload: u64,
}

impl Ribbon {
    /// Draws the segment and the joint with `before`, if connected. The end cap is left to the next segment or to
    /// [`Ribbon::draw_end`].
    pub(crate) fn draw(&self, before: Option<&Ribbon>, brush: &mut Brush<'_>) {
        let Ribbon { start, end, direction: [x, y], .. } = *self;
        let left = [-y, x];
        let right = [y, -x];
        let [a, c, b, d] = [start.side(left), start.side(right), end.side(left), end.side(right)];
        brush.triangle([a, c, b], || self.payload);
        brush.triangle([b, c, d], || self.payload);
        // A segment shorter than its width does not cover the balls at its ends.
        let is_short = self.length < start.half.max(end.half);
        match before.map(|before| before.direction) {
            Some([u, v]) if u * x + v * y > 0.0 && !is_short => {
                // Only the outer side of the bend leaves a gap.
                let (from, to) = if turn([u, v], [x, y]) > 0.0 { ([v, -u], right) } else { ([-v, u], left) };
                self.fan(&start, from, to, brush);
            }
            Some(direction) => {
                self.round(&start, direction, brush);
                self.round(&start, [-x, -y], brush);
            }
            None if self.has_end[0] => self.round(&start, [-x, -y], brush),
            None => {}
        }
        if is_short && self.has_end[1] {
            self.draw_end(brush);
        }
    }

    /// Draws the cap at the end of a line.
    pub(crate) fn draw_end(&self, brush: &mut Brush<'_>) {
        self.round(&self.end, self.direction, brush);
    }

    /// Draws the half disk that faces a direction.
    fn round(&self, rim: &Rim, [x, y]: [f32; 2], brush: &mut Brush<'_>) {
        self.fan(rim, [-y, x], [x, y], brush);
        self.fan(rim, [x, y], [y, -x], brush);
    }

    /// Draws the sector between two directions at most a right angle apart, as triangles of a 16-gon, which differs
    /// from a circle by 2% of the radius.
    fn fan(&self, rim: &Rim, from: [f32; 2], to: [f32; 2], brush: &mut Brush<'_>) {
        let cosine = from[0] * to[0] + from[1] * to[1];
        let pieces = SIXTEENTHS.iter().filter(|limit| cosine < **limit).count() + 1;
        let mut last = rim.side(from);
        for piece in 1..=pieces {
            let part = piece as f32 / pieces as f32;
            let [x, y]: [f32; 2] = std::array::from_fn(|axis| from[axis] + part * (to[axis] - from[axis]));
            let length = x.hypot(y).max(f32::MIN_POSITIVE);
            let next = if piece == pieces { rim.side(to) } else { rim.at([x / length, y / length]) };
            brush.triangle([rim.center, last, next], || self.payload);
            last = next;
        }
    }
}

/// Cross product: positive or negative, depending on the side of the turn.
fn turn([u, v]: [f32; 2], [x, y]: [f32; 2]) -> f32 {
    u * y - v * x
}

/// The projection of a ball: an ellipse, stretched away from the picture's center.
#[derive(Clone, Copy)]
pub(crate) struct Rim {
    center: PixelCorner,
    /// Semi-minor axis in pixels.
    half: f32,
    /// Offset from the picture's center at distance 1.
    offset: [f32; 2],
    /// (sec θ - 1) / offset², where θ is the angle from the view axis.
    stretch: f32,
}

impl Rim {
    pub(crate) fn new(camera: &Camera, center: PixelCorner, radius: f32) -> Rim {
        let offset = camera.offset([center[0], center[1]]);
        let half = radius * camera.focal() as f32 / camera.distance(center[2]);
        let secant = (1.0 + offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
        Rim { center, half, offset, stretch: 1.0 / (1.0 + secant) }
    }

    /// Maps a direction from the unit circle to the ellipse with semi-minor axis 1.
    fn stretched(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let [u, v] = self.offset;
        let along = self.stretch * (u * x + v * y);
        [x + along * u, y + along * v]
    }

    /// The point on the ellipse that corresponds to a point on the unit circle.
    fn at(&self, place: [f32; 2]) -> PixelCorner {
        let [x, y] = self.stretched(place);
        [self.center[0] + self.half * x, self.center[1] + self.half * y, self.center[2]]
    }

    /// The support point in a direction: where a perpendicular tangent of the ellipse crosses the axis in that
    /// direction.
    fn side(&self, direction: [f32; 2]) -> PixelCorner {
        let [x, y] = self.stretched(direction);
        let half = self.half * x.hypot(y);
        [self.center[0] + half * direction[0], self.center[1] + half * direction[1], self.center[2]]
    }
}
