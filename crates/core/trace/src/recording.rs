//! Contents of a trace, as plain data.

use super::phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
use super::snapshot::Snapshot;
use super::usage::Usage;

/// Contents of a [`Trace`](super::Trace) so far. Times are nanoseconds since the trace was created.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recording {
    /// Total duration of the jobs, in nanoseconds.
    pub elapsed_ns: u64,
    /// Maximum number of threads that a job could use.
    pub wanted_threads: usize,
    /// Time that threads were idle because of the memory limit, summed over threads, in nanoseconds.
    pub starved_ns: u64,
    /// Resources used by the process while jobs ran, including its other activity; `None` if the system does not report
    /// them. Successive jobs shorter than 0.1 ms that start within a millisecond share one reading, and their CPU time
    /// is at most their duration times the number of their threads.
    pub used: Option<Usage>,
    /// Calls to the host that started while no other thread was inside such a call.
    pub host_alone: HostCalls,
    /// Calls to the host that started while other threads were inside such a call. If these calls take longer, they
    /// block each other.
    pub host_beside: HostCalls,
    /// Sections of the jobs, in order: `read`, `write` and others. They do not overlap; at most 10,000 are kept.
    pub sections: Vec<Section>,
    /// Threads, starting with the caller's.
    pub threads: Vec<Thread>,
    /// Time when the first picture of a preview was complete.
    pub first_pixel_ns: Option<u64>,
    /// Sources and sinks, in the order of opening.
    pub files: Vec<FileUse>,
    /// Samples of the machine, in order; empty unless a sampler ran.
    pub samples: Vec<Sample>,
    /// Number of spans dropped beyond the limit; the totals include them.
    pub dropped_spans: u64,
    /// Number of files dropped beyond the limit.
    pub dropped_files: u64,
}

/// A named part of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// Name: `read`, `write` or another.
    pub name: &'static str,
    /// Start time.
    pub start_ns: u64,
    /// End time.
    pub end_ns: u64,
}

/// One thread, and later threads that reused its track: there are as many tracks as concurrent threads.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Thread {
    /// Name; empty for threads of polyhaul.
    pub name: String,
    /// Time per phase.
    pub totals: Totals,
    /// Timeline, if spans were requested, ordered by end, so that a span follows the spans nested in it.
    pub spans: Vec<SpanRecord>,
}

/// Span of time that a thread spent in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanRecord {
    /// Start time.
    pub start_ns: u64,
    /// End time.
    pub end_ns: u64,
    /// Activity of the thread.
    pub phase: Phase,
    /// Role of the thread.
    pub lane: Lane,
    /// Number of enclosing spans.
    pub depth: u8,
    /// For a call that moves bytes, the file's index in [`Recording::files`].
    pub file: Option<u32>,
    /// For calls, the number of bytes moved; for other spans, the chunk number, if any.
    pub value: u64,
}

/// Nanoseconds by lane and phase, without overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    ns: [[u64; PHASE_COUNT]; LANE_COUNT],
}

/// Calls to the host: its readers, writers and resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostCalls {
    /// Number of calls.
    pub calls: u64,
    /// Total duration, summed over threads, in nanoseconds.
    pub elapsed_ns: u64,
    /// Part of that time that the thread was off the CPU: sleeping, or waiting for a device, a lock or a core. 0 if the
    /// system does not report CPU time per thread.
    pub idle_ns: u64,
}

/// Calls on one source or sink.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileUse {
    /// Name used in messages.
    pub name: String,
    /// Phase of its calls: [`Phase::Read`], [`Phase::Write`], [`Phase::Host`], or [`Phase::Decompress`] for the
    /// decompressed bytes of compressed data.
    pub phase: Phase,
    /// Whether it is a sink.
    pub is_output: bool,
    /// Whether it is a file in the file system rather than memory, a pipe or a callback.
    pub is_file: bool,
    /// Whether it is memory.
    pub is_memory: bool,
    /// Bytes, calls, sizes, waiting time.
    pub calls: Snapshot,
    /// Calls by the phase they served. Empty unless spans were requested.
    pub callers: Vec<(Phase, u64)>,
}

/// Sample of the machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Sample {
    /// Time of the sample.
    pub at_ns: u64,
    /// CPU time of the process so far, summed over cores, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read from disks for the process so far.
    pub disk_read_bytes: u64,
    /// Bytes written to disks for the process so far.
    pub disk_write_bytes: u64,
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// Number of threads waiting for a lock.
    pub lock_waiters: u32,
    /// Number of threads of the process.
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

    /// Adds all times of `other`.
    pub fn merge(&mut self, other: &Totals) {
        // Flat slices, which compilers vectorize: for a small file, this is a noticeable share of the job.
        let sums = self.ns.as_flattened_mut();
        sums.iter_mut().zip(other.ns.as_flattened()).for_each(|(sum, ns)| *sum += ns);
    }

    /// Returns the time of a phase in a lane, in nanoseconds.
    pub fn get(&self, lane: Lane, phase: Phase) -> u64 {
        self.ns[lane as usize][phase as usize]
    }

    /// Returns the time of a phase, in nanoseconds.
    pub fn total(&self, phase: Phase) -> u64 {
        Lane::ALL.iter().map(|&lane| self.get(lane, phase)).sum()
    }

    /// Returns the time in a lane, in nanoseconds.
    pub fn of_lane(&self, lane: Lane) -> u64 {
        self.ns[lane as usize].iter().sum()
    }

    /// Subtracts all times of `other`.
    fn less(&mut self, other: &Totals) {
        let subtrahends = other.ns.iter().flatten();
        self.ns.iter_mut().flatten().zip(subtrahends).for_each(|(sum, ns)| *sum = sum.saturating_sub(*ns));
    }

    /// Returns the total time, in nanoseconds.
    pub fn sum(&self) -> u64 {
        self.ns.iter().flatten().sum()
    }
}

impl Thread {
    /// Adds a span of a watched program, after all others in time. `bytes` is the number of bytes that it moved.
    /// Extends the last span if that has the same phase and no gap follows it.
    pub fn push(&mut self, phase: Phase, start_ns: u64, end_ns: u64, bytes: u64) {
        let lane = Lane::Side;
        self.totals.add(lane, phase, end_ns.saturating_sub(start_ns));
        match self.spans.last_mut() {
            Some(last) if last.phase == phase && last.end_ns == start_ns => {
                last.end_ns = end_ns;
                last.value += bytes;
            }
            _ => self.spans.push(SpanRecord { start_ns, end_ns, phase, lane, depth: 0, file: None, value: bytes }),
        }
    }
}

impl Recording {
    /// Returns the name of a thread: its own, or `caller` and `worker 1` for threads of polyhaul.
    pub fn thread_name(&self, index: usize) -> String {
        match self.threads.get(index).map(|thread| thread.name.as_str()) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ if index == 0 => "caller".to_owned(),
            _ => format!("worker {index}"),
        }
    }

    /// Returns the times of all threads, summed.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.threads.iter().for_each(|thread| totals.merge(&thread.totals));
        totals
    }

    /// Returns the times and opened files since `earlier`, a recording of the same trace. Omits spans.
    #[must_use]
    pub fn since(&self, earlier: &Recording) -> Recording {
        let thread = |(number, thread): (usize, &Thread)| {
            let mut totals = thread.totals;
            if let Some(before) = earlier.threads.get(number) {
                totals.less(&before.totals);
            }
            Thread { name: thread.name.clone(), totals, spans: Vec::new() }
        };
        let used = match (self.used, earlier.used) {
            (Some(now), Some(before)) => Some(now.since(before)),
            (now, _) => now,
        };
        // Samples may have been thinned, so their indices are not comparable.
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
