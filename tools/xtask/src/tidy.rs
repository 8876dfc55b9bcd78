//! `cargo xtask tidy`: checks rules that neither the compiler nor clippy covers. CONTRIBUTING.md lists them.
//!
//! Files come from git. Rules read lines, tokens ([`tokens`]), paths in code ([`paths`]) and manifests ([`packages`]),
//! never types, and err on the side of passing. To add a rule, write the function, add it to [`RULES`], and plant a
//! violation in the test. A rule may list existing violations in a table, like `KNOWN` of [`types`], which may only
//! shrink.

mod circles;
mod docs;
mod formats;
mod layers;
mod lengths;
mod lines;
mod links;
mod modules;
mod packages;
mod paths;
mod portable;
mod style;
mod system;
mod tokens;
mod types;
pub(crate) mod unsafe_code;
mod words;

use crate::{root, term};
use packages::Package;
use paths::Paths;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};
use tokens::{Code, Token};

type Rule = fn(&Tree, &mut Vec<Finding>);

/// All rules.
const RULES: &[Rule] = &[
    circles::circles,
    style::habits,
    docs::module_docs,
    docs::coverage,
    docs::standing_pages,
    docs::test_data,
    links::pages,
    links::references,
    lines::clean,
    lines::leftovers,
    lengths::files_and_comments,
    lengths::functions,
    layers::layers,
    formats::formats,
    portable::names,
    types::types,
    system::threads_and_system,
    unsafe_code::unsafe_blocks,
    words::phrases,
];

/// Extensions of hand-written text files. For everything else (data, images, lock files), only the path is loaded.
const TEXT: &[&str] =
    &["rs", "py", "pyi", "js", "mjs", "ts", "toml", "md", "sh", "yml", "yaml", "h", "c", "cpp", "hpp", "dict"];

/// A hand-written file.
struct File<'a> {
    /// Path relative to the root, with forward slashes.
    path: &'a str,
    text: &'a str,
    /// Empty unless the file is Rust.
    tokens: Vec<Token>,
    /// Empty unless the file is Rust.
    paths: Paths<'a>,
}

impl<'a> File<'a> {
    fn new(path: &'a str, text: &'a str) -> File<'a> {
        let is_rust = path.ends_with(".rs");
        let tokens = if is_rust { tokens::scan(text) } else { Vec::new() };
        let paths = paths::collect(Code::new(text, &tokens));
        File { path, text, tokens, paths }
    }

    fn code(&self) -> Code<'a, '_> {
        Code::new(self.text, &self.tokens)
    }

    /// Iterates over lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (1..).zip(self.text.split('\n'))
    }

    fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, ending)| ending == extension)
    }

    /// Returns whether the entire file is for tests, benchmarks or examples.
    fn is_test(&self) -> bool {
        File::is_test_path(self.path)
    }

    fn is_test_path(path: &str) -> bool {
        let folders = ["/tests/", "/benches/", "/examples/", "testkit"];
        path.ends_with("tests.rs") || folders.iter().any(|folder| path.contains(folder))
    }

    /// Returns the text before the tests at the end of the file; empty for test files.
    fn product(&self) -> &'a str {
        if self.is_test() { "" } else { self.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default() }
    }
}

/// The repository, as seen by the rules.
struct Tree<'a> {
    files: Vec<File<'a>>,
    /// Paths of all files, hand-written or not.
    paths: Vec<&'a str>,
    packages: Vec<Package<'a>>,
}

/// Text that a [`Tree`] borrows.
struct Texts {
    /// Paths of all files.
    paths: Vec<String>,
    /// Paths and contents of hand-written files.
    files: Vec<(String, String)>,
}

impl Texts {
    /// Loads the files in git, and new files that are not ignored.
    fn load(root: &Path) -> Option<Texts> {
        let output = Command::new("git").current_dir(root).args(["ls-files", "-co", "--exclude-standard"]).output();
        let output = output.ok().filter(|output| output.status.success())?;
        let listing = String::from_utf8(output.stdout).ok()?;
        let paths: Vec<String> = listing.lines().filter(|path| root.join(path).is_file()).map(String::from).collect();
        let mut files = Vec::new();
        for path in paths.iter().filter(|path| is_text(path)) {
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                files.push((path.clone(), text));
            }
        }
        Some(Texts { paths, files })
    }
}

impl<'a> Tree<'a> {
    fn new(texts: &'a Texts) -> Tree<'a> {
        let files: Vec<File<'a>> = texts.files.iter().map(|(path, text)| File::new(path, text)).collect();
        let packages = files.iter().filter_map(|file| Package::load(file.path, file.text)).collect();
        Tree { files, paths: texts.paths.iter().map(String::as_str).collect(), packages }
    }

    fn file(&self, path: &str) -> Option<&File<'a>> {
        self.files.iter().find(|file| file.path == path)
    }

    fn rust(&self) -> impl Iterator<Item = &File<'a>> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// Returns whether a file or folder exists at `path`.
    fn exists(&self, path: &str) -> bool {
        self.paths
            .iter()
            .any(|file| file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }
}

/// Returns whether a file is hand-written. Third-party data is exempt.
fn is_text(path: &str) -> bool {
    let is_data = path.starts_with("testdata/") && !path.ends_with("README.md");
    !is_data && (path.starts_with(".ci/") || path.rsplit_once('.').is_some_and(|(_, ending)| TEXT.contains(&ending)))
}

/// A violation of a rule at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Line number, from 1.
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

/// Checks the repository and prints its findings; exits with 1 if there are any.
pub(crate) fn main() -> ExitCode {
    let Some(texts) = Texts::load(&root::root()) else { return unlisted() };
    let tree = Tree::new(&texts);
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

/// Reports that there are no files.
fn unlisted() -> ExitCode {
    term::err("tidy: git cannot list the files of the repository\n");
    ExitCode::FAILURE
}

/// Returns the findings of `rule` in fabricated files, as lines.
#[cfg(test)]
fn findings_of(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    with_tree(files, |tree| {
        let mut findings = Vec::new();
        rule(tree, &mut findings);
        findings.sort();
        findings.iter().map(Finding::to_string).collect()
    })
}

/// Calls `body` with a repository of fabricated files.
#[cfg(test)]
fn with_tree<T>(files: &[(&str, &str)], body: impl FnOnce(&Tree<'_>) -> T) -> T {
    let is_written = |file: &&(&str, &str)| is_text(file.0);
    let texts = Texts {
        paths: files.iter().map(|(path, _)| (*path).into()).collect(),
        files: files.iter().filter(is_written).map(|(path, text)| ((*path).into(), (*text).into())).collect(),
    };
    body(&Tree::new(&texts))
}
