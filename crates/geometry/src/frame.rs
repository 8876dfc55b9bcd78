//! Transforms positions and normals from an object's local space to the space of the file.
//!
//! The order of operations matters for files identical to Blender's: `f32` throughout, no fused multiply-add, and the
//! scale applied to positions in PLY and STL (`Dialect::Blender`), and to the matrix in OBJ, as in the common dialect.
//! In `f64`, one line in twelve of a large scene differs in its last digit. The rules are in
//! `testdata/obj/blender/README.md`.

use crate::dedup::BATCH;
use crate::exact::rounded;
use crate::linear::{IDENTITY32, Matrix3, Matrix4};
use crate::transform::axes_matrix;
use polyhaul_model::error::Result;
use polyhaul_model::options::{Dialect, Placement};
use polyhaul_model::{Axes, Object};

/// A batch of vectors as structure of arrays: all x, all y, all z.
pub type FrameLanes = [[f32; BATCH]; 3];

/// An object's transform, the conversion to the file's axes and the scale, combined.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Rotation and scale; in the common dialect, including the scale of the file.
    rows: Matrix3<f32>,
    shift: [f32; 3],
    /// Factor applied to positions last; 1 if `rows` includes it.
    scale: f32,
    /// Whether normals are multiplied by the reciprocal of their length instead of divided by it.
    has_reciprocals: bool,
    /// Inverse transpose of `rows`, without the scale of the file.
    normal_rows: Matrix3<f32>,
    /// Whether the transform mirrors, so that the winding of faces must be reversed.
    pub is_mirrored: bool,
}

impl Frame {
    /// Creates the frame of `object`, in a scene with these axes.
    pub fn new(object: &Object, axes: Axes, placement: &Placement) -> Result<Frame> {
        let turn = axes_matrix(axes, placement.axes.unwrap_or(axes))?;
        let [x, y, z, _] = object.transform.as_ref().map_or(IDENTITY32, rounded);
        let rows = turn.map(|[a, b, c]| [0, 1, 2].map(|i| (a * x[i] + b * y[i]) + c * z[i]));
        let shift = times(&turn, [x[3], y[3], z[3]]);
        let (normal_rows, determinant) = inverse_transposed(&rows, placement.dialect);
        let is_mirrored = determinant < 0.0;
        let scale = placement.scale as f32;
        if placement.dialect == Dialect::Blender {
            // In PLY and STL, Blender scales positions.
            return Ok(Frame { rows, shift, scale, has_reciprocals: true, normal_rows, is_mirrored });
        }
        // In OBJ, Blender scales the matrix: each entry once.
        let rows = rows.map(|row| row.map(|entry| entry * scale));
        // Zero is added so that, as in Blender, no position becomes -0.
        let shift = shift.map(|entry| entry * scale + 0.0);
        Ok(Frame { rows, shift, scale: 1.0, has_reciprocals: false, normal_rows, is_mirrored })
    }

    /// Transforms a position to the space of the file.
    #[inline]
    pub fn position(&self, position: [f32; 3]) -> [f32; 3] {
        let turned = times(&self.rows, position);
        [0, 1, 2].map(|i| (turned[i] + self.shift[i]) * self.scale)
    }

    /// Transforms a normal to the space of the file, without normalizing it.
    #[inline]
    pub fn direction(&self, normal: [f32; 3]) -> [f32; 3] {
        times(&self.normal_rows, normal)
    }

    /// Returns [`Frame::position`] as a row-major matrix.
    pub fn matrix(&self) -> Matrix4<f32> {
        let row = |row: usize| {
            let [a, b, c] = self.rows[row];
            [a, b, c, self.shift[row]].map(|entry| entry * self.scale)
        };
        [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
    }

    /// Returns whether all entries of the normal matrix are below `limit` in magnitude.
    #[inline]
    pub fn is_within(&self, limit: f32) -> bool {
        self.normal_rows.as_flattened().iter().all(|entry| entry.abs() < limit)
    }

    /// Transforms a batch of normals to the space of the file. The results have unit length or are zero, and are not
    /// yet rounded to the decimals of the file.
    #[inline]
    pub fn normals(&self, normals: &[[f32; 3]; BATCH], lanes: &mut FrameLanes) {
        let [xs, ys, zs] = lanes;
        // Transposed in a separate loop, so that the second loop works on lanes and can be vectorized.
        for item in 0..BATCH {
            [xs[item], ys[item], zs[item]] = normals[item];
        }
        for item in 0..BATCH {
            [xs[item], ys[item], zs[item]] = self.normal([xs[item], ys[item], zs[item]]);
        }
    }

    /// Transforms one normal, as in [`Frame::normals`].
    #[inline]
    pub fn normal(&self, normal: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = times(&self.normal_rows, normal);
        let square = x * x + y * y + z * z;
        let length = square.sqrt();
        let reciprocal = 1.0 / length;
        let divided = |part: f32| if self.has_reciprocals { part * reciprocal } else { part / length };
        // Blender's threshold: `testdata/obj/blender/README.md`, rule about normals.
        let unit = |part: f32| if square > 1e-35 { divided(part) } else { 0.0 };
        [unit(x), unit(y), unit(z)]
    }
}

#[inline]
fn times(rows: &Matrix3<f32>, [x, y, z]: [f32; 3]) -> [f32; 3] {
    rows.map(|[a, b, c]| (x * a + y * b) + z * c)
}

/// Returns the inverse transpose and the determinant, which each dialect expands in its own order: the common dialect
/// along the first column, Blender's dialect along the first row.
fn inverse_transposed(rows: &Matrix3<f32>, dialect: Dialect) -> (Matrix3<f32>, f32) {
    let minor = |i: usize, j: usize| {
        let a = (i + 1) % 3;
        let b = (i + 2) % 3;
        let c = (j + 1) % 3;
        let d = (j + 2) % 3;
        rows[a][c] * rows[b][d] - rows[a][d] * rows[b][c]
    };
    let cofactors = [0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(i, j)));
    let part = |i: usize, j: usize| rows[i][j] * cofactors[i][j];
    let determinant = match dialect {
        Dialect::Common => part(0, 0) + (part(1, 0) + part(2, 0)),
        Dialect::Blender => (part(0, 0) + part(0, 1)) + part(0, 2),
    };
    let factor = 1.0 / determinant;
    (cofactors.map(|row| row.map(|cofactor| cofactor * factor)), determinant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_are_turned_each_for_itself() {
        let transform = [[2.0, 1.0, 0.0, 5.0], [0.0, -1.0, 0.5, 6.0], [1.0, 0.0, 3.0, 7.0], [0.0, 0.0, 0.0, 1.0]];
        let object = Object { transform: Some(transform), ..Object::default() };
        let frame =
            Frame::new(&object, Axes::BLENDER, &Placement { axes: Some(Axes::OBJ), ..Placement::default() }).unwrap();
        let odd = [0.0, -0.0, 1.0, -0.3, 1e-20, 3e30, f32::INFINITY, f32::NAN];
        let normals: [[f32; 3]; BATCH] = std::array::from_fn(|i| [odd[i % 8], odd[i / 8], odd[(i + 3) % 7]]);
        let mut lanes = [[0.0; BATCH]; 3];
        frame.normals(&normals, &mut lanes);
        for (item, normal) in normals.iter().enumerate() {
            let turned = times(&frame.normal_rows, *normal);
            let [x, y, z] = turned;
            let square = x * x + y * y + z * z;
            let expected = if square > 1e-35 { turned.map(|part| part / square.sqrt()) } else { [0.0; 3] };
            let [xs, ys, zs] = &lanes;
            let bits = |part: f32| if part.is_nan() { u32::MAX } else { part.to_bits() };
            assert_eq!([xs[item], ys[item], zs[item]].map(bits), expected.map(bits), "{normal:?}");
        }
    }
}
