//! Reads text into a table, as a chunked pipeline job.
//!
//! First, an ordered step finds the head ([`super::head`]). Chunks are then parsed in parallel ([`super::parse`]), get
//! their row indices in order, and are copied to these rows in parallel ([`super::columns`]).

use super::TableFormat;
use super::columns::{ArrayForms, FinishedArray, Layout, TableColumns};
use super::head::{TableFinder, TableHead};
use super::parse::{TableChunkText, TableParsed, TableParser};
use super::scene;
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, limit_hint, planted, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{ColumnTypes, TableReadOptions};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Column, Table, Values};
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::place::Placer;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::cpu::Level;
use polyhaul_text::scan::{Index, PADDING};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of text per chunk. The text and the values of a chunk fit in a core's private cache of 2 MiB.
const CHUNK_BYTES: usize = 256 << 10;
/// Slot size as a multiple of the chunk size: the text, values with few digits, and spare capacity.
const SLOT_FACTOR: usize = 6;

/// Result of reading a table's text.
pub struct TableText {
    /// Name of each column. The names are empty if there is no header.
    pub names: Vec<String>,
    /// One array per column, or one array with all rows.
    pub values: Vec<Values>,
    pub row_count: usize,
    pub comments: Vec<String>,
    pub warnings: Warnings,
    pub threads: usize,
}

impl TableText {
    /// Converts the columns to a table. Also returns the comments.
    pub fn into_table(self, format: TableFormat) -> Result<(Table, Vec<String>)> {
        let mut columns = Vec::new();
        let names = scene::names_of(format, self.names, &self.values);
        for (name, values) in names.into_iter().zip(self.values) {
            try_push(&mut columns, Column { name, values, offsets: None }, "columns")?;
        }
        Ok((Table { name: String::new(), row_count: self.row_count, columns }, self.comments))
    }
}

/// A chunk in flight.
struct TableSlot {
    text: Text,
    /// Start of the rows in the padded text. If the rows start in a later chunk, the end of the text.
    body: usize,
    /// Whether the head ends in this chunk or before it. Only then can the chunk have rows.
    is_body: bool,
    /// Error from reading the text.
    failed: Option<Error>,
    index: Box<Index>,
    parsed: TableParsed,
    /// Range of the chunk's rows.
    rows: std::ops::Range<usize>,
    /// Whether each array stores the values of this chunk as floats.
    is_float: Vec<bool>,
}

/// Everything that is determined before the first row.
struct TablePlan {
    head: TableHead,
    columns: TableColumns,
}

struct TableJob<'s, 'o> {
    chunks: TextChunks<'s>,
    options: &'o ParseOptions<TableReadOptions>,
    layout: Layout,
    plan: OnceLock<TablePlan>,
    /// Whether all requested rows were read.
    is_done: AtomicBool,
    slot_bytes: usize,
}

/// State of the ordered steps.
struct TableState<'o> {
    finder: TableFinder<'o>,
    forms: ArrayForms,
    row_count: usize,
    lines: u64,
    warnings: Warnings,
    progress: ProgressSteps,
}

/// Reads the text of a table.
pub fn read(
    text: TextChunks<'_>,
    format: TableFormat,
    layout: Layout,
    options: &ParseOptions<TableReadOptions>,
) -> Result<TableText> {
    if layout == Layout::Rows
        && matches!(&options.own.types, ColumnTypes::Each(types) if types.windows(2).any(|pair| pair[0] != pair[1]))
    {
        return Err(Error::new(ErrorKind::Usage, "expected one type for all columns of an array, found several"));
    }
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes + (64 << 10);
    let chunk_count = text.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let crew = Crew::for_chunks(chunk_count, slot_bytes, &options.run);
    let job = TableJob {
        chunks: text.cut(chunk_bytes, options.limits.line_bytes, PADDING),
        options,
        layout,
        plan: OnceLock::new(),
        is_done: AtomicBool::new(options.own.max_rows == Some(0)),
        slot_bytes,
    };
    let mut state = TableState {
        finder: TableFinder::new(format, layout, options)?,
        forms: ArrayForms::default(),
        row_count: 0,
        lines: 0,
        warnings: Warnings::default(),
        progress: ProgressSteps::default(),
    };
    run(&job, &mut state, crew, &options.run.cancel)?;
    let extent = if options.own.max_rows.is_some() { Extent::Start } else { Extent::Whole };
    job.chunks.check_end(extent, &options.run.cancel)?;
    finish(job, state, crew.threads)
}

impl<'o> ChunkJob for TableJob<'_, 'o> {
    type Slot = TableSlot;
    type State = TableState<'o>;
    const PUBLISHES: bool = true;
    const SCANS: bool = true;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.chunks.ahead()
    }

    fn slot(&self) -> Result<TableSlot> {
        let index = Index::try_new().ok_or_else(|| Error::memory("the token index"))?;
        Ok(TableSlot {
            text: Text::default(),
            body: 0,
            is_body: false,
            failed: None,
            index,
            parsed: TableParsed::default(),
            rows: 0..0,
            is_float: Vec::new(),
        })
    }

    /// Defers errors until it is known that the chunk is needed.
    fn take(&self, number: u64, slot: &mut TableSlot) -> Result<bool> {
        if self.is_done.load(Ordering::Relaxed) {
            self.chunks.leave(number);
            return Ok(false);
        }
        slot.failed = None;
        match self.chunks.take(number, &mut slot.text) {
            Ok(taken) => Ok(taken),
            Err(error) => {
                slot.text = Text::default();
                slot.failed = Some(error);
                Ok(true)
            }
        }
    }

    fn number(&self, state: &mut TableState<'o>, slot: &mut TableSlot) -> Result<()> {
        self.find_head(state, slot)
    }

    fn parse(&self, slot: &mut TableSlot) -> Result<()> {
        match self.plan.get().filter(|_| slot.is_body) {
            Some(plan) => self.parse_rows(&plan.head, usize::MAX, slot),
            None => Ok(()),
        }
    }

    fn place(&self, state: &mut TableState<'o>, slot: &mut TableSlot) -> Result<()> {
        self.settle(state, slot)
    }

    fn publish(&self, slot: &mut TableSlot) -> Result<()> {
        let Some(plan) = self.plan.get().filter(|_| slot.is_body && !slot.rows.is_empty()) else { return Ok(()) };
        let TableSlot { rows, text, parsed, is_float, .. } = slot;
        // SAFETY: `settle`, in order, assigned `rows` to this chunk alone, and counted these rows from `parsed`.
        unsafe {
            match parsed.grid.len() {
                0 => plan.columns.publish(rows.clone(), parsed, is_float, plan.head.is_f32())?,
                _ => plan.columns.publish_grid(rows.clone(), text.padded(), &parsed.grid)?,
            }
        }
        slot.parsed.shrink(self.slot_bytes);
        slot.text.shrink(self.slot_bytes);
        Ok(())
    }
}

impl TableJob<'_, '_> {
    fn parse_rows(&self, head: &TableHead, most_rows: usize, slot: &mut TableSlot) -> Result<()> {
        let TableSlot { text, body, index, parsed, .. } = slot;
        let text = TableChunkText { padded: text.padded(), start: *body, end: text.end };
        TableParser { head, options: self.options, level: Level::best() }.parse(text, most_rows, index, parsed)
    }

    /// Searches for the head until it is complete.
    fn find_head(&self, state: &mut TableState<'_>, slot: &mut TableSlot) -> Result<()> {
        slot.body = slot.text.start;
        slot.rows = 0..0;
        slot.is_body = self.plan.get().is_some();
        if slot.is_body || slot.failed.is_some() {
            return Ok(());
        }
        slot.body = slot.text.end;
        let text = slot.text.bytes();
        let file = self.chunks.name();
        if let Some((head, at)) = state.finder.feed(text, slot.text.offset, file, &mut state.warnings)? {
            let columns = TableColumns::new(&head, self.layout, &self.options.own.types)?;
            // The plan is not set yet: this step runs in order, and not after the plan exists.
            let _ = self.plan.set(TablePlan { head, columns });
            slot.body = slot.text.start + at;
            slot.is_body = true;
        }
        Ok(())
    }

    /// Reports the complaints of a chunk, and reserves its rows.
    fn settle(&self, state: &mut TableState<'_>, slot: &mut TableSlot) -> Result<()> {
        if self.is_done.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(error) = slot.failed.take() {
            return Err(error);
        }
        if let Some(TablePlan { head, columns }) = self.plan.get().filter(|_| slot.is_body) {
            let max_rows = self.options.own.max_rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
            let left = max_rows.map(|max_rows| max_rows - state.row_count);
            if let Some(left) = left.filter(|left| slot.parsed.row_count >= *left) {
                // Parsed again up to the last requested row, so that no complaints about later rows are reported.
                self.parse_rows(head, left, slot)?;
                self.is_done.store(true, Ordering::Relaxed);
            }
            // The error is returned after the complaints, which are about earlier rows.
            let excess = self.excess(state, head, slot)?;
            self.complain(state, head, slot)?;
            if let Some(error) = excess {
                return Err(error);
            }
            let end = state.row_count + slot.parsed.row_count;
            if state.row_count == 0
                && let Some(rows) = self.expected_rows(slot, max_rows)
            {
                // If memory does not suffice for this estimate, the actual rows may still fit.
                let _ = columns.reserve(rows);
            }
            columns.reserve(end)?;
            columns.settle(state.row_count, &slot.parsed, &mut state.forms, &mut slot.is_float)?;
            slot.rows = state.row_count..end;
            state.row_count = end;
        }
        if slot.text.too_long && !self.is_done.load(Ordering::Relaxed) {
            return Err(self.too_long(state, slot));
        }
        let before = &slot.text.padded()[slot.text.start..slot.body];
        let parsed = if slot.is_body { slot.parsed.line_count } else { 0 };
        state.lines += polyhaul_text::lines::count(before) as u64 + parsed;
        let end = slot.text.offset + slot.text.len() as u64;
        state.progress.report(&self.options.run, end, self.chunks.size());
        Ok(())
    }

    /// Estimates the number of rows in the input from this chunk, so that the columns need not grow, because growth
    /// costs page faults. Excess capacity is never touched, and is freed at the end.
    fn expected_rows(&self, slot: &TableSlot, max_rows: Option<usize>) -> Option<usize> {
        let size = self.chunks.size()?;
        let bytes = slot.text.end.saturating_sub(slot.body) as u64;
        let estimate = slot.parsed.row_count as u128 * u128::from(size) / u128::from(bytes.max(1));
        // A little more than estimated, because later rows may be shorter.
        let rows = usize::try_from(estimate + estimate / 50).ok()?;
        Some(rows.min(max_rows.unwrap_or(usize::MAX)).min(usize::try_from(self.options.limits.elements).ok()?))
    }

    /// Returns an error if the rows exceed the limit. The chunk is then parsed again up to the first row beyond the
    /// limit, so that only complaints before that row are reported.
    fn excess(&self, state: &TableState<'_>, head: &TableHead, slot: &mut TableSlot) -> Result<Option<Error>> {
        let limit = self.options.limits.elements;
        let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(state.row_count);
        if slot.parsed.row_count <= room {
            return Ok(None);
        }
        self.parse_rows(head, room + 1, slot)?;
        let mut placer = self.placer(state, slot);
        let place = placer.place((slot.parsed.last_row - slot.text.start) as u32);
        let message = format!("more rows than the limit `elements` ({limit})");
        let error = Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit);
        Ok(Some(error.with_hint(limit_hint("elements"))))
    }

    fn too_long(&self, state: &TableState<'_>, slot: &TableSlot) -> Error {
        self.chunks.too_long(self.placer(state, slot).place(slot.text.len() as u32))
    }

    fn placer<'a>(&'a self, state: &TableState<'_>, slot: &'a TableSlot) -> Placer<'a> {
        Placer::new(slot.text.bytes(), slot.text.offset, state.lines, self.chunks.name())
    }

    fn complain(&self, state: &mut TableState<'_>, head: &TableHead, slot: &mut TableSlot) -> Result<()> {
        let mut placer = self.placer(state, slot);
        let skipped = slot.body - slot.text.start;
        for complaint in &slot.parsed.complaints {
            let place = placer.place((skipped + complaint.offset) as u32);
            let is_first = place.offset.is_some_and(|offset| head.first_row.contains(&offset));
            let mut diagnostic = Diagnostic { place, ..complaint.diagnostic.clone() };
            if is_first && complaint.code == "not-a-number" && diagnostic.hint.is_none() {
                diagnostic.hint = Some("pass `--header yes` if the first row contains column names".into());
            }
            state.warnings.broken(self.options.faults, complaint.code, diagnostic)?;
        }
        for (code, count) in &slot.parsed.uncounted {
            state.warnings.count(code, *count);
        }
        Ok(())
    }
}

fn finish(mut job: TableJob<'_, '_>, state: TableState<'_>, threads: usize) -> Result<TableText> {
    let TableState { mut finder, forms, row_count, mut warnings, .. } = state;
    let TablePlan { head, columns } = match job.plan.take() {
        Some(plan) => plan,
        None => {
            let head = finder.end(&mut warnings)?;
            let columns = TableColumns::new(&head, job.layout, &job.options.own.types)?;
            TablePlan { head, columns }
        }
    };
    if let Some((declared, place)) = &finder.declared
        && *declared != row_count as u64
        && job.options.own.max_rows.is_none()
        && !planted("pts-count")
    {
        let line = if place.line == Some(1) { "the first line" } else { "the line" };
        let message = format!("{line} declares {declared} points, but the file contains {row_count}");
        warnings.broken(job.options.faults, "point-count", at(place.clone(), message))?;
    }
    // SAFETY: the run finished without an error, so every chunk was settled and published, and all `row_count` rows are
    // written.
    let arrays = unsafe { columns.finish(row_count, forms, &job.options.run)? };
    note_rounded(&arrays, &head.names, &job, &mut warnings)?;
    let mut values = Vec::new();
    values.try_reserve_exact(arrays.len())?;
    values.extend(arrays.into_iter().map(|array| array.values));
    Ok(TableText { names: head.names, values, row_count, comments: finder.comments, warnings, threads })
}

/// Warns about integers that were rounded because their column also has values other than 64-bit integers.
fn note_rounded(
    arrays: &[FinishedArray],
    names: &[String],
    job: &TableJob<'_, '_>,
    warnings: &mut Warnings,
) -> Result<()> {
    for (number, array) in arrays.iter().enumerate().filter(|(_, array)| array.rounded > 0) {
        let what = counted(array.rounded, ["integer was", "integers were"]);
        let column = match names.get(number).filter(|name| job.layout != Layout::Rows && !name.is_empty()) {
            Some(name) => format!("column `{}`", names::shown(name)),
            None if job.layout == Layout::Rows => "the table".into(),
            None => format!("column {number}"),
        };
        let message =
            format!("{what} rounded to 64-bit floats: the values of {column} are neither all int64 nor all uint64");
        let place = Place { file: job.chunks.name().clone(), ..Place::default() };
        let hint =
            Some("integers keep all their digits if all values of a column fit in int64, or all in uint64".into());
        let diagnostic = Diagnostic { hint, ..at(place, message) };
        warnings.rounded(job.options.faults, true, array.rounded, diagnostic)?;
    }
    Ok(())
}

fn at(place: Place, message: String) -> Diagnostic {
    Diagnostic { place, ..Diagnostic::new(message) }
}
