//! Text for the terminal. A reader that left (`cargo xtask tidy | head`) is no reason to panic, so errors of writing
//! are dropped: the exit code still shows the result.

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
