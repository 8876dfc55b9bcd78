//! Stores the command line of the process.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The command-line words; the first is the program name.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Stores the words for the rest of the process, unless an earlier call did, and returns the stored words.
pub fn keep(words: Vec<OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words)
}

/// The arguments after the program name.
pub fn arguments() -> impl Iterator<Item = &'static OsString> {
    WORDS.get().into_iter().flatten().skip(1)
}
