//! Detects the format of a table from its first lines: the separator, the names, and the number of columns.
//!
//! Lines are examined sequentially, across chunks, until the first row of data.

use super::TableFormat;
use super::columns::Layout;
use super::line::{Grammar, OPEN, Quotes, TableField, is_blank, spreadsheet_error};
use super::scene;
use super::value::{TableHeadKind, check_number, has_decimal_comma};
use polyhaul_model::error::{
    Diagnostic, Error, ErrorKind, Excerpt, Place, Result, limit_hint, try_copy, try_push, try_string,
};
use polyhaul_model::names;
use polyhaul_model::options::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::number;
use polyhaul_text::scan::Separator;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Everything determined before the first row of data.
#[derive(Debug)]
pub(super) struct TableHead {
    pub(super) grammar: Grammar,
    /// Number of fields per row.
    pub(super) field_count: usize,
    /// Index of the field for each column.
    pub(super) kept: Vec<usize>,
    /// Whether all fields are kept, in their original order.
    pub(super) keeps_all: bool,
    /// Types of the kept columns.
    pub(super) kinds: Vec<TableHeadKind>,
    /// Name of each kept column. The names are empty if there is no header.
    pub(super) names: Vec<String>,
    pub(super) missing: MissingValue,
    /// Byte range in the file of the first row if it might have been names; otherwise empty.
    pub(super) first_row: Range<u64>,
}

impl TableHead {
    /// Returns the number of kept columns.
    pub(super) fn columns(&self) -> usize {
        self.kept.len()
    }

    /// Whether all columns are f32s, in which case values are never stored in a larger type.
    pub(super) fn is_f32(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == TableHeadKind::F32)
    }
}

/// Finds the head in the first lines.
pub(super) struct TableFinder<'o> {
    format: TableFormat,
    options: &'o ParseOptions<TableReadOptions>,
    layout: Layout,
    comment: Vec<u8>,
    /// Number of line endings so far.
    lines: u64,
    /// The line with the names, and its location.
    header: Option<(Vec<u8>, Diagnostic)>,
    /// Lines with names whose last quote is still open, and their location.
    open: Option<(Vec<u8>, Place)>,
    /// The last line, if it is a comment, and its location.
    last_comment: Option<(Vec<u8>, Diagnostic)>,
    /// The separator that a line `sep=` of a spreadsheet states.
    stated: Option<Separator>,
    /// Text of comment lines.
    pub(super) comments: Vec<String>,
    /// Number of points that the file declares, and the location of this number.
    pub(super) declared: Option<(u64, Place)>,
}

/// A line and its location.
struct TableLine<'a> {
    bytes: &'a [u8],
    place: Place,
}

impl TableLine<'_> {
    fn diagnostic(&self, field: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let mut place = self.place.clone();
        place.column = place.column.map(|column| column + field.start as u64);
        place.offset = place.offset.map(|offset| offset + field.start as u64);
        // Quoted names can continue on the next line. That line is not shown.
        let (end, _) = line_end(self.bytes, 0);
        let excerpt = Some(Excerpt::of_line(&self.bytes[..end], field.start.min(end)..field.end.min(end)));
        Diagnostic { place, excerpt, ..Diagnostic::new(message) }
    }
}

/// Whether a byte can be part of a number or of a line's structure.
fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.\"\r\n".contains(&byte)
}

/// Whether a field proves that a first row does not have names: a number with a point, a sign, an exponent or a decimal
/// comma, a field with a NUL byte, or several numbers separated by white space, which occur if a mistyped comma was
/// detected as the separator.
fn is_value(field: &[u8]) -> bool {
    let mut words = field.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
    let is_several = words.next().is_some_and(|first| number::f64(first).is_some()) && words.peek().is_some();
    if is_several && words.all(|word| number::f64(word).is_some()) {
        return true;
    }
    let has_sign = field.iter().any(|byte| b".+-".contains(byte));
    let has_exponent = field.first().is_some_and(u8::is_ascii_digit) && field.iter().any(|byte| b"eE".contains(byte));
    let is_decimal = (has_sign || has_exponent) && number::f64(field).is_some();
    is_decimal || number::msvc_special(field).is_some() && has_sign || has_decimal_comma(field) || field.contains(&0)
}

/// Whether x, y and z are among the names.
fn has_position(names: &[u8], grammar: &Grammar) -> bool {
    let has = |name: &str| {
        let mut fields = grammar.fields(names).map(|field| &names[field.range]);
        fields.any(|field| field.eq_ignore_ascii_case(name.as_bytes()))
    };
    scene::POSITION.into_iter().all(has)
}

/// Whether a field starts like a number, as in `3.O`.
fn starts_as_number(field: &[u8]) -> bool {
    field.iter().find(|byte| !b"+-.".contains(byte)).is_some_and(u8::is_ascii_digit)
}

/// Whether a field is empty or a word that stands for a missing value.
fn is_missing(field: &[u8]) -> bool {
    const WORDS: [&str; 4] = ["na", "n/a", "null", "none"];
    let is_word = |word: &str| field.eq_ignore_ascii_case(word.as_bytes());
    field.is_empty() || WORDS.into_iter().any(is_word) || spreadsheet_error(field) == field.len()
}

/// Replaces the mark before the first name, which shows that the line is not a row, with spaces. The mark is `//`, as
/// in CloudCompare's `//X Y Z`, or `#` or `%` if it does not start comments. Keeps the mark if it is itself a name: if
/// there are as many names as values per row (`row_count`) only when the mark counts as a name.
fn unmarked<'l>(line: &'l [u8], grammar: &Grammar, row_count: Option<usize>) -> Result<Cow<'l, [u8]>> {
    let start = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mark = [&b"//"[..], b"#", b"%"].into_iter().find(|mark| line[start..].starts_with(mark));
    let Some(mark) = mark else { return Ok(line.into()) };
    let mut rest = try_copy(line, "names")?;
    // Spaces preserve the locations of names.
    rest[start..start + mark.len()].fill(b' ');
    let is_named = grammar.fields(&rest).next().is_some_and(|first| !first.range.is_empty());
    let count = grammar.fields(&rest).count();
    let was_name = row_count.is_some_and(|rows| rows != count && rows == grammar.fields(line).count());
    Ok(if is_named && !was_name { rest.into() } else { line.into() })
}

/// Validates the caller's options.
pub(super) fn check(options: &TableReadOptions) -> Result<()> {
    let bad = |what: &str, byte: u8| {
        let message = format!("{what} cannot start with `{}`, which may be part of a number", byte.escape_ascii());
        Err(Error::new(ErrorKind::Usage, message))
    };
    let delimiter = match options.delimiter {
        Some(Delimiter::Byte(byte)) if is_numeric(byte) => return bad("a delimiter", byte),
        Some(Delimiter::Byte(byte)) => Some(byte),
        _ => None,
    };
    match Some(options.comment.as_bytes()).filter(|comment| !comment.is_empty()) {
        Some([first, ..]) if is_numeric(*first) || first.is_ascii_whitespace() || delimiter == Some(*first) => {
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
            open: None,
            last_comment: None,
            stated: None,
            comments: Vec::new(),
            declared: None,
        })
    }

    /// Parses the lines of a text, which is at `offset` in the file. Returns the head and the start of the first row.
    /// Returns `None` if the text has no row.
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
                let line = TableLine { bytes: &text[at..end], place };
                if !self.continues(&line, warnings)? && self.is_row(&line)? {
                    return Ok(Some((self.head(Some(&line), warnings)?, at)));
                }
            }
            at = next;
        }
        Ok(None)
    }

    /// Returns the head of a text without rows.
    pub(super) fn end(&mut self, warnings: &mut Warnings) -> Result<TableHead> {
        if let Some((bytes, place)) = self.open.take() {
            self.refuse_open(&bytes, place, warnings)?;
        }
        self.head(None, warnings)
    }

    /// Returns whether a line is part of quoted names, which can contain line breaks. If the line completes the names,
    /// they become the header.
    fn continues(&mut self, line: &TableLine<'_>, warnings: &mut Warnings) -> Result<bool> {
        let (mut bytes, place) = match self.open.take() {
            Some((mut bytes, place)) => {
                let size = 1 + line.bytes.len();
                bytes.try_reserve(size).map_err(|_| Error::memory("names"))?;
                bytes.push(b'\n');
                (bytes, place)
            }
            None if self.opens_quote(line.bytes) => {
                let mut bytes = Vec::new();
                bytes.try_reserve(line.bytes.len()).map_err(|_| Error::memory("names"))?;
                (bytes, line.place.clone())
            }
            None => return Ok(false),
        };
        bytes.extend_from_slice(line.bytes);
        if !self.has_open_quote(&bytes) {
            let diagnostic = TableLine { bytes: &bytes, place }.diagnostic(0..bytes.len(), "");
            self.header = Some((bytes, diagnostic));
            return Ok(true);
        }
        if bytes.len() as u64 > self.options.limits.name_bytes {
            self.refuse_open(&bytes, place, warnings)?;
            return Ok(true);
        }
        self.open = Some((bytes, place));
        Ok(true)
    }

    /// Reports the unterminated quote in a header.
    fn refuse_open(&mut self, bytes: &[u8], place: Place, warnings: &mut Warnings) -> Result<()> {
        let (end, _) = line_end(bytes, 0);
        let line = TableLine { bytes: &bytes[..end], place };
        // Splitting the line into names finds the quote again, and reports it.
        self.header = Some((try_copy(line.bytes, "names")?, line.diagnostic(0..end, "")));
        self.head(None, warnings).map(|_| ())
    }

    /// Whether a line may be the first of several lines with names, because it ends within quotes.
    fn opens_quote(&self, line: &[u8]) -> bool {
        let may_have_names = self.header.is_none() && self.options.own.header != TableHeader::Absent;
        let is_comment = || self.grammar(Separator::Blanks).comment(line).is_some();
        may_have_names && memchr::memchr(b'"', line).is_some() && !is_comment() && self.has_open_quote(line)
    }

    fn has_open_quote(&self, line: &[u8]) -> bool {
        let bare = self.grammar(Separator::Blanks);
        let content = bare.content(line);
        let grammar = self.grammar(self.separator(content));
        grammar.fields(content).last().is_some_and(|field| field.quotes == Quotes::Open)
    }

    fn grammar(&self, separator: Separator) -> Grammar {
        Grammar { separator, comment: self.comment.clone(), splits_tokens: self.options.own.is_numpy }
    }

    /// Returns whether a line is the first row of data. Otherwise, stores its names, comment or count.
    fn is_row(&mut self, line: &TableLine<'_>) -> Result<bool> {
        let bare = self.grammar(Separator::Blanks);
        let last_comment = self.last_comment.take();
        if let Some(comment) = bare.comment(line.bytes) {
            let text = match std::str::from_utf8(comment) {
                Ok(text) => try_string(text)?,
                Err(_) => names::latin1(comment)?,
            };
            try_push(&mut self.comments, text, "comments")?;
            self.last_comment = Some((try_copy(comment, "comments")?, line.diagnostic(0..line.bytes.len(), "")));
            return Ok(false);
        }
        let content = bare.content(line.bytes);
        if content.is_empty() || is_blank(content, self.given().unwrap_or(Separator::Blanks)) {
            return Ok(false);
        }
        if let Some(separator) = self.stated_separator(content) {
            self.stated = Some(separator);
            return Ok(false);
        }
        // A tab after the number would end a field.
        let trailing = content.iter().rev().take_while(|byte| **byte == b' ').count();
        if let Ok(count) = number::u64(content[..content.len() - trailing].trim_ascii_start())
            && self.may_be_count(last_comment.as_ref().map(|(comment, _)| &comment[..]))?
        {
            self.last_comment = last_comment;
            self.declared = Some((count, line.place.clone()));
            return Ok(false);
        }
        let is_header = self.header.is_none()
            && match self.options.own.header {
                TableHeader::Absent => false,
                TableHeader::Present => true,
                TableHeader::Auto => self.format != TableFormat::Pts && self.are_names(content),
            };
        if is_header {
            let diagnostic = line.diagnostic(0..content.trim_ascii_end().len(), "");
            self.header = Some((try_copy(content, "names")?, diagnostic));
        } else {
            self.last_comment = last_comment;
        }
        Ok(!is_header)
    }

    /// Returns the separator that a spreadsheet states in the first line, as in `sep=;`.
    fn stated_separator(&self, line: &[u8]) -> Option<Separator> {
        let is_first = self.lines == self.options.own.skip_lines + 1 && self.options.own.delimiter.is_none();
        let bare = line.strip_prefix(b"\"").map_or(line, |rest| rest.strip_suffix(b"\"").unwrap_or(rest));
        let (word, separator) = bare.split_at_checked(4)?;
        let is_statement = is_first && word.eq_ignore_ascii_case(b"sep=");
        match separator {
            _ if !is_statement => None,
            [b' '] => Some(Separator::Blanks),
            [byte] if !is_numeric(*byte) => Some(Separator::Byte(*byte)),
            _ => None,
        }
    }

    /// Whether an integer on its own line can be the number of points: at the start of a point file, or after the names
    /// of point columns, where CloudCompare writes it.
    fn may_be_count(&self, last_comment: Option<&[u8]>) -> Result<bool> {
        let is_expected = match self.header.as_ref().map(|(names, _)| &names[..]).or(last_comment) {
            _ if self.declared.is_some() => false,
            _ if self.header.is_none() && self.is_points() => true,
            None => false,
            Some(names) => {
                // A tab may also be a part of the white space between fields.
                let grammars = [self.separator(names), Separator::Blanks].map(|separator| self.grammar(separator));
                let mut has_any = false;
                for grammar in &grammars {
                    has_any |= has_position(&unmarked(names, grammar, None)?, grammar);
                }
                has_any
            }
        };
        Ok(is_expected)
    }

    /// Returns the separator that the caller, the file or the format sets.
    fn given(&self) -> Option<Separator> {
        match self.options.own.delimiter {
            Some(Delimiter::Blanks) => Some(Separator::Blanks),
            Some(Delimiter::Byte(byte)) => Some(Separator::Byte(byte)),
            None if self.stated.is_some() => self.stated,
            None if self.format == TableFormat::Tsv => Some(Separator::Byte(b'\t')),
            None => None,
        }
    }

    /// Chooses the separator of a line. Of a tab, `;`, `,` and white space, this is the first with which all fields are
    /// numbers, or else the first that is present, if possible outside quotes, as in `"depth; m",x`.
    fn separator(&self, line: &[u8]) -> Separator {
        if let Some(given) = self.given() {
            return given;
        }
        let is_outside = |byte: &u8| line.split(|&other| other == b'"').step_by(2).any(|part| part.contains(byte));
        // In this order, because a comma may also be a decimal comma in fields that a tab or `;` separates.
        let mut bytes = *b"\t;,";
        bytes.sort_by_key(|byte| !is_outside(byte));
        let there = bytes.into_iter().filter(|byte| self.comment.first() != Some(byte) && line.contains(byte));
        let mut there = there.map(Separator::Byte).peekable();
        let first = there.peek().copied().unwrap_or(Separator::Blanks);
        // A tab may also be a part of the white space between fields.
        let mut separators = there.chain([Separator::Blanks]);
        separators.find(|&separator| self.fits(line, separator)).unwrap_or(first)
    }

    /// Whether a first row has names: some of its fields are not numbers, and nothing proves that it is a row with an
    /// invalid value. Integers can be names, such as years. Numbers with a point, a sign or an exponent cannot be
    /// names; words for missing values, and fields that start like numbers, cannot be names if there are numbers too.
    fn are_names(&self, line: &[u8]) -> bool {
        let separator = self.separator(line);
        if self.fits(line, separator) {
            return false;
        }
        let columns = self.options.own.columns.as_deref().unwrap_or_default();
        if columns.iter().any(|column| matches!(column, ColumnName::Name(_))) {
            return true;
        }
        let mut numbers = 0;
        let mut others = 0;
        for TableField { range, .. } in self.grammar(separator).fields(line) {
            let field = &line[range];
            if is_value(field) {
                return false;
            }
            let is_number = number::f64(field).is_some();
            numbers += usize::from(is_number);
            others += usize::from(!is_number && !is_missing(field) && !starts_as_number(field));
        }
        numbers == 0 || others > 0
    }

    /// Whether the kept fields of a line are numbers, some of which may be missing.
    fn fits(&self, line: &[u8], separator: Separator) -> bool {
        let grammar = Grammar { separator, comment: Vec::new(), splits_tokens: false };
        let is_special = |field: &[u8]| !self.options.own.is_numpy && number::msvc_special(field).is_some();
        let is_kept = |place: usize| match &self.options.own.columns {
            None => true,
            Some(columns) => columns.contains(&ColumnName::Index(place)),
        };
        let mut numbers = 0;
        let mut fields = grammar.fields(line).enumerate().filter(|(place, _)| is_kept(*place));
        let is_all_numbers = fields.all(|(_, TableField { range, .. })| {
            let field = &line[range];
            let is_number = number::f64(field).is_some() || is_special(field);
            numbers += usize::from(is_number);
            is_number || field.is_empty()
        });
        is_all_numbers && numbers > 0
    }

    fn head(&mut self, row: Option<&TableLine<'_>>, warnings: &mut Warnings) -> Result<TableHead> {
        let header = match (self.header.take(), row) {
            (None, Some(row)) => self.names_in_comment(row),
            (header, _) => header,
        };
        let sample = match (row, &header) {
            (Some(row), _) => row.bytes,
            (None, Some((header, _))) => header,
            (None, None) => &[],
        };
        let bare = self.grammar(Separator::Blanks);
        let mut separator = self.separator(bare.content(sample));
        // A row with one field does not show the separator, but the names can.
        if let Some((header, _)) = &header
            && separator == Separator::Blanks
            && bare.fields(bare.content(sample)).count() < 2
        {
            separator = self.separator(header);
        }
        let grammar = Grammar { separator, ..bare };
        let sample_count = grammar.fields(grammar.content(sample)).count();
        let names = match &header {
            Some((line, diagnostic)) => {
                let line = unmarked(line, &grammar, row.map(|_| sample_count))?;
                self.names(&line, &grammar, diagnostic, warnings)?
            }
            None => Vec::new(),
        };
        let field_count = if names.is_empty() { sample_count } else { names.len() };
        let is_guess = header.is_none() && self.options.own.header == TableHeader::Auto;
        let first_row = match row.and_then(|row| Some((row.place.offset?, row.bytes.len() as u64))) {
            Some((offset, size)) if is_guess => offset..offset + size,
            _ => 0..0,
        };
        let line = match (row, header) {
            (Some(row), _) => Some(row.diagnostic(0..row.bytes.trim_ascii_end().len(), "")),
            (None, header) => header.map(|(_, diagnostic)| diagnostic),
        };
        self.check_count(field_count, line)?;
        let fields = self.kept(field_count, &names)?;
        let keeps_all = fields.len() == field_count && fields.iter().enumerate().all(|(place, &field)| place == field);
        let names = self.kept_names(&fields, names)?;
        let kinds = self.kinds(&names)?;
        let missing = self.options.own.missing;
        Ok(TableHead { grammar, field_count, kept: fields, keeps_all, kinds, names, missing, first_row })
    }

    /// Returns the names in the comment directly before the first row, if the number of names equals the number of the
    /// row's fields, and x, y and z are among the names. numpy's `savetxt` and scanners write such comments.
    fn names_in_comment(&mut self, row: &TableLine<'_>) -> Option<(Vec<u8>, Diagnostic)> {
        let (comment, diagnostic) = self.last_comment.take()?;
        if self.options.own.header != TableHeader::Auto {
            return None;
        }
        let content = self.grammar(Separator::Blanks).content(row.bytes);
        let grammar = self.grammar(self.separator(content));
        let are_as_many = grammar.fields(&comment).count() == grammar.fields(content).count();
        if !(are_as_many && has_position(&comment, &grammar)) {
            return None;
        }
        // The names are not a comment of the table as well.
        self.comments.pop();
        Some((comment, diagnostic))
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
                let message = format!("name is longer than the limit `name_bytes` ({limit} bytes)");
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

    /// Whether the rows of the format are points, regardless of the layout.
    fn is_points(&self) -> bool {
        matches!(self.format, TableFormat::Xyz | TableFormat::Pts)
    }

    /// Fails if a row has too few or too many fields.
    fn check_count(&self, count: usize, line: Option<Diagnostic>) -> Result<()> {
        let limit = self.options.limits.columns;
        let line = line.unwrap_or_default();
        if count as u64 > limit {
            let message = format!("more columns than the limit `columns` ({limit})");
            let error = Diagnostic { message, ..line }.into_error(ErrorKind::Limit);
            return Err(error.with_hint(limit_hint("columns")));
        }
        if self.is_points() && (1..3).contains(&count) {
            let message = format!("this row has {}", counted(count as u64, ["number", "numbers"]));
            let expected = Some("at least 3: x, y and z".into());
            return Err(Diagnostic { message, expected, ..line }.into_error(ErrorKind::Malformed));
        }
        Ok(())
    }

    fn kept(&self, field_count: usize, names: &[String]) -> Result<Vec<usize>> {
        let mut fields = Vec::new();
        if field_count == 0 {
            return Ok(fields); // without any row, there are no columns, whatever is requested
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
                // Coordinates are read as doubles, because their digits determine whether the mesh keeps doubles.
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
                let message = format!("expected types for {count} columns, found {}", scalars.len());
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

    /// Returns the names of the kept columns.
    fn kept_names(&self, fields: &[usize], names: Vec<String>) -> Result<Vec<String>> {
        let mut kept_names = Vec::new();
        kept_names.try_reserve_exact(fields.len())?;
        for &field in fields {
            kept_names.push(try_string(names.get(field).map_or("", String::as_str))?);
        }
        Ok(kept_names)
    }
}

/// Returns the end of the line that starts at `at`, and the start of the next line.
pub(super) fn line_end(text: &[u8], at: usize) -> (usize, usize) {
    match memchr::memchr2(b'\n', b'\r', &text[at..]) {
        None => (text.len(), text.len()),
        Some(size) => {
            let pair = text[at + size..].starts_with(b"\r\n");
            (at + size, at + size + 1 + usize::from(pair))
        }
    }
}
