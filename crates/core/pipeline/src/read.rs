//! Reads from a source, and converts failures to errors with their cause and location.
//!
//! A source can be code of the host, which may panic or break its contract, and its bytes can be compressed and
//! damaged. This module does not interpret the bytes.

use crate::arrays::zeroed;
use crate::options::Cancel;
use polyhaul_bytes::{DecompressError, DecompressErrorKind, DecompressLimit, HostFault, Source};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, fault, limit_hint};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// Records data after the end of the compressed data, which is then not an error.
#[derive(Clone, Default)]
pub struct Garbage(Arc<OnceLock<Diagnostic>>);

impl Garbage {
    /// Returns the diagnostic of the recorded data.
    pub fn found(&self) -> Option<&Diagnostic> {
        self.0.get()
    }
}

/// Reads at least one byte unless the source has ended. The bytes before an error are returned first, and the next call
/// returns the error.
pub fn read_part(source: &Source<'_>, garbage: Option<&Garbage>, out: &mut [u8]) -> Result<usize> {
    let result = ask(source, || source.read_part(out));
    match (result, garbage) {
        (Err(error), Some(garbage)) if is(&error, DecompressErrorKind::TrailingGarbage) => {
            garbage.0.get_or_init(|| error.diagnostic().clone());
            Ok(0)
        }
        (result, _) => result,
    }
}

/// Creates a buffer of zeros.
pub fn buffer(bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).map_err(|_| Error::memory("a buffer"))?;
    buffer.resize(bytes, 0);
    Ok(buffer)
}

/// Reads until `out` is full or the source ends. Returns the number of bytes.
pub fn fill(source: &Source<'_>, garbage: Option<&Garbage>, out: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read_part(source, garbage, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Calls a function that may be code of the host. A panic or a broken contract becomes an error of kind `Host`.
pub fn ask<T>(source: &Source<'_>, call: impl FnOnce() -> io::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| failed(source, error)),
        Err(_) => Err(Error::new(ErrorKind::Host, format!("{}: the reader panicked", source.name()))),
    }
}

/// Maximum size of a stream that is buffered in memory if the end of a text decides how its start is read. This is one
/// chunk of text, so that no thread waits for it.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// Loads `source` into memory if it is a short stream, and returns other sources unchanged. So a short pipe is read
/// like a file.
pub fn kept<'a>(source: Source<'a>, garbage: Option<&Garbage>) -> Result<Source<'a>> {
    if source.is_positioned() {
        return Ok(source);
    }
    let mut bytes = zeroed(MAX_KEPT_BYTES + 1, "a stream")?;
    // If `peek` fails, reading the stream will report the error.
    let Ok(count) = ask(&source, || source.peek(&mut bytes)) else { return Ok(source) };
    if count > MAX_KEPT_BYTES {
        return Ok(source);
    }
    let count = fill(&source, garbage, &mut bytes)?;
    bytes.truncate(count);
    Ok(Source::named_memory(bytes, source.name().to_owned()))
}

/// The part of a source that was requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The whole source.
    Whole,
    /// Only the start, as with `max_rows`: the rest of a stream is not read.
    Start,
}

/// Checks the source after reading. Fails if the file changed since it was opened, or if members of compressed data are
/// damaged: any member with [`Extent::Whole`], and any partly read member with [`Extent::Start`].
pub fn check_end(source: &Source<'_>, extent: Extent, cancel: &Cancel) -> Result<()> {
    for number in (0..).take_while(|&number| source.piece(number).is_some()) {
        cancel.check()?;
        ask(source, || source.check_piece(number, extent == Extent::Whole))?;
    }
    source.check_unchanged().map_err(|error| Error::io("read", source.name(), error))
}

/// Converts a read error of a source.
pub(crate) fn failed(source: &Source<'_>, error: io::Error) -> Error {
    let name = source.name();
    if let Some(damage) = damage(&error) {
        // A file that changed while it was read may look damaged.
        return match source.check_unchanged() {
            Ok(()) => damaged(name, damage).caused_by(error),
            Err(change) => Error::io("read", name, change),
        };
    }
    let is_stream = !source.compressed().unwrap_or(source).is_positioned();
    let is_host_fault = error.get_ref().is_some_and(|inner| inner.is::<HostFault>());
    if is_stream && !is_host_fault && error.kind() == io::ErrorKind::InvalidData {
        return Error::new(ErrorKind::Host, format!("{name}: {error}")).caused_by(error);
    }
    Error::io("read", name, error)
}

/// Returns whether an error is about compressed data, including its limits.
pub fn is_damage(error: &Error) -> bool {
    error.io_error().is_some_and(|error| damage(error).is_some())
}

fn is(error: &Error, kind: DecompressErrorKind) -> bool {
    error.io_error().and_then(damage).is_some_and(|damage| damage.kind == kind)
}

/// Creates the error for damage in a compressed block at `offset` of a file.
pub(crate) fn damage_of(error: &io::Error, file: &Arc<str>, offset: u64) -> Error {
    match damage(error) {
        Some(damage) => damaged(file, &DecompressError { offset: offset + damage.offset, ..damage.clone() }),
        None => fault(file, offset, error.to_string()),
    }
}

fn damage(error: &io::Error) -> Option<&DecompressError> {
    error.get_ref()?.downcast_ref()
}

fn damaged(file: &str, damage: &DecompressError) -> Error {
    let DecompressError { codec, offset, plain_offset, kind, message, .. } = damage;
    let (error_kind, what) = match kind {
        DecompressErrorKind::Truncated => (ErrorKind::Malformed, format!("unexpected end of the {codec} data")),
        DecompressErrorKind::TrailingGarbage => (ErrorKind::Malformed, format!("extra data follows the {codec} data")),
        DecompressErrorKind::Unsupported => {
            (ErrorKind::Unsupported, format!("this {codec} data cannot be read: {message}"))
        }
        DecompressErrorKind::Limit(_) => (ErrorKind::Limit, format!("the {codec} data is too large: {message}")),
        _ => (ErrorKind::Malformed, format!("the {codec} data is damaged: {message}")),
    };
    let (limit, hint) = match kind {
        DecompressErrorKind::Limit(limit) => {
            let name = limit_name(*limit);
            (format!(", the limit `{name}`"), Some(limit_hint(name)))
        }
        _ => (String::new(), None),
    };
    let place = Place { file: file.into(), offset: Some(*offset), ..Place::default() };
    let message = format!("{what}{limit} (after {plain_offset} decompressed bytes)");
    Diagnostic { place, hint, ..Diagnostic::new(message) }.into_error(error_kind)
}

/// Returns the public name of a limit.
fn limit_name(limit: DecompressLimit) -> &'static str {
    match limit {
        DecompressLimit::Bytes => "decompressed_bytes",
        DecompressLimit::Ratio => "decompressed_ratio",
        DecompressLimit::Memory => "memory_limit",
    }
}
