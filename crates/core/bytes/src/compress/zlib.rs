//! zlib data (RFC 1950): a 2-byte header, deflate data, and the Adler-32 of the uncompressed data, big-endian. It
//! occurs inside other formats (PNG, EXR), never as a whole file, so it is not a [`Codec`](crate::Codec).

use super::error::{DecodeStop, checksum, corrupt, limit, truncated};
use super::format::OutputBuffer;
use super::inflate::Inflate;
use crate::error::DecompressLimit;
use crate::memory::grow;
use crate::{Buffer, Source};
use simd_adler32::Adler32;
use std::io;

/// The number of bytes to decode at a time.
const STEP_BYTES: usize = 256 << 10;

/// Decompresses zlib data into at most `max_bytes` bytes. Memory use grows with the output. Bytes after the data are
/// ignored.
///
/// ```
/// let packed = [0x78, 1, 1, 3, 0, 0xFC, 0xFF, b'a', b'b', b'c', 2, 0x4D, 1, 0x27];
/// assert_eq!(polyhaul_bytes::inflated(&packed, 3).unwrap(), b"abc");
/// ```
///
/// # Errors
/// `InvalidData` if the data is damaged or longer than `max_bytes`; `OutOfMemory`.
pub fn inflated(packed: &[u8], max_bytes: usize) -> io::Result<Vec<u8>> {
    read(&mut Buffer::new(Source::memory(packed)), max_bytes).map_err(error)
}

pub(super) fn error(stop: DecodeStop) -> io::Error {
    match stop {
        DecodeStop::Io(error) => error,
        DecodeStop::Data(_, message) => io::Error::new(io::ErrorKind::InvalidData, format!("zlib data: {message}")),
    }
}

/// Reads the header.
pub(super) fn read_head(input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
    let &[method, flags] = input.ensure(2)?.first_chunk().ok_or_else(truncated)?;
    // CM is 8 and CINFO at most 7 (a window of 32 KiB); the two bytes are a multiple of 31 (RFC 1950, 2.2).
    if method & 15 != 8 || method >> 4 > 7 || u16::from_be_bytes([method, flags]) % 31 != 0 {
        return Err(corrupt("invalid zlib header"));
    }
    // FDICT.
    if flags & 0x20 != 0 {
        return Err(corrupt("it needs a dictionary, which is not supported"));
    }
    input.consume(2);
    Ok(())
}

/// Reads the checksum after the data, which must equal `sum`.
pub(super) fn read_sum(input: &mut Buffer<'_>, sum: u32) -> Result<(), DecodeStop> {
    let stored = input.ensure(4)?.first_chunk().ok_or_else(truncated)?;
    if u32::from_be_bytes(*stored) != sum {
        return Err(checksum("the checksum does not match the data"));
    }
    input.consume(4);
    Ok(())
}

fn read(input: &mut Buffer<'_>, max_bytes: usize) -> Result<Vec<u8>, DecodeStop> {
    read_head(input)?;
    let mut inflate = Inflate::new()?;
    inflate.restart();
    let mut plain = Vec::new();
    let mut sum = Adler32::new();
    let mut is_end = false;
    while !is_end {
        let start = plain.len();
        if start > max_bytes {
            return Err(limit(DecompressLimit::Bytes, format!("it decompresses to more than {max_bytes} bytes")));
        }
        // One byte above the limit reveals whether the data is longer.
        grow(&mut plain, start + STEP_BYTES.min((max_bytes - start).saturating_add(1)))?;
        let mut out = OutputBuffer { bytes: &mut plain[start..], filled: 0 };
        is_end = inflate.decode(input, &mut out)?;
        let filled = out.filled;
        plain.truncate(start + filled);
        sum.write(&plain[start..]);
    }
    read_sum(input, sum.finish())?;
    if plain.len() > max_bytes {
        return Err(limit(DecompressLimit::Bytes, format!("it decompresses to more than {max_bytes} bytes")));
    }
    Ok(plain)
}
