//! Finds phrases that read like a translation (`phrases.txt`), and suggests the usual expression.
//!
//! Searches Markdown files, and Rust files except for lines that are plain comments: the text that users read. Tests
//! and history are exempt. The table contains only phrases that are wrong in every context.

use super::{Finding, Tree};
use std::collections::HashMap;

/// Pairs of a lower-case phrase and its replacement, one per line.
const PHRASES: &str = include_str!("phrases.txt");

/// Files that quote old wording: this file, and history.
const QUOTING: &[&str] =
    &["tools/xtask/src/tidy/words.rs", "CHANGELOG.md", "tools/bench/record", "tools/fuzz/RECORD.md", "testdata/"];

/// Rule: none of the phrases, ignoring case.
pub(super) fn phrases(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut by_word: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
    for (phrase, instead) in pairs() {
        by_word.entry(first_word(phrase)).or_default().push((phrase, instead));
    }
    for file in tree.files.iter().filter(|file| !QUOTING.iter().any(|quoting| file.path.starts_with(quoting))) {
        let text = match file.path.rsplit_once('.') {
            Some((_, "md")) => file.text,
            Some((_, "rs")) => file.product(),
            _ => continue,
        };
        let text = text.to_ascii_lowercase();
        for (start, end) in word_ranges(text.as_bytes()) {
            let Some(phrases) = by_word.get(&text[start..end]) else { continue };
            for (phrase, instead) in phrases.iter().filter(|(phrase, _)| has_phrase_at(&text, start, phrase)) {
                let before = &text[..start];
                let line = before.rsplit('\n').next().unwrap_or_default();
                // Plain comments are for developers.
                if is_read_by_users(line.trim_start()) {
                    let number = 1 + before.matches('\n').count();
                    findings.push(Finding::new(file.path, number, format!("\"{phrase}\": write {instead}")));
                }
            }
        }
    }
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PHRASES.lines().filter_map(|line| line.split_once(" = "))
}

fn first_word(phrase: &str) -> &str {
    word_ranges(phrase.as_bytes()).first().map_or("", |(start, end)| &phrase[*start..*end])
}

/// Returns the start and end of each word. A plain loop, because this reads every byte of the repository.
fn word_ranges(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut index = 0;
    while index < bytes.len() {
        let start = index;
        while index < bytes.len() && is_word_byte(bytes[index]) {
            index += 1;
        }
        if index > start {
            ranges.push((start, index));
        }
        index += 1;
    }
    ranges
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_read_by_users(line: &str) -> bool {
    !line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")
}

/// Returns whether the words of the phrase are at `start`, and the last one is complete.
fn has_phrase_at(text: &str, start: usize, phrase: &str) -> bool {
    let after = text[start..].strip_prefix(phrase);
    after.is_some_and(|after| !after.as_bytes().first().copied().is_some_and(is_word_byte))
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
        assert!(pairs().all(|(phrase, _)| phrase.starts_with(first_word(phrase))));
    }
}
