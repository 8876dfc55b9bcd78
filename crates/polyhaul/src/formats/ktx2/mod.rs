//! KTX 2.
//!
//! Nothing here knows files or threads.

use crate::error::{Error, ErrorKind, Result};
use crate::model::Image;
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;

/// Whether a file begins as one of these.
pub(crate) fn looks_like_ktx2(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xabKTX 20\xbb\r\n\x1a\n")
}

/// Reads a file.
pub(crate) fn read(_: Bytes<'_>, _: &ReadOptions) -> Result<Image> {
    Err(Error::new(ErrorKind::Unsupported, "KTX 2 is not read yet"))
}
