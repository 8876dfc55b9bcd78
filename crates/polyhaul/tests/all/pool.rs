//! Thread pools of the caller: the same bytes, warnings and errors for any pool.

use polyhaul::options::{RunTasks, ThreadPool};
use polyhaul::{Format, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::output::Shared;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn pool(run: impl Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync + 'static) -> Option<ThreadPool> {
    let run: Arc<RunTasks> = Arc::new(run);
    Some(ThreadPool(run))
}

/// Pools that run their tasks in different ways.
fn pools(task_count: &Arc<AtomicUsize>) -> Vec<(&'static str, Option<ThreadPool>)> {
    let task_count = task_count.clone();
    vec![
        (
            "one after another",
            pool(move |count, task| {
                task_count.fetch_add(1, Ordering::Relaxed);
                (0..count).for_each(task);
            }),
        ),
        ("the last first", pool(|count, task| (0..count).rev().for_each(task))),
        ("only one", pool(|_, task| task(0))),
        ("none", pool(|_, _| ())),
        (
            "side by side",
            pool(|count, task| {
                std::thread::scope(|scope| (0..count).for_each(|index| _ = scope.spawn(move || task(index))));
            }),
        ),
    ]
}

/// Outcome of reading and writing a file, as text.
fn outcome(path: &Path, format: Format, pool: Option<&ThreadPool>) -> String {
    let mut reading = ReadOptions::default();
    let mut writing = WriteOptions::default();
    for run in [&mut reading.run, &mut writing.run] {
        run.threads = Some(4);
        run.chunk_bytes = Some(500);
        run.pool = pool.cloned();
    }
    writing.format = Some(format);
    let shared = Shared::default();
    let output = Output::Writer(Box::new(shared.clone()), "out".into());
    match Reader::new(path).options(&reading).convert(Writer::new(output).options(&writing)) {
        Ok(report) => format!("{:?}\n{:?}", report.warnings, shared.lock().escape_ascii().to_string()),
        Err(error) => format!("{error:?}"),
    }
}

/// Small test data files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = paths.into_iter().flat_map(below).collect();
    files.retain(|path| path.metadata().is_ok_and(|data| data.len() < 50_000));
    files
}

fn check(folder: &str, format: Format) {
    let task_count = Arc::default();
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder));
    assert!(files.len() > 2, "{folder}");
    for path in files {
        let expected = outcome(&path, format, None);
        for (name, pool) in pools(&task_count) {
            let actual = outcome(&path, format, pool.as_ref());
            assert!(actual == expected, "{}, {name}:\n{actual}\n{expected}", path.display());
        }
    }
    assert!(task_count.load(Ordering::Relaxed) > 0, "the pool was never asked");
}

#[test]
fn obj() {
    check("obj/good", Format::Obj);
    check("obj/bad", Format::Obj);
}

#[test]
fn ply() {
    check("ply/good", Format::Ply);
}

#[test]
fn stl() {
    check("stl/good", Format::Stl);
}

#[test]
fn off() {
    check("off/good", Format::Off);
}

#[test]
fn pbrt() {
    check("pbrt/good", Format::Pbrt);
}

#[test]
fn images() {
    check("tga/good", Format::Tga);
    check("hdr/good", Format::Hdr);
}
