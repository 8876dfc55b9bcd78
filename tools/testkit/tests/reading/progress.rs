//! Cancellation and progress.

use crate::{options, read};
use polyhaul::model::Scene;
use polyhaul::options::Progress;
use polyhaul::{Error, ErrorKind, Input, Loaded};
use polyhaul_testkit::generate;
use std::sync::{Arc, Mutex};

const TEXT: &[u8] = b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\r\nusemtl b\nf 3 2 1\n";

/// A job canceled before it starts does nothing.
#[test]
fn cancelled_before() {
    for threads in [1, 4] {
        let options = options(threads, 8);
        options.run.cancel.cancel();
        let error = read(Input::Memory(TEXT.to_vec(), "x.obj".into()), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

/// Bytes processed, and total bytes.
type Call = (u64, Option<u64>);

/// Records the calls of a progress callback while reading a text of 12 MB.
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
