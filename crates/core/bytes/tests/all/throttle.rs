//! Throttled sources and sinks: their minimum duration, and that nothing else changes.

use crate::common::{Folder, Random};
use polyhaul_bytes::{
    Buffer, Codec, DecompressLimits, Encoder, FileOptions, HostFault, HostRead, HostWrite, Sink, Source, Throttle,
    decompressed,
};
use polyhaul_trace::Counters;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SIZE: usize = 1_000_003;
/// All bytes take 20 ms.
const RATE: u64 = 50_000_000;
const MIN_TIME: Duration = Duration::from_millis(20);

fn throttle() -> Throttle {
    Throttle::new(Some(RATE), Duration::ZERO)
}

fn read_all(source: &Source<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut part = vec![0; 100_000];
    loop {
        match source.read_next(&mut part)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// A host that returns bytes and collects bytes written to it.
struct Bytes {
    bytes: Vec<u8>,
    at: usize,
    received: Arc<Mutex<Vec<u8>>>,
}

impl HostRead for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = out.len().min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..][..count]);
        self.at += count;
        Ok(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        self.at = offset as usize;
        Ok(true)
    }

    fn size(&mut self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }
}

impl HostWrite for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

fn host(bytes: &[u8]) -> Box<Bytes> {
    Box::new(Bytes { bytes: bytes.to_vec(), at: 0, received: Arc::default() })
}

/// Returns bytes and calls by size, which a throttle must not change.
fn calls(counters: &Counters) -> (u64, Vec<(u64, u64)>) {
    let seen = counters.snapshot();
    (seen.bytes, seen.histogram().collect())
}

/// Returns whether the waiting time includes throttling; time between calls counts toward it.
fn is_counted(waiting_ns: u64) -> bool {
    Duration::from_nanos(waiting_ns) >= MIN_TIME / 4
}

#[test]
fn every_source_is_delayed_and_makes_the_same_calls() {
    let folder = Folder::new();
    let data = Random::new(1).bytes(SIZE);
    let path = folder.file("data", &data);
    let sources: [&dyn Fn() -> Source<'static>; 5] = [
        &|| Source::open(&path).unwrap(),
        &|| Source::memory(data.clone()),
        &|| Source::reader(Box::new(io::Cursor::new(data.clone())), "reader"),
        &|| Source::host(host(&data), "host"),
        &|| Source::host(host(&data), "host").positioned().unwrap().unwrap(),
    ];
    for (number, open) in sources.into_iter().enumerate() {
        let plain = open();
        assert!(read_all(&plain).unwrap() == data);
        let source = open().throttled(&throttle());
        let start = Instant::now();
        assert!(read_all(&source).unwrap() == data);
        assert!(start.elapsed() >= MIN_TIME, "{number}: {:?}", start.elapsed());
        assert_eq!(calls(source.counters()), calls(plain.counters()), "{number}");
        assert!(is_counted(source.counters().snapshot().waiting_ns), "{number}");
    }
}

#[test]
fn every_sink_is_delayed_and_writes_the_same() {
    let folder = Folder::new();
    let data = Random::new(2).bytes(SIZE);
    let write = |sink: Sink<'_>, name: &str| {
        let mut sink = sink.throttled(&throttle());
        let start = Instant::now();
        data.chunks(300_000).for_each(|part| sink.write_all(part).unwrap());
        let finished = sink.finish().unwrap();
        assert!(start.elapsed() >= MIN_TIME, "{name}: {:?}", start.elapsed());
        assert!(is_counted(finished.counters.waiting_ns), "{name}");
        assert_eq!(finished.counters.bytes, SIZE as u64, "{name}");
        finished.bytes
    };
    assert!(write(Sink::memory(), "memory").unwrap() == data);
    write(Sink::file(folder.join("out"), FileOptions::default()).unwrap(), "file");
    assert!(std::fs::read(folder.join("out")).unwrap() == data);
    let mut written = Vec::new();
    write(Sink::writer(Box::new(&mut written), "writer"), "writer");
    assert!(written == data);
    let taker = host(&[]);
    let received = taker.received.clone();
    write(Sink::host(taker, "host"), "host");
    assert!(*received.lock().unwrap() == data);
}

#[test]
fn sources_of_one_throttle_and_threads_share_its_rate() {
    let throttle = throttle();
    let sources = [0, 1].map(|seed| Source::memory(Random::new(seed).bytes(SIZE)).throttled(&throttle.clone()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for source in &sources {
            for part in 0..2 {
                scope.spawn(move || source.read_at(part * 500_000, &mut vec![0; 500_000]).unwrap());
            }
        }
    });
    assert!(start.elapsed() >= 2 * MIN_TIME - Duration::from_micros(1), "{:?}", start.elapsed());
}

#[test]
fn each_call_waits_for_the_latency() {
    let folder = Folder::new();
    // Also for a file, although its bytes are fetched only once.
    let path = folder.file("data", &vec![1; SIZE]);
    for source in [Source::memory(vec![1; SIZE]), Source::open(&path).unwrap()] {
        // A separate throttle: a late end of the last call would shorten calls on the next source.
        let source = source.throttled(&Throttle::new(None, Duration::from_millis(4)));
        let start = Instant::now();
        (0..5).for_each(|part| assert_eq!(source.read_at(part * 10, &mut [0; 10]).unwrap(), 10));
        assert!(start.elapsed() >= Duration::from_millis(19), "{:?}", start.elapsed());
    }
}

#[test]
fn cached_bytes_pass_at_once() {
    let folder = Folder::new();
    let path = folder.file("data", &vec![1; SIZE]);
    // A page takes a millisecond, so twenty thousand pages take twenty seconds.
    let source = Source::open(&path).unwrap().throttled(&Throttle::new(Some(4_096_000), Duration::ZERO));
    (0..20_000).for_each(|_| assert_eq!(source.read_at(0, &mut [0; 4096]).unwrap(), 4096));
    let held_ns = source.counters().snapshot().throttled_ns;
    assert!((500_000..10_000_000_000).contains(&held_ns), "{held_ns}");
}

/// The uncompressed bytes would take half a minute.
#[test]
fn compressed_bytes_are_throttled_instead_of_plain_ones() {
    let plain = vec![b'0'; 32 << 20];
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        let mut packed = Vec::new();
        let mut encoder = Encoder::new(codec, None).unwrap();
        plain.chunks(1 << 20).for_each(|part| encoder.encode(part, &mut packed).unwrap());
        let throttle = Throttle::new(Some(1_000_000), Duration::ZERO);
        let min_time = Duration::from_micros(packed.len() as u64);
        for is_first in [true, false] {
            let start = Instant::now();
            let mut source = Source::memory(packed.clone());
            if is_first {
                source = source.throttled(&throttle);
            }
            let mut source = decompressed(source, &DecompressLimits::default()).unwrap();
            if !is_first {
                source = source.throttled(&throttle);
            }
            read_all(&source).unwrap();
            let waited_ns = source.compressed_counters().unwrap().snapshot().waiting_ns;
            // The bytes that identify the codec were read before, and slow decoding waits less.
            let elapsed = start.elapsed();
            assert!(elapsed + Duration::from_micros(70_000) >= min_time, "{codec}: {elapsed:?} of {min_time:?}");
            assert!(waited_ns < 15_000_000_000, "{codec}: {waited_ns}");
        }
    }
}

#[test]
fn errors_are_passed_on_and_a_released_throttle_does_not_delay() {
    struct Breaks;
    impl HostRead for Breaks {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the host's own"))
        }
    }
    let never = Throttle::new(Some(1), Duration::from_secs(1 << 30));
    let error = read_all(&Source::host(Box::new(Breaks), "x").throttled(&never)).unwrap_err();
    assert_eq!(HostFault::cause_of(error).unwrap().to_string(), "the host's own");
    let released = never.until(Arc::new(AtomicBool::new(true)));
    let data = Random::new(5).bytes(SIZE);
    let mut lines = Buffer::new(Source::memory(data.clone()).throttled(&released));
    assert!(io::Read::bytes(&mut lines).take(100).map(Result::unwrap).eq(data[..100].iter().copied()));
    let mut sink = Sink::memory().throttled(&released);
    sink.write_all(&data).unwrap();
    assert!(sink.finish().unwrap().bytes.unwrap() == data);
}

#[test]
fn bytes_in_memory_are_not_seen_past_a_throttle() {
    assert!(Source::memory([1]).bytes().is_some());
    assert!(Source::memory([1]).throttled(&throttle()).bytes().is_none());
}
