//! Splits a file into its JSON and, for a `.glb`, the binary chunk.
//!
//! The binary chunk is located here, and loaded only if the source is sequential or compressed.

use crate::buffers::Binary;
use crate::container::{BINARY, CHUNK_HEADER_BYTES, HEADER_BYTES, JSON, MAGIC, VERSION};
use crate::json::{JsonLocation, unsupported_version};
use crate::log::{malformed, over_limit};
use polyhaul_model::error::{Result, fault, truncated, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_pipeline::bytes::Bytes;
use std::cell::Cell;
use std::sync::Arc;

/// The JSON and the binary chunk of a file.
pub(crate) struct Chunks<'a> {
    pub(crate) json: Vec<u8>,
    pub(crate) location: JsonLocation,
    pub(crate) binary: Binary<'a>,
    /// Codes and messages of faults that were repaired.
    pub(crate) faults: Vec<(&'static str, String)>,
}

/// Splits a `.glb` or `.gltf` file into its parts.
pub(crate) fn chunks<'a>(bytes: &'a Bytes<'a>, limits: &Limits) -> Result<Chunks<'a>> {
    let mut head = [0; HEADER_BYTES];
    let count = bytes.read(0, &mut head)?;
    if count == 0 {
        return Err(truncated(&bytes.name().into(), 0, "the header"));
    }
    if !head[..count].starts_with(MAGIC) {
        let json = whole_json(bytes, &head[..count], limits)?;
        return Ok(Chunks { json, location: JsonLocation::File, binary: Binary::Missing, faults: Vec::new() });
    }
    let file: Arc<str> = bytes.name().into();
    if count < HEADER_BYTES {
        return Err(truncated(&file, count as u64, "the header"));
    }
    let number = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if number(4) != VERSION {
        return Err(unsupported_version(&format!("{}.0", number(4))));
    }
    let reader = ChunkReader { bytes, file, end: Cell::new(u64::from(number(8))), exceeded: Cell::new(None), limits };
    reader.read()
}

/// Reads a whole `.gltf`. `head` holds its first bytes, which were already read.
fn whole_json(bytes: &Bytes<'_>, head: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let limit = limits.line_bytes;
    // One byte beyond the limit shows that the file exceeds it.
    let max_bytes = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
    let start = if bytes.in_order() { head.len() } else { 0 };
    let max_bytes =
        bytes.len().and_then(|len| usize::try_from(len).ok()).map_or(max_bytes, |len| max_bytes.min(len.max(1)));
    let mut json = Vec::new();
    // If the head is shorter, it is the whole file.
    if head.len() == HEADER_BYTES {
        bytes.read_as_claimed(start as u64, max_bytes, &mut json)?;
    }
    // A stream continues after its head and cannot be read from the start again.
    if start > 0 || json.is_empty() {
        json.try_reserve(head.len())?;
        json.splice(0..0, head.iter().copied());
    }
    if json.len() as u64 > limit {
        return Err(over_limit("the bytes of the JSON", limit, "line_bytes"));
    }
    Ok(json)
}

struct ChunkReader<'a, 'l> {
    bytes: &'a Bytes<'a>,
    file: Arc<str>,
    /// Length of the file according to the header; `u64::MAX` once the chunks exceed it.
    end: Cell<u64>,
    /// The length in the header, if the chunks exceed it.
    exceeded: Cell<Option<u64>>,
    limits: &'l Limits,
}

impl<'a> ChunkReader<'a, '_> {
    fn read(&self) -> Result<Chunks<'a>> {
        let offset = HEADER_BYTES as u64;
        let (kind, len) = self.header(offset)?.ok_or_else(|| fault(&self.file, offset, "the file has no chunks"))?;
        if kind != *JSON {
            return Err(fault(&self.file, offset, "the first chunk is not JSON"));
        }
        if len > self.limits.line_bytes {
            return Err(over_limit("the bytes of the JSON", self.limits.line_bytes, "line_bytes"));
        }
        let start = offset + CHUNK_HEADER_BYTES as u64;
        let mut json = self.read_range(start, len)?;
        // Some writers pad with zeros instead of spaces.
        json.truncate(json.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
        let end = start + len;
        let location = JsonLocation::Chunk(start);
        let mut chunks = Chunks { json, location, binary: Binary::Missing, faults: Vec::new() };
        let mut chunks_end = end;
        if let Some((kind, start, len)) = self.second(end)? {
            if !(start - CHUNK_HEADER_BYTES as u64).is_multiple_of(4) {
                let message = format!("the chunk that ends at byte {end} is not padded to a multiple of 4 bytes");
                try_push(&mut chunks.faults, ("unpadded-chunk", message), "warnings")?;
            }
            // The specification requires readers to ignore chunks of unknown types.
            if kind == *BINARY {
                chunks.binary = self.binary(start, len)?;
            }
            chunks_end = start + len;
        }
        // Also without a second chunk, because the JSON chunk may exceed the declared length.
        if let Some(declared) = self.exceeded.get() {
            let message = format!(
                "byte 8: the header declares a length of {declared} bytes, but the chunks end at byte {chunks_end}"
            );
            try_push(&mut chunks.faults, ("wrong-file-size", message), "warnings")?;
        }
        Ok(chunks)
    }

    /// Returns the type, content offset and size of the chunk after the chunk that ends at `end`; `None` if there is
    /// none. Chunks are aligned to 4 bytes, but some writers omit the padding. Then the type is 1 to 3 bytes earlier,
    /// at an offset where an aligned binary chunk never has `BIN\0`.
    fn second(&self, end: u64) -> Result<Option<([u8; 4], u64, u64)>> {
        let padding = (end.next_multiple_of(4) - end) as usize;
        let mut bytes = [0; CHUNK_HEADER_BYTES + 3];
        let first = &mut bytes[..CHUNK_HEADER_BYTES];
        let max_bytes = self.end.get().saturating_sub(end).min(first.len() as u64) as usize;
        let mut count = self.bytes.read(end, &mut first[..max_bytes])?;
        if count <= padding {
            return Ok(None);
        }
        let is_unpadded = padding > 0 && bytes[4..CHUNK_HEADER_BYTES] == *BINARY;
        let skipped = if is_unpadded { 0 } else { padding };
        // The first read covers only a header without padding.
        if skipped > 0 && count == CHUNK_HEADER_BYTES {
            let rest = &mut bytes[CHUNK_HEADER_BYTES..CHUNK_HEADER_BYTES + skipped];
            count += self.bytes.read(end + CHUNK_HEADER_BYTES as u64, rest)?;
        }
        let offset = end + skipped as u64;
        let header = bytes[skipped..].first_chunk().filter(|_| count >= skipped + CHUNK_HEADER_BYTES);
        let (kind, len) = self.parsed(header, offset, end + count as u64)?;
        Ok(Some((kind, offset + CHUNK_HEADER_BYTES as u64, len)))
    }

    /// Locates the binary chunk, and loads it if the source is sequential or compressed.
    fn binary(&self, start: u64, len: u64) -> Result<Binary<'a>> {
        if self.bytes.in_order() || !self.bytes.is_backed() {
            return self.read_range(start, len).map(|bytes| Binary::Whole(Arc::new(bytes)));
        }
        // Checked here, because a placed chunk is read on demand, perhaps never to its end.
        if let Some(size) = self.bytes.len().filter(|&size| start + len > size) {
            return Err(self.cut(start, len, size));
        }
        Ok(Binary::Placed { bytes: self.bytes, offset: start, len })
    }

    /// Reads the type and size of the chunk at `offset`. Returns `None` at the end of the file.
    fn header(&self, offset: u64) -> Result<Option<([u8; 4], u64)>> {
        if offset == self.end.get() {
            return Ok(None);
        }
        let mut header = [0; CHUNK_HEADER_BYTES];
        let count = self.bytes.read(offset, &mut header)?;
        let whole = Some(&header).filter(|_| count == CHUNK_HEADER_BYTES);
        self.parsed(whole, offset, offset + count as u64).map(Some)
    }

    /// Parses the type and size in a chunk header at `offset`. If `header` is `None`, fails with an unexpected end of
    /// file at offset `cut`.
    fn parsed(&self, header: Option<&[u8; CHUNK_HEADER_BYTES]>, offset: u64, cut: u64) -> Result<([u8; 4], u64)> {
        let Some(&[a, b, c, d, ref kind @ ..]) = header else {
            return Err(fault(&self.file, cut, "unexpected end of file in a chunk header"));
        };
        let len = u64::from(u32::from_le_bytes([a, b, c, d]));
        let end = offset + CHUNK_HEADER_BYTES as u64 + len;
        if end > self.end.get() {
            // Reading the chunk will show whether the file has these bytes.
            self.exceeded.set(Some(self.end.replace(u64::MAX)));
        }
        Ok((*kind, len))
    }

    /// Reads the content of a chunk.
    fn read_range(&self, start: u64, len: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let count = usize::try_from(len).map_err(|_| malformed("a chunk is too large"))?;
        self.bytes.read_as_claimed(start, count, &mut bytes)?;
        if bytes.len() < count {
            return Err(self.cut(start, len, start + bytes.len() as u64));
        }
        Ok(bytes)
    }

    fn cut(&self, start: u64, len: u64, size: u64) -> polyhaul_model::error::Error {
        let message = format!("unexpected end of file in a chunk of {len} bytes that starts at byte {start}");
        fault(&self.file, size, message)
    }
}
