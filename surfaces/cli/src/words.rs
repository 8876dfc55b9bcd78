//! The arguments of the command line.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The arguments of this process; the first is the program's name.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the arguments for the rest of the process; the first call decides.
pub fn keep(words: Vec<OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words)
}

/// The arguments after the program's name.
pub fn arguments() -> impl Iterator<Item = &'static OsString> {
    WORDS.get().into_iter().flatten().skip(1)
}
