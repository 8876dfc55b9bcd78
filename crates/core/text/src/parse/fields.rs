//! Parses the fields of a table, many numbers at once, with the index of [`crate::scan`].
//!
//! Plain fields (up to 14 characters, only digits and at most one point, after an optional minus) are converted
//! together. Numbers in other notations are converted individually or a few at a time. Any other field stops the run;
//! the caller decides whether it is a comment, a missing value or an error.

use super::consts::TOGETHER;
pub use super::consts::{MAX_EXACT, NOT_INTEGER, WIDE};
use super::decimal::Decimal;
use super::number;
use super::plain::{NumberRun, Preceding, runs};
use crate::cpu::Level;
use crate::scan::{Index, PADDING, Separator, is_space};
use std::ops::Range;

/// Fields of a window of text.
#[derive(Clone, Copy)]
pub struct IndexedFields<'a> {
    padded: &'a [u8],
    index: &'a Index,
    separator: Separator,
    level: Level,
}

/// Spare elements that outputs need after the last field, because eight are written at a time.
pub const FIELD_SLACK: usize = TOGETHER - 1;

/// Spare elements that the ends of picked fields need after the last one.
pub const PICK_SLACK: usize = TOGETHER;

impl<'a> IndexedFields<'a> {
    /// Indexes `padded[range]` up to its end or to a cap of the index; see [`Index::scan`].
    pub fn scan(
        index: &'a mut Index,
        padded: &'a [u8],
        range: Range<usize>,
        separator: Separator,
        level: Level,
    ) -> IndexedFields<'a> {
        let level = level.usable();
        index.scan_fields(padded, range.start, range.end, separator, level);
        IndexedFields { padded, index, separator, level }
    }

    /// Returns the index of the window's lines.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// Returns the number of consecutive lines from `line` on with `columns` fields each.
    pub fn lines_of(&self, line: usize, columns: usize) -> usize {
        let lines = self.index.lines().get(line..).unwrap_or_default();
        let mut end = self.index.first_token(line);
        let equal = lines.iter().take_while(|line| {
            end += columns;
            line.tokens as usize == end
        });
        equal.count()
    }

    /// Returns the index of the first field of line `line`, which is at most the number of lines.
    pub fn first_of(&self, line: usize) -> usize {
        self.index.first_token(line)
    }

    /// Returns the range of a field in the text, without surrounding white space.
    pub fn field(&self, field: usize) -> Range<usize> {
        let ends = &self.index.ends[..self.index.end_count];
        let end = ends.get(field).map_or(self.index.start, |&end| end as usize);
        let start =
            field.checked_sub(1).and_then(|before| ends.get(before)).map_or(self.index.start, |&end| end as usize + 1);
        let Some(bytes) = self.padded.get(start..end) else { return end..end };
        let before = bytes.iter().take_while(|byte| is_space(**byte)).count();
        let behind = bytes[before..].iter().rev().take_while(|byte| is_space(**byte)).count();
        start + before..end - behind
    }

    /// Returns the fields of a range, as far as they exist.
    pub fn all(self, fields: Range<usize>) -> FieldRun<'a> {
        let end = fields.end.min(if self.fits() { self.index.end_count } else { 0 });
        let first = fields.start;
        let count = end.saturating_sub(first);
        let ends = &self.index.ends[first.min(self.index.end_count)..][..count + TOGETHER];
        FieldRun { fields: self, first, ends, picked: &[], stride: 1 }
    }

    /// Returns the fields at the indices `picked` in each of `rows` lines from `line` on, which have `stride` fields
    /// each. Stores their ends in `ends`, which must have [`PICK_SLACK`] spare elements.
    pub fn pick(
        self,
        line: usize,
        rows: usize,
        stride: usize,
        picked: &'a [usize],
        ends: &'a mut [u32],
    ) -> FieldRun<'a> {
        let first = self.first_of(line);
        let fits = self.fits() && first + rows * stride <= self.index.end_count && picked.iter().all(|at| *at < stride);
        let rows = if fits { rows } else { 0 };
        let width = picked.len();
        let count = (rows * width).min(ends.len().saturating_sub(TOGETHER));
        let given = self.index.ends[first.min(self.index.end_count)..].chunks_exact(stride.max(1));
        for (slots, row) in ends[..count].chunks_mut(width.max(1)).zip(given) {
            for (slot, &at) in slots.iter_mut().zip(picked) {
                *slot = row[at];
            }
        }
        let slack = ends.len().min(count + TOGETHER);
        ends[count..slack].fill(self.index.start as u32);
        FieldRun { fields: self, first, ends: ends.get(..count + TOGETHER).unwrap_or(&[0; TOGETHER]), picked, stride }
    }

    /// Returns whether the index was built from this text, or from a text that is not longer.
    fn fits(&self) -> bool {
        self.padded.len() - PADDING.min(self.padded.len()) >= self.index.limit
    }
}

/// Sequence of fields to convert.
#[derive(Clone, Copy)]
pub struct FieldRun<'a> {
    fields: IndexedFields<'a>,
    first: usize,
    /// Ends of the fields, and [`TOGETHER`] more.
    ends: &'a [u32],
    /// Indices of the fields of each line that belong to the run; all fields if empty.
    picked: &'a [usize],
    stride: usize,
}

impl FieldRun<'_> {
    /// Returns the number of fields.
    #[expect(clippy::len_without_is_empty, reason = "unused")]
    pub fn len(&self) -> usize {
        self.ends.len() - TOGETHER
    }

    /// Returns the range of a field in the text, without surrounding white space.
    pub fn range(&self, at: usize) -> Range<usize> {
        let field = match self.picked {
            [] => at,
            picked => at / picked.len() * self.stride + picked[at % picked.len()],
        };
        self.fields.field(self.first + field)
    }

    fn token(&self, at: usize) -> &[u8] {
        &self.fields.padded[self.range(at)]
    }

    /// Converts fields from `first` on to the nearest f32s, until one is not a number. Returns the number of fields
    /// converted.
    ///
    /// `out` must have [`FIELD_SLACK`] spare elements after the fields, which may be overwritten.
    pub fn f32s(&self, first: usize, out: &mut [f32]) -> usize {
        let count = self.count(first, out.len());
        runs(
            count,
            out,
            // SAFETY: `IndexedFields::scan` made the level usable. The run's ends are below `index.end_count` (`all`,
            // `pick`): `fits()` and `Index::reset` put them at 64 (PADDING) or more and inside `padded`.
            |out, converted| unsafe { self.numbers(first + converted, first + count).f32s(&mut out[converted..]) },
            // SAFETY: as above: a part of the same ends.
            |out, converted, end| unsafe {
                self.numbers(first + converted, first + end).long_f32s(&mut out[converted..])
            },
            |out, converted| number::f32(self.token(first + converted)).map(|value| out[converted] = value).is_some(),
        )
    }

    /// Converts fields from `first` on to the nearest f64s, until one is not a number. Returns the number of fields
    /// converted. Stores a mark for each: [`NOT_INTEGER`], [`WIDE`] for large integers, or 0 for other integers.
    ///
    /// `out` and `marks` must have [`FIELD_SLACK`] spare elements after the fields, which may be overwritten.
    pub fn f64s(&self, first: usize, out: &mut [f64], marks: &mut [u8]) -> usize {
        let count = self.count(first, out.len().min(marks.len()));
        runs(
            count,
            &mut (out, marks),
            // SAFETY: as in `f32s`: `numbers` yields the same ends.
            |(out, marks), converted| unsafe {
                self.numbers(first + converted, first + count).f64s(&mut out[converted..], &mut marks[converted..])
            },
            // SAFETY: as above: a part of the same ends.
            |(out, marks), converted, end| unsafe {
                self.numbers(first + converted, first + end).long_f64s(&mut out[converted..], &mut marks[converted..])
            },
            |(out, marks), converted| {
                let value = any_notation(self.token(first + converted));
                value.map(|marked| (out[converted], marks[converted]) = marked).is_some()
            },
        )
    }

    /// Returns the number of fields from `first` on that fit an output of `room` elements.
    fn count(&self, first: usize, room: usize) -> usize {
        self.len().saturating_sub(first).min(room.saturating_sub(FIELD_SLACK))
    }

    fn numbers(&self, start: usize, end: usize) -> NumberRun<'_> {
        let IndexedFields { padded, separator, level, .. } = self.fields;
        NumberRun { padded, ends: &self.ends[start..end + TOGETHER], preceding: Preceding::Field(separator), level }
    }
}

/// Parses a number in any notation. Returns its value and mark.
fn any_notation(token: &[u8]) -> Option<(f64, u8)> {
    Decimal::from_token(token).and_then(Decimal::marked).or_else(|| {
        let value = number::any_f64(token)?;
        let is_whole = token.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'));
        Some((value, if is_whole { WIDE } else { NOT_INTEGER }))
    })
}
