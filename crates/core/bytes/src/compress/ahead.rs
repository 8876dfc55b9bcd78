//! One large gzip member on many threads: parts of it are decoded ahead of the thread that reads, which need not know
//! what came before them.
//!
//! The compressed bytes are divided into spans of one size. Threads that have nothing better to do call
//! [`Ahead::work`]: it searches a span for the beginning of a block and decodes from there to the first block of the
//! next span, with markers for the bytes that it does not know (`inflate/blind.rs`). The thread that reads decodes the
//! data in order as ever (`inflate/mod.rs`). When it comes to the beginning of a block, it asks for a part that begins
//! at just this bit ([`Parts::take`]), and copies its bytes, with those before it in place of the markers.
//!
//! From then on the last 32 KiB of this part are known, which are all that the next one needs. Replacing the markers is
//! work for the other threads too, as far as each part begins where the one before it ends ([`Parts::know`]); otherwise
//! it would be half of what the reading thread does for text.
//!
//! So the search need not be right, and a part need not be whole: the reading thread decodes what is missing, and finds
//! every error, every end of a member and every checksum itself, at the place where it would have found it alone. It
//! waits only for a part that begins where it is, or whose beginning is still being searched for. A thread that decodes
//! a part does not wait.
//!
//! No thread is started here: a job of `polyhaul-pipeline` calls [`DecodeAhead::work`] when a worker is idle. Memory is
//! bounded by the number of parts and the memory of each, at most half of what decompression may take.
//!
//! Only blocks with codes of their own are searched for. Files without any, as some compressors write them at level 0
//! and 1, are decoded by one thread.

use super::inflate::{Blind, Known, Part};
use super::{Codec, DecompressLimits};
use crate::Source;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// With fewer threads, one member is decoded by the one that reads: parts of text cost about twice the work
/// (`tools/bench/benches/compress.rs`), and parsing keeps a few threads busy anyway.
const LEAST_THREADS: usize = 8;
/// The sizes of parts in files. Smaller spans cost more: a search passes half a block, up to 30 kB, of each. In larger
/// ones, text that is 8 times smaller would not fit, as two bytes per byte, in what a thread has of the default memory.
const SIZES: Sizes = Sizes { span_bytes: 128 << 10, part_bytes: 2 << 20 };
/// A source of fewer spans is decoded by one thread.
const LEAST_SPANS: u64 = 16;
/// No deflate data expands by more: a match of 258 bytes takes at least two bits.
const EXPANSION: u64 = 1032;

/// Work on a compressed stream that threads can do while another one reads it. What is read does not depend on it,
/// errors included. [`Source::ahead`] returns it.
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
    /// Whether there is a part to decode now.
    fn has_work(&self) -> bool;
    /// Decodes a part, for some milliseconds; returns whether there was one. It waits for no other thread.
    fn work(&self) -> bool;
}

/// How data is divided into parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Compressed bytes in whose range a part begins.
    pub(super) span_bytes: u64,
    /// The memory that a part may take. A part with more ends earlier.
    pub(super) part_bytes: usize,
}

/// Decodes parts of a source.
pub(crate) struct Ahead<'a> {
    source: Source<'a>,
    parts: Arc<Parts>,
    idle: Mutex<Vec<Worker<'a>>>,
}

/// What a thread needs to decode parts, and to replace their markers.
struct Worker<'a> {
    blind: Blind<'a>,
    known: Known,
}

/// Parts that are decoded, or being decoded, and the place of the thread that takes them.
pub(super) struct Parts {
    sizes: Sizes,
    spans: u64,
    /// How many parts may exist at a time.
    most: usize,
    line: Mutex<Line>,
    changed: Condvar,
}

#[derive(Default)]
struct Line {
    /// The bit that the reading thread has come to.
    bit: u64,
    /// The span that is begun next.
    next: u64,
    /// With their numbers, in no order. There are few.
    spans: Vec<(u64, Span)>,
    /// A bit at which a part ended, and the bytes before it.
    known: Option<(u64, Vec<u8>)>,
    /// Memory to be used again.
    idle: Vec<Part>,
    is_waiting: bool,
    /// Plain bytes of the parts that were taken.
    #[cfg(test)]
    taken_bytes: usize,
}

enum Span {
    /// It is being searched, or decoded from a bit on.
    Begun(Option<u64>),
    Done(Part),
}

impl<'a> Ahead<'a> {
    /// Decodes parts of `source`; `None` if it is to be decoded by one thread.
    pub(super) fn new(codec: Codec, source: &Source<'a>, limits: &DecompressLimits) -> Option<Ahead<'a>> {
        // Each thread has a part, and half of the memory holds them.
        let backed = usize::try_from(limits.memory_bytes / 2).unwrap_or(usize::MAX) / SIZES.part_bytes;
        let is_wanted = codec == Codec::Gzip && limits.threads >= LEAST_THREADS && backed > 1;
        // While a part is copied, the place in the compressed data is known only roughly. Limits that can be exceeded
        // there need a decoder that knows it.
        let is_limited =
            limits.bytes < u64::MAX || limits.ratio < EXPANSION + SIZES.part_bytes as u64 / SIZES.span_bytes;
        let is_large = source.len().is_some_and(|len| len / SIZES.span_bytes >= LEAST_SPANS);
        if !is_wanted || is_limited || !is_large || !source.is_local() {
            return None;
        }
        Ahead::with_sizes(source, SIZES, backed.min(limits.threads)).with_room(limits.threads)
    }

    pub(super) fn with_sizes(source: &Source<'a>, sizes: Sizes, most: usize) -> Ahead<'a> {
        let spans = source.len().unwrap_or(0).div_ceil(sizes.span_bytes);
        // The first span is decoded by the thread that reads.
        let line = Line { next: 1, ..Line::default() };
        let parts = Parts { sizes, spans, most, line: Mutex::new(line), changed: Condvar::new() };
        Ahead { source: source.clone(), parts: Arc::new(parts), idle: Mutex::default() }
    }

    /// Makes room for all parts and workers that there can be, so that no list grows later; `None` without memory.
    fn with_room(self, threads: usize) -> Option<Self> {
        let mut line = self.parts.lock();
        line.spans.try_reserve_exact(self.parts.most).ok()?;
        // One more is being read.
        line.idle.try_reserve_exact(self.parts.most + 1).ok()?;
        drop(line);
        lock(&self.idle).try_reserve_exact(threads).ok()?;
        Some(self)
    }

    pub(super) fn parts(&self) -> Arc<Parts> {
        self.parts.clone()
    }
}

impl DecodeAhead for Ahead<'_> {
    fn has_work(&self) -> bool {
        let line = self.parts.lock();
        self.parts.may_begin(&line) || self.parts.resolvable(&line).is_some()
    }

    fn work(&self) -> bool {
        let Some(job) = self.parts.next_job() else { return false };
        let idle = lock(&self.idle).pop();
        // An error is for the reading thread to find.
        if let Ok(mut worker) = idle.map_or_else(|| Worker::new(&self.source), Ok) {
            _ = worker.run(job);
            lock(&self.idle).push(worker);
        }
        true
    }
}

impl<'a> Worker<'a> {
    fn new(source: &Source<'a>) -> io::Result<Self> {
        Ok(Worker { blind: Blind::new(source.clone())?, known: Known::new()? })
    }

    fn run(&mut self, mut job: PartJob<'_>) -> io::Result<()> {
        let parts = job.parts;
        if let Some(window) = job.window.take() {
            self.known.window().copy_from_slice(&window);
            parts.know(job.part.end_bit(), self.known.after(&job.part)?);
            job.part.resolve(&self.known);
            job.is_done = true;
        } else {
            let begin = job.number * parts.sizes.span_bytes;
            let found = |bit| parts.found(job.number, bit);
            let span = begin..begin + parts.sizes.span_bytes;
            job.is_done = self.blind.decode(&span, parts.sizes.part_bytes, &mut job.part, found)?;
        }
        Ok(())
    }
}

/// A part that is being decoded, or resolved. Dropping it records the result, even if that is a panic.
struct PartJob<'p> {
    parts: &'p Parts,
    number: u64,
    part: Part,
    /// The bytes before a part that is to be resolved.
    window: Option<Vec<u8>>,
    is_done: bool,
}

impl Drop for PartJob<'_> {
    fn drop(&mut self) {
        let part = std::mem::take(&mut self.part);
        let mut line = self.parts.lock();
        // The reading thread may have passed it.
        let begun = line.place_of(self.number).map(|at| line.spans.swap_remove(at));
        if begun.is_some() && self.is_done && part.start_bit() >= line.bit {
            line.spans.push((self.number, Span::Done(part)));
        } else {
            line.idle.push(part);
        }
        self.parts.wake(&line);
    }
}

impl Parts {
    fn lock(&self) -> MutexGuard<'_, Line> {
        lock(&self.line)
    }

    fn wake(&self, line: &Line) {
        if line.is_waiting {
            self.changed.notify_all();
        }
    }

    fn span_of(&self, bit: u64) -> u64 {
        bit / 8 / self.sizes.span_bytes
    }

    fn may_begin(&self, line: &Line) -> bool {
        let end = self.span_of(line.bit) + 1 + self.most as u64;
        line.next < end.min(self.spans) && line.spans.len() < self.most
    }

    /// The span of a part without bytes for its markers, if these are known.
    fn resolvable(&self, line: &Line) -> Option<u64> {
        let (bit, _) = line.known.as_ref()?;
        let number = self.span_of(*bit);
        match line.span(number)? {
            Span::Done(part) if part.start_bit() == *bit && !part.is_resolved() => Some(number),
            _ => None,
        }
    }

    /// What the reading thread needs first.
    fn next_job(&self) -> Option<PartJob<'_>> {
        let mut line = self.lock();
        if let Some(number) = self.resolvable(&line)
            && let Some((bit, window)) = line.known.take()
            && let Some(at) = line.place_of(number)
            && let Span::Done(part) = std::mem::replace(&mut line.spans[at].1, Span::Begun(Some(bit)))
        {
            return Some(PartJob { parts: self, number, part, window: Some(window), is_done: false });
        }
        if !self.may_begin(&line) {
            return None;
        }
        let number = line.next;
        line.next += 1;
        line.spans.push((number, Span::Begun(None)));
        let part = line.idle.pop().unwrap_or_default();
        Some(PartJob { parts: self, number, part, window: None, is_done: false })
    }

    /// The bytes before `bit`, where a part ends, are known.
    pub(super) fn know(&self, bit: u64, window: Vec<u8>) {
        self.lock().known = Some((bit, window));
    }

    /// A block was found at `bit`; returns whether it is still of use.
    fn found(&self, number: u64, bit: u64) -> bool {
        let mut line = self.lock();
        if let Some(at) = line.place_of(number) {
            line.spans[at].1 = Span::Begun(Some(bit));
        }
        self.wake(&line);
        bit >= line.bit
    }

    /// The part that begins at `bit`, the beginning of a block, to be [given back](Self::give_back).
    pub(super) fn take(&self, bit: u64) -> Option<Part> {
        let number = self.span_of(bit);
        let mut line = self.lock();
        line.pass(bit, number);
        loop {
            let at = line.place_of(number)?;
            let is_wanted = match &line.spans[at].1 {
                Span::Begun(start) => start.is_none_or(|start| start == bit),
                Span::Done(part) if part.start_bit() > bit => false,
                Span::Done(_) => match line.spans.swap_remove(at).1 {
                    Span::Done(part) if part.start_bit() == bit => return Some(part),
                    Span::Done(part) => {
                        line.idle.push(part);
                        false
                    }
                    Span::Begun(_) => false,
                },
            };
            if !is_wanted {
                return None;
            }
            line.is_waiting = true;
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.is_waiting = false;
        }
    }

    /// Takes back the memory of a part.
    pub(super) fn give_back(&self, part: Part) {
        let mut line = self.lock();
        #[cfg(test)]
        (line.taken_bytes += part.len());
        line.idle.push(part);
    }
}

impl Line {
    /// The reading thread has come to a bit, in span `number`. It decodes the span itself if nobody has begun with it.
    fn pass(&mut self, bit: u64, number: u64) {
        self.bit = bit;
        self.next = self.next.max(number + 1);
        while let Some(at) = self.spans.iter().position(|(own, span)| *own < number && matches!(span, Span::Done(_))) {
            if let Span::Done(part) = self.spans.swap_remove(at).1 {
                self.idle.push(part);
            }
        }
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        self.spans.iter().position(|(own, _)| *own == number)
    }

    fn span(&self, number: u64) -> Option<&Span> {
        self.place_of(number).map(|at| &self.spans[at].1)
    }
}

/// Nothing panics while a lock is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
