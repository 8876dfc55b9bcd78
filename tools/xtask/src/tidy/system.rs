//! Checks which crates start threads, and which use files, clocks and processes, against their manifests.
//!
//! A crate that does either states its reason in `Cargo.toml`:
//!
//! ```toml
//! [package.metadata.polyhaul]
//! threads = "the workers of jobs"
//! system = "files, clocks"
//! ```
//!
//! Tests are ignored, and so are dependencies.

use super::packages::Package;
use super::tokens::Code;
use super::{File, Finding, Tree};
use std::collections::HashMap;

/// Crates that convert between bytes and values: they may do neither, even with a reason.
const PURE: &[&str] = &["crates/core/text", "crates/geometry", "crates/formats/"];

/// Paths that start threads.
const THREADS: &[&str] = &[
    "std::thread::spawn",
    "std::thread::scope",
    "std::thread::Builder",
    "std::thread::*",
    "libc::pthread_create",
    "libc::clone",
    "libc::clone3",
    "rayon",
    "threadpool",
    "crossbeam",
    "crossbeam_utils::thread",
    "tokio::runtime",
    "tokio::task::spawn_blocking",
];

/// Paths that use the system.
const SYSTEM: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
    "std::time::*",
    "std::thread::sleep",
    "std::thread::park_timeout",
    "std::thread::available_parallelism",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::time",
];

/// Exceptions: plain values and constants.
const VALUES: &[&str] = &["std::process::ExitCode", "std::env::consts"];

/// Parts of `std::os` for files, sockets and processes.
const OS: &[&str] = &["fs", "io", "fd", "net", "process", "thread"];

/// Methods of `std::path::Path` that access the file system.
const METHODS: &[&str] =
    &["exists", "try_exists", "is_file", "is_dir", "is_symlink", "read_dir", "canonicalize", "symlink_metadata"];

/// Kind of use that requires a reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Threads,
    System,
}

impl Use {
    /// Returns the key in the manifest.
    fn key(self) -> &'static str {
        match self {
            Use::Threads => "threads",
            Use::System => "system",
        }
    }
}

/// Rule: manifests state whether crates start threads and use the system, and agree with the code.
pub(super) fn threads_and_system(tree: &Tree, findings: &mut Vec<Finding>) {
    for package in &tree.packages {
        let source = format!("{}/src/", package.folder);
        let mut occurring = Vec::new();
        for file in tree.rust().filter(|file| file.path.starts_with(&source) && !file.path.ends_with("tests.rs")) {
            for (kind, token, name) in uses(file) {
                occurring.push((kind, file.path, file.code().line(token), name));
            }
        }
        for kind in [Use::Threads, Use::System] {
            let places: Vec<_> = occurring.iter().filter(|(other, ..)| *other == kind).collect();
            check(package, kind, &places, findings);
        }
    }
}

fn check(package: &Package<'_>, kind: Use, places: &[&(Use, &str, usize, String)], findings: &mut Vec<Finding>) {
    let key = kind.key();
    let manifest = format!("{}/Cargo.toml", package.folder);
    let Some(reason) = package.metadata(key) else {
        let mut last = "";
        for (_, path, line, name) in places.iter().filter(|(_, path, ..)| std::mem::replace(&mut last, path) != *path) {
            let message = format!("{name} needs a reason in {manifest}: `[package.metadata.polyhaul] {key} = \"…\"`");
            findings.push(Finding::new(path, *line, message));
        }
        return;
    };
    let line = package.text.lines().position(|line| line.starts_with(key)).map_or(1, |index| index + 1);
    let is_pure = PURE.iter().any(|folder| package.folder.starts_with(folder));
    let message = match reason {
        _ if places.is_empty() => format!("states `{key}`, but the code has no use of it: remove the line"),
        _ if is_pure => format!("states `{key}`, but converts between bytes and values: callers do the rest"),
        "" => format!("`{key}` has no reason"),
        _ => return,
    };
    findings.push(Finding::new(&manifest, line, message));
}

/// Returns the uses in the code of a file outside of tests: kind, token, and full path.
fn uses(file: &File) -> Vec<(Use, usize, String)> {
    let code = file.code();
    let imports = &file.paths.imports;
    let by_name: HashMap<&str, &[&str]> = imports.iter().map(|import| (import.name, &import.path[..])).collect();
    let mut uses = Vec::new();
    let mut add = |token: usize, path: String, is_call: bool| {
        if let Some(kind) = kind_of(&path, is_call).filter(|_| !code.is_test(token)) {
            uses.push((kind, token, path));
        }
    };
    for import in imports {
        // Imported functions are assumed to be called.
        let is_value = import.name.ends_with("_t") || import.name.starts_with("c_");
        let glob = if import.name == "*" { "::*" } else { "" };
        add(import.token, import.path.join("::") + glob, !is_value);
    }
    for path in &file.paths.qualified {
        let prefix = by_name.get(path.segments[0]).copied().unwrap_or(&path.segments[..1]);
        let full = [prefix, &path.segments[1..]].concat().join("::");
        let end = path.token + 2 * path.segments.len() - 1;
        add(path.token, full, code.is(end, "("));
    }
    for index in 1..code.len() {
        if code.first(index) == b'(' && is_method(code, index - 1) {
            add(index, format!("std::fs (`.{}()`)", code.text(index - 1)), true);
        }
    }
    uses
}

/// Returns whether the word at `index` is a call of one of [`METHODS`].
fn is_method(code: Code<'_, '_>, index: usize) -> bool {
    index > 0 && code.is(index - 1, ".") && METHODS.contains(&code.text(index)) && code.is(index + 2, ")")
}

/// Classifies a path. Functions of `libc` count if they are called; types and constants do not.
fn kind_of(path: &str, is_call: bool) -> Option<Use> {
    let starts = |prefix: &&str| path.strip_prefix(*prefix).is_some_and(|rest| !rest.starts_with(is_word_char));
    let mut segments = path.split("::");
    if THREADS.iter().any(starts) {
        return Some(Use::Threads);
    }
    let is_os = path.starts_with("std::os::") && segments.any(|segment| OS.contains(&segment));
    let is_function = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_libc_call = is_call && path.strip_prefix("libc::").is_some_and(is_function);
    let is_system = is_os || is_libc_call || SYSTEM.iter().any(starts) && !VALUES.iter().any(starts);
    is_system.then_some(Use::System)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    const PLAIN: &str = "[package]\nname = \"a\"\n";
    const STATED: &str = "[package]\nname = \"a\"\n[package.metadata.polyhaul]\nthreads = \"b\"\nsystem = \"c\"\n";

    fn findings(manifest: &str, code: &str) -> Vec<String> {
        findings_of(threads_and_system, &[("crates/scan/Cargo.toml", manifest), ("crates/scan/src/a.rs", code)])
    }

    #[test]
    fn threads_without_a_reason_are_found() {
        let planted = [
            "fn a() { std::thread::spawn(b) }",
            "use std::thread;\nfn a() { thread::scope(b) }",
            "use std::thread::{Builder, JoinHandle};",
            "use std::{fmt, thread as t};\nfn a() { t::Builder::new() }",
            "use std::thread::*;\nfn a() { Builder::new() }",
            "fn a() { unsafe { libc::pthread_create(b) } }",
            "use rayon::prelude::*;",
            "fn a() { tokio::runtime::Builder::new_current_thread() }",
        ];
        for code in planted {
            let findings = findings(PLAIN, code);
            assert!(
                findings.len() == 1 && findings[0].contains(" needs a reason in crates/scan/Cargo.toml"),
                "{code}: {findings:?}"
            );
        }
    }

    #[test]
    fn files_clocks_and_processes_without_a_reason_are_found() {
        let planted = [
            "fn a() { std::fs::read(b) }",
            "use std::fs::{self};",
            "use std::time::{Duration, Instant};",
            "use std::time;\nfn a() { time::SystemTime::now() }",
            "fn a() { std::process::exit(1) }",
            "fn a() { std::env::var(\"b\") }",
            "fn a(path: &Path) -> bool { path.is_file() }",
            "fn a() { unsafe { libc::mmap(b) } }",
            "use std::os::unix::fs::FileExt;",
        ];
        for code in planted {
            assert_eq!(findings(PLAIN, code).len(), 1, "{code}");
        }
    }

    #[test]
    fn reasons_must_be_true() {
        let both = "fn a() { std::thread::scope(|b| std::fs::read(c)) }\n";
        assert_eq!(findings(STATED, both), [""; 0]);
        assert_eq!(
            findings(STATED, "fn a() {}\n"),
            [
                "crates/scan/Cargo.toml:4: states `threads`, but the code has no use of it: remove the line",
                "crates/scan/Cargo.toml:5: states `system`, but the code has no use of it: remove the line",
            ]
        );
        let pure = [("crates/formats/a/Cargo.toml", STATED), ("crates/formats/a/src/a.rs", both)];
        assert_eq!(findings_of(threads_and_system, &pure).len(), 2);
        assert_eq!(findings(&STATED.replace("\"b\"", "\"\""), both).len(), 1);
    }

    #[test]
    fn values_and_tests_need_no_reason() {
        let passing = "use std::time::Duration;\nuse std::process::ExitCode;\nuse std::thread::ThreadId;\n\
            fn a(b: libc::c_int) -> libc::off_t { libc::EINTR }\n// std::fs::read\nfn b() { c(\"std::fs::read\") }\n\
            use crate::thread::spawn;\nuse std::os::unix::ffi::OsStrExt;\n\
            #[cfg(test)]\nmod tests {\n    use std::fs;\n    fn c(d: &Path) { std::thread::spawn(d.exists()) }\n}\n";
        assert_eq!(findings(PLAIN, passing), [""; 0]);
    }
}
