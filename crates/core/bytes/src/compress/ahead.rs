//! Decodes a large gzip member on many threads: parts of it are decoded ahead of the reading thread, without the bytes
//! before them.
//!
//! The compressed bytes are divided into spans of equal size. Idle threads call [`GzipAhead::work`], which searches a
//! span for the start of a block and decodes from there to the first block of the next span, with markers for unknown
//! bytes (`inflate/blind.rs`). The reading thread decodes the data in order (`inflate/mod.rs`). At the start of each
//! block, it requests a part that starts at exactly this bit ([`AheadParts::take`]), and copies its bytes, replacing
//! the markers with the bytes before the part.
//!
//! From then on, the last 32 KiB of this part are known, which is all that the next part needs. Other threads replace
//! markers too, as long as each part starts where the previous one ends ([`AheadParts::set_window`]). Without their
//! help, replacing markers would be half of the reading thread's work for text.
//!
//! The search may fail, and a part may be incomplete: the reading thread decodes the rest itself. It also finds every
//! error, member end and checksum itself, at the same offset as without other threads. It waits only for a part that
//! starts at its position, or for a part whose start is still being searched for. Threads that decode parts do not
//! wait.
//!
//! This module starts no threads: a job of `polyhaul-pipeline` calls [`DecodeAhead::work`] when a worker is idle. The
//! number of parts and the memory of each are limited, in total to at most half of the memory limit of decompression.
//!
//! The search finds only blocks with dynamic codes. Files without such blocks, which some compressors write at levels 0
//! and 1, are decoded by one thread.

use super::inflate::{AheadParts, BlindDecoder, PartJob, PartSizes, SymbolBytes};
use super::limits::DecompressLimits;
use crate::codec::Codec;
use crate::source::{DecodeAhead, Source};
use crate::sync::{Mutex, MutexGuard};
use std::io;
use std::sync::{Arc, PoisonError};

/// Minimum number of threads for decoding ahead. With fewer threads, the reading thread decodes a member alone:
/// decoding text ahead is about twice the work (`tools/bench/benches/compress.rs`), and parsing keeps a few threads
/// busy anyway.
const MIN_THREADS: usize = 8;
/// The sizes of parts. Smaller spans cost more, because the search skips half a block, up to 30 kB, in each span. Parts
/// of larger spans, at two bytes per uncompressed byte, would exceed a thread's share of the default memory limit for
/// text that is compressed to an eighth of its size.
const SIZES: PartSizes = PartSizes { span_bytes: 128 << 10, part_bytes: 2 << 20 };
/// Minimum number of spans; smaller sources are decoded by one thread.
const MIN_SPANS: u64 = 16;
/// Maximum expansion of deflate data: a match of 258 bytes takes at least two bits.
const MAX_EXPANSION: u64 = 1032;

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

impl<'a> GzipAhead<'a> {
    /// Creates the decoder for parts of `source`. Returns `None` if one thread should decode the source, or if out of
    /// memory.
    pub(super) fn new(codec: Codec, source: &Source<'a>, limits: &DecompressLimits) -> Option<GzipAhead<'a>> {
        // Each thread works on one part, and all parts together use at most half of the memory limit.
        let fitting_parts = usize::try_from(limits.memory_bytes / 2).unwrap_or(usize::MAX) / SIZES.part_bytes;
        let is_parallel = codec == Codec::Gzip && limits.threads >= MIN_THREADS && fitting_parts > 1;
        // While a part is copied, the offset in the compressed data is only known roughly. Limits that can be exceeded
        // within a part need a decoder that knows the offset exactly.
        let is_limited =
            limits.bytes < u64::MAX || limits.ratio < MAX_EXPANSION + SIZES.part_bytes as u64 / SIZES.span_bytes;
        let is_large = source.len().is_some_and(|len| len / SIZES.span_bytes >= MIN_SPANS);
        if !is_parallel || is_limited || !is_large || !source.is_local() {
            return None;
        }
        GzipAhead::with_sizes(source, SIZES, fitting_parts.min(limits.threads)).with_capacity(limits.threads)
    }

    pub(super) fn with_sizes(source: &Source<'a>, sizes: PartSizes, max_parts: usize) -> GzipAhead<'a> {
        let parts = AheadParts::new(source.len().unwrap_or(0), sizes, max_parts);
        GzipAhead { source: source.clone(), parts: Arc::new(parts), idle: Mutex::default() }
    }

    /// Reserves space for the maximum number of parts and workers, so that no list grows later. Returns `None` if out
    /// of memory.
    fn with_capacity(self, threads: usize) -> Option<Self> {
        self.parts.reserve()?;
        self.idle().try_reserve_exact(threads).ok()?;
        Some(self)
    }

    /// Locks the idle workers. No code under the lock panics.
    fn idle(&self) -> MutexGuard<'_, Vec<AheadWorker<'a>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn parts(&self) -> Arc<AheadParts> {
        self.parts.clone()
    }
}

impl DecodeAhead for GzipAhead<'_> {
    fn has_work(&self) -> bool {
        self.parts.has_job()
    }

    fn work(&self) -> bool {
        let Some(job) = self.parts.next_job() else { return false };
        let idle = self.idle().pop();
        // The reading thread will find the same error.
        if let Ok(mut worker) = idle.map_or_else(|| AheadWorker::new(&self.source), Ok) {
            _ = worker.run(job);
            self.idle().push(worker);
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

#[cfg(test)]
mod tests;
