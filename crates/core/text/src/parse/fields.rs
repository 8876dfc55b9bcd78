//! Fields of a table: many numbers at once, through the index of [`crate::scan`].
//!
//! A plain field (digits with at most one point and a minus before them, 14 characters) is converted together with
//! others; any other notation of a number on its own. Anything else stops the run: the caller knows whether it is a
//! comment, a missing value or an error.

use super::consts::TOGETHER;
pub use super::consts::{MOST_EXACT, NOT_INTEGER, WIDE};
use super::decimal::Decimal;
use super::number;
use super::plain::{Before, Numbers, runs};
use crate::cpu::Level;
use crate::scan::{Index, PADDING, Separator, is_space};
use std::ops::Range;

/// The fields of a window of text.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    padded: &'a [u8],
    index: &'a Index,
    separator: Separator,
    level: Level,
}

/// Room that the outputs need after the last field: eight are written at a time.
pub const FIELD_SLACK: usize = TOGETHER - 1;

/// Room that the ends of picked fields need after the last one.
pub const PICK_SLACK: usize = TOGETHER;

impl<'a> Fields<'a> {
    /// Indexes `padded[start..end]` until the text or a cap of the index is reached; see [`Index::scan`].
    pub fn scan(
        index: &'a mut Index,
        padded: &'a [u8],
        range: Range<usize>,
        separator: Separator,
        level: Level,
    ) -> Fields<'a> {
        let level = level.usable();
        index.scan_fields(padded, range.start, range.end, separator, level);
        Fields { padded, index, separator, level }
    }

    /// The index of its lines.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// How many lines from `line` on have `columns` fields each.
    pub fn lines_of(&self, line: usize, columns: usize) -> usize {
        let lines = self.index.lines().get(line..).unwrap_or_default();
        let mut end = self.index.first_token(line);
        let equal = lines.iter().take_while(|line| {
            end += columns;
            line.tokens as usize == end
        });
        equal.count()
    }

    /// The first field of line `line`, which is at most the number of lines.
    pub fn first_of(&self, line: usize) -> usize {
        self.index.first_token(line)
    }

    /// The range of a field in the text, without white space around it.
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

    /// All existing fields of a range.
    pub fn all(self, fields: Range<usize>) -> Run<'a> {
        let end = fields.end.min(if self.fits() { self.index.end_count } else { 0 });
        let (first, count) = (fields.start, end.saturating_sub(fields.start));
        let ends = &self.index.ends[first.min(self.index.end_count)..][..count + TOGETHER];
        Run { fields: self, first, ends, kept: &[], stride: 1 }
    }

    /// Of `rows` lines from `line` on with `stride` fields each, the existing fields at the places listed in `kept`.
    /// Their ends go to `ends`, which has [`PICK_SLACK`] places after the last one.
    pub fn pick(self, line: usize, rows: usize, stride: usize, kept: &'a [usize], ends: &'a mut [u32]) -> Run<'a> {
        let first = self.first_of(line);
        let fits = self.fits() && first + rows * stride <= self.index.end_count && kept.iter().all(|at| *at < stride);
        let (rows, width) = (if fits { rows } else { 0 }, kept.len());
        let count = (rows * width).min(ends.len().saturating_sub(TOGETHER));
        let given = self.index.ends[first.min(self.index.end_count)..].chunks_exact(stride.max(1));
        for (picked, row) in ends[..count].chunks_mut(width.max(1)).zip(given) {
            for (picked, &at) in picked.iter_mut().zip(kept) {
                *picked = row[at];
            }
        }
        let slack = ends.len().min(count + TOGETHER);
        ends[count..slack].fill(self.index.start as u32);
        Run { fields: self, first, ends: ends.get(..count + TOGETHER).unwrap_or(&[0; TOGETHER]), kept, stride }
    }

    /// Whether the index was made of this text, or of one that is not longer.
    fn fits(&self) -> bool {
        self.padded.len() - PADDING.min(self.padded.len()) >= self.index.limit
    }
}

/// Fields that are wanted, one after another.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    fields: Fields<'a>,
    first: usize,
    /// Their ends, and [`TOGETHER`] more.
    ends: &'a [u32],
    /// Which of `stride` fields are wanted; all of them if it is empty.
    kept: &'a [usize],
    stride: usize,
}

impl Run<'_> {
    /// The number of fields.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.ends.len() - TOGETHER
    }

    /// The range of a field in the text, without white space around it.
    pub fn place(&self, at: usize) -> Range<usize> {
        let field = match self.kept {
            [] => at,
            kept => at / kept.len() * self.stride + kept[at % kept.len()],
        };
        self.fields.field(self.first + field)
    }

    fn token(&self, at: usize) -> &[u8] {
        &self.fields.padded[self.place(at)]
    }

    /// Converts fields, from `from` on, to the nearest f32s, until one is no number: returns how many were converted.
    ///
    /// `out` has [`FIELD_SLACK`] places after those of the fields, whose values may change.
    pub fn f32s(&self, from: usize, out: &mut [f32]) -> usize {
        let count = self.count(from, out.len());
        runs(
            count,
            out,
            // SAFETY: `Fields::scan` made the level usable. Wanted ends are below `index.end_count` (`all`, `pick`):
            // `fits()` and `Index::begin` put them at 64 (PADDING) or more and inside `padded`.
            |out, done| unsafe { self.numbers(from + done, from + count).f32s(&mut out[done..]) },
            // SAFETY: as above: a part of the same ends.
            |out, done, stop| unsafe { self.numbers(from + done, from + stop).long_f32s(&mut out[done..]) },
            |out, done| number::f32(self.token(from + done)).map(|value| out[done] = value).is_some(),
        )
    }

    /// Converts fields, from `from` on, to the nearest f64s, until one is no number: returns how many were converted,
    /// and marks each: 0 for integers, [`WIDE`] for large ones, or [`NOT_INTEGER`].
    ///
    /// `out` and `marks` have [`FIELD_SLACK`] places after those of the fields, whose values may change.
    pub fn f64s(&self, from: usize, out: &mut [f64], marks: &mut [u8]) -> usize {
        let count = self.count(from, out.len().min(marks.len()));
        runs(
            count,
            &mut (out, marks),
            // SAFETY: as in `f32s`: `numbers` yields the same ends.
            |(out, marks), done| unsafe {
                self.numbers(from + done, from + count).f64s(&mut out[done..], &mut marks[done..])
            },
            // SAFETY: as above: a part of the same ends.
            |(out, marks), done, stop| unsafe {
                self.numbers(from + done, from + stop).long_f64s(&mut out[done..], &mut marks[done..])
            },
            |(out, marks), done| {
                let value = any_notation(self.token(from + done));
                value.map(|value| (out[done], marks[done]) = value).is_some()
            },
        )
    }

    /// How many fields from `from` on fit into this many places.
    fn count(&self, from: usize, places: usize) -> usize {
        self.len().saturating_sub(from).min(places.saturating_sub(FIELD_SLACK))
    }

    fn numbers(&self, from: usize, to: usize) -> Numbers<'_> {
        let Fields { padded, separator, level, .. } = self.fields;
        Numbers { padded, ends: &self.ends[from..to + TOGETHER], before: Before::Field(separator), level }
    }
}

/// A number in any notation, and its mark.
fn any_notation(token: &[u8]) -> Option<(f64, u8)> {
    Decimal::from_token(token).and_then(Decimal::marked).or_else(|| {
        let value = number::any_f64(token)?;
        let is_whole = token.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'));
        Some((value, if is_whole { WIDE } else { NOT_INTEGER }))
    })
}
