//! The interface between a source of decoded bytes and its decoder.

use std::io;
use std::ops::Range;

/// Decodes a compressed stream on other threads while one thread reads it. The reading thread gets the same bytes and
/// errors with or without it. See [`Source::ahead`](super::Source::ahead).
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
    /// Returns whether there is work to do now.
    fn has_work(&self) -> bool;
    /// Decodes a part, or completes one, which takes a few milliseconds. Returns whether there was anything to do. Does
    /// not wait for other threads.
    fn work(&self) -> bool;
}

/// Bytes that any number of threads read at any offset, in pieces that are best read as a whole. The methods are like
/// [`Source`](super::Source)'s.
pub(crate) trait PlainPieces: Send + Sync {
    fn len(&self) -> u64;
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize>;
    fn piece(&self, number: u64) -> Option<Range<u64>>;
    fn piece_bytes(&self) -> usize;
    fn check_piece(&self, number: u64, is_whole: bool) -> io::Result<()>;
}
