//! lz4 frames and the legacy format, as in the lz4 project's frame format description: headers, block sizes, checksums.
//! The `lz4_flex` crate decodes the blocks.
//!
//! | offset | bytes | header of a frame |
//! |---|---|---|
//! | 0 | 4 | magic 04 22 4D 18 |
//! | 4 | 1 | flags: version 01 (bits 6 and 7), independent blocks (5), block checksums (4), content size (3), |
//! | | | checksum of the content (2), dictionary (0) |
//! | 5 | 1 | bits 4 to 6: n from 4 to 7, for blocks of up to 2^(8 + 2n) bytes |
//! | 6 | 8 | content size, if its flag is set |
//! | | 4 | dictionary, if its flag is set |
//! | | 1 | the second byte of the XXH32 of all bytes from offset 4 |
//!
//! A block is decoded as a whole into a window and then copied to the output. If blocks are linked, the window also
//! contains the 64 KiB before the block.

use super::error::{DecodeStop, checksum, corrupt, limit, truncated, unsupported};
use super::format::{MemberFormat, OutputBuffer};
use crate::Buffer;
use crate::codec::{LZ4_LEGACY_MAGIC, LZ4_MAGIC, is_lz4, skippable_len};
use crate::error::DecompressLimit;
use crate::hash::{Xxh32, xxh32};
use crate::memory::{grow, reserve};
use std::io;

const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// Size of the history to which a linked block may refer.
const HISTORY_BYTES: usize = 64 << 10;
/// Maximum size of a frame header.
pub(super) const MAX_HEAD_BYTES: usize = 19;
const IS_STORED: u32 = 1 << 31;
/// Maximum expansion of a block: each additional length byte adds at most 255.
const MAX_EXPANSION: usize = 255;

/// The header of a frame.
#[derive(Clone)]
pub(super) struct Lz4Head {
    pub(super) bytes: usize,
    /// Uncompressed size of the frame in bytes, if declared.
    pub(super) content_bytes: Option<u64>,
    pub(super) has_block_checksum: bool,
    pub(super) has_checksum: bool,
    is_legacy: bool,
    is_linked: bool,
    block_bytes: usize,
}

impl Lz4Head {
    /// Parses the header at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Lz4Head, DecodeStop> {
        if bytes.starts_with(&LZ4_LEGACY_MAGIC) {
            return Ok(Lz4Head::legacy());
        }
        let &[flags, sizes] = bytes.get(4..).and_then(<[u8]>::first_chunk).ok_or_else(truncated)?;
        if flags >> 6 != 1 || flags & 2 != 0 || sizes & 0x8f != 0 || sizes < 0x40 {
            return Err(corrupt("a frame header has an invalid version, flag or block size"));
        }
        let has_content_size = flags & 8 != 0;
        let has_dictionary = flags & 1 != 0;
        let len = 6 + 8 * usize::from(has_content_size) + 4 * usize::from(has_dictionary);
        let (head, rest) = bytes.split_at_checked(len).ok_or_else(truncated)?;
        let &sum = rest.first().ok_or_else(truncated)?;
        if sum != (xxh32(&head[4..]) >> 8) as u8 {
            return Err(checksum("the checksum of a header does not match"));
        }
        if has_dictionary {
            return Err(unsupported("it needs a dictionary, which is not supported"));
        }
        let content = head[6..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        Ok(Lz4Head {
            bytes: len + 1,
            content_bytes: content.filter(|_| has_content_size),
            has_block_checksum: flags & 16 != 0,
            has_checksum: flags & 4 != 0,
            is_legacy: false,
            is_linked: flags & 32 == 0,
            block_bytes: 1 << (8 + 2 * (sizes >> 4)),
        })
    }

    fn legacy() -> Lz4Head {
        Lz4Head {
            bytes: 4,
            content_bytes: None,
            has_block_checksum: false,
            has_checksum: false,
            is_legacy: true,
            is_linked: false,
            block_bytes: LEGACY_BLOCK_BYTES,
        }
    }

    /// Returns the maximum size of a block in the file.
    fn max_packed_bytes(&self) -> usize {
        // The legacy format has no stored blocks, so incompressible blocks grow, up to lz4's bound.
        if self.is_legacy { self.block_bytes + self.block_bytes / 255 + 16 } else { self.block_bytes }
    }
}

/// Splits the size word of a block into its size in the file, in bytes, and whether it is stored uncompressed.
pub(super) fn block_size(word: [u8; 4]) -> (usize, bool) {
    let word = u32::from_le_bytes(word);
    ((word & !IS_STORED) as usize, word & IS_STORED != 0)
}

/// A frame being read.
pub(super) struct Lz4 {
    memory_bytes: u64,
    head: Lz4Head,
    hash: Xxh32,
    /// Uncompressed bytes of this frame so far.
    size: u64,
    /// Up to 64 KiB of history, then the block.
    window: Vec<u8>,
    /// The pending bytes are `window[start..end]`.
    start: usize,
    end: usize,
}

impl Lz4 {
    pub(super) fn new(memory_bytes: u64) -> Self {
        Lz4 { memory_bytes, head: Lz4Head::legacy(), hash: Xxh32::new(), size: 0, window: Vec::new(), start: 0, end: 0 }
    }

    /// Reads a block. Returns `true` if the frame ended instead.
    fn read_block(&mut self, input: &mut Buffer<'_>) -> Result<bool, DecodeStop> {
        let pending = input.ensure(8)?;
        let is_next = pending.is_empty() || is_lz4(pending) || skippable_len(pending).is_some();
        let word = pending.first_chunk::<4>().copied().unwrap_or_default();
        if pending.len() < 4 && !(self.head.is_legacy && is_next) {
            return Err(truncated());
        }
        let (len, is_stored) = block_size(word);
        if self.head.is_legacy && (is_next || len == 0) {
            return Ok(true);
        }
        if len == 0 && !is_stored {
            input.consume(4);
            self.read_tail(input)?;
            return Ok(true);
        }
        if len > self.head.max_packed_bytes() {
            return Err(corrupt("a block is larger than its frame allows"));
        }
        let total = 4 + len + 4 * usize::from(self.head.has_block_checksum);
        let Some(block) = input.ensure(total)?.get(4..total) else {
            return Err(truncated());
        };
        let (block, sum) = block.split_at(len);
        if sum.first_chunk().is_some_and(|sum| u32::from_le_bytes(*sum) != xxh32(block)) {
            return Err(checksum("the checksum of a block does not match its data"));
        }
        self.decode(block, is_stored && !self.head.is_legacy)?;
        input.consume(total);
        Ok(false)
    }

    fn decode(&mut self, block: &[u8], is_stored: bool) -> Result<(), DecodeStop> {
        let history = if self.head.is_linked { self.end.min(HISTORY_BYTES) } else { 0 };
        self.window.copy_within(self.end - history..self.end, 0);
        self.start = history;
        self.end = history;
        // Blocks of small files are usually much smaller than the header allows.
        let max_bytes = block.len().saturating_mul(MAX_EXPANSION).min(self.head.block_bytes);
        grow(&mut self.window, history + max_bytes)?;
        let (dictionary, room) = self.window.split_at_mut(history);
        let room = &mut room[..max_bytes];
        let count = if is_stored {
            room[..block.len()].copy_from_slice(block);
            block.len()
        } else {
            lz4_flex::block::decompress_into_with_dict(block, room, dictionary)
                .map_err(|_| corrupt("a block is invalid"))?
        };
        self.end += count;
        self.size += count as u64;
        if self.head.has_checksum {
            self.hash.update(&room[..count]);
        }
        Ok(())
    }

    fn read_tail(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        if self.head.content_bytes.is_some_and(|bytes| bytes != self.size) {
            return Err(corrupt("the size of a frame does not match its header"));
        }
        if self.head.has_checksum {
            let Some(sum) = input.ensure(4)?.first_chunk() else {
                return Err(truncated());
            };
            if u32::from_le_bytes(*sum) != self.hash.digest() {
                return Err(checksum("the checksum of a frame does not match its data"));
            }
            input.consume(4);
        }
        Ok(())
    }
}

impl MemberFormat for Lz4 {
    const MAY_SKIP: bool = true;

    fn has_signature(bytes: &[u8]) -> bool {
        is_lz4(bytes)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let head = Lz4Head::parse(input.ensure(MAX_HEAD_BYTES)?)?;
        let needed = (HISTORY_BYTES + 2 * head.block_bytes) as u64;
        if needed > self.memory_bytes {
            let message = format!("its blocks need {needed} bytes, more than {} bytes", self.memory_bytes);
            return Err(limit(DecompressLimit::Memory, message));
        }
        input.consume(head.bytes);
        self.start = 0;
        self.end = 0;
        self.size = 0;
        self.hash = Xxh32::new();
        self.head = head;
        Ok(())
    }

    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        let is_end = self.start == self.end && self.read_block(input)?;
        self.start += out.take_from(&self.window[self.start..self.end]);
        Ok(is_end)
    }

    fn restart(&mut self) {
        self.start = 0;
        self.end = 0;
    }
}

/// Compresses `plain` and appends it to `out` as a frame with independent blocks, content size and checksum.
pub(super) fn encode(plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    /// Version 1, independent blocks, content size, content checksum.
    const FLAGS: u8 = 0x40 | 0x20 | 8 | 4;
    /// Blocks of up to 256 KiB. A reader of one member also reads the start of the next one, up to its first line
    /// ending, and blocks are decoded as a whole: blocks of 1 MiB, the size of a member, would be decoded twice.
    const SIZES: u8 = 5 << 4;
    const BLOCK_BYTES: usize = 256 << 10;
    let bound = lz4_flex::block::get_maximum_output_size(plain.len().min(BLOCK_BYTES));
    reserve(out, MAX_HEAD_BYTES + 8)?;
    out.extend_from_slice(&LZ4_MAGIC);
    let head = out.len();
    out.extend_from_slice(&[FLAGS, SIZES]);
    out.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    out.push((xxh32(&out[head..]) >> 8) as u8);
    for block in plain.chunks(BLOCK_BYTES) {
        let start = out.len();
        grow(out, start + 4 + bound)?;
        let result = lz4_flex::block::compress_into(block, &mut out[start + 4..]);
        let packed = result.map_err(|error| io::Error::other(format!("compression failed: {error}")))?;
        let mut word = packed as u32;
        if packed >= block.len() {
            word = block.len() as u32 | IS_STORED;
            out[start + 4..][..block.len()].copy_from_slice(block);
        }
        out[start..start + 4].copy_from_slice(&word.to_le_bytes());
        out.truncate(start + 4 + packed.min(block.len()));
    }
    reserve(out, 8)?;
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&xxh32(plain).to_le_bytes());
    Ok(())
}
