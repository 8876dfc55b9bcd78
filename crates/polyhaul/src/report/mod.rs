//! What a job did: bytes, time by phase, threads, warnings.
//!
//! A report is plain data. The command renders it (`crates/cli`). `ceilings` has what the machine can do at best,
//! `verdict` what held a job back; `html` is a page about a job, `svg` a picture. What a trace recorded goes
//! to Perfetto (`perfetto`) and to the `tracing` crate (`bridge`); `sampler` looks at the process meanwhile.

#[cfg(feature = "tracing")]
mod bridge;
mod ceilings;
mod chart;
mod html;
mod json;
mod perfetto;
mod sampler;
mod shown;
mod svg;
mod verdict;
mod words;

#[cfg(feature = "tracing")]
pub use bridge::to_tracing;
pub use ceilings::{Ceilings, Kernel, Written};
pub use html::{Heading, html};
pub use perfetto::perfetto;
pub use sampler::Sampler;
pub use svg::svg;
pub use verdict::{Bound, Facts, Moved, Verdict};

use crate::warnings::Warnings;
use polyhaul_bytes::Codec;
use polyhaul_bytes::trace::{self, Part};
use std::time::{Duration, Instant};

/// What a job did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Bytes read from sources, referenced files included: compressed ones where they are compressed.
    pub bytes_in: u64,
    /// What these bytes came to when they were decompressed; `bytes_in` where nothing was.
    pub plain_bytes_in: u64,
    /// How the scene's source was compressed.
    pub codec: Option<Codec>,
    /// Bytes written to sinks.
    pub bytes_out: u64,
    /// What was written before it was compressed, referenced files apart.
    pub plain_bytes_out: u64,
    /// How what was written is compressed.
    pub codec_out: Option<Codec>,
    /// Whether it was on the disk when the job ended.
    pub durable: bool,
    /// The name of the format that was read: `obj`.
    pub format_in: Option<&'static str>,
    /// The name of the format that was written.
    pub format_out: Option<&'static str>,
    /// Time by phase, in order; `read` and `write` are among the names.
    pub phases: Vec<Phase>,
    /// Worker threads.
    pub threads: usize,
    /// What was repaired, skipped or missing.
    pub warnings: Warnings,
}

/// A part of a job and its wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The name: `read`, `transform`, `write`.
    pub name: &'static str,
    /// Wall time.
    pub elapsed: Duration,
}

/// The time of a phase that runs.
pub(crate) struct Clock {
    name: &'static str,
    start: Instant,
    _part: Part,
}

impl Clock {
    /// The phase `name` begins.
    pub(crate) fn start(name: &'static str) -> Clock {
        Clock { name, start: Instant::now(), _part: trace::part(name) }
    }

    /// It ends.
    pub(crate) fn stop(self, report: &mut Report) {
        report.phases.push(Phase { name: self.name, elapsed: self.start.elapsed() });
    }
}

/// The format where there are several.
pub(crate) const MIXED: &str = "mixed";

/// The one format of both, if they have no two.
fn one_of(one: Option<&'static str>, other: Option<&'static str>) -> Option<&'static str> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(MIXED),
        (one, other) => one.or(other),
    }
}

impl Report {
    /// The time of all phases together.
    pub fn elapsed(&self) -> Duration {
        self.phases.iter().map(|phase| phase.elapsed).sum()
    }

    /// Runs `work` as the phase `name`: a phase is a function.
    pub fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let clock = Clock::start(name);
        let span = trace::span(trace::Phase::Transform);
        let result = work();
        drop(span);
        clock.stop(self);
        result
    }

    /// Notes what was written to a sink, and how.
    pub(crate) fn note_writing(&mut self, plain_bytes: u64, codec: Option<Codec>, durable: bool) {
        self.plain_bytes_out += plain_bytes;
        (self.codec_out, self.durable) = (codec, durable);
    }

    /// Appends what another job did. Codecs stay those of the first that has any; formats become `mixed` where jobs
    /// with bytes have several formats, or codecs.
    pub fn extend(&mut self, other: Report) {
        // Who computes with rates of a format or codec must not take one for the other.
        let unpacked = self.codec != other.codec && self.bytes_in > 0 && other.bytes_in > 0;
        let packed = self.codec_out != other.codec_out && self.bytes_out > 0 && other.bytes_out > 0;
        self.format_in = if unpacked { Some(MIXED) } else { one_of(self.format_in, other.format_in) };
        self.format_out = if packed { Some(MIXED) } else { one_of(self.format_out, other.format_out) };
        self.codec = self.codec.or(other.codec);
        self.codec_out = self.codec_out.or(other.codec_out);
        self.durable |= other.durable;
        self.bytes_in += other.bytes_in;
        self.plain_bytes_in += other.plain_bytes_in;
        self.bytes_out += other.bytes_out;
        self.plain_bytes_out += other.plain_bytes_out;
        self.phases.extend(other.phases);
        self.threads = self.threads.max(other.threads);
        self.warnings.extend(other.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_several_formats_or_codecs_have_no_one_format() {
        let of = |format, codec, bytes_in| Report { format_in: Some(format), codec, bytes_in, ..Report::default() };
        let joined = |jobs: [Report; 2]| {
            let mut all = Report::default();
            jobs.into_iter().for_each(|job| all.extend(job));
            (all.format_in, all.bytes_in)
        };
        assert_eq!(joined([of("obj", None, 3), of("obj", None, 4)]), (Some("obj"), 7));
        assert_eq!(joined([of("obj", None, 3), of("ply", None, 4)]), (Some(MIXED), 7));
        assert_eq!(joined([of("obj", Some(Codec::Gzip), 3), of("obj", None, 4)]), (Some(MIXED), 7));
    }
}
