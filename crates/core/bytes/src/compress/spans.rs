//! Decodes a zlib stream (RFC 1950) on several threads. The compressed bytes come in spans, for example the chunks of a
//! PNG file.
//!
//! Any thread can decode a part of a [`ZlibSpan`] without the bytes before it, from the first block found in the span
//! (`inflate/blind.rs`). A [`ZlibDecoder`] takes the spans in order: when it reaches the first bit of a part, it
//! replaces the part's markers and continues after the part. It decodes everything else itself, and only it reports
//! errors, so neither bytes nor errors depend on what was decoded ahead. Unlike `ahead.rs`, this module neither reads a
//! source nor waits for threads: the caller provides the bytes and schedules the work.
//!
//! This is stricter than [`inflated`](super::inflated): a block with only an end symbol is an error, as in the `png`
//! crate.

use super::error::{DecodeStop, corrupt};
use super::format::OutputBuffer;
use super::inflate::{BlindDecoder, Inflate, InflatedPart, SymbolBytes, WINDOW_BYTES};
use super::zlib;
use crate::error::DecompressErrorKind;
use crate::memory::{grow, reserve};
use crate::{Buffer, Source};
use simd_adler32::Adler32;
use std::io;
use std::ops::Range;

/// Compressed bytes of a zlib stream, and the part that was decoded without the bytes before them.
pub struct ZlibSpan {
    /// The bytes of the span, and some bytes after it.
    bytes: Vec<u8>,
    /// The range of the span in the stream.
    range: Range<u64>,
    decoder: BlindDecoder<'static>,
    part: InflatedPart,
    state: SpanState,
}

/// The state of the part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanState {
    /// There is no part, or the decoder has passed it.
    None,
    Decoded,
    /// The decoder has taken this many of its uncompressed bytes.
    Taken(usize),
}

impl ZlibSpan {
    /// Creates an empty span.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new() -> io::Result<ZlibSpan> {
        let decoder = BlindDecoder::new(Source::memory([]))?;
        Ok(ZlibSpan { bytes: Vec::new(), range: 0..0, decoder, part: InflatedPart::default(), state: SpanState::None })
    }

    /// Takes the span's byte vector and clears it, to be refilled and passed to [`ZlibSpan::set`].
    pub fn take_bytes(&mut self) -> Vec<u8> {
        self.bytes.clear();
        std::mem::take(&mut self.bytes)
    }

    /// Sets the span to `range` of the stream. `bytes` start with the range, and must extend at least 1 KiB beyond its
    /// end unless the stream ends. They should extend further, because a block that starts in the span is decoded ahead
    /// only if it is complete in `bytes`.
    pub fn set(&mut self, bytes: Vec<u8>, range: Range<u64>) {
        self.bytes = bytes;
        self.range = range;
        self.state = SpanState::None;
    }

    /// Decodes a part, from the first block found in the span, with at most `max_bytes` of memory. Returns whether
    /// there is a part.
    pub fn decode_ahead(&mut self, max_bytes: usize) -> bool {
        self.decoder.hand(std::mem::take(&mut self.bytes), self.range.start);
        // The sequential decoder will find the same error.
        let has_part = self.decoder.decode(&self.range, max_bytes, &mut self.part, |_| true).unwrap_or(false);
        self.state = if has_part { SpanState::Decoded } else { SpanState::None };
        self.bytes = self.decoder.give_back();
        has_part
    }
}

/// Uncompressed bytes, preceded by the bytes to which the data may refer.
#[derive(Default)]
pub struct ZlibPlain {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ZlibPlain {
    /// Returns the bytes decoded since the last call of [`ZlibPlain::clear`].
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Removes the bytes, and keeps the memory.
    pub fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }
}

/// Decodes a zlib stream in order, span by span.
///
/// ```
/// use polyhaul_bytes::{ZlibDecoder, ZlibPlain, ZlibSpan};
///
/// # fn main() -> std::io::Result<()> {
/// let packed = [0x78, 1, 1, 3, 0, 0xFC, 0xFF, b'a', b'b', b'c', 2, 0x4D, 1, 0x27];
/// let mut span = ZlibSpan::new()?;
/// let mut decoder = ZlibDecoder::new()?;
/// let mut plain = ZlibPlain::default();
/// span.set(packed.to_vec(), 0..14);
/// span.decode_ahead(1 << 20);
/// decoder.decode(&mut span, 100, &mut plain)?;
/// assert_eq!(plain.bytes(), b"abc");
/// assert!(decoder.is_over());
/// # Ok(())
/// # }
/// ```
pub struct ZlibDecoder {
    inflate: Inflate,
    input: Buffer<'static>,
    /// The number of bytes of the stream used so far.
    at: u64,
    /// The number of parts decoded ahead that were taken.
    parts: u64,
    symbol_bytes: SymbolBytes,
    /// The last uncompressed bytes, which later data may refer to.
    window: Vec<u8>,
    sum: Adler32,
    is_over: bool,
}

impl ZlibDecoder {
    /// Creates a decoder at the start of a stream.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new() -> io::Result<ZlibDecoder> {
        let mut window = Vec::new();
        reserve(&mut window, WINDOW_BYTES)?;
        Ok(ZlibDecoder {
            inflate: Inflate::in_spans()?,
            input: Buffer::new(Source::memory([])),
            at: 0,
            parts: 0,
            symbol_bytes: SymbolBytes::new()?,
            window,
            sum: Adler32::new(),
            is_over: false,
        })
    }

    /// Returns whether the whole stream was decoded and its checksum matched.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the number of compressed bytes used so far.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Returns the number of blocks with dynamic codes so far, which [`ZlibSpan::decode_ahead`] searches for. The
    /// blocks of a part decoded ahead count as one. Some compressors write at most one for the whole stream.
    pub fn block_count(&self) -> u64 {
        self.inflate.built() + self.parts
    }

    /// Adds uncompressed bytes until `plain` holds `max_bytes`. Returns `false` if it holds fewer, because the decoder
    /// needs the next span or the stream is over.
    ///
    /// # Errors
    /// `InvalidData` if the data is damaged, or bytes between two spans are missing; `OutOfMemory`.
    pub fn decode(&mut self, span: &mut ZlibSpan, max_bytes: usize, plain: &mut ZlibPlain) -> io::Result<bool> {
        if self.at < span.range.start {
            return Err(zlib::error(corrupt("bytes are missing between its spans")));
        }
        if plain.bytes().is_empty() {
            plain.start = self.window.len();
            plain.end = self.window.len();
            grow(&mut plain.bytes, plain.start + max_bytes)?;
            plain.bytes[..plain.start].copy_from_slice(&self.window);
        }
        let end = plain.bytes.len().min(plain.start + max_bytes).max(plain.end);
        let mut out = OutputBuffer { bytes: &mut plain.bytes[..end], filled: plain.end };
        self.input.hand(std::mem::take(&mut span.bytes), span.range.start, self.at);
        let result = self.fill(span, &mut out);
        let is_full = out.is_full();
        plain.end = out.filled;
        self.at = self.input.offset();
        span.bytes = self.input.give_back();
        self.window.clear();
        self.window.extend_from_slice(&plain.bytes[plain.end.saturating_sub(WINDOW_BYTES)..plain.end]);
        match result {
            // The data continues in the next span.
            Ok(()) | Err(DecodeStop::Data(DecompressErrorKind::Truncated, _)) => Ok(is_full),
            Err(stop) => Err(zlib::error(stop)),
        }
    }

    /// Decodes until `out` is full or the span ends.
    fn fill(&mut self, span: &mut ZlibSpan, out: &mut OutputBuffer<'_>) -> Result<(), DecodeStop> {
        if self.at == 0 {
            zlib::read_head(&mut self.input)?;
        }
        let start = out.filled;
        let result = self.blocks(span, out);
        self.sum.write(&out.bytes[start..out.filled]);
        if !self.is_over && result? {
            zlib::read_sum(&mut self.input, self.sum.finish())?;
            self.is_over = true;
        }
        Ok(())
    }

    /// Decodes until `out` is full or the span ends. Returns whether the data ended.
    fn blocks(&mut self, span: &mut ZlibSpan, out: &mut OutputBuffer<'_>) -> Result<bool, DecodeStop> {
        loop {
            let until_bit = match span.state {
                SpanState::None => 8 * span.range.end,
                SpanState::Decoded => span.part.start_bit(),
                SpanState::Taken(at) if at == span.part.len() => {
                    self.inflate.pass(&span.part, &mut self.input)?;
                    span.state = SpanState::None;
                    continue;
                }
                SpanState::Taken(_) if out.is_full() => return Ok(false),
                SpanState::Taken(at) => {
                    span.state = SpanState::Taken(at + span.part.copy(at, &self.symbol_bytes, out));
                    continue;
                }
            };
            if self.inflate.decode_until(until_bit, &mut self.input, out)? {
                return Ok(true);
            }
            if !self.inflate.is_between_blocks() || span.state == SpanState::None {
                return Ok(false);
            }
            span.state = self.start_part(&span.part, out);
        }
    }

    /// Takes `part` if it starts at the current bit and the whole window before it is known. Otherwise, the part is not
    /// used.
    fn start_part(&mut self, part: &InflatedPart, out: &OutputBuffer<'_>) -> SpanState {
        let is_here = self.inflate.bit(&self.input) == part.start_bit();
        match out.bytes[..out.filled].last_chunk::<WINDOW_BYTES>() {
            Some(window) if is_here => {
                self.symbol_bytes.window().copy_from_slice(window);
                self.parts += 1;
                SpanState::Taken(0)
            }
            _ => SpanState::None,
        }
    }
}

#[cfg(test)]
mod tests;
