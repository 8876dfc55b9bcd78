//! Timeline of a job: the phases of its threads, its waits, and the calls on its sources and sinks.
//!
//! [`within`] attaches a [`Trace`] to a job, and worker threads [`join`](Joint::join) it; [`span`]s and all calls on
//! sources and sinks are then recorded. Without a trace, a span costs one thread-local access. A trace never influences
//! what is read or written, and starts no threads. Threads buffer their records until they finish, so working threads
//! share only the call counts of files.
//!
//! Where to look next: `phase.rs` (the vocabulary), `recording.rs` (the result), `thread.rs` (the records of a thread),
//! `files.rs` (the calls on sources and sinks), `usage.rs` and `process.rs` (the system's statistics of the process).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod counters;
mod files;
mod phase;
mod process;
mod recording;
mod snapshot;
mod thread;
mod usage;

pub use counters::{CallDelay, Counters};
pub(crate) use files::FileEntryRef;
pub use files::FileKind;
pub use phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
pub use process::Process;
pub use recording::{FileUse, HostCalls, Recording, Sample, Section, SpanRecord, Thread, Totals};
pub use snapshot::{BUCKET_COUNT, Snapshot};
pub use thread::{
    Joint, SectionGuard, Span, callback, chunk, first_pixel, joint, lock, otherwise, pause, section, section_from,
    span, span_from, step,
};
pub use usage::Usage;

use files::FileTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use thread::Notes;
use usage::UsageMeter;

/// Maximum number of spans in a trace, 48 bytes each.
const MAX_SPANS: usize = 1 << 19;
/// Maximum number of samples in a trace, 56 bytes each: eleven minutes at one per 10 ms, after which samples are
/// thinned.
const MAX_SAMPLES: usize = 1 << 16;
/// Maximum number of files in a trace.
const MAX_FILES: usize = 20_000;
/// Maximum number of sections in a trace.
const MAX_SECTIONS: usize = 10_000;

/// Level of detail of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Detail {
    /// Time per thread and phase, and the calls on each file.
    #[default]
    Totals,
    /// In addition, a timeline of each thread.
    Spans,
}

/// Recorder of jobs. A clone is another handle to the same recorder.
///
/// ```
/// use polyhaul_trace::{Detail, Phase, Trace, span, within};
/// use std::time::Duration;
///
/// let trace = Trace::new(Detail::Totals);
/// within(Some(&trace), 1, || {
///     let _span = span(Phase::Parse);
///     std::thread::sleep(Duration::from_millis(2));
/// });
/// let seen = trace.recording();
/// assert_eq!(seen.threads.len(), 1);
/// assert!(seen.totals().total(Phase::Parse) >= 2_000_000);
/// ```
#[derive(Clone)]
pub struct Trace(Arc<TraceShared>);

struct TraceShared {
    epoch: Instant,
    detail: Detail,
    state: Mutex<TraceState>,
    /// Number of threads inside a call to the host.
    in_host: AtomicUsize,
    /// Whether a section is open.
    in_section: AtomicBool,
    /// Number of spans of all threads, including reserved spans.
    spans: AtomicUsize,
}

#[derive(Default)]
struct TraceState {
    recording: Recording,
    files: FileTable,
    /// Number of samples received. One of every `2^samples_thinned` is kept.
    samples_seen: u64,
    samples_thinned: u32,
    /// Unused tracks of the recording. The lowest track is reused first.
    free_tracks: BinaryHeap<Reverse<usize>>,
    /// Empty records of finished threads, for reuse.
    #[allow(clippy::vec_box, reason = "they go to a thread and come back, and are not copied")]
    spare: Vec<Box<Notes>>,
    /// Number of running jobs, and the time since which at least one job has been running.
    jobs: usize,
    since_ns: u64,
    /// End of the last job before that.
    ended_ns: u64,
    /// Resources used by the process while jobs ran.
    meter: UsageMeter,
}

impl Trace {
    /// Creates a recorder whose clock starts now.
    pub fn new(detail: Detail) -> Trace {
        Trace(Arc::new(TraceShared {
            epoch: Instant::now(),
            detail,
            state: Mutex::default(),
            in_host: AtomicUsize::new(0),
            in_section: AtomicBool::new(false),
            spans: AtomicUsize::new(0),
        }))
    }

    /// Returns the level of detail.
    pub fn detail(&self) -> Detail {
        self.0.detail
    }

    /// Returns the nanoseconds since the trace was created.
    pub fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    /// Adds a sample of the machine. At the maximum, every second sample is dropped, and from then on every second new
    /// sample, so that samples stay evenly spaced however long the jobs take.
    pub fn sample(&self, sample: Sample) {
        self.0.lock().keep_sample(sample);
    }

    /// Records that the memory limit kept `threads` threads idle for `elapsed_ns`.
    pub fn starved(&self, threads: usize, elapsed_ns: u64) {
        self.0.lock().recording.starved_ns += threads as u64 * elapsed_ns;
    }

    /// Returns the recording of all finished threads. Call it after the jobs.
    pub fn recording(&self) -> Recording {
        let mut open = Vec::new();
        let mut state = self.0.lock();
        let now_ns = self.0.now_ns();
        if state.jobs == 0 {
            state.meter.settle(now_ns);
        }
        let mut recording = state.recording.clone();
        recording.used = state.meter.used();
        if state.jobs > 0 {
            recording.elapsed_ns += now_ns.saturating_sub(state.since_ns);
        }
        recording.files = state.files.used(&mut open);
        recording
    }

    /// Records a source or sink opened by this thread, and its calls from now on.
    pub fn opened(name: &str, kind: FileKind, counters: &Arc<Counters>) {
        if counters.phase() != Phase::Other {
            thread::with_shared(|shared| shared.opened(name, kind, counters));
        }
    }
}

impl TraceState {
    /// Takes a track and empty records for a new thread.
    fn take_track(&mut self) -> (usize, Box<Notes>) {
        let notes = self.spare.pop().unwrap_or_default();
        if let Some(Reverse(track)) = self.free_tracks.pop() {
            return (track, notes);
        }
        self.recording.threads.push(Thread::default());
        (self.recording.threads.len() - 1, notes)
    }

    fn give_track(&mut self, track: usize, notes: Box<Notes>) {
        self.free_tracks.push(Reverse(track));
        self.spare.push(notes);
    }

    /// Records the start of a job that uses up to `threads` threads.
    fn start_job(&mut self, threads: usize, now_ns: u64) {
        if self.jobs == 0 {
            // `now_ns` was read before locking, so another job may have ended since.
            self.since_ns = now_ns.max(self.ended_ns);
            self.meter.start(self.since_ns);
        }
        self.jobs += 1;
        self.meter.join(threads);
        self.wants(threads);
    }

    fn end_job(&mut self, now_ns: u64) {
        self.jobs -= 1;
        if self.jobs == 0 {
            self.ended_ns = now_ns.max(self.since_ns);
            self.recording.elapsed_ns += self.ended_ns - self.since_ns;
            self.meter.end(self.ended_ns);
        }
    }

    fn wants(&mut self, threads: usize) {
        self.meter.wants(threads);
        self.recording.wanted_threads = self.recording.wanted_threads.max(threads);
    }

    fn keep_sample(&mut self, sample: Sample) {
        let number = self.samples_seen;
        self.samples_seen += 1;
        let samples = &mut self.recording.samples;
        if number.trailing_zeros() < self.samples_thinned {
            return;
        }
        if samples.len() == MAX_SAMPLES {
            // `MAX_SAMPLES` is even, so this is one of the samples to keep.
            let mut stays = false;
            samples.retain(|_| {
                stays = !stays;
                stays
            });
            self.samples_thinned += 1;
        }
        if samples.try_reserve(1).is_ok() {
            samples.push(sample);
        }
    }

    fn keep_first_pixel(&mut self, at_ns: u64) {
        self.recording.first_pixel_ns.get_or_insert(at_ns);
    }

    fn keep_section(&mut self, mut section: Section) {
        let sections = &mut self.recording.sections;
        // The start was read before the previous section ended.
        let last_end_ns = sections.last().map_or(0, |last| last.end_ns);
        section.start_ns = section.start_ns.max(last_end_ns);
        section.end_ns = section.end_ns.max(section.start_ns);
        if sections.len() < MAX_SECTIONS && sections.try_reserve(1).is_ok() {
            sections.push(section);
        }
    }
}

impl TraceShared {
    fn now_ns(&self) -> u64 {
        self.ns_at(Instant::now())
    }

    fn ns_at(&self, moment: Instant) -> u64 {
        // Not `as_nanos`, which computes in 128 bits: reading a small file calls this a dozen times.
        let since = moment.saturating_duration_since(self.epoch);
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    fn opened(self: &Arc<TraceShared>, name: &str, kind: FileKind, counters: &Arc<Counters>) {
        let mut state = self.lock();
        match state.files.add(name, kind, counters) {
            Some(index) => counters.noted_in(self, index),
            None => state.recording.dropped_files += 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, TraceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("detail", &self.0.detail).finish_non_exhaustive()
    }
}

impl fmt::Debug for TraceShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }
}

/// Runs a job on up to `threads` threads and records it in `trace`. `None` suspends recording on this thread. A job
/// inside a job of the same trace is part of the outer job, and may raise its number of threads.
pub fn within<T>(trace: Option<&Trace>, threads: usize, job: impl FnOnce() -> T) -> T {
    if let Some(trace) = trace
        && let Some(Joint { trace: current }) = joint()
        && Arc::ptr_eq(&trace.0, &current.0)
    {
        trace.0.lock().wants(threads);
        return job();
    }
    let Some(trace) = trace else {
        let _detached = thread::leave();
        return job();
    };
    let _attached = thread::attach(&trace.0, Lane::Alone, Some(threads));
    job()
}

#[cfg(test)]
mod tests;
