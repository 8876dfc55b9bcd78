//! Models of the scheduler's three invariants.

use super::*;
use polyhaul_models::Model;
use polyhaul_models::shuttle::sync::atomic::{AtomicUsize as Shared, Ordering::SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A call of a job, in which a chunk fails or panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JobCall {
    Make,
    Take,
    Work(usize),
    Commit(usize),
    IsDone,
    HasWorkAhead,
    WorkAhead,
}

/// A job of two stages that checks how it is called. Only `point` is an operation of the model.
#[derive(Default)]
struct CheckedJob {
    chunks: u64,
    takes_in_order: bool,
    ends_in_order: bool,
    fails: Vec<(JobCall, u64)>,
    panics: Option<(JobCall, u64)>,
    /// The number of pieces of work ahead.
    ahead: AtomicUsize,
    point: Shared,
    /// The chunk in each slot.
    numbers: [AtomicU64; 4],
    is_committing: AtomicBool,
    is_taking: AtomicBool,
    /// One past the last chunk committed in each stage.
    committed: [AtomicU64; 2],
    worked: [AtomicUsize; 2],
}

impl CheckedJob {
    fn new(chunks: u64) -> CheckedJob {
        CheckedJob { chunks, ..CheckedJob::default() }
    }

    fn number(&self, slot: usize) -> u64 {
        self.numbers[slot].load(Relaxed)
    }

    /// Lets other threads run, then fails or panics if this is the call in which this chunk does.
    fn call(&self, call: JobCall, number: u64) -> Result<()> {
        self.point.load(SeqCst);
        assert_ne!(self.panics, Some((call, number)), "a planted panic");
        if self.fails.contains(&(call, number)) {
            return Err(Error::new(ErrorKind::Malformed, format!("chunk {number}")));
        }
        Ok(())
    }

    /// Checks that chunks are committed in order.
    fn check_order(&self, stage: usize, number: u64) {
        assert_eq!(self.committed[stage].swap(number + 1, Relaxed), number, "out of order in stage {stage}");
    }

    fn run(&self, threads: usize, slots: usize) -> Result<()> {
        run_numbered(self, 2, Crew { threads, slots, missing: 0 }, &Cancel::default())
    }

    /// Checks that each chunk passed all stages.
    fn check_all(&self) {
        let committed = [self.chunks, if self.ends_in_order { self.chunks } else { 0 }];
        assert_eq!(self.committed.each_ref().map(|count| count.load(Relaxed)), committed);
        assert_eq!(self.worked.each_ref().map(|count| count.load(Relaxed) as u64), [self.chunks; 2]);
    }
}

impl NumberedJob for CheckedJob {
    fn takes_in_order(&self) -> bool {
        self.takes_in_order
    }
    fn ends_in_order(&self) -> bool {
        self.ends_in_order
    }
    fn phase(&self, _: usize) -> Phase {
        Phase::Parse
    }
    fn has_work_ahead(&self) -> bool {
        let left = self.ahead.load(Relaxed);
        self.call(JobCall::HasWorkAhead, left as u64).is_ok() && left > 0
    }
    fn work_ahead(&self) {
        let left = self.ahead.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).unwrap_or(0);
        assert!(self.call(JobCall::WorkAhead, left as u64).is_ok());
    }
    fn make(&self, slot: usize) -> Result<()> {
        self.call(JobCall::Make, slot as u64)
    }
    fn take(&self, number: u64, slot: usize) -> Result<bool> {
        assert!(!self.is_taking.swap(self.takes_in_order, Relaxed), "two chunks are taken at a time");
        let taken = self.call(JobCall::Take, number);
        self.is_taking.store(false, Relaxed);
        self.numbers[slot].store(number, Relaxed);
        taken.map(|()| number < self.chunks)
    }
    fn work(&self, stage: usize, slot: usize) -> Result<()> {
        self.worked[stage].fetch_add(1, Relaxed);
        self.call(JobCall::Work(stage), self.number(slot))
    }
    fn commit(&self, stage: usize, slot: usize) -> Result<()> {
        assert!(!self.is_committing.swap(true, Relaxed), "two ordered parts run at a time");
        let number = self.number(slot);
        let committed = self.call(JobCall::Commit(stage), number);
        if committed.is_ok() {
            self.check_order(stage, number);
        }
        self.is_committing.store(false, Relaxed);
        committed
    }
    fn is_done(&self, _: usize, slot: usize) -> bool {
        self.call(JobCall::IsDone, self.number(slot)).is_err()
    }
}

/// Whether chunks are taken in order, and the number of threads.
const CASES: [(bool, usize); 4] = [(false, 2), (true, 2), (false, 3), (true, 3)];

/// The first invariant.
#[test]
fn ordered_parts_run_one_at_a_time_and_in_order() {
    for (takes_in_order, threads) in CASES {
        let test = move || {
            let job = CheckedJob { takes_in_order, ends_in_order: true, ..CheckedJob::new(3) };
            job.run(threads, 3).unwrap();
            job.check_all();
        };
        let model = Model::new("scheduler: ordered parts", test);
        model.detects(&["commit-overlap", "commit-order"]);
    }
}

/// The second invariant.
#[test]
fn the_error_of_the_lowest_chunk_wins_and_later_chunks_stop() {
    let run = |fails: &[(JobCall, u64)]| {
        let job = CheckedJob { fails: fails.into(), ..CheckedJob::new(4) };
        let error = job.run(2, 3).unwrap_err();
        assert_eq!(error.diagnostic().message, "chunk 1");
        job
    };
    for call in [JobCall::Take, JobCall::Work(0), JobCall::Commit(0)] {
        let two_fail = move || _ = run(&[(call, 2), (JobCall::Work(1), 1)]);
        Model::new("scheduler: the lowest error", two_fail).detects(&["failure-last"]);
        let later_ones_stop = move || assert_eq!(run(&[(call, 1)]).committed[0].load(Relaxed), 1);
        Model::new("scheduler: chunks after a failure", later_ones_stop).detects(&["failure-ignored"]);
    }
}

/// The third invariant.
#[test]
fn a_worker_waits_only_while_another_one_works() {
    for (takes_in_order, threads) in CASES {
        let test = move || {
            let job = CheckedJob { takes_in_order, ahead: 1.into(), ..CheckedJob::new(3) };
            job.run(threads, threads).unwrap();
            job.check_all();
        };
        let mutations = if takes_in_order { &["last-waits", "leave-silent", "busy-kept"][..] } else { &["last-waits"] };
        Model::new("scheduler: waiting", test).detects(mutations);
    }
}

/// The third invariant, with panics in each call of the job.
#[test]
fn no_worker_waits_after_a_panic() {
    let panics = [
        (JobCall::Make, 1),
        (JobCall::Take, 1),
        (JobCall::Work(0), 1),
        (JobCall::Commit(0), 1),
        (JobCall::IsDone, 1),
        (JobCall::HasWorkAhead, 1),
        (JobCall::WorkAhead, 1),
    ];
    for panic in panics {
        let test = move || {
            let job = CheckedJob { takes_in_order: true, panics: Some(panic), ahead: 1.into(), ..CheckedJob::new(3) };
            match job.run(2, 2) {
                Ok(()) => job.check_all(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Internal),
            }
        };
        Model::new("scheduler: a panic", test).detects(&[]);
    }
}
