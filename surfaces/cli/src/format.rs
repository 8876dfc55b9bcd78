//! The names and extensions of the formats, and which of them are written.
//!
//! The formats themselves are the library's (`polyhaul::Format`).

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use polyhaul::{Error, ErrorKind, Format, Result};
use std::path::Path;

/// Parses the value of `--from`.
pub fn parser() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.into_iter())
}

/// Parses the value of `--to`: a format that is written.
pub fn output_parser() -> impl TypedValueParser<Value = Format> {
    named(written())
}

/// Parses a format of textures.
pub fn texture_parser() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.into_iter().filter(|format| format.is_texture()))
}

fn named(formats: impl Iterator<Item = Format>) -> impl TypedValueParser<Value = Format> {
    let names = formats.map(|format| PossibleValue::new(format.name()).aliases(format.other_names()));
    // The parser accepts only these names, so the other case never happens.
    PossibleValuesParser::new(names).map(|text| Format::named(&text).unwrap_or(Format::Obj))
}

/// The formats that a conversion writes.
fn written() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|format| format.is_written())
}

/// Whether the path means a standard stream.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The output format: `requested`, or else by the file extension; OBJ for a stream.
///
/// # Errors
/// If the format is unknown, or read-only.
pub fn of_output(path: &Path, requested: Option<Format>) -> Result<Format> {
    match requested.or_else(|| Format::of_path(path)) {
        Some(format) if format.is_written() => Ok(format),
        Some(format) => Err(not_written(format)),
        None if is_stream(path) => Ok(Format::Obj),
        None => {
            let message = format!("cannot infer the output format from `{}`", path.display());
            let hint = format!("use --to FORMAT, or one of the extensions {}", extensions());
            Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
        }
    }
}

fn not_written(format: Format) -> Error {
    let name = format.name().to_uppercase();
    let usage = |message: String| Error::new(ErrorKind::Usage, message);
    if format.is_texture() {
        let option = if format == Format::Dds { String::new() } else { format!(" --format {}", format.name()) };
        return usage(format!("`convert` cannot write {name} textures"))
            .with_hint(format!("use `polyhaul texture IMAGE -o FOLDER{option}`"));
    }
    usage(format!("{name} is read-only")).with_hint(format!("use one of the extensions {}", extensions()))
}

/// The extensions of formats that can be written, for messages.
fn extensions() -> String {
    written().map(|format| format!(".{}", format.name())).collect::<Vec<_>>().join(", ")
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

    #[test]
    fn only_formats_that_are_written_are_offered() {
        for format in Format::ALL {
            let name = format!("x.{}", format.name());
            assert_eq!(of_output(Path::new(&name), None).is_ok(), format.is_written(), "{name}");
            assert_eq!(extensions().split(", ").any(|extension| extension[1..] == *format.name()), format.is_written());
        }
        let says = |name: &str| {
            let error = of_output(Path::new(name), None).unwrap_err();
            (error.to_string(), error.diagnostic().hint.clone().unwrap_or_default())
        };
        assert_eq!(says("x.dds").0, "`convert` cannot write DDS textures");
        assert_eq!(says("x.dds").1, "use `polyhaul texture IMAGE -o FOLDER`");
        assert!(says("x.ktx2").1.contains("--format ktx2"));
        let (message, hint) = says("x.bmp");
        assert!(message == "BMP is read-only" && hint.contains(".obj") && !hint.contains(".bmp"), "{hint}");
        assert!(!says("x.docx").1.contains(".psd"));
    }
}
