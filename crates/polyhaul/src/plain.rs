//! Decompressed sources, and checks shared by all readers.
//!
//! Recognizes compression by content only; warns if the file name wrongly suggests compression.

use crate::options::ReadOptions;
use polyhaul_bytes::{BLOCK_BYTES, Codec, DecompressLimits, Source, decompressed};
use polyhaul_insight::Moved;
use polyhaul_model::error::{Diagnostic, Error, Place, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress};
use polyhaul_pipeline::read::{Garbage, ask, read_part};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Step size for reading a stream into memory.
const STEP_BYTES: usize = 16 * BLOCK_BYTES;

/// Chunk size if one thread decompresses for the other threads: each handover has a small cost.
const CHUNK_BYTES: usize = 8 * BLOCK_BYTES;

/// Decompressed bytes of an input.
pub(crate) struct Plain {
    source: Source<'static>,
    /// Codec suggested by the name but not found in the content.
    promised: Option<Codec>,
    /// Garbage after the compressed data, if it is not an error.
    garbage: Option<Garbage>,
}

impl Plain {
    /// Decompresses a source; `name` is the name of its file.
    pub(crate) fn new(source: &Source<'static>, name: &str, options: &ReadOptions) -> Result<Plain> {
        let source = ask(source, || decompressed(source.clone(), &limits(options)))?;
        let promised = Codec::of_name(name).map(|(codec, _)| codec).filter(|&codec| source.codec() != Some(codec));
        let garbage = (!options.raises()).then(Garbage::default);
        Ok(Plain { source, promised, garbage })
    }

    /// Source of the decompressed bytes.
    pub(crate) fn source(&self) -> &Source<'static> {
        &self.source
    }

    /// Copies the first bytes without consuming them; returns their number.
    pub(crate) fn peek(&self, out: &mut [u8]) -> Result<usize> {
        ask(&self.source, || self.source.peek(out))
    }

    /// Garbage after the compressed data, if it is not an error.
    pub(crate) fn garbage(&self) -> Option<&Garbage> {
        self.garbage.as_ref()
    }

    /// Report entry for the bytes read so far.
    pub(crate) fn moved(&self, format: &'static str) -> Moved {
        let read = |source: &Source<'_>| source.counters().snapshot().bytes;
        // Sizes of members are read before the members are decoded; do not count these bytes twice.
        let packed = |source: &Source<'_>| read(source).min(source.len().unwrap_or(u64::MAX));
        let moved = Moved::new(format, self.source.compressed().map_or_else(|| read(&self.source), packed));
        match self.source.codec() {
            Some(codec) if self.source.is_positioned() => moved.compressed(codec, read(&self.source)),
            Some(codec) => moved.streamed(codec, read(&self.source)),
            None => moved,
        }
    }

    /// Returns an error if the file changed since it was opened.
    pub(crate) fn changed(&self) -> Option<Error> {
        let change = self.source.check_unchanged().err()?;
        Some(Error::io("read", self.source.name(), change))
    }

    /// Warns if the content does not have the compression that the name suggests.
    pub(crate) fn note_name(&self, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
        let Some(promised) = self.promised else { return Ok(()) };
        let how = match self.source.codec() {
            Some(codec) => format!("read as {codec}"),
            None => "read as uncompressed".to_owned(),
        };
        let message = format!("the file name implies {promised}, but the content is not {promised}; {how}");
        let place = Place { file: self.source.name().into(), ..Place::default() };
        warnings.note(options.faults(), "not-compressed", Diagnostic { place, ..Diagnostic::new(message) })
    }

    /// Warns about garbage after the compressed data. Call it after reading everything.
    pub(crate) fn note_garbage(&self, warnings: &mut Warnings) {
        if let Some(diagnostic) = self.garbage.as_ref().and_then(Garbage::found) {
            warnings.push("trailing-garbage", diagnostic.clone());
        }
    }

    /// Options for parsing these bytes: uses the pieces of the source as chunks, and reports progress in compressed
    /// bytes.
    pub(crate) fn options(&self, options: &ReadOptions) -> ParseOptions {
        let mut options = options.parse_options();
        let run = &mut options.run;
        let Some(compressed) = self.source.compressed() else {
            let claimed = self.source.claimed_len();
            if self.source.len().is_none()
                && claimed.is_some()
                && let Some(progress) = run.progress.take()
            {
                run.progress = Some(Progress(Arc::new(move |bytes, _| (progress.0)(bytes, claimed))));
            }
            return options;
        };
        run.chunk_bytes = self.source.piece_bytes().or(run.chunk_bytes).or(Some(CHUNK_BYTES));
        if self.source.ahead().is_some() {
            // The other half of the memory holds data that is decompressed ahead.
            run.memory_limit /= 2;
            run.chunk_bytes = run.chunk_bytes.map(|bytes| bytes.min(CHUNK_BYTES / 2));
        }
        if let Some(progress) = run.progress.take() {
            let counters = compressed.counters().clone();
            let size = compressed.claimed_len();
            let plain_size = self.source.len();
            let outside = move |plain_bytes: u64| match (size, plain_size) {
                // Splitting at lines reads the start of a piece more than once.
                (Some(size), Some(plain_size)) => {
                    (u128::from(size) * u128::from(plain_bytes) / u128::from(plain_size.max(1))) as u64
                }
                _ => counters.snapshot().bytes.min(size.unwrap_or(u64::MAX)),
            };
            run.progress = Some(Progress(Arc::new(move |bytes, _| (progress.0)(outside(bytes), size))));
        }
        options
    }

    /// Reads all bytes. Returns `None` if there are more than `most_bytes`. `what` describes the bytes in an
    /// out-of-memory error.
    pub(crate) fn read_all(&self, most_bytes: u64, cancel: &Cancel, what: &str) -> Result<Option<Vec<u8>>> {
        if self.source.len().is_some_and(|len| len > most_bytes) {
            return Ok(None);
        }
        let bytes = read_all(&self.source, self.garbage(), most_bytes, cancel, what)?;
        ask(&self.source, || self.source.check_unchanged())?;
        Ok(bytes)
    }
}

/// Opens a regular file, limited to the rate in the options.
pub(crate) fn regular(path: &Path, options: &ReadOptions) -> io::Result<Source<'static>> {
    Source::open_regular(path).map(|source| options.run.paced_source(source))
}

/// Limits for decompression.
pub(crate) fn limits(options: &ReadOptions) -> DecompressLimits {
    DecompressLimits::default()
        .with_bytes(options.limits.decompressed_bytes)
        .with_ratio(options.limits.decompressed_ratio)
        .with_memory_bytes(options.run.memory_limit)
        .with_threads(options.run.worker_threads())
}

/// Reads all bytes of a source. Returns `None` if there are more than `most_bytes`. `what` describes the bytes in an
/// out-of-memory error.
pub(crate) fn read_all(
    source: &Source<'_>,
    garbage: Option<&Garbage>,
    most_bytes: u64,
    cancel: &Cancel,
    what: &str,
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut end = 0;
    // Small sources need no more memory than their size.
    let step_bytes =
        source.len().map_or(STEP_BYTES, |len| usize::try_from(len + 1).map_or(STEP_BYTES, |len| len.min(STEP_BYTES)));
    loop {
        cancel.check()?;
        if bytes.len() == end {
            bytes.try_reserve(step_bytes).map_err(|_| Error::memory(what))?;
            bytes.resize(end + step_bytes, 0);
        }
        let count = read_part(source, garbage, &mut bytes[end..])?;
        end += count;
        if count == 0 {
            bytes.truncate(end);
            return Ok(Some(bytes));
        }
        if end as u64 > most_bytes {
            return Ok(None);
        }
    }
}
