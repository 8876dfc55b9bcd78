//! `cargo xtask tidy`: the rules that neither the compiler nor clippy can hold.
//!
//! [`tree`] loads the files once, [`rust`] gives Rust files a view without comments and strings,
//! and each rule is a function from the tree to its findings. A rule reads text and tokens, not
//! types: where it errs, it errs towards letting something pass. To add a rule, write the function,
//! plant a fault in a test, and put it into [`RULES`].

mod docs;
mod doors;
mod manifest;
mod modules;
mod panics;
mod rust;
mod size;
mod testdata;
mod text;
mod tree;
mod words;

use crate::{root, term};
use std::fmt;
use std::process::ExitCode;
use tree::Tree;

/// Everything that is checked, in the order of the modules above.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    docs::module_docs,
    docs::coverage,
    docs::standing,
    doors::named_once,
    doors::every_dependency_has_a_row,
    manifest::crates_know,
    modules::modules_know,
    modules::threads,
    modules::system,
    panics::panics,
    panics::prints,
    panics::unsafe_reasons,
    size::comments,
    size::files,
    size::rust_functions,
    size::python_functions,
    testdata::readmes,
    text::clean,
    text::markers,
    text::machine_paths,
    words::phrases,
];

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the root, with forward slashes.
    path: String,
    /// Counted from 1.
    line: usize,
    rule: &'static str,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Finding { path: path.into(), line, rule, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// Checks the repository and prints what it finds; the exit code is 1 when there is anything.
pub(crate) fn main() -> ExitCode {
    let tree = match Tree::load(&root::root()) {
        Ok(tree) => tree,
        Err(error) => {
            term::err(format!("tidy: cannot read the repository: {error}\n"));
            return ExitCode::FAILURE;
        }
    };
    let findings = check(&tree);
    for finding in &findings {
        term::out(format!("{finding}\n"));
    }
    term::out(format!("{}\n", docs::summary(&tree)));
    term::out(format!("tidy: {} files, {} findings\n", tree.files.len(), findings.len()));
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All findings, sorted by place; what one line does twice is told once.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_path_line_rule_message() {
        let finding = Finding::new("crates/text/src/lib.rs", 7, "tabs", "a tab");
        assert_eq!(finding.to_string(), "crates/text/src/lib.rs:7: tabs: a tab");
    }

    #[test]
    fn findings_of_all_rules_come_sorted_by_place() {
        let tree =
            Tree::of(&[("crates/text/src/b.rs", "fn f() { x.unwrap() }\n"), ("crates/text/src/a.rs", "//! a \n")]);
        let found: Vec<String> = check(&tree).iter().map(|f| format!("{}:{}", f.path, f.rule)).collect();
        let of_sources: Vec<&String> = found.iter().filter(|f| f.contains("src/")).collect();
        assert_eq!(
            of_sources,
            ["crates/text/src/a.rs:whitespace", "crates/text/src/b.rs:module-docs", "crates/text/src/b.rs:panics"]
        );
    }
}
