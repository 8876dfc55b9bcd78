//! One zlib stream (RFC 1950) on several threads: its compressed bytes come in spans, as from the chunks of a PNG file.
//!
//! Any thread decodes a [`ZlibSpan`] without the bytes before it, from the first block that it finds there
//! (`inflate/blind.rs`). A [`ZlibDecoder`] takes the spans in order: where it comes to the first bit of such a part, it
//! replaces the markers and goes on after it. Everything else it decodes itself, and it alone finds errors, so neither
//! the bytes nor the errors depend on what was decoded ahead. Unlike `ahead.rs` it reads no source and waits for no
//! thread: its caller hands it the bytes and schedules the work.
//!
//! Stricter than [`inflated`](super::inflated): a block whose code has no symbol but its end is an error, as for the
//! `png` crate.

use super::decoder::Output;
use super::error::{Stop, corrupt};
use super::inflate::{Blind, Inflate, Known, Part, WINDOW_BYTES};
use super::{DecompressErrorKind, zlib};
use crate::memory::{grow, reserve};
use crate::{Buffer, Source};
use simd_adler32::Adler32;
use std::io;
use std::ops::Range;

/// Compressed bytes of a zlib stream, and what could be decoded without the bytes before them.
pub struct ZlibSpan {
    /// From the beginning of the span on, and some after its end.
    bytes: Vec<u8>,
    /// The place of the span in the stream.
    range: Range<u64>,
    blind: Blind<'static>,
    part: Part,
    state: Ahead,
}

/// What is known of the part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// There is none, or the decoder has passed it.
    None,
    Decoded,
    /// So many of its bytes were taken.
    Taken(usize),
}

impl ZlibSpan {
    /// A span without bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new() -> io::Result<ZlibSpan> {
        let blind = Blind::new(Source::memory([]))?;
        Ok(ZlibSpan { bytes: Vec::new(), range: 0..0, blind, part: Part::default(), state: Ahead::None })
    }

    /// The memory of its bytes, empty, to be filled and set.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        self.bytes.clear();
        std::mem::take(&mut self.bytes)
    }

    /// Makes it `range` of the stream. `bytes` begin there, and may go on after its end: a block that begins in the
    /// span is decoded ahead only if it is whole. They must go on by 1 KiB, unless the stream ends.
    pub fn set(&mut self, bytes: Vec<u8>, range: Range<u64>) {
        (self.bytes, self.range, self.state) = (bytes, range, Ahead::None);
    }

    /// Decodes from the first block that is found in the span, in at most `most_bytes` of memory; returns whether there
    /// is one.
    pub fn decode_ahead(&mut self, most_bytes: usize) -> bool {
        self.blind.hand(std::mem::take(&mut self.bytes), self.range.start);
        // An error is for the decoder in order to find.
        let found = self.blind.decode(&self.range, most_bytes, &mut self.part, |_| true).unwrap_or(false);
        self.state = if found { Ahead::Decoded } else { Ahead::None };
        self.bytes = self.blind.give_back();
        found
    }
}

/// Plain bytes, with those before them to which the data may refer.
#[derive(Default)]
pub struct ZlibPlain {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl ZlibPlain {
    /// The bytes that were decoded since it was cleared.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.begin..self.end).unwrap_or_default()
    }

    /// Forgets its bytes, but keeps the memory.
    pub fn clear(&mut self) {
        (self.begin, self.end) = (0, 0);
    }
}

/// Decodes a zlib stream in order, span after span.
///
/// ```
/// use polyhaul_bytes::{ZlibDecoder, ZlibPlain, ZlibSpan};
///
/// # fn main() -> std::io::Result<()> {
/// let packed = [0x78, 1, 1, 3, 0, 0xFC, 0xFF, b'a', b'b', b'c', 2, 0x4D, 1, 0x27];
/// let (mut span, mut decoder, mut plain) = (ZlibSpan::new()?, ZlibDecoder::new()?, ZlibPlain::default());
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
    /// How many bytes of the stream were used.
    at: u64,
    /// How many spans were taken that were decoded ahead.
    parts: u64,
    known: Known,
    /// The last plain bytes, as far back as the data may refer.
    window: Vec<u8>,
    sum: Adler32,
    is_over: bool,
}

impl ZlibDecoder {
    /// A decoder at the beginning of a stream.
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
            known: Known::new()?,
            window,
            sum: Adler32::new(),
            is_over: false,
        })
    }

    /// Whether the whole stream was decoded, and its checksum matched.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many compressed bytes were used.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// How many blocks of the kind that [`ZlibSpan::decode_ahead`] looks for were begun; those of a span that was
    /// decoded ahead count as one. Some compressors write only one for the whole stream, or none.
    pub fn block_count(&self) -> u64 {
        self.inflate.built() + self.parts
    }

    /// Adds the next plain bytes, until there are `most_bytes`; returns whether it did, or the next span is needed, or
    /// the stream is over.
    ///
    /// # Errors
    /// `InvalidData` if the data is damaged; `OutOfMemory`.
    pub fn decode(&mut self, span: &mut ZlibSpan, most_bytes: usize, plain: &mut ZlibPlain) -> io::Result<bool> {
        if self.at < span.range.start {
            return Err(zlib::error(corrupt("bytes are missing between its spans")));
        }
        if plain.bytes().is_empty() {
            (plain.begin, plain.end) = (self.window.len(), self.window.len());
            grow(&mut plain.bytes, plain.begin + most_bytes)?;
            plain.bytes[..plain.begin].copy_from_slice(&self.window);
        }
        let end = plain.bytes.len().min(plain.begin + most_bytes).max(plain.end);
        let mut out = Output { bytes: &mut plain.bytes[..end], filled: plain.end };
        self.input.hand(std::mem::take(&mut span.bytes), span.range.start, self.at);
        let result = self.fill(span, &mut out);
        let is_full = out.is_full();
        plain.end = out.filled;
        self.at = self.input.offset();
        span.bytes = self.input.give_back();
        self.window.clear();
        self.window.extend_from_slice(&plain.bytes[plain.end.saturating_sub(WINDOW_BYTES)..plain.end]);
        match result {
            // The next span has more.
            Ok(()) | Err(Stop::Data(DecompressErrorKind::Truncated, _)) => Ok(is_full),
            Err(stop) => Err(zlib::error(stop)),
        }
    }

    /// Decodes until there is no more room, or no more of this span.
    fn fill(&mut self, span: &mut ZlibSpan, out: &mut Output<'_>) -> Result<(), Stop> {
        if self.at == 0 {
            zlib::read_head(&mut self.input)?;
        }
        let begin = out.filled;
        let result = self.blocks(span, out);
        self.sum.write(&out.bytes[begin..out.filled]);
        if !self.is_over && result? {
            zlib::read_sum(&mut self.input, self.sum.finish())?;
            self.is_over = true;
        }
        Ok(())
    }

    /// Returns whether the data ended.
    fn blocks(&mut self, span: &mut ZlibSpan, out: &mut Output<'_>) -> Result<bool, Stop> {
        loop {
            let until_bit = match span.state {
                Ahead::None => 8 * span.range.end,
                Ahead::Decoded => span.part.start_bit(),
                Ahead::Taken(at) if at == span.part.len() => {
                    self.inflate.pass(&span.part, &mut self.input)?;
                    span.state = Ahead::None;
                    continue;
                }
                Ahead::Taken(_) if out.is_full() => return Ok(false),
                Ahead::Taken(at) => {
                    span.state = Ahead::Taken(at + span.part.copy(at, &self.known, out));
                    continue;
                }
            };
            if self.inflate.decode_until(until_bit, &mut self.input, out)? {
                return Ok(true);
            }
            if !self.inflate.is_between_blocks() || span.state == Ahead::None {
                return Ok(false);
            }
            span.state = self.meet(&span.part, out);
        }
    }

    /// Begins with a part, if it begins here and all bytes are known that it may refer to.
    fn meet(&mut self, part: &Part, out: &Output<'_>) -> Ahead {
        let is_here = self.inflate.bit(&self.input) == part.start_bit();
        match out.bytes[..out.filled].last_chunk::<WINDOW_BYTES>() {
            Some(window) if is_here => {
                self.known.window().copy_from_slice(window);
                self.parts += 1;
                Ahead::Taken(0)
            }
            _ => Ahead::None,
        }
    }
}

#[cfg(test)]
mod tests;
