//! The guide's page of options equals the table of options. `cargo xtask option-page` regenerates it.

use polyhaul::options::{OptionGroup, OptionKind, OptionRow};
use polyhaul::textures::TextureOptions;
use polyhaul::{ReadOptions, WriteOptions};
use std::fmt::Write;
use std::path::Path;

const INTRODUCTION: &str = "\
# Options

Every option has one name. It is the field of `ReadOptions` or `WriteOptions` in Rust, the keyword in Python, the key in
a job file, the name for `ph_options_set` in C, and the flag of the command: `global_scale` is `--global-scale`. An
option that is on by default has a flag that turns it off: `normals` is `--no-normals`. A name with its group, such as
`obj.smoothing`, works in C and in Rust's `set`, too. Limits always need theirs (`limits.files`); the command sets them
with `--limit files=N`, Python with `polyhaul.Limits(files=N)`.

The command refuses an option that applies to none of the formats at hand. `tables` are csv, tsv, txt, xyz, pts and npy;
`images` are all formats of images and textures.

The options for importing textures belong to `polyhaul texture`, `polyhaul.import_texture` and `TextureOptions`. Flags of
the command stand for some values: `--wrap` is `edges=wrap`, `--normal-map` and `--no-normal-map` are `normal_map`,
`--linear` and `--srgb` are `color_space`.

This page is generated from the table of options (`crates/core/model/src/options`).
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let sections = [
        ("Reading", ReadOptions::rows()),
        ("Writing", WriteOptions::rows()),
        ("Importing textures", TextureOptions::rows()),
    ];
    for (title, rows) in sections {
        let mut group = None;
        let mut rows: Vec<&OptionRow> = rows.iter().filter(|row| title == "Reading" || row.group != "limits").collect();
        // Options without a group first, limits last.
        rows.sort_by_key(|row| (row.group == "limits", !row.group.is_empty()));
        for row in rows {
            if group != Some(row.group) {
                group = Some(row.group);
                let name = if row.group.is_empty() { String::new() } else { format!(": `{}`", row.group) };
                write!(page, "\n## {title}{name}\n\n").unwrap();
                page += "| option | values | default | formats | |\n| --- | --- | --- | --- | --- |\n";
            }
            line(&mut page, row);
        }
    }
    page
}

fn line(page: &mut String, row: &OptionRow) {
    let cell = |text: &str| text.trim().replace('\n', " ").replace("  ", " ").replace('|', "\\|");
    let alias = if row.alias.is_empty() { String::new() } else { format!(" (also `{}`)", row.alias) };
    let formats = if row.formats.is_empty() { "all".into() } else { row.formats.join(", ").replace('_', ".") };
    let default = if row.default.is_empty() { String::new() } else { format!("`{}`", row.default.trim()) };
    let values = match row.kind.inner() {
        OptionKind::Choice(choices) => {
            choices.iter().map(|choice| format!("`{}`", choice.name)).collect::<Vec<_>>().join(", ")
        }
        kind => kind.expected(),
    };
    let name = row.name;
    let docs = cell(&unlinked(row.docs));
    writeln!(page, "| `{name}`{alias} | {} | {default} | {formats} | {docs} |", cell(&values)).unwrap();
}

/// Removes rustdoc links from a text.
fn unlinked(docs: &str) -> String {
    let mut parts = docs.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest));
    text.replace("[`", "`").replace("`]", "`")
}

#[test]
fn the_page_of_options_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/options.md");
    let current = page();
    if std::env::var_os("POLYHAUL_WRITE_PAGE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let saved = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(saved == current, "docs/guide/options.md is not current: run `cargo xtask option-page`");
}

#[test]
fn every_option_can_be_set_to_its_default() {
    for row in ReadOptions::rows() {
        let mut options = ReadOptions::default();
        options.set(&row.full_name(), &row.default).unwrap();
        assert_eq!(options.get(&row.full_name()), Some(row.default));
    }
    for row in WriteOptions::rows() {
        let mut options = WriteOptions::default();
        options.set(&row.full_name(), &row.default).unwrap();
        assert_eq!(options.get(&row.full_name()), Some(row.default));
    }
    for row in TextureOptions::rows() {
        let mut options = TextureOptions::default();
        options.set(&row.full_name(), &row.default).unwrap();
        assert_eq!(options.get(&row.full_name()), Some(row.default));
    }
}

#[test]
fn names_of_options_are_unique() {
    let shared = ["format", "threads", "memory_limit", "spill_folder", "strict", "allow", "spz_axes"];
    let mut names = Vec::new();
    for row in ReadOptions::rows().iter().chain(&WriteOptions::rows()).filter(|row| row.group != "limits") {
        let aliases = [row.name, row.alias];
        for name in aliases.iter().filter(|name| !name.is_empty() && !shared.contains(name)) {
            assert!(!names.contains(&(*name).to_owned()), "two options are called {name}");
            names.push((*name).to_owned());
        }
    }
}
