//! Transforms a mesh by an affine matrix.
//!
//! [`crate::splat_motion`] transforms the other attributes of Gaussian splats. [`crate::transform`] changes axes and
//! scale, which needs no matrix products. [`crate::frame`] applies the transforms of objects in writers.

use crate::linear::{Matrix3, Matrix4, Vector, cross, dot, wide};
use crate::splat_motion::SplatMotion;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Domain, Elements, Mesh};
use polyhaul_pipeline::arrays::PIECE;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;

/// Transforms positions by `matrix * position` and normals by the inverse transpose, in `f64`. Normals are normalized
/// unless their length is zero. If the matrix mirrors the mesh, the winding of faces is reversed so that front faces
/// stay front faces. The other attributes of Gaussian splats ([`has_splats`](crate::splat_motion::has_splats)) are
/// transformed, too.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if an entry is not finite, if the last row is not 0 0 0 1, if the matrix mirrors and a
/// per-corner attribute does not have one value per corner, or if splats would be sheared or scaled nonuniformly; the
/// errors of [`SplatMotion::apply`]; [`ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::Mesh;
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mut mesh = Mesh { positions: vec![[1.0, 2.0, 3.0]].into(), ..Mesh::default() };
/// let matrix = [[2.0, 0.0, 0.0, 10.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
/// polyhaul_geometry::affine::transform(&mut mesh, &matrix, &RunOptions::default())?;
/// assert_eq!(mesh.positions, [[12.0, 4.0, 6.0]]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn transform(mesh: &mut Mesh, matrix: &Matrix4, options: &RunOptions) -> Result<()> {
    let affine = Affine::new(matrix)?;
    let is_mirrored = affine.determinant < 0.0;
    if is_mirrored {
        check_corners(mesh)?;
    }
    let threads = options.worker_threads();
    // Comes first: if it fails, no column has changed, and the positions are still unchanged, too.
    if let Some(motion) = SplatMotion::of_mesh(mesh, &affine.rows)? {
        motion.apply(&mut mesh.vertex_columns, options)?;
    }
    move_positions(mesh, &affine, threads)?;
    each(threads, mesh.normals.to_mut()?, |normal| affine.normal(normal).map(|part| part as f32));
    if is_mirrored { reverse_faces(mesh) } else { Ok(()) }
}

/// Transforms positions, in double precision if the mesh has `exact_positions`.
fn move_positions(mesh: &mut Mesh, affine: &Affine, threads: usize) -> Result<()> {
    let singles = mesh.positions.to_mut()?;
    if mesh.exact_positions.is_empty() {
        each(threads, singles, |position| affine.position(position).map(|part| part as f32));
        return Ok(());
    }
    let exact = mesh.exact_positions.to_mut()?;
    let work = |(): &mut (), (exact, singles): (&mut [Vector], &mut [[f32; 3]])| {
        for (position, single) in exact.iter_mut().zip(singles) {
            *position = affine.position(*position);
            // Rounded from the new double: `positions` must hold the floats nearest to `exact_positions`.
            *single = position.map(|part| part as f32);
        }
    };
    for_each_item(threads, exact.chunks_mut(PIECE).zip(singles.chunks_mut(PIECE)), || (), work);
    Ok(())
}

/// An affine transform of positions and normals.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    rows: Matrix3,
    shift: Vector,
    /// The cofactor matrix: equals the inverse transpose times the determinant, and also exists if the matrix is
    /// singular.
    turned: Matrix3,
    determinant: f64,
}

impl Affine {
    /// Creates the transform from the rows of a matrix that multiplies column vectors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] unless all entries are finite and the last row is 0 0 0 1.
    pub fn new(matrix: &Matrix4) -> Result<Affine> {
        let [x, y, z, last] = matrix;
        if matrix.iter().flatten().any(|entry| !entry.is_finite()) || *last != [0.0, 0.0, 0.0, 1.0] {
            return Err(Error::new(
                ErrorKind::Usage,
                "expected a matrix of finite numbers with 0 0 0 1 as its last row",
            ));
        }
        let rows = [x, y, z].map(|row| [row[0], row[1], row[2]]);
        let turned = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])];
        Ok(Affine { rows, shift: [x[3], y[3], z[3]], turned, determinant: dot(rows[0], turned[0]) })
    }

    /// Returns the matrix without its translation.
    pub fn linear(&self) -> &Matrix3 {
        &self.rows
    }

    /// Transforms a position.
    pub fn position(&self, position: Vector) -> Vector {
        std::array::from_fn(|axis| dot(self.rows[axis], position) + self.shift[axis])
    }

    /// Transforms a normal. The result has unit length unless it is zero.
    pub fn normal(&self, normal: Vector) -> Vector {
        // Only the sign of the determinant matters, since the result is normalized.
        let sign = if self.determinant < 0.0 { -1.0 } else { 1.0 };
        let turned = self.turned.map(|row| sign * dot(row, normal));
        let length = dot(turned, turned).sqrt();
        turned.map(|part| if length > 0.0 { part / length } else { part })
    }
}

/// Applies `change` to each vector, in parallel.
fn each(threads: usize, vectors: &mut [[f32; 3]], change: impl Fn(Vector) -> [f32; 3] + Sync) {
    for_each_item(
        threads,
        vectors.chunks_mut(PIECE),
        || (),
        |(), piece| piece.iter_mut().for_each(|vector| *vector = change(wide(*vector))),
    );
}

/// Checks that per-corner attributes have a value for each corner.
fn check_corners(mesh: &Mesh) -> Result<()> {
    let count = mesh.faces.corner_positions.len();
    for (domain, values) in [(mesh.uv_domain, mesh.uvs.len()), (mesh.normal_domain, mesh.normals.len())] {
        if domain == Domain::Corner && values != count && values != 0 {
            return Err(Error::new(ErrorKind::Usage, format!("expected {count} corner values, found {values}")));
        }
    }
    Ok(())
}

/// Reverses the winding of every face, including per-corner attributes. The first corner stays first.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn reverse_faces(mesh: &mut Mesh) -> Result<()> {
    if mesh.uv_domain == Domain::Corner {
        reverse_corners(&mesh.faces.offsets, mesh.uvs.to_mut()?);
        reverse_corners(&mesh.faces.offsets, mesh.uv_depths.to_mut()?);
    }
    if mesh.normal_domain == Domain::Corner {
        reverse_corners(&mesh.faces.offsets, mesh.normals.to_mut()?);
    }
    let Elements { offsets, corner_positions, corner_uvs, corner_normals } = &mut mesh.faces;
    for stream in [corner_positions, corner_uvs, corner_normals] {
        reverse_corners(offsets, stream.to_mut()?);
    }
    Ok(())
}

/// Reverses the values of each face's corners except the first.
fn reverse_corners<T>(offsets: &[u32], values: &mut [T]) {
    for face in offsets.windows(2) {
        if let Some([_, others @ ..]) = values.get_mut(face[0] as usize..face[1] as usize) {
            others.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_transforms_leave_the_mesh_unchanged() {
        let mesh = Mesh {
            positions: vec![[1.0, 2.0, 3.0]; 3].into(),
            faces: Elements {
                offsets: vec![0, 3].into(),
                corner_positions: vec![0, 1, 2].into(),
                ..Elements::default()
            },
            uvs: vec![[0.0, 1.0]; 2].into(),
            uv_domain: Domain::Corner,
            ..Mesh::default()
        };
        let mirror = [[-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let mut moved = mesh.clone();
        let error = transform(&mut moved, &mirror, &RunOptions::default()).unwrap_err();
        assert_eq!((error.kind(), moved), (ErrorKind::Usage, mesh));
    }
}
