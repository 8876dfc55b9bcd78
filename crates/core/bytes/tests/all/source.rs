//! Sources: files, streams, hostile readers, and files that change while they are read.

use crate::common::{Answer, Folder, Random, hostile};
use polyhaul_bytes::{BLOCK_BYTES, Source};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

fn read_all(source: &Source, step_bytes: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut block = vec![0; step_bytes];
    loop {
        let count = source.read_next(&mut block)?;
        bytes.extend_from_slice(&block[..count]);
        if count < step_bytes {
            return Ok(bytes);
        }
    }
}

#[test]
fn a_file_is_read_at_any_offset_by_any_thread() {
    let folder = Folder::new();
    let data = Random::new(1).bytes(300_000);
    let source = Source::open(folder.file("data", &data)).unwrap();
    assert!(source.is_positioned());
    assert_eq!(source.len(), Some(300_000));
    assert!(source.name().ends_with("data"));
    std::thread::scope(|scope| {
        for i in 0..8 {
            let source = source.clone();
            let data = &data;
            scope.spawn(move || {
                let mut block = vec![0; 50_000];
                let count = source.read_at(i * 40_000, &mut block).unwrap();
                let start = i as usize * 40_000;
                assert_eq!(block[..count], data[start..(start + 50_000).min(data.len())]);
            });
        }
    });
    assert_eq!(source.read_at(300_000, &mut [0; 9]).unwrap(), 0);
    assert_eq!(source.read_at(u64::MAX, &mut [0; 9]).unwrap(), 0);
    source.check_unchanged().unwrap();
}

#[test]
fn a_file_is_read_in_order_without_a_call_for_the_end() {
    let folder = Folder::new();
    let data = Random::new(2).bytes(5 * BLOCK_BYTES + 17);
    let source = Source::open_regular(folder.file("data", &data)).unwrap();
    assert_eq!(read_all(&source, BLOCK_BYTES).unwrap(), data);
    let seen = source.counters().snapshot();
    assert_eq!((seen.bytes, seen.calls), (data.len() as u64, 6));
    assert_eq!((seen.min_size, seen.max_size), (17, 65_536));
}

#[test]
fn empty_files_are_empty() {
    let folder = Folder::new();
    let path = folder.file("empty", b"");
    for source in [Source::open(&path).unwrap(), Source::open_regular(&path).unwrap()] {
        assert_eq!(source.read_next(&mut [0; 100]).unwrap(), 0);
        source.check_unchanged().unwrap();
    }
}

#[test]
fn memory_of_all_kinds_is_positioned_and_not_copied() {
    let bytes = vec![1, 2, 3];
    let start = bytes.as_ptr();
    let source = Source::memory(bytes);
    assert_eq!(source.bytes().unwrap().as_ptr(), start);
    let local = [4, 5];
    let shared: Arc<[u8]> = Arc::from([6, 7]);
    for (source, first) in [(Source::memory(local), 4), (Source::memory(shared), 6)] {
        let mut out = [0; 3];
        assert_eq!(source.read_at(0, &mut out).unwrap(), 2);
        assert_eq!(out[0], first);
        assert_eq!(source.read_at(2, &mut out).unwrap(), 0);
        assert_eq!(source.read_at(u64::MAX, &mut out).unwrap(), 0);
        assert_eq!(source.len(), Some(2));
    }
}

#[test]
fn folders_are_reported_as_folders() {
    let folder = Folder::new();
    for error in [Source::open(folder.path()).unwrap_err(), Source::open_regular(folder.path()).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
        assert!(error.to_string().contains("directory"), "{error}");
    }
    let missing = Source::open_regular(folder.join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn a_file_that_shrinks_is_an_error_for_reader_and_check() {
    let folder = Folder::new();
    let path = folder.file("data", &[7; 200_000]);
    let source = Source::open(&path).unwrap();
    assert_eq!(source.read_next(&mut [0; 1000]).unwrap(), 1000);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(100_000).unwrap();
    let error = source.read_at(50_000, &mut vec![0; 100_000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("shrank"), "{error}");
    assert_eq!(source.read_at(0, &mut vec![0; 100_000]).unwrap(), 100_000);
    assert_eq!(source.check_unchanged().unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_file_that_grows_or_is_touched_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("data", &[7; 100]);
    let source = Source::open(&path).unwrap();
    source.check_unchanged().unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"more").unwrap();
    assert_eq!(read_all(&source, 64).unwrap(), [7; 100], "growth does not leak in");
    let message = source.check_unchanged().unwrap_err().to_string();
    assert!(message.contains("from 100 to 104"), "{message}");

    let source = Source::open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let message = source.check_unchanged().unwrap_err().to_string();
    assert!(message.contains("modification"), "{message}");
}

#[test]
fn any_split_of_reads_gives_the_same_bytes() {
    let data = Random::new(3).bytes(3 * BLOCK_BYTES + 5);
    let limits: [usize; 6] = [1, 2, 4095, BLOCK_BYTES - 1, BLOCK_BYTES, usize::MAX];
    for limit in limits {
        // One byte per call is slow, so uses less data.
        let data = if limit < 100 { &data[..1000] } else { &data[..] };
        for step in [3, 1000, BLOCK_BYTES, BLOCK_BYTES + 1, 4 * BLOCK_BYTES] {
            let mut random = Random::new(limit as u64);
            let reader = hostile(data, move |call, _| match call % 3 {
                0 => Answer::Fail(ErrorKind::Interrupted),
                1 => Answer::Give(limit),
                _ => Answer::Give(1 + random.below(limit.min(1 << 20))),
            });
            let source = Source::reader(reader, "host");
            assert_eq!(read_all(&source, step).unwrap(), data, "{limit} {step}");
            assert_eq!((source.len(), source.is_positioned()), (None, false));
        }
    }
}

#[test]
fn at_least_a_block_is_requested_from_a_reader() {
    let data = vec![1; 10 * BLOCK_BYTES + 99];
    for step in [1, 3, 500, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7] {
        let min_request = Arc::new(AtomicUsize::new(usize::MAX));
        let calls = Arc::new(AtomicUsize::new(0));
        let seen_request = min_request.clone();
        let seen_calls = calls.clone();
        let reader = hostile(&data, move |_, requested| {
            seen_request.fetch_min(requested, Relaxed);
            seen_calls.fetch_add(1, Relaxed);
            Answer::Give(requested)
        });
        let source = Source::reader(reader, "host");
        assert_eq!(read_all(&source, step).unwrap().len(), data.len());
        assert!(min_request.load(Relaxed) >= BLOCK_BYTES, "{step}");
        assert!(calls.load(Relaxed) <= data.len().div_ceil(BLOCK_BYTES) + 4, "{step}");
    }
}

#[test]
fn errors_are_repeated_without_calling_the_reader_again() {
    for n in 0..4 {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = calls.clone();
        let reader = hostile(&[1; 1000], move |call, _| {
            seen.fetch_add(1, Relaxed);
            if call == n { Answer::Fail(ErrorKind::ConnectionReset) } else { Answer::Give(100) }
        });
        let source = Source::reader(reader, "host");
        for _ in 0..2 {
            let error = source.read_next(&mut [0; 1000]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
        assert_eq!(calls.load(Relaxed), n + 1);
    }
}

#[test]
fn the_end_is_read_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let reader = hostile(b"abc", move |_, requested| {
        seen.fetch_add(1, Relaxed);
        Answer::Give(requested)
    });
    let source = Source::reader(reader, "terminal");
    assert_eq!(source.read_next(&mut [0; 10]).unwrap(), 3);
    assert_eq!(source.read_next(&mut [0; 10]).unwrap(), 0);
    assert_eq!(calls.load(Relaxed), 2);
}

#[test]
fn a_reader_that_claims_too_much_is_an_error() {
    for step in [10, 2 * BLOCK_BYTES] {
        let reader = hostile(b"", |_, requested| Answer::Claim(requested + 1));
        let source = Source::reader(reader, "host");
        let error = source.read_next(&mut vec![0; step]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains("requested"), "{error}");
    }
}

#[test]
fn a_reader_that_panics_is_an_error_afterwards() {
    let reader = hostile(b"", |_, _| panic!("host"));
    let source = Source::reader(reader, "host");
    let copy = source.clone();
    let panicked = std::thread::spawn(move || drop(copy.read_next(&mut [0; 10]))).join();
    assert!(panicked.is_err());
    assert!(source.read_next(&mut [0; 10]).is_err());
}

#[test]
fn threads_share_one_stream_without_losing_bytes() {
    let data = Random::new(5).bytes(40 * 1000);
    let source = Source::reader(hostile(&data, |_, _| Answer::Give(777)), "host");
    let parts = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut block = [0; 1000];
                while source.read_next(&mut block).unwrap() > 0 {
                    parts.lock().unwrap().push(block);
                }
            });
        }
    });
    let mut blocks = parts.into_inner().unwrap();
    let mut expected: Vec<_> = data.chunks(1000).collect();
    blocks.sort();
    expected.sort();
    assert_eq!(blocks, expected);
}

#[test]
fn a_stream_has_no_positions() {
    let source = Source::reader(Box::new(io::empty()), "host");
    let error = source.read_at(0, &mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_opened_for_others_and_without_waiting() {
        let folder = Folder::new();
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        symlink(&fifo, folder.join("link")).unwrap();
        let _socket = UnixListener::bind(folder.join("socket")).unwrap();
        for (path, what) in [
            (fifo, "a FIFO"),
            (folder.join("link"), "a FIFO"),
            (folder.join("socket"), "a socket"),
            ("/dev/zero".into(), "a device"),
            ("/dev/tty".into(), "a device"),
        ] {
            if !path.exists() {
                continue;
            }
            let error = Source::open_regular(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path:?}");
            assert!(error.to_string().contains(what), "{path:?}: {error}");
        }
    }

    #[test]
    fn a_symlink_to_a_regular_file_is_followed() {
        let folder = Folder::new();
        folder.file("data", b"abc");
        symlink("data", folder.join("link")).unwrap();
        let source = Source::open_regular(folder.join("link")).unwrap();
        assert_eq!(source.len(), Some(3));
    }

    #[test]
    fn devices_and_fifos_that_the_user_names_are_streams() {
        let zeros = Source::open("/dev/zero").unwrap();
        assert!(!zeros.is_positioned());
        assert_eq!(zeros.read_next(&mut [1; 9]).unwrap(), 9);

        let folder = Folder::new();
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let path = fifo.clone();
        let writer = std::thread::spawn(move || fs::write(path, [5; 100_000]).unwrap());
        let source = Source::open(&fifo).unwrap();
        assert_eq!(read_all(&source, BLOCK_BYTES).unwrap(), [5; 100_000]);
        writer.join().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_fifo_is_read_until_a_stop_and_its_writer_may_come_late() {
        use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};
        use std::time::Duration;
        let folder = Folder::new();
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let path = fifo.clone();
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            fs::write(path, [5; 100_000]).unwrap();
        });
        let stop = Arc::new(AtomicBool::new(false));
        let source = Source::open_until(&fifo, stop.clone()).unwrap();
        assert_eq!(read_all(&source, BLOCK_BYTES).unwrap(), [5; 100_000]);
        late.join().unwrap();

        // Without a writer or a stop, this would wait forever.
        let source = Source::open_until(&fifo, stop.clone()).unwrap();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(70));
            stop.store(true, Ordering::Relaxed);
        });
        let error = source.read_next(&mut [0; 10]).unwrap_err();
        assert!(polyhaul_bytes::Stopped::caused(&error), "{error}");
        assert!(polyhaul_bytes::Stopped::caused(&source.read_next(&mut [0; 10]).unwrap_err()), "the error stays");
        stopper.join().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_claim_to_be_empty_are_read_nevertheless() {
        let source = Source::open("/proc/self/status").unwrap();
        assert!(read_all(&source, BLOCK_BYTES).unwrap().starts_with(b"Name:"));
    }

    #[test]
    fn a_descriptor_continues_at_its_position() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let folder = Folder::new();
        let mut file = fs::File::open(folder.file("data", b"headbody")).unwrap();
        file.read_exact(&mut [0; 4]).unwrap();
        let source = Source::open(format!("/dev/fd/{}", file.as_raw_fd())).unwrap();
        assert!(source.is_positioned());
        assert_eq!(source.len(), Some(4));
        assert_eq!(read_all(&source, 100).unwrap(), b"body");
        source.check_unchanged().unwrap();
    }
}
