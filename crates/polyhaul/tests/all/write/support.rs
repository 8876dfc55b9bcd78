//! Shared options, folders and samples for tests of writing; the test kit has everything else.

pub use polyhaul_testkit::corpus::Folder;
pub use polyhaul_testkit::output::*;
pub use polyhaul_testkit::random::Random;

pub use crate::support::run;
use polyhaul::model::Scene;
use polyhaul::options::{Digits, ObjWriteOptions};
use polyhaul::{Input, ReadOptions, Result, WriteOptions};
use polyhaul_testkit::corpus;
use std::path::PathBuf;

pub const THREADS: [usize; 5] = [1, 2, 3, 7, 64];

pub fn with(options: WriteOptions) -> WriteOptions {
    options.with_run(run(1, None))
}

/// Options for one thread.
pub fn plain() -> WriteOptions {
    with(WriteOptions::default())
}

/// Options for one thread, with these digits for all numbers.
pub fn with_digits(digits: Digits) -> WriteOptions {
    let digits = Some(digits);
    let obj = ObjWriteOptions::default().with_position_digits(digits).with_uv_digits(digits);
    with(WriteOptions::default().with_obj(obj.with_normal_digits(digits).with_color_digits(digits)))
}

pub fn shortest() -> WriteOptions {
    with_digits(Digits::Shortest)
}

pub fn parse(text: impl Into<Vec<u8>>) -> Result<Scene> {
    let options = ReadOptions::default().with_run(run(1, None));
    Ok(polyhaul::Reader::new(Input::Memory(text.into(), "memory.obj".into())).options(&options).scene()?.value)
}

#[track_caller]
pub fn read(text: impl Into<Vec<u8>>) -> Scene {
    parse(text).unwrap()
}

/// Compares scenes as text, since NaN does not equal itself.
#[track_caller]
pub fn assert_same(actual: &Scene, expected: &Scene, what: &str) {
    let actual = format!("{actual:#?}");
    let expected = format!("{expected:#?}");
    assert!(actual == expected, "{what}: {}", difference(&actual, &expected));
}

/// A test data folder below `testdata/obj`.
pub fn data(name: &str) -> PathBuf {
    corpus::root().join("obj").join(name)
}

/// All `.obj` files below a test data folder, sorted by name.
pub fn samples(folder: &str) -> Vec<PathBuf> {
    let samples = corpus::samples(&format!("obj/{folder}"), "obj");
    assert!(samples.len() > 9, "{folder}: {samples:?}");
    samples.into_iter().map(|sample| sample.path).collect()
}

/// An empty folder for one test, removed at the end.
pub fn new_folder() -> Folder {
    Folder::new("write").unwrap()
}
