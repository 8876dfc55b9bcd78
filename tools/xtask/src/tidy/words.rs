//! Plain English: phrases that read like a translation (`phrases.txt`), with the usual expression.
//!
//! They are searched where users read: in string literals and doc comments of Rust files, and in pages. Tests and
//! history are exempt. A phrase is in the table only if it is wrong everywhere.

use super::{Finding, Tree};

/// The phrase in lower case, and its replacement: a pair on each line.
const PHRASES: &str = include_str!("phrases.txt");

/// Files that quote old words: the table itself, and history.
const QUOTING: &[&str] =
    &["tools/xtask/src/tidy/words.rs", "CHANGELOG.md", "tools/bench/record", "tools/fuzz/RECORD.md", "testdata/"];

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
            for (phrase, instead) in pairs().filter(|(phrase, _)| has_phrase(&line, phrase)) {
                findings.push(Finding::new(&file.path, number, format!("\"{phrase}\": write {instead}")));
            }
        }
    }
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PHRASES.lines().filter_map(|line| line.split_once(" = "))
}

fn is_read_by_users(line: &str) -> bool {
    !line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")
}

/// Whether the words occur exactly, and not as parts of others.
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
        assert_eq!(pairs().count(), PHRASES.lines().count());
        assert!(pairs().all(|(phrase, instead)| *phrase == phrase.to_lowercase() && !instead.is_empty()));
    }
}
