//! Types with the same name in several crates, which cannot be found by name alone.

use super::tokens::Code;
use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Existing duplicates, with the number of crates that define each. The goal is an empty table.
const KNOWN: &str = include_str!("types.txt");

/// Folders to check; excludes developer tools.
const FOLDERS: &[&str] = &["crates/", "surfaces/"];

/// Crate, file and line of a definition.
type Definition<'a> = (&'a str, &'a str, usize);

/// Rule: no two crates define a type of the same name.
pub(super) fn types(tree: &Tree, findings: &mut Vec<Finding>) {
    let lines = KNOWN.lines().filter_map(|line| line.split_once(' '));
    let counts = lines.filter_map(|(name, count)| Some((name, count.parse().ok()?)));
    check(tree, &counts.collect(), findings);
}

fn check(tree: &Tree, accepted: &BTreeMap<&str, usize>, findings: &mut Vec<Finding>) {
    let definitions = definitions(tree);
    let mut shared = BTreeSet::new();
    for (name, places) in definitions {
        let folders: BTreeSet<&str> = places.iter().map(|(folder, _, _)| *folder).collect();
        if folders.len() < 2 {
            continue;
        }
        shared.insert(name);
        if folders.len() > accepted.get(name).copied().unwrap_or(1) {
            let folders: Vec<&str> = folders.into_iter().collect();
            let message = format!("the type `{name}` is in several crates: {}", folders.join(", "));
            findings.extend(places.iter().map(|(_, path, line)| Finding::new(path, *line, &*message)));
        }
    }
    for name in accepted.keys().filter(|name| !shared.contains(*name)) {
        let message = format!("only one crate has the type `{name}`: remove the line");
        let line = KNOWN.lines().position(|line| line.split(' ').next() == Some(name)).map_or(1, |index| index + 1);
        findings.push(Finding::new("tools/xtask/src/tidy/types.txt", line, message));
    }
}

/// Returns the types of all crates, by name.
fn definitions<'a>(tree: &'a Tree) -> BTreeMap<&'a str, Vec<Definition<'a>>> {
    let mut definitions: BTreeMap<&str, Vec<Definition>> = BTreeMap::new();
    for package in tree.packages.iter().filter(|package| FOLDERS.iter().any(|place| package.folder.starts_with(place)))
    {
        let source = format!("{}/src/", package.folder);
        for file in tree.rust().filter(|file| file.path.starts_with(&source) && !file.is_test()) {
            for (name, line) in types_of(file.code()) {
                definitions.entry(name).or_default().push((package.folder, file.path, line));
            }
        }
    }
    definitions
}

/// Returns the names of types with their lines, without associated types.
fn types_of<'a>(code: Code<'a, '_>) -> Vec<(&'a str, usize)> {
    let mut types = Vec::new();
    // End of the block whose `type` items are associated types.
    let mut block_end = 0;
    let mut index = 0;
    while index < code.len() {
        let is_definition = match code.first(index) {
            b's' => code.is(index, "struct"),
            b'e' => code.is(index, "enum"),
            b'u' => code.is(index, "union") && matches!(code.first(index + 2), b'{' | b'<'),
            b't' => code.is(index, "trait") || code.is(index, "type") && index >= block_end,
            _ => false,
        };
        if is_definition && code.is_word(index + 1) && !code.is_test(index) {
            types.push((code.text(index + 1), code.line(index)));
        }
        if matches!(code.first(index), b'i' | b't') && (code.is(index, "impl") || code.is(index, "trait")) {
            let open = (index..code.len()).find(|at| matches!(code.first(*at), b'{' | b';' | b'='));
            block_end = block_end.max(open.map_or(0, |open| code.partner(open)));
        }
        index += 1;
    }
    types
}

#[cfg(test)]
mod tests {
    use super::super::with_tree;
    use super::*;

    #[test]
    fn types_in_several_crates_are_found() {
        let files = [
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("tools/c/Cargo.toml", "[package]\nname = \"c\"\n"),
            (
                "crates/a/src/a.rs",
                "pub struct Part(u8);\nenum Kind {}\nimpl B for C { type Item = u8; }\nstruct Only;\n",
            ),
            ("crates/b/src/b.rs", "type Part = u8;\ntrait Kind { type Item; }\nimpl D for E { type Item = u8; }\n"),
            ("crates/b/src/c.rs", "#[cfg(test)]\nmod tests { struct Only; }\n// struct Only;\n"),
            ("tools/c/src/a.rs", "struct Only;\n"),
        ];
        let findings = |accepted: &[(&'static str, usize)]| {
            with_tree(&files, |tree| {
                let mut findings = Vec::new();
                check(tree, &accepted.iter().copied().collect(), &mut findings);
                findings.iter().map(Finding::to_string).collect::<Vec<_>>()
            })
        };
        assert_eq!(
            findings(&[("Kind", 2)]),
            [
                "crates/a/src/a.rs:1: the type `Part` is in several crates: crates/a, crates/b",
                "crates/b/src/b.rs:1: the type `Part` is in several crates: crates/a, crates/b",
            ]
        );
        assert_eq!(findings(&[("Kind", 2), ("Part", 3)]), [""; 0]);
        assert_eq!(findings(&[("Kind", 2), ("Part", 2), ("Only", 2)]).len(), 1);
    }
}
