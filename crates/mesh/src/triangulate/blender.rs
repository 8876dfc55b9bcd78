//! Triangles in the order and along the diagonals of Blender's exporters.
//!
//! Derived from `testdata/obj/blender/opt_triangulated*.npz` and the files next to them. For a quad with the corners c0
//! to c3, the diagonal c0-c2 gives (c0, c2, c3) in the quad's place and (c0, c1, c2) at the end of the mesh; c1-c3
//! gives (c1, c3, c0) and (c1, c2, c3). For a larger polygon one triangle stays in place; its corners are our ear
//! clipper's choice, not Blender's. Nothing here moves or merges values: normals remain those of the original mesh.

use super::{Point, TriangleMap, cross, dot, minus};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::{Mesh, Object};

/// Areas that differ by less are equal: rounding of the 64-bit sums.
const AREA_NOISE: f64 = 1e-13;
/// Squared diagonals that differ by less are equal, so that a grid of rectangles is cut the same way
/// everywhere.
const LENGTH_NOISE: f64 = 1e-6;

/// The corners of a quad's triangles, numbered within the face.
pub(super) fn quad_triangles(quad: &[Point<3>; 4]) -> [u32; 6] {
    if is_cut_at_second(quad) { [1, 3, 0, 1, 2, 3] } else { [0, 2, 3, 0, 1, 2] }
}

/// Returns whether a quad is shown, and exported to STL, as (c0, c1, c3) and (c1, c2, c3): c1 and c3 are on the same side
/// of the diagonal c0-c2. In f32, this explains 4,000 of 4,000 random quads of Blender 5.0, a third of them flat.
pub(super) fn is_shown_at_second([a, b, c, d]: [[f32; 3]; 4]) -> bool {
    let minus = |p: [f32; 3]| [p[0] - a[0], p[1] - a[1], p[2] - a[2]];
    let cross =
        |u: [f32; 3], v: [f32; 3]| [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let diagonal = minus(c);
    let (one, other) = (cross(minus(b), diagonal), cross(minus(d), diagonal));
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2] > 0.0
}

/// Returns whether the diagonal is c1-c3: the one that gives less surface. If both fold the quad over, it is c0-c2. A
/// flat quad has the same surface either way: then the shorter diagonal, and c1-c3 if both are equal.
///
/// This explains 304 of the 305 quads of the test files; the remaining one is flat, and its diagonals have the same
/// length except for rounding.
fn is_cut_at_second(&[a, b, c, d]: &[Point<3>; 4]) -> bool {
    let twice_area = |a, b, c| cross(minus(b, a), minus(c, a));
    let at_first = [twice_area(a, b, c), twice_area(a, c, d)];
    let at_second = [twice_area(a, b, d), twice_area(b, c, d)];
    let folds = |[one, other]: [Point<3>; 2]| dot(one, other) < 0.0;
    if folds(at_first) && folds(at_second) {
        return false;
    }
    let surface = |[one, other]: [Point<3>; 2]| dot(one, one).sqrt() + dot(other, other).sqrt();
    let (first, second) = (surface(at_first), surface(at_second));
    if (first - second).abs() > AREA_NOISE * first.max(second) {
        return second < first;
    }
    let (first, second) = (minus(c, a), minus(d, b));
    dot(second, second) <= dot(first, first) * (1.0 + LENGTH_NOISE)
}

/// The faces at which a section of a mesh begins or ends: triangles are not moved across them, since
/// objects and statements are ranges of faces.
pub(super) fn sections(mesh: &Mesh, objects: &mut dyn Iterator<Item = &Object>) -> Result<Vec<u32>> {
    let mut borders = Vec::new();
    let count = mesh.faces.len() as u32;
    // Sections that the mesh does not have are refused later, by the writer.
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

/// Returns the triangles of a mesh in Blender's order: one of each face in its place, and the others after the last
/// face of its section.
///
/// The triangle that stays is a quad's first and a larger polygon's last, which remains when all ears are cut.
pub(super) fn order(map: &TriangleMap, sections: &[u32], triangles: usize) -> Result<Vec<u32>> {
    let mut order = Vec::new();
    order.try_reserve_exact(triangles).map_err(|_| Error::memory("triangles"))?;
    for section in sections.windows(2) {
        for face in section[0]..section[1] {
            order.push(kept(map, face));
        }
        for face in section[0]..section[1] {
            let kept = kept(map, face);
            order.extend(map.triangles(face).filter(|triangle| *triangle != kept));
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
        // Quads of opt_triangulated_quads, whose longer diagonal gives less surface.
        let bent = [[0.0, 0.0, 0.0], [0.62, -0.01, -0.16], [0.46, 0.1, -0.07], [0.46, 0.21, -0.11]];
        assert_eq!(quad_triangles(&bent), [0, 2, 3, 0, 1, 2], "bent");
        let bent = [[0.0, 0.0, 0.0], [0.62, -0.1, -0.26], [0.13, 0.5, -0.23], [0.07, 0.41, -0.26]];
        assert_eq!(quad_triangles(&bent), [1, 3, 0, 1, 2, 3], "bent");
        let dart = [[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0]];
        assert_eq!(quad_triangles(&dart), [1, 3, 0, 1, 2, 3], "concave");
        // A quad of opt_triangulated_quads: over either diagonal it folds, and c1-c3 has less surface.
        let folded = [[2.912, 0.798, 0.215], [3.34, 0.66, 0.088], [3.4, 1.146, 0.092], [2.854, 0.756, 0.022]];
        assert_eq!(quad_triangles(&folded), [0, 2, 3, 0, 1, 2], "folded");
    }

    #[test]
    fn one_triangle_of_a_face_stays_in_place() {
        let map = TriangleMap { face_offsets: vec![0, 4, 7, 12, 16] };
        assert_eq!(order(&map, &[0, 3, 4], 8).unwrap(), [0, 2, 5, 1, 3, 4, 6, 7]);
    }
}
