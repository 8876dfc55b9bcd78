//! Runs of tokens of one type, whatever their lines are: the numbers of a table.
//!
//! Like [`super::rows`], each function goes on while the tokens are plain and returns how many were. It neither knows
//! nor checks where lines end.

use super::consts::TOGETHER;
use super::plain::{Before, Numbers};
use super::rows::Window;
use super::swar;
use std::ops::Range;

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

    /// Where `count` tokens from `first` on end, or as many of them as there are.
    fn ends(&self, first: usize, count: usize) -> &[u32] {
        let found = self.index.ends.get(..self.index.end_count).and_then(|ends| ends.get(first..)).unwrap_or(&[]);
        &found[..count.min(found.len())]
    }
}

/// Takes tokens from `first` on as floats into `out`: returns how many it took.
///
/// A plain float has up to 14 digits, one of which may be a point instead, and a minus before them. Values of `out`
/// behind those that it took may change.
pub fn floats(window: Window<'_>, first: usize, out: &mut [f32]) -> usize {
    if !window.fits() {
        return 0;
    }
    let ends = window.ends(first, out.len());
    // Numbers are written some at a time: the last ones have no room behind them.
    let whole = ends.len() - (TOGETHER - 1).min(ends.len());
    let numbers = Numbers {
        padded: window.padded,
        ends: &window.index.ends[first.min(window.index.end_count)..][..whole + TOGETHER],
        before: Before::Token,
        level: window.level.usable(),
    };
    // SAFETY: `fits()` and `Index::begin` put the wanted ends at 64 (PADDING) or more and inside `padded`: they are
    // below `end_count`, the others are only counted. `level` is usable.
    let done = unsafe { numbers.f32s(out) };
    let rest = out[done..].iter_mut().zip(&ends[done..]);
    let plain = rest.map_while(|(out, &end)| swar::float(window.padded, end as usize).map(|number| *out = number));
    done + plain.count()
}

/// Takes tokens from `first` on as integers into `out`: returns how many it took.
///
/// A plain integer has one to eight digits and a minus before them. Values of `out` behind those that it took may
/// change.
pub fn integers(window: Window<'_>, first: usize, out: &mut [i32]) -> usize {
    if !window.fits() {
        return 0;
    }
    let ends = window.ends(first, out.len());
    for (at, (value, &end)) in out.iter_mut().zip(ends).enumerate() {
        match swar::integer(window.padded, end as usize) {
            Some(number) => *value = number,
            None => return at,
        }
    }
    ends.len()
}
