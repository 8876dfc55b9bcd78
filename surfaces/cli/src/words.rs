//! The words of the command line.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The words of this process, the first being the program's name.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the words for the rest of the process; the first call decides.
pub fn keep(words: Vec<OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words)
}

/// The words after the program's name.
pub fn arguments() -> impl Iterator<Item = &'static OsString> {
    WORDS.get().into_iter().flatten().skip(1)
}
