//! Exports time series of a trace as counters: bytes, chunks, cores, memory, threads.
//!
//! Bytes and chunks come from spans, at the end of each call; the rest comes from samples. Computes sums but evaluates
//! nothing.

use super::Events;
use polyhaul_trace::{FileUse, Phase, Recording, Sample, SpanRecord};
use std::collections::BTreeMap;
use std::io;

/// Divisor of the recording's duration for the minimum distance of counter values: finer than screen resolution.
const STEPS: u64 = 10_000;
/// Maximum number of files with their own counters.
const FILES: usize = 8;

/// Writes all counters that ever exceed 0.
pub(super) fn write(events: &mut Events<'_>, recording: &Recording) -> io::Result<()> {
    let spans = || recording.threads.iter().flat_map(|thread| &thread.spans);
    let end_ns = spans().map(|span| span.end_ns).max().unwrap_or(recording.elapsed_ns);
    let mut counters = Counters { events, recording, apart_ns: end_ns / STEPS };
    for (name, way) in [
        ("bytes in", BytesDirection::In),
        ("bytes out", BytesDirection::Out),
        ("bytes decompressed", BytesDirection::Unpacked),
    ] {
        counters.moved(name, |file| way == BytesDirection::from_file(file))?;
    }
    for (name, phase, of) in largest(&recording.files) {
        let label = format!("{} {name}", phase.name());
        counters
            .moved(&label, |file| file.phase == phase && file.name == name && BytesDirection::from_file(file) == of)?;
    }
    counters.chunks("chunk cut", Phase::Cut)?;
    counters.chunks("chunk placed", Phase::Place)?;
    counters.cores()?;
    counters.sampled("resident memory", |sample| sample.resident_bytes)?;
    counters.sampled("disk read", |sample| sample.disk_read_bytes)?;
    counters.sampled("disk written", |sample| sample.disk_write_bytes)?;
    counters.sampled("threads", |sample| u64::from(sample.threads))?;
    counters.sampled("lock waiters", |sample| u64::from(sample.lock_waiters))
}

/// Direction in which a file's bytes move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BytesDirection {
    In,
    Out,
    Unpacked,
}

impl BytesDirection {
    fn from_file(file: &FileUse) -> BytesDirection {
        match (file.phase, file.is_output) {
            (Phase::Decompress, _) => BytesDirection::Unpacked,
            (_, true) => BytesDirection::Out,
            (_, false) => BytesDirection::In,
        }
    }
}

/// The files with the most bytes. Files with the same name, phase and direction are combined.
fn largest(files: &[FileUse]) -> Vec<(&str, Phase, BytesDirection)> {
    let mut sums: BTreeMap<(&str, Phase, BytesDirection), u64> = BTreeMap::new();
    for file in files {
        *sums.entry((&file.name, file.phase, BytesDirection::from_file(file))).or_default() += file.calls.bytes;
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    sums.into_iter().take(FILES).map(|(key, _)| key).collect()
}

struct Counters<'a, 'b> {
    events: &'a mut Events<'b>,
    recording: &'a Recording,
    apart_ns: u64,
}

impl Counters<'_, '_> {
    /// Writes the cumulative bytes of calls on the selected files.
    fn moved(&mut self, name: &str, is_one: impl Fn(&FileUse) -> bool) -> io::Result<()> {
        let chosen: Vec<bool> = self.recording.files.iter().map(is_one).collect();
        let is_chosen = |index: u32| chosen.get(index as usize).copied().unwrap_or(false);
        let mut points = self.points(|span| span.file.is_some_and(is_chosen));
        let mut sum = 0u64;
        for (_, value) in &mut points {
            sum = sum.saturating_add(*value);
            *value = sum;
        }
        self.show(name, points)
    }

    /// Writes the number of the chunk that last completed a phase.
    fn chunks(&mut self, name: &str, phase: Phase) -> io::Result<()> {
        let points = self.points(|span| span.phase == phase);
        self.show(name, points)
    }

    /// End times and values of the selected spans, in order.
    fn points(&self, is_one: impl Fn(&SpanRecord) -> bool) -> Vec<(u64, u64)> {
        let spans = self.recording.threads.iter().flat_map(|thread| &thread.spans);
        let mut points: Vec<_> = spans.filter(|span| is_one(span)).map(|span| (span.end_ns, span.value)).collect();
        points.sort_unstable();
        points
    }

    fn sampled(&mut self, name: &str, value: impl Fn(&Sample) -> u64) -> io::Result<()> {
        let points = self.recording.samples.iter().map(|sample| (sample.at_ns, value(sample))).collect();
        self.show(name, points)
    }

    /// Writes the number of busy cores between consecutive samples.
    fn cores(&mut self) -> io::Result<()> {
        let busy = |pair: &[Sample]| match pair {
            [one, next] if next.at_ns > one.at_ns => {
                let cores = next.cpu_ns.saturating_sub(one.cpu_ns) as f64 / (next.at_ns - one.at_ns) as f64;
                Some((one.at_ns, (cores * 100.0).round() / 100.0))
            }
            _ => None,
        };
        let samples = &self.recording.samples;
        let last = samples.last().map(|last| (last.at_ns, 0.0));
        if samples.iter().all(|sample| sample.cpu_ns == 0) {
            return Ok(());
        }
        let points = samples.windows(2).filter_map(busy).chain(last);
        self.events.counter("cores busy", self.apart_ns, points)
    }

    fn show(&mut self, name: &str, points: Vec<(u64, u64)>) -> io::Result<()> {
        if points.iter().all(|&(_, value)| value == 0) {
            return Ok(());
        }
        self.events.counter(name, self.apart_ns, points.into_iter().map(|(at_ns, value)| (at_ns, value as f64)))
    }
}
