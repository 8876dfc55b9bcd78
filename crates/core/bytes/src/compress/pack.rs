//! The compressors, which are C libraries: libdeflate and zstd. A build without them has `no_pack.rs` instead.

use crate::memory::grow;
use libdeflater::{CompressionLvl, Compressor};
use std::fmt::Display;
use std::io;
use zstd_safe::{CCtx, CParameter};

/// Makes deflate data.
pub(super) struct Deflate(Compressor);

impl Deflate {
    /// `InvalidInput` for levels that it does not have.
    pub(super) fn new(level: i32) -> io::Result<Self> {
        let level = CompressionLvl::new(level)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "gzip has no such level"))?;
        Ok(Deflate(Compressor::new(level)))
    }

    /// The most bytes that so many become.
    pub(super) fn bound(&mut self, plain_bytes: usize) -> usize {
        self.0.deflate_compress_bound(plain_bytes)
    }

    /// Fills the beginning of `out`, which has [`Deflate::bound`] bytes; returns how many it took.
    pub(super) fn compress(&mut self, plain: &[u8], out: &mut [u8]) -> io::Result<usize> {
        self.0.deflate_compress(plain, out).map_err(failed)
    }
}

/// Makes zstd frames, with checksum and size.
pub(super) struct ZstdFrames(CCtx<'static>);

impl ZstdFrames {
    pub(super) fn new(level: i32) -> io::Result<Self> {
        let mut context = CCtx::try_create().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        for parameter in
            [CParameter::CompressionLevel(level), CParameter::ChecksumFlag(true), CParameter::ContentSizeFlag(true)]
        {
            context.set_parameter(parameter).map_err(|code| failed(zstd_safe::get_error_name(code)))?;
        }
        Ok(ZstdFrames(context))
    }

    /// Appends one frame.
    pub(super) fn encode(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let begin = out.len();
        grow(out, begin + zstd_safe::compress_bound(plain.len()))?;
        let result = self.0.compress2(&mut out[begin..], plain);
        let count = result.map_err(|code| failed(zstd_safe::get_error_name(code)))?;
        out.truncate(begin + count);
        Ok(())
    }
}

fn failed(what: impl Display) -> io::Error {
    io::Error::other(format!("compression failed: {what}"))
}
