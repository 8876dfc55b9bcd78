//! Compression: detects gzip, zstd and lz4 by content, decodes them, and writes independent members.
//!
//! - [`decompressed`] turns a source of compressed bytes into one of uncompressed bytes. If the data records the sizes
//!   of its members, the result is positioned, so that threads decode members in parallel; otherwise, it is a stream.
//! - [`Encoder`] turns a block of uncompressed bytes into an independent member.
//! - [`ZlibDecoder`] turns a zlib stream into uncompressed bytes, while threads decode spans ahead.
//! - [`GzipParts`] turns blocks of uncompressed bytes into parts of one gzip member.
//!
//! This module starts no threads, trusts no sizes and never presents a partial result as complete. `format.rs` contains
//! the code that all formats share, `decoder.rs` decodes a source, `index.rs` and `members.rs` read members on many
//! threads, and `encoder.rs` writes.
//!
//! # Libraries
//!
//! Our own code reads gzip (`inflate`): ISA-L is faster, but needs an assembler besides a C compiler; libdeflate does
//! not stream; zlib-rs streams, but is slower. libdeflate writes gzip. zstd uses the C library or, for reading with the
//! `rust-zstd` feature, a Rust crate; lz4 uses a Rust crate. Level 1 is the default of all formats, because at any
//! level, compressing takes many times as long as formatting the text.
//!
//! `tools/bench/benches/compress.rs` compares each format and level with zlib-rs and libdeflate;
//! `cargo xtask bench gzip` compares whole files with ISA-L and Python's gzip. The results are in tools/bench/record.

mod ahead;
mod crc;
mod decoder;
mod encoder;
pub(crate) mod entry;
mod error;
mod format;
mod gzip;
mod index;
mod inflate;
mod joined;
mod limits;
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

pub use encoder::{Encoder, MEMBER_BYTES};
pub use joined::{GzipMember, GzipParts};
pub use limits::DecompressLimits;
pub use seek::SeekTable;
pub use spans::{ZlibDecoder, ZlibPlain, ZlibSpan};
pub use zlib::inflated;

use crate::codec::{Codec, skippable_len};
use crate::{BLOCK_BYTES, Source};
use ahead::GzipAhead;
use members::Members;
use std::io;

/// Returns the uncompressed bytes of `source` if it is compressed; otherwise `source` itself, with nothing consumed.
///
/// If a file, or a source in memory, consists of members whose sizes can be found without decoding them (BGZF, zstd and
/// lz4 frames with content sizes, all output of [`Encoder`]), and if they form more than one group of about 512 KiB,
/// the result is positioned, and threads decode members in parallel. Otherwise, it is a stream that the reading thread
/// decodes; other threads can help with a large gzip member through [`Source::ahead`](crate::Source::ahead).
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
/// Errors of the source; a [`DecompressError`](crate::DecompressError) if the declared sizes of the members exceed a
/// limit. Reading reports other damage.
pub fn decompressed<'a>(source: Source<'a>, limits: &DecompressLimits) -> io::Result<Source<'a>> {
    let Some(codec) = codec_of(&source)? else {
        return Ok(source);
    };
    match index::find(codec, &source, limits)? {
        Some(groups) => {
            let members = Members::new(codec, source.clone(), groups, limits)?;
            Ok(Source::members(codec, source, Box::new(members)))
        }
        None => {
            let ahead = GzipAhead::new(codec, &source, limits);
            let parts = ahead.as_ref().map(GzipAhead::parts);
            let decoder = decoder::SourceDecoder::following(codec, source.clone(), limits, parts)?;
            Ok(Source::decoded(codec, source, Box::new(decoder), ahead.map(|ahead| Box::new(ahead) as _)))
        }
    }
}

/// Detects the format of a source without consuming any bytes.
fn codec_of(source: &Source<'_>) -> io::Result<Option<Codec>> {
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
