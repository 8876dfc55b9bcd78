//! The next spans of compressed data, some of which threads decode ahead.
//!
//! The thread that inflates in order takes them one by one (`next`), and decodes the spans that no other thread has
//! started. That takes as long as decoding a later span ahead, so the first waiting span is left to it. It waits only
//! for a span that is being decoded.

use super::idat::{Idat, unexpected};
use super::overlap::PngSizes;
use polyhaul_bytes::{DecodeAhead, ZlibDecoder, ZlibSpan};
use polyhaul_model::error::Result;
use polyhaul_pipeline::run::lock;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// After this many consecutive spans without a block that can be decoded ahead, the search stops.
const MAX_MISSES: usize = 4;

pub(super) struct SpanLine<'a> {
    sizes: PngSizes,
    /// Maximum spans that wait.
    max_spans: usize,
    line: Mutex<SpanLineState<'a>>,
    changed: Condvar,
}

struct SpanLineState<'a> {
    idat: Idat<'a>,
    spans: VecDeque<Queued>,
    /// How many spans were taken.
    taken: usize,
    /// Memory for reuse.
    idle: Vec<ZlibSpan>,
    /// Whether all data was read, or something unexpected.
    is_over: bool,
    /// The number of inflated blocks when a span was last taken, and whether it has grown since the span before.
    blocks: u64,
    is_promising: bool,
    /// The number of consecutive spans without a block that was decoded ahead.
    misses: usize,
}

enum Queued {
    Read(ZlibSpan),
    /// A thread decodes it.
    Started,
    Decoded(ZlibSpan),
}

impl<'a> SpanLine<'a> {
    /// Spans of a file, of which at most `max_spans` are read before they are taken.
    pub(super) fn new(idat: Idat<'a>, sizes: PngSizes, max_spans: usize) -> Result<SpanLine<'a>> {
        let mut spans = VecDeque::new();
        let mut idle = Vec::new();
        spans.try_reserve_exact(max_spans)?;
        idle.try_reserve_exact(max_spans + 1)?;
        let line =
            SpanLineState { idat, spans, taken: 0, idle, is_over: false, blocks: 0, is_promising: false, misses: 0 };

        Ok(SpanLine { sizes, max_spans, line: Mutex::new(line), changed: Condvar::new() })
    }

    /// Replaces `span` by the next one; returns whether there is one. `decoder` has inflated what was before it.
    pub(super) fn next(&self, span: &mut ZlibSpan, decoder: &ZlibDecoder) -> Result<bool> {
        let mut line = lock(&self.line);
        let blocks = std::mem::replace(&mut line.blocks, decoder.block_count());
        line.is_promising = line.blocks > blocks.max(1);
        while let Some(Queued::Started) = line.spans.front() {
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

    /// Reads the rest of the file, after all spans were taken and inflated.
    pub(super) fn finish(self, decoder: &ZlibDecoder) -> Result<()> {
        self.line.into_inner().unwrap_or_else(PoisonError::into_inner).idat.finish(decoder)
    }

    /// A span to be decoded, and its number.
    fn start(&self) -> Option<StartedSpan<'_, 'a>> {
        let mut line = lock(&self.line);
        while line.is_worth_it() && line.spans.len() < self.max_spans && !line.is_over {
            line.read(self.sizes.span);
        }
        let at = line.place()?;
        let Queued::Read(span) = std::mem::replace(&mut line.spans[at], Queued::Started) else { return None };
        Some(StartedSpan { line: self, number: line.taken + at, span: Some(span), is_found: false })
    }
}

impl SpanLineState<'_> {
    /// Reads one more span. An error ends the data, which is then incomplete.
    fn read(&mut self, span_bytes: usize) {
        let span = self.idle.pop().map_or_else(ZlibSpan::new, Ok).map_err(|_| unexpected());
        let read = span.and_then(|mut span| Ok(self.idat.next(span_bytes, &mut span)?.then_some(span)));
        match read {
            Ok(Some(span)) => self.spans.push_back(Queued::Read(span)),
            _ => self.is_over = true,
        }
    }

    /// The index of the span to be decoded ahead next: the second waiting one.
    fn place(&self) -> Option<usize> {
        let mut waiting = self.spans.iter().zip(0..).filter(|(span, _)| matches!(span, Queued::Read(_)));
        waiting.nth(1).map(|(_, at)| at).filter(|_| self.is_worth_it())
    }

    fn is_worth_it(&self) -> bool {
        self.is_promising && self.misses < MAX_MISSES
    }
}

/// A span that is being decoded. Dropping it records the result, even if that is a panic.
struct StartedSpan<'s, 'a> {
    line: &'s SpanLine<'a>,
    number: usize,
    span: Option<ZlibSpan>,
    is_found: bool,
}

impl Drop for StartedSpan<'_, '_> {
    fn drop(&mut self) {
        let mut line = lock(&self.line.line);
        line.misses = if self.is_found { 0 } else { line.misses + 1 };
        let at = self.number - line.taken;
        if let Some(span) = self.span.take() {
            line.spans[at] = Queued::Decoded(span);
        }
        drop(line);
        self.line.changed.notify_all();
    }
}

impl DecodeAhead for SpanLine<'_> {
    fn has_work(&self) -> bool {
        // A thread with the lock reads or looks for work, which may take a while.
        let Ok(line) = self.line.try_lock() else { return false };
        line.is_worth_it() && (line.place().is_some() || line.spans.len() < self.max_spans && !line.is_over)
    }

    fn work(&self) -> bool {
        let Some(mut started) = self.start() else { return false };
        started.is_found = started.span.as_mut().is_some_and(|span| span.decode_ahead(self.sizes.ahead));
        true
    }
}
