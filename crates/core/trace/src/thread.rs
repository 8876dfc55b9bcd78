//! A thread's own records, handed over when it is done.

use super::phase::{Lane, Phase};
use super::recording::{HostCalls, Recording, Section, SpanRecord, Totals};
use super::usage::thread_cpu_ns;
use super::{Detail, MOST_SPANS, Shared, Trace};
use crate::counters::Counters;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of spans for which a thread reserves space at a time.
const ROOM_SPANS: usize = 256;

thread_local! {
    /// This thread's recording, if any.
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
}

/// A thread that works for a job that is traced.
struct Active {
    shared: Arc<Shared>,
    /// The track of this thread while it works for the job.
    track: usize,
    /// Whether the job began on this thread.
    is_job: bool,
    notes: Box<Notes>,
}

/// The records of a thread.
#[derive(Default)]
pub(super) struct Notes {
    totals: Totals,
    spans: Vec<SpanRecord>,
    /// How many more spans this thread has space for.
    room: usize,
    dropped: u64,
    /// The host's calls: those that began alone, and those that overlapped others.
    host: [HostCalls; 2],
    /// The open spans; the first is the thread's own.
    open: Vec<Frame>,
    /// When the last span ended, until another begins.
    ended_ns: Option<u64>,
}

/// A span that is open.
struct Frame {
    phase: Phase,
    lane: Lane,
    begin_ns: u64,
    /// Time of the spans in it.
    inner_ns: u64,
    file: Option<u32>,
    value: u64,
    host: Option<HostCall>,
}

/// A call of the host's that was begun.
struct HostCall {
    is_beside: bool,
    /// `None` if the system does not report it.
    cpu_ns: Option<u64>,
}

/// A trace that threads can join, on behalf of a loop that was begun on a thread of it.
#[derive(Clone, Debug)]
pub struct Joint {
    pub(super) trace: Trace,
}

/// Accesses this thread's recording; returns `None` if there is none, or at the very end of the thread.
fn with_active<T>(work: impl FnOnce(&mut Active) -> T) -> Option<T> {
    ACTIVE.try_with(|active| active.borrow_mut().as_mut().map(work)).ok().flatten()
}

/// Does something with the trace of this thread, if it has one.
pub(super) fn with_shared(work: impl FnOnce(&Arc<Shared>)) {
    with_active(|active| work(&active.shared));
}

/// Replaces this thread's recording with `next` and returns the old one.
fn replace(next: Option<Active>) -> Option<Active> {
    ACTIVE.try_with(|active| active.replace(next)).ok().flatten()
}

/// The trace of this thread, for others that work for it.
pub fn joint() -> Option<Joint> {
    with_active(|active| Joint { trace: Trace(active.shared.clone()) })
}

impl Joint {
    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Runs `work` in parallel with others that join, on a new thread or on one that is already part of the trace.
    pub fn join<T>(&self, work: impl FnOnce() -> T) -> T {
        if with_active(|active| Arc::ptr_eq(&active.shared, &self.trace.0)) == Some(true) {
            let _side = chunk(Some(Lane::Side), Phase::Other, 0);
            return work();
        }
        let _attached = attach(&self.trace.0, Lane::Side, None);
        work()
    }
}

/// A thread's recording, active until this is dropped.
pub(super) struct Attached(Option<Active>);

/// Records this thread until the result is dropped; `job` is the number of threads if a job begins here.
pub(super) fn attach(shared: &Arc<Shared>, lane: Lane, job: Option<usize>) -> Attached {
    let begin_ns = shared.now_ns();
    let mut kept = shared.lock();
    if let Some(threads) = job {
        kept.begin_job(threads, begin_ns);
    }
    let (track, notes) = kept.take_track();
    drop(kept);
    let mut active = Active { shared: shared.clone(), track, is_job: job.is_some(), notes };
    active.begin(begin_ns, Phase::Other, Some(lane), 0, false);
    Attached(replace(Some(active)))
}

/// Records nothing on this thread until the result is dropped.
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
    /// Begins a span and returns its depth.
    fn begin(&mut self, begin_ns: u64, phase: Phase, lane: Option<Lane>, value: u64, is_call: bool) -> usize {
        let open = &mut self.notes.open;
        let lane = lane.or(open.last().map(|frame| frame.lane)).unwrap_or(Lane::Side);
        let host = is_call.then(|| {
            let is_beside = self.shared.in_host.fetch_add(1, Relaxed) > 0;
            HostCall { is_beside, cpu_ns: thread_cpu_ns() }
        });
        open.push(Frame { phase, lane, begin_ns, inner_ns: 0, file: None, value, host });
        self.notes.ended_ns = None;
        self.notes.open.len() - 1
    }

    /// Ends the span at `depth`, and all that were forgotten in it.
    fn end(&mut self, end_ns: u64, depth: usize) {
        self.notes.ended_ns = Some(end_ns);
        while self.notes.open.len() > depth {
            let Some(frame) = self.notes.open.pop() else { return };
            let elapsed_ns = end_ns.saturating_sub(frame.begin_ns);
            self.notes.totals.add(frame.lane, frame.phase, elapsed_ns.saturating_sub(frame.inner_ns));
            if let Some(outer) = self.notes.open.last_mut() {
                outer.inner_ns += elapsed_ns;
            }
            if let Some(call) = &frame.host {
                self.called_host(call, elapsed_ns);
            }
            if self.shared.detail == Detail::Spans {
                self.notes.keep(&frame, end_ns, &self.shared);
            }
        }
    }

    fn called_host(&mut self, call: &HostCall, elapsed_ns: u64) {
        self.shared.in_host.fetch_sub(1, Relaxed);
        let cpu_ns = thread_cpu_ns().zip(call.cpu_ns).map(|(now, before)| now.saturating_sub(before));
        let idle_ns = cpu_ns.map_or(0, |cpu_ns| elapsed_ns.saturating_sub(cpu_ns));
        self.notes.host[usize::from(call.is_beside)].add(HostCalls { calls: 1, elapsed_ns, idle_ns });
    }

    /// The call at `depth` moved bytes.
    fn moved(&mut self, depth: usize, counters: &Counters, bytes: u64) {
        let noted = counters.file_in(&self.shared);
        let Some(frame) = self.notes.open.get_mut(depth) else { return };
        (frame.file, frame.value) = (noted.map(|(file, _)| file), bytes);
        if let Some((_, noted)) = noted.filter(|_| self.shared.detail == Detail::Spans) {
            let around = depth.checked_sub(1).and_then(|depth| self.notes.open.get(depth));
            noted.called_by(around.map_or(Phase::Other, |frame| frame.phase));
        }
    }

    /// Hands all records over to the trace.
    fn hand_over(mut self) {
        let end_ns = self.shared.now_ns();
        self.end(end_ns, 0);
        let Active { shared, track, is_job, mut notes } = self;
        let mut kept = shared.lock();
        notes.hand_over(&mut kept.recording, track);
        kept.give_track(track, notes);
        if is_job {
            kept.end_job(end_ns);
        }
    }
}

impl Notes {
    /// Keeps a span that ended.
    fn keep(&mut self, frame: &Frame, end_ns: u64, shared: &Shared) {
        if frame.phase == Phase::Other && !self.open.is_empty() {
            return;
        }
        if !self.has_room(&shared.spans) || self.spans.try_reserve(1).is_err() {
            self.dropped += 1;
            return;
        }
        self.room -= 1;
        let depth = self.open.len().min(usize::from(u8::MAX)) as u8;
        let Frame { phase, lane, begin_ns, file, value, .. } = *frame;
        self.spans.push(SpanRecord { begin_ns, end_ns, phase, lane, depth, file, value });
    }

    /// Returns whether there is space for a span, within the limit for all threads of the trace.
    fn has_room(&mut self, all: &AtomicUsize) -> bool {
        let more = |spans: usize| (spans + ROOM_SPANS <= MOST_SPANS).then_some(spans + ROOM_SPANS);
        if self.room == 0 && all.fetch_update(Relaxed, Relaxed, more).is_ok() {
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
    /// The depth of the span; `None` if nothing is recorded.
    depth: Option<usize>,
    /// It belongs to the thread that began it.
    of_thread: PhantomData<*const ()>,
}

/// From now on this thread is at `phase`, until the result is dropped.
pub fn span(phase: Phase) -> Span {
    chunk(None, phase, 0)
}

/// Same as [`span`] if the thread has no phase at present; otherwise its phase continues.
pub fn otherwise(phase: Phase) -> Span {
    let is_idle = |active: &mut Active| active.notes.open.last().is_none_or(|frame| frame.phase == Phase::Other);
    match with_active(is_idle) {
        Some(true) => span(phase),
        _ => Span { depth: None, of_thread: PhantomData },
    }
}

/// Sets this thread's phase, with chunk `number`, and its lane if that changes.
pub fn chunk(lane: Option<Lane>, phase: Phase, number: u64) -> Span {
    begin(phase, lane, number, phase == Phase::Host, |active| active.shared.now_ns())
}

/// Same as [`span`], starting at `begin`, a moment ago, so that a clock that is read anyway is read once.
pub fn span_from(phase: Phase, begin: Instant) -> Span {
    self::begin(phase, None, 0, phase == Phase::Host, |active| active.shared.ns_at(begin))
}

/// Same as [`chunk`], for work in steps: it starts where this thread's last span ended, so the time between them
/// belongs to the next step.
pub fn step(lane: Option<Lane>, phase: Phase, number: u64) -> Span {
    let begin_ns = |active: &Active| active.notes.ended_ns.unwrap_or_else(|| active.shared.now_ns());
    begin(phase, lane, number, phase == Phase::Host, begin_ns)
}

/// The [`step`] that comes next on this thread begins when it does.
pub fn pause() {
    with_active(|active| active.notes.ended_ns = None);
}

fn begin(phase: Phase, lane: Option<Lane>, value: u64, is_call: bool, begin_ns: impl FnOnce(&Active) -> u64) -> Span {
    let depth = with_active(|active| active.begin(begin_ns(active), phase, lane, value, is_call));
    Span { depth, of_thread: PhantomData }
}

/// Starts a span of a callback that notifies the host, until the result is dropped: its time counts, but not as a call
/// that is compared with others ([`HostCalls`]), which request data from the host.
pub fn callback() -> Span {
    begin(Phase::Host, None, 0, false, |active| active.shared.now_ns())
}

/// Locks a mutex, recording a span if it has to wait. A poisoned mutex is treated as a healthy one.
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
    /// It ended at the moment `end`, which has just been.
    pub fn ended(mut self, end: Instant) {
        if let Some(depth) = self.depth.take() {
            with_active(|active| active.end(active.shared.ns_at(end), depth));
        }
    }

    /// Same as [`Span::ended`], for a call: records the file, and how many bytes it moved.
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

/// A part of the job, which ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Part(Option<(Trace, &'static str, u64)>);

/// Starts part `name` of the job, until the result is dropped. Parts that begin inside a part of the same trace belong
/// to it: a file that a scene refers to is no part of its own.
pub fn part(name: &'static str) -> Part {
    begin_part(name, None)
}

/// Same as [`part`], starting at `begin`, a moment ago.
pub fn part_from(name: &'static str, begin: Instant) -> Part {
    begin_part(name, Some(begin))
}

/// Notes that a picture is whole, with a sample for each pixel. The first time of a trace counts.
pub fn first_pixel() {
    if let Some(Joint { trace }) = joint() {
        let now_ns = trace.0.now_ns();
        trace.0.lock().keep_first_pixel(now_ns);
    }
}

fn begin_part(name: &'static str, begin: Option<Instant>) -> Part {
    Part(joint().and_then(|Joint { trace }| {
        if trace.0.in_section.swap(true, Relaxed) {
            return None;
        }
        let begin_ns = trace.0.ns_at(begin.unwrap_or_else(Instant::now));
        Some((trace, name, begin_ns))
    }))
}

impl Part {
    /// It ended at the moment `end`, which has just been.
    pub fn ended(mut self, end: Instant) {
        self.end(Some(end));
    }

    fn end(&mut self, end: Option<Instant>) {
        if let Some((trace, name, begin_ns)) = self.0.take() {
            let end_ns = trace.0.ns_at(end.unwrap_or_else(Instant::now));
            let mut kept = trace.0.lock();
            kept.keep_section(Section { name, begin_ns, end_ns });
            trace.0.in_section.store(false, Relaxed);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end(None);
    }
}
