//! Generates pbrt scenes in folders: the scenes of the tests, whose counts a naive reader verifies there, and `film`,
//! in the style of a film's assets.

use super::styles::general;
use super::{Grid, Text, hash};
use crate::Failure;
use polyhaul::options::Codec;
use polyhaul_testkit::pbrt::{self, FileKind, Layout, Spec};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes a scene (`one`, `many`, `many-gz`, `many-zst`, `film`) to `folder`, and returns the line of its counts.
/// `bytes` is the uncompressed size of the text.
pub fn write(kind: &str, megabytes: u64, folder: &Path) -> Result<String, Failure> {
    if kind == "film" {
        return film(megabytes, folder);
    }
    let (layout, codec) = match kind {
        "one" => (Layout::OneFile, None),
        "many" => (Layout::Imports, None),
        "many-gz" => (Layout::Imports, Some(Codec::Gzip)),
        "many-zst" => (Layout::Imports, Some(Codec::Zstd)),
        _ => return Err(format!("no kind {kind} of scene").into()),
    };
    // Files from a run with another size must not be counted.
    let _ = std::fs::remove_dir_all(folder);
    let threads = std::thread::available_parallelism()?.get();
    let made = pbrt::write(&Spec { layout, codec, threads, ..Spec::new(megabytes * 1_000_000) }, folder)?;
    let disk_bytes: u64 = made.files.iter().map(|file| file.disk_bytes).sum();
    let bytes = made.bytes(FileKind::Text).0;
    let counts = &made.counts;
    let instances = counts.directives["ObjectInstance"];
    Ok(format!(
        "megabytes={megabytes} bytes={bytes} disk_bytes={disk_bytes} positions={} faces={} instances={instances}\n",
        counts.positions, counts.unique_triangles
    ))
}

/// Writes one file in the style of a film export: meshes with lists of many megabytes on one line, a curve per
/// directive, instances with matrices of 16 numbers, all as `%.7g`. Each takes a third of the bytes.
fn film(megabytes: u64, folder: &Path) -> Result<String, Failure> {
    /// Side of a mesh's grid: about 30 MB of text.
    const SIDE: u32 = 720;
    std::fs::create_dir_all(folder)?;
    let mut text = Text::new(BufWriter::with_capacity(1 << 20, File::create(folder.join("scene.pbrt"))?));
    text.bytes(b"LookAt 0 5 -20 0 0 0 0 1 0\nCamera \"perspective\"\nWorldBegin\nLightSource \"infinite\"\n");
    text.bytes(b"ObjectBegin \"leaf\"\nShape \"disk\" \"float radius\" [ 0.25 ]\nObjectEnd\n");
    let mut index = 0;
    let mut instances = 0;
    let bytes = megabytes * 1_000_000;
    let share = |part: u64| bytes * part / 3;
    while text.counts[3] < share(1) {
        let side = SIDE.min((bytes as f64 / 180.0).sqrt() as u32);
        let grid = Grid { rows: side, columns: side, seed: index, seam: 0, origin: [0.0; 3], size: 40.0 };
        mesh(&mut text, &grid)?;
        index += 1;
    }
    while text.counts[3] < share(2) {
        text.bytes(b"Shape \"curve\" \"string type\" [ \"flat\" ] \"point3 P\" [");
        numbers(&mut text, (0..12).map(|at| random(index, at, 50.0)));
        text.bytes(b" ] \"float width0\" [");
        numbers(&mut text, [random(index, 12, 0.01)]);
        text.bytes(b" ]\n");
        text.spill()?;
        index += 1;
    }
    while text.counts[3] < bytes {
        text.bytes(b"AttributeBegin\n  Transform [");
        let number = |at: u32| match at {
            15 => 1.0,
            3 | 7 | 11 => 0.0,
            12..15 => random(index, at, 500.0),
            _ => random(index, at, 1.0),
        };
        numbers(&mut text, (0..16).map(number));
        text.bytes(b" ]\n  ObjectInstance \"leaf\"\nAttributeEnd\n");
        text.spill()?;
        index = index + 1;
        instances = instances + 1;
    }
    let counts = text.finish()?;
    Ok(format!(
        "megabytes={megabytes} bytes={bytes} disk_bytes={bytes} positions={} faces={} instances={instances}\n",
        counts[0],
        counts[2],
        bytes = counts[3]
    ))
}

/// Writes a grid as one directive, with each list on one line.
fn mesh(text: &mut Text, grid: &Grid) -> Result<(), Failure> {
    text.bytes(b"Shape \"trianglemesh\" \"integer indices\" [");
    for row in 0..grid.rows - 1 {
        for column in 0..grid.columns - 1 {
            let at = row * grid.columns + column;
            for index in [at, at + 1, at + grid.columns, at + 1, at + grid.columns + 1, at + grid.columns] {
                text.bytes(b" ");
                text.integer(index.into());
            }
            text.counts[2] += 2;
        }
        text.spill()?;
    }
    text.bytes(b" ]\n  \"point3 P\" [");
    for (row, column) in grid.vertices(0) {
        numbers(text, grid.position(row, column).map(f64::from));
        text.spill()?;
    }
    text.bytes(b" ]\n  \"normal N\" [");
    for (row, column) in grid.vertices(0) {
        numbers(text, grid.normal(row, column).map(f64::from));
        text.spill()?;
    }
    text.bytes(b" ]\n");
    text.counts[0] += u64::from(grid.rows * grid.columns);
    text.spill()
}

fn numbers(text: &mut Text, values: impl IntoIterator<Item = f64>) {
    for value in values {
        text.bytes(b" ");
        text.bytes(general(value, 7).as_bytes());
    }
}

/// Returns a number from -`max` to `max`.
fn random(index: u32, at: u32, max: f64) -> f64 {
    max * f64::from(hash(index, at, 7) as i32) / f64::from(i32::MAX)
}
