//! Converts a mesh to one index per corner: the result of [`crate::weld`] as a mesh.

use crate::domains::index_attributes;
use crate::weld::{Welded, weld};
use polyhaul_model::copy::{self, CopiedRows, pick};
use polyhaul_model::error::Result;
use polyhaul_model::{Domain, Mesh, NONE, VertexGroup};
use polyhaul_pipeline::options::RunOptions;

/// Returns the mesh with uvs and normals per vertex: a position is repeated for each distinct pair of uv and normal
/// among its corners. Per-corner and per-face attributes are compared by value, other attributes by index. Vertices are
/// in the order of the first corners that use them, followed by positions that no face uses. Missing uvs become (0, 0)
/// and missing normals (0, 0, 0), if other corners have them. Positions that no face uses keep values per position.
///
/// # Errors
///
/// [`polyhaul_model::error::ErrorKind::Usage`] for an index out of range, or attributes that do not match their domain;
/// [`polyhaul_model::error::ErrorKind::Memory`]; [`polyhaul_model::error::ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let faces = Elements {
///     offsets: vec![0, 3, 6].into(),
///     corner_positions: vec![0, 1, 2, 2, 1, 0].into(),
///     corner_uvs: vec![0, 0, 0, 0, 1, 0].into(),
///     ..Elements::default()
/// };
/// let uvs = vec![[0.0, 0.0], [1.0, 1.0]];
/// let mesh = Mesh { positions: vec![[0.0; 3], [1.0; 3], [2.0; 3]].into(), uvs: uvs.into(), faces, ..Mesh::default() };
/// let welded = polyhaul_geometry::welded::welded(&mesh, &RunOptions::default())?;
/// assert_eq!(welded.faces.corner_positions, [0, 1, 2, 2, 3, 0]);
/// assert_eq!(welded.uvs, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn welded(mesh: &Mesh, options: &RunOptions) -> Result<Mesh> {
    let mut mesh = mesh.clone();
    let has_vertex_uvs = mesh.uv_domain == Domain::Vertex && !mesh.uvs.is_empty();
    let has_vertex_normals = mesh.normal_domain == Domain::Vertex && !mesh.normals.is_empty();
    index_attributes(&mut mesh, options)?;
    let mut weld = weld(&mesh, options)?;
    let vertices = add_unused(&mesh, &mut weld)?;
    // Values per position, unlike values per corner, exist for positions that no face uses, too.
    if has_vertex_uvs {
        weld.vertex_uvs = weld.vertex_positions.clone();
    }
    if has_vertex_normals {
        weld.vertex_normals = weld.vertex_positions.clone();
    }
    let vertex_positions = weld.vertex_positions.clone();
    let rows = CopiedRows::from(&*vertex_positions);
    let mut welded = Mesh {
        positions: weld.positions(&mesh, options)?.into(),
        exact_positions: weld.exact_positions(&mesh, options)?.into(),
        uvs: weld.uvs(&mesh, [0.0; 2], options)?.into(),
        uv_domain: Domain::Vertex,
        normals: weld.normals(&mesh, [0.0; 3], options)?.into(),
        normal_domain: Domain::Vertex,
        colors: weld.colors(&mesh, options)?.into(),
        position_weights: pick(&mesh.position_weights, &rows)?,
        uv_depths: depths(&mesh.uv_depths, &weld.vertex_uvs)?.into(),
        sharp_edges: mesh.sharp_edges.clone(),
        ..mesh
    };
    welded.faces.corner_positions = weld.corner_vertices.into();
    welded.faces.corner_uvs = Vec::new().into();
    welded.faces.corner_normals = Vec::new().into();
    // The uvs and normals of lines are now those of their vertices.
    welded.lines.corner_uvs = Vec::new().into();
    welded.lines.corner_normals = Vec::new().into();
    let renumber = |indices: &mut [u32]| {
        indices.iter_mut().for_each(|index| *index = vertices.get(*index as usize).copied().unwrap_or(*index));
    };
    renumber(welded.lines.corner_positions.to_mut()?);
    renumber(welded.points.to_mut()?);
    renumber(welded.sharp_edges.to_mut()?.as_flattened_mut());
    welded.curves.iter_mut().for_each(|curve| renumber(&mut curve.control_points));
    for VertexGroup { weights, .. } in &mut welded.vertex_groups {
        *weights = pick(weights, &rows)?;
    }
    for column in &mut welded.vertex_columns {
        *column = copy::rows(column, &rows)?;
    }
    welded.move_curves_behind();
    Ok(welded)
}

/// Appends the positions that no face uses, and returns the first vertex of each position.
fn add_unused(mesh: &Mesh, weld: &mut Welded) -> Result<Vec<u32>> {
    let mut vertices = Vec::new();
    vertices.try_reserve_exact(mesh.positions.len())?;
    vertices.resize(mesh.positions.len(), NONE);
    // In reverse, so that the first vertex of each position is stored last.
    for (vertex, &position) in weld.vertex_positions.iter().enumerate().rev() {
        vertices[position as usize] = vertex as u32;
    }
    for (position, vertex) in vertices.iter_mut().enumerate().filter(|(_, vertex)| **vertex == NONE) {
        *vertex = weld.vertex_positions.len() as u32;
        weld.vertex_positions.try_reserve(1)?;
        weld.vertex_positions.push(position as u32);
        for attribute in [&mut weld.vertex_uvs, &mut weld.vertex_normals] {
            if !attribute.is_empty() {
                attribute.try_reserve(1)?;
                attribute.push(NONE);
            }
        }
    }
    Ok(vertices)
}

/// Returns the third coordinate of each vertex's uv, 0 for vertices without a uv.
fn depths(depths: &[f32], vertex_uvs: &[u32]) -> Result<Vec<f32>> {
    let mut filled = Vec::new();
    if !depths.is_empty() {
        filled.try_reserve_exact(vertex_uvs.len())?;
        filled.extend(vertex_uvs.iter().map(|&uv| depths.get(uv as usize).copied().unwrap_or(0.0)));
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::{Counts, Elements, Run};

    #[test]
    fn positions_without_faces_keep_their_own_values() {
        let normals = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]];
        let cloud = Mesh {
            positions: vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]].into(),
            uvs: vec![[0.5, 0.25]; 4].into(),
            uv_domain: Domain::Vertex,
            uv_depths: vec![1.0, 2.0, 3.0, 4.0].into(),
            normals: normals.clone().into(),
            normal_domain: Domain::Vertex,
            ..Mesh::default()
        };
        assert_eq!(welded(&cloud, &RunOptions::default()).unwrap(), cloud);
        let faces =
            Elements { offsets: vec![0, 3].into(), corner_positions: vec![3, 1, 0].into(), ..Elements::default() };
        let mesh = welded(&Mesh { faces, ..cloud }, &RunOptions::default()).unwrap();
        assert_eq!(mesh.normals, [normals[3], normals[1], normals[0], normals[2]]);
        assert_eq!((mesh.uvs[3], mesh.uv_depths), ([0.5, 0.25], vec![4.0, 2.0, 1.0, 3.0].into()));
    }

    #[test]
    fn normals_of_lines_are_not_kept() {
        let faces = Elements {
            offsets: vec![0, 3].into(),
            corner_positions: vec![0, 1, 2].into(),
            corner_normals: vec![0, 0, 0].into(),
            ..Elements::default()
        };
        let lines = Elements {
            offsets: vec![0, 2].into(),
            corner_positions: vec![0, 1].into(),
            corner_normals: vec![5, 5].into(),
            ..Elements::default()
        };
        let normals = vec![[0.0, 0.0, 1.0]; 6].into();
        let mesh = Mesh { positions: vec![[0.0; 3]; 3].into(), normals, faces, lines, ..Mesh::default() };
        let welded = welded(&mesh, &RunOptions::default()).unwrap();
        assert_eq!(welded.normals.len(), 3);
        assert!(welded.lines.corner_normals.is_empty());
    }

    #[test]
    fn runs_stay_inside_a_mesh_with_fewer_uvs() {
        let faces = Elements {
            offsets: vec![0, 3].into(),
            corner_positions: vec![0, 1, 2].into(),
            corner_uvs: vec![0, 1, 2].into(),
            ..Elements::default()
        };
        let positions = vec![[0.0; 3]; 3].into();
        let uvs = vec![[0.0; 2]; 4].into();
        let mut mesh = Mesh { positions, uvs, faces, ..Mesh::default() };
        mesh.material_runs = vec![Run { at: Counts { faces: 0, ..mesh.counts() }, value: 0 }];
        let welded = welded(&mesh, &RunOptions::default()).unwrap();
        assert_eq!((welded.uvs.len(), welded.material_runs[0].at.uvs), (3, 3));
    }
}
