//! Reads and writes parts of a file with known offsets and sizes, such as the images of a texture.
//!
//! `Pieces` reads the parts in file order, without trusting their sizes when allocating; [`write`] concatenates slices.
//! Neither depends on the content of the parts.

use polyhaul_model::error::{Error, Result, truncated};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;
use std::sync::Arc;

/// Bytes per read: memory is allocated and cancellation checked in between.
const STEP_BYTES: usize = 1 << 20;
/// Approximate size of an output page in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A file read from start to end.
pub(crate) struct Pieces<'a> {
    bytes: Bytes<'a>,
    pub(crate) file: Arc<str>,
    /// The current offset.
    at: u64,
    options: &'a ParseOptions,
    reported: u64,
    /// Bytes read ahead, which the next reads return.
    ahead: Vec<u8>,
}

impl<'a> Pieces<'a> {
    /// Starts reading at the beginning of a source.
    pub(crate) fn new(bytes: Bytes<'a>, options: &'a ParseOptions) -> Pieces<'a> {
        let file = bytes.name().into();
        Pieces { bytes, file, at: 0, options, reported: 0, ahead: Vec::new() }
    }

    /// Returns the current offset.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the source, for callers that continue reading without `Pieces` and then call [`Pieces::moved_to`].
    pub(crate) fn bytes(&self) -> &Bytes<'a> {
        &self.bytes
    }

    /// Continues at `at`, up to which the caller has read.
    pub(crate) fn moved_to(&mut self, at: u64) {
        self.at = at;
    }

    /// Continues at `at`, where the caller has read `ahead` but not used it.
    pub(crate) fn returned_to(&mut self, at: u64, ahead: &[u8]) -> Result<()> {
        self.at = at;
        // Only a stream cannot read these bytes again.
        if self.bytes.in_order() {
            self.ahead.try_reserve_exact(ahead.len()).map_err(|_| Error::memory("a part of a file"))?;
            self.ahead.extend_from_slice(ahead);
        }
        Ok(())
    }

    /// Returns the number of bytes that certainly exist, or 0 if unknown.
    pub(crate) fn backed(&self) -> u64 {
        self.bytes.len().filter(|_| self.is_backed()).unwrap_or(0)
    }

    /// Fails if the job was cancelled.
    pub(crate) fn check_cancel(&self) -> Result<()> {
        self.options.run.cancel.check()
    }

    /// Returns whether the size of the source is certain rather than declared by compressed data.
    pub(crate) fn is_backed(&self) -> bool {
        self.bytes.is_backed()
    }

    /// Reads a fixed-size part of a header; `what` names it in errors.
    pub(crate) fn head<const SIZE: usize>(&mut self, what: &str) -> Result<[u8; SIZE]> {
        let mut head = [0; SIZE];
        if self.read(&mut head)? < SIZE {
            return Err(truncated(&self.file, self.at, &format!("the {what}")));
        }
        Ok(head)
    }

    /// Skips to `offset`, which must not be before the current offset.
    pub(crate) fn skip_to(&mut self, offset: u64) -> Result<()> {
        let mut scratch = [0; 4096];
        while self.bytes.in_order() && self.at < offset {
            self.check_cancel()?;
            let count = scratch.len().min(usize::try_from(offset - self.at).unwrap_or(usize::MAX));
            if self.read(&mut scratch[..count])? < count {
                return Ok(());
            }
        }
        // Seeking past the end stops at the end, where the next read fails.
        self.at = self.at.max(offset.min(self.bytes.len().unwrap_or(offset)));
        Ok(())
    }

    /// Skips to `offset`. Fails if the file ends before it.
    pub(crate) fn pass_to(&mut self, offset: u64, what: &str) -> Result<()> {
        self.skip_to(offset)?;
        if self.at < offset { Err(self.cut(self.at, what)) } else { Ok(()) }
    }

    /// Fails if the size of the source is known, and fewer than `count` bytes are left; `what` names them.
    pub(crate) fn check_left(&self, count: u64, what: &str) -> Result<()> {
        match self.bytes.len() {
            Some(len) if len.saturating_sub(self.at) < count => Err(self.cut(len.max(self.at), what)),
            _ => Ok(()),
        }
    }

    /// Appends the next `count` bytes to `to`; `what` names them in errors.
    pub(crate) fn append(&mut self, count: usize, to: &mut Vec<u8>, what: &str) -> Result<()> {
        let end = to.len().checked_add(count).ok_or_else(|| Error::memory(what))?;
        // A certain size allows a single allocation; otherwise memory grows with the bytes read.
        if self.is_backed() {
            self.check_left(count as u64, what)?;
            to.try_reserve_exact(count).map_err(|_| Error::memory(what))?;
        }
        while to.len() < end {
            self.check_cancel()?;
            let start = to.len();
            let step = STEP_BYTES.min(end - start);
            to.try_reserve(step).map_err(|_| Error::memory(what))?;
            to.resize(start + step, 0);
            if self.read(&mut to[start..])? < step {
                return Err(self.cut(self.at, what));
            }
            self.report();
        }
        Ok(())
    }

    /// Reads the next `count` bytes; `what` names them in errors.
    pub(crate) fn take(&mut self, count: usize, what: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(count, &mut bytes, what)?;
        Ok(bytes)
    }

    /// Reads a stream to its end, since damage of compressed data is detected only there.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.bytes.in_order() {
            self.skip_to(u64::MAX)?;
        }
        self.bytes.check_end(Extent::Whole, &self.options.run.cancel)
    }

    /// Returns whether the file ends here. Otherwise a byte is read ahead, which the next read returns.
    pub(crate) fn is_at_end(&mut self) -> Result<bool> {
        if self.ahead.is_empty() {
            let mut byte = [0];
            if self.bytes.read(self.at, &mut byte)? == 1 {
                self.ahead.try_reserve_exact(1).map_err(|_| Error::memory("a part of a file"))?;
                self.ahead.push(byte[0]);
            }
        }
        Ok(self.ahead.is_empty())
    }

    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let ahead_count = self.ahead.len().min(to.len());
        to[..ahead_count].copy_from_slice(&self.ahead[..ahead_count]);
        self.ahead.drain(..ahead_count);
        self.at += ahead_count as u64;
        if ahead_count == to.len() {
            return Ok(ahead_count);
        }
        let count = self.bytes.read(self.at, &mut to[ahead_count..])?;
        self.at += count as u64;
        Ok(ahead_count + count)
    }

    fn cut(&self, offset: u64, what: &str) -> Error {
        truncated(&self.file, offset, &format!("the {what}"))
    }

    fn report(&mut self) {
        if let Some(progress) = &self.options.run.progress
            && self.at - self.reported >= STEP_BYTES as u64
        {
            self.reported = self.at;
            progress.report(self.at, self.bytes.len());
        }
    }
}

/// Writes concatenated pieces, in pages of equal size.
pub(crate) fn write(pieces: Vec<&[u8]>, options: &RunOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let mut ends = Vec::new();
    ends.try_reserve_exact(pieces.len()).map_err(|_| Error::memory("a page"))?;
    let mut end = 0;
    for piece in &pieces {
        end += piece.len() as u64;
        ends.push(end);
    }
    let page_bytes = options.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
    writing.announce(end);
    writing.pages(&PiecesJoined { pieces, ends, page_bytes }, &mut (), end.div_ceil(page_bytes as u64), page_bytes)
}

struct PiecesJoined<'a> {
    pieces: Vec<&'a [u8]>,
    /// The end of each piece in the concatenation.
    ends: Vec<u64>,
    page_bytes: usize,
}

/// A page: part of one piece, or a copy if it spans several pieces.
#[derive(Default)]
struct PiecesPage {
    piece: usize,
    part: Range<usize>,
    copy: Vec<u8>,
}

impl PiecesJoined<'_> {
    /// Returns the index of the piece at offset `at` of the concatenation, and the range of its remaining bytes, at
    /// most `max_bytes` long.
    fn part(&self, at: u64, max_bytes: usize) -> Option<(usize, Range<usize>)> {
        // Also skips empty pieces, whose end is the end of the previous piece.
        let piece = self.ends.partition_point(|end| *end <= at);
        let bytes = self.pieces.get(piece)?;
        let start = bytes.len() - (self.ends[piece] - at) as usize;
        Some((piece, start..bytes.len().min(start.saturating_add(max_bytes))))
    }
}

impl Pages for PiecesJoined<'_> {
    type Slot = PiecesPage;
    type State = ();

    fn slot(&self) -> Result<PiecesPage> {
        Ok(PiecesPage::default())
    }

    fn take(&self, number: u64, page: &mut PiecesPage) -> Result<bool> {
        page.copy.clear();
        let mut at = number.saturating_mul(self.page_bytes as u64);
        let Some((piece, part)) = self.part(at, self.page_bytes) else { return Ok(false) };
        let is_last = self.ends.last() == self.ends.get(piece);
        // The page spans several pieces, so they are joined in a copy.
        if part.len() < self.page_bytes && !is_last {
            page.copy.try_reserve_exact(self.page_bytes).map_err(|_| Error::memory("a page"))?;
            while let Some((piece, part)) = self.part(at, self.page_bytes - page.copy.len())
                && !part.is_empty()
            {
                at += part.len() as u64;
                page.copy.extend_from_slice(&self.pieces[piece][part]);
            }
        }
        page.piece = piece;
        page.part = part;
        Ok(true)
    }

    fn format(&self, _: &mut PiecesPage) -> Result<()> {
        Ok(())
    }

    fn bytes<'a>(&'a self, page: &'a PiecesPage) -> &'a [u8] {
        if page.copy.is_empty() { &self.pieces[page.piece][page.part.clone()] } else { &page.copy }
    }
}
