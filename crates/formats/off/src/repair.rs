//! Removes malformed vertices if reading continues past errors.

use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Array, Domain, Elements, Mesh};

/// Removes vertices, given by their sorted indices, and the elements that use them. Returns the number of removed
/// elements.
pub(super) fn drop_vertices(mesh: &mut Mesh, vertices: &[u64]) -> Result<u64> {
    let is_bad = |vertex: u32| vertices.binary_search(&u64::from(vertex)).is_ok();
    let new_number = |vertex: u32| vertex - vertices.partition_point(|&bad| bad < u64::from(vertex)) as u32;
    let mut dropped = 0;
    for elements in [&mut mesh.faces, &mut mesh.lines] {
        dropped += drop_elements(elements, is_bad)?;
        elements.corner_positions.to_mut()?.iter_mut().for_each(|corner| *corner = new_number(*corner));
    }
    let points = mesh.points.to_mut()?;
    let count = points.len();
    points.retain(|&point| !is_bad(point));
    dropped += (count - points.len()) as u64;
    points.iter_mut().for_each(|point| *point = new_number(*point));
    keep(&mut mesh.positions, is_bad)?;
    keep(&mut mesh.exact_positions, is_bad)?;
    keep(&mut mesh.normals, is_bad)?;
    keep(&mut mesh.colors, is_bad)?;
    keep(&mut mesh.uvs, is_bad)?;
    if mesh.positions.is_empty() {
        mesh.normal_domain = Domain::default();
        mesh.uv_domain = Domain::default();
    }
    Ok(dropped)
}

/// Keeps the values of valid vertices.
fn keep<T: Copy>(values: &mut Array<T>, is_bad: impl Fn(u32) -> bool) -> Result<()> {
    let mut vertex = 0;
    values.to_mut()?.retain(|_| {
        vertex += 1;
        !is_bad(vertex - 1)
    });
    Ok(())
}

/// Removes elements that use a bad vertex. Returns how many were removed.
fn drop_elements(elements: &mut Elements, is_bad: impl Fn(u32) -> bool) -> Result<u64> {
    if !elements.corner_positions.iter().any(|&corner| is_bad(corner)) {
        return Ok(0);
    }
    let mut offsets = Vec::new();
    let mut corners = Vec::new();
    offsets.try_reserve(elements.offsets.len()).map_err(|_| Error::memory("elements"))?;
    corners.try_reserve(elements.corner_positions.len()).map_err(|_| Error::memory("elements"))?;
    offsets.push(0);
    for element in 0..elements.len() {
        let element_corners = &elements.corner_positions[elements.corners(element)];
        if !element_corners.iter().any(|&corner| is_bad(corner)) {
            corners.extend_from_slice(element_corners);
            offsets.push(corners.len() as u32);
        }
    }
    let dropped = elements.len() as u64 + 1 - offsets.len() as u64;
    let offsets = if offsets.len() == 1 { Vec::new() } else { offsets };
    *elements = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
    Ok(dropped)
}
