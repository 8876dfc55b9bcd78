//! Every folder of test files says where its files come from: `testdata/README.md` or
//! `testdata/<format>/README.md` names it.

use super::Finding;
use super::tree::Tree;
use std::collections::BTreeSet;

/// The folder of all test data.
const ROOT: &str = "testdata";

/// Levels that sort files by what must happen to them. Naming one says nothing about the origins
/// under it.
const SORTS: &[&str] = &["good", "bad", "regression"];

/// Each folder that holds files is named on a page, itself or by an origin folder above it.
pub(super) fn readmes(tree: &Tree) -> Vec<Finding> {
    let named = named(tree);
    let unnamed = folders(tree).into_iter().filter(|folder| !is_named(&named, folder));
    let findings = unnamed.map(|folder| {
        let message = format!("no page names {folder}/: what its files are, and from where");
        Finding::new(&format!("{ROOT}/README.md"), 1, "testdata", message)
    });
    findings.collect()
}

/// Folders with files of data, relative to `testdata`.
fn folders(tree: &Tree) -> BTreeSet<&str> {
    let files = tree.data.iter().filter_map(|path| path.strip_prefix("testdata/"));
    files.filter_map(|path| Some(path.rsplit_once('/')?.0)).collect()
}

/// Every word of the pages that may be a folder, relative to `testdata`.
fn named(tree: &Tree) -> BTreeSet<String> {
    let pages = tree.files.iter().filter_map(|file| {
        let inside = file.path.strip_prefix("testdata/")?;
        Some((inside.strip_suffix("README.md")?, &file.text))
    });
    pages.flat_map(|(folder, text)| words(text).map(move |word| format!("{folder}{word}"))).collect()
}

/// The parts of a text that may be paths, without the stroke or full stop at their end.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    text.split(move |c| !part(c)).map(|word| word.trim_end_matches(['/', '.'])).filter(|word| !word.is_empty())
}

/// Whether the folder, or an origin above it, is among the named ones.
fn is_named(named: &BTreeSet<String>, folder: &str) -> bool {
    let says_where = |path: &str| path.contains('/') && !path.rsplit('/').next().is_some_and(|l| SORTS.contains(&l));
    let above = folder.match_indices('/').map(|(at, _)| &folder[..at]).filter(|path| says_where(path));
    named.contains(folder) || above.into_iter().any(|path| named.contains(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_a_word_are_found() {
        let tree = Tree::of(&[
            ("testdata/README.md", "all of obj/: | obj/good/ours | own |, licenses/"),
            ("testdata/obj/README.md", "`good/tiny/` is ours; bad: see there."),
            ("testdata/obj/good/ours/a.obj", ""),
            ("testdata/obj/good/tiny/maps/a.tga", ""),
            ("testdata/obj/good/other/a.obj", ""),
            ("testdata/obj/bad/a.obj", ""),
            ("testdata/obj/bad/other/a.obj", ""),
            ("testdata/licenses/a.txt", ""),
            ("testdata/ply/good/a.ply", ""),
        ]);
        let found: Vec<String> = readmes(&tree).into_iter().map(|finding| finding.message).collect();
        let wanted = ["obj/bad/other", "obj/good/other", "ply/good"];
        assert_eq!(found, wanted.map(|f| format!("no page names {f}/: what its files are, and from where")));
    }
}
