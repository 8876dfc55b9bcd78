//! Host callbacks: reads files of most formats in `testdata` through them, counts calls, and violates their contract.

use crate::{options, read};
use polyhaul::model::{Image, Scene};
use polyhaul::options::Resolve;
use polyhaul::{Error, ErrorKind, Format, HostRead, Input, Output, ReadOptions, WriteOptions};
use polyhaul::{Reader, Writer, read_referenced_image};
use polyhaul_testkit::corpus::{Folder, Sample, root, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Log, Sizes, Taker, Taking};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::{generate, packed, summary};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const BLOCK_BYTES: usize = 64 << 10;
const FOLDERS: [&str; 17] = [
    "obj",
    "ply",
    "stl",
    "off",
    "glb",
    "spz",
    "splat",
    "sog",
    "packed_ply",
    "pbrt",
    "table",
    "tga",
    "hdr",
    "gz",
    "zst",
    "lz4",
    "zip",
];
const ENDINGS: [&str; 21] = [
    "obj", "ply", "stl", "off", "glb", "gltf", "spz", "splat", "sog", "pbrt", "csv", "tsv", "txt", "xyz", "pts", "npy",
    "tga", "hdr", "gz", "zst", "lz4",
];

fn all_samples() -> Vec<Sample> {
    let endings = ENDINGS.into_iter().chain(["zip"]);
    endings.flat_map(|ending| FOLDERS.into_iter().flat_map(move |folder| samples(folder, ending))).collect()
}

/// Reads a file as an image, tables or a scene, and prints the outcome.
fn outcome(name: &str, input: Input, options: &ReadOptions) -> String {
    let error_text = |error: &Error| summary::error(error);
    match Format::of_path(Path::new(name)) {
        Some(format) if format.is_image() => match Reader::new(input).options(options).image() {
            Ok(loaded) => format!("{:?}\n{}", loaded.value, summary::warnings(&loaded.report.warnings)),
            Err(error) => error_text(&error),
        },
        Some(Format::Csv | Format::Tsv | Format::Txt | Format::Xyz | Format::Pts | Format::Npy) => {
            match Reader::new(input).options(options).tables() {
                Ok(loaded) => format!("{:?}\n{}", loaded.value.tables, summary::warnings(&loaded.report.warnings)),
                Err(error) => error_text(&error),
            }
        }
        _ => summary::outcome(&read(input, options)),
    }
}

fn without_libraries() -> ReadOptions {
    let mut options = options(2, None).with_load_materials(false);
    // Large decompressed files would only slow down this test.
    options.limits.decompressed_bytes = 4 << 20;
    options
}

fn host(bytes: &[u8], sizes: Sizes, knows_all: bool) -> (Box<Hostile>, Arc<Log>) {
    let host = Hostile::new(bytes, sizes);
    let host = if knows_all { host.seekable().sized(bytes.len() as u64) } else { host };
    let log = host.log();
    (Box::new(host), log)
}

#[test]
fn every_file_is_read_as_from_memory() {
    let options = without_libraries();
    let mut count = 0;
    for file in all_samples() {
        let bytes = file.bytes();
        let name = file.path.display().to_string();
        let expected = outcome(&name, Input::Memory(bytes.clone(), name.clone()), &options);
        let random = Sizes::Random(Random::new(bytes.len() as u64));
        for (sizes, knows_all) in [(Sizes::All, false), (random.clone(), true), (Sizes::One, false), (Sizes::One, true)]
        {
            if matches!(sizes, Sizes::One) && bytes.len() > 100_000 {
                continue;
            }
            let (host, log) = host(&bytes, sizes, knows_all);
            let actual = outcome(&name, Input::Host(host, name.clone()), &options);
            let place = || expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
            assert!(actual == expected, "{name} {knows_all}: {:?}", place());
            assert!(log.least_asked.load(Relaxed) >= BLOCK_BYTES, "{name}: {log:?}");
        }
        count += 1;
    }
    assert!(count > 300, "{count}");
}

#[test]
fn it_is_called_no_oftener_than_its_size_takes() {
    let options = without_libraries();
    let mut grid = Vec::new();
    generate::grid(3_000_000, &mut grid).unwrap();
    let mut files: Vec<_> = all_samples().into_iter().map(|file| (file.name.clone(), file.bytes())).collect();
    for (codec, ending) in packed::CODECS {
        files.push((format!("grid.obj.{ending}"), packed::pack(codec, &grid, usize::MAX)));
        files.push((format!("grid.obj.{ending}"), packed::pack(codec, &grid, 100_000)));
    }
    files.push(("grid.obj".into(), grid));
    // An image of 1024 × 1024 pixels with 24 bits.
    let image = [&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 24, 0], &vec![7; 3 << 20][..]].concat();
    files.push(("image.tga.lz4".into(), packed::pack(polyhaul::options::Codec::Lz4, &image, usize::MAX)));
    files.push(("image.tga".into(), image));
    for (name, bytes) in files {
        for knows_all in [false, true] {
            let (host, log) = host(&bytes, Sizes::All, knows_all);
            outcome(&name, Input::Host(host, name.clone()), &options);
            let max_calls = bytes.len().div_ceil(BLOCK_BYTES) + 4;
            assert!(log.calls.load(Relaxed) <= max_calls, "{name}: {log:?}, at most {max_calls}");
            assert_eq!(log.calls_too_late.load(Relaxed), 0, "{name}: {log:?}");
        }
    }
}

const TEXT: &[u8] = b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\r\nusemtl b\nf 3 2 1\n";
const DOT: [u8; 21] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];

#[test]
fn whatever_it_does_wrong_is_its_fault_at_every_byte() {
    for (name, bytes) in [("a.obj", TEXT), ("dot.tga", &DOT)] {
        for packed in [false, true] {
            let bytes = if packed { packed::pack(polyhaul::options::Codec::Lz4, bytes, 10) } else { bytes.to_vec() };
            for at in 0..=bytes.len() {
                for fault in [Fault::FailsAt(at), Fault::ClaimsTooMuchAt(at), Fault::PanicsAt(at)] {
                    for sizes in [Sizes::All, Sizes::One] {
                        let host = Hostile::new(&bytes[..], sizes).with(fault);
                        let log = host.log();
                        let input = Input::Host(Box::new(host), name.into());
                        let error = match name {
                            "a.obj" => read(input, &options(2, Some(9))).map(drop).unwrap_err(),
                            _ => Reader::new(input).options(&options(2, None)).image().map(drop).unwrap_err(),
                        };
                        assert_eq!(error.kind(), ErrorKind::Host, "{name} {fault:?}: {error}");
                        assert_eq!(log.calls_too_late.load(Relaxed), 0, "called after its error");
                    }
                }
            }
        }
    }
}

#[test]
fn a_size_that_is_wrong_is_its_fault() {
    for size in [0, 1, TEXT.len() - 1, TEXT.len() + 1, 1 << 40, usize::MAX] {
        for seekable in [false, true] {
            let host = Hostile::new(TEXT, Sizes::All).sized(size as u64);
            let host = if seekable { host.seekable() } else { host };
            let error = read(Input::Host(Box::new(host), "a.obj".into()), &options(1, None)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Host, "{size}: {error}");
        }
    }
}

/// A callback that calls the library itself before it returns its bytes.
struct Nested(u32, &'static [u8]);

impl HostRead for Nested {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0 > 0 {
            let inner = Input::Host(Box::new(Nested(self.0 - 1, TEXT)), "inner.obj".into());
            let loaded = polyhaul::Reader::new(inner).options(&options(2, None)).scene().map_err(io::Error::other)?;
            assert_eq!(loaded.value.totals()[0], 3);
        }
        let count = self.1.len().min(out.len());
        let (now, rest) = self.1.split_at(count);
        out[..count].copy_from_slice(now);
        self.1 = rest;
        Ok(count)
    }
}

#[test]
fn it_may_use_the_library_itself() {
    let loaded = read(Input::Host(Box::new(Nested(3, TEXT)), "outer.obj".into()), &options(2, None)).unwrap();
    assert_eq!(loaded.value.totals()[0], 3);
}

/// Returns options with a resolver that reads the files of a folder.
fn resolving(folder: &Path) -> ReadOptions {
    let folder = folder.to_path_buf();
    let resolve = move |name: &str| {
        let Ok(bytes) = std::fs::read(folder.join(name)) else { return Ok(None) };
        let shown = folder.join(name).display().to_string();
        Ok(Some(Input::Host(host(&bytes, Sizes::Random(Random::new(3)), false).0, shown)))
    };
    options(2, None).with_resolver(Some(Resolve(Arc::new(resolve))))
}

/// Reads scenes with libraries, parts and meshes entirely through host callbacks.
#[test]
fn files_that_a_scene_names_come_from_it_too() {
    let mut count = 0;
    for (folder, ending) in [("obj/good", "obj"), ("pbrt/good", "pbrt"), ("pbrt/good", "gz")] {
        for file in samples(folder, ending) {
            let path = file.path.display().to_string();
            let Ok(expected) = read(Input::Path(file.path.clone()), &options(2, None)) else { continue };
            let options = resolving(file.path.parent().unwrap_or(&root()));
            let loaded = read(Input::Host(host(&file.bytes(), Sizes::One, true).0, path.clone()), &options).unwrap();
            let shown = |scene: &Scene| summary::scene(scene).replace(&path, "");
            assert!(shown(&loaded.value) == shown(&expected.value), "{path}");
            count += usize::from(!loaded.value.material_libraries.is_empty() || loaded.value.render.is_some());
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn its_images_are_found_by_name_and_nobody_elses() {
    let folder = Folder::new("host-images").unwrap();
    let scene = folder.file("scene/a.obj", TEXT).unwrap();
    folder.file("scene/maps/dot.tga", DOT).unwrap();
    folder.file("outside.tga", DOT).unwrap();
    let plain = options(1, None);
    let kind = |scene: Option<&Path>, name: &str, options: &ReadOptions| {
        read_referenced_image(scene, name, options).map(|loaded| loaded.value.width).map_err(|error| error.kind())
    };
    for name in ["maps/dot.tga", "maps\\dot.tga", "./maps/dot.tga"] {
        assert_eq!(kind(Some(&scene), name, &plain), Ok(1), "{name}");
    }
    assert_eq!(kind(Some(&scene), "maps/none.tga", &plain), Err(ErrorKind::Io));
    for name in ["../outside.tga", "/dev/zero", "maps/../../outside.tga", "C:\\a.tga"] {
        assert_eq!(kind(Some(&scene), name, &plain), Err(ErrorKind::Unsupported), "{name}");
    }
    assert_eq!(kind(None, "maps/dot.tga", &plain), Err(ErrorKind::Unsupported));
    assert_eq!(kind(Some(&scene), "maps", &plain), Err(ErrorKind::Io));
    let outside = plain.with_allow_outside(true);
    assert_eq!(kind(Some(&scene), "../outside.tga", &outside), Ok(1));
    let by_resolver = resolving(&folder.join("scene"));
    assert_eq!(kind(None, "maps/dot.tga", &by_resolver), Ok(1));
    assert_eq!(kind(None, "maps/none.tga", &by_resolver), Err(ErrorKind::Unsupported));
}

fn image() -> Image {
    Reader::new(Input::Memory(DOT.to_vec(), "dot.tga".into())).options(&options(1, None)).image().unwrap().value
}

/// Saves a scene or an image to a host; returns what the host received, and the result.
fn saved(taking: Taking, name: &str) -> (polyhaul_testkit::hostile::Taken, Result<u64, Error>) {
    let (host, taken) = Taker::new(taking);
    let output = Output::Host(Box::new(host), name.into());
    let write = WriteOptions::default();
    let result = match name {
        "dot.tga" => Writer::new(output).options(&write).image(&image()),
        _ => {
            let mut text = Vec::new();
            generate::grid(400_000, &mut text).unwrap();
            let scene = read(Input::Memory(text, "a.obj".into()), &options(2, None)).unwrap().value;
            Writer::new(output).options(&write).scene(&scene)
        }
    };
    let taken = std::mem::take(&mut *taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    (taken, result.map(|report| report.bytes_out))
}

#[test]
fn it_is_written_to_in_large_blocks() {
    for name in ["grid.obj", "grid.ply", "grid.obj.gz", "dot.tga"] {
        let (at_once, report) = saved(Taking::All, name);
        assert_eq!((report.unwrap(), at_once.flushes, at_once.closes), (at_once.bytes.len() as u64, 1, 1), "{name}");
        let (_, full_blocks) = at_once.blocks.split_last().unwrap();
        assert!(full_blocks.iter().all(|&block| block >= BLOCK_BYTES), "{name}: {:?}", at_once.blocks);
        let (parts, report) = saved(Taking::AtMost(10_007), name);
        assert!(report.is_ok() && parts.bytes == at_once.bytes, "{name}");
    }
}

#[test]
fn whatever_it_does_wrong_when_written_to_is_its_fault() {
    let (whole, _) = saved(Taking::All, "grid.obj");
    let size = whole.bytes.len();
    for at in [0, 1, BLOCK_BYTES, size / 2, size - 1] {
        let wrong = [Taking::FailsAt(at), Taking::NothingAt(at), Taking::ClaimsTooMuchAt(at), Taking::PanicsAt(at)];
        for taking in wrong.into_iter().chain([Taking::FailsToFlush, Taking::FailsToClose]) {
            let (taken, report) = saved(taking, "grid.obj");
            assert_eq!(report.unwrap_err().kind(), ErrorKind::Host, "{taking:?}");
            assert_eq!(taken.calls_too_late, 0, "{taking:?}");
            assert_eq!(taken.closes, usize::from(taking == Taking::FailsToClose), "{taking:?}");
        }
    }
}

#[test]
fn an_old_output_stays_when_the_host_that_is_read_fails() {
    let folder = Folder::new("host-output").unwrap();
    let path = folder.file("out.obj", "old").unwrap();
    let broken = Hostile::new(TEXT, Sizes::All).with(Fault::FailsAt(30));
    let input = Input::Host(Box::new(broken), "a.obj".into());
    let result = polyhaul::Reader::new(input).options(&options(2, None)).convert(polyhaul::Writer::new(path));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Host);
    assert_eq!((folder.text("out.obj"), folder.names().len()), ("old".into(), 1));
}

#[test]
fn its_size_is_what_progress_counts_to() {
    let mut text = Vec::new();
    generate::grid(12_000_000, &mut text).unwrap();
    for (codec, size) in [(None, text.len()), (Some(polyhaul::options::Codec::Lz4), 0)] {
        let bytes = codec.map_or(text.clone(), |codec| packed::pack(codec, &text, usize::MAX));
        let size = size.max(bytes.len()) as u64;
        let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut options = options(2, None);
        let seen = calls.clone();
        let note = move |finished, total| seen.lock().unwrap().push((finished, total));
        options.run.progress = Some(polyhaul::options::Progress(Arc::new(note)));
        read(Input::Host(host(&bytes, Sizes::All, true).0, "a.obj".into()), &options).unwrap();
        let calls = calls.lock().unwrap();
        assert!(
            !calls.is_empty() && calls.iter().all(|&(finished, total)| finished <= size && total == Some(size)),
            "{calls:?}"
        );
    }
}
