//! Parses a chunk of a table's text into values: runs of plain rows in batches, all other lines one by one.

use super::head::{TableHead, line_end};
use super::line::{Grammar, OPEN, Quotes, TableField, spreadsheet_error};
use super::value::{TableHeadKind, TableValue, Wide, WideColumn, check_number, f64_of, has_decimal_comma, range_of};
use polyhaul_model::error::{Diagnostic, Excerpt, Result, planted, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{MissingValue, TableReadOptions};
use polyhaul_model::warnings::{counted, is_kept};
use polyhaul_pipeline::arrays::grow;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::excerpt;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::fields::{FIELD_SLACK, FieldRun, IndexedFields, MAX_EXACT, NOT_INTEGER, PICK_SLACK, WIDE};
use polyhaul_text::parse::grid::Grid;
use polyhaul_text::scan::Index;
use polyhaul_text::scan::quotes::{UNQUOTED_SLACK, unquote};
use std::collections::BTreeMap;
use std::ops::Range;

/// Result of parsing a chunk. Its memory is reused.
#[derive(Default)]
pub(super) struct TableParsed {
    /// Kept values of all rows, if all columns are f32s.
    pub(super) singles: Vec<f32>,
    /// Kept values of all rows, if not all columns are f32s.
    pub(super) doubles: Vec<f64>,
    /// All values, still as text, if the text is completely regular. The arrays of values are then unused.
    pub(super) grid: Grid,
    /// Integers that f64 may not represent exactly, in the order of the values.
    pub(super) wides: Vec<Wide>,
    /// Statistics of `wides` per column; empty if there are no wide integers.
    pub(super) wide_columns: Vec<WideColumn>,
    /// Whether each column has a value that is not an integer.
    pub(super) has_floats: Vec<bool>,
    pub(super) row_count: usize,
    pub(super) complaints: Vec<TableComplaint>,
    /// Number of complaints that were not kept, by code.
    pub(super) uncounted: BTreeMap<&'static str, u64>,
    /// Whether a complaint stops reading.
    pub(super) over: bool,
    /// Offset of the last row in the padded text.
    pub(super) last_row: usize,
    /// Number of line endings in the text, if it was parsed to its end.
    pub(super) line_count: u64,
    marks: Vec<u8>,
    /// End of each kept field.
    ends: Vec<u32>,
    fields: Vec<TableField>,
    /// The text with its quotes removed.
    unquoted: Vec<u8>,
}

/// A fault in a row. The row is skipped if reading continues.
pub(super) struct TableComplaint {
    pub(super) code: &'static str,
    /// Offset in the chunk's text.
    pub(super) offset: usize,
    /// The message, without the location.
    pub(super) diagnostic: Diagnostic,
}

/// Parses the chunks of a table.
pub(super) struct TableParser<'a> {
    pub(super) head: &'a TableHead,
    pub(super) options: &'a ParseOptions<TableReadOptions>,
    pub(super) level: Level,
}

/// The text of a chunk: `padded[start..end]`, with a newline after it.
#[derive(Clone, Copy)]
pub(super) struct TableChunkText<'a> {
    pub(super) padded: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
}

impl TableParsed {
    fn clear(&mut self, columns: usize) -> Result<()> {
        self.wides.clear();
        self.wide_columns.clear();
        self.complaints.clear();
        self.uncounted.clear();
        self.has_floats.clear();
        self.has_floats.try_reserve_exact(columns)?;
        self.has_floats.resize(columns, false);
        self.grid.clear();
        self.row_count = 0;
        self.over = false;
        self.line_count = 0;
        Ok(())
    }

    /// Frees the memory if an unusually long line made it large, because the budget of a slot is `slot_bytes`.
    pub(super) fn shrink(&mut self, slot_bytes: usize) {
        let held = self.grid.heap_bytes()
            + self.unquoted.capacity()
            + 4 * self.singles.len()
            + 8 * self.doubles.len()
            + size_of::<Wide>() * self.wides.capacity();
        if held + size_of::<TableField>() * self.fields.capacity() > 4 * slot_bytes {
            *self = TableParsed::default();
        }
    }

    fn complain(&mut self, complaint: TableComplaint, options: &ParseOptions<TableReadOptions>) -> Result<()> {
        self.over |= options.raises();
        let kinds = self.complaints.iter().map(|complaint| complaint.code);
        if !self.over && !is_kept(kinds, complaint.code) {
            *self.uncounted.entry(complaint.code).or_default() += 1;
            return Ok(());
        }
        try_push(&mut self.complaints, complaint, "warnings")
    }
}

impl TableParser<'_> {
    /// Parses up to `max_rows` rows of the text into `out`, which is cleared first.
    ///
    /// Stops early at a complaint that stops reading.
    pub(super) fn parse(
        &self,
        text: TableChunkText<'_>,
        max_rows: usize,
        index: &mut Index,
        out: &mut TableParsed,
    ) -> Result<()> {
        out.clear(self.head.columns())?;
        if max_rows == usize::MAX
            && let Some(end) = self.unquote(text, out)?
        {
            let unquoted = std::mem::take(&mut out.unquoted);
            let result = self.parse_text(TableChunkText { padded: &unquoted, end, ..text }, max_rows, index, out);
            out.unquoted = unquoted;
            if result.is_err() || out.complaints.is_empty() {
                return result.and_then(|()| self.sum_wides(out));
            }
            // Parse the original text again, so that messages show the quotes.
            out.clear(self.head.columns())?;
        }
        // A grid always holds all rows of the text, so it is of no use for a limited number of rows.
        if max_rows == usize::MAX && self.grid(text, out)? {
            return Ok(());
        }
        self.parse_text(text, max_rows, index, out)?;
        self.sum_wides(out)
    }

    /// Computes the statistics of wide integers per column.
    fn sum_wides(&self, out: &mut TableParsed) -> Result<()> {
        let TableParsed { wides, wide_columns, doubles, row_count, .. } = out;
        let count = self.head.columns();
        if wides.is_empty() || count == 0 {
            return Ok(());
        }
        wide_columns.try_reserve_exact(count)?;
        wide_columns.resize(count, WideColumn::default());
        for wide in wides.iter() {
            let column = &mut wide_columns[wide.cell as usize % count];
            column.rounded += u64::from(wide.is_rounded());
            column.has_unsigned |= wide.is_unsigned();
        }
        if wide_columns.iter().any(|column| column.has_unsigned) {
            for row in doubles[..*row_count * count].chunks_exact(count) {
                for (column, value) in wide_columns.iter_mut().zip(row) {
                    column.has_negative |= *value < 0.0;
                }
            }
        }
        Ok(())
    }

    /// Copies the text without its quotes, if its first line has quotes and all quotes enclose simple fields. Returns
    /// the end of the copy, which starts at the same offset as the text.
    fn unquote(&self, text: TableChunkText<'_>, out: &mut TableParsed) -> Result<Option<usize>> {
        let (line_end, _) = line_end(&text.padded[..text.end], text.start);
        if memchr::memchr(b'"', &text.padded[text.start..line_end]).is_none() {
            return Ok(None);
        }
        grow(&mut out.unquoted, text.padded.len() + UNQUOTED_SLACK)?;
        let Grammar { separator, comment, .. } = &self.head.grammar;
        let other = comment.first().copied().unwrap_or(b'\n');
        let plain = &text.padded[text.start..text.end];
        let copy = &mut out.unquoted[text.start..];
        let end = unquote(plain, *separator, other, copy).map(|size| text.start + size);
        if let Some(end) = end {
            // The bytes around the text must be newlines, not remainders of an earlier text.
            out.unquoted[..text.start].fill(b'\n');
            out.unquoted[end..].fill(b'\n');
            out.unquoted[end] = text.padded[text.end];
        }
        Ok(end)
    }

    /// Parses up to `max_rows` rows of the text into `out`, which must have been cleared.
    fn parse_text(
        &self,
        text: TableChunkText<'_>,
        max_rows: usize,
        index: &mut Index,
        out: &mut TableParsed,
    ) -> Result<()> {
        let mut at = text.start;
        while at < text.end && out.row_count < max_rows && !out.over {
            // A newline after the text terminates an unterminated last line.
            let range = at..text.end + 1;
            let fields = IndexedFields::scan(index, text.padded, range, self.head.grammar.separator, self.level);
            // A line that is longer than the window of the index counts as well: `line` parses it below.
            out.line_count += fields.index().lines().len().max(1) as u64;
            at = if fields.index().lines().is_empty() {
                self.line(text, at, out)?
            } else {
                self.window(text, fields, max_rows, out)?
            };
        }
        // Do not count the newline after an unterminated last line.
        out.line_count -= u64::from(at > text.end);
        Ok(())
    }

    /// Indexes the text as a grid, if it is one. Returns whether it is. The values of a grid are converted only once
    /// they have slots.
    fn grid(&self, text: TableChunkText<'_>, out: &mut TableParsed) -> Result<bool> {
        let columns = self.head.columns();
        let is_fit = self.head.is_f32()
            || self.head.kinds.iter().all(|kind| matches!(kind, TableHeadKind::Auto | TableHeadKind::F64));
        // A newline after the text terminates an unterminated last line.
        let has_end = text.padded[..text.end].ends_with(b"\n");
        let range = text.start..text.end + usize::from(!has_end);
        let separator = self.head.grammar.separator;
        let is_grid =
            self.head.keeps_all && is_fit && out.grid.scan(text.padded, range, separator, columns, self.level)?;
        if is_grid {
            out.row_count = out.grid.len() / columns;
            out.line_count = out.row_count as u64 - u64::from(!has_end);
            // The values of a grid have decimal points, so no column has only integers.
            out.has_floats.fill(true);
        }
        Ok(is_grid)
    }

    /// Parses the lines of a window. Returns the start of the first line after it.
    fn window(
        &self,
        text: TableChunkText<'_>,
        fields: IndexedFields<'_>,
        max_rows: usize,
        out: &mut TableParsed,
    ) -> Result<usize> {
        let index = fields.index();
        let line_count = index.lines().len();
        let mut line = 0;
        let mut equal = 0;
        let mut special = text.start;
        while line < line_count && index.line_start(line) < text.end {
            if out.row_count == max_rows || out.over {
                return Ok(index.line_start(line));
            }
            if equal == 0 {
                equal = fields.lines_of(line, self.head.field_count);
                if !self.head.keeps_all {
                    special = self.special(text, index.line_start(line), special, index.next_start());
                    let lines = &index.lines()[line..line + equal];
                    equal = lines.partition_point(|line| (line.newline as usize) < special);
                }
            }
            let row_count = equal.min(max_rows - out.row_count);
            let taken = if row_count > 0 { self.rows(text, fields, line, row_count, out)? } else { 0 };
            line += taken;
            equal -= taken;
            if taken > 0 {
                out.last_row = index.line_start(line - 1);
            }
            if taken == row_count && row_count > 0 {
                continue;
            }
            self.line(text, index.line_start(line), out)?;
            line += 1;
            equal = equal.saturating_sub(1);
        }
        Ok(index.next_start())
    }

    /// Returns the offset of the first byte, starting at `from`, that may be a quote or the start of a comment, or
    /// `end` if there is none. The caller knows that there is none before `earliest`. Fields that are not kept are not
    /// parsed, so such a byte in them is found only here; after it, separators may be plain characters.
    fn special(&self, text: TableChunkText<'_>, from: usize, earliest: usize, end: usize) -> usize {
        if earliest > from {
            return earliest;
        }
        let bytes = &text.padded[from..end.max(from)];
        let first = self.head.grammar.comment.first().copied().unwrap_or(b'"');
        memchr::memchr2(b'"', first, bytes).map_or(end, |place| from + place)
    }

    /// Parses up to `rows` rows with the expected number of fields, until a value needs the slow path. Returns the
    /// number of rows parsed.
    fn rows(
        &self,
        text: TableChunkText<'_>,
        fields: IndexedFields<'_>,
        line: usize,
        rows: usize,
        out: &mut TableParsed,
    ) -> Result<usize> {
        let columns = self.head.columns();
        let base = out.row_count * columns;
        let mut ends = std::mem::take(&mut out.ends);
        let run = if self.head.keeps_all {
            let first = fields.first_of(line);
            fields.all(first..first + rows * columns)
        } else {
            grow(&mut ends, rows * columns + PICK_SLACK)?;
            fields.pick(line, rows, self.head.field_count, &self.head.kept, &mut ends)
        };
        let rows = if self.head.is_f32() {
            self.single_rows(text, run, out)? / columns
        } else {
            self.double_rows(text, run, out)? / columns
        };
        out.ends = ends;
        let end = base + rows * columns;
        // Drop the integers of rejected rows, because the slow path parses them again.
        while out.wides.pop_if(|wide| wide.cell as usize >= end).is_some() {}
        out.row_count += rows;
        Ok(rows)
    }

    fn single_rows(&self, text: TableChunkText<'_>, run: FieldRun<'_>, out: &mut TableParsed) -> Result<usize> {
        let base = out.row_count * self.head.columns();
        grow(&mut out.singles, base + run.len() + FIELD_SLACK)?;
        let mut parsed = 0;
        loop {
            parsed += run.f32s(parsed, &mut out.singles[base + parsed..]);
            if parsed == run.len() {
                return Ok(parsed);
            }
            match self.missing(text, run.range(parsed)) {
                Some(value) => out.singles[base + parsed] = value as f32,
                None => return Ok(parsed),
            }
            parsed += 1;
        }
    }

    fn double_rows(&self, text: TableChunkText<'_>, run: FieldRun<'_>, out: &mut TableParsed) -> Result<usize> {
        let columns = self.head.columns();
        let base = out.row_count * columns;
        grow(&mut out.doubles, base + run.len() + FIELD_SLACK)?;
        grow(&mut out.marks, run.len() + FIELD_SLACK)?;
        let mut parsed = 0;
        while parsed < run.len() {
            parsed += run.f64s(parsed, &mut out.doubles[base + parsed..], &mut out.marks[parsed..]);
            if parsed == run.len() {
                break;
            }
            let Some(value) = self.missing(text, run.range(parsed)).map(f64_of) else { break };
            out.doubles[base + parsed] = value.number;
            out.marks[parsed] = value.mark;
            parsed += 1;
        }
        let rows = self.wides(text, run, parsed, base, out)? / columns;
        let rows = self.checked(text, run, rows, base, out);
        self.fold_marks(rows, out);
        Ok(rows * columns)
    }

    /// Parses those values among the first `count` again that are marked as wide integers. Returns the number of values
    /// before the first value that does not fit its column.
    fn wides(
        &self,
        text: TableChunkText<'_>,
        run: FieldRun<'_>,
        count: usize,
        base: usize,
        out: &mut TableParsed,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some(offset) = memchr::memchr(WIDE, &out.marks[at..count]) {
            at += offset;
            let kind = self.head.kinds[at % self.head.columns()];
            let Some(value) = TableValue::from_token(&text.padded[run.range(at)], kind) else { return Ok(at) };
            out.doubles[base + at] = value.number;
            out.marks[at] = value.mark;
            value.note_wide(base + at, &mut out.wides)?;
            at += 1;
        }
        Ok(count)
    }

    /// Checks that the values fit their columns, and parses f32s again if rounding twice may be wrong. Returns the
    /// number of rows before the first row with a value that does not fit.
    fn checked(
        &self,
        text: TableChunkText<'_>,
        run: FieldRun<'_>,
        mut rows: usize,
        base: usize,
        out: &mut TableParsed,
    ) -> usize {
        let columns = self.head.columns();
        for (column, &kind) in self.head.kinds.iter().enumerate() {
            if matches!(kind, TableHeadKind::Auto | TableHeadKind::F64) || self.are_right(kind, column, rows, base, out)
            {
                continue;
            }
            for row in 0..rows {
                let place = row * columns + column;
                let cell = &mut out.doubles[base + place];
                if check_number(*cell, kind) {
                    continue;
                }
                // The slow path determines the fault.
                match TableValue::from_token(&text.padded[run.range(place)], kind) {
                    Some(value) if value.wide.is_none() => *cell = value.number,
                    Some(_) => {}
                    None => {
                        rows = row;
                        break;
                    }
                }
            }
        }
        rows
    }

    /// Whether all values of a column are certainly correct, determined in one pass without branches. If `false`, each
    /// value must be checked.
    fn are_right(&self, kind: TableHeadKind, column: usize, rows: usize, base: usize, out: &TableParsed) -> bool {
        let columns = self.head.columns();
        let end = rows * columns;
        let values = out.doubles[base..base + end].iter().skip(column).step_by(columns);
        match kind {
            TableHeadKind::Integer(scalar) => {
                let range = range_of(scalar);
                let min = *range.start() as f64;
                let max = *range.end() as f64;
                let marks = out.marks[..end].iter().skip(column).step_by(columns);
                let is_right = |(value, mark): (&f64, &u8)| {
                    (*mark == 0) & (*value >= min) & (*value <= max) & (value.abs() < MAX_EXACT as f64)
                };
                values.zip(marks).fold(true, |are_right, cell| are_right & is_right(cell))
            }
            _ => values.fold(true, |are_right, value| are_right & check_number(*value, kind)),
        }
    }

    /// Records which columns have values that are not integers.
    fn fold_marks(&self, rows: usize, out: &mut TableParsed) {
        let TableParsed { marks, has_floats, .. } = out;
        if has_floats.iter().all(|has_floats| *has_floats) {
            return;
        }
        let marks = &marks[..rows * has_floats.len()];
        if marks.iter().all(|mark| *mark == 0) {
            return;
        }
        for row in marks.chunks_exact(has_floats.len()) {
            for (has_floats, mark) in has_floats.iter_mut().zip(row) {
                *has_floats |= *mark != 0;
            }
        }
    }

    /// Returns the value for an empty field in a row that has other fields, if missing values are allowed.
    fn missing(&self, text: TableChunkText<'_>, field: Range<usize>) -> Option<f64> {
        // With one field per row, an empty field is a blank line, which is not a row.
        let is_one_of_many = self.head.field_count > 1 && text.padded[field].is_empty();
        // The column of the field is unknown here, so NaN must fit in every column.
        let holds_nan = || self.head.kinds.iter().all(|kind| !matches!(kind, TableHeadKind::Integer(_)));
        match self.head.missing {
            MissingValue::Nan if is_one_of_many && holds_nan() => Some(f64::NAN),
            MissingValue::Value(value) if is_one_of_many => Some(value),
            _ => None,
        }
    }

    /// Parses the line at `start` with the full rules. Returns the start of the next line.
    fn line(&self, text: TableChunkText<'_>, start: usize, out: &mut TableParsed) -> Result<usize> {
        let (end, next) = line_end(&text.padded[..text.end], start);
        let line = &text.padded[start..end];
        let grammar = &self.head.grammar;
        let content = grammar.content(line);
        out.fields.clear();
        let mut count = 0;
        let mut open = None;
        for field in grammar.fields(content) {
            count += 1;
            open = (field.quotes == Quotes::Open).then_some(field.range.start);
            // Further fields are only counted, so that a long line takes no memory for them.
            if count <= self.head.field_count {
                try_push(&mut out.fields, field, "the fields of a line")?;
            }
        }
        if count > 0 {
            let result = match open {
                Some(quote) => Err((quote..quote + 1, "unclosed-quote", Box::new(Diagnostic::new(OPEN)))),
                None if count == self.head.field_count || planted("csv-columns") && count > self.head.field_count => {
                    self.row(content, out)?
                }
                None => Err(self.ragged(content, count)),
            };
            match result {
                Ok(()) => (out.row_count, out.last_row) = (out.row_count + 1, start),
                Err((range, code, diagnostic)) => {
                    let offset = start - text.start + range.start;
                    let token = (offset as u32, range.len() as u32);
                    let excerpt: Option<Excerpt> = Some(excerpt(&text.padded[text.start..text.end], token));
                    let diagnostic = Diagnostic { excerpt, ..*diagnostic };
                    out.complain(TableComplaint { code, offset, diagnostic }, self.options)?;
                }
            }
        }
        // Also skip the newline after an unterminated last line.
        Ok(if end == text.end { text.end + 1 } else { next })
    }

    /// Parses the fields of a line as a row.
    fn row(&self, line: &[u8], out: &mut TableParsed) -> Result<std::result::Result<(), TableBroken>> {
        let columns = self.head.columns();
        let base = out.row_count * columns;
        let wides = out.wides.len();
        if self.head.is_f32() {
            grow(&mut out.singles, base + columns)?
        } else {
            grow(&mut out.doubles, base + columns)?
        }
        for (column, (&field, &kind)) in self.head.kept.iter().zip(&self.head.kinds).enumerate() {
            let TableField { range, .. } = out.fields[field].clone();
            let value = match self.value(&line[range.clone()], kind) {
                Ok(value) => value,
                Err((code, diagnostic)) => {
                    // The row is not stored, so its cells will hold the values of the next row.
                    out.wides.truncate(wides);
                    return Ok(Err((range, code, diagnostic)));
                }
            };
            if self.head.is_f32() {
                out.singles[base + column] = value.number as f32
            } else {
                out.doubles[base + column] = value.number
            }
            value.note_wide(base + column, &mut out.wides)?;
            grow(&mut out.marks, columns)?;
            out.marks[column] = value.mark;
        }
        for (has_floats, mark) in out.has_floats.iter_mut().zip(&out.marks) {
            *has_floats |= *mark == NOT_INTEGER;
        }
        Ok(Ok(()))
    }

    fn value(
        &self,
        token: &[u8],
        kind: TableHeadKind,
    ) -> std::result::Result<TableValue, (&'static str, Box<Diagnostic>)> {
        if token.is_empty() {
            let missing = |message, expected| ("missing-value", wanting(message, expected));
            return match (self.head.missing, kind) {
                (MissingValue::Value(value), _) => Ok(f64_of(value)),
                (MissingValue::Nan, TableHeadKind::Auto | TableHeadKind::F32 | TableHeadKind::F64) => {
                    Ok(f64_of(f64::NAN))
                }
                (MissingValue::Nan, TableHeadKind::Integer(_)) => {
                    Err(missing("missing value; an integer column cannot store NaN", "an integer"))
                }
                (MissingValue::Error, _) => Err(missing("missing value", "a number")),
            };
        }
        let special = || TableValue::special(token, kind).filter(|_| !self.options.own.is_numpy);
        if self.head.missing == MissingValue::Nan
            && !matches!(kind, TableHeadKind::Integer(_))
            && !token.is_empty()
            && spreadsheet_error(token) == token.len()
        {
            return Ok(f64_of(f64::NAN));
        }
        TableValue::from_token(token, kind).or_else(special).ok_or_else(|| {
            // A message does not show more than this.
            let shown = String::from_utf8_lossy(&token[..token.len().min(300)]);
            let shown = names::shown(&shown);
            let diagnostic = match (kind, TableValue::from_token(token, TableHeadKind::Auto)) {
                (TableHeadKind::Integer(scalar), Some(_)) => {
                    wanting(&format!("`{shown}` does not fit the column's type"), &integers_of(scalar))
                }
                _ => {
                    let message = format!("`{shown}` is not a number");
                    Box::new(Diagnostic { hint: hint_of(token), ..Diagnostic::new(message) })
                }
            };
            ("not-a-number", diagnostic)
        })
    }

    fn ragged(&self, line: &[u8], count: usize) -> TableBroken {
        let expected = self.head.field_count;
        let message = format!("this row has {}", counted(count as u64, ["value", "values"]));
        (0..line.trim_ascii_end().len(), "ragged-row", wanting(&message, &format!("{expected}, as in the first row")))
    }
}

/// A fault in a line: its range in the line, its code, and the message.
type TableBroken = (Range<usize>, &'static str, Box<Diagnostic>);

fn wanting(message: &str, expected: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic { expected: Some(expected.into()), ..Diagnostic::new(message) })
}

fn hint_of(token: &[u8]) -> Option<String> {
    if has_decimal_comma(token) {
        return Some("write numbers with a decimal point, not a comma".into());
    }
    if spreadsheet_error(token) > 0 {
        return Some("spreadsheets write this for cells with errors; `--missing nan` reads it as NaN".into());
    }
    let is_behind_value = token.contains(&b'#') && !token.starts_with(b"#");
    is_behind_value.then(|| "a comment must follow white space or a separator".into())
}

fn integers_of(scalar: polyhaul_model::Scalar) -> String {
    let range = range_of(scalar);
    format!("an integer from {} to {}", range.start(), range.end())
}
