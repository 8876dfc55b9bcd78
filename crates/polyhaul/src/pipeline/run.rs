//! Numbered chunks through a pool of workers, committed in order.
//!
//! Workers take the next number, work into a pooled slot, and whoever finds the next number in
//! line complete commits it while the others go on. What is published after that may be finished in
//! order once more: so text that is written is cut into blocks, compressed side by side, and written. The slots are the budget: there are only as
//! many as the memory limit backs, and a worker without one waits. Nothing here knows what a
//! chunk is; see [`super::chunk`] for text that is read and `formats::obj` for what is done with it.

use crate::error::{Error, ErrorKind, Result};
use crate::options::Cancel;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A job in numbered chunks. Every method but [`Job::slot`] may run on any thread.
pub(crate) trait Job: Sync {
    /// A pooled place for a chunk: its input, its output and all scratch memory.
    type Slot: Send;
    /// What the commits build, in order.
    type State: Send;
    /// What the finishing steps build, in order.
    type End: Send;

    /// Whether chunks must be taken one after another, as from a stream.
    fn takes_in_order(&self) -> bool;
    /// A new slot; slots are reused, so this is called at most [`Crew::slots`] times.
    fn slot(&self) -> Result<Self::Slot>;
    /// Fills the slot with chunk `number`; `false` where there is none.
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;
    /// The parallel work on a chunk.
    fn work(&self, slot: &mut Self::Slot) -> Result<()>;
    /// The ordered part: called once per chunk, in the order of the numbers, by one thread at a time.
    fn commit(&self, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()>;
    /// What is left to do in parallel once the order is settled.
    fn publish(&self, slot: &mut Self::Slot) -> Result<()>;
    /// What must be done in order once more after publishing; as a commit, beside the commits.
    fn finish(&self, end: &mut Self::End, slot: &mut Self::Slot) -> Result<()>;
}

/// Who works on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crew {
    /// Threads, the caller's included.
    pub(crate) threads: usize,
    /// Slots: chunks in flight.
    pub(crate) slots: usize,
}

impl Crew {
    /// As many of `threads` as `memory_bytes` backs with a slot each, and two slots more to keep
    /// them busy while a chunk waits for its turn.
    pub(crate) fn new(threads: usize, memory_bytes: u64, slot_bytes: usize) -> Crew {
        let backed = (memory_bytes / slot_bytes.max(1) as u64).clamp(1, 4096) as usize;
        let threads = threads.clamp(1, backed);
        let spare = if threads == 1 { 0 } else { 2 + threads / 4 };
        Crew { threads, slots: (threads + spare).min(backed) }
    }
}

/// A chunk that was worked on and waits for its turn.
struct Waiting<S> {
    slot: S,
    result: Result<()>,
}

/// A step that is done in the order of the numbers, by one worker at a time.
struct Turn<S> {
    /// The chunk whose turn it is.
    next: u64,
    busy: bool,
    /// Chunks that wait: chunk `number` at `number % slots`.
    waiting: Vec<Option<Waiting<S>>>,
}

struct Line<S> {
    next_take: u64,
    /// One past the last chunk, once that is known.
    end: u64,
    taking: bool,
    commits: Turn<S>,
    finishes: Turn<S>,
    /// Chunks that were committed and wait for their publishing.
    committed: Vec<(u64, S)>,
    free: Vec<S>,
    slots_made: usize,
    busy: usize,
    /// The error of the lowest chunk.
    failed: Option<(u64, Error)>,
}

struct Shared<'a, J: Job> {
    job: &'a J,
    crew: Crew,
    cancel: &'a Cancel,
    line: Mutex<Line<J::Slot>>,
    changed: Condvar,
    state: Mutex<&'a mut J::State>,
    end: Mutex<&'a mut J::End>,
}

/// What a worker does next.
enum Step<S> {
    Publish(u64, S),
    Commit(u64, Waiting<S>),
    Finish(u64, Waiting<S>),
    Take(u64, S),
    Leave,
}

/// Runs a job to its end, or to the error of its lowest failing chunk.
///
/// With one thread everything runs on the caller's. Where the system refuses a thread the others
/// do the work.
pub(crate) fn run<J: Job>(
    job: &J,
    state: &mut J::State,
    end: &mut J::End,
    crew: Crew,
    cancel: &Cancel,
) -> Result<()> {
    let mut free = with_room(crew.slots)?;
    // The first slot is made here: without one there is no progress, and its error is the job's.
    free.push(job.slot()?);
    let shared = Shared {
        job,
        crew,
        cancel,
        line: Mutex::new(Line {
            next_take: 0,
            end: u64::MAX,
            taking: false,
            commits: Turn::new(crew.slots)?,
            finishes: Turn::new(crew.slots)?,
            committed: with_room(crew.slots)?,
            free,
            slots_made: 1,
            busy: 0,
            failed: None,
        }),
        changed: Condvar::new(),
        state: Mutex::new(state),
        end: Mutex::new(end),
    };
    std::thread::scope(|scope| {
        for _ in 1..crew.threads {
            if std::thread::Builder::new().spawn_scoped(scope, || shared.worker()).is_err() {
                break;
            }
        }
        shared.worker();
    });
    let line = shared.line.into_inner().unwrap_or_else(PoisonError::into_inner);
    match line.failed {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// A list that never grows beyond `count` items.
fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| Error::memory("the chunk pool"))?;
    Ok(items)
}

impl<J: Job> Shared<'_, J> {
    fn lock(&self) -> MutexGuard<'_, Line<J::Slot>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life. A panic in the job is caught: it must not leave the others waiting.
    fn worker(&self) {
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            let mut line = self.lock();
            let error = Error::new(ErrorKind::Internal, "a worker panicked; this is a fault of polyhaul");
            let lowest = line.finishes.next;
            line.fail(lowest, error);
            line.busy = 0;
            (line.taking, line.commits.busy, line.finishes.busy) = (false, false, false);
            drop(line);
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        loop {
            match self.next_step() {
                Step::Publish(number, mut slot) => {
                    let result = self.job.publish(&mut slot);
                    let mut line = self.lock();
                    line.busy = line.busy.saturating_sub(1);
                    line.finishes.wait(number, Waiting { slot, result });
                }
                Step::Commit(number, waiting) => self.commit(number, waiting),
                Step::Finish(number, waiting) => self.finish(number, waiting),
                Step::Take(number, slot) => self.take(number, slot),
                Step::Leave => return,
            }
            self.changed.notify_all();
        }
    }

    fn commit(&self, number: u64, waiting: Waiting<J::Slot>) {
        let Waiting { mut slot, result } = waiting;
        let result = result.and_then(|()| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.job.commit(&mut state, &mut slot)
        });
        let mut line = self.lock();
        line.busy = line.busy.saturating_sub(1);
        line.commits.pass();
        match result {
            Ok(()) => line.committed.push((number, slot)),
            Err(error) => line.fail(number, error),
        }
    }

    fn finish(&self, number: u64, waiting: Waiting<J::Slot>) {
        let Waiting { mut slot, result } = waiting;
        let result = result.and_then(|()| {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            self.job.finish(&mut end, &mut slot)
        });
        let mut line = self.lock();
        line.busy = line.busy.saturating_sub(1);
        line.finishes.pass();
        if let Err(error) = result {
            line.fail(number, error);
        }
        line.free.push(slot);
    }

    fn take(&self, number: u64, mut slot: J::Slot) {
        let taken = self.job.take(number, &mut slot);
        if self.job.takes_in_order() {
            let mut line = self.lock();
            line.taking = false;
            if !matches!(taken, Ok(true)) {
                line.end = line.end.min(number + u64::from(taken.is_err()));
            }
            drop(line);
            self.changed.notify_all();
        }
        let result = match taken {
            Ok(true) => self.job.work(&mut slot),
            Ok(false) => {
                let mut line = self.lock();
                line.busy = line.busy.saturating_sub(1);
                line.end = line.end.min(number);
                line.free.push(slot);
                return;
            }
            Err(error) => Err(error),
        };
        let mut line = self.lock();
        line.busy = line.busy.saturating_sub(1);
        line.commits.wait(number, Waiting { slot, result });
    }

    /// The most useful thing that can be done now; waits where there is none.
    fn next_step(&self) -> Step<J::Slot> {
        let mut line = self.lock();
        loop {
            if self.cancel.is_cancelled() {
                line.fail(0, Error::cancelled());
            }
            if let Some(step) = self.try_step(&mut line) {
                line.busy += usize::from(!matches!(step, Step::Leave));
                return step;
            }
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn try_step(&self, line: &mut Line<J::Slot>) -> Option<Step<J::Slot>> {
        // After a failure what was committed before it is still published: an error of a lower chunk wins.
        if let Some((number, slot)) = line.committed.pop() {
            return Some(Step::Publish(number, slot));
        }
        if let Some((number, waiting)) = line.finishes.take() {
            return Some(Step::Finish(number, waiting));
        }
        if line.failed.is_some() {
            return (line.busy == 0).then_some(Step::Leave);
        }
        if let Some((number, waiting)) = line.commits.take() {
            return Some(Step::Commit(number, waiting));
        }
        if line.finishes.next >= line.end && line.busy == 0 {
            return Some(Step::Leave);
        }
        self.try_take(line)
    }

    fn try_take(&self, line: &mut Line<J::Slot>) -> Option<Step<J::Slot>> {
        let in_order = self.job.takes_in_order();
        let ahead = line.next_take - line.finishes.next;
        if line.next_take >= line.end || in_order && line.taking || ahead >= self.crew.slots as u64 {
            return None;
        }
        let slot = match line.free.pop() {
            Some(slot) => slot,
            None if line.slots_made < self.crew.slots => match self.job.slot() {
                Ok(slot) => {
                    line.slots_made += 1;
                    slot
                }
                // Memory is short: go on with the slots there are.
                Err(_) => return None,
            },
            None => return None,
        };
        line.taking = in_order;
        line.next_take += 1;
        Some(Step::Take(line.next_take - 1, slot))
    }
}

impl<S> Turn<S> {
    fn new(slots: usize) -> Result<Turn<S>> {
        let mut waiting = with_room(slots)?;
        waiting.resize_with(slots, || None);
        Ok(Turn { next: 0, busy: false, waiting })
    }

    fn place(&self, number: u64) -> usize {
        (number % self.waiting.len() as u64) as usize
    }

    /// Chunk `number` waits for its turn.
    fn wait(&mut self, number: u64, waiting: Waiting<S>) {
        let place = self.place(number);
        self.waiting[place] = Some(waiting);
    }

    /// The chunk whose turn it is, if it is there and nobody is at work.
    fn take(&mut self) -> Option<(u64, Waiting<S>)> {
        if self.busy {
            return None;
        }
        let place = self.place(self.next);
        let waiting = self.waiting[place].take()?;
        self.busy = true;
        Some((self.next, waiting))
    }

    /// The turn goes to the next chunk.
    fn pass(&mut self) {
        self.busy = false;
        self.next += 1;
    }
}

impl<S> Line<S> {
    /// Keeps the error of the lowest chunk.
    fn fail(&mut self, number: u64, error: Error) {
        if self.failed.as_ref().is_none_or(|(lowest, _)| number < *lowest) {
            self.failed = Some((number, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts to `count` in `Vec`s; some chunks fail in one of the steps.
    struct Numbers {
        count: u64,
        in_order: bool,
        fail_work: Vec<u64>,
        fail_publish: Vec<u64>,
        panic_at: Option<u64>,
        published: AtomicU64,
    }

    impl Numbers {
        fn new(count: u64, in_order: bool) -> Numbers {
            let (fail_work, fail_publish) = (Vec::new(), Vec::new());
            Numbers { count, in_order, fail_work, fail_publish, panic_at: None, published: AtomicU64::new(0) }
        }
    }

    fn failure(number: u64) -> Result<()> {
        Err(Error::new(ErrorKind::Malformed, format!("chunk {number}")))
    }

    impl Job for Numbers {
        type Slot = u64;
        type State = Vec<u64>;
        type End = Vec<u64>;

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
        fn work(&self, slot: &mut u64) -> Result<()> {
            assert_ne!(Some(*slot), self.panic_at, "a planted panic");
            // Uneven work, so that chunks finish out of order.
            (0..(*slot % 7) * 2000).for_each(|n| _ = std::hint::black_box(n));
            if self.fail_work.contains(slot) { failure(*slot) } else { Ok(()) }
        }
        fn commit(&self, state: &mut Vec<u64>, slot: &mut u64) -> Result<()> {
            state.push(*slot);
            Ok(())
        }
        fn publish(&self, slot: &mut u64) -> Result<()> {
            self.published.fetch_add(1, Ordering::Relaxed);
            if self.fail_publish.contains(slot) { failure(*slot) } else { Ok(()) }
        }
        fn finish(&self, end: &mut Vec<u64>, slot: &mut u64) -> Result<()> {
            end.push(*slot);
            Ok(())
        }
    }

    fn crews() -> impl Iterator<Item = Crew> {
        let crew = |(threads, slots)| Crew { threads, slots };
        [(1, 1), (2, 2), (2, 5), (3, 3), (7, 9), (64, 80)].into_iter().map(crew)
    }

    #[test]
    fn chunks_are_committed_in_order_and_all_are_published() {
        for crew in crews() {
            for (count, in_order) in [(0, false), (1, true), (500, false), (500, true)] {
                let (job, mut state, mut end) = (Numbers::new(count, in_order), Vec::new(), Vec::new());
                run(&job, &mut state, &mut end, crew, &Cancel::default()).unwrap();
                assert_eq!(state, end);
                assert!(state.iter().copied().eq(0..count), "{crew:?}");
                assert_eq!(job.published.into_inner(), count);
            }
        }
    }

    #[test]
    fn the_error_of_the_lowest_chunk_wins_whoever_meets_it_first() {
        for crew in crews() {
            for _ in 0..20 {
                let mut job = Numbers::new(200, false);
                job.fail_work = vec![60, 41, 150];
                job.fail_publish = vec![38, 39];
                let error = run(&job, &mut Vec::new(), &mut Vec::new(), crew, &Cancel::default()).unwrap_err();
                assert_eq!(error.diagnostic().message, "chunk 38", "{crew:?}");
            }
        }
    }

    #[test]
    fn a_panic_becomes_an_error_and_nobody_waits_for_ever() {
        for crew in crews() {
            let mut job = Numbers::new(100, crew.threads % 2 == 0);
            job.panic_at = Some(30);
            let error = run(&job, &mut Vec::new(), &mut Vec::new(), crew, &Cancel::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
        }
    }

    #[test]
    fn cancelling_stops_the_job() {
        for crew in crews() {
            let cancel = Cancel::default();
            cancel.cancel();
            let mut state = Vec::new();
            let error = run(&Numbers::new(u64::MAX, false), &mut state, &mut Vec::new(), crew, &cancel).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert!(state.is_empty());
        }
    }

    #[test]
    fn memory_bounds_the_crew() {
        assert_eq!(Crew::new(8, 64 << 20, 1 << 20), Crew { threads: 8, slots: 12 });
        assert_eq!(Crew::new(8, 3 << 20, 1 << 20), Crew { threads: 3, slots: 3 });
        assert_eq!(Crew::new(8, 0, 1 << 20), Crew { threads: 1, slots: 1 });
    }
}
