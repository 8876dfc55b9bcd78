//! Parses a chunk of OFF text into values: runs of plain lines in batches, all other lines word by word.
//!
//! The row index of a chunk's first line is known beforehand, and thus whether each line is a vertex or a face. Values
//! are copied to the final arrays once slots are reserved for them: see `arrays`.

use super::arrays::MIN_BYTE_COLOR;
use super::flaw::{OffFault, OffFlaw, OffFlaws};
use super::header::{OffForm, OffHeader, OffRow};
use super::lines;
use polyhaul_model::Bounds;
use polyhaul_model::error::{Result, planted, try_push};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::names;
use polyhaul_model::warnings::counted;
use polyhaul_pipeline::arrays::grow;
use polyhaul_pipeline::precision::PrecisionPass;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::number;
use polyhaul_text::parse::positions::{DigitLoss, position_tokens};
use polyhaul_text::parse::rows::Window;
use polyhaul_text::parse::tokens;
use polyhaul_text::scan::{Index, MAX_ENDS};
use std::ops::Range;

/// Marks a missing alpha. No text is parsed as this NaN.
pub(super) const NO_ALPHA: f32 = f32::from_bits(0x7FC0_0FF0);

/// Maximum number of values in a face color.
const MAX_COLOR_VALUES: usize = 4;

/// A chunk of rows to parse.
#[derive(Clone, Copy)]
pub(super) struct OffChunk<'a> {
    pub(super) header: &'a OffHeader,
    pub(super) faults: FaultPolicy,
    pub(super) precision: PrecisionPass,
    pub(super) padded: &'a [u8],
    /// Start of the chunk's text in `padded`.
    pub(super) origin: usize,
    /// Start of the rows in `padded`.
    pub(super) start: usize,
    /// End of the rows in `padded`.
    pub(super) end: usize,
    /// Row index of the first line.
    pub(super) first_row: u64,
    /// Whether malformed rows are skipped.
    pub(super) skips_rows: bool,
    /// Maximum number of corners for the chunk's faces, and the limit to report.
    pub(super) corners: (u64, u64),
}

/// Parsed lines of a chunk. Its memory is reused.
#[derive(Default)]
pub(super) struct OffRows {
    /// Numbers of all vertices, row by row, followed by unused elements.
    values: Vec<f32>,
    /// Positions in double precision, followed by unused elements; empty unless requested.
    exact: Vec<[f64; 3]>,
    /// Precision that positions lose as 32-bit floats.
    pub(super) loss: DigitLoss,
    pub(super) vertices: usize,
    /// End of each face's corners, as an index in `corners`.
    pub(super) ends: Vec<u32>,
    pub(super) corners: Vec<u32>,
    pub(super) lines: Vec<[u32; 2]>,
    pub(super) points: Vec<u32>,
    pub(super) flaws: OffFlaws,
    /// Indices of skipped vertices.
    pub(super) bad_vertices: Vec<u64>,
    /// Number of faces with colors.
    pub(super) colored: u64,
    /// Whether parsing stops: after a fatal flaw, after the last row, or at a loss of precision that ends the pass.
    is_over: bool,
    /// Integers in a window.
    integers: Vec<i32>,
    /// Range of the window's tokens that `integers` covers.
    known: Range<usize>,
    /// Numbers of vertices that lack alpha.
    short_rows: Vec<f32>,
    /// Numbers of vertices in double precision.
    doubles: Vec<f64>,
    /// Whether any color lacks alpha.
    pub(super) lack_alpha: bool,
    /// Whether any color value shows that color values are from 0 to 255.
    pub(super) are_bytes: bool,
}

impl OffRows {
    /// Returns the numbers of the vertices.
    pub(super) fn values(&self, form: OffForm) -> &[f32] {
        self.values.get(..self.vertices * form.width()).unwrap_or_default()
    }

    /// Returns the bounds of the positions.
    pub(super) fn bounds(&self, form: OffForm) -> Option<Bounds> {
        let rows = self.values(form).chunks_exact(form.width());
        rows.filter_map(|row| Bounds::of(&[[row[0], row[1], row[2]]])).reduce(Bounds::union)
    }

    /// Returns the positions in double precision; empty unless requested.
    pub(super) fn exact(&self) -> &[[f64; 3]] {
        self.exact.get(..self.vertices).unwrap_or_default()
    }

    fn has_byte_colors(&self, form: OffForm) -> bool {
        let mut rows = self.values(form).chunks_exact(form.width());
        form.has_colors && rows.any(|row| row[form.color()..][..4].iter().any(|value| *value >= MIN_BYTE_COLOR))
    }

    /// Frees the memory if an unusually long line made it large, because the budget of a slot is `slot_bytes`.
    pub(super) fn shrink(&mut self, slot_bytes: usize) {
        if 4 * (self.values.len() + self.corners.capacity() + self.ends.capacity()) > 4 * slot_bytes {
            *self = OffRows::default();
        }
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.corners.clear();
        self.lines.clear();
        self.points.clear();
        self.flaws.clear();
        self.bad_vertices.clear();
        self.vertices = 0;
        self.colored = 0;
        self.is_over = false;
        self.lack_alpha = false;
    }

    /// Parses the rows of a chunk until a flaw stops reading, or a loss of precision ends the pass.
    pub(super) fn parse(&mut self, chunk: OffChunk<'_>, index: &mut Index) -> Result<()> {
        self.clear();
        self.loss = chunk.precision.loss();
        let level = Level::best();
        let mut at = chunk.start;
        let mut row = chunk.first_row;
        while at < chunk.end && !self.is_over {
            // A newline after the text terminates an unterminated last line.
            index.scan(chunk.padded, at, chunk.end + 1, level);
            if index.lines().is_empty() {
                let rest = &chunk.padded[at..chunk.end];
                let end = memchr::memchr2(b'\n', b'\r', rest).map_or(chunk.end, |size| at + size);
                row += u64::from(self.line(chunk, at..end, row)?);
                at = lines::behind(&chunk.padded[..chunk.end], end);
            } else {
                at = self.window(chunk, Window { padded: chunk.padded, index, level }, &mut row)?;
            }
            // The file will be read again in double precision.
            self.is_over |= self.loss.short > 0 && chunk.precision.is_over_at_loss();
        }
        self.are_bytes = self.has_byte_colors(chunk.header.form);
        Ok(())
    }

    /// Parses the lines of a window. Returns the start of the line after the last parsed line.
    fn window(&mut self, chunk: OffChunk<'_>, window: Window<'_>, row: &mut u64) -> Result<usize> {
        let index = window.index;
        let line_count = index.lines().len();
        let is_plain = !window.has_slash(0..window.tokens(line_count - 1).end);
        self.known = 0..0;
        // `alike`: number of lines, starting at `line`, that are known to have the same number of words.
        let mut line = 0;
        let mut alike = 0;
        while line < line_count && index.line_start(line) < chunk.end && !self.is_over {
            let taken = match chunk.header.row(*row) {
                Some((OffRow::Vertex, left)) if is_plain => {
                    if alike == 0 {
                        alike = alike_lines(chunk.header.form, window, line);
                    }
                    let max_lines = alike.min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.plain_vertices(chunk, window, line..line + max_lines)?
                }
                Some((OffRow::Face, left)) if is_plain => {
                    let max_lines = usize::try_from(left).unwrap_or(usize::MAX);
                    self.plain_faces(chunk, window, line..line_count.min(line.saturating_add(max_lines)))?
                }
                _ => 0,
            };
            line += taken;
            *row += taken as u64;
            alike = alike.saturating_sub(taken);
            if taken == 0 {
                let end = (index.lines()[line].newline as usize).min(chunk.end);
                *row += u64::from(self.line(chunk, index.line_start(line)..end, *row)?);
                line += 1;
                alike = alike.saturating_sub(1);
            }
        }
        Ok(index.line_start(line))
    }

    /// Parses lines that have as many words as a vertex, as long as all words are plain numbers. Returns the number of
    /// lines parsed.
    fn plain_vertices(&mut self, chunk: OffChunk<'_>, window: Window<'_>, lines: Range<usize>) -> Result<usize> {
        let form = chunk.header.form;
        if lines.is_empty() {
            return Ok(0);
        }
        let first = window.tokens(lines.start).start;
        let word_count = window.tokens(lines.start).len();
        let width = form.width();
        let start = self.vertices * width;
        grow(&mut self.values, start + lines.len() * width)?;
        let has_doubles = chunk.precision.has_doubles();
        grow(&mut self.doubles, if has_doubles { lines.len() * word_count } else { 0 })?;
        let doubles = &mut self.doubles[..if has_doubles { lines.len() * word_count } else { 0 }];
        let loss = &mut self.loss;
        let rows = if word_count == width {
            let out = &mut self.values[start..start + lines.len() * width];
            position_tokens(window, first, width, out, doubles, loss)
        } else {
            grow(&mut self.short_rows, lines.len() * word_count)?;
            let out = &mut self.short_rows[..lines.len() * word_count];
            let rows = position_tokens(window, first, word_count, out, doubles, loss);
            let alpha = form.color() + 3;
            let short_rows = self.short_rows.chunks_exact(word_count).take(rows);
            for (row, short) in self.values[start..].chunks_exact_mut(width).zip(short_rows) {
                with_alpha(row, short, alpha);
            }
            self.lack_alpha |= rows > 0;
            rows
        };
        if has_doubles {
            grow(&mut self.exact, self.vertices + rows)?;
            let doubles = self.doubles.chunks_exact(word_count).take(rows);
            for (exact, row) in self.exact[self.vertices..].iter_mut().zip(doubles) {
                exact.copy_from_slice(&row[..3]);
            }
        }
        self.vertices += rows;
        Ok(rows)
    }

    /// Parses face lines as long as all words are plain integers in range. Returns the number of lines parsed.
    fn plain_faces(&mut self, chunk: OffChunk<'_>, window: Window<'_>, lines: Range<usize>) -> Result<usize> {
        let first = window.tokens(lines.start).start;
        let last = window.tokens(lines.end - 1).end;
        if !self.known.contains(&first) {
            grow(&mut self.integers, MAX_ENDS)?;
            let count = (last - first).min(MAX_ENDS);
            let plain = tokens::integers(window, first, &mut self.integers[..count]);
            self.known = first..first + plain;
        }
        let integers = self.integers.get(..self.known.len()).unwrap_or_default();
        self.corners.try_reserve(integers.len())?;
        self.ends.try_reserve(lines.len())?;
        let room = usize::try_from(chunk.corners.0).unwrap_or(usize::MAX);
        // Plain integers have up to 8 digits, so valid indices are below 2^31. Negative indices, as `u32`, are not, so
        // one comparison rejects both negative indices and indices that are too large.
        let vertices = chunk.header.vertices.min(1 << 31) as u32;
        let mut taken = 0;
        for line in lines {
            let words = window.tokens(line);
            let numbers = integers.get(words.start - self.known.start..words.end - self.known.start);
            let Some((&[size], indices)) = numbers.and_then(|numbers| numbers.split_first_chunk()) else { break };
            let Some((indices, color)) = usize::try_from(size).ok().and_then(|size| indices.split_at_checked(size))
            else {
                break;
            };
            // The first face with a color is left to the slow path, which locates the color.
            let is_odd_color = !color.is_empty() && (color.len() > MAX_COLOR_VALUES || self.colored == 0);
            let is_whole = indices.iter().fold(true, |is_whole, &index| is_whole & ((index as u32) < vertices));
            if !is_whole || is_odd_color || self.corners.len() + indices.len() > room {
                break;
            }
            match *indices {
                [] => break,
                [point] => try_push(&mut self.points, point as u32, "points")?,
                [from, to] => try_push(&mut self.lines, [from as u32, to as u32], "lines")?,
                [a, b, c] => {
                    self.corners.extend_from_slice(&[a as u32, b as u32, c as u32]);
                    self.ends.push(self.corners.len() as u32);
                }
                _ => {
                    self.corners.extend(indices.iter().map(|&index| index as u32));
                    self.ends.push(self.corners.len() as u32);
                }
            }
            self.colored += u64::from(!color.is_empty());
            taken += 1;
        }
        Ok(taken)
    }

    /// Parses any line. Returns whether it is a row.
    fn line(&mut self, chunk: OffChunk<'_>, line: Range<usize>, row: u64) -> Result<bool> {
        let words = || lines::words(chunk.padded, line.clone());
        let Some(first) = words().next() else { return Ok(false) };
        match chunk.header.row(row) {
            Some((OffRow::Vertex, _)) => self.vertex(chunk, words, row)?,
            Some((OffRow::Face, _)) => self.face(chunk, words, row - chunk.header.vertices)?,
            None => {
                self.flaw(chunk, OffFault::Data, first, 0)?;
                self.is_over = true;
            }
        }
        Ok(true)
    }

    /// Records a flaw of a row.
    fn flaw(&mut self, chunk: OffChunk<'_>, what: OffFault, word: Range<usize>, row: u64) -> Result<()> {
        self.is_over |= what.is_final(chunk.faults);
        let token = ((word.start - chunk.origin) as u32, word.len() as u32);
        self.flaws.push(OffFlaw { what, token, row })
    }

    /// Records the fault of a word or a line. It stops reading, unless malformed rows are skipped.
    fn wrong(
        &mut self,
        chunk: OffChunk<'_>,
        message: String,
        expected: &str,
        word: Range<usize>,
        row: u64,
    ) -> Result<()> {
        let said = Box::new((message, expected.to_owned()));
        let what = if chunk.skips_rows { OffFault::Skipped(said) } else { OffFault::Wrong(said) };
        self.flaw(chunk, what, word, row)
    }

    /// Adds a placeholder for a skipped vertex.
    fn skip_vertex(&mut self, chunk: OffChunk<'_>, row: u64) -> Result<()> {
        if self.is_over || !chunk.skips_rows {
            return Ok(());
        }
        let width = chunk.header.form.width();
        let start = self.vertices * width;
        grow(&mut self.values, start + width)?;
        self.values[start..start + width].fill(0.0);
        if chunk.precision.has_doubles() {
            grow(&mut self.exact, self.vertices + 1)?;
            self.exact[self.vertices] = [0.0; 3];
        }
        self.vertices += 1;
        try_push(&mut self.bad_vertices, row, "vertices")
    }

    /// Parses a vertex word by word.
    fn vertex<W: Iterator<Item = Range<usize>>>(
        &mut self,
        chunk: OffChunk<'_>,
        words: impl Fn() -> W,
        row: u64,
    ) -> Result<()> {
        let form = chunk.header.form;
        let width = form.width();
        let min_width = form.least_width();
        let word_count = words().count();
        // With too few values for a whole vertex, alpha must be the missing one.
        let used = if word_count < width { min_width } else { width };
        grow(&mut self.short_rows, width)?;
        for (place, word) in words().take(used).enumerate() {
            let text = &chunk.padded[word.clone()];
            let special = || number::msvc_special(text).map(|value| value as f32);
            let Some(number) = number::f32(text).or_else(special) else {
                let message = format!("`{}` is not a number (vertex {row})", chunk.shown(&word));
                self.wrong(chunk, message, "", word, row)?;
                return self.skip_vertex(chunk, row);
            };
            self.short_rows[place] = number;
        }
        if word_count < min_width {
            let message = format!("vertex {row} has {}", counted(word_count as u64, ["value", "values"]));
            let expected = format!("{} on one line", form.described());
            self.wrong(chunk, message, &expected, span(words()), row)?;
            return self.skip_vertex(chunk, row);
        }
        let start = self.vertices * width;
        grow(&mut self.values, start + width)?;
        let place = &mut self.values[start..start + width];
        if used == width {
            place.copy_from_slice(&self.short_rows[..width]);
        } else {
            with_alpha(place, &self.short_rows[..used], form.color() + 3);
            self.lack_alpha = true;
        }
        self.exact_vertex(chunk, words())?;
        self.vertices += 1;
        match words().nth(used) {
            Some(extra) => {
                let what = OffFault::Extra { count: (word_count - used) as u64, is_vertex: true };
                self.flaw(chunk, what, extra, row)
            }
            None => Ok(()),
        }
    }

    /// Records the precision that a position loses as 32-bit floats, and stores it in double precision if requested.
    fn exact_vertex(&mut self, chunk: OffChunk<'_>, words: impl Iterator<Item = Range<usize>>) -> Result<()> {
        let mut exact = [0.0; 3];
        for (value, word) in exact.iter_mut().zip(words) {
            let text = &chunk.padded[word];
            self.loss.add(text);
            *value = number::f64(text).or_else(|| number::msvc_special(text)).unwrap_or(f64::NAN);
        }
        if chunk.precision.has_doubles() {
            grow(&mut self.exact, self.vertices + 1)?;
            self.exact[self.vertices] = exact;
        }
        Ok(())
    }

    /// Parses a face word by word.
    fn face<W: Iterator<Item = Range<usize>>>(
        &mut self,
        chunk: OffChunk<'_>,
        words: impl Fn() -> W,
        row: u64,
    ) -> Result<()> {
        let mut rest = words();
        let Some(first) = rest.next() else { return Ok(()) };
        let Some(size) = self.integer(chunk, &first, row)?.and_then(|size| u64::try_from(size).ok()) else {
            let message = format!("`{}` is not a valid number of corners (face {row})", chunk.shown(&first));
            return self.wrong(chunk, message, "a non-negative integer", first, row);
        };
        let start = self.corners.len();
        let mut index_count = 0;
        let mut is_whole = true;
        let vertices = chunk.header.vertices.saturating_add(planted("off-index").into());
        for word in rest.by_ref().take(usize::try_from(size).unwrap_or(usize::MAX)) {
            index_count += 1;
            match self.integer(chunk, &word, row)? {
                Some(index) if u64::try_from(index).is_ok_and(|index| index < vertices) => {
                    try_push(&mut self.corners, index as u32, "corners")?;
                }
                // Only one index per face is reported, because the whole face is dropped.
                Some(_) if !is_whole => {}
                Some(index) => {
                    is_whole = false;
                    self.flaw(chunk, OffFault::Index(index), word, row)?;
                }
                None => {
                    let message = format!("`{}` is not an index (face {row})", chunk.shown(&word));
                    self.corners.truncate(start);
                    return self.wrong(chunk, message, "an integer", word, row);
                }
            }
        }
        if index_count < size {
            let message = format!("face {row} has {}", counted(index_count, ["index", "indices"]));
            self.corners.truncate(start);
            return self.wrong(chunk, message, &format!("{size} on one line"), span(words()), row);
        }
        let is_face = self.color(chunk, rest, row)?;
        if !is_face || !is_whole || self.is_over {
            self.corners.truncate(start);
            return Ok(());
        }
        self.add_face(chunk, start, first, row)
    }

    /// Parses an integer, which may be written as a decimal.
    fn integer(&mut self, chunk: OffChunk<'_>, word: &Range<usize>, row: u64) -> Result<Option<i64>> {
        // Above 2^53, the nearest double of a decimal may be a different integer.
        const MAX: f64 = 9_007_199_254_740_992.0;
        let text = &chunk.padded[word.clone()];
        if let Ok(integer) = number::i64(text) {
            return Ok(Some(integer));
        }
        let Some(value) = number::f64(text).filter(|value| value.fract() == 0.0 && value.abs() <= MAX) else {
            return Ok(None);
        };
        let integer = value as i64;
        self.flaw(chunk, OffFault::Decimal(integer), word.clone(), row)?;
        Ok(Some(integer))
    }

    /// Parses the color after the indices of a face. Returns `false` if a word is not a number, which makes the line
    /// invalid.
    fn color(&mut self, chunk: OffChunk<'_>, words: impl Iterator<Item = Range<usize>>, row: u64) -> Result<bool> {
        let mut count = 0;
        let mut first = None;
        for word in words {
            if number::f32(&chunk.padded[word.clone()]).is_none() {
                let message = format!("`{}` is not a color value (face {row})", chunk.shown(&word));
                self.wrong(chunk, message, "", word, row)?;
                return Ok(false);
            }
            count += 1;
            first.get_or_insert(word);
        }
        let Some(first) = first else { return Ok(true) };
        if count > MAX_COLOR_VALUES {
            let what = OffFault::Extra { count: count as u64, is_vertex: false };
            self.flaw(chunk, what, first, row)?;
            return Ok(true);
        }
        self.colored += 1;
        if self.colored == 1 {
            self.flaw(chunk, OffFault::Color, first, row)?;
        }
        Ok(true)
    }

    /// Completes a face with the corners starting at `start`. With two corners, it becomes a line, and with one corner,
    /// a point.
    fn add_face(&mut self, chunk: OffChunk<'_>, start: usize, first: Range<usize>, row: u64) -> Result<()> {
        match self.corners[start..] {
            [] => return self.flaw(chunk, OffFault::Short, first, row),
            [point] => try_push(&mut self.points, point, "points")?,
            [from, to] => try_push(&mut self.lines, [from, to], "lines")?,
            _ if self.corners.len() as u64 > chunk.corners.0 => {
                return self.flaw(chunk, OffFault::Corners(chunk.corners.1), first, row);
            }
            _ => return try_push(&mut self.ends, self.corners.len() as u32, "faces"),
        }
        self.corners.truncate(start);
        Ok(())
    }
}

impl OffChunk<'_> {
    /// Formats a word for messages.
    fn shown(&self, word: &Range<usize>) -> String {
        let text = String::from_utf8_lossy(&self.padded[word.start..word.end.min(word.start + 400)]);
        names::shown(&text).into_owned()
    }
}

/// Returns the range from the first to the last of some words.
fn span(mut words: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    let first = words.next().unwrap_or_default();
    first.start..words.last().map_or(first.end, |last| last.end)
}

/// Returns how many lines in a row, starting at `line`, have the same number of words, if this number is valid for a
/// vertex; otherwise 0.
fn alike_lines(form: OffForm, window: Window<'_>, line: usize) -> usize {
    let count = window.tokens(line).len();
    if !(form.least_width()..=form.width()).contains(&count) {
        return 0;
    }
    (line..window.index.lines().len()).take_while(|&line| window.tokens(line).len() == count).count()
}

/// Fills a row from a row without alpha. Marks the alpha, at index `alpha`, as missing.
fn with_alpha(row: &mut [f32], short: &[f32], alpha: usize) {
    row[..alpha].copy_from_slice(&short[..alpha]);
    row[alpha] = NO_ALPHA;
    row[alpha + 1..].copy_from_slice(&short[alpha..]);
}
