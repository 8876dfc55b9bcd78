//! Converts transforms of nodes and instances, and decomposes matrices.

use polyhaul_geometry::linear::{Matrix3, Matrix4, cross, dot, rotation};

/// Identity quaternion.
pub(crate) const UNROTATED: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

/// Maximum deviation of the angles between columns from right angles, as a sine.
const SQUARE: f64 = 1e-5;

/// Transform of an instance: scale, then rotation, then translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InstanceTransform {
    pub(crate) translation: [f32; 3],
    /// Unit quaternion: x, y, z, w.
    pub(crate) rotation: [f32; 4],
    /// All negative if the matrix mirrors. If the matrix is diagonal, the signs are the same as on the diagonal.
    pub(crate) scale: [f32; 3],
}

/// Returns whether a matrix can be decomposed into translation, rotation and scale, which glTF requires of nodes.
pub(crate) fn is_decomposable(matrix: &Matrix4<f32>) -> bool {
    let columns = columns(matrix);
    let lengths = columns.map(|column| dot(column, column).sqrt());
    let is_square = |a: usize, b: usize| dot(columns[a], columns[b]).abs() <= SQUARE * lengths[a] * lengths[b];
    let is_finite = matrix.as_flattened().iter().all(|entry| entry.is_finite());
    // A column of length 0 has no direction, so the rotation would be undefined.
    is_finite && lengths.iter().all(|&length| length > 1e-12) && is_square(0, 1) && is_square(0, 2) && is_square(1, 2)
}

impl InstanceTransform {
    /// Decomposes a matrix. Returns `None` if that is impossible.
    pub(crate) fn from_matrix(matrix: &Matrix4<f32>) -> Option<InstanceTransform> {
        if !is_decomposable(matrix) {
            return None;
        }
        let translation = [0, 1, 2].map(|row| matrix[row][3]);
        let columns = columns(matrix);
        let is_diagonal = (0..3).all(|row| (0..3).all(|column| row == column || matrix[row][column] == 0.0));
        if is_diagonal {
            // Exact, and each axis keeps its sign.
            let scale = [0, 1, 2].map(|axis| matrix[axis][axis]);
            return Some(InstanceTransform { translation, rotation: UNROTATED, scale });
        }
        let mut lengths = columns.map(|column| dot(column, column).sqrt());
        // Negating all axes turns a mirrored matrix into a rotation.
        if dot(cross(columns[0], columns[1]), columns[2]) < 0.0 {
            lengths = lengths.map(|length| -length);
        }
        let turned = [0, 1, 2].map(|column| columns[column].map(|entry| entry / lengths[column]));
        let scale = lengths.map(|length| length as f32);
        // A length can exceed the range of `f32` even if all entries are within it.
        scale.iter().all(|entry| entry.is_finite()).then(|| InstanceTransform {
            translation,
            rotation: quaternion(turned),
            scale,
        })
    }

    /// Returns the maximum deviation of the composed matrix from the original, relative to the length of its columns.
    pub(crate) fn error(&self, matrix: &Matrix4<f32>) -> f64 {
        let exact = columns(matrix);
        let composed = self.columns();
        let error = |column: usize, row: usize| {
            let entry = f64::from(composed[column][row] as f32);
            (entry - exact[column][row]).abs() / dot(exact[column], exact[column]).sqrt()
        };
        (0..9).map(|entry| error(entry / 3, entry % 3)).fold(0.0, f64::max)
    }

    /// Composes the columns of the matrix, without translation.
    fn columns(&self) -> Matrix3 {
        let rows = rotation(self.rotation.map(f64::from));
        [0, 1, 2].map(|column| rows.map(|row| row[column] * f64::from(self.scale[column])))
    }
}

/// Converts a rotation, given by its columns, to a quaternion. Starts with the largest component, which is at least
/// 1/2, so that no component loses precision to cancellation.
fn quaternion([x, y, z]: Matrix3) -> [f32; 4] {
    let trace = [x[0] - y[1] - z[2], y[1] - x[0] - z[2], z[2] - x[0] - y[1], x[0] + y[1] + z[2]];
    let largest = (0..4).fold(0, |best, entry| if trace[entry] > trace[best] { entry } else { best });
    let diagonal = 1.0 + trace[largest];
    let parts = match largest {
        0 => [diagonal, x[1] + y[0], x[2] + z[0], y[2] - z[1]],
        1 => [x[1] + y[0], diagonal, y[2] + z[1], z[0] - x[2]],
        2 => [x[2] + z[0], y[2] + z[1], diagonal, x[1] - y[0]],
        _ => [y[2] - z[1], z[0] - x[2], x[1] - y[0], diagonal],
    };
    let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
    parts.map(|part| (part / length) as f32)
}

/// Converts to the `f64` with the same shortest decimal form, so that the JSON has these digits.
pub(crate) fn shortest_double(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

/// Converts a matrix to column-major order, as in glTF.
pub(crate) fn column_major(matrix: Matrix4<f32>) -> [f32; 16] {
    std::array::from_fn(|entry| matrix[entry % 4][entry / 4])
}

fn columns(matrix: &Matrix4<f32>) -> Matrix3 {
    [0, 1, 2].map(|column| [0, 1, 2].map(|row| f64::from(matrix[row][column])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_geometry::linear::IDENTITY32;

    fn turned(axis: [f64; 3], angle: f64, scale: [f64; 3]) -> Matrix4<f32> {
        let [x, y, z] = axis;
        let (sin, cos) = angle.sin_cos();
        let rows = [
            [cos + x * x * (1.0 - cos), x * y * (1.0 - cos) - z * sin, x * z * (1.0 - cos) + y * sin, 5.0],
            [y * x * (1.0 - cos) + z * sin, cos + y * y * (1.0 - cos), y * z * (1.0 - cos) - x * sin, 6.0],
            [z * x * (1.0 - cos) - y * sin, z * y * (1.0 - cos) + x * sin, cos + z * z * (1.0 - cos), 7.0],
        ];
        let row = |row: usize| {
            let [a, b, c, d] = rows[row];
            [a * scale[0], b * scale[1], c * scale[2], d].map(|entry| entry as f32)
        };
        [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
    }

    #[test]
    fn matrices_are_composed_again() {
        let third = (1.0_f64 / 3.0).sqrt();
        for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [third; 3], [0.6, 0.0, -0.8]] {
            for step in 0..16 {
                for scale in [[1.0; 3], [2.0, 3.0, 4.0], [-1.0, 1.0, 1.0], [1e-3, -2e3, 5.0], [-1.0; 3]] {
                    let matrix = turned(axis, f64::from(step) * 0.41, scale);
                    let transform = InstanceTransform::from_matrix(&matrix).unwrap();
                    assert!(transform.error(&matrix) < 1e-6, "{matrix:?} {transform:?}");
                    assert_eq!(transform.translation, [5.0, 6.0, 7.0]);
                    let length: f32 = transform.rotation.iter().map(|part| part * part).sum();
                    assert!((length - 1.0).abs() < 1e-6);
                }
            }
        }
        let mirror = turned([0.0, 0.0, 1.0], 0.0, [2.0, 1.0, -3.0]);
        let transform = InstanceTransform::from_matrix(&mirror).unwrap();
        assert_eq!((transform.rotation, transform.scale), (UNROTATED, [2.0, 1.0, -3.0]));
    }

    #[test]
    fn other_matrices_cannot_be_decomposed() {
        let mut sheared = IDENTITY32;
        sheared[0][1] = 0.1;
        let mut flat = IDENTITY32;
        flat[2][2] = 0.0;
        let mut infinite = IDENTITY32;
        infinite[0][3] = f32::INFINITY;
        let mut huge = turned([0.0, 0.0, 1.0], 0.5, [1.0; 3]);
        huge.as_flattened_mut().iter_mut().for_each(|entry| *entry *= 3.4e38);
        for matrix in [sheared, flat, infinite, huge] {
            assert_eq!(InstanceTransform::from_matrix(&matrix), None, "{matrix:?}");
        }
        // Matrices in files often have six digits.
        let mut rough = turned([0.0, 0.0, 1.0], 0.5, [1.0; 3]);
        rough[0][0] += 9e-6;
        assert!(InstanceTransform::from_matrix(&rough).unwrap().error(&rough) > 1e-6);
    }
}
