//! A placeholder for builds without zstd, which returns errors.

use crate::Buffer;
use crate::codec::is_zstd;
use crate::compress::error::{DecodeStop, unsupported};
use crate::compress::format::{MemberFormat, OutputBuffer};

/// A frame, which cannot be read in this build.
pub(crate) struct Zstd;

impl Zstd {
    pub(crate) fn new(_: u64) -> Self {
        Zstd
    }
}

impl MemberFormat for Zstd {
    const MAY_SKIP: bool = true;

    fn has_signature(bytes: &[u8]) -> bool {
        is_zstd(bytes)
    }

    fn read_head(&mut self, _: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        Err(unsupported("this build does not read zstd: it has neither the feature `c-codecs` nor `rust-zstd`"))
    }

    fn read_data(&mut self, _: &mut Buffer<'_>, _: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        Ok(true)
    }

    fn restart(&mut self) {}
}
