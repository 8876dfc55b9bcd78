//! Computes normals from faces: one per position, or one per face.

use crate::corners::check_offsets;
use crate::linear::{Vector, add, cross, dot, scale, subtract, unit, wide};
use crate::surface::{SurfacePlaces, SurfacePositions};
use polyhaul_model::Mesh;
use polyhaul_model::error::{Result, planted};
use polyhaul_pipeline::arrays::{PIECE, gather, out_of_range, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Returns the smooth normal of each position: the normalized mean of the normals of its faces, weighted by their
/// angles at the position. It is (0, 0, 0) if none of these faces has an area.
///
/// With [`SurfacePositions::Merged`], equal positions have the same normal, so that the surface is smooth across seams,
/// and across edges that a file made sharp by duplicating positions.
///
/// # Errors
///
/// [`polyhaul_model::error::ErrorKind::Usage`] for an index out of range;
/// [`polyhaul_model::error::ErrorKind::Memory`]; [`polyhaul_model::error::ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_geometry::normals::position_normals;
/// use polyhaul_geometry::surface::SurfacePositions;
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let faces = Elements { offsets: vec![0, 3].into(), corner_positions: vec![0, 1, 2].into(), ..Elements::default() };
/// let mesh = Mesh { positions: vec![[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]].into(), faces, ..Mesh::default() };
/// let normals = position_normals(&mesh, SurfacePositions::Stored, &RunOptions::default())?;
/// assert_eq!(normals, [[0.0, 0.0, 1.0]; 3]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn position_normals(mesh: &Mesh, which: SurfacePositions, run: &RunOptions) -> Result<Vec<[f32; 3]>> {
    check(mesh)?;
    let places = SurfacePlaces::new(mesh, 0..mesh.positions.len(), which, run)?;
    let threads = run.worker_threads();
    let mut sums: Vec<[f64; 3]> = zeroed(places.count(), "normals")?;
    // Each thread owns a range of positions and scans all faces for it: the normals at a position are added in the
    // order of its faces, so sums do not depend on the number of threads.
    let range = places.count().div_ceil(threads).max(1);
    let ranges = sums.chunks_mut(range).zip((0..).step_by(range));
    try_for_each_item(
        threads,
        &run.cancel,
        ranges,
        || (),
        |(), (sums, first)| {
            add_normals(mesh, &places, first, sums);
            Ok(())
        },
    )?;
    let mut normals: Vec<[f32; 3]> = zeroed(sums.len(), "normals")?;
    let pieces = normals.chunks_mut(PIECE).zip(sums.chunks(PIECE));
    try_for_each_item(
        threads,
        &run.cancel,
        pieces,
        || (),
        |(), (normals, sums)| {
            let units = sums.iter().map(|&sum| unit(sum).map(|value| value as f32));
            normals.iter_mut().zip(units).for_each(|(normal, unit)| *normal = unit);
            Ok(())
        },
    )?;
    match places.numbers() {
        Some(numbers) => gather(threads, &normals, numbers, [0.0; 3]),
        None => Ok(normals),
    }
}

/// Returns the unit normal of each face, or (0, 0, 0) for faces without area.
///
/// # Errors
///
/// See [`position_normals`].
pub fn face_normals(mesh: &Mesh, run: &RunOptions) -> Result<Vec<[f32; 3]>> {
    check(mesh)?;
    let mut normals: Vec<[f32; 3]> = zeroed(mesh.faces.len(), "normals")?;
    let position = position(mesh);
    let pieces = normals.chunks_mut(PIECE).zip((0..).step_by(PIECE));
    try_for_each_item(
        run.worker_threads(),
        &run.cancel,
        pieces,
        || (),
        |(), (normals, first)| {
            for (face, normal) in (first..).zip(normals) {
                *normal = face_normal(corners(mesh, face), &position).map(|value| value as f32);
            }
            Ok(())
        },
    )?;
    Ok(normals)
}

fn check(mesh: &Mesh) -> Result<()> {
    check_offsets(&mesh.faces)?;
    let count = mesh.positions.len();
    let is_outside = |&corner: &u32| corner as usize >= count;
    match mesh.faces.corner_positions.iter().position(is_outside) {
        Some(at) => Err(out_of_range(at, "position", mesh.faces.corner_positions[at], count)),
        None => Ok(()),
    }
}

/// Adds the weighted normals of faces to `sums`, which has a sum for each place ([`SurfacePlaces`]), starting at
/// `first`.
fn add_normals(mesh: &Mesh, places: &SurfacePlaces, first: usize, sums: &mut [[f64; 3]]) {
    let position = position(mesh);
    let numbers = places.numbers();
    let place = |corner: u32| numbers.map_or(corner, |numbers| numbers[corner as usize]) as usize;
    let count = sums.len();
    // The difference wraps for places before `first`, so one comparison checks both ends.
    let is_inside = |corner: u32| place(corner).wrapping_sub(first) < count;
    let touching = (0..mesh.faces.len()).map(|face| corners(mesh, face));
    for corners in touching.filter(|corners| corners.iter().any(|&corner| is_inside(corner))) {
        let normal = face_normal(corners, &position);
        for (at, &corner) in corners.iter().enumerate() {
            let Some(sum) = sums.get_mut(place(corner).wrapping_sub(first)) else { continue };
            let before = corners[if at == 0 { corners.len() - 1 } else { at - 1 }];
            let after = corners[if at + 1 == corners.len() { 0 } else { at + 1 }];
            let here = position(corner);
            let angle = angle(subtract(position(before), here), subtract(position(after), here));
            // The angle is NaN next to a position that is not finite. NaN times the zero normal of such a face would
            // still be NaN, and spoil the sum.
            if angle.is_finite() {
                *sum = add(*sum, scale(normal, angle));
            }
        }
    }
}

fn corners(mesh: &Mesh, face: usize) -> &[u32] {
    mesh.faces.corner_positions.get(mesh.faces.corners(face)).unwrap_or_default()
}

fn position(mesh: &Mesh) -> impl Fn(u32) -> Vector + Sync {
    let single = &mesh.positions[..];
    let exact = &mesh.exact_positions[..];
    move |corner| exact.get(corner as usize).copied().unwrap_or_else(|| wide(single[corner as usize]))
}

/// Returns the unit normal of a polygon, or zero if it has no area or is not finite.
fn face_normal(corners: &[u32], position: &impl Fn(u32) -> Vector) -> Vector {
    let sign = if planted("normals-flipped") { -1.0 } else { 1.0 };
    let normal = scale(unit(crate::surface::area_vector(corners, position)), sign);
    if normal.iter().all(|value| value.is_finite()) { normal } else { [0.0; 3] }
}

/// Returns the angle between two vectors. `atan2` is accurate for small angles, unlike the arccosine.
fn angle(a: Vector, b: Vector) -> f64 {
    let across = cross(a, b);
    dot(across, across).sqrt().atan2(dot(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::Elements;
    use polyhaul_model::error::ErrorKind;

    /// A cube; sides have separate positions unless `is_shared`.
    fn cube(is_shared: bool) -> Mesh {
        let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let position = |at: u32| std::array::from_fn(|axis| (at >> axis & 1) as f32 * 2.0 - 1.0);
        let corners: Vec<u32> = sides.concat();
        let positions: Vec<[f32; 3]> =
            if is_shared { (0..8).map(position).collect() } else { corners.iter().map(|&at| position(at)).collect() };
        let corner_positions = if is_shared { corners } else { (0..24).collect() };
        let offsets: Vec<u32> = (0..=6).map(|face| face * 4).collect();
        let faces =
            Elements { offsets: offsets.into(), corner_positions: corner_positions.into(), ..Elements::default() };
        Mesh { positions: positions.into(), faces, ..Mesh::default() }
    }

    #[test]
    fn normals_of_a_cube_point_away_from_its_center() {
        let is_diagonal = |mesh: &Mesh, normals: &[[f32; 3]]| {
            let pairs = mesh.positions.iter().zip(normals);
            pairs.clone().count() == normals.len()
                && pairs.into_iter().all(|(position, normal)| {
                    (0..3).all(|axis| (normal[axis] - position[axis] / 3f32.sqrt()).abs() < 1e-6)
                })
        };
        let shared = cube(true);
        let split = cube(false);
        for threads in [1, 2, 5] {
            let run = RunOptions::default().with_threads(Some(threads));
            assert!(is_diagonal(&shared, &position_normals(&shared, SurfacePositions::Stored, &run).unwrap()));
            assert!(is_diagonal(&split, &position_normals(&split, SurfacePositions::Merged, &run).unwrap()));
            let flat = face_normals(&shared, &run).unwrap();
            assert_eq!(flat[0], [0.0, 0.0, -1.0]);
            let stored = position_normals(&split, SurfacePositions::Stored, &run).unwrap();
            assert!(stored.chunks(4).zip(&flat).all(|(side, flat)| side.iter().all(|normal| normal == flat)));
        }
    }

    #[test]
    fn angles_weigh_so_that_the_cut_of_a_side_does_not_matter() {
        let mut mesh = cube(true);
        let quads = mesh.faces.corner_positions.to_vec();
        let triangles = quads.chunks(4).flat_map(|quad| [quad[0], quad[1], quad[2], quad[2], quad[3], quad[0]]);
        mesh.faces.corner_positions = triangles.collect();
        mesh.faces.offsets = (0..=12).map(|face| face * 3).collect();
        let run = RunOptions::default();
        let cut = position_normals(&mesh, SurfacePositions::Stored, &run).unwrap();
        let whole = position_normals(&cube(true), SurfacePositions::Stored, &run).unwrap();
        assert!(cut.iter().flatten().zip(whole.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn faces_without_an_area_and_loose_positions_have_no_normal() {
        let faces = Elements {
            offsets: vec![0, 3, 6].into(),
            corner_positions: vec![0, 1, 1, 2, 0, 1].into(),
            ..Elements::default()
        };
        let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0], [0.0; 3]];
        let mesh = Mesh { positions: positions.into(), faces, ..Mesh::default() };
        let run = RunOptions::default();
        assert_eq!(position_normals(&mesh, SurfacePositions::Stored, &run).unwrap(), [[0.0; 3]; 4]);
        assert_eq!(face_normals(&mesh, &run).unwrap(), [[0.0; 3]; 2]);
        let mut broken = cube(true);
        broken.faces.corner_positions.to_mut().unwrap()[3] = 8;
        assert_eq!(face_normals(&broken, &run).unwrap_err().kind(), ErrorKind::Usage);
    }
}
