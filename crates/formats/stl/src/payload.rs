//! Binary STL files that use the attribute as a byte count: as many attribute bytes follow each triangle.
//!
//! Most programs store 0 or a color in the attribute. A file with attribute bytes is larger than its triangles. It is
//! recognized by the fact that the triangles and their attribute bytes end less than 50 bytes before the end of the
//! file.

use super::{FACET_BYTES, HEADER_BYTES};
use polyhaul_bytes::Source;
use polyhaul_model::error::Result;
use polyhaul_pipeline::read::ask;
use std::io::{self, Read};

/// Bytes per read.
const BLOCK_BYTES: usize = 64 << 10;

/// Totals of the attribute bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StlPayload {
    /// Number of triangles with attribute bytes.
    pub(super) facets: u64,
    /// Number of attribute bytes.
    pub(super) bytes: u64,
    /// File offset of the end of the triangles, and number of bytes after it.
    pub(super) end: u64,
    pub(super) rest: u64,
}

/// Reads a source sequentially in blocks.
struct FacetBlocks<'a> {
    source: Source<'a>,
    block: Vec<u8>,
    /// Start of the unread part of the block.
    start: usize,
    /// File offset of the end of the block.
    offset: u64,
}

impl<'a> FacetBlocks<'a> {
    fn new(source: Source<'a>, offset: u64) -> FacetBlocks<'a> {
        FacetBlocks { source, block: Vec::new(), start: 0, offset }
    }

    /// Reads the next triangle. Returns `None` if the source ends before the end of the triangle.
    fn facet(&mut self) -> io::Result<Option<[u8; FACET_BYTES]>> {
        while self.block.len() - self.start < FACET_BYTES {
            self.block.drain(..self.start);
            self.start = 0;
            let filled = self.block.len();
            self.block.try_reserve(BLOCK_BYTES).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.block.resize(filled + BLOCK_BYTES, 0);
            let count = self.source.read_at(self.offset, &mut self.block[filled..])?;
            self.block.truncate(filled + count);
            self.offset += count as u64;
            if count == 0 {
                return Ok(None);
            }
        }
        let facet = self.block[self.start..].first_chunk().copied();
        self.start += FACET_BYTES;
        Ok(facet)
    }

    fn skip(&mut self, count: usize) {
        let pending = self.block.len() - self.start;
        self.offset += count.saturating_sub(pending) as u64;
        self.start += count.min(pending);
    }

    /// Returns the file offset of the next byte to return.
    fn at(&self) -> u64 {
        self.offset - (self.block.len() - self.start) as u64
    }
}

/// Returns the number of attribute bytes after a triangle.
fn payload_bytes(facet: &[u8; FACET_BYTES]) -> usize {
    usize::from(u16::from_le_bytes([facet[FACET_BYTES - 2], facet[FACET_BYTES - 1]]))
}

impl StlPayload {
    /// Finds the attribute bytes of a file with `count` triangles, if any. Returns `None` for streams.
    pub(super) fn find(source: &Source<'_>, count: u32) -> Result<Option<StlPayload>> {
        let plain_bytes = HEADER_BYTES as u64 + u64::from(count) * FACET_BYTES as u64;
        let Some(size) = source.len().filter(|&size| source.is_positioned() && size > plain_bytes && count > 0) else {
            return Ok(None);
        };
        let mut payload = StlPayload::default();
        let mut blocks = FacetBlocks::new(source.clone(), HEADER_BYTES as u64);
        for _ in 0..count {
            let Some(facet) = ask(source, || blocks.facet())? else { return Ok(None) };
            let bytes = payload_bytes(&facet);
            blocks.skip(bytes);
            payload.facets += u64::from(bytes > 0);
            payload.bytes += bytes as u64;
            // If the attributes are not byte counts, such as colors, their sum soon exceeds the size of the file.
            if plain_bytes + payload.bytes > size {
                return Ok(None);
            }
        }
        // Up to 49 bytes may follow, because some programs end files with a newline.
        payload.end = blocks.at();
        let Some(rest) = size.checked_sub(payload.end).filter(|&rest| rest < FACET_BYTES as u64) else {
            return Ok(None);
        };
        payload.rest = rest;
        Ok((payload.bytes > 0).then_some(payload))
    }
}

/// A reader that drops attribute bytes and sets their counts to 0.
pub(super) struct BareFacets<'a> {
    header: Vec<u8>,
    blocks: FacetBlocks<'a>,
    facet: [u8; FACET_BYTES],
    /// Number of bytes of the triangle that were already returned.
    taken: usize,
}

impl<'a> BareFacets<'a> {
    /// Creates a reader that returns `header`, the header of the source, and then the triangles after it.
    pub(super) fn new(source: Source<'a>, header: Vec<u8>) -> BareFacets<'a> {
        let blocks = FacetBlocks::new(source, header.len() as u64);
        BareFacets { header, blocks, facet: [0; FACET_BYTES], taken: FACET_BYTES }
    }
}

impl Read for BareFacets<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.header.is_empty() {
            let count = self.header.len().min(out.len());
            out[..count].copy_from_slice(&self.header[..count]);
            self.header.drain(..count);
            return Ok(count);
        }
        if self.taken == FACET_BYTES {
            let Some(mut facet) = self.blocks.facet()? else { return Ok(0) };
            self.blocks.skip(payload_bytes(&facet));
            facet[FACET_BYTES - 2..].fill(0);
            self.facet = facet;
            self.taken = 0;
        }
        let count = (FACET_BYTES - self.taken).min(out.len());
        out[..count].copy_from_slice(&self.facet[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
