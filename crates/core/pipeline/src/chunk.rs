//! Cuts the text of a source into chunks of whole logical lines.
//!
//! A chunk owns the logical lines that *end* in its share of the bytes. Whether a line begins at an offset depends only
//! on the few bytes around it (a newline that no backslash escapes). So any worker finds the last boundary in its own
//! share of a file and passes on the bytes after it ([`super::relay`]), and there is no serial stage. If a source has
//! pieces (members of compressed data), these are the shares, since the worker that reads a piece decodes it. A stream
//! is cut at the last complete line. No byte is read twice, however long a line is, unless [`TextChunks::fill`] is
//! called; [`line`] carries those that are longer than a share. This module does not interpret lines.

mod head;
mod line;

pub use line::{Ahead, Gap, WorkAhead};

use super::read::{Extent, Garbage, check_end, failed, read_part};
use super::relay::{Handover, Relay};
use crate::options::Cancel;
use line::Line;
use polyhaul_bytes::{DecodeAhead, Source};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, planted};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The UTF-8 byte order mark, which is not part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A source and the places where it is cut.
pub struct TextChunks<'a> {
    source: Source<'a>,
    garbage: Option<Garbage>,
    name: Arc<str>,
    chunk_bytes: usize,
    line_bytes: u64,
    /// The number of bytes before and after the text that parsers may load.
    padding: usize,
    borders: Borders,
    stream: Mutex<Stream>,
    ahead: Option<WorkAhead>,
    /// The first bytes of a positioned source, which somebody read.
    head: Vec<u8>,
    relay: Relay<Rest>,
}

/// The incomplete line at the end of a share, passed to the next one.
enum Rest {
    Line(Line),
    /// It is too long.
    TooLong,
}

/// Defines where text may be cut. Both functions must agree on boundaries, and decide each from the `reach` bytes after
/// it and the three bytes before it. Only then is a file cut at the same places for all share sizes.
#[derive(Clone, Copy)]
pub struct Borders {
    /// Finds the first boundary from one offset up to another. Bytes after that count too; without them, no boundary
    /// that needs them is found.
    pub next: fn(&[u8], usize, usize) -> Option<usize>,
    /// Finds the last boundary after an offset.
    pub last: fn(&[u8], usize) -> Option<usize>,
    /// The number of bytes after a boundary that decide whether it is one.
    pub reach: usize,
}

/// The beginnings of logical lines.
const LINES: Borders = Borders { next: next_line, last: last_line, reach: 1 };

/// Data that a stream has delivered and no chunk has taken.
#[derive(Default)]
struct Stream {
    carry: Vec<u8>,
    offset: u64,
    ended: bool,
    /// The error that ended it, if any. Data before the error is delivered first.
    failed: Option<Error>,
}

/// A chunk of text with padding around it.
#[derive(Default)]
pub struct Text {
    bytes: Vec<u8>,
    /// The text is `bytes[start..end]`.
    pub start: usize,
    /// End of the text in them.
    pub end: usize,
    /// Offset of the text in the source.
    pub offset: u64,
    /// Whether the line after the text exceeds the limit. The text before it is complete, so that the first error by
    /// position is reported for any chunk size.
    pub too_long: bool,
    /// Parts that were parsed in advance (see [`TextChunks::parse_ahead`]) and are not in the text, in order.
    pub gaps: Vec<Gap>,
}

impl Text {
    /// The text and the padding around it.
    pub fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// The text alone.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Frees the memory of an unusually long line, because each slot is budgeted at `slot_bytes`.
    pub fn shrink(&mut self, slot_bytes: usize) {
        if self.bytes.len() > 4 * slot_bytes {
            *self = Text::default();
        }
    }

    /// The number of bytes of the source, gaps included.
    pub fn len(&self) -> usize {
        self.end - self.start + line::bytes_of(&self.gaps)
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Makes a part of a line's bytes the text.
    fn set_line(&mut self, line: Line, part: Range<usize>) {
        (self.start, self.end) = (part.start, part.end);
        (self.bytes, self.gaps) = (line.bytes, line.gaps);
        self.drop_gaps();
    }

    /// Forgets the gaps behind the text.
    fn drop_gaps(&mut self) {
        self.gaps.retain(|gap| gap.at < self.end);
    }

    /// Makes room for `size` bytes from `at` on and the padding after them.
    fn grow(&mut self, size: usize) -> Result<()> {
        if size > self.bytes.len() {
            let more = size - self.bytes.len();
            self.bytes.try_reserve(more).map_err(|_| Error::memory("a chunk of text"))?;
            self.bytes.resize(size, b'\n');
        }
        Ok(())
    }
}

/// Space before a share for the line that the previous share passes on; a longer one is copied once more.
const FRONT_BYTES: usize = 4096;
/// The most bytes of a line end, which does not count as a part of the line.
const LINE_END: u64 = 2;
/// The bytes before a place that decide whether a line begins there: an escaped line end is `\`, CR, LF.
const LOOK_BACK: usize = 3;

/// Returns whether a logical line begins at `at`; `None` if that depends on the byte at `at`, which is missing.
fn line_begins(bytes: &[u8], at: usize) -> Option<bool> {
    let back = |n: usize| at.checked_sub(n).and_then(|i| bytes.get(i)).copied();
    match back(1) {
        Some(b'\n') if back(2) == Some(b'\r') => Some(back(3) != Some(b'\\')),
        Some(b'\n') => Some(back(2) != Some(b'\\')),
        Some(b'\r') => match bytes.get(at) {
            Some(b'\n') => Some(planted("chunk-crlf")),
            Some(_) => Some(back(2) != Some(b'\\')),
            None => None,
        },
        _ => Some(false),
    }
}

/// Returns the first offset from `from` up to `to` at which a logical line begins.
fn next_line(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at <= to {
        if line_begins(bytes, at) == Some(true) {
            return Some(at);
        }
        at += 1 + memchr::memchr2(b'\n', b'\r', bytes.get(at..to)?)?;
    }
    None
}

impl<'a> TextChunks<'a> {
    /// Reads `source` as text, in chunks of 1 MiB and lines of any length unless [`TextChunks::cut`] changes that.
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

    /// Goes on where something follows compressed data, and notes that where `garbage` is.
    pub fn tolerant(self, garbage: Option<Garbage>) -> Self {
        TextChunks { garbage, ..self }
    }

    /// Cuts into chunks of about `chunk_bytes` with `padding` readable bytes around each, and
    /// stops before lines of more than `line_bytes`. Neither is taken for more than 1 GiB: offsets in
    /// a chunk are 32-bit numbers.
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

    /// Cuts at other boundaries than the beginnings of lines. A line then means the text between two of them.
    pub fn at_borders(self, borders: Borders) -> Self {
        TextChunks { borders, ..self }
    }

    /// Lets the workers of shares without a boundary parse them in advance. The worker of such a share would otherwise
    /// only pass it on, and the one that gets the whole line would parse all of it. The results are in [`Text::gaps`].
    pub fn parse_ahead(self, work: WorkAhead) -> Self {
        TextChunks { ahead: Some(work), ..self }
    }

    /// The longest line that is taken, in bytes without its end.
    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Returns the source's name in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the size of the text in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.source.len()
    }

    /// Same as [`check_end`].
    pub fn check_end(&self, extent: Extent, cancel: &Cancel) -> Result<()> {
        check_end(&self.source, extent, cancel)
    }

    /// What idle workers can do before the bytes are taken; see [`Source::ahead`].
    pub fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    /// Whether the chunks must be taken one after another.
    pub fn in_order(&self) -> bool {
        !self.source.is_positioned()
    }

    /// Declares that chunk `number` will not be taken. Otherwise the taker of the next chunk would wait for it.
    pub fn leave(&self, number: u64) {
        drop(self.relay.begin(number));
    }

    /// Fills `text` with chunk `number`; returns `false` if there is none. Each number must be taken or
    /// [left](Self::leave), in order: a chunk waits for the previous one.
    pub fn take(&self, number: u64, text: &mut Text) -> Result<bool> {
        text.too_long = false;
        text.gaps.clear();
        match self.source.len() {
            Some(size) if self.source.is_positioned() => self.take_share(number, size, text),
            _ => self.take_next(text),
        }
    }

    /// Returns the share of chunk `number`, which owns the lines that end in it; `None` if there is no such chunk.
    fn share(&self, number: u64, size: u64) -> Option<Range<u64>> {
        if self.source.piece_bytes().is_some() {
            return self.source.piece(number);
        }
        let from = number.saturating_mul(self.chunk_bytes as u64);
        (from < size).then(|| from..from.saturating_add(self.chunk_bytes as u64).min(size))
    }

    fn take_share(&self, number: u64, size: u64, text: &mut Text) -> Result<bool> {
        let Some(Range { start: from, end: to }) = self.share(number, size) else {
            return Ok(false);
        };
        let mut handover = self.relay.begin(number);
        let (base, own) = (self.padding + FRONT_BYTES, (to - from) as usize);
        text.grow(base + own + self.padding)?;
        self.read(from, &mut text.bytes[base..base + own])?;
        let share = &text.bytes[base..base + own];
        // The bytes before the share are not known, so only borders that do not depend on them count.
        let cut = if to < size { (self.borders.last)(share, LOOK_BACK - 1) } else { None };
        let mut ahead = None;
        match cut {
            Some(cut) => handover.give(self.rest(&share[cut..])?),
            None if to < size => ahead = self.work_ahead(&text.bytes, base..base + own),
            None => {}
        }
        let before = match number {
            0 => Rest::Line(Line::new(&[], self.padding)?),
            _ => handover.receive().ok_or_else(Error::cancelled)?,
        };
        match (before, cut) {
            (Rest::Line(before), Some(cut)) => {
                text.too_long = self.is_too_long(own - cut);
                self.join(text, before, from, cut)?;
                self.finish(text)?;
                Ok(true)
            }
            (Rest::Line(mut before), None) if to < size => {
                let known = before.text().len();
                before.push_share(&text.bytes, base..base + own, ahead)?;
                self.take_whole(before, known, from..to, text, &mut handover)
            }
            (Rest::Line(before), None) => {
                self.join(text, before, from, own)?;
                if text.is_empty() { self.nothing(from, text) } else { self.finish(text).map(|()| true) }
            }
            (Rest::TooLong, cut) => {
                // No chunk takes the text after it.
                if cut.is_none() {
                    handover.give(Rest::TooLong);
                }
                self.nothing(from, text)
            }
        }
    }

    /// Parses a share without a boundary in advance, except for the bytes at its ends that may contain one after all.
    fn work_ahead(&self, text: &[u8], share: Range<usize>) -> Option<Ahead> {
        let edge = LOOK_BACK + self.borders.reach;
        let inner = share.start + edge..share.end.saturating_sub(edge);
        self.ahead.as_ref().filter(|_| inner.start < inner.end).and_then(|work| work(text, inner))
    }

    /// Takes a share that contains no known line start, and has none in the few bytes before it. `line` ends with it,
    /// and `known` of the shown bytes come before it.
    fn take_whole(
        &self,
        mut line: Line,
        known: usize,
        share: Range<u64>,
        text: &mut Text,
        handover: &mut Handover<'_, Rest>,
    ) -> Result<bool> {
        let unseen = known.saturating_sub(self.borders.reach);
        let end = (self.borders.last)(line.text(), unseen).unwrap_or(0);
        text.too_long = self.is_too_long(line.len_from(end));
        if end == 0 && !text.too_long {
            handover.give(Rest::Line(line));
            return self.nothing(share.start, text);
        }
        text.offset = share.end - line.len_from(0) as u64;
        handover.give(if text.too_long { Rest::TooLong } else { Rest::Line(line.split_off(end)?) });
        text.set_line(line, self.padding..self.padding + end);
        self.finish(text)?;
        Ok(true)
    }

    /// Returns the rest that a share passes on, which ends with `line`.
    fn rest(&self, line: &[u8]) -> Result<Rest> {
        Ok(if self.is_too_long(line.len()) { Rest::TooLong } else { Rest::Line(Line::new(line, self.padding)?) })
    }

    /// Makes the first `cut` bytes of a share, which lie at `from`, and the line before them the text.
    fn join(&self, text: &mut Text, mut before: Line, from: u64, cut: usize) -> Result<()> {
        let (base, known) = (self.padding + FRONT_BYTES, before.text().len());
        text.offset = from - before.len_from(0) as u64;
        if known <= FRONT_BYTES && before.gaps.is_empty() {
            // Includes the padding: parsers look at the bytes before the text.
            text.bytes[base - before.bytes.len()..base].copy_from_slice(&before.bytes);
            (text.start, text.end) = (base - known, base + cut);
            return Ok(());
        }
        before.push(&text.bytes[base..base + cut])?;
        let end = before.bytes.len();
        text.set_line(before, self.padding..end);
        Ok(())
    }

    /// Reads a text of `size` bytes again, without gaps.
    ///
    /// # Errors
    /// As for [`TextChunks::take`].
    pub fn fill(&self, text: &mut Text, size: usize) -> Result<()> {
        let base = self.padding;
        text.grow(base + size + self.padding)?;
        text.bytes[..base].fill(b'\n');
        self.read(text.offset, &mut text.bytes[base..base + size])?;
        text.gaps.clear();
        (text.start, text.end) = (base, base + size);
        self.finish(text)
    }

    /// Returns whether a line exceeds the limit, given `have` bytes without a known boundary after them; the last few
    /// may still contain one.
    fn is_too_long(&self, have: usize) -> bool {
        have as u64 > self.line_bytes + (BYTE_ORDER_MARK.len() as u64) + LINE_END + self.borders.reach as u64 - 1
    }

    /// A chunk in whose share no line ends.
    fn nothing(&self, from: u64, text: &mut Text) -> Result<bool> {
        text.grow(2 * self.padding)?;
        (text.start, text.end, text.offset) = (self.padding, self.padding, from);
        Ok(true)
    }

    /// Reads at `from` until `out` is full.
    fn read(&self, from: u64, out: &mut [u8]) -> Result<()> {
        let head = usize::try_from(from).ok().and_then(|from| self.head.get(from..)).unwrap_or_default();
        let known = head.len().min(out.len());
        out[..known].copy_from_slice(&head[..known]);
        let rest = &mut out[known..];
        if !rest.is_empty() {
            self.source.read_at(from + known as u64, rest).map_err(|e| failed(&self.source, e))?;
        }
        Ok(())
    }

    fn take_next(&self, text: &mut Text) -> Result<bool> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.padding;
        let mut have = stream.carry.len();
        text.grow(base + have + self.padding)?;
        text.bytes[base..base + have].copy_from_slice(&stream.carry);
        stream.carry.clear();
        let mut unseen = 0;
        let end = loop {
            if stream.ended {
                break 0;
            }
            text.grow(base + have + self.chunk_bytes + self.padding)?;
            have += self.read_stream(&mut text.bytes[base + have..][..self.chunk_bytes], &mut stream);
            if let Some(end) = (self.borders.last)(&text.bytes[base..base + have], unseen) {
                break end;
            }
            if self.is_too_long(have) {
                break 0;
            }
            unseen = have.saturating_sub(self.borders.reach);
        };
        let end = self.settle(&mut stream, text, end, have)?;
        (text.start, text.end, text.offset) = (base, base + end, stream.offset);
        stream.offset += end as u64;
        drop(stream);
        if end == 0 && !text.too_long {
            return Ok(false);
        }
        self.finish(text)?;
        Ok(true)
    }

    /// Decides how to use `have` bytes from a stream whose last line begins at `last`; returns how many are the text of
    /// this chunk.
    fn settle(&self, stream: &mut Stream, text: &mut Text, last: usize, have: usize) -> Result<usize> {
        let is_whole = stream.ended && stream.failed.is_none();
        text.too_long = self.is_too_long(have - last) && !is_whole;
        if text.too_long {
            // No chunk takes the bytes after it.
            (stream.ended, stream.failed) = (true, None);
            return Ok(last);
        }
        if is_whole {
            return Ok(have);
        }
        match stream.failed.take_if(|_| last == 0) {
            Some(error) => return Err(error),
            // A line that is cut off is none.
            None if stream.failed.is_some() => return Ok(last),
            None => {}
        }
        let rest = &text.bytes[self.padding + last..self.padding + have];
        stream.carry.try_reserve(rest.len()).map_err(|_| Error::memory("a line"))?;
        stream.carry.extend_from_slice(rest);
        Ok(last)
    }

    /// Skips a byte order mark, refuses UTF-16, and ends the text with a newline that is not its own.
    fn finish(&self, text: &mut Text) -> Result<()> {
        if text.offset == 0 {
            // None of a line that is too long becomes text, but its first bytes are there, more than the limit.
            let head = &text.bytes[text.start..if text.too_long { text.bytes.len() } else { text.end }];
            if head.starts_with(BYTE_ORDER_MARK) {
                text.start += BYTE_ORDER_MARK.len();
                text.end = text.end.max(text.start);
                text.offset = BYTE_ORDER_MARK.len() as u64;
            } else if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
                let message = "this is UTF-16 text or not text; polyhaul reads UTF-8 and ASCII";
                return Err(self.placed(ErrorKind::Unsupported, message.into(), 0));
            }
        }
        self.stop_before_long_line(text);
        let end = text.end;
        text.grow(end + self.padding + 1)?;
        // A line feed after a carriage return would be the second half of a pair.
        text.bytes[end] = if text.bytes[end - 1] == b'\r' { b' ' } else { b'\n' };
        Ok(())
    }

    /// Ends the text before its first line that is longer than the limit.
    fn stop_before_long_line(&self, text: &mut Text) {
        let bytes = &text.bytes[text.start..text.end];
        // Gaps are in the first line.
        let (mut at, mut hidden) = (0, line::bytes_of(&text.gaps));
        while (bytes.len() + hidden) as u64 > self.line_bytes && at < bytes.len() {
            let next = (self.borders.next)(bytes, at + 1, bytes.len()).unwrap_or(bytes.len());
            let line_end = bytes[at..next].iter().rev().take(2).take_while(|b| matches!(b, b'\n' | b'\r')).count();
            if (next - at + hidden - line_end) as u64 > self.line_bytes {
                text.end = text.start + at;
                text.too_long = true;
                text.drop_gaps();
                return;
            }
            (at, hidden) = (next, 0);
        }
    }

    fn placed(&self, kind: ErrorKind, message: String, offset: u64) -> Error {
        let place = Place { file: self.name.clone(), offset: Some(offset), ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(message) }.into_error(kind)
    }

    /// Reads from a stream until `out` is full. If it fails, the bytes before the error are returned first.
    fn read_stream(&self, out: &mut [u8], stream: &mut Stream) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            match read_part(&self.source, self.garbage.as_ref(), &mut out[filled..]) {
                Ok(0) => {
                    stream.ended = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(error) => {
                    (stream.ended, stream.failed) = (true, Some(error));
                    break;
                }
            }
        }
        filled
    }
}

/// Returns the last offset after `from` at which a logical line begins.
fn last_line(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = bytes.len();
    while at > from {
        if line_begins(bytes, at) == Some(true) {
            return Some(at);
        }
        at = from + memchr::memrchr2(b'\n', b'\r', &bytes[from..at - 1])? + 1;
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
                        assert!(at == 0 || line_begins(sample, at) == Some(true), "{sample:?} at {at}");
                        at += chunk.len();
                    }
                }
            }
        }
    }

    /// Compressed members of these lengths, after an empty frame that is a piece of its own.
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
            // All but the last are too large to share a piece.
            let lens = [LEN + shift, LEN + 2 * shift, LEN, 1, 1, 1, LEN, LEN + 5 * shift, text.len()];
            let packed = members(text, &lens);
            let source = polyhaul_bytes::decompressed(Source::memory(&packed), &Default::default()).unwrap();
            assert!(source.piece(4).is_some());
            let chunks = TextChunks::new(source).cut(1000, 1 << 20, 64);
            let (mut out, mut at) = (Text::default(), 0);
            for number in 0.. {
                if !chunks.take(number, &mut out).unwrap() {
                    break;
                }
                assert!(out.offset == at as u64 || out.is_empty(), "{number}");
                assert!(at == 0 || line_begins(text, at) == Some(true), "{shift}: {at}");
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
                let found = (0..20000).find(|&n| chunks.take(n, &mut out).unwrap() && out.too_long);
                assert!(found.is_some(), "{chunk_bytes} {positioned}");
                assert_eq!(out.offset + out.len() as u64, 8, "{chunk_bytes} {positioned}");
            }
        }
    }
}
