//! The part `races` of `cargo xtask nightly`: models of concurrent code, and the tests of multithreaded crates under
//! ThreadSanitizer.
//!
//! Models (`tools/models`) find ordering bugs in the interleavings of a few threads; ThreadSanitizer finds data races
//! in entire jobs. Each must also detect a planted bug.

use super::rust::merged;
use crate::steps::{Outcome, Tally, counted};
use crate::{root, term};
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Source of the standard library in the toolchain folder, which is also compiled with ThreadSanitizer.
const LIBRARY_SOURCE: &str = "lib/rustlib/src/rust/library/std/Cargo.toml";
/// Fault that writes one element past each range of an array (`crates/core/pipeline/src/column.rs`).
const PLANTED_RACE: &str = "column-overlap";
/// Test that detects it.
const RACING_TEST: &str = "column::tests";

/// Excluded: tests that measure the memory of the process, which ThreadSanitizer multiplies.
const MEASURING_TESTS: &str = "the_process_does_not_grow";

pub(super) fn step(tally: &mut Tally) -> Outcome {
    merged([("models", models(tally)), ("ThreadSanitizer", sanitizer(tally))])
}

/// Runs all models, without overflow checks: like shipped code, models must not panic on an underflow.
fn models(tally: &mut Tally) -> Outcome {
    let mut command = root::cargo();
    command.args(["test", "--config", "profile.dev.overflow-checks=false", "--no-fail-fast", "--lib"]);
    command.args(["-p", "polyhaul-pipeline", "-p", "polyhaul-bytes", "models::"]);
    command.env("RUSTFLAGS", "--cfg polyhaul_shuttle").env("CARGO_TARGET_DIR", root::target().join("models"));
    // Model threads have small stacks, which a backtrace could overflow.
    counted(command.env("RUST_BACKTRACE", "0"), tally)
}

/// Runs the tests of multithreaded crates, and one of them with a planted race.
fn sanitizer(tally: &mut Tally) -> Outcome {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Outcome::Skipped("it is set up for Linux on x86-64 only".into());
    }
    if !has_library_source() {
        return Outcome::Skipped("run `rustup toolchain install nightly --component rust-src`".into());
    }
    let packages = ["pipeline", "spill", "insight", "batch"].map(|name| format!("--package=polyhaul-{name}"));
    let options = ["--no-fail-fast", "--tests", "--", "--skip", MEASURING_TESTS];
    let tests = counted(sanitized("").args(packages).args(options), tally);
    if tests != Outcome::Ok {
        return tests;
    }
    let is_detected = detects_planted_race();
    term::out(format!("ThreadSanitizer detects {PLANTED_RACE}: {}\n", if is_detected { "yes" } else { "NO" }));
    tally.totals.passed += u64::from(is_detected);
    tally.totals.failed += u64::from(!is_detected);
    Outcome::of(is_detected)
}

fn has_library_source() -> bool {
    let folder = root::output(Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]));
    folder.is_some_and(|folder| Path::new(folder.trim()).join(LIBRARY_SOURCE).is_file())
}

/// Calls `cargo test` under ThreadSanitizer, optionally with a planted fault.
fn sanitized(fault: &str) -> Command {
    let mut command = Command::new("rustup");
    root::without_package(command.args(["run", "nightly", "cargo", "test", "-Zbuild-std", "--target", TARGET]));
    command.current_dir(root::root()).env("CARGO_TARGET_DIR", root::target().join("races"));
    command.env("RUSTFLAGS", "-Zsanitizer=thread --cfg polyhaul_faults").env("POLYHAUL_FAULT", fault);
    // Some tests request more memory than available, and expect an error.
    command.env("TSAN_OPTIONS", "allocator_may_return_null=1");
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}

fn detects_planted_race() -> bool {
    let test = ["--package=polyhaul-pipeline", "--lib", RACING_TEST];
    let output = sanitized(PLANTED_RACE).args(test).output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stderr);
        !output.status.success() && text.contains("WARNING: ThreadSanitizer: data race")
    })
}
