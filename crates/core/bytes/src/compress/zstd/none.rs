//! A build that does not read zstd says so.

use crate::Buffer;
use crate::compress::decoder::{Member, Output};
use crate::compress::error::{Stop, unsupported};

/// A frame that is not read.
pub(in crate::compress) struct Zstd;

impl Zstd {
    pub(in crate::compress) fn new(_: u64) -> Self {
        Zstd
    }
}

impl Member for Zstd {
    const MAY_SKIP: bool = true;

    fn begins(bytes: &[u8]) -> bool {
        super::is_magic(bytes)
    }

    fn read_head(&mut self, _: &mut Buffer<'_>) -> Result<(), Stop> {
        Err(unsupported("this build does not read zstd: it has neither the feature `c-codecs` nor `rust-zstd`"))
    }

    fn read_data(&mut self, _: &mut Buffer<'_>, _: &mut Output<'_>) -> Result<bool, Stop> {
        Ok(true)
    }

    fn restart(&mut self) {}
}
