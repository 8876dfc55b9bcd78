//! The part `faults` of `cargo xtask nightly`: plants faults one at a time, and checks that the tests detect each.
//!
//! The places call `error::planted` of the library, which is `false` unless it was built with `--cfg polyhaul_faults`.

use crate::root;
use crate::steps::{Outcome, Tally};
use crate::term;
use std::process::{Command, Stdio};

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
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    let mut tests: Vec<&str> = FAULTS.iter().map(|(_, test)| *test).collect();
    tests.dedup();
    let mut is_ok = true;
    for test in tests {
        is_ok &= count(&format!("{test} passes without a fault"), passes(test, None), tally);
    }
    for (fault, test) in FAULTS {
        is_ok &= count(&format!("{test} detects {fault}"), !passes(test, Some(fault)), tally);
    }
    Outcome::of(is_ok)
}

/// Prints and counts a result.
fn count(check: &str, is_ok: bool, tally: &mut Tally) -> bool {
    term::out(format!("{check}: {}\n", if is_ok { "yes" } else { "NO" }));
    if is_ok {
        tally.totals.passed += 1;
    } else {
        tally.totals.failed += 1;
        tally.failures.push(check.into());
    }
    is_ok
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
