//! One statement, word by word: numbers, switches, names, and their faults.
//!
//! A [`Statement`] iterates over the words of a logical line. A fault that makes a statement useless is returned as a
//! [`Fault`]; lesser ones are collected in [`Statement::notes`]. `reader` interprets the words, and `lines` finds lines
//! in the text.

use super::lines::{is_blank, printable};
use polyhaul_model::Color;
use polyhaul_model::error::try_string;
use polyhaul_model::names;
use polyhaul_text::parse::number;
use std::ops::Range;

/// A fault of a line, and its location.
#[derive(Debug)]
pub struct Fault {
    /// The kind of warning.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// What was expected.
    pub expected: Option<&'static str>,
    /// The bytes of the line that it refers to.
    pub marked: Range<usize>,
    /// Its severity.
    pub weight: MtlWeight,
}

/// The effect of a fault on the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtlWeight {
    /// A warning.
    Note,
    /// An error: the limit of this name was passed.
    Limit(&'static str),
    /// An error: there was no memory.
    Memory,
}

/// The fault that there was no memory, whatever it was needed for.
pub fn out_of_memory<E>(_: E) -> Fault {
    Fault { code: "memory", message: String::new(), expected: None, marked: 0..0, weight: MtlWeight::Memory }
}

/// The result of parsing, which can make a statement useless.
pub type Parsed<T> = Result<T, Fault>;

/// A statement, read from left to right.
pub struct Statement<'a> {
    line: &'a [u8],
    /// The range of the keyword.
    keyword: Range<usize>,
    /// The range of the word or name that was read last.
    last: Range<usize>,
    /// The offset at which the next word is searched.
    at: usize,
    /// The end of the last word.
    end: usize,
    /// The longest name, in bytes.
    name_bytes: u64,
    /// Faults that do not invalidate the statement.
    pub notes: Vec<Fault>,
}

/// Returns the value of a number: decimal with `.` as its point, `nan` or `inf`. No other notation is accepted here.
fn parse_number(word: &[u8]) -> Option<f32> {
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    let decimal = digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let special = [&b"nan"[..], b"inf", b"infinity"].iter().any(|name| digits.eq_ignore_ascii_case(name));
    if !decimal && !special {
        return None;
    }
    number::f32(word)
}

/// A word in backticks, shortened, for messages.
pub fn quoted(word: &[u8]) -> String {
    match word.get(..40) {
        Some(start) if word.len() > 40 => format!("`{}...`", printable(start)),
        _ => format!("`{}`", printable(word)),
    }
}

impl<'a> Statement<'a> {
    /// Creates the statement in `line`; returns `None` if there are only blanks or a comment.
    pub fn new(line: &'a [u8], name_bytes: u64) -> Option<Statement<'a>> {
        let end = line.iter().rposition(|&byte| !is_blank(byte))? + 1;
        let mut statement = Statement { line, keyword: 0..0, last: 0..0, at: 0, end, name_bytes, notes: Vec::new() };
        statement.keyword = statement.word()?;
        statement.last = statement.keyword.clone();
        statement.at = statement.keyword.end;
        Some(statement)
    }

    /// Returns the keyword unchanged.
    pub fn keyword(&self) -> &'a [u8] {
        &self.line[self.keyword.clone()]
    }

    /// The range of the keyword.
    pub fn keyword_range(&self) -> Range<usize> {
        self.keyword.clone()
    }

    /// The range of the word or name that was read last.
    pub fn last_range(&self) -> Range<usize> {
        self.last.clone()
    }

    /// Returns the next word, or its prefix.
    fn any_word(&self) -> Option<Range<usize>> {
        let rest = &self.line[self.at..self.end];
        let start = self.at + rest.iter().position(|&byte| !is_blank(byte))?;
        let length = self.line[start..self.end].iter().position(|&byte| is_blank(byte));
        Some(start..length.map_or(self.end, |length| start + length))
    }

    /// The next word, unless a comment begins there. It stays the next word until it is taken.
    fn word(&self) -> Option<Range<usize>> {
        self.any_word().filter(|word| self.line[word.start] != b'#')
    }

    fn take(&mut self, word: Range<usize>) -> &'a [u8] {
        self.at = word.end;
        self.last = word.clone();
        &self.line[word]
    }

    /// Takes the next word if it is `keyword`, ignoring case.
    pub fn take_if(&mut self, keyword: &str) -> bool {
        let word = self.word().filter(|word| self.line[word.clone()].eq_ignore_ascii_case(keyword.as_bytes()));
        word.map(|word| self.take(word)).is_some()
    }

    /// A fault in `marked`.
    pub fn fault(&self, code: &'static str, marked: Range<usize>, message: String) -> Fault {
        Fault { code, message, expected: None, marked, weight: MtlWeight::Note }
    }

    /// Adds a note about `marked`, once per kind, so that a long statement takes linear time.
    pub fn note(&mut self, code: &'static str, marked: Range<usize>, message: String) {
        if self.notes.iter().all(|note| note.code != code) {
            self.notes.push(self.fault(code, marked, message));
        }
    }

    /// Returns the fault that a value is missing.
    fn missing(&self, code: &'static str, what: &str, expected: &'static str) -> Fault {
        let after = quoted(&self.line[self.last.clone()]);
        let fault = self.fault(code, self.end..self.end, format!("{what} is missing after {after}"));
        Fault { expected: Some(expected), ..fault }
    }

    /// Parses a word with a few possible values.
    pub fn choice<T>(&mut self, expected: &'static str, parse: impl Fn(&[u8]) -> Option<T>) -> Parsed<T> {
        let word = self.word().ok_or_else(|| self.missing("missing-value", "a value", expected))?;
        let option = quoted(&self.line[self.last.clone()]);
        match parse(&self.line[word.clone()]) {
            Some(value) => {
                self.take(word);
                Ok(value)
            }
            None => {
                let message = format!("invalid value {} for {option}", quoted(&self.line[word.clone()]));
                Err(Fault { expected: Some(expected), ..self.fault("bad-value", word, message) })
            }
        }
    }

    /// Parses `on` or `off`.
    pub fn switch(&mut self) -> Parsed<bool> {
        self.choice("`on` or `off`", |word| match word {
            _ if word.eq_ignore_ascii_case(b"on") => Some(true),
            _ if word.eq_ignore_ascii_case(b"off") => Some(false),
            _ => None,
        })
    }

    /// Parses a word that is a name.
    pub fn label(&mut self) -> Parsed<String> {
        let word = self.word().ok_or_else(|| self.missing("missing-value", "a value", "a word"))?;
        self.take(word.clone());
        self.text(word)
    }

    /// Parses a number.
    pub fn number(&mut self) -> Parsed<f32> {
        let expected = "a number such as 0.5";
        let word = self.word().ok_or_else(|| self.missing("missing-number", "a number", expected))?;
        let Some(value) = parse_number(&self.line[word.clone()]) else {
            let message = format!("{} is not a number", quoted(&self.line[word.clone()]));
            return Err(Fault { expected: Some(expected), ..self.fault("bad-number", word, message) });
        };
        self.take(word);
        self.check_finite(value);
        Ok(value)
    }

    /// Says so where `value`, which was just taken, is not finite.
    fn check_finite(&mut self, value: f32) {
        if !value.is_finite() {
            let message = format!("{} is not finite", quoted(&self.line[self.last.clone()]));
            self.note("non-finite", self.last.clone(), message);
        }
    }

    /// Parses one to N numbers; missing ones keep their defaults.
    pub fn numbers<const N: usize>(&mut self, defaults: [f32; N]) -> Parsed<[f32; N]> {
        let mut values = defaults;
        for (i, value) in values.iter_mut().enumerate() {
            let more = self.word().is_some_and(|word| parse_number(&self.line[word]).is_some());
            if i == 0 || more {
                *value = self.number()?;
            }
        }
        Ok(values)
    }

    /// Parses three numbers, or one that stands for all three.
    fn triple(&mut self) -> Parsed<[f32; 3]> {
        let expected = |fault| Fault { expected: Some("three numbers, or one for all three"), ..fault };
        let first = self.number().map_err(expected)?;
        if self.word().is_none() {
            return Ok([first; 3]);
        }
        Ok([first, self.number().map_err(expected)?, self.number().map_err(expected)?])
    }

    /// Parses a color in one of its three forms.
    pub fn color(&mut self) -> Parsed<Color> {
        if self.take_if("spectral") {
            self.spectral()
        } else if self.take_if("xyz") {
            self.triple().map(Color::Xyz)
        } else {
            self.triple().map(Color::Rgb)
        }
    }

    /// Parses the file and the factor of a spectral curve: the last word is the factor if it is a number.
    fn spectral(&mut self) -> Parsed<Color> {
        let rest = self.rest();
        let mut file = rest.clone();
        let mut factor = 1.0;
        if let Some(cut) = self.line[rest.clone()].iter().rposition(|&byte| is_blank(byte))
            && let Some(value) = parse_number(&self.line[rest.start + cut + 1..rest.end])
        {
            let name = &self.line[rest.start..rest.start + cut];
            file.end = rest.start + name.iter().rposition(|&byte| !is_blank(byte)).map_or(0, |last| last + 1);
            factor = value;
            self.last = rest.start + cut + 1..rest.end;
            self.check_finite(value);
        }
        Ok(Color::Spectral { file: self.file_name(file)?, factor })
    }

    /// Returns everything up to the end of the line.
    fn rest(&mut self) -> Range<usize> {
        let start = self.any_word().map_or(self.end, |word| word.start);
        self.at = self.end;
        start..self.end
    }

    /// Parses the rest of the line as the name of a file.
    pub fn file(&mut self) -> Parsed<String> {
        let rest = self.rest();
        // Metashape puts names with spaces in quotes.
        let name = match &self.line[rest.clone()] {
            [b'"', name @ .., b'"'] if !name.is_empty() && !name.contains(&b'"') => rest.start + 1..rest.end - 1,
            _ => rest.clone(),
        };
        let file = self.file_name(name)?;
        self.last = rest;
        Ok(file)
    }

    fn file_name(&mut self, range: Range<usize>) -> Parsed<String> {
        if range.is_empty() {
            return Err(self.missing("missing-file-name", "a file name", "a file name such as bricks.png"));
        }
        self.text(range)
    }

    /// Parses the rest of the line as a name, which can be empty.
    pub fn name(&mut self) -> Parsed<String> {
        self.last = self.rest();
        self.text(self.last.clone())
    }

    /// Returns the whole statement unchanged.
    pub fn whole(&mut self) -> Parsed<String> {
        self.at = self.end;
        self.decode(self.keyword.start..self.end)
    }

    /// A name, which must not be longer than the caller allows.
    fn text(&mut self, range: Range<usize>) -> Parsed<String> {
        let bytes = range.len() as u64;
        if bytes > self.name_bytes {
            let message =
                format!("name of {bytes} bytes is longer than the limit of {} bytes (name_bytes)", self.name_bytes);
            let fault = self.fault("name-length", range, message);
            return Err(Fault { weight: MtlWeight::Limit("name_bytes"), ..fault });
        }
        self.decode(range)
    }

    /// UTF-8, or else Latin-1, in which each byte is the character of that code.
    fn decode(&mut self, range: Range<usize>) -> Parsed<String> {
        let bytes = &self.line[range.clone()];
        let decoded = std::str::from_utf8(bytes).map(try_string).unwrap_or_else(|_| {
            self.note("non-utf8-name", range, format!("{} is not valid UTF-8; read as Latin-1", quoted(bytes)));
            names::latin1(bytes)
        });
        decoded.map_err(out_of_memory)
    }

    /// Says so where words are left over.
    pub fn finish(&mut self) {
        if let Some(word) = self.word() {
            let range = word.start..self.end;
            let message = format!("{} is ignored", quoted(&self.line[range.clone()]));
            self.note("extra-value", range, message);
        }
    }
}
