//! Indices that point past the elements read so far: only the end of the file decides whether they are wrong.
//!
//! OBJ files can refer to later elements. If a chunk's largest index exceeds the counts at its end, the chunk is
//! searched once, in order, while its text is still available; the findings are kept here.

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

/// The value of an index that counts backwards past the start of the file.
pub(super) const BEFORE_START: u32 = u32::MAX - 1;

/// A corner's index that exceeds the current count. There may be one for every corner of a file.
struct Suspect {
    stream: ObjStream,
    /// 1-based.
    index: u32,
    /// The line's number, from 1.
    line: u64,
    /// The offset of the index in the file.
    offset: u64,
    /// Its line in [`ChunkSuspects::text`].
    text: (u32, u32),
    /// The location in its line: start and size.
    token: (u32, u32),
}

/// The findings in a chunk.
#[derive(Default)]
pub(super) struct ChunkSuspects {
    list: Vec<Suspect>,
    /// The lines with suspects, each once. Which of them are shown is known at the end of the file only: a number
    /// of excerpts per chunk would make warnings depend on the size of chunks.
    text: Vec<u8>,
    /// The offset in the chunk of the last line of `text`.
    last_line: Option<usize>,
}

/// The findings in all chunks, and the largest index of each stream.
#[derive(Default)]
pub(super) struct Suspects {
    chunks: Vec<ChunkSuspects>,
    largest: [u32; 3],
}

/// Indices that do not exist.
pub(super) struct ObjIndexFaults {
    /// Whether there are any of positions.
    pub(super) has_positions: bool,
    /// The first of uvs, and the first of normals.
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

    /// Reports the first index of a position that does not exist as the error, or all as warnings if the caller
    /// continues past errors. Indices of uvs and normals that do not exist are no error: the first is described.
    pub(super) fn check(
        mut self,
        counts: Counts,
        file: &Arc<str>,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<ObjIndexFaults> {
        let totals = [counts.positions, counts.uvs, counts.normals];
        let totals = totals.map(|total| total.saturating_add(planted("obj-index").into()));
        // Chunks do not overlap.
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
    /// Describes the fault; `text` is that of its chunk's suspects.
    fn diagnostic(&self, total: u32, file: &Arc<str>, text: &[u8]) -> Diagnostic {
        let noun = self.stream.noun();
        let (start, size) = self.text;
        let line = text.get(start as usize..(start + size) as usize).unwrap_or_default();
        Diagnostic {
            message: match self.index {
                BEFORE_START => format!("index is before the first {noun}"),
                index => format!("{noun} {index} does not exist"),
            },
            expected: Some(match total {
                0 => format!("no {noun} index: the file has none"),
                _ => format!("an index from 1 to {total}"),
            }),
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

/// Finds the corners of a chunk whose index exceeds the counts at its end. Where only the first wrong one matters (of
/// uvs and normals, and of positions if it ends the reading), only indices larger than all earlier ones of their stream
/// are listed: it is one of them.
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

/// A walk through the rows of a chunk and their text, side by side.
struct ObjWalk<'a, 'f> {
    text: &'a [u8],
    placer: Placer<'a>,
    suspects: &'f mut ChunkSuspects,
}

/// The position of a walk in a segment.
struct ObjCursor<'a> {
    row: usize,
    line: ObjLine,
    /// The next corner of the row, and the tokens from there on.
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
                // The points of one statement are rows of one line.
                let (line, corner) = if kind == ElementKind::Point { (0, row) } else { (row, (at - first) / stride) };
                self.suspect(&mut cursor, segment, line, corner, stream, value)?;
            }
        }
        Ok(())
    }

    /// Lists corner `corner` of line `row` of a segment. Rows and corners come in order.
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
        // Several indices of one corner may be requested: the tokens stay before it.
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

    /// Keeps the line that starts at `start`; returns its range in [`ChunkSuspects::text`].
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

/// Returns the location in the chunk's text of the index that is value `at` of a run.
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

/// The byte range of one of the parts that slashes separate.
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

/// Finds where in a chunk the count of a kind exceeds `limit`: the offset of the statement. Skipped statements, whose
/// offsets `broken` gives in order, do not count.
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
            // Those with too few corners are left out with a note.
            Some(b"f" | b"fo") => (3, u64::from(tokens.count() >= 3)),
            Some(b"l") => (4, u64::from(tokens.count() >= 2)),
            Some(b"p") => (5, tokens.count() as u64),
            _ => (6, 0),
        };
        let mut is_broken = false;
        while broken.next_if(|&offset| (offset as usize) < line.next).is_some() {
            is_broken = true;
        }
        // A skipped vertex, uv or normal keeps its number.
        counts[kind] += if is_broken && kind >= 3 { 0 } else { count };
        if counts[kind] > limit {
            return line.start as u32;
        }
        at = line.next.max(at + 1);
    }
    0
}
