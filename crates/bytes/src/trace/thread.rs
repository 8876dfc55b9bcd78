//! What one thread notes for itself, and hands over when it is done.

use super::phase::{Lane, Phase};
use super::recording::{HostCalls, Section, SpanRecord, Totals};
use super::usage::thread_cpu_ns;
use super::{Detail, MOST_SPANS, Shared, Trace};
use crate::counters::Counters;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// For how many spans a thread takes room at a time.
const ROOM_SPANS: usize = 256;

thread_local! {
    /// What this thread records, if it does.
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
}

/// A thread that works for a job that is traced.
struct Active {
    shared: Arc<Shared>,
    /// The track that is this thread's as long as it works for the job.
    track: usize,
    totals: Totals,
    spans: Vec<SpanRecord>,
    /// For how many more spans there is room that is this thread's.
    room: usize,
    dropped: u64,
    /// Calls on files: on which, on behalf of which phase, how many.
    callers: HashMap<(u32, Phase), u64>,
    /// Calls of the host's: those that began alone, and those that began beside others.
    host: [HostCalls; 2],
    /// The spans that are open; the first is the thread's own.
    open: Vec<Frame>,
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
    /// `None` where the system does not say.
    cpu_ns: Option<u64>,
}

/// A trace that threads can join, on behalf of a loop that was begun on a thread of it.
#[derive(Clone, Debug)]
pub struct Joint {
    pub(super) trace: Trace,
}

/// Does something with what this thread records; `None` where it records nothing, as at its very end.
fn with_active<T>(work: impl FnOnce(&mut Active) -> T) -> Option<T> {
    ACTIVE.try_with(|active| active.borrow_mut().as_mut().map(work)).ok().flatten()
}

/// What was recorded on this thread until now; from now on it is `next`.
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

    /// Runs `work` side by side with others that join, on a thread of its own or on one that is part of the trace
    /// already.
    pub fn join<T>(&self, work: impl FnOnce() -> T) -> T {
        if with_active(|active| Arc::ptr_eq(&active.shared, &self.trace.0)) == Some(true) {
            let _side = chunk(Some(Lane::Side), Phase::Other, 0);
            return work();
        }
        let _attached = attach(&self.trace.0, Lane::Side);
        work()
    }
}

/// Until it is dropped, a thread records what it did not before.
pub(super) struct Attached(Option<Active>);

/// Records what this thread does until the result is dropped.
pub(super) fn attach(shared: &Arc<Shared>, lane: Lane) -> Attached {
    let track = shared.lock().take_track();
    let begin_ns = shared.now_ns();
    let open = vec![Frame { phase: Phase::Other, lane, begin_ns, inner_ns: 0, file: None, value: 0, host: None }];
    let (totals, spans, callers, host) = (Totals::default(), Vec::new(), HashMap::new(), Default::default());
    let shared = shared.clone();
    let active = Active { shared, track, totals, spans, room: 0, dropped: 0, callers, host, open };
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
    fn begin(&mut self, phase: Phase, lane: Option<Lane>, value: u64, is_call: bool) -> usize {
        let lane = lane.or(self.open.last().map(|frame| frame.lane)).unwrap_or(Lane::Side);
        let host = is_call.then(|| {
            let is_beside = self.shared.in_host.fetch_add(1, Relaxed) > 0;
            HostCall { is_beside, cpu_ns: thread_cpu_ns() }
        });
        let begin_ns = self.shared.now_ns();
        self.open.push(Frame { phase, lane, begin_ns, inner_ns: 0, file: None, value, host });
        self.open.len() - 1
    }

    /// Ends the span at `depth`, and all that were forgotten in it.
    fn end(&mut self, depth: usize) {
        let end_ns = self.shared.now_ns();
        while self.open.len() > depth {
            let Some(frame) = self.open.pop() else { return };
            let elapsed_ns = end_ns.saturating_sub(frame.begin_ns);
            self.totals.add(frame.lane, frame.phase, elapsed_ns.saturating_sub(frame.inner_ns));
            if let Some(outer) = self.open.last_mut() {
                outer.inner_ns += elapsed_ns;
            }
            if let Some(call) = &frame.host {
                self.called_host(call, elapsed_ns);
            }
            self.note(&frame, end_ns);
        }
    }

    fn called_host(&mut self, call: &HostCall, elapsed_ns: u64) {
        self.shared.in_host.fetch_sub(1, Relaxed);
        let cpu_ns = thread_cpu_ns().zip(call.cpu_ns).map(|(now, before)| now.saturating_sub(before));
        let idle_ns = cpu_ns.map_or(0, |cpu_ns| elapsed_ns.saturating_sub(cpu_ns));
        self.host[usize::from(call.is_beside)].add(HostCalls { calls: 1, elapsed_ns, idle_ns });
    }

    fn note(&mut self, frame: &Frame, end_ns: u64) {
        if self.shared.detail != Detail::Spans || (frame.phase == Phase::Other && !self.open.is_empty()) {
            return;
        }
        if let Some(file) = frame.file {
            self.count(file);
        }
        if !self.has_room() || self.spans.try_reserve(1).is_err() {
            self.dropped += 1;
            return;
        }
        self.room -= 1;
        let depth = self.open.len().min(usize::from(u8::MAX)) as u8;
        let Frame { phase, lane, begin_ns, file, value, .. } = *frame;
        self.spans.push(SpanRecord { begin_ns, end_ns, phase, lane, depth, file, value });
    }

    /// Whether there is room for a span, of what all threads of the trace may have.
    fn has_room(&mut self) -> bool {
        let more = |spans: usize| (spans + ROOM_SPANS <= MOST_SPANS).then_some(spans + ROOM_SPANS);
        if self.room == 0 && self.shared.spans.fetch_update(Relaxed, Relaxed, more).is_ok() {
            self.room = ROOM_SPANS;
        }
        self.room > 0
    }

    /// Counts a call on a file, on behalf of the span around it.
    fn count(&mut self, file: u32) {
        let caller = self.open.last().map_or(Phase::Other, |frame| frame.phase);
        if self.callers.try_reserve(1).is_ok() {
            *self.callers.entry((file, caller)).or_default() += 1;
        }
    }

    /// Gives all to the trace.
    fn hand_over(mut self) {
        self.end(0);
        let Active { shared, track, totals, spans, room, dropped, callers, host: [alone, beside], .. } = self;
        shared.spans.fetch_sub(room, Relaxed);
        let mut kept = shared.lock();
        kept.recording.host_alone.add(alone);
        kept.recording.host_beside.add(beside);
        kept.keep_spans(track, spans, dropped);
        kept.recording.threads[track].totals.merge(&totals);
        kept.free_tracks.push(std::cmp::Reverse(track));
        for ((file, phase), calls) in callers {
            let Some(file) = kept.files.get_mut(file as usize) else { continue };
            match file.callers.iter_mut().find(|(by, _)| *by == phase) {
                Some((_, sum)) => *sum += calls,
                None => file.callers.push((phase, calls)),
            }
        }
    }
}

/// A span of time that ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Span {
    /// Where it is among the open spans; `None` where nothing is recorded.
    depth: Option<usize>,
    /// It belongs to the thread that began it.
    of_thread: PhantomData<*const ()>,
}

/// From now on this thread is at `phase`, until the result is dropped.
pub fn span(phase: Phase) -> Span {
    chunk(None, phase, 0)
}

/// As [`span`] where the thread is at nothing that has a phase; otherwise it stays at what it was at.
pub fn otherwise(phase: Phase) -> Span {
    let is_idle = |active: &mut Active| active.open.last().is_none_or(|frame| frame.phase == Phase::Other);
    match with_active(is_idle) {
        Some(true) => span(phase),
        _ => Span { depth: None, of_thread: PhantomData },
    }
}

/// From now on this thread is at `phase` of chunk `number`, on behalf of `lane` where that changes.
pub fn chunk(lane: Option<Lane>, phase: Phase, number: u64) -> Span {
    let depth = with_active(|active| active.begin(phase, lane, number, phase == Phase::Host));
    Span { depth, of_thread: PhantomData }
}

/// From now on the host is told something, until the result is dropped: its time, but none of the calls that are
/// compared with each other ([`HostCalls`]), of which it is asked for something.
pub fn callback() -> Span {
    Span { depth: with_active(|active| active.begin(Phase::Host, None, 0, false)), of_thread: PhantomData }
}

/// Locks; where somebody else has it, the wait is a span. That a thread panicked with it is none of its business.
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
    /// Says which call it was, and how many bytes it moved.
    pub(crate) fn moved(&self, counters: &Counters, bytes: u64) {
        let Some(depth) = self.depth else { return };
        with_active(|active| {
            if let Some(frame) = active.open.get_mut(depth) {
                (frame.file, frame.value) = (counters.file_in(&active.shared), bytes);
            }
        });
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(depth) = self.depth {
            with_active(|active| active.end(depth));
        }
    }
}

/// A part of the job, which ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Part(Option<(Trace, &'static str, u64)>);

/// From now on the job is at its part `name`, until the result is dropped. What begins while a part of the same trace
/// goes on belongs to it: a file that a scene is made of is no part of its own.
pub fn part(name: &'static str) -> Part {
    Part(joint().and_then(|Joint { trace }| {
        let mut kept = trace.0.lock();
        if kept.in_section {
            return None;
        }
        kept.in_section = true;
        drop(kept);
        let begin_ns = trace.now_ns();
        Some((trace, name, begin_ns))
    }))
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some((trace, name, begin_ns)) = self.0.take() {
            let end_ns = trace.now_ns();
            trace.0.lock().keep_section(Section { name, begin_ns, end_ns });
        }
    }
}
