//! Parses grids: tables with a fixed number of columns, in which every number has the same number of decimals, as
//! printed by `%.6f`.
//!
//! Text is a grid only if all of its numbers are valid, so the conversion cannot fail. Because each number's index in
//! the array is known, values are stored directly. [`super::fields`] parses everything else, and grids on CPUs without
//! AVX-512. The digits of a number are below 2^53 and the powers of ten are exact, so the division is the only
//! rounding.

use super::FLOAT_SIZE;
#[cfg(target_arch = "x86_64")]
use super::grid_x86 as x86;
use crate::cpu::Level;
use crate::scan::{PADDING, Separator};
use std::collections::TryReserveError;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Maximum number of columns of a grid.
pub const MAX_COLUMNS: usize = 64;
/// Number of values converted at once.
pub(super) const TOGETHER: usize = 8;
/// Maximum number of characters of a number, including minus and point: at most 15 digits.
pub(super) const MAX_SIZE: usize = 16;
/// Elements after the last end that scanning may overwrite.
const SLACK: usize = 80;

/// Offsets of the numbers of a grid. Its memory is reused for the next text.
#[derive(Debug, Default)]
pub struct Grid {
    /// The offset before the first number, then the end of each number.
    pub(super) ends: Vec<u32>,
    /// Number of numbers.
    pub(super) count: usize,
    /// Number of decimals.
    pub(super) places: usize,
    /// Upper bound of all ends.
    pub(super) limit: usize,
}

/// Required layout of a grid.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct GridShape {
    pub(super) separator: u8,
    pub(super) columns: usize,
    pub(super) places: usize,
}

impl Grid {
    /// Checks whether `padded[range]`, which consists of complete lines, is a grid with `columns` columns. If it is
    /// not, the grid is empty afterwards. Always returns `false` on CPUs without AVX-512.
    ///
    /// `padded` is as for [`Index::scan`](crate::scan::Index::scan). Uses up to 4 bytes of memory per 3 bytes of text.
    /// Fails if out of memory.
    pub fn scan(
        &mut self,
        padded: &[u8],
        range: Range<usize>,
        separator: Separator,
        columns: usize,
        level: Level,
    ) -> Result<bool, TryReserveError> {
        self.count = 0;
        let fits = range.start >= PADDING && range.start < range.end && padded.len() <= u32::MAX as usize;
        let fits = fits && padded.len() - PADDING.min(padded.len()) >= range.end;
        if !fits || padded[range.end - 1] != b'\n' || !has_kernel(level) {
            return Ok(false);
        }
        let Some(shape) = shape(&padded[range.clone()], separator, columns) else { return Ok(false) };
        // A number has a point, digits after it, and a terminator.
        let max_count = range.len() / (shape.places + 2) + 1;
        reserve(&mut self.ends, 1 + max_count + SLACK)?;
        self.places = shape.places;
        self.limit = range.end;
        let start = range.start as u32 - 1;
        self.ends[0] = start;
        self.count = find(self, padded, range, shape);
        // Kernels read a few elements past the last end.
        self.ends[self.count + 1..][..2 * TOGETHER].fill(start);
        Ok(self.count > 0)
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns the number of numbers in all columns.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        4 * self.ends.capacity()
    }

    /// Converts numbers from `first` on to the nearest f64s until `out` is full. `padded` is the scanned text.
    ///
    /// # Panics
    /// If the grid has fewer numbers, or the text is shorter than the scanned one.
    pub fn f64s(&self, padded: &[u8], first: usize, out: &mut [MaybeUninit<f64>]) {
        self.check(padded, first, out.len());
        #[cfg(target_arch = "x86_64")]
        if !out.is_empty() {
            // SAFETY: `out` is not empty, so `check` proved `count > 0`: `scan` sets that only where `has_kernel` found
            // AVX-512. `check` also proved `first + out.len() <= count` and that `padded` has 64 bytes after `limit`,
            // the bound of all ends.
            unsafe { x86::f64s(self, padded, first, out) };
        }
    }

    /// Converts numbers from `first` on to the nearest f32s until `out` is full. `padded` is the scanned text.
    ///
    /// # Panics
    /// Like [`Grid::f64s`].
    pub fn f32s(&self, padded: &[u8], first: usize, out: &mut [MaybeUninit<f32>]) {
        self.check(padded, first, out.len());
        #[cfg(target_arch = "x86_64")]
        if !out.is_empty() {
            // SAFETY: as in `f64s`: `check` proved the same for `first`, `out` and `padded`.
            unsafe { x86::f32s(self, padded, first, out) };
        }
    }

    fn check(&self, padded: &[u8], first: usize, count: usize) {
        let exists = first.checked_add(count).is_some_and(|end| end <= self.count);
        assert!(exists && padded.len() >= self.limit + PADDING, "the numbers are not from this text");
    }
}

/// Derives the layout from the first number.
fn shape(text: &[u8], separator: Separator, columns: usize) -> Option<GridShape> {
    let head = &text[..text.len().min(MAX_SIZE + 1)];
    let end = head.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'.'))?;
    let places = head[..end].iter().rev().position(|byte| *byte == b'.')?;
    let separator = match separator {
        Separator::Byte(byte) => byte,
        Separator::Blanks if head[end] == b'\t' => b'\t',
        Separator::Blanks => b' ',
    };
    ((1..=MAX_COLUMNS).contains(&columns) && (1..=FLOAT_SIZE).contains(&places)).then_some(GridShape {
        separator,
        columns,
        places,
    })
}

fn reserve<T: Copy + Default>(values: &mut Vec<T>, count: usize) -> Result<(), TryReserveError> {
    if values.len() < count {
        values.try_reserve_exact(count - values.len())?;
        values.resize(count, T::default());
    }
    Ok(())
}

/// Returns whether there is a kernel for `level`.
fn has_kernel(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return level.usable() == Level::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    return {
        let _ = level;
        false
    };
}

/// Finds the numbers. Returns their count, or 0 if the text is not a grid.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn find(grid: &mut Grid, padded: &[u8], range: Range<usize>, shape: GridShape) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `scan` calls this only after `has_kernel`, which is true only where `usable()` is AVX-512; it also
    // checked that `padded` has PADDING (64) bytes after `range.end`.
    return unsafe { x86::find(grid, padded, range, shape) };
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}
