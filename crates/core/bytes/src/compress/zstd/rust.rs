//! zstd frames, decoded block by block by the `ruzstd` crate, which is slower than the zstd library but needs no C
//! compiler.

use super::{ZstdHead, block_bytes, other_data};
use crate::Buffer;
use crate::codec::is_zstd;
use crate::compress::error::{DecodeStop, corrupt, truncated};
use crate::compress::format::{MemberFormat, OutputBuffer};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Sizes of a block header, and of the checksum after the last block.
const BLOCK_HEAD_BYTES: usize = 3;
const CHECKSUM_BYTES: usize = 4;

/// A frame being read.
pub(crate) struct Zstd {
    decoder: FrameDecoder,
    memory_bytes: u64,
    has_checksum: bool,
    /// Remaining uncompressed bytes of the frame, if it declares its size.
    left: Option<u64>,
}

impl Zstd {
    pub(crate) fn new(memory_bytes: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(memory_bytes);
        Zstd { decoder, memory_bytes, has_checksum: false, left: None }
    }

    /// Decodes the next block, and reads the checksum after the last one.
    fn read_block(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let word = input.ensure(BLOCK_HEAD_BYTES)?.first_chunk().ok_or_else(truncated)?;
        let (is_last, bytes) = block_bytes(*word);
        let tail = if is_last && self.has_checksum { CHECKSUM_BYTES } else { 0 };
        let block_len = BLOCK_HEAD_BYTES + bytes as usize + tail;
        let block = input.ensure(block_len)?.get(..block_len).ok_or_else(truncated)?;
        self.decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1)).map_err(fault)?;
        input.consume(block_len);
        Ok(())
    }
}

impl MemberFormat for Zstd {
    const MAY_SKIP: bool = true;

    fn has_signature(bytes: &[u8]) -> bool {
        is_zstd(bytes)
    }

    fn read_head(&mut self, input: &mut Buffer<'_>) -> Result<(), DecodeStop> {
        let head = ZstdHead::read(input, self.memory_bytes)?;
        let bytes = input.ensure(head.bytes)?.get(..head.bytes).ok_or_else(truncated)?;
        self.decoder.init(bytes).map_err(fault)?;
        self.has_checksum = head.has_checksum;
        self.left = head.content_bytes;
        input.consume(head.bytes);
        Ok(())
    }

    fn read_data(&mut self, input: &mut Buffer<'_>, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.read_block(input)?;
        }
        // Reading from memory does not fail.
        let count = self.decoder.read(out.rest()).map_err(DecodeStop::Io)?;
        out.filled += count;
        self.left = self.left.map(|left| left.checked_sub(count as u64).ok_or_else(other_size)).transpose()?;
        if !self.decoder.is_finished() || self.decoder.can_collect() > 0 {
            return Ok(false);
        }
        if self.left.is_some_and(|left| left > 0) {
            return Err(other_size());
        }
        match self.decoder.get_checksum_from_data() {
            stored @ Some(_) if stored != self.decoder.get_calculated_checksum() => Err(other_data()),
            _ => Ok(true),
        }
    }

    fn restart(&mut self) {}
}

#[cold]
fn other_size() -> DecodeStop {
    corrupt("the size of a frame does not match its header")
}

#[cold]
fn fault(error: ruzstd::decoding::errors::FrameDecoderError) -> DecodeStop {
    corrupt(format!("zstd: {}", error.to_string().to_ascii_lowercase()))
}
