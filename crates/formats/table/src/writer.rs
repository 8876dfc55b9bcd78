//! Writes a table as text, in pages of rows that are formatted in parallel.
//!
//! Columns are described by lanes. A lane is every n-th value of an array, so that each axis of a mesh's positions is a
//! column without a copy. If all lanes are floats with the same type and digits, whole lines are written at once.
//! Otherwise, values are written one by one.

use super::TableFormat;
use super::line::spreadsheet_error;
use super::scene::NORMAL;
use polyhaul_geometry::dedup::BATCH;
use polyhaul_geometry::frame::Frame;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{Delimiter, Digits, FormatOptions, TableHeader, TableWriteOptions};
use polyhaul_model::{Table, Values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::{Pages, Writing};
use polyhaul_text::format::{FixedLine, NumberLines, Page, Real};
use polyhaul_text::scan::is_space;
use std::borrow::Cow;
use std::ops::Range;

/// Approximate bytes of text per page.
const PAGE_BYTES: usize = 256 << 10;
/// Estimated bytes of a value, including its separator.
const VALUE_BYTES: usize = 10;
/// Slot size as a multiple of the page size: text can be longer than estimated.
const SLOT_FACTOR: usize = 4;
/// Number of rows to gather at a time, so that they stay in the L1 cache.
const TILE_ROWS: usize = 256;

/// Rows to write: the names of the columns, and consecutive blocks of rows.
#[derive(Default)]
pub struct Rows<'a> {
    /// Name of each column. The name is empty if the column has none.
    pub names: Vec<&'a str>,
    pub(crate) blocks: Vec<TableBlock<'a>>,
}

/// A block of rows. It has as many lanes as there are names.
pub(crate) struct TableBlock<'a> {
    pub(crate) row_count: usize,
    pub(crate) lanes: Vec<TableWriterLane<'a>>,
    /// Positions and normals of the block, and the transform to apply to them, if any.
    pub(crate) placed: Option<Placed<'a>>,
}

/// Positions and normals to transform.
pub(crate) struct Placed<'a> {
    pub(crate) frame: Frame,
    pub(crate) positions: &'a [[f32; 3]],
    pub(crate) normals: &'a [[f32; 3]],
}

/// The transformed positions and normals of a page.
#[derive(Default)]
pub(super) struct TableMoved {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
}

/// Role of a lane's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TableRole {
    /// Any role not listed here.
    #[default]
    Other,
    /// An axis of a position.
    Position,
    /// An axis of a normal.
    Normal,
}

/// A column: every `step`-th number, starting at `first`.
#[derive(Clone, Copy)]
pub(crate) struct TableWriterLane<'a> {
    pub(crate) numbers: TableWriterNumbers<'a>,
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) role: TableRole,
}

/// Numbers of one type.
#[derive(Clone, Copy)]
pub(crate) enum TableWriterNumbers<'a> {
    I8(&'a [i8]),
    U8(&'a [u8]),
    I16(&'a [i16]),
    U16(&'a [u16]),
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Numbers from 0 to 1, which are written as integers from 0 to 255.
    Unit(&'a [f32]),
}

/// Pages of rows.
pub(super) struct TablePages<'a> {
    rows: &'a Rows<'a>,
    digits: Vec<Digits>,
    style: FormatOptions<'a, TableWriteOptions>,
    delimiter: u8,
    /// Whether the names are written as a header row.
    has_header: bool,
    page_rows: usize,
    /// Index of the first page of each block, followed by the number of pages.
    first_pages: Vec<u64>,
    /// The digits of all columns, if they are the same for all.
    same_digits: Option<Digits>,
}

/// A page in flight.
#[derive(Default)]
pub(super) struct TablePageSlot {
    block: usize,
    rows: Range<usize>,
    out: Out,
    moved: TableMoved,
    tile32: Vec<f32>,
    tile64: Vec<f64>,
}

/// Fails if readers would not read the text for NaN as one field: it cannot be part of a line, or start a comment.
fn check_nan(text: &str, delimiter: u8, columns: usize) -> Result<()> {
    let text = text.as_bytes();
    let is_blank = text.iter().all(|&byte| is_space(byte));
    // A blank line has no row.
    let is_lost = is_blank && (delimiter == b' ' || columns == 1);
    let is_split = delimiter == b' ' && text.iter().any(|&byte| is_space(byte));
    let is_comment = text.contains(&b'#') && spreadsheet_error(text) != text.len();
    if is_lost || is_split || is_comment || text.iter().any(|byte| *byte == delimiter || b"\r\n\"".contains(byte)) {
        let message = "the text for NaN cannot be read back as one field";
        return Err(Error::new(ErrorKind::Usage, message).with_hint(
            "it cannot contain the delimiter, quotes, `#` or a newline, or be empty between spaces or in a single column",
        ));
    }
    Ok(())
}

/// Fails if a column contains lists, or if its number of rows differs from the table's.
pub(super) fn check(table: &Table) -> Result<()> {
    for column in &table.columns {
        let name = names::shown(&column.name);
        let what = match column.offsets {
            Some(_) => format!("column `{name}` contains lists; this format stores one number per row and column"),
            None if column.row_count() != table.row_count => {
                format!("column `{name}` has {} rows, but the table has {}", column.row_count(), table.row_count)
            }
            None => continue,
        };
        return Err(Error::new(ErrorKind::Usage, what));
    }
    Ok(())
}

impl<'a> Rows<'a> {
    /// Returns the rows of a table.
    pub fn of_table(table: &'a Table) -> Result<Rows<'a>> {
        check(table)?;
        let mut names = Vec::new();
        let mut lanes = Vec::new();
        let is_normal = |name: &str| NORMAL.iter().any(|normal| normal.eq_ignore_ascii_case(name));
        for column in &table.columns {
            let role = if is_normal(&column.name) { TableRole::Normal } else { TableRole::Other };
            try_push(&mut names, column.name.as_str(), "columns")?;
            try_push(
                &mut lanes,
                TableWriterLane { numbers: TableWriterNumbers::from_values(&column.values), first: 0, step: 1, role },
                "columns",
            )?;
        }
        let mut rows = Rows { names, blocks: Vec::new() };
        try_push(&mut rows.blocks, TableBlock { row_count: table.row_count, lanes, placed: None }, "columns")?;
        Ok(rows)
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> u64 {
        self.blocks.iter().map(|block| block.row_count as u64).sum()
    }

    /// Returns the number of lines of text. Rows without columns have no lines, because readers skip blank lines.
    pub fn line_count(&self) -> u64 {
        if self.names.is_empty() { 0 } else { self.row_count() }
    }

    /// Returns the index of the first page of each block, with at most `page_rows` rows per page, followed by the
    /// number of pages.
    pub(crate) fn first_pages(&self, page_rows: usize) -> Result<Vec<u64>> {
        let mut first_pages = Vec::new();
        let mut pages = 0;
        for block in &self.blocks {
            try_push(&mut first_pages, pages, "the plan")?;
            pages += block.row_count.div_ceil(page_rows) as u64;
        }
        try_push(&mut first_pages, pages, "the plan")?;
        Ok(first_pages)
    }
}

impl TableBlock<'_> {
    /// Returns the lanes of `rows`, in which the first of these rows is row 0. Transforms positions and normals into
    /// `moved`.
    pub(super) fn lanes<'s>(
        &'s self,
        rows: Range<usize>,
        moved: &'s mut TableMoved,
    ) -> Result<Vec<TableWriterLane<'s>>> {
        let mut lanes = Vec::new();
        lanes.try_reserve_exact(self.lanes.len())?;
        if let Some(placed) = &self.placed {
            moved.fill(placed, rows.clone())?;
        }
        let is_placed = self.placed.is_some();
        let moved = &*moved;
        lanes.extend(self.lanes.iter().map(|lane| match lane.role {
            TableRole::Position if is_placed => {
                TableWriterLane { numbers: TableWriterNumbers::F32(moved.positions.as_flattened()), ..*lane }
            }
            TableRole::Normal if is_placed => {
                TableWriterLane { numbers: TableWriterNumbers::F32(moved.normals.as_flattened()), ..*lane }
            }
            _ => TableWriterLane { first: lane.first + rows.start * lane.step, ..*lane },
        }));
        Ok(lanes)
    }
}

impl TableMoved {
    fn fill(&mut self, placed: &Placed<'_>, rows: Range<usize>) -> Result<()> {
        let TableMoved { positions, normals } = self;
        positions.clear();
        positions.try_reserve(rows.len()).map_err(|_| Error::memory("a page of rows"))?;
        let positions_of_rows = placed.positions.get(rows.clone()).unwrap_or_default();
        positions.extend(positions_of_rows.iter().map(|&position| placed.frame.position(position)));
        normals.clear();
        normals.try_reserve(rows.len()).map_err(|_| Error::memory("a page of rows"))?;
        for chunk in placed.normals.get(rows).unwrap_or_default().chunks(BATCH) {
            let mut batch = [[0.0; 3]; BATCH];
            let mut lanes = [[0.0; BATCH]; 3];
            batch[..chunk.len()].copy_from_slice(chunk);
            placed.frame.normals(&batch, &mut lanes);
            let [xs, ys, zs] = &lanes;
            normals.extend((0..chunk.len()).map(|item| [xs[item], ys[item], zs[item]]));
        }
        Ok(())
    }
}

impl<'a> TableWriterNumbers<'a> {
    pub(super) fn from_values(values: &'a Values) -> TableWriterNumbers<'a> {
        match values {
            Values::I8(values) => TableWriterNumbers::I8(values),
            Values::U8(values) => TableWriterNumbers::U8(values),
            Values::I16(values) => TableWriterNumbers::I16(values),
            Values::U16(values) => TableWriterNumbers::U16(values),
            Values::I32(values) => TableWriterNumbers::I32(values),
            Values::U32(values) => TableWriterNumbers::U32(values),
            Values::I64(values) => TableWriterNumbers::I64(values),
            Values::U64(values) => TableWriterNumbers::U64(values),
            Values::F32(values) => TableWriterNumbers::F32(values),
            Values::F64(values) => TableWriterNumbers::F64(values),
        }
    }
}

/// Writes rows as text.
pub fn write(
    rows: &Rows<'_>,
    comments: &[String],
    format: TableFormat,
    style: FormatOptions<'_, TableWriteOptions>,
    run: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let lines = plan(rows, format, style, run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30))?;
    writing.set_head(lines.head(comments, format)?);
    lines.write(writing)
}

/// Divides rows into pages of about `page_bytes`.
pub(super) fn plan<'a>(
    rows: &'a Rows<'a>,
    format: TableFormat,
    style: FormatOptions<'a, TableWriteOptions>,
    page_bytes: usize,
) -> Result<TablePages<'a>> {
    let count = rows.names.len();
    let mut digits = Vec::new();
    digits.try_reserve_exact(count)?;
    match style.own.column_digits.len() {
        0 => digits.resize(count, style.scene.digits_or_shortest()),
        given if given == count => digits.extend_from_slice(&style.own.column_digits),
        given => {
            let message = format!("expected digits for {count} columns, found {given}");
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    let delimiter = match (style.own.out_delimiter, format) {
        (Some(Delimiter::Byte(byte)), _) => byte,
        (None, TableFormat::Csv) => b',',
        (None, TableFormat::Tsv) => b'\t',
        (Some(Delimiter::Blanks) | None, _) => b' ',
    };
    if delimiter.is_ascii_alphanumeric() || b"+-.\"\r\n".contains(&delimiter) {
        return Err(Error::new(ErrorKind::Usage, "the delimiter cannot be a newline or part of a number"));
    }
    check_nan(&style.own.nan, delimiter, count)?;
    let has_header = has_header(&rows.names, format, style);
    if !has_header && let Some(block) = rows.blocks.first() {
        // Without a decimal point, a normal would be read as a color.
        let normals = digits.iter_mut().zip(&block.lanes).filter(|(_, lane)| lane.role == TableRole::Normal);
        normals.filter(|(digits, _)| **digits == Digits::Fixed(0)).for_each(|(digits, _)| *digits = Digits::Fixed(1));
    }
    let row_bytes = VALUE_BYTES * count.max(1);
    let page_rows = (page_bytes / row_bytes).max(1);
    let same_digits = digits.first().copied().filter(|first| digits.iter().all(|digits| digits == first));
    // Rows without columns are not written as lines, so there are no pages.
    let first_pages = if count == 0 { vec![0; rows.blocks.len() + 1] } else { rows.first_pages(page_rows)? };
    Ok(TablePages { rows, digits, style, delimiter, has_header, page_rows, first_pages, same_digits })
}

impl TablePages<'_> {
    fn write(&self, writing: &mut Writing<'_, '_>) -> Result<()> {
        let row_bytes = VALUE_BYTES * self.rows.names.len().max(1);
        let pages = self.first_pages.last().copied().unwrap_or(0);
        writing.announce((row_bytes as u64).saturating_mul(self.rows.line_count()));
        writing.pages(self, &mut (), pages, SLOT_FACTOR * self.page_rows.saturating_mul(row_bytes) + (64 << 10))
    }
}

/// Whether column names are written. By default, they are written to csv and tsv if any column has a name.
pub fn has_header(names: &[&str], format: TableFormat, style: FormatOptions<'_, TableWriteOptions>) -> bool {
    match style.own.out_header {
        TableHeader::Present => true,
        TableHeader::Absent => false,
        TableHeader::Auto => {
            matches!(format, TableFormat::Csv | TableFormat::Tsv) && names.iter().any(|name| !name.is_empty())
        }
    }
}

impl Pages for TablePages<'_> {
    type Slot = TablePageSlot;
    type State = ();

    fn slot(&self) -> Result<TablePageSlot> {
        Ok(TablePageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut TablePageSlot) -> Result<bool> {
        slot.out.clear();
        // The last block that starts here: all others with the same first page are empty.
        slot.block = self.first_pages.partition_point(|&first| first <= number).saturating_sub(1);
        let Some(block) = self.rows.blocks.get(slot.block) else { return Ok(false) };
        let first = (number - self.first_pages[slot.block]) as usize * self.page_rows;
        slot.rows = first..block.row_count.min(first + self.page_rows);
        Ok(true)
    }

    fn format(&self, slot: &mut TablePageSlot) -> Result<()> {
        let lanes = self.rows.blocks[slot.block].lanes(slot.rows.clone(), &mut slot.moved)?;
        let mut at = 0;
        let end = slot.rows.len();
        while at < end {
            let rows = at..end.min(at + TILE_ROWS);
            at = rows.end;
            if !self.tile(&lanes, rows.clone(), &mut slot.tile32, &mut slot.out)?
                && !self.tile(&lanes, rows.clone(), &mut slot.tile64, &mut slot.out)?
            {
                self.values(&lanes, rows, &mut slot.out)?;
            }
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a TablePageSlot) -> &'a [u8] {
        slot.bytes()
    }
}

impl TablePageSlot {
    pub(super) fn bytes(&self) -> &[u8] {
        self.out.text()
    }
}

/// Returns a column's name as written, before quoting. Unlike in other formats, it can contain line breaks.
pub fn written_name(name: &str) -> Cow<'_, str> {
    if name.contains('\n') { name.replace(['\0', '\r'], "_").into() } else { names::written(name) }
}

/// A float type.
trait TableFloat: Real + PartialEq + Default {
    /// Returns the numbers if they are of this type.
    fn slice(numbers: TableWriterNumbers<'_>) -> Option<&[Self]>;
    /// Whether the number has no fraction.
    fn is_whole(self) -> bool;
}

impl TableFloat for f32 {
    fn slice(numbers: TableWriterNumbers<'_>) -> Option<&[f32]> {
        if let TableWriterNumbers::F32(values) = numbers { Some(values) } else { None }
    }

    fn is_whole(self) -> bool {
        self.trunc() == self
    }
}

impl TableFloat for f64 {
    fn slice(numbers: TableWriterNumbers<'_>) -> Option<&[f64]> {
        if let TableWriterNumbers::F64(values) = numbers { Some(values) } else { None }
    }

    fn is_whole(self) -> bool {
        self.trunc() == self
    }
}

impl TablePages<'_> {
    /// Formats the text before the rows.
    pub(super) fn head(&self, comments: &[String], format: TableFormat) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let mut put = |bytes: &[u8]| {
            head.try_reserve(bytes.len()).map_err(|_| Error::memory("a header"))?;
            head.extend_from_slice(bytes);
            Ok::<_, Error>(())
        };
        if format != TableFormat::Pts && !self.style.own.out_comment.is_empty() {
            for comment in comments {
                put(self.style.own.out_comment.as_bytes())?;
                put(names::remark(comment).as_bytes())?;
                put(b"\n")?;
            }
        }
        if format == TableFormat::Pts {
            put(format!("{}\n", self.rows.line_count()).as_bytes())?;
        }
        let names = &self.rows.names;
        if self.has_header {
            for (number, name) in names.iter().enumerate() {
                if number > 0 {
                    put(&[self.delimiter])?;
                }
                put(self.name(name).as_bytes())?;
            }
            put(b"\n")?;
        }
        Ok(head)
    }

    /// Returns a name as a field, in quotes if needed.
    fn name(&self, name: &str) -> String {
        let mut name = written_name(name);
        // Spreadsheets would evaluate such a name as a formula.
        if self.style.own.csv_safe && name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            name.to_mut().insert(0, '\'');
        }
        // Outside quotes, a reader could take the rest of the line for a comment: `#` starts one by default.
        let first = self.style.own.out_comment.chars().next();
        let has_comment_char = name.contains('#') || first.is_some_and(|first| name.contains(first));
        // Outside quotes, these would be a mark before the first name instead of a part of it.
        let is_marked = name.starts_with('%') || name.starts_with("//");
        // Outside quotes, a reader that detects the separator could take these for it.
        let is_separator = |c: char| matches!(c, ';' | ',') || c == char::from(self.delimiter) || c.is_whitespace();
        let is_plain = !name.is_empty()
            && !has_comment_char
            && !is_marked
            && !name.contains(|c: char| c == '"' || is_separator(c));
        if is_plain { name.into_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
    }

    /// Writes rows as whole lines. Returns `false` without writing if the columns have different digits, or if any lane
    /// has another type, has NaN, or needs a decimal point.
    fn tile<R: TableFloat>(
        &self,
        lanes: &[TableWriterLane<'_>],
        rows: Range<usize>,
        tile: &mut Vec<R>,
        out: &mut Out,
    ) -> Result<bool> {
        let Some(digits) = self.same_digits else { return Ok(false) };
        let count = lanes.len();
        if !lanes.iter().all(|lane| R::slice(lane.numbers).is_some()) {
            return Ok(false);
        }
        let size = rows.len() * count;
        if size > tile.len() {
            tile.try_reserve_exact(size - tile.len()).map_err(|_| Error::memory("a chunk's values"))?;
            tile.resize(size, R::default());
        }
        let tile = &mut tile[..size];
        let mut is_nan = false;
        for (number, lane) in lanes.iter().enumerate() {
            let values = R::slice(lane.numbers).and_then(|numbers| numbers.get(lane.first + rows.start * lane.step..));
            let values = values.unwrap_or_default().iter().step_by(lane.step);
            if self.wants_point(lane) && values.clone().take(rows.len()).any(|value| value.is_whole()) {
                return Ok(false);
            }
            for (place, &value) in tile[number..].iter_mut().step_by(count).zip(values) {
                // Only NaN is unequal to itself.
                #[expect(clippy::eq_op, reason = "it is asked whether this is NaN")]
                let differs = value != value;
                is_nan |= differs;
                *place = value;
            }
        }
        if is_nan {
            return Ok(false);
        }
        let Digits::Fixed(places) = digits else {
            return shortest_rows(tile, count, self.delimiter, out).map(|()| true);
        };
        let line = FixedLine::new(b"", places.into()).separator(self.delimiter);
        match count {
            1 => whole_lines::<1, R>(&line, tile, out)?,
            2 => whole_lines::<2, R>(&line, tile, out)?,
            3 => whole_lines::<3, R>(&line, tile, out)?,
            4 => whole_lines::<4, R>(&line, tile, out)?,
            _ => self.wide_lines(&line, tile, count, out)?,
        }
        Ok(true)
    }

    /// Writes lines of more than four values, four at a time.
    fn wide_lines<R: Real>(&self, line: &FixedLine<'_>, tile: &[R], count: usize, out: &mut Out) -> Result<()> {
        let part = line.clone().end(self.delimiter);
        let mut rows = tile.chunks_exact(count);
        let mut row = rows.next();
        out.format(|page| {
            while let Some(values) = row {
                let (fours, rest) = values.as_chunks::<4>();
                let is_whole = page.whole(|page| {
                    if page.fixed_lines(&part, fours) < fours.len() {
                        // The page is full: fail in the same way as for a single line.
                        return page.fixed_line(&part, fours[0]);
                    }
                    match rest {
                        [a] => page.fixed_line(line, [*a]),
                        [a, b] => page.fixed_line(line, [*a, *b]),
                        [a, b, c] => page.fixed_line(line, [*a, *b, *c]),
                        _ => {
                            // No value follows the last four, so their delimiter is replaced with a newline.
                            page.truncate(page.len() - 1);
                            page.byte(b'\n');
                        }
                    }
                });
                if !is_whole {
                    return false;
                }
                row = rows.next();
            }
            true
        })
    }

    /// Whether the values of a lane must not look like integers, which applies to normals in files without column
    /// names.
    fn wants_point(&self, lane: &TableWriterLane<'_>) -> bool {
        !self.has_header && lane.role == TableRole::Normal
    }

    /// Writes rows, one value at a time.
    fn values(&self, lanes: &[TableWriterLane<'_>], mut rows: Range<usize>, out: &mut Out) -> Result<()> {
        out.format(|page| {
            while rows.start < rows.end {
                let row = rows.start;
                let is_whole = page.whole(|page| {
                    for (number, (lane, digits)) in lanes.iter().zip(&self.digits).enumerate() {
                        if number > 0 {
                            page.byte(self.delimiter);
                        }
                        let start = page.len();
                        self.value(page, lane.numbers, lane.first + row * lane.step, *digits);
                        // An exponent, `nan` or `inf` also marks a float.
                        let has_mark = |text: &[u8]| text.iter().any(|byte| b".ein".contains(byte));
                        if self.wants_point(lane) && !page.as_bytes().get(start..).is_some_and(has_mark) {
                            page.bytes(b".0");
                        }
                    }
                    page.byte(b'\n');
                });
                if !is_whole {
                    return false;
                }
                rows.start += 1;
            }
            true
        })
    }

    fn value(&self, page: &mut Page<'_>, numbers: TableWriterNumbers<'_>, row: usize, digits: Digits) {
        match numbers {
            TableWriterNumbers::F32(values) => match (values[row], digits) {
                (value, _) if value.is_nan() => page.bytes(self.style.own.nan.as_bytes()),
                (value, Digits::Shortest) => page.shortest_f32(value),
                (value, Digits::Fixed(digits)) => page.fixed_f32(value, usize::from(digits)),
            },
            TableWriterNumbers::F64(values) => match (values[row], digits) {
                (value, _) if value.is_nan() => page.bytes(self.style.own.nan.as_bytes()),
                (value, Digits::Shortest) => page.shortest_f64(value),
                (value, Digits::Fixed(digits)) => page.fixed_f64(value, usize::from(digits)),
            },
            TableWriterNumbers::I8(values) => page.i32(values[row].into()),
            TableWriterNumbers::U8(values) => page.u32(values[row].into()),
            TableWriterNumbers::I16(values) => page.i32(values[row].into()),
            TableWriterNumbers::U16(values) => page.u32(values[row].into()),
            TableWriterNumbers::I32(values) => page.i32(values[row]),
            TableWriterNumbers::U32(values) => page.u32(values[row]),
            TableWriterNumbers::I64(values) => page.i64(values[row]),
            TableWriterNumbers::U64(values) => page.u64(values[row]),
            TableWriterNumbers::Unit(values) => page.u32(byte_of(values[row])),
        }
    }
}

/// Writes lines of `N` values.
fn whole_lines<const N: usize, R: Real>(line: &FixedLine<'_>, tile: &[R], out: &mut Out) -> Result<()> {
    let (mut rows, _) = tile.as_chunks::<N>();
    out.format(|page| {
        let written = page.fixed_lines(line, rows);
        rows = &rows[written..];
        rows.is_empty()
    })
}

/// Writes rows of values with the minimum number of digits that read back as the same numbers.
fn shortest_rows<R: Real>(tile: &[R], count: usize, delimiter: u8, out: &mut Out) -> Result<()> {
    let lines = NumberLines::new(count, delimiter, [b"\n"]);
    let mut written = 0;
    out.format(|page| {
        written += page.shortest_lines(&lines, written, &tile[written..]);
        written == tile.len()
    })
}

/// Converts a color value, which is from 0 to 1, to a byte. NaN becomes 0.
pub(super) fn byte_of(value: f32) -> u32 {
    (value * 255.0).round().clamp(0.0, 255.0) as u32
}
