//! Numbers one after another and the text between them: tables, wrapped lists, blocks of text with numbers in them.
//!
//! [`NumberLines`] describes the text after each number; room is checked for many of them at once. Shortest digits come
//! from [`super::lanes`], many values at a time; integers are written one by one.

use super::integer;
use super::line::Prefix;
use super::pen::{Pen, SLACK};
use super::{MAX_I32, Page};

/// The text after the numbers of a list: a separator, and a line ending after the last number of each line.
///
/// Lines cycle through `E` endings. An ending may be any text: `["\n"]` for a table, `[" 0 ", " 0 ", " 0 ", " 1 ]"]`
/// for a matrix of which three numbers of four are constant. Endings of up to 16 bytes are the fastest.
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
    ends: [Prefix<'p>; E],
    /// The longest end.
    end_bytes: usize,
}

/// The place of a number in its line.
pub(super) struct Walk<'l, 'p, const E: usize> {
    lines: &'l NumberLines<'p, E>,
    /// Numbers up to the end of the line, at least one.
    left: usize,
    /// Which end that is.
    end: usize,
}

impl<'p, const E: usize> NumberLines<'p, E> {
    /// Lines of `columns` numbers (0 counts as 1).
    pub fn new(columns: usize, separator: u8, ends: [&'p [u8]; E]) -> Self {
        const { assert!(E > 0) };
        let end_bytes = ends.iter().fold(0, |most, end| most.max(end.len()));
        Self { columns: columns.max(1), separator, ends: ends.map(Prefix::new), end_bytes }
    }

    /// The number of bytes after number `place` of the list.
    pub fn bytes_behind(&self, place: usize) -> usize {
        let (line, column) = (place / self.columns, place % self.columns);
        if column + 1 == self.columns { self.ends[line % E].text().len() } else { 1 }
    }

    /// From number `place` of the list on.
    #[inline(always)]
    pub(super) fn walk(&self, place: usize) -> Walk<'_, 'p, E> {
        Walk { lines: self, left: self.columns - place % self.columns, end: place / self.columns % E }
    }

    /// How many numbers of up to `number_bytes` certainly fit, [`SLACK`] included.
    pub(super) fn fitting(&self, room: usize, number_bytes: usize) -> usize {
        let ends = self.end_bytes.div_ceil(self.columns);
        let each = number_bytes.saturating_add(1).saturating_add(ends);
        room.saturating_sub(SLACK).saturating_sub(self.end_bytes) / each
    }
}

impl<const E: usize> Walk<'_, '_, E> {
    /// Stores the text after a number, and moves to the next.
    ///
    /// # Safety
    /// Room for a separator or the longest end, and [`SLACK`] more.
    #[inline(always)]
    pub(super) unsafe fn step(&mut self, pen: Pen) -> Pen {
        self.left -= 1;
        // SAFETY: a separator is one byte. `Prefix::put` needs room for its text, at most the longest end, and `SLACK`:
        // this function's condition.
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

/// Writes numbers near the end of a page; returns how many fit.
pub(super) fn one_by_one<T: Copy, const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    place: usize,
    values: &[T],
    append: impl Fn(&mut Page<'_>, T),
) -> usize {
    let mut at = place;
    for &value in values {
        let (line, column) = (at / lines.columns, at % lines.columns);
        let is_last = column + 1 == lines.columns;
        let fitted = page.whole(|page| {
            append(page, value);
            page.bytes(if is_last { lines.ends[line % E].text() } else { std::slice::from_ref(&lines.separator) });
        });
        if !fitted {
            break;
        }
        at += 1;
    }
    at - place
}

/// See [`Page::integer_lines`].
pub(super) fn integers<const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    place: usize,
    values: &[i32],
) -> usize {
    let mut done = 0;
    loop {
        let left = &values[done..];
        let count = left.len().min(lines.fitting(page.room(), MAX_I32));
        if count == 0 {
            return done + one_by_one(page, lines, place + done, left, |page, value| page.i32(value));
        }
        let mut walk = lines.walk(place + done);
        let mut pen = page.pen();
        // SAFETY: `fitting` counted `MAX_I32` bytes and a separator for each of `count` numbers, the ends of all lines
        // that they complete, and `SLACK`. So `integer::i32` has its 12 bytes and `step` its room each time; `pen` came
        // from this page.
        unsafe {
            for &value in &left[..count] {
                pen = walk.step(integer::i32(pen, value));
            }
            page.take(pen);
        }
        done += count;
    }
}
