//! The names and extensions of the formats.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use polyhaul::{Error, ErrorKind, Format, Result};
use std::path::Path;

/// Parses the value of `--from` and `--to`.
pub fn parser() -> impl TypedValueParser<Value = Format> {
    // Only these names get through, so the other case never happens.
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(|text| Format::named(&text).unwrap_or(Format::Obj))
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
    Format::ALL.map(|format| format!(".{}", format.name())).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        assert_eq!(of_output(Path::new("a/b.OBJ"), None).ok(), Some(Format::Obj));
        assert!(of_output(Path::new("obj"), None).is_err());
        for format in Format::ALL {
            assert_eq!(Format::of_path(Path::new(&format!("x.{}", format.name()))), Some(format));
        }
        assert_eq!(of_output(Path::new("-"), None).ok(), Some(Format::Obj));
        assert_eq!(of_output(Path::new("x.bin"), Some(Format::Obj)).ok(), Some(Format::Obj));
        let error = of_output(Path::new("x.bin"), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
