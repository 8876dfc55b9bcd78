//! Runs numbered chunks through a pool of workers, in stages.
//!
//! A stage has a parallel part, then a part that runs in the order of the chunk numbers, on one worker at a time, while
//! the other workers continue. Reading parses in parallel, resolves in order the state that crosses chunk boundaries,
//! and fills arrays in parallel. Writing formats pages in parallel, cuts the text into blocks in order, compresses
//! these in parallel, and writes them in order.
//!
//! The slots are the memory budget: the memory limit bounds their number, and a worker without a slot waits. This
//! module does not interpret chunks. Formats do not implement [`Job`] themselves: [`super::job`] names the stages of
//! reading, and [`super::write`] the stages of writing.
//!
//! Three invariants make the result independent of the threads:
//!
//! - Ordered parts run one at a time (`is_committing`), and within a stage in the order in which chunks reached it.
//! - After chunk n fails, only chunks below n continue, so that the error of the lowest chunk wins.
//! - A worker waits only while another worker is in a step (`busy`), so the last worker never waits.

use crate::crew::{HAS_THREADS, on_threads};
use crate::options::{Cancel, RunOptions};
use crate::queue::{ChunkQueue, ReadyChunk, WaitingChunk, with_capacity};
use crate::sync::{self, Condvar, Mutex, MutexGuard, mutated, thread_local};
use polyhaul_model::error::{Error, ErrorKind, Result, planted};
use polyhaul_trace::{self as trace, Lane};
pub use polyhaul_trace::{Phase, lock, span};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

thread_local! {
    /// Number of workers on this thread, each nested in a step of the previous worker.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A job in numbered chunks. Every method can run on any thread.
pub trait Job: Sync {
    /// A pooled slot for a chunk: its input, its output and all scratch memory.
    type Slot: Send;
    /// The result of the ordered parts.
    type State: Send;

    /// Returns the number of stages, at least one.
    fn stages(&self) -> usize;
    /// Returns whether chunks must be taken sequentially, as from a stream.
    fn takes_in_order(&self) -> bool;
    /// Returns whether the last stage has an ordered part.
    fn ends_in_order(&self) -> bool;
    /// Creates a slot. Slots are reused, so this is called at most `Crew::slots` times.
    fn slot(&self) -> Result<Self::Slot>;
    /// Fills the slot with chunk `number`. Returns `false` if there is no such chunk.
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;
    /// Runs the parallel part of a stage.
    fn work(&self, stage: usize, slot: &mut Self::Slot) -> Result<()>;
    /// Runs the ordered part of a stage. Called at most once per chunk, in the order of the chunks, and never
    /// concurrently with another ordered part.
    fn commit(&self, stage: usize, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()>;
    /// Returns whether a chunk skips the remaining stages after the ordered part of this stage, which frees its slot.
    fn is_done(&self, _stage: usize, _slot: &Self::Slot) -> bool {
        false
    }
    /// Returns whether [`Job::work_ahead`] has work now.
    fn has_work_ahead(&self) -> bool {
        false
    }
    /// Does work on an idle worker that makes later chunks faster to take. Must not wait for other workers.
    fn work_ahead(&self) {}
    /// Returns the phase under which traces record the parallel part of a stage.
    fn phase(&self, stage: usize) -> Phase {
        if stage == 0 { Phase::Parse } else { Phase::Build }
    }
}

/// The workers and slots of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crew {
    /// Number of threads, including the caller's.
    pub threads: usize,
    /// Number of slots, which is the maximum number of chunks in flight.
    pub(crate) slots: usize,
    /// Number of requested threads that lack memory for a slot.
    pub(crate) missing: usize,
}

impl Crew {
    /// Creates a crew of up to `threads` threads, one slot each as far as `memory_bytes` allows, plus spare slots that
    /// keep them busy while a chunk waits for its turn.
    pub fn new(threads: usize, memory_bytes: u64, slot_bytes: usize) -> Crew {
        let backed = (memory_bytes / slot_bytes.max(1) as u64).clamp(1, 4096) as usize;
        let missing = threads.saturating_sub(backed);
        let backed = if planted("memory-slots") { 4096 } else { backed };
        let threads = threads.clamp(1, backed);
        let spare = if threads == 1 { 0 } else { 2 + threads / 4 };
        Crew { threads, slots: (threads + spare).min(backed), missing }
    }

    /// Creates a crew for a job's options, as [`Crew::new`] does, but with at most one thread per chunk.
    pub fn for_chunks(count: u64, slot_bytes: usize, options: &RunOptions) -> Crew {
        let threads = options.worker_threads().min(usize::try_from(count).unwrap_or(usize::MAX));
        Crew::new(threads, options.memory_limit, slot_bytes)
    }
}

/// A job whose slots are numbered. The code of the workers is compiled once for this trait instead of once per job: a
/// step takes longer than a thousand dynamic calls.
trait NumberedJob: Sync {
    fn takes_in_order(&self) -> bool;
    fn ends_in_order(&self) -> bool;
    fn phase(&self, stage: usize) -> Phase;
    fn has_work_ahead(&self) -> bool;
    fn work_ahead(&self);
    /// Creates slot number `slot`.
    fn make(&self, slot: usize) -> Result<()>;
    fn take(&self, number: u64, slot: usize) -> Result<bool>;
    fn work(&self, stage: usize, slot: usize) -> Result<()>;
    fn commit(&self, stage: usize, slot: usize) -> Result<()>;
    fn is_done(&self, stage: usize, slot: usize) -> bool;
}

/// A job, its slots, and its result so far. Only the worker whose step uses a slot locks it.
struct JobSlots<'a, J: Job> {
    job: &'a J,
    slots: Vec<Mutex<Option<J::Slot>>>,
    state: Mutex<&'a mut J::State>,
}

impl<'a, J: Job> JobSlots<'a, J> {
    fn new(job: &'a J, state: &'a mut J::State, slots: usize) -> Result<JobSlots<'a, J>> {
        let mut list = with_capacity(slots)?;
        list.resize_with(slots, Mutex::default);
        Ok(JobSlots { job, slots: list, state: Mutex::new(state) })
    }

    fn with<T>(&self, slot: usize, step: impl FnOnce(&mut J::Slot) -> Result<T>) -> Result<T> {
        let mut slot = self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner);
        step(slot.as_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "a slot is used before it is made"))?)
    }
}

impl<J: Job> NumberedJob for JobSlots<'_, J> {
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

struct Scheduler<'a> {
    job: &'a dyn NumberedJob,
    crew: Crew,
    cancel: &'a Cancel,
    queue: Mutex<ChunkQueue>,
    changed: Condvar,
}

/// A worker's next step.
enum WorkerStep {
    Work(ReadyChunk),
    Commit(usize, WaitingChunk),
    Take(u64, usize),
    Ahead,
    Leave,
}

/// Runs a job to its end, or to the error of its lowest failing chunk.
///
/// With one thread, everything runs on the caller's thread. Workers never wait for a worker that has not started; the
/// other workers do its work.
pub fn run<J: Job>(job: &J, state: &mut J::State, crew: Crew, cancel: &Cancel) -> Result<()> {
    let job_and_slots = JobSlots::new(job, state, crew.slots)?;
    run_numbered(&job_and_slots, job.stages(), crew, cancel)
}

fn run_numbered(job: &dyn NumberedJob, stages: usize, crew: Crew, cancel: &Cancel) -> Result<()> {
    // The job needs at least one slot, so an error from creating this slot fails the job.
    job.make(0)?;
    let queue = Mutex::new(ChunkQueue::new(stages, crew.slots)?);
    let scheduler = Scheduler { job, crew, cancel, queue, changed: Condvar::new() };
    let clock = (crew.missing > 0).then(trace::joint).flatten().map(|joint| (joint.trace().now_ns(), joint));
    on_threads(crew.threads, || scheduler.worker());
    if let Some((start_ns, joint)) = clock {
        let trace = joint.trace();
        trace.starved(crew.missing, trace.now_ns().saturating_sub(start_ns));
    }
    let queue = scheduler.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    match queue.failed {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

impl Scheduler<'_> {
    fn lock(&self) -> MutexGuard<'_, ChunkQueue> {
        sync::lock(&self.queue)
    }

    /// Runs a worker. Catches a panic in the job, so that the other workers do not wait forever.
    fn worker(&self) {
        let depth = DEPTH.with(Cell::get);
        DEPTH.with(|cell| cell.set(depth + 1));
        let result = catch_unwind(AssertUnwindSafe(|| self.steps()));
        DEPTH.with(|cell| cell.set(depth));
        if result.is_err() {
            let mut queue = self.lock();
            queue.fail(0, Error::new(ErrorKind::Internal, "a worker panicked; this is a bug in polyhaul"));
            queue.busy = queue.busy.saturating_sub(1);
            queue.is_taking = false;
            queue.is_committing = false;
            drop(queue);
            self.changed.notify_all();
        }
    }

    fn steps(&self) {
        trace::pause();
        loop {
            match self.next_step() {
                WorkerStep::Work(ready) => self.work(ready),
                WorkerStep::Commit(stage, waiting) => self.commit(stage, waiting),
                WorkerStep::Take(number, slot) => self.take(number, slot),
                WorkerStep::Ahead => self.work_ahead(),
                WorkerStep::Leave => return,
            }
        }
    }

    fn work(&self, ReadyChunk { stage, position, number, slot }: ReadyChunk) {
        let span = trace::step(None, self.job.phase(stage), number);
        let result = self.job.work(stage, slot);
        polyhaul_spill::relieve();
        drop(span);
        let mut queue = self.lock();
        queue.busy -= 1;
        if stage + 1 == queue.stages.len() && !self.job.ends_in_order() {
            queue.free.push(slot);
            if let Err(error) = result {
                queue.fail(number, error);
            }
        } else {
            queue.stages[stage].wait(position, WaitingChunk { number, slot, result });
        }
    }

    fn commit(&self, stage: usize, WaitingChunk { number, slot, result }: WaitingChunk) {
        let result = result.and_then(|()| {
            let _span = trace::step(self.is_shared().then_some(Lane::Turn), Phase::Place, number);
            self.job.commit(stage, slot)
        });
        let is_done = result.is_ok() && self.job.is_done(stage, slot);
        let mut queue = self.lock();
        queue.busy -= 1;
        queue.is_committing = false;
        queue.stages[stage].next += 1;
        match result {
            Err(error) => queue.fail(number, error),
            Ok(()) if is_done || stage + 1 == queue.stages.len() => queue.free.push(slot),
            Ok(()) => queue.arrive(stage + 1, number, slot),
        }
    }

    fn take(&self, number: u64, slot: usize) {
        let span = trace::step(self.has_input_worker().then_some(Lane::Input), Phase::Cut, number);
        let taken = self.job.take(number, slot);
        drop(span);
        if !self.has_input_worker() && matches!(taken, Ok(true)) {
            return self.work(ReadyChunk { stage: 0, position: number, number, slot });
        }
        let mut queue = self.lock();
        queue.is_taking = false;
        queue.busy -= 1;
        match taken {
            Ok(true) => queue.ready.push(ReadyChunk { stage: 0, position: number, number, slot }),
            Ok(false) => {
                queue.end = queue.end.min(number);
                queue.free.push(slot);
            }
            Err(error) => {
                queue.end = queue.end.min(number + 1);
                queue.stages[0].wait(number, WaitingChunk { number, slot, result: Err(error) });
            }
        }
    }

    fn work_ahead(&self) {
        let span = trace::span(Phase::Decompress);
        self.job.work_ahead();
        drop(span);
        self.lock().busy -= usize::from(!mutated("busy-kept"));
    }

    /// Returns the most useful step that is possible now. Waits if there is none.
    ///
    /// A worker that finds another step wakes one waiting worker, which does the same. So no worker is woken in vain,
    /// and follow-up steps are started by the worker that made them possible.
    fn next_step(&self) -> WorkerStep {
        let mut queue = self.lock();
        loop {
            if self.cancel.is_cancelled() {
                queue.fail(0, Error::cancelled());
            }
            // The worker counts as busy during the search too, because the search calls the job, which can panic.
            queue.busy += 1;
            if let Some(step) = self.try_step(&mut queue) {
                if queue.waiting > 0 && self.has_step(&queue) {
                    self.changed.notify_one();
                }
                return step;
            }
            queue.busy -= 1;
            if queue.busy == 0 && !mutated("last-waits") || DEPTH.with(Cell::get) > 1 {
                // If no worker is busy and no step can start, that will not change. If this worker runs nested in
                // another worker's step, because a host's pool started it while a callback waited, it could wait for
                // that very step.
                if queue.waiting > 0 && !mutated("leave-silent") {
                    self.changed.notify_all();
                }
                return WorkerStep::Leave;
            }
            let _span = trace::span(self.wait(&queue));
            queue.waiting += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
        }
    }

    /// Prefers steps that other workers wait for: taking from a stream, which one worker at a time can do, then ordered
    /// parts. Work ahead comes last, and only while chunks are left to take.
    fn try_step(&self, queue: &mut ChunkQueue) -> Option<WorkerStep> {
        let take = if self.has_input_worker() { self.try_take(queue) } else { None };
        take.or_else(|| queue.next_commit().map(|(stage, waiting)| WorkerStep::Commit(stage, waiting)))
            .or_else(|| queue.next_ready().map(WorkerStep::Work))
            .or_else(|| if self.has_input_worker() { None } else { self.try_take(queue) })
            .or_else(|| self.has_work_ahead(queue).then_some(WorkerStep::Ahead))
    }

    fn has_work_ahead(&self, queue: &ChunkQueue) -> bool {
        self.has_input_worker() && queue.failed.is_none() && queue.next_take < queue.end && self.job.has_work_ahead()
    }

    /// Returns whether [`Scheduler::try_step`] would find a step.
    fn has_step(&self, queue: &ChunkQueue) -> bool {
        self.can_take(queue)
            || queue.committable().is_some()
            || queue.workable().is_some()
            || self.has_work_ahead(queue)
    }

    /// Returns whether other workers may wait during an ordered part.
    fn is_shared(&self) -> bool {
        self.crew.threads > 1
    }

    /// Returns the trace phase of an idle worker.
    fn wait(&self, queue: &ChunkQueue) -> Phase {
        let is_full = queue.free.is_empty() && queue.slots_made == self.crew.slots;
        match queue.next_take < queue.end {
            true if queue.is_taking && !is_full => Phase::WaitInput,
            false if !queue.is_committing => Phase::WaitEnd,
            _ => Phase::WaitTurn,
        }
    }

    /// Returns whether one worker at a time takes chunks while the other workers process them.
    fn has_input_worker(&self) -> bool {
        self.job.takes_in_order() && self.crew.threads > 1
    }

    fn can_take(&self, queue: &ChunkQueue) -> bool {
        let is_room = !queue.free.is_empty() || queue.slots_made < self.crew.slots;
        queue.failed.is_none() && queue.next_take < queue.end && !queue.is_taking && is_room
    }

    fn try_take(&self, queue: &mut ChunkQueue) -> Option<WorkerStep> {
        if !self.can_take(queue) {
            return None;
        }
        let slot = match queue.free.pop() {
            Some(slot) => slot,
            None => {
                // If memory is short, continue with the existing slots.
                let slot = queue.slots_made;
                self.job.make(slot).ok()?;
                queue.slots_made += 1;
                slot
            }
        };
        queue.is_taking = self.has_input_worker();
        queue.next_take += 1;
        Some(WorkerStep::Take(queue.next_take - 1, slot))
    }
}

#[cfg(all(test, polyhaul_shuttle))]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Collects numbers in `Vec`s; some chunks fail in one of the steps.
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
            let ends_in_order = !count.is_multiple_of(3);
            Numbers {
                count,
                in_order,
                ends_in_order,
                fail_work: Vec::new(),
                fail_publish: Vec::new(),
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

    /// A chunk, and the number of stages it has passed.
    #[derive(Default)]
    struct SieveSlot {
        number: u64,
        passed: usize,
    }

    /// One chunk in three passes all three stages; the others are done after the first or second.
    struct Sieve;

    impl Job for Sieve {
        type Slot = SieveSlot;
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
        fn slot(&self) -> Result<SieveSlot> {
            Ok(SieveSlot::default())
        }
        fn take(&self, number: u64, slot: &mut SieveSlot) -> Result<bool> {
            *slot = SieveSlot { number, passed: 0 };
            Ok(number < 1000)
        }
        fn work(&self, stage: usize, slot: &mut SieveSlot) -> Result<()> {
            assert_eq!(slot.passed, stage);
            (0..(slot.number % 5) * 2000).for_each(|n| _ = std::hint::black_box(n));
            if slot.number == 998 && stage == 1 { failure(998) } else { Ok(()) }
        }
        fn commit(&self, stage: usize, state: &mut [Vec<u64>; 3], slot: &mut SieveSlot) -> Result<()> {
            slot.passed += 1;
            state[stage].push(slot.number);
            Ok(())
        }
        fn is_done(&self, stage: usize, slot: &SieveSlot) -> bool {
            stage as u64 == slot.number % 3
        }
    }

    #[test]
    fn chunks_that_are_done_before_the_last_stage_do_not_hold_up_the_others() {
        for crew in crews() {
            let mut state: [Vec<u64>; 3] = Default::default();
            let error = run(&Sieve, &mut state, crew, &Cancel::default()).unwrap_err();
            assert_eq!(error.diagnostic().message, "chunk 998");
            for (stage, numbers) in state.iter().enumerate() {
                let counts = |&number: &u64| number % 3 >= stage as u64;
                let settled = &numbers[..numbers.len().min(if stage == 0 { 998 } else { usize::MAX })];
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
                let job = Numbers::new(count, in_order);
                let mut state = Default::default();
                run(&job, &mut state, crew, &Cancel::default()).unwrap();
                assert!(state[0].iter().copied().eq(0..count), "{crew:?}");
                assert!(state[1].iter().copied().eq(0..if job.ends_in_order { count } else { 0 }), "{crew:?}");
                assert_eq!(job.published.into_inner(), count);
            }
        }
    }

    #[test]
    fn the_error_of_the_lowest_chunk_wins() {
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
    fn a_panic_becomes_an_error_and_no_worker_waits_forever() {
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
