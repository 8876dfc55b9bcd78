//! Standard output and standard error. No other module prints.
//!
//! Colors are removed if the stream is not a terminal or `--color` forbids them. A failed write to standard output is
//! an error, except for a broken pipe (`polyhaul info a.obj | head -1`): the reader has all it wanted. Failed writes to
//! standard error are ignored, since they cannot be reported anywhere.

use crate::args::ColorWhen;
use crate::standard;
use anstream::ColorChoice;
use polyhaul::Error;
use polyhaul::printable::is_active;
use polyhaul_fault::planted;
use std::borrow::Cow;
use std::io::Write;

/// Sets when colors are used.
pub fn set_color(when: ColorWhen) {
    let choice = match when {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes a result to standard output. Returns `false` on failure.
#[must_use]
pub fn result(text: &str) -> bool {
    write_all(anstream::stdout().lock(), shown(text).as_bytes())
}

/// Writes output for other programs (completion scripts, man pages, JSON lines) to standard output unchanged. Returns
/// `false` on failure.
#[must_use]
pub fn bytes(bytes: &[u8]) -> bool {
    write_all(std::io::stdout().lock(), bytes)
}

fn write_all(mut out: impl Write, bytes: &[u8]) -> bool {
    is_written(|| out.write_all(bytes).and_then(|()| out.flush()))
}

/// Runs `write` on standard output and reports a failure. A broken pipe counts as success.
#[must_use]
pub fn is_written(write: impl FnOnce() -> std::io::Result<()>) -> bool {
    let written = if standard::is_output_closed() { Err(std::io::Error::other("it is closed")) } else { write() };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            note(&format!("error: cannot write to standard output: {error}\n"));
            planted("output-lost")
        }
        _ => true,
    }
}

/// Whether an error is a broken pipe of standard output, the normal end of `polyhaul convert a.obj - | head`.
pub fn reader_left(error: &Error) -> bool {
    let is_broken = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    is_broken && &*error.diagnostic().place.file == "standard output"
}

/// Writes a message to standard error.
pub fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(shown(text).as_bytes()).and_then(|()| err.flush());
}

/// Replaces characters that a terminal would act on, in case a name contains them. Newlines, tabs, and the escape
/// characters that our own colors use are kept.
fn shown(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_active(c) && !matches!(c, '\n' | '\t' | '\u{1b}');
    if text.contains(is_bad) { text.replace(is_bad, "\u{fffd}").into() } else { text.into() }
}
