//! Computes normals for meshes with smoothing groups or smooth faces, but without normals: the area-weighted mean over
//! the adjacent faces in the same group.
//!
//! Other meshes without normals are flat-shaded. Stored normals are handled in [`crate::surface`].

use polyhaul_geometry::linear::{Vector, add, cross, subtract, wide};
use polyhaul_model::Mesh;
use polyhaul_model::error::{Error, Result};
use std::collections::HashMap;

/// Accumulated face normals per position and smoothing group.
#[derive(Debug)]
pub(crate) struct SmoothNormals {
    /// Per position: the first smoothing group found at the position (0 if none), and the sum of its normals.
    firsts: Vec<(u32, [f32; 3])>,
    /// Sums for any further groups at a position, keyed by position and group.
    others: HashMap<(u32, u32), [f32; 3]>,
}

impl SmoothNormals {
    /// Computes the normals of a mesh. Returns `None` if it has stored normals or no smooth faces.
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Memory`].
    pub(crate) fn new(mesh: &Mesh) -> Result<Option<SmoothNormals>> {
        let is_smooth = mesh.face_smooth.iter().any(|&smooth| smooth != 0)
            || mesh.smoothing_runs.iter().any(|run| run.value != 0 && run.at.faces < mesh.faces.len() as u32);
        if !is_smooth || !mesh.normals.is_empty() {
            return Ok(None);
        }
        let mut firsts = Vec::new();
        firsts.try_reserve_exact(mesh.positions.len()).map_err(|_| Error::memory("normals"))?;
        firsts.resize(mesh.positions.len(), (0, [0.0; 3]));
        let mut normals = SmoothNormals { firsts, others: HashMap::new() };
        for face in 0..mesh.faces.len() {
            normals.add_face(mesh, face);
        }
        Ok(Some(normals))
    }

    fn add_face(&mut self, mesh: &Mesh, face: usize) {
        let group = mesh.smoothing_group(face).unwrap_or(0);
        let corners = mesh.faces.corner_positions.get(mesh.faces.corners(face)).unwrap_or_default();
        let normal = normal_of(mesh, corners).map(|value| value as f32);
        if group == 0 || !normal.iter().all(|value| value.is_finite()) {
            return;
        }
        for &corner in corners {
            let Some((first, sum)) = self.firsts.get_mut(corner as usize) else { continue };
            let is_first = *first == 0 || *first == group;
            let sum = if is_first { sum } else { self.others.entry((corner, group)).or_default() };
            if is_first {
                *first = group;
            }
            (0..3).for_each(|axis| sum[axis] += normal[axis]);
        }
    }

    /// The unnormalized normal of a face corner.
    pub(crate) fn normal(&self, mesh: &Mesh, face: usize, corner: usize) -> Option<[f32; 3]> {
        let position = *mesh.faces.corner_positions.get(corner)?;
        let group = mesh.smoothing_group(face).filter(|&group| group != 0)?;
        match self.firsts.get(position as usize)? {
            (first, sum) if *first == group => Some(*sum),
            _ => self.others.get(&(position, group)).copied(),
        }
    }
}

/// Normal of a polygon; its length is twice the area.
fn normal_of(mesh: &Mesh, corners: &[u32]) -> Vector {
    let position =
        |&corner: &u32| mesh.positions.get(corner as usize).map_or([f64::NAN; 3], |&position| wide(position));
    let Some((first, rest)) = corners.split_first() else { return [0.0; 3] };
    let first = position(first);
    let sides =
        rest.windows(2).map(|pair| cross(subtract(position(&pair[0]), first), subtract(position(&pair[1]), first)));
    sides.fold([0.0; 3], add)
}
