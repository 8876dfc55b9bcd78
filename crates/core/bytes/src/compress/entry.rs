//! Reads members of a zip archive as streams. Decodes data that is stored, deflated or compressed with zstd, and checks
//! it against the size and checksum in the archive's directory. `archive/zip.rs` finds the offset of the data.

use super::crc::Hasher;
use super::decoder::SourceDecoder;
use super::error::{DecodeStop, checksum, corrupt, truncated};
use super::format::{OutputBuffer, Sequence, StreamFormat};
use super::inflate::Inflate;
use super::limits::DecompressLimits;
use super::zstd;
use crate::codec::Codec;
use crate::error::DecompressErrorKind;
use crate::{Buffer, Source};
use polyhaul_fault::planted;
use std::io::{self, Read};
use std::ops::Range;

/// The directory's entry of a member.
#[derive(Clone, Debug)]
pub(crate) struct ZipEntry {
    pub(crate) method: ZipMethod,
    /// The range of the data in the archive.
    pub(crate) packed: Range<u64>,
    pub(crate) plain_bytes: u64,
    pub(crate) crc: u32,
}

impl ZipEntry {
    fn packed_bytes(&self) -> u64 {
        self.packed.end - self.packed.start
    }
}

/// The compression method of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZipMethod {
    Stored,
    Deflate,
    Zstd,
}

/// Creates a stream of the uncompressed bytes of a member.
pub(crate) fn source<'a>(
    archive: &Source<'a>,
    name: String,
    entry: ZipEntry,
    limits: &DecompressLimits,
) -> io::Result<Source<'a>> {
    let plain_bytes = entry.plain_bytes;
    let start = entry.packed.start;
    let packed = Source::part(archive.name().to_owned(), archive.clone(), entry.packed.clone());
    let format = MemberData::boxed(entry, limits)?;
    let decoder = SourceDecoder::of_part(Codec::Zip, packed.clone(), start, format, limits);
    Ok(Source::member(name, packed, Box::new(decoder), plain_bytes))
}

struct MemberData {
    entry: ZipEntry,
    data: Data,
    crc: Hasher,
    plain_bytes: u64,
    is_over: bool,
}

enum Data {
    Stored,
    Deflate(Box<Inflate>),
    Zstd(Box<dyn StreamFormat>),
}

impl MemberData {
    fn boxed(entry: ZipEntry, limits: &DecompressLimits) -> io::Result<Box<dyn StreamFormat>> {
        let data = match entry.method {
            ZipMethod::Stored => Data::Stored,
            ZipMethod::Deflate => {
                let mut inflate = Box::new(Inflate::new()?);
                inflate.restart();
                Data::Deflate(inflate)
            }
            ZipMethod::Zstd => Data::Zstd(Sequence::boxed(zstd::Zstd::new(limits.memory_bytes))),
        };
        Ok(Box::new(MemberData { entry, data, crc: Hasher::default(), plain_bytes: 0, is_over: false }))
    }

    /// Decodes into `out`, which must not be full. Returns whether the data ended.
    fn read(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        match &mut self.data {
            Data::Deflate(inflate) => inflate.decode(input, out),
            Data::Zstd(frames) => {
                frames.decode(input, out).map_err(|stop| match stop {
                    DecodeStop::Data(DecompressErrorKind::TrailingGarbage, _) => {
                        corrupt("extra data follows the end of a member")
                    }
                    stop => stop,
                })?;
                Ok(!out.is_full())
            }
            Data::Stored => {
                let left = self.entry.packed_bytes().saturating_sub(input.offset());
                let room = out.bytes.len() - out.filled;
                let max_count = usize::try_from(left).map_or(room, |left| left.min(room));
                if max_count > 0 {
                    let count = input.read(&mut out.rest()[..max_count])?;
                    if count == 0 {
                        return Err(truncated());
                    }
                    out.filled += count;
                }
                Ok(input.offset() >= self.entry.packed_bytes())
            }
        }
    }

    fn check(&self, input: &Buffer<'_>) -> Result<(), DecodeStop> {
        if input.offset() != self.entry.packed_bytes() || self.plain_bytes != self.entry.plain_bytes {
            return Err(corrupt("the size of a member does not match the directory"));
        }
        if self.crc.clone().finalize() != self.entry.crc && !planted("zip-checksum") {
            return Err(checksum("the checksum of a member does not match its data"));
        }
        Ok(())
    }
}

impl StreamFormat for MemberData {
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        while !self.is_over && !out.is_full() {
            let mut rest = OutputBuffer { bytes: out.rest(), filled: 0 };
            let result = self.read(input, &mut rest);
            let count = rest.filled;
            let left = self.entry.plain_bytes - self.plain_bytes;
            let declared_count = usize::try_from(left).map_or(count, |left| left.min(count));
            self.crc.update(&rest.bytes[..declared_count]);
            self.plain_bytes += declared_count as u64;
            out.filled += declared_count;
            if declared_count < count {
                return Err(corrupt("a member is larger than the directory declares"));
            }
            if result? {
                self.is_over = true;
                self.check(input)?;
            }
        }
        Ok(())
    }

    /// Does nothing: a member is read only once.
    fn restart(&mut self) {}
}
