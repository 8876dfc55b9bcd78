//! Runs of tokens of one type, whatever their lines are: the numbers of a table.
//!
//! Like [`super::rows`], each function goes on while the tokens are plain and returns how many were. It neither knows
//! nor checks where lines end.

use super::rows::Window;
use super::swar;
#[cfg(target_arch = "x86_64")]
use super::x86;
#[cfg(target_arch = "x86_64")]
use crate::cpu::Level;
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
    match window.level.usable() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU has the features of a usable level; the index fits.
        Level::Avx512 => unsafe { floats_avx512(window.padded, ends, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { floats_avx2(window.padded, ends, out) },
        _ => floats_portable(window.padded, ends, out),
    }
}

fn floats_portable(padded: &[u8], ends: &[u32], out: &mut [f32]) -> usize {
    for (at, (value, &end)) in out.iter_mut().zip(ends).enumerate() {
        match swar::float(padded, end as usize) {
            Some(number) => *value = number,
            None => return at,
        }
    }
    ends.len().min(out.len())
}

/// # Safety
/// The CPU has the features of [`Level::Avx512`], and the ends are those of an index of the text.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn floats_avx512(padded: &[u8], ends: &[u32], out: &mut [f32]) -> usize {
    // SAFETY: an index has its ends at least PADDING into the text and within it.
    floats_with(padded, ends, out, |ends| unsafe { x86::floats_avx512(padded.as_ptr(), ends) })
}

/// # Safety
/// The CPU has the features of [`Level::Avx2`], and the ends are those of an index of the text.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn floats_avx2(padded: &[u8], ends: &[u32], out: &mut [f32]) -> usize {
    // SAFETY: as above.
    floats_with(padded, ends, out, |ends| unsafe { x86::floats_avx2(padded.as_ptr(), ends) })
}

/// Four tokens at a time; what is left, and four of which one is not plain, one by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn floats_with(padded: &[u8], ends: &[u32], out: &mut [f32], convert: impl Fn([u32; 4]) -> Option<[f32; 4]>) -> usize {
    let (fours, _) = ends.as_chunks::<4>();
    let mut done = 0;
    for (ends, out) in fours.iter().zip(out.as_chunks_mut::<4>().0) {
        let Some(values) = convert(*ends) else { break };
        *out = values;
        done += 4;
    }
    done + floats_portable(padded, &ends[done..], &mut out[done..])
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
