//! Jobs on throttled devices: everything that is opened takes its time, and nothing else changes.

use polyhaul::model::Scene;
use polyhaul::options::{Cancel, Codec, PbrtMeshes, Resolve, RunOptions, Throttle};
use polyhaul::textures::{Source, TextureOptions, import_textures};
use polyhaul::{ErrorKind, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::output::Shared;
use polyhaul_testkit::packed::pack;
use polyhaul_testkit::zip::{Method, simple};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A byte takes 100 ns: a small file of these tests takes 10 ms.
const RATE: u64 = 10_000_000;
const SMALL_BYTES: usize = 100_000;

fn slow() -> Option<Throttle> {
    Some(Throttle::new(Some(RATE), Duration::ZERO))
}

fn reading() -> ReadOptions {
    ReadOptions::default().with_run(RunOptions::default().with_read_throttle(slow()))
}

fn writing() -> WriteOptions {
    WriteOptions::default().with_run(RunOptions::default().with_write_throttle(slow()))
}

/// Runs a job that moves at least the given number of bytes through a throttle.
#[track_caller]
fn takes<T>(bytes: u64, job: impl FnOnce() -> polyhaul::Result<T>) -> T {
    let start = Instant::now();
    let min_time = Duration::from_nanos(bytes * (1_000_000_000 / RATE));
    let result = job().unwrap();
    assert!(start.elapsed() >= min_time, "{:?} of {min_time:?}", start.elapsed());
    result
}

/// Text that starts with `text`, followed by a long comment.
fn long(text: &str) -> String {
    format!("{text}#{}\n", "-".repeat(SMALL_BYTES))
}

/// A PLY file with many points and a triangle.
fn ply() -> Vec<u8> {
    let head = "ply\nformat binary_little_endian 1.0\nelement vertex 10000\nproperty float x\nproperty float y\n\
                property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let mut ply = head.as_bytes().to_vec();
    (0..30_000).for_each(|number| ply.extend((number as f32).to_le_bytes()));
    ply.extend([3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    ply
}

fn sizes(folder: &Folder) -> u64 {
    let size = |name: &String| folder.join(name).metadata().unwrap().len();
    folder.names().iter().map(size).sum()
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> Folder {
    let folder = Folder::new("throttle").unwrap();
    for (name, bytes) in files {
        folder.file(name, bytes).unwrap();
    }
    folder
}

/// Loads a file with and without a throttle.
#[track_caller]
fn loads_slowly(path: &Path, bytes: u64, options: &ReadOptions) -> Scene {
    let slow = takes(bytes, || Reader::new(path).options(options).scene()).value;
    let run = options.run.clone().with_read_throttle(None);
    let fast = Reader::new(path).options(&options.clone().with_run(run)).scene().unwrap().value;
    assert_eq!(format!("{slow:?}"), format!("{fast:?}"));
    slow
}

const SCENE: &str = "mtllib a.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
const PAINT: &str = "newmtl red\nKd 1 0 0\n";

#[test]
fn a_scene_and_its_material_library_take_their_time() {
    let folder = folder(&[("a.obj", long(SCENE).as_bytes()), ("a.mtl", long(PAINT).as_bytes())]);
    let scene = loads_slowly(&folder.join("a.obj"), sizes(&folder), &reading());
    assert!(!scene.materials[0].missing);
}

#[test]
fn files_that_a_scene_includes_and_its_meshes_take_their_time() {
    let main = "WorldBegin\nInclude \"more.pbrt\"\nShape \"plymesh\" \"string filename\" \"mesh.ply\"\n";
    let more = long("Shape \"sphere\"\n");
    let folder = folder(&[("a.pbrt", long(main).as_bytes()), ("more.pbrt", more.as_bytes()), ("mesh.ply", &ply())]);
    assert!(loads_slowly(&folder.join("a.pbrt"), sizes(&folder), &reading()).render.is_some());
}

#[test]
fn members_of_archives_take_their_time() {
    let scene = long(SCENE);
    let paint = long(PAINT);
    let zip = simple(&[("a.obj", scene.as_bytes()), ("a.mtl", paint.as_bytes())], Method::Stored);
    let folder = folder(&[("a.zip", &zip)]);
    for path in ["a.zip", "a.zip/a.obj"] {
        loads_slowly(&folder.join(path), sizes(&folder), &reading());
    }
}

#[test]
fn whatever_an_input_is_it_takes_its_time() {
    let text = long(SCENE);
    let bytes = text.len() as u64 + PAINT.len() as u64;
    let inputs: [&dyn Fn() -> Input; 3] = [
        &|| Input::Memory(text.clone().into(), "a.obj".into()),
        &|| Input::Shared(Arc::new(text.clone()), "a.obj".into()),
        &|| Input::Reader(Box::new(std::io::Cursor::new(text.clone())), "a.obj".into()),
    ];
    for input in inputs {
        let resolver = Resolve(Arc::new(|name| Ok(Some(Input::Memory(PAINT.into(), name.into())))));
        takes(bytes, || Reader::new(input()).options(&reading().with_resolver(Some(resolver))).scene());
    }
    let resolver = Resolve(Arc::new(|name| Ok(Some(Input::Memory(long(PAINT).into(), name.into())))));
    let resolved = reading().with_resolver(Some(resolver));
    takes(2 * bytes, || Reader::new(Input::Memory(text.clone().into(), "a.obj".into())).options(&resolved).scene());
}

#[test]
fn scenes_that_are_written_take_their_time() {
    let from = folder(&[("a.obj", long(SCENE).as_bytes()), ("mesh.ply", &ply())]);
    let scene = Reader::new(from.join("mesh.ply")).scene().unwrap().value;
    for name in ["b.obj", "b.ply", "b.stl", "b.csv", "b.npy", "b.pbrt", "b.obj.gz"] {
        let slow = folder(&[]);
        let fast = folder(&[]);
        let mut options = writing();
        options.pbrt.meshes = PbrtMeshes::Ply { vertices: 0 };
        let start = Instant::now();
        Writer::new(slow.join(name)).options(&options).scene(&scene).unwrap();
        let min_time = Duration::from_nanos(sizes(&slow) * (1_000_000_000 / RATE));
        assert!(start.elapsed() >= min_time, "{name}: {:?} of {min_time:?}", start.elapsed());
        options.run.write_throttle = None;
        Writer::new(fast.join(name)).options(&options).scene(&scene).unwrap();
        assert_eq!(slow.names(), fast.names());
        for file in slow.names() {
            assert!(std::fs::read(slow.join(&file)).unwrap() == std::fs::read(fast.join(&file)).unwrap(), "{file}");
        }
    }
}

#[test]
fn converting_has_both_throttles() {
    let text = long(SCENE).repeat(5);
    let converted = |read: &ReadOptions, write: &WriteOptions| {
        let input = Input::Memory(text.clone().into(), "a.obj".into());
        let out = Shared::default();
        Reader::new(input)
            .options(read)
            .convert(Writer::new(Output::Writer(Box::new(out.clone()), "a.obj".into())).options(write))
            .map(|_| out.take())
    };
    let fast = converted(&ReadOptions::default(), &WriteOptions::default()).unwrap();
    let bytes = (text.len() + fast.len()) as u64;
    assert!(takes(bytes, || converted(&reading(), &writing())) == fast);
}

/// The uncompressed bytes would take two minutes.
#[test]
fn compressed_bytes_count_as_they_are() {
    let packed = pack(Codec::Zstd, "# nothing\n".repeat(1 << 20).as_bytes(), 1 << 20);
    let slow = Some(Throttle::new(Some(100_000), Duration::ZERO));
    let run = RunOptions::default().with_read_throttle(slow);
    let start = Instant::now();
    let min_time = Duration::from_micros(10 * packed.len() as u64);
    Reader::new(Input::Memory(packed, "a.obj.zst".into()))
        .options(&ReadOptions::default().with_run(run))
        .scene()
        .unwrap();
    assert!((min_time..Duration::from_secs(60)).contains(&start.elapsed()), "{:?} of {min_time:?}", start.elapsed());
}

#[test]
fn textures_take_their_time() {
    let mut tga = vec![0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 8, 0];
    tga.resize(tga.len() + 256 * 256, 7);
    let folder = folder(&[("a.tga", &tga)]);
    let sources = [Source { path: folder.join("a.tga"), found: None, name: PathBuf::from("a.tga") }];
    let run = RunOptions::default().with_read_throttle(slow()).with_write_throttle(slow());
    let options = TextureOptions::default().with_run(run);
    // Read twice: once to check whether it changed.
    let import = || import_textures(&sources, &folder.join("out"), &options, false, &|_, _| ());
    let made = takes(2 * tga.len() as u64, import);
    assert_eq!(made.counts(), [1, 0, 0]);
}

/// The job would take a day.
#[test]
fn a_job_that_is_cancelled_is_not_held_up() {
    for threads in [1, 3] {
        let cancel = Cancel::default();
        let text = "v 0 0 0\n".repeat(1 << 20);
        let slow = Some(Throttle::new(Some(100), Duration::ZERO));
        let run = RunOptions::default()
            .with_threads(Some(threads))
            .with_chunk_bytes(Some(100_000))
            .with_cancel(cancel.clone())
            .with_read_throttle(slow.clone())
            .with_write_throttle(slow);
        std::thread::scope(|scope| {
            let read = scope.spawn(|| {
                let options = ReadOptions::default().with_run(run.clone());
                Reader::new(Input::Memory(text.clone().into(), "a.obj".into())).options(&options).scene().unwrap_err()
            });
            let scene = Reader::new(Input::Memory(text.clone().into(), "a.obj".into())).scene().unwrap().value;
            let write = scope.spawn({
                let run = run.clone();
                move || {
                    let output = Output::Writer(Box::new(Shared::default()), "a.obj".into());
                    Writer::new(output).options(&WriteOptions::default().with_run(run)).scene(&scene).unwrap_err()
                }
            });
            std::thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            for job in [read, write] {
                assert_eq!(job.join().unwrap().kind(), ErrorKind::Cancelled);
            }
        });
    }
}
