//! Transforms of nodes and instances: matrices, and what they are composed of.

/// Rows.
pub(crate) type Matrix = [[f32; 4]; 4];

/// The matrix that changes nothing.
pub(crate) const IDENTITY: Matrix =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// The rotation that changes nothing.
pub(crate) const UNROTATED: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

/// How far columns may be from right angles: by the sine of the angle.
const SQUARE: f64 = 1e-5;

/// A place of an instance: it is scaled first, then rotated, then translated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InstancePlace {
    pub(crate) translation: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub(crate) rotation: [f32; 4],
    /// With negative entries if the matrix mirrors.
    pub(crate) scale: [f32; 3],
}

/// Whether a matrix is a translation, a rotation and a scale, which is all that nodes may have.
pub(crate) fn is_decomposable(matrix: &Matrix) -> bool {
    let columns = columns(matrix);
    let lengths = columns.map(|own| dot(own, own).sqrt());
    let is_square = |a: usize, b: usize| dot(columns[a], columns[b]).abs() <= SQUARE * lengths[a] * lengths[b];
    let is_finite = matrix.as_flattened().iter().all(|entry| entry.is_finite());
    is_finite && lengths.iter().all(|&length| length > 1e-12) && is_square(0, 1) && is_square(0, 2) && is_square(1, 2)
}

impl InstancePlace {
    /// The parts of a matrix; `None` if there are none.
    pub(crate) fn from_matrix(matrix: &Matrix) -> Option<InstancePlace> {
        if !is_decomposable(matrix) {
            return None;
        }
        let translation = [0, 1, 2].map(|row| matrix[row][3]);
        let own = columns(matrix);
        let is_diagonal = (0..3).all(|row| (0..3).all(|column| row == column || matrix[row][column] == 0.0));
        if is_diagonal {
            let scale = [0, 1, 2].map(|axis| matrix[axis][axis]);
            return Some(InstancePlace { translation, rotation: UNROTATED, scale });
        }
        let mut lengths = own.map(|column| dot(column, column).sqrt());
        if dot(cross(own[0], own[1]), own[2]) < 0.0 {
            lengths = lengths.map(|length| -length);
        }
        let turned = [0, 1, 2].map(|column| own[column].map(|entry| entry / lengths[column]));
        let scale = lengths.map(|length| length as f32);
        scale.iter().all(|entry| entry.is_finite()).then(|| InstancePlace {
            translation,
            rotation: quaternion(turned),
            scale,
        })
    }

    /// How much the matrix of the parts differs from the original, in lengths of its columns.
    pub(crate) fn error(&self, matrix: &Matrix) -> f64 {
        let (wanted, own) = (columns(matrix), self.columns());
        let error = |column: usize, row: usize| {
            let entry = f64::from(own[column][row] as f32);
            (entry - wanted[column][row]).abs() / dot(wanted[column], wanted[column]).sqrt()
        };
        (0..9).map(|entry| error(entry / 3, entry % 3)).fold(0.0, f64::max)
    }

    /// The columns of the matrix without its translation.
    fn columns(&self) -> [[f64; 3]; 3] {
        let [x, y, z, w] = self.rotation.map(f64::from);
        let turned = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
            [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
            [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        [0, 1, 2].map(|column| turned[column].map(|entry| entry * f64::from(self.scale[column])))
    }
}

/// The quaternion of a rotation by its columns: by way of its largest entry, which is never near zero.
fn quaternion([x, y, z]: [[f64; 3]; 3]) -> [f32; 4] {
    let trace = [x[0] - y[1] - z[2], y[1] - x[0] - z[2], z[2] - x[0] - y[1], x[0] + y[1] + z[2]];
    let largest = (0..4).fold(0, |best, entry| if trace[entry] > trace[best] { entry } else { best });
    let own = 1.0 + trace[largest];
    let parts = match largest {
        0 => [own, x[1] + y[0], x[2] + z[0], y[2] - z[1]],
        1 => [x[1] + y[0], own, y[2] + z[1], z[0] - x[2]],
        2 => [x[2] + z[0], y[2] + z[1], own, x[1] - y[0]],
        _ => [y[2] - z[1], z[0] - x[2], x[1] - y[0], own],
    };
    let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
    parts.map(|part| (part / length) as f32)
}

/// A matrix as glTF stores it.
pub(crate) fn column_major(matrix: Matrix) -> [f32; 16] {
    std::array::from_fn(|entry| matrix[entry % 4][entry / 4])
}

fn columns(matrix: &Matrix) -> [[f64; 3]; 3] {
    [0, 1, 2].map(|column| [0, 1, 2].map(|row| f64::from(matrix[row][column])))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(axis: [f64; 3], angle: f64, scale: [f64; 3]) -> Matrix {
        let ([x, y, z], (sin, cos)) = (axis, angle.sin_cos());
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
                    let place = InstancePlace::from_matrix(&matrix).unwrap();
                    assert!(place.error(&matrix) < 1e-6, "{matrix:?} {place:?}");
                    assert_eq!(place.translation, [5.0, 6.0, 7.0]);
                    let length: f32 = place.rotation.iter().map(|part| part * part).sum();
                    assert!((length - 1.0).abs() < 1e-6);
                }
            }
        }
        let mirror = turned([0.0, 0.0, 1.0], 0.0, [2.0, 1.0, -3.0]);
        let place = InstancePlace::from_matrix(&mirror).unwrap();
        assert_eq!((place.rotation, place.scale), (UNROTATED, [2.0, 1.0, -3.0]));
    }

    #[test]
    fn odd_matrices_have_no_parts() {
        let mut sheared = IDENTITY;
        sheared[0][1] = 0.1;
        let mut flat = IDENTITY;
        flat[2][2] = 0.0;
        let mut infinite = IDENTITY;
        infinite[0][3] = f32::INFINITY;
        let mut huge = turned([0.0, 0.0, 1.0], 0.5, [1.0; 3]);
        huge.as_flattened_mut().iter_mut().for_each(|entry| *entry *= 3.4e38);
        for matrix in [sheared, flat, infinite, huge] {
            assert_eq!(InstancePlace::from_matrix(&matrix), None, "{matrix:?}");
        }
        // Written with six digits, as in many files.
        let mut rough = turned([0.0, 0.0, 1.0], 0.5, [1.0; 3]);
        rough[0][0] += 9e-6;
        assert!(InstancePlace::from_matrix(&rough).unwrap().error(&rough) > 1e-6);
    }
}
