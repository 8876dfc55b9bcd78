//! Tests of images, reading and writing.

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
mod png;
mod psd;
mod textures;
mod tga;

use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::options::{ImageWriteOptions, RunOptions};
use polyhaul::{Error, Format, Input, Output, ReadOptions, Result, WriteOptions};
use polyhaul_testkit::corpus;
use polyhaul_testkit::output::Shared;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of a file of the test data of a format.
fn file(format: &str, name: &str) -> Vec<u8> {
    std::fs::read(corpus::root().join(format).join(name)).unwrap()
}

/// All files of a folder of the test data of a format, with their names.
fn files(format: &str, folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus::root().join(format).join(folder);
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
    let counts = loaded.report.warnings.counts().iter().map(|(code, count)| (*code, *count));
    Ok((loaded.value, counts.collect()))
}

/// Reads an image in every way, which must come to the same, and returns it with the warnings by kind. With `strict`
/// it must be an error where there are any.
#[track_caller]
fn warned(name: &str, bytes: &[u8]) -> (Image, Vec<(&'static str, u64)>) {
    same_for_all(name, bytes);
    let (image, counts) = load_warned(name, bytes.to_vec(), &ReadOptions::default()).unwrap();
    let strict = ReadOptions::default().with_strict(true);
    assert_eq!(load(name, bytes.to_vec(), &strict).is_ok(), counts.is_empty(), "{name} {counts:?}");
    (image, counts)
}

/// Like [`load`] from a reader, which nobody can ask for its size.
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

/// A reader that counts how often it is called.
struct Calls(std::io::Cursor<Vec<u8>>, Arc<AtomicUsize>);

impl Read for Calls {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read(out)
    }
}

#[test]
fn readers_are_called_once_for_64_kilobytes_at_most() {
    let width = 1100;
    let height = 600;
    let bytes: Vec<u8> = (0..3 * width * height).map(|at: usize| ((at * at) >> 7) as u8).collect();
    let numbers: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
    let image = |samples, color_space| Image { width, height, samples, color_space, ..Image::default() };
    let bytes = image(Samples::U8(bytes.into()), ColorSpace::Srgb);
    let numbers = image(Samples::F32(numbers.into()), ColorSpace::Linear);
    for (name, image, tga_rle) in [("x.tga", &bytes, false), ("x.tga", &bytes, true), ("x.hdr", &numbers, false)] {
        let style = ImageWriteOptions::default().with_rle(tga_rle);
        let file = written(name, image, style, &RunOptions::default()).unwrap();
        let max_calls = file.len().div_ceil(64 << 10) + 4;
        for options in [1, 2, 7].map(|count| threads(count, None)) {
            let calls = Arc::new(AtomicUsize::new(0));
            let reader = Calls(std::io::Cursor::new(file.clone()), calls.clone());
            polyhaul::Reader::new(Input::Reader(Box::new(reader), name.into())).options(&options).image().unwrap();
            let calls = calls.load(Ordering::Relaxed);
            assert!(calls > 1 && calls <= max_calls, "{name} {tga_rle}: {calls} calls, at most {max_calls}");
        }
    }
}

fn threads(threads: usize, chunk_bytes: Option<usize>) -> ReadOptions {
    let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
    ReadOptions::default().with_run(run)
}

/// Numbers of threads and sizes of chunks that must make no difference.
fn crews() -> impl Iterator<Item = ReadOptions> {
    let chunks = [None, Some(1), Some(601), Some(4000)];
    [1, 2, 3, 7, 64].into_iter().flat_map(move |count| chunks.map(|chunk_bytes| threads(count, chunk_bytes)))
}

/// What is wrong, whoever reads it and however.
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

/// Holds that nothing depends on how the bytes come.
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

/// The bytes of an image as a file of this name.
fn written(name: &str, image: &Image, style: ImageWriteOptions, run: &RunOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    let format = Format::of_path(Path::new(name));
    let options = WriteOptions::default().with_format(format).with_image(style).with_run(run.clone());
    polyhaul::Writer::new(Output::Writer(Box::new(shared.clone()), name.into())).options(&options).image(image)?;
    Ok(shared.take())
}

/// The bytes of an image as a file, for any number of threads.
#[track_caller]
fn written_by_all(name: &str, image: &Image, style: ImageWriteOptions) -> Vec<u8> {
    let bytes = written(name, image, style, &RunOptions::default()).unwrap();
    for options in crews() {
        assert!(written(name, image, style, &options.run).unwrap() == bytes, "{name} {options:?}");
    }
    bytes
}

/// An array of numpy: its shape and type as numpy writes them, and its bytes.
fn npy(bytes: &[u8]) -> (String, &[u8]) {
    let size = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (String::from_utf8_lossy(&bytes[..size]).into_owned(), &bytes[size..])
}

/// Holds that an image has the size and channels of an array of numpy of this type; returns the bytes of the array.
#[track_caller]
fn shaped<'a>(image: &Image, array: &'a [u8], kind: &str, name: &str) -> &'a [u8] {
    let (head, bytes) = npy(array);
    let shape = format!("({}, {}, {})", image.height, image.width, image.channels.count());
    assert!(head.contains(&shape) && head.contains(kind), "{name}: {kind} {shape} in {head}");
    bytes
}

/// Holds that the limit of pixels is exact for an image of so many.
#[track_caller]
fn limit_is_exact(name: &str, bytes: &[u8], count: u64) {
    let with = |pixels| {
        let limits = polyhaul::options::Limits::default().with_pixels(pixels);
        load(name, bytes.to_vec(), &ReadOptions::default().with_limits(limits))
    };
    assert!(with(count).is_ok() && with(count + 1).is_ok());
    let error = with(count - 1).unwrap_err();
    assert_eq!(error.kind(), polyhaul::ErrorKind::Limit);
    assert!(error.to_string().contains("(pixels)") && error.place().offset.is_some(), "{error}");
}

/// Holds that each beginning of a file is an error with a place.
#[track_caller]
fn prefixes_are_errors(name: &str, bytes: &[u8]) {
    for size in (0..bytes.len()).step_by(1 + bytes.len() / 3000) {
        for load in [load, load_stream] {
            let error = load(name, bytes[..size].to_vec(), &threads(1, None)).expect_err("a file that is cut");
            assert_eq!(error.kind(), polyhaul::ErrorKind::Malformed, "{size} of {}: {error}", bytes.len());
            assert!(error.place().offset.is_some_and(|offset| offset <= size as u64), "{size}: {error}");
        }
    }
}

/// Holds that a file of which any byte is another one is an image or an error, and no fault of polyhaul.
#[track_caller]
fn changed_bytes_break_nothing(name: &str, bytes: &[u8]) {
    let limits = polyhaul::options::Limits::default().with_pixels(1 << 20);
    let options = threads(1, None).with_limits(limits);
    for place in (0..bytes.len()).step_by(1 + bytes.len() / 1500) {
        for byte in [0, 0x7F, 0x80, 0xFF, bytes[place].wrapping_add(1), bytes[place].wrapping_sub(1)] {
            let mut changed = bytes.to_vec();
            changed[place] = byte;
            match load(name, changed, &options) {
                Ok(image) => assert_eq!(image.sample_count(), Some(image.samples.len())),
                Err(error) => assert_ne!(error.kind(), polyhaul::ErrorKind::Internal, "{place} {byte}: {error}"),
            }
        }
    }
}

/// Records the size of each request to a reader.
#[derive(Clone, Default)]
struct Asked(std::sync::Arc<std::sync::Mutex<Vec<usize>>>);

struct Counted(std::io::Cursor<Vec<u8>>, Asked);

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1.0.lock().unwrap().push(out.len());
        self.0.read(out)
    }
}

/// Asserts that a source is read in few, large blocks.
#[track_caller]
fn asked_in_blocks(name: &str, bytes: &[u8]) {
    let requested = Asked::default();
    let reader = Counted(std::io::Cursor::new(bytes.to_vec()), requested.clone());
    polyhaul::Reader::new(Input::Reader(Box::new(reader), name.into())).image().unwrap();
    let requested = requested.0.lock().unwrap();
    assert!(requested.len() <= bytes.len().div_ceil(64 << 10) + 4, "{name}: {requested:?}");
    assert!(requested.iter().all(|size| *size >= 64 << 10), "{name}: {requested:?}");
}
