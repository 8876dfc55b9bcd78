//! Converts hints to Python syntax. The library names options like the command: `--float-colors` becomes
//! `float_colors=True`.

use polyhaul::options::{OptionGroup, OptionKind, OptionRow};
use polyhaul::{ReadOptions, WriteOptions};

/// Replaces the flags in a hint with keyword arguments.
pub(crate) fn with_keywords(hint: &str) -> String {
    let mut text = String::new();
    let mut rest = hint;
    while let Some((before, after)) = rest.split_once("--") {
        text.push_str(before);
        let size = after.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(after.len());
        let (flag, more) = after.split_at(size);
        let is_start = before.is_empty() || before.ends_with([' ', '`', '(']);
        let Some(row) = row_of(flag).filter(|_| is_start) else {
            text.push_str("--");
            rest = after;
            continue;
        };
        // A value follows only within backticks, or after the flag of a format.
        let value = match more.find(['`', ',', ';']).unwrap_or(more.len()) {
            size if before.ends_with('`') || row.name == "format" => &more[..size],
            _ => "",
        };
        text.push_str(&keyword(&row, flag, value.trim()));
        rest = &more[value.len()..];
    }
    text + rest
}

/// Finds the option of a flag, which is given without its leading dashes.
fn row_of(flag: &str) -> Option<OptionRow> {
    let name = flag.replace('-', "_");
    let positive = name.strip_prefix("no_").unwrap_or(&name);
    let named = |name: &str| ReadOptions::row(name).or_else(|| WriteOptions::row(name));
    named(&name).or_else(|| named(positive))
}

fn keyword(row: &OptionRow, flag: &str, value: &str) -> String {
    let name = row.name;
    match row.kind {
        OptionKind::Flag => format!("{name}={}", if flag.starts_with("no-") { "False" } else { "True" }),
        OptionKind::Special { name: "Kinds", .. } => format!("{name}=[\"{value}\"]"),
        _ if name == "strict" => format!("{name}=True"),
        _ if value.is_empty() => name.into(),
        _ if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        _ => format!("{name}=\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_keywords() {
        let pairs = [
            ("use `--float-colors` to keep them", "use `float_colors=True` to keep them"),
            ("use `--digits shortest` for exact numbers", "use `digits=\"shortest\"` for exact numbers"),
            ("choose one with `--element`: a, b", "choose one with `element`: a, b"),
            (
                "without `--strict` this is a warning; `--allow left-out-uvs` accepts it",
                "without `strict=True` this is a warning; `allow=[\"left-out-uvs\"]` accepts it",
            ),
            ("specify the format, as in `--to obj`", "specify the format, as in `format=\"obj\"`"),
            ("read it with `--from ply`", "read it with `format=\"ply\"`"),
            ("pbrt --upgrade old.pbrt > new.pbrt", "pbrt --upgrade old.pbrt > new.pbrt"),
            ("write 2.5", "write 2.5"),
        ];
        for (hint, shown) in pairs {
            assert_eq!(with_keywords(hint), shown);
        }
    }
}
