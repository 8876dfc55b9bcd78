//! Tables: a set of rows from their parts, and the parts that are left.
//!
//! In a file of several tables, rows are chosen from the vertices; faces and edges go with the vertices they refer to,
//! and are renumbered.

use crate::chooser::{Chooser, Passed};
use crate::elements::{index_columns, renumber, whole_rows};
use crate::fields::Fields;
use crate::options::RowOptions;
use crate::place::move_table;
use crate::set::RowSet;
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy, try_push};
use polyhaul_model::names::{self, VERTEX};
use polyhaul_model::{Array, Column, Table, map_values, with_values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::ops::Range;

/// Rows that are moved between two looks at the memory.
const TURN: usize = 1 << 18;

/// Looks at the parts of tables.
pub struct TableChooser<'o> {
    options: &'o RowOptions,
    run: &'o RunOptions,
    target: usize,
    /// For each table, the names of the columns with numbers of vertices.
    indices: Vec<Vec<String>>,
    rows: Rows<'o>,
    counts: Vec<u64>,
}

/// What was found in rows.
pub enum Looked {
    /// Rows that are chosen from.
    Rows(Passed),
    /// How many rows of another table are kept.
    Kept(u64),
}

/// The rows that are chosen from: still being looked at, or decided on.
enum Rows<'o> {
    Open(Chooser<'o>),
    Decided(RowSet),
}

impl Rows<'_> {
    /// The set; no more rows are looked at.
    fn decided(&mut self) -> Result<&mut RowSet> {
        *self = Rows::Decided(match std::mem::replace(self, Rows::Decided(RowSet::default())) {
            Rows::Open(chooser) => chooser.finish()?,
            Rows::Decided(set) => set,
        });
        match self {
            Rows::Decided(set) => Ok(set),
            Rows::Open(_) => Err(Error::new(ErrorKind::Internal, "rows were not decided on")),
        }
    }
}

/// Which rows of some tables are kept.
pub struct TableChoice<'o> {
    options: &'o RowOptions,
    run: &'o RunOptions,
    target: usize,
    indices: Vec<Vec<String>>,
    set: RowSet,
    counts: Vec<u64>,
}

/// Whether rows are chosen by the values of a column. Columns that are numbered need all before them.
pub fn wants(options: &RowOptions, column: &str) -> bool {
    let is_position = options.bounds.is_some() && ["x", "y", "z"].contains(&column);
    is_position || options.filter.as_ref().is_some_and(|filter| filter.wants(column))
}

/// The table that rows are chosen from: that of this name, the only one, or the vertices.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none.
pub fn target(tables: &[Table], element: Option<&str>) -> Result<usize> {
    let named = |name: &str| tables.iter().position(|table| table.name == name);
    match (element, tables.len()) {
        (None, 1) => Ok(0),
        (wanted, _) => named(wanted.unwrap_or(VERTEX)).ok_or_else(|| {
            let listed: Vec<_> = tables.iter().take(20).map(|table| names::shown(&table.name)).collect();
            let message = format!("no element named `{}`", names::shown(wanted.unwrap_or(VERTEX)));
            let error = Error::new(ErrorKind::Usage, message);
            error.with_hint(format!("choose one with `--element`: {}", listed.join(", ")))
        }),
    }
}

impl<'o> TableChooser<'o> {
    /// Begins with the columns of tables and the one that rows are chosen from; their values are not needed yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if a column does not exist; [`ErrorKind::Unsupported`] for triangle strips.
    pub fn new(
        tables: &[Table],
        target: usize,
        options: &'o RowOptions,
        run: &'o RunOptions,
    ) -> Result<TableChooser<'o>> {
        let mut chooser = Chooser::new(options, run)?;
        let mut indices = Vec::new();
        let mut counts = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let is_other = number != target && tables.get(target).is_some_and(|target| target.name == VERTEX);
            try_push(&mut indices, if is_other { index_columns(table)? } else { Vec::new() }, "elements")?;
            try_push(&mut counts, 0, "elements")?;
        }
        if let Some(table) = tables.get(target) {
            let none = chooser.look(&Fields::of_table(&cut(table, 0..0)?))?;
            chooser.add(none)?;
        }
        Ok(TableChooser { options, run, target, indices, rows: Rows::Open(chooser), counts })
    }

    /// Whether a table has to come after the one that rows are chosen from.
    pub fn is_after(&self, number: usize) -> bool {
        self.indices.get(number).is_some_and(|columns| !columns.is_empty())
    }

    /// Whether the values of a column are looked at.
    pub fn wants(&self, number: usize, column: &str) -> bool {
        let is_index = self.indices.get(number).is_some_and(|names| names.iter().any(|name| name == column));
        is_index || number == self.target && wants(self.options, column)
    }

    /// Starts a table; all rows of the previous tables have been added.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn start(&mut self, number: usize) -> Result<()> {
        if self.is_after(number) { self.rows.decided().map(drop) } else { Ok(()) }
    }

    /// Examines rows of the table that was started, in any order.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] if a face refers to a vertex that does not exist; cancellation.
    pub fn look(&self, number: usize, part: &Table) -> Result<Looked> {
        match &self.rows {
            Rows::Open(chooser) if number == self.target => chooser.look(&Fields::of_table(part)).map(Looked::Rows),
            Rows::Decided(set) if self.is_after(number) => {
                Ok(Looked::Kept(whole_rows(part, &self.indices[number], set)?.kept()))
            }
            _ => Ok(Looked::Kept(part.row_count as u64)),
        }
    }

    /// Adds rows of a table, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn add(&mut self, number: usize, looked: Looked) -> Result<()> {
        match (looked, &mut self.rows) {
            (Looked::Rows(passed), Rows::Open(chooser)) => chooser.add(passed),
            (Looked::Rows(_), Rows::Decided(_)) => Err(Error::new(ErrorKind::Internal, "rows were decided on early")),
            (Looked::Kept(rows), _) => {
                self.counts[number] += rows;
                Ok(())
            }
        }
    }

    /// Decides, with all rows known.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn finish(mut self) -> Result<TableChoice<'o>> {
        let set = std::mem::take(self.rows.decided()?);
        self.counts[self.target] = set.kept();
        let TableChooser { options, run, target, indices, counts, .. } = self;
        Ok(TableChoice { options, run, target, indices, set, counts })
    }
}

impl TableChoice<'_> {
    /// The rows that are chosen.
    pub fn into_rows(self) -> RowSet {
        self.set
    }

    /// The number of rows of a table that are kept.
    pub fn count(&self, number: usize) -> u64 {
        self.counts.get(number).copied().unwrap_or(0)
    }

    /// Whether the length of the first list of a table, which may go, says nothing about the others: it is longer than
    /// the smallest type of lengths can count.
    pub fn may_lose_longest_list(&self, number: usize, head: &Table) -> bool {
        let is_long = |offsets: &Array<u32>| offsets.get(1).is_some_and(|&end| end > u32::from(u8::MAX));
        let is_filtered = number == self.target || self.indices.get(number).is_some_and(|names| !names.is_empty());
        is_filtered && head.columns.iter().filter_map(|column| column.offsets.as_ref()).any(is_long)
    }

    /// Makes a table without values what it will be: with fewer rows, and with columns of the types of moved positions.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if its rows cannot be moved.
    pub fn keep_head(&self, number: usize, table: &mut Table) -> Result<()> {
        table.row_count = 0;
        if number == self.target {
            self.options.transform.iter().try_for_each(|matrix| move_table(table, matrix, self.run))?;
        }
        table.row_count = self.count(number) as usize;
        Ok(())
    }

    /// Whether keeping rows of a table takes more than copying them: they are moved, renumbered, or have lists.
    pub fn changes(&self, number: usize, head: &Table) -> bool {
        let has_lists = head.columns.iter().any(|column| column.offsets.is_some());
        let is_changed = number == self.target && (has_lists || self.options.transform.is_some());
        is_changed || self.indices.get(number).is_some_and(|columns| !columns.is_empty())
    }

    /// Which rows of a table are kept, unless all are.
    pub fn chosen(&self, number: usize) -> Option<&RowSet> {
        (number == self.target).then_some(&self.set)
    }

    /// Keeps the chosen rows of a part, that which begins at row `first` of table `number`, and moves them.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if they cannot be moved; [`ErrorKind::Memory`]; cancellation.
    pub fn keep(&self, number: usize, first: u64, part: &mut Table) -> Result<()> {
        if number == self.target {
            keep_rows(part, &self.set, first, self.run)?;
            return self.options.transform.iter().try_for_each(|matrix| move_table(part, matrix, self.run));
        }
        let columns = self.indices.get(number).map_or(&[][..], |columns| columns);
        if columns.is_empty() || self.set.is_all() {
            return Ok(());
        }
        keep_rows(part, &whole_rows(part, columns, &self.set)?, 0, self.run)?;
        renumber(part, columns, &self.set)
    }
}

/// Keeps rows of tables that are read as a whole.
///
/// # Errors
/// Those of [`TableChooser`] and [`TableChoice::keep`].
pub fn keep_tables(tables: &mut [Table], target: usize, options: &RowOptions, run: &RunOptions) -> Result<()> {
    let choice = choose(tables, target, options, run)?;
    tables.iter_mut().enumerate().try_for_each(|(number, table)| choice.keep(number, 0, table))
}

/// Chooses rows of tables that are read as a whole.
///
/// # Errors
/// Those of [`TableChooser`].
pub fn choose<'o>(
    tables: &[Table],
    target: usize,
    options: &'o RowOptions,
    run: &'o RunOptions,
) -> Result<TableChoice<'o>> {
    let mut chooser = TableChooser::new(tables, target, options, run)?;
    let others = (0..tables.len()).filter(|&number| number != target);
    for number in std::iter::once(target).chain(others) {
        chooser.start(number)?;
        let looked = chooser.look(number, &tables[number])?;
        chooser.add(number, looked)?;
    }
    chooser.finish()
}

/// The rows of a range, as a table of its own.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn cut(table: &Table, rows: Range<usize>) -> Result<Table> {
    let mut columns = Vec::new();
    for column in &table.columns {
        let items = match &column.offsets {
            Some(offsets) => offsets[rows.start] as usize..offsets[rows.end] as usize,
            None => rows.clone(),
        };
        let offsets = match &column.offsets {
            Some(offsets) => {
                let mut list_offsets = try_copy(&offsets[rows.start..=rows.end], "list offsets")?;
                list_offsets.iter_mut().for_each(|offset| *offset -= items.start as u32);
                Some(list_offsets.into())
            }
            None => None,
        };
        let values = map_values!(&column.values, values => try_copy(&values[items.clone()], "columns")?.into());
        try_push(&mut columns, Column { name: column.name.clone(), values, offsets }, "columns")?;
    }
    Ok(Table { name: table.name.clone(), row_count: rows.len(), columns })
}

/// Keeps the rows of a set, of which the table's first row is number `first`.
///
/// # Errors
/// [`ErrorKind::Memory`]; cancellation.
pub fn keep_rows(table: &mut Table, set: &RowSet, first: u64, run: &RunOptions) -> Result<()> {
    if set.is_all() {
        return Ok(());
    }
    let rows = table.row_count;
    let threads = run.worker_threads();
    let (lists, mut single): (Vec<_>, Vec<_>) = table.columns.iter_mut().partition(|column| column.offsets.is_some());
    let mut chosen: Vec<u32> = Vec::new();
    let mut to: usize = 0;
    for start in (0..rows).step_by(TURN) {
        let count = TURN.min(rows - start);
        chosen.clear();
        chosen.try_reserve(count).map_err(|_| Error::memory("the rows to keep"))?;
        chosen.extend(set.among(first + start as u64, count).map(|row| row as u32));
        let columns = single.iter_mut();
        try_for_each_item(
            threads,
            &run.cancel,
            columns,
            || (),
            |(), column| {
                with_values!(&mut column.values, values => gather(values.to_mut()?, &chosen, start, to));
                Ok(())
            },
        )?;
        to += chosen.len();
    }
    for column in single {
        with_values!(&mut column.values, values => values.to_mut()?.truncate(to));
    }
    try_for_each_item(
        threads,
        &run.cancel,
        lists.into_iter(),
        || (),
        |(), column| keep_column(column, set, first, rows),
    )?;
    table.row_count = to;
    Ok(())
}

/// Moves the values of rows, counted from `start`, to where `to` is.
fn gather<T: Copy>(values: &mut [T], rows: &[u32], start: usize, to: usize) {
    for (at, &row) in (to..).zip(rows) {
        values[at] = values[start + row as usize];
    }
}

/// Keeps the rows of a set in a column.
pub(crate) fn keep_column(column: &mut Column, set: &RowSet, first: u64, rows: usize) -> Result<()> {
    match &mut column.offsets {
        None => with_values!(&mut column.values, values => keep_values(values, set, first, rows)),
        Some(offsets) => {
            let offsets = offsets.to_mut()?;
            with_values!(&mut column.values, values => keep_lists(values, offsets, set.among(first, rows)))
        }
    }
}

/// Keeps the values of rows.
pub(crate) fn keep_values<T: Copy>(values: &mut Array<T>, set: &RowSet, first: u64, rows: usize) -> Result<()> {
    let values = values.to_mut()?;
    let mut to = 0;
    for start in (0..rows).step_by(TURN) {
        for from in set.among(first + start as u64, TURN.min(rows - start)) {
            values[to] = values[start + from];
            to += 1;
        }
        polyhaul_spill::relieve();
    }
    values.truncate(to);
    Ok(())
}

/// Keeps the values of lists, and their offsets.
pub(crate) fn keep_lists<T: Copy>(
    values: &mut Array<T>,
    offsets: &mut Vec<u32>,
    chosen: impl Iterator<Item = usize>,
) -> Result<()> {
    let values = values.to_mut()?;
    let mut lists = 0;
    let mut to = 0;
    for row in chosen {
        let start = offsets[row] as usize;
        let end = offsets[row + 1] as usize;
        values.copy_within(start..end, to);
        offsets[lists] = to as u32;
        lists += 1;
        to += end - start;
        if lists % TURN == 0 {
            polyhaul_spill::relieve();
        }
    }
    values.truncate(to);
    if let Some(last) = offsets.get_mut(lists) {
        *last = to as u32;
    }
    offsets.truncate(lists + 1);
    Ok(())
}
