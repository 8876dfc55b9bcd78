//! Parses format names on the command line, and determines output formats.
//!
//! The formats themselves are in the library (`polyhaul::Format`).

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use polyhaul::{Error, ErrorKind, Format, Result};
use std::path::Path;

/// Parses the value of `--from`.
pub fn parser() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.into_iter())
}

/// A format and the name it was requested by, which becomes the extension of outputs in folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFormat {
    /// The format.
    pub format: Format,
    /// The requested name, which is also the extension.
    pub extension: &'static str,
}

impl NamedFormat {
    /// Looks up a format by any of its names.
    fn parse(name: &str) -> Option<NamedFormat> {
        let format = Format::named(name)?;
        let other = format.other_names().iter().find(|other| other.eq_ignore_ascii_case(name));
        Some(NamedFormat { format, extension: other.map_or(format.name(), |other| *other) })
    }

    /// Fails if the name stands for a main file with separate buffers, as `gltf` does, but the output has another
    /// extension.
    fn check(self, output: &Path) -> Result<()> {
        let is_named = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(self.extension));
        if is_named || self.format.split_name() != Some(self.extension) {
            return Ok(());
        }
        let name = self.extension;
        let message =
            format!("--to {name} writes a .{name} file and other files, but the output is `{}`", output.display());
        let hint = format!("use a name that ends in .{name}, or `--to {}`, which writes one file", self.format.name());
        Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
    }
}

/// Parses the value of `--to`: a format that conversions write, or a texture format.
pub fn output_parser() -> impl TypedValueParser<Value = NamedFormat> {
    let value = |format: Format| PossibleValue::new(format.name()).aliases(format.other_names());
    // Only `batch` accepts texture formats, for images, so they stay out of the help.
    let textures = Format::ALL.into_iter().filter(|format| format.is_texture()).map(|format| value(format).hide(true));
    PossibleValuesParser::new(written().map(value).chain(textures))
        .try_map(|text| NamedFormat::parse(&text).ok_or("unknown format"))
}

/// Parses the name of a texture format.
pub fn texture_parser() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.into_iter().filter(|format| format.is_texture()))
}

fn named(formats: impl Iterator<Item = Format>) -> impl TypedValueParser<Value = Format> {
    let names = formats.map(|format| PossibleValue::new(format.name()).aliases(format.other_names()));
    // The parser accepts only these names, so the other case never happens.
    PossibleValuesParser::new(names).map(|text| Format::named(&text).unwrap_or(Format::Obj))
}

/// The formats that conversions write.
fn written() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|format| format.is_written())
}

/// Whether the path is `-`, a standard stream.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the output format: `requested`, or else the format of the file extension, or OBJ for a stream.
///
/// # Errors
/// If the format is unknown or read-only, or `requested` does not suit the extension.
pub fn of_output(path: &Path, requested: Option<NamedFormat>) -> Result<Format> {
    if let Some(to) = requested {
        to.check(path)?;
    }
    match requested.map(|to| to.format).or_else(|| Format::of_path(path)) {
        Some(format) if format.is_written() => Ok(format),
        Some(format) => Err(not_written(format)),
        None if is_stream(path) => Ok(Format::Obj),
        None => {
            let message = format!("cannot infer the output format from `{}`", path.display());
            let hint = format!("use `--to FORMAT`, or one of the extensions {}", extensions());
            Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
        }
    }
}

/// Fails if conversions do not write the format.
pub fn check_written(format: Format) -> Result<()> {
    if format.is_written() { Ok(()) } else { Err(not_written(format)) }
}

fn not_written(format: Format) -> Error {
    let name = format.name().to_uppercase();
    let usage = |message: String| Error::new(ErrorKind::Usage, message);
    if format.is_texture() {
        let option = if format == Format::Dds { String::new() } else { format!(" --to {}", format.name()) };
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
        assert_eq!(of_output(Path::new("x.bin"), NamedFormat::parse("obj")).ok(), Some(Format::Obj));
        let error = of_output(Path::new("x.bin"), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }

    #[test]
    fn gltf_is_a_file_with_others_beside_it() {
        let of = |name: &str, to: &str| of_output(Path::new(name), NamedFormat::parse(to));
        for (name, to) in [("x.gltf", "gltf"), ("x.GLTF", "gltf"), ("x.glb", "glb"), ("-", "glb"), ("x", "glb")] {
            assert_eq!(of(name, to).ok(), Format::named("glb"), "{name}");
        }
        for name in ["x.glb", "-", "x", "x.gltf.gz"] {
            let error = of(name, "gltf").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.diagnostic().hint.as_ref().is_some_and(|hint| hint.contains("--to glb")), "{error}");
        }
        assert_eq!(of("x.jpg", "jpeg").ok(), of("x", "jpg").ok());
        assert_eq!(NamedFormat::parse("asc").map(|named| named.extension), Some("asc"));
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
        assert!(says("x.ktx2").1.contains("--to ktx2"));
        let (message, hint) = says("x.bmp");
        assert!(message == "BMP is read-only" && hint.contains(".obj") && !hint.contains(".bmp"), "{hint}");
        assert!(!says("x.docx").1.contains(".psd"));
    }
}
