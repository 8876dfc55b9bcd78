//! gzip members (RFC 1952): headers, checksums, and the sizes that some writers store in the header. For the data, see
//! `inflate`.
//!
//! | offset | bytes | header (RFC 1952, 2.3) |
//! |---|---|---|
//! | 0 | 2 | 1F 8B |
//! | 2 | 1 | method: 8 is deflate |
//! | 3 | 1 | flags: which of the following parts are present |
//! | 4 | 6 | modification time, extra flags (compression level), operating system: ignored |
//! | 10 | 2 + n | `HAS_EXTRA`: a size, then subfields of 2 letters, a 2-byte size and a value |
//! | | | `HAS_NAME`, `HAS_COMMENT`: NUL-terminated text |
//! | | 2 | `HAS_CRC`: the low 16 bits of the CRC-32 of the header so far |
//!
//! The compressed data is followed by the CRC-32 and the size (modulo 2^32) of the uncompressed data. Numbers are
//! little-endian.
//!
//! A header may declare the size of its member. BGZF does so in subfield `BC` (the size minus 1, see the SAM
//! specification), our encoder in subfield `PH`. This size is checked, because parallel readers rely on it.

use super::crc::Hasher;
use super::error::{DecodeStop, checksum, corrupt, truncated, unsupported};
use super::format::{MemberFormat, OutputBuffer, skip};
use super::inflate::{AheadParts, Inflate};
use crate::Buffer;
use crate::codec::{GZIP_MAGIC, is_gzip};
use polyhaul_fault::planted;
use std::io;
use std::sync::Arc;

const HAS_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// Size of a header without optional fields.
pub(super) const HEAD_BYTES: usize = 10;
/// Size of the trailer: CRC-32 and uncompressed size.
pub(super) const TAIL_BYTES: usize = 8;
/// Maximum size of the header from [`head`].
pub(super) const OWN_HEAD_BYTES: usize = HEAD_BYTES + 10;

/// A header without optional fields, for a member whose size is not known in advance.
pub(super) const JOINED_HEAD: [u8; HEAD_BYTES] = [GZIP_MAGIC[0], GZIP_MAGIC[1], 8, 0, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM];
const UNKNOWN_SYSTEM: u8 = 255;

/// Returns a header and its length. It declares the size of the whole member if that fits into 32 bits.
pub(super) fn head(member_bytes: usize) -> ([u8; OWN_HEAD_BYTES], usize) {
    let mut head = [0; OWN_HEAD_BYTES];
    head[..HEAD_BYTES].copy_from_slice(&JOINED_HEAD);
    let Ok(member_bytes) = u32::try_from(member_bytes) else {
        return (head, HEAD_BYTES);
    };
    head[3] = HAS_EXTRA;
    head[HEAD_BYTES..HEAD_BYTES + 6].copy_from_slice(&[8, 0, b'P', b'H', 4, 0]);
    head[HEAD_BYTES + 6..].copy_from_slice(&member_bytes.to_le_bytes());
    (head, OWN_HEAD_BYTES)
}

/// Returns the size of the member that starts with `head`, if declared.
pub(super) fn member_bytes(head: &[u8]) -> Option<u64> {
    let fixed = head.first_chunk::<HEAD_BYTES>()?;
    if !is_gzip(fixed) || fixed[2] != 8 || fixed[3] & (HAS_EXTRA | RESERVED) != HAS_EXTRA {
        return None;
    }
    let len = usize::from(u16::from_le_bytes(*head.get(HEAD_BYTES..)?.first_chunk()?));
    let extra = head.get(HEAD_BYTES + 2..)?;
    declared_bytes(&extra[..extra.len().min(len)])
}

/// Returns the size that the first known subfield declares, if any.
fn declared_bytes(mut extra: &[u8]) -> Option<u64> {
    while let Some(([a, b, low, high], rest)) = extra.split_first_chunk::<4>() {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let value = rest.get(..len)?;
        match (&[*a, *b], value) {
            (b"BC", &[low, high]) => return Some(u64::from(u16::from_le_bytes([low, high])) + 1),
            (b"PH", &[a, b, c, d]) => return Some(u64::from(u32::from_le_bytes([a, b, c, d]))),
            _ => extra = &rest[len..],
        }
    }
    None
}

/// A member being read.
pub(super) struct Gzip {
    inflate: Inflate,
    crc: Hasher,
    /// Number of uncompressed bytes of this member so far, modulo 2^32.
    size: u32,
    /// The end that the member's header declares, if any, as an offset in the compressed data.
    declared_end: Option<u64>,
}

impl Gzip {
    /// Creates a decoder for members. Uses `parts` that other threads decoded ahead, if given.
    pub(super) fn new(parts: Option<Arc<AheadParts>>) -> io::Result<Self> {
        let inflate = parts.map_or_else(Inflate::new, Inflate::following)?;
        Ok(Gzip { inflate, crc: Hasher::default(), size: 0, declared_end: None })
    }

    fn read_tail(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let Some(tail) = input.ensure(TAIL_BYTES)?.first_chunk::<TAIL_BYTES>() else {
            return Err(truncated());
        };
        let tail = u64::from_le_bytes(*tail);
        if tail as u32 != self.crc.clone().finalize() && !planted("gzip-checksum") {
            return Err(checksum("the checksum of a member does not match its data"));
        }
        if (tail >> 32) as u32 != self.size {
            return Err(checksum("the size of a member does not match its data"));
        }
        input.consume(TAIL_BYTES);
        if self.declared_end.is_some_and(|end| end != input.offset()) {
            return Err(corrupt("the size of a member does not match its header"));
        }
        Ok(())
    }
}

impl MemberFormat for Gzip {
    const MAY_SKIP: bool = false;

    fn has_signature(bytes: &[u8]) -> bool {
        is_gzip(bytes)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let start = input.offset();
        self.declared_end = read_head(input)?.map(|bytes| start + bytes);
        self.crc = Hasher::default();
        self.size = 0;
        self.inflate.restart();
        Ok(())
    }

    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        let mut rest = OutputBuffer { bytes: out.rest(), filled: 0 };
        let result = self.inflate.decode(input, &mut rest);
        let count = rest.filled;
        self.crc.update(&rest.bytes[..count]);
        self.size = self.size.wrapping_add(count as u32);
        out.filled += count;
        let is_end = result?;
        if is_end {
            self.read_tail(input)?;
        }
        Ok(is_end)
    }

    fn restart(&mut self) {}
}

/// Reads a header. Returns the member size that it declares, if any.
fn read_head(input: &mut Buffer<'_>) -> Result<Option<u64>, DecodeStop> {
    let mut crc = Hasher::default();
    let fixed = *take::<HEAD_BYTES>(input, &mut crc)?;
    let [_, _, method, flags, ..] = fixed;
    if method != 8 {
        return Err(unsupported(format!("unknown gzip compression method {method}")));
    }
    if flags & RESERVED != 0 {
        return Err(corrupt("the header has reserved flags set"));
    }
    let mut declared = None;
    if flags & HAS_EXTRA != 0 {
        let len = usize::from(u16::from_le_bytes(*take(input, &mut crc)?));
        let Some(extra) = input.ensure(len)?.get(..len) else {
            return Err(truncated());
        };
        crc.update(extra);
        declared = declared_bytes(extra);
        input.consume(len);
    }
    for _ in 0..(flags & (HAS_NAME | HAS_COMMENT)).count_ones() {
        skip_text(input, &mut crc)?;
    }
    if flags & HAS_CRC != 0 {
        let expected = crc.clone().finalize() as u16;
        if u16::from_le_bytes(*take(input, &mut crc)?) != expected {
            return Err(checksum("the checksum of a header does not match"));
        }
    }
    Ok(declared)
}

fn take<'b, const N: usize>(input: &'b mut Buffer<'_>, crc: &mut Hasher) -> Result<&'b [u8; N], DecodeStop> {
    if input.ensure(N)?.len() < N {
        return Err(truncated());
    }
    let bytes = input.take_exact(N)?.first_chunk().ok_or_else(truncated)?;
    crc.update(bytes);
    Ok(bytes)
}

/// Skips NUL-terminated text.
fn skip_text(input: &mut Buffer<'_>, crc: &mut Hasher) -> Result<(), DecodeStop> {
    loop {
        let pending = input.ensure(1)?;
        let end = pending.iter().position(|&byte| byte == 0);
        let count = end.map_or(pending.len(), |end| end + 1);
        crc.update(&pending[..count]);
        if count == 0 {
            return Err(truncated());
        }
        skip(input, count as u64)?;
        if end.is_some() {
            return Ok(());
        }
    }
}
