//! `cargo xtask faults`: plants faults, one at a time, and holds that the tests find each.
//!
//! The places call `error::planted` of the library, which is `false` unless it was built with `--cfg polyhaul_faults`.
//! Building takes some minutes, so this is no part of `cargo xtask test`: run it when tests of formats change.

use crate::{root, term};
use std::process::{Command, ExitCode, Stdio};

/// Each fault, and the tests that must find it.
const FAULTS: &[(&str, &str)] = &[
    ("image-pixels", "images"),
    ("image-upward", "images"),
    ("tga-pages", "images"),
    ("ply-index", "ply"),
    ("ply-lines", "ply"),
    ("ply-pages", "ply_write"),
    ("split-normals", "ply_write"),
    ("stl-machine", "stl"),
    ("stl-truncated", "stl"),
    ("chunk-crlf", "table"),
    ("pbrt-import", "pbrt"),
    ("pbrt-instances", "pbrt"),
    ("pbrt-lines", "pbrt"),
    ("pbrt-pages", "pbrt_write"),
];

/// Runs the tests once without a fault, and once with each.
pub(crate) fn main() -> ExitCode {
    let mut failed = 0;
    let mut tests: Vec<&str> = FAULTS.iter().map(|(_, test)| *test).collect();
    tests.dedup();
    for test in tests {
        failed += told(&format!("{test} without a fault"), passes(test, None));
    }
    for (fault, test) in FAULTS {
        failed += told(&format!("{fault} is found by {test}"), !passes(test, Some(fault)));
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Shows a line; 1 if it is bad.
fn told(what: &str, is_good: bool) -> usize {
    term::out(format!("{what}: {}\n", if is_good { "yes" } else { "NO" }));
    usize::from(!is_good)
}

fn passes(test: &str, fault: Option<&str>) -> bool {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--quiet", "-p", "polyhaul", "--test", "all", &format!("{test}::")])
        .current_dir(root::root());
    command.env("RUSTFLAGS", "--cfg polyhaul_faults").env("CARGO_TARGET_DIR", root::root().join("target/faults"));
    command.env("POLYHAUL_FAULT", fault.unwrap_or_default());
    // A detected fault prints a lot.
    if fault.is_some() {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    root::runs(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_planted_once() {
        let mut folders = vec![root::root().join("crates")];
        let mut text = String::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    text += &std::fs::read_to_string(path).unwrap();
                }
            }
        }
        for (fault, _) in FAULTS {
            assert_eq!(text.matches(&format!("planted(\"{fault}\")")).count(), 1, "{fault}");
        }
        assert_eq!(text.matches("planted(\"").count(), FAULTS.len());
    }
}
