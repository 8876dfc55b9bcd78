//! Tests of STL, reading and writing.

mod bad;
mod good;
mod naive;
mod writing;

use crate::support::{data_bytes, run, scene_of, square, try_written};
use polyhaul::model::Scene;
use polyhaul::options::StlReadOptions;
use polyhaul::{Input, Loaded, ReadOptions, Result};
use polyhaul_testkit::corpus;

/// The bytes of a file of the test data.
fn file(name: &str) -> Vec<u8> {
    data_bytes(format!("stl/{name}"))
}

fn load_with(bytes: Vec<u8>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    polyhaul::Reader::new(Input::Memory(bytes, "x.stl".into())).options(options).scene()
}

fn load(bytes: Vec<u8>) -> Result<Loaded<Scene>> {
    load_with(bytes, &ReadOptions::default())
}

fn welded() -> ReadOptions {
    ReadOptions::default().with_stl(StlReadOptions::default().with_weld(true))
}

/// A reader of bytes without a known size.
fn stream(bytes: Vec<u8>) -> Input {
    Input::Reader(Box::new(std::io::Cursor::new(bytes)), "x.stl".into())
}
