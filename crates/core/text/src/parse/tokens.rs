//! Parses runs of tokens of one type regardless of lines, such as the numbers of a table.
//!
//! As in [`super::rows`], each function stops at the first token that is not plain and returns the number of tokens
//! parsed.

use super::consts::TOGETHER;
use super::decimal::Decimal;
use super::plain::{NumberRun, Preceding, runs};
use super::rows::Window;
use super::swar;
use crate::scan::is_space;
use std::ops::Range;

/// Maximum size of a token and the white space before it: enough for 19 digits with signs, point, exponent and some
/// zeros.
const MAX_TOKEN_SIZE: usize = 48;

impl Window<'_> {
    /// Returns the indices of the tokens in line `line`, counted from the first token of the window. A `/` also ends a
    /// token.
    #[inline]
    pub fn tokens(&self, line: usize) -> Range<usize> {
        let end = self.index.lines().get(line).map_or(0, |line| line.tokens as usize);
        let start =
            if line == 0 { 0 } else { self.index.lines().get(line - 1).map_or(end, |line| line.tokens as usize) };
        start..end
    }

    /// Returns whether any of these tokens ends at a `/`.
    pub fn has_slash(&self, tokens: Range<usize>) -> bool {
        let end = tokens.end.min(self.index.end_count);
        (tokens.start..end).step_by(64).any(|first| {
            let count = (end - first).min(64);
            self.index.slash_bits(first) & (u64::MAX >> (64 - count)) != 0
        })
    }

    /// Returns the ends of up to `count` tokens from `first` on.
    pub(super) fn ends(&self, first: usize, count: usize) -> &[u32] {
        let ends = self.index.ends.get(..self.index.end_count).and_then(|ends| ends.get(first..)).unwrap_or(&[]);
        &ends[..count.min(ends.len())]
    }
}

/// Parses tokens from `first` on as floats into `out`. Returns the number of tokens parsed.
///
/// Accepts any decimal notation with up to 19 digits. Stops at values that are infinite or subnormal as an `f32`, and
/// may stop at values halfway between two f32s. May overwrite elements of `out` after the parsed ones.
pub fn floats(window: Window<'_>, first: usize, out: &mut [f32]) -> usize {
    let Some(tokens) = TokenRun::new(window, first, out.len()) else { return 0 };
    let single = |out: &mut [f32], index: usize| {
        tokens.decimal(index).and_then(Decimal::f32).map(|value| out[index] = value).is_some()
    };
    let parsed = runs(
        tokens.whole,
        out,
        // SAFETY: `TokenRun::new` checked that the window fits, and `numbers` has ends of the index and a usable level.
        |out, converted| unsafe { tokens.numbers(converted, tokens.whole).f32s(&mut out[converted..]) },
        // SAFETY: as above.
        |out, converted, end| unsafe { tokens.numbers(converted, end).long_f32s(&mut out[converted..]) },
        single,
    );
    tokens.rest(parsed, |index| single(out, index))
}

/// Precision of [`doubles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenPrecision {
    /// The nearest f64s.
    Double,
    /// Values with the same nearest f32s as the nearest f64s; integers are exact. This is faster for numbers with more
    /// than 14 characters.
    Single,
}

/// Parses tokens from `first` on as doubles into `out`, with a mark for each as for [fields](super::fields). Returns
/// the number of tokens parsed.
///
/// Accepts the same notation as [`floats`]. May overwrite elements of `out` and `marks` after the parsed ones.
pub fn doubles(
    window: Window<'_>,
    first: usize,
    precision: TokenPrecision,
    out: &mut [f64],
    marks: &mut [u8],
) -> usize {
    let Some(tokens) = TokenRun::new(window, first, out.len().min(marks.len())) else { return 0 };
    let marked = match precision {
        TokenPrecision::Double => Decimal::marked,
        TokenPrecision::Single => Decimal::nearly_marked,
    };
    let single = |(out, marks): &mut (&mut [f64], &mut [u8]), index: usize| {
        let value = tokens.decimal(index).and_then(marked);
        value.map(|marked| (out[index], marks[index]) = marked).is_some()
    };
    let mut slots = (out, marks);
    let parsed = runs(
        tokens.whole,
        &mut slots,
        // SAFETY: `TokenRun::new` checked that the window fits, and `numbers` has ends of the index and a usable level.
        |(out, marks), converted| unsafe {
            tokens.numbers(converted, tokens.whole).f64s(&mut out[converted..], &mut marks[converted..])
        },
        // SAFETY: as above.
        |(out, marks), converted, end| unsafe {
            let numbers = tokens.numbers(converted, end);
            let out = &mut out[converted..];
            let marks = &mut marks[converted..];
            match precision {
                TokenPrecision::Double => numbers.long_f64s(out, marks),
                TokenPrecision::Single => numbers.near_f64s(out, marks),
            }
        },
        single,
    );
    tokens.rest(parsed, |index| single(&mut slots, index))
}

/// Tokens of a window whose text fits the index.
#[derive(Clone, Copy)]
struct TokenRun<'a> {
    window: Window<'a>,
    first: usize,
    count: usize,
    /// Number of tokens that are converted several at a time. The last tokens are not, because kernels would read ends
    /// after them.
    whole: usize,
}

impl<'a> TokenRun<'a> {
    fn new(window: Window<'a>, first: usize, max_count: usize) -> Option<TokenRun<'a>> {
        let count = window.fits().then(|| window.ends(first, max_count).len())?;
        Some(TokenRun { window, first, count, whole: count.saturating_sub(TOGETHER - 1) })
    }

    /// Returns tokens `start` to `end` as numbers. The run's own ends have indices below `end_count`, so each is at 64
    /// (PADDING) or more and inside the text. Of the ends after them, the last may be one that the index filled in.
    fn numbers(&self, start: usize, end: usize) -> NumberRun<'a> {
        let Window { padded, index, level } = self.window;
        let ends = &index.ends[self.first + start..][..end - start + TOGETHER];
        NumberRun { padded, ends, preceding: Preceding::Token, level: level.usable() }
    }

    fn decimal(&self, index: usize) -> Option<Decimal> {
        long(self.window.padded, self.window.index.ends[self.first + index] as usize)
    }

    /// Converts the last tokens individually, unless the first `parsed` tokens ended early. Returns the total count.
    fn rest(&self, parsed: usize, single: impl FnMut(usize) -> bool) -> usize {
        if parsed < self.whole {
            parsed
        } else {
            parsed + (parsed..self.count).map(single).take_while(|is_parsed| *is_parsed).count()
        }
    }
}

/// Returns the characters between white space and `end`, if there are fewer than [`MAX_TOKEN_SIZE`] and all are greater
/// than a space (0x20).
pub(super) fn token_before(padded: &[u8], end: usize) -> Option<&[u8]> {
    let text = padded.get(end.checked_sub(MAX_TOKEN_SIZE)?..end)?;
    // Eight at a time: searching byte by byte would take longer than the conversion.
    for (word, &bytes) in text.as_rchunks::<8>().1.iter().rev().enumerate() {
        let lows = swar::up_to_blank(u64::from_le_bytes(bytes));
        if lows != 0 {
            let start = MAX_TOKEN_SIZE - 8 * word - lows.leading_zeros() as usize / 8;
            return is_space(text[start - 1]).then(|| &text[start..]);
        }
    }
    None
}

/// Parses a number of up to 19 digits, in any decimal notation, that ends at `end` and follows white space.
pub(super) fn long(padded: &[u8], end: usize) -> Option<Decimal> {
    Decimal::from_token(token_before(padded, end)?)
}

/// Parses tokens from `first` on as integers into `out`. Returns the number of tokens parsed.
///
/// Accepts one to eight digits with an optional minus. May overwrite elements of `out` after the parsed ones.
pub fn integers(window: Window<'_>, first: usize, out: &mut [i32]) -> usize {
    let Some(tokens) = TokenRun::new(window, first, out.len()) else { return 0 };
    // SAFETY: `TokenRun::new` found that the window fits, and `numbers` has ends of the index and a usable level.
    let parsed = unsafe { tokens.numbers(0, tokens.whole).i32s(out) };
    let single = |index: usize| {
        let value = swar::integer(window.padded, window.index.ends[first + index] as usize);
        value.map(|integer| out[index] = integer).is_some()
    };
    tokens.rest(parsed, single)
}
