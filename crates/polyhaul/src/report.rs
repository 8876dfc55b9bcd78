//! Report of a job: bytes, time per phase, threads, warnings.
//!
//! Plain data only; `surfaces/cli` renders it.

use polyhaul_bytes::Codec;
#[cfg(feature = "tracing")]
pub use polyhaul_insight::to_tracing;
pub use polyhaul_insight::{
    Bound, Ceilings, Cell, Crossing, Device, Document, Facts, Heading, Kernel, Moved, Pace, ProgramModel, ProgramPage,
    ProgramTable, Sampler, Stored, Sweep, SweepKind, Times, Unpacking, Verdict, Written, count, day, html,
    load_seconds, perfetto, svg,
};
use polyhaul_trace::{self as trace, SectionGuard, Span};

use polyhaul_model::warnings::Warnings;
use std::time::{Duration, Instant};

/// The report of a job.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Bytes read from all sources, including referenced files. Compressed files count with their compressed size.
    pub bytes_in: u64,
    /// Bytes read, after decompression; equal to `bytes_in` if nothing was compressed.
    pub plain_bytes_in: u64,
    /// The compression of the main input, if any.
    pub codec: Option<Codec>,
    /// The bytes written to all outputs.
    pub bytes_out: u64,
    /// The bytes read, by format and codec; they add up to `bytes_in`.
    pub reads: Vec<Moved>,
    /// The bytes written, by format and codec; they add up to `bytes_out`.
    pub writes: Vec<Moved>,
    /// The files that were written, the asset itself first.
    pub files: Vec<FileWritten>,
    /// The number of referenced files and images inside glTF files that were copied next to the output. Their bytes are
    /// included in `bytes_out`.
    pub copied_files: u64,
    /// The total size of those copies, in bytes.
    pub copied_bytes: u64,
    /// Peak size of spilled arrays, in bytes. Only conversions with
    /// [`RunOptions::total_memory`](crate::options::RunOptions::total_memory) spill.
    pub spilled_bytes: u64,
    /// Time by phase, in order; `read` and `write` are among the names.
    pub phases: Vec<Phase>,
    /// Time until the first complete picture was in memory, with at least one sample per pixel; previews only.
    pub first_pixel: Option<Duration>,
    /// The number of line endings in an OBJ file that was read as a scene, or 0 for other inputs.
    pub lines: u64,
    /// The number of worker threads.
    pub threads: usize,
    /// Warnings about anything repaired, skipped or missing.
    pub warnings: Warnings,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWritten {
    /// Its path or URL, as messages show it.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// XXH3-128 hash of its content, if [`WriteOptions::hash`](crate::WriteOptions::hash) is set.
    pub hash: Option<u128>,
}

/// A phase of a job and its wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Phase name, such as `read`, `transform` or `write`.
    pub name: &'static str,
    /// Wall time.
    pub elapsed: Duration,
}

/// Clock of a running phase.
pub(crate) struct Clock {
    name: &'static str,
    start: Instant,
    section: SectionGuard,
    span: Option<Span>,
}

impl Clock {
    /// Starts the phase `name`.
    pub(crate) fn start(name: &'static str) -> Clock {
        let start = Instant::now();
        Clock { name, start, section: trace::section_from(name, start), span: None }
    }

    /// Like [`Clock::start`], but also records this thread in `phase` until the clock stops.
    pub(crate) fn start_in(name: &'static str, phase: trace::Phase) -> Clock {
        let clock = Clock::start(name);
        Clock { span: Some(trace::span_from(phase, clock.start)), ..clock }
    }

    /// Stops the clock and appends the phase to the report.
    pub(crate) fn stop(self, report: &mut Report) {
        let end = Instant::now();
        report.phases.push(Phase { name: self.name, elapsed: end.saturating_duration_since(self.start) });
        if let Some(span) = self.span {
            span.ended(end);
        }
        self.section.ended(end);
    }
}

impl Report {
    /// Report of writing a format; the format determines the severity of each warning.
    pub(crate) fn of_writing(format: &'static str) -> Report {
        Report { warnings: Warnings::for_target(format), ..Report::default() }
    }

    /// The total time of all phases.
    pub fn elapsed(&self) -> Duration {
        self.phases.iter().map(|phase| phase.elapsed).sum()
    }

    /// Runs `work` as the phase `name` and records its wall time.
    pub fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let clock = Clock::start_in(name, trace::Phase::Transform);
        let result = work();
        clock.stop(self);
        result
    }

    /// The facts about this job and machine from which a verdict is derived.
    pub fn facts(&self) -> Facts {
        Facts::new(self.reads.clone(), self.writes.clone())
    }

    /// Records the time of the first complete picture, unless one is already recorded.
    pub(crate) fn note_first_pixel(&mut self) {
        if self.first_pixel.is_none() {
            self.first_pixel = Some(self.elapsed());
            trace::first_pixel();
        }
    }

    /// Adds bytes read.
    pub(crate) fn note_read(&mut self, moved: Moved) {
        self.bytes_in += moved.bytes;
        self.plain_bytes_in += moved.plain_bytes;
        moved.add_to(&mut self.reads);
    }

    /// Adds bytes written; `bytes` is the compressed size.
    pub(crate) fn note_written(&mut self, mut moved: Moved, bytes: u64) {
        self.bytes_out += bytes;
        moved.bytes = bytes;
        if moved.codec.is_none() {
            moved.plain_bytes = bytes;
        }
        moved.add_to(&mut self.writes);
    }

    /// Appends the report of another job. Keeps the first codec; ignores `lines` and `spilled_bytes` of `other`.
    pub fn extend(&mut self, other: Report) {
        self.codec = self.codec.or(other.codec);
        self.bytes_in += other.bytes_in;
        self.plain_bytes_in += other.plain_bytes_in;
        self.bytes_out += other.bytes_out;
        self.files.extend(other.files);
        self.copied_files += other.copied_files;
        self.copied_bytes += other.copied_bytes;
        other.reads.into_iter().for_each(|moved| moved.add_to(&mut self.reads));
        other.writes.into_iter().for_each(|moved| moved.add_to(&mut self.writes));
        let before = self.elapsed();
        self.first_pixel = self.first_pixel.or(other.first_pixel.map(|time| before + time));
        self.phases.extend(other.phases);
        self.threads = self.threads.max(other.threads);
        self.warnings.extend(other.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jobs_moved_is_summed_by_format_and_codec() {
        let of = |reads: &[Moved], writes: &[Moved]| {
            let mut report = Report::default();
            reads.iter().for_each(|moved| report.note_read(moved.clone()));
            writes.iter().for_each(|moved| report.note_written(moved.clone(), moved.bytes));
            report
        };
        let packed = Moved::new("obj", 3).streamed(Codec::Gzip, 10);
        let durable = Moved::new("ply", 8).durable(true);
        let mut total = of(&[Moved::new("obj", 3), Moved::new("ply", 4)], &[Moved::new("ply", 8)]);
        total.extend(of(&[Moved::new("ply", 0), Moved::new("obj", 5), packed.clone()], std::slice::from_ref(&durable)));
        total.extend(of(&[Moved::new("mtl", 0), packed], &[]));
        let packed = Moved::new("obj", 6).streamed(Codec::Gzip, 20);
        assert_eq!(total.reads, [Moved::new("obj", 8), Moved::new("ply", 4), packed]);
        assert_eq!(total.writes, [Moved::new("ply", 8), durable]);
        assert_eq!((total.bytes_in, total.plain_bytes_in, total.bytes_out), (18, 32, 16));
    }
}
