//! Rules about lines: whitespace, markers of unfinished work, machine-specific paths.

use super::{Finding, Tree};

/// Markers of unfinished work, split so that this file passes its own rule.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// First components of absolute paths on a developer's machine.
const MACHINE: &[&str] = &["home", "root", "Users", "work"];

/// Rule: LF line ends, no trailing spaces, a final line end, and no tabs in Rust and Python.
pub(super) fn clean(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in &tree.files {
        let is_code = ["rs", "py", "pyi"].iter().any(|ending| file.is(ending));
        for (number, line) in file.lines() {
            if line.ends_with(['\r', ' ', '\t']) {
                findings.push(Finding::new(file.path, number, "white space at the end of the line"));
            }
            if is_code && line.contains('\t') {
                findings.push(Finding::new(file.path, number, "a tab"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::new(file.path, file.lines().count(), "no newline at the end of the file"));
        }
    }
}

/// Rule: no markers of unfinished work, and no absolute paths of a developer's machine.
pub(super) fn leftovers(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in &tree.files {
        let mut line = 1;
        for (at, byte) in file.text.bytes().enumerate() {
            match byte {
                b'\n' => line += 1,
                b'T' | b'F' | b'X' | b'H' => {
                    if let Some(word) = MARKERS.iter().find(|word| has_word_at(file.text, at, word)) {
                        findings.push(Finding::new(file.path, line, format!("{word}: finish it or drop it")));
                    }
                }
                b'/' | b'\\' => {
                    if let Some(folder) = MACHINE.iter().find(|folder| names_machine(file.text, at, folder)) {
                        findings.push(Finding::new(file.path, line, format!("/{folder}/ is a path of one machine")));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns whether `word` is a whole word at byte `at`.
fn has_word_at(text: &str, at: usize, word: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let (before, rest) = text.as_bytes().split_at(at);
    let after = rest.strip_prefix(word.as_bytes());
    after.is_some_and(|after| !after.first().is_some_and(is_word) && !before.last().is_some_and(is_word))
}

/// Returns whether an absolute path that starts with `folder` is at byte `at`. Inner components (`src/home/`) do not
/// count.
fn names_machine(text: &str, at: usize, folder: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || "._-~})*".contains(c);
    let before = &text[..at];
    let rest = text[at + 1..].strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/') && text[at..].starts_with('/') && !before.ends_with(is_inside))
        || rest.is_some_and(|rest| rest.starts_with('\\') && before.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn dirt_is_found() {
        let findings =
            findings_of(clean, &[("a.rs", "a \nb\r\n\tc\nd"), ("testdata/obj/a.rs", "a "), ("a.c", "\ta\n")]);
        assert_eq!(
            findings,
            [
                "a.rs:1: white space at the end of the line",
                "a.rs:2: white space at the end of the line",
                "a.rs:3: a tab",
                "a.rs:4: no newline at the end of the file",
            ]
        );
    }

    #[test]
    fn leftovers_are_found() {
        for mark in MARKERS {
            assert_eq!(findings_of(leftovers, &[("a.md", &format!("a\n({mark}: b)\n{mark}X\n"))]).len(), 1);
        }
        for folder in MACHINE {
            for planted in [format!("see /{folder}/me"), format!("C:\\{folder}\\me")] {
                assert_eq!(findings_of(leftovers, &[("a.md", &planted)]).len(), 1);
            }
            assert_eq!(findings_of(leftovers, &[("a.md", &format!("https://a.org/{folder}/ src/{folder}/"))]).len(), 0);
        }
    }
}
