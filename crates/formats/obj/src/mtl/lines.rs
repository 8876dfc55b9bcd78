//! Splits text into logical lines, and maps an offset in a logical line to a line number, a column and an excerpt.
//!
//! A logical line has as many bytes as its physical lines, because continuations become spaces, so offsets are the same
//! in both. `statement` interprets the lines.

use polyhaul_model::error::{Error, Excerpt, Place, Result};
use polyhaul_model::printable::is_active;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Maximum bytes in an excerpt on each side of the mark, and maximum bytes of the mark itself.
const EXCERPT_BYTES: usize = 60;

/// A logical line.
pub struct Line<'a> {
    /// Bytes without the line ending.
    pub bytes: Cow<'a, [u8]>,
    /// Offset in the text.
    start: usize,
    /// Line number of its first physical line, starting at 1.
    number: u64,
}

/// Iterator over the logical lines of a text.
pub struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u64,
}

/// Returns whether a byte is white space between words.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the start and the end of the first line ending at or after `at`.
fn line_end(text: &[u8], at: usize) -> (usize, usize) {
    let length = text[at..].iter().position(|&byte| is_line_end(byte));
    let end = length.map_or(text.len(), |length| at + length);
    let width = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
    (end, text.len().min(end + width))
}

impl<'a> Lines<'a> {
    /// Iterates over the lines of `text`, without its byte order mark.
    pub fn new(text: &'a [u8]) -> Lines<'a> {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Lines { text, at, number: 1 }
    }
}

impl<'a> Iterator for Lines<'a> {
    /// Fails only if out of memory for a continued line.
    type Item = Result<Line<'a>>;

    fn next(&mut self) -> Option<Result<Line<'a>>> {
        let text = self.text;
        let start = self.at;
        let number = self.number;
        let first = text[start..].iter().find(|&&byte| !is_blank(byte))?;
        let continues = |end: usize| *first != b'#' && text[start..end].ends_with(b"\\");
        let (mut end, mut next) = line_end(text, start);
        self.number += 1;
        let continued = continues(end);
        while continues(end) {
            if next == text.len() {
                end = next;
                break;
            }
            (end, next) = line_end(text, next);
            self.number += 1;
        }
        self.at = next;
        let bytes =
            if continued { join(&text[start..end]).map(Cow::Owned) } else { Ok(Cow::Borrowed(&text[start..end])) };
        Some(bytes.map(|bytes| Line { bytes, start, number }))
    }
}

/// Joins physical lines: each line ending and the backslash before it become spaces.
fn join(physical: &[u8]) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    line.try_reserve_exact(physical.len()).map_err(|_| Error::memory("a continued line"))?;
    line.extend_from_slice(physical);
    for i in 0..line.len() {
        if is_line_end(line[i]) {
            line[i] = b' ';
            if i > 0 && line[i - 1] == b'\\' {
                line[i - 1] = b' ';
            }
        }
    }
    if let Some(last @ b'\\') = line.last_mut() {
        *last = b' ';
    }
    Ok(line)
}

impl Line<'_> {
    /// Returns the location in `text` of `offset`, an offset in this line.
    pub fn place(&self, text: &[u8], file: &Arc<str>, offset: usize) -> Place {
        let offset = self.start + offset;
        let mut start = self.start;
        let mut number = self.number;
        loop {
            let (end, next) = line_end(text, start);
            if offset <= end || next == text.len() {
                break;
            }
            start = next;
            number += 1;
        }
        let column = (offset - start + 1) as u64;
        Place { file: file.clone(), line: Some(number), column: Some(column), offset: Some(offset as u64) }
    }

    /// Returns the part of the physical line around `marked`, a range in this line.
    pub fn excerpt(&self, text: &[u8], marked: Range<usize>) -> Excerpt {
        let marked = self.start + marked.start..self.start + marked.end;
        let window = char_start(text, marked.start.saturating_sub(EXCERPT_BYTES)).max(self.start);
        let before = &text[window..marked.start];
        let before = &before[before.iter().rposition(|&byte| is_line_end(byte)).map_or(0, |i| i + 1)..];
        let end = line_end(text, marked.start).0;
        let mark_end = char_start(text, marked.end.min(end).min(marked.start + EXCERPT_BYTES)).max(marked.start);
        let mark = &text[marked.start..mark_end];
        let after = &text[mark_end..char_start(text, end.min(mark_end + EXCERPT_BYTES)).max(mark_end)];
        let mut excerpt = Excerpt { text: printable(before), marked: 0..0 };
        excerpt.marked.start = excerpt.text.len();
        excerpt.text += &printable(mark);
        excerpt.marked.end = excerpt.text.len();
        excerpt.text += &printable(after);
        excerpt
    }
}

/// Returns the start of the UTF-8 character that contains `at`.
fn char_start(text: &[u8], at: usize) -> usize {
    let is_start = |&i: &usize| text.get(i).is_none_or(|byte| byte & 0xc0 != 0x80);
    (at.saturating_sub(3)..=at).rev().find(is_start).unwrap_or(at)
}

/// Converts bytes to printable text, with one replacement character for each invalid or unprintable character.
pub fn printable(bytes: &[u8]) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if is_active(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}
