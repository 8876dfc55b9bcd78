//! Reads a PLY file as tables: every element with all of its columns, unconverted.

use super::header::{Element, Property};
use super::layout::PlyLayout;
use super::repair;
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::scatter::PlyOp;
use super::sink::{ListSink, Move, PlySink};
use super::store::PlyStore;
use polyhaul_model::error::{Result, try_push, try_string};
use polyhaul_model::{Column, Table};

/// Destination of a property during reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyTablesHome {
    /// In a store of the sink.
    Store(usize),
    /// In a list of the sink.
    List(usize),
    /// Nowhere, or in a shared store that the caller tracks.
    Elsewhere,
}

/// Builds the sink of an element, property by property.
pub(super) struct PlyBuilder<'a> {
    pub(super) element: &'a Element,
    pub(super) sink: PlySink,
    /// Home of each property so far.
    pub(super) homes: Vec<PlyTablesHome>,
    /// Index of the gap with the next number, and the number's offset in it.
    gap: usize,
    at: usize,
}

impl<'a> PlyBuilder<'a> {
    pub(super) fn new(element: &'a Element, swap: bool) -> Result<PlyBuilder<'a>> {
        let layout = PlyLayout::from_element(element, swap)?;
        let sink = PlySink { layout, stores: Vec::new(), moves: Vec::new(), lists: Vec::new(), check: None };
        Ok(PlyBuilder { element, sink, homes: Vec::new(), gap: 0, at: 0 })
    }

    /// Adds a store; returns its index.
    pub(super) fn store(&mut self, store: PlyStore) -> Result<usize> {
        try_push(&mut self.sink.stores, store, "columns")?;
        Ok(self.sink.stores.len() - 1)
    }

    /// Stores the next property in its own column, unchanged.
    pub(super) fn keep(&mut self, property: &Property) -> Result<()> {
        let op = PlyOp::same(property.item, self.sink.layout.swap);
        if property.count.is_some() {
            return self.list(PlyStore::from_scalar(property.item, "lists"), op);
        }
        let store = self.store(PlyStore::from_scalar(property.item, "a column"))?;
        self.scalar(property, store, 0, op)?;
        try_push(&mut self.homes, PlyTablesHome::Store(store), "columns")
    }

    /// Stores the next property as a part of each item of a store.
    pub(super) fn part(&mut self, property: &Property, store: usize, to: usize, op: PlyOp) -> Result<()> {
        self.scalar(property, store, to, op)?;
        try_push(&mut self.homes, PlyTablesHome::Elsewhere, "columns")
    }

    /// Skips the next property, which must not be a list.
    pub(super) fn skip(&mut self, property: &Property) -> Result<()> {
        self.at += property.item.bytes();
        try_push(&mut self.homes, PlyTablesHome::Elsewhere, "columns")
    }

    /// Stores the next property, a list, with its values in `values`.
    pub(super) fn list(&mut self, values: PlyStore, op: PlyOp) -> Result<()> {
        let offsets = polyhaul_pipeline::column::Column::new("list offsets");
        try_push(&mut self.sink.lists, ListSink { offsets, values, op }, "columns")?;
        self.gap += 1;
        self.at = 0;
        try_push(&mut self.homes, PlyTablesHome::List(self.sink.lists.len() - 1), "columns")
    }

    /// Fills offset `to` of every item of a store with `value`.
    pub(super) fn fill(&mut self, store: usize, to: usize, value: f32) -> Result<()> {
        let step = Move { gap: 0, at: 0, store, to, op: PlyOp::Fill(value) };
        try_push(&mut self.sink.moves, step, "columns")
    }

    fn scalar(&mut self, property: &Property, store: usize, to: usize, op: PlyOp) -> Result<()> {
        let step = Move { gap: self.gap, at: self.at, store, to, op };
        self.at += property.item.bytes();
        // Numbers that are adjacent in the row and in the store are moved together.
        if let Some(last) = self.sink.moves.last_mut()
            && (last.gap, last.store) == (step.gap, store)
            && last.at + last.op.source_bytes() == step.at
            && last.to + last.op.target_bytes() == to
            && let Some(op) = last.op.joined(step.op)
        {
            last.op = op;
            return Ok(());
        }
        try_push(&mut self.sink.moves, step, "columns")
    }
}

/// Creates a sink for the requested columns of an element. Lists are always included.
pub(super) fn sink(
    element: &Element,
    swap: bool,
    wants: impl Fn(&str) -> bool,
) -> Result<(PlySink, Vec<PlyTablesHome>)> {
    let mut builder = PlyBuilder::new(element, swap)?;
    for property in &element.properties {
        let is_kept = property.count.is_some() || wants(&property.name);
        if is_kept { builder.keep(property)? } else { builder.skip(property)? }
    }
    Ok((builder.sink, builder.homes))
}

/// Returns the columns of an element that have their own stores and lists, in file order.
///
/// # Safety
/// All rows of the element were published to these stores and lists, with as many list values as `outcome` counts.
pub(super) unsafe fn columns(
    element: &Element,
    stores: &mut [Option<PlyStore>],
    lists: &mut [Option<ListSink>],
    homes: &[PlyTablesHome],
    outcome: &PlyOutcome,
) -> Result<Vec<Column>> {
    let rows = element.count as usize;
    let mut columns = Vec::new();
    for (property, home) in element.properties.iter().zip(homes) {
        let (values, offsets) = match *home {
            PlyTablesHome::Elsewhere => continue,
            PlyTablesHome::Store(store) => match stores.get_mut(store).and_then(Option::take) {
                // SAFETY: a value for each of the `rows` rows was written, by this function's contract.
                Some(store) => (unsafe { store.values(property.item, rows) }, None),
                None => continue,
            },
            PlyTablesHome::List(list) => match lists.get_mut(list).and_then(Option::take) {
                Some(sink) => {
                    let total = outcome.totals.get(list).copied().unwrap_or(0) as usize;
                    // SAFETY: `total` values, and an offset for each row with the 0 before them, were written, by this
                    // function's contract.
                    let (values, offsets) =
                        unsafe { (sink.values.values(property.item, total), offsets(sink.offsets, rows)?) };
                    (values, Some(offsets.into()))
                }
                None => continue,
            },
        };
        try_push(&mut columns, Column { name: try_string(&property.name)?, values, offsets }, "columns")?;
    }
    Ok(columns)
}

/// Returns the offsets of `rows` lists.
///
/// # Safety
/// If `rows` is not 0, the first `rows + 1` offsets were written.
pub(super) unsafe fn offsets(column: polyhaul_pipeline::column::Column<u32>, rows: usize) -> Result<Vec<u32>> {
    // The first 0 is written with the first rows, so without rows it is missing.
    if rows == 0 {
        let mut none = Vec::new();
        try_push(&mut none, 0, "list offsets")?;
        return Ok(none);
    }
    // SAFETY: `rows` is not 0 here, so `rows + 1` offsets were written, by this function's contract.
    Ok(unsafe { column.finish(rows + 1) })
}

/// Stores and lists of a sink, each to be taken once.
pub(super) type PlyParts = (Vec<Option<PlyStore>>, Vec<Option<ListSink>>);

/// Splits a sink into its parts.
pub(super) fn parts(sink: PlySink) -> Result<PlyParts> {
    let mut stores = Vec::new();
    let mut lists = Vec::new();
    stores.try_reserve_exact(sink.stores.len())?;
    stores.extend(sink.stores.into_iter().map(Some));
    lists.try_reserve_exact(sink.lists.len())?;
    lists.extend(sink.lists.into_iter().map(Some));
    Ok((stores, lists))
}

/// Returns an element as a table.
///
/// # Safety
/// All of its rows were published.
pub(super) unsafe fn table(
    element: &Element,
    sink: PlySink,
    homes: &[PlyTablesHome],
    outcome: &PlyOutcome,
) -> Result<Table> {
    let (mut stores, mut lists) = parts(sink)?;
    // SAFETY: the caller upholds this function's contract, which `columns` requires for the same stores and lists.
    let mut columns = unsafe { columns(element, &mut stores, &mut lists, homes, outcome)? };
    let mut row_count = element.count as usize;
    if !outcome.left_out.is_empty() {
        row_count = repair::drop_rows(columns.iter_mut(), &outcome.left_out, row_count)?;
    }
    Ok(Table { name: try_string(&element.name)?, row_count, columns })
}

/// Pairs elements with their sinks.
pub(super) fn targets<'a>(elements: &'a [Element], sinks: &'a [PlySink]) -> Result<Vec<PlyRowsTarget<'a>>> {
    let mut targets = Vec::new();
    targets.try_reserve_exact(elements.len())?;
    targets.extend(elements.iter().zip(sinks).map(|(element, sink)| PlyRowsTarget { element, sink, pieces: None }));
    Ok(targets)
}
