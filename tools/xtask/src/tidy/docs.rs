//! Documentation rules: every file states its purpose, crates are documented, the required pages exist, and test files
//! have origins.

use super::{File, Finding, Tree};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Minimum ratio of doc lines to code lines of a crate. Well-maintained libraries have 0.25 to 0.6.
const MIN_DOCS: f64 = 0.1;

/// Page that mentions every crate of the project.
const MAP: &str = "ARCHITECTURE.md";

/// Subfolders of test data for expected outcomes; they carry no information about origins.
const SORTS: &[&str] = &["good", "bad", "regression"];

/// Rule: every Rust file starts with `//!`.
pub(super) fn module_docs(tree: &Tree, findings: &mut Vec<Finding>) {
    let bare = tree.rust().filter(|file| !file.text.starts_with("//!"));
    let message = "the file does not begin with `//!`: its job, what it never does, where to look next";
    findings.extend(bare.map(|file| Finding::new(file.path, 1, message)));
}

/// Rule: every crate has a minimum of documentation.
pub(super) fn coverage(tree: &Tree, findings: &mut Vec<Finding>) {
    for (folder, docs, _) in ratios(tree).into_iter().filter(|(_, docs, _)| *docs < MIN_DOCS) {
        let message = format!("{docs:.2} doc lines per line of code; the minimum is {MIN_DOCS}");
        findings.push(Finding::new(&format!("{folder}/Cargo.toml"), 1, message));
    }
}

/// Returns one line with the ratios of doc lines and comment lines to code lines of each crate.
pub(super) fn summary(tree: &Tree) -> String {
    let mut line = String::from("docs and comments per line of code:");
    for (folder, docs, comments) in ratios(tree) {
        let _ = write!(line, " {} {docs:.2}/{comments:.2}", folder.rsplit('/').next().unwrap_or(folder));
    }
    line
}

/// Returns the ratios of doc lines and other comment lines to code lines, without tests, for each crate with code.
fn ratios<'a>(tree: &Tree<'a>) -> Vec<(&'a str, f64, f64)> {
    let of_crate = |folder| {
        let inside = format!("{folder}/src/");
        let files = tree.rust().filter(|file| file.path.starts_with(&inside)).map(count);
        let [docs, comments, code] = files.fold([0; 3], |a, b| std::array::from_fn(|i| a[i] + b[i]));
        (code > 0).then(|| (folder, f64::from(docs) / f64::from(code), f64::from(comments) / f64::from(code)))
    };
    tree.packages.iter().filter_map(|package| of_crate(package.folder)).collect()
}

/// Counts lines of documentation, of other comments, and of code.
fn count(file: &File) -> [u32; 3] {
    let mut counts = [0; 3];
    for line in file.product().lines().map(str::trim).filter(|line| !line.is_empty()) {
        let kind = match line {
            _ if line.starts_with("///") || line.starts_with("//!") => 0,
            _ if line.starts_with("//") => 1,
            _ => 2,
        };
        counts[kind] += 1;
    }
    counts
}

/// Rule: the required pages exist, and one mentions every crate.
pub(super) fn standing_pages(tree: &Tree, findings: &mut Vec<Finding>) {
    for page in [MAP, "README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let Some(file) = tree.file(page) else {
            findings.push(Finding::new(page, 1, "the page is missing"));
            continue;
        };
        let folders = tree.packages.iter().map(|package| package.folder);
        let crates = folders
            .filter(|folder| page == MAP && ["crates/", "surfaces/"].iter().any(|place| folder.starts_with(place)));
        let unnamed = crates.filter(|folder| !names_crate(file.text, folder));
        findings.extend(unnamed.map(|folder| Finding::new(page, 1, format!("does not name the crate {folder}"))));
        if page == "CHANGELOG.md" && !file.text.contains("\n## Unreleased") {
            findings.push(Finding::new(page, 1, "has no section `## Unreleased`"));
        }
    }
}

/// Returns whether a page mentions a crate's folder: its path, or its last component with a slash.
fn names_crate(text: &str, folder: &str) -> bool {
    let last = format!("{}/", folder.rsplit('/').next().unwrap_or(folder));
    text.contains(folder)
        || text.lines().any(|line| line.trim_start().starts_with(&last))
        || text.contains(&format!("`{last}`"))
}

/// Rule: a page of `testdata` mentions each folder of test files, or a parent folder for their origin.
pub(super) fn test_data(tree: &Tree, findings: &mut Vec<Finding>) {
    let files = tree.paths.iter().filter(|path| !path.ends_with("README.md"));
    let folders: BTreeSet<&str> =
        files.filter_map(|path| Some(path.strip_prefix("testdata/")?.rsplit_once('/')?.0)).collect();
    let named = named_folders(tree);
    for folder in folders.into_iter().filter(|folder| !is_named(&named, folder)) {
        let message = format!("no page names {folder}/: what its files are, and from where");
        findings.push(Finding::new("testdata/README.md", 1, message));
    }
}

/// Returns every word of the pages that may be a folder, relative to `testdata`.
fn named_folders(tree: &Tree) -> BTreeSet<String> {
    let part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let pages = tree.files.iter().filter_map(|file| {
        let folder = file.path.strip_prefix("testdata/")?.strip_suffix("README.md")?;
        Some((folder, &file.text))
    });
    let words = pages.flat_map(|(folder, text)| text.split(move |c| !part(c)).map(move |word| (folder, word)));
    words.map(|(folder, word)| format!("{folder}{}", word.trim_end_matches(['/', '.']))).collect()
}

/// Returns whether the folder or a parent folder is mentioned.
fn is_named(named: &BTreeSet<String>, folder: &str) -> bool {
    let is_origin = |path: &str| path.rsplit_once('/').is_some_and(|(_, last)| !SORTS.contains(&last));
    let mut above = folder.match_indices('/').map(|(at, _)| &folder[..at]).filter(|path| is_origin(path));
    named.contains(folder) || above.any(|path| named.contains(path))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/core/text/Cargo.toml", "[package]\nname = \"polyhaul-text\"\n");

    #[test]
    fn files_and_crates_without_documents_are_found() {
        let poor = format!("//! a\n{}\n#[cfg(test)]\nmod tests {{\n/// b\n}}\n", "c();\n// d\n".repeat(20));
        let files =
            [MANIFEST, ("crates/core/text/src/lib.rs", &*poor), ("crates/core/text/src/a.rs", "use c;\n//! d\n")];
        assert_eq!(findings_of(module_docs, &files).len(), 1);
        assert_eq!(
            findings_of(coverage, &files[..2]),
            ["crates/core/text/Cargo.toml:1: 0.05 doc lines per line of code; the minimum is 0.1"]
        );
    }

    #[test]
    fn stale_pages_are_found() {
        let files = [
            MANIFEST,
            ("README.md", "no crate\n"),
            ("ARCHITECTURE.md", "a bus: context/\n"),
            ("CHANGELOG.md", "# Changes\n## 1.0\n"),
        ];
        assert_eq!(
            findings_of(standing_pages, &files),
            [
                "ARCHITECTURE.md:1: does not name the crate crates/core/text",
                "CHANGELOG.md:1: has no section `## Unreleased`",
                "CONTRIBUTING.md:1: the page is missing",
            ]
        );
    }

    #[test]
    fn test_files_without_an_origin_are_found() {
        let findings = findings_of(
            test_data,
            &[
                ("testdata/README.md", "all of obj/: | obj/good/ours | own |"),
                ("testdata/obj/README.md", "`good/tiny/` is ours; bad: see there."),
                ("testdata/obj/good/ours/a.obj", ""),
                ("testdata/obj/good/tiny/maps/a.tga", ""),
                ("testdata/obj/bad/a.obj", ""),
                ("testdata/obj/bad/other/a.obj", ""),
                ("testdata/ply/good/a.ply", ""),
            ],
        );
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}
