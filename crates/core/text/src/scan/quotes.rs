//! Removes the quotes around table fields in one pass, if that does not change the meaning of any field.
//!
//! Portable code: three byte classes become 64-bit masks, and the rest is bit operations. The module only handles text
//! in which all quotes are simple; the table reader interprets all other text.

use super::portable::{class, classes};
use super::{Separator, is_space};
use polyhaul_fault::planted;

/// Bytes that the output needs after the text, because 16 bytes are copied at a time.
pub const UNQUOTED_SLACK: usize = 16;

/// Copies `text`, which consists of complete lines, to `out` without its quotes. Returns the size of the copy. Returns
/// `None` unless every pair of quotes encloses a whole, non-empty field without quotes, white space, separators or
/// `other`. `out` must be [`UNQUOTED_SLACK`] bytes longer than the text.
///
/// ```
/// # use polyhaul_text::scan::{Separator, quotes::{UNQUOTED_SLACK, unquote}};
/// let text = b"\"1.5\",2\n3,\"4\"\n";
/// let comma = Separator::Byte(b',');
/// let mut out = [0; 14 + UNQUOTED_SLACK];
/// let size = unquote(text, comma, b'#', &mut out).unwrap();
/// assert_eq!(&out[..size], b"1.5,2\n3,4\n");
/// assert!(unquote(b"\"1,5\",2\n", comma, b'#', &mut out).is_none());
/// ```
///
/// # Panics
/// If `out` is too short.
pub fn unquote(text: &[u8], separator: Separator, other: u8, out: &mut [u8]) -> Option<usize> {
    let is_end = |byte: u8| match separator {
        Separator::Blanks => is_space(byte),
        Separator::Byte(separator) => byte == separator || byte == b'\n' || byte == b'\r',
    };
    let kind = |byte: u8| {
        u8::from(byte == b'"')
            | u8::from(is_end(byte)) << 1
            | u8::from(is_end(byte) || is_space(byte) || byte == other) << 2
    };
    let mut state = QuoteState::default();
    let mut size = 0;
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let mut last = [b'\n'; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    for (number, block) in blocks.iter().chain([&last]).enumerate() {
        let classes = classes(block, kind);
        let [mut quotes, ends, odd] = [0, 1, 2].map(|bit| class(&classes, bit));
        if !state.step(quotes, ends, odd) {
            return None;
        }
        let mut start = number * BLOCK;
        let end = text.len().min((number + 1) * BLOCK);
        while quotes != 0 {
            let quote = number * BLOCK + quotes.trailing_zeros() as usize;
            size += copy(text, start, quote, &mut out[size..]);
            start = quote + 1;
            quotes &= quotes - 1;
        }
        size += copy(text, start, end, &mut out[size..]);
    }
    Some(size)
}

const BLOCK: usize = 64;

/// Copies `text[start..end]` to the start of `out`. Returns the number of bytes. This is optimized for the short runs
/// between quotes.
#[inline(always)]
fn copy(text: &[u8], start: usize, end: usize, out: &mut [u8]) -> usize {
    let size = end.saturating_sub(start);
    match (text.get(start..).and_then(<[u8]>::first_chunk::<UNQUOTED_SLACK>), out.first_chunk_mut()) {
        (Some(part), Some(out)) if size <= UNQUOTED_SLACK => *out = *part,
        _ => out[..size].copy_from_slice(&text[start..end.max(start)]),
    }
    size
}

/// State between blocks: the last bit of each mask.
struct QuoteState {
    inside: bool,
    end: bool,
    opening: bool,
    closing: bool,
}

impl Default for QuoteState {
    /// State at the start of a line.
    fn default() -> Self {
        QuoteState { inside: false, end: true, opening: false, closing: false }
    }
}

impl QuoteState {
    /// Advances past a block. Returns whether all quotes up to its end are simple.
    #[inline(always)]
    fn step(&mut self, quotes: u64, ends: u64, odd: u64) -> bool {
        // Prefix XOR: sets the bits from each opening quote up to just before its closing one.
        let mut inside = quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << shift;
        }
        inside ^= 0u64.wrapping_sub(u64::from(self.inside && !planted("quotes-block")));
        let opening = quotes & inside;
        let closing = quotes & !inside;
        let after = |mask: u64, carry: bool| mask << 1 | u64::from(carry);
        let wrong = inside & odd
            | opening & !after(ends, self.end)
            | after(closing, self.closing) & !ends
            | after(opening, self.opening) & closing;
        let last = |mask: u64| mask >> 63 != 0;
        *self = QuoteState { inside: last(inside), end: last(ends), opening: last(opening), closing: last(closing) };
        wrong == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: removes quotes field by field; `None` if a quote is not simple.
    fn naive(text: &str, separator: char) -> Option<String> {
        let field = |field: &str| match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if inner.is_empty() || inner.contains(['"', ' ', '\t', '#']) => None,
            Some(inner) => Some(inner.to_owned()),
            None => (!field.contains('"')).then(|| field.to_owned()),
        };
        let line = |line: &str| {
            Some(line.split(separator).map(field).collect::<Option<Vec<_>>>()?.join(&separator.to_string()))
        };
        Some(text.split('\n').map(line).collect::<Option<Vec<_>>>()?.join("\n"))
    }

    #[test]
    fn unquoting_equals_unquoting_field_by_field() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut simple = 0;
        // Miri takes a thousand times as long.
        let rounds = if cfg!(miri) { 8 } else { 4000 };
        for round in 0..rounds {
            let odd = [400, 30][round % 2];
            let mut text = String::new();
            for _ in 0..1 + random(30) {
                for column in 0..3 {
                    let size = 1 + random(12);
                    let number: String = (0..size).map(|at| ['1', '.', '-', '7'][(at + size) % 4]).collect();
                    match random(odd) {
                        0 => text += ["\"", "\"\"", "\" 1\"", "\"#\"", "\"1\"2", "1\"2\"", "\"1", "2\""][random(8)],
                        many if many % 3 == 0 => text += &number,
                        _ => text += &format!("\"{number}\""),
                    }
                    text.push(if column == 2 { '\n' } else { ',' });
                }
            }
            let mut out = vec![0; text.len() + UNQUOTED_SLACK];
            let size = unquote(text.as_bytes(), Separator::Byte(b','), b'#', &mut out);
            let unquoted = size.map(|size| String::from_utf8(out[..size].to_vec()).unwrap());
            assert_eq!(unquoted, naive(&text, ','), "{text:?}");
            simple += usize::from(unquoted.is_some());
        }
        assert!((rounds / 8..rounds / 8 * 7).contains(&simple), "{simple}");
    }
}
