//! The spans of compressed data that come next, some of which threads decode before it is their turn.
//!
//! The thread that inflates in order takes one after the other (`next`), and decodes itself what nobody has begun. It
//! needs no longer for that than other threads do for a later span, so the first span that nobody has begun is left to
//! it. It waits only for a span that is being decoded.

use super::idat::{Idat, unexpected};
use super::overlap::PngSizes;
use polyhaul_bytes::{DecodeAhead, ZlibDecoder, ZlibSpan};
use polyhaul_model::error::Result;
use polyhaul_pipeline::run::lock;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// After so many spans in a row without a block that can be decoded ahead, no other one is searched.
const MOST_MISSES: usize = 4;

pub(super) struct SpanLine<'a> {
    sizes: PngSizes,
    /// How many spans may wait.
    most: usize,
    line: Mutex<Line<'a>>,
    changed: Condvar,
}

struct Line<'a> {
    idat: Idat<'a>,
    spans: VecDeque<Queued>,
    /// How many spans were taken.
    taken: usize,
    /// Memory to be used again.
    idle: Vec<ZlibSpan>,
    /// Whether there is nothing more to read, or nothing that is expected.
    is_over: bool,
    /// How many blocks were met when a span was last taken, and whether there were any since the one before it.
    blocks: u64,
    is_promising: bool,
    /// How many of the last spans had none.
    misses: usize,
}

enum Queued {
    Read(ZlibSpan),
    /// A thread decodes it.
    Begun,
    Decoded(ZlibSpan),
}

impl<'a> SpanLine<'a> {
    /// Spans of a file, of which at most `most` are read before they are taken.
    pub(super) fn new(idat: Idat<'a>, sizes: PngSizes, most: usize) -> Result<SpanLine<'a>> {
        let (mut spans, mut idle) = (VecDeque::new(), Vec::new());
        spans.try_reserve_exact(most)?;
        idle.try_reserve_exact(most + 1)?;
        let line = Line { idat, spans, taken: 0, idle, is_over: false, blocks: 0, is_promising: false, misses: 0 };
        Ok(SpanLine { sizes, most, line: Mutex::new(line), changed: Condvar::new() })
    }

    /// Replaces `span` by the next one; returns whether there is one. `decoder` has inflated what was before it.
    pub(super) fn next(&self, span: &mut ZlibSpan, decoder: &ZlibDecoder) -> Result<bool> {
        let mut line = lock(&self.line);
        let blocks = std::mem::replace(&mut line.blocks, decoder.block_count());
        line.is_promising = line.blocks > blocks.max(1);
        while let Some(Queued::Begun) = line.spans.front() {
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        match line.spans.pop_front() {
            Some(Queued::Read(next) | Queued::Decoded(next)) => {
                line.taken += 1;
                line.idle.push(std::mem::replace(span, next));
                Ok(true)
            }
            _ if line.is_over => Ok(false),
            _ => line.idat.next(self.sizes.span, span),
        }
    }

    /// Reads the rest of the file, after everything was taken and inflated.
    pub(super) fn finish(self, decoder: &ZlibDecoder) -> Result<()> {
        self.line.into_inner().unwrap_or_else(PoisonError::into_inner).idat.finish(decoder)
    }

    /// A span to be decoded, and its number.
    fn begin(&self) -> Option<Begun<'_, 'a>> {
        let mut line = lock(&self.line);
        while line.is_worth_it() && line.spans.len() < self.most && !line.is_over {
            line.read(self.sizes.span);
        }
        let at = line.place()?;
        let Queued::Read(span) = std::mem::replace(&mut line.spans[at], Queued::Begun) else { return None };
        Some(Begun { all: self, number: line.taken + at, span: Some(span), is_found: false })
    }
}

impl Line<'_> {
    /// Reads one more span. An error ends the data: it is not whole then.
    fn read(&mut self, span_bytes: usize) {
        let span = self.idle.pop().map_or_else(ZlibSpan::new, Ok).map_err(|_| unexpected());
        let read = span.and_then(|mut span| Ok(self.idat.next(span_bytes, &mut span)?.then_some(span)));
        match read {
            Ok(Some(span)) => self.spans.push_back(Queued::Read(span)),
            _ => self.is_over = true,
        }
    }

    /// The place of the span to be decoded ahead next.
    fn place(&self) -> Option<usize> {
        let mut unbegun = self.spans.iter().zip(0..).filter(|(span, _)| matches!(span, Queued::Read(_)));
        unbegun.nth(1).map(|(_, at)| at).filter(|_| self.is_worth_it())
    }

    fn is_worth_it(&self) -> bool {
        self.is_promising && self.misses < MOST_MISSES
    }
}

/// A span that is being decoded. Dropping it records the result, even if that is a panic.
struct Begun<'s, 'a> {
    all: &'s SpanLine<'a>,
    number: usize,
    span: Option<ZlibSpan>,
    is_found: bool,
}

impl Drop for Begun<'_, '_> {
    fn drop(&mut self) {
        let mut line = lock(&self.all.line);
        line.misses = if self.is_found { 0 } else { line.misses + 1 };
        let at = self.number - line.taken;
        if let Some(span) = self.span.take() {
            line.spans[at] = Queued::Decoded(span);
        }
        drop(line);
        self.all.changed.notify_all();
    }
}

impl DecodeAhead for SpanLine<'_> {
    fn has_work(&self) -> bool {
        // Whoever has the lock reads, or looks for work, and may be doing so for a while.
        let Ok(line) = self.line.try_lock() else { return false };
        line.is_worth_it() && (line.place().is_some() || line.spans.len() < self.most && !line.is_over)
    }

    fn work(&self) -> bool {
        let Some(mut begun) = self.begin() else { return false };
        begun.is_found = begun.span.as_mut().is_some_and(|span| span.decode_ahead(self.sizes.ahead));
        true
    }
}
