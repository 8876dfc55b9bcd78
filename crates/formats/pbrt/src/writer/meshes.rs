//! Selects shapes whose arrays move to PLY files, and creates the content of these files. The caller writes the files.

use polyhaul_model::error::{Result, try_copy, try_push};
use polyhaul_model::render::{ParameterValues, Render, Shape};
use polyhaul_model::{Domain, Elements, Mesh};

/// Parameters stored in a mesh file.
pub(crate) const MOVED: [&str; 4] = ["P", "N", "uv", "indices"];

/// Returns the shapes to move to separate files: triangle meshes with at least `vertices` vertices whose arrays can all
/// be read from PLY files by pbrt.
pub fn movable(render: &Render, vertices: u64) -> Result<Vec<u32>> {
    let mut shapes = Vec::new();
    for shape in render.shapes().filter(|shape| shape.class() == "trianglemesh") {
        let parameters = shape.parameters();
        let count = |name| parameters.get(name).map_or(0, |parameter| parameter.values.len() as u64);
        let points = count("P") / 3;
        let fits = |name, width| matches!(count(name), 0) || count(name) == width * points;
        let others = ["S", "faceIndices"].into_iter().any(|name| count(name) > 0);
        if points >= vertices.max(1) && fits("N", 3) && fits("uv", 2) && !others && has_indices(&shape, points) {
            try_push(&mut shapes, shape.index as u32, "the plan")?;
        }
    }
    Ok(shapes)
}

fn has_indices(shape: &Shape<'_>, points: u64) -> bool {
    match shape.parameters().get("indices").map(|parameter| parameter.values) {
        Some(ParameterValues::Integers(indices)) => {
            // Negative indices become large, and are thus out of range.
            indices.len().is_multiple_of(3) && indices.iter().all(|&index| (index as u32 as u64) < points)
        }
        _ => false,
    }
}

/// Returns the mesh of a shape that [`movable`] selected.
pub fn mesh(shape: &Shape<'_>) -> Result<Mesh> {
    let parameters = shape.parameters();
    let mut mesh = Mesh { uv_domain: Domain::Vertex, normal_domain: Domain::Vertex, ..Mesh::default() };
    if let Some(coordinates) = parameters.get("P")
        && let Some(points) = coordinates.values.rows::<3>()
    {
        mesh.positions = try_copy(points, "values")?.into();
        mesh.exact_positions = try_copy(coordinates.exact.as_chunks::<3>().0, "values")?.into();
    }
    if let Some(normals) = parameters.get("N").and_then(|normals| normals.values.rows::<3>()) {
        mesh.normals = try_copy(normals, "values")?.into();
    }
    if let Some(uvs) = parameters.get("uv").and_then(|uvs| uvs.values.rows::<2>()) {
        mesh.uvs = try_copy(uvs, "values")?.into();
    }
    if let Some(ParameterValues::Integers(indices)) = parameters.get("indices").map(|indices| indices.values) {
        let mut corners = Vec::new();
        corners.try_reserve_exact(indices.len())?;
        corners.extend(indices.iter().map(|&index| index as u32));
        mesh.faces = triangles(corners)?;
    }
    Ok(mesh)
}

/// Creates faces with three corners each.
pub(crate) fn triangles(corners: Vec<u32>) -> Result<Elements> {
    let mut offsets = Vec::new();
    offsets.try_reserve_exact(corners.len() / 3 + 1)?;
    offsets.extend((0..=corners.len() / 3).map(|face| 3 * face as u32));
    Ok(Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() })
}
