//! Splits STL text into statements: a keyword with its arguments, all on the same line.

use super::is_filler;
use polyhaul_text::parse::number;
use polyhaul_text::parse::positions::DigitLoss;
use std::ops::Range;

/// A corner of a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StlVertex {
    pub(super) single: [f32; 3],
    pub(super) exact: [f64; 3],
    /// Precision that the numbers lose as 32-bit floats.
    pub(super) loss: DigitLoss,
}

/// Meaning of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StlWord {
    /// Start of a solid, with the range of its name in the text.
    Solid(Range<u32>),
    /// Start of a triangle, with its normal.
    Facet([f32; 3]),
    Loop,
    Vertex(StlVertex),
    EndLoop,
    EndFacet,
    EndSolid,
    /// A comment or a color. Text STL defines neither.
    Comment,
    /// Not an STL statement. Contains what was expected at the token.
    Broken(&'static str),
}

impl StlWord {
    /// Whether the statements after this one do not depend on earlier statements.
    pub(super) fn starts_anew(&self) -> bool {
        matches!(self, StlWord::Solid(_) | StlWord::Facet(_) | StlWord::EndSolid)
    }
}

/// A statement, and the token that locates it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StlStatement {
    pub(super) word: StlWord,
    /// Location of the token: offset and length.
    pub(super) token: (u32, u32),
    /// If the statement deviates harmlessly from the format, how it was read.
    pub(super) habit: Option<&'static str>,
}

/// First words of statements.
const KEYWORDS: [&[u8]; 8] = [b"solid", b"facet", b"outer", b"vertex", b"end", b"endloop", b"endfacet", b"endsolid"];

/// Strips a leading word from `text`, ignoring case.
fn after_word<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

/// Iterator over the statements in a text.
pub(super) struct Statements<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Statements<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Statements { text, at: 0 }
    }

    /// Iterates over the statements on one line of a text. Locations are relative to the start of the text.
    pub(super) fn of_line(text: &'a [u8], line: Range<usize>) -> Self {
        Statements { text: text.get(..line.end).unwrap_or(text), at: line.start }
    }

    /// Returns the offset of the next statement, or of the blanks before it.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn is_blank(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | 0x0b | 0x0c) || is_filler(byte)
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns the next token on this line. The token is empty if there is none.
    #[inline]
    fn token(&mut self) -> &'a [u8] {
        while self.byte().is_some_and(Self::is_blank) {
            self.at += 1;
        }
        let start = self.at;
        while self.byte().is_some_and(|byte| byte > b' ' || !Self::is_blank(byte) && !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Returns the location of the token that was just read.
    fn span(&self, token: &[u8]) -> (u32, u32) {
        ((self.at - token.len()) as u32, token.len() as u32)
    }

    /// Returns the rest of the line, excluding blanks around it.
    fn rest_of_line(&mut self) -> Range<u32> {
        let start = self.at;
        let rest = &self.text[start..];
        let size = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        self.at += size;
        let line = &rest[..size];
        let blank = size - line.trim_ascii_start().len();
        (start + blank) as u32..(start + blank + line.trim_ascii().len()) as u32
    }

    /// Returns the name of a solid: the rest of the line, or, if a triangle starts on the line, only the text before
    /// it.
    fn name(&mut self) -> Range<u32> {
        const FACET: &[u8] = b"facet normal ";
        let start = self.at;
        let name = self.rest_of_line();
        let line = &self.text[start..self.at];
        let is_facet = |at: &usize| line[*at..*at + FACET.len()].eq_ignore_ascii_case(FACET);
        let last = (line.len() + 1).saturating_sub(FACET.len());
        let is_apart = |at: &usize| *at == 0 || Self::is_blank(line[*at - 1]);
        let Some(facet) = (0..last).filter(is_apart).find(is_facet) else { return name };
        self.at = start + facet;
        let end = start + line[..facet].trim_ascii_end().len();
        name.start.min(end as u32)..end as u32
    }

    /// Parses three numbers. Fails with the location of the first token that is not a number.
    fn numbers(&mut self) -> Result<StlVertex, (u32, u32)> {
        let mut vertex = StlVertex::default();
        for axis in 0..3 {
            let token = self.token();
            let special = || number::msvc_special(token);
            let single = number::f32(token).or_else(|| special().map(|value| value as f32));
            vertex.single[axis] = single.ok_or_else(|| self.span(token))?;
            vertex.exact[axis] = number::f64(token).or_else(special).unwrap_or(f64::NAN);
            vertex.loss.add(token);
        }
        Ok(vertex)
    }

    /// Parses a statement with three numbers.
    fn with_numbers(&mut self, token: (u32, u32), word: fn(StlVertex) -> StlWord) -> StlStatement {
        match self.numbers() {
            Ok(values) => self.ended(word(values), token, None),
            Err(token) => self.broken(token, "three numbers"),
        }
    }

    /// Parses the start of a triangle, after `facet`. Some programs omit the normal.
    fn facet(&mut self, token: (u32, u32)) -> StlStatement {
        let start = self.at;
        let next = self.token();
        if next.eq_ignore_ascii_case(b"normal") {
            return self.with_numbers(token, |normal| StlWord::Facet(normal.single));
        }
        let span = self.span(next);
        // The next word belongs to the next statement, so it is read again.
        if next.is_empty() || KEYWORDS.iter().any(|keyword| next.eq_ignore_ascii_case(keyword)) {
            self.at = start;
            return StlStatement { word: StlWord::Facet([0.0; 3]), token, habit: Some("read without a normal") };
        }
        self.broken(span, "`normal`")
    }

    fn broken(&mut self, token: (u32, u32), expected: &'static str) -> StlStatement {
        self.rest_of_line();
        StlStatement { word: StlWord::Broken(expected), token, habit: None }
    }

    /// Completes a statement. Skips the rest of the line unless a statement or a comment follows.
    fn ended(&mut self, word: StlWord, token: (u32, u32), habit: Option<&'static str>) -> StlStatement {
        let start = self.at;
        let next = self.token();
        let is_statement =
            next.is_empty() || is_comment(next) || KEYWORDS.iter().any(|keyword| after_word(next, keyword).is_some());
        if is_statement {
            self.at = start;
            return StlStatement { word, token, habit };
        }
        self.rest_of_line();
        StlStatement { word, token, habit: Some("the rest of the line is skipped") }
    }

    /// Parses `end` and the next word as one keyword, as in `end loop`.
    fn end(&mut self, token: (u32, u32)) -> StlStatement {
        let next = self.token();
        let span = self.span(next);
        let habit = Some("joined with the next word");
        match next.to_ascii_lowercase().as_slice() {
            b"loop" => self.ended(StlWord::EndLoop, token, habit),
            b"facet" => self.ended(StlWord::EndFacet, token, habit),
            b"solid" => {
                self.rest_of_line();
                StlStatement { word: StlWord::EndSolid, token, habit }
            }
            _ => self.broken(span, "`loop`, `facet` or `solid`"),
        }
    }

    /// Parses a statement whose first word is not a keyword of the format: a comment, a color, or keywords that are
    /// joined or split.
    fn unusual(&mut self, word: &[u8], token: (u32, u32)) -> StlStatement {
        let apart = Some("read as two words");
        if is_comment(word) {
            self.rest_of_line();
            return StlStatement { word: StlWord::Comment, token, habit: Some("skipped as a comment") };
        }
        if word.eq_ignore_ascii_case(b"color") {
            self.rest_of_line();
            return StlStatement {
                word: StlWord::Comment,
                token,
                habit: Some("skipped: text STL cannot store colors"),
            };
        }
        if word.eq_ignore_ascii_case(b"end") {
            return self.end(token);
        }
        if word.eq_ignore_ascii_case(b"outerloop") {
            return self.ended(StlWord::Loop, token, apart);
        }
        if word.eq_ignore_ascii_case(b"facetnormal") {
            return StlStatement { habit: apart, ..self.with_numbers(token, |normal| StlWord::Facet(normal.single)) };
        }
        if after_word(word, b"endsolid").is_some() {
            self.rest_of_line();
            return StlStatement { word: StlWord::EndSolid, token, habit: apart };
        }
        if after_word(word, b"solid").is_some() {
            // The name starts directly after the keyword.
            self.at -= word.len() - b"solid".len();
            return StlStatement { word: StlWord::Solid(self.name()), token, habit: apart };
        }
        self.broken(token, "an STL statement")
    }
}

impl Iterator for Statements<'_> {
    type Item = StlStatement;

    #[inline]
    fn next(&mut self) -> Option<StlStatement> {
        while self.byte().is_some_and(|byte| Self::is_blank(byte) || matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
        let word = self.token();
        if word.is_empty() {
            return None;
        }
        let token = self.span(word);
        let is = |keyword: &[u8]| word.eq_ignore_ascii_case(keyword);
        Some(if is(b"vertex") {
            self.with_numbers(token, StlWord::Vertex)
        } else if is(b"facet") {
            self.facet(token)
        } else if is(b"outer") {
            let next = self.token();
            let span = self.span(next);
            let is_loop = next.eq_ignore_ascii_case(b"loop");
            if is_loop { self.ended(StlWord::Loop, token, None) } else { self.broken(span, "`loop`") }
        } else if is(b"endloop") {
            self.ended(StlWord::EndLoop, token, None)
        } else if is(b"endfacet") {
            self.ended(StlWord::EndFacet, token, None)
        } else if is(b"solid") {
            StlStatement { word: StlWord::Solid(self.name()), token, habit: None }
        } else if is(b"endsolid") {
            self.rest_of_line();
            StlStatement { word: StlWord::EndSolid, token, habit: None }
        } else {
            self.unusual(word, token)
        })
    }
}

/// Whether a word starts a comment, as in other formats and languages.
fn is_comment(word: &[u8]) -> bool {
    const MARKS: [&[u8]; 6] = [b"#", b"//", b";", b"%", b"!", b"--"];
    MARKS.iter().any(|mark| word.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<StlWord> {
        Statements::new(text.as_bytes()).map(|statement| statement.word).collect()
    }

    #[test]
    fn case_blanks_and_lines_do_not_matter() {
        let text =
            " SOLID  a b \r\n\tFacet NORMAL 0 -1 1e3 outer  loop\n\n vertex\t1 2 NaN endloop ENDFACET\rendsolid a b";
        let words = words(text);
        assert_eq!(words[0], StlWord::Solid(8..11));
        assert_eq!(words[1..3], [StlWord::Facet([0.0, -1.0, 1000.0]), StlWord::Loop]);
        assert!(matches!(words[3], StlWord::Vertex(StlVertex { single: [1.0, 2.0, nan], .. }) if nan.is_nan()));
        assert_eq!(words[4..], [StlWord::EndLoop, StlWord::EndFacet, StlWord::EndSolid]);
    }

    #[test]
    fn what_is_wrong_is_found_at_its_token() {
        let at = |text: &str| Statements::new(text.as_bytes()).next().map(|s| (s.word, s.token)).unwrap();
        assert_eq!(at("vertex 1 x 3"), (StlWord::Broken("three numbers"), (9, 1)));
        assert_eq!(at("vertex 1 2\n3"), (StlWord::Broken("three numbers"), (10, 0)));
        assert_eq!(at("facet 0 0 1"), (StlWord::Broken("`normal`"), (6, 1)));
        assert_eq!(at("end bogus"), (StlWord::Broken("`loop`, `facet` or `solid`"), (4, 5)));
        assert_eq!(at(" bogus 1 2"), (StlWord::Broken("an STL statement"), (1, 5)));
        assert_eq!(
            words("bogus 1 2 3\nendloop\nouter"),
            [StlWord::Broken("an STL statement"), StlWord::EndLoop, StlWord::Broken("`loop`")]
        );
        assert!(words("").is_empty() && words(" \r\n").is_empty());
    }
}
