//! Names in text formats: what they become where they are not UTF-8, and how they stay on their line.

use crate::error::{Diagnostic, Place, Result};
use crate::options::ReadOptions;
use crate::warnings::Warnings;
use std::borrow::Cow;

/// The name as text. Bytes that are not UTF-8 are taken as Latin-1, character by character: so
/// different names stay different, and a material finds its library. That is noted.
pub(crate) fn decode<'a>(
    name: &'a [u8],
    place: &Place,
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<Cow<'a, str>> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(text.into()),
        Err(_) => {
            let message = "this name is not UTF-8; it was read as Latin-1";
            let what = Diagnostic { place: place.clone(), ..Diagnostic::new(message) };
            warnings.note(options, "non-utf8-name", what)?;
            Ok(name.iter().map(|&byte| char::from(byte)).collect())
        }
    }
}

/// A name as it is written: readers refuse NUL, which becomes `_`.
pub(crate) fn written(name: &str) -> Cow<'_, str> {
    match name.contains('\0') {
        true => on_a_line(&name.replace('\0', "_")).into_owned().into(),
        false => on_a_line(name),
    }
}

/// Text as it may stand at the end of a line: it must neither end the line nor join the next one to
/// it. Newlines become `_`, and a blank follows a last backslash.
pub(crate) fn on_a_line(name: &str) -> Cow<'_, str> {
    if !name.contains(['\n', '\r']) && !name.ends_with('\\') {
        return name.into();
    }
    let mut safe = name.replace(['\n', '\r'], "_");
    if safe.ends_with('\\') {
        safe.push(' ');
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_stay_on_their_line() {
        for (name, safe) in [("a b", "a b"), ("a\nv 1 2 3", "a_v 1 2 3"), ("a\\", "a\\ "), ("\r\n", "__"), ("a\\b", "a\\b")] {
            assert_eq!(super::on_a_line(name), safe);
        }
        assert_eq!(super::written("a\0\nb\\"), "a__b\\ ");
    }
}
