//! The names and extensions of the formats.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use polyhaul::{Error, ErrorKind, Format, Result};
use std::path::Path;

/// Each format with its name, which is its extension too.
const FORMATS: [(&str, Format); 9] = [
    ("obj", Format::Obj),
    ("ply", Format::Ply),
    ("stl", Format::Stl),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("txt", Format::Txt),
    ("xyz", Format::Xyz),
    ("pts", Format::Pts),
    ("npy", Format::Npy),
];

/// Parses the value of `--from` and `--to`.
pub fn parser() -> impl TypedValueParser<Value = Format> {
    let names = FORMATS.map(|(name, _)| name);
    // Only these names get through, so the other case never happens.
    PossibleValuesParser::new(names).map(|text| of_name(&text).unwrap_or(Format::Obj))
}

fn of_name(name: &str) -> Option<Format> {
    let found = FORMATS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    found.map(|(_, format)| *format)
}

/// Whether the path stands for a standard stream.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The format to write: as asked for, by the name of the file, OBJ for a stream.
pub fn of_output(path: &Path, asked: Option<Format>) -> Result<Format> {
    if let Some(format) = asked.or_else(|| Format::of_path(path)) {
        return Ok(format);
    }
    if is_stream(path) {
        return Ok(Format::Obj);
    }
    let message = format!("the name {} does not tell a format to write", path.display());
    Err(Error::new(ErrorKind::Usage, message).with_hint(format!("end the name in {}, or give --to obj", known())))
}

/// The known extensions, for messages.
pub fn known() -> String {
    FORMATS.map(|(name, _)| format!(".{name}")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        assert_eq!(of_output(Path::new("a/b.OBJ"), None).ok(), Some(Format::Obj));
        assert!(of_output(Path::new("obj"), None).is_err());
        for (name, format) in FORMATS {
            assert_eq!(Format::of_path(Path::new(&format!("x.{name}"))), Some(format));
        }
        assert_eq!(of_output(Path::new("-"), None).ok(), Some(Format::Obj));
        assert_eq!(of_output(Path::new("x.bin"), Some(Format::Obj)).ok(), Some(Format::Obj));
        let error = of_output(Path::new("x.bin"), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
