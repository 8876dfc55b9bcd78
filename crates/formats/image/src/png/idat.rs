//! Extracts the compressed pixel data of a PNG file, in spans. Does not inflate it.
//!
//! The `png` crate validates the order of chunks, their checksums and everything else that they declare.

use super::reader::decode_options;
use super::still::Still;
use png::{Decoded, Info, StreamingDecoder, chunk};
use polyhaul_bytes::{ZlibDecoder, ZlibSpan};
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::io::BufRead;

/// A file positioned at its pixel data.
pub(super) struct Idat<'a> {
    reader: Still<'a>,
    decoder: StreamingDecoder,
    /// Total size of chunks without pixels.
    others: u64,
    /// Bytes already read that follow the last span.
    beyond: Vec<u8>,
    /// Offset of the next span in the compressed data.
    at: u64,
    is_over: bool,
}

/// Creates an error for anything unexpected. It is never shown, since `reader` then reads the file again.
pub(super) fn unexpected() -> Error {
    Error::new(ErrorKind::Malformed, "left to the reader in order")
}

impl<'a> Idat<'a> {
    /// Maximum size of chunks without pixels: the `png` crate counts some of them toward its limit, which is far
    /// higher.
    pub(super) const MAX_OTHER_BYTES: u64 = 64 << 10;
    /// Number of bytes kept past the end of a span. A block that starts in the span is decoded ahead only if it ends
    /// within these bytes.
    pub(super) const BEYOND_BYTES: usize = 64 << 10;

    /// Reads a file up to its pixel data.
    pub(super) fn open(reader: Still<'a>) -> Result<Idat<'a>> {
        let decoder = StreamingDecoder::new_with_options(decode_options());
        let mut idat = Idat { reader, decoder, others: 0, beyond: Vec::new(), at: 0, is_over: false };
        while !matches!(idat.step(None)?, Decoded::ChunkBegin(_, chunk::IDAT)) {}
        Ok(idat)
    }

    /// Returns the contents of the chunks before the pixels.
    pub(super) fn info(&self) -> Result<&Info<'static>> {
        self.decoder.info().ok_or_else(unexpected)
    }

    /// Moves the next `span_bytes` bytes of compressed data, or the rest, into `span`. Returns whether there are any.
    pub(super) fn next(&mut self, span_bytes: usize, span: &mut ZlibSpan) -> Result<bool> {
        let mut bytes = span.take_bytes();
        let max_bytes = span_bytes + Self::BEYOND_BYTES;
        bytes.try_reserve(max_bytes)?;
        bytes.extend_from_slice(&self.beyond);
        self.beyond.clear();
        while !self.is_over && bytes.len() < max_bytes {
            self.is_over = matches!(self.step(Some((&mut bytes, max_bytes)))?, Decoded::ImageDataFlushed);
        }
        let len = bytes.len().min(span_bytes);
        self.beyond.try_reserve(bytes.len() - len)?;
        self.beyond.extend_from_slice(&bytes[len..]);
        let start = self.at;
        self.at += len as u64;
        span.set(bytes, start..self.at);
        Ok(len > 0)
    }

    /// Reads the chunks after the pixels, which `decoder` must have inflated completely.
    pub(super) fn finish(mut self, decoder: &ZlibDecoder) -> Result<()> {
        if !decoder.is_over() || decoder.offset() != self.at {
            return Err(unexpected());
        }
        while !matches!(self.step(None)?, Decoded::ChunkComplete(chunk::IEND)) {}
        Ok(())
    }

    /// Advances the `png` crate by one step. Appends compressed data to the vector, up to the given length.
    fn step(&mut self, to: Option<(&mut Vec<u8>, usize)>) -> Result<Decoded> {
        let bytes = self.reader.fill_buf().map_err(|_| unexpected())?;
        let bytes = &bytes[..bytes.len().min(to.as_ref().map_or(usize::MAX, |(to, max_bytes)| max_bytes - to.len()))];
        if bytes.is_empty() {
            return Err(unexpected());
        }
        // Without a buffer for pixels, the decoder does not inflate them.
        let (used, event) = self.decoder.update(bytes, None).map_err(|_| unexpected())?;
        match (&event, to) {
            (Decoded::ImageData, Some((to, _))) => to.extend_from_slice(&bytes[..used]),
            (Decoded::ImageData, None) => return Err(unexpected()),
            (Decoded::ChunkBegin(length, kind), _) if *kind != chunk::IDAT => self.others += u64::from(*length),
            _ => {}
        }
        self.reader.consume(used);
        if self.others > Self::MAX_OTHER_BYTES { Err(unexpected()) } else { Ok(event) }
    }
}
