//! What can be wrong with compressed bytes, and where: the error that users of the crate find by downcasting, and the
//! short form used by decoders before the place is known. It decides nothing.

use super::Codec;
use std::fmt;
use std::io;

/// What is wrong with compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecompressErrorKind {
    /// The data ends inside a member or frame.
    Truncated,
    /// The data breaks the rules of its format.
    Corrupt,
    /// The data was decoded, but is not what was compressed.
    Checksum,
    /// After the last member or frame comes something else. Zeros are allowed there.
    TrailingGarbage,
    /// A limit of [`DecompressLimits`](super::DecompressLimits) is exceeded.
    Limit(DecompressLimit),
    /// The data is allowed by its format, but needs something that is not built, such as a dictionary.
    Unsupported,
}

/// Which limit of [`DecompressLimits`](super::DecompressLimits) is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecompressLimit {
    /// The limit on plain bytes.
    Bytes,
    /// The limit on plain bytes per compressed byte.
    Ratio,
    /// The limit on memory.
    Memory,
}

/// Compressed data that cannot be read, with its place. Found inside the `io::Error` by downcasting.
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
    /// Where reading stopped, in bytes from the beginning of the compressed data.
    pub offset: u64,
    /// The number of plain bytes before it.
    pub plain_offset: u64,
    /// What is wrong.
    pub kind: DecompressErrorKind,
    /// The same in words, without the place.
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

/// Why a decoder stops: an error of the source, or of the data.
#[derive(Debug)]
pub(super) enum Stop {
    Io(io::Error),
    Data(DecompressErrorKind, String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

#[cold]
pub(super) fn corrupt(message: impl Into<String>) -> Stop {
    Stop::Data(DecompressErrorKind::Corrupt, message.into())
}

#[cold]
pub(super) fn checksum(message: impl Into<String>) -> Stop {
    Stop::Data(DecompressErrorKind::Checksum, message.into())
}

#[cold]
pub(super) fn unsupported(message: impl Into<String>) -> Stop {
    Stop::Data(DecompressErrorKind::Unsupported, message.into())
}

#[cold]
pub(super) fn limit(limit: DecompressLimit, message: impl Into<String>) -> Stop {
    Stop::Data(DecompressErrorKind::Limit(limit), message.into())
}

#[cold]
pub(super) fn truncated() -> Stop {
    Stop::Data(DecompressErrorKind::Truncated, "unexpected end of the compressed data".to_owned())
}
