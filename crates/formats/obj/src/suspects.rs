//! Forward references: indices that exceed the counts so far. Only the end of the file decides whether they are valid.
//!
//! If a chunk's largest index exceeds the counts at the end of the chunk, the chunk is searched once, in order, while
//! its text is still in memory. The findings are kept here.

use super::parsed::{ElementKind, ObjParsed, ObjParsedCorners, ObjSegment, ObjStream, RelativeRun};
use super::publish::ObjPlaces;
use super::tokens::{ObjLine, ObjTokens};
use polyhaul_model::Counts;
use polyhaul_model::error::{Diagnostic, Error, Place, Result, planted, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::chunk::Text;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::{Placer, excerpt};
use std::ops::Range;
use std::sync::Arc;

/// Value of a negative index that points before the start of the file.
pub(super) const BEFORE_START: u32 = u32::MAX - 1;

/// A corner index that exceeds the counts so far. Every corner of a file may have one.
struct Suspect {
    stream: ObjStream,
    /// 1-based.
    index: u32,
    /// Line number, starting at 1.
    line: u64,
    /// Offset of the index in the file.
    offset: u64,
    /// The line with the index, in [`ChunkSuspects::text`]: offset and length.
    text: (u32, u32),
    /// Location of the index in its line: offset and length.
    token: (u32, u32),
}

/// Findings in a chunk.
#[derive(Default)]
pub(super) struct ChunkSuspects {
    list: Vec<Suspect>,
    /// The lines with suspects, each of them once. Which ones are shown is decided only at the end of the file: a limit
    /// per chunk would make warnings depend on the chunk size.
    text: Vec<u8>,
    /// Offset in the chunk of the line that was added to `text` last.
    last_line: Option<usize>,
}

/// Findings in all chunks that have any, and the largest index of each stream in these chunks.
#[derive(Default)]
pub(super) struct Suspects {
    chunks: Vec<ChunkSuspects>,
    largest: [u32; 3],
}

/// Out-of-range indices.
pub(super) struct ObjIndexFaults {
    /// Whether any position index is out of range.
    pub(super) has_positions: bool,
    /// The first out-of-range uv index, and the first out-of-range normal index.
    pub(super) first_missing: [Option<Diagnostic>; 2],
}

impl Suspects {
    /// Adds the findings of a chunk.
    pub(super) fn merge(&mut self, chunk: ChunkSuspects, largest: [u32; 3]) -> Result<()> {
        for (total, index) in self.largest.iter_mut().zip(largest) {
            *total = index.max(*total);
        }
        if chunk.list.is_empty() { Ok(()) } else { try_push(&mut self.chunks, chunk, "forward references") }
    }

    /// Reports the first out-of-range position index as an error, or all of them as warnings if reading continues past
    /// errors. Out-of-range uv and normal indices are not errors: the first index of each kind is returned.
    pub(super) fn check(
        mut self,
        counts: Counts,
        file: &Arc<str>,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<ObjIndexFaults> {
        let totals = [counts.positions, counts.uvs, counts.normals];
        let totals = totals.map(|total| total.saturating_add(planted("obj-index").into()));
        // Chunks do not overlap, so their first offsets define their order.
        self.chunks.sort_unstable_by_key(|chunk| chunk.list.first().map(|suspect| suspect.offset));
        let mut first_missing = [None, None];
        for chunk in &self.chunks {
            let wrong = chunk.list.iter().filter(|suspect| suspect.index > totals[suspect.stream as usize]);
            for suspect in wrong {
                let describe = || suspect.diagnostic(totals[suspect.stream as usize], file, &chunk.text);
                match suspect.stream {
                    ObjStream::Position => warnings.broken(options.faults, "index-out-of-range", describe())?,
                    ObjStream::Uv => _ = first_missing[0].get_or_insert_with(describe),
                    ObjStream::Normal => _ = first_missing[1].get_or_insert_with(describe),
                }
            }
        }
        Ok(ObjIndexFaults { has_positions: self.largest[0] > totals[0], first_missing })
    }
}

impl Suspect {
    /// Describes the fault. `text` is the [`ChunkSuspects::text`] of its chunk.
    fn diagnostic(&self, total: u32, file: &Arc<str>, text: &[u8]) -> Diagnostic {
        let noun = self.stream.noun();
        let (start, size) = self.text;
        let line = text.get(start as usize..(start + size) as usize).unwrap_or_default();
        let (column, length) = self.token;
        let index_text = line.get(column as usize..(column + length) as usize).unwrap_or_default();
        let message = match self.index {
            BEFORE_START => before_first(index_text, self.stream),
            index => format!("{noun} {index} does not exist"),
        };
        Diagnostic {
            message: match self.stream {
                _ if total > 0 => message,
                ObjStream::Position => format!("{message}: the file has no {noun}s"),
                ObjStream::Uv | ObjStream::Normal => format!("the file has no {noun}s"),
            },
            expected: match total {
                0 => None,
                1 => Some("index 1".to_owned()),
                _ => Some(format!("an index from 1 to {total}")),
            },
            hint: None,
            place: Place {
                file: file.clone(),
                line: Some(self.line),
                column: Some(u64::from(self.token.0) + 1),
                offset: Some(self.offset),
            },
            excerpt: Some(excerpt(line, self.token)),
            ..Diagnostic::default()
        }
    }
}

/// Returns the message for a negative index that points before the start of the file.
pub(super) fn before_first(index: &[u8], stream: ObjStream) -> String {
    format!("index {} points before the first {}", String::from_utf8_lossy(index), stream.noun())
}

/// Finds the corners of a chunk that have an index exceeding the counts at the end of the chunk.
///
/// If only the first invalid index of a stream matters (always for UVs and normals; for positions if it stops reading),
/// lists only indices larger than all earlier indices of the stream: the first invalid index is among them.
pub(super) fn find(text: &Text, parsed: &ObjParsed, places: &ObjPlaces, first_only: bool) -> Result<ChunkSuspects> {
    let file: Arc<str> = "".into();
    let mut suspects = ChunkSuspects::default();
    for kind in ElementKind::ALL {
        suspects.last_line = None;
        let placer = Placer::new(text.bytes(), text.offset, places.first_line, &file);
        let mut walk = ObjWalk { text: text.bytes(), placer, suspects: &mut suspects };
        walk.corners(kind, &parsed.elements[kind as usize], places.counts_at_end(), first_only)?;
    }
    suspects.list.sort_unstable_by_key(|suspect| suspect.offset);
    Ok(suspects)
}

/// Walks through the rows of a chunk and through their text in parallel.
struct ObjWalk<'a, 'f> {
    text: &'a [u8],
    placer: Placer<'a>,
    suspects: &'f mut ChunkSuspects,
}

/// Position of a walk in a segment.
struct ObjCursor<'a> {
    row: usize,
    line: ObjLine,
    /// The next corner of the row, and the tokens from this corner on.
    corner: usize,
    tokens: ObjTokens<'a>,
}

impl<'a> ObjWalk<'a, '_> {
    fn corners(
        &mut self,
        kind: ElementKind,
        corners: &ObjParsedCorners,
        mut threshold: [u32; 3],
        first_only: bool,
    ) -> Result<()> {
        let mut values = corners.values.as_slice();
        let mut rows = corners.row_ends.as_slice();
        for segment in &corners.segments {
            let (segment_values, more) = values.split_at(segment.values as usize);
            let (ends, later) = rows.split_at(segment.rows as usize);
            values = more;
            rows = later;
            let stride = usize::from(segment.stride);
            let mut cursor = None;
            let mut row = 0;
            for (at, &value) in segment_values.iter().enumerate() {
                while ends[row] as usize <= at {
                    row += 1;
                }
                let stream = ObjStream::ALL[at % stride];
                if value <= threshold[stream as usize] {
                    continue;
                }
                if first_only || stream != ObjStream::Position {
                    threshold[stream as usize] = value;
                }
                let first = if row == 0 { 0 } else { ends[row - 1] as usize };
                // The points of one statement are rows on one line.
                let (line, corner) = if kind == ElementKind::Point { (0, row) } else { (row, (at - first) / stride) };
                self.suspect(&mut cursor, segment, line, corner, stream, value)?;
            }
        }
        Ok(())
    }

    /// Lists corner `corner` of line `row` of a segment. Corners must be listed in ascending order.
    fn suspect(
        &mut self,
        cursor: &mut Option<ObjCursor<'a>>,
        segment: &ObjSegment,
        row: usize,
        corner: usize,
        stream: ObjStream,
        index: u32,
    ) -> Result<()> {
        let cursor = cursor.get_or_insert_with(|| ObjCursor::at(self.text, segment.line_offset as usize));
        cursor.go_to(self.text, row, corner);
        // A corner may be requested once per index, so the cursor stays before it.
        let token = cursor.tokens.clone().next().unwrap_or(cursor.line.start..cursor.line.start + 1);
        let part = part_of(&self.text[token.clone()], stream as usize);
        let span = ((token.start + part.start) as u32, part.len() as u32);
        let place = self.placer.place(span.0);
        let column = place.column.unwrap_or(1) as u32 - 1;
        let suspect = Suspect {
            stream,
            index,
            line: place.line.unwrap_or(0),
            offset: place.offset.unwrap_or(0),
            text: self.keep_line((span.0 - column) as usize)?,
            token: (column, span.1),
        };
        try_push(&mut self.suspects.list, suspect, "forward references")
    }

    /// Stores the line that starts at `start`; returns its range in [`ChunkSuspects::text`].
    fn keep_line(&mut self, start: usize) -> Result<(u32, u32)> {
        let suspects = &mut *self.suspects;
        if suspects.last_line == Some(start)
            && let Some(last) = suspects.list.last()
        {
            return Ok(last.text);
        }
        let rest = &self.text[start..];
        let line = &rest[..memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())];
        suspects.text.try_reserve(line.len()).map_err(|_| Error::memory("forward references"))?;
        let at = suspects.text.len() as u32;
        suspects.text.extend_from_slice(line);
        suspects.last_line = Some(start);
        Ok((at, line.len() as u32))
    }
}

impl<'a> ObjCursor<'a> {
    fn at(text: &'a [u8], offset: usize) -> ObjCursor<'a> {
        let line = ObjLine::find(text, offset, text.len());
        ObjCursor { row: 0, line, corner: 0, tokens: after_keyword(line, text) }
    }

    fn go_to(&mut self, text: &'a [u8], row: usize, corner: usize) {
        while self.row < row {
            self.line = ObjLine::find(text, self.line.next, text.len());
            self.row += 1;
            self.corner = 0;
            self.tokens = after_keyword(self.line, text);
        }
        while self.corner < corner {
            self.tokens.next();
            self.corner += 1;
        }
    }
}

fn after_keyword(line: ObjLine, text: &[u8]) -> ObjTokens<'_> {
    let mut tokens = line.tokens(text);
    tokens.next();
    tokens
}

/// Returns the location in the chunk's text of value `at` of a run.
pub(super) fn place_in_run(text: &[u8], run: &RelativeRun, at: usize) -> (u32, u32) {
    let mut corner = at / run.stride;
    let mut from = run.line_offset as usize;
    loop {
        let line = ObjLine::find(text, from, text.len());
        let tokens = after_keyword(line, text);
        let count = tokens.count();
        if let Some(token) = after_keyword(line, text).nth(corner) {
            let part = part_of(&text[token.clone()], at % run.stride);
            return ((token.start + part.start) as u32, part.len() as u32);
        }
        if line.next <= from {
            return (run.line_offset, 1);
        }
        corner -= count;
        from = line.next;
    }
}

/// Returns the byte range of a slash-separated part of a token.
fn part_of(token: &[u8], part: usize) -> Range<usize> {
    let mut start = 0;
    for (at, text) in token.split(|&byte| byte == b'/').enumerate() {
        if at == part {
            return start..start + text.len();
        }
        start += text.len() + 1;
    }
    0..token.len()
}

/// Returns the offset of the statement in a chunk at which the count of any kind exceeds `limit`. Skipped elements do
/// not count; `broken` yields the offsets of skipped statements in ascending order.
pub(super) fn find_excess(text: &[u8], broken: impl Iterator<Item = u32>, before: Counts, limit: u64) -> u32 {
    let mut broken = broken.peekable();
    let mut counts = before.to_array().map(u64::from);
    let mut at = 0;
    while at < text.len() {
        let line = ObjLine::find(text, at, text.len());
        let mut tokens = line.tokens(text);
        let kind = tokens.next().map(|word| &text[word]);
        let (kind, count) = match kind {
            Some(b"v") => (0, 1),
            Some(b"vt") => (1, 1),
            Some(b"vn") => (2, 1),
            // Elements with too few corners are dropped with a warning.
            Some(b"f" | b"fo") => (3, u64::from(tokens.count() >= 3)),
            Some(b"l") => (4, u64::from(tokens.count() >= 2)),
            Some(b"p") => (5, tokens.count() as u64),
            _ => (6, 0),
        };
        let mut is_broken = false;
        while broken.next_if(|&offset| (offset as usize) < line.next).is_some() {
            is_broken = true;
        }
        // A skipped vertex, uv or normal still counts.
        counts[kind] += if is_broken && kind >= 3 { 0 } else { count };
        if counts[kind] > limit {
            return line.start as u32;
        }
        at = line.next.max(at + 1);
    }
    0
}
