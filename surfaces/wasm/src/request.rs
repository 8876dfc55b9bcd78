//! Parses requests: lines of a key, a space and a value. The crate documentation lists them.

use polyhaul::options::{OnError, OptionValue, Precision};
use polyhaul::{Format, ReadOptions, WriteOptions};
use std::path::Path;

/// A parsed request.
#[derive(Clone, Default)]
pub(crate) struct Request {
    /// The file name.
    pub(crate) name: String,
    /// The name of the output file.
    pub(crate) to: String,
    /// Whether to read tables rather than the scene.
    pub(crate) tables: bool,
    /// Whether only shapes are needed, as corners.
    pub(crate) drawn: bool,
    pub(crate) options: ReadOptions,
    /// The lines that describe arrays to write.
    pub(crate) given: Vec<String>,
    pub(crate) write_options: WriteOptions,
}

/// Parses a request; an error describes the problem.
pub(crate) fn parse(text: &str) -> Result<Request, String> {
    let Request { mut name, mut to, mut tables, mut drawn, mut options, mut given, mut write_options } =
        Request::default();
    for line in text.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("name", value) => name = value.to_owned(),
            ("to", value) if Format::of_path(Path::new(value)).is_none() => {
                return Err(format!("cannot infer the format of `{value}` from its name"));
            }
            ("to", value) => to = value.to_owned(),
            ("format", value) => {
                let format = Format::named(value).ok_or_else(|| format!("unknown format `{value}`"))?;
                options = options.with_format(Some(format));
            }
            ("given", line) => given.push(line.to_owned()),
            ("encoding", "ascii") => write_options.scene.ascii = true,
            ("encoding", "big") => write_options.ply.big_endian = true,
            ("floatColors", "1") => write_options.scene.float_colors = true,
            ("tables", "1") => tables = true,
            ("drawn", "1") => drawn = true,
            ("part", "1") => options = options.with_obj_part(true),
            ("skip", "1") => options = options.with_on_error(OnError::Warn),
            ("precision", value) => options = options.with_precision(Precision::parse(value)?),
            (key, value) => return Err(format!("unknown option `{key}` with the value `{value}`")),
        }
    }
    Ok(Request { name, to, tables, drawn, options, given, write_options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_and_unknown_ones_named() {
        let Request { name, tables, options, .. } = parse("name a b.obj\nskip 1\nformat obj").unwrap();
        assert_eq!((name.as_str(), options.on_error, options.format), ("a b.obj", OnError::Warn, Some(Format::Obj)));
        assert!(!tables && parse("tables 1").unwrap().tables);
        assert_eq!(parse("").unwrap().options.on_error, OnError::Raise);
        let Request { given, write_options, .. } = parse("given mesh a b\nencoding ascii\ngiven points 0").unwrap();
        assert_eq!(given, ["mesh a b", "points 0"]);
        assert!(write_options.scene.ascii);
        assert!(parse("encoding utf8").is_err());
        assert_eq!(parse("format x").err().as_deref(), Some("unknown format `x`"));
        let untold = "cannot infer the format of `a.b` from its name";
        assert_eq!(parse("to a.b").err().as_deref(), Some(untold));
        let unknown = "unknown option `colour` with the value `red`";
        assert_eq!(parse("colour red").err().as_deref(), Some(unknown));
    }
}
