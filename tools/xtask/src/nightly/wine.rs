//! Tests of the library and the command for Windows, cross-compiled and run under wine.
//!
//! Wine is not Windows: the guide's page on Windows lists the differences.

use super::rust::WINDOWS;
use crate::steps::{Outcome, Tally, counted};
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages, tested in one call so that each crate is compiled once.
const PACKAGES: [&str; 5] = ["polyhaul-bytes", "polyhaul-pipeline", "polyhaul-batch", "polyhaul", "polyhaul-cli"];
const TARGETS: [&str; 3] = ["--lib", "--test=all", "--test=interrupted"];

/// A test that cannot pass under wine.
struct ExcludedTest {
    name: &'static str,
    reason: &'static str,
}

const EXCLUDED: [ExcludedTest; 7] = [
    ExcludedTest {
        name: "windows::a_file_that_another_program_reads_is_replaced",
        reason: "wine 8 has no renames with POSIX semantics",
    },
    ExcludedTest {
        name: "sink::names_that_are_not_unicode_work",
        reason: "wine cannot store names with unpaired surrogates in a file system of Unix",
    },
    ExcludedTest { name: "windows::ctrl_break_does_the_same", reason: "wine 8 sends no Ctrl-Break" },
    ExcludedTest {
        name: "windows::a_console_shows_text_and_no_escape_sequences",
        reason: "the console of wine 8 accepts escape sequences but shows them",
    },
    ExcludedTest {
        name: "batch::gltf_and_textures_are_named_after_the_format",
        reason: "no block compression in builds by MinGW",
    },
    ExcludedTest {
        name: "pbrt::traps::a_million_includes_are_limited_and_twenty_thousand_may_be_allowed",
        reason: "opens 20,000 files, one at a time through wine's server",
    },
    ExcludedTest {
        name: "pbrt::traps::a_fan_of_files_is_limited",
        reason: "opens very many files, one at a time through wine's server",
    },
];

/// Runs the tests.
pub(super) fn step(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let Some(prefix) = prepare() else { return Outcome::Failed };
    // Without a persistent server, each program would wait seconds for a new server.
    let server = |argument: &str| root::runs(wine("wineserver", &prefix).arg(argument));
    let is_started = server("-p");
    let outcome = counted(&mut tests(&prefix), tally);
    server("-k");
    for test in &EXCLUDED {
        term::out(format!("skipped {}: {}\n", test.name, test.reason));
    }
    tally.totals.skipped += EXCLUDED.len() as u64;
    if is_started { outcome } else { Outcome::Failed }
}

/// Calls Cargo to build and run the tests.
fn tests(prefix: &Path) -> Command {
    let mut command = wine_environment(root::cargo(), prefix);
    command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine").env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.args(["test", "--no-fail-fast", "--target", WINDOWS.target]).args(TARGETS);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.args(["--", "--exact"]).args(EXCLUDED.iter().flat_map(|test| ["--skip", test.name]));
    command
}

/// Describes missing requirements.
fn missing() -> Option<String> {
    if !root::succeeds(Command::new("wine").arg("--version")) {
        return Some("wine is not installed (Debian: apt install wine wine64)".into());
    }
    WINDOWS
        .missing(&[WINDOWS.c, WINDOWS.cpp])
        .map(|missing| format!("{missing} (Debian: apt install g++-mingw-w64-x86-64)"))
}

/// Creates the folder of wine's drive C and settings, and builds `bcryptprimitives.dll` for versions of wine
/// without it; returns the path of the folder.
fn prepare() -> Option<PathBuf> {
    let prefix = root::target().join("nightly/wine");
    let libraries = prefix.join("drive_c/windows/system32");
    // Wine only creates the last folder of a path.
    std::fs::create_dir_all(&prefix).ok()?;
    if !libraries.is_dir() && !root::succeeds(wine("wineboot", &prefix).arg("--init")) {
        return None;
    }
    let source = root::root().join("tools/xtask/src/nightly/wine/prng.c");
    let mut compile = Command::new(WINDOWS.c);
    compile.args(["-O2", "-shared", "-s", "-o"]).arg(libraries.join("bcryptprimitives.dll"));
    root::runs(compile.arg(source).arg("-ladvapi32")).then_some(prefix)
}

/// Calls a program of wine.
fn wine(program: &str, prefix: &Path) -> Command {
    wine_environment(Command::new(program), prefix)
}

/// Sets the prefix, uses the DLL built by [`prepare`], and disables the web browser and .NET, which wine would offer to
/// install.
fn wine_environment(mut command: Command, prefix: &Path) -> Command {
    command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
    command.env("WINEDLLOVERRIDES", "bcryptprimitives=n;mscoree,mshtml=");
    // MinGW's C++ libraries.
    let library = root::output(Command::new(WINDOWS.cpp).arg("-print-file-name=libstdc++-6.dll")).unwrap_or_default();
    command.env("WINEPATH", Path::new(&library).parent().unwrap_or(Path::new("")));
    command
}
