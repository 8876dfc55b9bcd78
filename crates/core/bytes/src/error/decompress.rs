//! The error for unreadable compressed data, which users find by downcasting.

use crate::codec::Codec;
use std::fmt;
use std::io;

/// The kind of an error in compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecompressErrorKind {
    /// The data ends inside a member or frame.
    Truncated,
    /// The data breaks the rules of its format.
    Corrupt,
    /// The decoded data does not match its checksum.
    Checksum,
    /// Other data follows the last member or frame. Zeros are allowed there.
    TrailingGarbage,
    /// A limit of [`DecompressLimits`](crate::DecompressLimits) is exceeded.
    Limit(DecompressLimit),
    /// The data is valid, but needs an unsupported feature, such as a dictionary.
    Unsupported,
}

/// The limit of [`DecompressLimits`](crate::DecompressLimits) that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecompressLimit {
    /// The limit on plain bytes.
    Bytes,
    /// The limit on plain bytes per compressed byte.
    Ratio,
    /// The limit on memory.
    Memory,
}

/// Compressed data that cannot be read, with the offset. Downcast the `io::Error` to find it.
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
    /// Where reading stopped, in bytes from the start of the compressed data.
    pub offset: u64,
    /// The number of plain bytes before it.
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
