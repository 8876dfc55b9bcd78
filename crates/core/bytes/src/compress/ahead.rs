//! One large gzip member on many threads: parts of it are decoded ahead of the reading thread, without the bytes before
//! them.
//!
//! The compressed bytes are divided into spans of one size. Idle threads call [`GzipAhead::work`]: it searches a span
//! for the start of a block and decodes from there to the first block of the next span, with markers for unknown bytes
//! (`inflate/blind.rs`). The reading thread decodes the data in order (`inflate/mod.rs`). At the start of a block, it
//! requests a part that starts at exactly this bit ([`AheadParts::take`]), and copies its bytes, replacing the markers
//! with the bytes before it.
//!
//! From then on the last 32 KiB of this part are known, which is all that the next one needs. Other threads replace
//! markers too, as long as each part starts where the previous one ends ([`AheadParts::set_window`]); otherwise this
//! would be half of the reading thread's work for text.
//!
//! So the search may fail and a part may be incomplete: the reading thread decodes everything else, and finds every
//! error, every end of a member and every checksum itself, at the same offset as without other threads. It waits only
//! for a part that starts at its position, or whose start is still being searched for. A thread that decodes a part
//! does not wait.
//!
//! No thread is started here: a job of `polyhaul-pipeline` calls [`DecodeAhead::work`] when a worker is idle. Memory is
//! bounded by the number of parts and the memory of each, at most half of the memory limit of decompression.
//!
//! Only blocks with dynamic codes are searched for. Files without any, which some compressors write at levels 0 and 1,
//! are decoded by one thread.

use super::inflate::{BlindDecoder, InflatedPart, SymbolBytes};
use super::{Codec, DecompressLimits};
use crate::Source;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// With fewer threads, the reading thread decodes a member alone: decoding text ahead takes about twice the work
/// (`tools/bench/benches/compress.rs`), and parsing keeps a few threads busy anyway.
const MIN_THREADS: usize = 8;
/// The sizes of parts in files. Smaller spans cost more: a search skips half a block, up to 30 kB, in each. Larger
/// spans of text that is compressed to an eighth would not fit, at two bytes per plain byte, into a thread's share of
/// the default memory limit.
const SIZES: PartSizes = PartSizes { span_bytes: 128 << 10, part_bytes: 2 << 20 };
/// A source with fewer spans is decoded by one thread.
const MIN_SPANS: u64 = 16;
/// Maximum expansion of deflate data: a match of 258 bytes takes at least two bits.
const MAX_EXPANSION: u64 = 1032;

/// Work on a compressed stream for threads while another one reads it. The bytes and errors that are read do not depend
/// on it. [`Source::ahead`] returns it.
///
/// ```
/// use polyhaul_bytes::{DecompressLimits, Source, decompressed};
///
/// # fn main() -> std::io::Result<()> {
/// # let packed = [31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 75, 4, 0, 67, 190, 183, 232, 1, 0, 0, 0];
/// let source = decompressed(Source::memory(packed), &DecompressLimits::default().with_threads(8))?;
/// let mut block = vec![0; 1 << 20];
/// let count = std::thread::scope(|scope| {
///     for _ in 1..8 {
///         scope.spawn(|| while source.ahead().is_some_and(|ahead| ahead.work()) {});
///     }
///     source.read_next(&mut block)
/// })?;
/// assert_eq!(block[..count], *b"a");
/// # Ok(())
/// # }
/// ```
pub trait DecodeAhead: Sync {
    /// Returns whether there is a part to decode now.
    fn has_work(&self) -> bool;
    /// Decodes a part, for some milliseconds; returns whether there was one. It does not wait for other threads.
    fn work(&self) -> bool;
}

/// How data is divided into parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartSizes {
    /// Compressed bytes of a span; a part starts in it.
    pub(super) span_bytes: u64,
    /// Maximum memory of a part, which ends earlier if it would need more.
    pub(super) part_bytes: usize,
}

/// Decodes parts of a source.
pub(crate) struct GzipAhead<'a> {
    source: Source<'a>,
    parts: Arc<AheadParts>,
    idle: Mutex<Vec<AheadWorker<'a>>>,
}

/// The state of a thread that decodes parts and replaces their markers.
struct AheadWorker<'a> {
    decoder: BlindDecoder<'a>,
    symbol_bytes: SymbolBytes,
}

/// Parts that are decoded or being decoded, and the position of the reading thread.
pub(super) struct AheadParts {
    sizes: PartSizes,
    spans: u64,
    /// Maximum number of parts at a time.
    max_parts: usize,
    queue: Mutex<PartQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct PartQueue {
    /// The bit that the reading thread has reached.
    bit: u64,
    /// The next span to search.
    next: u64,
    /// Spans with their numbers, in no order. There are few.
    spans: Vec<(u64, AheadSpan)>,
    /// The end of a part in bits, and the bytes before it.
    window: Option<(u64, Vec<u8>)>,
    /// Memory to reuse.
    idle: Vec<InflatedPart>,
    is_waiting: bool,
    /// Plain bytes of the parts that were taken.
    #[cfg(test)]
    taken_bytes: usize,
}

enum AheadSpan {
    /// Being searched, or decoded from this bit.
    Started(Option<u64>),
    Done(InflatedPart),
}

impl<'a> GzipAhead<'a> {
    /// Decodes parts of `source`; returns `None` if one thread should decode it.
    pub(super) fn new(codec: Codec, source: &Source<'a>, limits: &DecompressLimits) -> Option<GzipAhead<'a>> {
        // Each thread has a part, and all parts take at most half of the memory.
        let fitting_parts = usize::try_from(limits.memory_bytes / 2).unwrap_or(usize::MAX) / SIZES.part_bytes;
        let is_parallel = codec == Codec::Gzip && limits.threads >= MIN_THREADS && fitting_parts > 1;
        // While a part is copied, the offset in the compressed data is known only roughly. Limits that can be exceeded
        // there need a decoder that knows it exactly.
        let is_limited =
            limits.bytes < u64::MAX || limits.ratio < MAX_EXPANSION + SIZES.part_bytes as u64 / SIZES.span_bytes;
        let is_large = source.len().is_some_and(|len| len / SIZES.span_bytes >= MIN_SPANS);
        if !is_parallel || is_limited || !is_large || !source.is_local() {
            return None;
        }
        GzipAhead::with_sizes(source, SIZES, fitting_parts.min(limits.threads)).with_capacity(limits.threads)
    }

    pub(super) fn with_sizes(source: &Source<'a>, sizes: PartSizes, max_parts: usize) -> GzipAhead<'a> {
        let spans = source.len().unwrap_or(0).div_ceil(sizes.span_bytes);
        // The reading thread decodes the first span.
        let queue = PartQueue { next: 1, ..PartQueue::default() };
        let parts = AheadParts { sizes, spans, max_parts, queue: Mutex::new(queue), changed: Condvar::new() };
        GzipAhead { source: source.clone(), parts: Arc::new(parts), idle: Mutex::default() }
    }

    /// Reserves space for the maximum number of parts and workers, so that no list grows later; `None` if out of
    /// memory.
    fn with_capacity(self, threads: usize) -> Option<Self> {
        let mut queue = self.parts.lock();
        queue.spans.try_reserve_exact(self.parts.max_parts).ok()?;
        // One more is being read.
        queue.idle.try_reserve_exact(self.parts.max_parts + 1).ok()?;
        drop(queue);
        lock(&self.idle).try_reserve_exact(threads).ok()?;
        Some(self)
    }

    pub(super) fn parts(&self) -> Arc<AheadParts> {
        self.parts.clone()
    }
}

impl DecodeAhead for GzipAhead<'_> {
    fn has_work(&self) -> bool {
        let queue = self.parts.lock();
        self.parts.may_start(&queue) || self.parts.resolvable(&queue).is_some()
    }

    fn work(&self) -> bool {
        let Some(job) = self.parts.next_job() else { return false };
        let idle = lock(&self.idle).pop();
        // The reading thread finds any error again.
        if let Ok(mut worker) = idle.map_or_else(|| AheadWorker::new(&self.source), Ok) {
            _ = worker.run(job);
            lock(&self.idle).push(worker);
        }
        true
    }
}

impl<'a> AheadWorker<'a> {
    fn new(source: &Source<'a>) -> io::Result<Self> {
        Ok(AheadWorker { decoder: BlindDecoder::new(source.clone())?, symbol_bytes: SymbolBytes::new()? })
    }

    fn run(&mut self, mut job: PartJob<'_>) -> io::Result<()> {
        let parts = job.parts;
        if let Some(window) = job.window.take() {
            self.symbol_bytes.window().copy_from_slice(&window);
            parts.set_window(job.part.end_bit(), self.symbol_bytes.after(&job.part)?);
            job.part.resolve(&self.symbol_bytes);
            job.is_done = true;
        } else {
            let start = job.number * parts.sizes.span_bytes;
            let on_block = |bit| parts.found_block(job.number, bit);
            let span = start..start + parts.sizes.span_bytes;
            job.is_done = self.decoder.decode(&span, parts.sizes.part_bytes, &mut job.part, on_block)?;
        }
        Ok(())
    }
}

/// A part being decoded or resolved. Dropping it records the result, even after a panic.
struct PartJob<'p> {
    parts: &'p AheadParts,
    number: u64,
    part: InflatedPart,
    /// The bytes before a part to resolve.
    window: Option<Vec<u8>>,
    is_done: bool,
}

impl Drop for PartJob<'_> {
    fn drop(&mut self) {
        let part = std::mem::take(&mut self.part);
        let mut queue = self.parts.lock();
        // The reading thread may have passed it.
        let started = queue.index_of(self.number).map(|index| queue.spans.swap_remove(index));
        if started.is_some() && self.is_done && part.start_bit() >= queue.bit {
            queue.spans.push((self.number, AheadSpan::Done(part)));
        } else {
            queue.idle.push(part);
        }
        self.parts.wake(&queue);
    }
}

impl AheadParts {
    fn lock(&self) -> MutexGuard<'_, PartQueue> {
        lock(&self.queue)
    }

    fn wake(&self, queue: &PartQueue) {
        if queue.is_waiting {
            self.changed.notify_all();
        }
    }

    fn span_of(&self, bit: u64) -> u64 {
        bit / 8 / self.sizes.span_bytes
    }

    fn may_start(&self, queue: &PartQueue) -> bool {
        let end = self.span_of(queue.bit) + 1 + self.max_parts as u64;
        queue.next < end.min(self.spans) && queue.spans.len() < self.max_parts
    }

    /// Returns the span of a part whose markers can be replaced now.
    fn resolvable(&self, queue: &PartQueue) -> Option<u64> {
        let (bit, _) = queue.window.as_ref()?;
        let number = self.span_of(*bit);
        match queue.span(number)? {
            AheadSpan::Done(part) if part.start_bit() == *bit && !part.is_resolved() => Some(number),
            _ => None,
        }
    }

    /// Returns the job that the reading thread needs first.
    fn next_job(&self) -> Option<PartJob<'_>> {
        let mut queue = self.lock();
        if let Some(number) = self.resolvable(&queue)
            && let Some((bit, window)) = queue.window.take()
            && let Some(index) = queue.index_of(number)
            && let AheadSpan::Done(part) = std::mem::replace(&mut queue.spans[index].1, AheadSpan::Started(Some(bit)))
        {
            return Some(PartJob { parts: self, number, part, window: Some(window), is_done: false });
        }
        if !self.may_start(&queue) {
            return None;
        }
        let number = queue.next;
        queue.next += 1;
        queue.spans.push((number, AheadSpan::Started(None)));
        let part = queue.idle.pop().unwrap_or_default();
        Some(PartJob { parts: self, number, part, window: None, is_done: false })
    }

    /// Records the bytes before `bit`, where a part ends.
    pub(super) fn set_window(&self, bit: u64, window: Vec<u8>) {
        self.lock().window = Some((bit, window));
    }

    /// Records that a block was found at `bit`; returns whether it is still useful.
    fn found_block(&self, number: u64, bit: u64) -> bool {
        let mut queue = self.lock();
        if let Some(index) = queue.index_of(number) {
            queue.spans[index].1 = AheadSpan::Started(Some(bit));
        }
        self.wake(&queue);
        bit >= queue.bit
    }

    /// Takes the part that starts at `bit`, the start of a block, to be [given back](Self::give_back).
    pub(super) fn take(&self, bit: u64) -> Option<InflatedPart> {
        let number = self.span_of(bit);
        let mut queue = self.lock();
        queue.pass(bit, number);
        loop {
            let index = queue.index_of(number)?;
            let should_wait = match &queue.spans[index].1 {
                AheadSpan::Started(start) => start.is_none_or(|start| start == bit),
                AheadSpan::Done(part) if part.start_bit() > bit => false,
                AheadSpan::Done(_) => match queue.spans.swap_remove(index).1 {
                    AheadSpan::Done(part) if part.start_bit() == bit => return Some(part),
                    AheadSpan::Done(part) => {
                        queue.idle.push(part);
                        false
                    }
                    AheadSpan::Started(_) => false,
                },
            };
            if !should_wait {
                return None;
            }
            queue.is_waiting = true;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.is_waiting = false;
        }
    }

    /// Takes back the memory of a part.
    pub(super) fn give_back(&self, part: InflatedPart) {
        let mut queue = self.lock();
        #[cfg(test)]
        (queue.taken_bytes += part.len());
        queue.idle.push(part);
    }
}

impl PartQueue {
    /// Records that the reading thread has reached a bit, in span `number`. It decodes the span itself if no other
    /// thread has started.
    fn pass(&mut self, bit: u64, number: u64) {
        self.bit = bit;
        self.next = self.next.max(number + 1);
        let is_passed = |(other, span): &(u64, AheadSpan)| *other < number && matches!(span, AheadSpan::Done(_));
        while let Some(index) = self.spans.iter().position(is_passed) {
            if let AheadSpan::Done(part) = self.spans.swap_remove(index).1 {
                self.idle.push(part);
            }
        }
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        self.spans.iter().position(|(other, _)| *other == number)
    }

    fn span(&self, number: u64) -> Option<&AheadSpan> {
        self.index_of(number).map(|index| &self.spans[index].1)
    }
}

/// Locks a mutex under which no code panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
