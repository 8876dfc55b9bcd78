//! `cargo xtask test`: the checks that every change must pass, with the tools that come with Rust and Python.
//!
//! Its steps share what they compile: lints check the whole workspace once, and the test binaries, the Python package
//! and this program use the same profile, features and folder. Everything else is in `cargo xtask nightly`.

use crate::steps::{Outcome, Run, Stream, Tally, counted, counted_from, single};
use crate::{capi, python, root, tidy, web};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The packages and features of tests: everything that releases have, except for the Python package, which is linked
/// into Python alone and tested there.
pub(crate) const WORKSPACE: [&str; 5] =
    ["--workspace", "--exclude", "polyhaul-python", "--features", "polyhaul-cli/full"];

/// Unit and integration tests. Examples in the documentation have their own part of `cargo xtask nightly`.
const TARGETS: [&str; 2] = ["--tests", "--examples"];

/// Runs all steps; `quick` leaves out lints and WebAssembly.
pub(crate) fn main(quick: bool) -> ExitCode {
    // Waits for the network most of the time.
    let environment = std::thread::spawn(python::prepare);
    let mut run = Run::default();
    run.step("tidy", |_| Outcome::of(tidy::main() == ExitCode::SUCCESS));
    run.step("format", |_| format());
    if !quick {
        run.step("clippy", |_| clippy());
    }
    run.step("build tests", |_| build());
    run.step("tests", tests);
    _ = environment.join();
    run.step("python", python::step);
    if !quick {
        run.step("web", web::one_module);
    }
    run.finish()
}

/// Runs the step of the Python package alone.
pub(crate) fn python() -> ExitCode {
    single("python", python::step)
}

/// Writes the guide's page of options anew.
pub(crate) fn option_page() -> ExitCode {
    let mut command = root::cargo();
    command.args(["test", "--quiet", "--package", "polyhaul", "--test", "all", "page"]);
    let is_done = root::runs(command.env("POLYHAUL_WRITE_PAGE", "1"));
    if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every file is formatted as rustfmt does it.
fn format() -> Outcome {
    if !root::succeeds(root::cargo().args(["fmt", "--version"])) {
        return Outcome::Skipped("rustfmt is not installed (rustup component add rustfmt)".into());
    }
    status(root::cargo().args(["fmt", "--all", "--check"]))
}

/// No lint of the compiler or of clippy has a finding, in tests and the Python package either.
fn clippy() -> Outcome {
    if !root::succeeds(root::cargo().args(["clippy", "--version"])) {
        return Outcome::Skipped("clippy is not installed (rustup component add clippy)".into());
    }
    let everything = ["--workspace", "--all-targets", "--features", "polyhaul-cli/full,polyhaul-python/full"];
    status(root::cargo().arg("clippy").args(everything).args(["--", "-D", "warnings"]))
}

/// Builds everything that tests need, and installs the C library for programs in C.
fn build() -> Outcome {
    let libraries_and_tests = ["build", "--lib", "--tests", "--examples"];
    let is_built = root::runs(root::cargo().args(libraries_and_tests).args(WORKSPACE));
    Outcome::of(is_built && capi::install_tested(c_prefix()))
}

/// Where the C library is installed for tests.
fn c_prefix() -> PathBuf {
    root::target().join("installed")
}

/// Runs unit and integration tests, with cargo-nextest if it is installed: it runs tests of several binaries in
/// parallel.
fn tests(tally: &mut Tally) -> Outcome {
    let mut command = root::cargo();
    command.env("POLYHAUL_C_PREFIX", c_prefix());
    if root::succeeds(root::cargo().args(["nextest", "--version"])) {
        command.args(["nextest", "run", "--no-fail-fast", "--color", "never"]).args(WORKSPACE).args(TARGETS);
        return counted_from(Stream::Error, &mut command, tally);
    }
    counted(command.args(["test", "--no-fail-fast"]).args(WORKSPACE).args(TARGETS), tally)
}

/// Runs `command` with its output on the terminal.
pub(crate) fn status(command: &mut Command) -> Outcome {
    Outcome::of(root::runs(command))
}
