//! Stores the numbers of an element from blocks of rows.
//!
//! Blocks are published in parallel: each has its own slots in the arrays, reserved beforehand. The builder of a sink
//! decides what rows mean: [`super::tables`] keeps everything unchanged, [`super::scene`] makes meshes.
//!
//! Three invariants hold for every sink, and the unsafe code here relies on them:
//!
//! - A [`Move`] reads inside its gap and writes inside an item of its store, since `tables::PlyBuilder` adds up their
//!   sizes.
//! - The items of a list's values have the size that its operation writes.
//! - A list property has at most 2^32 - 2 values in total, which the jobs check before they reserve slots.

use super::layout::{PlyLayout, PlyShape, RowEnd};
use super::scatter::{Even, From, PlyListed, PlyOp, PlyScatterTarget, PlyTo, Starts, items, run};
use super::store::{Pinned, PlyStore};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::warnings::is_kept;
use polyhaul_pipeline::column::Column;
use std::ops::Range;

/// Destination of an element's rows.
pub(super) struct PlySink {
    pub(super) layout: PlyLayout,
    /// Arrays with one item per row.
    pub(super) stores: Vec<PlyStore>,
    /// Moves of the numbers outside of lists.
    pub(super) moves: Vec<Move>,
    /// Lists of a row.
    pub(super) lists: Vec<ListSink>,
    pub(super) check: Option<Check>,
}

/// Moves adjacent numbers of a row into an item of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// Index of the gap, and offset in it.
    pub(super) gap: usize,
    pub(super) at: usize,
    /// Index of the store, and offset in its items.
    pub(super) store: usize,
    pub(super) to: usize,
    pub(super) op: PlyOp,
}

/// Destination of a list property.
pub(super) struct ListSink {
    /// End of each list, after a leading 0.
    pub(super) offsets: Column<u32>,
    pub(super) values: PlyStore,
    /// Operation on each number.
    pub(super) op: PlyOp,
}

/// A check that indices are below a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    pub(super) of: PlyChecked,
    /// Type of the indices in the file.
    pub(super) scalar: Scalar,
    /// Number of elements that indices refer to.
    pub(super) limit: u32,
    /// Whether -1 is a valid restart marker.
    pub(super) restarts: bool,
    /// Minimum length of a valid list.
    pub(super) least: u32,
}

/// The numbers to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyChecked {
    /// The indices in the list at this index.
    List(usize),
    /// The pairs in the store at this index.
    Pairs(usize),
}

/// Consecutive rows of an element.
pub(super) struct PlySinkBlock<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) rows: usize,
    /// Index of the first row in its element.
    pub(super) first_row: u64,
    /// Number of values of each list before the block.
    pub(super) bases: &'a [u64],
    /// Number of values of each list in the block. Unused if `shape` is known.
    pub(super) totals: &'a [u64],
    pub(super) shape: Option<&'a PlyShape>,
}

/// Findings of publishing.
#[derive(Debug, Default)]
pub(super) struct SinkFound {
    /// First row whose list counts differ from the shape: this row and all later ones were not published.
    pub(super) mismatch: Option<u64>,
    /// Whether a number was rounded.
    pub(super) rounded: bool,
    /// First flaws of rows.
    pub(super) flaws: Vec<Flaw>,
    /// Number of other rows with an out-of-range index, and of other rows that are too short.
    pub(super) more: [u64; 2],
}

/// An invalid value in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flaw {
    pub(super) row: u64,
    /// Offset of the number, or of the count of a short list, in the block.
    pub(super) at: usize,
    /// Index of the number in the list or pair; `u32::MAX` for the list as a whole.
    pub(super) item: u32,
    pub(super) kind: FlawKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlawKind {
    /// An out-of-range index, as converted.
    Index(u32),
    /// A list of too few numbers, with its length.
    Short(u32),
}

/// Starts of lists and gaps in rows of varying size; reused memory.
#[derive(Default)]
pub(super) struct PlyScratch {
    /// Maximum number of rows.
    capacity: usize,
    gaps: Vec<u32>,
    starts: Vec<u32>,
    counts: Vec<u32>,
}

/// Bytes of rows per step. Every [`Move`] loops over the rows of a step, so the rows must stay in the L1 cache; 24 KiB
/// leave space in it for the output.
const TURN_BYTES: usize = 24 << 10;
/// Maximum number of walked rows per step.
const TURN_ROWS: usize = 512;

impl PlySink {
    /// Creates an empty sink for the same lists, but without stores.
    pub(super) fn of_lists(&self) -> Result<PlySink> {
        let layout = self.layout.clone();
        let check = self.check;
        let mut lists = Vec::new();
        lists.try_reserve_exact(self.lists.len())?;
        lists.extend(self.lists.iter().map(|list| ListSink {
            offsets: Column::new("list offsets"),
            values: list.values.emptied(),
            op: list.op,
        }));
        Ok(PlySink { layout, stores: Vec::new(), moves: Vec::new(), lists, check })
    }

    /// Reserves slots for this total number of rows.
    pub(super) fn reserve_rows(&self, rows: u64) -> Result<()> {
        let rows = usize::try_from(rows).map_err(|_| Error::memory("rows"))?;
        self.stores.iter().try_for_each(|store| store.reserve(rows))?;
        self.lists.iter().try_for_each(|list| list.offsets.reserve(rows + 1))
    }

    /// Reserves slots for these total numbers of list values.
    pub(super) fn reserve_values(&self, totals: &[u64]) -> Result<()> {
        for (list, &total) in self.lists.iter().zip(totals) {
            list.values.reserve(usize::try_from(total).map_err(|_| Error::memory("lists"))?)?;
        }
        Ok(())
    }

    /// Returns whether the number at offset `at` of a row without lists is stored only as f32.
    pub(super) fn narrows(&self, at: usize) -> bool {
        let takes = |step: &&Move| (step.at..step.at + step.op.source_bytes()).contains(&at);
        let is_float = |step: &Move| {
            matches!(step.op, PlyOp::Convert { to: PlyScatterTarget::Float | PlyScatterTarget::Unit, .. })
        };
        self.moves.iter().filter(takes).all(is_float)
    }

    /// Returns the offset in a row without lists of number `item`, of `bytes` bytes, of a store's items.
    fn offset_in_row(&self, store: usize, item: u32, bytes: usize) -> usize {
        let to = 4 * item as usize;
        let is_source = |step: &&Move| step.store == store && (step.to..step.to + step.op.target_bytes()).contains(&to);
        self.moves.iter().find(is_source).map_or(0, |step| step.at + (to - step.to) / 4 * bytes)
    }

    /// Stores a block's numbers in the arrays. Slots for them must have been reserved.
    ///
    /// # Safety
    /// No other thread may use the slots of the block's rows, or the slots of its list values (starting at `bases`),
    /// while this runs.
    pub(super) unsafe fn publish(&self, block: &PlySinkBlock<'_>, scratch: &mut PlyScratch) -> Result<SinkFound> {
        // SAFETY: all three calls require what this function's contract ensures.
        let turns = unsafe {
            let mut turns = Turns::new(self, block, scratch)?;
            match block.shape {
                Some(shape) => turns.even(shape)?,
                None => turns.walked()?,
            }
            turns
        };
        Ok(turns.findings)
    }
}

/// A block being published.
struct Turns<'a, 's> {
    sink: &'a PlySink,
    block: &'a PlySinkBlock<'a>,
    scratch: &'s mut PlyScratch,
    stores: Vec<Pinned<'a>>,
    lists: Vec<HeldList<'a>>,
    findings: SinkFound,
}

/// A block's slots in a list's arrays.
struct HeldList<'a> {
    /// Ends of the block's lists.
    offsets: polyhaul_pipeline::column::pin::PinnedColumn<'a, u32>,
    values: Pinned<'a>,
    /// Number of values in earlier blocks, number of values of this block published so far, and total number of values
    /// in this block.
    base: u64,
    done: u64,
    total: u64,
    item_bytes: usize,
}

fn range(start: u64, count: u64) -> Result<Range<usize>> {
    let end = start.checked_add(count).and_then(|end| usize::try_from(end).ok());
    let end = end.ok_or_else(|| Error::memory("rows"))?;
    Ok(start as usize..end)
}

/// Internal error: the announced and the actual counts differ.
fn internal() -> Error {
    Error::new(ErrorKind::Internal, "a block of rows differs from its announcement")
}

impl<'a, 's> Turns<'a, 's> {
    /// # Safety
    /// As for [`PlySink::publish`].
    unsafe fn new(sink: &'a PlySink, block: &'a PlySinkBlock<'a>, scratch: &'s mut PlyScratch) -> Result<Self> {
        let rows = range(block.first_row, block.rows as u64)?;
        let mut stores = Vec::new();
        let mut lists = Vec::new();
        stores.try_reserve_exact(sink.stores.len())?;
        for store in &sink.stores {
            // SAFETY: these are slots of the block's rows.
            stores.push(unsafe { store.pin(rows.clone()) }?);
        }
        lists.try_reserve_exact(sink.lists.len())?;
        for (number, list) in sink.lists.iter().enumerate() {
            let base = block.bases.get(number).copied().unwrap_or(0);
            let total = match block.shape {
                Some(shape) => u64::from(shape.counts[number].1) * block.rows as u64,
                None => block.totals.get(number).copied().unwrap_or(0),
            };
            // SAFETY: these are slots of the block's rows and of their values.
            let (offsets, values) =
                unsafe { (list.offsets.pin(rows.start + 1..rows.end + 1)?, list.values.pin(range(base, total)?)?) };
            if rows.start == 0 {
                // SAFETY: `offsets` starts at slot 1 here, so slot 0 is before it, in the same allocation. It belongs
                // to the first row, which is this block's.
                unsafe { offsets.start().sub(1).write(0) };
            }
            let item_bytes = list.values.item_bytes();
            lists.push(HeldList { offsets, values, base, done: 0, total, item_bytes });
        }
        Ok(Turns { sink, block, scratch, stores, lists, findings: SinkFound::default() })
    }

    /// Publishes rows of one size.
    ///
    /// # Safety
    /// As for [`PlySink::publish`].
    unsafe fn even(&mut self, shape: &PlyShape) -> Result<()> {
        let step = shape.row_bytes;
        if self.block.rows.checked_mul(step) != Some(self.block.bytes.len()) {
            return Err(internal());
        }
        let turn_rows = (TURN_BYTES / step.max(1)).max(1);
        let mut row = 0;
        while row < self.block.rows {
            let announced = turn_rows.min(self.block.rows - row);
            let first = row * step;
            let rows = shape.agreeing(&self.sink.layout, &self.block.bytes[first..], announced);
            // SAFETY: `rows * step == bytes.len()` was checked for all rows, so these are inside `bytes`, and
            // `agreeing` found the shape's counts in each. Only this block uses the slots.
            unsafe {
                for step in &self.sink.moves {
                    let starts = Even { first: first + shape.gap_starts[step.gap], step: shape.row_bytes };
                    self.go(step, starts, row, rows);
                }
                for list in 0..self.lists.len() {
                    self.even_lists(shape, list, first, row, rows);
                }
            }
            self.check(row, rows, |number, row| first + row * step + shape.counts[number].0)?;
            row += rows;
            if rows < announced {
                self.findings.mismatch = Some(self.block.first_row + row as u64);
                break;
            }
        }
        Ok(())
    }

    /// # Safety
    /// `starts` yields `rows` rows whose gap `step.gap` is inside the block, and `row + rows` is at most the block's
    /// rows.
    unsafe fn go<S: Starts>(&mut self, step: &Move, starts: S, row: usize, rows: usize) {
        let item = self.sink.stores[step.store].item_bytes();
        let from = From { bytes: self.block.bytes.as_ptr(), starts, at: step.at, rows };
        // SAFETY: the store is pinned for the block's rows, which include items `row` to `row + rows`. A `Move` stays
        // inside its gap and its item (see the module documentation), and only this block uses the slots.
        unsafe {
            let to = PlyTo { bytes: self.stores[step.store].start().add(row * item + step.to), step: item };
            self.findings.rounded |= run(step.op, from, to);
        }
    }

    /// # Safety
    /// Rows `row` to `row + rows` are inside the block, the first at byte `first`, and their lists have the shape's
    /// counts.
    unsafe fn even_lists(&mut self, shape: &PlyShape, number: usize, first: usize, row: usize, rows: usize) {
        let (at, count) = shape.counts[number];
        let list = &self.sink.lists[number];
        let held = &mut self.lists[number];
        let start = first + at + self.sink.layout.lists[number].count.bytes();
        let wide = count as usize * held.item_bytes;
        let bytes = self.block.bytes.as_ptr();
        let starts = Even { first: start, step: shape.row_bytes };
        // SAFETY: the numbers of each list are inside its row, by this function's contract. For each row of the block,
        // `count` values and one offset are pinned, so both are pinned up to row `row + rows`.
        unsafe {
            let target = held.values.start().add(row * wide);
            match list.op.times(count as usize) {
                _ if count == 0 => {}
                Some(op) => {
                    let to = PlyTo { bytes: target, step: wide };
                    self.findings.rounded |= run(op, From { bytes, starts, at: 0, rows }, to);
                }
                None => {
                    for row in 0..rows {
                        let source = bytes.add(starts.row(row));
                        self.findings.rounded |= items(list.op, source, count as usize, target.add(row * wide));
                    }
                }
            }
            let mut end = (held.base + held.done) as u32;
            for offset in row..row + rows {
                end = end.wrapping_add(count);
                held.offsets.start().add(offset).write(end);
            }
        }
        held.done += u64::from(count) * rows as u64;
    }

    /// Publishes rows of any size.
    ///
    /// # Safety
    /// As for [`PlySink::publish`].
    unsafe fn walked(&mut self) -> Result<()> {
        self.scratch.make_room(&self.sink.layout)?;
        let mut row = 0;
        let mut at = 0;
        while row < self.block.rows {
            let rows = self.scratch.capacity.min(self.block.rows - row);
            at = self.scratch.walk(&self.sink.layout, self.block.bytes, at, rows)?;
            let scratch = std::mem::take(self.scratch);
            // SAFETY: `walk` found each row complete, so gaps and lists are inside `bytes`; the scratch has `capacity`
            // entries for each gap, and `rows` is at most that. Only this block uses the slots.
            unsafe {
                for step in &self.sink.moves {
                    self.go(step, PlyListed(scratch.gaps_of(step.gap)), row, rows);
                }
                for list in 0..self.lists.len() {
                    self.walked_lists(list, &scratch, row, rows)?;
                }
            }
            *self.scratch = scratch;
            let capacity = self.scratch.capacity;
            let count_bytes = self.sink.layout.lists.as_slice();
            let starts = std::mem::take(&mut self.scratch.starts);
            let counted = |number: usize, row: usize| {
                (starts[number * capacity + row] as usize).saturating_sub(count_bytes[number].count.bytes())
            };
            let checked = self.check(row, rows, counted);
            self.scratch.starts = starts;
            checked?;
            row += rows;
        }
        if at == self.block.bytes.len() { Ok(()) } else { Err(internal()) }
    }

    /// # Safety
    /// `scratch` has the starts and counts of the block's rows `row` to `row + rows`, which are complete.
    unsafe fn walked_lists(&mut self, number: usize, scratch: &PlyScratch, row: usize, rows: usize) -> Result<()> {
        let list = &self.sink.lists[number];
        let held = &mut self.lists[number];
        let from = number * scratch.capacity;
        let starts = &scratch.starts[from..from + rows];
        let counts = &scratch.counts[from..from + rows];
        let added: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if held.done + added > held.total {
            return Err(internal());
        }
        let bytes = self.block.bytes.as_ptr();
        // SAFETY: `done + added <= total` was checked, and `total` values are pinned. The numbers of each list are
        // inside `bytes`, since they were walked, and `row + rows` offsets are pinned.
        unsafe {
            let mut target = held.values.start().add(held.done as usize * held.item_bytes);
            let mut end = (held.base + held.done) as u32;
            for (at, (&start, &count)) in starts.iter().zip(counts).enumerate() {
                self.findings.rounded |= items(list.op, bytes.add(start as usize), count as usize, target);
                target = target.add(count as usize * held.item_bytes);
                end = end.wrapping_add(count);
                held.offsets.start().add(row + at).write(end);
            }
        }
        held.done += added;
        Ok(())
    }

    /// Checks the rows that were just written for flaws. `at` returns the offset of a list's count, given the list and
    /// the row.
    fn check(&mut self, row: usize, rows: usize, at: impl Fn(usize, usize) -> usize) -> Result<()> {
        let Some(check) = self.sink.check else { return Ok(()) };
        let bytes = |number: usize| self.sink.layout.lists[number].item.bytes();
        match check.of {
            PlyChecked::List(number) => {
                let held = &self.lists[number];
                // SAFETY: the offsets of rows 0 to `row + rows` of this block were written before this check, and are
                // pinned.
                let ends = unsafe { std::slice::from_raw_parts(held.offsets.start(), row + rows) };
                let first = if row == 0 { held.base as u32 } else { ends[row - 1] };
                let ends = &ends[row..];
                let from = u64::from(first) - held.base;
                let written = ends.last().map_or(0, |end| (end - first) as usize);
                // SAFETY: `written` values, starting at `from`, were written with these rows, and are pinned. Checked
                // lists have a store of `u32`s, so they are aligned. `base` fits 32 bits (at most 2^32 - 2 values), so
                // `from` did not wrap.
                let values = unsafe {
                    std::slice::from_raw_parts(held.values.start().cast::<u32>().add(from as usize), written)
                };
                let mut start = first;
                let too_short = ends.iter().fold(false, |any, &end| {
                    let short = end - start < check.least;
                    start = end;
                    any | short
                });
                if !too_short && check.all_fit(values) {
                    return Ok(());
                }
                let count_bytes = self.sink.layout.lists[number].count.bytes();
                let place = |row: usize, item: u32| at(number, row) + count_bytes + item as usize * bytes(number);
                let mut start = first;
                for (at_row, &end) in ends.iter().enumerate() {
                    let list_values = &values[(start - first) as usize..(end - first) as usize];
                    start = end;
                    let Some((item, kind)) = check.flaw(list_values) else { continue };
                    let row = self.block.first_row + (row + at_row) as u64;
                    let at = if item == u32::MAX { at(number, at_row) } else { place(at_row, item) };
                    self.findings.add(Flaw { row, at, item, kind })?;
                }
            }
            PlyChecked::Pairs(store) => {
                let size = self.block.bytes.len() / self.block.rows.max(1);
                // SAFETY: the pairs of rows `row` to `row + rows` were just written, and are pinned. The store has type
                // `[u32; 2]`, so they are aligned.
                let pairs = unsafe {
                    let start = self.stores[store].start().cast::<u32>().add(2 * row);
                    std::slice::from_raw_parts(start, 2 * rows)
                };
                if check.all_fit(pairs) {
                    return Ok(());
                }
                for (at_row, pair) in pairs.chunks_exact(2).enumerate() {
                    if let Some((item, kind)) = check.flaw(pair) {
                        let at_row = row + at_row;
                        let at = at_row * size + self.sink.offset_in_row(store, item, check.scalar.bytes());
                        self.findings.add(Flaw { row: self.block.first_row + at_row as u64, at, item, kind })?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Check {
    /// Returns whether an index is valid.
    fn fits(&self, value: u32) -> bool {
        value < self.limit || self.restarts && value == u32::MAX
    }

    fn all_fit(&self, values: &[u32]) -> bool {
        // One comparison and no branch per value. Adding 1 turns -1 (all bits set) into 0, which always fits.
        let turned = u32::from(self.restarts);
        let largest = values.iter().fold(0, |largest, value| value.wrapping_add(turned).max(largest));
        values.is_empty() || largest < self.limit.saturating_add(turned)
    }

    /// Returns the flaw of a list, and the index of the invalid number or `u32::MAX` for the list as a whole.
    fn flaw(&self, values: &[u32]) -> Option<(u32, FlawKind)> {
        if (values.len() as u64) < u64::from(self.least) {
            return Some((u32::MAX, FlawKind::Short(values.len() as u32)));
        }
        let at = values.iter().position(|&value| !self.fits(value))?;
        Some((at as u32, FlawKind::Index(values[at])))
    }
}

impl FlawKind {
    /// Warning code.
    pub(super) fn code(&self) -> &'static str {
        match self {
            FlawKind::Index(_) => "index-out-of-range",
            FlawKind::Short(_) => "short-face",
        }
    }
}

impl SinkFound {
    fn add(&mut self, flaw: Flaw) -> Result<()> {
        if is_kept(self.flaws.iter().map(|flaw| flaw.kind.code()), flaw.kind.code()) {
            return polyhaul_model::error::try_push(&mut self.flaws, flaw, "warnings");
        }
        self.more[usize::from(matches!(flaw.kind, FlawKind::Short(_)))] += 1;
        Ok(())
    }
}

impl PlyScratch {
    fn make_room(&mut self, layout: &PlyLayout) -> Result<()> {
        let lists = layout.lists.len();
        self.capacity = ((64 << 10) / lists.max(1)).clamp(1, TURN_ROWS);
        let sizes = [(&mut self.gaps, lists + 1), (&mut self.starts, lists), (&mut self.counts, lists)];
        for (column, count) in sizes {
            let size = count * self.capacity;
            column.try_reserve_exact(size.saturating_sub(column.len()))?;
            column.resize(size, 0);
        }
        Ok(())
    }

    /// Walks rows, starting at `at`; returns the end of the last row.
    fn walk(&mut self, layout: &PlyLayout, bytes: &[u8], at: usize, rows: usize) -> Result<usize> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::Limit, "a row is longer than 4 GiB"));
        }
        let mut at = at;
        for row in 0..rows {
            self.gaps[row] = at as u32;
            let gaps = &mut self.gaps;
            let starts = &mut self.starts;
            let counts = &mut self.counts;
            let capacity = self.capacity;
            let end = layout.walk(bytes, at, |walked| {
                let place = walked.list * capacity + row;
                starts[place] = walked.start as u32;
                counts[place] = walked.count;
                let size = walked.count as usize * layout.lists[walked.list].item.bytes();
                gaps[place + capacity] = (walked.start + size) as u32;
            });
            let RowEnd::Whole(end) = end else { return Err(internal()) };
            at = end;
        }
        Ok(at)
    }

    fn gaps_of(&self, gap: usize) -> &[u32] {
        &self.gaps[gap * self.capacity..(gap + 1) * self.capacity]
    }
}
