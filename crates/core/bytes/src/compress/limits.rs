//! Limits of decompression, against decompression bombs.

use super::error::{DecodeStop, limit};
use crate::error::DecompressLimit;
use polyhaul_fault::planted;

/// Limits of decompression. Exceeding one is an error of kind
/// [`DecompressErrorKind::Limit`](crate::DecompressErrorKind::Limit).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecompressLimits {
    /// Maximum number of uncompressed bytes. Default: no limit.
    pub bytes: u64,
    /// Maximum number of uncompressed bytes per compressed byte, checked once 64 MiB have been decoded: smaller data,
    /// such as a short file that repeats one line, is harmless at any ratio. Default: 2000, which gzip (1032) and lz4
    /// (255) cannot reach.
    pub ratio: u64,
    /// Maximum memory for a window or a block, in bytes; the directory of an archive may use half of it. If fewer than
    /// 16 groups of members fit, a file is read as a stream. Default: 128 MiB, the largest window that the zstd tool
    /// accepts by default.
    pub memory_bytes: u64,
    /// Maximum number of threads that decode ahead while one reads ([`Source::ahead`](crate::Source::ahead)). With 8 or
    /// more, they decode a large gzip member of a file together. Default: 1.
    pub threads: usize,
}

impl Default for DecompressLimits {
    fn default() -> Self {
        DecompressLimits { bytes: u64::MAX, ratio: 2000, memory_bytes: 128 << 20, threads: 1 }
    }
}

impl DecompressLimits {
    /// Sets [`DecompressLimits::bytes`].
    #[must_use]
    pub fn with_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets [`DecompressLimits::ratio`].
    #[must_use]
    pub fn with_ratio(mut self, ratio: u64) -> Self {
        self.ratio = ratio;
        self
    }

    /// Sets [`DecompressLimits::memory_bytes`].
    #[must_use]
    pub fn with_memory_bytes(mut self, memory_bytes: u64) -> Self {
        self.memory_bytes = memory_bytes;
        self
    }

    /// Sets [`DecompressLimits::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Fails if decoding `packed` bytes into `plain` bytes exceeds a limit.
    pub(super) fn check(&self, packed: u64, plain: u64) -> Result<(), DecodeStop> {
        if plain > self.bytes { Err(self.too_many_bytes()) } else { self.check_ratio(packed, plain) }
    }

    pub(super) fn too_many_bytes(&self) -> DecodeStop {
        limit(DecompressLimit::Bytes, format!("it decompresses to more than {} bytes", self.bytes))
    }

    pub(super) fn check_ratio(&self, packed: u64, plain: u64) -> Result<(), DecodeStop> {
        /// Uncompressed size below which the ratio is not checked.
        const HARMLESS_BYTES: u64 = 64 << 20;
        if plain < HARMLESS_BYTES || plain / self.ratio.max(1) <= packed || planted("ratio-limit") {
            return Ok(());
        }
        let message = format!("it decompresses to more than {} times its size", self.ratio);
        Err(limit(DecompressLimit::Ratio, message))
    }
}
