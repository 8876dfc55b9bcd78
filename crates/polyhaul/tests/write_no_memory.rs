//! No memory for a block is an error, never an abort. A binary of its own, for its allocator, which
//! starts itself as a child: a fault would end the process.
#![cfg(unix)]

use polyhaul::model::Scene;
use polyhaul::options::{ObjOptions, RunOptions};
use polyhaul::{ErrorKind, Output, WriteOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Smaller blocks are always given: the standard library needs them for threads and messages.
const LEAST_BYTES: usize = 1024;

static ARMED: AtomicBool = AtomicBool::new(false);
static LEFT: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, of which one large allocation fails.
struct Failing;

/// Whether an allocation of `size` bytes is the one to fail.
fn fails(size: usize) -> bool {
    ARMED.load(Relaxed) && size >= LEAST_BYTES && LEFT.fetch_sub(1, Relaxed) == 0
}

// SAFETY: every call goes to the system's allocator as it came, or says that there is no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && fails(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Which job the child does, and from which allocation on.
const JOB: &str = "POLYHAUL_TEST_JOB";
const FIRST: &str = "POLYHAUL_TEST_FIRST";
const FOLDER: &str = "POLYHAUL_TEST_FOLDER";

/// A way of writing: a name, the threads, whether to a file, and the options.
fn jobs() -> Vec<(&'static str, usize, bool, ObjOptions)> {
    let triangles = ObjOptions { export_triangulated_mesh: true, ..ObjOptions::default() };
    let scaled = ObjOptions { global_scale: 2.0, ..ObjOptions::default() };
    vec![
        ("one thread", 1, false, ObjOptions::default()),
        ("two threads", 2, false, ObjOptions::default()),
        ("a file", 1, true, ObjOptions::default()),
        ("seven threads and a file", 7, true, ObjOptions::default()),
        ("triangles", 2, false, triangles),
        ("scaled", 2, false, scaled),
    ]
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn scene() -> Scene {
    polyhaul::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/obj/blender/splash60.obj")).unwrap()
}

/// The child: fails each allocation in turn, and says which before. Does nothing in the parent.
#[test]
fn child() {
    let Ok(job) = std::env::var(JOB) else { return };
    let first: i64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let (_, threads, to_file, obj) = jobs().into_iter().find(|(name, ..)| *name == job).unwrap();
    let run = RunOptions { threads: Some(threads), ..RunOptions::default() };
    let options = WriteOptions { obj, run, ..WriteOptions::default() };
    let (scene, out) = (scene(), folder.join("out.obj"));
    let shared = Shared(Arc::new(Mutex::new(Vec::with_capacity(8 << 20))));
    let write = || {
        shared.0.lock().unwrap().clear();
        let output = match to_file {
            true => Output::Path(out.clone()),
            false => Output::Writer(Box::new(shared.clone()), "memory".into()),
        };
        polyhaul::save(&scene, output, &options)
    };
    write().unwrap();
    let written = || if to_file { fs::read(&out).unwrap() } else { shared.0.lock().unwrap().clone() };
    let expected = written();
    for number in first.. {
        fs::write(folder.join("number"), number.to_string()).unwrap();
        LEFT.store(number, Relaxed);
        ARMED.store(true, Relaxed);
        let result = write();
        ARMED.store(false, Relaxed);
        match result {
            Ok(_) => assert!(written() == expected, "{job}, {number}: other bytes"),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Memory), "{job}, {number}: {error:?}"),
        }
        if to_file {
            assert!(written() == expected, "{job}, {number}: the old file is gone");
        }
        if LEFT.load(Relaxed) >= 0 {
            fs::write(folder.join("number"), "done").unwrap();
            return;
        }
    }
}

/// Runs a job's child until all of its allocations were tried; returns what went wrong.
fn run_job(name: &str) -> BTreeMap<u64, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "no-memory-{}-{}",
        std::process::id(),
        name.replace(' ', "-")
    ));
    fs::create_dir_all(&folder).unwrap();
    let (mut wrong, mut first) = (BTreeMap::new(), 0);
    while wrong.len() < 40 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child", "--nocapture"])
            .env(JOB, name)
            .env(FIRST, first.to_string())
            .env(FOLDER, &folder);
        let output = command.env("RUST_BACKTRACE", "0").output().unwrap();
        let number = fs::read_to_string(folder.join("number")).unwrap_or_default();
        if number == "done" && output.status.success() {
            break;
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let number: u64 = number.parse().unwrap_or_else(|_| panic!("{name}: {text}"));
        let line =
            text.lines().rfind(|line| line.contains("memory") || line.contains(name)).unwrap_or_default().to_owned();
        wrong.insert(number, format!("{:?}: {line}", output.status));
        first = number + 1;
    }
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let litter: Vec<_> = left.iter().filter(|name| name.to_string_lossy().contains(".tmp")).collect();
    if wrong.is_empty() && !litter.is_empty() {
        wrong.insert(u64::MAX, format!("left behind: {litter:?}"));
    }
    let _ = fs::remove_dir_all(&folder);
    wrong
}

#[track_caller]
fn check(name: &str) {
    let wrong = run_job(name);
    assert!(wrong.is_empty(), "allocations that must not fail, by number: {wrong:#?}");
}

#[test]
fn on_one_thread() {
    check("one thread");
}

#[test]
fn on_two_threads() {
    check("two threads");
}

#[test]
fn into_a_file() {
    check("a file");
}

#[test]
fn on_seven_threads_into_a_file() {
    check("seven threads and a file");
}

#[test]
fn with_triangles() {
    check("triangles");
}

#[test]
fn with_another_scale() {
    check("scaled");
}
