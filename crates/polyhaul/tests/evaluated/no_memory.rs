//! No memory for a block is an error, never an abort. A child process does the work, since a fault
//! would end it; the allocator is armed in the child alone.
#![cfg(unix)]

use super::scenes::{self, IDENTITY, Numbers};
use super::support::*;
use polyhaul::model::{Domain, Mesh, Object, Scene};
use polyhaul::options::{Codec, ObjOptions, RunOptions, Smoothing};
use polyhaul::{ErrorKind, Output, WriteOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Smaller blocks are always given: the standard library needs them for threads and messages.
const LEAST_BYTES: usize = 1024;

static ARMED: AtomicBool = AtomicBool::new(false);
static LEFT: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, of which one large allocation fails.
struct FailingAllocator;

/// Whether an allocation of `size` bytes is the one to fail.
fn fails(size: usize) -> bool {
    ARMED.load(Relaxed) && size >= LEAST_BYTES && LEFT.fetch_sub(1, Relaxed) == 0
}

// SAFETY: every call goes to the system's allocator as it came, or says that there is no memory.
unsafe impl GlobalAlloc for FailingAllocator {
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
static ALLOCATOR: FailingAllocator = FailingAllocator;

/// Which job the child does, and from which allocation on.
const JOB: &str = "POLYHAUL_TEST_JOB";
const FIRST: &str = "POLYHAUL_TEST_FIRST";
const FOLDER: &str = "POLYHAUL_TEST_FOLDER";

/// A way of writing: whether a large object is among the others, and the options.
fn job(name: &str) -> (bool, WriteOptions) {
    let obj = ObjOptions::default();
    let groups = ObjOptions { smoothing: Smoothing::BitFlags, export_vertex_groups: true, ..ObjOptions::default() };
    let (threads, has_large, obj, compression) = match name {
        "one thread" => (1, false, obj, None),
        "three threads" => (3, false, obj, None),
        "a large object" => (2, true, obj, None),
        "smoothing groups" => (1, false, groups, None),
        "triangles" => (1, false, ObjOptions { export_triangulated_mesh: true, ..obj }, None),
        "gzip" => (2, false, obj, Some(Codec::Gzip)),
        _ => panic!("{name}"),
    };
    let run = RunOptions { threads: Some(threads), ..RunOptions::default() };
    (has_large, WriteOptions { obj, run, compression, ..WriteOptions::default() })
}

fn scene(has_large: bool) -> Scene {
    let mut scene = scenes::scene(&mut Random::new(11), Numbers::Tame);
    let objects = scene.objects.clone();
    (0..4).for_each(|_| scene.objects.extend_from_slice(&objects));
    let size: usize = if has_large { 50_000 } else { 600 };
    let positions = (0..size).map(|i| [i as f32, (i * i % 97) as f32, 1.0]).collect();
    let mut mesh = Mesh { positions, ..Mesh::default() };
    mesh.faces.offsets = (0..=size as u32 - 2).map(|face| 3 * face).collect();
    mesh.faces.corner_positions = (0..size as u32 - 2).flat_map(|face| [face, face + 1, face + 2]).collect();
    (mesh.uv_domain, mesh.normal_domain) = (Domain::Corner, Domain::Vertex);
    mesh.uvs = (0..3 * (size - 2)).map(|i| [(i % 1000) as f32, (i % 7) as f32]).collect();
    mesh.normals = (0..size).map(|i| [(i % 100) as f32, 1.0, 50.0]).collect();
    mesh.face_materials = (0..size - 2).map(|face| (face * 7 % 20) as i32).collect();
    mesh.face_smooth = (0..size - 2).map(|face| u8::from(face % 10 > 2)).collect();
    scene.meshes.push(mesh);
    let end = scene.meshes.last().unwrap().counts();
    let materials = (!scene.materials.is_empty()).then(|| vec![Some(0); 20]);
    let mesh = scene.meshes.len() - 1;
    let large = Object { mesh, end, materials, transform: Some(IDENTITY), ..Object::default() };
    scene.objects.insert(3, large);
    scene
}

/// The child: fails each allocation in turn, and says which before. Does nothing in the parent.
#[test]
fn child() {
    let Ok(name) = std::env::var(JOB) else { return };
    let first: i64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let (has_large, options) = job(&name);
    let scene = scene(has_large);
    let shared = Shared(Arc::new(Mutex::new(Vec::with_capacity(32 << 20))));
    let write = || {
        shared.0.lock().unwrap().clear();
        polyhaul::save(&scene, Output::Writer(Box::new(shared.clone()), "memory".into()), &options)
    };
    write().unwrap();
    let expected = shared.0.lock().unwrap().clone();
    let mut failed = first / 3;
    // A large object takes long: each third allocation stands for its neighbours.
    for number in (first..).step_by(if has_large { 3 } else { 1 }) {
        fs::write(folder.join("number"), number.to_string()).unwrap();
        LEFT.store(number, Relaxed);
        ARMED.store(true, Relaxed);
        let result = write();
        ARMED.store(false, Relaxed);
        match result {
            Ok(_) => assert!(*shared.0.lock().unwrap() == expected, "{name}, {number}: other bytes"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Memory, "{name}, {number}: {error:?}");
                failed += 1;
            }
        }
        if LEFT.load(Relaxed) >= 0 {
            fs::write(folder.join("number"), "done").unwrap();
            assert!(failed > 9, "{name}: only {failed} writes failed");
            return;
        }
    }
}

/// Runs a job's child until all of its allocations were tried; returns what went wrong.
fn run_job(name: &str) -> BTreeMap<u64, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("evaluated-no-memory-{}-{}", std::process::id(), name.replace(' ', "-")));
    fs::create_dir_all(&folder).unwrap();
    let (mut wrong, mut first) = (BTreeMap::new(), 0);
    while wrong.len() < 40 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "no_memory::child", "--nocapture"]);
        command.env(JOB, name).env(FIRST, first.to_string()).env(FOLDER, &folder).env("RUST_BACKTRACE", "0");
        let output = command.output().unwrap();
        let number = fs::read_to_string(folder.join("number")).unwrap_or_default();
        if number == "done" && output.status.success() {
            break;
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let number: u64 = number.parse().unwrap_or_else(|_| panic!("{name}: {text}"));
        let is_told = |line: &&str| line.contains("memory") || line.contains(name) || line.contains("panicked");
        let line = text.lines().rfind(is_told).unwrap_or_default().to_owned();
        wrong.insert(number, format!("{:?}: {line}", output.status));
        first = number + 1;
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
fn on_three_threads() {
    check("three threads");
}

#[test]
fn with_a_large_object() {
    check("a large object");
}

#[test]
fn with_smoothing_groups() {
    check("smoothing groups");
}

#[test]
fn with_triangles() {
    check("triangles");
}

#[test]
fn compressed() {
    check("gzip");
}
