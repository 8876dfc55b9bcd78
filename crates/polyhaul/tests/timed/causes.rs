//! Verdicts on real time: five jobs, each slowed by one known cause, compared with the duration of the cause by the
//! test's own clock.
//!
//! The causes are waits, which a busy machine does not change; it only reduces their share. Recordings of jobs are
//! tested in `verdict`, the rules for recordings in `polyhaul-insight`.

use polyhaul::model::Scene;
use polyhaul::options::{RunOptions, Throttle};
use polyhaul::report::{Bound, Verdict};
use polyhaul::trace::{Detail, Trace};
use polyhaul::{HostRead, HostWrite, Input, Output, ReadOptions, Reader, Report, Result, WriteOptions, Writer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The smallest accepted part of the share by the test's clock: other programs may take the rest.
const MIN_PART: f64 = 0.5;

/// The duration of a cause.
#[derive(Clone, Default)]
struct Stopwatch(Arc<AtomicU64>);

impl Stopwatch {
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = work();
        self.0.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        value
    }

    /// Its share of the time of this many threads.
    fn share(&self, job: &Job) -> f64 {
        self.0.load(Relaxed) as f64 / (job.threads as f64 * job.elapsed.as_nanos() as f64)
    }
}

struct Job {
    threads: usize,
    elapsed: Duration,
    verdict: Verdict,
}

/// Runs a job on a number of threads, as if the machine had as many cores.
fn judged(threads: usize, job: impl FnOnce(RunOptions) -> Result<Report>) -> Job {
    let trace = Trace::new(Detail::Totals);
    let run = RunOptions::default().with_threads(Some(threads)).with_trace(Some(trace.clone()));
    let start = Instant::now();
    let report = job(run).unwrap();
    let elapsed = start.elapsed();
    let mut facts = report.facts();
    facts.cores = threads;
    let verdict = Verdict::from_recording(&trace.recording(), &facts, None);
    Job { threads, elapsed, verdict }
}

/// `share` is the share by the test's clock.
#[track_caller]
fn assert_bound(job: &Job, bound: Bound, share: f64) {
    let Job { verdict, elapsed, .. } = job;
    assert_eq!(verdict.bound, bound, "{elapsed:?}: {verdict:?}");
    assert!(verdict.share >= MIN_PART * share, "{share:.2} in {elapsed:?}: {verdict:?}");
}

fn read(input: Input, run: RunOptions) -> Result<Report> {
    Ok(Reader::new(input).options(&ReadOptions::default().with_run(run)).scene()?.report)
}

fn points(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| format!("v {}.{:06} -{}.5 0.25\n", i % 97, i % 999_983, i % 89).into_bytes()).collect()
}

fn scene(count: usize) -> Scene {
    Reader::new(Input::Memory(points(count), "points.obj".into())).scene().unwrap().value
}

/// Returns 512 bytes per call, after a millisecond each.
struct SlowReader {
    bytes: Vec<u8>,
    offset: usize,
    waited: Stopwatch,
}

impl HostRead for SlowReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.waited.time(|| std::thread::sleep(Duration::from_millis(1)));
        let count = out.len().min(512).min(self.bytes.len() - self.offset);
        out[..count].copy_from_slice(&self.bytes[self.offset..][..count]);
        self.offset += count;
        Ok(count)
    }
}

/// Accepts everything, after 20 ms per call.
struct SlowWriter(Stopwatch);

impl HostWrite for SlowWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.time(|| std::thread::sleep(Duration::from_millis(20)));
        Ok(bytes.len())
    }
}

/// Limits the rate, in bytes per second.
fn throttle(rate: u64) -> Option<Throttle> {
    Some(Throttle::new(Some(rate), Duration::ZERO))
}

#[test]
fn a_throttled_input_is_bound_by_reading() {
    const RATE: u64 = 1_000_000;
    let bytes = points(10_000);
    let min_seconds = bytes.len() as f64 / RATE as f64;
    let input = Input::Memory(bytes, "points.obj".into());
    let job = judged(1, |run| read(input, run.with_read_throttle(throttle(RATE))));
    assert_bound(&job, Bound::Read, min_seconds / job.elapsed.as_secs_f64());
}

#[test]
fn a_throttled_output_is_bound_by_writing() {
    const RATE: u64 = 1_000_000;
    let scene = scene(10_000);
    let output = Output::Writer(Box::new(io::sink()), "points.obj".into());
    let mut bytes = 0;
    let job = judged(1, |run| {
        let options = WriteOptions::default().with_run(run.with_write_throttle(throttle(RATE)));
        let report = Writer::new(output).options(&options).scene(&scene)?;
        bytes = report.bytes_out;
        Ok(report)
    });
    assert_bound(&job, Bound::Write, bytes as f64 / RATE as f64 / job.elapsed.as_secs_f64());
}

#[test]
fn a_host_that_returns_512_bytes_is_bound_by_small_reads() {
    let waited = Stopwatch::default();
    let host = SlowReader { bytes: points(4_000), offset: 0, waited: waited.clone() };
    let job = judged(1, |run| read(Input::Host(Box::new(host), "points.obj".into()), run));
    assert_bound(&job, Bound::SmallReads, waited.share(&job));
}

#[test]
fn a_slow_output_is_bound_by_the_host() {
    let scene = scene(60_000);
    let waited = Stopwatch::default();
    let output = Output::Host(Box::new(SlowWriter(waited.clone())), "points.obj".into());
    let job = judged(1, |run| Writer::new(output).options(&WriteOptions::default().with_run(run)).scene(&scene));
    assert_bound(&job, Bound::Host, waited.share(&job));
}

#[test]
fn a_limit_that_backs_one_thread_of_eight_is_bound_by_memory() {
    let bytes = points(200_000);
    let job = judged(8, |run| {
        let run = run.with_memory_limit(1).with_chunk_bytes(Some(64 << 10));
        read(Input::Memory(bytes, "points.obj".into()), run)
    });
    // One thread works, seven are missing.
    assert_bound(&job, Bound::Memory, 7.0 / 8.0);
}
