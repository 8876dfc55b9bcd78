//! Numbered chunks through a pool of workers, in stages.
//!
//! A stage has a part that workers run in parallel, followed by a part that runs in the order of the chunks' numbers:
//! the worker that finishes the next number in line runs it while the others continue. Reading parses in parallel,
//! resolves in order what crosses boundaries, and fills arrays in parallel. Writing formats pages, cuts the text into
//! blocks in order, compresses them, and writes them in order.
//!
//! The slots are the budget: there are only as many as the memory limit allows, and a worker without one waits. Nothing
//! here knows the contents of chunks. Formats do not implement [`Job`] themselves: [`super::job`] names the stages of
//! reading, [`super::write`] those of writing.
//!
//! Three invariants make the result independent of the threads:
//!
//! - Ordered parts run one at a time (`committing`), those of a stage in the order in which chunks reached it.
//! - After a failure of chunk n only chunks below n go on, so that the error of the lowest chunk wins.
//! - A worker waits only while another one is at work (`busy`), so that the last one never waits.

use crate::crew::{HAS_THREADS, on_threads};
use crate::line::{Line, Ready, Waiting, with_room};
use crate::options::Cancel;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_trace::{self as trace, Lane};
pub use polyhaul_trace::{Phase, lock, span};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

thread_local! {
    /// How many workers run on this thread, nested inside each other's steps.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A job in numbered chunks. Every method except [`Job::slot`] can run on any thread.
pub trait Job: Sync {
    /// A pooled place for a chunk: its input, its output and all scratch memory.
    type Slot: Send;
    /// The result of the ordered parts.
    type State: Send;

    /// Returns the number of stages, at least one.
    fn stages(&self) -> usize;
    /// Whether chunks must be taken one after another, as from a stream.
    fn takes_in_order(&self) -> bool;
    /// Whether the last stage has an ordered part.
    fn ends_in_order(&self) -> bool;
    /// Creates a slot. Slots are reused, so this is called at most `Crew::slots` times.
    fn slot(&self) -> Result<Self::Slot>;
    /// Fills the slot with chunk `number`; returns `false` if there is none.
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;
    /// The parallel part of a stage.
    fn work(&self, stage: usize, slot: &mut Self::Slot) -> Result<()>;
    /// The ordered part of a stage: called once per chunk, in the order of the numbers, and never while
    /// another ordered part runs.
    fn commit(&self, stage: usize, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()>;
    /// Whether a chunk is done when the ordered part of a stage that is not the last one was: then the
    /// slot is free for another.
    fn is_done(&self, _stage: usize, _slot: &Self::Slot) -> bool {
        false
    }
    /// Whether [`Job::work_ahead`] has something to do now.
    fn has_work_ahead(&self) -> bool {
        false
    }
    /// Work that makes the taking of later chunks faster, for a worker that has nothing else to do. It must not wait
    /// for other workers.
    fn work_ahead(&self) {}
    /// Returns the phase of a stage's parallel part in traces.
    fn phase(&self, stage: usize) -> Phase {
        if stage == 0 { Phase::Parse } else { Phase::Build }
    }
}

/// Who works on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crew {
    /// Threads, the caller's included.
    pub threads: usize,
    /// Slots: chunks in flight.
    pub(crate) slots: usize,
    /// Threads that are missing since the memory backs no more.
    pub(crate) missing: usize,
}

impl Crew {
    /// Uses as many of `threads` as `memory_bytes` allows with a slot each, plus two slots that keep them busy while a
    /// chunk waits for its turn.
    pub fn new(threads: usize, memory_bytes: u64, slot_bytes: usize) -> Crew {
        let backed = (memory_bytes / slot_bytes.max(1) as u64).clamp(1, 4096) as usize;
        let missing = threads.saturating_sub(backed);
        let threads = threads.clamp(1, backed);
        let spare = if threads == 1 { 0 } else { 2 + threads / 4 };
        Crew { threads, slots: (threads + spare).min(backed), missing }
    }
}

/// What workers know of a job: its slots by number. The workers' code is compiled once for this, instead of for each
/// job: a step is worth more than a thousand calls.
trait Numbered: Sync {
    fn takes_in_order(&self) -> bool;
    fn ends_in_order(&self) -> bool;
    fn phase(&self, stage: usize) -> Phase;
    fn has_work_ahead(&self) -> bool;
    fn work_ahead(&self);
    /// Creates the slot of that number.
    fn make(&self, slot: usize) -> Result<()>;
    fn take(&self, number: u64, slot: usize) -> Result<bool>;
    fn work(&self, stage: usize, slot: usize) -> Result<()>;
    fn commit(&self, stage: usize, slot: usize) -> Result<()>;
    fn is_done(&self, stage: usize, slot: usize) -> bool;
}

/// A job, its slots, and its result so far. A slot is locked by the one worker whose step it is in.
struct Slotted<'a, J: Job> {
    job: &'a J,
    slots: Vec<Mutex<Option<J::Slot>>>,
    state: Mutex<&'a mut J::State>,
}

impl<'a, J: Job> Slotted<'a, J> {
    fn new(job: &'a J, state: &'a mut J::State, slots: usize) -> Result<Slotted<'a, J>> {
        let mut places = with_room(slots)?;
        places.resize_with(slots, Mutex::default);
        Ok(Slotted { job, slots: places, state: Mutex::new(state) })
    }

    fn with<T>(&self, slot: usize, step: impl FnOnce(&mut J::Slot) -> Result<T>) -> Result<T> {
        let mut slot = self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner);
        step(slot.as_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "a slot is used before it is made"))?)
    }
}

impl<J: Job> Numbered for Slotted<'_, J> {
    fn takes_in_order(&self) -> bool {
        self.job.takes_in_order()
    }
    fn ends_in_order(&self) -> bool {
        self.job.ends_in_order()
    }
    fn phase(&self, stage: usize) -> Phase {
        self.job.phase(stage)
    }
    fn has_work_ahead(&self) -> bool {
        HAS_THREADS && self.job.has_work_ahead()
    }
    fn work_ahead(&self) {
        if HAS_THREADS {
            self.job.work_ahead();
        }
    }
    fn make(&self, slot: usize) -> Result<()> {
        let made = self.job.slot()?;
        *self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    }
    fn take(&self, number: u64, slot: usize) -> Result<bool> {
        self.with(slot, |slot| self.job.take(number, slot))
    }
    fn work(&self, stage: usize, slot: usize) -> Result<()> {
        self.with(slot, |slot| self.job.work(stage, slot))
    }
    fn commit(&self, stage: usize, slot: usize) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.with(slot, |slot| self.job.commit(stage, &mut state, slot))
    }
    fn is_done(&self, stage: usize, slot: usize) -> bool {
        self.with(slot, |slot| Ok(self.job.is_done(stage, slot))).unwrap_or(false)
    }
}

struct Shared<'a> {
    job: &'a dyn Numbered,
    crew: Crew,
    cancel: &'a Cancel,
    line: Mutex<Line>,
    changed: Condvar,
}

/// A worker's next step.
enum Step {
    Work(Ready),
    Commit(usize, Waiting),
    Take(u64, usize),
    Ahead,
    Leave,
}

/// Runs a job to its end, or to the error of its lowest failing chunk.
///
/// With one thread, everything runs on the caller's thread. No worker waits for one that has not started, so the others
/// do the work of workers that never start.
pub fn run<J: Job>(job: &J, state: &mut J::State, crew: Crew, cancel: &Cancel) -> Result<()> {
    let job_and_slots = Slotted::new(job, state, crew.slots)?;
    run_numbered(&job_and_slots, job.stages(), crew, cancel)
}

fn run_numbered(job: &dyn Numbered, stages: usize, crew: Crew, cancel: &Cancel) -> Result<()> {
    // Without one slot no progress is possible, and its error is the job's.
    job.make(0)?;
    let line = Mutex::new(Line::new(stages, crew.slots)?);
    let shared = Shared { job, crew, cancel, line, changed: Condvar::new() };
    let clock = (crew.missing > 0).then(trace::joint).flatten().map(|joint| (joint.trace().now_ns(), joint));
    on_threads(crew.threads, || shared.worker());
    if let Some((start_ns, joint)) = clock {
        let trace = joint.trace();
        trace.starved(crew.missing, trace.now_ns().saturating_sub(start_ns));
    }
    let line = shared.line.into_inner().unwrap_or_else(PoisonError::into_inner);
    match line.failed {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Line> {
        lock(&self.line)
    }

    /// A worker's life. A panic in the job is caught: it must not leave the others waiting.
    fn worker(&self) {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        let result = catch_unwind(AssertUnwindSafe(|| self.steps()));
        DEPTH.set(depth);
        if result.is_err() {
            let mut line = self.lock();
            line.fail(0, Error::new(ErrorKind::Internal, "a worker panicked; this is a bug in polyhaul"));
            line.busy = line.busy.saturating_sub(1);
            (line.taking, line.committing) = (false, false);
            drop(line);
            self.changed.notify_all();
        }
    }

    fn steps(&self) {
        trace::pause();
        loop {
            match self.next_step() {
                Step::Work(ready) => self.work(ready),
                Step::Commit(stage, waiting) => self.commit(stage, waiting),
                Step::Take(number, slot) => self.take(number, slot),
                Step::Ahead => self.work_ahead(),
                Step::Leave => return,
            }
        }
    }

    fn work(&self, Ready { stage, place, number, slot }: Ready) {
        let span = trace::step(None, self.job.phase(stage), number);
        let result = self.job.work(stage, slot);
        polyhaul_spill::relieve();
        drop(span);
        let mut line = self.lock();
        line.busy -= 1;
        if stage + 1 == line.turns.len() && !self.job.ends_in_order() {
            line.free.push(slot);
            if let Err(error) = result {
                line.fail(number, error);
            }
        } else {
            line.turns[stage].wait(place, Waiting { number, slot, result });
        }
    }

    fn commit(&self, stage: usize, Waiting { number, slot, result }: Waiting) {
        let result = result.and_then(|()| {
            let _span = trace::step(self.is_shared().then_some(Lane::Turn), Phase::Place, number);
            self.job.commit(stage, slot)
        });
        let mut line = self.lock();
        line.busy -= 1;
        line.committing = false;
        line.turns[stage].next += 1;
        match result {
            Err(error) => line.fail(number, error),
            Ok(()) if stage + 1 == line.turns.len() || self.job.is_done(stage, slot) => line.free.push(slot),
            Ok(()) => line.come(stage + 1, number, slot),
        }
    }

    fn take(&self, number: u64, slot: usize) {
        let span = trace::step(self.hands_on().then_some(Lane::Input), Phase::Cut, number);
        let taken = self.job.take(number, slot);
        drop(span);
        if !self.hands_on() && matches!(taken, Ok(true)) {
            return self.work(Ready { stage: 0, place: number, number, slot });
        }
        let mut line = self.lock();
        line.taking = false;
        line.busy -= 1;
        match taken {
            Ok(true) => line.ready.push(Ready { stage: 0, place: number, number, slot }),
            Ok(false) => {
                line.end = line.end.min(number);
                line.free.push(slot);
            }
            Err(error) => {
                line.end = line.end.min(number + 1);
                line.turns[0].wait(number, Waiting { number, slot, result: Err(error) });
            }
        }
    }

    fn work_ahead(&self) {
        let span = trace::span(Phase::Decompress);
        self.job.work_ahead();
        drop(span);
        self.lock().busy -= 1;
    }

    /// Returns the most useful step that is possible now; waits if there is none.
    ///
    /// A worker that finds more than one step to do wakes a waiting worker, which does the same. So no worker is woken
    /// in vain, and follow-up steps are started by the worker that made them possible.
    fn next_step(&self) -> Step {
        let mut line = self.lock();
        loop {
            if self.cancel.is_cancelled() {
                line.fail(0, Error::cancelled());
            }
            if let Some(step) = self.try_step(&mut line) {
                line.busy += 1;
                if line.waiting > 0 && self.has_step(&line) {
                    self.changed.notify_one();
                }
                return step;
            }
            if line.busy == 0 || DEPTH.get() > 1 {
                // If no worker is busy and no step can start, that will not change. Or this worker started inside a
                // step of another one, where a host's pool ran it while a callback waited: the step to wait for may be
                // that one.
                if line.waiting > 0 {
                    self.changed.notify_all();
                }
                return Step::Leave;
            }
            let _span = trace::span(self.wait(&line));
            line.waiting += 1;
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.waiting -= 1;
        }
    }

    /// Steps that others wait for come first: taking from a stream, which only one worker can do at a time, then
    /// ordered parts. Work ahead comes last, but while chunks are left, a worker that has nothing else does it.
    fn try_step(&self, line: &mut Line) -> Option<Step> {
        let take = if self.hands_on() { self.try_take(line) } else { None };
        take.or_else(|| line.next_commit().map(|(stage, waiting)| Step::Commit(stage, waiting)))
            .or_else(|| line.next_ready().map(Step::Work))
            .or_else(|| if self.hands_on() { None } else { self.try_take(line) })
            .or_else(|| self.has_work_ahead(line).then_some(Step::Ahead))
    }

    fn has_work_ahead(&self, line: &Line) -> bool {
        self.hands_on() && line.failed.is_none() && line.next_take < line.end && self.job.has_work_ahead()
    }

    /// Whether [`Shared::try_step`] would find something.
    fn has_step(&self, line: &Line) -> bool {
        self.can_take(line) || line.committable().is_some() || line.workable().is_some() || self.has_work_ahead(line)
    }

    /// Whether others wait while an ordered part is done.
    fn is_shared(&self) -> bool {
        self.crew.threads > 1
    }

    /// Returns what an idle worker waits for.
    fn wait(&self, line: &Line) -> Phase {
        let is_full = line.free.is_empty() && line.slots_made == self.crew.slots;
        match line.next_take < line.end {
            true if line.taking && !is_full => Phase::WaitInput,
            false if !line.committing => Phase::WaitEnd,
            _ => Phase::WaitTurn,
        }
    }

    /// Whether chunks are taken by one worker and worked on by others.
    fn hands_on(&self) -> bool {
        self.job.takes_in_order() && self.crew.threads > 1
    }

    fn can_take(&self, line: &Line) -> bool {
        let is_room = !line.free.is_empty() || line.slots_made < self.crew.slots;
        line.failed.is_none() && line.next_take < line.end && !line.taking && is_room
    }

    fn try_take(&self, line: &mut Line) -> Option<Step> {
        if !self.can_take(line) {
            return None;
        }
        let slot = match line.free.pop() {
            Some(slot) => slot,
            None => {
                // If memory is short, the slots that exist must do.
                let slot = line.slots_made;
                self.job.make(slot).ok()?;
                line.slots_made += 1;
                slot
            }
        };
        line.taking = self.hands_on();
        line.next_take += 1;
        Some(Step::Take(line.next_take - 1, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts up in `Vec`s; some chunks fail in one of the steps.
    struct Numbers {
        count: u64,
        in_order: bool,
        ends_in_order: bool,
        fail_work: Vec<u64>,
        fail_publish: Vec<u64>,
        panic_at: Option<u64>,
        published: AtomicU64,
    }

    impl Numbers {
        fn new(count: u64, in_order: bool) -> Numbers {
            let (fail_work, fail_publish) = (Vec::new(), Vec::new());
            let ends_in_order = !count.is_multiple_of(3);
            Numbers {
                count,
                in_order,
                ends_in_order,
                fail_work,
                fail_publish,
                panic_at: None,
                published: AtomicU64::new(0),
            }
        }
    }

    fn failure(number: u64) -> Result<()> {
        Err(Error::new(ErrorKind::Malformed, format!("chunk {number}")))
    }

    impl Job for Numbers {
        type Slot = u64;
        type State = [Vec<u64>; 2];

        fn stages(&self) -> usize {
            2
        }
        fn ends_in_order(&self) -> bool {
            self.ends_in_order
        }
        fn takes_in_order(&self) -> bool {
            self.in_order
        }
        fn slot(&self) -> Result<u64> {
            Ok(0)
        }
        fn take(&self, number: u64, slot: &mut u64) -> Result<bool> {
            *slot = number;
            Ok(number < self.count)
        }
        fn work(&self, stage: usize, slot: &mut u64) -> Result<()> {
            if stage == 1 {
                self.published.fetch_add(1, Ordering::Relaxed);
                return if self.fail_publish.contains(slot) { failure(*slot) } else { Ok(()) };
            }
            assert_ne!(Some(*slot), self.panic_at, "a planted panic");
            // Uneven work, so that chunks finish out of order.
            (0..(*slot % 7) * 2000).for_each(|n| _ = std::hint::black_box(n));
            if self.fail_work.contains(slot) { failure(*slot) } else { Ok(()) }
        }
        fn commit(&self, stage: usize, state: &mut [Vec<u64>; 2], slot: &mut u64) -> Result<()> {
            state[stage].push(*slot);
            Ok(())
        }
    }

    /// One chunk in three passes all three stages; the others are done after the first or the second.
    struct Sieve;

    impl Job for Sieve {
        type Slot = (u64, usize);
        type State = [Vec<u64>; 3];

        fn stages(&self) -> usize {
            3
        }
        fn ends_in_order(&self) -> bool {
            true
        }
        fn takes_in_order(&self) -> bool {
            false
        }
        fn slot(&self) -> Result<(u64, usize)> {
            Ok((0, 0))
        }
        fn take(&self, number: u64, slot: &mut (u64, usize)) -> Result<bool> {
            *slot = (number, 0);
            Ok(number < 1000)
        }
        fn work(&self, stage: usize, (number, passed): &mut (u64, usize)) -> Result<()> {
            assert_eq!(*passed, stage);
            (0..(*number % 5) * 2000).for_each(|n| _ = std::hint::black_box(n));
            if *number == 998 && stage == 1 { failure(998) } else { Ok(()) }
        }
        fn commit(&self, stage: usize, state: &mut [Vec<u64>; 3], (number, passed): &mut (u64, usize)) -> Result<()> {
            *passed += 1;
            state[stage].push(*number);
            Ok(())
        }
        fn is_done(&self, stage: usize, (number, _): &(u64, usize)) -> bool {
            stage as u64 == *number % 3
        }
    }

    #[test]
    fn chunks_that_are_done_before_the_last_stage_do_not_hold_up_the_others() {
        for crew in crews() {
            let mut state: [Vec<u64>; 3] = Default::default();
            let error = run(&Sieve, &mut state, crew, &Cancel::default()).unwrap_err();
            assert_eq!(error.diagnostic().message, "chunk 998");
            for (stage, found) in state.iter().enumerate() {
                let counts = |&number: &u64| number % 3 >= stage as u64;
                let settled = &found[..found.len().min(if stage == 0 { 998 } else { usize::MAX })];
                assert!(settled.iter().copied().eq((0..998).filter(counts)), "{crew:?} {stage}");
            }
        }
    }

    fn crews() -> impl Iterator<Item = Crew> {
        let crew = |(threads, slots)| Crew { threads, slots, missing: 0 };
        [(1, 1), (2, 2), (2, 5), (3, 3), (7, 9), (64, 80)].into_iter().map(crew)
    }

    #[test]
    fn chunks_are_committed_in_order_and_all_are_published() {
        for crew in crews() {
            for (count, in_order) in [(0, false), (1, true), (500, false), (501, true)] {
                let (job, mut state) = (Numbers::new(count, in_order), Default::default());
                run(&job, &mut state, crew, &Cancel::default()).unwrap();
                assert!(state[0].iter().copied().eq(0..count), "{crew:?}");
                assert!(state[1].iter().copied().eq(0..if job.ends_in_order { count } else { 0 }), "{crew:?}");
                assert_eq!(job.published.into_inner(), count);
            }
        }
    }

    #[test]
    fn the_error_of_the_lowest_chunk_wins_whoever_meets_it_first() {
        for crew in crews() {
            for round in 0..20 {
                let mut job = Numbers::new(200 + round, false);
                job.fail_work = vec![60, 41, 150];
                job.fail_publish = vec![38, 39];
                let error = run(&job, &mut Default::default(), crew, &Cancel::default()).unwrap_err();
                assert_eq!(error.diagnostic().message, "chunk 38", "{crew:?}");
            }
        }
    }

    #[test]
    fn a_panic_becomes_an_error_and_nobody_waits_for_ever() {
        for crew in crews() {
            let mut job = Numbers::new(100, crew.threads % 2 == 0);
            job.panic_at = Some(30);
            let error = run(&job, &mut Default::default(), crew, &Cancel::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
        }
    }

    #[test]
    fn cancelling_stops_the_job() {
        for crew in crews() {
            let cancel = Cancel::default();
            cancel.cancel();
            let mut state: [Vec<u64>; 2] = Default::default();
            let error = run(&Numbers::new(u64::MAX, false), &mut state, crew, &cancel).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert!(state[0].is_empty());
        }
    }

    #[test]
    fn memory_bounds_the_crew() {
        assert_eq!(Crew::new(8, 64 << 20, 1 << 20), Crew { threads: 8, slots: 12, missing: 0 });
        assert_eq!(Crew::new(8, 3 << 20, 1 << 20), Crew { threads: 3, slots: 3, missing: 5 });
        assert_eq!(Crew::new(8, 0, 1 << 20), Crew { threads: 1, slots: 1, missing: 7 });
    }
}
