//! Converts offsets in a chunk's text to places in the file: line, column and an excerpt of the line.

use polyhaul_model::error::{Excerpt, Place};
use std::sync::Arc;

/// Converts offsets in a chunk's text to places. Takes linear time if offsets are requested in ascending order, because
/// lines are counted from the previous place.
pub struct Placer<'a> {
    text: &'a [u8],
    file: &'a Arc<str>,
    /// The offset of the text in the file.
    offset: u64,
    /// The previous place: its offset in the text, and the number of lines of the file that ended before it.
    at: usize,
    lines: u64,
    /// The start of the line of the previous place.
    line_start: usize,
}

impl<'a> Placer<'a> {
    /// Creates a converter for a text at `offset` of the file, after `lines` line endings.
    pub fn new(text: &'a [u8], offset: u64, lines: u64, file: &'a Arc<str>) -> Self {
        Placer { text, file, offset, at: 0, lines, line_start: 0 }
    }

    /// Returns the place of an offset in the text.
    pub fn place(&mut self, offset: u32) -> Place {
        let to = (offset as usize).min(self.text.len());
        if to < self.at {
            // The tokens of one statement may be requested out of order, but never far back.
            self.lines -= polyhaul_text::lines::count(&self.text[to..self.at]) as u64;
            self.at = to;
            self.line_start = line_start(self.text, to);
        }
        let passed = &self.text[self.at..to];
        if let Some(newline) = memchr::memrchr2(b'\n', b'\r', passed) {
            self.lines += polyhaul_text::lines::count(passed) as u64;
            self.line_start = self.at + newline + 1;
        }
        self.at = to;
        Place {
            file: self.file.clone(),
            line: Some(self.lines + 1),
            column: Some((to - self.line_start) as u64 + 1),
            offset: Some(self.offset + to as u64),
        }
    }

    /// Returns an excerpt of the line around a token, given as its offset and length.
    pub fn excerpt(&self, token: (u32, u32)) -> Excerpt {
        excerpt(self.text, token)
    }
}

/// Returns the start of the line that contains an offset.
fn line_start(text: &[u8], offset: usize) -> usize {
    memchr::memrchr2(b'\n', b'\r', &text[..offset]).map_or(0, |newline| newline + 1)
}

/// Number of bytes before and after a token in which an excerpt searches for the ends of the line; more than it shows.
const EXCERPT_REACH: usize = 256;

/// Returns the physical line around `token` (offset and length) in `text`, or the part of it near the token.
pub fn excerpt(text: &[u8], token: (u32, u32)) -> Excerpt {
    let at = (token.0 as usize).min(text.len());
    let from = at.saturating_sub(EXCERPT_REACH);
    let to = (at + EXCERPT_REACH).min(text.len());
    let start = from + line_start(&text[from..], at - from);
    let end = memchr::memchr2(b'\n', b'\r', &text[at..to]).map_or(to, |i| at + i);
    let marked = at - start..(at - start + token.1 as usize).min(end - start);
    Excerpt::of_line(&text[start..end], marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_right_in_any_order() {
        let text = b"v 1\r\nv 2\rv 3\n\nv 4";
        let file: Arc<str> = "x".into();
        let mut placer = Placer::new(text, 100, 10, &file);
        for (offset, line, column) in
            [(0, 11, 1), (2, 11, 3), (5, 12, 1), (11, 13, 3), (14, 15, 1), (7, 12, 3), (16, 15, 3)]
        {
            let place = placer.place(offset);
            assert_eq!((place.line, place.column), (Some(line), Some(column)), "{offset}");
            assert_eq!(place.offset, Some(100 + u64::from(offset)));
        }
    }

    #[test]
    fn excerpts_show_the_line() {
        let short = excerpt(b"f 1\nf 2 x\nf", (8, 1));
        assert_eq!((short.text.as_str(), short.marked), ("f 2 x", 4..5));
        let long = [b"f ".as_slice(), &b"1 ".repeat(5000)].concat();
        let text = excerpt(&long, (5000, 1)).text;
        assert!(text.len() < 200 && text.starts_with("...") && text.ends_with("..."));
    }
}
