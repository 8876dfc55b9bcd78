//! Members of a zip archive, read in order: their data, compressed by one of three methods, checked against the size
//! and checksum in the directory of the archive. `archive` finds their places.

use super::crc::Hasher;
use super::decoder::{Format, Output, Sequence};
use super::error::{Stop, checksum, corrupt, truncated};
use super::inflate::Inflate;
use super::{Codec, DecompressErrorKind, DecompressLimits, decoder::Decoder, zstd};
use crate::{Buffer, Source};
use std::io::{self, Read};
use std::ops::Range;

/// The directory's entry of a member.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) method: Method,
    /// The range of its data in the archive.
    pub(crate) packed: Range<u64>,
    pub(crate) plain_bytes: u64,
    pub(crate) crc: u32,
}

impl Entry {
    fn packed_bytes(&self) -> u64 {
        self.packed.end - self.packed.start
    }
}

/// How a member's data is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflate,
    Zstd,
}

/// The plain bytes of a member of `archive`, in order.
pub(crate) fn source<'a>(
    archive: &Source<'a>,
    name: String,
    entry: Entry,
    limits: &DecompressLimits,
) -> io::Result<Source<'a>> {
    let (plain_bytes, begin) = (entry.plain_bytes, entry.packed.start);
    let packed = Source::part(archive.name().to_owned(), archive.clone(), entry.packed.clone());
    let decoder = Decoder::of_part(Codec::Zip, (packed.clone(), begin), MemberData::boxed(entry, limits)?, limits);
    Ok(Source::member(name, packed, Box::new(decoder), plain_bytes))
}

struct MemberData {
    entry: Entry,
    data: Data,
    crc: Hasher,
    plain_bytes: u64,
    is_over: bool,
}

enum Data {
    Stored,
    Deflate(Box<Inflate>),
    Zstd(Box<dyn Format>),
}

impl MemberData {
    fn boxed(entry: Entry, limits: &DecompressLimits) -> io::Result<Box<dyn Format>> {
        let data = match entry.method {
            Method::Stored => Data::Stored,
            Method::Deflate => {
                let mut inflate = Box::new(Inflate::new()?);
                inflate.restart();
                Data::Deflate(inflate)
            }
            Method::Zstd => Data::Zstd(Sequence::boxed(zstd::Zstd::new(limits.memory_bytes))),
        };
        Ok(Box::new(MemberData { entry, data, crc: Hasher::default(), plain_bytes: 0, is_over: false }))
    }

    /// Decodes into `out`, which has room; returns whether the data ended.
    fn read(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<bool, Stop> {
        match &mut self.data {
            Data::Deflate(inflate) => inflate.decode(input, out),
            Data::Zstd(frames) => {
                frames.decode(input, out).map_err(|stop| match stop {
                    Stop::Data(DecompressErrorKind::TrailingGarbage, _) => {
                        corrupt("extra data follows the end of a member")
                    }
                    stop => stop,
                })?;
                Ok(!out.is_full())
            }
            Data::Stored => {
                let left = self.entry.packed_bytes().saturating_sub(input.offset());
                let room = out.bytes.len() - out.filled;
                let most = usize::try_from(left).map_or(room, |left| left.min(room));
                if most > 0 {
                    let count = input.read(&mut out.rest()[..most])?;
                    if count == 0 {
                        return Err(truncated());
                    }
                    out.filled += count;
                }
                Ok(input.offset() >= self.entry.packed_bytes())
            }
        }
    }

    fn check(&self, input: &Buffer<'_>) -> Result<(), Stop> {
        if input.offset() != self.entry.packed_bytes() || self.plain_bytes != self.entry.plain_bytes {
            return Err(corrupt("the size of a member does not match the directory"));
        }
        if self.crc.clone().finalize() != self.entry.crc {
            return Err(checksum("the checksum of a member does not match its data"));
        }
        Ok(())
    }
}

impl Format for MemberData {
    fn decode(&mut self, input: &mut Buffer<'_>, out: &mut Output<'_>) -> Result<(), Stop> {
        while !self.is_over && !out.is_full() {
            let mut rest = Output { bytes: out.rest(), filled: 0 };
            let result = self.read(input, &mut rest);
            let count = rest.filled;
            let told = self.entry.plain_bytes - self.plain_bytes;
            let most = usize::try_from(told).map_or(count, |told| told.min(count));
            self.crc.update(&rest.bytes[..most]);
            self.plain_bytes += most as u64;
            out.filled += most;
            if most < count {
                return Err(corrupt("a member is larger than the directory declares"));
            }
            if result? {
                self.is_over = true;
                self.check(input)?;
            }
        }
        Ok(())
    }

    /// A member is read once.
    fn restart(&mut self) {}
}
