//! Compressed blocks inside formats that store their decompressed size.

use super::read::damage_of;
use polyhaul_bytes::{Codec, DecompressLimits, Encoder, Source, decompressed, inflated};
use polyhaul_model::error::{Error, ErrorKind, Result, fault};
use std::io;
use std::sync::Arc;

/// The compression method of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// zstd frames.
    Zstd,
    /// zlib (RFC 1950).
    Zlib,
}

/// Compresses bytes into a single zstd frame.
///
/// # Errors
/// [`ErrorKind::Usage`] for an invalid level; otherwise [`ErrorKind::Memory`].
pub fn pack(plain: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    let encoder = Encoder::new(Codec::Zstd, Some(level));
    encoder.and_then(|mut encoder| encoder.encode(plain, &mut packed)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Error::new(ErrorKind::Usage, error.to_string()),
        _ => Error::memory("compressed data"),
    })?;
    Ok(packed)
}

/// Decompresses a block at `offset` of a file into exactly `plain_bytes` bytes. Allocates memory as the bytes arrive.
pub fn unpack(packing: Packing, packed: &[u8], plain_bytes: usize, file: &Arc<str>, offset: u64) -> Result<Vec<u8>> {
    // The caller has checked the decompressed size against the pixel limit.
    let limits = DecompressLimits::default().with_ratio(u64::MAX).with_bytes(u64::MAX);
    let plain = match packing {
        Packing::Zlib => inflated(packed, plain_bytes),
        Packing::Zstd if Codec::of_content(packed) != Some(Codec::Zstd) => {
            return Err(fault(file, offset, "not zstd data: invalid signature"));
        }
        Packing::Zstd => {
            decompressed(Source::memory(packed), &limits).and_then(|source| read_all(&source, plain_bytes))
        }
    };
    let plain = plain.map_err(|error| match error.kind() {
        io::ErrorKind::OutOfMemory => Error::memory("pixels"),
        _ => damage_of(&error, file, offset),
    })?;
    match plain.len() {
        count if count == plain_bytes => Ok(plain),
        count => {
            let count = if count > plain_bytes { "more".into() } else { format!("{count} bytes") };
            Err(fault(
                file,
                offset,
                format!("expected the declared {plain_bytes} bytes of decompressed data, found {count}"),
            ))
        }
    }
}

/// Reads all bytes, up to one more than `max_bytes`.
fn read_all(source: &Source<'_>, max_bytes: usize) -> io::Result<Vec<u8>> {
    /// The number of bytes to read at a time.
    const STEP_BYTES: usize = 256 << 10;
    let mut plain = Vec::new();
    loop {
        let start = plain.len();
        let step = STEP_BYTES.min(max_bytes.saturating_add(1) - start);
        plain.try_reserve(step).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        plain.resize(start + step, 0);
        let count = source.read_next(&mut plain[start..])?;
        plain.truncate(start + count);
        if count == 0 || plain.len() > max_bytes {
            return Ok(plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(packing: Packing, packed: &[u8], size: usize) -> Result<Vec<u8>> {
        unpack(packing, packed, size, &"a".into(), 7)
    }

    #[test]
    fn blocks_come_back() {
        let plain: Vec<u8> = (0..700_000_u32).map(|at| (at / 5 % 251) as u8).collect();
        for level in [1, 3, 22] {
            assert!(again(Packing::Zstd, &pack(&plain, level).unwrap(), plain.len()).unwrap() == plain);
        }
        assert_eq!(pack(&plain, 23).unwrap_err().kind(), ErrorKind::Usage);
        // `abc` as a stored zlib block.
        let stored = [0x78, 1, 1, 3, 0, 0xFC, 0xFF, b'a', b'b', b'c', 2, 0x4D, 1, 0x27];
        assert_eq!(again(Packing::Zlib, &stored, 3).unwrap(), b"abc");
    }

    #[test]
    fn damage_has_a_place() {
        let packed = pack(b"what is packed", 3).unwrap();
        let stored = [0x78, 1, 1, 3, 0, 0xFC, 0xFF, b'a', b'b', b'x', 2, 0x4D, 1, 0x27];
        for (packing, packed, size) in [
            (Packing::Zstd, &packed[..], 13),
            (Packing::Zstd, &packed, 15),
            (Packing::Zstd, &packed[..9], 14),
            (Packing::Zstd, &[], 0),
            (Packing::Zstd, &stored, 3),
            (Packing::Zlib, &stored, 3),
            (Packing::Zlib, &stored[..8], 3),
            (Packing::Zlib, &packed, 14),
        ] {
            let error = again(packing, packed, size).unwrap_err();
            assert!(error.place().offset.is_some_and(|offset| offset >= 7), "{error}");
        }
    }
}
