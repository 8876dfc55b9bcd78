//! Plain English: phrases that read like a translation, with what the field says instead.
//!
//! They are looked for where users read: in string literals and doc comments of Rust files, and in pages. Names, tests
//! and history are let alone. A phrase is in the table only if it is wrong wherever it stands; what takes an editor's
//! judgement is not for a list.

use super::Finding;
use super::rust::Rust;
use super::tree::Tree;

/// What is not written, and what is. In small letters.
const PHRASES: &[(&str, &str)] = &[
    ("as was asked", "because of the option, by name"),
    ("is no sound", "is not a valid"),
    ("is read, and not written", "is read-only"),
    ("takes leave", "needs, with the flag"),
    ("cannot be told", "is not known"),
    ("where at least", "expected at least"),
    ("held back to", "throttled to"),
    ("packs to", "compresses to"),
    ("is defined nowhere", "is not defined"),
    ("ends nothing", "has no matching begin"),
    ("4.7x of the best possible", "4.7× slower than this machine's best"),
    ("of the best possible", "slower than this machine's best"),
    ("at best possible", "at this machine's best"),
    ("best possible here", "this machine's best"),
    ("bound by no", "no single cause"),
    ("does not tell a format", "cannot infer the format"),
    ("does not tell its format", "cannot infer the format"),
    ("has no sense", "is invalid"),
    ("have no sense", "are invalid"),
    ("are no sound", "are not valid"),
    ("is no image", "is not an image"),
    ("is no scene", "is not a scene"),
    ("are read, and not written", "are read-only"),
    ("reading what is in memory", "reading from the page cache"),
    ("told apart from", "distinguished from"),
    ("what cannot be told", "unattributed"),
    ("what it leaves out", "limitations"),
    ("work that one thread does alone", "serial work"),
    ("measure anew", "measure again"),
    ("measures anew", "measures again"),
    ("where none belongs", "unexpected"),
    ("is nothing of", "is not part of"),
    ("waits for nobody", "does not wait"),
    ("leave one of the two out", "remove one of the two options"),
    ("at the host's fault", "the host's fault"),
    ("stands nowhere", "is missing"),
    ("begins nothing", "has no matching end"),
    ("what stands there", "the value"),
    ("with leave", "with permission"),
    ("does not belong here", "unexpected"),
    ("is no type", "is not a type"),
    ("making room for", "allocating"),
    ("say nothing without", "needs"),
    ("beyond ascii", "other than ASCII"),
    ("ascii as it is", "ASCII-compatible"),
    ("end the name in", "use a name that ends in"),
    ("may be raised up to", "raise the limit with"),
    ("of another length", "of a different length"),
    ("of other lengths", "of different lengths"),
    ("read by everything", "the most widely supported"),
    ("where bytes are expected", "expected bytes"),
    ("written of textures", "written only from textures"),
    ("in one piece of memory", "contiguous"),
    ("the nearest byte is written", "clamped or rounded"),
    ("treated as absent", "read as absent"),
    ("names no cache folder", "no cache folder is set"),
];

/// Files that quote old words: the table itself, and history.
const QUOTING: &[&str] = &["xtask/src/tidy/words.rs", "CHANGELOG.md", "bench/record", "fuzz/RECORD.md", "testdata/"];

/// No phrase of the table, in small or capital letters.
pub(super) fn phrases(tree: &Tree) -> Vec<Finding> {
    find_phrases(tree, PHRASES)
}

fn find_phrases(tree: &Tree, phrases: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut look = |path: &str, number: usize, text: &str| {
        let text = text.to_lowercase();
        for (phrase, instead) in phrases.iter().filter(|(phrase, _)| has_phrase(&text, phrase)) {
            findings.push(Finding::new(path, number, "words", format!("\"{phrase}\": write {instead}")));
        }
    };
    let is_quoting = |path: &str| QUOTING.iter().any(|quoting| path.starts_with(quoting));
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md") && !is_quoting(&file.path)) {
        file.lines().for_each(|(number, line)| look(&file.path, number, line));
    }
    for (file, rust) in tree.rust().filter(|(file, _)| !is_quoting(&file.path) && !file.path.contains("/tests/")) {
        for (number, line) in file.lines().filter(|(number, _)| !rust.is_test(*number)) {
            look(&file.path, number, &read_by_users(rust, line, number));
        }
    }
    findings
}

/// Of a line of Rust the doc comment and the string literals; all else is a sign that no phrase has.
fn read_by_users(rust: &Rust, line: &str, number: usize) -> String {
    let of = |view: &'_ str| view.lines().nth(number - 1).unwrap_or_default().to_owned();
    let (code, comment) = (of(&rust.code), of(&rust.comments));
    if ["///", "//!"].iter().any(|begin| comment.trim_start().starts_with(begin)) {
        return comment;
    }
    let is_other =
        |at: usize| [&code, &comment].iter().any(|view| view.as_bytes().get(at).is_some_and(|byte| *byte != b' '));
    line.char_indices().map(|(at, c)| if is_other(at) { '\u{1}' } else { c }).collect()
}

/// Whether the words stand there as they are, and not as parts of others.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_free = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase)
        .any(|(at, _)| is_free(text[..at].chars().next_back()) && is_free(text[at + phrase.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANTED: &[(&str, &str)] = &[("as was asked", "the option"), ("side by side", "in parallel")];

    fn found(path: &str, text: &str) -> Vec<usize> {
        find_phrases(&Tree::of(&[(path, text)]), PLANTED).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn phrases_are_found_where_users_read() {
        let source = "//! Works side by side.\nfn f() {\n    // side by side\n    g(\"held back, As was asked\");\n}\n";
        assert_eq!(found("crates/text/src/a.rs", source), [1, 4]);
        assert_eq!(found("docs/guide/a.md", "# Side by side\n\nas was asking\n"), [1]);
    }

    #[test]
    fn names_tests_and_history_are_let_alone() {
        let tests = "//! A.\n#[cfg(test)]\nmod tests {\n    const A: &str = \"as was asked\";\n}\n";
        assert_eq!(found("crates/text/src/a.rs", tests), []);
        assert_eq!(found("CHANGELOG.md", "side by side\n"), []);
        assert_eq!(found("crates/text/tests/a.rs", "//! side by side\n"), []);
        assert_eq!(found("crates/text/src/a.rs", "//! beside by side and as was askedfor\n"), []);
    }

    #[test]
    fn every_phrase_can_be_found() {
        assert!(PHRASES.iter().all(|(phrase, instead)| *phrase == phrase.to_lowercase() && !instead.is_empty()));
    }
}
