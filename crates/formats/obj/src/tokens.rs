//! Splits a logical line into tokens. Handles white space, escaped newlines and comments.

use polyhaul_model::error::{Error, Result};
use polyhaul_text::scan::is_space;
use std::borrow::Cow;

/// The text of a chunk: `padded[start..end]`.
#[derive(Clone, Copy)]
pub(super) struct ObjChunkText<'a> {
    pub(super) padded: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'a> ObjChunkText<'a> {
    /// The text without padding.
    pub(super) fn bytes(&self) -> &'a [u8] {
        &self.padded[self.start..self.end]
    }
}

/// A logical line, and the offset of the next logical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjLine {
    pub(super) start: usize,
    /// End of the content: an unescaped newline, or the end of the text.
    pub(super) end: usize,
    pub(super) next: usize,
    /// Whether the line contains an escaped newline.
    pub(super) continued: bool,
}

impl ObjLine {
    /// Finds the logical line that starts at `start`, in `text` up to `limit`. A backslash at the end of a comment does
    /// not join a statement to it, because many programs write such comments unintentionally.
    pub(super) fn find(text: &[u8], start: usize, limit: usize) -> ObjLine {
        let mut from = start;
        let mut continued = false;
        while let Some(offset) = memchr::memchr2(b'\n', b'\r', &text[from..limit]) {
            let newline = from + offset;
            let pair = text[newline] == b'\r' && newline + 1 < limit && text[newline + 1] == b'\n';
            let next = newline + 1 + usize::from(pair);
            if newline == start || text[newline - 1] != b'\\' {
                return ObjLine { start, end: newline, next, continued };
            }
            if !continued && is_comment(&text[start..newline]) && starts_statement(&text[next..limit]) {
                return ObjLine { start, end: newline, next, continued: true };
            }
            continued = true;
            from = next;
        }
        ObjLine { start, end: limit, next: limit, continued }
    }

    pub(super) fn tokens(self, text: &[u8]) -> ObjTokens<'_> {
        ObjTokens { text, at: self.start, end: self.end }
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'#')
}

/// Returns whether a text starts with a common statement, a blank line or a comment.
fn starts_statement(mut text: &[u8]) -> bool {
    const KEYWORDS: [&[u8]; 18] = [
        b"v", b"vt", b"vn", b"vp", b"f", b"l", b"p", b"o", b"g", b"s", b"usemtl", b"mtllib", b"usemap", b"cstype",
        b"curv", b"curv2", b"surf", b"parm",
    ];
    loop {
        let end = memchr::memchr2(b'\n', b'\r', text).unwrap_or(text.len());
        // The keyword may itself be continued, even after a continued blank line. Never look past an unescaped newline,
        // because a chunk may end there.
        let (line, is_continued) = match text[..end].strip_suffix(b"\\") {
            Some(line) => (line, true),
            None => (&text[..end], false),
        };
        match line.split(|&byte| is_space(byte)).find(|word| !word.is_empty()) {
            Some(word) => return word[0] == b'#' || KEYWORDS.contains(&word),
            None if !is_continued => return true,
            None => {}
        }
        let newline = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        text = text.get(end + newline..).unwrap_or_default();
    }
}

/// Iterator over the tokens of a line, as offsets into the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjTokens<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

/// Byte range of a token.
pub(super) type ObjToken = std::ops::Range<usize>;

impl<'a> ObjTokens<'a> {
    /// Skips white space and escaped newlines.
    fn skip_space(&mut self) {
        while self.at < self.end {
            if is_space(self.text[self.at]) {
                self.at += 1;
            } else if let Some(size) = escaped_newline(&self.text[self.at..self.end]) {
                self.at += size;
            } else {
                break;
            }
        }
    }

    /// Returns the next token up to white space, even if it starts a comment.
    pub(super) fn next_word(&mut self) -> Option<ObjToken> {
        self.skip_space();
        let start = self.at;
        while self.at < self.end && !is_space(self.text[self.at]) && !self.at_escape() {
            self.at += 1;
        }
        (start < self.at).then_some(start..self.at)
    }

    /// Returns the next token of a line of numbers, up to white space or a comment. A `#` between a decimal point and a
    /// capital letter, as in `1.#QNAN`, is part of the number.
    pub(super) fn next_number(&mut self) -> Option<ObjToken> {
        let token = self.next()?;
        let word = &self.text[token.clone()];
        let is_in_number = |at: usize| {
            let is_behind_point = at > 0 && word[at - 1] == b'.';
            is_behind_point && word.get(at + 1).is_some_and(u8::is_ascii_uppercase)
        };
        let comment = memchr::memchr_iter(b'#', word).find(|&at| !is_in_number(at));
        let Some(size) = comment else { return Some(token) };
        self.at = self.end;
        Some(token.start..token.start + size)
    }

    fn at_escape(&self) -> bool {
        self.text[self.at] == b'\\' && escaped_newline(&self.text[self.at..self.end]).is_some()
    }

    /// Returns the rest of the line, without white space and escaped newlines around it.
    pub(super) fn rest(mut self) -> ObjToken {
        self.skip_space();
        let mut end = self.end;
        while end > self.at && (is_space(self.text[end - 1]) || self.ends_in_escape(end)) {
            end -= 1;
        }
        self.at..end
    }

    /// Returns whether the byte before `end` is a backslash that is followed by a newline or ends the line.
    fn ends_in_escape(&self, end: usize) -> bool {
        let after = self.text.get(end).filter(|_| end < self.end);
        self.text[end - 1] == b'\\'
            && matches!(after, None | Some(b'\n' | b'\r'))
            && (after.is_some() || end == self.end)
    }

    pub(super) fn text(&self, token: &ObjToken) -> &'a [u8] {
        &self.text[token.clone()]
    }

    /// Returns the empty range at the end of the line, before trailing white space, as the location of a missing token.
    pub(super) fn end(&self) -> ObjToken {
        let mut end = self.end;
        while end > self.at && is_space(self.text[end - 1]) {
            end -= 1;
        }
        end..end
    }
}

/// Yields tokens up to a comment.
impl Iterator for ObjTokens<'_> {
    type Item = ObjToken;

    fn next(&mut self) -> Option<ObjToken> {
        let token = self.next_word()?;
        if self.text[token.start] == b'#' {
            self.at = self.end;
            return None;
        }
        Some(token)
    }
}

/// Length of the escaped newline at the start of `text`. A backslash at the end of the text counts as one.
fn escaped_newline(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'\r', b'\n', ..] => Some(3),
        [b'\\', b'\n' | b'\r', ..] => Some(2),
        [b'\\'] => Some(1),
        _ => None,
    }
}

/// Replaces each escaped newline in `name` with a space.
pub(super) fn unescaped(name: &[u8]) -> Result<Cow<'_, [u8]>> {
    if memchr::memchr2(b'\n', b'\r', name).is_none() {
        return Ok(name.into());
    }
    let mut result = Vec::new();
    result.try_reserve_exact(name.len()).map_err(|_| Error::memory("a name"))?;
    let mut at = 0;
    while at < name.len() {
        let (byte, size) = match escaped_newline(&name[at..]) {
            Some(size) if size > 1 => (b' ', size),
            _ => (name[at], 1),
        };
        result.push(byte);
        at += size;
    }
    Ok(result.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<&[u8]> {
        let line = ObjLine::find(text, 0, text.len());
        let tokens = line.tokens(text);
        tokens.map(|token| &text[token]).collect()
    }

    #[test]
    fn lines_end_where_no_backslash_stands() {
        let cases: [(&[u8], usize, usize); 8] = [
            (b"v 1\nf", 3, 4),
            (b"v 1\r\nf", 3, 5),
            (b"v 1\rf", 3, 4),
            (b"v \\\n1\nf", 5, 6),
            (b"v \\\r\n1\rf", 6, 7),
            (b"v 1", 3, 3),
            (b"v 1 \\", 5, 5),
            (b"\nf", 0, 1),
        ];
        for (text, end, next) in cases {
            let line = ObjLine::find(text, 0, text.len());
            assert_eq!((line.end, line.next), (end, next), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn names_keep_their_backslashes_but_not_those_of_a_continued_line() {
        let rest = |text: &'static [u8]| {
            let mut tokens = ObjLine::find(text, 0, text.len()).tokens(text);
            tokens.next_word();
            &text[tokens.rest()]
        };
        assert_eq!(rest(b"o a \\\n\n"), b"a");
        assert_eq!(rest(b"o a \\\r\n  \\\n\n"), b"a");
        assert_eq!(rest(b"o a \\"), b"a");
        assert_eq!(rest(b"o a\\ \n"), b"a\\");
        assert_eq!(rest(b"o a\\b \n"), b"a\\b");
    }

    #[test]
    fn tokens_skip_space_escapes_and_comments() {
        assert_eq!(words(b"  v\t1 \\\n 2 \\\r\n3 # not 4"), [b"v".as_slice(), b"1", b"2", b"3"]);
        assert_eq!(words(b"f 1 2 3 \\"), [b"f".as_slice(), b"1", b"2", b"3"]);
        assert_eq!(words(b"o a#b"), [b"o".as_slice(), b"a#b"]);
        assert_eq!(unescaped(b"a\\\nb").unwrap().as_ref(), b"a b");
    }
}
