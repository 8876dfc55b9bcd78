//! Parses the OFF header: the keyword, and the numbers of vertices and faces.
//!
//! Processes chunks of text in order, line by line, up to the first row. `rows` continues from there.

use super::lines;
use polyhaul_model::error::{
    Diagnostic, Error, ErrorKind, Excerpt, Place, Result, elements_hint, limit_hint, try_push, try_string,
};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{NONE, Scene};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::number;
use std::ops::Range;
use std::sync::Arc;

/// The attributes of vertices besides positions, in the order of their values on a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OffForm {
    /// `nx ny nz`, after the position.
    pub(super) has_normals: bool,
    /// `r g b a`, after the normal; alpha is optional.
    pub(super) has_colors: bool,
    /// `s t`, last.
    pub(super) has_uvs: bool,
    /// Whether colors precede normals, as in MeshLab's `NCOFF`.
    pub(super) is_color_first: bool,
}

impl OffForm {
    /// Returns the number of values per vertex, including alpha.
    pub(super) fn width(self) -> usize {
        self.uv() + 2 * usize::from(self.has_uvs)
    }

    /// Returns the index of the normal's first value in a vertex.
    pub(super) fn normal(self) -> usize {
        if self.is_color_first { 7 } else { 3 }
    }

    /// Returns the index of the color's first value in a vertex.
    pub(super) fn color(self) -> usize {
        if self.is_color_first { 3 } else { 3 + 3 * usize::from(self.has_normals) }
    }

    /// Returns the index of the uv's first value in a vertex.
    pub(super) fn uv(self) -> usize {
        3 + 3 * usize::from(self.has_normals) + 4 * usize::from(self.has_colors)
    }

    /// Returns the minimum number of values per vertex: alpha can be missing.
    pub(super) fn least_width(self) -> usize {
        self.width() - usize::from(self.has_colors)
    }

    /// Returns the keyword for files with such vertices.
    pub(super) fn keyword(self) -> String {
        let part = |is_there: bool, part| if is_there { part } else { "" };
        let uvs = part(self.has_uvs, "ST");
        if self.is_color_first {
            return format!("NC{uvs}OFF");
        }
        [uvs, part(self.has_colors, "C"), part(self.has_normals, "N"), "OFF"].concat()
    }

    /// Describes the line of a vertex, for messages.
    pub(super) fn described(self) -> String {
        let part = |is_there: bool, part| if is_there { part } else { "" };
        let normal = part(self.has_normals, " nx ny nz");
        let color = part(self.has_colors, " r g b a");
        let [first, second] = if self.is_color_first { [color, normal] } else { [normal, color] };
        format!("x y z{first}{second}{}", part(self.has_uvs, " s t"))
    }
}

/// Contents of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OffHeader {
    pub(super) form: OffForm,
    pub(super) vertices: u64,
    pub(super) faces: u64,
}

/// Kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffRow {
    Vertex,
    Face,
}

impl OffHeader {
    /// Returns the kind of row `row`, and the number of rows of this kind that start with it; `None` after the last
    /// row.
    pub(super) fn row(&self, row: u64) -> Option<(OffRow, u64)> {
        match self.vertices.checked_sub(row) {
            Some(left) if left > 0 => Some((OffRow::Vertex, left)),
            _ => Some((OffRow::Face, (self.rows().checked_sub(row)?))).filter(|(_, left)| *left > 0),
        }
    }

    /// Returns the total number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.vertices + self.faces
    }
}

/// The first word of a file, split into its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keyword<'a> {
    form: OffForm,
    /// `4` or `n`. Neither is supported.
    dimensions: Option<&'static str>,
    /// The digits directly after the keyword, which are the number of vertices.
    rest: &'a [u8],
}

/// Strips a part of a keyword from the start of `word`. Case matters, except in `OFF`: `n` is not `N`.
fn strip_prefix<'w>(word: &'w [u8], part: &[u8]) -> Option<&'w [u8]> {
    let (start, rest) = word.split_at_checked(part.len())?;
    (start == part || part == b"OFF" && start.eq_ignore_ascii_case(part)).then_some(rest)
}

impl<'a> Keyword<'a> {
    /// Parses a keyword at the start of a word, either alone or followed by digits.
    pub(super) fn of(word: &'a [u8]) -> Option<Keyword<'a>> {
        let mut rest = word;
        let [uvs, colors, normals, late_colors, late_uvs, four, any, is_keyword] =
            [&b"ST"[..], b"C", b"N", b"C", b"ST", b"4", b"n", b"OFF"].map(|part| match strip_prefix(rest, part) {
                Some(behind) => {
                    rest = behind;
                    true
                }
                None => false,
            });
        // MeshLab uses a different order, as in `NCSTOFF`.
        let is_twice = uvs && late_uvs || colors && late_colors || uvs && late_colors;
        let form = OffForm {
            has_normals: normals,
            has_colors: colors || late_colors,
            has_uvs: uvs || late_uvs,
            is_color_first: late_colors && normals,
        };
        let dimensions = match (four, any) {
            (_, true) => Some("n"),
            (true, false) => Some("4"),
            (false, false) => None,
        };
        let is_keyword = is_keyword && !is_twice && rest.iter().all(u8::is_ascii_digit);
        is_keyword.then_some(Keyword { form, dimensions, rest })
    }

    /// Returns the vertex attributes; `None` unless there are three dimensions.
    pub(super) fn form(self) -> Option<OffForm> {
        self.dimensions.is_none().then_some(self.form)
    }

    /// Whether the number of vertices directly follows the keyword, without a space.
    pub(super) fn has_count(self) -> bool {
        !self.rest.is_empty()
    }
}

/// Incremental parser of the header.
#[derive(Default)]
pub(super) struct OffHead {
    /// The form that the keyword declares, if the counts are on a later line.
    form: Option<OffForm>,
    /// Number of line endings before the next line.
    lines: u64,
    pub(super) comments: Vec<String>,
}

/// A line of the header.
struct HeaderLine<'a> {
    text: &'a [u8],
    range: Range<usize>,
    /// Offset of the text in the file.
    offset: u64,
    number: u64,
    file: &'a Arc<str>,
}

impl OffHead {
    /// Parses the next part of the text, which is at `offset` in the file. Returns the header, and the start of the
    /// line after the header in `text`. Returns `None` if the header is incomplete.
    pub(super) fn feed(
        &mut self,
        text: &[u8],
        offset: u64,
        file: &Arc<str>,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<Option<(OffHeader, usize)>> {
        for range in lines::ranges(text) {
            let number = self.lines + 1;
            let line = HeaderLine { text, range: range.clone(), offset, number, file };
            line.check_size(options)?;
            self.lines += 1;
            self.comment(&line, options, warnings)?;
            if let Some(header) = self.line(&line, options)? {
                return Ok(Some((header, lines::behind(text, range.end).min(text.len()))));
            }
        }
        Ok(None)
    }

    /// Stores the comment of a line.
    fn comment(&mut self, line: &HeaderLine<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
        let Some(comment) = lines::comment(line.text, line.range.clone()) else { return Ok(()) };
        let place = line.place(comment.start);
        let text = names::decode(&line.text[comment], &place, options.faults, warnings)?;
        try_push(&mut self.comments, try_string(&text)?, "comments")
    }

    /// Parses a line. Returns the header if it is now complete.
    fn line(&mut self, line: &HeaderLine<'_>, options: &ParseOptions) -> Result<Option<OffHeader>> {
        let mut words = lines::words(line.text, line.range.clone()).peekable();
        let Some(first) = words.peek().cloned() else { return Ok(None) };
        if let Some(form) = self.form {
            return line.counts(form, words, options).map(Some);
        }
        let Some(keyword) = Keyword::of(&line.text[first.clone()]) else {
            if line.text[first.clone()].first().is_some_and(u8::is_ascii_digit) {
                return line.counts(OffForm::default(), words, options).map(Some);
            }
            let expected = "`OFF`, optionally prefixed with `ST`, `C` or `N`, or the number of vertices";
            return Err(line.wrong(first, "an OFF keyword", expected));
        };
        words.next();
        line.check_dimensions(&keyword, first.clone())?;
        if keyword.has_count() {
            let count = first.end - keyword.rest.len()..first.end;
            return line.counts(keyword.form, std::iter::once(count).chain(words), options).map(Some);
        }
        if words.peek().is_some() {
            return line.counts(keyword.form, words, options).map(Some);
        }
        self.form = Some(keyword.form);
        Ok(None)
    }

    /// Creates the error for a file that ends within the header, after `end` bytes.
    pub(super) fn unfinished(&self, lines: u64, end: u64, file: &Arc<str>) -> Error {
        let message = if end == 0 { "the file is empty" } else { "unexpected end of file in the header" };
        let expected = match self.form {
            Some(_) => "the numbers of vertices, faces and edges",
            None => "`OFF`, and the numbers of vertices, faces and edges",
        };
        let place = Place { file: file.clone(), line: Some(lines + 1), column: None, offset: Some(end) };
        let diagnostic = Diagnostic { place, expected: Some(expected.into()), ..Diagnostic::new(message) };
        diagnostic.into_error(ErrorKind::Malformed)
    }

    /// Creates a scene with the comments of the header.
    pub(super) fn scene(self) -> Scene {
        Scene { comments: self.comments, ..Scene::default() }
    }
}

impl HeaderLine<'_> {
    fn place(&self, at: usize) -> Place {
        let column = Some((at - self.range.start) as u64 + 1);
        Place { file: self.file.clone(), line: Some(self.number), column, offset: Some(self.offset + at as u64) }
    }

    fn diagnostic(&self, word: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let marked = word.start - self.range.start..word.end - self.range.start;
        let excerpt = Some(Excerpt::of_line(&self.text[self.range.clone()], marked));
        Diagnostic { place: self.place(word.start), excerpt, ..Diagnostic::new(message) }
    }

    /// Creates the error for an unexpected word.
    fn wrong(&self, word: Range<usize>, what: &str, expected: &str) -> Error {
        let shown = String::from_utf8_lossy(&self.text[word.start..word.end.min(word.start + 400)]);
        let message = format!("`{}` is not {what}", names::shown(&shown));
        let diagnostic = Diagnostic { expected: Some(expected.into()), ..self.diagnostic(word, message) };
        diagnostic.into_error(ErrorKind::Malformed)
    }

    /// Fails if the header exceeds the caller's limit.
    fn check_size(&self, options: &ParseOptions) -> Result<()> {
        let limit = options.limits.header_bytes;
        if self.offset + self.range.end as u64 <= limit {
            return Ok(());
        }
        let message = format!("the header is longer than the limit `header_bytes` ({limit} bytes)");
        let error = self.diagnostic(self.range.clone(), message).into_error(ErrorKind::Limit);
        Err(error.with_hint(limit_hint("header_bytes")))
    }

    /// Fails unless vertices have three dimensions.
    fn check_dimensions(&self, keyword: &Keyword<'_>, word: Range<usize>) -> Result<()> {
        let what = match keyword.dimensions {
            None => return Ok(()),
            Some("4") => "four-dimensional OFF files (`4OFF`) are not supported",
            Some(_) => "n-dimensional OFF files (`nOFF`) are not supported",
        };
        let diagnostic = Diagnostic { expected: Some("three dimensions".into()), ..self.diagnostic(word, what) };
        Err(diagnostic.into_error(ErrorKind::Unsupported))
    }

    /// Parses the numbers of vertices, faces and edges. The number of edges can be missing.
    fn counts(
        &self,
        form: OffForm,
        mut words: impl Iterator<Item = Range<usize>>,
        options: &ParseOptions,
    ) -> Result<OffHeader> {
        let vertices = self.count(words.next(), "vertices", options)?;
        let faces = self.count(words.next(), "faces", options)?;
        if let Some(edges) = words.next()
            && number::i64(&self.text[edges.clone()]).is_err()
        {
            return Err(self.wrong(edges, "a valid number of edges", "an integer"));
        }
        if let Some(extra) = words.next() {
            let message = "the line with the number of vertices has more than 3 values";
            let diagnostic = self.diagnostic(extra, message);
            let expected = Some("the numbers of vertices, faces and edges, and the vertices on separate lines".into());
            return Err(Diagnostic { expected, ..diagnostic }.into_error(ErrorKind::Malformed));
        }
        Ok(OffHeader { form, vertices, faces })
    }

    fn count(&self, word: Option<Range<usize>>, what: &str, options: &ParseOptions) -> Result<u64> {
        let Some(word) = word else {
            let diagnostic = self.diagnostic(self.range.clone(), format!("the number of {what} is missing"));
            let expected = Some("the numbers of vertices, faces and edges".into());
            return Err(Diagnostic { expected, ..diagnostic }.into_error(ErrorKind::Malformed));
        };
        let bytes = &self.text[word.clone()];
        if bytes == b"BINARY" {
            let error = self.diagnostic(word, "binary OFF files are not supported").into_error(ErrorKind::Unsupported);
            return Err(error.with_hint("convert the file to text with the program that wrote it"));
        }
        let Ok(count) = number::u64(bytes) else {
            return Err(self.wrong(word, &format!("a valid number of {what}"), "an integer from 0 to 4294967294"));
        };
        let limit = options.limits.elements.min(u64::from(NONE) - 1);
        if count > limit {
            let message = format!("more {what} than the limit `elements` ({limit})");
            let diagnostic = Diagnostic { hint: elements_hint(limit), ..self.diagnostic(word, message) };
            return Err(diagnostic.into_error(ErrorKind::Limit));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_have_their_letters_in_order() {
        for form in 0..8u8 {
            let [has_normals, has_colors, has_uvs] = [1, 2, 4].map(|bit| form & bit != 0);
            let form = OffForm { has_normals, has_colors, has_uvs, is_color_first: false };
            assert_eq!(Keyword::of(form.keyword().as_bytes()).map(|keyword| keyword.form), Some(form));
        }
        assert_eq!(Keyword::of(b"OFF490518").map(|keyword| keyword.rest), Some(&b"490518"[..]));
        assert_eq!(Keyword::of(b"STCN4nOFF").and_then(|keyword| keyword.dimensions), Some("n"));
        let meshlab = Keyword::of(b"NCSTOFF").map(|keyword| keyword.form).unwrap_or_default();
        assert_eq!((meshlab.described(), meshlab.keyword()), ("x y z r g b a nx ny nz s t".into(), "NCSTOFF".into()));
        assert_eq!((meshlab.color(), meshlab.normal(), meshlab.uv(), meshlab.width()), (3, 7, 10, 12));
        assert_eq!(
            Keyword::of(b"CSTOFF").map(|keyword| keyword.form.described()).as_deref(),
            Some("x y z r g b a s t")
        );
        for word in [&b"STNCOFF"[..], b"CCOFF", b"STSTOFF", b"offx", b"OFFx", b"8", b"", b"COF"] {
            assert_eq!(Keyword::of(word), None);
        }
    }
}
