//! Records of a thread, merged into the trace when it finishes.

use super::phase::{Lane, Phase};
use super::recording::{HostCalls, Recording, Section, SpanRecord, Totals};
use super::usage::thread_cpu_ns;
use super::{Detail, MAX_SPANS, Trace, TraceShared};
use crate::counters::Counters;
use polyhaul_fault::planted;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Number of spans that a thread reserves at a time.
const ROOM_SPANS: usize = 256;

thread_local! {
    /// Recording of this thread, if any.
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
}

/// A thread that works for a traced job.
struct Active {
    shared: Arc<TraceShared>,
    /// Track of this thread while it works for the job.
    track: usize,
    /// Whether the job started on this thread.
    is_job: bool,
    notes: Box<Notes>,
}

/// Records of a thread.
#[derive(Default)]
pub(super) struct Notes {
    totals: Totals,
    spans: Vec<SpanRecord>,
    /// Number of further spans reserved by this thread.
    room: usize,
    dropped: u64,
    /// Calls to the host: started alone, and started while other calls were running.
    host: [HostCalls; 2],
    /// Open spans. The first span is the thread itself.
    open: Vec<OpenSpan>,
    /// End of the last span, until another span starts.
    ended_ns: Option<u64>,
}

/// An open span.
struct OpenSpan {
    phase: Phase,
    lane: Lane,
    start_ns: u64,
    /// Time of nested spans.
    inner_ns: u64,
    file: Option<u32>,
    value: u64,
    host: Option<HostCall>,
}

/// An open call to the host.
struct HostCall {
    is_beside: bool,
    /// `None` if the system does not report it.
    cpu_ns: Option<u64>,
}

/// A trace that threads can join to work on a loop started by one of its threads.
#[derive(Clone, Debug)]
pub struct Joint {
    pub(super) trace: Trace,
}

/// Accesses this thread's recording. Returns `None` if there is none or the thread is exiting.
fn with_active<T>(work: impl FnOnce(&mut Active) -> T) -> Option<T> {
    ACTIVE.try_with(|active| active.borrow_mut().as_mut().map(work)).ok().flatten()
}

/// Calls `work` with the trace of this thread, if any.
pub(super) fn with_shared(work: impl FnOnce(&Arc<TraceShared>)) {
    with_active(|active| work(&active.shared));
}

/// Replaces this thread's recording, and returns the old recording.
fn replace(next: Option<Active>) -> Option<Active> {
    ACTIVE.try_with(|active| active.replace(next)).ok().flatten()
}

/// Returns the trace of this thread, for other threads to join.
pub fn joint() -> Option<Joint> {
    with_active(|active| Joint { trace: Trace(active.shared.clone()) })
}

impl Joint {
    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Runs `work` in parallel with other joined threads, on a new thread or on a thread that is already part of the
    /// trace.
    pub fn join<T>(&self, work: impl FnOnce() -> T) -> T {
        if with_active(|active| Arc::ptr_eq(&active.shared, &self.trace.0)) == Some(true) {
            let _side = chunk(Some(Lane::Side), Phase::Other, 0);
            return work();
        }
        let _attached = attach(&self.trace.0, Lane::Side, None);
        work()
    }
}

/// Recording of a thread, active until this is dropped.
pub(super) struct Attached(Option<Active>);

/// Records this thread until the result is dropped. `job` is the number of threads if a job starts here.
pub(super) fn attach(shared: &Arc<TraceShared>, lane: Lane, job: Option<usize>) -> Attached {
    let start_ns = shared.now_ns();
    let mut state = shared.lock();
    if let Some(threads) = job {
        state.start_job(threads, start_ns);
    }
    let (track, notes) = state.take_track();
    drop(state);
    let mut active = Active { shared: shared.clone(), track, is_job: job.is_some(), notes };
    active.start(start_ns, Phase::Other, Some(lane), 0, false);
    Attached(replace(Some(active)))
}

/// Suspends recording on this thread until the result is dropped.
pub(super) fn leave() -> Attached {
    Attached(replace(None))
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(active) = replace(self.0.take()) {
            active.hand_over();
        }
    }
}

impl Active {
    /// Starts a span and returns its depth.
    fn start(&mut self, start_ns: u64, phase: Phase, lane: Option<Lane>, value: u64, is_call: bool) -> usize {
        let open = &mut self.notes.open;
        let lane = lane.or(open.last().map(|span| span.lane)).unwrap_or(Lane::Side);
        let host = is_call.then(|| {
            let is_beside = self.shared.in_host.fetch_add(1, Relaxed) > 0;
            HostCall { is_beside, cpu_ns: thread_cpu_ns() }
        });
        open.push(OpenSpan { phase, lane, start_ns, inner_ns: 0, file: None, value, host });
        self.notes.ended_ns = None;
        self.notes.open.len() - 1
    }

    /// Ends the span at `depth`, and any spans inside it that were never dropped.
    fn end(&mut self, end_ns: u64, depth: usize) {
        self.notes.ended_ns = Some(end_ns);
        while self.notes.open.len() > depth {
            let Some(span) = self.notes.open.pop() else { return };
            let elapsed_ns = end_ns.saturating_sub(span.start_ns);
            self.notes.totals.add(span.lane, span.phase, elapsed_ns.saturating_sub(span.inner_ns));
            if let Some(outer) = self.notes.open.last_mut() {
                outer.inner_ns += if planted("trace-nested") { 0 } else { elapsed_ns };
            }
            if let Some(call) = &span.host {
                self.called_host(call, elapsed_ns);
            }
            if self.shared.detail == Detail::Spans {
                self.notes.keep(&span, end_ns, &self.shared);
            }
        }
    }

    fn called_host(&mut self, call: &HostCall, elapsed_ns: u64) {
        self.shared.in_host.fetch_sub(1, Relaxed);
        let cpu_ns = thread_cpu_ns().zip(call.cpu_ns).map(|(now, before)| now.saturating_sub(before));
        let idle_ns = cpu_ns.map_or(0, |cpu_ns| elapsed_ns.saturating_sub(cpu_ns));
        self.notes.host[usize::from(call.is_beside)].add(HostCalls { calls: 1, elapsed_ns, idle_ns });
    }

    /// Records the bytes moved by the call at `depth`.
    fn moved(&mut self, depth: usize, counters: &Counters, bytes: u64) {
        let noted = counters.file_in(&self.shared);
        let Some(span) = self.notes.open.get_mut(depth) else { return };
        span.file = noted.map(|(file, _)| file);
        span.value = bytes;
        if let Some((_, noted)) = noted.filter(|_| self.shared.detail == Detail::Spans) {
            let parent = depth.checked_sub(1).and_then(|depth| self.notes.open.get(depth));
            noted.called_by(parent.map_or(Phase::Other, |span| span.phase));
        }
    }

    /// Merges all records into the trace.
    fn hand_over(mut self) {
        let end_ns = self.shared.now_ns();
        self.end(end_ns, 0);
        let Active { shared, track, is_job, mut notes } = self;
        let mut state = shared.lock();
        notes.hand_over(&mut state.recording, track);
        state.give_track(track, notes);
        if is_job {
            state.end_job(end_ns);
        }
    }
}

impl Notes {
    /// Stores a finished span.
    fn keep(&mut self, span: &OpenSpan, end_ns: u64, shared: &TraceShared) {
        if span.phase == Phase::Other && !self.open.is_empty() {
            return;
        }
        if !self.has_room(&shared.spans) || self.spans.try_reserve(1).is_err() {
            self.dropped += 1;
            return;
        }
        self.room -= 1;
        let depth = self.open.len().min(usize::from(u8::MAX)) as u8;
        let OpenSpan { phase, lane, start_ns, file, value, .. } = *span;
        // The clock of some virtual machines can run backward.
        let end_ns = end_ns.max(start_ns);
        self.spans.push(SpanRecord { start_ns, end_ns, phase, lane, depth, file, value });
    }

    /// Returns whether a span can be stored, within the limit for all threads of the trace.
    fn has_room(&mut self, reserved_spans: &AtomicUsize) -> bool {
        let more = |spans: usize| (spans + ROOM_SPANS <= MAX_SPANS).then_some(spans + ROOM_SPANS);
        if self.room == 0 && reserved_spans.fetch_update(Relaxed, Relaxed, more).is_ok() {
            self.room = ROOM_SPANS;
        }
        self.room > 0
    }

    /// Moves all records to the recording, keeping the allocations.
    fn hand_over(&mut self, recording: &mut Recording, track: usize) {
        let [alone, beside] = std::mem::take(&mut self.host);
        recording.host_alone.add(alone);
        recording.host_beside.add(beside);
        recording.dropped_spans += std::mem::take(&mut self.dropped);
        let thread = &mut recording.threads[track];
        thread.totals.merge(&std::mem::take(&mut self.totals));
        thread.spans.append(&mut self.spans);
        if self.spans.capacity() > ROOM_SPANS {
            self.spans = Vec::new();
        }
    }
}

/// A span of time that ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Span {
    /// Depth of the span, or `None` if nothing is recorded.
    depth: Option<usize>,
    /// Makes the span `!Send`: it belongs to the thread that started it.
    of_thread: PhantomData<*const ()>,
}

/// Sets this thread's phase until the result is dropped.
pub fn span(phase: Phase) -> Span {
    chunk(None, phase, 0)
}

/// Same as [`span`] if the thread has no phase; otherwise the current phase continues.
pub fn otherwise(phase: Phase) -> Span {
    let is_idle = |active: &mut Active| active.notes.open.last().is_none_or(|span| span.phase == Phase::Other);
    match with_active(is_idle) {
        Some(true) => span(phase),
        _ => Span { depth: None, of_thread: PhantomData },
    }
}

/// Sets this thread's phase, the number of its chunk and, if given, its lane, until the result is dropped.
pub fn chunk(lane: Option<Lane>, phase: Phase, number: u64) -> Span {
    start_span(phase, lane, number, phase == Phase::Host, |active| active.shared.now_ns())
}

/// Same as [`span`], starting at `start`, for callers that have just read the clock.
pub fn span_from(phase: Phase, start: Instant) -> Span {
    start_span(phase, None, 0, phase == Phase::Host, |active| active.shared.ns_at(start))
}

/// Same as [`chunk`], for work in steps: the span starts at the end of this thread's last span, so that the time in
/// between counts toward the new step.
pub fn step(lane: Option<Lane>, phase: Phase, number: u64) -> Span {
    let start_ns = |active: &Active| active.notes.ended_ns.unwrap_or_else(|| active.shared.now_ns());
    start_span(phase, lane, number, phase == Phase::Host, start_ns)
}

/// Excludes the time until this thread's next [`step`] from that step.
pub fn pause() {
    with_active(|active| active.notes.ended_ns = None);
}

fn start_span(
    phase: Phase,
    lane: Option<Lane>,
    value: u64,
    is_call: bool,
    start_ns: impl FnOnce(&Active) -> u64,
) -> Span {
    let depth = with_active(|active| active.start(start_ns(active), phase, lane, value, is_call));
    Span { depth, of_thread: PhantomData }
}

/// Starts a span for a callback that notifies the host, until the result is dropped. It counts as host time, but not in
/// [`HostCalls`], which counts only calls that request data.
pub fn callback() -> Span {
    start_span(Phase::Host, None, 0, false, |active| active.shared.now_ns())
}

/// Locks a mutex, recording a span if it has to wait. Ignores poisoning.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => {
            let _span = span(Phase::Lock);
            mutex.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

impl Span {
    /// Ends the span at `end`, a moment that has just passed.
    pub fn ended(mut self, end: Instant) {
        if let Some(depth) = self.depth.take() {
            with_active(|active| active.end(active.shared.ns_at(end), depth));
        }
    }

    /// Same as [`Span::ended`], for a call: also records the file and the number of bytes moved.
    pub(crate) fn moved(self, counters: &Counters, bytes: u64, end: Instant) {
        if let Some(depth) = self.depth {
            with_active(|active| active.moved(depth, counters, bytes));
            self.ended(end);
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(depth) = self.depth {
            with_active(|active| active.end(active.shared.now_ns(), depth));
        }
    }
}

/// A section of the job, which ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct SectionGuard(Option<(Trace, &'static str, u64)>);

/// Starts section `name` of the job, until the result is dropped. Nested sections of the same trace are not recorded:
/// reading a file that a scene references is part of reading the scene.
pub fn section(name: &'static str) -> SectionGuard {
    start_section(name, None)
}

/// Same as [`section`], starting at `start`, a moment that has just passed.
pub fn section_from(name: &'static str, start: Instant) -> SectionGuard {
    start_section(name, Some(start))
}

/// Records that every pixel of a picture has a sample. Only the first call per trace counts.
pub fn first_pixel() {
    if let Some(Joint { trace }) = joint() {
        let now_ns = trace.0.now_ns();
        trace.0.lock().keep_first_pixel(now_ns);
    }
}

fn start_section(name: &'static str, start: Option<Instant>) -> SectionGuard {
    SectionGuard(joint().and_then(|Joint { trace }| {
        if trace.0.in_section.swap(true, Relaxed) {
            return None;
        }
        let start_ns = trace.0.ns_at(start.unwrap_or_else(Instant::now));
        Some((trace, name, start_ns))
    }))
}

impl SectionGuard {
    /// Ends the section at `end`, a moment that has just passed.
    pub fn ended(mut self, end: Instant) {
        self.end(Some(end));
    }

    fn end(&mut self, end: Option<Instant>) {
        if let Some((trace, name, start_ns)) = self.0.take() {
            let end_ns = trace.0.ns_at(end.unwrap_or_else(Instant::now));
            trace.0.lock().keep_section(Section { name, start_ns, end_ns });
            trace.0.in_section.store(false, Relaxed);
        }
    }
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        self.end(None);
    }
}
