//! Merges scenes of any formats into one file, side by side along x.
//!
//!     cargo run --release --example merge_scenes -- chair.obj table.ply lamp.stl -o room.glb

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use polyhaul::model::Scene;
use polyhaul::{Reader, Result, Writer};
use std::path::Path;

/// Merges the scenes; returns the number of objects.
pub fn merge(inputs: &[&Path], output: &Path) -> Result<usize> {
    let mut merged = Scene::default();
    let mut next_x = 0.0;
    for input in inputs {
        let mut scene = Reader::new(*input).scene()?.value;
        let Some(bounds) = scene.bounds() else { continue };
        let first_mesh = merged.meshes.len();
        let first_material = merged.materials.len();
        for object in &mut scene.objects {
            object.mesh += first_mesh;
            let mut matrix = object.transform.unwrap_or(IDENTITY);
            matrix[0][3] += next_x - f64::from(bounds.min[0]);
            object.transform = Some(matrix);
            for slot in object.materials.iter_mut().flatten().flatten() {
                *slot += first_material;
            }
        }
        for run in scene.meshes.iter_mut().flat_map(|mesh| &mut mesh.material_runs) {
            run.value += if run.value == polyhaul::model::NONE { 0 } else { first_material as u32 };
        }
        next_x += 1.25 * f64::from(bounds.max[0] - bounds.min[0]);
        merged.objects.append(&mut scene.objects);
        merged.meshes.append(&mut scene.meshes);
        merged.materials.append(&mut scene.materials);
    }
    Writer::new(output).scene(&merged)?;
    Ok(merged.objects.len())
}

const IDENTITY: [[f64; 4]; 4] =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

#[allow(dead_code, reason = "tests call `merge`")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [inputs @ .., dash, output] = arguments.as_slice() else {
        eprintln!("usage: merge_scenes INPUT... -o OUTPUT");
        std::process::exit(2);
    };
    assert_eq!(dash, "-o");
    let inputs: Vec<&Path> = inputs.iter().map(Path::new).collect();
    println!("{} objects", merge(&inputs, Path::new(output))?);
    Ok(())
}
