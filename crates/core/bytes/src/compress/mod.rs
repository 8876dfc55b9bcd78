//! Compression: gzip, zstd and lz4 detected by content, read through a reused window, written in independent members.
//!
//! - [`decompressed`] turns a source of compressed bytes into one of plain bytes: positioned, so that threads decode
//!   members at the same time, if the data records the sizes of its members; otherwise a stream.
//! - [`Encoder`] turns a block of plain bytes into one member that can be read on its own.
//! - [`ZlibDecoder`] turns one zlib stream into plain bytes, while threads decode spans ahead.
//! - [`GzipParts`] turns blocks of plain bytes into parts of one gzip member.
//!
//! It starts no threads, trusts no sizes and never returns a partial result as a whole one. `decoder.rs` has what all
//! formats share, `index.rs` and `members.rs` reading members by many threads, `encoder.rs` writing.
//!
//! # Libraries
//!
//! gzip is read by our own code (`inflate`): ISA-L is faster, but needs an assembler in addition to a C compiler;
//! libdeflate does not stream; zlib-rs streams, but is slower. gzip is written by libdeflate; zstd is the C library,
//! lz4 a crate. Level 1 is the default of all formats: at any level compressing takes many times as long as formatting
//! text.
//!
//! `tools/bench/benches/compress.rs` measures each format and level beside zlib-rs and libdeflate, `cargo xtask bench
//! gzip` whole files beside ISA-L and Python's gzip; the results are in tools/bench/record.

mod ahead;
mod crc;
mod decoder;
mod encoder;
pub(crate) mod entry;
pub(crate) mod error;
mod gzip;
mod index;
mod inflate;
mod joined;
mod lz4;
mod members;
#[cfg(not(feature = "c-codecs"))]
#[path = "no_pack.rs"]
mod pack;
#[cfg(feature = "c-codecs")]
mod pack;
mod seek;
mod spans;
#[cfg(test)]
mod testing;
mod zlib;
#[cfg_attr(
    not(any(feature = "c-codecs", feature = "rust-zstd")),
    expect(dead_code, reason = "no frame is read beyond its header")
)]
mod zstd;

pub use ahead::DecodeAhead;
pub(crate) use ahead::GzipAhead;
pub use encoder::{Encoder, MEMBER_BYTES};
pub use error::{DecompressError, DecompressErrorKind, DecompressLimit};
pub use joined::{GzipMember, GzipParts};
pub(crate) use members::Members;
pub use seek::SeekTable;
pub use spans::{ZlibDecoder, ZlibPlain, ZlibSpan};
pub use zlib::inflated;

use crate::{BLOCK_BYTES, Source};
use std::fmt;
use std::io;

/// A format of compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// gzip (RFC 1952), of any number of members; BGZF.
    Gzip,
    /// zstd (RFC 8878), of any number of frames.
    Zstd,
    /// lz4 frames, of any number, and the older lz4 format.
    Lz4,
    /// A member of a zip archive, which is read by [`Archive`](crate::Archive) and not written.
    Zip,
}

impl Codec {
    /// Returns the format of a file name's extension, and the name without that extension: `.gz`, `.bgz`, `.zst`,
    /// `.lz4` in any case.
    ///
    /// ```
    /// use polyhaul_bytes::Codec;
    ///
    /// assert_eq!(Codec::of_name("scan.obj.GZ"), Some((Codec::Gzip, "scan.obj")));
    /// assert_eq!(Codec::of_name("scan.obj"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<(Codec, &str)> {
        let (stem, extension) = name.rsplit_once('.')?;
        let codec = match extension.to_ascii_lowercase().as_str() {
            "gz" | "bgz" => Codec::Gzip,
            "zst" => Codec::Zstd,
            "lz4" => Codec::Lz4,
            _ => return None,
        };
        Some((codec, stem))
    }

    /// Returns the usual extension of a file name.
    pub fn extension(self) -> &'static str {
        match self {
            Codec::Gzip => "gz",
            Codec::Zstd => "zst",
            Codec::Lz4 => "lz4",
            Codec::Zip => "zip",
        }
    }

    /// Returns the levels that [`Encoder::new`] accepts, from fast to small.
    pub fn levels(self) -> std::ops::RangeInclusive<i32> {
        match self {
            Codec::Gzip => 1..=12,
            Codec::Zstd => 1..=22,
            Codec::Lz4 => 1..=1,
            #[allow(clippy::reversed_empty_ranges, reason = "it has none")]
            Codec::Zip => 1..=0,
        }
    }

    /// Detects the format from the first bytes; `None` if they are not compressed. 4 bytes are enough unless a
    /// skippable frame comes first: zstd and lz4 share those, so the format is that of the next frame, or zstd if
    /// `bytes` ends before it.
    pub fn of_content(bytes: &[u8]) -> Option<Codec> {
        if gzip::is_magic(bytes) {
            return Some(Codec::Gzip);
        }
        let mut rest = bytes;
        while let Some(len) = skippable_len(rest) {
            let after = usize::try_from(len).ok().and_then(|len| rest.get(len..));
            rest = after.unwrap_or_default();
        }
        if lz4::is_magic(rest) {
            Some(Codec::Lz4)
        } else if zstd::is_magic(rest) || rest.len() < bytes.len() {
            Some(Codec::Zstd)
        } else {
            None
        }
    }

    fn of_source(source: &Source<'_>) -> io::Result<Option<Codec>> {
        let mut first = [0; 8];
        let count = source.peek(&mut first)?;
        if skippable_len(&first[..count]).is_none() {
            return Ok(Codec::of_content(&first[..count]));
        }
        let mut block = Vec::new();
        crate::memory::grow(&mut block, BLOCK_BYTES)?;
        let count = source.peek(&mut block)?;
        Ok(Codec::of_content(&block[..count]))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Lz4 => "lz4",
            Codec::Zip => "zip",
        })
    }
}

/// Returns the length of the skippable frame at the start of `bytes`, including its header of 8 bytes.
fn skippable_len(bytes: &[u8]) -> Option<u64> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let len = rest.first_chunk::<4>()?;
    let is_skippable = u32::from_le_bytes(*magic) & !0xf == 0x184d_2a50;
    is_skippable.then_some(8 + u64::from(u32::from_le_bytes(*len)))
}

/// Limits of decompression. Exceeding one is an error of kind [`DecompressErrorKind::Limit`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecompressLimits {
    /// Maximum plain bytes. Default: no limit.
    pub bytes: u64,
    /// Maximum plain bytes per compressed byte, checked once 64 MiB have been decoded: smaller data is harmless at any
    /// ratio, such as short files of one repeated line. Default: 2000, which gzip (1032) and lz4 (255) cannot reach.
    pub ratio: u64,
    /// Maximum memory for windows, in bytes; if fewer than 16 members fit, they are read as a stream. Default: 128 MiB,
    /// the largest window that the zstd tool accepts.
    pub memory_bytes: u64,
    /// Maximum number of threads that decode ahead while one reads ([`Source::ahead`](crate::Source::ahead)). With 8 or
    /// more, all of them decode one large gzip member of a file. Default: 1.
    pub threads: usize,
}

impl Default for DecompressLimits {
    fn default() -> Self {
        DecompressLimits { bytes: u64::MAX, ratio: 2000, memory_bytes: 128 << 20, threads: 1 }
    }
}

impl DecompressLimits {
    /// Sets [`DecompressLimits::bytes`].
    #[must_use]
    pub fn with_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets [`DecompressLimits::ratio`].
    #[must_use]
    pub fn with_ratio(mut self, ratio: u64) -> Self {
        self.ratio = ratio;
        self
    }

    /// Sets [`DecompressLimits::memory_bytes`].
    #[must_use]
    pub fn with_memory_bytes(mut self, memory_bytes: u64) -> Self {
        self.memory_bytes = memory_bytes;
        self
    }

    /// Sets [`DecompressLimits::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Returns an error if `plain` bytes from `packed` ones are too many.
    fn check(&self, packed: u64, plain: u64) -> Result<(), error::DecodeStop> {
        if plain > self.bytes { Err(self.too_many_bytes()) } else { self.check_ratio(packed, plain) }
    }

    fn too_many_bytes(&self) -> error::DecodeStop {
        error::limit(DecompressLimit::Bytes, format!("it decompresses to more than the limit of {} bytes", self.bytes))
    }

    fn check_ratio(&self, packed: u64, plain: u64) -> Result<(), error::DecodeStop> {
        /// Below this size the ratio is not checked.
        const HARMLESS_BYTES: u64 = 64 << 20;
        if plain < HARMLESS_BYTES || plain / self.ratio.max(1) <= packed {
            return Ok(());
        }
        let message = format!("it decompresses to more than the limit of {} times its size", self.ratio);
        Err(error::limit(DecompressLimit::Ratio, message))
    }
}

/// Returns the plain bytes of `source` if it is compressed, otherwise `source` itself, with nothing consumed.
///
/// If a file or memory consists of several members whose sizes can be found without decoding them (BGZF, zstd and lz4
/// frames with content sizes, all output of [`Encoder`]), the result is positioned and threads decode different members
/// at the same time. Otherwise it is a stream, decoded by the reading thread; one large gzip member also by threads
/// that use [`Source::ahead`](crate::Source::ahead).
///
/// ```
/// use polyhaul_bytes::{Codec, DecompressLimits, Encoder, Source, decompressed};
///
/// # fn main() -> std::io::Result<()> {
/// let mut packed = Vec::new();
/// Encoder::new(Codec::Zstd, None)?.encode(b"v 0 0 0\n", &mut packed)?;
/// let source = decompressed(Source::memory(packed), &DecompressLimits::default())?;
/// assert_eq!(source.codec(), Some(Codec::Zstd));
/// let mut plain = [0; 64];
/// assert_eq!(source.read_next(&mut plain)?, 8);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Errors of the source; a [`DecompressError`] if the sizes of the members already exceed a limit. Other damage is
/// found by reading.
pub fn decompressed<'a>(source: Source<'a>, limits: &DecompressLimits) -> io::Result<Source<'a>> {
    let Some(codec) = Codec::of_source(&source)? else {
        return Ok(source);
    };
    match index::find(codec, &source, limits)? {
        Some(groups) => Ok(Source::members(codec, source.clone(), Members::new(codec, source, groups, limits)?)),
        None => {
            let ahead = GzipAhead::new(codec, &source, limits);
            let parts = ahead.as_ref().map(GzipAhead::parts);
            let decoder = decoder::SourceDecoder::following(codec, source.clone(), limits, parts)?;
            Ok(Source::decoded(codec, source, Box::new(decoder), ahead))
        }
    }
}
