//! Plain English: phrases that read like a translation, with what the field says instead.
//!
//! They are looked for where users read: in string literals and doc comments of Rust files, and in pages. Tests and
//! history are left alone. A phrase is in the table only if it is wrong wherever it stands.

use super::{Finding, Tree};

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
pub(super) fn phrases(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files.iter().filter(|file| !QUOTING.iter().any(|quoting| file.path.starts_with(quoting))) {
        let text = if file.is("md") {
            &file.text
        } else if file.is("rs") {
            file.product()
        } else {
            continue;
        };
        // Plain comments are for developers.
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_read_by_users(line.trim_start()));
        for (number, line) in lines.map(|(number, line)| (number, line.to_lowercase())) {
            for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| has_phrase(&line, phrase)) {
                findings.push(Finding::new(&file.path, number, format!("\"{phrase}\": write {instead}")));
            }
        }
    }
}

fn is_read_by_users(line: &str) -> bool {
    !line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")
}

/// Whether the words stand there as they are, and not as parts of others.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_free = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase)
        .any(|(at, _)| is_free(text[..at].chars().next_back()) && is_free(text[at + phrase.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn phrases_are_found_where_users_read() {
        let source =
            "//! Takes leave.\nfn f() {\n    // takes leave\n    g(\"of it, Takes leave\");\n}\nmistakes leave\n";
        let tests = "//! A.\n#[cfg(test)]\nmod tests {\n    const A: &str = \"takes leave\";\n}\n";
        let files = [("src/a.rs", source), ("src/b.rs", tests), ("CHANGELOG.md", "takes leave\n")];
        assert_eq!(findings_of(phrases, &files).len(), 2);
        assert!(PHRASES.iter().all(|(phrase, instead)| *phrase == phrase.to_lowercase() && !instead.is_empty()));
    }
}
