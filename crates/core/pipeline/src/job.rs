//! Read jobs with named stages, which move chunks into the model.
//!
//! The scheduler ([`super::run`]) has only numbered stages; this module names them. For write jobs, see
//! [`super::write`].

use super::run::{Job, Phase};
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::Result;

/// A job that reads in chunks. Chunks are parsed in parallel, then placed in order.
///
/// Some jobs have more stages. If parsing depends on earlier chunks, `scan` and `number` come first. Once chunks have a
/// position, `publish` runs in parallel, and then `finish` runs in order. Every method can run on any thread. Ordered
/// methods are called at most once per chunk, and never concurrently.
pub trait ChunkJob: Sync {
    /// A pooled slot for a chunk: its input, its output and all scratch memory.
    type Slot: Send;
    /// The result of the ordered parts.
    type State: Send;

    /// The phase under which traces record parsing.
    const PHASE: Phase = Phase::Parse;
    /// Whether to scan and number chunks before they are parsed.
    const SCANS: bool = false;
    /// Whether to publish chunks after they were placed.
    const PUBLISHES: bool = false;
    /// Whether to finish chunks in order after they were published.
    const FINISHES: bool = false;

    /// Returns whether chunks must be taken sequentially, as from a stream.
    fn takes_in_order(&self) -> bool {
        true
    }

    /// Returns work that idle workers can do if chunks come from a compressed stream.
    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        None
    }

    /// Creates a slot. Slots are reused.
    fn slot(&self) -> Result<Self::Slot>;

    /// Fills the slot with chunk `number`. Returns `false` if there is no such chunk.
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;

    /// Collects the data that later chunks depend on, in parallel.
    fn scan(&self, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// Passes the scanned data on to later chunks, in chunk order.
    fn number(&self, _state: &mut Self::State, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// Converts bytes to values, in parallel.
    fn parse(&self, slot: &mut Self::Slot) -> Result<()>;

    /// Resolves state that crosses chunk boundaries, and assigns positions to the values, in chunk order.
    fn place(&self, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()>;

    /// Stores values in the model, in parallel.
    fn publish(&self, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }

    /// Does the work that remains after publishing, in chunk order.
    fn finish(&self, _state: &mut Self::State, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }
}

/// A stage of a [`ChunkJob`], named after its parallel part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Scan,
    Parse,
    Publish,
}

impl Stage {
    /// Returns the stage with this number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Text, TextChunks};
    use crate::crew::within;
    use crate::options::{Cancel, RunOptions};
    use crate::run::{Crew, run};
    use polyhaul_bytes::{DecompressLimits, GzipMember, GzipParts, Source, decompressed};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Concatenates the text; the first chunk waits until another worker has decoded ahead.
    struct Lines<'a> {
        chunks: TextChunks<'static>,
        ahead: Counted<'a>,
        waits: bool,
    }

    struct Counted<'a>(Option<&'a dyn DecodeAhead>, AtomicUsize);

    impl DecodeAhead for Counted<'_> {
        fn has_work(&self) -> bool {
            self.0.is_some_and(DecodeAhead::has_work)
        }

        fn work(&self) -> bool {
            let is_done = self.0.is_some_and(DecodeAhead::work);
            self.1.fetch_add(usize::from(is_done), Ordering::Relaxed);
            is_done
        }
    }

    impl ChunkJob for Lines<'_> {
        type Slot = Text;
        type State = Vec<u8>;

        fn ahead(&self) -> Option<&dyn DecodeAhead> {
            Some(&self.ahead)
        }

        fn slot(&self) -> Result<Text> {
            Ok(Text::default())
        }

        fn take(&self, number: u64, text: &mut Text) -> Result<bool> {
            let start = Instant::now();
            while self.waits && self.ahead.1.load(Ordering::Relaxed) == 0 && start.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            self.chunks.take(number, text)
        }

        fn parse(&self, _: &mut Text) -> Result<()> {
            Ok(())
        }

        fn place(&self, joined: &mut Vec<u8>, text: &mut Text) -> Result<()> {
            joined.extend_from_slice(text.bytes());
            Ok(())
        }
    }

    /// Returns a member without sizes, and its text.
    fn member() -> (Vec<u8>, Vec<u8>) {
        let mut parts = GzipParts::new(None).unwrap();
        let mut member = GzipMember::default();
        let mut text = Vec::new();
        let mut file = GzipMember::head().to_vec();
        let mut noise = 1u64;
        while file.len() < 5 << 19 {
            let line = |_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("v {} {}\n", noise >> 40, noise >> 60).into_bytes()
            };
            let part: Vec<u8> = (0..30_000).flat_map(line).collect();
            member.add(&part);
            parts.encode(&part, &mut file).unwrap();
            text.extend_from_slice(&part);
        }
        file.extend(member.tail());
        (file, text)
    }

    #[test]
    fn idle_workers_decode_one_gzip_member_ahead() {
        let (file, text) = member();
        let mut damaged = file.clone();
        damaged[file.len() - 8] ^= 1;
        for threads in [1, 2, 8, 16] {
            let read = |file: &[u8]| {
                let limits = DecompressLimits::default().with_threads(threads);
                let source = decompressed(Source::memory(file.to_vec()), &limits).unwrap();
                let ahead = Counted(source.ahead(), AtomicUsize::new(0));
                assert_eq!(ahead.0.is_some(), threads >= 8);
                let chunks = TextChunks::new(source.clone()).cut(100_000, u64::MAX, 0);
                let job = Lines { chunks, ahead, waits: threads >= 8 };
                let mut joined = Vec::new();
                let crew = Crew::new(threads, 8 << 20, 100_000);
                let result = within(&RunOptions::default(), || run(&job, &mut joined, crew, &Cancel::default()));
                assert_eq!(job.ahead.1.into_inner() > 0, threads >= 8);
                (result.map_err(|error| error.to_string()), joined)
            };
            assert!(read(&file) == (Ok(()), text.clone()), "{threads} threads");
            let (result, joined) = read(&damaged);
            assert!(result.as_ref().is_err_and(|error| error.contains("checksum")), "{threads} threads: {result:?}");
            assert!(text.starts_with(&joined), "{threads} threads");
        }
    }
}
