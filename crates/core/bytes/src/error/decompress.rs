//! The error for unreadable compressed data; downcast an `io::Error` to get it.

use crate::codec::Codec;
use std::fmt;
use std::io;

/// The kind of error in compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecompressErrorKind {
    /// The data ends inside a member or frame.
    Truncated,
    /// The data breaks the rules of its format.
    Corrupt,
    /// A checksum, or the size in a gzip trailer, does not match the data.
    Checksum,
    /// Data other than zeros follows the last member or frame.
    TrailingGarbage,
    /// A limit of [`DecompressLimits`](crate::DecompressLimits) was exceeded.
    Limit(DecompressLimit),
    /// The data is valid but needs an unsupported feature, such as a dictionary.
    Unsupported,
}

/// The limit of [`DecompressLimits`](crate::DecompressLimits) that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecompressLimit {
    /// The number of uncompressed bytes.
    Bytes,
    /// The number of uncompressed bytes per compressed byte.
    Ratio,
    /// The memory for a window, a block or an archive's directory, in bytes.
    Memory,
}

/// An error in compressed data and its location. Downcast an `io::Error` to get it.
///
/// ```
/// use polyhaul_bytes::{DecompressError, DecompressErrorKind, DecompressLimits, Source, decompressed};
///
/// # fn main() -> std::io::Result<()> {
/// let cut = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b];
/// let plain = decompressed(Source::memory(cut), &DecompressLimits::default())?;
/// let error = plain.read_next(&mut [0; 64]).unwrap_err();
/// let damage = error.get_ref().and_then(|inner| inner.downcast_ref::<DecompressError>()).unwrap();
/// assert_eq!((damage.kind, damage.offset), (DecompressErrorKind::Truncated, 11));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecompressError {
    /// The format of the data.
    pub codec: Codec,
    /// Offset in the compressed data where reading stopped.
    pub offset: u64,
    /// Number of uncompressed bytes before that offset.
    pub plain_offset: u64,
    /// The kind of error.
    pub kind: DecompressErrorKind,
    /// The message, without the offset.
    pub message: String,
}

impl fmt::Display for DecompressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecompressError { codec, offset, plain_offset, message, .. } = self;
        write!(f, "{message} ({codec} data, byte {offset}; after {plain_offset} decompressed bytes)")
    }
}

impl std::error::Error for DecompressError {}

impl From<DecompressError> for io::Error {
    fn from(error: DecompressError) -> Self {
        let kind = match error.kind {
            DecompressErrorKind::Truncated => io::ErrorKind::UnexpectedEof,
            DecompressErrorKind::Unsupported => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
