//! Compresses bytes into independent members. A member depends only on its bytes and the level, so the file is the same
//! for any number of threads.

use super::gzip;
use super::lz4;
use super::pack::{Deflate, ZstdFrames};
use crate::codec::Codec;
use crate::memory::grow;
use std::io;

/// Number of uncompressed bytes to pass to [`Encoder::encode`] at a time, except at the end: 1 MiB.
pub const MEMBER_BYTES: usize = 1 << 20;

/// Compresses members of one format.
///
/// ```
/// use polyhaul_bytes::{Codec, Encoder};
///
/// # fn main() -> std::io::Result<()> {
/// let mut file = Vec::new();
/// let mut encoder = Encoder::new(Codec::Gzip, Some(6))?;
/// encoder.encode(b"v 0 0 0\n", &mut file)?;
/// encoder.encode(b"v 1 0 0\n", &mut file)?; // gzip -d gives both lines
/// # Ok(())
/// # }
/// ```
pub struct Encoder {
    codec: Codec,
    kind: EncoderKind,
}

enum EncoderKind {
    Gzip(Deflate),
    Zstd(ZstdFrames),
    Lz4,
}

impl Encoder {
    /// Creates a compressor. `level` trades speed for size: gzip 1 to 12 (default 1), zstd 1 to 22 (default 1), lz4 1.
    ///
    /// # Errors
    /// `InvalidInput` for other levels, and for zip, which is read-only; `OutOfMemory`; `Unsupported` for gzip and zstd
    /// in a build without the `c-codecs` feature.
    pub fn new(codec: Codec, level: Option<i32>) -> io::Result<Self> {
        let levels = codec.levels();
        let level = level.unwrap_or(1);
        if levels.is_empty() {
            let message = format!("{codec} is read-only");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if !levels.contains(&level) {
            let (first, last) = levels.into_inner();
            let message = format!("{codec} has no level {level}: valid levels are {first} to {last}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let kind = match codec {
            Codec::Zstd => EncoderKind::Zstd(ZstdFrames::new(level)?),
            Codec::Lz4 => EncoderKind::Lz4,
            _ => EncoderKind::Gzip(Deflate::new(level)?),
        };
        Ok(Encoder { codec, kind })
    }

    /// Returns the output format.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Compresses `plain`, which may be empty, and appends it to `out` as a member.
    ///
    /// # Errors
    /// `OutOfMemory`; in that case, `out` is unchanged.
    pub fn encode(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        let result = match &mut self.kind {
            EncoderKind::Gzip(deflate) => encode_gzip(deflate, plain, out),
            EncoderKind::Zstd(frames) => frames.encode(plain, out),
            EncoderKind::Lz4 => lz4::encode(plain, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

fn encode_gzip(deflate: &mut Deflate, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    let bound = deflate.bound(plain.len());
    let (_, head_bytes) = gzip::head(gzip::OWN_HEAD_BYTES + bound + gzip::TAIL_BYTES);
    grow(out, start + head_bytes + bound + gzip::TAIL_BYTES)?;
    let data = start + head_bytes;
    let count = deflate.compress(plain, &mut out[data..data + bound])?;
    let tail = data + count;
    let (head, _) = gzip::head(head_bytes + count + gzip::TAIL_BYTES);
    out[start..data].copy_from_slice(&head[..head_bytes]);
    out[tail..tail + 4].copy_from_slice(&super::crc::hash(plain).to_le_bytes());
    out[tail + 4..tail + 8].copy_from_slice(&(plain.len() as u32).to_le_bytes());
    out.truncate(tail + gzip::TAIL_BYTES);
    Ok(())
}
