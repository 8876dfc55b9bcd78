//! Splits a statement into words: numbers, switches and names, with their faults.
//!
//! [`Statement`] iterates over the words of a logical line. Faults that invalidate a statement are returned as
//! [`Fault`]; other faults are collected in [`Statement::notes`]. `reader` interprets the words, `lines` finds the
//! lines.

use super::lines::{is_blank, printable};
use polyhaul_model::Color;
use polyhaul_model::error::try_string;
use polyhaul_model::names;
use polyhaul_text::parse::number;
use std::ops::Range;

/// A fault in a line, and its location.
#[derive(Debug)]
pub struct Fault {
    /// Warning code.
    pub code: &'static str,
    /// Message without location.
    pub message: String,
    /// Description of the expected value.
    pub expected: Option<&'static str>,
    /// The byte range in the line that is marked.
    pub marked: Range<usize>,
    /// Severity.
    pub weight: MtlWeight,
}

/// Severity of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtlWeight {
    /// A warning.
    Note,
    /// An error: the limit with this name was exceeded.
    Limit(&'static str),
    /// An error: out of memory.
    Memory,
}

/// Creates the fault for out of memory.
pub fn out_of_memory<E>(_: E) -> Fault {
    Fault { code: "memory", message: String::new(), expected: None, marked: 0..0, weight: MtlWeight::Memory }
}

/// Result of parsing. The fault invalidates the statement.
pub type Parsed<T> = Result<T, Fault>;

/// A statement, read from left to right.
pub struct Statement<'a> {
    line: &'a [u8],
    /// Range of the keyword.
    keyword: Range<usize>,
    /// Range of the last word or name that was read.
    last: Range<usize>,
    /// Offset at which the search for the next word starts.
    at: usize,
    /// End of the last word.
    end: usize,
    /// Maximum name length in bytes.
    name_bytes: u64,
    /// Faults that do not invalidate the statement.
    pub notes: Vec<Fault>,
}

/// Parses a decimal number with `.` as its decimal point, `nan`, `inf` or `infinity`. Rejects any other notation.
fn parse_number(word: &[u8]) -> Option<f32> {
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    let decimal = digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let special = [&b"nan"[..], b"inf", b"infinity"].iter().any(|name| digits.eq_ignore_ascii_case(name));
    if !decimal && !special {
        return None;
    }
    number::f32(word)
}

/// Formats a word for messages: in backticks, shortened to 40 bytes.
pub fn quoted(word: &[u8]) -> String {
    match word.get(..40) {
        Some(start) if word.len() > 40 => format!("`{}...`", printable(start)),
        _ => format!("`{}`", printable(word)),
    }
}

impl<'a> Statement<'a> {
    /// Starts a statement at the keyword of `line`. Returns `None` if the line has only white space or a comment.
    pub fn new(line: &'a [u8], name_bytes: u64) -> Option<Statement<'a>> {
        let end = line.iter().rposition(|&byte| !is_blank(byte))? + 1;
        let mut statement = Statement { line, keyword: 0..0, last: 0..0, at: 0, end, name_bytes, notes: Vec::new() };
        statement.keyword = statement.word()?;
        statement.last = statement.keyword.clone();
        statement.at = statement.keyword.end;
        Some(statement)
    }

    /// The keyword as written.
    pub fn keyword(&self) -> &'a [u8] {
        &self.line[self.keyword.clone()]
    }

    /// Range of the keyword.
    pub fn keyword_range(&self) -> Range<usize> {
        self.keyword.clone()
    }

    /// Range of the last word or name read.
    pub fn last_range(&self) -> Range<usize> {
        self.last.clone()
    }

    /// Returns the last word, quoted for messages.
    pub fn last_quoted(&self) -> String {
        quoted(&self.line[self.last.clone()])
    }

    /// Returns the next word, even if it starts a comment.
    fn any_word(&self) -> Option<Range<usize>> {
        let rest = &self.line[self.at..self.end];
        let start = self.at + rest.iter().position(|&byte| !is_blank(byte))?;
        let length = self.line[start..self.end].iter().position(|&byte| is_blank(byte));
        Some(start..length.map_or(self.end, |length| start + length))
    }

    /// Returns the next word without consuming it; `None` if a comment starts there.
    fn word(&self) -> Option<Range<usize>> {
        self.any_word().filter(|word| self.line[word.start] != b'#')
    }

    fn take(&mut self, word: Range<usize>) -> &'a [u8] {
        self.at = word.end;
        self.last = word.clone();
        &self.line[word]
    }

    /// Consumes the next word if it is `keyword`, ignoring case.
    pub fn take_if(&mut self, keyword: &str) -> bool {
        let word = self.word().filter(|word| self.line[word.clone()].eq_ignore_ascii_case(keyword.as_bytes()));
        word.map(|word| self.take(word)).is_some()
    }

    /// Creates a fault at `marked`.
    pub fn fault(&self, code: &'static str, marked: Range<usize>, message: String) -> Fault {
        Fault { code, message, expected: None, marked, weight: MtlWeight::Note }
    }

    /// Adds a note about `marked`, unless there is a note with this code already, so that a long statement takes linear
    /// time.
    pub fn note(&mut self, code: &'static str, marked: Range<usize>, message: String) {
        if self.notes.iter().all(|note| note.code != code) {
            self.notes.push(self.fault(code, marked, message));
        }
    }

    /// Creates the fault for a missing value.
    fn missing(&self, code: &'static str, what: &str, expected: &'static str) -> Fault {
        let after = quoted(&self.line[self.last.clone()]);
        let fault = self.fault(code, self.end..self.end, format!("{what} is missing after {after}"));
        Fault { expected: Some(expected), ..fault }
    }

    /// Parses a word that must be one of a fixed set of values.
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

    /// Parses a one-word name.
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

    /// Adds a note if `value`, which was just parsed, is not finite.
    fn check_finite(&mut self, value: f32) {
        if !value.is_finite() {
            let message = format!("{} is not finite", quoted(&self.line[self.last.clone()]));
            self.note("non-finite", self.last.clone(), message);
        }
    }

    /// Parses 1 to N numbers. Missing numbers keep their defaults.
    pub fn numbers<const N: usize>(&mut self, defaults: [f32; N]) -> Parsed<[f32; N]> {
        let mut values = defaults;
        for (i, value) in values.iter_mut().enumerate() {
            let more = self.word().is_some_and(|word| parse_number(&self.line[word]).is_some());
            // The first number is required: if there is none, `number` returns the fault.
            if i == 0 || more {
                *value = self.number()?;
            }
        }
        Ok(values)
    }

    /// Parses three numbers, or one number that applies to all three.
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

    /// Parses the file and the factor of a spectral curve. If the last word is a number, it is the factor.
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

    /// Consumes the rest of the line.
    fn rest(&mut self) -> Range<usize> {
        let start = self.any_word().map_or(self.end, |word| word.start);
        self.at = self.end;
        start..self.end
    }

    /// Parses the rest of the line as a file name.
    pub fn file(&mut self) -> Parsed<String> {
        let rest = self.rest();
        // Metashape quotes names with spaces.
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

    /// Parses the rest of the line as a name, possibly empty.
    pub fn name(&mut self) -> Parsed<String> {
        self.last = self.rest();
        self.text(self.last.clone())
    }

    /// Consumes the statement and returns it unchanged.
    pub fn whole(&mut self) -> Parsed<String> {
        self.at = self.end;
        self.decode(self.keyword.start..self.end)
    }

    /// Decodes a name. Fails if it is longer than the limit.
    fn text(&mut self, range: Range<usize>) -> Parsed<String> {
        let bytes = range.len() as u64;
        if bytes > self.name_bytes {
            let message =
                format!("name of {bytes} bytes is longer than the limit `name_bytes` ({} bytes)", self.name_bytes);
            let fault = self.fault("name-length", range, message);
            return Err(Fault { weight: MtlWeight::Limit("name_bytes"), ..fault });
        }
        self.decode(range)
    }

    /// Decodes bytes as UTF-8, or as Latin-1 if they are not valid UTF-8.
    fn decode(&mut self, range: Range<usize>) -> Parsed<String> {
        let bytes = &self.line[range.clone()];
        let decoded = std::str::from_utf8(bytes).map(try_string).unwrap_or_else(|_| {
            self.note("non-utf8-name", range, format!("{} is not valid UTF-8; read as Latin-1", quoted(bytes)));
            names::latin1(bytes)
        });
        decoded.map_err(out_of_memory)
    }

    /// Adds a note about leftover words.
    pub fn finish(&mut self) {
        if let Some(word) = self.word() {
            let range = word.start..self.end;
            let message = format!("extra {} is ignored", quoted(&self.line[range.clone()]));
            self.note("extra-value", range, message);
        }
    }
}
