//! Tests of OFF, reading and writing.

mod dialect;
mod errors;
mod naive;
mod promises;
mod writing;

use polyhaul::model::{Mesh, Scene};
use polyhaul::options::RunOptions;
use polyhaul::{Format, Input, Loaded, ReadOptions, Result, WriteOptions};
use polyhaul_testkit::corpus;

/// The bytes of a file of the test data.
fn file(name: &str) -> Vec<u8> {
    std::fs::read(corpus::root().join("off").join(name)).unwrap()
}

fn load_with(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    polyhaul::Reader::new(Input::Memory(bytes.into(), "x.off".into())).options(options).scene()
}

fn load(bytes: impl Into<Vec<u8>>) -> Result<Loaded<Scene>> {
    load_with(bytes, &ReadOptions::default())
}

/// The one mesh of a file that is read without a warning.
#[track_caller]
fn mesh(bytes: impl Into<Vec<u8>>) -> Mesh {
    let mut loaded = load(bytes).unwrap();
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    assert_eq!(loaded.value.meshes.len(), 1);
    loaded.value.meshes.remove(0)
}

/// The codes of warnings, and how many there were of each.
fn codes(loaded: &Loaded<Scene>) -> Vec<(&'static str, u64)> {
    loaded.report.warnings.counts().iter().map(|(code, count)| (*code, *count)).collect()
}

fn threads(threads: usize, chunk_bytes: Option<usize>) -> RunOptions {
    RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes)
}

fn written(options: WriteOptions) -> WriteOptions {
    options.with_format(Some(Format::Off))
}

/// The text of a scene.
#[track_caller]
fn text(scene: &Scene, off: WriteOptions) -> String {
    String::from_utf8(polyhaul_testkit::output::bytes(scene, &written(off))).unwrap()
}
