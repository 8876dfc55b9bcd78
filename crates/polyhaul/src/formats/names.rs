//! Names in text formats: what they become where they are not UTF-8.

use crate::error::{Diagnostic, Place, Result};
use crate::options::ReadOptions;
use crate::warnings::Warnings;

/// The name as text. Bytes that are not UTF-8 are taken as Latin-1, character by character: so
/// different names stay different, and a material finds its library. That is noted.
pub(crate) fn decode(name: &[u8], place: &Place, options: &ReadOptions, warnings: &mut Warnings) -> Result<String> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => {
            let message = "this name is not UTF-8; it was read as Latin-1";
            let what = Diagnostic { place: place.clone(), ..Diagnostic::new(message) };
            warnings.note(options, "non-utf8-name", what)?;
            Ok(name.iter().map(|&byte| char::from(byte)).collect())
        }
    }
}
