//! Memory and allocations of reading: linear in the input, bounded by the model plus the budget, and no allocation per
//! statement.
//!
//! Tests run one at a time, since the counters are global to the process.

use polyhaul::model::Scene;
use polyhaul::options::{Codec, OnError};
use polyhaul::{Error, Input, Loaded, ReadOptions, Reader};
use polyhaul_testkit::alloc::{self, Counting, Use, measure};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::generate::{self, Shape};
use polyhaul_testkit::packed::{CODECS, pack};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: u64 = 1 << 20;
/// Default memory budget in bytes.
const BUDGET: u64 = 64 * MIB;
/// Tolerance on top of model and budget: static data, and growing arrays.
const SLACK: u64 = 16 * MIB;

/// Serializes tests, and caps the memory of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    alloc::cap(4 << 30);
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(threads: usize) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options
}

/// Returns the size of the model: arrays, and names of groups.
fn heap_bytes(loaded: &Loaded<Scene>) -> u64 {
    let meshes = loaded.value.meshes.iter();
    let names = |names: &[String]| names.iter().map(|name| 24 + 16 + name.len() as u64).sum::<u64>();
    meshes.map(|mesh| mesh.heap_bytes() + names(&mesh.groups)).sum()
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

/// Writes a grid of about `bytes` bytes to a file.
fn grid_file(folder: &Folder, bytes: u64) -> std::path::PathBuf {
    let path = folder.path().join(format!("{bytes}.obj"));
    let mut out = BufWriter::new(File::create(&path).unwrap());
    generate::grid(bytes, &mut out).unwrap();
    out.flush().unwrap();
    path
}

fn read_measured(input: Input, options: &ReadOptions) -> (Result<Loaded<Scene>, Error>, Use) {
    measure(|| Reader::new(input).options(options).scene())
}

/// Reading a large file needs at most the model's arrays and the budget, from a file and from a stream.
#[test]
fn peak_while_reading_a_large_file() {
    let _alone = alone();
    let folder = Folder::new("memory").unwrap();
    let path = grid_file(&folder, 60_000_000);
    for threads in [1, 2, 16] {
        for streamed in [false, true] {
            let input = if streamed {
                Input::Reader(Box::new(File::open(&path).unwrap()), "x.obj".into())
            } else {
                Input::Path(path.clone())
            };
            let (result, used) = read_measured(input, &options(threads));
            let model = heap_bytes(&result.unwrap());
            let max_bytes = model + BUDGET + SLACK;
            let way = format!("{threads} threads, streamed {streamed}");
            assert!(used.peak_bytes <= max_bytes, "{way}: {}, model {}", mib(used.peak_bytes), mib(model));
        }
    }
}

/// Compresses the file at `path` into members of `member_bytes` uncompressed bytes each, next to it.
fn packed_file(path: &Path, codec: Codec, member_bytes: usize) -> std::path::PathBuf {
    let packed = pack(codec, &std::fs::read(path).unwrap(), member_bytes);
    let path = path.with_extension(format!("{codec}.{member_bytes}.obj"));
    std::fs::write(&path, packed).unwrap();
    path
}

/// Reading a compressed file needs at most as much memory as the uncompressed one plus a constant, for one member or
/// many.
#[test]
fn peak_while_reading_compressed_files() {
    let _alone = alone();
    let folder = Folder::new("memory").unwrap();
    let path = grid_file(&folder, 20_000_000);
    let pack = |(codec, _)| [1 << 20, usize::MAX].map(|size| packed_file(&path, codec, size));
    let packed: Vec<_> = CODECS.into_iter().flat_map(pack).collect();
    for threads in [1, 2, 64] {
        let (result, plain) = read_measured(Input::Path(path.clone()), &options(threads));
        let model = heap_bytes(&result.unwrap());
        for packed in &packed {
            let (result, used) = read_measured(Input::Path(packed.clone()), &options(threads));
            result.unwrap();
            // Threads decode up to two members each, and a few more are buffered.
            let max_bytes = (plain.peak_bytes + 8 * MIB + 3 * threads as u64 * MIB).min(model + BUDGET + SLACK);
            let way = format!("{}, {threads} threads", packed.display());
            assert!(used.peak_bytes <= max_bytes, "{way}: {}, at most {}", mib(used.peak_bytes), mib(max_bytes));
        }
    }
}

/// A decompression bomb needs at most the budget, for any expanded size, and so does a damaged file.
#[test]
fn peak_of_bad_compressed_files() {
    let _alone = alone();
    for (_, extension) in CODECS {
        for file in samples(&format!("{extension}/bad"), extension) {
            for on_error in [OnError::Raise, OnError::Warn] {
                let options = options(4).with_on_error(on_error).with_format(Some(polyhaul::Format::Obj));
                let (_, used) = read_measured(Input::Path(file.path.clone()), &options);
                let max_bytes = BUDGET + 4 * file.size;
                assert!(used.peak_bytes <= max_bytes, "{}: {}", file.name, mib(used.peak_bytes));
            }
        }
    }
}

/// Doubling the text adds only the allocations that doubling the arrays needs.
#[test]
fn allocations_do_not_come_with_statements() {
    let _alone = alone();
    let folder = Folder::new("memory").unwrap();
    let paths = [30_000_000, 60_000_000].map(|bytes| grid_file(&folder, bytes));
    for threads in [1, 2] {
        let counts = [0, 1].map(|i| {
            let (result, used) = read_measured(Input::Path(paths[i].clone()), &options(threads));
            result.unwrap();
            used.count
        });
        assert!(counts[1] < 1500, "{threads} threads: {counts:?}");
        assert!(counts[1] < counts[0] + 200, "{threads} threads: {counts:?}");
    }
}

/// Statements that add little or nothing to the model stay within the budget, for any number of statements and threads.
#[test]
fn peak_of_hostile_shapes() {
    let _alone = alone();
    const BYTES: usize = 8_000_000;
    let shapes =
        [Shape::Smoothing, Shape::EmptyGroups, Shape::Blank, Shape::Comments, Shape::LongComment, Shape::LongNumber];
    let mut wrong = Vec::new();
    for shape in shapes {
        // Counts the library's copies of the text, but not the caller's.
        let text = shape.text(BYTES);
        let input = Input::Memory(text, "x.obj".into());
        let (result, used) = read_measured(input, &options(16));
        let model = result.map(|loaded| heap_bytes(&loaded)).unwrap_or(0);
        let max_bytes = model + BUDGET + SLACK + 4 * BYTES as u64;
        if used.peak_bytes > max_bytes {
            wrong.push(format!("{shape:?}: {}, model {}", mib(used.peak_bytes), mib(model)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One face with many corners needs its text and values at once, but without many copies.
#[test]
fn peak_of_a_long_line() {
    let _alone = alone();
    const BYTES: usize = 20_000_000;
    let text = Shape::LongFace.text(BYTES);
    let (result, used) = read_measured(Input::Memory(text, "x.obj".into()), &options(1));
    let model = heap_bytes(&result.unwrap());
    let max_bytes = model + BUDGET + 4 * BYTES as u64;
    assert!(used.peak_bytes <= max_bytes, "{}, model {}", mib(used.peak_bytes), mib(model));
}

/// A library referred to by many spellings is loaded once.
#[test]
fn peak_of_one_library_under_many_names() {
    let _alone = alone();
    let folder = Folder::new("memory").unwrap();
    let library: String = (0..2000).map(|i| format!("newmtl m{i}\nKd 1 1 1\n")).collect();
    folder.file("a.mtl", &library).unwrap();
    let mut names = String::new();
    for number in 0..256 {
        let bits = (0..8).map(|bit| if number >> bit & 1 == 1 { '/' } else { '\\' });
        names += &format!("mtllib .{}a.mtl\n", bits.collect::<String>());
    }
    let scene = folder.file("x.obj", &names).unwrap();
    let (result, used) = read_measured(Input::Path(scene), &options(1));
    assert_eq!(result.unwrap().value.materials.len(), 2000);
    assert!(used.peak_bytes < 8 * MIB, "{}", mib(used.peak_bytes));
}

/// Returns the peak resident size reported by the kernel; `None` if unavailable.
fn peak_resident_bytes() -> Option<u64> {
    let mut text = String::new();
    File::open(Path::new("/proc/self/status")).ok()?.read_to_string(&mut text).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

const CHILD: &str = "POLYHAUL_TEST_MEMORY_CHILD";

/// A small budget also holds for memory as the kernel counts it, in a separate process.
#[test]
fn a_small_budget_is_kept() {
    if let Some(path) = std::env::var_os(CHILD) {
        let mut options = options(2);
        options.run.memory_limit = 4 * MIB;
        let before = peak_resident_bytes().unwrap_or(0);
        let loaded = Reader::new(Input::Path(path.into())).options(&options).scene().unwrap();
        let used = peak_resident_bytes().unwrap_or(0) - before;
        let max_bytes = heap_bytes(&loaded) + 4 * MIB + SLACK;
        assert!(used <= max_bytes, "{}, at most {}", mib(used), mib(max_bytes));
        return;
    }
    let _alone = alone();
    let folder = Folder::new("memory").unwrap();
    let path = grid_file(&folder, 40_000_000);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["a_small_budget_is_kept", "--exact", "--nocapture"])
        .env(CHILD, path)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}
