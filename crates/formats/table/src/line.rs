//! Splits a line of a table into fields, with quotes and comments: the slow path, which has all rules.

use polyhaul_text::scan::{Separator, is_space};
use std::ops::Range;

/// Rules for splitting lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grammar {
    pub(super) separator: Separator,
    /// Bytes that start a comment; empty if there are no comments.
    pub(super) comment: Vec<u8>,
    /// Whether a comment can start inside a token, as in numpy's `loadtxt`.
    pub(super) splits_tokens: bool,
}

/// Message for a field with [`Quotes::Open`].
pub(super) const OPEN: &str = "unterminated quote";

/// Byte range of a field in its line, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableField {
    pub(super) range: Range<usize>,
    pub(super) quotes: Quotes,
}

/// Quotes around a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Both,
    /// An unterminated quote. The field extends to the end of the line.
    Open,
}

/// Whether a line has neither fields nor separators.
pub(super) fn is_blank(line: &[u8], separator: Separator) -> bool {
    line.iter().all(|&byte| is_space(byte) && separator != Separator::Byte(byte))
}

impl Grammar {
    /// Returns the part of a line before its comment.
    pub(super) fn content<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let Some(&first) = self.comment.first() else { return line };
        let mut at = 0;
        let mut quoted = false;
        while let Some(offset) = memchr::memchr2(first, b'"', &line[at..]) {
            at += offset;
            if !quoted && line[at..].starts_with(&self.comment) && (self.splits_tokens || !is_in_value(line, at)) {
                return &line[..at];
            }
            quoted ^= line[at] == b'"';
            at += 1;
        }
        line
    }

    /// Returns the text of a line that is a comment; `None` for any other line.
    pub(super) fn comment<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = line.trim_ascii_start();
        let rest = line.strip_prefix(&self.comment[..])?;
        let is_value = !self.splits_tokens && is_in_value(line, 0);
        (!self.comment.is_empty() && !is_value).then(|| rest.trim_ascii())
    }

    /// Splits a line into fields. The line must not contain a comment.
    pub(super) fn fields<'a>(&self, line: &'a [u8]) -> TableFields<'a> {
        let at = match self.separator {
            Separator::Blanks => Some(skip(line, 0, self.separator)).filter(|&at| at < line.len()),
            Separator::Byte(_) => (!is_blank(line, self.separator)).then_some(0),
        };
        TableFields { line, separator: self.separator, at }
    }
}

/// Whether the start of a comment is part of a value: directly after a letter, a digit or a point, as in `1.#QNAN`, or
/// at the start of a spreadsheet's error value.
fn is_in_value(line: &[u8], at: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
    at.checked_sub(1).and_then(|before| line.get(before)).is_some_and(is_part) || spreadsheet_error(&line[at..]) > 0
}

/// Returns the length of a spreadsheet's error value at the start of a text, or 0. The error value must be followed by
/// a separator other than a space, by a quote, or by the end of the line, so that a sentence that starts with `#N/A` is
/// still a comment.
pub(super) fn spreadsheet_error(text: &[u8]) -> usize {
    const ERRORS: [&[u8]; 7] = [b"#N/A", b"#DIV/0!", b"#VALUE!", b"#REF!", b"#NUM!", b"#NAME?", b"#NULL!"];
    let error = ERRORS.into_iter().find(|error| text.starts_with(error));
    let size = error.map_or(0, <[u8]>::len);
    let is_whole = text[size..].trim_ascii_end().is_empty() || b",;\t\"|".contains(&text[size]);
    if is_whole { size } else { 0 }
}

/// Iterator over the fields of a line.
pub(super) struct TableFields<'a> {
    line: &'a [u8],
    separator: Separator,
    /// Start of the next field, if there is one.
    at: Option<usize>,
}

impl Iterator for TableFields<'_> {
    type Item = TableField;

    fn next(&mut self) -> Option<TableField> {
        let start = skip(self.line, self.at?, self.separator);
        if let Some(field) = self.quoted(start) {
            return Some(field);
        }
        let rest = &self.line[start..];
        let end = start
            + match self.separator {
                Separator::Blanks => rest.iter().position(|byte| is_space(*byte)),
                Separator::Byte(byte) => memchr::memchr(byte, rest),
            }
            .unwrap_or(rest.len());
        self.go_on(end);
        let size = self.line[start..end].iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
        Some(TableField { range: start..start + size, quotes: Quotes::None })
    }
}

impl TableFields<'_> {
    /// Parses a quoted field, which must end at a separator or at the end of the line. Returns `None` if there is none.
    /// Within the field, two quotes represent one.
    fn quoted(&mut self, start: usize) -> Option<TableField> {
        if self.line.get(start) != Some(&b'"') {
            return None;
        }
        let mut end = start + 1;
        loop {
            let Some(offset) = memchr::memchr(b'"', &self.line[end..]) else {
                self.at = None;
                return Some(TableField { range: start..self.line.len(), quotes: Quotes::Open });
            };
            end += offset;
            match self.line.get(end + 1) {
                Some(b'"') => end += 2,
                _ => break,
            }
        }
        let next = skip(self.line, end + 1, self.separator);
        let ends = match self.separator {
            Separator::Blanks => next > end + 1 || next == self.line.len(),
            Separator::Byte(byte) => self.line.get(next).is_none_or(|next| *next == byte),
        };
        // Text after the closing quote, as in `"a"b`: the field is plain, and its quotes are characters.
        if !ends {
            return None;
        }
        self.go_on(next);
        Some(TableField { range: start + 1..end, quotes: Quotes::Both })
    }

    /// Continues after the field that ends at `end`.
    fn go_on(&mut self, end: usize) {
        self.at = match self.separator {
            Separator::Blanks => Some(skip(self.line, end, self.separator)).filter(|&at| at < self.line.len()),
            // A separator at the end of the line is followed by one more field, which is empty.
            Separator::Byte(_) => (end < self.line.len()).then_some(end + 1),
        };
    }
}

/// Skips white space that is not a separator.
fn skip(line: &[u8], at: usize, separator: Separator) -> usize {
    let blank = |byte: &&u8| is_space(**byte) && separator != Separator::Byte(**byte);
    at + line[at..].iter().take_while(blank).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(separator: Separator, line: &str) -> Vec<&str> {
        let grammar = Grammar { separator, comment: b"#".to_vec(), splits_tokens: false };
        let content = grammar.content(line.as_bytes());
        grammar.fields(content).map(|field| &line[field.range]).collect()
    }

    #[test]
    fn lines_fall_into_fields() {
        let comma = Separator::Byte(b',');
        assert_eq!(split(comma, "1, 2 ,3"), ["1", "2", "3"]);
        assert_eq!(split(comma, ",,"), ["", "", ""]);
        assert_eq!(split(comma, "  "), [""; 0]);
        assert_eq!(split(comma, "1,2 # 3,4"), ["1", "2"]);
        assert_eq!(split(comma, "1.#QNAN,-1.#IND00,a#,2"), ["1.#QNAN", "-1.#IND00", "a#", "2"]);
        assert_eq!(split(comma, "1,2,#3"), ["1", "2", ""]);
        assert_eq!(split(comma, "1,#N/A,#DIV/0!"), ["1", "#N/A", "#DIV/0!"]);
        assert_eq!(split(comma, "1,2 #N/A is a word"), ["1", "2"]);
        assert_eq!(split(comma, "\"a,#b\",\"c\"\"d\" , e"), ["a,#b", "c\"\"d", "e"]);
        assert_eq!(split(comma, "\"a\"b,c\"d"), ["\"a\"b", "c\"d"]);
        assert_eq!(split(comma, "\"a,b"), ["\"a,b"]);
        assert_eq!(split(comma, "1,\"\"\"b,c\"\""), ["1", "\"\"\"b,c\"\""]);
        assert_eq!(split(Separator::Blanks, "  1\t 2  \r"), ["1", "2"]);
        assert_eq!(split(Separator::Blanks, "\"a b\" c \"d\"e"), ["a b", "c", "\"d\"e"]);
        assert_eq!(split(Separator::Byte(b'\t'), " 1\t\t2 \t"), ["1", "", "2", ""]);
        assert_eq!(split(Separator::Byte(b' '), "1  2"), ["1", "", "2"]);
    }

    #[test]
    fn comments_are_lines_or_ends_of_lines() {
        let grammar = Grammar { separator: Separator::Blanks, comment: b"//".to_vec(), splits_tokens: false };
        assert_eq!(grammar.comment(b"  // a b "), Some(&b"a b"[..]));
        assert_eq!(grammar.comment(b"1 // a"), None);
        assert_eq!(grammar.content(b"1 / 2 // a"), b"1 / 2 ");
        let none = Grammar { comment: Vec::new(), ..grammar.clone() };
        assert_eq!((none.comment(b"# a"), none.content(b"# a")), (None, &b"# a"[..]));
        let hash = Grammar { comment: b"#".to_vec(), ..grammar };
        assert_eq!((hash.comment(b"#N/A,2"), hash.comment(b"#N/A means")), (None, Some(&b"N/A means"[..])));
        let numpy = Grammar { splits_tokens: true, ..hash };
        assert_eq!((numpy.content(b"1.#QNAN"), numpy.comment(b"#N/A,2")), (&b"1."[..], Some(&b"N/A,2"[..])));
    }
}
