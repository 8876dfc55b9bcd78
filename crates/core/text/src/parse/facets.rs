//! Parses STL facets: runs of seven lines with nine keywords and twelve floats.
//!
//! ```text
//! facet normal 0 0 1
//!   outer loop
//!     vertex 0 0 0
//!     vertex 1 0 0
//!     vertex 0 1 0
//!   endloop
//! endfacet
//! ```
//! Letter case and the amount of white space do not matter. The numbers of many facets are collected and converted
//! together; facets that contain numbers in other notations are converted number by number.

use super::number;
use super::positions::{Batch, DigitLoss, RowShape};
use super::rows::Window;
use crate::scan::is_space;

/// A normal and three positions.
pub type Facet = [[f32; 3]; 4];

/// Lines per facet.
pub const LINES: usize = 7;
/// Tokens per facet.
const TOKENS: usize = 21;
/// Numbers per facet.
const NUMBERS: usize = 12;
/// Maximum number of facets converted together.
const BATCH: usize = 32;

/// Number of tokens of the facet up to the end of each line.
const LINE_TOKENS: [usize; LINES] = [5, 7, 11, 15, 19, 20, 21];
/// Indices of the number tokens.
const NUMBER_TOKENS: [usize; NUMBERS] = [2, 3, 4, 8, 9, 10, 12, 13, 14, 16, 17, 18];
/// Indices and keywords of the other tokens.
const KEYWORDS: [(usize, FacetKeyword); TOKENS - NUMBERS] = [
    (0, FacetKeyword::new(b"facet")),
    (1, FacetKeyword::new(b"normal")),
    (5, FacetKeyword::new(b"outer")),
    (6, FacetKeyword::new(b"loop")),
    (7, FacetKeyword::new(b"vertex")),
    (11, FacetKeyword::new(b"vertex")),
    (15, FacetKeyword::new(b"vertex")),
    (19, FacetKeyword::new(b"endloop")),
    (20, FacetKeyword::new(b"endfacet")),
];

/// A keyword in lowercase, compared with the last bytes of a token.
struct FacetKeyword {
    word: u64,
    mask: u64,
    size: usize,
}

impl FacetKeyword {
    /// Creates a keyword of up to eight letters.
    const fn new(keyword: &[u8]) -> FacetKeyword {
        let mut word = 0;
        let mut at = 0;
        while at < keyword.len() {
            word |= (keyword[at] as u64) << (8 * (8 - keyword.len() + at));
            at += 1;
        }
        FacetKeyword { word, mask: u64::MAX << (64 - 8 * keyword.len()), size: keyword.len() }
    }

    /// Returns whether the token that ends at `end` is this keyword, in a window that starts at `start`.
    #[inline(always)]
    fn ends_at(&self, padded: &[u8], end: usize, start: usize) -> bool {
        // Setting this bit lowercases letters and turns no other byte into a letter.
        const SMALL: u64 = 0x2020_2020_2020_2020;
        let Some(bytes) = padded.get(..end).and_then(|text| text.last_chunk::<9>()) else { return false };
        let word = u64::from_le_bytes(*bytes.last_chunk().unwrap_or(&[0; 8]));
        ((word | SMALL) ^ self.word) & self.mask == 0 && (is_space(bytes[8 - self.size]) || end - self.size == start)
    }
}

/// The corners of a facet in double precision.
pub type ExactCorners = [[f64; 3]; 3];

/// Parses facets from `line` on into `out` and, unless `exact` is empty, their corners into `exact`. Returns the number
/// of facets, each of [`LINES`] lines. Adds the precision that the corners lose as f32s to `loss`.
///
/// The lines of a facet must contain no other tokens, and there must be no empty lines between them. Numbers may have
/// any notation that [`number::f32`] accepts.
pub fn facets(
    window: Window<'_>,
    line: usize,
    out: &mut [Facet],
    exact: &mut [ExactCorners],
    loss: &mut DigitLoss,
) -> usize {
    if !window.fits() {
        return 0;
    }
    let has_doubles = !exact.is_empty();
    let mut batch = Batch::new();
    let mut parsed = 0;
    for out in out.chunks_mut(BATCH) {
        let count = find(window, line + LINES * parsed, out.len(), &mut batch.ends);
        let converted = convert(window, &mut batch, count, has_doubles, loss);
        let facets = batch.singles.as_chunks::<NUMBERS>().0.iter().take(converted);
        out.iter_mut().zip(facets).for_each(|(out, values)| out.as_flattened_mut().copy_from_slice(values));
        if has_doubles {
            let facets = batch.doubles.as_chunks::<NUMBERS>().0.iter().take(converted);
            let corners = exact[parsed..].iter_mut().zip(facets);
            corners.for_each(|(out, values)| out.as_flattened_mut().copy_from_slice(&values[3..]));
        }
        parsed += converted;
        if converted < out.len() {
            break;
        }
    }
    parsed
}

/// Finds up to `count` facets from `line` on and stores the ends of their numbers. Returns the number of facets.
fn find(window: Window<'_>, line: usize, count: usize, ends: &mut [u32]) -> usize {
    let (rows, _) = ends.as_chunks_mut::<NUMBERS>();
    for (facet, row) in rows.iter_mut().take(count).enumerate() {
        if !number_ends(window, line + LINES * facet, row) {
            return facet;
        }
    }
    count
}

/// Stores the ends of the numbers of the facet that starts at `line`. Returns `false` if it is not a facet.
#[inline(always)]
fn number_ends(window: Window<'_>, line: usize, row: &mut [u32; NUMBERS]) -> bool {
    let index = window.index;
    let lines = index.lines().get(line..).and_then(|lines| lines.first_chunk::<LINES>());
    let first = if lines.is_some() { index.first_token(line) } else { 0 };
    let ends = index.ends.get(first..).and_then(|ends| ends.first_chunk::<TOKENS>());
    let Some(lines) = lines else { return false };
    let Some(ends) = ends else { return false };
    let fits = lines.iter().zip(LINE_TOKENS).all(|(line, tokens)| line.tokens as usize == first + tokens)
        && KEYWORDS.iter().all(|(token, keyword)| keyword.ends_at(window.padded, ends[*token] as usize, index.start()))
        && index.slash_bits(first) & ((1 << TOKENS) - 1) == 0;
    // Element by element: storing an array in parts and loading it as a whole would stall.
    row.iter_mut().zip(NUMBER_TOKENS).for_each(|(end, token)| *end = ends[token]);
    fits
}

/// Converts the numbers of `count` facets until one is invalid. Returns the number of complete facets.
fn convert(window: Window<'_>, batch: &mut Batch, count: usize, has_doubles: bool, loss: &mut DigitLoss) -> usize {
    let shape = RowShape { width: NUMBERS, coordinates: (3, NUMBERS), has_doubles };
    let mut converted = 0;
    while converted < count {
        // SAFETY: `facets` checked `fits()`, and `find` took ends of whole lines of the index: they are at least 64
        // (PADDING) bytes into the text and inside it.
        converted += unsafe { batch.convert(window, converted..count, shape, loss) };
        if converted < count {
            if !convert_any(window, batch, converted, loss) {
                break;
            }
            converted += 1;
        }
    }
    converted
}

/// Converts the numbers of one facet in any notation. Returns `false` if one is invalid.
fn convert_any(window: Window<'_>, batch: &mut Batch, facet: usize, loss: &mut DigitLoss) -> bool {
    let numbers = facet * NUMBERS..(facet + 1) * NUMBERS;
    // Do not count the loss of an invalid facet.
    let mut facet_loss = *loss;
    let is_valid = numbers.enumerate().all(|(place, at)| {
        let Some(text) = window.padded.get(..batch.ends[at] as usize) else { return false };
        let Some(start) = text.iter().rposition(|&byte| is_space(byte)) else { return false };
        let token = &text[start + 1..];
        let Some(single) = number::f32(token) else { return false };
        let Some(double) = number::f64(token) else { return false };
        batch.singles[at] = single;
        batch.doubles[at] = double;
        if place >= 3 {
            facet_loss.add(token);
        }
        true
    });
    if is_valid {
        *loss = facet_loss;
    }
    is_valid
}
