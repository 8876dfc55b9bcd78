//! Work and memory: linear in the input, bounded by the model and the budget, and no allocation per
//! statement.
//!
//! One test at a time: the counters belong to the process.

use polyhaul::model::Scene;
use polyhaul::options::{Codec, OnError};
use polyhaul::{Error, Input, Loaded, ReadOptions, Reader};
use polyhaul_testkit::alloc::{self, Counting, Use, measure};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::generate::{self, Shape};
use polyhaul_testkit::growth;
use polyhaul_testkit::packed::{CODECS, pack};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: u64 = 1 << 20;
/// The budget that callers get by default, in bytes.
const BUDGET: u64 = 64 * MIB;
/// What may come on top of model and budget: places of the program, and the growth of arrays.
const SLACK: u64 = 16 * MIB;

/// One test at a time, and none that takes all memory.
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

/// The bytes of the model: arrays, and the names of groups.
fn heap_bytes(loaded: &Loaded<Scene>) -> u64 {
    let meshes = loaded.value.meshes.iter();
    let names = |names: &[String]| names.iter().map(|name| 24 + 16 + name.len() as u64).sum::<u64>();
    meshes.map(|mesh| mesh.heap_bytes() + names(&mesh.groups)).sum()
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

/// A grid of `bytes` in a file.
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

/// Reading a large file takes the model's arrays and the budget, from a file and from a stream.
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

/// Packs the file at `path` into members of `member_bytes` plain bytes, beside it.
fn packed_file(path: &Path, codec: Codec, member_bytes: usize) -> std::path::PathBuf {
    let packed = pack(codec, &std::fs::read(path).unwrap(), member_bytes);
    let path = path.with_extension(format!("{codec}.{member_bytes}.obj"));
    std::fs::write(&path, packed).unwrap();
    path
}

/// Reading a compressed file takes what reading the plain one takes and a constant, whether it is one member or many.
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
            // Two members for each thread and a few to spare are in memory where threads decode them.
            let max_bytes = (plain.peak_bytes + 8 * MIB + 3 * threads as u64 * MIB).min(model + BUDGET + SLACK);
            let way = format!("{}, {threads} threads", packed.display());
            assert!(used.peak_bytes <= max_bytes, "{way}: {}, at most {}", mib(used.peak_bytes), mib(max_bytes));
        }
    }
}

/// A bomb takes the budget at most, whatever it unpacks to, and so does damage.
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

/// Twice the text takes no more allocations than it takes to double the arrays.
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

/// What a broken file asks for is not given: 64 MiB and 4 times the input are enough for each.
#[test]
fn peak_of_bad_files() {
    let _alone = alone();
    for file in samples("obj/bad", "obj") {
        for on_error in [OnError::Raise, OnError::Warn] {
            let options = options(4).with_on_error(on_error);
            let (_, used) = read_measured(Input::Path(file.path.clone()), &options);
            let max_bytes = BUDGET + 4 * file.size;
            assert!(used.peak_bytes <= max_bytes, "{}: {}", file.name, mib(used.peak_bytes));
        }
    }
}

/// Statements that leave little or nothing in the model stay within the budget, however many there
/// are and however many threads work on them.
#[test]
fn peak_of_hostile_shapes() {
    let _alone = alone();
    const BYTES: usize = 8_000_000;
    let shapes =
        [Shape::Smoothing, Shape::EmptyGroups, Shape::Blank, Shape::Comments, Shape::LongComment, Shape::LongNumber];
    let mut wrong = Vec::new();
    for shape in shapes {
        // Memory that the caller holds is not counted; what the library makes of it is.
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

/// One face of many corners: its text and values are needed at once, but not many times over.
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

/// A library named under many spellings is in memory once.
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

/// Four times the text takes four times the work; a square would take sixteen times.
fn linear(shapes: &[Shape], on_error: OnError, options_for: impl Fn(usize) -> ReadOptions) {
    let _alone = alone();
    let mut wrong = Vec::new();
    for &shape in shapes {
        let texts = [12_000, 48_000].map(|bytes| Arc::new(shape.text(bytes)));
        let read = |text: &Arc<Vec<u8>>| {
            let options = options_for(text.len()).with_on_error(on_error);
            drop(Reader::new(Input::Shared(text.clone(), "x.obj".into())).options(&options).scene());
        };
        wrong.extend(growth::too_fast(&texts, read).map(|complaint| format!("{shape:?}: {complaint}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn work_is_linear() {
    linear(&Shape::ALL, OnError::Raise, |_| options(1));
}

#[test]
fn work_is_linear_with_warnings_for_errors() {
    let shapes = [Shape::BrokenFaces, Shape::OutOfRange, Shape::Forward, Shape::Unknown];
    linear(&shapes, OnError::Warn, |_| options(1));
}

/// Borders of chunks in the text: what a chunk does must not depend on all that came before.
#[test]
fn work_is_linear_in_chunks() {
    let chunked = |size: usize| {
        let mut options = options(1);
        options.run.chunk_bytes = Some(size / 3);
        options
    };
    linear(&Shape::ALL, OnError::Raise, chunked);
    linear(&[Shape::Forward, Shape::OutOfRange], OnError::Warn, chunked);
}

/// Many small chunks cost more per byte, but no more for each of many.
#[test]
fn work_is_linear_in_the_number_of_chunks() {
    let small = |_| {
        let mut options = options(1);
        options.run.chunk_bytes = Some(100);
        options
    };
    let shapes =
        [Shape::Grid, Shape::LongFace, Shape::LongComment, Shape::Continuations, Shape::Groups, Shape::Forward];
    linear(&shapes, OnError::Raise, small);
}

/// The kernel's figure for the peak memory of the process; `None` if unavailable.
fn peak_resident_bytes() -> Option<u64> {
    let mut text = String::new();
    File::open(Path::new("/proc/self/status")).ok()?.read_to_string(&mut text).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

const CHILD: &str = "POLYHAUL_TEST_MEMORY_CHILD";

/// A small budget is kept too: memory that is touched, as the kernel counts it, in a process of its own.
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
