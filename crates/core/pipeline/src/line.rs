//! The chunks in flight: which are free, at work, or wait for their turn.
//!
//! Data alone: [`super::run`] locks it, and does what it finds possible here. Slots are numbers.

use polyhaul_model::error::{Error, Result};

/// A chunk whose parallel part is done and that waits for its turn.
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) slot: usize,
    pub(crate) result: Result<()>,
}

/// The ordered part of a stage.
pub(crate) struct Turn {
    /// How many chunks reached this stage (unused for the first stage, which all reach). Chunks are numbered anew at
    /// each stage, since some are done earlier and would leave gaps.
    pub(crate) came: u64,
    /// The place whose turn it is.
    pub(crate) next: u64,
    /// Waiting chunks: the one at `place` is at index `place % slots`. All from the next one to the last one hold a
    /// slot, so there are at most `slots` of them, and no two share an index.
    pub(crate) waiting: Vec<Option<Waiting>>,
}

/// A chunk that is in a stage.
pub(crate) struct Ready {
    pub(crate) stage: usize,
    /// Its place among the chunks of the stage.
    pub(crate) place: u64,
    pub(crate) number: u64,
    pub(crate) slot: usize,
}

/// The chunks of a job and the places where they wait, under one lock.
pub(crate) struct Line {
    pub(crate) next_take: u64,
    /// One past the last chunk, once that is known.
    pub(crate) end: u64,
    /// Whether a chunk is being taken that the next one has to wait for.
    pub(crate) taking: bool,
    /// Whether an ordered part is being done.
    pub(crate) committing: bool,
    pub(crate) turns: Vec<Turn>,
    pub(crate) ready: Vec<Ready>,
    pub(crate) free: Vec<usize>,
    pub(crate) slots_made: usize,
    /// Workers that are at work.
    pub(crate) busy: usize,
    /// Workers that wait for something to do.
    pub(crate) waiting: usize,
    /// The error of the lowest chunk.
    pub(crate) failed: Option<(u64, Error)>,
}

/// A list that never grows beyond `count` items.
pub(crate) fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| Error::memory("the chunk pool"))?;
    Ok(items)
}

impl Turn {
    pub(crate) fn new(slots: usize) -> Result<Turn> {
        let mut waiting = with_room(slots)?;
        waiting.resize_with(slots, || None);
        Ok(Turn { came: 0, next: 0, waiting })
    }

    /// Returns the index of the chunk at `place`.
    pub(crate) fn index(&self, place: u64) -> usize {
        (place % self.waiting.len() as u64) as usize
    }

    /// The chunk at `place` waits for its turn.
    pub(crate) fn wait(&mut self, place: u64, waiting: Waiting) {
        let index = self.index(place);
        self.waiting[index] = Some(waiting);
    }

    /// The number of the chunk whose turn it is, if it is there.
    pub(crate) fn due(&self) -> Option<u64> {
        self.waiting[self.index(self.next)].as_ref().map(|waiting| waiting.number)
    }

    /// The chunk whose turn it is, if it is there.
    pub(crate) fn take(&mut self) -> Option<Waiting> {
        let index = self.index(self.next);
        self.waiting[index].take()
    }
}

impl Line {
    /// Begins with slot 0.
    pub(crate) fn new(stages: usize, slots: usize) -> Result<Line> {
        let (mut turns, mut free) = (with_room(stages)?, with_room(slots)?);
        for _ in 0..stages {
            turns.push(Turn::new(slots)?);
        }
        free.push(0);
        Ok(Line {
            next_take: 0,
            end: u64::MAX,
            taking: false,
            committing: false,
            turns,
            ready: with_room(slots)?,
            free,
            slots_made: 1,
            busy: 0,
            waiting: 0,
            failed: None,
        })
    }

    /// Returns whether a chunk still matters: after a failure only earlier chunks do, since the error of the lowest
    /// chunk wins.
    pub(crate) fn counts(&self, number: u64) -> bool {
        self.failed.as_ref().is_none_or(|(lowest, _)| number < *lowest)
    }

    /// A chunk comes to a stage that is not the first.
    pub(crate) fn come(&mut self, stage: usize, number: u64, slot: usize) {
        let place = self.turns[stage].came;
        self.turns[stage].came += 1;
        self.ready.push(Ready { stage, place, number, slot });
    }

    /// The latest stage whose next ordered part can be done.
    pub(crate) fn committable(&self) -> Option<usize> {
        // The latest stage first, because it frees slots.
        let is_due = |&stage: &usize| self.turns[stage].due().is_some_and(|number| self.counts(number));
        (0..self.turns.len()).rev().find(is_due).filter(|_| !self.committing)
    }

    /// The next ordered part.
    pub(crate) fn next_commit(&mut self) -> Option<(usize, Waiting)> {
        let stage = self.committable()?;
        let waiting = self.turns[stage].take()?;
        self.committing = true;
        Some((stage, waiting))
    }

    /// Returns the index of the lowest chunk that may be processed. After a failure, later chunks are dropped.
    pub(crate) fn workable(&self) -> Option<usize> {
        let lowest = (0..self.ready.len()).min_by_key(|&place| self.ready[place].number)?;
        self.counts(self.ready[lowest].number).then_some(lowest)
    }

    pub(crate) fn next_ready(&mut self) -> Option<Ready> {
        self.workable().map(|place| self.ready.swap_remove(place))
    }

    /// Keeps the error of the lowest chunk.
    pub(crate) fn fail(&mut self, number: u64, error: Error) {
        if self.failed.as_ref().is_none_or(|(lowest, _)| number < *lowest) {
            self.failed = Some((number, error));
        }
    }
}
