//! Who may know whom inside the library, and what the quiet parts may not touch: threads, files,
//! clocks.
//!
//! Reads the paths in the code (`crate::…`, `super::…`, `polyhaul_text::…`, `std::…`). Test code is
//! free.

use super::Finding;
use super::doors::lies_in;
use super::rust::{CodePath, Rust};
use super::tree::{File, Tree, module_folder};

/// Where the modules of the library are.
const LIBRARY: &str = "crates/polyhaul/src";

/// What one module of the library may name.
struct Knows {
    module: &'static str,
    /// Modules of the library, besides itself.
    modules: &'static [&'static str],
    /// The project's other crates.
    crates: &'static [&'static str],
}

/// Modules without a row (the face, `error`, `options`, `warnings`) may join the others.
const KNOWS: &[Knows] = &[
    Knows { module: "model", modules: &[], crates: &[] },
    Knows {
        module: "formats",
        // A format is the job that the pipeline runs: it fills in what happens to a chunk. Writing OBJ
        // numbers equal values, which is the work of `ops`.
        modules: &["model", "text", "error", "options", "printable", "warnings", "pipeline", "ops"],
        crates: &["polyhaul_text"],
    },
    Knows { module: "pipeline", modules: &["error", "options"], crates: &["polyhaul_bytes"] },
    Knows { module: "printable", modules: &[], crates: &[] },
    Knows { module: "ops", modules: &["model", "pipeline", "error", "options"], crates: &[] },
    Knows { module: "report", modules: &["printable", "warnings"], crates: &["polyhaul_bytes"] },
];

/// The places that start threads.
const THREADS: &[&str] =
    &["crates/polyhaul/src/pipeline", "crates/polyhaul/src/report/sampler", "crates/cli/src/signals", "python/src/job"];

/// Parts of `std` that a place may not name: these turn bytes into values and back, and wait for
/// nothing.
const QUIET: &[(&str, &[&str])] = &[
    ("crates/text/src", &["fs", "io", "net", "thread", "time", "process", "env"]),
    ("crates/polyhaul/src/model", &["fs", "io", "net", "thread", "time", "process", "env"]),
    ("crates/polyhaul/src/formats", &["fs", "net", "thread", "time", "process", "env"]),
    ("crates/polyhaul/src/ops", &["fs", "io", "net", "thread", "time", "process", "env"]),
];

/// Modules of the library name only what their row allows, and no format names another.
pub(super) fn modules_know(tree: &Tree) -> Vec<Finding> {
    let face = tree.file("crates/polyhaul/src/lib.rs").and_then(|file| file.rust.as_ref());
    let mut findings = Vec::new();
    for (file, rust) in tree.product() {
        let module = module_path(&file.path);
        let Some(knows) = KNOWS.iter().find(|row| module.first().is_some_and(|first| first == row.module)) else {
            continue;
        };
        for (line, mut path) in local_paths(rust, &module) {
            if let (Some(home), 1) = (face.and_then(|face| exported_from(face, &path)), path.len()) {
                path.insert(0, home);
            }
            findings.extend(judge(tree, knows, &module, &path).map(|why| finding(file, line, why)));
        }
        for path in rust.paths(&["polyhaul_text", "polyhaul_bytes"]) {
            if !knows.crates.contains(&path.segments[0].as_str()) {
                let why = format!("`{}` may not know {}", knows.module, path.segments[0]);
                findings.push(finding(file, path.line, why));
            }
        }
    }
    findings
}

/// Only the pipeline starts threads, and few others.
pub(super) fn threads(tree: &Tree) -> Vec<Finding> {
    let may_not = |path: &str| !THREADS.iter().any(|place| lies_in(path, place));
    let message = format!("only {} starts threads", THREADS.join(" or "));
    let mut findings = Vec::new();
    for (file, rust) in tree.product().filter(|(file, _)| may_not(&file.path)) {
        let starts = rust.paths(&["std", "thread"]).into_iter().filter(starts_thread);
        findings.extend(starts.map(|path| Finding::new(&file.path, path.line, "threads", &*message)));
    }
    findings
}

/// Whether the path ends in what starts threads; `thread::sleep` does not.
fn starts_thread(path: &CodePath) -> bool {
    let from_thread = path.segments.iter().skip_while(|segment| *segment != "thread").nth(1);
    from_thread.is_some_and(|name| matches!(name.as_str(), "spawn" | "scope" | "Builder" | "*"))
}

/// Parsing, formatting and the model know nothing of files and clocks.
pub(super) fn system(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.product() {
        let Some((place, quiet)) = QUIET.iter().find(|(place, _)| lies_in(&file.path, place)) else {
            continue;
        };
        for path in rust.paths(&["std"]) {
            if let Some(part) = path.segments.get(1).filter(|part| quiet.contains(&part.as_str())) {
                findings.push(Finding::new(
                    &file.path,
                    path.line,
                    "quiet",
                    format!("{place} may not name std::{part}"),
                ));
            }
        }
    }
    findings
}

/// A finding of the rule between modules.
fn finding(file: &File, line: usize, why: String) -> Finding {
    Finding::new(&file.path, line, "who-knows-whom", why)
}

/// The module of a file of the library: `formats/obj/mod.rs` is `["formats", "obj"]`. Empty for the
/// root and for files of other crates.
fn module_path(path: &str) -> Vec<String> {
    let inside = path.strip_prefix(LIBRARY).map(module_folder).unwrap_or_default();
    inside.split('/').filter(|part| !part.is_empty()).map(String::from).collect()
}

/// Paths to names of the library, from its root on, with the lines where they stand.
fn local_paths(rust: &Rust, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let resolve = |path: CodePath| {
        let ups = path.segments.iter().filter(|segment| *segment == "super").count();
        let names = path.segments.iter().filter(|s| !matches!(s.as_str(), "crate" | "self" | "super"));
        let ups = ups.saturating_sub(rust.inline_modules(path.token));
        let base = if path.segments[0] == "crate" { &[] } else { &module[..module.len().saturating_sub(ups)] };
        (path.line, base.iter().chain(names).cloned().collect())
    };
    rust.paths(&["crate", "super", "self"]).into_iter().map(resolve).collect()
}

/// The module from which the face exports the name `path`, where it says so (`pub use
/// error::Error;`).
fn exported_from(face: &Rust, path: &[String]) -> Option<String> {
    let modules = face.indices().filter(|&i| face.token(i) == "mod").map(|i| face.token(i + 1));
    let roots: Vec<&str> = modules.chain(["crate", "self"]).collect();
    let exports = face.paths(&roots).into_iter().find(|export| export.segments.last() == path.first())?;
    exports.segments.into_iter().find(|segment| !matches!(segment.as_str(), "crate" | "self"))
}

/// Why `module` may not name `path`, if it may not.
fn judge(tree: &Tree, knows: &Knows, module: &[String], path: &[String]) -> Option<String> {
    let first = path.first()?;
    if first == knows.module {
        return other_format(tree, module, path);
    }
    if knows.modules.contains(&first.as_str()) {
        return None;
    }
    Some(format!("`{}` may not know `crate::{first}`", knows.module))
}

/// Formats are the folders under `formats/`; the files directly under it are shared, and may name
/// them all.
fn other_format(tree: &Tree, module: &[String], path: &[String]) -> Option<String> {
    let folder = |name: &String| tree.exists(&format!("{LIBRARY}/formats/{name}"));
    let own = module.get(1).filter(|name| module[0] == "formats" && folder(name))?;
    let other = path.get(1).filter(|name| *name != own && folder(name))?;
    Some(format!("format `{own}` may not know format `{other}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: (&str, &str) =
        ("crates/polyhaul/src/lib.rs", "mod model;\nmod ops;\npub use error::Error;\npub use ops::weld;\nmod error;\n");
    const MTL: (&str, &str) = ("crates/polyhaul/src/formats/mtl/mod.rs", "//! x\n");

    fn found(path: &str, code: &str) -> Vec<String> {
        let tree = Tree::of(&[FACE, MTL, (path, code)]);
        let rules = [modules_know, threads, system];
        rules.iter().flat_map(|rule| rule(&tree)).map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn the_model_knows_nothing() {
        let planted = found("crates/polyhaul/src/model/mesh.rs", "use super::Scene;\nuse crate::error::Error;\n");
        assert_eq!(planted, ["2: `model` may not know `crate::error`"]);
        let planted = found("crates/polyhaul/src/model.rs", "fn f() { polyhaul_text::g() }\n");
        assert_eq!(planted, ["1: `model` may not know polyhaul_text"]);
    }

    #[test]
    fn formats_know_model_text_errors_and_options() {
        let code = "use crate::{Error, error::Place, model::Mesh, options::Limits, resolve::Resolver};\nuse polyhaul_text::a;\n";
        let planted = found("crates/polyhaul/src/formats/obj/reader.rs", code);
        assert_eq!(planted, ["1: `formats` may not know `crate::resolve`"]);
        let planted = found(
            "crates/polyhaul/src/formats/obj/reader.rs",
            "use crate::inspect::info;\nuse polyhaul_bytes::Sink;\n",
        );
        assert_eq!(planted, ["1: `formats` may not know `crate::inspect`", "2: `formats` may not know polyhaul_bytes"]);
    }

    #[test]
    fn formats_never_know_each_other() {
        let inside = "crates/polyhaul/src/formats/obj/reader.rs";
        let wanted = ["1: format `obj` may not know format `mtl`"];
        assert_eq!(found(inside, "use crate::formats::mtl::parse;\n"), wanted);
        assert_eq!(found(inside, "use super::super::mtl::parse;\n"), wanted);
        assert_eq!(found("crates/polyhaul/src/formats/obj/mod.rs", "use super::mtl::parse;\n"), wanted);
        assert_eq!(found(inside, "use super::dialect;\nuse crate::formats::registry;\n"), [""; 0]);
        assert_eq!(found("crates/polyhaul/src/formats/mod.rs", "use self::mtl::parse;\n"), [""; 0]);
    }

    #[test]
    fn super_in_an_inline_module_stays_inside() {
        let code = "mod private {\n    use super::Chunk;\n}\n";
        assert_eq!(found("crates/polyhaul/src/pipeline/mod.rs", code), [""; 0]);
    }

    #[test]
    fn threads_start_in_the_pipeline_alone() {
        assert_eq!(found("crates/polyhaul/src/pipeline/run.rs", "std::thread::scope(|s| f(s));\n"), [""; 0]);
        let wanted = [format!("1: only {} starts threads", THREADS.join(" or "))];
        assert_eq!(found("crates/cli/src/main.rs", "use std::{io, thread::spawn};\n"), wanted);
        assert_eq!(found("crates/bytes/src/source.rs", "thread::Builder::new()\n"), wanted);
        assert_eq!(found("crates/bytes/src/throttle.rs", "std::thread::sleep(wait);\n"), [""; 0]);
    }

    #[test]
    fn quiet_places_touch_no_file_and_no_clock() {
        let planted = found("crates/text/src/parse.rs", "//! x\nuse std::{fmt, time::Instant};\n");
        assert_eq!(planted, ["2: crates/text/src may not name std::time"]);
        let planted = found("crates/polyhaul/src/formats/obj/reader.rs", "std::fs::read(p)\n");
        assert_eq!(planted, ["1: crates/polyhaul/src/formats may not name std::fs"]);
    }

    #[test]
    fn tests_inside_a_module_are_free() {
        let code = "#[cfg(test)]\nmod tests {\n    use crate::pipeline::Budget;\n}\n";
        assert_eq!(found("crates/polyhaul/src/formats/obj/reader.rs", code), [""; 0]);
    }
}
