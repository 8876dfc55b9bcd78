//! Hosts: how they are called, and their contract.

use crate::common::Random;
use polyhaul_bytes::{BLOCK_BYTES, Buffer, HostFault, HostRead, HostWrite, Sink, Source};
use std::io;
use std::sync::{Arc, Mutex};

const SIZE: usize = 1_000_003;

/// The calls of a host: its position, and the size of the buffer.
type Calls = Arc<Mutex<Vec<(usize, usize)>>>;

/// A host with bytes, which returns at most `max_count` at a time.
struct Bytes {
    bytes: Vec<u8>,
    at: usize,
    max_count: usize,
    can_seek: bool,
    size: Option<u64>,
    calls: Calls,
}

fn host(max_count: usize, can_seek: bool, size: Option<u64>) -> (Bytes, Calls) {
    let calls = Calls::default();
    let bytes = Random::new(5).bytes(SIZE);
    (Bytes { bytes, at: 0, max_count, can_seek, size, calls: calls.clone() }, calls)
}

impl HostRead for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.calls.lock().unwrap().push((self.at, out.len()));
        let count = out.len().min(self.bytes.len() - self.at).min(self.max_count);
        out[..count].copy_from_slice(&self.bytes[self.at..][..count]);
        self.at += count;
        Ok(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        if self.can_seek {
            self.at = offset as usize;
        }
        Ok(self.can_seek)
    }

    fn size(&mut self) -> Option<u64> {
        self.size
    }
}

/// A host that calls a closure.
struct Does<F>(F, Option<u64>);

impl<F: FnMut(&mut [u8]) -> io::Result<usize> + Send> HostRead for Does<F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (self.0)(out)
    }

    fn size(&mut self) -> Option<u64> {
        self.1
    }
}

fn is_fault(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<HostFault>())
}

fn read_all(source: &Source<'_>, step_bytes: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut block = vec![0; step_bytes];
    loop {
        match source.read_part(&mut block)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&block[..count]),
        }
    }
}

#[test]
fn large_blocks_are_requested_for_any_read() {
    for step_bytes in [1, 1000, 65_535, 65_537, 300_000, 2_000_000] {
        for max_count in [usize::MAX, 70_000, 999] {
            let (host, calls) = host(max_count, false, Some(SIZE as u64));
            let source = Source::host(Box::new(host), "host");
            assert_eq!((source.len(), source.claimed_len()), (None, Some(SIZE as u64)));
            assert!(read_all(&source, step_bytes).unwrap() == Random::new(5).bytes(SIZE), "{step_bytes} {max_count}");
            let calls = calls.lock().unwrap();
            assert!(calls.iter().all(|&(_, room)| room >= BLOCK_BYTES), "{calls:?}");
            assert!(max_count < usize::MAX || calls.len() <= SIZE.div_ceil(BLOCK_BYTES) + 1, "{}", calls.len());
            assert_eq!(source.counters().snapshot().calls as usize, calls.len());
        }
    }
}

#[test]
fn a_wrong_size_is_a_host_fault() {
    for size in [0, 1, SIZE - 1, SIZE + 1, usize::MAX] {
        let (host, _) = host(usize::MAX, false, Some(size as u64));
        let source = Source::host(Box::new(host), "host");
        let error = read_all(&source, 100_000).unwrap_err();
        assert!(is_fault(&error) && error.to_string().contains(&size.to_string()), "{error}");
        // The error is repeated.
        assert!(is_fault(&read_all(&source, 100).unwrap_err()));
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Mine(u32);

impl std::fmt::Display for Mine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mine {}", self.0)
    }
}

impl std::error::Error for Mine {}

#[test]
fn its_error_is_returned_and_it_is_not_called_again() {
    for good_calls in [0, 1, 3] {
        let count = Arc::new(Mutex::new(0));
        let seen = count.clone();
        let fails = move |out: &mut [u8]| {
            *seen.lock().unwrap() += 1;
            if *seen.lock().unwrap() > good_calls { Err(io::Error::other(Mine(7))) } else { Ok(out.len().min(9)) }
        };
        let source = Source::host(Box::new(Does(fails, None)), "host");
        let error = read_all(&source, 100).unwrap_err();
        let cause = HostFault::cause_of(error).unwrap();
        assert_eq!(cause.get_ref().and_then(|inner| inner.downcast_ref()), Some(&Mine(7)));
        let again = read_all(&source, 100).unwrap_err();
        assert!(is_fault(&again) && again.to_string() == "mine 7", "{again}");
        assert_eq!(*count.lock().unwrap(), good_calls + 1);
    }
}

#[test]
fn broken_contracts_and_panics_are_host_faults() {
    let too_many = Source::host(Box::new(Does(|out: &mut [u8]| Ok(out.len() + 1), None)), "host");
    assert!(is_fault(&read_all(&too_many, 10).unwrap_err()));
    let quiet = |_: &mut [u8]| -> io::Result<usize> { std::panic::resume_unwind(Box::new("no")) };
    let panics = Source::host(Box::new(Does(quiet, None)), "host");
    for _ in 0..2 {
        let error = read_all(&panics, 10).unwrap_err();
        assert!(is_fault(&error) && error.to_string().contains("panicked"), "{error}");
    }
    struct NoSize;
    impl HostRead for NoSize {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn size(&mut self) -> Option<u64> {
            std::panic::resume_unwind(Box::new("no"))
        }
    }
    assert!(is_fault(&read_all(&Source::host(Box::new(NoSize), "host"), 10).unwrap_err()));
    let cause = HostFault::cause_of(io::Error::other("not theirs"));
    assert_eq!(cause.unwrap_err().to_string(), "not theirs");
}

#[test]
fn an_interrupted_call_is_repeated() {
    let mut turn = 0;
    let interrupted = move |out: &mut [u8]| {
        turn += 1;
        match turn {
            1 | 2 | 4 => Err(io::ErrorKind::Interrupted.into()),
            3 => {
                out[0] = 7;
                Ok(1)
            }
            _ => Ok(0),
        }
    };
    let source = Source::host(Box::new(Does(interrupted, Some(1))), "host");
    assert_eq!(read_all(&source, 10).unwrap(), [7]);
}

#[test]
fn any_offset_is_read_in_large_calls() {
    let bytes = Random::new(5).bytes(SIZE);
    for (max_count, peeked) in [(usize::MAX, true), (usize::MAX, false), (1000, true), (1000, false)] {
        let (host, calls) = host(max_count, true, Some(SIZE as u64));
        let source = Source::host(Box::new(host), "host");
        if peeked {
            assert_eq!(source.peek(&mut [0; 4]).unwrap(), 4);
        }
        let view = source.positioned().unwrap().unwrap();
        assert_eq!((view.len(), view.is_positioned()), (Some(SIZE as u64), true));
        let mut random = Random::new(6);
        for _ in 0..200 {
            let offset = random.below(SIZE + 10);
            let most_bytes = [10, 100_000, 700_000][random.below(3)];
            let mut out = vec![0; random.below(most_bytes)];
            let count = view.read_at(offset as u64, &mut out).unwrap();
            let expected = &bytes[offset.min(SIZE)..(offset + out.len()).min(SIZE)];
            assert!(out[..count] == *expected, "{offset} {}", out.len());
        }
        let calls = calls.lock().unwrap();
        let is_large = |&(at, room): &(usize, usize)| room >= BLOCK_BYTES || at + room >= SIZE || max_count == 1000;
        assert!(calls.iter().all(is_large), "{calls:?}");
    }
}

#[test]
fn neighboring_offsets_take_one_call() {
    let (host, calls) = host(usize::MAX, true, Some(SIZE as u64));
    let source = Source::host(Box::new(host), "host");
    source.peek(&mut [0; 4]).unwrap();
    let view = source.positioned().unwrap().unwrap();
    // The start is cached, and the end needs a single call.
    for (offset, count) in [(0, 30), (SIZE - 66_000, 66_000), (SIZE - 500, 46), (SIZE - 22, 22), (5000, 30)] {
        assert_eq!(view.read_at(offset as u64, &mut vec![0; count]).unwrap(), count);
    }
    assert_eq!(calls.lock().unwrap().len(), 2);
}

#[test]
fn a_view_needs_seeking_and_a_size() {
    for (can_seek, size) in [(false, Some(SIZE as u64)), (true, None), (false, None)] {
        let (host, _) = host(usize::MAX, can_seek, size);
        let source = Source::host(Box::new(host), "host");
        source.peek(&mut [0; 4]).unwrap();
        assert!(source.positioned().unwrap().is_none());
        // The stream is unchanged.
        assert!(read_all(&source, 100_000).unwrap() == Random::new(5).bytes(SIZE));
    }
    assert!(Source::reader(Box::new(&b"x"[..]), "reader").positioned().unwrap().is_none());
    assert!(Source::memory(b"x").positioned().unwrap().is_some());
    let (host, _) = host(usize::MAX, true, Some(SIZE as u64 + 5));
    let view = Source::host(Box::new(host), "host").positioned().unwrap().unwrap();
    assert!(is_fault(&view.read_at(SIZE as u64 - 5, &mut [0; 10]).unwrap_err()));
}

/// The blocks that a host received, and its final calls.
#[derive(Default)]
struct Received {
    blocks: Vec<Vec<u8>>,
    ends: Vec<&'static str>,
}

struct Takes<F>(F, Arc<Mutex<Received>>);

impl<F: FnMut(usize) -> io::Result<usize> + Send> HostWrite for Takes<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = (self.0)(bytes.len());
        self.1.lock().unwrap().blocks.push(bytes[..*count.as_ref().unwrap_or(&0).min(&bytes.len())].to_vec());
        count
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.lock().unwrap().ends.push("flush");
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let mut received = self.1.lock().unwrap();
        received.ends.push("close");
        // This host fails after receiving ten bytes.
        if received.blocks.concat().len() == 10 { Err(io::Error::other(Mine(9))) } else { Ok(()) }
    }
}

fn taking(take: impl FnMut(usize) -> io::Result<usize> + Send + 'static) -> (Sink<'static>, Arc<Mutex<Received>>) {
    let received = Arc::new(Mutex::new(Received::default()));
    (Sink::host(Box::new(Takes(take, received.clone())), "host"), received)
}

#[test]
fn small_writes_reach_it_in_large_blocks() {
    let bytes = Random::new(8).bytes(SIZE);
    for step_bytes in [1, 1000, 65_536, 65_537, 400_000] {
        let (mut sink, received) = taking(Ok);
        bytes.chunks(step_bytes).for_each(|part| sink.write_all(part).unwrap());
        let finished = sink.finish().unwrap();
        let received = received.lock().unwrap();
        assert!(received.blocks.concat() == bytes);
        let (_, whole) = received.blocks.split_last().unwrap();
        assert!(whole.iter().all(|block| block.len() >= BLOCK_BYTES));
        assert_eq!(received.ends, ["flush", "close"]);
        assert_eq!((finished.counters.bytes, finished.counters.calls), (SIZE as u64, received.blocks.len() as u64));
    }
}

#[test]
fn it_may_accept_a_part_and_be_interrupted() {
    let bytes = Random::new(9).bytes(200_000);
    let mut turn = 0;
    let (mut sink, received) = taking(move |given| {
        turn += 1;
        if turn % 3 == 0 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(given.min(30_001)) }
    });
    sink.write_all(&bytes).unwrap();
    sink.finish().unwrap();
    assert!(received.lock().unwrap().blocks.concat() == bytes);
}

#[test]
fn a_failed_write_is_final() {
    let broken: [fn(usize) -> io::Result<usize>; 4] = [
        |_| Ok(0),
        |given| Ok(given + 1),
        |_| Err(io::Error::other(Mine(3))),
        |_| std::panic::resume_unwind(Box::new("no")),
    ];
    for take in broken {
        let (mut sink, received) = taking(take);
        let error = sink.write_all(&[7; 100_000]).unwrap_err();
        assert!(is_fault(&error), "{error}");
        assert!(sink.write_all(&[7; 100_000]).is_err() && sink.finish().is_err());
        let received = received.lock().unwrap();
        assert!(received.blocks.len() <= 1 && received.ends.is_empty());
    }
    // Abandoning the output skips a host's final calls.
    let (sink, received) = taking(Ok);
    drop(sink);
    assert!(received.lock().unwrap().ends.is_empty());
}

#[test]
fn an_error_on_close_is_reported() {
    let (mut sink, received) = taking(Ok);
    sink.write_all(&[7; 10]).unwrap();
    let error = sink.finish().unwrap_err();
    assert!(is_fault(&error) && error.to_string() == "mine 9", "{error}");
    assert_eq!(received.lock().unwrap().ends, ["flush", "close"]);
}

/// During a call, no locks are held that other sources need.
#[test]
fn it_may_read_another_source() {
    let mut inner = Buffer::new(Source::memory(vec![3; 200_000]));
    let reads = move |out: &mut [u8]| io::Read::read(&mut inner, out);
    let outer = Source::host(Box::new(Does(reads, None)), "host");
    assert_eq!(read_all(&outer, 1000).unwrap(), vec![3; 200_000]);
}
