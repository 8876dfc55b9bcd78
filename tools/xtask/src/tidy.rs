//! `cargo xtask tidy`: the rules that neither the compiler nor clippy holds.
//!
//! Files come from git, and rules read lines, not tokens: a rule that errs lets something pass. To add one, write the
//! function, put it into [`RULES`], and plant a fault in the test.

mod docs;
mod lines;
mod words;

use crate::{root, term};
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

type Rule = fn(&Tree, &mut Vec<Finding>);

/// Everything that is checked.
const RULES: &[Rule] = &[
    docs::module_docs,
    docs::coverage,
    docs::standing_pages,
    docs::test_data,
    lines::clean,
    lines::leftovers,
    lines::lengths,
    lines::python_functions,
    lines::threads_and_system,
    words::phrases,
];

/// The endings of text that people write here. Everything else (data, pictures, lock files) is known by its path alone.
const TEXT: &[&str] = &["rs", "py", "pyi", "toml", "md", "sh", "yml", "yaml", "h", "c", "cpp", "hpp", "dict"];

/// A file that people write.
struct File {
    /// Relative to the root, with forward slashes.
    path: String,
    text: String,
}

impl File {
    /// Lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.split('\n'))
    }

    fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, it)| it == extension)
    }

    /// The part before the tests that end many files; empty for a file of tests.
    fn product(&self) -> &str {
        let is_test = self.path.contains("/tests/") || self.path.ends_with("tests.rs") || self.path.contains("testkit");
        if is_test { "" } else { self.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default() }
    }
}

/// The repository as the rules see it.
#[derive(Default)]
struct Tree {
    files: Vec<File>,
    /// Every file, texts included.
    paths: Vec<String>,
}

impl Tree {
    /// The files in git, and new ones that are not ignored.
    fn load(root: &Path) -> Option<Tree> {
        let listed =
            Command::new("git").current_dir(root).args(["ls-files", "-co", "--exclude-standard"]).output().ok()?;
        let listed = String::from_utf8(listed.stdout).ok().filter(|_| listed.status.success())?;
        let paths = listed.lines().filter(|path| root.join(path).is_file()).map(String::from).collect();
        let mut tree = Tree { files: Vec::new(), paths };
        for path in tree.paths.iter().filter(|path| is_text(path)) {
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                tree.files.push(File { path: path.clone(), text });
            }
        }
        Some(tree)
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// Whether a file or folder is at `path`.
    fn exists(&self, path: &str) -> bool {
        let is_there = |it: &String| it.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.paths.iter().any(is_there)
    }

    /// The folders of packages, such as `crates/core/text`.
    fn crates(&self) -> impl Iterator<Item = &str> {
        let manifests = self.files.iter().filter(|file| file.text.contains("[package]\n"));
        manifests.filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
    }
}

/// Whether people write the file. Data from others is left unchanged.
fn is_text(path: &str) -> bool {
    let is_data = path.starts_with("testdata/") && !path.ends_with("README.md");
    !is_data && (path.starts_with(".ci/") || path.rsplit_once('.').is_some_and(|(_, it)| TEXT.contains(&it)))
}

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks the repository and prints its findings; the exit code is 1 if there are any.
pub(crate) fn main() -> ExitCode {
    let Some(tree) = Tree::load(&root::root()) else {
        term::err("tidy: git cannot list the files of the repository\n");
        return ExitCode::FAILURE;
    };
    let mut findings = Vec::new();
    RULES.iter().for_each(|rule| rule(&tree, &mut findings));
    findings.sort();
    for finding in &findings {
        term::out(format!("{finding}\n"));
    }
    term::out(format!("{}\n", docs::summary(&tree)));
    term::out(format!("tidy: {} files, {} findings\n", tree.files.len(), findings.len()));
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What `rule` finds in made-up files, as lines.
#[cfg(test)]
fn findings_of(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.paths.push((*path).into());
        if is_text(path) {
            tree.files.push(File { path: (*path).into(), text: (*text).into() });
        }
    }
    let mut findings = Vec::new();
    rule(&tree, &mut findings);
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}
