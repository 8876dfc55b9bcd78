//! Parses runs of lines with the same plain layout: `v 1.5 -2 3`, and with [`face_rows`] `f 1/2/3 4/5/6 7/8/9`.
//!
//! Each function starts at a line of an [`Index`], stops at the first line with another layout, and returns the number
//! of parsed lines. The caller interprets other lines.

use super::consts::TOGETHER;
use super::decimal::Decimal;
pub use super::faces::{CornerForm, FaceRows, VALUE_SLACK, face_rows};
use super::plain::{NumberRun, Preceding, runs};

#[cfg(target_arch = "x86_64")]
use super::long_x86;
use super::swar;
use super::tokens;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::vector;
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::cpu::Level;
use crate::scan::{Index, PADDING};

/// A text and its index. Nothing is parsed if the text is shorter than the indexed one.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    /// The padded text that `index` was built from.
    pub padded: &'a [u8],
    /// Ends of the tokens and lines.
    pub index: &'a Index,
    /// Instruction set level to use.
    pub level: Level,
}

/// A keyword of up to eight bytes, compared in one step.
#[derive(Clone, Copy)]
pub(super) struct LineKeyword {
    word: u64,
    mask: u64,
    size: usize,
}

impl LineKeyword {
    pub(super) fn new(keyword: &[u8]) -> Option<LineKeyword> {
        let mut bytes = [0; 8];
        bytes.get_mut(..keyword.len())?.copy_from_slice(keyword);
        let mask = u64::MAX.checked_shr(64 - 8 * keyword.len() as u32).unwrap_or(0);
        Some(LineKeyword { word: u64::from_le_bytes(bytes), mask, size: keyword.len() })
    }

    /// Returns whether the token from `start` to `end` is the keyword.
    #[inline(always)]
    pub(super) fn is_at(self, padded: &[u8], start: usize, end: u32) -> bool {
        let Some(bytes) = padded.get(start..).and_then(|rest| rest.first_chunk()) else { return false };
        end as usize == start + self.size && (u64::from_le_bytes(*bytes) ^ self.word) & self.mask == 0
    }
}

impl Window<'_> {
    /// Returns whether the index was built from this text, or from a text that is not longer, so that its offsets are
    /// inside this text.
    pub(super) fn fits(&self) -> bool {
        self.padded.len() - PADDING.min(self.padded.len()) >= self.index.limit
    }

    /// Returns the token ends from the first keyword on, if `ROWS` lines from `line` on consist of a keyword and `N`
    /// tokens without slashes.
    #[inline(always)]
    pub(super) fn rows<const N: usize, const ROWS: usize>(
        &self,
        line: usize,
        keyword: LineKeyword,
    ) -> Option<&[u32; 16]> {
        let first = self.index.first_token(line);
        let ends = self.index.ends[first..].first_chunk::<16>()?;
        let mut start = self.index.line_start(line);
        for row in 0..ROWS {
            let end = self.index.lines[line + row];
            if end.tokens as usize != first + (row + 1) * (N + 1)
                || !keyword.is_at(self.padded, start, ends[row * (N + 1)])
            {
                return None;
            }
            start = end.newline as usize + 1;
        }
        let slashes = self.index.slash_bits(first) & ((1 << (ROWS * (N + 1))) - 1);
        (slashes == 0).then_some(ends)
    }
}

/// Parses rows of a keyword and `N` floats (2 to 7). Returns the number of lines parsed from `line` on.
///
/// A plain float has up to 14 characters, only digits and at most one point, after an optional minus. A keyword has at
/// most eight bytes. Also stops at numbers that are too close to the midpoint between two f32s. May overwrite elements
/// of `out` after the parsed rows.
pub fn float_rows<const N: usize>(window: Window<'_>, line: usize, keyword: &[u8], out: &mut [[f32; N]]) -> usize {
    const { assert!(N >= 2 && N <= 7) };
    let Some(keyword) = LineKeyword::new(keyword) else { return 0 };
    match window.level.usable() {
        _ if !window.fits() => 0,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `usable()` returns only levels of this CPU, and the first arm returns if `fits()` is false.
        Level::Avx512 => unsafe { float_rows_avx512(window, line, keyword, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as for `Avx512` above.
        Level::Avx2 => unsafe { float_rows_avx2(window, line, keyword, out) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as for `Avx512` above.
        Level::Vector => unsafe { float_rows_vector(window, line, keyword, out) },
        _ => float_rows_portable(window, line, keyword, out),
    }
}

/// Parses rows of a keyword and `N` floats (2 to 7) in any decimal notation with up to 19 digits. Returns the number of
/// lines parsed from `line` on.
///
/// This is slower than [`float_rows`] for rows that both accept. Stops at values that are infinite or subnormal as an
/// `f32`, and may stop at values halfway between two f32s. May overwrite elements of `out` after the parsed rows.
pub fn long_float_rows<const N: usize>(window: Window<'_>, line: usize, keyword: &[u8], out: &mut [[f32; N]]) -> usize {
    const { assert!(N >= 2 && N <= 7) };
    let Some(keyword) = LineKeyword::new(keyword).filter(|_| window.fits()) else { return 0 };
    let rows = window.index.line_count.saturating_sub(line).min(out.len());
    runs(
        rows,
        out,
        |out, parsed| long_rows(window, line + parsed, keyword, &mut out[parsed..rows]),
        |_, _, _| 0,
        |out, parsed| long_row(window, line + parsed, keyword, &mut out[parsed]).is_some(),
    )
}

/// Parses rows of long floats, four numbers at a time, or none if there is no kernel for the level.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn long_rows<const N: usize>(window: Window<'_>, line: usize, keyword: LineKeyword, out: &mut [[f32; N]]) -> usize {
    match window.level.usable() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `usable()` returns only levels of this CPU, and the caller has checked `fits()`.
        Level::Avx2 | Level::Avx512 => unsafe { long_rows_avx2(window, line, keyword, out) },
        _ => 0,
    }
}

/// Parses one row of long floats, one number at a time.
fn long_row<const N: usize>(window: Window<'_>, line: usize, keyword: LineKeyword, out: &mut [f32; N]) -> Option<()> {
    let ends = &window.rows::<N, 1>(line, keyword)?[1..=N + TOGETHER];
    let numbers = NumberRun { padded: window.padded, ends, preceding: Preceding::Token, level: window.level.usable() };
    // SAFETY: the `N` ends are of a whole line of the index: at least 64 (PADDING) bytes into the text, and inside it
    // because the caller has checked `fits()`. `level` is usable.
    let converted = unsafe { numbers.long_f32s(out) };
    let rest = out[converted..].iter_mut().zip(&ends[converted..]);
    rest.map(|(value, &end)| {
        tokens::long(window.padded, end as usize).and_then(Decimal::f32).map(|single| *value = single)
    })
    .collect()
}

fn float_rows_portable<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
) -> usize {
    let rows = window.index.line_count.saturating_sub(line).min(out.len());
    for (row, out) in out[..rows].iter_mut().enumerate() {
        let Some(ends) = window.rows::<N, 1>(line + row, keyword) else { return row };
        for (value, &end) in out.iter_mut().zip(&ends[1..]) {
            match swar::float(window.padded, end as usize) {
                Some(number) => *value = number,
                None => return row,
            }
        }
    }
    rows
}

/// # Safety
/// The CPU has the features of [`Level::Avx512`], and `window.fits()`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn float_rows_avx512<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
) -> usize {
    let text = window.padded.as_ptr();
    // SAFETY: `Window::rows` returns ends of whole lines of the index, and `batches` picks from those: they are at
    // least 64 (PADDING) bytes into the text, and inside it because of `fits()`. This function has the same features.
    float_rows_with(window, line, keyword, out, |_, ends| unsafe { x86::floats_avx512(text, ends) })
}

/// # Safety
/// The CPU has the features of [`Level::Avx2`], and `window.fits()`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn float_rows_avx2<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
) -> usize {
    let text = window.padded.as_ptr();
    // SAFETY: as in `float_rows_avx512`: every end is at least 64 bytes into the text and inside it.
    float_rows_with(window, line, keyword, out, |_, ends| unsafe { x86::floats_avx2(text, ends) })
}

/// # Safety
/// The CPU has the instructions of [`Level::Vector`], and `window.fits()`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
unsafe fn float_rows_vector<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
) -> usize {
    let text = window.padded.as_ptr();
    // SAFETY: as in `float_rows_avx512`: every end is at least 64 bytes into the text and inside it.
    float_rows_with(window, line, keyword, out, |_, ends| unsafe { vector::floats(text, ends) })
}

/// # Safety
/// The CPU has the features of [`Level::Avx2`], and `window.fits()`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn long_rows_avx2<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
) -> usize {
    let text = window.padded.as_ptr();
    // SAFETY: as in `float_rows_avx512`: every end is at least 64 bytes into the text and inside it. A start is right
    // after the end of the token before it in the same line.
    float_rows_with(window, line, keyword, out, |starts, ends| unsafe { long_x86::four_f32s(text, starts, ends) })
}

/// The loop over rows, shared by all vector kernels. `convert` receives the starts and ends of four tokens, possibly
/// from several rows.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
fn float_rows_with<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
    convert: impl Fn([u32; 4], [u32; 4]) -> Option<[f32; 4]>,
) -> usize {
    let rows = window.index.line_count.saturating_sub(line).min(out.len());
    let out = &mut out[..rows];
    // With 2, 3 or 6 tokens per row, parses as many rows at a time as fill whole groups of four tokens.
    let parsed = match N {
        2 => batches::<N, 2>(window, line, keyword, out, &convert),
        3 => batches::<N, 4>(window, line, keyword, out, &convert),
        6 => batches::<N, 2>(window, line, keyword, out, &convert),
        _ => batches::<N, 1>(window, line, keyword, out, &convert),
    };
    parsed + batches::<N, 1>(window, line + parsed, keyword, &mut out[parsed..], &convert)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
fn batches<const N: usize, const ROWS: usize>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    out: &mut [[f32; N]],
    convert: &impl Fn([u32; 4], [u32; 4]) -> Option<[f32; 4]>,
) -> usize {
    let (batches, _) = out.as_chunks_mut::<ROWS>();
    let count = batches.len();
    for (batch, out) in batches.iter_mut().enumerate() {
        let Some(ends) = window.rows::<N, ROWS>(line + batch * ROWS, keyword) else { return batch * ROWS };
        // Lanes without a token repeat the first one.
        let before = |token: usize| if token < N * ROWS { token + token / N } else { 0 };
        for (four, out) in out.as_flattened_mut().chunks_mut(4).enumerate() {
            let indices = [0, 1, 2, 3].map(|lane| before(4 * four + lane));
            let starts = indices.map(|at| ends[at] + 1);
            let stops = indices.map(|at| ends[at + 1]);
            let Some(values) = convert(starts, stops) else { return batch * ROWS };
            out.copy_from_slice(&values[..out.len()]);
        }
    }
    count * ROWS
}
