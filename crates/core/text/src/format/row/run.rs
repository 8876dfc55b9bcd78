//! Runs the steps over rows, block by block, using cells for values that fit them.

use std::ops::Range;

use super::super::fixed::{self, Real, Scale};
use super::super::pen::{Pen, SLACK};
use super::super::{Page, integer};
use super::build::{CellText, NumberFrame, RowStep, StepText};
use super::cells::{CELL_BYTES, Cells, ROWS};
use super::error::RowValueError;
use super::spec::MAX_WIDTH;
use super::{BoundFormat, RowFormat};

/// Maximum length in bytes of a number and the byte after it.
const VALUE_BYTES: usize = MAX_WIDTH + 2;

impl BoundFormat<'_> {
    /// Appends rows while they fit, with `CELLS` columns of cells; see [`BoundFormat::write`].
    pub(super) fn run<const CELLS: usize>(
        &self,
        page: &mut Page<'_>,
        rows: Range<usize>,
    ) -> Result<usize, RowValueError> {
        let mut cells = [Cells::EMPTY; CELLS];
        self.fill_constant(&mut cells);
        let start = page.len();
        let mut row = rows.start;
        while row < rows.end {
            let count = (rows.end - row).min(ROWS);
            let ready = self.fill(&mut cells, row, count);
            match self.block(page, &cells, ready, row, count) {
                BlockOutcome::Refused => {
                    page.len = start;
                    return Err(self.find_refused(row..row + count));
                }
                BlockOutcome::Rows(0) => break,
                BlockOutcome::Rows(written) => row += written,
            }
        }
        Ok(row - rows.start)
    }

    /// Fills the cells that are the same in all rows.
    fn fill_constant(&self, cells: &mut [Cells]) {
        for (cells, fill) in cells.iter_mut().zip(&self.format.fills) {
            if let CellText::Constant(text) = fill.source {
                cells.choose(&[text; 2], &[false; ROWS]);
            }
        }
    }

    /// Fills all other cells. Returns a bit for each column of cells that can be used for these rows.
    fn fill(&self, cells: &mut [Cells], row: usize, count: usize) -> u64 {
        let mut ready = 0;
        for (index, (cells, fill)) in cells.iter_mut().zip(&self.format.fills).enumerate() {
            let Some(column) = self.columns.get(fill.column) else { continue };
            let is_ready = match &fill.source {
                CellText::Constant(_) => true,
                CellText::Choice(texts) => {
                    cells.choose(texts, &column.flags(row, count));
                    true
                }
                CellText::F32(filler, frame) => {
                    frame.widen_if(filler.fill(&column.reals_f32(row, count), cells), cells)
                }
                CellText::Number(filler, frame) => frame.widen_if(filler.fill(&column.reals(row, count), cells), cells),
                // Adding zero removes the sign of a zero truncated from -0.5.
                CellText::Truncated(filler, frame) => {
                    let values = column.reals(row, count).map(|value| value.trunc() + 0.0);
                    frame.widen_if(filler.fill(&values, cells), cells)
                }
            };
            ready |= u64::from(is_ready) << index;
        }
        ready
    }

    /// Appends as many rows of a block as fit.
    fn block(&self, page: &mut Page<'_>, cells: &[Cells], ready: u64, row: usize, count: usize) -> BlockOutcome {
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
                return BlockOutcome::Refused;
            }
            page.take(end);
        }
        BlockOutcome::Rows(count)
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
        for (index, row) in rows.enumerate() {
            for step in &self.format.steps {
                let cell = step.cell.filter(|&cell| ready >> cell & 1 == 1);
                // SAFETY: earlier steps used at most their `max_bytes`, so those of this step and `SLACK` are left. A
                // cell holds the text that the step would write, so it advances no further; it stores 16 bytes, within
                // `SLACK`.
                pen = unsafe {
                    match cell.and_then(|cell| cells.get(usize::from(cell))) {
                        Some(cells) => cells.put(pen, index),
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
    unsafe fn put(&self, pen: Pen, step: &RowStep, row: usize, refused: &mut bool) -> Pen {
        // Constant texts have no column.
        let column = self.columns.get(step.column);
        // SAFETY: `max_bytes` covers the longest text of each kind of step and `next`. Bytes that are stored past a
        // text are within `SLACK`: 16 for short texts, 1 for integers, and the numbers that `fixed` and
        // `NumberConversion::put` document.
        unsafe {
            let pen = match (&step.put, column) {
                (StepText::Constant(text), _) => text.put(pen),
                (StepText::Choice(texts), Some(column)) => texts[usize::from(column.flag(row))].put(pen),
                (StepText::Fixed32(scale), Some(column)) => self.fixed(pen, f32::from_ne_bytes(column.get(row)), scale),
                (StepText::Fixed64(scale), Some(column)) => self.fixed(pen, f64::from_ne_bytes(column.get(row)), scale),
                (StepText::Integer, Some(column)) => {
                    let (negative, magnitude) = column.integer(row);
                    integer::u64(pen.put([b'-'], usize::from(negative)), magnitude)
                }
                (StepText::Number(number), Some(column)) => number.put(pen, column, row, refused),
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

    /// Calls `piece` with the pieces of the text of a step, which may be long.
    fn pieces(&self, step: &RowStep, row: usize, mut piece: impl FnMut(&[u8])) {
        let texts = |range: &Range<usize>| self.format.texts.get(range.clone()).unwrap_or_default();
        match (&step.put, self.columns.get(step.column)) {
            (StepText::Long(text), _) => piece(texts(text)),
            (StepText::LongChoice(choice), Some(column)) => piece(texts(&choice[usize::from(column.flag(row))])),
            (StepText::Bytes(text), Some(column)) => text.pieces(column, row, piece),
            _ => {}
        }
    }

    /// Appends rows individually near the end of the page, while they fit.
    #[cold]
    #[inline(never)]
    fn careful(&self, page: &mut Page<'_>, row: usize, count: usize) -> BlockOutcome {
        let before = page.overflowed;
        for written in 0..count {
            let mut refused = false;
            let start = page.len;
            page.overflowed = false;
            for step in &self.format.steps {
                self.put_if_it_fits(page, step, row + written, &mut refused);
            }
            let fitted = !std::mem::replace(&mut page.overflowed, before);
            if refused {
                return BlockOutcome::Refused;
            }
            if !fitted {
                page.len = start;
                return BlockOutcome::Rows(written);
            }
        }
        BlockOutcome::Rows(count)
    }

    /// Appends one step of a row through a scratch buffer.
    fn put_if_it_fits(&self, page: &mut Page<'_>, step: &RowStep, row: usize, refused: &mut bool) {
        if matches!(step.put, StepText::Long(_) | StepText::LongChoice(_) | StepText::Bytes(_)) {
            return self.pieces(step, row, |piece| page.bytes(piece));
        }
        let mut scratch = [0u8; VALUE_BYTES + SLACK];
        let start = Pen::new(scratch.as_mut_ptr());
        // SAFETY: texts and bytes of any length returned above. A number has at most max(400, 1 + 309 + 1 + 60) bytes
        // plus the one after it, and a short text 16: within `VALUE_BYTES`, which `SLACK` follows.
        let length = unsafe { self.put(start, step, row, refused) }.since(start);
        page.bytes(&scratch[..length]);
    }

    /// Finds the first value in `rows` that cannot be converted.
    fn find_refused(&self, rows: Range<usize>) -> RowValueError {
        for row in rows.clone() {
            for step in &self.format.steps {
                if let StepText::Number(number) = &step.put
                    && let Some(column) = self.columns.get(step.column)
                    && !number.accepts(column, row)
                {
                    return RowValueError { row, column: step.column };
                }
            }
        }
        RowValueError { row: rows.start, column: 0 }
    }
}

impl NumberFrame {
    /// Pads the texts of cells if they are `filled`. Returns `filled`.
    #[inline]
    fn widen_if(&self, filled: bool, cells: &mut Cells) -> bool {
        if filled && self.width > 0 {
            cells.widen(self.width, self.left, self.next);
        }
        filled
    }
}

/// Outcome of a block.
enum BlockOutcome {
    /// Number of rows appended; 0 if the next one does not fit.
    Rows(usize),
    /// A value cannot be converted.
    Refused,
}

/// Stores rows that consist of cells only.
///
/// # Safety
/// 16 bytes of room for each cell of each of `count` rows.
#[inline(never)]
unsafe fn rows_of_cells(pen: Pen, cells: &[Cells], count: usize) -> Pen {
    // SAFETY: every cell advances by at most 16 bytes, so each call has its 16 left.
    unsafe {
        match cells {
            [a] => cell_columns(pen, [a], count),
            [a, b] => cell_columns(pen, [a, b], count),
            [a, b, c] => cell_columns(pen, [a, b, c], count),
            [a, b, c, d] => cell_columns(pen, [a, b, c, d], count),
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
unsafe fn cell_columns<const N: usize>(mut pen: Pen, cells: [&Cells; N], count: usize) -> Pen {
    for row in 0..count.min(ROWS) {
        for cells in cells {
            // SAFETY: every cell advances by at most 16 bytes, so each call has its 16 left.
            pen = unsafe { cells.put(pen, row) };
        }
    }
    pen
}

impl RowFormat {
    /// Maximum number of columns of cells.
    pub(super) const MAX_CELLS: usize = 64;
}
