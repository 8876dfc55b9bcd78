//! Finds borders, where text may be split: the starts of lines that start with a directive, regardless of the preceding
//! text.
//!
//! An operand at the start of a line never looks like a directive: operands are numbers, quoted strings, brackets,
//! `true`, `false`, and the three words that [`starts_directive`] excludes. A quoted string ends on its line, so a
//! border is never inside one.

use polyhaul_pipeline::chunk::Borders;

/// Maximum number of blanks before a directive at a border. Lines with more blanks are not used as borders.
const MAX_BLANKS: usize = 32;
/// Bytes that distinguish a directive from an operand.
const WORD: usize = 2;

pub(super) const DIRECTIVES: Borders = Borders { next, last, reach: MAX_BLANKS + WORD + 1 };

/// Returns whether a word starts a directive: an uppercase letter followed by another letter, except for the operands
/// of this form (`All`, `StartTime`, `EndTime`).
#[inline]
pub(super) fn starts_directive(first: u8, second: u8) -> bool {
    // Two letters of these operands suffice, because no directive starts with them.
    first.is_ascii_uppercase()
        && second.is_ascii_alphabetic()
        && !matches!((first, second), (b'A', b'l') | (b'S', b't') | (b'E', b'n'))
}

/// Returns whether the line at `at` starts with a directive.
fn is_border(bytes: &[u8], at: usize) -> bool {
    let Some(line) = bytes.get(at..) else { return false };
    let Some(blanks) = line.iter().take(MAX_BLANKS).position(|byte| !matches!(byte, b' ' | b'\t')) else {
        return false;
    };
    matches!(line.get(blanks..), Some([first, second, ..]) if starts_directive(*first, *second))
}

fn next(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    // `from` itself may be the start of a line.
    let mut at = from;
    loop {
        if (at == 0 || bytes.get(at - 1) == Some(&b'\n')) && is_border(bytes, at) {
            return Some(at);
        }
        at += 1 + memchr::memchr(b'\n', bytes.get(at..to)?)?;
    }
}

fn last(bytes: &[u8], from: usize) -> Option<usize> {
    let mut end = bytes.len();
    loop {
        let at = from + memchr::memrchr(b'\n', bytes.get(from..end)?)? + 1;
        if is_border(bytes, at) {
            return Some(at);
        }
        end = at - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_at_the_start_of_lines_are_borders() {
        let text = b"Shape \"x\"\n  \"float a\" 1\n# Film\n \tShape\nActiveTransform\nAll\nStartTime\n1 2\nE";
        assert_eq!(next(text, 0, text.len()), Some(0));
        assert_eq!(next(text, 1, text.len()), Some(31));
        assert_eq!(next(text, 32, text.len()), Some(39));
        assert_eq!(next(text, 40, text.len()), None);
        assert_eq!((last(text, 1), last(text, 38), last(text, 39)), (Some(39), Some(39), None));
    }
}
