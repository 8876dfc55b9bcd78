//! The format of a table according to its first lines: the separator, the names, the number of columns.
//!
//! Lines are looked at one after another, wherever chunks end, until the first row of data.

use super::TableFormat;
use super::columns::Layout;
use super::line::{Grammar, OPEN, Quotes, TableField, is_blank};
use super::scene;
use super::value::{TableHeadKind, check_number};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result, limit_hint, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::options::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::number;
use polyhaul_text::scan::Separator;
use std::borrow::Cow;
use std::sync::Arc;

/// What is known before the first row of data.
#[derive(Debug)]
pub(super) struct TableHead {
    pub(super) grammar: Grammar,
    /// The number of fields in a row.
    pub(super) field_count: usize,
    /// Which of them are kept, in the order of the columns.
    pub(super) kept: Vec<usize>,
    /// Whether that is all of them in their order.
    pub(super) keeps_all: bool,
    /// The types of the kept columns.
    pub(super) kinds: Vec<TableHeadKind>,
    /// Their names; empty if there is no header.
    pub(super) names: Vec<String>,
    pub(super) missing: MissingValue,
}

impl TableHead {
    /// Returns the number of kept columns.
    pub(super) fn columns(&self) -> usize {
        self.kept.len()
    }

    /// Returns whether all values are f32s: then no larger type is used on the way.
    pub(super) fn is_f32(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == TableHeadKind::F32)
    }
}

/// Looks for the head.
pub(super) struct TableFinder<'o> {
    format: TableFormat,
    options: &'o ParseOptions<TableReadOptions>,
    layout: Layout,
    comment: Vec<u8>,
    /// Lines that ended.
    lines: u64,
    /// The line with the names, and its location.
    header: Option<(Vec<u8>, Diagnostic)>,
    /// Text of comment lines.
    pub(super) comments: Vec<String>,
    /// The number of points that a `.pts` file declares.
    pub(super) declared: Option<(u64, Place)>,
}

/// A line and its location.
struct TableLine<'a> {
    bytes: &'a [u8],
    place: Place,
}

impl TableLine<'_> {
    fn diagnostic(&self, field: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
        let mut place = self.place.clone();
        place.column = place.column.map(|column| column + field.start as u64);
        place.offset = place.offset.map(|offset| offset + field.start as u64);
        let excerpt = Some(Excerpt::of_line(self.bytes, field));
        Diagnostic { place, excerpt, ..Diagnostic::new(message) }
    }
}

/// Checks the caller's options.
pub(super) fn check(options: &TableReadOptions) -> Result<()> {
    let bad = |what: &str, byte: u8| {
        let message = format!("{what} cannot start with `{}`, which may be part of a number", byte.escape_ascii());
        Err(Error::new(ErrorKind::Usage, message))
    };
    let numeric = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.\"\r\n".contains(&byte);
    let delimiter = match options.delimiter {
        Some(Delimiter::Byte(byte)) if numeric(byte) => return bad("a delimiter", byte),
        Some(Delimiter::Byte(byte)) => Some(byte),
        _ => None,
    };
    match Some(options.comment.as_bytes()).filter(|comment| !comment.is_empty()) {
        Some([first, ..]) if numeric(*first) || first.is_ascii_whitespace() || delimiter == Some(*first) => {
            bad("a comment", *first)
        }
        _ => Ok(()),
    }
}

impl<'o> TableFinder<'o> {
    pub(super) fn new(
        format: TableFormat,
        layout: Layout,
        options: &'o ParseOptions<TableReadOptions>,
    ) -> Result<TableFinder<'o>> {
        check(&options.own)?;
        let comment = options.own.comment.as_bytes().to_vec();
        Ok(TableFinder {
            format,
            options,
            layout,
            comment,
            lines: 0,
            header: None,
            comments: Vec::new(),
            declared: None,
        })
    }

    /// Parses the lines of a text at `offset` of the file: the head, and the start of the first row.
    pub(super) fn feed(
        &mut self,
        text: &[u8],
        offset: u64,
        file: &Arc<str>,
        warnings: &mut Warnings,
    ) -> Result<Option<(TableHead, usize)>> {
        let mut at = 0;
        while at < text.len() {
            let (end, next) = line_end(text, at);
            self.lines += 1;
            if self.lines > self.options.own.skip_lines {
                let place = Place {
                    file: file.clone(),
                    line: Some(self.lines),
                    column: Some(1),
                    offset: Some(offset + at as u64),
                };
                if self.is_row(&TableLine { bytes: &text[at..end], place: place.clone() })? {
                    let head = self.head(Some(&TableLine { bytes: &text[at..end], place }), warnings)?;
                    return Ok(Some((head, at)));
                }
            }
            at = next;
        }
        Ok(None)
    }

    /// The head of a text that has no row.
    pub(super) fn end(&mut self, warnings: &mut Warnings) -> Result<TableHead> {
        self.head(None, warnings)
    }

    /// Returns whether a line is the first row of data; other lines are kept.
    fn is_row(&mut self, line: &TableLine<'_>) -> Result<bool> {
        let plain = Grammar { separator: Separator::Blanks, comment: std::mem::take(&mut self.comment) };
        let comment = plain.comment(line.bytes);
        let content = plain.content(line.bytes);
        self.comment = plain.comment;
        if let Some(comment) = comment {
            let text = match std::str::from_utf8(comment) {
                Ok(text) => try_string(text)?,
                Err(_) => names::latin1(comment)?,
            };
            try_push(&mut self.comments, text, "comments")?;
            return Ok(false);
        }
        if content.is_empty() || is_blank(content, self.given().unwrap_or(Separator::Blanks)) {
            return Ok(false);
        }
        if self.format == TableFormat::Pts
            && self.declared.is_none()
            && self.header.is_none()
            && let Ok(count) = number::u64(content.trim_ascii())
        {
            self.declared = Some((count, line.place.clone()));
            return Ok(false);
        }
        let is_header = self.header.is_none()
            && match self.options.own.header {
                TableHeader::Absent => false,
                TableHeader::Present => true,
                TableHeader::Auto => !self.is_numeric(content),
            };
        if is_header {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(content.len()).map_err(|_| Error::memory("names"))?;
            bytes.extend_from_slice(content);
            self.header = Some((bytes, line.diagnostic(0..content.trim_ascii_end().len(), "")));
        }
        Ok(!is_header)
    }

    /// Returns the separator set by the caller or the format.
    fn given(&self) -> Option<Separator> {
        match self.options.own.delimiter {
            Some(Delimiter::Blanks) => Some(Separator::Blanks),
            Some(Delimiter::Byte(byte)) => Some(Separator::Byte(byte)),
            None if self.format == TableFormat::Tsv => Some(Separator::Byte(b'\t')),
            None => None,
        }
    }

    /// The separator of a line: the first one with which all fields are numbers, or else the first one that is there.
    fn separator(&self, line: &[u8]) -> Separator {
        if let Some(given) = self.given() {
            return given;
        }
        let there = b"\t;,".iter().filter(|byte| self.comment.first() != Some(byte) && line.contains(byte));
        let mut there = there.map(|&byte| Separator::Byte(byte)).peekable();
        let first = there.peek().copied().unwrap_or(Separator::Blanks);
        // A tab can be one of several blanks.
        let mut separators = there.chain([Separator::Blanks]);
        separators.find(|&separator| self.fits(line, separator)).unwrap_or(first)
    }

    fn is_numeric(&self, line: &[u8]) -> bool {
        self.fits(line, self.separator(line))
    }

    /// Returns whether the kept fields of a line are numbers, some of which may be missing.
    fn fits(&self, line: &[u8], separator: Separator) -> bool {
        let grammar = Grammar { separator, comment: Vec::new() };
        let is_kept = |place: usize| match &self.options.own.columns {
            None => true,
            Some(columns) => columns.contains(&ColumnName::Index(place)),
        };
        let mut numbers = 0;
        let mut fields = grammar.fields(line).enumerate().filter(|(place, _)| is_kept(*place));
        let is_all_numbers = fields.all(|(_, TableField { range, .. })| {
            let field = &line[range];
            let is_number = number::f64(field).is_some();
            numbers += usize::from(is_number);
            is_number || field.is_empty()
        });
        is_all_numbers && numbers > 0
    }

    fn head(&mut self, row: Option<&TableLine<'_>>, warnings: &mut Warnings) -> Result<TableHead> {
        let header = self.header.take();
        let sample = match (row, &header) {
            (Some(row), _) => row.bytes,
            (None, Some((header, _))) => header,
            (None, None) => &[],
        };
        let bare = Grammar { separator: Separator::Blanks, comment: self.comment.clone() };
        let mut separator = self.separator(bare.content(sample));
        // A row of one field proves nothing.
        if let Some((header, _)) = &header
            && separator == Separator::Blanks
            && bare.fields(bare.content(sample)).count() < 2
        {
            separator = self.separator(header);
        }
        let grammar = Grammar { separator, ..bare };
        let names = match &header {
            Some((line, diagnostic)) => self.names(line, &grammar, diagnostic, warnings)?,
            None => Vec::new(),
        };
        let field_count = if names.is_empty() { grammar.fields(grammar.content(sample)).count() } else { names.len() };
        let line = match (row, header) {
            (Some(row), _) => Some(row.diagnostic(0..row.bytes.trim_ascii_end().len(), "")),
            (None, header) => header.map(|(_, diagnostic)| diagnostic),
        };
        self.check_count(field_count, line)?;
        let fields = self.kept(field_count, &names)?;
        let keeps_all = fields.len() == field_count && fields.iter().enumerate().all(|(place, &field)| place == field);
        let names = self.kept_names(&fields, names)?;
        let kinds = self.kinds(&names)?;
        Ok(TableHead { grammar, field_count, kept: fields, keeps_all, kinds, names, missing: self.options.own.missing })
    }

    fn names(
        &self,
        line: &[u8],
        grammar: &Grammar,
        diagnostic: &Diagnostic,
        warnings: &mut Warnings,
    ) -> Result<Vec<String>> {
        let limit = self.options.limits.name_bytes;
        let mut names = Vec::new();
        for TableField { range, quotes } in grammar.fields(line) {
            if quotes == Quotes::Open {
                let Diagnostic { mut place, .. } = diagnostic.clone();
                place.column = place.column.map(|column| column + range.start as u64);
                place.offset = place.offset.map(|offset| offset + range.start as u64);
                let excerpt = Some(Excerpt::of_line(line, range.start..range.start + 1));
                return Err(Diagnostic { place, excerpt, ..Diagnostic::new(OPEN) }.into_error(ErrorKind::Malformed));
            }
            if range.len() as u64 > limit {
                let message = format!("name is longer than the limit of {limit} bytes (name_bytes)");
                let error = Diagnostic { message, ..diagnostic.clone() }.into_error(ErrorKind::Limit);
                return Err(error.with_hint(limit_hint("name_bytes")));
            }
            if names.len() as u64 >= self.options.limits.columns {
                return self.check_count(usize::MAX, Some(diagnostic.clone())).map(|()| names);
            }
            let name = names::decode(&line[range], &diagnostic.place, self.options.faults, warnings)?;
            let mut name = match name {
                Cow::Borrowed(name) => try_string(name)?,
                Cow::Owned(name) => name,
            };
            if quotes == Quotes::Both {
                let mut was_quote = false;
                name.retain(|c| {
                    was_quote = c == '"' && !was_quote;
                    c != '"' || was_quote
                });
            }
            try_push(&mut names, name, "names")?;
        }
        Ok(names)
    }

    /// Returns whether rows are points, however they are used.
    fn is_points(&self) -> bool {
        matches!(self.format, TableFormat::Xyz | TableFormat::Pts)
    }

    /// Checks that a row has neither too few nor too many fields.
    fn check_count(&self, count: usize, line: Option<Diagnostic>) -> Result<()> {
        let limit = self.options.limits.columns;
        let line = line.unwrap_or_default();
        if count as u64 > limit {
            let message = format!("more columns than the limit of {limit} (columns)");
            let error = Diagnostic { message, ..line }.into_error(ErrorKind::Limit);
            return Err(error.with_hint(limit_hint("columns")));
        }
        if self.is_points() && (1..3).contains(&count) {
            let message = format!("this row has only {count} numbers");
            let expected = Some("at least 3: x, y and z".into());
            return Err(Diagnostic { message, expected, ..line }.into_error(ErrorKind::Malformed));
        }
        Ok(())
    }

    fn kept(&self, field_count: usize, names: &[String]) -> Result<Vec<usize>> {
        let mut fields = Vec::new();
        if field_count == 0 {
            return Ok(fields); // without any row there are no columns, whatever is asked for
        }
        let Some(columns) = &self.options.own.columns else {
            fields.try_reserve_exact(field_count)?;
            fields.extend(0..field_count);
            return Ok(fields);
        };
        for column in columns {
            let (place, name) = match column {
                ColumnName::Index(place) => (Some(*place).filter(|&place| place < field_count), place.to_string()),
                ColumnName::Name(name) => (names.iter().position(|other| other == name), format!("`{name}`")),
            };
            let Some(place) = place else {
                let message = format!("no column {name}: the number of columns is {field_count}");
                return Err(Error::new(ErrorKind::Usage, message));
            };
            try_push(&mut fields, place, "columns")?;
        }
        Ok(fields)
    }

    fn kinds(&self, names: &[String]) -> Result<Vec<TableHeadKind>> {
        let count = names.len();
        let mut kinds = Vec::new();
        kinds.try_reserve_exact(count)?;
        match &self.options.own.types {
            _ if count == 0 => {}
            ColumnTypes::Auto if self.layout == Layout::Points || self.is_points() => {
                // Their digits decide whether a mesh keeps them as doubles.
                let coordinate = TableHeadKind::F64;
                let is_unnamed = names.iter().all(String::is_empty);
                let places = names.iter().enumerate();
                kinds.extend(places.map(|(place, name)| {
                    if is_unnamed && place < 3 || scene::is_coordinate(name) { coordinate } else { TableHeadKind::Auto }
                }));
            }
            ColumnTypes::Auto => kinds.resize(count, TableHeadKind::Auto),
            ColumnTypes::All(scalar) => kinds.resize(count, TableHeadKind::from_scalar(Some(*scalar))),
            ColumnTypes::Each(scalars) if scalars.len() == count => {
                kinds.extend(scalars.iter().map(|&scalar| TableHeadKind::from_scalar(scalar)))
            }
            ColumnTypes::Each(scalars) => {
                let message = format!("found {count} columns, but {} types", scalars.len());
                return Err(Error::new(ErrorKind::Usage, message));
            }
        }
        if let MissingValue::Value(value) = self.options.own.missing
            && let Some(kind) = kinds.iter().find(|&&kind| kind != TableHeadKind::F32 && !check_number(value, kind))
        {
            let message = format!("the value {value} for empty fields does not fit a column of type {kind:?}");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(kinds)
    }

    /// The names of the columns that are kept.
    fn kept_names(&self, fields: &[usize], names: Vec<String>) -> Result<Vec<String>> {
        let mut kept_names = Vec::new();
        kept_names.try_reserve_exact(fields.len())?;
        for &field in fields {
            kept_names.push(try_string(names.get(field).map_or("", String::as_str))?);
        }
        Ok(kept_names)
    }
}

/// Returns the end of the line that begins at `at`, and the start of the next one.
pub(super) fn line_end(text: &[u8], at: usize) -> (usize, usize) {
    match memchr::memchr2(b'\n', b'\r', &text[at..]) {
        None => (text.len(), text.len()),
        Some(size) => {
            let pair = text[at + size..].starts_with(b"\r\n");
            (at + size, at + size + 1 + usize::from(pair))
        }
    }
}
