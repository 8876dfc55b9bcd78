//! The two streams that people and scripts see. Nothing else in this crate prints.
//!
//! Text may carry colours; they are taken out where the stream is not a terminal or the user wants
//! none. A failed write to standard output is an error, and on a closed pipe a silent one. What
//! cannot be written to standard error is lost: there is nobody left to tell.

use crate::args::ColorWhen;
use anstream::ColorChoice;
use std::io::Write;

/// Sets when colours are used.
pub fn set_color(when: ColorWhen) {
    let choice = match when {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes a result to standard output; `false` where that failed.
#[must_use]
pub fn result(text: &str) -> bool {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => false,
        Err(error) => {
            note(&format!("error: writing to standard output failed: {error}\n"));
            false
        }
    }
}

/// Writes bytes that are no text for people (scripts, pages) to standard output.
#[must_use]
pub fn bytes(bytes: &[u8]) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}

/// Writes a message to standard error.
pub fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
