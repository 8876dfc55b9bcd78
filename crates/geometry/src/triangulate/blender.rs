//! Triangles in the order and along the diagonals of Blender's exporters.
//!
//! Derived from `testdata/obj/blender/opt_triangulated*.npz` and the files next to them. For a quad with the corners c0
//! to c3, the diagonal c0-c2 results in (c0, c2, c3) in the slot of the quad and (c0, c1, c2) at the end of the mesh;
//! c1-c3 results in (c1, c3, c0) and (c1, c2, c3). For a larger polygon, one triangle stays in the polygon's slot. The
//! triangles are chosen by the ear clipper of this crate, not as in Blender. Values are neither moved nor merged, so
//! normals are the same as in the original mesh.

use super::{Point, TriangleMap};
use crate::linear::{cross, dot, subtract};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::{Mesh, Object};

/// Relative difference below which shapes are equal, so that a grid of rectangles is cut the same way everywhere.
const NOISE: f64 = 1e-6;

/// Returns the corners of a quad's triangles, numbered within the face.
pub(super) fn quad_triangles(quad: &[Point<3>; 4]) -> [u32; 6] {
    if is_cut_at_second(quad) { [1, 3, 0, 1, 2, 3] } else { [0, 2, 3, 0, 1, 2] }
}

/// Returns whether Blender displays a quad, and exports it to STL, as (c0, c1, c3) and (c1, c2, c3): c1 and c3 are on
/// the same side of the diagonal c0-c2. In f32, this explains all random quads that `surfaces/blender/tests` exports
/// from Blender.
pub(super) fn is_shown_at_second([a, b, c, d]: [[f32; 3]; 4]) -> bool {
    let diagonal = subtract(c, a);
    dot(cross(subtract(b, a), diagonal), cross(subtract(d, a), diagonal)) > 0.0
}

/// Returns whether Blender's exporters cut a quad along c1-c3. They use the diagonal whose two triangles, projected
/// onto the plane parallel to both diagonals, have the larger sum of area divided by perimeter, or c1-c3 on a tie. A
/// diagonal along which the triangles face away from each other is rejected. If both diagonals are rejected, or if they
/// are parallel, the diagonal is c0-c2.
///
/// This explains 304 of the 305 quads of the test files (the diagonals of the last quad have the same length up to
/// rounding), and all random quads that `surfaces/blender/tests` exports from Blender, flat and bent.
fn is_cut_at_second(&[a, b, c, d]: &[Point<3>; 4]) -> bool {
    let normal = cross(subtract(a, c), subtract(b, d));
    let square = dot(normal, normal);
    if square == 0.0 {
        return false;
    }
    let length = |from, to| {
        let edge = subtract(to, from);
        let height = dot(edge, normal);
        // Rounding can make the difference slightly negative.
        (dot(edge, edge) - height * height / square).max(0.0).sqrt()
    };
    let twice_area = |[a, b, c]: [Point<3>; 3]| cross(subtract(b, a), subtract(c, a));
    let folds = |[first, second]: [[Point<3>; 3]; 2]| dot(twice_area(first), twice_area(second)) < 0.0;
    let shape = |triangle @ [a, b, c]: [Point<3>; 3]| {
        let area = dot(twice_area(triangle), normal).abs() / square.sqrt();
        let perimeter = length(a, b) + length(b, c) + length(c, a);
        if perimeter > 0.0 { area / perimeter } else { 0.0 }
    };
    let [first, second] = [[[a, b, c], [a, c, d]], [[a, b, d], [b, c, d]]];
    match (folds(first), folds(second)) {
        (false, false) => second.map(shape).iter().sum::<f64>() >= first.map(shape).iter().sum::<f64>() * (1.0 - NOISE),
        (is_folded, other) => is_folded && !other,
    }
}

/// Returns the faces at which a section of a mesh starts or ends. Triangles are not moved across them, since objects
/// and statements are ranges of faces.
pub(super) fn sections(mesh: &Mesh, objects: &mut dyn Iterator<Item = &Object>) -> Result<Vec<u32>> {
    let mut borders = Vec::new();
    let count = mesh.faces.len() as u32;
    // The writer rejects sections beyond the mesh later.
    for object in objects {
        try_push(&mut borders, object.start.faces.min(count), "sections")?;
        try_push(&mut borders, object.end.faces.min(count), "sections")?;
    }
    let runs = [&mesh.material_runs, &mesh.group_runs, &mesh.smoothing_runs];
    let at = runs.into_iter().flatten().map(|run| run.at.faces).chain(mesh.curves.iter().map(|curve| curve.at.faces));
    for face in at.chain([0, count]) {
        try_push(&mut borders, face.min(count), "sections")?;
    }
    borders.sort_unstable();
    borders.dedup();
    Ok(borders)
}

/// Returns the triangles of a mesh in Blender's order: one triangle of each face in the face's slot, and its other
/// triangles after the last face of the section.
///
/// The triangle in the slot is the first of a quad, and the last of a larger polygon, which is left after all ears are
/// cut off.
pub(super) fn order(map: &TriangleMap, sections: &[u32], triangles: usize) -> Result<Vec<u32>> {
    let mut order = Vec::new();
    order.try_reserve_exact(triangles).map_err(|_| Error::memory("triangles"))?;
    for section in sections.windows(2) {
        for face in section[0]..section[1] {
            order.push(kept(map, face));
        }
        for face in section[0]..section[1] {
            let staying = kept(map, face);
            order.extend(map.triangles(face).filter(|triangle| *triangle != staying));
        }
    }
    Ok(order)
}

fn kept(map: &TriangleMap, face: u32) -> u32 {
    let triangles = map.triangles(face);
    if triangles.len() <= 2 { triangles.start } else { triangles.end - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_are_cut_as_blender_cuts_them() {
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        assert_eq!(quad_triangles(&square), [1, 3, 0, 1, 2, 3], "square");
        let mut shorter = square;
        shorter[2] = [0.9, 0.9, 0.0];
        assert_eq!(quad_triangles(&shorter), [0, 2, 3, 0, 1, 2], "flat: the shorter diagonal");
        // Quads of opt_triangulated_quads.
        let bent = [[0.0, 0.0, 0.0], [0.62, -0.01, -0.16], [0.46, 0.1, -0.07], [0.46, 0.21, -0.11]];
        assert_eq!(quad_triangles(&bent), [0, 2, 3, 0, 1, 2], "bent");
        let bent = [[0.0, 0.0, 0.0], [0.62, -0.1, -0.26], [0.13, 0.5, -0.23], [0.07, 0.41, -0.26]];
        assert_eq!(quad_triangles(&bent), [1, 3, 0, 1, 2, 3], "bent");
        let dart = [[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0]];
        assert_eq!(quad_triangles(&dart), [1, 3, 0, 1, 2, 3], "concave");
        // A quad of opt_triangulated_quads: its triangles face away from each other, whichever the diagonal.
        let folded = [[2.912, 0.798, 0.215], [3.34, 0.66, 0.088], [3.4, 1.146, 0.092], [2.854, 0.756, 0.022]];
        assert_eq!(quad_triangles(&folded), [0, 2, 3, 0, 1, 2], "folded");
    }

    #[test]
    fn one_triangle_of_a_face_stays_in_place() {
        let map = TriangleMap { face_offsets: vec![0, 4, 7, 12, 16] };
        assert_eq!(order(&map, &[0, 3, 4], 8).unwrap(), [0, 2, 5, 1, 3, 4, 6, 7]);
    }
}
