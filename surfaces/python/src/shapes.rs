//! Operations on meshes, which return a new mesh or an array.

use crate::arrays::Array;
use crate::errors;
use crate::job::{self, Job};
use crate::mesh::NativeMesh;
use polyhaul::model::{Counts, Domain, Mesh};
use polyhaul::ops::{self, FlatOptions, FlatSection, MeshOps, SectionPositions, Surface, SurfacePositions, Topology};
use polyhaul::options::RunOptions;
use pyo3::prelude::*;

/// Corner or position count below which a mesh is processed on the calling thread: a few hundred microseconds of work.
const SMALL: usize = 1 << 16;

/// Extracts the section of a mesh between two counts as a separate mesh.
#[pyfunction]
pub(crate) fn mesh_section(
    py: Python<'_>,
    mesh: &NativeMesh,
    start: [u32; Counts::KINDS],
    end: [u32; Counts::KINDS],
    used_only: bool,
) -> PyResult<NativeMesh> {
    let which = if used_only { SectionPositions::Used } else { SectionPositions::Own };
    let start = Counts::from_array(start);
    let end = Counts::from_array(end);
    // Not a job: there may be a hundred thousand sections of a few microseconds each.
    py.detach(|| mesh.section(start, end, which)).map_err(|error| errors::exception(py, &error))
}

/// Extracts sections of a mesh in the layout most programs use, with all attributes per corner or per face.
#[pyfunction]
pub(crate) fn flat_sections(
    py: Python<'_>,
    mesh: &NativeMesh,
    cuts: Vec<[[u32; Counts::KINDS]; 2]>,
    missing_uv: f32,
    normals: bool,
    unused_positions: bool,
    threads: Option<usize>,
) -> PyResult<Vec<FlatOut>> {
    let whole = mesh.mesh(py);
    let positions = if unused_positions { SectionPositions::Own } else { SectionPositions::Used };
    let options = FlatOptions::default().with_missing_uv(missing_uv).with_normals(normals).with_positions(positions);
    let cuts: Vec<_> = cuts.into_iter().map(|cut| cut.map(Counts::from_array).into()).collect();
    let work = move |job: &Job| whole.flat_sections_with(&cuts, &options, &run_options(job, threads));
    Ok(job::run(py, None, work)?.into_iter().map(|section| FlatOut::new(mesh, section)).collect())
}

/// A section for Python: its arrays and properties, and the mesh itself.
#[derive(IntoPyObject)]
pub(crate) struct FlatOut {
    counts: [u32; Counts::KINDS],
    positions: Array,
    colors: Array,
    corner_positions: Array,
    face_offsets: Array,
    uvs: Array,
    normals: Array,
    material_slots: Array,
    smooth: Array,
    materials: Vec<u32>,
    has_all_normals: bool,
    has_unit_normals: bool,
    native: NativeMesh,
}

impl FlatOut {
    fn new(whole: &NativeMesh, section: FlatSection) -> FlatOut {
        let native = whole.derived(section.mesh);
        let mesh = native.as_mesh();
        FlatOut {
            counts: mesh.counts().to_array(),
            positions: Array::new(mesh.positions.clone()),
            colors: Array::new(mesh.colors.clone()),
            corner_positions: Array::new(mesh.faces.corner_positions.clone()),
            face_offsets: Array::new(mesh.faces.offsets.clone()),
            uvs: Array::new(mesh.uvs.clone()),
            normals: Array::new(mesh.normals.clone()),
            material_slots: Array::new(mesh.face_materials.clone()),
            smooth: Array::new(mesh.face_smooth.clone()),
            materials: section.materials,
            has_all_normals: section.has_all_normals,
            has_unit_normals: section.has_unit_normals,
            native,
        }
    }
}

/// For each mesh, returns the edges, the edge that starts at each corner, and whether the faces are clean.
#[pyfunction]
pub(crate) fn topologies(
    py: Python<'_>,
    meshes: Vec<PyRef<'_, NativeMesh>>,
    threads: Option<usize>,
) -> PyResult<Vec<(Array, Array, bool)>> {
    let meshes: Vec<Mesh> = meshes.iter().map(|mesh| mesh.mesh(py)).collect();
    let work = move |job: &Job| ops::topologies(&meshes.iter().collect::<Vec<_>>(), &run_options(job, threads));
    let out = |topology: Topology| {
        (Array::new(topology.edges.positions), Array::new(topology.edges.corner_edges), topology.has_clean_faces)
    };
    Ok(job::run(py, None, work)?.into_iter().map(out).collect())
}

/// Welds a mesh, so that each corner has a single index.
#[pyfunction]
#[pyo3(signature = (mesh, threads))]
pub(crate) fn mesh_weld(py: Python<'_>, mesh: &NativeMesh, threads: Option<usize>) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, |mesh, run| mesh.welded_with(run))
}

/// Triangulates a mesh.
#[pyfunction]
#[pyo3(signature = (mesh, threads))]
pub(crate) fn mesh_triangulate(py: Python<'_>, mesh: &NativeMesh, threads: Option<usize>) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, |mut mesh, run| mesh.triangulate_with(run).map(|_| mesh))
}

/// Transforms a mesh by a matrix.
#[pyfunction]
#[pyo3(signature = (mesh, matrix, threads))]
pub(crate) fn mesh_transform(
    py: Python<'_>,
    mesh: &NativeMesh,
    matrix: [[f64; 4]; 4],
    threads: Option<usize>,
) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, move |mut mesh, run| mesh.transform_with(&matrix, run).map(|()| mesh))
}

/// Whether no face of a mesh uses a position twice, and no two faces have the same positions.
#[pyfunction]
#[pyo3(signature = (mesh, threads))]
pub(crate) fn mesh_is_clean(py: Python<'_>, mesh: &NativeMesh, threads: Option<usize>) -> PyResult<bool> {
    asked(py, mesh, threads, |mesh, run| mesh.has_clean_faces_with(run))
}

/// Checks the surface of a mesh for faults and measures it.
#[pyfunction]
#[pyo3(signature = (mesh, merge, threads))]
pub(crate) fn mesh_check(
    py: Python<'_>,
    mesh: &NativeMesh,
    merge: bool,
    threads: Option<usize>,
) -> PyResult<SurfaceOut> {
    asked(py, mesh, threads, move |mesh, run| mesh.check_surface_with(positions(merge), run)).map(SurfaceOut::new)
}

/// A checked surface for Python, with the field names of `SurfaceCheck`.
#[derive(IntoPyObject)]
pub(crate) struct SurfaceOut {
    face_count: u64,
    position_count: u64,
    edge_count: u64,
    component_count: u64,
    euler_number: i64,
    area: f64,
    volume: f64,
    is_watertight: bool,
    is_consistent: bool,
    open_edges: Array,
    non_manifold_edges: Array,
    flipped_edges: Array,
    duplicate_faces: Array,
    degenerate_faces: Array,
}

impl SurfaceOut {
    fn new(surface: Surface) -> SurfaceOut {
        SurfaceOut {
            face_count: surface.faces,
            position_count: surface.positions,
            edge_count: surface.edges,
            component_count: surface.components,
            euler_number: surface.euler_number,
            area: surface.area,
            volume: surface.volume,
            is_watertight: surface.is_watertight(),
            is_consistent: surface.is_consistent(),
            open_edges: Array::owned(surface.open_edges),
            non_manifold_edges: Array::owned(surface.non_manifold_edges),
            flipped_edges: Array::owned(surface.flipped_edges),
            duplicate_faces: Array::owned(surface.duplicate_faces),
            degenerate_faces: Array::owned(surface.degenerate_faces),
        }
    }
}

/// Computes normals: per position, or per face if `flat`.
#[pyfunction]
#[pyo3(signature = (mesh, flat, merge, threads))]
pub(crate) fn mesh_normals(
    py: Python<'_>,
    mesh: &NativeMesh,
    flat: bool,
    merge: bool,
    threads: Option<usize>,
) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, move |mut mesh, run| {
        let normals =
            if flat { mesh.face_normals_with(run)? } else { mesh.position_normals_with(positions(merge), run)? };
        mesh.normals = normals.into();
        mesh.normal_domain = if flat { Domain::Face } else { Domain::Vertex };
        mesh.faces.corner_normals = Vec::new().into();
        mesh.lines.corner_normals = Vec::new().into();
        mesh.move_curves_behind();
        Ok(mesh)
    })
}

fn positions(merge: bool) -> SurfacePositions {
    if merge { SurfacePositions::Merged } else { SurfacePositions::Stored }
}

/// Expands `uvs`, `normals` or `colors` to a value per corner; `None` if the mesh has none.
#[pyfunction]
#[pyo3(signature = (mesh, name, missing, threads))]
pub(crate) fn per_corner(
    py: Python<'_>,
    mesh: &NativeMesh,
    name: String,
    missing: f32,
    threads: Option<usize>,
) -> PyResult<Option<Array>> {
    asked(py, mesh, threads, move |mesh, run| {
        Ok(match &name[..] {
            "uvs" => mesh.corner_uvs_with([missing; 2], run)?.map(Array::owned),
            "normals" => mesh.corner_normals_with([missing; 3], run)?.map(Array::owned),
            _ => mesh.corner_colors_with(run)?.map(Array::owned),
        })
    })
}

/// Applies `change` to a copy of a mesh.
fn changed(
    py: Python<'_>,
    mesh: &NativeMesh,
    threads: Option<usize>,
    change: impl FnOnce(Mesh, &RunOptions) -> polyhaul::Result<Mesh> + Send + 'static,
) -> PyResult<NativeMesh> {
    asked(py, mesh, threads, |mesh, run| change(mesh, run)).map(|made| mesh.derived(made))
}

/// Applies `ask` to a mesh: a large one as a job, a small one on this thread, since starting a job would take longer.
fn asked<T: Send + 'static>(
    py: Python<'_>,
    mesh: &NativeMesh,
    threads: Option<usize>,
    ask: impl FnOnce(Mesh, &RunOptions) -> polyhaul::Result<T> + Send + 'static,
) -> PyResult<T> {
    let mesh = mesh.mesh(py);
    if mesh.faces.corner_positions.len().max(mesh.positions.len()) < SMALL {
        let run = RunOptions::default().with_threads(Some(1));
        return py.detach(|| ask(mesh, &run)).map_err(|error| errors::exception(py, &error));
    }
    job::run(py, None, move |job| ask(mesh, &run_options(job, threads)))
}

fn run_options(job: &Job, threads: Option<usize>) -> RunOptions {
    let mut run = RunOptions::default().with_threads(threads);
    job.rule(&mut run);
    run
}
