//! Failing writers, and cancelled writes: an error, the old file, and nothing else.

use super::support::*;
use polyhaul::model::Scene;
use polyhaul::options::{Cancel, Progress};
use polyhaul::report::Moved;
use polyhaul::{ErrorKind, Output, WriteOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A scene of about 1 MB of text.
fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| polyhaul::read(data("blender/monkey2.obj")).unwrap())
}

fn options(threads: usize, chunk_bytes: Option<usize>) -> WriteOptions {
    WriteOptions::default().with_run(run(threads, chunk_bytes))
}

/// Runs work that must not hang.
fn in_time<T: Send + 'static>(what: String, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()));
    let result = receiver.recv_timeout(Duration::from_secs(60));
    if result.is_ok() {
        let _ = worker.join();
    }
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// A writer that accepts everything and fails when it is flushed.
struct FailsToFlush;

impl Write for FailsToFlush {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_flush_that_fails_is_an_error() {
    let error = polyhaul::Writer::new(Output::Writer(Box::new(FailsToFlush), "host".into()))
        .options(&plain())
        .scene(scene())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

/// All blocks passed to a writer are large, except the last.
#[test]
fn a_writer_sees_large_blocks() {
    #[derive(Clone, Default)]
    struct Sizes(Arc<std::sync::Mutex<Vec<usize>>>);
    impl Write for Sizes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for threads in THREADS {
        let sizes = Sizes::default();
        polyhaul::Writer::new(Output::Writer(Box::new(sizes.clone()), "host".into()))
            .options(&options(threads, None))
            .scene(scene())
            .unwrap();
        let sizes = sizes.0.lock().unwrap().clone();
        let (_, rest) = sizes.split_last().unwrap();
        assert!(rest.iter().all(|&size| size >= 64 << 10), "{sizes:?}");
    }
}

fn cancelling(threads: usize, chunk_bytes: Option<usize>, after: u64) -> (WriteOptions, Cancel) {
    let cancel = Cancel::default();
    let flag = cancel.clone();
    let progress = Progress(Arc::new(move |finished, _| {
        if finished >= after {
            flag.cancel();
        }
    }));
    let run = run(threads, chunk_bytes).with_cancel(cancel.clone()).with_progress(Some(progress));
    (WriteOptions::default().with_run(run), cancel)
}

#[test]
fn a_cancelled_write_leaves_the_old_file_alone() {
    let folder = new_folder();
    let path = folder.file("a.obj", "old").unwrap();
    folder.file("a.mtl", "old library").unwrap();
    for threads in [1, 2, 7] {
        for (chunk_bytes, after) in [(None, 0), (Some(1000), 0), (Some(1000), 500_000), (Some(1000), 1_000_000)] {
            let (options, _) = cancelling(threads, chunk_bytes, after);
            let target = path.clone();
            let what = format!("{threads} threads, after {after}");
            let result = in_time(what.clone(), move || polyhaul::Writer::new(target).options(&options).scene(scene()));
            assert_eq!(result.expect_err(&what).kind(), ErrorKind::Cancelled);
            assert_eq!(folder.names(), ["a.mtl", "a.obj"], "{what}");
            assert_eq!((folder.text("a.obj"), folder.text("a.mtl")), ("old".into(), "old library".into()), "{what}");
        }
    }
}

#[test]
fn a_job_cancelled_before_it_starts_does_nothing() {
    for triangulate in [false, true] {
        let folder = new_folder();
        let (mut options, cancel) = cancelling(2, None, u64::MAX);
        options.scene.triangulate = triangulate;
        cancel.cancel();
        let error = polyhaul::Writer::new(folder.join("a.obj")).options(&options).scene(scene()).unwrap_err();
        assert_eq!((error.kind(), folder.names()), (ErrorKind::Cancelled, vec![]));
    }
}

/// Cancellation at any time: the old file or the complete new one, in agreement with the result.
#[test]
fn a_cancel_at_any_moment_leaves_a_whole_file() {
    let folder = new_folder();
    let new = bytes(scene(), &plain());
    for threads in [1, 2, 7] {
        for delay_us in [0, 50, 200, 500, 1000, 2000, 4000, 8000] {
            let path = folder.file("monkey2.obj", "old").unwrap();
            let (options, cancel) = cancelling(threads, Some(5000), u64::MAX);
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(delay_us));
                cancel.cancel();
            });
            let result = polyhaul::Writer::new(&path).options(&options).scene(scene());
            canceller.join().unwrap();
            let loaded = std::fs::read(&path).unwrap();
            match result {
                Ok(_) => assert!(loaded == new),
                Err(error) => assert_eq!((error.kind(), loaded.as_slice()), (ErrorKind::Cancelled, &b"old"[..])),
            }
            assert!(folder.names().iter().all(|name| ["monkey2.mtl", "monkey2.obj"].contains(&name.as_str())));
        }
    }
}

#[test]
fn progress_grows_to_the_end() {
    for threads in THREADS {
        let last = Arc::new(AtomicU64::new(0));
        let calls = Arc::new(AtomicU64::new(0));
        let seen = last.clone();
        let count = calls.clone();
        let progress = Progress(Arc::new(move |finished, total| {
            assert!(seen.swap(finished, Relaxed) <= finished && total.is_some_and(|total| finished <= total));
            count.fetch_add(1, Relaxed);
        }));
        let run = run(threads, None).with_progress(Some(progress));
        let written = bytes(scene(), &WriteOptions::default().with_run(run));
        assert_eq!(last.load(Relaxed), written.len() as u64);
        assert!(calls.load(Relaxed) > 3);
    }
}

/// A report lists the written files.
#[test]
fn the_report_counts_all_bytes() {
    let folder = new_folder();
    let report = polyhaul::Writer::new(folder.join("a.obj")).options(&options(2, None)).scene(scene()).unwrap();
    let size: usize = folder.names().iter().map(|name| folder.text(name).len()).sum();
    assert_eq!((report.bytes_out, folder.names().len()), (size as u64, 2));
    let scene = folder.text("a.obj").len();
    assert_eq!(report.writes, [Moved::new("obj", scene as u64), Moved::new("mtl", (size - scene) as u64)]);
    assert_eq!(report.threads, 2);
}

/// A failure after the library is complete preserves both old files.
#[cfg(unix)]
#[test]
fn a_library_that_cannot_be_written_leaves_both_old_files() {
    let folder = new_folder();
    folder.file("a.obj", "old").unwrap();
    std::fs::create_dir(folder.join("a.mtl")).unwrap();
    let mut scene = scene().clone();
    scene.material_libraries.clear();
    let error = polyhaul::Writer::new(folder.join("a.obj")).options(&plain()).scene(&scene).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("a.mtl"), "{error}");
    assert_eq!((folder.text("a.obj").as_str(), folder.names()), ("old", vec!["a.mtl".into(), "a.obj".into()]));
}
