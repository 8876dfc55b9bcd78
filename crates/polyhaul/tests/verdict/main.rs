//! Jobs that are made to be bound by one cause each, and what is said of them.
//!
//! The cause has many times the time of all others, however fast the machine is, and a job that works instead of
//! sleeping works for longer than a busy machine takes the cores away. Of other programs on the cores nothing is noted
//! here: they are there or not.

use polyhaul::model::{Channels, Image, Samples, Scene};
use polyhaul::options::{Codec, Compression, Resolve, RunOptions, ThreadPool, Throttle};
use polyhaul::report::{Bound, Facts, Verdict};
use polyhaul::trace::{self, Detail, Phase, Trace};
use polyhaul::{
    Format, HostRead, HostWrite, Input, Output, ReadOptions, Report, Result, WriteOptions, load, load_image, save,
    save_image,
};
use polyhaul_testkit::output::Shared;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The verdict on a job on so many threads.
fn judged(threads: usize, job: impl FnOnce(RunOptions) -> Result<Report>) -> Verdict {
    let trace = Trace::new(Detail::Totals);
    let run = RunOptions { threads: Some(threads), trace: Some(trace.clone()), ..RunOptions::default() };
    let report = job(run).unwrap();
    let mut seen = trace.recording();
    seen.used = None;
    let mut facts = Facts::of(&report);
    // What sleeps needs no core, so there are as many as threads.
    facts.cores = facts.cores.max(threads);
    let verdict = Verdict::of(&seen, &facts, None);
    let sum: f64 = verdict.causes.iter().map(|(_, share)| share).sum();
    assert!((sum - 1.0).abs() < 1e-9 && verdict.seconds > 0.0, "{verdict:?}");
    verdict
}

fn read(threads: usize, input: Input) -> Verdict {
    judged(threads, |run| Ok(load(input, &ReadOptions { run, ..ReadOptions::default() })?.report))
}

#[track_caller]
fn is(verdict: &Verdict, bound: Bound) {
    assert_eq!(verdict.bound, bound, "{verdict:?}");
}

fn share(verdict: &Verdict, bound: Bound) -> f64 {
    verdict.causes.iter().find(|(it, _)| *it == bound).map_or(0.0, |(_, share)| *share)
}

/// Lines that take a while to parse.
const LINES: usize = 600_000;

/// Lines of numbers that are not alike.
fn points(count: usize) -> Vec<u8> {
    let number = |seed: usize| seed.wrapping_mul(2_654_435_761) % 1_000_003;
    let line = |i: usize| format!("v {}.{:06} -{}.5 {:06}\n", i % 97, number(i), number(i + 7), number(i + 31));
    (0..count).flat_map(|i| line(i).into_bytes()).collect()
}

/// Letters without any order.
fn letters(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"0123456789abcdefghijklmnopqrstuvwxyz"[(state >> 40) as usize % 36]
    };
    (0..count).map(|_| next()).collect()
}

/// Gives some bytes a call, and sleeps before.
struct Slow {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
    sleep: Duration,
    phase: Option<Phase>,
}

impl Slow {
    fn new(bytes: Vec<u8>, most: usize, sleep_us: u64) -> Slow {
        Slow { bytes, at: 0, most, sleep: Duration::from_micros(sleep_us), phase: None }
    }
}

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let _span = self.phase.map(trace::span);
        std::thread::sleep(self.sleep);
        let count = out.len().min(self.most).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..][..count]);
        self.at += count;
        Ok(count)
    }
}

impl HostRead for Slow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Read::read(self, out)
    }
}

/// Takes bytes, and sleeps before.
struct SlowSink(Duration);

impl HostWrite for SlowSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(self.0);
        Ok(bytes.len())
    }
}

fn scene(count: usize) -> Scene {
    load(Input::Memory(points(count), "points.obj".into()), &ReadOptions::default()).unwrap().scene
}

#[test]
fn one_thread_that_parses() {
    let verdict = read(1, Input::Memory(points(LINES), "points.obj".into()));
    is(&verdict, Bound::Parse);
    assert!(verdict.to_string().contains("bound by parsing ("), "{verdict}");
}

#[test]
fn bytes_that_are_numbers_already() {
    let head = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000\n\
        property float x\nproperty float y\nproperty float z\nend_header\n";
    let mesh = [head.as_bytes(), &vec![0; 12 * 4_000_000]].concat();
    let verdict = read(1, Input::Memory(mesh, "points.ply".into()));
    assert!(share(&verdict, Bound::Build) > share(&verdict, Bound::Parse), "{verdict:?}");
}

#[test]
fn a_host_that_is_slow() {
    for threads in [1, 4] {
        let slow = Slow::new(points(10_000), usize::MAX, 60_000);
        is(&read(threads, Input::Host(Box::new(slow), "points.obj".into())), Bound::Host);
        let slow = Slow::new(points(10_000), 64 << 10, 60_000);
        is(&read(threads, Input::Reader(Box::new(slow), "points.obj".into())), Bound::Host);
    }
}

#[test]
fn a_host_that_brings_little_at_a_time() {
    for threads in [1, 4] {
        let slow = Slow::new(points(4_000), 100, 20);
        let verdict = read(threads, Input::Host(Box::new(slow), "points.obj".into()));
        is(&verdict, Bound::SmallReads);
        assert!(verdict.advice[0].contains("buffered"), "{verdict:?}");
    }
}

#[test]
fn a_source_that_is_held_back() {
    for threads in [1, 4] {
        let mut slow = Slow::new(points(10_000), 64 << 10, 60_000);
        slow.phase = Some(Phase::Throttle);
        is(&read(threads, Input::Reader(Box::new(slow), "points.obj".into())), Bound::Read);
    }
}

#[test]
fn a_rate_that_was_asked_for() {
    let (text, throttle) = (points(5_000), Some(Throttle::new(Some(500_000), Duration::ZERO)));
    for threads in [1, 4] {
        let input = Input::Memory(text.clone(), "points.obj".into());
        let verdict = judged(threads, |run| {
            let run = RunOptions { read_throttle: throttle.clone(), ..run };
            Ok(load(input, &ReadOptions { run, ..ReadOptions::default() })?.report)
        });
        is(&verdict, Bound::Read);
        assert!(verdict.advice[0].starts_with("reading was held back to"), "{verdict:?}");
    }
}

#[test]
fn a_stream_is_told_from_members() {
    let text = points(60_000);
    let read = |bytes: Vec<u8>| {
        let input = Input::Memory(bytes, "points.obj.gz".into());
        let loaded = load(input, &ReadOptions::default()).unwrap();
        assert_eq!((loaded.report.reads.len(), loaded.report.reads[0].codec), (1, Some(Codec::Gzip)));
        (loaded.report.reads[0].plain_bytes, loaded.report.reads[0].stream_bytes)
    };
    let mut stream = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    stream.write_all(&text).unwrap();
    assert_eq!(read(stream.finish().unwrap()), (text.len() as u64, text.len() as u64));
    let kept = Shared::default();
    let options = WriteOptions { compression: Compression::By(Codec::Gzip, None), ..WriteOptions::default() };
    let written = save(&scene(60_000), Output::Writer(Box::new(kept.clone()), "points.obj".into()), &options).unwrap();
    assert_eq!(read(kept.take()), (written.writes[0].plain_bytes, 0));
}

#[test]
fn a_host_that_takes_its_time_to_write() {
    let scene = scene(20_000);
    for threads in [1, 4] {
        let output = Output::Host(Box::new(SlowSink(Duration::from_millis(300))), "points.obj".into());
        let verdict = judged(threads, |run| save(&scene, output, &WriteOptions { run, ..WriteOptions::default() }));
        is(&verdict, Bound::Host);
    }
}

#[test]
fn one_stream_of_gzip() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // One comment, which is read about as fast as memory.
    packed.write_all(&[b"#".to_vec(), letters(24_000_000), b"\n".to_vec()].concat()).unwrap();
    let packed = packed.finish().unwrap();
    is(&read(4, Input::Memory(packed, "notes.obj.gz".into())), Bound::Decompress);
}

#[test]
fn a_codec_that_takes_long() {
    let scene = scene(100_000);
    for threads in [1, 2] {
        let compression = Compression::By(Codec::Gzip, Some(12));
        let output = Output::Writer(Box::new(Shared::default()), "points.obj".into());
        let verdict =
            judged(threads, |run| save(&scene, output, &WriteOptions { run, compression, ..WriteOptions::default() }));
        is(&verdict, Bound::Compress);
    }
}

/// A picture of this many pixels a side that does not pack well.
fn picture(side: usize) -> Vec<u8> {
    let samples = Samples::U8(letters(side * side * 3).into());
    let image = Image { width: side, height: side, channels: Channels::Rgb, samples, ..Image::default() };
    let kept = Shared::default();
    let options = WriteOptions { format: Some(Format::Png), ..WriteOptions::default() };
    save_image(&image, Output::Writer(Box::new(kept.clone()), "a.png".into()), &options).unwrap();
    kept.take()
}

#[test]
fn pixels_that_one_thread_decodes() {
    let picture = picture(2_000);
    let read = |threads| {
        let input = Input::Memory(picture.clone(), "a.png".into());
        judged(threads, |run| Ok(load_image(input, &ReadOptions { run, ..ReadOptions::default() })?.report))
    };
    is(&read(4), Bound::Serial);
    is(&read(1), Bound::Decode);
}

#[test]
fn a_limit_that_backs_few_threads() {
    let text = points(LINES);
    let verdict = judged(8, |run| {
        let run = RunOptions { memory_limit: 1, chunk_bytes: Some(64 << 10), ..run };
        Ok(load(Input::Memory(text, "points.obj".into()), &ReadOptions { run, ..ReadOptions::default() })?.report)
    });
    is(&verdict, Bound::Memory);
    assert!(verdict.advice[0].contains("of 8 threads"), "{verdict:?}");
}

/// A scene of many meshes in files, each of which `resolve` is asked for.
fn with_resolver(threads: usize, resolve: impl Fn() + Send + Sync + 'static) -> Verdict {
    let mesh = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let shape = |i| format!("Shape \"plymesh\" \"string filename\" [ \"{i}.ply\" ]\n");
    let text = "WorldBegin\n".to_owned() + &(0..60).map(shape).collect::<String>();
    let answer = move |name: &str| {
        resolve();
        Ok(Some(Input::Memory(mesh.to_vec(), name.to_owned())))
    };
    judged(threads, |run| {
        let options = ReadOptions { run, resolver: Some(Resolve(Arc::new(answer))), ..ReadOptions::default() };
        Ok(load(Input::Memory(text.into_bytes(), "scene.pbrt".into()), &options)?.report)
    })
}

#[test]
fn a_resolver_whose_calls_wait_for_a_lock() {
    let lock = Mutex::new(());
    let verdict = with_resolver(4, move || {
        let _lock = lock.lock().unwrap();
        std::thread::sleep(Duration::from_millis(4));
    });
    is(&verdict, Bound::Locks);
    assert!(verdict.advice[0].contains("they wait for each other"), "{verdict:?}");
}

#[test]
fn a_resolver_that_is_slow_for_each() {
    for threads in [1, 4] {
        is(&with_resolver(threads, || std::thread::sleep(Duration::from_millis(8))), Bound::Host);
    }
}

#[test]
fn the_caller_s_own_threads_are_counted_once() {
    let pool = |count: usize, task: &(dyn Fn(usize) + Sync)| {
        std::thread::scope(|scope| (0..count).for_each(|index| _ = scope.spawn(move || task(index))));
    };
    let pool = ThreadPool(Arc::new(pool));
    let text = points(60_000);
    let verdict = || {
        judged(2, |run| {
            let run = RunOptions { pool: Some(pool.clone()), ..run };
            let options = ReadOptions { run, ..ReadOptions::default() };
            Ok(load(Input::Memory(text.clone(), "points.obj".into()), &options)?.report)
        })
    };
    // A busy machine may start the threads late, though not each time.
    let is_once = |verdict: &Verdict| share(verdict, Bound::Serial) < 0.5 && share(verdict, Bound::Parse) > 0.2;
    let verdicts: Vec<_> = (0..20)
        .map(|_| verdict())
        .scan(false, |is_done, it| (!std::mem::replace(is_done, is_once(&it))).then_some(it))
        .collect();
    assert!(verdicts.iter().any(is_once), "{verdicts:?}");
}
