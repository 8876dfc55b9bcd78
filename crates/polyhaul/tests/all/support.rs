//! Shortcuts for inputs, options and results that many tests use.

use polyhaul::model::{Column, Elements, Image, Mesh, Samples, Scene, Values};
use polyhaul::options::RunOptions;
use polyhaul::{Input, Output, ReadOptions, Reader, Report, Result, WriteOptions, Writer};
use polyhaul_testkit::corpus;
use polyhaul_testkit::output::Shared;
use std::path::{Path, PathBuf};

/// Path of a test data file or folder.
pub fn data(name: impl AsRef<Path>) -> PathBuf {
    corpus::root().join(name)
}

/// Bytes of a test data file.
#[track_caller]
pub fn data_bytes(name: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(data(name)).unwrap()
}

/// Options with these threads and chunks; the defaults for `None`.
pub fn run(threads: usize, chunk_bytes: impl Into<Option<usize>>) -> RunOptions {
    RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes.into())
}

/// Read options with these threads and chunks.
pub fn read_options(threads: usize, chunk_bytes: impl Into<Option<usize>>) -> ReadOptions {
    ReadOptions::default().with_run(run(threads, chunk_bytes))
}

pub fn memory(bytes: impl AsRef<[u8]>, name: &str) -> Input {
    Input::Memory(bytes.as_ref().to_vec(), name.into())
}

/// A reader of bytes without a known size.
pub fn stream(bytes: impl AsRef<[u8]>, name: &str) -> Input {
    Input::Reader(Box::new(std::io::Cursor::new(bytes.as_ref().to_vec())), name.into())
}

/// Warning codes with their counts.
pub fn codes(report: &Report) -> Vec<(&'static str, u64)> {
    report.warnings.counts().iter().map(|(code, count)| (*code, *count)).collect()
}

/// Writes a scene to memory; also returns the report.
pub fn try_written(scene: &Scene, options: &WriteOptions) -> Result<(Vec<u8>, Report)> {
    let shared = Shared::default();
    let report = Writer::new(Output::Writer(Box::new(shared.clone()), "out".into())).options(options).scene(scene)?;
    Ok((shared.take(), report))
}

/// Writes an image to memory; also returns the report.
pub fn try_written_image(image: &Image, options: &WriteOptions) -> Result<(Vec<u8>, Report)> {
    let shared = Shared::default();
    let report = Writer::new(Output::Writer(Box::new(shared.clone()), "out".into())).options(options).image(image)?;
    Ok((shared.take(), report))
}

/// Converts an input in memory; also returns the combined report.
pub fn try_converted(input: Input, read: &ReadOptions, write: &WriteOptions) -> Result<(Vec<u8>, Report)> {
    let shared = Shared::default();
    let writer = Writer::new(Output::Writer(Box::new(shared.clone()), "target".into())).options(write);
    let report = Reader::new(input).options(read).convert(writer)?;
    Ok((shared.take(), report))
}

pub fn column(name: &str, values: Values) -> Column {
    Column { name: name.into(), values, offsets: None }
}

pub fn scene_of(mesh: Mesh) -> Scene {
    Scene { meshes: vec![mesh], ..Scene::default() }
}

/// A square face, half of it above the ground.
pub fn square() -> Mesh {
    let positions = [[0.0, 0.0, 0.5], [2.0, 0.0, 0.5], [2.0, 2.0, 0.5], [0.0, 2.0, 0.5]];
    let faces = Elements { offsets: [0, 4].into(), corner_positions: [0, 1, 2, 3].into(), ..Elements::default() };
    Mesh { positions: positions.into(), faces, ..Mesh::default() }
}

#[track_caller]
pub fn byte_samples(image: &Image) -> &[u8] {
    let Samples::U8(samples) = &image.samples else { panic!("not samples of 8 bits") };
    samples
}

#[track_caller]
pub fn float_samples(image: &Image) -> &[f32] {
    let Samples::F32(samples) = &image.samples else { panic!("not floats") };
    samples
}

/// Replaces a little-endian word in a file.
pub fn with_word(mut bytes: Vec<u8>, offset: usize, word: u32) -> Vec<u8> {
    bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}
