//! pbrt scenes in folders: those of the tests, which a naive reader has counted there.

use crate::Failure;
use polyhaul::options::Codec;
use polyhaul_testkit::pbrt::{self, FileKind, Layout, Spec};
use std::path::Path;

/// Writes the scene of a kind (`one`, `many`, `many-gz`, `many-zst`) into `folder`, and returns the line of its counts.
/// Its bytes are those of the text, compressed or not.
pub fn write(kind: &str, megabytes: u64, folder: &Path) -> Result<String, Failure> {
    let (layout, codec) = match kind {
        "one" => (Layout::OneFile, None),
        "many" => (Layout::Imports, None),
        "many-gz" => (Layout::Imports, Some(Codec::Gzip)),
        "many-zst" => (Layout::Imports, Some(Codec::Zstd)),
        _ => return Err(format!("no kind {kind} of scene").into()),
    };
    // Files left by another size must not be counted.
    let _ = std::fs::remove_dir_all(folder);
    let threads = std::thread::available_parallelism()?.get();
    let made = pbrt::write(&Spec { layout, codec, threads, ..Spec::new(megabytes * 1_000_000) }, folder)?;
    let disk_bytes: u64 = made.files.iter().map(|file| file.disk_bytes).sum();
    let (bytes, counts) = (made.bytes(FileKind::Text).0, &made.counts);
    let instances = counts.directives["ObjectInstance"];
    Ok(format!(
        "megabytes={megabytes} bytes={bytes} disk_bytes={disk_bytes} positions={} faces={} instances={instances}\n",
        counts.positions, counts.unique_triangles
    ))
}
