//! The contents of a trace, as plain data.

use super::phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
use super::usage::Usage;
use crate::counters::Snapshot;

/// The contents of a [`Trace`](super::Trace) so far. Times are nanoseconds since the trace was created.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recording {
    /// Total duration of the jobs, in nanoseconds.
    pub elapsed_ns: u64,
    /// The most threads that a job was to use.
    pub wanted_threads: usize,
    /// Time that threads were missing because the memory limit backs no more, summed over them, in nanoseconds.
    pub starved_ns: u64,
    /// What the process used while the jobs ran, including anything else in the process; `None` if the system does not
    /// report it. Jobs shorter than 0.1 ms that follow each other within a millisecond share one reading, and their CPU
    /// time is limited to that of their threads.
    pub used: Option<Usage>,
    /// Calls of the host's that began while no other thread was in one.
    pub host_alone: HostCalls,
    /// Calls of the host's that began while other threads were in one: where these take longer, they wait for each
    /// other.
    pub host_beside: HostCalls,
    /// The parts of the jobs, in order: `read`, `write` and others. No two of them overlap, and there
    /// are 10,000 at most.
    pub sections: Vec<Section>,
    /// The threads, starting with the caller's.
    pub threads: Vec<Thread>,
    /// When a picture was whole for the first time: of previews.
    pub first_pixel_ns: Option<u64>,
    /// Sources and sinks, in the order in which they were opened.
    pub files: Vec<FileUse>,
    /// Samples of the machine, in order; empty unless a sampler ran.
    pub samples: Vec<Sample>,
    /// Spans that were dropped because there were too many; the totals include them.
    pub dropped_spans: u64,
    /// Files that were left out because there were too many.
    pub dropped_files: u64,
}

/// A part of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// Its name: `read`, `write`.
    pub name: &'static str,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// One thread, and later ones that reused its track: there are as many as worked at the same time.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Thread {
    /// The time of each phase.
    pub totals: Totals,
    /// The timeline, if spans were requested, ordered by end, so that a span follows those inside it.
    pub spans: Vec<SpanRecord>,
}

/// A span of time in which a thread was at something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanRecord {
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What the thread did.
    pub phase: Phase,
    /// On whose behalf.
    pub lane: Lane,
    /// In how many spans it is.
    pub depth: u8,
    /// The file, as its index in [`Recording::files`], of a call that moves bytes.
    pub file: Option<u32>,
    /// For calls, the bytes moved; for other spans, the number of the chunk, if any.
    pub value: u64,
}

/// Nanoseconds by lane and phase. They do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    ns: [[u64; PHASE_COUNT]; LANE_COUNT],
}

/// Calls of a host's: its readers, writers, resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostCalls {
    /// The number of calls.
    pub calls: u64,
    /// Their duration, summed over threads, in nanoseconds.
    pub elapsed_ns: u64,
    /// How much of that the thread was off the CPU: sleeping, or waiting for a device, a lock or a core. 0 if the
    /// system does not report a thread's CPU time.
    pub idle_ns: u64,
}

/// The calls on one source or sink.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileUse {
    /// Its name in messages.
    pub name: String,
    /// The phase of its calls: [`Phase::Read`], [`Phase::Write`], [`Phase::Host`], or [`Phase::Decompress`] for the
    /// decompressed bytes of compressed data.
    pub phase: Phase,
    /// Whether bytes go out.
    pub is_output: bool,
    /// Whether it is a file of the system, rather than memory, a pipe or a host's.
    pub is_file: bool,
    /// Whether it is memory.
    pub is_memory: bool,
    /// Bytes, calls, sizes, waiting time.
    pub calls: Snapshot,
    /// Calls by the phase they served. Empty unless spans were requested.
    pub callers: Vec<(Phase, u64)>,
}

/// A sample of the machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// Time of all cores that the process had until now, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes that came from disks for the process until now.
    pub disk_read_bytes: u64,
    /// Bytes that the process had written towards disks until now.
    pub disk_write_bytes: u64,
    /// Memory that is resident, in bytes.
    pub resident_bytes: u64,
    /// How many threads of the process were waiting for a lock.
    pub lock_waiters: u32,
    /// How many threads the process had.
    pub threads: u32,
}

impl Default for Totals {
    fn default() -> Self {
        Totals { ns: [[0; PHASE_COUNT]; LANE_COUNT] }
    }
}

impl Totals {
    /// Adds time.
    pub fn add(&mut self, lane: Lane, phase: Phase, elapsed_ns: u64) {
        self.ns[lane as usize][phase as usize] += elapsed_ns;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Totals) {
        // As one slice each, which compilers vectorize: jobs can be as short as a small file.
        let (mine, others) = (self.ns.as_flattened_mut(), other.ns.as_flattened());
        mine.iter_mut().zip(others).for_each(|(mine, other)| *mine += other);
    }

    /// The time of a phase on behalf of a lane, in nanoseconds.
    pub fn get(&self, lane: Lane, phase: Phase) -> u64 {
        self.ns[lane as usize][phase as usize]
    }

    /// The time of a phase, in nanoseconds.
    pub fn total(&self, phase: Phase) -> u64 {
        Lane::ALL.iter().map(|&lane| self.get(lane, phase)).sum()
    }

    /// The time on behalf of a lane, in nanoseconds.
    pub fn of_lane(&self, lane: Lane) -> u64 {
        self.ns[lane as usize].iter().sum()
    }

    /// Subtracts all of `other`.
    fn less(&mut self, other: &Totals) {
        let others = other.ns.iter().flatten();
        self.ns.iter_mut().flatten().zip(others).for_each(|(mine, other)| *mine = mine.saturating_sub(*other));
    }

    /// All of the time, in nanoseconds.
    pub fn sum(&self) -> u64 {
        self.ns.iter().flatten().sum()
    }
}

impl Recording {
    /// The time of all threads.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.threads.iter().for_each(|thread| totals.merge(&thread.totals));
        totals
    }

    /// Returns the times and opened files since `earlier`, a recording of the same trace. Spans are left out.
    #[must_use]
    pub fn since(&self, earlier: &Recording) -> Recording {
        let thread = |(number, thread): (usize, &Thread)| {
            let mut totals = thread.totals;
            if let Some(before) = earlier.threads.get(number) {
                totals.less(&before.totals);
            }
            Thread { totals, spans: Vec::new() }
        };
        let used = match (self.used, earlier.used) {
            (Some(now), Some(before)) => Some(now.since(before)),
            (now, _) => now,
        };
        // Samples may have been thinned, so their number is not comparable.
        let seen_ns = earlier.samples.last().map(|sample| sample.at_ns);
        let is_new = |sample: &&Sample| seen_ns.is_none_or(|seen_ns| sample.at_ns > seen_ns);
        Recording {
            elapsed_ns: self.elapsed_ns.saturating_sub(earlier.elapsed_ns),
            wanted_threads: self.wanted_threads,
            starved_ns: self.starved_ns.saturating_sub(earlier.starved_ns),
            used,
            host_alone: self.host_alone.since(earlier.host_alone),
            host_beside: self.host_beside.since(earlier.host_beside),
            sections: self.sections.iter().skip(earlier.sections.len()).copied().collect(),
            threads: self.threads.iter().enumerate().map(thread).collect(),
            first_pixel_ns: self.first_pixel_ns.filter(|_| earlier.first_pixel_ns.is_none()),
            files: self.files.iter().skip(earlier.files.len()).cloned().collect(),
            samples: self.samples.iter().filter(is_new).copied().collect(),
            dropped_spans: 0,
            dropped_files: self.dropped_files - earlier.dropped_files.min(self.dropped_files),
        }
    }
}

impl HostCalls {
    /// Adds calls.
    pub(super) fn add(&mut self, other: HostCalls) {
        self.calls += other.calls;
        self.elapsed_ns += other.elapsed_ns;
        self.idle_ns += other.idle_ns;
    }

    fn since(self, earlier: HostCalls) -> HostCalls {
        HostCalls {
            calls: self.calls.saturating_sub(earlier.calls),
            elapsed_ns: self.elapsed_ns.saturating_sub(earlier.elapsed_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }
}
