//! Decoding errors before their offset is known.

use crate::error::{DecompressErrorKind, DecompressLimit};
use std::io;

/// The error that stopped a decoder: an error of the source or of the data.
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
