//! The table of warning kinds is complete, matches the oracle, and equals a page of the guide.

use polyhaul::Format;
use polyhaul::severity::{KINDS, kind};
use polyhaul_testkit::slots::expected;
use std::path::{Path, PathBuf};

/// Each cell follows from the slots of the format.
#[test]
fn every_severity_is_the_one_that_slots_imply() {
    let mut wrong = Vec::new();
    for kind in &KINDS {
        for target in std::iter::once("").chain(Format::ALL.map(Format::name)) {
            let severity = kind.severity_for(target);
            if let Some(expected) = expected(kind.code, target).filter(|expected| *expected != severity) {
                wrong.push(format!(
                    "{} to `{target}` is a {}; expected {}",
                    kind.code,
                    severity.name(),
                    expected.name()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Strings in the sources that start with the first word of a code but are not codes.
const OTHERS: [&str; 1] = ["other-programs"];

/// Text that starts like a code but is not in the table would be counted as an unknown fault.
#[test]
fn every_code_in_the_sources_is_in_the_table() {
    let first_words: Vec<&str> = KINDS.iter().filter_map(|kind| kind.code.split('-').next()).collect();
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut unknown = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for (before, literal) in text.split('"').zip(text.split('"').skip(1)) {
            let first = literal.split('-').next().unwrap_or_default();
            let looks_like_a_code =
                literal.contains('-') && literal.chars().all(is_word) && first_words.contains(&first);
            let is_planted = before.trim_end_matches('(').ends_with("planted");
            if looks_like_a_code && !is_planted && kind(literal).is_none() && !OTHERS.contains(&literal) {
                unknown.push(format!("{literal} in {}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Sources in a folder, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            paths.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    paths
}

const INTRODUCTION: &str = "\
# Losses

Whatever a reader does not keep, or an output cannot hold, is reported as a warning with a kind, a location and a
severity:

- A **note**: users do not expect the output's format to store the data (materials in STL, smoothing groups in
  glTF), or the data carries no information (comments).
- A **loss**: the format has a slot that was not used, or a value, an element or a reference is changed or gone.
- A **fault**: the file breaks the rules of its format.

`--strict` (`strict=True` in Python) refuses losses and faults: the conversion fails before it replaces the old file.
`--strict=all` (`strict=\"all\"`) refuses notes, too. `--allow left-out-uvs,left-out-normals`
(`allow=[\"left-out-uvs\", \"left-out-normals\"]`) lets these kinds pass. `validate` calls a file invalid only for faults.

The severity of a kind depends on the format that is written. The `severity` column applies to most formats, and to
programs that only read a file; `exceptions` lists the formats with a different severity. `by value` means that the size of the change decides.

| kind | what it counts | severity | exceptions |
| --- | --- | --- | --- |
";

/// The page of the guide.
fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for kind in &KINDS {
        let severity = if kind.is_by_value { "by value" } else { kind.severity.name() };
        let exceptions = match kind.exception() {
            Some((severity, targets)) => format!("{}: {}", severity.name(), targets.join(", ")),
            None => String::new(),
        };
        page += &format!("| `{}` | {} | {severity} | {exceptions} |\n", kind.code, kind.words[1]);
    }
    page += "\nThis page is generated from the table of kinds (`crates/core/model/src/severity.rs`).\n";
    page
}

#[test]
fn the_page_of_losses_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/losses.md");
    let current = page();
    if std::env::var_os("POLYHAUL_WRITE_PAGE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let saved = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(saved == current, "docs/guide/losses.md is not current: run `cargo xtask option-page`");
}
