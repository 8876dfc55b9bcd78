//! What a job did when: the phases of its threads, the calls on its sources and sinks, its waits.
//!
//! A [`Trace`] is handed to a job with [`within`]; threads that work for it [`join`](Joint::join). Then a [`span`] is
//! noted, and so is each call of a source or sink. Without a trace a span costs one look at a variable of the thread.
//! It never influences what is read or written, and starts no threads. `phase.rs` has the words, `recording.rs` what
//! comes out, `thread.rs` what each thread keeps for itself until it is done: so threads that work share nothing here
//! but counts of the calls on files.
//! `files.rs` keeps the calls on sources and sinks, `usage.rs` and `process.rs` have what the system says of the
//! process.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod counters;
mod files;
mod phase;
mod process;
mod recording;
mod thread;
mod usage;

pub use counters::{BUCKET_COUNT, CallDelay, Counters, Snapshot};
pub use files::FileKind;
pub(crate) use files::NotedIn;
pub use phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
pub use process::Process;
pub use recording::{FileUse, HostCalls, Recording, Sample, Section, SpanRecord, Thread, Totals};
pub use thread::{
    Joint, Part, Span, callback, chunk, joint, lock, otherwise, part, part_from, pause, span, span_from, step,
};
pub use usage::Usage;

use files::Files;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use thread::Notes;
use usage::Meter;

/// The most spans that are kept of one trace, of 48 bytes each.
const MOST_SPANS: usize = 1 << 19;
/// The most samples that are kept of one trace, of 56 bytes each: eleven minutes at one in 10 ms, then at every second.
const MOST_SAMPLES: usize = 1 << 16;
/// The most files that are kept of one trace.
const MOST_FILES: usize = 20_000;
/// The most parts that are kept of one trace.
const MOST_SECTIONS: usize = 10_000;

/// How much is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Detail {
    /// How long each thread was in each phase, and the calls on each file.
    #[default]
    Totals,
    /// When each thread was at what, too.
    Spans,
}

/// A recorder of jobs. Cloning gives another handle on the same one.
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
pub struct Trace(Arc<Shared>);

struct Shared {
    epoch: Instant,
    detail: Detail,
    kept: Mutex<Kept>,
    /// Threads that are in a call of the host's.
    in_host: AtomicUsize,
    /// Whether a part of a job is going on that is kept.
    in_section: AtomicBool,
    /// Spans of all threads, with those that they have room for.
    spans: AtomicUsize,
}

#[derive(Default)]
struct Kept {
    recording: Recording,
    files: Files,
    /// Samples that came; one of `2^samples_thinned` is kept.
    samples_seen: u64,
    samples_thinned: u32,
    /// Threads of the recording that nobody is now; the lowest is next.
    free_tracks: BinaryHeap<Reverse<usize>>,
    /// What threads that are done noted in, empty: the next ones need no memory of their own.
    #[allow(clippy::vec_box, reason = "they go to a thread and come back, and are not copied")]
    spare: Vec<Box<Notes>>,
    /// Jobs that run, and since when any does.
    jobs: usize,
    since_ns: u64,
    /// When the last one ended before that.
    ended_ns: u64,
    /// What the process used while any did.
    meter: Meter,
}

impl Trace {
    /// A recorder whose clock begins now.
    pub fn new(detail: Detail) -> Trace {
        let (in_host, in_section, spans) = Default::default();
        Trace(Arc::new(Shared { epoch: Instant::now(), detail, kept: Mutex::default(), in_host, in_section, spans }))
    }

    /// How much is recorded.
    pub fn detail(&self) -> Detail {
        self.0.detail
    }

    /// Nanoseconds since the trace was made.
    pub fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    /// Adds what the machine did at a moment. Of samples that become too many, every second goes, and from then on
    /// every second that comes: so they stay evenly apart however long the jobs take.
    pub fn sample(&self, sample: Sample) {
        self.0.lock().keep_sample(sample);
    }

    /// Notes that `threads` were missing for `elapsed_ns` since the memory limit backs no more.
    pub fn starved(&self, threads: usize, elapsed_ns: u64) {
        self.0.lock().recording.starved_ns += threads as u64 * elapsed_ns;
    }

    /// What was recorded until now, of threads that are done. Call it when the jobs are.
    pub fn recording(&self) -> Recording {
        let mut open = Vec::new();
        let mut kept = self.0.lock();
        let now_ns = self.0.now_ns();
        if kept.jobs == 0 {
            kept.meter.settle(now_ns);
        }
        let mut recording = kept.recording.clone();
        recording.used = kept.meter.used();
        if kept.jobs > 0 {
            recording.elapsed_ns += now_ns.saturating_sub(kept.since_ns);
        }
        recording.files = kept.files.used(&mut open);
        recording
    }

    /// A source or sink was opened on this thread: its calls are noted from now on.
    pub fn opened(name: &str, kind: FileKind, counters: &Arc<Counters>) {
        if counters.phase() != Phase::Other {
            thread::with_shared(|shared| shared.opened(name, kind, counters));
        }
    }
}

impl Kept {
    /// Which thread of the recording one is that begins now, and what it notes in.
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

    /// A job begins that is to use up to `threads` threads.
    fn begin_job(&mut self, threads: usize, now_ns: u64) {
        if self.jobs == 0 {
            // Its beginning was read before it was known that no other runs.
            self.since_ns = now_ns.max(self.ended_ns);
            self.meter.begin(self.since_ns);
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
        if samples.len() == MOST_SAMPLES {
            // `number` is even in this count, so it is one that stays.
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

    fn keep_section(&mut self, mut section: Section) {
        let sections = &mut self.recording.sections;
        // Its beginning was read before it was known that no other goes on.
        let free_ns = sections.last().map_or(0, |before| before.end_ns);
        section.begin_ns = section.begin_ns.max(free_ns);
        if sections.len() < MOST_SECTIONS && sections.try_reserve(1).is_ok() {
            sections.push(section);
        }
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.ns_at(Instant::now())
    }

    fn ns_at(&self, moment: Instant) -> u64 {
        // Not `as_nanos`, which has 128 bits: there are a dozen of these in a job as short as a small file.
        let since = moment.saturating_duration_since(self.epoch);
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    fn opened(self: &Arc<Shared>, name: &str, kind: FileKind, counters: &Arc<Counters>) {
        let mut kept = self.lock();
        match kept.files.add(name, kind, counters) {
            Some(index) => counters.noted_in(self, index),
            None => kept.recording.dropped_files += 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("detail", &self.0.detail).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }
}

/// Runs a job that is to use up to `threads` threads, and records it in `trace`; with `None`, records nothing,
/// whatever was recorded before on this thread. A job in a job of the same trace is part of it, and may ask for more
/// threads.
pub fn within<T>(trace: Option<&Trace>, threads: usize, job: impl FnOnce() -> T) -> T {
    if let (Some(trace), Some(Joint { trace: now, .. })) = (trace, joint())
        && Arc::ptr_eq(&trace.0, &now.0)
    {
        trace.0.lock().wants(threads);
        return job();
    }
    let Some(trace) = trace else {
        let _before = thread::leave();
        return job();
    };
    let _attached = thread::attach(&trace.0, Lane::Alone, Some(threads));
    job()
}

#[cfg(test)]
mod tests;
