//! Splits OFF text into lines and words, without comments, and counts the lines that are rows.
//!
//! `header` and `rows` interpret the words.

use polyhaul_text::scan::is_space;
use std::ops::Range;

/// Line counts of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineCounts {
    /// Number of line endings.
    pub(super) ends: u64,
    /// Number of lines that are neither blank nor comments, including an unterminated last line.
    pub(super) rows: u64,
}

/// Bytes per early-exit check: the loop over a piece is branch-free, so it vectorizes.
const PIECE: usize = 192;

/// Counts the lines of a text, which must start at the start of a line.
///
/// Usually all lines are rows, so it suffices to count line endings, which needs no branches. If any line is empty, or
/// starts with white space or a comment, each line is examined.
pub(super) fn count(text: &[u8]) -> LineCounts {
    let ends = polyhaul_text::lines::count(text) as u64;
    let Some(last) = text.last() else { return LineCounts::default() };
    let rows = if has_odd_line(text) {
        ranges(text).filter(|line| words(text, line.clone()).next().is_some()).count() as u64
    } else {
        ends + u64::from(!is_end(*last))
    };
    LineCounts { ends, rows }
}

/// Whether any line is empty, or starts with white space or a comment.
fn has_odd_line(text: &[u8]) -> bool {
    if text.first().is_some_and(|&first| is_odd(first)) {
        return true;
    }
    let next_bytes = text.get(1..).unwrap_or_default();
    let mut pieces = text.chunks(PIECE).zip(next_bytes.chunks(PIECE));
    pieces.any(|(bytes, next)| {
        // An LF after a CR is part of the same line ending.
        let is_odd_start = |(&byte, &next): (&u8, &u8)| {
            (byte == b'\n') & is_odd(next) | (byte == b'\r') & is_odd(next) & (next != b'\n')
        };
        bytes.iter().zip(next).fold(false, |is_any, pair| is_any | is_odd_start(pair))
    })
}

#[inline(always)]
fn is_odd(byte: u8) -> bool {
    is_space(byte) | (byte == b'#')
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Iterates over the lines of a text, without their line endings.
pub(super) fn ranges(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let end = memchr::memchr2(b'\n', b'\r', rest).map_or(text.len(), |size| at + size);
        at = behind(text, end);
        Some(start..end)
    })
}

/// Returns the start of the line after the line that ends at `end`.
pub(super) fn behind(text: &[u8], end: usize) -> usize {
    if text.get(end..).is_some_and(|rest| rest.starts_with(b"\r\n")) { end + 2 } else { end + 1 }
}

/// Returns the start of a line's comment. A `#` as in `1.#QNAN` or `1.#INF`, which Microsoft's C library writes, does
/// not start a comment.
fn comment_start(bytes: &[u8]) -> Option<usize> {
    let is_special = |at: usize| {
        let is_behind =
            bytes[..at].strip_suffix(b"1.").is_some_and(|rest| !rest.last().is_some_and(u8::is_ascii_digit));
        is_behind && bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase)
    };
    memchr::memchr_iter(b'#', bytes).find(|&at| !is_special(at))
}

/// Iterates over the words of a line, up to its comment, if any.
pub(super) fn words(text: &[u8], line: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.get(line.clone()).unwrap_or_default();
    let end = line.start + comment_start(bytes).unwrap_or(bytes.len());
    let mut at = line.start;
    std::iter::from_fn(move || {
        at += text[at..end].iter().take_while(|byte| is_space(**byte)).count();
        let start = at;
        at += text[at..end].iter().take_while(|byte| !is_space(**byte)).count();
        (start < at).then_some(start..at)
    })
}

/// Returns the comment of a line, without the space after the `#`.
pub(super) fn comment(text: &[u8], line: Range<usize>) -> Option<Range<usize>> {
    let start = line.start + comment_start(text.get(line.clone())?)? + 1;
    let blank = usize::from(text.get(start) == Some(&b' ') && start < line.end);
    Some(start + blank..line.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference implementation, byte by byte.
    fn slowly(text: &[u8]) -> LineCounts {
        let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n");
        let rows = text.split('\n').filter(|line| {
            let content = line.split('#').next().unwrap_or_default();
            content.bytes().any(|byte| !is_space(byte))
        });
        LineCounts { ends: text.matches('\n').count() as u64, rows: rows.count() as u64 }
    }

    #[test]
    fn lines_are_counted_however_they_look() {
        let plain = b"1 2 3\n".repeat(100);
        assert_eq!(count(&plain), LineCounts { ends: 100, rows: 100 });
        let parts: [&[u8]; 12] =
            [b"1 2 3\n", b"\n", b"\r", b"\r\n", b" ", b"#", b"# a\n", b"4", b"\t5 # b", b"\x0b\n", b"6\r\n", b"7\r"];
        let mut state = 7u64;
        for round in 0..3000 {
            let mut text = if round % 3 == 0 { plain[..180].to_vec() } else { Vec::new() };
            for _ in 0..round % 9 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.extend(parts[(state >> 33) as usize % parts.len()]);
            }
            assert_eq!(count(&text), slowly(&text), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn words_end_at_comments() {
        let text = b"x 1 22 #3 4\n#  a\n";
        let words: Vec<&[u8]> = words(text, 0..11).map(|word| &text[word]).collect();
        assert_eq!(words, [&b"x"[..], b"1", b"22"]);
        assert_eq!(
            (comment(text, 0..11), comment(text, 12..16), comment(text, 0..6)),
            (Some(8..11), Some(14..16), None)
        );
    }
}
