//! Quantizes values for `KHR_mesh_quantization`.
//!
//! Source: <https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Khronos/KHR_mesh_quantization>.

use polyhaul_geometry::linear::{IDENTITY32, Matrix4};
use polyhaul_model::Bounds;

/// Name of the extension.
pub(crate) const NAME: &str = "KHR_mesh_quantization";

/// The codes of 1.0 with 16 and with 8 signed bits.
const STEPS: f64 = 32767.0;
const BYTE_STEPS: f32 = 127.0;
/// Minimum scale of a lattice. It keeps transforms invertible.
const MIN_SCALE: f32 = 1e-9;

/// A 16-bit lattice around the positions of a section: position = center + scale * code / 32767.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lattice {
    center: [f32; 3],
    /// The same for all axes, so that normals keep their direction.
    scale: f32,
}

impl Lattice {
    /// Returns the finest lattice for positions in a box.
    pub(crate) fn around(bounds: Bounds) -> Lattice {
        let Bounds { min, max } = bounds;
        let center = [0, 1, 2].map(|axis| ((f64::from(min[axis]) + f64::from(max[axis])) / 2.0) as f32);
        // Measured from the rounded center, because codes are relative to it.
        let half = |axis: usize| {
            let center = f64::from(center[axis]);
            (f64::from(max[axis]) - center).max(center - f64::from(min[axis]))
        };
        let half_side = half(0).max(half(1)).max(half(2));
        // Rounded up, so that the codes of all positions are in range.
        let rounded = half_side as f32;
        let scale = if f64::from(rounded) < half_side { rounded.next_up() } else { rounded };
        Lattice { center, scale: scale.max(MIN_SCALE) }
    }

    /// Quantizes a position.
    #[inline]
    pub(crate) fn code(&self, position: [f32; 3]) -> [i16; 3] {
        let factor = STEPS / f64::from(self.scale);
        [0, 1, 2].map(|axis| ((f64::from(position[axis]) - f64::from(self.center[axis])) * factor).round() as i16)
    }

    /// Returns the maximum change of a coordinate due to quantization.
    pub(crate) fn error(&self) -> f64 {
        f64::from(self.scale) / STEPS / 2.0
    }

    /// Returns the transform to apply to codes, given the transform for positions.
    pub(crate) fn placed(&self, matrix: Option<Matrix4<f32>>) -> Matrix4<f32> {
        let matrix = matrix.unwrap_or(IDENTITY32);
        let row = |row: usize| self.row(matrix[row]).map(|entry| entry as f32);
        [row(0), row(1), row(2), IDENTITY32[3]]
    }

    /// Returns a row of the transform for codes. It has 64 bits, so that each entry is rounded to single precision only
    /// once.
    fn row(&self, row: [f32; 4]) -> [f64; 4] {
        let [a, b, c, shift] = row.map(f64::from);
        let [x, y, z] = self.center.map(f64::from);
        let scale = f64::from(self.scale);
        [a * scale, b * scale, c * scale, a * x + b * y + c * z + shift]
    }

    /// Returns the maximum change of a coordinate because the transform for codes is rounded. A large translation, for
    /// instance, has no room for a small center.
    pub(crate) fn transform_error(&self, matrix: Option<Matrix4<f32>>) -> f64 {
        let matrix = matrix.unwrap_or(IDENTITY32);
        // Codes are at most 1, so the changes of all entries of a row add up.
        let change =
            |row: [f32; 4]| self.row(row).into_iter().map(|entry| (f64::from(entry as f32) - entry).abs()).sum::<f64>();
        let largest = matrix[..3].iter().map(|row| change(*row)).fold(0.0, f64::max);
        let square = |column: usize| matrix[..3].iter().map(|row| f64::from(row[column]).powi(2)).sum::<f64>();
        // The transform scales coordinates by at least this, except those that it drops.
        let squares = [0, 1, 2].map(square).into_iter().filter(|&square| square > 0.0);
        let smallest = squares.fold(f64::INFINITY, f64::min).sqrt();
        largest / smallest
    }
}

/// Quantizes a unit vector. The fourth byte is padding.
#[inline]
pub(crate) fn normal_code([x, y, z]: [f32; 3]) -> [i8; 4] {
    let code = |part: f32| (part * BYTE_STEPS).round() as i8;
    [code(x), code(y), code(z), 0]
}

/// Quantizes a value from 0 to 1.
#[inline]
pub(crate) fn unit_code(value: f32) -> u16 {
    (f64::from(value) * 65535.0).round() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_near_their_codes() {
        let points = [[1e6, -3.0, 0.25], [1e6 + 7.0, 5.5, 0.25], [1e6 + 1.5, 0.1, 0.25]];
        let min = [1e6, -3.0, 0.25];
        let max = [1e6 + 7.0, 5.5, 0.25];
        let lattice = Lattice::around(Bounds { min, max });
        let matrix = lattice.placed(None);
        for point in points {
            let code = lattice.code(point);
            for axis in 0..3 {
                let value = f64::from(matrix[axis][axis]) * f64::from(code[axis]) / STEPS + f64::from(matrix[axis][3]);
                assert!((value - f64::from(point[axis])).abs() <= lattice.error() * 1.001, "{point:?} {code:?}");
            }
        }
        assert!((lattice.error() - 4.25 / 65534.0).abs() < 1e-8);
        assert_eq!(lattice.code(min)[1..], [-32767, 0]);
        assert_eq!(lattice.code(max)[1..], [32767, 0]);
    }

    #[test]
    fn boxes_without_size_and_with_all_sizes_have_codes() {
        let same = Lattice::around(Bounds { min: [3.0; 3], max: [3.0; 3] });
        assert_eq!((same.code([3.0; 3]), same.placed(None)[1]), ([0; 3], [0.0, MIN_SCALE, 0.0, 3.0]));
        let widest = Lattice::around(Bounds { min: [f32::MIN; 3], max: [f32::MAX; 3] });
        assert_eq!((widest.code([f32::MIN; 3]), widest.code([f32::MAX; 3])), ([-32767; 3], [32767; 3]));
        let turned = [[0.0, -2.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], IDENTITY32[3]];
        let lattice = Lattice::around(Bounds { min: [0.0; 3], max: [8.0, 2.0, 2.0] });
        assert_eq!(lattice.placed(Some(turned))[..2], [[0.0, -8.0, 0.0, -1.0], [8.0, 0.0, 0.0, 8.0]]);
    }

    #[test]
    fn rounded_transforms_change_positions() {
        let lattice = Lattice::around(Bounds { min: [0.0; 3], max: [0.6, 0.0, 0.0] });
        assert_eq!(lattice.transform_error(None), 0.0);
        let far = [[2.0, 0.0, 0.0, 2e6], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], IDENTITY32[3]];
        let shift = f64::from(lattice.placed(Some(far))[0][3]) - 2e6 - 2.0 * f64::from(lattice.center[0]);
        assert!((lattice.transform_error(Some(far)) - shift.abs() / 2.0).abs() < 1e-9);
        assert!(shift.abs() > 1000.0 * lattice.error());
        // A scale of zero.
        let flat = [far[0], far[1], [0.0; 4], far[3]];
        assert_eq!(lattice.transform_error(Some(flat)), lattice.transform_error(Some(far)));
    }

    #[test]
    fn small_values_have_codes() {
        assert_eq!(normal_code([0.0, -1.0, 0.6]), [0, -127, 76, 0]);
        assert_eq!([0.0, 1.0, 0.5].map(unit_code), [0, 65535, 32768]);
    }
}
