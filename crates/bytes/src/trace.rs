//! What a job did when: the phases of its threads, the calls on its sources and sinks, its waits.
//!
//! A [`Trace`] is handed to a job with [`within`]; threads that work for it [`join`](Joint::join). Then a [`span`] is
//! noted, and so is each call of a source or sink. Without a trace a span costs one look at a variable of the thread.
//! It never influences what is read or written, and starts no threads. `phase.rs` has the words, `recording.rs` what
//! comes out, `thread.rs` what each thread keeps for itself until it is done: so nothing here is shared while it works.
//! `process.rs` is what the system says of the whole process.

mod phase;
mod process;
mod recording;
mod thread;
mod usage;

pub use phase::{LANE_COUNT, Lane, PHASE_COUNT, Phase};
pub use process::Process;
pub use recording::{FileUse, HostCalls, Recording, Sample, Section, SpanRecord, Thread, Totals};
pub use thread::{Joint, Part, Span, callback, chunk, joint, lock, otherwise, part, span};
pub use usage::Usage;

use crate::counters::Counters;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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
/// use polyhaul_bytes::trace::{self, Detail, Phase, Trace};
/// use polyhaul_bytes::Source;
///
/// # fn main() -> std::io::Result<()> {
/// let trace = Trace::new(Detail::Totals);
/// trace::within(Some(&trace), 1, || {
///     let source = Source::memory(vec![b' '; 1 << 20]);
///     source.read_at(0, &mut [0; 1 << 20])
/// })?;
/// let seen = trace.recording();
/// assert_eq!((seen.threads.len(), seen.files[0].calls.bytes), (1, 1 << 20));
/// assert!(seen.totals().of(Phase::Read) <= seen.elapsed_ns);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Trace(Arc<Shared>);

struct Shared {
    epoch: Instant,
    detail: Detail,
    kept: Mutex<Kept>,
    /// Threads that are in a call of the host's.
    in_host: AtomicUsize,
    /// Spans of all threads, with those that they have room for.
    spans: AtomicUsize,
}

#[derive(Default)]
struct Kept {
    recording: Recording,
    files: Vec<File>,
    /// Whether a part of a job is going on that is kept.
    in_section: bool,
    /// Samples that came; one of `2^samples_thinned` is kept.
    samples_seen: u64,
    samples_thinned: u32,
    /// Threads of the recording that nobody is now; the lowest is next.
    free_tracks: BinaryHeap<Reverse<usize>>,
    /// Jobs that run, and since when any does.
    jobs: usize,
    since_ns: u64,
    /// What the process had used then.
    used_before: Option<Usage>,
}

/// A source or sink.
struct File {
    name: String,
    is_output: bool,
    is_file: bool,
    is_memory: bool,
    counters: Arc<Counters>,
    callers: Vec<(Phase, u64)>,
}

impl Trace {
    /// A recorder whose clock begins now.
    pub fn new(detail: Detail) -> Trace {
        let (in_host, spans) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Trace(Arc::new(Shared { epoch: Instant::now(), detail, kept: Mutex::default(), in_host, spans }))
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
        let kept = self.0.lock();
        let mut recording = kept.recording.clone();
        if kept.jobs > 0 {
            recording.elapsed_ns += self.0.now_ns().saturating_sub(kept.since_ns);
        }
        recording.files = kept.files.iter().map(File::used).collect();
        recording
    }

    /// A source or sink was opened on this thread: its calls are noted from now on.
    pub(crate) fn opened(name: &str, [is_output, is_file, is_memory]: [bool; 3], counters: &Arc<Counters>) {
        let Some(Joint { trace }) = joint().filter(|_| counters.phase() != Phase::Other) else { return };
        let mut kept = trace.0.lock();
        if kept.files.len() == MOST_FILES {
            kept.recording.dropped_files += 1;
            return;
        }
        let index = kept.files.len() as u32;
        let (name, callers) = (name.to_owned(), Vec::new());
        let file = File { name, is_output, is_file, is_memory, counters: counters.clone(), callers };
        kept.files.push(file);
        drop(kept);
        counters.noted_in(&trace.0, index);
    }
}

impl Kept {
    /// Which thread of the recording one is that begins now.
    fn take_track(&mut self) -> usize {
        if let Some(Reverse(track)) = self.free_tracks.pop() {
            return track;
        }
        self.recording.threads.push(Thread::default());
        self.recording.threads.len() - 1
    }

    fn wants(&mut self, threads: usize) {
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

    fn keep_spans(&mut self, track: usize, mut spans: Vec<SpanRecord>, dropped: u64) {
        self.recording.dropped_spans += dropped;
        self.recording.threads[track].spans.append(&mut spans);
    }

    fn keep_section(&mut self, section: Section) {
        self.in_section = false;
        let sections = &mut self.recording.sections;
        if sections.len() < MOST_SECTIONS && sections.try_reserve(1).is_ok() {
            sections.push(section);
        }
    }
}

impl File {
    fn used(&self) -> FileUse {
        FileUse {
            name: self.name.clone(),
            phase: self.counters.phase(),
            is_output: self.is_output,
            is_file: self.is_file,
            is_memory: self.is_memory,
            calls: self.counters.snapshot(),
            callers: self.callers.clone(),
        }
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
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

/// Which trace has the calls of a counter, and as which file.
#[derive(Debug)]
pub(crate) struct NotedIn(std::sync::Weak<Shared>, u32);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }
}

impl Counters {
    fn noted_in(&self, trace: &Arc<Shared>, index: u32) {
        // Of a source that several traces open, the first has it.
        let _ = self.noted().set(NotedIn(Arc::downgrade(trace), index));
    }

    /// Which file of `trace` these are the calls of.
    fn file_in(&self, trace: &Arc<Shared>) -> Option<u32> {
        let NotedIn(of, index) = self.noted().get()?;
        std::ptr::eq(of.as_ptr(), Arc::as_ptr(trace)).then_some(*index)
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
    let _open = Open::new(trace, threads);
    let _attached = thread::attach(&trace.0, Lane::Alone);
    job()
}

/// A job that runs.
struct Open<'a>(&'a Trace);

impl<'a> Open<'a> {
    fn new(trace: &'a Trace, threads: usize) -> Self {
        let mut kept = trace.0.lock();
        if kept.jobs == 0 {
            kept.since_ns = trace.0.now_ns();
            kept.used_before = Usage::now();
        }
        kept.jobs += 1;
        kept.wants(threads);
        Open(trace)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let now_ns = self.0.0.now_ns();
        let mut kept = self.0.0.lock();
        kept.jobs -= 1;
        if kept.jobs == 0 {
            kept.recording.elapsed_ns += now_ns.saturating_sub(kept.since_ns);
            let before = kept.used_before.take();
            if let (Some(before), Some(now)) = (before, Usage::now()) {
                let used = now.since(before);
                match &mut kept.recording.used {
                    Some(sum) => *sum += used,
                    none => *none = Some(used),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
