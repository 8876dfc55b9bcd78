//! Documents: every module says what it is for, and the standing pages name what exists.
//!
//! That every public item is documented is held by the compiler (`missing_docs`); here it is only
//! weighed.

use super::Finding;
use super::manifest::manifest;
use super::rust::Rust;
use super::tree::{Tree, numbered};
use std::fmt::Write;

/// Doc lines per line of code below which a crate is not explained. Well-kept libraries have 0.3 to
/// 0.6.
const LEAST_DOCS: f64 = 0.1;

/// Pages that name every crate of the project.
const PAGES: &[&str] = &["README.md", "ARCHITECTURE.md"];

/// Folders whose mention in backticks is a path that has to exist.
const PLACES: &[&str] = &["crates/", "python/", "xtask/", "fuzz/", "bench/", "testdata/", "docs/", ".ci/"];

/// Every Rust file begins with `//!`.
pub(super) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let bare = tree.rust().filter(|(file, _)| !file.text.starts_with("//!"));
    let message = "the file does not begin with `//!`: its job, what it never does, where to look next";
    bare.map(|(file, _)| Finding::new(&file.path, 1, "module-docs", message)).collect()
}

/// No crate falls under the lowest bar of documentation.
pub(super) fn coverage(tree: &Tree) -> Vec<Finding> {
    let poor = ratios(tree).into_iter().filter(|(_, ratio)| *ratio < LEAST_DOCS);
    let findings = poor.filter_map(|(folder, ratio)| {
        let message = format!("{ratio:.2} doc lines per line of code; the minimum is {LEAST_DOCS}");
        Some(Finding::new(&manifest(tree, folder)?.path, 1, "doc-coverage", message))
    });
    findings.collect()
}

/// One line that tells each crate's doc lines per line of code.
pub(super) fn summary(tree: &Tree) -> String {
    let mut line = String::from("docs: lines per line of code:");
    for (folder, ratio) in ratios(tree) {
        let _ = write!(line, " {} {ratio:.2}", folder.trim_start_matches("crates/"));
    }
    line
}

/// Doc lines per line of code, tests apart, for each crate that has code.
fn ratios(tree: &Tree) -> Vec<(&str, f64)> {
    let of_crate = |folder: &str| {
        let inside = format!("{folder}/src/");
        let files = tree.rust().filter(|(file, _)| file.path.starts_with(&inside));
        files.map(|(_, rust)| count(rust)).fold((0, 0), |sum, (docs, code)| (sum.0 + docs, sum.1 + code))
    };
    let crates = tree.crates().into_iter().map(|folder| (folder, of_crate(folder)));
    crates
        .filter(|(_, (_, code))| *code > 0)
        .map(|(folder, (docs, code))| (folder, docs as f64 / code as f64))
        .collect()
}

/// Lines of documentation and lines of code, tests apart.
fn count(rust: &Rust) -> (usize, usize) {
    let doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    let lines = rust.code.lines().zip(rust.comments.lines()).enumerate();
    let product = lines.filter(|(index, _)| !rust.is_test(index + 1));
    product.fold((0, 0), |(docs, code), (_, (c, d))| {
        (docs + usize::from(doc(d)), code + usize::from(!c.trim().is_empty()))
    })
}

/// The standing pages are there, name every crate, and name no path that is gone.
pub(super) fn standing(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in PAGES.iter().copied().chain(["CONTRIBUTING.md", "CHANGELOG.md"]) {
        let Some(file) = tree.file(page) else {
            findings.push(Finding::new(page, 1, "standing-docs", "the page is missing"));
            continue;
        };
        if PAGES.contains(&page) {
            let absent = tree.crates().into_iter().filter(|folder| is_listed(folder) && !names(&file.text, folder));
            let message = |folder| format!("does not name the crate {folder}");
            findings.extend(absent.map(|folder| Finding::new(page, 1, "standing-docs", message(folder))));
        }
        if page == "CHANGELOG.md"
            && !file.text.lines().any(|line| line.starts_with("## ") && line.contains("Unreleased"))
        {
            findings.push(Finding::new(page, 1, "standing-docs", "has no section `## Unreleased`"));
        } else if page != "CHANGELOG.md" {
            let gone = paths_named(&file.text).into_iter().filter(|(_, path)| !tree.exists(path));
            let message = |path| format!("names {path}, which does not exist");
            findings.extend(gone.map(|(line, path)| Finding::new(page, line, "standing-docs", message(path))));
        }
    }
    findings
}

/// Whether users and newcomers have to hear of the crate: not of chores and measuring.
fn is_listed(folder: &str) -> bool {
    folder.starts_with("crates/") || folder == "python"
}

/// Whether a page names a crate's folder: its path, or in a drawn tree a line that begins with its
/// last part.
fn names(text: &str, folder: &str) -> bool {
    let last = format!("{}/", folder.rsplit('/').next().unwrap_or(folder));
    text.contains(folder) && folder.contains('/')
        || text.lines().any(|line| line.trim_start().starts_with(&last))
        || text.contains(&format!("`{last}`"))
}

/// Paths in backticks, with their lines. Patterns and placeholders are left out.
fn paths_named(text: &str) -> Vec<(usize, &str)> {
    let is_path = |path: &str| {
        let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        plain && PLACES.iter().any(|place| path.starts_with(place))
    };
    let named =
        numbered(text).flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |path| (line, path)));
    named.filter(|(_, path)| is_path(path)).map(|(line, path)| (line, path.trim_end_matches('/'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/text/Cargo.toml", "[package]\n");

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.message)).collect()
    }

    #[test]
    fn a_file_without_its_head_is_found() {
        let tree = Tree::of(&[("crates/text/src/a.rs", "//! a\n"), ("crates/text/tests/b.rs", "use c;\n//! d\n")]);
        let paths: Vec<String> = module_docs(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/text/tests/b.rs"]);
    }

    #[test]
    fn a_crate_without_docs_is_found() {
        let poor = format!("//! a\n{}#[cfg(test)]\nmod tests {{\n/// b\n}}\n", "c();\n// d\n".repeat(20));
        let tree = Tree::of(&[MANIFEST, ("crates/text/src/lib.rs", &poor)]);
        assert_eq!(
            messages(coverage(&tree)),
            ["crates/text/Cargo.toml:1: 0.05 doc lines per line of code; the minimum is 0.1"]
        );
        let tree = Tree::of(&[MANIFEST, ("crates/text/src/lib.rs", "//! a\n/// b\nc();\nd();\n")]);
        assert_eq!(messages(coverage(&tree)), [""; 0]);
        assert_eq!(summary(&tree), "docs: lines per line of code: text 1.00");
    }

    #[test]
    fn stale_pages_are_found() {
        let tree = Tree::of(&[
            MANIFEST,
            ("README.md", "no crate, but a bus: context/\n"),
            (
                "ARCHITECTURE.md",
                "crates/\n  text/   numbers\nsee `crates/gone/src` and `crates/text` and `crates/*/src`\n",
            ),
            ("CONTRIBUTING.md", "see `xtask/src/none.rs`\n"),
            ("CHANGELOG.md", "# Changes\n## 1.0\n"),
        ]);
        assert_eq!(
            messages(standing(&tree)),
            [
                "README.md:1: does not name the crate crates/text",
                "ARCHITECTURE.md:3: names crates/gone/src, which does not exist",
                "CONTRIBUTING.md:1: names xtask/src/none.rs, which does not exist",
                "CHANGELOG.md:1: has no section `## Unreleased`",
            ]
        );
    }

    #[test]
    fn missing_pages_are_found() {
        assert_eq!(standing(&Tree::of(&[("README.md", "x")])).len(), 3);
    }
}
