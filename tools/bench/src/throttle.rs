//! Measures the precision of throttles: the rate at which they let bytes through, compared with the nominal rate.

use crate::Failure;
use polyhaul_bytes::{FileOptions, Sink, Source, Throttle};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rates in MB/s.
const RATES: [u64; 7] = [10, 50, 170, 420, 900, 1400, 2000];
/// Target duration of a measurement, if the file is large enough.
const SECONDS: f64 = 0.4;
/// Bytes per call.
const CALL_BYTES: u64 = 256 << 10;

/// Prints `numbers group=throttle:_RATE name=N ns=LEAST median_ns=M agrees=yes`, nanoseconds per kilobyte; `rate` is
/// the ideal.
pub fn main(file: &Path, folder: &Path, rounds: usize) -> Result<(), Failure> {
    let output = folder.join("throttled.bin");
    let size = std::fs::metadata(file)?.len();
    for rate in RATES {
        let bytes = size.min((rate as f64 * 1e6 * SECONDS) as u64) / CALL_BYTES * CALL_BYTES;
        print(rate, "rate", vec![1e6 / rate as f64]);
        for threads in [1, 2] {
            let name = format!("read,_{threads}_thread{}", if threads == 1 { "" } else { "s" });
            print(rate, &name, times(rounds, bytes, || read(file, rate, bytes, threads))?);
        }
        print(rate, "written", times(rounds, bytes, || write(&output, rate, bytes))?);
    }
    Ok(std::fs::remove_file(&output)?)
}

/// Measures nanoseconds per kilobyte.
fn times(rounds: usize, bytes: u64, mut work: impl FnMut() -> Result<Duration, Failure>) -> Result<Vec<f64>, Failure> {
    (0..rounds.max(1)).map(|_| Ok(work()?.as_secs_f64() * 1e9 / (bytes as f64 / 1e3))).collect()
}

fn throttle(rate: u64) -> Throttle {
    Throttle::new(Some(rate * 1_000_000), Duration::ZERO)
}

/// Reads from threads that share a source, as loads do.
fn read(file: &Path, rate: u64, bytes: u64, threads: usize) -> Result<Duration, Failure> {
    let source = Source::open(file)?.throttled(&throttle(rate));
    let next = AtomicU64::new(0);
    let part = || -> std::io::Result<()> {
        let mut call = vec![0; CALL_BYTES as usize];
        loop {
            let at = next.fetch_add(CALL_BYTES, Ordering::Relaxed);
            if at >= bytes {
                return Ok(());
            }
            source.read_at(at, &mut call)?;
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(start.elapsed())
}

fn write(output: &Path, rate: u64, bytes: u64) -> Result<Duration, Failure> {
    let call = vec![7; CALL_BYTES as usize];
    let mut sink = Sink::file(output, FileOptions::default())?.throttled(&throttle(rate));
    let start = Instant::now();
    for _ in 0..bytes / CALL_BYTES {
        sink.write_all(&call)?;
    }
    let elapsed = start.elapsed();
    sink.finish()?;
    Ok(elapsed)
}

fn print(rate: u64, name: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let min = times[0];
    let median = times[times.len() / 2];
    println!("numbers group=throttle:_{rate}_MB/s name={name} ns={min:.3} median_ns={median:.3} agrees=yes");
}
