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
pub use verdict::{Bound, Verdict};

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

impl Report {
    /// The time of all phases together.
    pub fn elapsed(&self) -> Duration {
        self.phases.iter().map(|phase| phase.elapsed).sum()
    }

    /// Runs `work` as the phase `name`: a phase is a function.
    pub fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let clock = Clock::start(name);
        let result = work();
        clock.stop(self);
        result
    }

    /// Appends what another job did; `codec` stays that of the first.
    pub fn extend(&mut self, other: Report) {
        self.bytes_in += other.bytes_in;
        self.plain_bytes_in += other.plain_bytes_in;
        self.bytes_out += other.bytes_out;
        self.phases.extend(other.phases);
        self.threads = self.threads.max(other.threads);
        self.warnings.extend(other.warnings);
    }
}
