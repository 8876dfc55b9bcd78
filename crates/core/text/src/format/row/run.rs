//! Runs the steps over rows: block by block, in cells if a block's values fit them.

use std::ops::Range;

use super::super::fixed::{self, Real, Scale};
use super::super::pen::{Pen, SLACK};
use super::super::{Page, integer};
use super::build::{Frame, Put, Source, Step};
use super::cells::{CELL_BYTES, Cells, ROWS};
use super::error::RowError;
use super::spec::MAX_WIDTH;
use super::{RowFormat, Rows};

/// The longest number.
const VALUE_BYTES: usize = MAX_WIDTH + 2;

impl Rows<'_> {
    /// Appends rows while they fit, with `CELLS` columns of cells; see [`Rows::write`].
    pub(super) fn run<const CELLS: usize>(&self, page: &mut Page<'_>, rows: Range<usize>) -> Result<usize, RowError> {
        let mut cells = [Cells::EMPTY; CELLS];
        self.fill_constant(&mut cells);
        let start = page.len();
        let mut row = rows.start;
        while row < rows.end {
            let count = (rows.end - row).min(ROWS);
            let ready = self.fill(&mut cells, row, count);
            let done = self.block(page, &cells, ready, row, count);
            match done {
                Block::Refused => {
                    page.len = start;
                    return Err(self.find_refused(row..row + count));
                }
                Block::Rows(0) => break,
                Block::Rows(done) => row += done,
            }
        }
        Ok(row - rows.start)
    }

    /// Fills the cells that are the same in all rows.
    fn fill_constant(&self, cells: &mut [Cells]) {
        for (cells, fill) in cells.iter_mut().zip(&self.format.fills) {
            if let Source::Short(text) = fill.source {
                cells.choose(&[text; 2], &[false; ROWS]);
            }
        }
    }

    /// Fills all other cells; returns a bit for each that is ready.
    fn fill(&self, cells: &mut [Cells], row: usize, count: usize) -> u64 {
        let mut ready = 0;
        for (index, (cells, fill)) in cells.iter_mut().zip(&self.format.fills).enumerate() {
            let Some(column) = self.columns.get(fill.column) else { continue };
            let is_ready = match &fill.source {
                Source::Short(_) => true,
                Source::Choice(texts) => {
                    cells.choose(texts, &column.flags(row, count));
                    true
                }
                Source::F32(filler, frame) => frame.around(filler.fill(&column.reals_f32(row, count), cells), cells),
                Source::Number(filler, frame) => frame.around(filler.fill(&column.reals(row, count), cells), cells),
                // Adding zero removes the sign that -0.5 leaves behind.
                Source::Truncated(filler, frame) => {
                    let values = column.reals(row, count).map(|value| value.trunc() + 0.0);
                    frame.around(filler.fill(&values, cells), cells)
                }
            };
            ready |= u64::from(is_ready) << index;
        }
        ready
    }

    /// Appends rows of a block.
    fn block(&self, page: &mut Page<'_>, cells: &[Cells], ready: u64, row: usize, count: usize) -> Block {
        let steps = &self.format.steps;
        let cells = &cells[..self.format.fills.len().min(cells.len())];
        let all_ready = cells.len() == steps.len() && ready.count_ones() as usize == steps.len();
        let row_bytes = if all_ready { CELL_BYTES * steps.len() } else { self.format.max_bytes };
        let fitting = page.room().saturating_sub(SLACK) / row_bytes.max(1);
        if fitting == 0 {
            return self.careful(page, row, count);
        }
        let count = count.min(fitting);
        // SAFETY: `fitting` counted `row_bytes` for each row and `SLACK`. That is 16 bytes for each cell, or
        // `max_bytes` for all steps of a row. `count` is at most `ROWS`, and `end` came from this page's pen.
        unsafe {
            let mut refused = false;
            let end = if all_ready {
                rows_of_cells(page.pen(), cells, count)
            } else {
                self.rows_of_steps(page.pen(), cells, ready, row..row + count, &mut refused)
            };
            if refused {
                return Block::Refused;
            }
            page.take(end);
        }
        Block::Rows(count)
    }

    /// Stores rows step by step.
    ///
    /// # Safety
    /// `max_bytes` bytes of room for each row, and `SLACK` bytes more.
    unsafe fn rows_of_steps(
        &self,
        mut pen: Pen,
        cells: &[Cells],
        ready: u64,
        rows: Range<usize>,
        refused: &mut bool,
    ) -> Pen {
        for (place, row) in rows.enumerate() {
            for step in &self.format.steps {
                let cell = step.cell.filter(|&cell| ready >> cell & 1 == 1);
                // SAFETY: the steps before took at most their `max_bytes`, so that this one has its own left, and
                // `SLACK`. A cell has the text that the step would write, so it advances as little; it stores 16 bytes,
                // within `SLACK`.
                pen = unsafe {
                    match cell.and_then(|cell| cells.get(usize::from(cell))) {
                        Some(cells) => cells.put(pen, place),
                        None => self.put(pen, step, row, refused),
                    }
                };
            }
        }
        pen
    }

    /// Stores one step of a row.
    ///
    /// # Safety
    /// `step.max_bytes` and `SLACK` bytes of room.
    #[inline(always)]
    unsafe fn put(&self, pen: Pen, step: &Step, row: usize, refused: &mut bool) -> Pen {
        // Texts have no column.
        let column = self.columns.get(step.column);
        // SAFETY: `max_bytes` covers the longest text of each kind of step and `next`. Bytes that are stored past a
        // text are within `SLACK`: 16 for short texts, 1 for integers, as many as `fixed` and `Number::put` state.
        unsafe {
            let pen = match (&step.put, column) {
                (Put::Short(text), _) => text.put(pen),
                (Put::Choice(texts), Some(column)) => texts[usize::from(column.flag(row))].put(pen),
                (Put::Fixed32(scale), Some(column)) => self.fixed(pen, f32::from_ne_bytes(column.get(row)), scale),
                (Put::Fixed64(scale), Some(column)) => self.fixed(pen, f64::from_ne_bytes(column.get(row)), scale),
                (Put::Integer, Some(column)) => {
                    let (negative, magnitude) = column.integer(row);
                    integer::u64(pen.put([b'-'], usize::from(negative)), magnitude)
                }
                (Put::Number(number), Some(column)) => number.put(pen, column, row, refused),
                _ => {
                    let mut pen = pen;
                    self.pieces(step, row, |piece| pen = pen.copy(piece));
                    return pen;
                }
            };
            match step.next {
                Some(next) => pen.put([next], 1),
                None => pen,
            }
        }
    }

    /// Stores a value with fixed digits.
    ///
    /// # Safety
    /// As for [`fixed::fixed`]: room for the text of `value`, and `SLACK` bytes more.
    #[inline(always)]
    unsafe fn fixed<R: Real + PartialEq>(&self, pen: Pen, value: R, scale: &Scale) -> Pen {
        #[allow(clippy::eq_op)]
        if value != value && !self.format.keeps_nan_sign {
            // SAFETY: `nan` is three bytes, which `SLACK` has.
            return unsafe { pen.copy(b"nan") };
        }
        // SAFETY: the room that `fixed` requires is this function's condition.
        unsafe { fixed::fixed(pen, value, scale) }
    }

    /// Passes on the texts that may be long.
    fn pieces(&self, step: &Step, row: usize, mut piece: impl FnMut(&[u8])) {
        let texts = |range: &Range<usize>| self.format.texts.get(range.clone()).unwrap_or_default();
        match (&step.put, self.columns.get(step.column)) {
            (Put::Long(text), _) => piece(texts(text)),
            (Put::LongChoice(choice), Some(column)) => piece(texts(&choice[usize::from(column.flag(row))])),
            (Put::Text(text), Some(column)) => text.pieces(column, row, piece),
            _ => {}
        }
    }

    /// Appends rows one by one near the end of the page, while they fit.
    #[cold]
    #[inline(never)]
    fn careful(&self, page: &mut Page<'_>, row: usize, count: usize) -> Block {
        let before = page.overflowed;
        for done in 0..count {
            let mut refused = false;
            let start = page.len;
            page.overflowed = false;
            for step in &self.format.steps {
                self.put_if_it_fits(page, step, row + done, &mut refused);
            }
            let fitted = !std::mem::replace(&mut page.overflowed, before);
            if refused {
                return Block::Refused;
            }
            if !fitted {
                page.len = start;
                return Block::Rows(done);
            }
        }
        Block::Rows(count)
    }

    /// Appends one step of a row, by way of a separate buffer.
    fn put_if_it_fits(&self, page: &mut Page<'_>, step: &Step, row: usize, refused: &mut bool) {
        if matches!(step.put, Put::Long(_) | Put::LongChoice(_) | Put::Text(_)) {
            return self.pieces(step, row, |piece| page.bytes(piece));
        }
        let mut scratch = [0u8; VALUE_BYTES + SLACK];
        let start = Pen::new(scratch.as_mut_ptr());
        // SAFETY: texts and bytes of any length have returned above. A number has at most max(400, 1 + 309 + 1 + 60)
        // bytes and one that follows, a short text 16: within `VALUE_BYTES`, and `SLACK` is behind them.
        let length = unsafe { self.put(start, step, row, refused) }.since(start);
        page.bytes(&scratch[..length]);
    }

    /// The first value among `rows` that has no text.
    fn find_refused(&self, rows: Range<usize>) -> RowError {
        for row in rows.clone() {
            for step in &self.format.steps {
                if let (Put::Number(number), Some(column)) = (&step.put, self.columns.get(step.column))
                    && !number.accepts(column, row)
                {
                    return RowError { row, column: step.column };
                }
            }
        }
        RowError { row: rows.start, column: 0 }
    }
}

impl Frame {
    /// Widens the texts of cells that have been filled, and returns `filled`.
    #[inline]
    fn around(&self, filled: bool, cells: &mut Cells) -> bool {
        if filled && self.width > 0 {
            cells.widen(self.width, self.left, self.next);
        }
        filled
    }
}

/// The outcome of a block.
enum Block {
    /// This many rows were appended; none if the next one does not fit.
    Rows(usize),
    /// A value has no text.
    Refused,
}

/// Stores rows whose parts are all in cells.
///
/// # Safety
/// 16 bytes of room for each cell of each of `count` rows.
#[inline(never)]
unsafe fn rows_of_cells(pen: Pen, cells: &[Cells], count: usize) -> Pen {
    // SAFETY: every cell advances by at most 16 bytes, so that each call has its 16 left.
    unsafe {
        match cells {
            [a] => some_cells(pen, [a], count),
            [a, b] => some_cells(pen, [a, b], count),
            [a, b, c] => some_cells(pen, [a, b, c], count),
            [a, b, c, d] => some_cells(pen, [a, b, c, d], count),
            _ => {
                let mut pen = pen;
                for row in 0..count {
                    for cells in cells {
                        pen = cells.put(pen, row);
                    }
                }
                pen
            }
        }
    }
}

/// # Safety
/// As for [`rows_of_cells`].
#[inline(always)]
unsafe fn some_cells<const N: usize>(mut pen: Pen, cells: [&Cells; N], count: usize) -> Pen {
    for row in 0..count.min(ROWS) {
        for cells in cells {
            // SAFETY: every cell advances by at most 16 bytes, so that each call has its 16 left.
            pen = unsafe { cells.put(pen, row) };
        }
    }
    pen
}

impl RowFormat {
    /// The most columns of cells.
    pub(super) const MOST_CELLS: usize = 64;
}
