//! Selects rows of an input, according to [`ReadOptions::rows`].
//!
//! If a file has tables, rows are selected by the columns of the file, even if it is read as a scene. Such a file is
//! read twice, because the number of rows must be known before the first row is kept. `polyhaul-scan` selects rows.

use super::whole::{Content, ContentShape, Read, ShapeOf, check_elements, load_whole, timed};
use crate::detect::Detected;
use crate::format::Format;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use crate::select::select_columns;
use crate::table_job::no_tables;
use polyhaul_model::Table;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::ColumnName;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::table_parts::{TableSource, each_part};
use polyhaul_scan::table::{Looked, TableChoice, TableChooser, choose, keep_tables, target};
use polyhaul_scan::{Chooser, Fields, RowOptions, RowSet, mesh, move_table, table};
use std::cell::RefCell;

/// Bytes of rows that a thread evaluates at a time; they fit in its cache.
const LOOK_BYTES: usize = 256 << 10;

/// Reads an input, which must be readable more than once, and keeps the selected rows.
pub(crate) fn load_chosen(input: &Opened, options: &ReadOptions, shape: ShapeOf<'_>) -> Result<(Read, Report)> {
    options.rows.check()?;
    let detected = detect(input, options)?;
    let format = detected.format;
    let all_rows = everything(options);
    match shape(format) {
        ContentShape::Tables => {
            let (mut read, report) = load_whole(input, Some(detected), &all_rows, shape)?;
            if let Content::Tables(tables) = &mut read.content {
                let mut target = target(&tables.tables, options.table.element.as_deref())?;
                if options.table.columns.is_some() {
                    // The option `columns` selects from a single table.
                    tables.tables = vec![tables.tables.swap_remove(target)];
                    target = 0;
                }
                keep_tables(&mut tables.tables, target, &options.rows, &options.run)?;
                if !format.has_elements() {
                    select_columns(&mut tables.tables, &options.table)?;
                }
            }
            Ok((read, report))
        }
        ContentShape::Scene => {
            check_elements(format, options)?;
            let by_table = format.has_tables() && !options.rows.keeps_all();
            let set = if by_table { Some(rows_of(input, detected, options)?) } else { None };
            let all_rows = ReadOptions { table: options.table.clone(), ..all_rows };
            let (mut read, report) = load_whole(input, Some(detected), &all_rows, shape)?;
            if let Content::Scene(scene) = &mut read.content {
                mesh::keep_scene(scene, set, &options.rows, &options.run)?;
            }
            Ok((read, report))
        }
        ContentShape::Image | ContentShape::Texture => {
            Err(Error::new(ErrorKind::Usage, "rows can be chosen from meshes and tables, not from images"))
        }
    }
}

/// Options for reading all rows and columns.
fn everything(options: &ReadOptions) -> ReadOptions {
    let mut all_rows = ReadOptions { rows: RowOptions::default(), ..options.clone() };
    all_rows.table.columns = None;
    all_rows
}

/// Detects the format once for an input that is read more than once.
fn detect(input: &Opened, options: &ReadOptions) -> Result<Detected> {
    let plain = input.plain(options)?;
    let detected = Detected::detect(&plain, input.near().path(), input.name(), options)?;
    detected.format.built()?;
    Ok(detected)
}

/// Selects rows of a file that has tables.
fn rows_of(input: &Opened, detected: Detected, options: &ReadOptions) -> Result<RowSet> {
    let alone = options.run.clone().with_threads(Some(1));
    if let Attempt::Done(choice) = choose_parts(input, Some(detected), options, &alone)? {
        return Ok(choice.into_rows());
    }
    let (read, _) = load_whole(input, Some(detected), &everything(options), &|_| ContentShape::Tables)?;
    let Content::Tables(tables) = read.content else {
        return Err(Error::new(ErrorKind::Internal, "tables were read as a scene"));
    };
    let target = target(&tables.tables, options.table.element.as_deref())?;
    choose(&tables.tables, target, &options.rows, &options.run).map(TableChoice::into_rows)
}

/// Selects rows in parts; declines if the tables must be read as a whole. Several threads evaluate different parts,
/// each with the single-threaded options `alone`.
pub(crate) fn choose_parts<'o>(
    input: &Opened,
    detected: Option<Detected>,
    options: &'o ReadOptions,
    alone: &'o RunOptions,
) -> Result<Attempt<TableChoice<'o>>> {
    let mut choice = None;
    let attempt = read_parts(input, detected, options, LOOK_BYTES, &mut |source, _| {
        let target = target(source.tables(), options.table.element.as_deref())?;
        let mut chooser = TableChooser::new(source.tables(), target, &options.rows, alone)?;
        // The rows of such a table depend on the chosen rows of the target, which are not known before it.
        if (0..target).any(|number| chooser.depends(number)) {
            return Ok(Attempt::Declined);
        }
        let mut threads = 1;
        for (number, table) in source.tables().iter().enumerate() {
            // The end of an element that must be read in order is only known once its rows are taken.
            if number == target || chooser.depends(number) || source.takes_in_order(number) {
                threads = threads.max(look_at(&mut chooser, source, number, &options.run)?);
            } else {
                chooser.add(number, Looked::Kept(table.row_count as u64))?;
            }
        }
        choice = Some(chooser.finish()?);
        Ok(Attempt::Done(threads))
    })?;
    // Drop the warnings; the read that follows repeats them.
    Ok(choice.filter(|_| attempt.done().is_some()).into())
}

/// Evaluates all rows of a table; returns the number of threads used.
fn look_at(chooser: &mut TableChooser<'_>, source: &dyn TableSource, number: usize, run: &RunOptions) -> Result<usize> {
    chooser.start(number)?;
    let mut parts = Vec::new();
    let wants = |column: &str| chooser.wants(number, column);
    let look = |_, part: Table| chooser.look(number, &part);
    let keep = |looked| try_push(&mut parts, looked, "the rows to keep");
    let threads = each_part(source, number, run, &wants, look, keep)?;
    parts.into_iter().try_for_each(|looked| chooser.add(number, looked))?;
    Ok(threads)
}

/// Uses the tables of a file with this format, and returns the number of threads used; declines if the tables must be
/// read as a whole.
pub(crate) type UseParts<'r> = dyn FnMut(&dyn TableSource, Format) -> Result<Attempt<usize>> + 'r;

/// Reads tables in parts; declines if they must be read as a whole.
pub(crate) fn read_parts(
    input: &Opened,
    detected: Option<Detected>,
    options: &ReadOptions,
    part_bytes: usize,
    read: &mut UseParts<'_>,
) -> Result<Attempt<Report>> {
    let read = RefCell::new(read);
    let (attempt, report) = timed(input, detected, options, &|job| {
        let parts = job.format.readers().parts.filter(|_| job.plain.source().codec().is_none());
        let Some(parts) = parts else { return Ok(Attempt::Declined) };
        let format = job.format;
        match parts(job, part_bytes, &mut |source| (read.borrow_mut())(source, format)) {
            // Reading the file as a whole reports the error again, after the warnings that precede it.
            Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit) => Ok(Attempt::Declined),
            result => result,
        }
    })?;
    Ok(attempt.map(|()| report))
}

/// Passes the selected rows of one table to `take`, in batches of about `part_bytes` bytes of the file.
pub(crate) fn batches(
    input: &Opened,
    options: &ReadOptions,
    part_bytes: usize,
    take: &mut (dyn FnMut(Table) -> Result<()> + Send),
) -> Result<Report> {
    options.rows.check()?;
    let detected = detect(input, options)?;
    if !detected.format.has_tables() {
        return Err(no_tables("can be read in batches"));
    }
    let all_rows = everything(options);
    // Parts are processed sequentially, in order, while the next parts are read.
    let alone = options.run.clone().with_threads(Some(1));
    let run = &alone;
    let rows = BatchRows::All;
    let mut batches = Batches { options, run, target: 0, rows, first: 0, empty: None, failed: None, take };
    if options.rows.sample.is_some() {
        batches.rows = BatchRows::Of(rows_of(input, detected, options)?);
    }
    let attempt = read_parts(input, Some(detected), &all_rows, part_bytes, &mut |source, _| {
        batches.parts(source, &all_rows.run).map(Attempt::Done)
    })?;
    if let Some(error) = batches.failed.take() {
        return Err(error);
    }
    // With `strict`, a warning can be an error: read the file as a whole, so that the error is the first such warning.
    let is_refused = |report: &Report| report.warnings.first_refused(options.strictness()).is_some();
    let report = if let Some(report) = attempt.done().filter(|report| !is_refused(report)) {
        report
    } else {
        let (read, report) = load_whole(input, Some(detected), &all_rows, &|_| ContentShape::Tables)?;
        let Content::Tables(tables) = read.content else { return Err(no_tables("can be read in batches")) };
        batches.run = &options.run;
        batches.whole(tables.tables, part_bytes)?;
        report
    };
    batches.empty.take().map_or(Ok(()), take)?;
    Ok(report)
}

/// A table that is processed in batches.
struct Batches<'o, 't> {
    options: &'o ReadOptions,
    run: &'o RunOptions,
    target: usize,
    rows: BatchRows<'o>,
    /// Number of rows processed.
    first: u64,
    /// An empty table with the output columns, passed to `take` if there is no other batch.
    empty: Option<Table>,
    /// Error returned by `take`.
    failed: Option<Error>,
    take: &'t mut (dyn FnMut(Table) -> Result<()> + Send),
}

enum BatchRows<'o> {
    /// Not started, or all rows.
    All,
    Of(RowSet),
    By(Chooser<'o>),
}

impl Batches<'_, '_> {
    /// Processes the table in parts, and checks that the other tables can be read; returns the number of threads used.
    fn parts(&mut self, source: &dyn TableSource, run: &RunOptions) -> Result<usize> {
        self.open(source.tables())?;
        let options = self.options;
        let target = self.target;
        let mut threads = 1;
        for number in 0..source.tables().len() {
            let wants = |column: &str| number == target && is_output(options, column);
            let take = |part| if number == target { self.batch(part) } else { Ok(()) };
            threads = threads.max(each_part(source, number, run, &wants, |_, part| Ok(part), take)?);
        }
        Ok(threads)
    }

    fn batch(&mut self, mut part: Table) -> Result<()> {
        let rows = part.row_count as u64;
        let run = self.run;
        match &mut self.rows {
            BatchRows::All => {}
            BatchRows::Of(set) => table::keep_rows(&mut part, set, self.first, run)?,
            BatchRows::By(chooser) => {
                let passed = chooser.look(&Fields::of_table(&part))?;
                table::keep_rows(&mut part, &chooser.decide(passed)?, 0, run)?;
            }
        }
        self.first += rows;
        let part = self.finished(part)?;
        if part.row_count == 0 {
            return Ok(());
        }
        self.empty = None;
        (self.take)(part).inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Transforms a batch and selects its columns.
    fn finished(&self, mut part: Table) -> Result<Table> {
        if let Some(matrix) = &self.options.rows.transform {
            move_table(&mut part, matrix, self.run)?;
        }
        let mut tables = [part];
        select_columns(&mut tables, &self.options.table)?;
        let [part] = tables;
        Ok(part)
    }

    /// Processes the remaining rows of a table that was read as a whole.
    fn whole(&mut self, mut tables: Vec<Table>, part_bytes: usize) -> Result<()> {
        self.open(&tables)?;
        let table = tables.swap_remove(self.target);
        let row_bytes =
            table.columns.iter().map(|column| column.heap_bytes()).sum::<u64>() / (table.row_count as u64).max(1);
        let step = (part_bytes as u64 / row_bytes.max(1)).max(1) as usize;
        for start in (self.first as usize..table.row_count).step_by(step) {
            self.batch(table::cut(&table, start..table.row_count.min(start + step))?)?;
        }
        Ok(())
    }

    fn open(&mut self, tables: &[Table]) -> Result<()> {
        self.target = target(tables, self.options.table.element.as_deref())?;
        if self.first == 0 {
            self.empty = Some(self.finished(table::cut(&tables[self.target], 0..0)?)?);
        }
        if matches!(self.rows, BatchRows::All) && !self.options.rows.keeps_all() {
            self.rows = BatchRows::By(Chooser::new(&self.options.rows, self.run)?);
        }
        Ok(())
    }
}

/// Whether batches need a column of the table.
fn is_output(options: &ReadOptions, column: &str) -> bool {
    let ReadOptions { rows, table, .. } = options;
    let is_selected = |columns: &[ColumnName]| {
        columns.iter().any(|column_name| match column_name {
            ColumnName::Index(_) => true,
            ColumnName::Name(name) => name == column,
        })
    };
    rows.transform.is_some() || table.columns.as_deref().is_none_or(is_selected) || table::wants(rows, column)
}
