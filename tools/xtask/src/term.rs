//! Prints text to the terminal. Write errors are ignored, so that `cargo xtask tidy | head` does not panic: the exit
//! code still shows the result.

use std::io::Write;

/// Writes `text` to standard output.
pub(crate) fn out(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_ref().as_bytes());
    let _ = stdout.flush();
}

/// Writes `text` to standard error.
pub(crate) fn err(text: impl AsRef<str>) {
    let _ = std::io::stderr().lock().write_all(text.as_ref().as_bytes());
}
