//! Selects and keeps rows of tables, in parts.
//!
//! In a file with several tables, rows are selected from one of them, by default the vertices. If vertices are
//! selected, faces and edges are kept if all their vertices are, and their vertex indices are renumbered. If vertices
//! are mirrored, the winding of faces is reversed.

use crate::chooser::{Chooser, Passed};
use crate::elements::{index_columns, renumber, reverse_faces, whole_rows};
use crate::fields::Fields;
use crate::options::RowOptions;
use crate::place::move_table;
use crate::set::RowSet;
use polyhaul_geometry::transform::is_mirrored;
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy, try_push};
use polyhaul_model::names::{self, VERTEX};
use polyhaul_model::{Array, Column, Table, map_values, with_values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::ops::Range;

/// Number of rows that are moved between checks of the memory budget.
const TURN: usize = 1 << 18;

/// Selects rows of several tables, in parts.
pub struct TableChooser<'o> {
    options: &'o RowOptions,
    run: &'o RunOptions,
    target: usize,
    /// For each table, the names of columns with vertex indices.
    indices: Vec<Vec<String>>,
    rows: Rows<'o>,
    counts: Vec<u64>,
}

/// Result of evaluating rows.
pub enum Looked {
    /// Rows of the table from which rows are selected.
    Rows(Passed),
    /// The number of kept rows of a table other than the target.
    Kept(u64),
}

/// Rows of the target table: still being evaluated, or decided.
enum Rows<'o> {
    Open(Chooser<'o>),
    Decided(RowSet),
}

impl Rows<'_> {
    /// Completes the set; no more rows can be added.
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

/// The rows of several tables to keep.
pub struct TableChoice<'o> {
    options: &'o RowOptions,
    run: &'o RunOptions,
    target: usize,
    indices: Vec<Vec<String>>,
    set: RowSet,
    counts: Vec<u64>,
}

/// Whether the options mirror the vertices, which reverses the winding of faces.
fn mirrors(options: &RowOptions) -> bool {
    options.transform.as_ref().is_some_and(is_mirrored)
}

/// Whether selecting rows requires the values of a column. Columns referred to by index require all columns.
pub fn wants(options: &RowOptions, column: &str) -> bool {
    let is_position = options.bounds.is_some() && ["x", "y", "z"].contains(&column);
    is_position || options.filter.as_ref().is_some_and(|filter| filter.wants(column))
}

/// Returns the index of the table from which rows are selected: the table named `element` or, if that is `None`, the
/// only table or the vertices.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is no such table.
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
    /// Creates a chooser for tables with the given columns; values are not needed yet. `target` is the index of the
    /// table from which rows are selected.
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
        // A transform that does not mirror leaves other tables as they are.
        let is_alone = options.keeps_all() && !mirrors(options);
        for (number, table) in tables.iter().enumerate() {
            let is_other = number != target && tables.get(target).is_some_and(|target| target.name == VERTEX);
            let is_other = is_other && !is_alone;
            try_push(&mut indices, if is_other { index_columns(table)? } else { Vec::new() }, "elements")?;
            try_push(&mut counts, 0, "elements")?;
        }
        if let Some(table) = tables.get(target) {
            let none = chooser.look(&Fields::of_table(&cut(table, 0..0)?))?;
            chooser.add(none)?;
        }
        Ok(TableChooser { options, run, target, indices, rows: Rows::Open(chooser), counts })
    }

    /// Whether a table refers to rows of the target table, which are selected or mirrored.
    fn is_after(&self, number: usize) -> bool {
        self.indices.get(number).is_some_and(|columns| !columns.is_empty())
    }

    /// Whether the rows that are kept of a table depend on those of the target table.
    pub fn depends(&self, number: usize) -> bool {
        self.is_after(number) && !self.options.keeps_all()
    }

    /// Whether evaluating rows requires the values of a column.
    pub fn wants(&self, number: usize, column: &str) -> bool {
        let is_index = self.indices.get(number).is_some_and(|names| names.iter().any(|name| name == column));
        is_index || number == self.target && wants(self.options, column)
    }

    /// Starts a table. All rows of the previous tables must have been added.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn start(&mut self, number: usize) -> Result<()> {
        if self.depends(number) { self.rows.decided().map(drop) } else { Ok(()) }
    }

    /// Evaluates a part of the table that was started. Parts can be evaluated in any order.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] if a face or an edge refers to a vertex that does not exist; the same errors as
    /// [`Chooser::look`].
    pub fn look(&self, number: usize, part: &Table) -> Result<Looked> {
        match &self.rows {
            Rows::Open(chooser) if number == self.target => chooser.look(&Fields::of_table(part)).map(Looked::Rows),
            Rows::Decided(set) if self.depends(number) => {
                Ok(Looked::Kept(whole_rows(part, &self.indices[number], set)?.kept()))
            }
            _ => Ok(Looked::Kept(part.row_count as u64)),
        }
    }

    /// Adds evaluated rows of a table, in order.
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

    /// Returns the selection, after all rows were added.
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
    /// The selected rows of the target table.
    pub fn into_rows(self) -> RowSet {
        self.set
    }

    /// The number of kept rows of a table.
    pub fn count(&self, number: usize) -> u64 {
        self.counts.get(number).copied().unwrap_or(0)
    }

    /// Whether the first list of a column has more than 255 values, too many for the smallest type of list lengths, and
    /// may be removed. If it is removed, its length says nothing about the remaining lists.
    pub fn may_lose_longest_list(&self, number: usize, head: &Table) -> bool {
        let is_long = |offsets: &Array<u32>| offsets.get(1).is_some_and(|&end| end > u32::from(u8::MAX));
        let is_filtered = number == self.target || self.indices.get(number).is_some_and(|names| !names.is_empty());
        !self.options.keeps_all()
            && is_filtered
            && head.columns.iter().filter_map(|column| column.offsets.as_ref()).any(is_long)
    }

    /// Sets the final row count of a table without values, and the column types that result from the transform.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if its rows cannot be transformed.
    pub fn keep_head(&self, number: usize, table: &mut Table) -> Result<()> {
        table.row_count = 0;
        if number == self.target {
            self.options.transform.iter().try_for_each(|matrix| move_table(table, matrix, self.run))?;
        }
        table.row_count = self.count(number) as usize;
        Ok(())
    }

    /// Whether keeping rows requires more than copying bytes: they are transformed, renumbered, or contain lists.
    pub fn changes(&self, number: usize, head: &Table) -> bool {
        let has_lists = head.columns.iter().any(|column| column.offsets.is_some());
        let is_changed = number == self.target && (has_lists || self.options.transform.is_some());
        is_changed || self.indices.get(number).is_some_and(|columns| !columns.is_empty())
    }

    /// The selected rows of the target table, or `None` for other tables.
    pub fn chosen(&self, number: usize) -> Option<&RowSet> {
        (number == self.target).then_some(&self.set)
    }

    /// Keeps and transforms the selected rows of a part of table `number` that starts at row `first`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the rows cannot be transformed; [`ErrorKind::Malformed`] if a face or an edge refers to
    /// a vertex that does not exist; [`ErrorKind::Memory`]; cancellation.
    pub fn keep(&self, number: usize, first: u64, part: &mut Table) -> Result<()> {
        if number == self.target {
            keep_rows(part, &self.set, first, self.run)?;
            return self.options.transform.iter().try_for_each(|matrix| move_table(part, matrix, self.run));
        }
        let columns = self.indices.get(number).map_or(&[][..], |columns| columns);
        if columns.is_empty() {
            return Ok(());
        }
        if !self.set.is_all() {
            keep_rows(part, &whole_rows(part, columns, &self.set)?, 0, self.run)?;
            renumber(part, columns, &self.set)?;
        }
        if mirrors(self.options) { reverse_faces(part, columns) } else { Ok(()) }
    }
}

/// Keeps the selected rows of complete tables.
///
/// # Errors
/// The same errors as [`choose`] and [`TableChoice::keep`].
pub fn keep_tables(tables: &mut [Table], target: usize, options: &RowOptions, run: &RunOptions) -> Result<()> {
    let choice = choose(tables, target, options, run)?;
    tables.iter_mut().enumerate().try_for_each(|(number, table)| choice.keep(number, 0, table))
}

/// Selects rows of complete tables.
///
/// # Errors
/// The same errors as the methods of [`TableChooser`].
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

/// Copies a range of rows into a new table.
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

/// Keeps the rows of a set. `first` is the index of the table's first row in the set.
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

/// Moves the values of `rows`, which are offsets from `start`, to consecutive indices starting at `to`.
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

/// Keeps the lists of the rows in `chosen`: their values and offsets.
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
