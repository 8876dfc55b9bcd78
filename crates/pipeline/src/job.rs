//! Read jobs with named stages, which move a chunk into the model.
//!
//! The scheduler ([`super::run`]) only knows numbered stages; this module names them. Write jobs are in
//! [`super::write`].

use super::run::{Job, Phase};
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::Result;

/// A job that reads in chunks. Each is parsed in parallel, then placed in the order of the chunks.
///
/// Some jobs do more. They `scan` and `number` chunks first if parsing depends on earlier chunks; they `publish` chunks
/// in parallel once these have a position, and `finish` in order after that. Every method can run on any thread;
/// ordered ones are called once per chunk, and never concurrently.
pub trait ChunkJob: Sync {
    /// A pooled place for a chunk: its input, its output and all scratch memory.
    type Slot: Send;
    /// The result of the ordered parts.
    type State: Send;

    /// The phase of parsing in traces.
    const PHASE: Phase = Phase::Parse;
    /// Whether chunks are scanned and numbered before they are parsed.
    const SCANS: bool = false;
    /// Whether chunks are published after they were placed.
    const PUBLISHES: bool = false;
    /// Whether chunks are finished in order after they were published.
    const FINISHES: bool = false;

    /// Whether chunks must be taken one after another, as from a stream.
    fn takes_in_order(&self) -> bool {
        true
    }

    /// What idle workers can do for chunks that will be taken, if these come from a compressed stream.
    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        None
    }

    /// Creates a slot; slots are reused.
    fn slot(&self) -> Result<Self::Slot>;

    /// Fills the slot with chunk `number`; returns `false` if there is none.
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;

    /// In parallel: finds what later chunks depend on.
    fn scan(&self, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// In order: passes that on.
    fn number(&self, _state: &mut Self::State, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// In parallel: bytes to values.
    fn parse(&self, slot: &mut Self::Slot) -> Result<()>;

    /// In order: resolves state that crosses chunk boundaries, and assigns positions to the values.
    fn place(&self, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()>;

    /// In parallel: values to their places.
    fn publish(&self, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// In order: the remaining work.
    fn finish(&self, _state: &mut Self::State, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }
}

/// A stage of a [`ChunkJob`], by its parallel part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Scan,
    Parse,
    Publish,
}

impl Stage {
    /// The stage with this number.
    fn from_number<J: ChunkJob>(number: usize) -> Stage {
        match number.checked_sub(usize::from(J::SCANS)) {
            None => Stage::Scan,
            Some(0) => Stage::Parse,
            Some(_) => Stage::Publish,
        }
    }
}

impl<J: ChunkJob> Job for J {
    type Slot = J::Slot;
    type State = J::State;

    fn stages(&self) -> usize {
        1 + usize::from(J::SCANS) + usize::from(J::PUBLISHES)
    }

    fn takes_in_order(&self) -> bool {
        ChunkJob::takes_in_order(self)
    }

    fn ends_in_order(&self) -> bool {
        !J::PUBLISHES || J::FINISHES
    }

    fn slot(&self) -> Result<Self::Slot> {
        ChunkJob::slot(self)
    }

    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool> {
        ChunkJob::take(self, number, slot)
    }

    fn work(&self, stage: usize, slot: &mut Self::Slot) -> Result<()> {
        match Stage::from_number::<J>(stage) {
            Stage::Scan => self.scan(slot),
            Stage::Parse => self.parse(slot),
            Stage::Publish => self.publish(slot),
        }
    }

    fn commit(&self, stage: usize, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()> {
        match Stage::from_number::<J>(stage) {
            Stage::Scan => self.number(state, slot),
            Stage::Parse => self.place(state, slot),
            Stage::Publish => self.finish(state, slot),
        }
    }

    fn has_work_ahead(&self) -> bool {
        self.ahead().is_some_and(DecodeAhead::has_work)
    }

    fn work_ahead(&self) {
        self.ahead().map(DecodeAhead::work);
    }

    fn phase(&self, stage: usize) -> Phase {
        if Stage::from_number::<J>(stage) == Stage::Publish { Phase::Build } else { J::PHASE }
    }
}
