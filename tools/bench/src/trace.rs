//! Measures the overhead of tracing: the same reads and writes without a trace, with totals, and with spans and a
//! sampler, alternating; and the overhead of checking for a trace when there is none.

use crate::Failure;
use polyhaul::options::RunOptions;
use polyhaul::report::Sampler;
use polyhaul::trace::{Detail, Phase, Recording, Trace, span};
use polyhaul::{ReadOptions, WriteOptions};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of small files.
const FILES: usize = 1_000;
/// Sampling interval of the process, as in the command.
const EVERY: Duration = Duration::from_millis(5);

/// Levels of recording.
const WAYS: [(&str, Option<Detail>); 3] =
    [("no_trace", None), ("totals", Some(Detail::Totals)), ("spans", Some(Detail::Spans))];

/// Measures reading and writing `file`, and reading many small files, which are created in `folder`, with 1 and 2
/// threads. Prints a line for each, like the number kernels.
pub fn main(file: &Path, folder: &Path, rounds: usize) -> Result<(), Failure> {
    let small = small_files(folder)?;
    let output = folder.join("trace-out.obj");
    for threads in [1, 2] {
        let of = |what: &str| format!("trace:_{what},_{threads}_thread{}", if threads == 1 { "" } else { "s" });
        let large = [file.to_owned()];
        for (what, files) in [("read", large.as_slice()), ("small_files", &small)] {
            compare(&of(what), files, rounds, threads, |run| read(files, run))?;
        }
        let scene = polyhaul::Reader::new(file).scene()?.value;
        let write = |run: &RunOptions| {
            let options = WriteOptions::default().with_run(run.clone());
            Ok(polyhaul::Writer::new(&output).options(&options).scene(&scene)?.bytes_out)
        };
        compare(&of("write"), &large, rounds, threads, write)?;
    }
    std::fs::remove_file(&output)?;
    Ok(())
}

/// Reads all files and returns their total size in bytes.
fn read(files: &[PathBuf], run: &RunOptions) -> Result<u64, Failure> {
    let options = ReadOptions::default().with_run(run.clone());
    let read = |path: &PathBuf| Ok(polyhaul::Reader::new(path).options(&options).scene()?.report.bytes_in);
    files.iter().map(read).sum()
}

/// Writes small scenes of 50 faces each.
fn small_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder.join("trace-small");
    std::fs::create_dir_all(&folder)?;
    let text = "v 0 0 0\nv 1 0 0\nv 1 1 0.5\nf 1 2 3\n".repeat(50);
    let make = |index: usize| {
        let path = folder.join(format!("{index}.obj"));
        std::fs::write(&path, &text)?;
        Ok(path)
    };
    (0..FILES).map(make).collect()
}

/// Prints `numbers group=G name=N ns=MINIMUM median_ns=M agrees=yes|no`, per kilobyte, for each level of recording, and
/// for `asking`: the time spent on checking for a trace if there is none. The measurements agree if all processed the
/// same number of bytes.
fn compare(
    group: &str,
    files: &[PathBuf],
    rounds: usize,
    threads: usize,
    work: impl Fn(&RunOptions) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let sizes = files.iter().map(|path| Ok(std::fs::metadata(path)?.len()));
    let kilobytes = sizes.sum::<std::io::Result<u64>>()? as f64 / 1e3;
    let expected = work(&RunOptions::default().with_threads(Some(threads)))?;
    let mut times = WAYS.map(|_| Vec::with_capacity(rounds));
    let mut agrees = true;
    let mut asks = 0;
    let mut asking = Vec::with_capacity(rounds);
    for _ in 0..rounds.max(1) {
        for ((_, detail), times) in WAYS.iter().zip(&mut times) {
            let start = Instant::now();
            let trace = detail.map(Trace::new);
            let sampler = trace
                .as_ref()
                .filter(|trace| trace.detail() == Detail::Spans)
                .map(|trace| Sampler::start(trace, EVERY));
            let run = RunOptions::default().with_threads(Some(threads)).with_trace(trace);
            agrees &= work(&run)? == expected;
            drop(sampler);
            times.push(start.elapsed().as_secs_f64() * 1e9 / kilobytes);
            asks = run.trace.map_or(0, |trace| asks_of(&trace.recording()));
        }
        asking.push(asks as f64 * ask_ns() / kilobytes);
    }
    let names = WAYS.iter().map(|way| way.0).chain(["asking"]);
    for (name, times) in names.zip(times.iter_mut().chain([&mut asking])) {
        times.sort_by(f64::total_cmp);
        let min = times[0];
        let median = times[times.len() / 2];
        let agrees = if agrees { "yes" } else { "no" };
        println!("numbers group={group} name={name} ns={min:.3} median_ns={median:.3} agrees={agrees}");
    }
    Ok(())
}

/// Returns the number of checks for a trace in a job with these recorded spans.
fn asks_of(seen: &Recording) -> u64 {
    let spans: usize = seen.threads.iter().map(|thread| thread.spans.len()).sum();
    (spans + seen.sections.len() + seen.threads.len() + seen.files.len()) as u64
        + seen.dropped_spans
        + seen.dropped_files
}

/// Measures the cost of a span without a trace.
fn ask_ns() -> f64 {
    const ASKS: u32 = 100_000;
    let start = Instant::now();
    (0..ASKS).for_each(|_| drop(black_box(span(black_box(Phase::Parse)))));
    start.elapsed().as_secs_f64() * 1e9 / f64::from(ASKS)
}
