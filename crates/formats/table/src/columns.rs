//! The final columns of a table, into which the values of chunks are copied.

use super::head::TableHead;
use super::parse::TableParsed;
use super::typed::{TypedColumn, with_column};
use super::value::{TableHeadKind, Wide, WideColumn};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::ColumnTypes;
use polyhaul_model::{Scalar, Values};
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_text::parse::fields::MAX_EXACT;
use polyhaul_text::parse::grid::{Grid, MAX_COLUMNS};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of grid values that are converted together before they are scattered to columns: 8 KiB of f64s, which stay in
/// the L1 cache.
const GRID_BLOCK: usize = 1024;

/// Memory layout of a table's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One array per column.
    Columns,
    /// One array per column. Positions and normals are f64s, because their digits determine the precision of a mesh.
    Points,
    /// A single array, row by row.
    Rows,
}

/// The arrays of a table while chunks fill them.
pub(super) struct TableColumns {
    layout: Layout,
    /// Number of columns.
    pub(super) count: usize,
    arrays: Vec<TableTarget>,
    /// Whether to count integers that a float array rounds. They are not counted if the caller requested floats.
    counts_rounded: bool,
}

/// An array that chunks fill.
enum TableTarget {
    Typed(TypedColumn),
    /// Integers, followed, from the first chunk with floats on, by the bits of floats.
    Auto(Column<i64>),
}

/// The values of a chunk for one array: every `step`-th value, starting at `first`.
#[derive(Clone, Copy)]
struct TableColumnsLane {
    first: usize,
    step: usize,
}

/// The form in which each array is stored, determined in order.
#[derive(Default)]
pub(super) struct ArrayForms(Vec<ArrayForm>);

/// The form in which an array is stored.
#[derive(Clone, Default)]
struct ArrayForm {
    /// Index of the first value that is stored as a float.
    floats_from: Option<usize>,
    /// Ranges of values before `floats_from` that are stored as u64s, because a value in each range does not fit in an
    /// i64.
    unsigned: Vec<Range<usize>>,
    /// Number of integers that were rounded to floats.
    rounded: u64,
}

/// The values of an array, and the number of integers that were rounded.
pub(super) struct FinishedArray {
    pub(super) values: Values,
    pub(super) rounded: u64,
}

impl TableColumns {
    pub(super) fn new(head: &TableHead, layout: Layout, types: &ColumnTypes) -> Result<TableColumns> {
        let kinds = match layout {
            Layout::Columns | Layout::Points => &head.kinds[..],
            // All columns have the same type, which `reader::read` ensures.
            Layout::Rows => head.kinds.get(..1).unwrap_or_default(),
        };
        let mut arrays = Vec::new();
        for &kind in kinds {
            try_push(&mut arrays, TableTarget::new(kind), "columns")?;
        }
        Ok(TableColumns { layout, count: head.columns(), arrays, counts_rounded: *types == ColumnTypes::Auto })
    }

    /// Returns the number of values per row in an array.
    fn width(&self) -> usize {
        match self.layout {
            Layout::Columns | Layout::Points => 1,
            Layout::Rows => self.count,
        }
    }

    /// Reserves space for `rows` rows in total.
    pub(super) fn reserve(&self, rows: usize) -> Result<()> {
        self.arrays.iter().try_for_each(|array| array.reserve(rows.saturating_mul(self.width())))
    }

    /// Determines which arrays store the values of the chunk that starts at `row` as floats. Writes the result to
    /// `is_float`.
    pub(super) fn settle(
        &self,
        row: usize,
        parsed: &TableParsed,
        forms: &mut ArrayForms,
        is_float: &mut Vec<bool>,
    ) -> Result<()> {
        let ArrayForms(forms) = forms;
        if forms.len() < self.arrays.len() {
            forms.try_reserve_exact(self.arrays.len())?;
            forms.resize(self.arrays.len(), ArrayForm::default());
        }
        is_float.clear();
        is_float.try_reserve(self.arrays.len())?;
        for (array, form) in forms.iter_mut().enumerate() {
            let mut has_floats = match self.layout {
                Layout::Columns | Layout::Points => parsed.has_floats[array],
                Layout::Rows => parsed.has_floats.contains(&true),
            };
            let wide = self.wide_column(array, parsed);
            if !has_floats && form.floats_from.is_none() && wide.has_unsigned {
                // No integer type can hold both negative integers and integers above `i64::MAX`.
                has_floats = wide.has_negative;
                if !has_floats {
                    let end = row + parsed.row_count;
                    try_push(&mut form.unsigned, row * self.width()..end * self.width(), "columns")?;
                }
            }
            if has_floats {
                form.floats_from.get_or_insert(row * self.width());
            }
            let is_stored_as_float = form.floats_from.is_some() || self.arrays[array].is_float();
            if is_stored_as_float && self.counts_rounded {
                form.rounded += wide.rounded;
            }
            is_float.push(form.floats_from.is_some());
        }
        Ok(())
    }

    /// Returns the statistics of a chunk's wide integers in an array.
    fn wide_column(&self, array: usize, parsed: &TableParsed) -> WideColumn {
        let columns = &parsed.wide_columns;
        match self.layout {
            Layout::Columns | Layout::Points => columns.get(array).copied().unwrap_or_default(),
            Layout::Rows => columns.iter().copied().fold(WideColumn::default(), WideColumn::with),
        }
    }

    /// Returns the lane with the values of a chunk that belong to an array.
    fn lane(&self, array: usize) -> TableColumnsLane {
        match self.layout {
            Layout::Columns | Layout::Points => TableColumnsLane { first: array, step: self.count },
            Layout::Rows => TableColumnsLane { first: 0, step: 1 },
        }
    }

    /// Copies the values of a chunk into `rows`.
    ///
    /// # Safety
    /// No other thread uses the slots of `rows`, and `parsed` has the same number of rows.
    pub(super) unsafe fn publish(
        &self,
        rows: Range<usize>,
        parsed: &TableParsed,
        is_float: &[bool],
        f32s: bool,
    ) -> Result<()> {
        let width = self.width();
        let range = rows.start * width..rows.end * width;
        let count = rows.len() * self.count;
        for (number, array) in self.arrays.iter().enumerate() {
            let lane = self.lane(number);
            // SAFETY: only this chunk uses the slots of `rows`, by this function's contract; `range` is these rows of
            // the array.
            unsafe {
                match array {
                    TableTarget::Typed(TypedColumn::F32(column)) if f32s => {
                        let values = &parsed.singles[..count];
                        column.write(range.clone(), |slots| lane.fill(slots, values, |value| value))?;
                    }
                    _ => array.write(range.clone(), lane, &parsed.doubles[..count], &parsed.wides, is_float[number])?,
                }
            }
        }
        Ok(())
    }

    /// Converts the values of a grid chunk into the columns. If there is only one array, they are not copied.
    ///
    /// # Safety
    /// No other thread uses the slots of `rows`, and `grid` has the same number of rows.
    pub(super) unsafe fn publish_grid(&self, rows: Range<usize>, padded: &[u8], grid: &Grid) -> Result<()> {
        let step = match self.arrays.len() {
            0 | 1 => rows.len(),
            _ => GRID_BLOCK / self.count.clamp(1, MAX_COLUMNS),
        };
        let mut row = rows.start;
        while row < rows.end {
            let end = rows.end.min(row + step);
            let first = (row - rows.start) * self.count;
            // SAFETY: `row..end` is a part of `rows`, and only this chunk uses the slots of `rows`, by this function's
            // contract.
            unsafe {
                match &self.arrays[..] {
                    [array] => array.write_grid(row * self.width()..end * self.width(), padded, first, grid)?,
                    _ => self.publish_block(row..end, padded, first, grid)?,
                }
            }
            row = end;
        }
        Ok(())
    }

    /// Converts a block of rows, whose values start at `first`, and scatters the values to the columns.
    ///
    /// # Safety
    /// No other thread may use the slots of `rows`, which have at most [`GRID_BLOCK`] values.
    unsafe fn publish_block(&self, rows: Range<usize>, padded: &[u8], first: usize, grid: &Grid) -> Result<()> {
        let count = rows.len() * self.count;
        let mut singles = [MaybeUninit::uninit(); GRID_BLOCK];
        let mut doubles = [MaybeUninit::uninit(); GRID_BLOCK];
        let singles = &mut singles[..count];
        let doubles = &mut doubles[..count];
        match self.arrays.first() {
            Some(TableTarget::Typed(TypedColumn::F32(_))) => grid.f32s(padded, first, singles),
            _ => grid.f64s(padded, first, doubles),
        }
        for (number, array) in self.arrays.iter().enumerate() {
            let lane = TableColumnsLane { first: number, step: self.count };
            let rows = rows.clone();
            // SAFETY: only this chunk uses the slots, by this function's contract. A grid is parsed only if either all
            // columns are f32s or none is (`is_fit` in `parse.rs`), so all values for these arrays were just written.
            unsafe {
                match array {
                    TableTarget::Typed(TypedColumn::F32(column)) => {
                        column.write(rows, |slots| lane.fill(slots, singles, |value| value.assume_init()))?;
                    }
                    TableTarget::Typed(TypedColumn::F64(column)) => {
                        column.write(rows, |slots| lane.fill(slots, doubles, |value| value.assume_init()))?;
                    }
                    TableTarget::Auto(column) => column.write(rows, |slots| {
                        lane.fill(slots, doubles, |value| value.assume_init().to_bits() as i64);
                    })?,
                    TableTarget::Typed(_) => return Err(no_floats()),
                }
            }
        }
        Ok(())
    }

    /// Returns the finished arrays, with this many rows.
    ///
    /// # Safety
    /// The first `rows` rows were all published.
    pub(super) unsafe fn finish(self, rows: usize, forms: ArrayForms, run: &RunOptions) -> Result<Vec<FinishedArray>> {
        let count = rows * self.width();
        let mut finished = Vec::new();
        let mut forms = forms.0.into_iter();
        for array in self.arrays {
            let form = forms.next().unwrap_or_default();
            // SAFETY: an array has `width` values per row, so `count` values were written, by this function's contract.
            try_push(&mut finished, unsafe { array.finish(count, form, run) }, "columns")?;
        }
        Ok(finished)
    }
}

/// Creates the internal error for floats in integer columns. It cannot occur: the values of grids have decimal points,
/// so the parser creates no grid if there are integer columns.
fn no_floats() -> Error {
    Error::new(ErrorKind::Internal, "an integer column cannot store floats")
}

impl TableTarget {
    fn new(kind: TableHeadKind) -> TableTarget {
        match kind {
            TableHeadKind::Auto => TableTarget::Auto(Column::new("a column")),
            TableHeadKind::F32 => TableTarget::Typed(TypedColumn::new(Scalar::F32)),
            TableHeadKind::F64 => TableTarget::Typed(TypedColumn::new(Scalar::F64)),
            TableHeadKind::Integer(scalar) => TableTarget::Typed(TypedColumn::new(scalar)),
        }
    }

    /// Whether the array has a float type from the start.
    fn is_float(&self) -> bool {
        matches!(self, TableTarget::Typed(TypedColumn::F32(_) | TypedColumn::F64(_)))
    }

    fn reserve(&self, count: usize) -> Result<()> {
        match self {
            TableTarget::Typed(column) => column.reserve(count),
            TableTarget::Auto(column) => column.reserve(count),
        }
    }

    /// Copies the values of a lane.
    ///
    /// # Safety
    /// No other thread uses the slots of `range`.
    unsafe fn write(
        &self,
        range: Range<usize>,
        lane: TableColumnsLane,
        values: &[f64],
        wides: &[Wide],
        is_float: bool,
    ) -> Result<()> {
        let column = match self {
            // SAFETY: only this chunk uses the slots of `range`, by this function's contract.
            TableTarget::Typed(column) => unsafe {
                return with_column!(column, column => column.write(range, |slots| lane.put(slots, values, wides)));
            },
            TableTarget::Auto(column) => column,
        };
        // SAFETY: only this chunk uses the slots of `range`, by this function's contract.
        unsafe {
            if is_float {
                column.write(range, |slots| lane.fill(slots, values, |value| value.to_bits() as i64))
            } else {
                column.write(range, |slots| lane.put(slots, values, wides))
            }
        }
    }

    /// Converts the values of a grid, starting at `first`, into the slots of `range`.
    ///
    /// # Safety
    /// No other thread uses the slots of `range`.
    unsafe fn write_grid(&self, range: Range<usize>, padded: &[u8], first: usize, grid: &Grid) -> Result<()> {
        // SAFETY: only this chunk uses the slots of `range`, by this function's contract.
        unsafe {
            match self {
                TableTarget::Typed(TypedColumn::F32(column)) => {
                    column.write(range, |out| grid.f32s(padded, first, out))
                }
                TableTarget::Typed(TypedColumn::F64(column)) => {
                    column.write(range, |out| grid.f64s(padded, first, out))
                }
                TableTarget::Auto(column) => column.write(range, |out| {
                    const { assert!(align_of::<i64>() == align_of::<f64>()) };
                    // SAFETY: `out` is a slice of the same number of `MaybeUninit<i64>`s, which have the size of f64s
                    // and, as checked above, their alignment. Any bits are valid in a `MaybeUninit`.
                    let out = slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len());
                    grid.f64s(padded, first, out);
                }),
                TableTarget::Typed(_) => Err(no_floats()),
            }
        }
    }

    /// # Safety
    /// The first `count` values must have been written.
    unsafe fn finish(self, count: usize, form: ArrayForm, run: &RunOptions) -> FinishedArray {
        // SAFETY: the caller upholds the contract of `Column::finish` and `TypedColumn::finish`, which is the same.
        unsafe {
            match self {
                TableTarget::Typed(column) => FinishedArray { values: column.finish(count), rounded: form.rounded },
                TableTarget::Auto(column) => finished_auto(column.finish(count), form, run),
            }
        }
    }
}

/// A number that a column stores.
trait TableStored: Copy {
    /// Converts an f64. The conversion is exact, except for f32.
    fn from_f64(value: f64) -> Self;
    /// Converts an integer that fits.
    fn of_wide(wide: i128) -> Self;
}

/// Finishes a column whose type depends on its values.
fn finished_auto(values: Vec<i64>, form: ArrayForm, run: &RunOptions) -> FinishedArray {
    let ArrayForm { floats_from, unsigned, rounded } = form;
    if floats_from.is_none() && !values.is_empty() {
        if unsigned.is_empty() {
            return FinishedArray { values: Values::I64(values.into()), rounded };
        }
        if !has_negative(&values, &unsigned) {
            return FinishedArray { values: Values::U64(as_bits::<u64>(values).into()), rounded };
        }
    }
    let integers_end = floats_from.unwrap_or(values.len());
    let (values, newly_rounded) = floats(values, integers_end, &unsigned, run);
    FinishedArray { values: Values::F64(values.into()), rounded: rounded + newly_rounded }
}

/// Whether there is a negative value outside the ranges `unsigned`, which are ascending.
fn has_negative(values: &[i64], unsigned: &[Range<usize>]) -> bool {
    let starts = std::iter::once(0).chain(unsigned.iter().map(|range| range.end));
    let ends = unsigned.iter().map(|range| range.start).chain([values.len()]);
    starts.zip(ends).any(|(start, end)| values[start..end].iter().any(|value| *value < 0))
}

macro_rules! stored {
    ($($type:ty),*) => {$(
        impl TableStored for $type {
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn of_wide(wide: i128) -> Self {
                wide as $type
            }
        }
    )*};
}
stored!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// Converts values to floats in place: integers up to `from`, followed by the bits of floats. The integers in
/// `unsigned` are u64s. Also returns the number of integers that were rounded.
fn floats(mut values: Vec<i64>, from: usize, unsigned: &[Range<usize>], run: &RunOptions) -> (Vec<f64>, u64) {
    let is_rounded_signed = |exact: i64, nearest: f64| nearest as i128 != i128::from(exact);
    let signed = |bits: i64| {
        let nearest = bits as f64;
        (nearest, bits.unsigned_abs() > MAX_EXACT && is_rounded_signed(bits, nearest))
    };
    let unsigned_of = |bits: i64| {
        let nearest = bits as u64 as f64;
        (nearest, nearest as i128 != i128::from(bits as u64))
    };
    let mut rounded = 0;
    let mut start = 0;
    for range in unsigned {
        rounded += convert(&mut values[start..range.start], run, signed);
        rounded += convert(&mut values[range.clone()], run, unsigned_of);
        start = range.end;
    }
    rounded += convert(&mut values[start..from], run, signed);
    (as_bits(values), rounded)
}

/// Replaces integers with the bits of floats. `nearest` returns the float and whether it is rounded. Returns the number
/// of integers that were rounded.
fn convert(integers: &mut [i64], run: &RunOptions, nearest: impl Fn(i64) -> (f64, bool) + Sync) -> u64 {
    /// Values per parallel step.
    const PIECE: usize = 1 << 16;
    let rounded = AtomicU64::new(0);
    let work = |(): &mut (), piece: &mut [i64]| {
        let mut rounded_here = 0;
        for value in piece {
            let (float, is_rounded) = nearest(*value);
            rounded_here += u64::from(is_rounded);
            *value = float.to_bits() as i64;
        }
        rounded.fetch_add(rounded_here, Ordering::Relaxed);
    };
    for_each_item(run.worker_threads(), integers.chunks_mut(PIECE), || (), work);
    rounded.into_inner()
}

/// A 64-bit type for which all bits are valid.
trait TableWord {}

impl TableWord for u64 {}

impl TableWord for f64 {}

/// Reinterprets the bits as another type.
fn as_bits<T: TableWord>(values: Vec<i64>) -> Vec<T> {
    const { assert!(align_of::<i64>() == align_of::<T>() && size_of::<i64>() == size_of::<T>()) };
    let mut values = ManuallyDrop::new(values);
    // SAFETY: pointer, length and capacity come from a vector that `ManuallyDrop` does not free. Both types have the
    // same size and alignment, as checked above; all bits are valid for a `TableWord`.
    unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
}

impl TableColumnsLane {
    /// Fills all slots with values of the lane.
    fn fill<S: Copy, T>(self, slots: &mut [MaybeUninit<T>], values: &[S], convert: impl Fn(S) -> T) {
        let values = values.get(self.first..).unwrap_or_default();
        // One loop for each common number of columns, so that the compiler unrolls it.
        match self.step {
            1 => fill_with(slots, values.iter(), convert),
            2 => fill_with(slots, values.iter().step_by(2), convert),
            3 => fill_with(slots, values.iter().step_by(3), convert),
            step => fill_with(slots, values.iter().step_by(step), convert),
        }
    }

    /// Fills all slots, then overwrites the slots of integers that f64 may not represent exactly.
    fn put<T: TableStored>(self, slots: &mut [MaybeUninit<T>], values: &[f64], wides: &[Wide]) {
        self.fill(slots, values, T::from_f64);
        for wide in wides {
            let cell = wide.cell as usize;
            if (self.step == 1 || cell % self.step == self.first)
                && let Some(whole) = wide.value()
                && let Some(slot) = slots.get_mut(cell / self.step)
            {
                slot.write(T::of_wide(whole));
            }
        }
    }
}

#[inline(always)]
fn fill_with<'a, S: Copy + 'a, T>(
    slots: &mut [MaybeUninit<T>],
    values: impl Iterator<Item = &'a S>,
    convert: impl Fn(S) -> T,
) {
    for (slot, &value) in slots.iter_mut().zip(values) {
        slot.write(convert(value));
    }
}
