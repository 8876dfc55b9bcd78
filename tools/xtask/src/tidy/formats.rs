//! Restricts references to formats within the facade to the registry's rows and the formats' own modules.
//!
//! So a new format only needs a folder, a row and a feature.

use super::{File, Finding, Tree};
use std::collections::BTreeSet;

const FACADE: &str = "crates/polyhaul/src/";
const REGISTRY: &str = "crates/polyhaul/src/formats.rs";
const FORMATS: &str = "crates/formats/";

/// Modules of the facade whose names do not start with their format's name, and that name.
const OWN: &[(&str, &str)] = &[("flat", "pbrt"), ("sog", "splat"), ("textures", "image")];

/// Rule: no other module refers to a format's crate, or to a format of the registry.
pub(super) fn formats(tree: &Tree, findings: &mut Vec<Finding>) {
    let rows = rows(tree);
    let crates = tree.packages.iter().filter(|package| package.folder.starts_with(FORMATS));
    let crates: Vec<String> = crates.map(|package| package.name.replace('-', "_")).collect();
    if rows.is_empty() {
        findings.push(Finding::new(
            REGISTRY,
            1,
            "has no rows `Name = row(…)`, so that this rule cannot check anything",
        ));
    }
    for file in tree.rust().filter(|file| file.path.starts_with(FACADE) && !file.is_test()) {
        let relative = &file.path[FACADE.len()..];
        let mut reported = BTreeSet::new();
        for (line, name) in names(file, &rows, &crates).filter(|(_, name)| !is_own(relative, name)) {
            if reported.insert(name.clone()) {
                let message = format!("names {name}: only formats.rs and the format's own modules do");
                findings.push(Finding::new(file.path, line, message));
            }
        }
    }
}

/// Returns the names of the registry's rows.
fn rows<'a>(tree: &Tree<'a>) -> Vec<&'a str> {
    let Some(file) = tree.file(REGISTRY) else { return Vec::new() };
    let code = file.code();
    let is_row = |index: &usize| code.is_word(*index) && code.is(index + 1, "=") && code.is(index + 2, "row");
    (0..code.len()).filter(is_row).map(|index| code.text(index)).collect()
}

/// Returns the crates and formats that a file refers to outside of tests, with line numbers.
fn names<'a>(file: &'a File, rows: &'a [&str], crates: &'a [String]) -> impl Iterator<Item = (usize, String)> {
    let code = file.code();
    let imports = file.paths.imports.iter().map(|import| (import.token, &import.path));
    let qualified = file.paths.qualified.iter().map(|path| (path.token, &path.segments));
    imports.chain(qualified).filter(move |(token, _)| !code.is_test(*token)).filter_map(move |(token, path)| {
        let line = code.line(token);
        if crates.iter().any(|name| name == path[0]) {
            return Some((line, path[0].into()));
        }
        let row = path.windows(2).find(|pair| pair[0] == "Format" && rows.contains(&pair[1]))?;
        Some((line, format!("Format::{}", row[1])))
    })
}

/// Returns whether a file of the facade belongs to the format `name`.
fn is_own(path: &str, name: &str) -> bool {
    let module = path.split(['/', '.']).next().unwrap_or_default();
    let module = module.strip_prefix("no_").unwrap_or(module);
    let short = name.trim_start_matches("polyhaul_").trim_start_matches("Format::").to_lowercase();
    path == "formats.rs"
        || path.starts_with("registry/")
        || module.starts_with(&short)
        || OWN.contains(&(module, &short))
}

#[cfg(test)]
mod tests {
    use super::super::with_tree;
    use super::*;

    const FILES: [(&str, &str); 8] = [
        ("crates/formats/gltf/Cargo.toml", "[package]\nname = \"polyhaul-gltf\"\n"),
        ("crates/core/model/Cargo.toml", "[package]\nname = \"polyhaul-model\"\n"),
        (
            REGISTRY,
            "use polyhaul_gltf as gltf;\nformats! { /// A.\n Obj = row(\"obj\"), \"obj\" {} }\nuse a::Format::Obj;\n",
        ),
        ("crates/polyhaul/src/gltf/read.rs", "use polyhaul_gltf::{read, write};\n"),
        ("crates/polyhaul/src/obj.rs", "fn a() { Format::Obj }\n"),
        ("crates/polyhaul/src/open.rs", "use polyhaul_model::a;\nfn b() { polyhaul_gltf::c(\"polyhaul_gltf::d\") }\n"),
        ("crates/polyhaul/src/save.rs", "fn a() { b(crate::Format::Obj, Format::ALL) } // Format::Obj\n"),
        ("crates/polyhaul/src/load.rs", "#[cfg(test)]\nmod tests {\n    use polyhaul_gltf::a;\n}\n"),
    ];

    #[test]
    fn formats_named_elsewhere_are_found() {
        let messages = with_tree(&FILES, |tree| {
            let mut findings = Vec::new();
            formats(tree, &mut findings);
            findings.iter().map(Finding::to_string).collect::<Vec<_>>()
        });
        let rest = "only formats.rs and the format's own modules do";
        assert_eq!(
            messages,
            [
                format!("crates/polyhaul/src/open.rs:2: names polyhaul_gltf: {rest}"),
                format!("crates/polyhaul/src/save.rs:1: names Format::Obj: {rest}"),
            ]
        );
    }
}
