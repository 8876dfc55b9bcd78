//! Windows bitmaps.
//!
//! Nothing here knows files or threads.

use crate::error::{Error, ErrorKind, Result};
use crate::model::Image;
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;

/// Whether a file begins as one of these.
pub(crate) fn looks_like_bmp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BM")
}

/// Reads a file.
pub(crate) fn read(_: Bytes<'_>, _: &ReadOptions) -> Result<Image> {
    Err(Error::new(ErrorKind::Unsupported, "Windows bitmaps is not read yet"))
}
