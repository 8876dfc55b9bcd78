//! Models of the scheduler's three invariants.

use super::*;
use polyhaul_models::Model;
use polyhaul_models::shuttle::sync::atomic::{AtomicUsize as Shared, Ordering::SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Where a chunk of a job fails or panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
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
struct Checked {
    chunks: u64,
    takes_in_order: bool,
    ends_in_order: bool,
    fails: Vec<(Part, u64)>,
    panics: Option<(Part, u64)>,
    /// The number of pieces of work ahead.
    ahead: AtomicUsize,
    point: Shared,
    /// The chunk in each slot.
    numbers: [AtomicU64; 4],
    is_committing: AtomicBool,
    is_taking: AtomicBool,
    /// One past the last chunk that was committed in each stage.
    committed: [AtomicU64; 2],
    worked: [AtomicUsize; 2],
}

impl Checked {
    fn new(chunks: u64) -> Checked {
        Checked { chunks, ..Checked::default() }
    }

    fn number(&self, slot: usize) -> u64 {
        self.numbers[slot].load(Relaxed)
    }

    /// Lets other threads run, then fails or panics if this chunk does so in this part.
    fn part(&self, part: Part, number: u64) -> Result<()> {
        self.point.load(SeqCst);
        assert_ne!(self.panics, Some((part, number)), "a planted panic");
        match self.fails.contains(&(part, number)) {
            true => Err(Error::new(ErrorKind::Malformed, format!("chunk {number}"))),
            false => Ok(()),
        }
    }

    /// Checks that chunks are committed in order.
    fn check_order(&self, stage: usize, number: u64) {
        assert_eq!(self.committed[stage].swap(number + 1, Relaxed), number, "out of order in stage {stage}");
    }

    fn run(&self, threads: usize, slots: usize) -> Result<()> {
        run_numbered(self, 2, Crew { threads, slots, missing: 0 }, &Cancel::default())
    }

    /// Checks that each chunk passed all parts.
    fn check_all(&self) {
        let committed = [self.chunks, if self.ends_in_order { self.chunks } else { 0 }];
        assert_eq!(self.committed.each_ref().map(|count| count.load(Relaxed)), committed);
        assert_eq!(self.worked.each_ref().map(|count| count.load(Relaxed) as u64), [self.chunks; 2]);
    }
}

impl NumberedJob for Checked {
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
        self.part(Part::HasWorkAhead, left as u64).is_ok() && left > 0
    }
    fn work_ahead(&self) {
        let left = self.ahead.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).unwrap_or(0);
        assert!(self.part(Part::WorkAhead, left as u64).is_ok());
    }
    fn make(&self, slot: usize) -> Result<()> {
        self.part(Part::Make, slot as u64)
    }
    fn take(&self, number: u64, slot: usize) -> Result<bool> {
        assert!(!self.is_taking.swap(self.takes_in_order, Relaxed), "two chunks are taken at a time");
        let taken = self.part(Part::Take, number);
        self.is_taking.store(false, Relaxed);
        self.numbers[slot].store(number, Relaxed);
        taken.map(|()| number < self.chunks)
    }
    fn work(&self, stage: usize, slot: usize) -> Result<()> {
        self.worked[stage].fetch_add(1, Relaxed);
        self.part(Part::Work(stage), self.number(slot))
    }
    fn commit(&self, stage: usize, slot: usize) -> Result<()> {
        assert!(!self.is_committing.swap(true, Relaxed), "two ordered parts run at a time");
        let number = self.number(slot);
        let committed = self.part(Part::Commit(stage), number);
        if committed.is_ok() {
            self.check_order(stage, number);
        }
        self.is_committing.store(false, Relaxed);
        committed
    }
    fn is_done(&self, _: usize, slot: usize) -> bool {
        self.part(Part::IsDone, self.number(slot)).is_err()
    }
}

/// The first invariant.
#[test]
fn ordered_parts_run_one_at_a_time_and_in_order() {
    for takes_in_order in [false, true] {
        let test = move || {
            let job = Checked { takes_in_order, ends_in_order: true, ..Checked::new(3) };
            job.run(2, 3).unwrap();
            job.check_all();
        };
        Model::new("scheduler: ordered parts", test).detects(&["commit-overlap", "commit-order"]);
    }
}

/// The second invariant.
#[test]
fn the_error_of_the_lowest_chunk_wins_and_later_chunks_stop() {
    let run = |fails: &[(Part, u64)]| {
        let job = Checked { fails: fails.into(), ..Checked::new(4) };
        let error = job.run(2, 3).unwrap_err();
        assert_eq!(error.diagnostic().message, "chunk 1");
        job
    };
    for part in [Part::Take, Part::Work(0), Part::Commit(0)] {
        let two_fail = move || _ = run(&[(part, 2), (Part::Work(1), 1)]);
        Model::new("scheduler: the lowest error", two_fail).detects(&["failure-last"]);
        let later_ones_stop = move || assert_eq!(run(&[(part, 1)]).committed[0].load(Relaxed), 1);
        Model::new("scheduler: chunks after a failure", later_ones_stop).detects(&["failure-ignored"]);
    }
}

/// The third invariant.
#[test]
fn a_worker_waits_only_while_another_one_works() {
    for takes_in_order in [false, true] {
        let test = move || {
            let job = Checked { takes_in_order, ahead: 1.into(), ..Checked::new(3) };
            job.run(2, 2).unwrap();
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
        (Part::Make, 1),
        (Part::Take, 1),
        (Part::Work(0), 1),
        (Part::Commit(0), 1),
        (Part::IsDone, 1),
        (Part::HasWorkAhead, 1),
        (Part::WorkAhead, 1),
    ];
    for panic in panics {
        let test = move || {
            let job = Checked { takes_in_order: true, panics: Some(panic), ahead: 1.into(), ..Checked::new(3) };
            match job.run(2, 2) {
                Ok(()) => job.check_all(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Internal),
            }
        };
        Model::new("scheduler: a panic", test).detects(&[]);
    }
}
