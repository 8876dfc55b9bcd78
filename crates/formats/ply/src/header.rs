//! The header of a PLY file (Greg Turk's description of the format): its encoding, elements and properties.
//!
//! A header consists of lines of words. The published format fixes the first two lines; here, only `ply` must come
//! first, and properties must follow their element.
//!
//! | line | meaning |
//! |---|---|
//! | `ply` | |
//! | `format` ENCODING `1.0` | `ascii`, `binary_little_endian` or `binary_big_endian` |
//! | `comment` TEXT, `obj_info` TEXT | anywhere after `ply` |
//! | `element` NAME COUNT | COUNT rows with the properties that follow |
//! | `property` TYPE NAME | a number |
//! | `property list` COUNT-TYPE TYPE NAME | a count, then as many numbers |
//! | `end_header` | the rows start after its line end |
//!
//! Checks everything that does not require the rows. Never reserves memory for a declared count.

use polyhaul_model::Scalar;
use polyhaul_model::error::{
    Diagnostic, Error, ErrorKind, Excerpt, Place, Result, elements_hint, limit_hint, try_push, try_string,
};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::ParseOptions;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Names of the properties with the ends of an edge.
pub(super) const EDGE_ENDS: [&str; 2] = ["vertex1", "vertex2"];
/// UTF-8 byte order mark, which some programs write before the header or before text rows.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Encoding of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlyHeaderEncoding {
    Ascii,
    LittleEndian,
    BigEndian,
}

impl PlyHeaderEncoding {
    /// Name of the encoding, for messages.
    pub fn title(self) -> &'static str {
        match self {
            PlyHeaderEncoding::Ascii => "PLY ascii",
            PlyHeaderEncoding::LittleEndian => "PLY binary little endian",
            PlyHeaderEncoding::BigEndian => "PLY binary big endian",
        }
    }
}

/// Contents of a header.
#[derive(Clone, Debug)]
pub struct PlyHeader {
    /// Encoding of the rows.
    pub encoding: PlyHeaderEncoding,
    /// Elements in file order.
    pub elements: Vec<Element>,
    /// Text after each `comment`.
    pub comments: Vec<String>,
    /// Text after each `obj_info`.
    pub infos: Vec<String>,
    /// Offset of the rows in the file.
    pub(super) body: u64,
}

/// A table of rows with the same properties.
#[derive(Clone, Debug)]
pub struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
    /// Location of its declaration.
    pub(super) place: Place,
}

/// A number in each row, or a list of numbers.
#[derive(Clone, Debug)]
pub struct Property {
    /// Name in the header.
    pub name: String,
    /// Type of the number, or of the items of the list.
    pub item: Scalar,
    /// Type of the list's count; `None` for a number.
    pub count: Option<Scalar>,
}

impl Element {
    /// Returns the index of the property named `name`.
    pub(super) fn property(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name)
    }
}

/// Returns the type named `name`, by its old or its new name. The published format has no 64-bit integers, but some
/// programs write them.
fn scalar(name: &[u8]) -> Option<Scalar> {
    Some(match name {
        b"char" | b"int8" => Scalar::I8,
        b"uchar" | b"uint8" => Scalar::U8,
        b"short" | b"int16" => Scalar::I16,
        b"ushort" | b"uint16" => Scalar::U16,
        b"int" | b"int32" => Scalar::I32,
        b"uint" | b"uint32" => Scalar::U32,
        b"int64" => Scalar::I64,
        b"uint64" => Scalar::U64,
        b"float" | b"float32" => Scalar::F32,
        b"double" | b"float64" => Scalar::F64,
        _ => return None,
    })
}

/// Line ending of a header, determined by its first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newline {
    /// LF or CR LF.
    LineFeed,
    /// CR; any character after it belongs to the next line.
    Return,
}

/// Result of parsing the bytes so far.
pub(super) enum PlyHeaderParsed {
    Header(PlyHeader),
    /// More bytes are needed.
    More,
}

/// Incremental parser of a header.
pub(super) struct PlyParser<'a> {
    file: Arc<str>,
    options: &'a ParseOptions,
    newline: Option<Newline>,
    /// Offset of the next line, and the number of lines before it.
    at: usize,
    lines: u64,
    encoding: Option<PlyHeaderEncoding>,
    elements: Vec<Element>,
    properties: usize,
    comments: Vec<String>,
    infos: Vec<String>,
    /// Element names, and property names of the last element.
    element_names: HashSet<String>,
    names: HashSet<String>,
}

/// A line of the header, and its location.
struct PlyHeaderLine<'a> {
    bytes: &'a [u8],
    /// Offset in the file.
    start: usize,
    number: u64,
    file: &'a Arc<str>,
}

impl<'a> PlyHeaderLine<'a> {
    fn words(&self) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let bytes = self.bytes;
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at + bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
            at = bytes[start..].iter().position(u8::is_ascii_whitespace).map_or(bytes.len(), |size| start + size);
            Some(start..at)
        })
    }

    fn place(&self, column: usize) -> Place {
        Place {
            file: self.file.clone(),
            line: Some(self.number),
            column: Some(column as u64 + 1),
            offset: Some((self.start + column) as u64),
        }
    }

    fn diagnostic(&self, word: Range<usize>, message: String, expected: Option<&str>) -> Diagnostic {
        Diagnostic {
            expected: expected.map(str::to_owned),
            place: self.place(word.start),
            excerpt: Some(Excerpt::of_line(self.bytes, word)),
            ..Diagnostic::new(message)
        }
    }

    fn error(&self, word: Range<usize>, message: impl Into<String>, expected: &str) -> Error {
        self.diagnostic(word, message.into(), Some(expected)).into_error(ErrorKind::Malformed)
    }

    /// Creates the error for a wrong or missing word.
    fn wrong(&self, word: Option<Range<usize>>, expected: &str) -> Error {
        let end = self.bytes.len();
        match word {
            Some(word) => {
                let message = format!("unexpected `{}`", names::shown(&self.text(word.clone())));
                self.error(word, message, expected)
            }
            None => self.error(end..end, "unexpected end of line", expected),
        }
    }

    fn text(&self, word: Range<usize>) -> String {
        String::from_utf8_lossy(&self.bytes[word]).into_owned()
    }
}

impl<'a> PlyParser<'a> {
    pub(super) fn new(file: Arc<str>, options: &'a ParseOptions) -> PlyParser<'a> {
        PlyParser {
            file,
            options,
            newline: None,
            at: 0,
            lines: 0,
            encoding: None,
            elements: Vec::new(),
            properties: 0,
            comments: Vec::new(),
            infos: Vec::new(),
            element_names: HashSet::new(),
            names: HashSet::new(),
        }
    }

    /// Parses more lines. `bytes` are all bytes of the file so far; `ended` means that there are no more.
    pub(super) fn parse(&mut self, bytes: &[u8], ended: bool, warnings: &mut Warnings) -> Result<PlyHeaderParsed> {
        loop {
            let Some((end, next)) = self.line_end(bytes, ended)? else { return Ok(PlyHeaderParsed::More) };
            let file = self.file.clone();
            let line =
                PlyHeaderLine { bytes: &bytes[self.at..end], start: self.at, number: self.lines + 1, file: &file };
            self.at = next;
            self.lines += 1;
            if self.line(&line, warnings)? {
                if self.encoding == Some(PlyHeaderEncoding::Ascii) && bytes[self.at..].starts_with(BYTE_ORDER_MARK) {
                    self.at += BYTE_ORDER_MARK.len();
                }
                return self.finish(&line).map(PlyHeaderParsed::Header);
            }
        }
    }

    /// Returns the end of the next line and the start of the one after it; `None` if the line is incomplete.
    fn line_end(&mut self, bytes: &[u8], ended: bool) -> Result<Option<(usize, usize)>> {
        if self.lines == 0 && self.at == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
        }
        let rest = bytes.get(self.at..).unwrap_or(&[]);
        // The first bytes decide, so that a file of another kind is not searched for the end of a line.
        if self.lines == 0 && !b"ply".starts_with(&rest[..rest.len().min(3)]) || ended && bytes.is_empty() {
            return Err(self.not_ply(bytes));
        }
        if self.newline.is_none() {
            match memchr::memchr2(b'\n', b'\r', rest).map(|at| (rest[at], rest.get(at + 1))) {
                Some((b'\n', _)) | Some((_, Some(b'\n'))) => self.newline = Some(Newline::LineFeed),
                // If a CR is the last byte so far, the byte after it decides later.
                Some((_, Some(_))) => self.newline = Some(Newline::Return),
                _ => {}
            }
        }
        let ends = if self.newline == Some(Newline::Return) { b'\r' } else { b'\n' };
        let size = memchr::memchr(ends, rest);
        self.check_size(bytes, size.unwrap_or(rest.len()))?;
        match size {
            Some(size) => {
                let carriage_return = usize::from(rest[..size].ends_with(b"\r"));
                Ok(Some((self.at + size - carriage_return, self.at + size + 1)))
            }
            None if ended && !rest.is_empty() => Ok(Some((bytes.len(), bytes.len()))),
            None if ended => {
                let place = self.end_place(self.at);
                let diagnostic = Diagnostic { place, ..Diagnostic::new("unexpected end of file in the header") };
                let expected = Some("`end_header`".to_owned());
                Err(Diagnostic { expected, ..diagnostic }.into_error(ErrorKind::Malformed))
            }
            None => Ok(None),
        }
    }

    fn end_place(&self, offset: usize) -> Place {
        let line = Some(self.lines + 1);
        let column = Some(1);
        let offset = Some(offset as u64);
        Place { file: self.file.clone(), line, column, offset }
    }

    fn not_ply(&self, bytes: &[u8]) -> Error {
        let line = PlyHeaderLine { bytes: &bytes[..bytes.len().min(80)], start: 0, number: 1, file: &self.file };
        let end = line.bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.bytes.len());
        let line = PlyHeaderLine { bytes: &line.bytes[..end], ..line };
        let message = if bytes.is_empty() { "the file is empty" } else { "not a PLY file" };
        line.error(0..end, message, "`ply` on the first line")
    }

    fn check_size(&self, bytes: &[u8], size: usize) -> Result<()> {
        let limits = &self.options.limits;
        let is_line_shorter = limits.line_bytes < limits.name_bytes;
        let name = if is_line_shorter { "line_bytes" } else { "name_bytes" };
        let limit = limits.name_bytes.min(limits.line_bytes);
        let (message, hint) = if size as u64 > limit {
            let message = format!("header line is longer than the limit `{name}` ({limit} bytes)");
            (message, limit_hint(name))
        } else if (self.at + size) as u64 > limits.header_bytes {
            let message = format!("the header is longer than the limit `header_bytes` ({} bytes)", limits.header_bytes);
            (message, limit_hint("header_bytes"))
        } else {
            return Ok(());
        };
        let line = &bytes[self.at..self.at + size];
        let excerpt = Some(Excerpt::of_line(line, 0..line.len().min(20)));
        let diagnostic = Diagnostic { place: self.end_place(self.at), excerpt, ..Diagnostic::new(message) };
        Err(diagnostic.into_error(ErrorKind::Limit).with_hint(hint))
    }

    /// Processes a line; returns whether it ends the header.
    fn line(&mut self, line: &PlyHeaderLine<'_>, warnings: &mut Warnings) -> Result<bool> {
        if let Some(nul) = memchr::memchr(0, line.bytes) {
            return Err(line.error(nul..nul + 1, "the header contains a NUL byte", "text"));
        }
        let mut words = line.words();
        let Some(keyword) = words.next() else { return Ok(false) };
        let word = &line.bytes[keyword.clone()];
        if line.number == 1 {
            return match word {
                b"ply" if words.next().is_none() && keyword.start == 0 => Ok(false),
                _ => Err(self.not_ply(line.bytes)),
            };
        }
        match word {
            b"format" => self.format(line)?,
            b"comment" | b"obj_info" => self.remark(line, keyword, warnings)?,
            b"element" => self.element(line, warnings)?,
            b"property" => self.property(line, warnings)?,
            b"end_header" => match words.next() {
                None => return Ok(true),
                extra => return Err(line.wrong(extra, "nothing after `end_header`")),
            },
            _ => {
                let expected = "`format`, `comment`, `obj_info`, `element`, `property` or `end_header`";
                return Err(line.wrong(Some(keyword), expected));
            }
        }
        Ok(false)
    }

    fn format(&mut self, line: &PlyHeaderLine<'_>) -> Result<()> {
        let mut words = line.words().skip(1);
        if self.encoding.is_some() {
            return Err(line.error(0..line.bytes.len(), "the format is declared twice", "one `format` line"));
        }
        let expected = "`ascii`, `binary_little_endian` or `binary_big_endian`";
        let word = words.next().ok_or_else(|| line.wrong(None, expected))?;
        self.encoding = Some(match &line.bytes[word.clone()] {
            b"ascii" => PlyHeaderEncoding::Ascii,
            b"binary_little_endian" => PlyHeaderEncoding::LittleEndian,
            b"binary_big_endian" => PlyHeaderEncoding::BigEndian,
            _ => return Err(line.wrong(Some(word), expected)),
        });
        match (words.next(), words.next()) {
            (Some(version), None) if &line.bytes[version.clone()] == b"1.0" => Ok(()),
            (Some(version), None) => {
                let message = format!("unsupported PLY version {}", names::shown(&line.text(version.clone())));
                Err(line.diagnostic(version, message, Some("version 1.0")).into_error(ErrorKind::Unsupported))
            }
            (Some(_), extra) => Err(line.wrong(extra, "nothing after the version")),
            (None, _) => Err(line.wrong(None, "version 1.0")),
        }
    }

    /// Stores a comment: everything after the keyword and one separator byte.
    fn remark(&mut self, line: &PlyHeaderLine<'_>, keyword: Range<usize>, warnings: &mut Warnings) -> Result<()> {
        let start = (keyword.end + 1).min(line.bytes.len());
        let text = names::decode(&line.bytes[start..], &line.place(start), self.options.faults, warnings)?;
        let is_info = &line.bytes[keyword] == b"obj_info";
        let list = if is_info { &mut self.infos } else { &mut self.comments };
        try_push(list, try_string(&text)?, "comments")
    }

    fn element(&mut self, line: &PlyHeaderLine<'_>, warnings: &mut Warnings) -> Result<()> {
        let mut words = line.words().skip(1);
        let word = words.next().ok_or_else(|| line.wrong(None, "the name of an element"))?;
        let name = self.name(line, word.clone(), warnings)?;
        let count = words.next().ok_or_else(|| line.wrong(None, "the number of rows"))?;
        let digits = &line.bytes[count.clone()];
        let rows = match polyhaul_text::parse::number::u64(digits) {
            Ok(rows) => rows,
            Err(_) => {
                let message = format!("`{}` is not a valid number of rows", names::shown(&line.text(count.clone())));
                return Err(line.error(count, message, "an integer from 0 to 2^64 - 1"));
            }
        };
        if let extra @ Some(_) = words.next() {
            return Err(line.wrong(extra, "nothing after the count"));
        }
        let limit = self.options.limits.elements.min(u64::from(u32::MAX) - 1);
        if rows > limit {
            let message = format!("more rows than the limit `elements` ({limit})");
            let diagnostic = Diagnostic { hint: elements_hint(limit), ..line.diagnostic(count, message, None) };
            return Err(diagnostic.into_error(ErrorKind::Limit));
        }
        self.check_last(line)?;
        unique(&mut self.element_names, line, word.clone(), &name, "element")?;
        self.count_property(line)?;
        self.names.clear();
        let place = line.place(word.start);
        let element = Element { name, count: rows, properties: Vec::new(), place };
        try_push(&mut self.elements, element, "elements")
    }

    fn property(&mut self, line: &PlyHeaderLine<'_>, warnings: &mut Warnings) -> Result<()> {
        let mut words = line.words().skip(1);
        if self.elements.is_empty() {
            return Err(line.error(0..line.bytes.len(), "property without an element", "`element` before it"));
        }
        let types = "char, uchar, short, ushort, int, uint, float, double, or int8 to float64";
        let mut word = words.next();
        let is_list = word.clone().is_some_and(|word| &line.bytes[word] == b"list");
        let mut count = None;
        if is_list {
            count = Some(type_of(line, words.next(), types)?);
            if let Some((_, at)) = count.clone().filter(|(scalar, _)| matches!(scalar, Scalar::F32 | Scalar::F64)) {
                return Err(line.error(at, "the count of a list cannot be a float", "an integer type"));
            }
            word = words.next();
        }
        let (item, _) = type_of(line, word, if is_list { types } else { "a type, or `list` and two types" })?;
        let at = words.next().ok_or_else(|| line.wrong(None, "the name of a property"))?;
        let name = self.name(line, at.clone(), warnings)?;
        if let extra @ Some(_) = words.next() {
            return Err(line.wrong(extra, "nothing after the name"));
        }
        unique(&mut self.names, line, at.clone(), &name, "property")?;
        self.count_property(line)?;
        let property = Property { name, item, count: count.map(|(scalar, _)| scalar) };
        match self.elements.last_mut() {
            Some(element) => try_push(&mut element.properties, property, "properties"),
            None => Ok(()),
        }
    }

    fn name(&self, line: &PlyHeaderLine<'_>, word: Range<usize>, warnings: &mut Warnings) -> Result<String> {
        let place = line.place(word.start);
        try_string(&names::decode(&line.bytes[word], &place, self.options.faults, warnings)?)
    }

    fn count_property(&mut self, line: &PlyHeaderLine<'_>) -> Result<()> {
        self.properties += 1;
        let limit = self.options.limits.properties;
        if self.properties as u64 <= limit {
            return Ok(());
        }
        let message = format!("more elements and properties than the limit `properties` ({limit})");
        let error = line.diagnostic(0..line.bytes.len(), message, None).into_error(ErrorKind::Limit);
        Err(error.with_hint(limit_hint("properties")))
    }

    /// Fails if an element has rows but no properties: such rows take no bytes, so their number is unlimited.
    fn check_last(&self, line: &PlyHeaderLine<'_>) -> Result<()> {
        match self.elements.last() {
            Some(last) if last.properties.is_empty() && last.count > 0 => {
                let name = names::shown(&last.name);
                // A number that the file declares has no separators.
                let rows = if last.count == 1 { "row" } else { "rows" };
                let message = format!("the element `{name}` has {} {rows} but no properties", last.count);
                Err(line.error(0..line.bytes.len(), message, "`property`"))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, line: &PlyHeaderLine<'_>) -> Result<PlyHeader> {
        self.check_last(line)?;
        let missing = || line.error(0..line.bytes.len(), "the header does not declare a format", "`format` before it");
        let encoding = self.encoding.ok_or_else(missing)?;
        Ok(PlyHeader {
            encoding,
            elements: std::mem::take(&mut self.elements),
            comments: std::mem::take(&mut self.comments),
            infos: std::mem::take(&mut self.infos),
            body: self.at as u64,
        })
    }
}

fn type_of(line: &PlyHeaderLine<'_>, word: Option<Range<usize>>, expected: &str) -> Result<(Scalar, Range<usize>)> {
    let Some(word) = word else { return Err(line.wrong(None, expected)) };
    match scalar(&line.bytes[word.clone()]) {
        Some(scalar) => Ok((scalar, word)),
        None => {
            let message = format!("`{}` is not a type", names::shown(&line.text(word.clone())));
            Err(line.error(word, message, expected))
        }
    }
}

fn unique(
    seen: &mut HashSet<String>,
    line: &PlyHeaderLine<'_>,
    word: Range<usize>,
    name: &str,
    what: &str,
) -> Result<()> {
    seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
    if seen.insert(try_string(name)?) {
        return Ok(());
    }
    let message = format!("duplicate {what} `{}`", names::shown(name));
    Err(line.diagnostic(word, message, None).into_error(ErrorKind::Malformed))
}
