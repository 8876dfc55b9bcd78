//! Vectors, matrices and quaternions, for geometry, formats and images.
//!
//! Matrices are row-major and multiply column vectors from the left. Output bytes depend on the order of operations
//! here: sums are added from the first term to the last, and additions are never fused with products. Orders that
//! other programs prescribe are elsewhere: Blender's in [`crate::frame`], pbrt's in its crate.

use std::ops::{Add, Mul, Sub};

/// Three coordinates.
pub type Vector<T = f64> = [T; 3];
/// Three rows.
pub type Matrix3<T = f64> = [[T; 3]; 3];
/// Four rows; the last is 0 0 0 1 for affine transforms.
pub type Matrix4<T = f64> = [[T; 4]; 4];

/// The identity in single precision.
pub const IDENTITY32: Matrix4<f32> =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
/// The identity in double precision.
pub const IDENTITY64: Matrix4 =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// `f32` or `f64`.
pub trait Coordinate: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}

/// Adds vectors.
#[inline]
pub fn add<T: Coordinate, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
    std::array::from_fn(|axis| a[axis] + b[axis])
}

/// Returns `a - b`, the vector from `b` to `a`.
#[inline]
pub fn subtract<T: Coordinate, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

/// Multiplies a vector by a factor.
#[inline]
pub fn scale<T: Coordinate, const N: usize>(vector: [T; N], factor: T) -> [T; N] {
    vector.map(|part| part * factor)
}

/// Returns the inner product.
#[inline]
pub fn dot<T: Coordinate, const N: usize>(a: [T; N], b: [T; N]) -> T {
    // Starts with a product: 0 would lose the sign of -0.
    (1..N).fold(a[0] * b[0], |sum, axis| sum + a[axis] * b[axis])
}

/// Returns the cross product.
#[inline]
pub fn cross<T: Coordinate>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Normalizes a vector with a single division. Returns it unchanged if its length is 0 or NaN.
#[inline]
pub fn unit(vector: Vector) -> Vector {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 { scale(vector, 1.0 / length) } else { vector }
}

/// Converts to double precision.
#[inline]
pub fn wide<const N: usize>(vector: [f32; N]) -> [f64; N] {
    vector.map(f64::from)
}

/// Returns the determinant of a matrix, which is negative if the matrix mirrors.
#[inline]
pub fn determinant([x, y, z]: Matrix3) -> f64 {
    dot(x, cross(y, z))
}

/// Returns the product `a · b`, which applies `b` first.
#[inline]
pub fn multiply(a: &Matrix4, b: &Matrix4) -> Matrix4 {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..4).map(|at| a[row][at] * b[at][column]).sum()))
}

/// Computes the inverse by Gauss-Jordan elimination with partial pivoting. All entries are NaN if a pivot is 0.
pub fn inverse(mut matrix: Matrix4) -> Matrix4 {
    let mut inverse = IDENTITY64;
    for column in 0..4 {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..4).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let divisor = matrix[column][column];
        if divisor == 0.0 {
            return [[f64::NAN; 4]; 4];
        }
        for at in 0..4 {
            matrix[column][at] /= divisor;
            inverse[column][at] /= divisor;
        }
        for row in (0..4).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for at in 0..4 {
                matrix[row][at] -= factor * matrix[column][at];
                inverse[row][at] -= factor * inverse[column][at];
            }
        }
    }
    inverse
}

/// Returns the rotation matrix of a unit quaternion x, y, z, w.
#[inline]
pub fn rotation([x, y, z, w]: [f64; 4]) -> Matrix3 {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_start_with_their_first_term() {
        // A sum that starts with 0 would lose the sign.
        assert!(dot([-0.0_f64, -0.0, 0.0], [1.0, 1.0, -1.0]).is_sign_negative());
        let terms = [1e16, 1.0, -1e16];
        assert_eq!(dot(terms, [1.0; 3]), 0.0);
        assert_eq!(dot(terms, [1.0; 3]), terms.iter().sum::<f64>());
    }

    #[test]
    fn inverses_and_products_give_the_identity() {
        let [x, y, z] = rotation([0.5, -0.5, 0.5, 0.5]);
        let matrix = [
            [2.0 * x[0], x[1], x[2], 3.0],
            [y[0], y[1], 4.0 * y[2], -1.0],
            [z[0], z[1], z[2], 0.5],
            [0.0, 0.0, 0.0, 1.0],
        ];
        assert_eq!(multiply(&matrix, &inverse(matrix)), IDENTITY64);
        assert_eq!(multiply(&IDENTITY64, &matrix), matrix);
        assert!(inverse([[1.0; 4]; 4]).as_flattened().iter().all(|entry| entry.is_nan()));
    }

    #[test]
    fn rotations_keep_lengths_and_sides() {
        let rows = rotation([0.1, -0.3, 0.3, 0.9]);
        assert!((determinant(rows) - 1.0).abs() < 1e-12);
        assert!((dot(rows[0], rows[1])).abs() < 1e-12);
        assert!(subtract(cross(rows[0], rows[1]), rows[2]).iter().all(|part| part.abs() < 1e-12));
        assert_eq!(unit([0.0, 3.0, -4.0]), [0.0, 3.0 * 0.2, -4.0 * 0.2]);
        assert_eq!(unit(add(wide([1.0_f32, 2.0, 3.0]), [-1.0, -2.0, -3.0])), [0.0; 3]);
    }
}
