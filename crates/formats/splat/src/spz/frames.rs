//! Compresses streams of records as zstd frames: the body of SPZ version 4, whose table has the compressed sizes.
//!
//! A stream is split into frames of a fixed size, so that any number of threads produces the same bytes; readers decode
//! consecutive frames as one. Everything is compressed before anything is written, because the table comes first.
//! Frames are kept as long as they fit in the memory budget. All other frames are compressed again when they are
//! written, so that files of any size need the memory of only a few frames.

use crate::pages::{RecordPages, RecordSlot, RecordStream};
use polyhaul_bytes::{Codec, Encoder, MEMBER_BYTES};
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::{Crew, Phase, span};
use polyhaul_pipeline::write::{Compression, Pages, encoder};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Approximate bytes of memory for compressing a frame: uncompressed data, compressed data, and the compressor's
/// tables.
pub(super) const SLOT_BYTES: usize = 3 * MEMBER_BYTES;

/// Compressed streams.
pub(super) struct SpzFrames<'a> {
    records: RecordPages<'a>,
    level: Option<i32>,
    /// Compressed frames. A frame that is not kept is empty.
    packed: Vec<Mutex<Vec<u8>>>,
    /// Number of bytes left for keeping frames.
    budget: AtomicU64,
    /// Compressed size of each stream in bytes.
    sizes: Vec<AtomicU64>,
}

/// Buffers for one frame.
#[derive(Default)]
pub(super) struct FrameSlot {
    number: usize,
    records: RecordSlot,
    encoder: Option<Encoder>,
    packed: Vec<u8>,
}

impl<'a> SpzFrames<'a> {
    /// Compresses the records of `count` splats.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](polyhaul_model::error::ErrorKind::Usage) for a level that zstd does not support; `Memory`;
    /// `Cancelled`.
    pub(super) fn new(
        streams: &'a [RecordStream<'a>],
        count: usize,
        level: Option<i32>,
        run: &RunOptions,
    ) -> Result<SpzFrames<'a>> {
        // Report an unsupported level even if there are no splats.
        encoder(Compression { codec: Codec::Zstd, level })?;
        let records = RecordPages::new(streams, count, MEMBER_BYTES);
        let pages = records.pages();
        let mut packed = Vec::new();
        packed.try_reserve_exact(pages)?;
        packed.resize_with(pages, Mutex::default);
        // Half of the memory is for kept frames, the other half for the buffers of threads.
        let budget = AtomicU64::new(run.memory_limit / 2);
        let sizes = streams.iter().map(|_| AtomicU64::new(0)).collect();
        let frames = SpzFrames { records, level, packed, budget, sizes };
        let threads = Crew::new(run.worker_threads(), run.memory_limit / 2, SLOT_BYTES).threads;
        try_for_each_item(threads, &run.cancel, 0..pages, FrameSlot::default, |slot, number| {
            frames.take(number as u64, slot)?;
            frames.make(slot)?;
            frames.keep(slot)
        })?;
        Ok(frames)
    }

    /// Returns the compressed and uncompressed sizes in bytes of each stream that is not empty.
    pub(super) fn sizes(&self) -> impl Iterator<Item = [u64; 2]> {
        let plain = self.records.streams.iter().map(|stream| stream.bytes as u64 * self.records.count as u64);
        let packed = self.sizes.iter().map(|size| size.load(Ordering::Relaxed));
        packed.zip(plain).filter(|(_, plain)| *plain > 0).map(|(packed, plain)| [packed, plain])
    }

    /// Returns the number of clamped values.
    pub(super) fn clamped(&self) -> u64 {
        self.records.clamped.load(Ordering::Relaxed)
    }

    /// Returns the number of frames.
    pub(super) fn count(&self) -> u64 {
        self.packed.len() as u64
    }

    /// Compresses the frame of a slot.
    fn make(&self, slot: &mut FrameSlot) -> Result<()> {
        self.records.format(&mut slot.records)?;
        let _span = span(Phase::Compress);
        let encoder = match &mut slot.encoder {
            Some(encoder) => encoder,
            none => none.insert(encoder(Compression { codec: Codec::Zstd, level: self.level })?),
        };
        slot.packed.clear();
        let plain = self.records.bytes(&slot.records);
        encoder.encode(plain, &mut slot.packed).map_err(|_| Error::memory("compressed data"))
    }

    /// Adds the size of a slot's frame to the size of its stream, and keeps the frame if the budget allows it.
    fn keep(&self, slot: &FrameSlot) -> Result<()> {
        let bytes = slot.packed.len() as u64;
        if let Some(size) = self.sizes.get(slot.records.stream) {
            size.fetch_add(bytes, Ordering::Relaxed);
        }
        // Claim memory for the frame if enough is left.
        let left = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if left.is_ok()
            && let Some(frame) = self.packed.get(slot.number)
        {
            let mut frame = frame.lock().unwrap_or_else(PoisonError::into_inner);
            frame.try_reserve_exact(slot.packed.len())?;
            frame.extend_from_slice(&slot.packed);
        }
        Ok(())
    }
}

impl Pages for SpzFrames<'_> {
    type Slot = FrameSlot;
    type State = ();

    fn slot(&self) -> Result<FrameSlot> {
        Ok(FrameSlot::default())
    }

    fn take(&self, number: u64, slot: &mut FrameSlot) -> Result<bool> {
        slot.number = usize::try_from(number).unwrap_or(usize::MAX);
        self.records.take(number, &mut slot.records)
    }

    fn format(&self, slot: &mut FrameSlot) -> Result<()> {
        if let Some(frame) = self.packed.get(slot.number) {
            // Taken out, so that a kept frame is freed once it has been written.
            slot.packed = std::mem::take(&mut frame.lock().unwrap_or_else(PoisonError::into_inner));
        }
        // A compressed frame is never empty, so this one was not kept. Compressing it again must yield the size in the
        // table.
        if slot.packed.is_empty() { self.make(slot) } else { Ok(()) }
    }

    fn bytes<'a>(&'a self, slot: &'a FrameSlot) -> &'a [u8] {
        &slot.packed
    }
}
