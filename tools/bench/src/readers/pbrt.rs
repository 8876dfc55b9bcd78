//! Reads pbrt scenes: a folder with the main file `scene.pbrt`, compressed or not. No registry has a comparable reader.

use super::{ModelCounts, load, report};
use crate::Failure;
use polyhaul::inspect::Inventory;
use polyhaul::model::Scene;
use std::path::{Path, PathBuf};

/// Reads the scene in `folder`, and prints the measurement.
pub fn main(folder: &Path, threads: usize) -> Result<(), Failure> {
    let file = main_file(folder)?;
    report(|| load(&file, threads), found)
}

pub fn main_file(folder: &Path) -> Result<PathBuf, Failure> {
    let names = ["scene.pbrt", "scene.pbrt.gz", "scene.pbrt.zst"].into_iter();
    let mut files = names.map(|name| folder.join(name));
    files.find(|file| file.exists()).ok_or(format!("{}: no scene", folder.display()).into())
}

fn found(scene: &Scene) -> ModelCounts {
    let contents =
        Inventory::from_scene(scene).ok().and_then(|inventory| inventory.render).unwrap_or_default().contents;
    ModelCounts { positions: contents.positions, faces: contents.unique_triangles, model_bytes: None }
}
