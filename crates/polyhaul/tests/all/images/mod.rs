//! Tests of reading and writing images.

mod bmp;
mod dds;
mod diff;
mod exr;
mod exr_channels;
mod files;
mod fit;
mod hdr;
mod jpeg;
mod ktx2;
mod meanings;
mod png;
mod psd;
mod textures;
mod tga;

use crate::support::{
    byte_samples, codes, data, data_bytes, float_samples, read_options, try_written_image, with_word,
};
use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::options::{ImageWriteOptions, RunOptions, Strict};
use polyhaul::severity::{Severity, severity};
use polyhaul::{Error, Format, Input, Output, ReadOptions, Result, WriteOptions};
use polyhaul_testkit::output::Shared;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a test data file of a format.
fn file(format: &str, name: &str) -> Vec<u8> {
    data_bytes(format!("{format}/{name}"))
}

/// All files in a test data folder of a format, with their names.
fn files(format: &str, folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = data(format).join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == format));
    paths.sort();
    assert!(!paths.is_empty());
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn load(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Image> {
    polyhaul::Reader::new(Input::Memory(bytes, name.into())).options(options).image().map(|loaded| loaded.value)
}

/// Like [`load`], with the warnings by kind.
fn load_warned(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<(Image, Vec<(&'static str, u64)>)> {
    let loaded = polyhaul::Reader::new(Input::Memory(bytes, name.into())).options(options).image()?;
    let codes = codes(&loaded.report);
    Ok((loaded.value, codes))
}

/// Reads an image in every way, with equal results, and returns it with the warnings by kind. With `strict`, losses and
/// faults must be errors.
#[track_caller]
fn warned(name: &str, bytes: &[u8]) -> (Image, Vec<(&'static str, u64)>) {
    same_for_all(name, bytes);
    let (image, counts) = load_warned(name, bytes.to_vec(), &ReadOptions::default()).unwrap();
    let only_notes = counts.iter().all(|(code, _)| severity(code, "") == Severity::Note);
    for (strict, is_read) in [(Strict::Losses, only_notes), (Strict::All, counts.is_empty())] {
        let strict = ReadOptions::default().with_strict(strict);
        assert_eq!(load(name, bytes.to_vec(), &strict).is_ok(), is_read, "{name} {counts:?}");
    }
    (image, counts)
}

/// Like [`load`], from a reader without a known size.
fn load_stream(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Image> {
    let reader = Parts(std::io::Cursor::new(bytes), 5000);
    polyhaul::Reader::new(Input::Reader(Box::new(reader), name.into()))
        .options(options)
        .image()
        .map(|loaded| loaded.value)
}

/// Returns requested bytes in small parts of varying size.
struct Parts(std::io::Cursor<Vec<u8>>, usize);

impl Read for Parts {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let size = out.len().min(1 + self.0.position() as usize % self.1);
        self.0.read(&mut out[..size])
    }
}

/// Numbers of threads and chunk sizes that must not matter.
fn crews() -> impl Iterator<Item = ReadOptions> {
    let chunks = [None, Some(1), Some(601), Some(4000)];
    [1, 2, 3, 7, 64].into_iter().flat_map(move |count| chunks.map(|chunk_bytes| read_options(count, chunk_bytes)))
}

/// Returns the error, which must be the same for all readers and chunks.
#[track_caller]
fn error(name: &str, bytes: &[u8]) -> Error {
    let error = load(name, bytes.to_vec(), &ReadOptions::default()).unwrap_err();
    for options in crews() {
        for again in [load, load_stream].map(|load| load(name, bytes.to_vec(), &options).unwrap_err()) {
            assert_eq!((again.kind(), again.diagnostic()), (error.kind(), error.diagnostic()), "{options:?}");
        }
    }
    error
}

/// Asserts that the result does not depend on how the bytes arrive.
#[track_caller]
fn same_for_all(name: &str, bytes: &[u8]) {
    let whole = polyhaul::Reader::new(Input::Memory(bytes.to_vec(), name.into())).image().unwrap();
    for options in crews() {
        let reader = Parts(std::io::Cursor::new(bytes.to_vec()), 5000);
        for input in [Input::Memory(bytes.to_vec(), name.into()), Input::Reader(Box::new(reader), name.into())] {
            let loaded = polyhaul::Reader::new(input).options(&options).image().unwrap();
            assert!(loaded.value == whole.value, "{name} {options:?}");
            assert_eq!(loaded.report.warnings, whole.report.warnings, "{name} {options:?}");
        }
    }
}

/// Asserts that an image equals another decoder's samples, up to this difference.
#[track_caller]
fn is_as_expected(image: &Image, format: &str, name: &str, tolerance: u8) {
    let expected = load("x.tga", file(format, &format!("expected/{name}.tga")), &ReadOptions::default()).unwrap();
    let shape = |image: &Image| (image.width, image.height, image.channels);
    assert_eq!(shape(image), shape(&expected), "{name}");
    let mut pairs = byte_samples(image).iter().zip(byte_samples(&expected));
    let differing = pairs.position(|(sample, expected)| sample.abs_diff(*expected) > tolerance);
    assert_eq!(differing, None, "{name}");
}

/// Writes an image to memory in the format of this name.
fn written(name: &str, image: &Image, style: ImageWriteOptions, run: &RunOptions) -> Result<Vec<u8>> {
    let format = Format::of_path(Path::new(name));
    let options = WriteOptions::default().with_format(format).with_image(style).with_run(run.clone());
    try_written_image(image, &options).map(|(bytes, _)| bytes)
}

/// Writes an image to memory; the bytes must be the same for any number of threads.
#[track_caller]
fn written_by_all(name: &str, image: &Image, style: ImageWriteOptions) -> Vec<u8> {
    let bytes = written(name, image, style, &RunOptions::default()).unwrap();
    for options in crews() {
        assert!(written(name, image, style, &options.run).unwrap() == bytes, "{name} {options:?}");
    }
    bytes
}

/// Shape and type of a numpy array, as numpy formats them, and its bytes.
fn npy(bytes: &[u8]) -> (String, &[u8]) {
    let size = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (String::from_utf8_lossy(&bytes[..size]).into_owned(), &bytes[size..])
}

/// Asserts that an image has the size and channels of a numpy array of this type; returns the bytes of the array.
#[track_caller]
fn shaped<'a>(image: &Image, array: &'a [u8], kind: &str, name: &str) -> &'a [u8] {
    let (head, bytes) = npy(array);
    let shape = format!("({}, {}, {})", image.height, image.width, image.channels.count());
    assert!(head.contains(&shape) && head.contains(kind), "{name}: {kind} {shape} in {head}");
    bytes
}
