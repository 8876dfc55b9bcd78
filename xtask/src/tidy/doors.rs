//! The crates behind one door: each outside library is named in one place, so that replacing it
//! changes one place.

use super::Finding;
use super::manifest::{dependencies, manifest};
use super::tree::Tree;

/// A library's name in code, and the modules that may name it: `a/b` stands for `a/b.rs` and all of
/// `a/b/`. One module is the rule; `crates` stands for anywhere, for helpers so small that a door
/// would hide nothing.
const DOORS: &[(&str, &[&str])] = &[
    // Numbers and lines.
    ("zmij", &["crates/text/src/format/shortest"]),
    ("fast_float2", &["crates/text/src/parse"]),
    ("memchr", &["crates"]),
    // Compression.
    ("zlib_rs", &["crates/bytes/src/compress"]),
    ("libz_rs_sys", &["crates/bytes/src/compress"]),
    ("libdeflater", &["crates/bytes/src/compress"]),
    ("zstd", &["crates/bytes/src/compress"]),
    ("zstd_safe", &["crates/bytes/src/compress"]),
    ("lz4_flex", &["crates/bytes/src/compress"]),
    // Images and textures.
    ("png", &["crates/polyhaul/src/formats/png"]),
    ("flate2", &["crates/polyhaul/src/formats/png"]),
    ("jpeg_encoder", &["crates/polyhaul/src/formats/jpeg/writer"]),
    ("zune_jpeg", &["crates/polyhaul/src/formats/jpeg"]),
    ("zune_core", &["crates/polyhaul/src/formats/jpeg"]),
    ("exr", &["crates/polyhaul/src/formats/exr"]),
    ("bcdec_rs", &["crates/polyhaul/src/ops/blocks/decode"]),
    ("intel_tex_2", &["crates/polyhaul/src/ops/blocks/encode"]),
    // Hashes.
    ("xxhash_rust", &["crates/polyhaul/src/textures/manifest", "crates/polyhaul/src/measure/kept"]),
    // Threads.
    ("rayon", &["crates/polyhaul/src/pipeline"]),
    // The system: files, huge pages, signals and the terminal.
    (
        "libc",
        &[
            "crates/bytes/src",
            "crates/polyhaul/src/pipeline/column",
            "crates/polyhaul/src/measure/system",
            "crates/cli/src",
        ],
    ),
    // Events of other programs.
    ("tracing", &["crates/polyhaul/src/report/bridge"]),
    // The command.
    ("clap", &["crates/cli/src"]),
    ("clap_complete", &["crates/cli/src"]),
    ("clap_mangen", &["crates/cli/src"]),
    ("indicatif", &["crates/cli/src"]),
    ("resvg", &["crates/cli/src/picture"]),
    ("annotate_snippets", &["crates/cli/src"]),
    ("anstream", &["crates/cli/src"]),
    ("serde", &["crates/cli/src"]),
    ("serde_json", &["crates/cli/src"]),
    ("signal_hook", &["crates/cli/src"]),
    // Python.
    ("pyo3", &["python/src"]),
    // Arrays seen as bytes and back, without unsafe code of our own.
    ("bytemuck", &["python/src/arrays"]),
];

/// No library is named outside its door, tests apart.
pub(super) fn named_once(tree: &Tree) -> Vec<Finding> {
    let names: Vec<&str> = DOORS.iter().map(|(name, _)| *name).collect();
    let mut findings = Vec::new();
    for (file, rust) in tree.product() {
        let locals = rust.paths(&["crate", "self", "super"]);
        for path in rust.paths(&names) {
            let name = path.segments[0].as_str();
            let Some((_, doors)) = DOORS.iter().find(|(row, _)| *row == name) else {
                continue;
            };
            // A module of our own may bear the name of the library that it wraps.
            let own = locals.iter().any(|local| local.segments.last().is_some_and(|last| last == name))
                || rust.indices().any(|i| rust.starts(i, &["mod", name]));
            if !own && !doors.iter().any(|door| lies_in(&file.path, door)) {
                let message = format!("only {} may name {name}", doors.join(" and "));
                findings.push(Finding::new(&file.path, path.line, "one-door", message));
            }
        }
    }
    findings
}

/// Every outside library that users get has a row, so that a new one gets its door on the day it
/// comes.
pub(super) fn every_dependency_has_a_row(tree: &Tree) -> Vec<Finding> {
    let product = |folder: &&str| (folder.starts_with("crates/") && *folder != "crates/testkit") || *folder == "python";
    let mut findings = Vec::new();
    for file in tree.crates().into_iter().filter(product).filter_map(|folder| manifest(tree, folder)) {
        for dependency in dependencies(&file.text).into_iter().filter(|d| !d.dev) {
            let name = dependency.package.replace('-', "_");
            let ours = name == "polyhaul" || name.starts_with("polyhaul_");
            if !ours && DOORS.iter().all(|(row, _)| *row != name) {
                let message = format!("{} has no row in the table of xtask/src/tidy/doors.rs", dependency.package);
                findings.push(Finding::new(&file.path, dependency.line, "one-door", message));
            }
        }
    }
    findings
}

/// Whether the file at `path` is the module `place` or lies in its folder.
pub(super) fn lies_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: &str) -> Vec<String> {
        named_once(&Tree::of(&[(path, code)])).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn a_library_outside_its_door_is_found() {
        let planted = found("crates/text/src/format/fixed.rs", "//! x\nuse zmij::Buffer;\n");
        assert_eq!(planted, ["2: only crates/text/src/format/shortest may name zmij"]);
        let planted = found("crates/polyhaul/src/formats/obj/reader.rs", "fn f() {\n  rayon::join(a, b)\n}\n");
        assert_eq!(planted, ["2: only crates/polyhaul/src/pipeline may name rayon"]);
    }

    #[test]
    fn the_door_itself_tests_and_namesakes_pass() {
        assert_eq!(found("crates/text/src/format/shortest.rs", "use zmij::Buffer;\n"), [""; 0]);
        assert_eq!(found("crates/text/src/parse/slow.rs", "fast_float2::parse(x)\n"), [""; 0]);
        assert_eq!(found("crates/text/tests/peer.rs", "use zmij::Buffer;\n"), [""; 0]);
        assert_eq!(found("crates/text/src/lib.rs", "#[cfg(test)]\nmod tests {\n use zmij::Buffer;\n}\n"), [""; 0]);
        assert_eq!(found("crates/bytes/src/source.rs", "use crate::compress::zstd;\nzstd::open()\n"), [""; 0]);
        assert_eq!(found("crates/bytes/src/source.rs", "let zstd = name.zstd; Kind::zstd;\n"), [""; 0]);
    }

    #[test]
    fn a_dependency_without_a_row_is_found() {
        let manifest =
            "[package]\n[dependencies]\nzmij = \"1\"\nleft-pad = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n";
        let tree = Tree::of(&[("crates/text/Cargo.toml", manifest)]);
        let planted: Vec<String> = every_dependency_has_a_row(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            planted,
            ["crates/text/Cargo.toml:4: one-door: left-pad has no row in the table of xtask/src/tidy/doors.rs"]
        );
    }
}
