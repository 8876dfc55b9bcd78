//! A queue of spans of compressed data, some of which are decoded ahead.
//!
//! The thread that inflates in order takes spans one by one (`next`), and decodes the spans that no other thread has
//! started. Decoding a span takes it as long as decoding a later span ahead, so the first waiting span is left to this
//! thread. The thread waits only for a span that is being decoded.

use super::idat::{Idat, unexpected};
use super::overlap::PngSizes;
use polyhaul_bytes::{DecodeAhead, ZlibDecoder, ZlibSpan};
use polyhaul_model::error::Result;
use polyhaul_pipeline::run::lock;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of consecutive spans without a block that could be decoded ahead after which no more spans are tried.
const MAX_MISSES: usize = 4;

pub(super) struct SpanLine<'a> {
    sizes: PngSizes,
    /// Maximum number of queued spans.
    max_spans: usize,
    line: Mutex<SpanLineState<'a>>,
    changed: Condvar,
}

struct SpanLineState<'a> {
    idat: Idat<'a>,
    spans: VecDeque<Queued>,
    /// Number of spans taken.
    taken: usize,
    /// Spans whose memory can be reused.
    idle: Vec<ZlibSpan>,
    /// Whether all data was read, or an error occurred.
    is_over: bool,
    /// Number of inflated blocks when the last span was taken.
    blocks: u64,
    /// Whether `blocks` has grown since the previous span, so that spans have blocks to decode ahead.
    is_promising: bool,
    /// Number of consecutive spans without a block that was decoded ahead.
    misses: usize,
}

enum Queued {
    Read(ZlibSpan),
    /// A thread is decoding the span.
    Started,
    Decoded(ZlibSpan),
}

impl<'a> SpanLine<'a> {
    /// Creates a queue that reads at most `max_spans` spans before they are taken.
    pub(super) fn new(idat: Idat<'a>, sizes: PngSizes, max_spans: usize) -> Result<SpanLine<'a>> {
        let mut spans = VecDeque::new();
        let mut idle = Vec::new();
        spans.try_reserve_exact(max_spans)?;
        idle.try_reserve_exact(max_spans + 1)?;
        let line =
            SpanLineState { idat, spans, taken: 0, idle, is_over: false, blocks: 0, is_promising: false, misses: 0 };

        Ok(SpanLine { sizes, max_spans, line: Mutex::new(line), changed: Condvar::new() })
    }

    /// Replaces `span` with the next span. Returns whether there is one. `decoder` must have inflated all earlier
    /// spans.
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

    /// Starts decoding a span ahead.
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
    /// Reads one more span. On an error, the data ends and is incomplete.
    fn read(&mut self, span_bytes: usize) {
        let span = self.idle.pop().map_or_else(ZlibSpan::new, Ok).map_err(|_| unexpected());
        let read = span.and_then(|mut span| Ok(self.idat.next(span_bytes, &mut span)?.then_some(span)));
        match read {
            Ok(Some(span)) => self.spans.push_back(Queued::Read(span)),
            _ => self.is_over = true,
        }
    }

    /// Returns the index of the next span to decode ahead: the second waiting span.
    fn place(&self) -> Option<usize> {
        let mut waiting = self.spans.iter().zip(0..).filter(|(span, _)| matches!(span, Queued::Read(_)));
        waiting.nth(1).map(|(_, at)| at).filter(|_| self.is_worth_it())
    }

    fn is_worth_it(&self) -> bool {
        self.is_promising && self.misses < MAX_MISSES
    }
}

/// A span being decoded. Dropping it records the result, even on a panic.
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
        // `next` waits for a started span at the front, so this span is still in the queue.
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
        // A thread that holds the lock is reading or searching for work, which may take a while.
        let Ok(line) = self.line.try_lock() else { return false };
        line.is_worth_it() && (line.place().is_some() || line.spans.len() < self.max_spans && !line.is_over)
    }

    fn work(&self) -> bool {
        let Some(mut started) = self.start() else { return false };
        started.is_found = started.span.as_mut().is_some_and(|span| span.decode_ahead(self.sizes.ahead));
        true
    }
}
