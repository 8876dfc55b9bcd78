//! Writes sequences of numbers with text between them: tables, wrapped lists, blocks of text with numbers.
//!
//! [`NumberLines`] describes the text after each number; room is checked for many numbers at once. [`super::lanes`]
//! computes shortest digits of many values at a time; integers are written individually.

use super::integer;
use super::line::LinePrefix;
use super::pen::{Pen, SLACK};
use super::{MAX_I32, Page};

/// Text after the numbers of a list: a separator, and an ending after the last number of each line.
///
/// Lines cycle through `E` endings, which may be any text: `["\n"]` for a table, `[" 0 ", " 0 ", " 0 ", " 1 ]"]` for a
/// 4 × 4 matrix with a constant fourth column. Endings of up to 16 bytes are the fastest.
///
/// ```
/// # use polyhaul_text::format::{NumberLines, Page};
/// let mut buffer = [0; 256];
/// let mut page = Page::new(&mut buffer);
/// let lines = NumberLines::new(2, b' ', [b"; "]);
/// assert_eq!(page.integer_lines(&lines, 0, &[1, 2, 3]), 3);
/// assert_eq!(page.shortest_lines(&lines, 3, &[0.5_f32, 1e-9]), 2);
/// assert_eq!(page.as_bytes(), b"1 2; 3 0.5; 1e-9 ");
/// ```
#[derive(Clone, Debug)]
pub struct NumberLines<'p, const E: usize = 1> {
    columns: usize,
    separator: u8,
    ends: [LinePrefix<'p>; E],
    /// Length of the longest ending in bytes.
    end_bytes: usize,
    pub(super) is_python: bool,
}

/// Position of a number in its line.
pub(super) struct LineWalk<'l, 'p, const E: usize> {
    lines: &'l NumberLines<'p, E>,
    /// Numbers left in the line, at least one.
    left: usize,
    /// Index of the line's ending.
    end: usize,
}

impl<'p, const E: usize> NumberLines<'p, E> {
    /// Describes lines of `columns` numbers (0 counts as 1).
    pub fn new(columns: usize, separator: u8, ends: [&'p [u8]; E]) -> Self {
        const { assert!(E > 0) };
        let end_bytes = ends.iter().fold(0, |longest, end| longest.max(end.len()));
        Self { columns: columns.max(1), separator, ends: ends.map(LinePrefix::new), end_bytes, is_python: false }
    }

    /// Follows Python and Blender: floats other than 0 that are below 1e-4 or at least 1e16 in magnitude have an
    /// exponent with a sign and at least two digits (`1e-05`, `1e+16`). All other floats have no exponent.
    ///
    /// ```
    /// # use polyhaul_text::format::{NumberLines, Page};
    /// let mut buffer = [0; 256];
    /// let mut page = Page::new(&mut buffer);
    /// let lines = NumberLines::new(2, b' ', [b"; "]).python(true);
    /// assert_eq!(page.shortest_lines(&lines, 0, &[0.5_f32, 1e-5, 1e13, 1e16]), 4);
    /// assert_eq!(page.as_bytes(), b"0.5 1e-05; 10000000000000 1e+16; ");
    /// ```
    pub fn python(mut self, is_python: bool) -> Self {
        self.is_python = is_python;
        self
    }

    /// Returns the length of the text after the number at `index` in the list, in bytes.
    pub fn bytes_behind(&self, index: usize) -> usize {
        let line = index / self.columns;
        let column = index % self.columns;
        if column + 1 == self.columns { self.ends[line % E].text().len() } else { 1 }
    }

    /// Starts a walk at the number at `index` in the list.
    #[inline(always)]
    pub(super) fn walk(&self, index: usize) -> LineWalk<'_, 'p, E> {
        LineWalk { lines: self, left: self.columns - index % self.columns, end: index / self.columns % E }
    }

    /// Returns how many numbers of up to `number_bytes` bytes each are certain to fit into `room` with the texts after
    /// them and [`SLACK`].
    pub(super) fn fitting(&self, room: usize, number_bytes: usize) -> usize {
        let ends = self.end_bytes.div_ceil(self.columns);
        let each = number_bytes.saturating_add(1).saturating_add(ends);
        room.saturating_sub(SLACK).saturating_sub(self.end_bytes) / each
    }
}

impl<const E: usize> LineWalk<'_, '_, E> {
    /// Stores the text after a number and moves to the next number.
    ///
    /// # Safety
    /// Room for a separator or the longest ending, and [`SLACK`] more.
    #[inline(always)]
    pub(super) unsafe fn step(&mut self, pen: Pen) -> Pen {
        self.left -= 1;
        // SAFETY: a separator is one byte. `LinePrefix::put` needs room for its text, at most the longest end, and
        // `SLACK`: this function's condition.
        unsafe {
            if self.left > 0 {
                return pen.put([self.lines.separator], 1);
            }
            let end = &self.lines.ends[self.end];
            self.left = self.lines.columns;
            self.end = if self.end + 1 < E { self.end + 1 } else { 0 };
            end.put(pen)
        }
    }
}

/// Writes numbers of a list one by one near the end of a page, from index `first` on. Returns the number of values that
/// fit.
pub(super) fn one_at_a_time<T: Copy, const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    first: usize,
    values: &[T],
    append: impl Fn(&mut Page<'_>, T),
) -> usize {
    let mut index = first;
    for &value in values {
        let line = index / lines.columns;
        let column = index % lines.columns;
        let is_last = column + 1 == lines.columns;
        let fitted = page.whole(|page| {
            append(page, value);
            page.bytes(if is_last { lines.ends[line % E].text() } else { std::slice::from_ref(&lines.separator) });
        });
        if !fitted {
            break;
        }
        index += 1;
    }
    index - first
}

/// See [`Page::integer_lines`].
pub(super) fn integers<const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    first: usize,
    values: &[i32],
) -> usize {
    let mut written = 0;
    loop {
        let left = &values[written..];
        let count = left.len().min(lines.fitting(page.room(), MAX_I32));
        if count == 0 {
            return written + one_at_a_time(page, lines, first + written, left, |page, value| page.i32(value));
        }
        let mut walk = lines.walk(first + written);
        let mut pen = page.pen();
        // SAFETY: `fitting` counted `MAX_I32` bytes and a separator for each of `count` numbers, the ends of all lines
        // that they complete, and `SLACK`. So `integer::i32` has its 12 bytes and `step` its room each time; `pen` is
        // from this page.
        unsafe {
            for &value in &left[..count] {
                pen = walk.step(integer::i32(pen, value));
            }
            page.take(pen);
        }
        written += count;
    }
}
