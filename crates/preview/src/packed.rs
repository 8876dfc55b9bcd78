//! Payloads that contain the surface itself: a 20-bit normal and a 20-bit color.
//!
//! For triangles that are discarded after drawing ([`crate::stream`]).

use crate::camera::Camera;
use crate::color::{encoded, linear, linear_of};
use crate::shade::{DARK_GRAY, GRAY, SeenSurface, Surfaces};
use crate::surface::facing;
use polyhaul_geometry::linear::{Vector, cross, scale, subtract, unit, wide};

/// Bits per octahedral coordinate of a normal: the error is at most a quarter of a degree.
const NORMAL_BITS: u32 = 10;
/// Maximum values of red, green and blue in a payload, and their shifts.
const CHANNELS: [(u32, u32); 3] = [(127, 13), (127, 6), (63, 0)];
const COLOR_BITS: u32 = 20;

/// Marks a missing normal. The normal with this code also has the code 0, which is stored instead.
const NO_NORMAL: u64 = (1 << (2 * NORMAL_BITS)) - 1;

/// Decodes surfaces from payloads.
pub(crate) struct PackedSurfaces<'a> {
    pub(crate) camera: &'a Camera,
}

/// Packs a flat triangle. The color is the mean over the corners; color code 0 means uncolored.
pub(crate) fn packed(corners: [[f32; 3]; 3], colors: &[[u8; 4]; 3]) -> u64 {
    let [a, b, c] = corners.map(wide);
    let [x, y] = flattened(unit(cross(subtract(b, a), subtract(c, a))));
    let normal = u64::from(steps(x) << NORMAL_BITS | steps(y));
    let normal = if normal == NO_NORMAL { 0 } else { normal };
    let color = if colors.iter().all(|color| color[3] == 0) { 0 } else { packed_color(colors) };
    normal << COLOR_BITS | u64::from(color)
}

/// Packs a point, which has no normal. Alpha 0 means uncolored.
pub(crate) fn packed_point(color: [u8; 4]) -> u64 {
    let color = if color[3] == 0 { 0 } else { packed_color(&[color; 3]) };
    NO_NORMAL << COLOR_BITS | u64::from(color)
}

fn packed_color(colors: &[[u8; 4]; 3]) -> u32 {
    let mean = |channel: usize| {
        let sum: f32 = colors.iter().map(|color| linear(color[channel])).sum();
        u32::from(encoded(sum / 3.0))
    };
    let part = |(channel, (max, shift)): (usize, (u32, u32))| ((mean(channel) * max + 127) / 255) << shift;
    // Black becomes the darkest blue, since code 0 means uncolored.
    CHANNELS.into_iter().enumerate().map(part).sum::<u32>().max(1)
}

/// Octahedral encoding of a unit vector (Meyer et al., On Floating-Point Normal Vectors, 2010).
fn flattened([x, y, z]: Vector) -> [f64; 2] {
    let size = (x.abs() + y.abs() + z.abs()).max(f64::MIN_POSITIVE);
    let x = x / size;
    let y = y / size;
    if z >= 0.0 { [x, y] } else { [(1.0 - y.abs()).copysign(x), (1.0 - x.abs()).copysign(y)] }
}

fn unflattened([x, y]: [f64; 2]) -> Vector {
    let z = 1.0 - x.abs() - y.abs();
    let folded = (-z).max(0.0);
    unit([x - folded.copysign(x), y - folded.copysign(y), z])
}

/// Quantizes a coordinate from -1 to 1.
fn steps(value: f64) -> u32 {
    const MOST: f64 = ((1 << NORMAL_BITS) - 1) as f64;
    ((value * 0.5 + 0.5) * MOST + 0.5) as u32
}

fn unsteps(steps: u64) -> f64 {
    const MOST: u64 = (1 << NORMAL_BITS) - 1;
    (steps & MOST) as f64 / MOST as f64 * 2.0 - 1.0
}

impl Surfaces for PackedSurfaces<'_> {
    fn surface(&self, payload: u64, place: [f64; 2]) -> SeenSurface {
        let normal = payload >> COLOR_BITS;
        let is_point = normal == NO_NORMAL;
        let normal = unflattened([unsteps(normal >> NORMAL_BITS), unsteps(normal)]);
        let toward = scale(self.camera.ray(place), -1.0);
        let color = match payload as u32 & ((1 << COLOR_BITS) - 1) {
            0 if is_point => DARK_GRAY,
            0 => GRAY,
            color => CHANNELS.map(|(max, shift)| linear_of((color >> shift & max) as f32 / max as f32)),
        };
        SeenSurface::new(facing(normal, toward).filter(|_| !is_point), color, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_geometry::linear::dot;

    #[test]
    fn normals_are_off_by_a_quarter_of_a_degree_at_most() {
        for step in 0..5000u32 {
            let turn = f64::from(step) * 2.399_963;
            let z = 1.0 - f64::from(step) / 2499.5;
            let ring = (1.0 - z * z).max(0.0).sqrt();
            let normal = [ring * turn.cos(), ring * turn.sin(), z];
            let [x, y] = flattened(normal).map(steps);
            let unpacked = unflattened([unsteps(u64::from(x)), unsteps(u64::from(y))]);
            assert!(dot(unpacked, normal).min(1.0).acos().to_degrees() < 0.25, "{normal:?} {unpacked:?}");
        }
    }

    #[test]
    fn colors_keep_seven_bits_and_none_is_gray() {
        let camera = Camera::framing(
            polyhaul_model::Bounds { min: [-1.0; 3], max: [1.0; 3] },
            crate::View::Front,
            polyhaul_model::Axes::OBJ,
            [10, 10],
        );
        let surfaces = PackedSurfaces { camera: &camera };
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let color = |color: [u8; 4]| surfaces.surface(packed(corners, &[color; 3]), [5.0, 5.0]).color.map(encoded);
        for expected in [[0, 0, 0, 255], [255, 255, 255, 255], [200, 100, 50, 255], [1, 2, 3, 9]] {
            let channels = color(expected);
            let near = channels.iter().zip(expected).all(|(&channel, expected)| channel.abs_diff(expected) <= 4);
            assert!(near, "{expected:?} {channels:?}");
        }
        assert_eq!(color([0; 4]), GRAY.map(encoded));
        let normal = surfaces.surface(packed(corners, &[[0; 4]; 3]), [5.0, 5.0]).normal.unwrap();
        assert!(normal[2] > 0.999_99);
    }
}
