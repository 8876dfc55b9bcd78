//! Rules about lines: white space, leftovers, lengths, and names restricted to some places.

use super::{File, Finding, Tree};

/// Marks of unfinished work, in two halves each so that this file passes its own rule.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// First folders of absolute paths on somebody's machine.
const MACHINE: &[&str] = &["home", "root", "Users", "work"];

const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 800;
const COLUMNS: usize = 120;

/// Parts of `std` restricted to these places: threads start in few places, and conversions between bytes and values use
/// no files and no clock.
const ONLY_IN: &[(&[&str], &[&str])] = &[(
    &["thread::spawn", "thread::scope", "thread::Builder"],
    &[
        "crates/core/pipeline/",
        "crates/core/cloud/src/engine.rs",
        "crates/insight/src/sampler.rs",
        "crates/batch/src/",
        "surfaces/cli/src/batch/",
        "surfaces/cli/src/signals.rs",
        "surfaces/python/src/job.rs",
        "surfaces/python/src/scan.rs",
        "tools/bench/",
    ],
)];
/// Conversions between bytes and values use no files and no clock.
const QUIET: &[&str] = &[
    "crates/core/text/src",
    "crates/core/model/src",
    "crates/geometry/src",
    "crates/formats/",
    "crates/formats/image/src",
    "crates/formats/pbrt/src",
];
const NOISE: &[&str] = &["std::fs", "std::net", "std::thread", "std::time", "std::process", "std::env"];

/// LF line ends, no space before them, a last line that ends, and no tabs in Rust and Python.
pub(super) fn clean(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in &tree.files {
        let is_code = ["rs", "py", "pyi"].iter().any(|it| file.is(it));
        for (number, line) in file.lines() {
            if line.ends_with(['\r', ' ', '\t']) {
                findings.push(Finding::new(&file.path, number, "white space at the end of the line"));
            }
            if is_code && line.contains('\t') {
                findings.push(Finding::new(&file.path, number, "a tab"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::new(&file.path, file.lines().count(), "no newline at the end of the file"));
        }
    }
}

/// No marks of unfinished work, and no absolute paths of a developer's machine.
pub(super) fn leftovers(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in &tree.files {
        for (number, line) in file.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| MARKERS.contains(word)) {
                findings.push(Finding::new(&file.path, number, format!("{word}: finish it or drop it")));
            }
            if let Some(folder) = MACHINE.iter().find(|folder| names_machine(line, folder)) {
                findings.push(Finding::new(&file.path, number, format!("/{folder}/ is a path of one machine")));
            }
        }
    }
}

/// Whether an absolute path in `line` begins with `folder`. Later parts of a path (`src/home/`) pass.
fn names_machine(line: &str, folder: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "._-~})*".contains(c);
    let unix = line.match_indices(&format!("/{folder}/")).any(|(at, _)| !line[..at].ends_with(inside));
    unix || line.contains(&format!(":\\{folder}\\"))
}

/// No source file and no comment is too long. Code is the formatter's, functions are clippy's.
pub(super) fn lengths(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files.iter().filter(|file| file.is("rs") || file.is("py")) {
        let count = file.text.lines().count();
        if count > FILE_LINES {
            let message = format!("{count} lines; the limit is {FILE_LINES}: split the file by purpose");
            findings.push(Finding::new(&file.path, FILE_LINES + 1, message));
        }
        let comments = file.lines().filter(|(_, line)| line.trim_start().starts_with("//"));
        let wide = comments.filter(|(_, line)| line.chars().count() > COLUMNS);
        findings.extend(wide.map(|(at, _)| Finding::new(&file.path, at, format!("more than {COLUMNS} columns"))));
    }
}

/// A Python function ends before the next line that is indented no deeper than its `def`.
pub(super) fn python_functions(tree: &Tree, findings: &mut Vec<Finding>) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    for file in tree.files.iter().filter(|file| file.is("py")) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let Some(rest) = line.trim_start().trim_start_matches("async ").strip_prefix("def ") else { continue };
            let is_inside =
                |it: &&&str| it.trim().is_empty() || indent(it) > indent(line) || it.trim().starts_with(')');
            let count = 1 + lines[start + 1..].iter().take_while(is_inside).filter(|it| !it.trim().is_empty()).count();
            if count > FUNCTION_LINES {
                let name = rest.split('(').next().unwrap_or(rest);
                let message = format!("`{name}` has {count} lines; the limit is {FUNCTION_LINES}");
                findings.push(Finding::new(&file.path, start + 1, message));
            }
        }
    }
}

/// Only few places start threads, and formats touch no file and no clock.
pub(super) fn threads_and_system(tree: &Tree, findings: &mut Vec<Finding>) {
    let is_product = |file: &&File| file.path.contains("/src/") && !file.path.starts_with("tools/xtask/");
    for file in tree.rust().filter(is_product) {
        // Faults that are planted for tests are chosen by the environment.
        let is_quiet =
            file.path != "crates/core/model/src/error.rs" && QUIET.iter().any(|it| file.path.starts_with(it));
        for (number, line) in (1..).zip(file.product().lines()).filter(|(_, it)| !it.trim_start().starts_with("//")) {
            for (names, places) in ONLY_IN {
                let is_there = places.iter().any(|place| file.path.starts_with(place));
                if let Some(name) = names.iter().find(|name| line.contains(*name)).filter(|_| !is_there) {
                    findings.push(Finding::new(&file.path, number, format!("{name}: only {}", places.join(", "))));
                }
            }
            if let Some(name) = NOISE.iter().find(|name| is_quiet && line.contains(*name)) {
                findings.push(Finding::new(&file.path, number, format!("{name}: formats and the model do no I/O")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn dirt_is_found() {
        let found = findings_of(clean, &[("a.rs", "a \nb\r\n\tc\nd"), ("testdata/obj/a.rs", "a "), ("a.c", "\ta\n")]);
        assert_eq!(
            found,
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

    #[test]
    fn what_is_too_long_is_found() {
        let long = "x\n".repeat(801) + "// " + &"é".repeat(118);
        assert_eq!(findings_of(lengths, &[("a.rs", &long), ("a.md", &long)]).len(), 2);
        let function = |lines: usize| format!("def f(\n    a,\n):\n{}\ndef g(): pass\n", "    x\n".repeat(lines));
        assert_eq!(
            findings_of(python_functions, &[("a.py", &function(68))]),
            ["a.py:1: `f` has 71 lines; the limit is 70"]
        );
        assert_eq!(findings_of(python_functions, &[("a.py", &function(67))]), [""; 0]);
    }

    #[test]
    fn threads_and_files_in_formats_are_found() {
        let code =
            "std::thread::scope(f);\nstd::fs::read(p);\n// std::fs\n#[cfg(test)]\nmod tests {\n std::fs::a();\n}\n";
        assert_eq!(findings_of(threads_and_system, &[("crates/geometry/src/a.rs", code)]).len(), 3);
        assert_eq!(findings_of(threads_and_system, &[("crates/core/pipeline/src/a.rs", code)]), [""; 0]);
    }
}
