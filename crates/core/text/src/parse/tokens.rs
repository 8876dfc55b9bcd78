//! Runs of tokens of one type, whatever their lines are: the numbers of a table.
//!
//! Like [`super::rows`], each function continues while the tokens are plain and returns how many were. It ignores line
//! ends.

use super::consts::TOGETHER;
use super::decimal::Decimal;
use super::plain::{Before, Numbers, runs};
use super::rows::Window;
use super::swar;
use crate::scan::is_space;
use std::ops::Range;

/// More characters than a decimal number of 19 digits has: its signs, point, exponent, and some zeros.
const LONGEST: usize = 48;

impl Window<'_> {
    /// The tokens of line `line`, counted from the first of the window. A `/` ends a token too.
    #[inline]
    pub fn tokens(&self, line: usize) -> Range<usize> {
        let end = self.index.lines().get(line).map_or(0, |line| line.tokens as usize);
        let start =
            if line == 0 { 0 } else { self.index.lines().get(line - 1).map_or(end, |line| line.tokens as usize) };
        start..end
    }

    /// Whether a `/` ended one of these tokens.
    pub fn has_slash(&self, tokens: Range<usize>) -> bool {
        let end = tokens.end.min(self.index.end_count);
        (tokens.start..end).step_by(64).any(|first| {
            let count = (end - first).min(64);
            self.index.slash_bits(first) & (u64::MAX >> (64 - count)) != 0
        })
    }

    /// The ends of `count` tokens from `first` on, or of as many as there are.
    fn ends(&self, first: usize, count: usize) -> &[u32] {
        let found = self.index.ends.get(..self.index.end_count).and_then(|ends| ends.get(first..)).unwrap_or(&[]);
        &found[..count.min(found.len())]
    }
}

/// Takes tokens from `first` on as floats into `out`; returns how many it took.
///
/// A float is decimal, in any notation with up to 19 digits. Values that are infinite or subnormal as an `f32`, or
/// halfway between two, end the run. Values of `out` after those that it took may change.
pub fn floats(window: Window<'_>, first: usize, out: &mut [f32]) -> usize {
    let Some(tokens) = Run::new(window, first, out.len()) else { return 0 };
    let one = |out: &mut [f32], at: usize| tokens.decimal(at).and_then(Decimal::f32).map(|it| out[at] = it).is_some();
    let done = runs(
        tokens.whole,
        out,
        // SAFETY: `Run::new` found that the window fits, and `numbers` has ends of the index and a usable level.
        |out, done| unsafe { tokens.numbers(done, tokens.whole).f32s(&mut out[done..]) },
        // SAFETY: as above.
        |out, done, stop| unsafe { tokens.numbers(done, stop).long_f32s(&mut out[done..]) },
        one,
    );
    tokens.rest(done, |at| one(out, at))
}

/// How exact the values of [`doubles`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The nearest f64s.
    Double,
    /// Values that have the same nearest f32s as the nearest f64s; integers are exact. That takes less time for numbers
    /// with more than 14 characters.
    Single,
}

/// Takes tokens from `first` on as doubles into `out`, with a mark for each as for [fields](super::fields); returns how
/// many it took.
///
/// The notation is as for [`floats`]. Values of `out` and `marks` after those that it took may change.
pub fn doubles(window: Window<'_>, first: usize, precision: Precision, out: &mut [f64], marks: &mut [u8]) -> usize {
    let Some(tokens) = Run::new(window, first, out.len().min(marks.len())) else { return 0 };
    let marked = match precision {
        Precision::Double => Decimal::marked,
        Precision::Single => Decimal::nearly_marked,
    };
    let one = |(out, marks): &mut (&mut [f64], &mut [u8]), at: usize| {
        let found = tokens.decimal(at).and_then(marked);
        found.map(|it| (out[at], marks[at]) = it).is_some()
    };
    let mut places = (out, marks);
    let done = runs(
        tokens.whole,
        &mut places,
        // SAFETY: `Run::new` found that the window fits, and `numbers` has ends of the index and a usable level.
        |(out, marks), done| unsafe { tokens.numbers(done, tokens.whole).f64s(&mut out[done..], &mut marks[done..]) },
        // SAFETY: as above.
        |(out, marks), done, stop| unsafe {
            let (numbers, out, marks) = (tokens.numbers(done, stop), &mut out[done..], &mut marks[done..]);
            match precision {
                Precision::Double => numbers.long_f64s(out, marks),
                Precision::Single => numbers.near_f64s(out, marks),
            }
        },
        one,
    );
    tokens.rest(done, |at| one(&mut places, at))
}

/// Tokens of a window that fits.
#[derive(Clone, Copy)]
struct Run<'a> {
    window: Window<'a>,
    first: usize,
    count: usize,
    /// How many of them are converted several at a time: the last ones have no room after them.
    whole: usize,
}

impl<'a> Run<'a> {
    fn new(window: Window<'a>, first: usize, most: usize) -> Option<Run<'a>> {
        let count = window.fits().then(|| window.ends(first, most).len())?;
        Some(Run { window, first, count, whole: count.saturating_sub(TOGETHER - 1) })
    }

    /// Their numbers: all wanted ends are below `end_count`, and so at 64 (PADDING) or more and inside the text.
    fn numbers(&self, from: usize, to: usize) -> Numbers<'a> {
        let Window { padded, index, level } = self.window;
        let ends = &index.ends[self.first + from..][..to - from + TOGETHER];
        Numbers { padded, ends, before: Before::Token, level: level.usable() }
    }

    fn decimal(&self, at: usize) -> Option<Decimal> {
        long(self.window.padded, self.window.index.ends[self.first + at] as usize)
    }

    /// Continues one by one after the first `done`, unless these stopped early; returns how many there are in all.
    fn rest(&self, done: usize, one: impl FnMut(usize) -> bool) -> usize {
        if done < self.whole { done } else { done + (done..self.count).map(one).take_while(|took| *took).count() }
    }
}

/// The characters between white space and `end`: up to [`LONGEST`], none of which is below a blank.
fn token_before(padded: &[u8], end: usize) -> Option<&[u8]> {
    let text = padded.get(end.checked_sub(LONGEST)?..end)?;
    // Eight at a time: one by one takes longer than the conversion.
    for (word, &bytes) in text.as_rchunks::<8>().1.iter().rev().enumerate() {
        let lows = swar::up_to_blank(u64::from_le_bytes(bytes));
        if lows != 0 {
            let start = LONGEST - 8 * word - lows.leading_zeros() as usize / 8;
            return is_space(text[start - 1]).then(|| &text[start..]);
        }
    }
    None
}

/// A number in any notation that ends at `end`, with white space before it.
pub(super) fn long(padded: &[u8], end: usize) -> Option<Decimal> {
    Decimal::from_token(token_before(padded, end)?)
}

/// Takes tokens from `first` on as integers into `out`; returns how many it took.
///
/// A plain integer has one to eight digits and a minus before them. Values of `out` after those that it took may
/// change.
pub fn integers(window: Window<'_>, first: usize, out: &mut [i32]) -> usize {
    let Some(tokens) = Run::new(window, first, out.len()) else { return 0 };
    // SAFETY: `Run::new` found that the window fits, and `numbers` has ends of the index and a usable level.
    let done = unsafe { tokens.numbers(0, tokens.whole).i32s(out) };
    let one = |at: usize| {
        let found = swar::integer(window.padded, window.index.ends[first + at] as usize);
        found.map(|it| out[at] = it).is_some()
    };
    tokens.rest(done, one)
}
