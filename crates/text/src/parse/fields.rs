//! Fields of a table: many numbers at once, through the index of [`crate::scan`].
//!
//! A plain field (digits with at most one point and a minus before them, 14 characters) is converted with three others;
//! any other notation of a number by itself. What is no number stops the run: its caller knows whether
//! it is a comment, a missing value or a fault.

use super::number;
use super::{FLOAT_SIZE, swar};
use crate::cpu::Level;
use crate::scan::{Index, PADDING, Separator, is_space};
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::fields_x86 as x86;

/// The fields of a window of text.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    padded: &'a [u8],
    index: &'a Index,
    separator: Separator,
    level: Level,
}

/// What `marks` say of a field that is no integer: it has a point or an exponent, is a zero with a minus, or not
/// finite.
pub const NOT_INTEGER: u8 = 1;

/// Integers up to this size are kept exactly by an f64, with all that are smaller.
pub const MOST_EXACT: u64 = 1 << 53;

/// Room that the outputs must have behind the last field: four are written at a time.
pub const FIELD_SLACK: usize = 3;

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

    /// Where lines end.
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

    /// Where a field begins and ends in the text, without white space around it.
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

    fn token(&self, field: usize) -> &'a [u8] {
        &self.padded[self.field(field)]
    }

    /// Converts fields to the nearest f32s, until one is no number: returns how many were converted.
    ///
    /// `out` has [`FIELD_SLACK`] places behind those of the fields, whose values may change.
    pub fn f32s(&self, fields: Range<usize>, out: &mut [f32]) -> usize {
        let mut done = 0;
        let count = self.count(&fields, out.len());
        while done < count {
            done += self.plain_f32s(fields.start + done..fields.start + count, &mut out[done..]);
            // One of the next four is not plain.
            let stop = count.min(done + 4);
            while done < stop {
                let Some(value) = number::f32(self.token(fields.start + done)) else { return done };
                out[done] = value;
                done += 1;
            }
        }
        done
    }

    /// Converts fields to the nearest f64s, until one is no number, or an integer that no f64 keeps exactly (larger
    /// than [`MOST_EXACT`]): returns how many were converted, and marks each: 0 for integers, or [`NOT_INTEGER`].
    ///
    /// `out` and `marks` have [`FIELD_SLACK`] places behind those of the fields, whose values may change.
    pub fn f64s(&self, fields: Range<usize>, out: &mut [f64], marks: &mut [u8]) -> usize {
        let mut done = 0;
        let count = self.count(&fields, out.len().min(marks.len()));
        while done < count {
            let next = fields.start + done..fields.start + count;
            done += self.plain_f64s(next, &mut out[done..], &mut marks[done..]);
            let stop = count.min(done + 4);
            while done < stop {
                let Some((value, mark)) = any_notation(self.token(fields.start + done)) else { return done };
                (out[done], marks[done]) = (value, mark);
                done += 1;
            }
        }
        done
    }

    /// How many of the fields there are and have a place among so many.
    fn count(&self, fields: &Range<usize>, places: usize) -> usize {
        let fits = self.padded.len() - PADDING.min(self.padded.len()) >= self.index.limit;
        let end = fields.end.min(if fits { self.index.end_count } else { 0 });
        end.saturating_sub(fields.start).min(places.saturating_sub(FIELD_SLACK))
    }

    /// Converts plain fields, four at a time and up to three at last: returns how many; up to four behind them may be
    /// plain.
    fn plain_f32s(&self, fields: Range<usize>, out: &mut [f32]) -> usize {
        let ends = &self.index.ends[fields.start..fields.end + 4];
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features of a usable level; the index fits.
            Level::Avx512 => unsafe { x86::f32s_avx512(self.padded, ends, self.separator, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { x86::f32s_avx2(self.padded, ends, self.separator, out) },
            _ => {
                let fields = ends[..ends.len() - 4].iter();
                let values =
                    fields.map_while(|&end| swar::float_after(self.padded, end as usize, |at| self.is_before(at)));
                values.zip(out).map(|(value, out)| *out = value).count()
            }
        }
    }

    fn plain_f64s(&self, fields: Range<usize>, out: &mut [f64], marks: &mut [u8]) -> usize {
        let ends = &self.index.ends[fields.start..fields.end + 4];
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features of a usable level; the index fits.
            Level::Avx512 => unsafe { x86::f64s_avx512(self.padded, ends, self.separator, out, marks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { x86::f64s_avx2(self.padded, ends, self.separator, out, marks) },
            _ => {
                let fields = ends[..ends.len() - 4].iter();
                let values =
                    fields.map_while(|&end| swar::double_after(self.padded, end as usize, |at| self.is_before(at)));
                let places = out.iter_mut().zip(marks);
                values.zip(places).map(|(value, (out, mark))| (*out, *mark) = value).count()
            }
        }
    }

    /// Whether a field may begin behind the byte at a place: that ends a field, or is a blank behind such a byte.
    fn is_before(&self, at: usize) -> bool {
        let ends = |at: usize| self.separator == Separator::Byte(self.padded[at]) || b"\n\r".contains(&self.padded[at]);
        match self.separator {
            Separator::Blanks => is_space(self.padded[at]),
            Separator::Byte(_) => ends(at) || is_space(self.padded[at]) && at > 0 && ends(at - 1),
        }
    }
}

/// A number in any notation, and its mark; `None` also for integers that no f64 keeps exactly.
fn any_notation(token: &[u8]) -> Option<(f64, u8)> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    };
    if digits.iter().all(u8::is_ascii_digit)
        && let Ok(size) = number::u64(digits)
    {
        let value = size as f64;
        let exact = (size <= MOST_EXACT).then_some(if negative { -value } else { value });
        return exact.map(|value| (value, u8::from(negative && size == 0) * NOT_INTEGER));
    }
    number::f64(token).map(|value| (value, NOT_INTEGER))
}

/// 10^0 to 10^14, and ones: 32, so that any five bits are an index.
pub(super) const TENS: [f64; 32] = {
    let (mut table, mut places, mut power) = ([1.0; 32], 0, 1.0);
    while places <= FLOAT_SIZE {
        table[places] = power;
        power *= 10.0;
        places += 1;
    }
    table
};
