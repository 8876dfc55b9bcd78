//! Keeps a set of vertices of a scene.
//!
//! Removes elements unless all their vertices are kept. Keeps indexed uvs and normals, even if no face refers to them
//! anymore.

use crate::chooser::Chooser;
use crate::fields::{Fields, Placement};
use crate::options::RowOptions;
use crate::place;
use crate::set::RowSet;
use crate::table::{keep_column, keep_values};
use polyhaul_geometry::linear::IDENTITY64;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Array, Counts, Curve, Domain, Elements, Mesh, Scene};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::paced;

/// Keeps the vertices in `chosen`, which numbers vertices across all meshes, or the vertices that the options select if
/// `chosen` is `None`. Then applies the transform in the options. If the options keep all rows, `chosen` is ignored.
///
/// # Errors
/// [`ErrorKind::Usage`] if a column does not exist or the result cannot be transformed; [`ErrorKind::Unsupported`] for
/// a renderer scene, if `chosen` does not have one row per vertex, or if only some of the objects that share a mesh
/// have a transform; [`ErrorKind::Memory`]; cancellation.
pub fn keep_scene(scene: &mut Scene, chosen: Option<RowSet>, options: &RowOptions, run: &RunOptions) -> Result<()> {
    if scene.render.is_some() {
        let error = Error::new(ErrorKind::Unsupported, "cannot filter the vertices of a renderer scene");
        return Err(error.with_hint("convert it to a mesh format first, such as ply"));
    }
    if !options.keeps_all() {
        let set = match chosen {
            Some(set) => set,
            None => choose(scene, options, run)?,
        };
        let counts: u64 = paced(&scene.meshes).map(|mesh| mesh.positions.len() as u64).sum();
        if counts != set.rows() {
            let message = format!("the filter covers {} rows, but the mesh has {counts} vertices", set.rows());
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_hint("convert to a table format, such as csv or ply"));
        }
        keep_meshes(scene, &set)?;
    }
    options.transform.iter().try_for_each(|matrix| place::move_scene(scene, matrix, run))
}

/// Keeps the vertices of a scene for which `keeps` returns `true`. `keeps` is called in order with vertex indices,
/// which continue from mesh to mesh.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn keep_vertices(scene: &mut Scene, mut keeps: impl FnMut(u64) -> bool) -> Result<()> {
    let count: usize = paced(&scene.meshes).map(|mesh| mesh.positions.len()).sum();
    let set = RowSet::from_fn(count, |vertex| Ok(keeps(vertex as u64)))?;
    keep_meshes(scene, &set)
}

fn choose(scene: &Scene, options: &RowOptions, run: &RunOptions) -> Result<RowSet> {
    let mut chooser = Chooser::new(options, run)?;
    for (mesh, objects) in paced(&scene.meshes).zip(objects_by_mesh(scene)?) {
        let passed = chooser.look(&Fields::of_mesh(mesh, placement(scene, &objects)))?;
        chooser.add(passed)?;
    }
    chooser.finish()
}

/// Returns the indices of the objects of each mesh.
pub(crate) fn objects_by_mesh(scene: &Scene) -> Result<Vec<Vec<usize>>> {
    let mut by_mesh: Vec<Vec<usize>> = Vec::new();
    by_mesh.try_reserve_exact(scene.meshes.len()).map_err(|_| Error::memory("objects"))?;
    by_mesh.resize_with(scene.meshes.len(), Vec::new);
    for (number, object) in paced(&scene.objects).enumerate() {
        if let Some(objects) = by_mesh.get_mut(object.mesh) {
            try_push(objects, number, "objects")?;
        }
    }
    Ok(by_mesh)
}

/// Returns the transform of the objects that use a mesh.
fn placement<'s>(scene: &'s Scene, objects: &[usize]) -> Placement<'s> {
    let mut transforms = objects.iter().map(|&object| scene.objects[object].transform.as_ref().unwrap_or(&IDENTITY64));
    match transforms.next() {
        Some(first) if transforms.any(|other| other != first) => Placement::Many,
        Some(matrix) if *matrix != IDENTITY64 => Placement::By(matrix),
        _ => Placement::AsIs,
    }
}

fn keep_meshes(scene: &mut Scene, set: &RowSet) -> Result<()> {
    let mut first = 0;
    let objects = objects_by_mesh(scene)?;
    for (mesh, objects) in paced(&mut scene.meshes).zip(objects) {
        let rows = mesh.positions.len();
        let remaining = Kept::of_mesh(mesh, set, first)?;
        for object in objects {
            let object = &mut scene.objects[object];
            object.start = remaining.counts(mesh, object.start);
            object.end = remaining.counts(mesh, object.end);
        }
        remaining.apply(mesh)?;
        first += rows as u64;
    }
    Ok(())
}

/// The parts of a mesh to keep.
struct Kept<'s> {
    vertices: &'s RowSet,
    /// Row of the mesh's first vertex in `vertices`.
    first: u64,
    /// Number of kept vertices of the previous meshes.
    before: u64,
    faces: RowSet,
    lines: RowSet,
    points: RowSet,
    curves: RowSet,
    /// The number of kept corners before each face, followed by their total; empty unless uvs or normals are stored per
    /// corner.
    corners: Vec<u32>,
}

/// Computes the number of kept corners before each face, followed by their total.
fn corners_before(faces: &Elements, set: &RowSet) -> Result<Vec<u32>> {
    let mut before: Vec<u32> = zeroed(faces.len() + 1, "corners")?;
    let mut sum = 0;
    for (face, before) in before.iter_mut().enumerate() {
        *before = sum;
        sum += if set.has(face as u64) { faces.corners(face).len() as u32 } else { 0 };
    }
    Ok(before)
}

impl<'s> Kept<'s> {
    fn of_mesh(mesh: &Mesh, vertices: &'s RowSet, first: u64) -> Result<Kept<'s>> {
        let has = |position: &u32| vertices.has(first + u64::from(*position));
        let whole = |elements: &Elements| {
            let corners = elements.corner_positions.as_slice();
            let is_whole = |at| corners.get(elements.corners(at)).is_some_and(|positions| positions.iter().all(has));
            RowSet::from_fn(elements.len(), |at| Ok(is_whole(at)))
        };
        let faces = whole(&mesh.faces)?;
        let has_corners = [mesh.uv_domain, mesh.normal_domain].contains(&Domain::Corner);
        let corners = if has_corners { corners_before(&mesh.faces, &faces)? } else { Vec::new() };
        Ok(Kept {
            vertices,
            first,
            before: vertices.rank(first),
            faces,
            corners,
            lines: whole(&mesh.lines)?,
            points: RowSet::from_fn(mesh.points.len(), |at| Ok(has(&mesh.points[at])))?,
            curves: RowSet::from_fn(mesh.curves.len(), |at| Ok(mesh.curves[at].control_points.iter().all(has)))?,
        })
    }

    /// Returns the new index of a vertex.
    fn vertex(&self, position: u32) -> u32 {
        (self.vertices.rank(self.first + u64::from(position)) - self.before) as u32
    }

    /// Returns the new index of a face corner.
    fn corner(&self, faces: &Elements, corner: u32) -> u32 {
        let face = faces.offsets.partition_point(|&offset| offset <= corner).saturating_sub(1);
        let before = self.corners.get(face).copied().unwrap_or(0);
        let within = corner - faces.offsets.get(face).copied().unwrap_or(corner);
        if self.faces.has(face as u64) { before + within } else { before }
    }

    /// Converts counts of elements of the mesh to counts of kept elements.
    fn counts(&self, mesh: &Mesh, counts: Counts) -> Counts {
        let value = |domain: Domain, index: u32| match domain {
            Domain::Indexed => index,
            Domain::Corner => self.corner(&mesh.faces, index),
            Domain::Vertex => self.vertex(index),
            Domain::Face => self.faces.rank(index.into()) as u32,
        };
        Counts {
            positions: self.vertex(counts.positions),
            uvs: value(mesh.uv_domain, counts.uvs),
            normals: value(mesh.normal_domain, counts.normals),
            faces: self.faces.rank(counts.faces.into()) as u32,
            lines: self.lines.rank(counts.lines.into()) as u32,
            points: self.points.rank(counts.points.into()) as u32,
            curves: self.curves.rank(counts.curves.into()) as u32,
        }
    }

    fn apply(&self, mesh: &mut Mesh) -> Result<()> {
        self.move_runs(mesh);
        self.keep_attributes(mesh)?;
        self.keep_faces_columns(mesh)?;
        self.keep_vertices(mesh)?;
        self.keep_elements(&mut mesh.faces, &self.faces)?;
        self.keep_elements(&mut mesh.lines, &self.lines)?;
        keep(&mut mesh.points, &self.points, 0)?;
        mesh.points.to_mut()?.iter_mut().for_each(|point| *point = self.vertex(*point));
        let mut number = 0;
        mesh.curves.retain_mut(|curve: &mut Curve| {
            curve.control_points.iter_mut().for_each(|position| *position = self.vertex(*position));
            number += 1;
            self.curves.has(number - 1)
        });
        Ok(())
    }

    /// Updates the positions of runs and curves in the element order, which are stored as counts of preceding elements.
    fn move_runs(&self, mesh: &mut Mesh) {
        let mut runs = [&mut mesh.material_runs, &mut mesh.group_runs, &mut mesh.smoothing_runs].map(std::mem::take);
        for run in runs.iter_mut().flatten() {
            run.at = self.counts(mesh, run.at);
        }
        [mesh.material_runs, mesh.group_runs, mesh.smoothing_runs] = runs;
        let mut curves = std::mem::take(&mut mesh.curves);
        for curve in &mut curves {
            curve.at = self.counts(mesh, curve.at);
        }
        mesh.curves = curves;
    }

    /// Keeps uvs and normals stored per vertex, corner or face.
    fn keep_attributes(&self, mesh: &mut Mesh) -> Result<()> {
        let Mesh { uvs, uv_domain, uv_depths, normals, normal_domain, faces, .. } = mesh;
        self.keep_values(uvs, *uv_domain, faces)?;
        self.keep_values(uv_depths, *uv_domain, faces)?;
        self.keep_values(normals, *normal_domain, faces)
    }

    fn keep_values<T: Copy>(&self, values: &mut Array<T>, domain: Domain, faces: &Elements) -> Result<()> {
        match domain {
            Domain::Indexed => Ok(()),
            Domain::Vertex => keep(values, self.vertices, self.first),
            Domain::Face => keep(values, &self.faces, 0),
            Domain::Corner => keep_corners(values, &self.faces, &faces.offsets),
        }
    }

    fn keep_faces_columns(&self, mesh: &mut Mesh) -> Result<()> {
        keep(&mut mesh.face_materials, &self.faces, 0)?;
        keep(&mut mesh.face_smooth, &self.faces, 0)?;
        let count = mesh.faces.len();
        mesh.face_columns.iter_mut().try_for_each(|column| keep_column(column, &self.faces, 0, count))
    }

    fn keep_vertices(&self, mesh: &mut Mesh) -> Result<()> {
        let set = self.vertices;
        let first = self.first;
        let count = mesh.positions.len();
        mesh.vertex_columns.iter_mut().try_for_each(|column| keep_column(column, set, first, count))?;
        keep(&mut mesh.positions, set, first)?;
        keep(&mut mesh.exact_positions, set, first)?;
        keep(&mut mesh.position_weights, set, first)?;
        keep(&mut mesh.colors, set, first)?;
        for group in &mut mesh.vertex_groups {
            keep(&mut group.weights, set, first)?;
        }
        let edges = mesh.sharp_edges.to_mut()?;
        edges.retain(|edge| edge.iter().all(|&end| set.has(first + u64::from(end))));
        edges.iter_mut().for_each(|edge| *edge = edge.map(|end| self.vertex(end)));
        Ok(())
    }

    /// Keeps elements and renumbers their vertices.
    fn keep_elements(&self, elements: &mut Elements, set: &RowSet) -> Result<()> {
        let count = elements.len();
        if count == 0 {
            return Ok(());
        }
        keep_corners(&mut elements.corner_uvs, set, &elements.offsets)?;
        keep_corners(&mut elements.corner_normals, set, &elements.offsets)?;
        let offsets = elements.offsets.to_mut()?;
        crate::table::keep_lists(&mut elements.corner_positions, offsets, set.among(0, count))?;
        elements.corner_positions.to_mut()?.iter_mut().for_each(|position| *position = self.vertex(*position));
        Ok(())
    }
}

/// Keeps the values of the rows in the set; the first value belongs to row `first`. Attributes that the mesh lacks stay
/// empty.
fn keep<T: Copy>(values: &mut Array<T>, set: &RowSet, first: u64) -> Result<()> {
    let count = values.len();
    if count == 0 { Ok(()) } else { keep_values(values, set, first, count) }
}

/// Keeps the per-corner values of kept elements.
fn keep_corners<T: Copy>(values: &mut Array<T>, set: &RowSet, offsets: &[u32]) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let values = values.to_mut()?;
    let mut to = 0;
    for element in set.among(0, offsets.len().saturating_sub(1)) {
        let corners = offsets[element] as usize..offsets[element + 1] as usize;
        let size = corners.len();
        values.copy_within(corners, to);
        to += size;
    }
    values.truncate(to);
    Ok(())
}
