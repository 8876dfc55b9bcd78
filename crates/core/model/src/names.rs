//! Names in text formats: decoding invalid UTF-8, and keeping names on one line.

use crate::error::{Diagnostic, Error, Place, Result, try_string};
use crate::limits::FaultPolicy;
use crate::printable::printable;
use crate::warnings::{Warnings, grouped};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The name of the table of positions, to which faces and edges refer, in PLY files and in tables to be written as PLY.
pub const VERTEX: &str = "vertex";

/// Names that programs use for the lists of corners of faces in PLY files. The first that a face has counts.
pub const CORNERS: [&str; 8] = [
    "vertex_indices",
    "vertex_index",
    "vertex_indexes",
    "vertex_ids",
    "vertex_id",
    "vertices",
    "indices",
    "vertex_list",
];

/// Decodes a name. A name that is not UTF-8 is decoded as Latin-1, with a note, so that different names stay different
/// and a material is found in its library.
pub fn decode<'a>(name: &'a [u8], place: &Place, faults: FaultPolicy, warnings: &mut Warnings) -> Result<Cow<'a, str>> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(text.into()),
        Err(_) => {
            let message = "name is not valid UTF-8; read as Latin-1";
            let diagnostic = Diagnostic { place: place.clone(), ..Diagnostic::new(message) };
            warnings.note(faults, "non-utf8-name", diagnostic)?;
            latin1(name).map(Cow::Owned)
        }
    }
}

/// Decodes bytes as UTF-8, or as Latin-1 if they are invalid UTF-8.
pub fn latin1_or_utf8(bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => try_string(text),
        Err(_) => latin1(bytes),
    }
}

/// Decodes bytes as Latin-1. Fails if memory runs out.
pub fn latin1(bytes: &[u8]) -> Result<String> {
    let mut text = String::new();
    let size = bytes.len() + bytes.iter().filter(|byte| !byte.is_ascii()).count();
    text.try_reserve_exact(size).map_err(|_| Error::memory("names"))?;
    text.extend(bytes.iter().map(|&byte| char::from(byte)));
    Ok(text)
}

/// Returns the name for messages: printable, and truncated to 200 bytes followed by `...`.
pub fn shown(name: &str) -> Cow<'_, str> {
    const MAX_BYTES: usize = 200;
    let size = (0..=MAX_BYTES).rfind(|&size| name.is_char_boundary(size)).unwrap_or(0);
    let start = printable(&name[..size], '?');
    if size == name.len() { start } else { (start.into_owned() + "...").into() }
}

/// Maximum number of names that a message lists.
pub const MAX_LISTED: usize = 8;

/// Lists the first few names for a message, and the number of remaining names.
pub fn listed(names: &[impl AsRef<str>]) -> String {
    listed_of(names, names.len() as u64)
}

/// Lists the first few of `count` names for a message, and the number of remaining names.
pub fn listed_of(names: &[impl AsRef<str>], count: u64) -> String {
    let first = &names[..names.len().min(MAX_LISTED)];
    let rest_count = count.saturating_sub(first.len() as u64);
    let first: Vec<String> = first.iter().map(|name| format!("`{}`", shown(name.as_ref()))).collect();
    match rest_count {
        0 => first.join(", "),
        _ => format!("{} and {} more", first.join(", "), grouped(rest_count)),
    }
}

/// Returns the name as written to a text file: on one line, with `_` instead of NUL, which readers reject.
pub fn written(name: &str) -> Cow<'_, str> {
    if name.contains('\0') { on_a_line(&name.replace('\0', "_")).into_owned().into() } else { on_a_line(name) }
}

/// Returns the text as written to a comment: on one line, with `_` instead of control characters other than tabs.
pub fn remark(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\t';
    if text.contains(is_control) {
        on_a_line(&text.replace(is_control, "_")).into_owned().into()
    } else {
        on_a_line(text)
    }
}

/// Returns the number of comments that [`remark`] changes.
pub fn changed_remarks(remarks: &[String]) -> u64 {
    remarks.iter().filter(|text| remark(text).as_ref() != text.as_str()).count() as u64
}

/// Returns a single-word name for the header of a PLY file. White space becomes `_`. Control characters become `?`,
/// which no reserved name contains: `vertex\x7findices` must not turn into the name of a mesh's index list.
pub fn word(name: &str) -> Cow<'_, str> {
    let replacement = |c: char| match c {
        _ if c.is_whitespace() => '_',
        _ if c.is_control() => '?',
        _ => c,
    };
    if name.contains(|c| replacement(c) != c) {
        name.chars().map(replacement).collect::<String>().into()
    } else {
        name.into()
    }
}

/// Returns a [`word`] that is not in `taken`, and adds it to `taken`. Appends `_column_` and `number` (counted from 1)
/// to a `name` that is taken. An empty name becomes `column_1` and so on.
pub fn distinct(name: &str, number: usize, taken: &mut HashSet<String>) -> Result<String> {
    let mut name = word(name).into_owned();
    while name.is_empty() || taken.contains(&name) {
        let joint = if name.is_empty() { "" } else { "_" };
        name.push_str(&format!("{joint}column_{number}"));
    }
    taken.try_reserve(1).map_err(|_| Error::memory("names"))?;
    taken.insert(name.clone());
    Ok(name)
}

/// Returns the name as written where it must be a single word: spaces become `_`, as in Blender.
pub fn joined(name: &str) -> Cow<'_, str> {
    if name.contains(' ') { written(&name.replace(' ', "_")).into_owned().into() } else { written(name) }
}

/// Returns text that can be written at the end of a line: it neither ends the line nor continues it on the next line.
/// Newlines and carriage returns become `_`, and a final backslash is followed by a space.
pub fn on_a_line(name: &str) -> Cow<'_, str> {
    if !name.contains(['\n', '\r']) && !name.ends_with('\\') {
        return name.into();
    }
    let mut safe = name.replace(['\n', '\r'], "_");
    if safe.ends_with('\\') {
        safe.push(' ');
    }
    safe.into()
}

/// Makes names unique: a repeated name gets a number, as in Blender (`wood.001`).
#[derive(Debug, Default)]
pub struct DistinctNames {
    taken: HashSet<String>,
    next: HashMap<String, u32>,
}

impl DistinctNames {
    /// Returns the name, with the first free number if it is taken, and marks the result as taken.
    ///
    /// # Errors
    /// Fails if memory runs out.
    ///
    /// ```
    /// use polyhaul_model::names::DistinctNames;
    /// let mut names = DistinctNames::default();
    /// assert_eq!(["a", "a", "a.001"].map(|name| names.distinct(name).unwrap()), ["a", "a.001", "a.001.001"]);
    /// ```
    pub fn distinct(&mut self, name: &str) -> Result<String> {
        self.taken.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if self.taken.insert(try_string(name)?) {
            return try_string(name);
        }
        self.next.try_reserve(1).map_err(|_| Error::memory("names"))?;
        let number = self.next.entry(try_string(name)?).or_default();
        loop {
            *number += 1;
            let other = format!("{name}.{number:03}");
            if self.taken.insert(other.clone()) {
                return Ok(other);
            }
        }
    }

    /// Returns whether the name is taken.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_stay_on_their_line() {
        for (name, safe) in
            [("a b", "a b"), ("a\nv 1 2 3", "a_v 1 2 3"), ("a\\", "a\\ "), ("\r\n", "__"), ("a\\b", "a\\b")]
        {
            assert_eq!(super::on_a_line(name), safe);
        }
        assert_eq!(super::written("a\0\nb\\"), "a__b\\ ");
        assert_eq!(["a b", "vertex\u{7f}indices", "x"].map(super::word), ["a_b", "vertex?indices", "x"]);
    }

    #[test]
    fn latin1_and_long_names() {
        assert_eq!(super::latin1(b"a\xe9\xff").unwrap(), "a\u{e9}\u{ff}");
        assert_eq!(super::shown("short"), "short");
        assert_eq!(super::shown("\u{1b}[2J\u{9b}31m\u{202e}x"), "?[2J?31m?x");
        assert_eq!(super::shown(&"\u{20ac}".repeat(100)), format!("{}...", "\u{20ac}".repeat(66)));
    }
}
