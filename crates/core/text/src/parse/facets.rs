//! Facets: runs of seven lines with nine keywords and twelve floats, as STL has them.
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
//! Letter case and blanks do not matter. The numbers of many facets are gathered and converted together; those of a
//! facet with a number in another notation, one by one.

use super::consts::TOGETHER;
use super::number;
use super::plain::{Before, Numbers};
use super::rows::Window;
use crate::scan::is_space;

/// A normal and three positions.
pub type Facet = [[f32; 3]; 4];

/// Lines of a facet.
pub const LINES: usize = 7;
/// Its tokens.
const TOKENS: usize = 21;
/// Its numbers.
const NUMBERS: usize = 12;
/// How many facets are converted together.
const BATCH: usize = 32;

/// The number of tokens up to the end of each line.
const LINE_TOKENS: [usize; LINES] = [5, 7, 11, 15, 19, 20, 21];
/// Which tokens are numbers.
const NUMBER_TOKENS: [usize; NUMBERS] = [2, 3, 4, 8, 9, 10, 12, 13, 14, 16, 17, 18];
/// The other tokens: their places and keywords.
const KEYWORDS: [(usize, Keyword); TOKENS - NUMBERS] = [
    (0, Keyword::new(b"facet")),
    (1, Keyword::new(b"normal")),
    (5, Keyword::new(b"outer")),
    (6, Keyword::new(b"loop")),
    (7, Keyword::new(b"vertex")),
    (11, Keyword::new(b"vertex")),
    (15, Keyword::new(b"vertex")),
    (19, Keyword::new(b"endloop")),
    (20, Keyword::new(b"endfacet")),
];

/// The last eight bytes of a token, with small letters.
struct Keyword {
    word: u64,
    mask: u64,
    size: usize,
}

impl Keyword {
    /// Of up to eight letters.
    const fn new(keyword: &[u8]) -> Keyword {
        let (mut word, mut at) = (0, 0);
        while at < keyword.len() {
            word |= (keyword[at] as u64) << (8 * (8 - keyword.len() + at));
            at += 1;
        }
        Keyword { word, mask: u64::MAX << (64 - 8 * keyword.len()), size: keyword.len() }
    }

    /// Whether this is the token that ends at `end`, in a window that begins at `start`.
    #[inline(always)]
    fn ends_at(&self, padded: &[u8], end: usize, start: usize) -> bool {
        // Only letters become small letters by this bit.
        const SMALL: u64 = 0x2020_2020_2020_2020;
        let Some(bytes) = padded.get(..end).and_then(|text| text.last_chunk::<9>()) else { return false };
        let word = u64::from_le_bytes(*bytes.last_chunk().unwrap_or(&[0; 8]));
        ((word | SMALL) ^ self.word) & self.mask == 0 && (is_space(bytes[8 - self.size]) || end - self.size == start)
    }
}

/// Takes facets from `line` on into `out`; returns how many it took, [`LINES`] lines each.
///
/// A facet must have its lines to itself, with no other token on them and no empty line between. Its numbers may have
/// any notation of [`number::f32`].
pub fn facets(window: Window<'_>, line: usize, out: &mut [Facet]) -> usize {
    if !window.fits() {
        return 0;
    }
    let mut done = 0;
    for out in out.chunks_mut(BATCH) {
        let mut ends = [0; BATCH * NUMBERS + TOGETHER];
        let found = find(window, line + LINES * done, out.len(), &mut ends);
        let taken = convert(window, &mut ends, found, out);
        done += taken;
        if taken < out.len() {
            break;
        }
    }
    done
}

/// Finds up to `count` facets from `line` on, and the ends of their numbers; returns how many.
fn find(window: Window<'_>, line: usize, count: usize, ends: &mut [u32]) -> usize {
    let (rows, _) = ends.as_chunks_mut::<NUMBERS>();
    for (facet, row) in rows.iter_mut().take(count).enumerate() {
        if !number_ends(window, line + LINES * facet, row) {
            return facet;
        }
    }
    count
}

/// Finds the ends of the numbers of the facet whose first line this is; `false` if it is not a facet.
#[inline(always)]
fn number_ends(window: Window<'_>, line: usize, row: &mut [u32; NUMBERS]) -> bool {
    let index = window.index;
    let lines = index.lines().get(line..).and_then(|lines| lines.first_chunk::<LINES>());
    let first = if lines.is_some() { index.first_token(line) } else { 0 };
    let ends = index.ends.get(first..).and_then(|ends| ends.first_chunk::<TOKENS>());
    let (Some(lines), Some(ends)) = (lines, ends) else { return false };
    let fits = lines.iter().zip(LINE_TOKENS).all(|(line, tokens)| line.tokens as usize == first + tokens)
        && KEYWORDS.iter().all(|(token, keyword)| keyword.ends_at(window.padded, ends[*token] as usize, index.start()))
        && index.slash_bits(first) & ((1 << TOKENS) - 1) == 0;
    // One by one: an array of them would be stored in parts and loaded as a whole, which stalls.
    row.iter_mut().zip(NUMBER_TOKENS).for_each(|(end, token)| *end = ends[token]);
    fits
}

/// Converts the numbers of `count` facets, whose ends have room after them, until one is invalid; returns how many
/// facets are whole.
fn convert(window: Window<'_>, ends: &mut [u32], count: usize, out: &mut [Facet]) -> usize {
    // Numbers are written several at a time: the last ones need room after them, which must hold valid ends.
    let last = ends[(NUMBERS * count).saturating_sub(1)];
    ends[NUMBERS * count..][..TOGETHER].fill(last);
    let mut values = [0.0; BATCH * NUMBERS + TOGETHER];
    let mut done = 0;
    while done < count {
        let start = NUMBERS * done;
        let numbers = Numbers {
            padded: window.padded,
            ends: &ends[start..NUMBERS * count + TOGETHER],
            before: Before::Token,
            level: window.level.usable(),
        };
        // SAFETY: `facets` checked `fits()`, and `find` took ends of whole lines of the index: they are at least 64
        // (PADDING) bytes into the text and inside it. `usable()` returned the level.
        done += unsafe { numbers.f32s(&mut values[start..]) } / NUMBERS;
        let start = NUMBERS * done;
        if done < count {
            let one = Numbers { ends: &ends[start..start + NUMBERS + TOGETHER], ..numbers };
            if !any(one, &mut values[start..]) {
                break;
            }
            done += 1;
        }
    }
    let facets = values.as_chunks::<NUMBERS>().0.iter().take(done);
    out.iter_mut().zip(facets).for_each(|(out, values)| out.as_flattened_mut().copy_from_slice(values));
    done
}

/// Converts the numbers of one facet in any notation; `false` if one is invalid.
fn any(numbers: Numbers<'_>, values: &mut [f32]) -> bool {
    // SAFETY: `convert` passes ends that it took from the same index, as above.
    let done = unsafe { numbers.long_f32s(values) };
    let rest = values.iter_mut().zip(&numbers.ends[..NUMBERS]).skip(done);
    let converted = rest.map_while(|(value, &end)| {
        let text = numbers.padded.get(..end as usize)?;
        let start = text.iter().rposition(|&byte| is_space(byte))? + 1;
        number::f32(&text[start..]).map(|number| *value = number)
    });
    done + converted.count() >= NUMBERS
}
