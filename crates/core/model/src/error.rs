//! The error type of all crates, and the diagnostic that errors and warnings share.
//!
//! [`Error`] and [`Warning`] contain a [`Diagnostic`]: a message, the expected content, a hint, the location, and the
//! source line. This module prints nothing; the command renders diagnostics in `surfaces/cli/src/render.rs`.

use crate::printable::printable;
use crate::severity::Severity;
use polyhaul_bytes::HostFault;
pub use polyhaul_fault::planted;
use std::fmt;
use std::sync::Arc;

/// The result of fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The data is malformed: it violates the rules of its format.
    Malformed,
    /// The data exceeds one of the caller's limits, which the message names.
    Limit,
    /// The data uses a feature that polyhaul does not support or, with `strict`, contains something that the model or
    /// the target format cannot store.
    Unsupported,
    /// The operating system reported an error: a missing file, a full disk, a closed pipe.
    Io,
    /// The caller's request is invalid.
    Usage,
    /// A callback provided by the host failed or violated its contract.
    Host,
    /// Memory allocation failed.
    Memory,
    /// The caller cancelled the job.
    Cancelled,
    /// A bug in polyhaul. Please report it.
    Internal,
}

impl ErrorKind {
    /// Returns a short, stable name for programs that parse errors.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Malformed => "malformed",
            ErrorKind::Limit => "limit",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Io => "io",
            ErrorKind::Usage => "usage",
            ErrorKind::Host => "host",
            ErrorKind::Memory => "memory",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Internal => "internal",
        }
    }
}

/// A location in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file name; for the main file, as given by the caller.
    pub file: Arc<str>,
    /// The line number, starting at 1.
    pub line: Option<u64>,
    /// The column in bytes, starting at 1.
    pub column: Option<u64>,
    /// The offset in bytes, starting at 0.
    pub offset: Option<u64>,
}

/// The source line of a diagnostic, cut to a window around the location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The text. Invalid UTF-8 and unprintable characters are replaced.
    pub text: String,
    /// The marked byte range of `text`.
    pub marked: std::ops::Range<usize>,
}

/// The content of an error or a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem.
    pub message: String,
    /// The content expected at that location.
    pub expected: Option<String>,
    /// A suggestion for fixing the problem.
    pub hint: Option<String>,
    /// The name of the subject: a material, a texture, a file.
    pub subject: Option<String>,
    /// Names of the lost items, up to a limit.
    pub names: Vec<String>,
    /// The location.
    pub place: Place,
    /// The source line.
    pub excerpt: Option<Excerpt>,
}

/// A problem that did not stop the job: something repaired, skipped, dropped or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind of warning, as a short, stable name (`missing-material`).
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The message and its location.
    pub diagnostic: Diagnostic,
    /// Number of occurrences: above 1 if one message covers several problems of the same kind.
    pub count: u64,
}

/// Kinds of warnings whose excerpt marks the name of their subject.
const MARKED: [&str; 5] =
    ["unknown-statement", "unsupported-statement", "unknown-option", "repeated-statement", "duplicate-material"];

impl Warning {
    /// Returns the name of the warning's subject, if any.
    pub fn subject(&self) -> Option<&str> {
        let marked = || {
            let excerpt = self.diagnostic.excerpt.as_ref().filter(|_| MARKED.contains(&self.code))?;
            excerpt.text.get(excerpt.marked.clone()).filter(|text| !text.is_empty())
        };
        self.diagnostic.subject.as_deref().or_else(marked)
    }
}

/// An error: its kind, its diagnostic and, if known, the I/O error that caused it.
#[derive(Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    kind: ErrorKind,
    diagnostic: Diagnostic,
    source: Option<Arc<std::io::Error>>,
    needed: Option<u64>,
}

impl Error {
    /// Creates an error without a location.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Diagnostic::new(message).into_error(kind)
    }

    /// Creates an error from an I/O error. `action` is the verb for what failed on `file`, such as `open`. The kind is
    /// `Cancelled` if the job was stopped, `Host` if a callback of the host failed, `Memory` if memory ran out, and
    /// `Io` otherwise.
    pub fn io(action: &str, file: &str, error: std::io::Error) -> Error {
        if polyhaul_bytes::Stopped::caused(&error) {
            return Error::cancelled();
        }
        let (kind, error) = match HostFault::cause_of(error) {
            Ok(cause) => (ErrorKind::Host, cause),
            Err(error) if error.kind() == std::io::ErrorKind::OutOfMemory => (ErrorKind::Memory, error),
            Err(error) => (ErrorKind::Io, error),
        };
        let message = format!("cannot {action}: {error}");
        let diagnostic =
            Diagnostic { message, place: Place { file: file.into(), ..Place::default() }, ..Diagnostic::default() };
        Error(Box::new(ErrorInner { kind, diagnostic, source: Some(Arc::new(error)), needed: None }))
    }

    /// Creates the error for running out of memory while allocating `what`.
    pub fn memory(what: &str) -> Error {
        Error::new(ErrorKind::Memory, format!("out of memory while allocating {what}"))
    }

    /// Creates the error for a cancelled job.
    pub fn cancelled() -> Error {
        Error::new(ErrorKind::Cancelled, "cancelled")
    }

    /// Adds the value to which the exceeded limit would have to be raised.
    pub fn with_needed(mut self, needed: u64) -> Error {
        self.0.needed = Some(needed);
        self
    }

    /// Returns the value to which the exceeded limit would have to be raised, if known.
    pub fn needed(&self) -> Option<u64> {
        self.0.needed
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message, the location and other details.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0.diagnostic
    }

    /// Returns the location in the source.
    pub fn place(&self) -> &Place {
        &self.0.diagnostic.place
    }

    /// Creates an error of kind `Host`, caused by `error`.
    pub fn host(message: String, error: std::io::Error) -> Error {
        Error::new(ErrorKind::Host, message).caused_by(error)
    }

    /// Changes the error to kind `Host`.
    pub fn blamed_on_host(mut self) -> Error {
        self.0.kind = ErrorKind::Host;
        self
    }

    /// Adds the error that caused this error.
    pub fn caused_by(mut self, error: std::io::Error) -> Error {
        self.0.source = Some(Arc::new(error));
        self
    }

    /// Returns the I/O error that caused this error, from the operating system or a host's reader or callback.
    ///
    /// If a host wrapped its own error in the `io::Error`, [`std::io::Error::get_ref`] returns it. For damaged
    /// compressed data, `get_ref` returns a `polyhaul_bytes::DecompressError`.
    pub fn io_error(&self) -> Option<&std::io::Error> {
        self.0.source.as_deref()
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.diagnostic.hint = Some(hint.into());
        self
    }
}

/// Returns the hint to raise the limit `name`. The limit has this name on every surface. The command recognizes this
/// text and replaces the name with its flag.
pub fn limit_hint(name: &str) -> String {
    format!("raise the limit `{name}`")
}

/// Returns the hint to raise the limit `elements` from `limit`. Returns `None` if `limit` is already the largest value
/// that 32-bit indices allow.
pub fn elements_hint(limit: u64) -> Option<String> {
    (limit < u64::from(u32::MAX) - 1).then(|| limit_hint("elements") + " (at most 2^32 - 2)")
}

/// Creates an error of kind `Malformed` at a byte offset in a binary file.
pub fn fault(file: &Arc<str>, offset: u64, message: impl Into<String>) -> Error {
    Diagnostic::at(file, offset, message).into_error(ErrorKind::Malformed)
}

/// Creates the error for a binary file that ends at offset `end`, in the middle of `what`.
pub fn truncated(file: &Arc<str>, end: u64, what: &str) -> Error {
    let message = if end == 0 { "the file is empty".to_owned() } else { format!("unexpected end of file in {what}") };
    fault(file, end, message)
}

/// Appends to a list that grows with the input. The out-of-memory error names `what`.
pub fn try_push<T>(items: &mut Vec<T>, item: T, what: &str) -> Result<()> {
    // Vectors start with capacity for four items. Most files have one object and one material of hundreds of bytes
    // each, so in a library of small files the unused capacity would be a large part of all memory.
    let is_large = const { size_of::<T>() >= 128 };
    if planted("memory-abort") {
        items.push(item);
        return Ok(());
    }
    if is_large && items.capacity() == 0 { items.try_reserve_exact(1) } else { items.try_reserve(1) }
        .map_err(|_| Error::memory(what))?;
    items.push(item);
    if items.len().is_multiple_of(ITEMS_PER_CHECK) {
        polyhaul_spill::relieve();
    }
    Ok(())
}

/// Number of items between checks of the memory limit. If the list has been spilled to disk, its pages must be released
/// from memory as it grows, and there may be no other trigger.
const ITEMS_PER_CHECK: usize = 1024;

/// Copies `items` without excess capacity. The out-of-memory error names `what`.
pub fn try_copy<T: Clone>(items: &[T], what: &str) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(items.len()).map_err(|_| Error::memory(what))?;
    copy.extend_from_slice(items);
    Ok(copy)
}

/// Copies `text`. Fails if memory runs out.
pub fn try_string(text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Error::memory("names"))?;
    copy.push_str(text);
    Ok(copy)
}

impl Excerpt {
    /// Maximum number of bytes to show of the marked range, and of the text on each side of it.
    const MAX_AROUND: usize = 80;

    /// Creates a window of `line` around the byte range `marked`. [Active](crate::printable) characters become spaces,
    /// and invalid UTF-8 becomes the replacement character.
    pub fn of_line(line: &[u8], marked: std::ops::Range<usize>) -> Excerpt {
        // Trailing white space carries no information.
        let line = &line[..line.trim_ascii_end().len().max(marked.end.min(line.len()))];
        let start = marked.start.min(line.len());
        let end = marked.end.clamp(start, line.len()).min(start + Self::MAX_AROUND);
        let shown_start = start.saturating_sub(Self::MAX_AROUND);
        let shown_end = (end + Self::MAX_AROUND).min(line.len());
        let clean = |bytes: &[u8]| -> String {
            let text = String::from_utf8_lossy(bytes);
            printable(&text, ' ').into_owned()
        };
        let mut text = if shown_start > 0 { "...".to_owned() } else { String::new() };
        text.push_str(&clean(&line[shown_start..start]));
        let mark = text.len();
        text.push_str(&clean(&line[start..end]));
        let marked = mark..text.len();
        text.push_str(&clean(&line[end..shown_end]));
        if shown_end < line.len() {
            text.push_str("...");
        }
        Excerpt { text, marked }
    }
}

impl Diagnostic {
    /// Creates a diagnostic with only a message.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), ..Diagnostic::default() }
    }

    /// Creates a diagnostic at a byte offset in a binary file.
    pub fn at(file: &Arc<str>, offset: u64, message: impl Into<String>) -> Diagnostic {
        let place = Place { file: file.clone(), offset: Some(offset), ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(message) }
    }

    /// Creates a diagnostic about a whole file.
    pub fn of_file(file: &Arc<str>, message: impl Into<String>) -> Diagnostic {
        let place = Place { file: file.clone(), ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(message) }
    }

    /// Sets the subject, truncated to 200 bytes.
    pub fn about(self, subject: impl AsRef<str>) -> Diagnostic {
        const MAX_BYTES: usize = 200;
        let subject = subject.as_ref();
        // A name can be as long as a line, and this copy is not allocated fallibly.
        let size = (0..=MAX_BYTES).rfind(|&size| subject.is_char_boundary(size)).unwrap_or(0);
        Diagnostic { subject: Some(subject.get(..size).unwrap_or(subject).to_owned()), ..self }
    }

    /// Converts the diagnostic to an error of this kind.
    pub fn into_error(self, kind: ErrorKind) -> Error {
        Error(Box::new(ErrorInner { kind, diagnostic: self, source: None, needed: None }))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.file, char::REPLACEMENT_CHARACTER))?;
        if let Some(line) = self.line {
            write!(f, ":{}", line - u64::from(planted("error-line") && line > 1))?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        } else if let Some(offset) = self.offset {
            write!(f, ": byte {offset}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.file.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.diagnostic.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.diagnostic)
    }
}

/// Converts the error of an array that could not grow.
impl From<std::collections::TryReserveError> for Error {
    fn from(_: std::collections::TryReserveError) -> Error {
        Error::memory("an array")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Editors and terminals recognize this form.
    #[test]
    fn places_are_lines_and_columns_or_offsets() {
        let place = Place { file: "a\u{1b}.obj".into(), line: Some(7), column: Some(3), offset: Some(90) };
        assert_eq!(place.to_string(), "a\u{fffd}.obj:7:3");
        assert_eq!(Place { column: None, ..place.clone() }.to_string(), "a\u{fffd}.obj:7");
        assert_eq!(Place { line: None, ..place }.to_string(), "a\u{fffd}.obj: byte 90");
        let diagnostic = Diagnostic { expected: Some("3 numbers".into()), ..Diagnostic::new("2 numbers") };
        assert_eq!(diagnostic.into_error(ErrorKind::Malformed).to_string(), "2 numbers; expected 3 numbers");
    }

    #[test]
    fn a_limit_that_cannot_be_raised_has_no_hint() {
        let max = u64::from(u32::MAX) - 1;
        assert_eq!(elements_hint(max - 1).as_deref(), Some("raise the limit `elements` (at most 2^32 - 2)"));
        assert_eq!([max, u64::MAX].map(elements_hint), [None, None]);
    }
}
