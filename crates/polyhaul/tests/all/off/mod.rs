//! Tests of OFF, reading and writing.

mod dialect;
mod errors;
mod naive;
mod writing;

use crate::support::{codes, data_bytes, run, scene_of, square, try_written};
use polyhaul::model::{Mesh, Scene};
use polyhaul::options::RunOptions;
use polyhaul::{Format, Input, Loaded, ReadOptions, Result, WriteOptions};
use polyhaul_testkit::corpus;

/// The bytes of a file of the test data.
fn file(name: &str) -> Vec<u8> {
    data_bytes(format!("off/{name}"))
}

fn load_with(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    polyhaul::Reader::new(Input::Memory(bytes.into(), "x.off".into())).options(options).scene()
}

fn load(bytes: impl Into<Vec<u8>>) -> Result<Loaded<Scene>> {
    load_with(bytes, &ReadOptions::default())
}

/// The only mesh of a file that is read without a warning.
#[track_caller]
fn mesh(bytes: impl Into<Vec<u8>>) -> Mesh {
    let mut loaded = load(bytes).unwrap();
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    assert_eq!(loaded.value.meshes.len(), 1);
    loaded.value.meshes.remove(0)
}

fn written(options: WriteOptions) -> WriteOptions {
    options.with_format(Some(Format::Off))
}

/// The text of a scene.
#[track_caller]
fn text(scene: &Scene, off: WriteOptions) -> String {
    String::from_utf8(polyhaul_testkit::output::bytes(scene, &written(off))).unwrap()
}
