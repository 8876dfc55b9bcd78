//! A single gzip member whose parts can be compressed by any number of threads, for formats whose readers stop after
//! the first member.
//!
//! Each part is deflated separately, so its matches do not reach into the previous one. The final flag of its last
//! block is cleared, and an empty stored block is appended, which ends at a byte boundary, so that parts can be
//! concatenated (RFC 1951, 3.2.3 and 3.2.4). Decoding the part, which is faster than compressing it, locates its last
//! block and verifies the part.

use super::crc::Hasher;
use super::error::DecodeStop;
use super::format::OutputBuffer;
use super::gzip::{HEAD_BYTES, JOINED_HEAD, TAIL_BYTES};
use super::inflate::Inflate;
use super::pack::Deflate;
use crate::memory::grow;
use crate::{Buffer, Source};
use std::io;

/// An empty stored block after its header bits: its length and the one's complement of its length.
const STORED_NOTHING: [u8; 4] = [0, 0, 0xff, 0xff];
/// The final block of a member: stored and empty.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// Deflates parts of a [`GzipMember`].
pub struct GzipParts {
    deflate: Deflate,
    inflate: Inflate,
    /// The decoded bytes of a part.
    decoded: Vec<u8>,
}

/// The header and trailer around the parts of a gzip member, and its checksum.
///
/// ```
/// use polyhaul_bytes::{DecompressLimits, GzipMember, GzipParts, Source, decompressed};
///
/// # fn main() -> std::io::Result<()> {
/// let mut parts = GzipParts::new(None)?;
/// let mut member = GzipMember::default();
/// let mut file = GzipMember::head().to_vec();
/// for plain in [&b"v 0 0 0\n"[..], b"v 1 0 0\n"] {
///     member.add(plain);
///     parts.encode(plain, &mut file)?;
/// }
/// file.extend(member.tail());
/// let source = decompressed(Source::memory(file), &DecompressLimits::default())?;
/// let mut plain = [0; 64];
/// assert_eq!(source.read_next(&mut plain)?, 16);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct GzipMember {
    crc: Hasher,
    /// Number of uncompressed bytes so far, modulo 2^32.
    size: u32,
}

impl GzipMember {
    /// Returns the member's header.
    pub fn head() -> [u8; HEAD_BYTES] {
        JOINED_HEAD
    }

    /// Adds the uncompressed bytes of the next part to the checksum.
    pub fn add(&mut self, plain: &[u8]) {
        self.crc.update(plain);
        self.size = self.size.wrapping_add(plain.len() as u32);
    }

    /// Returns the final block and the trailer.
    pub fn tail(&self) -> [u8; LAST_BLOCK.len() + TAIL_BYTES] {
        let mut tail = [0; LAST_BLOCK.len() + TAIL_BYTES];
        tail[..5].copy_from_slice(&LAST_BLOCK);
        tail[5..9].copy_from_slice(&self.crc.clone().finalize().to_le_bytes());
        tail[9..].copy_from_slice(&self.size.to_le_bytes());
        tail
    }
}

impl GzipParts {
    /// Creates a compressor for parts. `level` is a gzip level, 1 to 12 (default 1).
    ///
    /// # Errors
    /// `OutOfMemory`; `InvalidInput` for other levels; `Unsupported` in a build without the `c-codecs` feature.
    pub fn new(level: Option<i32>) -> io::Result<Self> {
        let deflate = Deflate::new(level.unwrap_or(1))?;
        Ok(GzipParts { deflate, inflate: Inflate::new()?, decoded: Vec::new() })
    }

    /// Compresses `plain`, of about [`MEMBER_BYTES`](super::MEMBER_BYTES) bytes, and appends it to `out` as a part.
    /// Appends nothing if `plain` is empty.
    ///
    /// # Errors
    /// `OutOfMemory`, or an error if the compressed data cannot be decoded. In both cases, the contents of `out` are
    /// unspecified.
    pub fn encode(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        if plain.is_empty() {
            return Ok(());
        }
        let start = out.len();
        let bound = self.deflate.bound(plain.len());
        grow(out, start + bound + 1 + STORED_NOTHING.len())?;
        let count = self.deflate.compress(plain, &mut out[start..start + bound])?;
        let (last, end) = self.last_block(&out[start..start + count], plain.len())?;
        out[start + last / 8] &= !(1 << (last % 8));
        // Three zero bits: not the last block, stored.
        let padded_end = start + (end + 3).div_ceil(8);
        out.truncate(start + end.div_ceil(8));
        if let Some(byte) = out.last_mut().filter(|_| end % 8 != 0) {
            *byte &= (1 << (end % 8)) - 1;
        }
        out.resize(padded_end, 0);
        out.extend_from_slice(&STORED_NOTHING);
        Ok(())
    }

    /// Returns the bit offsets of the start and the end of the last block.
    fn last_block(&mut self, packed: &[u8], plain_bytes: usize) -> io::Result<(usize, usize)> {
        let mut input = Buffer::new(Source::memory(packed));
        // One more byte, so that decoding reaches the end of the data.
        grow(&mut self.decoded, plain_bytes + 1)?;
        let mut out = OutputBuffer { bytes: &mut self.decoded[..plain_bytes + 1], filled: 0 };
        self.inflate.restart();
        match self.inflate.decode(&mut input, &mut out) {
            Ok(true) if out.filled == plain_bytes => {}
            Err(DecodeStop::Io(error)) => return Err(error),
            _ => return Err(io::Error::other("the compressor made data that cannot be read")),
        }
        Ok((self.inflate.last_block_bit() as usize, self.inflate.bit(&input) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecompressLimits, decompressed};

    fn noise(count: usize, limit: u32) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % limit) as u8
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn parts_are_one_member_for_every_reader() {
        for level in [1, 2, 6, 12] {
            let parts =
                [noise(1, 256), Vec::new(), noise(300_000, 7), noise(70_000, 256), vec![0; 100_000], noise(9, 2)];
            let mut packer = GzipParts::new(Some(level)).unwrap();
            let mut member = GzipMember::default();
            let mut file = GzipMember::head().to_vec();
            for part in &parts {
                member.add(part);
                packer.encode(part, &mut file).unwrap();
            }
            file.extend(member.tail());
            let expected = parts.concat();
            let source = decompressed(Source::memory(file.clone()), &DecompressLimits::default()).unwrap();
            let mut ours = vec![0; expected.len() + 1];
            assert_eq!(source.read_next(&mut ours).unwrap(), expected.len());
            assert!(ours[..expected.len()] == expected, "level {level}");
            // A reader that stops at the end of the first member.
            let mut other = vec![0; expected.len()];
            let count = libdeflater::Decompressor::new().gzip_decompress(&file, &mut other).unwrap();
            assert!(count == expected.len() && other == expected, "level {level}");
        }
    }

    #[test]
    fn a_member_may_have_no_parts() {
        let mut file = GzipMember::head().to_vec();
        file.extend(GzipMember::default().tail());
        let source = decompressed(Source::memory(file), &DecompressLimits::default()).unwrap();
        assert_eq!(source.read_next(&mut [0; 4]).unwrap(), 0);
        assert!(GzipParts::new(Some(13)).is_err());
    }
}
