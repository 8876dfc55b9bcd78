//! zstd frames (RFC 8878). Headers are parsed here, for limits and sizes. The data is decoded by the zstd library
//! (`c.rs`) or, with the `rust-zstd` feature, by a Rust crate (`rust.rs`).
//!
//! | bytes | header of a frame (RFC 8878, 3.1.1) |
//! |---|---|
//! | 4 | magic 28 B5 2F FD |
//! | 1 | descriptor: size of the content size (bits 6, 7), single segment (5), checksum (2), size of the dictionary |
//! | | ID (0, 1) |
//! | 1 | window, unless single segment: exponent in bits 3 to 7, mantissa in eighths in bits 0 to 2 |
//! | 0, 1, 2 or 4 | dictionary ID |
//! | 0, 1, 2, 4 or 8 | content size; a 2-byte size is stored minus 256 |
//!
//! A block has a 3-byte header: last block in bit 0, type in bits 1 and 2, size in the higher bits.

#[cfg(all(feature = "c-codecs", not(feature = "rust-zstd")))]
mod c;
#[cfg(not(any(feature = "c-codecs", feature = "rust-zstd")))]
mod none;
#[cfg(feature = "rust-zstd")]
mod rust;

#[cfg(all(feature = "c-codecs", not(feature = "rust-zstd")))]
pub(super) use c::Zstd;
#[cfg(not(any(feature = "c-codecs", feature = "rust-zstd")))]
pub(super) use none::Zstd;
#[cfg(feature = "rust-zstd")]
pub(super) use rust::Zstd;

use super::error::{DecodeStop, checksum, limit, truncated, unsupported};
use crate::Buffer;
use crate::error::DecompressLimit;

/// Maximum size of a frame header.
pub(super) const MAX_HEAD_BYTES: usize = 18;

/// The header of a frame.
pub(super) struct ZstdHead {
    pub(super) bytes: usize,
    /// Uncompressed size of the frame in bytes, if declared.
    pub(super) content_bytes: Option<u64>,
    pub(super) window_bytes: u64,
    pub(super) has_checksum: bool,
    has_dictionary: bool,
}

impl ZstdHead {
    /// Parses the header at the start of `bytes`. Returns `None` if it is incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Option<ZstdHead> {
        let (&descriptor, mut rest) = bytes.get(4..)?.split_first()?;
        let is_single = descriptor & 0x20 != 0;
        let mut window_bytes = 0;
        if !is_single {
            let (&window, after) = rest.split_first()?;
            let base = 1u64 << (10 + (window >> 3));
            window_bytes = base + base / 8 * u64::from(window & 7);
            rest = after;
        }
        let dictionary = number(&mut rest, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
        let content_len = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let content = number(&mut rest, content_len)?;
        let content_bytes = match content_len {
            0 => None,
            2 => Some(content + 256),
            _ => Some(content),
        };
        Some(ZstdHead {
            bytes: bytes.len() - rest.len(),
            content_bytes,
            window_bytes: if is_single { content } else { window_bytes },
            has_checksum: descriptor & 4 != 0,
            has_dictionary: dictionary != 0,
        })
    }

    /// Reads the next header of `input`, and checks that its data can be decoded in `memory_bytes`.
    fn read(input: &mut Buffer<'_>, memory_bytes: u64) -> Result<ZstdHead, DecodeStop> {
        let head = ZstdHead::parse(input.ensure(MAX_HEAD_BYTES)?).ok_or_else(truncated)?;
        if head.has_dictionary {
            return Err(unsupported("it needs a dictionary, which is not supported"));
        }
        if head.window_bytes > memory_bytes {
            let window = head.window_bytes;
            let message = format!("it needs a window of {window} bytes, more than {memory_bytes} bytes");
            return Err(limit(DecompressLimit::Memory, message));
        }
        Ok(head)
    }
}

/// Returns whether a block is the last of its frame, and the number of bytes after its 3-byte header. A run (RLE) has
/// one byte.
pub(super) fn block_bytes([a, b, c]: [u8; 3]) -> (bool, u64) {
    let word = u32::from_le_bytes([a, b, c, 0]);
    let is_repeat = word >> 1 & 3 == 1;
    (word & 1 == 1, if is_repeat { 1 } else { u64::from(word >> 3) })
}

/// Removes a little-endian number of `len` bytes, at most 8, from the start of `rest`. Returns `None` if `rest` is too
/// short.
fn number(rest: &mut &[u8], len: usize) -> Option<u64> {
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Creates the error for a frame whose data does not match its checksum.
#[cold]
fn other_data() -> DecodeStop {
    checksum("the checksum of a frame does not match its data")
}
