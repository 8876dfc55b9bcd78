//! Unsafe blocks of the product, and the list of the blocks that Miri covers, `tools/xtask/unsafe.toml`.
//!
//! `cargo xtask unsafe --write` updates the list with the measurements of [`crate::nightly`]'s part `miri`; reasons for
//! blocks that Miri does not cover are added by hand. Unsafe functions have no rows, since their unsafe operations are
//! in blocks (`unsafe_op_in_unsafe_fn`); neither does `unsafe impl`, which has no code.

use super::tokens::{self, Code};
use super::{File, Finding, Texts, Tree};
use crate::{root, term};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

const LIST: &str = "tools/xtask/unsafe.toml";

/// File of the blocks that Miri covered: one path and number within the file per line.
pub(crate) const MEASURED: &str = "nightly/unsafe-blocks.txt";

/// Class of covered blocks. All other classes are keys of [`List::reasons`].
const RUN: &str = "miri";

/// Class of new blocks without a reason.
const OPEN: &str = "open";

/// An unsafe block.
pub(crate) struct Block<'a> {
    /// Name of the enclosing function or macro, or of the constant.
    pub(crate) function: &'a str,
    pub(crate) line: usize,
    /// Offset after its opening brace.
    pub(crate) inside: usize,
    /// Whether it may be evaluated at compile time.
    pub(crate) is_constant: bool,
}

/// Function or macro that encloses a token.
struct Scope<'a> {
    name: &'a str,
    close: usize,
    is_constant: bool,
}

/// Counts of blocks by class (`miri`, or a reason), function and file.
type Classes = BTreeMap<String, usize>;
type Functions = BTreeMap<String, Classes>;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct List {
    reasons: BTreeMap<String, String>,
    blocks: BTreeMap<String, Functions>,
}

/// Returns the unsafe blocks of a file of the product; empty for other files.
pub(crate) fn blocks_of<'a>(path: &str, text: &'a str) -> Vec<Block<'a>> {
    let is_product = ["crates/", "surfaces/"].iter().any(|folder| path.starts_with(folder)) && path.ends_with(".rs");
    if !is_product || File::is_test_path(path) {
        return Vec::new();
    }
    let tokens = tokens::scan(text);
    blocks(Code::new(text, &tokens))
}

fn blocks<'a>(code: Code<'a, '_>) -> Vec<Block<'a>> {
    let mut scopes: Vec<Scope<'a>> = Vec::new();
    let mut constant = "";
    let mut blocks = Vec::new();
    for index in 0..code.len() {
        while scopes.last().is_some_and(|scope| scope.close < index) {
            scopes.pop();
        }
        scopes.extend(scope_at(code, index));
        if (code.is(index, "const") || code.is(index, "static")) && code.is(index + 2, ":") {
            constant = code.text(index + 1);
        }
        if code.is(index, "unsafe") && code.is(index + 1, "{") && !code.is_test(index) {
            let scope = scopes.last();
            blocks.push(Block {
                function: scope.map_or(constant, |scope| scope.name),
                line: code.line(index),
                inside: code.end(index + 1),
                is_constant: scope.is_none_or(|scope| scope.is_constant),
            });
        }
    }
    blocks
}

/// Returns the function or macro that the keyword at `index` defines.
fn scope_at<'a>(code: Code<'a, '_>, index: usize) -> Option<Scope<'a>> {
    let is_macro = code.is(index, "macro_rules");
    let name = if is_macro { index + 2 } else { index + 1 };
    let is_function = code.is(index, "fn") && code.is_word(name);
    if !is_macro && !is_function {
        return None;
    }
    let mut open = name + 1;
    while open < code.len() && !matches!(code.first(open), b'{' | b';') {
        open = code.partner(open).max(open) + 1;
    }
    // `const unsafe extern "C" fn`
    let is_constant = (1..5).map_while(|back| index.checked_sub(back)).any(|at| {
        let is_between = (at + 1..index).all(|word| matches!(code.text(word), "unsafe" | "extern" | "\"C\""));
        code.is(at, "const") && is_between
    });
    code.is(open, "{").then(|| Scope { name: code.text(name), close: code.partner(open), is_constant })
}

/// Rule: every unsafe block has a row in the list, and every row has blocks.
pub(super) fn unsafe_blocks(tree: &Tree, findings: &mut Vec<Finding>) {
    let list = match tree.file(LIST).map(|file| toml::from_str::<List>(file.text)) {
        Some(Ok(list)) => list,
        Some(Err(error)) => return findings.push(Finding::new(LIST, 1, error.message())),
        None => List::default(),
    };
    let mut functions_with_blocks = BTreeSet::new();
    for file in tree.rust() {
        let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for block in blocks_of(file.path, file.text) {
            lines.entry(block.function).or_default().push(block.line);
        }
        for (function, lines) in lines {
            functions_with_blocks.insert((file.path, function));
            let listed = list.classes(file.path, function).map_or(0, |classes| classes.values().sum());
            if listed != lines.len() {
                let count = lines.len();
                let message = format!(
                    "`{function}` has {count} unsafe blocks, {LIST} lists {listed}: run `cargo xtask nightly miri --all`, then `cargo xtask unsafe --write`"
                );
                findings.push(Finding::new(file.path, lines[0], message));
            }
        }
    }
    for (path, functions) in &list.blocks {
        for (function, classes) in functions {
            let mut complain =
                |what: String| findings.push(Finding::new(LIST, 1, format!("{path}: `{function}` {what}")));
            if !functions_with_blocks.contains(&(path.as_str(), function.as_str())) {
                complain("has no unsafe block".into());
            }
            for class in classes.keys().filter(|class| *class != RUN && !list.reasons.contains_key(*class)) {
                complain(format!("is listed with the unknown reason `{class}`"));
            }
        }
    }
}

impl List {
    fn classes(&self, path: &str, function: &str) -> Option<&Classes> {
        self.blocks.get(path)?.get(function)
    }

    fn load() -> Result<List, String> {
        let text = std::fs::read_to_string(root::root().join(LIST)).unwrap_or_default();
        if text.is_empty() { Ok(List::default()) } else { toml::from_str(&text).map_err(|error| error.to_string()) }
    }
}

/// Returns the unsafe blocks of the product's files, with whether the last measurement covered each.
fn measured(texts: &Texts) -> BTreeMap<&str, BTreeMap<&str, Vec<bool>>> {
    let ran = std::fs::read_to_string(root::target().join(MEASURED)).unwrap_or_default();
    let ran: BTreeSet<&str> = ran.lines().collect();
    let mut files: BTreeMap<&str, BTreeMap<&str, Vec<bool>>> = BTreeMap::new();
    for (path, text) in &texts.files {
        for (number, block) in blocks_of(path, text).iter().enumerate() {
            let runs = ran.contains(format!("{path} {number}").as_str());
            files.entry(path).or_default().entry(block.function).or_default().push(runs);
        }
    }
    files
}

/// Creates the row of a function: measured coverage, and the listed reasons for the other blocks.
fn row(runs: &[bool], listed: Option<&Classes>) -> Classes {
    let ran = runs.iter().filter(|ran| **ran).count();
    let mut row = Classes::new();
    let mut rest = runs.len() - ran;
    if ran > 0 {
        row.insert(RUN.into(), ran);
    }
    for (class, &count) in listed.into_iter().flatten().filter(|(class, _)| *class != RUN) {
        let count = count.min(rest);
        rest -= count;
        if count > 0 {
            row.insert(class.clone(), count);
        }
    }
    if rest > 0 {
        row.insert(OPEN.into(), rest);
    }
    row
}

/// Returns the blocks that the list claims as covered, but the last measurement did not see.
pub(crate) fn missed() -> Result<Vec<String>, String> {
    let list = List::load()?;
    let texts = Texts::load(&root::root()).ok_or("git cannot list the files of the repository")?;
    let mut missed = Vec::new();
    for (path, functions) in measured(&texts) {
        for (function, runs) in functions {
            let ran = runs.iter().filter(|ran| **ran).count();
            let listed = list.classes(path, function).and_then(|classes| classes.get(RUN)).copied().unwrap_or(0);
            if ran < listed {
                missed.push(format!(
                    "{path}: Miri ran {ran} of the {listed} unsafe blocks of `{function}` that the list names"
                ));
            }
        }
    }
    Ok(missed)
}

/// Prints the number of blocks that Miri covers, for each crate; with `is_written`, updates the list first.
pub(crate) fn main(is_written: bool) -> ExitCode {
    let result = if is_written { write() } else { Ok(()) };
    match result.and_then(|()| List::load()) {
        Ok(list) => {
            term::out(summary(&list));
            ExitCode::SUCCESS
        }
        Err(error) => {
            term::err(format!("{LIST}: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Updates the list with the measurement, keeping its reasons.
fn write() -> Result<(), String> {
    let list = List::load()?;
    let texts = Texts::load(&root::root()).ok_or("git cannot list the files of the repository")?;
    let mut text = String::from(
        "# Every unsafe block of the product, by file and function: how many of them Miri runs (`cargo xtask nightly miri`), and\n\
         # how many it does not, with the reason. `cargo xtask unsafe --write` writes this file; `cargo xtask tidy` checks it.\n\n\
         [reasons]\n",
    );
    for (name, reason) in &list.reasons {
        text += &format!("{name} = {reason:?}\n");
    }
    for (path, functions) in measured(&texts) {
        text += &format!("\n[blocks.{path:?}]\n");
        for (function, runs) in functions {
            let row = row(&runs, list.classes(path, function));
            let classes: Vec<String> = row.iter().map(|(class, count)| format!("{class} = {count}")).collect();
            text += &format!("{function} = {{ {} }}\n", classes.join(", "));
        }
    }
    std::fs::write(root::root().join(LIST), text).map_err(|error| error.to_string())
}

/// Formats a line for each crate, the sum, and a line for each reason.
fn summary(list: &List) -> String {
    let mut crates: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, functions) in &list.blocks {
        let folder = path.split_once("/src/").map_or(path.as_str(), |(folder, _)| folder);
        for (class, &count) in functions.values().flatten() {
            let [run, total] = crates.entry(folder).or_default();
            *total += count;
            if class == RUN { *run += count } else { *reasons.entry(class).or_default() += count }
        }
    }
    let line = |name: &str, [run, total]: [usize; 2]| format!("{name:<24} {run:>4} of {total:>4} run by Miri\n");
    let sum = crates.values().fold([0; 2], |sum, counts| [sum[0] + counts[0], sum[1] + counts[1]]);
    let mut text: String = crates.iter().map(|(name, counts)| line(name, *counts)).collect();
    text += &line("sum", sum);
    for (class, count) in reasons {
        let reason = list.reasons.get(class).map_or("", String::as_str);
        text += &format!("{count:>4} {class}: {reason}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    const TEXT: &str = "const A: u8 = unsafe { b() };
        const unsafe fn c() { unsafe { d() } }
        fn e(f: unsafe fn()) { if g { unsafe { f() } } else { unsafe { f() } } }
        unsafe fn h() { fn i() { unsafe { j() } } unsafe { k() } }
        unsafe impl Send for L {}
        macro_rules! m { () => { unsafe { n() } } }
        #[cfg(test)] mod tests { fn o() { unsafe { p() } } }";

    #[test]
    fn blocks_have_the_names_of_their_functions() {
        let blocks = blocks_of("crates/a/src/b.rs", TEXT);
        let names: Vec<(&str, bool)> = blocks.iter().map(|block| (block.function, block.is_constant)).collect();
        let expected = [("A", true), ("c", true), ("e", false), ("e", false), ("i", false), ("h", false), ("m", false)];
        assert_eq!(names, expected);
        assert!(TEXT[blocks[1].inside..].starts_with(" d()"));
        assert!(blocks_of("crates/a/tests/b.rs", TEXT).is_empty() && blocks_of("tools/a/src/b.rs", TEXT).is_empty());
    }

    #[test]
    fn blocks_without_a_row_and_rows_without_a_block_are_found() {
        let count = |list: &str| {
            let code = "fn a() { unsafe { b() } unsafe { c() } }";
            let list = format!("[reasons]\ncall = \"d\"\n[blocks.\"crates/a/src/b.rs\"]\n{list}");
            findings_of(unsafe_blocks, &[("crates/a/src/b.rs", code), (LIST, &list)]).len()
        };
        assert_eq!(count("a = { miri = 2 }"), 0);
        assert_eq!(count("a = { miri = 1, call = 1 }"), 0);
        let planted = [
            "a = { miri = 1 }",
            "a = { miri = 3 }",
            "",
            "a = { miri = 1, open = 1 }",
            "a = { miri = 2 }\ne = { call = 1 }",
        ];
        for list in planted {
            assert_eq!(count(list), 1, "{list}");
        }
        assert_eq!(findings_of(unsafe_blocks, &[("crates/a/src/b.rs", "fn a() { unsafe { b() } }")]).len(), 1);
    }

    #[test]
    fn rows_have_measured_counts_and_keep_their_reasons() {
        let listed = Classes::from([(RUN.into(), 1), ("call".into(), 2)]);
        assert_eq!(row(&[true, true, false], Some(&listed)), Classes::from([(RUN.into(), 2), ("call".into(), 1)]));
        assert_eq!(row(&[true, false], None), Classes::from([(RUN.into(), 1), (OPEN.into(), 1)]));
    }
}
