//! Readers that a host brings along, cancelling, and progress.

use crate::{options, read};
use polyhaul::model::Scene;
use polyhaul::options::Progress;
use polyhaul::{Error, ErrorKind, Input, Loaded};
use polyhaul_testkit::generate;
use polyhaul_testkit::hostile::{Fault, Hostile, Log, Sizes};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::summary;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

const TEXT: &[u8] = b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\r\nusemtl b\nf 3 2 1\n";
const BLOCK_BYTES: usize = 64 << 10;

fn stream(
    text: &[u8],
    sizes: Sizes,
    fault: Fault,
    threads: usize,
    chunk_bytes: Option<usize>,
) -> (Result<Loaded<Scene>, Error>, Arc<Log>) {
    let reader = Hostile::new(text, sizes).with(fault);
    let log = reader.log();
    let input = Input::Reader(Box::new(reader), "host.obj".into());
    (read(input, &options(threads, chunk_bytes)), log)
}

#[test]
fn an_error_at_any_byte_is_the_error() {
    for at in 0..=TEXT.len() {
        for (threads, chunk_bytes) in [(1, None), (1, Some(1)), (3, Some(7))] {
            for sizes in [Sizes::All, Sizes::One] {
                let (result, log) = stream(TEXT, sizes, Fault::FailsAt(at), threads, chunk_bytes);
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                assert!(error.to_string().contains("the host's disk is gone"), "{error}");
                assert!(error.to_string().contains("host.obj"), "{error}");
                assert_eq!(log.calls_too_late.load(Relaxed), 0, "called after its error");
            }
        }
    }
}

#[test]
fn claiming_too_much_is_the_fault_of_the_host() {
    for at in [0, 1, 20, TEXT.len()] {
        for chunk_bytes in [None, Some(1), Some(100_000)] {
            let fault = Fault::ClaimsTooMuchAt(at);
            let (result, _) = stream(TEXT, Sizes::All, fault, 2, chunk_bytes);
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Host);
        }
    }
}

/// A panic of the host must not hang or abort, and is not a fault of polyhaul.
#[test]
fn a_panic_of_the_host_comes_back() {
    for threads in [1, 4] {
        for at in [0, 30] {
            let work = || stream(TEXT, Sizes::One, Fault::PanicsAt(at), threads, Some(4)).0;
            // An error, or the same panic: both are fine.
            if let Ok(result) = std::panic::catch_unwind(work) {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Host);
            }
        }
    }
}

#[test]
fn a_host_is_asked_for_large_blocks_and_not_after_the_end() {
    let mut text = Vec::new();
    generate::grid(500_000, &mut text).unwrap();
    let whole = options(2, None);
    let expected = summary::outcome(&read(Input::Memory(text.clone(), "host.obj".into()), &whole));
    let sizes = [Sizes::All, Sizes::Random(Random::new(41))];
    for (sizes, chunk_bytes) in sizes.into_iter().zip([None, Some(100), Some(100_000)].into_iter().cycle()) {
        let (result, log) = stream(&text, sizes, Fault::Interrupted, 2, chunk_bytes);
        assert_eq!(summary::outcome(&result), expected);
        assert!(log.least_asked.load(Relaxed) >= BLOCK_BYTES, "{log:?}");
        assert_eq!(log.calls_too_late.load(Relaxed), 0, "{log:?}");
    }
    let (_, log) = stream(&text, Sizes::All, Fault::Nothing, 2, Some(100));
    let max_calls = text.len().div_ceil(BLOCK_BYTES) + 4;
    assert!(log.calls.load(Relaxed) <= max_calls, "{log:?}");
}

/// A job that was cancelled before it began does nothing.
#[test]
fn cancelled_before() {
    for threads in [1, 4] {
        let options = options(threads, 8);
        options.run.cancel.cancel();
        let error = read(Input::Memory(TEXT.to_vec(), "x.obj".into()), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

/// Bytes done, and bytes in all.
type Call = (u64, Option<u64>);

/// Calls of a progress callback while a text of 12 MB is read.
fn progress(threads: usize, streamed: bool) -> (Vec<Call>, u64, Result<Loaded<Scene>, Error>) {
    let mut text = Vec::new();
    generate::grid(12_000_000, &mut text).unwrap();
    let size = text.len() as u64;
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut options = options(threads, None);
    let seen = calls.clone();
    options.run.progress =
        Some(Progress(Arc::new(move |finished, total| seen.lock().unwrap().push((finished, total)))));
    let input = if streamed {
        Input::Reader(Box::new(std::io::Cursor::new(text)), "x.obj".into())
    } else {
        Input::Memory(text, "x.obj".into())
    };
    let result = read(input, &options);
    let calls = calls.lock().unwrap().clone();
    (calls, size, result)
}

#[test]
fn progress_grows() {
    for (threads, streamed) in [(1, false), (3, false), (2, true)] {
        let (calls, size, result) = progress(threads, streamed);
        assert!(result.is_ok() && calls.len() >= 2, "{calls:?}");
        assert!(calls.windows(2).all(|pair| pair[0].0 < pair[1].0), "{calls:?}");
        let total = (!streamed).then_some(size);
        assert!(
            calls.iter().all(|&(finished, size_of_all)| finished <= size && size_of_all == total),
            "{calls:?} of {size}"
        );
    }
}

#[test]
fn cancelling_stops_the_work() {
    for threads in [1, 3] {
        let cancel = options(1, None).run.cancel;
        let flag = cancel.clone();
        let mut text = Vec::new();
        generate::grid(12_000_000, &mut text).unwrap();
        let size = text.len() as u64;
        let mut options = options(threads, None);
        options.run.cancel = cancel;
        let last = Arc::new(Mutex::new(0));
        let seen = last.clone();
        options.run.progress = Some(Progress(Arc::new(move |finished, _| {
            *seen.lock().unwrap() = finished;
            flag.cancel();
        })));
        let result = read(Input::Memory(text, "x.obj".into()), &options);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(*last.lock().unwrap() < size / 2, "it went on");
    }
}
