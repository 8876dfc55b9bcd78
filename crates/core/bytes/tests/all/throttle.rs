//! Sources and sinks that are throttled: how long they take at least, and that nothing else changes.

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
const LEAST: Duration = Duration::from_millis(20);

fn throttle() -> Throttle {
    Throttle::new(Some(RATE), Duration::ZERO)
}

fn read_all(source: &Source<'_>) -> io::Result<Vec<u8>> {
    let (mut all, mut part) = (Vec::new(), vec![0; 100_000]);
    loop {
        match source.read_next(&mut part)? {
            0 => return Ok(all),
            count => all.extend_from_slice(&part[..count]),
        }
    }
}

/// A host with bytes; what it is given, and how much it was given at a time.
struct Bytes {
    bytes: Vec<u8>,
    at: usize,
    got: Arc<Mutex<Vec<u8>>>,
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
        self.got.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

fn host(bytes: &[u8]) -> Box<Bytes> {
    Box::new(Bytes { bytes: bytes.to_vec(), at: 0, got: Arc::default() })
}

/// Calls by size: what a throttle must not change.
fn calls(counters: &Counters) -> (u64, Vec<(u64, u64)>) {
    let seen = counters.snapshot();
    (seen.bytes, seen.histogram().collect())
}

/// Whether the waiting is among what was counted; time between calls is not waited for once more.
fn is_counted(waiting_ns: u64) -> bool {
    Duration::from_nanos(waiting_ns) >= LEAST / 4
}

#[test]
fn every_source_takes_its_time_and_gives_the_same_in_the_same_calls() {
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
        let begin = Instant::now();
        assert!(read_all(&source).unwrap() == data);
        assert!(begin.elapsed() >= LEAST, "{number}: {:?}", begin.elapsed());
        assert_eq!(calls(source.counters()), calls(plain.counters()), "{number}");
        assert!(is_counted(source.counters().snapshot().waiting_ns), "{number}");
    }
}

#[test]
fn every_sink_takes_its_time_and_writes_the_same() {
    let folder = Folder::new();
    let data = Random::new(2).bytes(SIZE);
    let write = |sink: Sink<'_>, name: &str| {
        let mut sink = sink.throttled(&throttle());
        let begin = Instant::now();
        data.chunks(300_000).for_each(|part| sink.write_all(part).unwrap());
        let finished = sink.finish().unwrap();
        assert!(begin.elapsed() >= LEAST, "{name}: {:?}", begin.elapsed());
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
    let got = taker.got.clone();
    write(Sink::host(taker, "host"), "host");
    assert!(*got.lock().unwrap() == data);
}

#[test]
fn sources_of_one_throttle_and_threads_share_its_rate() {
    let throttle = throttle();
    let sources = [0, 1].map(|seed| Source::memory(Random::new(seed).bytes(SIZE)).throttled(&throttle.clone()));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for source in &sources {
            for part in 0..2 {
                scope.spawn(move || source.read_at(part * 500_000, &mut vec![0; 500_000]).unwrap());
            }
        }
    });
    assert!(begin.elapsed() >= 2 * LEAST - Duration::from_micros(1), "{:?}", begin.elapsed());
}

#[test]
fn a_latency_is_waited_for_in_each_call() {
    let throttle = Throttle::new(None, Duration::from_millis(4));
    let folder = Folder::new();
    // Of a file too, though its bytes are fetched once.
    let path = folder.file("data", &vec![1; SIZE]);
    for source in [Source::memory(vec![1; SIZE]), Source::open(&path).unwrap()] {
        let source = source.throttled(&throttle);
        let begin = Instant::now();
        (0..5).for_each(|part| assert_eq!(source.read_at(part * 10, &mut [0; 10]).unwrap(), 10));
        assert!(begin.elapsed() >= Duration::from_millis(19), "{:?}", begin.elapsed());
    }
}

#[test]
fn what_was_read_before_passes_at_once() {
    let folder = Folder::new();
    let path = folder.file("data", &vec![1; SIZE]);
    // A page takes a millisecond, and twenty thousand of them twenty seconds.
    let source = Source::open(&path).unwrap().throttled(&Throttle::new(Some(4_096_000), Duration::ZERO));
    (0..20_000).for_each(|_| assert_eq!(source.read_at(0, &mut [0; 4096]).unwrap(), 4096));
    let held_ns = source.counters().snapshot().throttled_ns;
    assert!((500_000..10_000_000_000).contains(&held_ns), "{held_ns}");
}

/// The plain bytes would take half a minute.
#[test]
fn of_compressed_bytes_the_compressed_ones_are_throttled() {
    let plain = vec![b'0'; 32 << 20];
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        let mut packed = Vec::new();
        let mut encoder = Encoder::new(codec, None).unwrap();
        plain.chunks(1 << 20).for_each(|part| encoder.encode(part, &mut packed).unwrap());
        let throttle = Throttle::new(Some(1_000_000), Duration::ZERO);
        let least = Duration::from_micros(packed.len() as u64);
        for is_first in [true, false] {
            let begin = Instant::now();
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
            // What tells the codec is read before; who decodes slowly waits less.
            let elapsed = begin.elapsed();
            assert!(elapsed + Duration::from_micros(70_000) >= least, "{codec}: {elapsed:?} of {least:?}");
            assert!(waited_ns < 15_000_000_000, "{codec}: {waited_ns}");
        }
    }
}

#[test]
fn errors_come_through_and_a_released_throttle_holds_nothing_back() {
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
