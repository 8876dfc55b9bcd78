//! What a trace recorded, as plain data.

use super::phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
use super::usage::Usage;
use crate::counters::Snapshot;

/// What a [`Trace`](super::Trace) recorded until now. Times are nanoseconds since the trace was made.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recording {
    /// How long the jobs took, one after another, in nanoseconds.
    pub elapsed_ns: u64,
    /// The most threads that a job was to use.
    pub wanted_threads: usize,
    /// Time that threads were missing because the memory limit backs no more, summed over them, in nanoseconds.
    pub starved_ns: u64,
    /// What the process used of the machine while the jobs ran, whatever else ran in it included; `None` where the
    /// system does not say. Jobs of less than 0.1 ms that follow each other within a millisecond share what it says of
    /// them all, and of cores they have no more than they had threads for: then it is asked about once in that time.
    pub used: Option<Usage>,
    /// Calls of the host's that began while no other thread was in one.
    pub host_alone: HostCalls,
    /// Calls of the host's that began while other threads were in one: where these take longer, they wait for each
    /// other.
    pub host_beside: HostCalls,
    /// The parts of the jobs, in order: `read`, `write` and others. No two of them overlap, and there
    /// are 10,000 at most.
    pub sections: Vec<Section>,
    /// Threads; the caller's is the first.
    pub threads: Vec<Thread>,
    /// Sources and sinks, in the order in which they were opened.
    pub files: Vec<FileUse>,
    /// What the machine did meanwhile, in order; empty unless somebody looked.
    pub samples: Vec<Sample>,
    /// Spans that were left out because there were too many; the totals have them.
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

/// What one thread did, and those that came after it: there are as many as worked at the same time.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Thread {
    /// The time of each phase.
    pub totals: Totals,
    /// What it did when, if spans were asked for: by their end, so a span comes behind those inside of it.
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
    /// What the thread was at.
    pub phase: Phase,
    /// On whose behalf.
    pub lane: Lane,
    /// In how many spans it is.
    pub depth: u8,
    /// The file, as its index in [`Recording::files`], of a call that moves bytes.
    pub file: Option<u32>,
    /// Bytes that a call moved; the number of the chunk for all others that have one.
    pub value: u64,
}

/// Nanoseconds by lane and phase. No time is in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    ns: [[u64; PHASE_COUNT]; LANE_COUNT],
}

/// Calls of a host's: its readers, writers, resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostCalls {
    /// How many.
    pub calls: u64,
    /// How long they took, summed over threads, in nanoseconds.
    pub elapsed_ns: u64,
    /// For how much of that the thread had no core: it slept, or waited for a device, a lock or a core. 0 where the
    /// system does not say what a thread had.
    pub idle_ns: u64,
}

/// The calls on one source or sink.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileUse {
    /// What messages call it.
    pub name: String,
    /// What its calls are: [`Phase::Read`], [`Phase::Write`], [`Phase::Host`], or [`Phase::Decompress`] for the plain
    /// bytes of compressed data.
    pub phase: Phase,
    /// Whether bytes go out.
    pub is_output: bool,
    /// Whether it is a file of the system, rather than memory, a pipe or a host's.
    pub is_file: bool,
    /// Whether it is memory.
    pub is_memory: bool,
    /// Bytes, calls, sizes, waiting time.
    pub calls: Snapshot,
    /// Who called: on behalf of which phase, how often. Empty unless spans were asked for.
    pub callers: Vec<(Phase, u64)>,
}

/// What the machine did at one moment.
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
    /// How many threads of the process waited for a lock.
    pub lock_waiters: u32,
    /// How many threads of the process there were.
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
        // As one slice each, which compilers make wide additions of: jobs may be as short as a small file.
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

    /// Takes all of `other` away.
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

    /// What came after `earlier`, a recording of the same trace: times, and the files that were opened since. Spans are
    /// left out.
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
        // Of samples that were too many some are gone, so their number says nothing.
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
