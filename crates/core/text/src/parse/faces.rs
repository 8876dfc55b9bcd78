//! Parses faces: runs of `f 1 2 3`, `f 1/2 3/4 5/6`, `f 1//2 3//4 5//6` or `f 1/2/3 4/5/6 7/8/9`.
//!
//! Consecutive rows with the same layout are parsed together, up to 64 tokens including keywords.

use super::rows::{LineKeyword, Window};
use super::swar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::vector;
#[cfg(target_arch = "x86_64")]
use super::x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use crate::cpu::Level;
use crate::scan::is_space;

/// Notation of a face's corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CornerForm {
    /// `1`: a position; one value per corner.
    #[default]
    Position,
    /// `1/2`: position and UV; two values.
    PositionUv,
    /// `1//3`: position and normal; three values, the second of which is 0.
    PositionNormal,
    /// `1/2/3`: position, UV and normal; three values.
    All,
}

impl CornerForm {
    /// Returns the number of values per corner in the output of [`face_rows`].
    pub fn stride(self) -> usize {
        match self {
            CornerForm::Position => 1,
            CornerForm::PositionUv => 2,
            CornerForm::PositionNormal | CornerForm::All => 3,
        }
    }
}

/// Result of [`face_rows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceRows {
    /// Number of lines parsed.
    pub rows: usize,
    /// Number of values written.
    pub values: usize,
    /// Notation of the corners, the same for all rows.
    pub form: CornerForm,
    /// Whether all indices are negative (relative): the values are the bits of negative `i32`s.
    pub is_negative: bool,
}

/// Number of spare elements required after the last value, because values are written eight at a time.
pub const VALUE_SLACK: usize = 64;
/// Maximum number of tokens in a batch of rows, including keywords: one word of slash bits covers 64 tokens.
const BATCH_TOKENS: usize = 64;
/// Number of tokens after a batch that may be examined, because tokens are converted eight at a time.
const AHEAD: usize = 7;

/// Parses faces: rows of a keyword and at least three corners, all with the same notation and at most 63 indices.
///
/// A plain index is not zero, and has one to eight digits, or a minus and one to seven digits. All indices of the rows
/// have the same sign. Writes the values of all corners, 1-based as in the text, to `values` (leave [`VALUE_SLACK`]
/// spare) and the number of values up to the end of each row to `row_ends`. May overwrite later elements of both. A
/// keyword has at most eight bytes.
pub fn face_rows(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    let Some(keyword) = LineKeyword::new(keyword).filter(|_| window.fits()) else { return FaceRows::default() };
    // Files use either negative indices or positive ones, and a kernel for both would be slower.
    if counts_backwards(window, line) {
        let rows = at_level::<true>(window, line, keyword, values, row_ends);
        FaceRows { is_negative: rows.rows > 0, ..rows }
    } else {
        at_level::<false>(window, line, keyword, values, row_ends)
    }
}

/// Returns whether the first index of a line starts with a minus.
#[inline]
fn counts_backwards(window: Window<'_>, line: usize) -> bool {
    if line >= window.index.line_count {
        return false;
    }
    let end = window.index.ends[window.index.first_token(line)] as usize;
    let behind = window.padded.get(end..).unwrap_or_default();
    behind.iter().find(|byte| !is_space(**byte)) == Some(&b'-')
}

/// [`face_rows`] with the kernel of the window's level. `NEGATIVE` is for rows of negative indices.
#[inline]
fn at_level<const NEGATIVE: bool>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    match window.level.usable() {
        _ if !window.fits() => FaceRows::default(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `usable()` returns only levels of this CPU, and the first arm returns if `fits()` is false.
        Level::Avx512 => unsafe { face_rows_avx512::<NEGATIVE>(window, line, keyword, values, row_ends) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as for `Avx512` above.
        Level::Avx2 => unsafe { face_rows_avx2::<NEGATIVE>(window, line, keyword, values, row_ends) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as for `Avx512` above.
        Level::Vector => unsafe { face_rows_vector::<NEGATIVE>(window, line, keyword, values, row_ends) },
        _ => {
            let convert = if NEGATIVE { swar::negative_index } else { swar::index };
            face_rows_with(window, line, keyword, values, row_ends, |tokens, out| {
                convert_portable(window, tokens, out, convert)
            })
        }
    }
}

/// # Safety
/// The CPU has the features of [`Level::Avx512`], and `window.fits()`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn face_rows_avx512<const NEGATIVE: bool>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    let text = window.padded.as_ptr();
    face_rows_with(window, line, keyword, values, row_ends, |tokens, out| {
        // SAFETY: `RowBatch::tokens` takes ends from the index and at most 7 behind `end_count`, which `Index::close`
        // set to `start`. All are at least 64 (PADDING), and `fits()` puts them inside the text. This function has the
        // same features.
        convert_with(tokens, out, |ends, keep, out| unsafe { x86::indices_avx512::<NEGATIVE>(text, ends, keep, out) })
    })
}

/// # Safety
/// The CPU has the features of [`Level::Avx2`], and `window.fits()`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn face_rows_avx2<const NEGATIVE: bool>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    let text = window.padded.as_ptr();
    face_rows_with(window, line, keyword, values, row_ends, |tokens, out| {
        // SAFETY: as in `face_rows_avx512`: every end is at least 64 bytes into the text and inside it.
        convert_with(tokens, out, |ends, keep, out| unsafe { x86::indices_avx2::<NEGATIVE>(text, ends, keep, out) })
    })
}

/// # Safety
/// The CPU has the instructions of [`Level::Vector`], and `window.fits()`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
unsafe fn face_rows_vector<const NEGATIVE: bool>(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    values: &mut [u32],
    row_ends: &mut [u32],
) -> FaceRows {
    let text = window.padded.as_ptr();
    face_rows_with(window, line, keyword, values, row_ends, |tokens, out| {
        // SAFETY: as in `face_rows_avx512`: every end is at least 64 bytes into the text and inside it.
        convert_with(tokens, out, |ends, keep, out| unsafe { vector::indices::<NEGATIVE>(text, ends, keep, out) })
    })
}

/// Tokens of a batch of rows.
struct BatchTokens<'a> {
    /// Ends of the tokens, and [`AHEAD`] more.
    ends: &'a [u32],
    /// A bit for each token that is not a keyword.
    indices: u64,
}

/// A bit for each invalid or empty token of a batch; the bits of keywords are meaningless.
#[derive(Default)]
pub(super) struct IndexFaults {
    /// Tokens that are not plain, and zeros.
    pub(super) bad: u64,
    pub(super) empty: u64,
}

/// Parses rows batch by batch. `convert` writes the indices of a batch contiguously.
#[inline(always)]
fn face_rows_with(
    window: Window<'_>,
    line: usize,
    keyword: LineKeyword,
    values: &mut [u32],
    row_ends: &mut [u32],
    convert: impl Fn(BatchTokens<'_>, &mut [u32]) -> IndexFaults,
) -> FaceRows {
    let mut parsed = FaceRows::default();
    while let Some(batch) = RowBatch::find(window, line + parsed.rows, keyword) {
        let Some(room) = values.get_mut(parsed.values..) else { break };
        let fitting = room.len().saturating_sub(VALUE_SLACK) / batch.size;
        let rows = batch.rows.min(fitting).min(row_ends.len() - parsed.rows);
        if rows == 0 {
            break;
        }
        let faults = convert(batch.tokens(window, rows), room);
        for row in 0..rows {
            match batch.row_form(row, &faults) {
                Some(form) if parsed.rows == 0 || form == parsed.form => {
                    parsed = FaceRows { rows: parsed.rows + 1, values: parsed.values + batch.size, form, ..parsed };
                    row_ends[parsed.rows - 1] = parsed.values as u32;
                }
                _ => return parsed,
            }
        }
    }
    parsed
}

/// Consecutive rows with the same number of tokens and the same slashes.
struct RowBatch {
    /// Index of the first row's keyword among the tokens.
    first: usize,
    rows: usize,
    /// Number of indices per row.
    size: usize,
    form: CornerForm,
}

impl RowBatch {
    #[inline(always)]
    fn find(window: Window<'_>, line: usize, keyword: LineKeyword) -> Option<RowBatch> {
        let index = window.index;
        let lines = index.lines().get(line..)?;
        let first = index.first_token(line);
        let stride = (lines.first()?.tokens as usize).wrapping_sub(first);
        if !(4..=BATCH_TOKENS).contains(&stride) {
            return None;
        }
        let slashes = index.slash_bits(first);
        let mask = u64::MAX >> (BATCH_TOKENS - stride);
        let form = corner_form(slashes & mask, stride - 1)?;
        let mut rows = 0;
        let mut start = index.line_start(line);
        for line in lines.iter().take(BATCH_TOKENS / stride) {
            let token = first + rows * stride;
            let is_same = line.tokens as usize == token + stride
                && (slashes >> (rows * stride) ^ slashes) & mask == 0
                && keyword.is_at(window.padded, start, index.ends[token]);
            if !is_same {
                break;
            }
            start = line.newline as usize + 1;
            rows += 1;
        }
        Some(RowBatch { first, rows, size: stride - 1, form })
    }

    fn tokens<'a>(&self, window: Window<'a>, rows: usize) -> BatchTokens<'a> {
        let stride = self.size + 1;
        let row = u64::MAX >> (BATCH_TOKENS - stride) & !1;
        let indices = (0..rows).fold(0, |bits, index| bits | row << (index * stride));
        BatchTokens { ends: &window.index.ends[self.first..][..rows * stride + AHEAD], indices }
    }

    /// Returns the notation of a row, or `None` if the row is invalid.
    #[inline(always)]
    fn row_form(&self, row: usize, faults: &IndexFaults) -> Option<CornerForm> {
        let mask = u64::MAX >> (BATCH_TOKENS - self.size);
        let row_bits = |bits: u64| bits >> (row * (self.size + 1) + 1) & mask;
        match row_bits(faults.empty) {
            _ if row_bits(faults.bad) != 0 => None,
            0 => Some(self.form),
            empty if self.form == CornerForm::All && empty == MIDDLES & mask => Some(CornerForm::PositionNormal),
            _ => None,
        }
    }
}

/// The second of every three tokens.
const MIDDLES: u64 = 0o222_222_222_222_222_222_222;
/// Slashes of `1/2 3/4`, from the keyword on.
const PAIRS: u64 = 0xAAAA_AAAA_AAAA_AAAA;
/// Slashes of `1/2/3 4/5/6`, from the keyword on.
const TRIPLES: u64 = 0o666_666_666_666_666_666_666;

/// Returns the notation of a row of `size` indices with these slash bits (the bit of the keyword is the lowest).
///
/// The last token of a line never ends at a slash, so rows with these patterns have complete corners.
#[inline(always)]
fn corner_form(slashes: u64, size: usize) -> Option<CornerForm> {
    let mask = u64::MAX >> (BATCH_TOKENS - 1 - size);
    if slashes == 0 {
        Some(CornerForm::Position)
    } else if slashes == TRIPLES & mask && size >= 9 {
        Some(CornerForm::All)
    } else if slashes == PAIRS & mask && size >= 6 {
        Some(CornerForm::PositionUv)
    } else {
        None
    }
}

fn convert_portable(
    window: Window<'_>,
    tokens: BatchTokens<'_>,
    out: &mut [u32],
    convert: impl Fn(&[u8], usize) -> Option<u32>,
) -> IndexFaults {
    let mut faults = IndexFaults::default();
    let mut rest = tokens.indices;
    for out in out {
        if rest == 0 {
            break;
        }
        let bit = rest & rest.wrapping_neg();
        let value = convert(window.padded, tokens.ends[rest.trailing_zeros() as usize] as usize);
        match value {
            None => faults.bad |= bit,
            Some(0) => faults.empty |= bit,
            Some(_) => {}
        }
        *out = value.unwrap_or(0);
        rest ^= bit;
    }
    faults
}

/// Converts eight tokens at a time.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
fn convert_with(
    tokens: BatchTokens<'_>,
    out: &mut [u32],
    convert: impl Fn(&[u32; 8], u8, &mut [u32; 8]) -> IndexFaults,
) -> IndexFaults {
    const ALL_BAD: IndexFaults = IndexFaults { bad: u64::MAX, empty: 0 };
    let mut faults = IndexFaults::default();
    let mut written = 0;
    for at in (0..tokens.ends.len() - AHEAD).step_by(8) {
        let keep = (tokens.indices >> at) as u8;
        let Some(ends) = tokens.ends[at..].first_chunk() else { return ALL_BAD };
        let Some(out) = out[written..].first_chunk_mut() else { return ALL_BAD };
        let IndexFaults { bad, empty } = convert(ends, keep, out);
        faults.bad |= bad << at;
        faults.empty |= empty << at;
        written += keep.count_ones() as usize;
    }
    faults
}
