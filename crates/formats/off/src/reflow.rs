//! Rewrites text so that each row is on its own line. Only changes white space and comments.
//!
//! Numbers may be separated by any white space, including line endings; only the color of a face ends with its line.
//! Lines are joined until they form exactly one row, and split if they form exactly several rows. Anything else is an
//! error, because a missing number must not shift all numbers after it; only a vertex on its own line may have extra
//! values.

use super::header::{Keyword, OffForm};
use super::lines;
use polyhaul_bytes::Source;
use polyhaul_text::parse::number;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes per read.
const BLOCK_BYTES: usize = 64 << 10;
/// Maximum number of values in a face color.
const MAX_COLOR_VALUES: usize = 4;
/// Minimum number of corners for faces that share a line. The numbers of faces with fewer corners could be a color.
const MIN_SHARED_CORNERS: u64 = 3;

/// The part of the file that is being processed; for rows, also the number of rows left.
#[derive(Clone, Copy)]
enum ReflowPart {
    /// Before the keyword.
    Start,
    /// Between the keyword and the counts.
    Counts,
    Vertices(u64),
    Faces(u64),
    End,
}

/// A reader that puts each row of a source on its own line.
pub(super) struct Reflow<'a> {
    source: Source<'a>,
    offset: u64,
    is_over: bool,
    max_line_bytes: usize,
    /// Input that does not form a complete line yet.
    input: Vec<u8>,
    /// Output: complete rows, starting at `start`, and an incomplete row, starting at `row`.
    out: Vec<u8>,
    start: usize,
    row: usize,
    part: ReflowPart,
    form: OffForm,
    counts: [u64; 2],
    /// Whether the row started on an earlier line.
    is_joined: bool,
    /// Number of words of the row on earlier lines.
    earlier_words: usize,
    /// Number of rows that were joined or split.
    changed: Arc<AtomicU64>,
}

fn misfit(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl<'a> Reflow<'a> {
    pub(super) fn new(source: Source<'a>, max_line_bytes: u64, changed: Arc<AtomicU64>) -> Reflow<'a> {
        Reflow {
            source,
            offset: 0,
            is_over: false,
            max_line_bytes: usize::try_from(max_line_bytes).unwrap_or(usize::MAX).min(1 << 30),
            input: Vec::new(),
            out: Vec::new(),
            start: 0,
            row: 0,
            part: ReflowPart::Start,
            form: OffForm::default(),
            counts: [0; 2],
            is_joined: false,
            earlier_words: 0,
            changed,
        }
    }

    /// Reads more input, and processes all complete lines.
    fn advance(&mut self) -> io::Result<()> {
        let filled = self.input.len();
        self.input.try_reserve(BLOCK_BYTES).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.input.resize(filled + BLOCK_BYTES, 0);
        let count = self.source.read_at(self.offset, &mut self.input[filled..])?;
        self.input.truncate(filled + count);
        self.offset += count as u64;
        self.is_over = count == 0;
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while at < input.len() {
            let end = memchr::memchr2(b'\n', b'\r', &input[at..]).map(|size| at + size);
            // A CR at the end of the input may be the first half of a CR LF.
            let is_whole = end.is_some_and(|end| end + 1 < input.len() || input[end] == b'\n');
            if !is_whole && !self.is_over {
                break;
            }
            let end = end.unwrap_or(input.len());
            let next = lines::behind(&input, end).min(input.len());
            self.line(&input[at..next], end - at)?;
            at = next;
        }
        self.input = input;
        self.input.drain(..at);
        if self.input.len().max(self.out.len() - self.row) > self.max_line_bytes {
            return Err(misfit("a line is too long"));
        }
        if self.is_over && self.row < self.out.len() {
            return Err(misfit("the last row is incomplete"));
        }
        Ok(())
    }

    /// Processes a line, including its line ending. Its text ends at `end`.
    fn line(&mut self, line: &[u8], end: usize) -> io::Result<()> {
        let at = self.out.len();
        self.is_joined = self.row < at;
        self.out.try_reserve(line.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.out.extend_from_slice(line);
        let words: Vec<Range<usize>> = lines::words(&self.out, self.row..at + end).collect();
        let is_complete = words.is_empty() || self.take(&words)?;
        if is_complete {
            self.changed.fetch_add(u64::from(self.is_joined), Ordering::Relaxed);
            self.row = self.out.len();
            self.earlier_words = 0;
        } else {
            self.earlier_words = words.len();
            // Replace a comment after the last word, and the line ending, with spaces.
            let from = words.last().map_or(at, |word| word.end);
            self.out[from..].fill(b' ');
        }
        Ok(())
    }

    /// Processes the words that a row has so far. Returns whether the row is complete.
    fn take(&mut self, words: &[Range<usize>]) -> io::Result<bool> {
        match self.part {
            ReflowPart::Start => self.keyword(words),
            ReflowPart::Counts => self.count_line(words),
            ReflowPart::Vertices(left) => self.vertices(words, left),
            ReflowPart::Faces(left) => self.faces(words, left),
            ReflowPart::End => Err(misfit("data after the last row")),
        }
    }

    fn keyword(&mut self, words: &[Range<usize>]) -> io::Result<bool> {
        let Some(keyword) = Keyword::of(&self.out[words[0].clone()]).filter(|keyword| !keyword.has_count()) else {
            return Err(misfit("missing keyword"));
        };
        self.form = keyword.form().ok_or_else(|| misfit("unsupported dimensions"))?;
        self.part = ReflowPart::Counts;
        if words.len() == 1 {
            return Ok(true);
        }
        self.count_line(&words[1..])
    }

    /// Processes the numbers of vertices, faces and edges, and any rows after them.
    fn count_line(&mut self, words: &[Range<usize>]) -> io::Result<bool> {
        let has_keyword = Keyword::of(&self.out[words[0].clone()]).is_some_and(|keyword| !keyword.has_count());
        if has_keyword {
            return if words.len() > 1 { self.count_line(&words[1..]) } else { Ok(false) };
        }
        let numbers = words.iter().take(2).map(|word| number::u64(&self.out[word.clone()]).ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>().ok_or_else(|| misfit("a count is not a number"))?;
        let [vertices, faces] = numbers[..] else { return Ok(false) };
        // The number of edges may be on its own line or missing.
        let waits = self.is_joined && words.len() == 2;
        if waits {
            return Ok(false);
        }
        let has_edges = !(self.is_joined && self.earlier_words == 2 && words.len() > 3);
        self.counts = [vertices, faces];
        self.part = ReflowPart::Vertices(vertices);
        self.skip_empty_parts();
        let rest = &words[words.len().min(if has_edges { 3 } else { 2 })..];
        if rest.is_empty() {
            return Ok(true);
        }
        self.divide(rest[0].start);
        self.row = rest[0].start;
        self.take(rest)
    }

    fn skip_empty_parts(&mut self) {
        if let ReflowPart::Vertices(0) = self.part {
            self.part = ReflowPart::Faces(self.counts[1]);
        }
        if let ReflowPart::Faces(0) = self.part {
            self.part = ReflowPart::End;
        }
    }

    /// Ends a row before the word that starts at `at`.
    fn divide(&mut self, at: usize) {
        // White space precedes each word, so a byte can be replaced, and no word moves.
        self.out[at - 1] = b'\n';
        self.changed.fetch_add(1, Ordering::Relaxed);
    }

    fn vertices(&mut self, mut words: &[Range<usize>], mut left: u64) -> io::Result<bool> {
        let is_number = |word: &Range<usize>| {
            let text = &self.out[word.clone()];
            number::f32(text).is_some() || number::msvc_special(text).is_some()
        };
        if !words.iter().all(is_number) {
            return Err(misfit("a word is not a number"));
        }
        let width = self.form.width();
        let widths = [width, self.form.least_width()];
        let is_whole = |width: &usize| {
            let all_rows = usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(*width);
            // Faces may follow on the same line if it contains all remaining vertices.
            words.len().is_multiple_of(*width) || left > 1 && words.len() >= all_rows
        };
        let Some(width) = widths.into_iter().find(is_whole) else {
            // A joined row must have exactly as many values as a vertex; a row on its own line may have extra values.
            return if words.len() < width { Ok(false) } else { self.lone_vertex(left) };
        };
        while words.len() > width && left > 1 {
            words = &words[width..];
            left -= 1;
            self.divide(words[0].start);
        }
        if words.len() > width {
            self.part = ReflowPart::Vertices(0);
            self.skip_empty_parts();
            let rest = &words[width..];
            self.divide(rest[0].start);
            self.row = rest[0].start;
            return self.take(rest);
        }
        self.part = ReflowPart::Vertices(left - 1);
        self.skip_empty_parts();
        Ok(true)
    }

    /// Accepts a vertex with extra values. They are dropped later.
    fn lone_vertex(&mut self, left: u64) -> io::Result<bool> {
        if self.is_joined {
            return Err(misfit("lines do not form a vertex"));
        }
        self.part = ReflowPart::Vertices(left - 1);
        self.skip_empty_parts();
        Ok(true)
    }

    fn faces(&mut self, mut words: &[Range<usize>], mut left: u64) -> io::Result<bool> {
        loop {
            let size = number::u64(&self.out[words[0].clone()]).map_err(|_| misfit("missing corner count"))?;
            let Some(needed) = usize::try_from(size).ok().and_then(|size| size.checked_add(1)) else {
                return Err(misfit("missing corner count"));
            };
            if words.len() < needed {
                return Ok(false);
            }
            left -= 1;
            self.part = ReflowPart::Faces(left);
            self.skip_empty_parts();
            let rest = &words[needed..];
            if rest.is_empty() || !self.are_faces(rest, left) {
                let is_color = rest.len() <= MAX_COLOR_VALUES && (rest.is_empty() || !self.is_joined);
                return if is_color { Ok(true) } else { Err(misfit("lines do not form a face")) };
            }
            self.divide(rest[0].start);
            words = rest;
        }
    }

    /// Whether words form only complete faces, at most `left` of them, each with too many corners to be a color.
    fn are_faces(&self, mut words: &[Range<usize>], left: u64) -> bool {
        let mut count = 0;
        while let Some(first) = words.first() {
            let size = number::u64(&self.out[first.clone()]).ok().filter(|&size| size >= MIN_SHARED_CORNERS);
            let rest = size.and_then(|size| words.get(usize::try_from(size).ok()?.checked_add(1)?..));
            let Some(rest) = rest.filter(|_| count < left) else { return false };
            count += 1;
            words = rest;
        }
        true
    }
}

impl Read for Reflow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.start == self.row && !self.is_over {
            self.out.drain(..self.start);
            self.row -= self.start;
            self.start = 0;
            self.advance()?;
        }
        let ready = &self.out[self.start..self.row];
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.start += count;
        Ok(count)
    }
}
