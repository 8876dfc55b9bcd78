//! The compressors, from C libraries: libdeflate and zstd. Builds without these use `no_pack.rs`.

use crate::memory::grow;
use libdeflater::{CompressionLvl, Compressor};
use std::fmt::Display;
use std::io;
use zstd_safe::{CCtx, CParameter};

/// Compresses with deflate.
pub(super) struct Deflate(Compressor);

impl Deflate {
    /// Creates a compressor. Fails with `InvalidInput` for invalid levels.
    pub(super) fn new(level: i32) -> io::Result<Self> {
        let level = CompressionLvl::new(level)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "gzip has no such level"))?;
        Ok(Deflate(Compressor::new(level)))
    }

    /// Returns the maximum compressed size of `plain_bytes` bytes.
    pub(super) fn bound(&mut self, plain_bytes: usize) -> usize {
        self.0.deflate_compress_bound(plain_bytes)
    }

    /// Compresses into the start of `out`, which must hold at least [`Deflate::bound`] bytes. Returns the compressed
    /// size.
    pub(super) fn compress(&mut self, plain: &[u8], out: &mut [u8]) -> io::Result<usize> {
        self.0.deflate_compress(plain, out).map_err(failed)
    }
}

/// Compresses into zstd frames with a checksum and the content size.
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
        let start = out.len();
        grow(out, start + zstd_safe::compress_bound(plain.len()))?;
        let result = self.0.compress2(&mut out[start..], plain);
        let count = result.map_err(|code| failed(zstd_safe::get_error_name(code)))?;
        out.truncate(start + count);
        Ok(())
    }
}

fn failed(what: impl Display) -> io::Error {
    io::Error::other(format!("compression failed: {what}"))
}
