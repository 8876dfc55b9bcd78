//! Operations on meshes: each gives another mesh, or an array.

use crate::arrays::Array;
use crate::errors;
use crate::job::{self, Job};
use crate::mesh::NativeMesh;
use polyhaul::model::{Counts, Mesh};
use polyhaul::ops::MeshOps;
use polyhaul::options::RunOptions;
use pyo3::prelude::*;

/// The section of a mesh between these counts, as a mesh of its own.
#[pyfunction]
pub(crate) fn mesh_section(
    py: Python<'_>,
    mesh: &NativeMesh,
    start: [u32; Counts::KINDS],
    end: [u32; Counts::KINDS],
) -> PyResult<NativeMesh> {
    let (mesh, start, end) = (mesh.mesh(), Counts::from_array(start), Counts::from_array(end));
    // Not a job of its own: there may be a hundred thousand sections, each of a few microseconds.
    let section = py.detach(|| mesh.section(start, end)).map_err(|error| errors::exception(py, &error))?;
    Ok(NativeMesh::new(section))
}

/// The mesh with one index per corner.
#[pyfunction]
#[pyo3(signature = (mesh, threads))]
pub(crate) fn mesh_weld(py: Python<'_>, mesh: &NativeMesh, threads: Option<usize>) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, |mesh, run| mesh.welded_with(run))
}

/// The mesh with triangles only.
#[pyfunction]
#[pyo3(signature = (mesh, threads))]
pub(crate) fn mesh_triangulate(py: Python<'_>, mesh: &NativeMesh, threads: Option<usize>) -> PyResult<NativeMesh> {
    changed(py, mesh, threads, |mut mesh, run| mesh.triangulate_with(run).map(|_| mesh))
}

/// The mesh moved by a matrix.
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

/// The values of `uvs`, `normals` or `colors` at each corner; nothing if the mesh has none.
#[pyfunction]
#[pyo3(signature = (mesh, name, missing, threads))]
pub(crate) fn per_corner(
    py: Python<'_>,
    mesh: &NativeMesh,
    name: String,
    missing: f32,
    threads: Option<usize>,
) -> PyResult<Option<Array>> {
    let mesh = mesh.mesh();
    job::run(py, None, move |job| {
        let run = &run_options(job, threads);
        Ok(match &name[..] {
            "uvs" => mesh.corner_uvs_with([missing; 2], run)?.map(Array::owned),
            "normals" => mesh.corner_normals_with([missing; 3], run)?.map(Array::owned),
            _ => mesh.corner_colors_with(run)?.map(Array::owned),
        })
    })
}

/// The mesh that `change` makes of another.
fn changed(
    py: Python<'_>,
    mesh: &NativeMesh,
    threads: Option<usize>,
    change: impl FnOnce(Mesh, &RunOptions) -> polyhaul::Result<Mesh> + Send + 'static,
) -> PyResult<NativeMesh> {
    let mesh = mesh.mesh();
    job::run(py, None, move |job| change(mesh, &run_options(job, threads))).map(NativeMesh::new)
}

fn run_options(job: &Job, threads: Option<usize>) -> RunOptions {
    let mut run = RunOptions::default().with_threads(threads);
    job.rule(&mut run);
    run
}
