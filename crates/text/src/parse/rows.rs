//! Runs of lines of one plain shape: `v 1.5 -2 3` and `f 1/2/3 4/5/6 7/8/9`.
//!
//! Each function starts at a line of an [`Index`] and goes on while the lines fit; it returns how
//! many did. It never decides what a line that does not fit means.

use super::swar;
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::cpu::Level;
use crate::scan::Index;

/// The text and its index.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    /// The padded text that `index` was made of.
    pub padded: &'a [u8],
    /// Where its tokens and lines end.
    pub index: &'a Index,
    /// The instructions to use.
    pub level: Level,
}

/// How a face's corners are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CornerForm {
    /// `1`: a position; one value per corner.
    #[default]
    Position,
    /// `1/2`: position and uv; two values.
    PositionUv,
    /// `1//3`: position and normal; three values, the second of which is 0.
    PositionNormal,
    /// `1/2/3`: three values.
    All,
}

impl CornerForm {
    /// How many values a corner has in the output of [`face_rows`].
    pub fn stride(self) -> usize {
        match self {
            CornerForm::Position => 1,
            CornerForm::PositionUv => 2,
            CornerForm::PositionNormal | CornerForm::All => 3,
        }
    }
}

/// What [`face_rows`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceRows {
    /// How many lines were taken.
    pub rows: usize,
    /// How many values were written.
    pub values: usize,
    /// How their corners are written: one form for all rows.
    pub form: CornerForm,
}

/// The most tokens of a face row, its keyword aside: slash bits come 57 at a time.
const MAX_TOKENS: usize = 56;
/// Values are written eight at a time: leave this much room after the last.
pub const VALUE_SLACK: usize = 64;

impl Window<'_> {
    /// Whether the index was made of this text, or of one that is not longer.
    fn fits(&self) -> bool {
        self.padded.len() >= self.index.limit
    }

    /// The first token of `line`, where it begins with `keyword` and a space and has `numbers` more tokens.
    #[inline(always)]
    fn row(&self, line: usize, keyword: &[u8], numbers: usize) -> Option<usize> {
        let first = self.index.first_token(line);
        let last = self.index.lines[line].tokens as usize;
        let slashes = self.index.slash_bits(first) & ((2 << numbers) - 1);
        (last == first + 1 + numbers && slashes == 0 && self.keyword(line, first, keyword)).then_some(first)
    }

    /// Whether `line`, whose first token is `first`, begins with `keyword` and white space.
    #[inline(always)]
    fn keyword(&self, line: usize, first: usize, keyword: &[u8]) -> bool {
        let start = self.index.line_start(line);
        let end = self.index.ends[first] as usize;
        self.padded.get(start..end) == Some(keyword)
    }

    #[inline(always)]
    fn ends<const N: usize>(&self, first: usize) -> [u32; N] {
        let mut ends = [0; N];
        ends.copy_from_slice(&self.index.ends[first..first + N]);
        ends
    }
}

/// Takes rows of a keyword and `N` floats (2 to 4): returns how many lines from `line` on it took.
pub fn float_rows<const N: usize>(window: Window<'_>, line: usize, keyword: &[u8], out: &mut [[f32; N]]) -> usize {
    const { assert!(N >= 2 && N <= 4) };
    match window.level {
        _ if !window.fits() => 0,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is only made where the CPU has its features.
        Level::Avx512 => unsafe { float_rows_avx512(window, line, keyword, out) },
        _ => float_rows_portable(window, line, keyword, out),
    }
}

fn float_rows_portable<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    out: &mut [[f32; N]],
) -> usize {
    let lines = line..window.index.line_count;
    for (row, (line, out)) in lines.zip(out.iter_mut()).enumerate() {
        let Some(first) = window.row(line, keyword, N) else { return row };
        for (value, end) in out.iter_mut().zip(window.ends::<N>(first + 1)) {
            match swar::float(window.padded, end as usize) {
                Some(number) => *value = number,
                None => return row,
            }
        }
    }
    (window.index.line_count - line).min(out.len())
}

/// # Safety
/// The CPU has the features of [`Level::Avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn float_rows_avx512<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    out: &mut [[f32; N]],
) -> usize {
    let lines = line..window.index.line_count;
    for (row, (line, out)) in lines.zip(out.iter_mut()).enumerate() {
        let Some(first) = window.row(line, keyword, N) else { return row };
        let ends = window.ends::<4>(first + 1);
        // SAFETY: the index holds offsets of at least PADDING into `padded` for the row's N tokens.
        match unsafe { x86::floats::<N>(window.padded.as_ptr(), &ends) } {
            Some(values) => *out = values,
            None => return row,
        }
    }
    (window.index.line_count - line).min(out.len())
}

/// Takes faces: rows of a keyword and three corners or more, all of the same form and at most 56 indices.
///
/// Writes the values of all corners, 1-based as they stand, into `values` (leave [`VALUE_SLACK`]
/// free) and after each row the number of values so far into `row_ends`.
pub fn face_rows(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    match window.level {
        _ if !window.fits() => FaceRows::default(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is only made where the CPU has its features.
        Level::Avx512 => unsafe { face_rows_avx512(window, line, keyword, values, row_ends) },
        _ => face_rows_with(window, line, keyword, values, row_ends, face_values_portable),
    }
}

/// # Safety
/// The CPU has the features of [`Level::Avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn face_rows_avx512(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    // SAFETY: this function's own promise.
    face_rows_with(window, line, keyword, values, row_ends, |window, first, count, out| unsafe {
        face_values_avx512(window, first, count, out)
    })
}

/// The loop over rows; `convert` fills the values of a row and returns the bits of its empty tokens.
#[inline(always)]
fn face_rows_with(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    values: &mut [u32],
    row_ends: &mut [u32],
    convert: impl Fn(Window<'_>, usize, usize, &mut [u32]) -> Option<u64>,
) -> FaceRows {
    let mut done = FaceRows::default();
    let lines = line..window.index.line_count;
    for (line, row_end) in lines.zip(row_ends.iter_mut()) {
        let first = window.index.first_token(line);
        let count = (window.index.lines[line].tokens as usize).wrapping_sub(first + 1);
        if !(3..=MAX_TOKENS).contains(&count) || !window.keyword(line, first, keyword) {
            break;
        }
        let slashes = window.index.slash_bits(first) & ((2 << count) - 1);
        let Some(mut form) = corner_form(slashes, count) else { break };
        let Some(room) = values.get_mut(done.values..done.values + count + VALUE_SLACK) else { break };
        match convert(window, first + 1, count, room) {
            Some(0) => {}
            Some(empty) if form == CornerForm::All && empty == MIDDLES & ((1 << count) - 1) => {
                form = CornerForm::PositionNormal;
            }
            _ => break,
        }
        if done.rows > 0 && form != done.form {
            break;
        }
        done = FaceRows { rows: done.rows + 1, values: done.values + count, form };
        *row_end = done.values as u32;
    }
    done
}

/// Every second of three tokens, from the first on.
const MIDDLES: u64 = 0o222_222_222_222_222_222_222;
/// The slashes of `1/2 3/4`, from the keyword on.
const PAIRS: u64 = 0xAAAA_AAAA_AAAA_AAAA;
/// The slashes of `1/2/3 4/5/6`, from the keyword on.
const TRIPLES: u64 = 0o666_666_666_666_666_666_666;

/// The form of a row of `count` tokens with these slash bits (the keyword's is the lowest).
#[inline(always)]
fn corner_form(slashes: u64, count: usize) -> Option<CornerForm> {
    let mask = (2 << count) - 1;
    if slashes == 0 {
        Some(CornerForm::Position)
    } else if count % 3 == 0 && count >= 9 && slashes == TRIPLES & mask {
        Some(CornerForm::All)
    } else if count % 2 == 0 && count >= 6 && slashes == PAIRS & mask {
        Some(CornerForm::PositionUv)
    } else {
        None
    }
}

/// Converts `count` tokens from `first` on; returns the bits of the empty ones.
#[inline(always)]
fn face_values_portable(window: Window<'_>, first: usize, count: usize, out: &mut [u32]) -> Option<u64> {
    let mut empty = 0;
    let ends = &window.index.ends[first..first + count];
    for (token, (&end, out)) in ends.iter().zip(out).enumerate() {
        *out = swar::index(window.padded, end as usize)?;
        empty |= u64::from(*out == 0) << token;
    }
    Some(empty)
}

/// As [`face_values_portable`], eight at a time: writes up to seven values more than `count`.
///
/// # Safety
/// The CPU has the features of [`Level::Avx512`], and the index fits the text.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
unsafe fn face_values_avx512(window: Window<'_>, first: usize, count: usize, out: &mut [u32]) -> Option<u64> {
    let mut empty = 0;
    let ends = &window.index.ends[first - 1..first + count + 8];
    for (step, out) in out[..count.next_multiple_of(8)].chunks_exact_mut(8).enumerate() {
        let ends = ends[8 * step..8 * step + 9].as_ptr();
        // SAFETY: nine ends are there, each at least PADDING into the text and within it; `out` has eight places.
        let found = unsafe { x86::indices(window.padded.as_ptr(), ends, out.as_mut_ptr()) };
        let row = u32::MAX >> (32 - (count - 8 * step).min(8));
        if (found.bad | found.zeros & !found.empty) & row != 0 {
            return None;
        }
        empty |= u64::from(found.empty & row) << (8 * step);
    }
    Some(empty)
}
