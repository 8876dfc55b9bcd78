//! Decodes a source in any of the formats. Checks limits, adds offsets to errors, and returns the data before an error.

use super::error::{DecodeStop, corrupt, unsupported};
use super::format::{OutputBuffer, Sequence, StreamFormat};
use super::inflate::AheadParts;
use super::limits::DecompressLimits;
use super::{gzip, lz4, zstd};
use crate::codec::Codec;
use crate::error::{DecompressError, repeat};
use crate::{Buffer, Source};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// The format of archives, which cannot be decoded as a whole: for their members, see `entry.rs`.
struct NoFormat;

impl StreamFormat for NoFormat {
    fn decode(&mut self, _: &mut Buffer<'_>, _: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        Err(unsupported("an archive is not a compressed file"))
    }

    fn restart(&mut self) {}
}

/// Decodes a source, or ranges of it, sequentially.
pub(crate) struct SourceDecoder<'a> {
    codec: Codec,
    input: Buffer<'a>,
    format: Box<dyn StreamFormat>,
    limits: DecompressLimits,
    /// The offset of the input in the compressed file, for errors.
    start: u64,
    /// The offset of the next uncompressed byte.
    plain_offset: u64,
    failed: Option<io::Error>,
}

impl<'a> SourceDecoder<'a> {
    pub(super) fn new(codec: Codec, source: Source<'a>, limits: &DecompressLimits) -> io::Result<Self> {
        Self::following(codec, source, limits, None)
    }

    /// Creates a decoder that, for gzip, uses the `parts` that other threads decode, if given.
    pub(super) fn following(
        codec: Codec,
        source: Source<'a>,
        limits: &DecompressLimits,
        parts: Option<Arc<AheadParts>>,
    ) -> io::Result<Self> {
        let format = match codec {
            Codec::Gzip => Sequence::boxed(gzip::Gzip::new(parts)?),
            Codec::Zstd => Sequence::boxed(zstd::Zstd::new(limits.memory_bytes)),
            Codec::Lz4 => Sequence::boxed(lz4::Lz4::new(limits.memory_bytes)),
            Codec::Zip => Box::new(NoFormat),
        };
        let input = Buffer::new(source);
        Ok(SourceDecoder { codec, input, format, limits: limits.clone(), start: 0, plain_offset: 0, failed: None })
    }

    /// Creates a decoder for `part`, which starts at offset `start` of a source and has the given format.
    pub(super) fn of_part(
        codec: Codec,
        part: Source<'a>,
        start: u64,
        format: Box<dyn StreamFormat>,
        limits: &DecompressLimits,
    ) -> Self {
        let input = Buffer::new(part);
        SourceDecoder { codec, input, format, limits: limits.clone(), start, plain_offset: 0, failed: None }
    }

    /// Returns the offset of the next uncompressed byte.
    pub(super) fn plain_offset(&self) -> u64 {
        self.plain_offset
    }

    /// Continues with the members in `range`, whose first uncompressed byte is at `plain_offset`.
    pub(super) fn restart(&mut self, range: Range<u64>, plain_offset: u64) {
        self.input.restart(range);
        self.format.restart();
        self.failed = None;
        self.plain_offset = plain_offset;
    }

    /// Fills `out` from members that must contain at least as many bytes.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read(&mut out[filled..])? {
                0 => return Err(self.wrong_size()),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// Checks that the members end here.
    pub(super) fn check_end(&mut self) -> io::Result<()> {
        if self.read(&mut [0])? == 0 { Ok(()) } else { Err(self.wrong_size()) }
    }

    fn wrong_size(&self) -> io::Error {
        self.located(corrupt("its members do not have their declared sizes"))
    }

    fn located(&self, stop: DecodeStop) -> io::Error {
        match stop {
            DecodeStop::Io(error) => error,
            DecodeStop::Data(kind, message) => {
                let offset = self.start + self.input.offset();
                DecompressError { codec: self.codec, offset, plain_offset: self.plain_offset, kind, message }.into()
            }
        }
    }
}

/// Interval for checking the ratio, in uncompressed bytes: 1 MiB. The ratio is also checked at the end.
const STEP_BYTES: u64 = 1 << 20;

impl SourceDecoder<'_> {
    /// Returns the number of bytes to decode before the next check of a limit. The offset of the check must not depend
    /// on the caller's buffers.
    fn room(&self) -> u64 {
        let to_limit = self.limits.bytes.saturating_sub(self.plain_offset);
        to_limit.min(STEP_BYTES - self.plain_offset % STEP_BYTES)
    }

    /// Decodes into `out`. Returns the number of decoded bytes, which precede the error if there is one.
    fn decode(&mut self, out: &mut [u8]) -> (usize, Result<(), DecodeStop>) {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        let mut spare = [0];
        // At the limit, one more byte reveals whether the data continues.
        let out_len = room.min(out.len());
        let out = if room == 0 { &mut spare } else { &mut out[..out_len] };
        let mut out = OutputBuffer { bytes: out, filled: 0 };
        let result = self.format.decode(&mut self.input, &mut out);
        let filled = out.filled;
        let is_full = out.is_full();
        if room == 0 {
            return (0, result.and(if filled > 0 { Err(self.limits.too_many_bytes()) } else { Ok(()) }));
        }
        self.plain_offset += filled as u64;
        let is_step = !is_full || self.plain_offset.is_multiple_of(STEP_BYTES);
        let checked = if is_step { self.limits.check_ratio(self.input.offset(), self.plain_offset) } else { Ok(()) };
        (filled, result.and(checked))
    }
}

impl Read for SourceDecoder<'_> {
    /// If decoding fails, returns the bytes decoded before the error first, then the error on every subsequent call.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let error = match self.failed.take() {
            Some(error) => error,
            None => {
                let (filled, result) = self.decode(out);
                let Err(stop) = result else { return Ok(filled) };
                let error = self.located(stop);
                if filled > 0 {
                    self.failed = Some(error);
                    return Ok(filled);
                }
                error
            }
        };
        self.failed = Some(repeat(&error));
        Err(error)
    }
}
