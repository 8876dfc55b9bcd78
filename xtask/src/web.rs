//! `cargo xtask web`: the package for the browser, in `target/npm`, and the steps of `cargo xtask test` that test it and
//! its kernels in Node.
//!
//! The module is built by Cargo alone; the package's JavaScript is copied as it is. The step is skipped where the
//! standard library for WebAssembly, Node or its packages cannot be had.

use crate::test::{Outcome, Tally, Totals, counted, each_line, missing_target};
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-wasip1";
/// What browsers have had since 2023.
const FEATURES: &str = "-C target-feature=+simd128";
/// The packages that tests compare with.
const PEERS: &str = "three@0.187";

/// Builds the package as it is published.
pub(crate) fn main() -> ExitCode {
    match package("web") {
        Some((folder, bytes)) => {
            term::out(format!("{}: the module has {} kB\n", folder.display(), bytes / 1000));
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

/// What is not installed of what every step here needs.
fn missing() -> Option<String> {
    let node = || (!root::succeeds(Command::new("node").arg("--version"))).then(|| "there is no Node.js".into());
    missing_target(TARGET).or_else(node)
}

/// Tests the package in Node, beside three.js' own loaders.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let Some((package, _)) = package("release") else { return Outcome::Failed };
    let place = root::root().join("target/npm-tests");
    let install = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", PEERS];
    let is_ready = std::fs::create_dir_all(&place).is_ok()
        && std::fs::write(place.join("package.json"), "{\"type\": \"module\"}\n").is_ok()
        && root::succeeds(Command::new("npm").args(install).current_dir(&place));
    if !is_ready {
        return Outcome::Skipped(format!("{PEERS} cannot be installed"));
    }
    let copied = copy(&package, &place.join("node_modules/polyhaul"))
        && copy(&root::root().join("npm/tests"), &place.join("tests"));
    if !copied {
        return Outcome::Failed;
    }
    tested(&place, tally)
}

/// The kernels for WebAssembly give the results of the portable ones, in Node.
pub(crate) fn kernels(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let mut command = root::cargo();
    command.args(["test", "-p", "polyhaul-text", "--no-fail-fast", "--tests", "--target", TARGET]);
    let runner = format!("node --no-warnings {}", root::root().join("xtask/src/wasi.mjs").display());
    command.env("RUSTFLAGS", FEATURES).env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner);
    counted(&mut command, tally)
}

/// Runs the tests in `place` and counts them by the last lines that Node prints.
fn tested(place: &Path, tally: &mut Tally) -> Outcome {
    let mut sum = Totals::default();
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=tap", "tests/"]).current_dir(place);
    command.env("POLYHAUL_TESTDATA", root::root().join("testdata"));
    let ok = each_line(&mut command, |line| {
        let count = |name: &str| line.strip_prefix(name).and_then(|count| count.parse().ok()).unwrap_or(0);
        sum.passed += count("# pass ");
        sum.failed += count("# fail ");
        sum.skipped += count("# skipped ");
        tally.failures.extend(line.trim_start().strip_prefix("not ok ").map(String::from));
    });
    tally.totals.add(sum);
    Outcome::of(ok && sum.failed == 0 && sum.passed > 0)
}

/// Builds the module and puts the package together; returns its folder and the size of the module.
fn package(profile: &str) -> Option<(PathBuf, u64)> {
    let mut command = root::cargo();
    command.args(["build", "-p", "polyhaul-wasm", "--target", TARGET, "--profile", profile]);
    if !root::runs(command.env("RUSTFLAGS", FEATURES)) {
        return None;
    }
    let folder = root::root().join("target/npm");
    let built = root::root().join("target").join(TARGET).join(profile).join("polyhaul_wasm.wasm");
    if !copy(&root::root().join("npm"), &folder) {
        return None;
    }
    let bytes = std::fs::copy(built, folder.join("polyhaul.wasm")).ok()?;
    Some((folder, bytes))
}

/// Copies the files of a folder, and leaves folders in it out.
fn copy(from: &Path, to: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(from) else { return false };
    std::fs::create_dir_all(to).is_ok()
        && entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).all(|path| {
            let name = path.file_name().unwrap_or_default();
            std::fs::copy(&path, to.join(name)).is_ok()
        })
}
