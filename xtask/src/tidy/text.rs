//! Clean text, in every file that people write: line ends, spaces, leftovers.

use super::Finding;
use super::tree::Tree;

/// Marks of unfinished work, in two halves each so that this file passes its own rule.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// First folders of absolute paths on somebody's machine.
const MACHINE: &[&str] = &["home", "root", "Users", "work"];

/// LF line ends, no space before them, a last line that ends, and no tabs in Rust and Python.
pub(super) fn clean(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let mut add = |line, rule, message| findings.push(Finding::new(&file.path, line, rule, message));
        let is_code = [".rs", ".py", ".pyi"].iter().any(|ending| file.path.ends_with(ending));
        for (number, line) in file.lines() {
            if line.ends_with('\r') {
                add(number, "line-ends", "a carriage return");
            } else if line.ends_with([' ', '\t']) {
                add(number, "whitespace", "trailing whitespace");
            }
            if is_code && line.contains('\t') {
                add(number, "tabs", "a tab");
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            add(file.lines().count(), "line-ends", "no newline at the end of the file");
        }
    }
    findings
}

/// No marks of unfinished work.
pub(super) fn markers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| MARKERS.contains(word)) {
                findings.push(Finding::new(&file.path, number, "markers", format!("{word}: finish it or drop it")));
            }
        }
    }
    findings
}

/// No absolute paths of a developer's machine.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(path) = MACHINE.iter().find_map(|folder| machine_path(line, folder)) {
                let message = format!("{path} is a path of one machine");
                findings.push(Finding::new(&file.path, number, "machine-paths", message));
            }
        }
    }
    findings
}

/// The start of an absolute path in `line` whose first folder is `folder`. Later parts of a path
/// (`src/home/`) pass.
fn machine_path(line: &str, folder: &str) -> Option<String> {
    let path = format!("/{folder}/");
    let inside = |c: char| c.is_alphanumeric() || "._-~})*".contains(c);
    let starts = |at: usize| !line[..at].ends_with(inside);
    let unix = line.match_indices(&path).any(|(at, _)| starts(at));
    let windows = line.contains(&format!(":\\{folder}\\")) || line.contains(&format!(":\\\\{folder}\\\\"));
    (unix || windows).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<(usize, &'static str)> {
        rule(&Tree::of(&[(path, text)])).iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn dirt_is_found() {
        let dirty = "a \nb\r\n\tc\nd";
        let wanted = [(1, "whitespace"), (2, "line-ends"), (3, "tabs"), (4, "line-ends")];
        assert_eq!(found(clean, "crates/text/src/a.rs", dirty), wanted);
        assert_eq!(found(clean, "crates/text/src/a.rs", "a\n\n    b\n"), []);
        assert_eq!(found(clean, "testdata/obj/bad/a.rs", dirty), []);
        assert_eq!(found(clean, "a.c", "\ta\n"), []);
    }

    #[test]
    fn marks_of_unfinished_work_are_found() {
        for mark in MARKERS {
            assert_eq!(found(markers, "README.md", &format!("a\n({mark}: b)\n")), [(2, "markers")]);
            assert_eq!(found(markers, "README.md", &format!("{mark}X_{mark}\n")), []);
        }
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in MACHINE {
            for planted in [format!("see /{folder}/me"), format!("\"/{folder}/me\""), format!("C:\\{folder}\\me")] {
                assert_eq!(found(machine_paths, ".ci/run", &format!("#!\n{planted}\n")), [(2, "machine-paths")]);
            }
            assert_eq!(found(machine_paths, "README.md", &format!("https://a.org/{folder}/ src/{folder}/\n")), []);
        }
    }
}
