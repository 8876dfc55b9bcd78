//! `cargo xtask fuzz [TARGET] [--seconds N]`: runs cargo-fuzz over the targets of `fuzz/`, seeded
//! with the test data.
//!
//! Needs a nightly toolchain and cargo-fuzz, and says so where they are missing. The targets'
//! bodies are in the test kit, and run there over the same files as normal tests: the smoke run
//! needs neither.

use crate::{root, term, usage_error};
use std::process::{Command, ExitCode};

/// Each target, and the folder of test data that seeds it. The target's words are in
/// `fuzz/dictionaries`.
const TARGETS: &[(&str, &str)] = &[
    ("obj", "testdata/obj"),
    ("mtl", "testdata/obj"),
    ("numbers", "testdata/obj"),
    ("packed", "testdata"),
    ("zip", "testdata/zip"),
    ("ply", "testdata/ply"),
    ("stl", "testdata/stl"),
    ("pbrt", "testdata/pbrt"),
    ("table", "testdata/table"),
    ("tga", "testdata/tga"),
    ("hdr", "testdata/hdr"),
    ("bmp", "testdata/bmp"),
    ("psd", "testdata/psd"),
    ("dds", "testdata/dds"),
    ("ktx2", "testdata/ktx2"),
    ("png", "testdata/png"),
    ("jpeg", "testdata/jpg"),
    ("exr", "testdata/exr"),
];

/// Longer inputs only slow the search down; the largest seeds have megabytes.
const LARGEST_INPUT_BYTES: usize = 65_536;

/// How long each target runs unless told.
const SECONDS: u64 = 60;

const MISSING: &str = "\
fuzzing needs a nightly toolchain and cargo-fuzz:
    rustup toolchain install nightly
    cargo install cargo-fuzz
";

/// Fuzzes the target that `args` name, or all in turn.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let Some((target, seconds)) = parse(args) else {
        return usage_error();
    };
    if !root::succeeds(nightly().args(["fuzz", "--version"])) {
        term::err(MISSING);
        return ExitCode::FAILURE;
    }
    let chosen = TARGETS.iter().filter(|(name, _)| target.is_none_or(|target| target == *name));
    // All targets run, even after one found something.
    let failed = chosen.filter(|(name, seeds)| !run(name, seeds, seconds)).count();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The target, if one is named, and the time for each in seconds.
fn parse<'a>(args: &[&'a str]) -> Option<(Option<&'a str>, u64)> {
    let (target, options) = match args {
        [name, rest @ ..] if !name.starts_with('-') => (Some(*name), rest),
        rest => (None, rest),
    };
    let seconds = match options {
        [] => SECONDS,
        ["--seconds", number] => number.parse().ok()?,
        _ => return None,
    };
    let known = target.is_none_or(|target| TARGETS.iter().any(|(name, _)| *name == target));
    known.then_some((target, seconds))
}

/// A call of the nightly cargo, in the root folder.
fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(root::root());
    command
}

/// Fuzzes one target; `false` where it found something, or could not run.
fn run(target: &str, seeds: &str, seconds: u64) -> bool {
    term::out(format!("\n== fuzz {target}, {seconds} s\n"));
    // libFuzzer adds what it finds to the first folder and only reads the second.
    let corpus = format!("fuzz/corpus/{target}");
    if let Err(error) = std::fs::create_dir_all(root::root().join(&corpus)) {
        term::err(format!("{corpus}: {error}\n"));
        return false;
    }
    let mut command = nightly();
    command.args(["fuzz", "run", target, &corpus, seeds, "--"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={LARGEST_INPUT_BYTES}"));
    command.arg(format!("-dict=fuzz/dictionaries/{target}.dict"));
    // A thread that is about to end is taken for a leak of 32 bytes; the tests of the wheel look for leaks.
    command.arg("-detect_leaks=0");
    root::runs(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_and_time_are_read() {
        assert_eq!(parse(&[]), Some((None, SECONDS)));
        assert_eq!(parse(&["obj"]), Some((Some("obj"), SECONDS)));
        assert_eq!(parse(&["mtl", "--seconds", "5"]), Some((Some("mtl"), 5)));
        assert_eq!(parse(&["--seconds", "5"]), Some((None, 5)));
        for wrong in [&["dxf"][..], &["--seconds"], &["--seconds", "soon"], &["obj", "mtl"]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn every_target_has_its_body_and_its_words() {
        let manifest = std::fs::read_to_string(root::root().join("fuzz/Cargo.toml")).unwrap();
        for (target, _) in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(root::root().join(format!("fuzz/fuzz_targets/{target}.rs")).exists(), "{target}");
            assert!(root::root().join(format!("fuzz/dictionaries/{target}.dict")).exists(), "{target}");
        }
    }
}
