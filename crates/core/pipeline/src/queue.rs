//! The chunks in flight, which are being processed or wait for their turn, and the free slots.
//!
//! Plain data that [`super::run`] locks to find its next step. Slots are indices.

use crate::sync::mutated;
use polyhaul_model::error::{Error, Result};

/// A chunk that finished its parallel part and waits for its turn.
pub(crate) struct WaitingChunk {
    pub(crate) number: u64,
    pub(crate) slot: usize,
    pub(crate) result: Result<()>,
}

/// The ordered part of a stage.
pub(crate) struct OrderedStage {
    /// The number of chunks that reached this stage (unused in the first stage, which all chunks reach). Each stage
    /// numbers its chunks itself, because chunks that are done after an earlier stage would leave gaps.
    pub(crate) arrived: u64,
    /// The position of the chunk whose turn it is.
    pub(crate) next: u64,
    /// Waiting chunks. The chunk at `position` is stored at index `position % slots`. All chunks from `next` to the
    /// last chunk hold a slot, so there are at most `slots` of them, and no two share an index.
    pub(crate) waiting: Vec<Option<WaitingChunk>>,
}

/// A chunk that is ready for the parallel part of a stage.
pub(crate) struct ReadyChunk {
    pub(crate) stage: usize,
    /// Its position among the chunks of the stage.
    pub(crate) position: u64,
    pub(crate) number: u64,
    pub(crate) slot: usize,
}

/// The chunks of a job in all stages, under one lock.
pub(crate) struct ChunkQueue {
    pub(crate) next_take: u64,
    /// One past the last chunk, once it is known.
    pub(crate) end: u64,
    /// Whether a chunk is being taken, so that the next chunk must wait.
    pub(crate) is_taking: bool,
    /// Whether an ordered part is running.
    pub(crate) is_committing: bool,
    pub(crate) stages: Vec<OrderedStage>,
    pub(crate) ready: Vec<ReadyChunk>,
    pub(crate) free: Vec<usize>,
    pub(crate) slots_made: usize,
    /// Number of workers that are in a step.
    pub(crate) busy: usize,
    /// Number of workers that wait for work.
    pub(crate) waiting: usize,
    /// The number and error of the lowest chunk that failed.
    pub(crate) failed: Option<(u64, Error)>,
}

/// Creates a list with capacity for `count` items, which must not grow beyond it.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| Error::memory("the chunk pool"))?;
    Ok(items)
}

impl OrderedStage {
    pub(crate) fn new(slots: usize) -> Result<OrderedStage> {
        let mut waiting = with_capacity(slots)?;
        waiting.resize_with(slots, || None);
        Ok(OrderedStage { arrived: 0, next: 0, waiting })
    }

    /// Returns the index of the chunk at `position`.
    pub(crate) fn index(&self, position: u64) -> usize {
        (position % self.waiting.len() as u64) as usize
    }

    /// Stores the chunk at `position` until its turn.
    pub(crate) fn wait(&mut self, position: u64, waiting: WaitingChunk) {
        let index = self.index(if mutated("commit-order") { self.next } else { position });
        self.waiting[index] = Some(waiting);
    }

    /// Returns the number of the chunk whose turn it is, if it has arrived.
    pub(crate) fn due(&self) -> Option<u64> {
        self.waiting[self.index(self.next)].as_ref().map(|waiting| waiting.number)
    }

    /// Takes the chunk whose turn it is, if it has arrived.
    pub(crate) fn take(&mut self) -> Option<WaitingChunk> {
        let index = self.index(self.next);
        self.waiting[index].take()
    }
}

impl ChunkQueue {
    /// Creates a queue in which slot 0 is free.
    pub(crate) fn new(stages: usize, slots: usize) -> Result<ChunkQueue> {
        let mut ordered = with_capacity(stages)?;
        for _ in 0..stages {
            ordered.push(OrderedStage::new(slots)?);
        }
        let mut free = with_capacity(slots)?;
        free.push(0);
        Ok(ChunkQueue {
            next_take: 0,
            end: u64::MAX,
            is_taking: false,
            is_committing: false,
            stages: ordered,
            ready: with_capacity(slots)?,
            free,
            slots_made: 1,
            busy: 0,
            waiting: 0,
            failed: None,
        })
    }

    /// Returns whether a chunk still matters. After a failure only earlier chunks do, because the error of the lowest
    /// chunk wins.
    pub(crate) fn counts(&self, number: u64) -> bool {
        self.failed.as_ref().is_none_or(|(lowest, _)| number < *lowest || mutated("failure-ignored"))
    }

    /// Adds a chunk to a stage other than the first.
    pub(crate) fn arrive(&mut self, stage: usize, number: u64, slot: usize) {
        let position = self.stages[stage].arrived;
        self.stages[stage].arrived += 1;
        self.ready.push(ReadyChunk { stage, position, number, slot });
    }

    /// Returns the latest stage whose next ordered part can run.
    pub(crate) fn committable(&self) -> Option<usize> {
        // The latest stage first, because it frees slots.
        let is_due = |&stage: &usize| self.stages[stage].due().is_some_and(|number| self.counts(number));
        (0..self.stages.len()).rev().find(is_due).filter(|_| !self.is_committing || mutated("commit-overlap"))
    }

    /// Takes the next ordered part.
    pub(crate) fn next_commit(&mut self) -> Option<(usize, WaitingChunk)> {
        let stage = self.committable()?;
        let waiting = self.stages[stage].take()?;
        self.is_committing = true;
        Some((stage, waiting))
    }

    /// Returns the index of the lowest chunk that may be processed. After a failure, later chunks are dropped.
    pub(crate) fn workable(&self) -> Option<usize> {
        let lowest = (0..self.ready.len()).min_by_key(|&index| self.ready[index].number)?;
        self.counts(self.ready[lowest].number).then_some(lowest)
    }

    pub(crate) fn next_ready(&mut self) -> Option<ReadyChunk> {
        self.workable().map(|index| self.ready.swap_remove(index))
    }

    /// Records an error, unless a lower chunk has failed.
    pub(crate) fn fail(&mut self, number: u64, error: Error) {
        if self.failed.as_ref().is_none_or(|(lowest, _)| number < *lowest || mutated("failure-last")) {
            self.failed = Some((number, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::error::ErrorKind;

    /// In `run`, the order of failures depends on the threads.
    #[test]
    fn the_error_of_the_lowest_chunk_is_kept() {
        let mut queue = ChunkQueue::new(1, 4).unwrap();
        for number in [41, 60, 38, 39] {
            queue.fail(number, Error::new(ErrorKind::Internal, format!("chunk {number}")));
        }
        let (number, error) = queue.failed.unwrap();
        assert_eq!((number, error.diagnostic().message.as_str()), (38, "chunk 38"));
    }
}
