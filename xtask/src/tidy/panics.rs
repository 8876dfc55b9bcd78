//! What library and command code never does: panic, print past the writer it was given, or leave
//! `unsafe` unexplained.

use super::Finding;
use super::rust::Rust;
use super::tree::{File, Tree};

/// Macros that end the program, or admit that something is missing.
const PANICKING: &[&str] = &["panic", "unreachable", "todo", "unimplemented"];
/// Macros that panic where nobody reads any more.
const PRINTING: &[&str] = &["println", "eprintln", "print", "eprint", "dbg"];

/// How far above an `unsafe` its reason may stand. Lines of comment do not count.
const REASON_LINES: usize = 6;

/// No panic in product code, unless the line (or the one above) says `// cannot fail: reason`.
pub(super) fn panics(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.product() {
        let of_file = rust.indices().filter_map(|i| Some((rust.line(i), panic_at(rust, i)?)));
        let kept = of_file.filter(|(line, _)| !rust.is_test(*line) && !cannot_fail(rust, *line));
        findings.extend(kept.map(|(line, what)| {
            let message = format!("{what} in product code: return an error, or say `// cannot fail: reason`");
            Finding::new(&file.path, line, "panics", message)
        }));
    }
    findings
}

/// What panics at token `i`: a call such as `.unwrap()`, or a macro.
fn panic_at(rust: &Rust, i: usize) -> Option<String> {
    let name = rust.token(i);
    let called = matches!(name, "unwrap" | "expect" | "unwrap_err" | "expect_err")
        && i > 0
        && rust.token(i - 1) == "."
        && rust.token(i + 1) == "(";
    match called {
        true => Some(format!("`.{name}(`")),
        false => (PANICKING.contains(&name) && rust.token(i + 1) == "!").then(|| format!("`{name}!`")),
    }
}

/// Whether the line or the one above gives a reason why it cannot fail.
fn cannot_fail(rust: &Rust, line: usize) -> bool {
    let says = |index: usize| {
        let comment = rust.comments.split('\n').nth(index).unwrap_or("");
        comment.split_once("// cannot fail:").is_some_and(|(_, reason)| !reason.trim().is_empty())
    };
    says(line - 1) || line >= 2 && says(line - 2)
}

/// Nothing prints with the macros that panic on a closed pipe: not the product, not the chores, not
/// the test kit.
pub(super) fn prints(tree: &Tree) -> Vec<Finding> {
    let outside = |file: &File| !["tests/", "benches/", "examples/", "build.rs"].iter().any(|p| file.path.contains(p));
    let mut findings = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| outside(file) && !file.path.starts_with("bench/")) {
        let printing = rust.indices().filter(|&i| PRINTING.contains(&rust.token(i)) && rust.token(i + 1) == "!");
        findings.extend(printing.filter(|&i| !rust.is_test(rust.line(i))).map(|i| {
            Finding::new(&file.path, rust.line(i), "prints", format!("`{}!`: write to a writer", rust.token(i)))
        }));
    }
    findings
}

/// Every `unsafe` block and impl says why it holds.
pub(super) fn unsafe_reasons(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let code: Vec<&str> = rust.code.split('\n').collect();
        let comments: Vec<&str> = rust.comments.split('\n').collect();
        for i in rust.indices().filter(|&i| rust.token(i) == "unsafe" && matches!(rust.token(i + 1), "{" | "impl")) {
            if !has_reason(&code, &comments, rust.line(i)) {
                let message = format!("`unsafe {}` without a `// SAFETY:` reason above it", rust.token(i + 1));
                findings.push(Finding::new(&file.path, rust.line(i), "unsafe", message));
            }
        }
    }
    findings
}

/// Whether a reason stands on `line` or near above it.
fn has_reason(code: &[&str], comments: &[&str], line: usize) -> bool {
    let mut lines_of_code = 0;
    for index in (0..line).rev() {
        if comments[index].contains("SAFETY:") {
            return true;
        }
        let only_comment = code[index].trim().is_empty() && !comments[index].trim().is_empty();
        lines_of_code += usize::from(!only_comment && index + 1 < line);
        if lines_of_code >= REASON_LINES {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&Tree) -> Vec<Finding>, path: &str, code: &str) -> Vec<usize> {
        rule(&Tree::of(&[(path, code)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn panics_in_product_code_are_found() {
        let code = "let a = b.unwrap();\nlet c = d\n    .expect(\"e\");\npanic!(\"f\");\nunreachable!()\ntodo!();\nx.unwrap_err();\n";
        assert_eq!(lines(panics, "crates/bytes/src/a.rs", code), [1, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_cannot_fail_says_why() {
        let code = "a.unwrap(); // cannot fail: b\n\n// cannot fail: c\nd.unwrap();\n\ne.unwrap(); // cannot fail:\n";
        assert_eq!(lines(panics, "crates/bytes/src/a.rs", code), [6]);
    }

    #[test]
    fn tests_strings_docs_and_lookalikes_may() {
        let code = "/// a.unwrap()\nfn f() { g(\"panic!\").unwrap_or(1); expect(2); panic::catch_unwind(h) }\n#[cfg(test)]\nmod tests {\n  fn i() { j.unwrap() }\n}\n";
        assert_eq!(lines(panics, "crates/bytes/src/a.rs", code), [0; 0]);
        for path in ["crates/bytes/tests/a.rs", "crates/bytes/build.rs", "xtask/src/a.rs", "crates/testkit/src/lib.rs"]
        {
            assert_eq!(lines(panics, path, "a.unwrap();\n"), [0; 0], "{path}");
        }
    }

    #[test]
    fn prints_are_found_outside_tests() {
        let code = "println!(\"a\");\n// eprintln!\ndbg!(b);\n#[cfg(test)]\nmod tests { fn c() { println!() } }\n";
        assert_eq!(lines(prints, "crates/cli/src/main.rs", code), [1, 3]);
        assert_eq!(lines(prints, "crates/cli/tests/a.rs", code), [0; 0]);
    }

    #[test]
    fn an_unsafe_without_a_reason_is_found() {
        let code = "unsafe { a() }\nunsafe impl Send for B {}\nunsafe fn c() {}\n";
        assert_eq!(lines(unsafe_reasons, "crates/text/src/a.rs", code), [1, 2]);
    }

    #[test]
    fn a_reason_counts_from_near_above() {
        let near = "// SAFETY: a\nlet b =\n    unsafe { c() };\n";
        assert_eq!(lines(unsafe_reasons, "crates/text/src/a.rs", near), [0; 0]);
        let far = format!("// SAFETY: a\n{}unsafe {{ c() }}\n", "b();\n".repeat(6));
        assert_eq!(lines(unsafe_reasons, "crates/text/src/a.rs", &far), [8]);
        let long = format!("// SAFETY: a\n{}unsafe {{ c() }} \n", "// b\n".repeat(9));
        assert_eq!(lines(unsafe_reasons, "crates/text/src/a.rs", &long), [0; 0]);
    }
}
