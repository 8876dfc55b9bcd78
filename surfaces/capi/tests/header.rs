//! Checks that the committed header is up to date with the sources, and lists the options of the library's table at its
//! end. `cargo xtask header` writes it.

use cbindgen::{Builder, Config};
use polyhaul::options::{OptionGroup, OptionKind, OptionRow};
use polyhaul::{Format, ReadOptions, WriteOptions};
use std::fs;
use std::path::Path;

/// The modules in the order of the header.
const SOURCES: [&str; 12] = [
    "error", "text", "source", "options", "report", "mesh", "scene", "compose", "material", "image", "table", "convert",
];

/// Prefixes of constants whose names need no comment, with the comment of the group.
const GROUPS: [(&str, &str); 4] = [
    ("PH_AXIS_", "The axis directions (ph_axis)."),
    ("PH_HAS_", "The fields of ph_material that may be set (ph_has)."),
    ("PH_SCALAR_", "The types of numbers (ph_scalar); F32 is `float`, F64 is `double`."),
    ("PH_COLOR_SPACE_", "The encodings of color samples (ph_color_space)."),
];

/// Maximum line length in the list of options.
const MAX_COLUMNS: usize = 120;

fn generated_header() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is right");
    config.trailer = Some(option_list());
    let sources = SOURCES.into_iter().map(|name| root.join("src").join(name).with_extension("rs"));
    let builder = sources.fold(Builder::new().with_config(config), Builder::with_src);
    let mut text = Vec::new();
    builder.generate().expect("the sources can be read").write(&mut text);
    grouped(&String::from_utf8(text).expect("sources are text"))
}

/// Replaces the comments of constants that only repeat their names by one comment per group.
fn grouped(text: &str) -> String {
    let mut result = String::new();
    let mut last_group = None;
    for block in text.split_inclusive("\n\n") {
        let definition = block.lines().find_map(|line| line.strip_prefix("#define "));
        let group = definition.and_then(|name| GROUPS.iter().find(|(prefix, _)| name.starts_with(prefix)));
        if last_group.is_some() && last_group != group {
            result.push('\n');
        }
        match (definition, group) {
            (Some(definition), Some((_, comment))) => {
                if last_group != group {
                    result += &format!("/**\n * {comment}\n */\n");
                }
                result += &format!("#define {definition}\n");
            }
            _ => result += block,
        }
        last_group = group;
    }
    result
}

/// Formats all options as a comment.
fn option_list() -> String {
    let formats = Format::ALL.map(Format::name).join(", ");
    let mut list = String::from("/*\n * Options for ph_options_set.\n *\n");
    add_text(
        &mut list,
        [" * "; 2],
        "Each line has the full name, the values, the default, an alias if there is one, and the formats that the \
         option applies to, if it does not apply to all. Sizes may have a unit: 64MB is 64,000,000, 64MiB is \
         67,108,864.",
    );
    add_text(&mut list, [" * "; 2], &format!("Formats: {formats}."));
    let read = ReadOptions::rows();
    let write = WriteOptions::rows();
    let is_in = |rows: &[OptionRow], row: &OptionRow| rows.iter().any(|other| other.full_name() == row.full_name());
    let (both, only_read): (Vec<_>, Vec<_>) = read.iter().partition(|row| is_in(&write, row));
    let only_write: Vec<_> = write.iter().filter(|row| !is_in(&read, row)).collect();
    for (title, rows) in [("Reading and writing", both), ("Reading", only_read), ("Writing", only_write)] {
        list += &format!(" *\n * {title}\n *\n");
        for row in rows {
            let write_row = write.iter().find(|other| other.full_name() == row.full_name());
            add_text(&mut list, [" *   ", " *       "], &option_line(row, write_row.unwrap_or(row)));
            add_text(&mut list, [" *       "; 2], &format!("{}.", row.summary()));
        }
    }
    list + " */\n"
}

/// Formats the line of an option. An option for both reading and writing may have a different alias for each.
fn option_line(row: &OptionRow, write_row: &OptionRow) -> String {
    let is_word = !row.default.is_empty() && !row.default.contains(' ');
    let default = if is_word { row.default.clone() } else { format!("{:?}", row.default) };
    let mut line = format!("{} = {}; default {default}", row.full_name(), values(&row.kind));
    if row.alias != write_row.alias {
        line += &format!("; aliases `{}` (reading) and `{}` (writing)", row.alias, write_row.alias);
    } else if !row.alias.is_empty() {
        line += &format!("; alias {}", row.alias);
    }
    if !row.formats.is_empty() {
        let formats: Vec<&str> = row.formats.iter().map(|name| format_name(name)).collect();
        line += &format!("; {}", formats.join(", "));
    }
    line
}

/// Returns the name of a format that the table spells with underscores instead of dots.
fn format_name(name: &'static str) -> &'static str {
    Format::ALL.map(Format::name).into_iter().find(|format| format.replace('.', "_") == name).unwrap_or(name)
}

/// Formats the values of an option as in a usage message.
fn values(kind: &OptionKind) -> String {
    match kind {
        OptionKind::Flag => "true|false".into(),
        OptionKind::Integer(min, max) if *max >= i128::from(u32::MAX) => format!("N >= {min}"),
        OptionKind::Integer(min, max) => format!("{min}..{max}"),
        OptionKind::Positive => "N > 0".into(),
        OptionKind::Choice(choices) => choices.iter().map(|choice| choice.name).collect::<Vec<_>>().join("|"),
        OptionKind::Optional(kind, none) => format!("{none}|{}", values(kind)),
        other => format!("({})", other.expected()),
    }
}

/// Appends text, wrapped at [`MAX_COLUMNS`], with separate indents for the first and the other lines.
fn add_text(list: &mut String, indents: [&str; 2], text: &str) {
    assert!(!text.contains("*/"), "{text:?} would end the comment");
    let [first_indent, indent] = indents;
    let mut line = String::from(first_indent);
    for word in text.split(' ') {
        if line.len() + word.len() > MAX_COLUMNS {
            *list += &format!("{}\n", line.trim_end());
            line = indent.into();
        }
        line += &format!("{word} ");
    }
    *list += &format!("{}\n", line.trim_end());
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/polyhaul.h");
    let generated = generated_header();
    if std::env::var_os("POLYHAUL_HEADER").is_some_and(|value| value == "write") {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let place = committed.lines().zip(generated.lines()).position(|(committed, generated)| committed != generated);
    assert!(
        committed == generated,
        "include/polyhaul.h differs at line {:?}: run `cargo xtask header`",
        place.map(|line| line + 1)
    );
}

#[test]
fn every_option_is_in_the_header_once() {
    let header = generated_header();
    for row in ReadOptions::rows().into_iter().chain(WriteOptions::rows()) {
        let start = format!(" *   {} = ", row.full_name());
        assert_eq!(header.lines().filter(|line| line.starts_with(&start)).count(), 1, "{start}");
    }
}

#[test]
fn every_function_that_the_library_exports_is_in_the_header() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let header = generated_header();
    let mut exported_count = 0;
    for entry in fs::read_dir(folder).expect("there are sources") {
        let text = fs::read_to_string(entry.expect("a source").path()).expect("a source is text");
        for (at, _) in text.match_indices("#[unsafe(no_mangle)]") {
            let name = text[at..].split("fn ").nth(1).and_then(|rest| rest.split('(').next()).expect("a function");
            let call = format!("{name}(");
            let lines = header.lines().filter(|line| !line.starts_with(" *") && line.contains(&call));
            assert_eq!(lines.count(), 1, "{name} is not in the header once");
            exported_count += 1;
        }
    }
    assert!(exported_count > 25, "{exported_count} functions");
}
