//! Cuts the text of a source into chunks of whole logical lines.
//!
//! A chunk owns the logical lines that *end* in its share of the bytes. A few bytes around an offset decide whether a
//! line starts there (after a newline that is not escaped with a backslash). So each worker finds the last boundary in
//! its own share and passes the bytes after it to the next share ([`super::relay`]), without a serial stage. If a
//! source has pieces (groups of members of compressed data), each piece is a share, because the worker that reads a
//! piece decodes it. A stream is cut at the last complete line. No byte is read twice, however long a line is, except
//! by [`TextChunks::fill`]; [`line`] carries lines longer than a share. This module does not interpret lines.

mod head;
mod line;

pub use line::{Gap, ParsedAhead, WorkAhead};

use super::read::{Extent, Garbage, check_end, failed, kept, read_part};
use super::relay::{Handover, Relay};
use crate::options::Cancel;
use line::PartialLine;
use polyhaul_bytes::{DecodeAhead, Source};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, limit_hint, planted};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The UTF-8 byte order mark, which is not part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A source, and how to cut it into chunks.
pub struct TextChunks<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    name: Arc<str>,
    chunk_bytes: usize,
    line_bytes: u64,
    /// The number of readable bytes before and after the text, which parsers may load.
    padding: usize,
    borders: Borders,
    stream: Mutex<TextStream>,
    ahead: Option<WorkAhead>,
    /// The first bytes of a positioned source, if they have been read already.
    head: Vec<u8>,
    relay: Relay<Rest>,
}

/// The incomplete line at the end of a share, passed to the next share.
enum Rest {
    Line(PartialLine),
    /// The line is too long.
    TooLong,
}

/// Defines where text may be cut. Both functions must agree on boundaries, and may only look at the three bytes before
/// a boundary and the `reach` bytes after it. Only then is a file cut at the same offsets for all share sizes.
#[derive(Clone, Copy)]
pub struct Borders {
    /// Finds the first boundary from one offset up to another. Skips a boundary that depends on bytes after the end of
    /// the text.
    pub next: fn(&[u8], usize, usize) -> Option<usize>,
    /// Finds the last boundary after an offset.
    pub last: fn(&[u8], usize) -> Option<usize>,
    /// The number of bytes after an offset that decide whether it is a boundary.
    pub reach: usize,
}

/// The starts of logical lines.
const LINES: Borders = Borders { next: next_line, last: last_line, reach: 1 };

/// Bytes that a stream has delivered but no chunk has taken.
#[derive(Default)]
struct TextStream {
    carry: Vec<u8>,
    offset: u64,
    ended: bool,
    /// The error that ended the stream, if any. The data before it is delivered first.
    failed: Option<Error>,
}

/// A chunk of text with padding around it.
#[derive(Default)]
pub struct Text {
    bytes: Vec<u8>,
    /// The text is `bytes[start..end]`.
    pub start: usize,
    /// End of the text in `bytes`.
    pub end: usize,
    /// Offset of the text in the source.
    pub offset: u64,
    /// Whether the line after the text exceeds the limit. The text before it is complete, so that any chunk size
    /// reports the same first error.
    pub too_long: bool,
    /// Parts that were parsed ahead (see [`TextChunks::parse_ahead`]) and are missing from the text, in order.
    pub gaps: Vec<Gap>,
}

impl Text {
    /// Returns the text and the padding around it.
    pub fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Frees the memory after an unusually long line, because each slot is budgeted at `slot_bytes`.
    pub fn shrink(&mut self, slot_bytes: usize) {
        if self.bytes.len() > 4 * slot_bytes {
            *self = Text::default();
        }
    }

    /// Returns the size in the source in bytes, including gaps.
    pub fn len(&self) -> usize {
        self.end - self.start + line::bytes_of(&self.gaps)
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Sets the text to a part of a line's bytes.
    fn set_line(&mut self, line: PartialLine, part: Range<usize>) {
        self.bytes = line.bytes;
        self.gaps = line.gaps;
        self.start = part.start;
        self.end = part.end;
        self.drop_gaps();
    }

    /// Drops the gaps after the text.
    fn drop_gaps(&mut self) {
        self.gaps.retain(|gap| gap.offset < self.end);
    }

    /// Extends the buffer to at least `size` bytes.
    fn grow(&mut self, size: usize) -> Result<()> {
        if size > self.bytes.len() {
            let more = size - self.bytes.len();
            self.bytes.try_reserve(more).map_err(|_| Error::memory("a chunk of text"))?;
            self.bytes.resize(size, b'\n');
        }
        Ok(())
    }
}

/// Space before a share for the line that the previous share passes on. A longer line costs one more copy.
const FRONT_BYTES: usize = 4096;
/// Maximum length of a line ending, which is not part of the line.
const MAX_LINE_END_BYTES: u64 = 2;
/// The number of bytes before an offset that decide whether a line starts there: an escaped line ending is `\`, CR, LF.
const LOOK_BACK: usize = 3;

/// Returns whether a logical line starts at `offset`, or `None` if that depends on the byte at `offset` and the text
/// ends there.
fn line_starts(bytes: &[u8], offset: usize) -> Option<bool> {
    let back = |n: usize| offset.checked_sub(n).and_then(|i| bytes.get(i)).copied();
    match back(1) {
        Some(b'\n') if back(2) == Some(b'\r') => Some(back(3) != Some(b'\\')),
        Some(b'\n') => Some(back(2) != Some(b'\\')),
        Some(b'\r') => match bytes.get(offset) {
            Some(b'\n') => Some(planted("chunk-crlf")),
            Some(_) => Some(back(2) != Some(b'\\')),
            None => None,
        },
        _ => Some(false),
    }
}

/// Returns the first offset from `start` up to `end` at which a logical line starts.
fn next_line(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut offset = start;
    while offset <= end {
        if line_starts(bytes, offset) == Some(true) {
            return Some(offset);
        }
        offset += 1 + memchr::memchr2(b'\n', b'\r', bytes.get(offset..end)?)?;
    }
    None
}

impl<'a> TextChunks<'a> {
    /// Reads `source` as text, in 1 MiB chunks and without a limit on line length. [`TextChunks::cut`] changes both.
    pub fn new(source: Source<'a>) -> Self {
        TextChunks {
            name: source.name().into(),
            source,
            garbage: None,
            chunk_bytes: 1 << 20,
            line_bytes: u64::MAX,
            padding: LOOK_BACK,
            borders: LINES,
            stream: Mutex::default(),
            ahead: None,
            head: Vec::new(),
            relay: Relay::default(),
        }
    }

    /// If `garbage` is given, ignores data after the compressed data, and records it there.
    pub fn tolerant(self, garbage: Option<Garbage>) -> Self {
        TextChunks { garbage, ..self }
    }

    /// Cuts into chunks of about `chunk_bytes` with `padding` readable bytes around each, and stops before lines longer
    /// than `line_bytes`. Both are capped at 1 GiB, because offsets in a chunk are 32-bit.
    pub fn cut(self, chunk_bytes: usize, line_bytes: u64, padding: usize) -> Self {
        TextChunks {
            chunk_bytes: chunk_bytes.clamp(1, 1 << 30),
            line_bytes: line_bytes.min(1 << 30),
            padding: padding.max(LOOK_BACK),
            ..self
        }
    }

    /// Sets the source's name in messages.
    pub fn named(self, name: Arc<str>) -> Self {
        TextChunks { name, ..self }
    }

    /// Cuts at `borders` instead of line starts. A line then means the text between two borders.
    pub fn at_borders(self, borders: Borders) -> Self {
        TextChunks { borders, ..self }
    }

    /// Lets workers parse a share without a boundary before they pass it on. Otherwise, the worker that receives the
    /// whole line would parse all of it. The results are in [`Text::gaps`].
    pub fn parse_ahead(self, work: WorkAhead) -> Self {
        TextChunks { ahead: Some(work), ..self }
    }

    /// Returns the maximum length of a line in bytes, without its line ending.
    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Creates the error for a line at `place` that exceeds the limit.
    pub fn too_long(&self, place: Place) -> Error {
        let message = format!("line is longer than the limit `line_bytes` ({} bytes)", self.line_bytes);
        let error = Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit);
        error.with_hint(limit_hint("line_bytes") + " (at most 1 GiB)")
    }

    /// Returns the source's name in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the size of the text in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.source.len()
    }

    /// Buffers the text in memory if it comes from a short stream; see [`kept`].
    ///
    /// # Errors
    /// Errors of reading the stream.
    pub fn kept(self) -> Result<Self> {
        let source = kept(self.source, self.garbage.as_ref())?;
        Ok(TextChunks { source, ..self })
    }

    /// Returns the source, if it can be read again.
    pub fn source_again(&self) -> Option<Source<'a>> {
        self.source.is_positioned().then(|| self.source.clone())
    }

    /// Same as [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(&self.source, extent, cancel)
    }

    /// Returns work that idle workers can do before the bytes are taken; see [`Source::ahead`].
    pub fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    /// Returns whether the chunks must be taken sequentially.
    pub fn in_order(&self) -> bool {
        !self.source.is_positioned()
    }

    /// Declares that chunk `number` will not be taken. Otherwise, the next chunk would wait for it forever.
    pub fn leave(&self, number: u64) {
        drop(self.relay.start(number));
    }

    /// Fills `text` with chunk `number`. Returns `false` if there is no such chunk. Each number must be taken or
    /// [left](Self::leave), in order, because a chunk waits for the previous chunk.
    pub fn take(&self, number: u64, text: &mut Text) -> Result<bool> {
        text.too_long = false;
        text.gaps.clear();
        match self.source.len() {
            Some(size) if self.source.is_positioned() => self.take_share(number, size, text),
            _ => self.take_next(text),
        }
    }

    /// Returns the share of chunk `number`, or `None` if there is no such chunk. The chunk owns the lines that end in
    /// its share.
    fn share(&self, number: u64, size: u64) -> Option<Range<u64>> {
        if self.source.piece_bytes().is_some() {
            return self.source.piece(number);
        }
        let start = number.saturating_mul(self.chunk_bytes as u64);
        (start < size).then(|| start..start.saturating_add(self.chunk_bytes as u64).min(size))
    }

    fn take_share(&self, number: u64, size: u64, text: &mut Text) -> Result<bool> {
        let Some(Range { start, end }) = self.share(number, size) else {
            return Ok(false);
        };
        let mut handover = self.relay.start(number);
        let base = self.padding + FRONT_BYTES;
        let share_len = (end - start) as usize;
        text.grow(base + share_len + self.padding)?;
        self.read(start, &mut text.bytes[base..base + share_len])?;
        let share = &text.bytes[base..base + share_len];
        // The bytes before the share are not available, so this finds only boundaries that do not depend on them.
        let cut = if end < size { (self.borders.last)(share, LOOK_BACK - 1) } else { None };
        let mut ahead = None;
        match cut {
            Some(cut) => handover.give(self.rest(&share[cut..])?),
            None if end < size => ahead = self.work_ahead(&text.bytes, base..base + share_len),
            None => {}
        }
        let before = match number {
            0 => Rest::Line(PartialLine::new(&[], self.padding)?),
            _ => handover.receive().ok_or_else(Error::cancelled)?,
        };
        match (before, cut) {
            (Rest::Line(before), Some(cut)) => {
                text.too_long = self.is_too_long(share_len - cut);
                self.join(text, before, start, cut)?;
                self.finish(text)?;
                Ok(true)
            }
            (Rest::Line(mut before), None) if end < size => {
                let before_len = before.text().len();
                before.push_share(&text.bytes, base..base + share_len, ahead)?;
                self.take_whole(before, before_len, start..end, text, &mut handover)
            }
            (Rest::Line(before), None) => {
                self.join(text, before, start, share_len)?;
                text.end -= usize::from(planted("chunk-end") && text.end > text.start);
                if text.is_empty() { self.take_nothing(start, text) } else { self.finish(text).map(|()| true) }
            }
            (Rest::TooLong, cut) => {
                // No chunk takes the text after the long line.
                if cut.is_none() {
                    handover.give(Rest::TooLong);
                }
                self.take_nothing(start, text)
            }
        }
    }

    /// Parses ahead a share without a boundary, except for its edges, which may turn out to contain a boundary.
    fn work_ahead(&self, text: &[u8], share: Range<usize>) -> Option<ParsedAhead> {
        let edge = LOOK_BACK + self.borders.reach;
        let inner = share.start + edge..share.end.saturating_sub(edge);
        self.ahead.as_ref().filter(|_| inner.start < inner.end).and_then(|work| work(text, inner))
    }

    /// Takes a share without a known line start in it or in the few bytes before it. `line` ends with the share, whose
    /// bytes follow `before_len` bytes of text.
    fn take_whole(
        &self,
        mut line: PartialLine,
        before_len: usize,
        share: Range<u64>,
        text: &mut Text,
        handover: &mut Handover<'_, Rest>,
    ) -> Result<bool> {
        let search_start = before_len.saturating_sub(self.borders.reach);
        let end = (self.borders.last)(line.text(), search_start).unwrap_or(0);
        text.too_long = self.is_too_long(line.len_from(end));
        if end == 0 && !text.too_long {
            handover.give(Rest::Line(line));
            return self.take_nothing(share.start, text);
        }
        text.offset = share.end - line.len_from(0) as u64;
        handover.give(if text.too_long { Rest::TooLong } else { Rest::Line(line.split_off(end)?) });
        text.set_line(line, self.padding..self.padding + end);
        self.finish(text)?;
        Ok(true)
    }

    /// Returns `line`, the end of a share, as the rest to pass on.
    fn rest(&self, line: &[u8]) -> Result<Rest> {
        Ok(if self.is_too_long(line.len()) { Rest::TooLong } else { Rest::Line(PartialLine::new(line, self.padding)?) })
    }

    /// Sets the text to the line before a share at `start`, followed by the first `cut` bytes of the share.
    fn join(&self, text: &mut Text, mut before: PartialLine, start: u64, cut: usize) -> Result<()> {
        let base = self.padding + FRONT_BYTES;
        let before_len = before.text().len();
        text.offset = start - before.len_from(0) as u64;
        if before_len <= FRONT_BYTES && before.gaps.is_empty() {
            // Copies the padding too, because parsers read bytes before the text.
            text.bytes[base - before.bytes.len()..base].copy_from_slice(&before.bytes);
            text.start = base - before_len;
            text.end = base + cut;
            return Ok(());
        }
        before.push(&text.bytes[base..base + cut])?;
        let end = before.bytes.len();
        text.set_line(before, self.padding..end);
        Ok(())
    }

    /// Reads a text of `size` bytes again, this time without gaps.
    ///
    /// # Errors
    /// As for [`TextChunks::take`].
    pub fn fill(&self, text: &mut Text, size: usize) -> Result<()> {
        let base = self.padding;
        text.grow(base + size + self.padding)?;
        text.bytes[..base].fill(b'\n');
        self.read(text.offset, &mut text.bytes[base..base + size])?;
        text.gaps.clear();
        text.start = base;
        text.end = base + size;
        self.finish(text)
    }

    /// Returns whether `bytes` bytes without a known boundary exceed the line limit. The last few bytes may still
    /// contain a boundary.
    fn is_too_long(&self, bytes: usize) -> bool {
        !planted("line-endless")
            && bytes as u64
                > self.line_bytes + (BYTE_ORDER_MARK.len() as u64) + MAX_LINE_END_BYTES + self.borders.reach as u64 - 1
    }

    /// Takes an empty chunk: no line ends in its share.
    fn take_nothing(&self, offset: u64, text: &mut Text) -> Result<bool> {
        text.grow(2 * self.padding)?;
        text.start = self.padding;
        text.end = self.padding;
        text.offset = offset;
        Ok(true)
    }

    /// Reads at `offset` until `out` is full.
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let head = usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..)).unwrap_or_default();
        let head_len = head.len().min(out.len());
        out[..head_len].copy_from_slice(&head[..head_len]);
        let rest = &mut out[head_len..];
        if !rest.is_empty() {
            self.source.read_at(offset + head_len as u64, rest).map_err(|e| failed(&self.source, e))?;
        }
        Ok(())
    }

    fn take_next(&self, text: &mut Text) -> Result<bool> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.padding;
        let mut filled = stream.carry.len();
        text.grow(base + filled + self.padding)?;
        text.bytes[base..base + filled].copy_from_slice(&stream.carry);
        stream.carry.clear();
        let mut search_start = 0;
        let end = loop {
            if stream.ended {
                break 0;
            }
            text.grow(base + filled + self.chunk_bytes + self.padding)?;
            filled += self.read_stream(&mut text.bytes[base + filled..][..self.chunk_bytes], &mut stream);
            if let Some(end) = (self.borders.last)(&text.bytes[base..base + filled], search_start) {
                break end;
            }
            if self.is_too_long(filled) {
                break 0;
            }
            search_start = filled.saturating_sub(self.borders.reach);
        };
        let end = self.settle(&mut stream, text, end, filled)?;
        text.start = base;
        text.end = base + end;
        text.offset = if planted("offset-32-bits") { stream.offset & u64::from(u32::MAX) } else { stream.offset };
        stream.offset += end as u64;
        drop(stream);
        if end == 0 && !text.too_long {
            return Ok(false);
        }
        self.finish(text)?;
        Ok(true)
    }

    /// Decides how to use `filled` bytes of a stream whose last line starts at `last_line`. Returns the length of this
    /// chunk's text.
    fn settle(&self, stream: &mut TextStream, text: &mut Text, last_line: usize, filled: usize) -> Result<usize> {
        let is_complete = stream.ended && stream.failed.is_none();
        text.too_long = self.is_too_long(filled - last_line) && !is_complete;
        if text.too_long {
            // No chunk takes the bytes after the long line.
            stream.ended = true;
            stream.failed = None;
            return Ok(last_line);
        }
        if is_complete {
            return Ok(filled);
        }
        match stream.failed.take_if(|_| last_line == 0) {
            Some(error) => return Err(error),
            // A truncated line is dropped.
            None if stream.failed.is_some() => return Ok(last_line),
            None => {}
        }
        let rest = &text.bytes[self.padding + last_line..self.padding + filled];
        stream.carry.try_reserve(rest.len()).map_err(|_| Error::memory("a line"))?;
        stream.carry.extend_from_slice(rest);
        Ok(last_line)
    }

    /// Skips a byte order mark, rejects UTF-16, truncates the text before a line that is too long, and puts a newline
    /// or a space after the text.
    fn finish(&self, text: &mut Text) -> Result<()> {
        if text.offset == 0 {
            // A line that is too long is not part of the text, but its first bytes are in the buffer.
            let head = &text.bytes[text.start..if text.too_long { text.bytes.len() } else { text.end }];
            if head.starts_with(BYTE_ORDER_MARK) {
                text.start += BYTE_ORDER_MARK.len();
                text.end = text.end.max(text.start);
                text.offset = BYTE_ORDER_MARK.len() as u64;
            } else if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
                let message = "expected UTF-8 or ASCII text, found UTF-16 text or binary data";
                return Err(self.placed(ErrorKind::Unsupported, message.into(), 0));
            }
        }
        self.stop_before_long_line(text);
        let end = text.end;
        text.grow(end + self.padding + 1)?;
        // After a carriage return, a line feed would complete a CR LF pair.
        text.bytes[end] = if text.bytes[end - 1] == b'\r' { b' ' } else { b'\n' };
        Ok(())
    }

    /// Truncates the text before the first line that exceeds the limit.
    fn stop_before_long_line(&self, text: &mut Text) {
        let bytes = &text.bytes[text.start..text.end];
        // All gaps are in the first line.
        let mut line_start = 0;
        let mut gap_bytes = line::bytes_of(&text.gaps);
        while (bytes.len() + gap_bytes) as u64 > self.line_bytes && line_start < bytes.len() {
            let next = (self.borders.next)(bytes, line_start + 1, bytes.len()).unwrap_or(bytes.len());
            let line_end =
                bytes[line_start..next].iter().rev().take(2).take_while(|b| matches!(b, b'\n' | b'\r')).count();
            let max_bytes = self.line_bytes + u64::from(planted("line-limit"));
            if (next - line_start + gap_bytes - line_end) as u64 > max_bytes {
                text.end = text.start + line_start;
                text.too_long = true;
                text.drop_gaps();
                return;
            }
            line_start = next;
            gap_bytes = 0;
        }
    }

    fn placed(&self, kind: ErrorKind, message: String, offset: u64) -> Error {
        let place = Place { file: self.name.clone(), offset: Some(offset), ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(message) }.into_error(kind)
    }

    /// Reads from a stream until `out` is full, or the stream ends or fails. An error is reported after the bytes
    /// before it.
    fn read_stream(&self, out: &mut [u8], stream: &mut TextStream) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            match read_part(&self.source, self.garbage.as_ref(), &mut out[filled..]) {
                Ok(0) => {
                    stream.ended = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(error) => {
                    stream.ended = true;
                    stream.failed = Some(error);
                    break;
                }
            }
        }
        filled
    }
}

/// Returns the last offset after `start` at which a logical line starts.
fn last_line(bytes: &[u8], start: usize) -> Option<usize> {
    let mut offset = bytes.len();
    while offset > start {
        if line_starts(bytes, offset) == Some(true) {
            return Some(offset);
        }
        offset = start + memchr::memrchr2(b'\n', b'\r', &bytes[start..offset - 1])? + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &[u8], chunk_bytes: usize, positioned: bool) -> Vec<Vec<u8>> {
        let source = if positioned { Source::memory(text) } else { Source::reader(Box::new(text), "test") };
        let chunks = TextChunks::new(source).cut(chunk_bytes, 1 << 20, 64);
        let mut result = Vec::new();
        let mut text = Text::default();
        for number in 0.. {
            if !chunks.take(number, &mut text).unwrap() {
                break;
            }
            if !text.is_empty() {
                result.push(text.padded()[text.start..text.end].to_vec());
                let ends_in_return = text.padded()[text.end - 1] == b'\r';
                assert_eq!(text.padded()[text.end], if ends_in_return { b' ' } else { b'\n' });
            }
        }
        result
    }

    #[test]
    fn chunks_are_whole_logical_lines_and_lose_nothing() {
        let samples: [&[u8]; 8] = [
            b"v 0 0 0\nv 1 0 0\nf 1 2 3\n",
            b"v 0 0 0\r\nv 1 0 0\r\n\r\nf 1 2 3",
            b"v 0 0 0\rv 1 0 0\r\rf 1 2 3\r",
            b"f 1 2 \\\n3 4\nv 1 \\\r\n2 3\r\nv \\\r 4 5",
            b"\n\n\n",
            b"\r\n\r\n",
            b"x",
            b"\\\n\\\n\\\n",
        ];
        for sample in samples {
            for chunk_bytes in 1..sample.len() + 2 {
                for positioned in [true, false] {
                    let chunks = cut(sample, chunk_bytes, positioned);
                    assert_eq!(chunks.concat(), sample, "{chunk_bytes} {positioned}");
                    let mut at = 0;
                    for chunk in chunks {
                        assert!(at == 0 || line_starts(sample, at) == Some(true), "{sample:?} at {at}");
                        at += chunk.len();
                    }
                }
            }
        }
    }

    /// Compresses text to members of these lengths, after an empty frame that is a separate piece.
    fn members(text: &[u8], lens: &[usize]) -> Vec<u8> {
        let mut packed = [&[0x50, 0x2a, 0x4d, 0x18][..], &(3u32 << 19).to_le_bytes(), &[0; 3 << 19]].concat();
        let mut encoder = polyhaul_bytes::Encoder::new(polyhaul_bytes::Codec::Zstd, None).unwrap();
        let mut rest = text;
        for &len in lens {
            let (member, after) = rest.split_at(len.min(rest.len()));
            encoder.encode(member, &mut packed).unwrap();
            rest = after;
        }
        packed
    }

    #[test]
    fn members_are_cut_wherever_their_borders_lie() {
        const LEN: usize = 600_000;
        let line_end = |i: usize| ["\n", "\r\n", "\r", "\\\n", "\\\r\n"][i % 5];
        let text: String = (0..400_000).map(|i| format!("v {i}{}", line_end(i))).collect();
        let text = text.as_bytes();
        for shift in 0..12 {
            // Members of `LEN` bytes are too large to share a piece.
            let lens = [LEN + shift, LEN + 2 * shift, LEN, 1, 1, 1, LEN, LEN + 5 * shift, text.len()];
            let packed = members(text, &lens);
            let source = polyhaul_bytes::decompressed(Source::memory(&packed), &Default::default()).unwrap();
            assert!(source.piece(4).is_some());
            let chunks = TextChunks::new(source).cut(1000, 1 << 20, 64);
            let mut out = Text::default();
            let mut at = 0;
            for number in 0.. {
                if !chunks.take(number, &mut out).unwrap() {
                    break;
                }
                assert!(out.offset == at as u64 || out.is_empty(), "{number}");
                assert!(at == 0 || line_starts(text, at) == Some(true), "{shift}: {at}");
                assert!(text[at..].starts_with(out.bytes()), "{shift}: {at}");
                at += out.len();
            }
            assert_eq!(at, text.len());
        }
    }

    #[test]
    fn a_line_over_the_limit_is_refused_whatever_the_chunk_size() {
        let text = [b"v 1 2 3\n".as_slice(), &[b'f'; 5000], b"\nv 1 2 3\n"].concat();
        for chunk_bytes in [1, 7, 100, 6000] {
            for positioned in [true, false] {
                let source =
                    if positioned { Source::memory(&text) } else { Source::reader(Box::new(text.as_slice()), "test") };
                let chunks = TextChunks::new(source).cut(chunk_bytes, 4999, 64);
                let mut out = Text::default();
                let long_chunk = (0..20000).find(|&n| chunks.take(n, &mut out).unwrap() && out.too_long);
                assert!(long_chunk.is_some(), "{chunk_bytes} {positioned}");
                assert_eq!(out.offset + out.len() as u64, 8, "{chunk_bytes} {positioned}");
            }
        }
    }

    /// An endless line would fill all memory.
    #[test]
    fn a_line_over_the_limit_is_not_read_to_its_end() {
        use std::io::Read;
        use std::sync::atomic::{AtomicUsize, Ordering};
        struct Line<'a>(&'a AtomicUsize);
        impl Read for Line<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let count = out.len().min(10_000_000 - self.0.load(Ordering::Relaxed));
                out[..count].fill(b'f');
                self.0.fetch_add(count, Ordering::Relaxed);
                Ok(count)
            }
        }
        let bytes_read = AtomicUsize::new(0);
        let chunks = TextChunks::new(Source::reader(Box::new(Line(&bytes_read)), "test")).cut(100, 4999, 64);
        let mut out = Text::default();
        assert!(chunks.take(0, &mut out).unwrap() && out.too_long && out.is_empty());
        assert!(bytes_read.load(Ordering::Relaxed) < 1_000_000, "{bytes_read:?}");
    }
}
