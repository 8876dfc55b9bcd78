//! Recordings of jobs, and the verdicts derived from them.
//!
//! No test here depends on durations: a job runs, the durations in its recording are replaced by a model (a fixed time
//! for each span of a phase), and the verdict is derived from that. The tests therefore check which phases, lanes,
//! calls and threads a job records, all of which are counted. The rules for recordings are tested in
//! `insight/src/verdict/tests.rs`; `causes` tests verdicts on real time.

use polyhaul::model::{Channels, Image, Samples, Scene};
use polyhaul::options::{Codec, Compression, Resolve, RunOptions, ThreadPool, Throttle};
use polyhaul::report::{Bound, Verdict};
use polyhaul::trace::{self, Detail, Lane, Phase, Recording, Totals, Trace};
use polyhaul::{Format, HostRead, HostWrite, Input, Output, ReadOptions, Reader, Report, Result, WriteOptions, Writer};
use polyhaul_testkit::output::Shared;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Report and recording of a job.
struct Job {
    seen: Recording,
    report: Report,
}

/// Runs a job on a number of threads and records it.
fn recorded(threads: usize, job: impl FnOnce(RunOptions) -> Result<Report>) -> Job {
    let trace = Trace::new(Detail::Spans);
    let run = RunOptions::default().with_threads(Some(threads)).with_trace(Some(trace.clone()));
    let report = job(run).unwrap();
    let seen = trace.recording();
    assert_eq!((seen.dropped_spans, seen.dropped_files), (0, 0));
    Job { seen, report }
}

fn read(threads: usize, input: Input) -> Job {
    recorded(threads, |run| Ok(Reader::new(input).options(&ReadOptions::default().with_run(run)).scene()?.report))
}

fn write(threads: usize, scene: &Scene, output: Output, options: WriteOptions) -> Job {
    recorded(threads, |run| Writer::new(output).options(&options.with_run(run)).scene(scene))
}

impl Job {
    /// The number of spans of a phase.
    fn spans(&self, phase: Phase) -> usize {
        self.seen.threads.iter().flat_map(|thread| &thread.spans).filter(|span| span.phase == phase).count()
    }

    /// The number of spans of a phase on behalf of a lane.
    fn spans_of(&self, lane: Lane, phase: Phase) -> usize {
        let spans = self.seen.threads.iter().flat_map(|thread| &thread.spans);
        spans.filter(|span| (span.lane, span.phase) == (lane, phase)).count()
    }

    /// The verdict if each span of `slow` takes 100 ms, waits take no time, and all other spans take 1 ms. For
    /// single-threaded jobs: waits of other threads do not follow from counts.
    fn verdict(&self, slow: Phase) -> Verdict {
        let ns = |phase: Phase| match phase {
            _ if phase == slow => 100_000_000,
            _ if phase.is_wait() || phase == Phase::Other => 0,
            _ => 1_000_000,
        };
        let mut seen = self.seen.clone();
        assert_eq!(seen.threads.len(), 1);
        let thread = &mut seen.threads[0];
        thread.totals = Totals::default();
        thread.spans.iter().for_each(|span| thread.totals.add(span.lane, span.phase, ns(span.phase)));
        seen.elapsed_ns = thread.totals.sum();
        seen.used = None;
        for file in &mut seen.files {
            file.calls.waiting_ns = file.calls.calls * ns(file.phase);
        }
        for calls in [&mut seen.host_alone, &mut seen.host_beside] {
            calls.elapsed_ns = calls.calls * ns(Phase::Host);
            calls.idle_ns = 0;
        }
        for section in &mut seen.sections {
            section.start_ns = 0;
            section.end_ns = seen.elapsed_ns;
        }
        let verdict = Verdict::from_recording(&seen, &self.report.facts(), None);
        let sum: f64 = verdict.causes.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9 && verdict.seconds > 0.0, "{verdict:?}");
        verdict
    }
}

#[track_caller]
fn is(verdict: &Verdict, bound: Bound) {
    assert_eq!(verdict.bound, bound, "{verdict:?}");
}

fn share(verdict: &Verdict, bound: Bound) -> f64 {
    verdict.causes.iter().find(|(cause, _)| *cause == bound).map_or(0.0, |(_, share)| *share)
}

/// Lines of different numbers.
fn points(count: usize) -> Vec<u8> {
    let number = |seed: usize| seed.wrapping_mul(2_654_435_761) % 1_000_003;
    let line = |i: usize| format!("v {}.{:04} -{}.5 {:06}\n", i % 97, number(i) / 100, number(i + 7), number(i + 31));
    (0..count).flat_map(|i| line(i).into_bytes()).collect()
}

/// Random letters.
fn letters(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"0123456789abcdefghijklmnopqrstuvwxyz"[(state >> 40) as usize % 36]
    };
    (0..count).map(|_| next()).collect()
}

/// Returns a few bytes per call.
struct Host {
    bytes: Vec<u8>,
    at: usize,
    max_read: usize,
    phase: Option<Phase>,
}

impl Host {
    fn new(bytes: Vec<u8>, max_read: usize) -> Host {
        Host { bytes, at: 0, max_read, phase: None }
    }
}

impl Read for Host {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let _span = self.phase.map(trace::span);
        let count = out.len().min(self.max_read).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..][..count]);
        self.at += count;
        Ok(count)
    }
}

impl HostRead for Host {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Read::read(self, out)
    }
}

/// Accepts bytes.
struct HostSink;

impl HostWrite for HostSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
}

fn scene(count: usize) -> Scene {
    Reader::new(Input::Memory(points(count), "points.obj".into())).scene().unwrap().value
}

#[test]
fn one_thread_that_parses() {
    let verdict = read(1, Input::Memory(points(2_000), "points.obj".into())).verdict(Phase::Parse);
    is(&verdict, Bound::Parse);
    assert!(verdict.to_string().contains("pars"), "{verdict}");
}

#[test]
fn bytes_that_are_numbers_already() {
    let head = "ply\nformat binary_little_endian 1.0\nelement vertex 4000\n\
        property float x\nproperty float y\nproperty float z\nend_header\n";
    let mesh = [head.as_bytes(), &vec![0; 12 * 4_000]].concat();
    let verdict = read(1, Input::Memory(mesh, "points.ply".into())).verdict(Phase::Build);
    assert!(share(&verdict, Bound::Build) > share(&verdict, Bound::Parse), "{verdict:?}");
}

#[test]
fn a_host_that_is_slow() {
    for threads in [1, 4] {
        let host = Host::new(points(10_000), usize::MAX);
        let reader = Host::new(points(10_000), 64 << 10);
        for input in [Input::Host(Box::new(host), "a.obj".into()), Input::Reader(Box::new(reader), "a.obj".into())] {
            let job = read(threads, input);
            let calls = job.seen.files[0].calls.calls as usize;
            assert!(calls > 0 && job.spans(Phase::Host) == calls && job.spans(Phase::Read) == 0);
            assert_eq!((job.seen.host_alone.calls + job.seen.host_beside.calls) as usize, calls);
            if threads == 1 {
                is(&job.verdict(Phase::Host), Bound::Host);
            }
        }
    }
}

#[test]
fn a_host_that_brings_little_at_a_time() {
    let job = read(1, Input::Host(Box::new(Host::new(points(4_000), 100)), "points.obj".into()));
    let verdict = job.verdict(Phase::Host);
    is(&verdict, Bound::SmallReads);
    assert!(verdict.advice[0].contains("buffered"), "{verdict:?}");
}

#[test]
fn a_source_that_is_held_back() {
    let mut host = Host::new(points(10_000), 64 << 10);
    host.phase = Some(Phase::Throttle);
    is(&read(1, Input::Reader(Box::new(host), "points.obj".into())).verdict(Phase::Throttle), Bound::Read);
}

#[test]
fn a_rate_that_was_asked_for() {
    let throttle = Some(Throttle::new(Some(500_000), Duration::ZERO));
    let job = recorded(1, |run| {
        let run = run.with_read_throttle(throttle.clone());
        let input = Input::Memory(points(500), "points.obj".into());
        Ok(Reader::new(input).options(&ReadOptions::default().with_run(run)).scene()?.report)
    });
    let verdict = job.verdict(Phase::Throttle);
    is(&verdict, Bound::Read);
    assert!(!verdict.advice.is_empty(), "{verdict:?}");
}

#[test]
fn a_stream_is_told_from_members() {
    let text = points(60_000);
    let read = |bytes: Vec<u8>| {
        let input = Input::Memory(bytes, "points.obj.gz".into());
        let loaded = Reader::new(input).scene().unwrap();
        assert_eq!((loaded.report.reads.len(), loaded.report.reads[0].codec), (1, Some(Codec::Gzip)));
        (loaded.report.reads[0].plain_bytes, loaded.report.reads[0].stream_bytes)
    };
    let mut stream = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    stream.write_all(&text).unwrap();
    assert_eq!(read(stream.finish().unwrap()), (text.len() as u64, text.len() as u64));
    let shared = Shared::default();
    let options = WriteOptions::default().with_compression(Compression::Gzip);
    let written = Writer::new(Output::Writer(Box::new(shared.clone()), "points.obj".into()))
        .options(&options)
        .scene(&scene(60_000))
        .unwrap();
    assert_eq!(read(shared.take()), (written.writes[0].plain_bytes, 0));
}

#[test]
fn a_host_that_takes_its_time_to_write() {
    let scene = scene(2_000);
    let output = || Output::Host(Box::new(HostSink), "points.obj".into());
    is(&write(1, &scene, output(), WriteOptions::default()).verdict(Phase::Host), Bound::Host);
    assert!(write(4, &scene, output(), WriteOptions::default()).spans(Phase::Host) > 0);
}

/// A member is decoded by one thread at a time, in the order of its bytes, while other threads parse.
#[test]
fn one_stream_of_gzip() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&[b"#".to_vec(), letters(2_000_000), b"\n".to_vec()].concat()).unwrap();
    let packed = packed.finish().unwrap();
    let read = |threads| read(threads, Input::Memory(packed.clone(), "notes.obj.gz".into()));
    is(&read(1).verdict(Phase::Decompress), Bound::Decompress);
    let job = read(4);
    let on_input = job.spans_of(Lane::Input, Phase::Decompress);
    let all_spans = job.spans(Phase::Decompress);
    assert!(on_input > 2 && on_input + 2 >= all_spans, "{on_input} of {all_spans}");
    assert_eq!(job.report.reads[0].stream_bytes, 2_000_002);
}

#[test]
fn a_codec_that_takes_long() {
    let output = Output::Writer(Box::new(Shared::default()), "points.obj".into());
    let job = write(
        1,
        &scene(2_000),
        output,
        WriteOptions::default().with_compression(Compression::Gzip).with_level(Some(12)),
    );
    is(&job.verdict(Phase::Compress), Bound::Compress);
}

/// A square image that does not compress well.
fn picture(side: usize) -> Vec<u8> {
    let samples = Samples::U8(letters(side * side * 3).into());
    let image = Image { width: side, height: side, channels: Channels::Rgb, samples, ..Image::default() };
    let shared = Shared::default();
    let options = WriteOptions::default().with_format(Some(Format::Png));
    Writer::new(Output::Writer(Box::new(shared.clone()), "a.png".into())).options(&options).image(&image).unwrap();
    shared.take()
}

#[test]
fn pixels_that_one_thread_decodes() {
    let picture = picture(100);
    let read = |threads| {
        let input = Input::Memory(picture.clone(), "a.png".into());
        recorded(threads, |run| Ok(Reader::new(input).options(&ReadOptions::default().with_run(run)).image()?.report))
    };
    is(&read(1).verdict(Phase::Decode), Bound::Decode);
    // Other threads could only help with parallel work.
    let job = read(4);
    assert_eq!(job.spans(Phase::Decode), job.spans_of(Lane::Alone, Phase::Decode));
}

#[test]
fn a_limit_that_backs_few_threads() {
    let mut job = recorded(8, |run| {
        let run = run.with_memory_limit(1).with_chunk_bytes(Some(64 << 10));
        let input = Input::Memory(points(60_000), "points.obj".into());
        Ok(Reader::new(input).options(&ReadOptions::default().with_run(run)).scene()?.report)
    });
    let seen = (job.seen.starved_ns > 0, job.seen.wanted_threads, job.seen.threads.len());
    assert_eq!(seen, (true, 8, 1));
    // Seven threads were missing all the time, which the model makes longer.
    job.seen.starved_ns = 7 * job.seen.threads[0].spans.len() as u64 * 100_000_000;
    let verdict = job.verdict(Phase::Parse);
    is(&verdict, Bound::Memory);
    assert!(verdict.advice[0].contains("of 8 threads"), "{verdict:?}");
}

/// A scene with many mesh files, each requested from a resolver: each request is a call of the host.
#[test]
fn a_resolver_is_a_host() {
    let mesh = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let shape = |i| format!("Shape \"plymesh\" \"string filename\" [ \"{i}.ply\" ]\n");
    let text = "WorldBegin\n".to_owned() + &(0..60).map(shape).collect::<String>();
    for threads in [1, 4] {
        let answer = |name: &str| Ok(Some(Input::Memory(mesh.to_vec(), name.to_owned())));
        let job = recorded(threads, |run| {
            let options = ReadOptions::default().with_run(run).with_resolver(Some(Resolve(Arc::new(answer))));
            Ok(Reader::new(Input::Memory(text.clone().into_bytes(), "scene.pbrt".into()))
                .options(&options)
                .scene()?
                .report)
        });
        assert_eq!(job.spans(Phase::Host), 60);
        assert_eq!(job.seen.host_alone.calls + job.seen.host_beside.calls, 60);
        if threads == 1 {
            is(&job.verdict(Phase::Host), Bound::Host);
        }
    }
}

#[test]
fn the_caller_s_own_threads_are_counted_once() {
    let pool = |count: usize, task: &(dyn Fn(usize) + Sync)| {
        std::thread::scope(|scope| (0..count).for_each(|index| _ = scope.spawn(move || task(index))));
    };
    let read = |pool: Option<ThreadPool>| {
        recorded(2, |run| {
            let options = ReadOptions::default().with_run(run.with_pool(pool));
            Ok(Reader::new(Input::Memory(points(60_000), "points.obj".into())).options(&options).scene()?.report)
        })
    };
    let own_threads = read(None);
    let pooled = read(Some(ThreadPool(Arc::new(pool))));
    assert_eq!(pooled.spans(Phase::Parse), own_threads.spans(Phase::Parse));
    // The threads of the pool, and the caller's, which waits for them.
    assert!(own_threads.seen.threads.len() <= 2 && pooled.seen.threads.len() <= 3, "{}", pooled.seen.threads.len());
}
