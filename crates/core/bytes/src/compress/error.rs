//! Errors of compressed data: the public error, which users find by downcasting, and the short form used by decoders
//! before the offset is known.

use super::Codec;
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
    /// A limit of [`DecompressLimits`](super::DecompressLimits) is exceeded.
    Limit(DecompressLimit),
    /// The data is valid, but needs an unsupported feature, such as a dictionary.
    Unsupported,
}

/// The limit of [`DecompressLimits`](super::DecompressLimits) that is exceeded.
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

/// The reason why a decoder stops: an error of the source or of the data.
#[derive(Debug)]
pub(super) enum DecodeStop {
    Io(io::Error),
    Data(DecompressErrorKind, String),
}

impl From<io::Error> for DecodeStop {
    fn from(error: io::Error) -> Self {
        DecodeStop::Io(error)
    }
}

#[cold]
pub(super) fn corrupt(message: impl Into<String>) -> DecodeStop {
    DecodeStop::Data(DecompressErrorKind::Corrupt, message.into())
}

#[cold]
pub(super) fn checksum(message: impl Into<String>) -> DecodeStop {
    DecodeStop::Data(DecompressErrorKind::Checksum, message.into())
}

#[cold]
pub(super) fn unsupported(message: impl Into<String>) -> DecodeStop {
    DecodeStop::Data(DecompressErrorKind::Unsupported, message.into())
}

#[cold]
pub(super) fn limit(limit: DecompressLimit, message: impl Into<String>) -> DecodeStop {
    DecodeStop::Data(DecompressErrorKind::Limit(limit), message.into())
}

#[cold]
pub(super) fn truncated() -> DecodeStop {
    DecodeStop::Data(DecompressErrorKind::Truncated, "unexpected end of the compressed data".to_owned())
}
