//! Triangulates polygons and updates everything that refers to faces.
//!
//! A face with n corners is replaced with n - 2 triangles, so no corner is lost, however degenerate the face is. Quads
//! are cut in this file. Larger polygons are cut in `ears`, which projects them onto their best-fit plane.

mod blender;
mod ears;
mod nearby;

use crate::domains::index_cut_attributes;
use crate::linear::{cross, dot, subtract};
use ears::{Clipper, LOOKS_PER_CORNER};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Array, Column, Counts, Elements, Mesh, Object, Scene, map_values};
use polyhaul_pipeline::arrays::{PIECE, check_streams, out_of_range, partition_point, split, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::{for_each_item, try_for_each_item};
use polyhaul_spill::paced;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Faces per parallel step.
const CHUNK_FACES: usize = 1 << 12;
/// Meshes with fewer corners are triangulated by a single thread: their arrays fit in the L2 cache.
const SMALL_CORNERS: usize = 1 << 16;

/// Maps the faces passed to [`triangulate`] to their triangles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriangleMap {
    /// Offsets of the original faces. They suffice, since a face with n corners has n - 2 triangles.
    face_offsets: Vec<u32>,
}

impl TriangleMap {
    /// Returns the triangles of a face, or an empty range if the face is out of range.
    pub fn triangles(&self, face: u32) -> Range<u32> {
        self.first_triangle(face)..self.first_triangle(face.saturating_add(1))
    }

    /// Returns the first triangle of a face, or the number of triangles if the face is out of range.
    pub fn first_triangle(&self, face: u32) -> u32 {
        let face = (face as usize).min(self.face_offsets.len().saturating_sub(1));
        self.face_offsets.get(face).map_or(0, |&offset| offset - 2 * face as u32)
    }

    /// Returns the face of a triangle, or `None` if the triangle is out of range.
    pub fn face(&self, triangle: u32) -> Option<u32> {
        let faces = self.face_offsets.len().saturating_sub(1) as u32;
        if triangle >= self.first_triangle(faces) {
            return None;
        }
        let next = partition_point(1..faces as usize, |face| self.first_triangle(face as u32) <= triangle);
        Some(next as u32 - 1)
    }

    fn remap(&self, counts: &mut Counts) {
        counts.faces = self.first_triangle(counts.faces);
    }

    /// Iterates over the face of each triangle, in triangle order.
    fn faces(&self) -> impl Iterator<Item = usize> {
        let corners = self.face_offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        corners.enumerate().flat_map(|(face, corners)| std::iter::repeat_n(face, corners - 2))
    }
}

/// The triangles of a mesh in storage order.
struct Triangles<'a> {
    map: &'a TriangleMap,
    /// Indices of triangles in the map, in storage order; empty if both orders are the same.
    order: &'a [u32],
    count: usize,
}

impl Triangles<'_> {
    /// Iterates over the face of each triangle, in storage order.
    fn faces(&self) -> Result<Box<dyn Iterator<Item = usize> + '_>> {
        if self.order.is_empty() {
            return Ok(Box::new(self.map.faces()));
        }
        let mut faces = Vec::new();
        faces.try_reserve_exact(self.count)?;
        faces.extend(self.map.faces().map(|face| face as u32));
        Ok(Box::new(self.order.iter().map(move |&triangle| faces[triangle as usize] as usize)))
    }

    /// Repeats the value of each face for its triangles. Returns an empty array unless there is one value per face.
    fn per_triangle<T: Copy>(&self, per_face: &[T]) -> Result<Array<T>> {
        let mut result = Vec::new();
        if per_face.len() + 1 == self.map.face_offsets.len() {
            result.try_reserve_exact(self.count)?;
            result.extend(self.faces()?.map(|face| per_face[face]));
        }
        Ok(result.into())
    }

    /// Repeats the row of each face for its triangles.
    fn repeat_rows(&self, columns: &mut Vec<Column>) -> Result<()> {
        let mut repeated = Vec::new();
        for column in columns.iter() {
            let column = match &column.offsets {
                None => {
                    let values = map_values!(&column.values, array => self.per_triangle(array)?);
                    Column { name: column.name.clone(), values, offsets: None }
                }
                Some(offsets) => self.repeat_lists(column, offsets)?,
            };
            try_push(&mut repeated, column, "face columns")?;
        }
        *columns = repeated;
        Ok(())
    }

    fn repeat_lists(&self, column: &Column, offsets: &[u32]) -> Result<Column> {
        if offsets.len() != self.map.face_offsets.len() {
            let message = format!("the face column `{}` does not have one row per face", column.name);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let mut ends = Vec::new();
        let mut end = 0;
        ends.try_reserve_exact(self.count + 1)?;
        ends.push(0);
        for face in self.faces()? {
            end += u64::from(offsets[face + 1].saturating_sub(offsets[face]));
            ends.push(end as u32);
        }
        if end >= u64::from(u32::MAX) {
            let message = format!(
                "the lists of the face column `{}` would have more than 2^32 - 2 values after triangulation",
                column.name
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let values = map_values!(&column.values, array => {
            let mut repeated = Vec::new();
            repeated.try_reserve_exact(end as usize)?;
            for face in self.faces()? {
                let list = offsets[face] as usize..offsets[face + 1] as usize;
                repeated.extend_from_slice(array.get(list).unwrap_or_default());
            }
            repeated.into()
        });
        Ok(Column { name: column.name.clone(), values, offsets: Some(ends.into()) })
    }
}

/// Handling of equal uvs and equal normals of corners and faces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CornerValues {
    /// They share an index.
    Merged,
    /// They keep separate indices, which is faster.
    Separate,
}

/// The way in which faces are cut, and the order of their triangles.
#[derive(Clone, Copy)]
enum TriangulateStyle<'a> {
    /// All triangles of a face take its place.
    InPlace(CornerValues),
    /// Like Blender's OBJ and PLY exporters; see [`blender`]. Contains the boundaries of sections.
    Blender(&'a [u32]),
    /// In place, with quads cut as Blender displays them and exports them to STL.
    Shown,
    /// In place, within a work budget.
    Bounded(&'a BoundedWork),
}

/// Work budget of all polygons of a scene.
struct BoundedWork {
    /// Limit of examinations, per corner of a polygon.
    max_looks: u64,
    /// Number of polygons that reached the limit.
    unfinished: AtomicU64,
}

/// Triangulates the faces of a mesh in place, and adapts its runs and curves.
///
/// Quads are cut along the shorter diagonal, or along the only diagonal inside the quad. Larger polygons are
/// ear-clipped in their best-fit plane, which handles concave polygons, including polygons with holes joined by a
/// bridge. A polygon that intersects itself still results in n - 2 triangles, some of which overlap or face backward.
/// Triangles keep the winding of their face. The first corner of a triangle need not be the first corner of the face.
///
/// Per-corner and per-face uvs and normals become indexed, as in [`crate::domains::index_attributes`].
///
/// Time is linear for faces of typical sizes and about n log n for a large polygon. The work per large polygon is
/// capped at a thousand examined corners per corner, so that a malicious polygon takes about a microsecond per corner;
/// past the cap, triangles can overlap. Beyond the result, memory use is a copy of the original face arrays and, per
/// thread, 150 bytes per corner of the largest face.
///
/// On error, the faces are unchanged, but uvs and normals may already be indexed. Objects of a scene also refer to
/// faces. For a mesh in a scene, use [`triangulate_scene`], or adapt the objects with the returned map.
///
/// # Errors
///
/// [`ErrorKind::Usage`] for indices out of range, faces with fewer than three corners, or offsets that do not match the
/// corners; [`ErrorKind::Limit`] if the triangles would have 2^32 corners or more; [`ErrorKind::Memory`];
/// [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mut mesh = Mesh {
///     positions: vec![[0.0; 3], [9.0, 0.0, 0.0], [9.0, 5.0, 0.0], [1.0, 1.0, 0.0]].into(),
///     faces: Elements { offsets: [0, 4].into(), corner_positions: [0, 1, 2, 3].into(), ..Elements::default() },
///     ..Mesh::default()
/// };
/// let map = polyhaul_geometry::triangulate::triangulate(&mut mesh, &RunOptions::default())?;
/// assert_eq!(mesh.faces.offsets, [0, 3, 6]);
/// assert_eq!(mesh.faces.corner_positions, [0, 1, 3, 1, 2, 3]);
/// assert_eq!(map.triangles(0), 0..2);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn triangulate(mesh: &mut Mesh, options: &RunOptions) -> Result<TriangleMap> {
    triangulate_as(mesh, TriangulateStyle::InPlace(CornerValues::Merged), options)
}

fn triangulate_as(mesh: &mut Mesh, style: TriangulateStyle<'_>, options: &RunOptions) -> Result<TriangleMap> {
    let threads = options.worker_threads();
    check(mesh, threads, options)?;
    let merges = matches!(style, TriangulateStyle::InPlace(CornerValues::Merged));
    index_cut_attributes(mesh, merges.then_some(options))?;
    let count = triangle_count(&mesh.faces)?;
    let map = TriangleMap { face_offsets: mesh.faces.offsets.try_clone()?.into_vec()? };
    if count == mesh.faces.len() {
        return Ok(map);
    }
    let mut cut = cut_faces(mesh, count, style, options)?;
    let mut order = Vec::new();
    if let TriangulateStyle::Blender(sections) = style {
        order = blender::order(&map, sections, count)?;
        cut = gathered(&order, options, |triangle| {
            let first = 3 * triangle as usize;
            [cut[first], cut[first + 1], cut[first + 2]]
        })?;
    }
    let corners = |from: &[u32]| -> Result<Array<u32>> {
        let cut = if from.is_empty() { &[] } else { cut.as_slice() };
        Ok(gathered(cut, options, |corner| [from[corner as usize]])?.into())
    };
    let faces = &mesh.faces;
    let corner_uvs = corners(&faces.corner_uvs)?;
    let corner_normals = corners(&faces.corner_normals)?;
    let offsets = triangle_offsets(count, threads)?;
    let triangles = Triangles { map: &map, order: &order, count };
    let face_materials = triangles.per_triangle(&mesh.face_materials)?;
    let face_smooth = triangles.per_triangle(&mesh.face_smooth)?;
    // The last step that can fail. It changes the columns only if it succeeds, so on error the faces are unchanged.
    triangles.repeat_rows(&mut mesh.face_columns)?;
    mesh.face_materials = face_materials;
    mesh.face_smooth = face_smooth;
    // The cut has one entry per new corner, so it is reused for the positions.
    let mut corner_positions = cut;
    let old = &mesh.faces.corner_positions;
    for_each_item(
        threads,
        corner_positions.chunks_mut(PIECE),
        || (),
        |(), corners| corners.iter_mut().for_each(|corner| *corner = old[*corner as usize]),
    );
    mesh.faces = Elements { offsets, corner_positions: corner_positions.into(), corner_uvs, corner_normals };
    remap_mesh(mesh, &map);
    Ok(map)
}

/// Computes `N` values per item, in parallel.
fn gathered<const N: usize>(
    items: &[u32],
    options: &RunOptions,
    values: impl Fn(u32) -> [u32; N] + Sync,
) -> Result<Vec<u32>> {
    let mut result = zeroed(N * items.len(), "triangles")?;
    let pieces = result.chunks_mut(N * PIECE).zip(items.chunks(PIECE));
    try_for_each_item(
        options.worker_threads(),
        &options.cancel,
        pieces,
        || (),
        |(), (places, items)| {
            let (places, _) = places.as_chunks_mut::<N>();
            places.iter_mut().zip(items).for_each(|(place, &item)| *place = values(item));
            Ok(())
        },
    )?;
    Ok(result)
}

fn triangle_offsets(count: usize, threads: usize) -> Result<Array<u32>> {
    let mut offsets: Vec<u32> = zeroed(count + 1, "triangle offsets")?;
    for_each_item(
        threads,
        offsets.chunks_mut(PIECE).enumerate(),
        || (),
        |(), (piece, offsets)| {
            let first = piece * PIECE;
            offsets.iter_mut().zip(first..).for_each(|(offset, triangle)| *offset = 3 * triangle as u32);
        },
    );
    Ok(offsets.into())
}

/// Runs [`triangulate`] on all meshes of a scene, and adapts objects, runs and curves.
///
/// # Errors
///
/// See [`triangulate`]. Some meshes may then already be triangulated, but the scene is consistent.
pub fn triangulate_scene(scene: &mut Scene, options: &RunOptions) -> Result<()> {
    triangulate_meshes(scene, |_| TriangulateStyle::InPlace(CornerValues::Merged), options)
}

/// Runs [`triangulate_scene`] for formats that store positions only: equal uvs and equal normals are not merged.
///
/// # Errors
///
/// See [`triangulate_scene`].
pub fn triangulate_scene_positions(scene: &mut Scene, options: &RunOptions) -> Result<()> {
    triangulate_meshes(scene, |_| TriangulateStyle::InPlace(CornerValues::Separate), options)
}

/// Runs [`triangulate_scene_positions`] within a work budget, for rendering. The total for polygons with more than four
/// corners is about 64 steps per corner, plus 32 million. Returns the number of polygons that reached their limit;
/// their triangles can overlap.
///
/// # Errors
///
/// See [`triangulate_scene`].
pub fn triangulate_scene_bounded(scene: &mut Scene, options: &RunOptions) -> Result<u64> {
    const PER_CORNER: u64 = 64;
    const SHARED: u64 = 32_000_000;
    let corners: u64 = paced(&scene.meshes).map(|mesh| polygon_corners(&mesh.faces)).sum();
    let max_looks = (PER_CORNER + SHARED / corners.max(1)).min(LOOKS_PER_CORNER);
    let bounded = BoundedWork { max_looks, unfinished: AtomicU64::new(0) };
    triangulate_meshes(scene, |_| TriangulateStyle::Bounded(&bounded), options)?;
    Ok(bounded.unfinished.into_inner())
}

/// Returns the number of corners of faces with more than four corners.
fn polygon_corners(faces: &Elements) -> u64 {
    let counts = faces.offsets.windows(2).map(|pair| u64::from(pair[1].saturating_sub(pair[0])));
    counts.filter(|&count| count > 4).sum()
}

/// Runs [`triangulate_scene`] with quads cut as Blender displays them and exports them to STL: from the first corner,
/// unless the second and fourth are on the same side of that diagonal.
///
/// # Errors
///
/// See [`triangulate_scene`].
pub fn triangulate_scene_as_shown(scene: &mut Scene, options: &RunOptions) -> Result<()> {
    triangulate_meshes(scene, |_| TriangulateStyle::Shown, options)
}

/// Runs [`triangulate_scene`] along the diagonals and in the order of Blender's OBJ and PLY exporters, as far as these
/// are known. One triangle of each face stays in its slot. Its other triangles follow the last face of the object, or
/// of the run of faces to which the same statements apply.
pub fn triangulate_scene_as_blender(scene: &mut Scene, options: &RunOptions) -> Result<()> {
    let mut objects: Vec<Vec<&Object>> = vec![Vec::new(); scene.meshes.len()];
    for object in paced(&scene.objects) {
        if let Some(objects) = objects.get_mut(object.mesh) {
            try_push(objects, object, "sections")?;
        }
    }
    let mut sections = Vec::new();
    for (mesh, objects) in paced(&scene.meshes).zip(objects) {
        try_push(&mut sections, blender::sections(mesh, &mut objects.into_iter())?, "sections")?;
    }
    triangulate_meshes(scene, |mesh| TriangulateStyle::Blender(&sections[mesh]), options)
}

/// Triangulates all meshes, each in its own style: small meshes in parallel, then each large mesh with all threads.
fn triangulate_meshes<'a>(
    scene: &mut Scene,
    style: impl Fn(usize) -> TriangulateStyle<'a> + Sync,
    options: &RunOptions,
) -> Result<()> {
    let mut maps: Vec<Option<TriangleMap>> = vec![None; scene.meshes.len()];
    let is_small = |mesh: &Mesh| mesh.faces.corner_positions.len() < SMALL_CORNERS;
    let small = paced(&mut scene.meshes).zip(&mut maps).enumerate().filter(|(_, (mesh, _))| is_small(mesh));
    let alone = options.clone().with_threads(Some(1));
    let threads = options.worker_threads();
    let mut result = try_for_each_item(
        threads,
        &options.cancel,
        small,
        || (),
        |(), (number, (mesh, map))| {
            *map = Some(triangulate_as(mesh, style(number), &alone)?);
            Ok(())
        },
    );
    for (number, (mesh, map)) in paced(&mut scene.meshes).zip(&mut maps).enumerate() {
        // A small mesh may have become large by now, but it already has a map.
        if result.is_ok() && !is_small(mesh) && map.is_none() {
            result = triangulate_as(mesh, style(number), options).map(|made| *map = Some(made));
        }
    }
    // Done after an error, too: meshes with a map have changed, and the scene must stay consistent.
    for object in paced(&mut scene.objects) {
        if let Some(Some(map)) = maps.get(object.mesh) {
            map.remap(&mut object.start);
            map.remap(&mut object.end);
        }
    }
    result
}

fn remap_mesh(mesh: &mut Mesh, map: &TriangleMap) {
    let runs = [&mut mesh.material_runs, &mut mesh.group_runs, &mut mesh.smoothing_runs];
    runs.into_iter().flatten().for_each(|run| map.remap(&mut run.at));
    mesh.curves.iter_mut().for_each(|curve| map.remap(&mut curve.at));
}

/// Checks offsets and indices, so that faces can be walked safely.
fn check(mesh: &Mesh, threads: usize, options: &RunOptions) -> Result<()> {
    let faces = &mesh.faces;
    check_streams(faces)?;
    let corners = faces.corner_positions.len();
    let ends = (faces.offsets.first().copied().unwrap_or(0), faces.offsets.last().copied().unwrap_or(0));
    // The second condition covers a count that the cast truncates.
    if ends != (0, corners as u32) || u32::try_from(corners).is_err() {
        let message = format!("face offsets range from {} to {}, but there are {corners} corners", ends.0, ends.1);
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let count = mesh.positions.len();
    let pieces = faces.corner_positions.chunks(PIECE).enumerate();
    try_for_each_item(
        threads,
        &options.cancel,
        pieces,
        || (),
        |(), (piece, positions)| {
            let Some(bad) = positions.iter().position(|&position| position as usize >= count) else {
                return Ok(());
            };
            Err(out_of_range(piece * PIECE + bad, "position", positions[bad], count))
        },
    )?;
    let chunks = (0..faces.len()).step_by(CHUNK_FACES);
    try_for_each_item(
        threads,
        &options.cancel,
        chunks,
        || (),
        |(), first| {
            let last = faces.len().min(first + CHUNK_FACES);
            let ends = &faces.offsets[first..=last];
            match ends.windows(2).position(|pair| pair[1].saturating_sub(pair[0]) < 3) {
                Some(bad) => {
                    let message = format!("face {} has fewer than three corners", first + bad);
                    Err(Error::new(ErrorKind::Usage, message))
                }
                None => Ok(()),
            }
        },
    )
}

fn triangle_count(faces: &Elements) -> Result<usize> {
    // Cannot underflow: `check` rejects faces with fewer than three corners.
    let triangles = faces.corner_positions.len() - 2 * faces.len();
    if triangles >= u32::MAX as usize / 3 {
        let message = format!("{triangles} triangles are too many for 32-bit offsets");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(triangles)
}

/// Returns the original corner of each new corner.
fn cut_faces(mesh: &Mesh, triangles: usize, style: TriangulateStyle<'_>, options: &RunOptions) -> Result<Vec<u32>> {
    let threads = options.worker_threads();
    let positions = mesh.local_positions()?;
    let offsets = &mesh.faces.offsets;
    let faces = mesh.faces.len();
    let chunks = (0..faces).step_by(CHUNK_FACES).map(|first| first..faces.min(first + CHUNK_FACES));
    let new_corners = |chunk: Range<usize>| {
        let corners = (offsets[chunk.end] - offsets[chunk.start]) as usize;
        3 * (corners - 2 * chunk.len())
    };
    let mut cut = zeroed(3 * triangles, "triangles")?;
    let items = chunks.clone().zip(split(&mut cut, chunks.map(new_corners)));
    let max_looks = match style {
        TriangulateStyle::Bounded(bounded) => Some(bounded.max_looks),
        _ => None,
    };
    let clipper = || Clipper::limited(max_looks);
    try_for_each_item(threads, &options.cancel, items, clipper, |clipper, (chunk, mut cut)| {
        for face in offsets[chunk.start..=chunk.end].windows(2) {
            let count = (face[1] - face[0]) as usize;
            let (triangles, rest) = cut.split_at_mut(3 * (count - 2));
            let indices = &mesh.faces.corner_positions[face[0] as usize..face[1] as usize];
            cut_face(&positions, indices, style, clipper, triangles, options)?;
            triangles.iter_mut().for_each(|corner| *corner += face[0]);
            cut = rest;
        }
        if let TriangulateStyle::Bounded(bounded) = style {
            bounded.unfinished.fetch_add(std::mem::take(&mut clipper.unfinished), Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(cut)
}

/// Writes the corners of a face's triangles, numbered within the face.
fn cut_face(
    positions: &[[f32; 3]],
    indices: &[u32],
    style: TriangulateStyle<'_>,
    clipper: &mut Clipper,
    triangles: &mut [u32],
    options: &RunOptions,
) -> Result<()> {
    let position = |index: u32| positions[index as usize];
    let point = |index: u32| position(index).map(f64::from);
    match *indices {
        [_, _, _] => triangles.copy_from_slice(&[0, 1, 2]),
        [a, b, c, d] if matches!(style, TriangulateStyle::Shown) => {
            let is_at_second = blender::is_shown_at_second([a, b, c, d].map(position));
            triangles.copy_from_slice(if is_at_second { &[0, 1, 3, 1, 2, 3] } else { &[0, 1, 2, 0, 2, 3] });
        }
        [a, b, c, d] => {
            let quad = [point(a), point(b), point(c), point(d)];
            triangles.copy_from_slice(&match style {
                TriangulateStyle::Blender(_) => blender::quad_triangles(&quad),
                _ if cut_at_second(&quad) => [0, 1, 3, 1, 2, 3],
                _ => [0, 1, 2, 0, 2, 3],
            });
        }
        _ => clipper.cut(indices.len(), |corner| point(indices[corner]), triangles, &options.cancel)?,
    }
    Ok(())
}

/// A point or vector in space or in a plane.
type Point<const N: usize> = [f64; N];

/// Returns whether a quad is better cut along its second diagonal (second to fourth corner) than along its first.
fn cut_at_second(quad: &[Point<3>; 4]) -> bool {
    /// Minimum area of a triangle, relative to the quad, to count as more than a rounding error.
    const MIN_PART: f64 = 1e-6;
    let [a, b, c, d] = *quad;
    let first = subtract(c, a);
    let second = subtract(d, b);
    // The length of the normal is twice the area of the quad. A triangle that faces the other way is outside the quad.
    let normal = cross(first, second);
    let area = |a, b, c| dot(cross(subtract(b, a), subtract(c, a)), normal);
    let at_first = area(a, b, c).min(area(a, c, d));
    let at_second = area(a, b, d).min(area(b, c, d));
    let min_area = MIN_PART * dot(normal, normal);
    match (at_first > min_area, at_second > min_area) {
        // The tolerance lets a grid of rectangles be cut the same way everywhere, despite rounding errors.
        (true, true) => dot(second, second) < dot(first, first) * (1.0 - MIN_PART),
        _ => at_second > at_first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_knows_both_ways() {
        let map = TriangleMap { face_offsets: vec![0, 3, 8, 12] };
        let triangles: Vec<_> = (0..5).map(|face| map.triangles(face)).collect();
        assert_eq!(triangles, [0..1, 1..4, 4..6, 6..6, 6..6]);
        let faces: Vec<_> = (0..7).map(|triangle| map.face(triangle)).collect();
        assert_eq!(faces, [Some(0), Some(1), Some(1), Some(1), Some(2), Some(2), None]);
        let empty = TriangleMap::default();
        assert_eq!((empty.triangles(0), empty.face(0)), (0..0, None));
    }

    #[test]
    fn quads_are_cut_inside_and_at_the_shorter_diagonal() {
        let quad = |corners: [[f64; 2]; 4]| cut_at_second(&corners.map(|[x, y]| [x, 3.0, -y]));
        assert!(!quad([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), "square: the first");
        assert!(quad([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [1.0, 1.0]]), "shorter");
        assert!(!quad([[0.0, 0.0], [3.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), "shorter");
        let mut dart = [[0.0, 0.0], [4.0, 1.0], [0.0, 2.0], [1.0, 1.0]];
        for reflex_is_second in [true, false, true, false] {
            assert_eq!(quad(dart), reflex_is_second, "concave");
            assert_eq!(quad([dart[0], dart[3], dart[2], dart[1]]), reflex_is_second, "clockwise");
            dart.rotate_left(1);
        }
        assert!(quad([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 9.0]]), "a corner on an edge");
        assert!(!quad([[f64::NAN; 2]; 4]) && !quad([[0.0; 2]; 4]), "degenerate: any");
    }
}
