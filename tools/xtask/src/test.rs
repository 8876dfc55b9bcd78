//! `cargo xtask test`: the checks that every change must pass, with the tools that come with Rust and Python.
//!
//! Steps share compiled code: lints check the whole workspace once, and the test binaries, the Python package and this
//! program use the same profile, features and folder. For all other checks, see `cargo xtask nightly`.

use crate::steps::{Outcome, Run, Stream, Tally, counted, counted_from, single};
use crate::{capi, python, root, tidy, web};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Packages and features of tests: everything that is released, except the Python package, which can only be linked
/// into Python and is tested there.
pub(crate) const WORKSPACE: [&str; 5] =
    ["--workspace", "--exclude", "polyhaul-python", "--features", "polyhaul-cli/full"];

/// Unit and integration tests. Doc tests are a part of `cargo xtask nightly`.
const TARGETS: [&str; 2] = ["--tests", "--examples"];

/// Runs all steps; `quick` omits lints and WebAssembly.
pub(crate) fn main(quick: bool) -> ExitCode {
    // Mostly waits for the network, so it runs in parallel.
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

/// Runs only the step of the Python package.
pub(crate) fn python() -> ExitCode {
    single("python", python::step)
}

/// Regenerates the guide's pages of options, losses and messages.
pub(crate) fn option_page() -> ExitCode {
    let mut command = root::cargo();
    command.args(["test", "--quiet", "--package", "polyhaul", "--test", "all", "page"]);
    let is_done = root::runs(command.env("POLYHAUL_WRITE_PAGE", "1"));
    if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checks the format of all files with rustfmt.
fn format() -> Outcome {
    if !root::succeeds(root::cargo().args(["fmt", "--version"])) {
        return Outcome::Skipped("rustfmt is not installed (rustup component add rustfmt)".into());
    }
    status(root::cargo().args(["fmt", "--all", "--check"]))
}

/// Runs clippy on everything, including tests and the Python package; any finding is a failure.
fn clippy() -> Outcome {
    if !root::succeeds(root::cargo().args(["clippy", "--version"])) {
        return Outcome::Skipped("clippy is not installed (rustup component add clippy)".into());
    }
    let everything = ["--workspace", "--all-targets", "--features", "polyhaul-cli/full,polyhaul-python/full"];
    status(root::cargo().arg("clippy").args(everything).args(["--", "-D", "warnings"]))
}

/// Builds everything that tests need, and installs the C library for C programs.
fn build() -> Outcome {
    let libraries_and_tests = ["build", "--lib", "--tests", "--examples"];
    let is_built = root::runs(root::cargo().args(libraries_and_tests).args(WORKSPACE));
    Outcome::of(is_built && capi::install_tested(c_prefix()))
}

/// Prefix of the C library for tests.
fn c_prefix() -> PathBuf {
    root::target().join("installed")
}

/// Runs unit and integration tests, with cargo-nextest if it is installed, which runs the tests of several binaries in
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
