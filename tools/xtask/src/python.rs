//! The step `python` of `cargo xtask test`: builds the wheel of `surfaces/python`, installs it into a virtual
//! environment, and runs its tests and type checks there.
//!
//! Everything is under `target/python` and reused by the next run. Required packages and their versions are listed in
//! `surfaces/python/requirements-test.txt`. The wheel uses the profile and features of the Rust tests, to share
//! compiled dependencies.

use crate::steps::{Outcome, Stream, Tally, Totals, each_line};
use crate::{root, term};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

/// Candidate names of Python, in order of preference.
const PROGRAMS: &[&str] = &["python3", "python3.11", "python3.12", "python3.13", "python3.14", "python"];

/// Python code that exits with 0 if Python is new enough.
pub(crate) const IS_NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 11))";

/// A virtual environment, and the tests to run in it.
pub(crate) struct Place {
    /// Folder of build output, such as `target/python`.
    pub(crate) folder: PathBuf,
    /// Working directory of tests, such as `surfaces/python`.
    pub(crate) source: PathBuf,
    /// List of required packages.
    pub(crate) requirements: PathBuf,
}

/// Finds a Python in which the code `test` exits with 0.
pub(crate) fn program(test: &str) -> Option<&'static str> {
    PROGRAMS.iter().copied().find(|program| root::succeeds(Command::new(program).args(["-c", test])))
}

/// Settings of the package and its tests.
fn package() -> Place {
    let source = root::root().join("surfaces/python");
    let requirements = source.join("requirements-test.txt");
    Place { folder: root::target().join("python"), source, requirements }
}

/// Creates the environment of the package; returns whether that succeeded, or `None` without Python.
pub(crate) fn prepare() -> Option<bool> {
    program(IS_NEW_ENOUGH).map(|program| package().environment(program))
}

/// Path of the environment's Python.
pub(crate) fn interpreter() -> PathBuf {
    package().interpreter()
}

/// Builds the wheel from the sources once. Returns `None` if that fails, or without Python.
pub(crate) fn wheel() -> Option<&'static Path> {
    static WHEEL: OnceLock<Option<PathBuf>> = OnceLock::new();
    WHEEL.get_or_init(|| prepare()?.then(|| package().build()).flatten()).as_deref()
}

/// Builds, installs and tests the package.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    if program(IS_NEW_ENOUGH).is_none() {
        return Outcome::Skipped("Python 3.11 or later is not installed".into());
    }
    let place = package();
    let is_installed = wheel().is_some_and(|wheel| place.install_only(wheel)) && place.types();
    // A failed build counts as one failed test, as it does for Rust.
    let sum = match is_installed.then(|| place.tests(&mut tally.failures, &[])) {
        Some(sum) => sum,
        None => Totals { failed: 1, ..Totals::default() },
    };
    tally.totals.add(sum);
    Outcome::of(sum.failed == 0 && sum.passed > 0)
}

/// Regenerates the types of Python's options from the table in the package, which this builds.
pub(crate) fn option_types() -> ExitCode {
    let place = package();
    let is_done = wheel()
        .is_some_and(|wheel| place.install_only(wheel) && root::runs(place.python().arg("tests/option_types.py")));
    if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Place {
    /// Creates an environment with all requirements, or reuses an existing environment.
    pub(crate) fn environment(&self, python: &str) -> bool {
        let required = &self.requirements;
        let packages = fs::read_to_string(required).unwrap_or_default();
        let stamp = self.venv().join("requirements");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == packages)
            && root::succeeds(self.python().arg("-V"))
        {
            return true;
        }
        term::out(format!("creating a virtual environment in {}\n", self.folder.display()));
        let made = root::runs(Command::new(python).args(["-m", "venv", "--clear"]).arg(self.venv()))
            && root::runs(self.pip().arg("-r").arg(required))
            && fs::write(&stamp, packages).is_ok();
        if !made {
            term::out("cannot create the virtual environment: Python's venv, pip and a package index are needed\n");
        }
        made
    }

    /// Builds the wheel, replacing the previous wheel.
    fn build(&self) -> Option<PathBuf> {
        let folder = self.folder.join("wheels");
        _ = fs::remove_dir_all(&folder);
        let mut build = self.module("maturin");
        build.args(["build", "--quiet", "--compatibility", "linux", "--features", "full", "--out"]).arg(&folder);
        if !root::runs(build.env("CARGO_TARGET_DIR", root::target())) {
            return None;
        }
        let wheels = fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path());
        wheels.into_iter().find(|path| path.extension() == Some(OsStr::new("whl")))
    }

    /// Installs a package without its dependencies.
    pub(crate) fn install_only(&self, package: &Path) -> bool {
        root::runs(self.pip().args(["--force-reinstall", "--no-deps"]).arg(package))
    }

    /// Type-checks the package, and compares its stubs with the module.
    fn types(&self) -> bool {
        let config = self.source.join("pyproject.toml");
        root::runs(self.module("mypy").args(["--no-error-summary", "--config-file"]).arg(&config))
            && root::runs(
                self.module("mypy.stubtest")
                    .args(["polyhaul._polyhaul", "--concise", "--mypy-config-file"])
                    .arg(&config),
            )
    }

    /// Runs the tests, prints their output and adds up their results.
    pub(crate) fn tests(&self, failures: &mut Vec<String>, paths: &[&str]) -> Totals {
        let mut command = self.module("pytest");
        command.args(["-r", "fEs", "--color", "no"]).args(paths);
        command.envs(wheel().map(|wheel| ("POLYHAUL_WHEEL", wheel)));
        let mut sum = Totals::default();
        let passed = each_line(Stream::Output, &mut command, |line| {
            sum = parse_summary(line).unwrap_or(sum);
            failures.extend(parse_failure(line));
        });
        sum.failed = sum.failed.max(u64::from(!passed));
        sum
    }

    fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// Folder of the environment's programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.venv().join(if cfg!(windows) { "Scripts" } else { "bin" })
    }

    fn interpreter(&self) -> PathBuf {
        self.programs().join(if cfg!(windows) { "python.exe" } else { "python" })
    }

    /// The environment's Python, as a command in the folder of the package.
    fn python(&self) -> Command {
        let mut command = Command::new(self.interpreter());
        // Import the installed package, not the sources in the working directory.
        command.current_dir(&self.source).env("PYTHONSAFEPATH", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("MYPY_CACHE_DIR", self.folder.join("mypy")).env("VIRTUAL_ENV", self.venv());
        root::without_package(&mut command);
        command
    }

    pub(crate) fn module(&self, name: &str) -> Command {
        let mut command = self.python();
        command.args(["-m", name]);
        command
    }

    fn pip(&self) -> Command {
        let mut command = self.module("pip");
        command.args(["install", "--quiet", "--disable-pip-version-check"]);
        command
    }
}

/// Parses the test name in `FAILED tests/test_a.py::test_b - AssertionError`.
fn parse_failure(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    rest.contains("::").then(|| rest.split(" - ").next().unwrap_or(rest).into())
}

/// Parses the last line of pytest: `2 failed, 124 passed, 3 skipped in 21.86s`.
fn parse_summary(line: &str) -> Option<Totals> {
    let (counts, _) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    let mut sum = Totals::default();
    for part in counts.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        match word {
            "passed" | "xfailed" => sum.passed += count,
            "failed" | "error" | "errors" | "xpassed" => sum.failed += count,
            "skipped" => sum.skipped += count,
            "warning" | "warnings" | "deselected" => {}
            _ => return None,
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_pytest_are_read() {
        let sum = |passed, failed, skipped| Some(Totals { passed, failed, skipped });
        assert_eq!(parse_summary("2 failed, 124 passed, 3 skipped in 21.86s"), sum(124, 2, 3));
        assert_eq!(parse_summary("1 passed, 1 warning, 2 errors in 0.10s"), sum(1, 2, 0));
        assert_eq!(parse_summary("==== 7 passed in 61.00s (0:01:01) ===="), sum(7, 0, 0));
        assert_eq!(parse_summary("no tests ran in 0.01s"), None);
        assert_eq!(parse_summary("a file that shrinks in 2 ways"), None);
    }

    #[test]
    fn failures_of_pytest_are_named() {
        assert_eq!(
            parse_failure("FAILED tests/test_a.py::test_b - assert 1 == 2"),
            Some("tests/test_a.py::test_b".into())
        );
        assert_eq!(parse_failure("ERROR tests/test_a.py::test_b"), Some("tests/test_a.py::test_b".into()));
        assert_eq!(parse_failure("FAILED to start"), None);
    }
}
