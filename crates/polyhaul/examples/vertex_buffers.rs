//! Loads the first mesh of a scene as a game engine does: triangles with one index per corner, and a draw call for each
//! run of faces with the same material.
//!
//!     cargo run --release --example vertex_buffers -- scene.obj

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use polyhaul::model::{NONE, Run};
use polyhaul::ops::MeshOps;
use polyhaul::options::OnError;
use polyhaul::{Reader, Result};
use std::path::Path;

/// A vertex as a GPU reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vertex {
    /// Position.
    pub position: [f32; 3],
    /// Unit normal; zeros if the corner has none.
    pub normal: [f32; 3],
    /// Texture coordinates; zeros if the corner has none.
    pub uv: [f32; 2],
}

/// The buffers of a mesh.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Vertices.
    pub vertices: Vec<Vertex>,
    /// Vertex index of each corner, three per triangle.
    pub indices: Vec<u32>,
    /// Material and index count of each draw call, in order.
    pub draws: Vec<(Option<usize>, usize)>,
}

/// Reads the first mesh of a scene.
pub fn load(path: &Path) -> Result<Buffers> {
    let loaded = Reader::new(path).on_error(OnError::Warn).scene()?;
    for warning in loaded.report.warnings.kept() {
        eprintln!("warning: {}", warning.diagnostic);
    }
    let mut scene = loaded.value;
    let Some(mesh) = scene.meshes.first_mut() else { return Ok(Buffers::default()) };
    mesh.triangulate()?;
    let welded = mesh.weld()?;
    // A vertex without a value has the index `NONE`, which is out of range. The lists are empty if no corner has the
    // attribute.
    let vertices = (0..welded.vertex_positions.len()).map(|vertex| Vertex {
        position: mesh.positions[welded.vertex_positions[vertex] as usize],
        normal: value(&mesh.normals, &welded.vertex_normals, vertex),
        uv: value(&mesh.uvs, &welded.vertex_uvs, vertex),
    });
    let vertices = vertices.collect();
    // Faces with the same material are consecutive: a run applies until the next one starts.
    let faces_before = |run: &Run| run.at.faces as usize;
    let ends = mesh.material_runs.iter().skip(1).map(faces_before).chain([mesh.faces.len()]);
    let runs = mesh.material_runs.iter().zip(ends);
    let material = |run: &Run| (run.value != NONE).then_some(run.value as usize);
    let draws = runs.map(|(run, end)| (material(run), 3 * (end - faces_before(run)))).collect();
    Ok(Buffers { vertices, indices: welded.corner_vertices, draws })
}

fn value<T: Copy + Default>(values: &[T], indices: &[u32], vertex: usize) -> T {
    let index = indices.get(vertex).copied().unwrap_or(NONE);
    values.get(index as usize).copied().unwrap_or_default()
}

#[allow(dead_code, reason = "tests call `load`")]
fn main() -> Result<()> {
    for path in std::env::args_os().skip(1) {
        let Buffers { vertices, indices, draws } = load(Path::new(&path))?;
        println!("{} vertices, {} indices, {} draw calls", vertices.len(), indices.len(), draws.len());
    }
    Ok(())
}
