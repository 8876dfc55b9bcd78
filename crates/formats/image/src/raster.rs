//! The samples of an image while it is read, in file order, which may be bottom-up.
//!
//! If the declared size of the image is plausible for the size of the file, memory is allocated at once, and rows are
//! written directly to their final positions. Otherwise memory grows as rows arrive, and bottom-up rows are flipped at
//! the end. Does not convert pixels.

use polyhaul_model::error::{Error, Result, planted};
use polyhaul_pipeline::column::Column;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Images up to this size, plus [`BELIEVED_RATIO`] times the file size, are allocated at once.
const BELIEVED_BYTES: u64 = 64 << 20;
const BELIEVED_RATIO: u64 = 4;

/// Returns whether an image of this size is plausible for a file of `backed` bytes.
pub(crate) fn is_believed(bytes: u64, backed: u64) -> bool {
    planted("image-claimed") || bytes <= BELIEVED_BYTES.saturating_add(backed.saturating_mul(BELIEVED_RATIO))
}

/// An image while it is read.
pub(crate) struct Raster<T> {
    samples: Column<T>,
    /// Samples per row.
    row: usize,
    height: usize,
    /// Whether the bottom row is first in the file.
    is_upward: bool,
    /// Whether all rows were allocated at once, so that each is written to its final position.
    is_placed: bool,
}

impl<T: Copy + Send> Raster<T> {
    /// Creates an image with `height` rows of `row` samples, for a file of `backed` bytes, or 0 if unknown.
    pub(crate) fn new(row: usize, height: usize, is_upward: bool, backed: u64) -> Result<Raster<T>> {
        let bytes = (row as u64).saturating_mul(height as u64).saturating_mul(size_of::<T>() as u64);
        Ok(Raster { is_upward, ..Raster::placed(row, height, is_believed(bytes, backed))? })
    }

    /// Creates a top-down image with `height` rows of `row` samples, allocated at once if `is_placed`.
    pub(crate) fn placed(row: usize, height: usize, is_placed: bool) -> Result<Raster<T>> {
        let total = row.checked_mul(height).ok_or_else(|| Error::memory("an image"))?;
        let samples = Column::new("an image");
        if is_placed {
            samples.reserve(total)?;
        }
        Ok(Raster { samples, row, height, is_upward: false, is_placed })
    }

    /// Returns the number of rows.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Allocates the first `count` rows, which the file must have.
    pub(crate) fn reserve(&self, count: usize) -> Result<()> {
        if self.is_placed { Ok(()) } else { self.samples.reserve(self.row * count.min(self.height)) }
    }

    /// Calls `fill` with the samples of row `number`, counted in file order. `fill` must write all of them, and the row
    /// must be reserved.
    ///
    /// # Safety
    /// No other thread uses row `number` while this runs.
    pub(crate) unsafe fn row(&self, number: usize, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<()> {
        // SAFETY: the part is the whole row, so the caller upholds the condition of `part`.
        unsafe { self.part(number, 0..self.row, fill) }
    }

    /// Same as [`Raster::row`], for the samples `part` within the row.
    ///
    /// # Safety
    /// No other thread uses `part` of row `number` while this runs.
    pub(crate) unsafe fn part(
        &self,
        number: usize,
        part: Range<usize>,
        fill: impl FnOnce(&mut [MaybeUninit<T>]),
    ) -> Result<()> {
        let place = if self.is_placed && self.is_upward { self.height - 1 - number } else { number };
        let start = place * self.row;
        // SAFETY: different rows have different positions, and by this function's condition, only the caller uses
        // `part` of this row. `Column::write` checks the end of the range against the capacity.
        unsafe { self.samples.write(start + part.start..start + part.end, fill) }
    }

    /// Returns the samples, starting at the top left. `mirrored` is the number of samples per pixel if rows are stored
    /// from right to left.
    ///
    /// # Safety
    /// All `height` rows must have been filled completely.
    pub(crate) unsafe fn finish(self, mirrored: Option<usize>) -> Vec<T> {
        let Raster { samples, row, height, is_upward, is_placed } = self;
        // SAFETY: all `row * height` samples were written, by this function's condition.
        let mut samples = unsafe { samples.finish(row * height) };
        if is_upward && !is_placed && !planted("image-upward") {
            reverse_rows(&mut samples, row);
        }
        if let Some(size) = mirrored.filter(|_| row > 0) {
            samples.chunks_exact_mut(row).for_each(|row| {
                // Reversing the row also reverses the samples of each pixel, which are then restored.
                row.reverse();
                row.chunks_exact_mut(size).for_each(<[T]>::reverse);
            });
        }
        samples
    }
}

/// Returns the range of page `number`, where all pages except the last have `page` samples or rows. The range is empty
/// past the end.
pub(crate) fn page_of(number: u64, page: usize, total: usize) -> Range<usize> {
    let start = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(page).min(total);
    start..total.min(start.saturating_add(page))
}

/// Reverses the order of rows in place.
fn reverse_rows<T: Copy>(samples: &mut [T], row: usize) {
    let height = samples.len().checked_div(row).unwrap_or(0);
    let (top, bottom) = samples.split_at_mut(height.div_ceil(2) * row);
    if row > 0 {
        let bottom = bottom.chunks_exact_mut(row).rev();
        top.chunks_exact_mut(row).zip(bottom).for_each(|(top, bottom)| top.swap_with_slice(bottom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(is_upward: bool, is_placed: bool, mirrored: Option<usize>) -> Vec<u8> {
        let raster = Raster::new(4, 3, is_upward, 0).unwrap();
        let raster = Raster { is_placed, ..raster };
        for number in 0..3 {
            raster.reserve(number + 1).unwrap();
            // SAFETY: there is only one thread.
            unsafe {
                raster.row(number, |row| {
                    row.iter_mut().zip(0..).for_each(|(to, x)| *to = MaybeUninit::new(10 * number as u8 + x));
                })
            }
            .unwrap();
        }
        // SAFETY: all three rows were filled.
        unsafe { raster.finish(mirrored) }
    }

    #[test]
    fn rows_come_from_the_top_left() {
        for is_placed in [true, false] {
            assert_eq!(filled(false, is_placed, None), [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]);
            assert_eq!(filled(true, is_placed, None), [20, 21, 22, 23, 10, 11, 12, 13, 0, 1, 2, 3]);
            assert_eq!(filled(true, is_placed, Some(2)), [22, 23, 20, 21, 12, 13, 10, 11, 2, 3, 0, 1]);
        }
    }
}
