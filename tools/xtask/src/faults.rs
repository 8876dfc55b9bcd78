//! `cargo xtask faults`: plants faults one at a time, and checks that the tests detect each.
//!
//! The faults call `planted` of `polyhaul-fault`, which always returns `false` unless built with
//! `--cfg polyhaul_faults`. All test binaries are built once; an environment variable selects the fault. A fault that
//! no test detects is a missing test.
//!
//! `list` contains the faults, `rules` the rules that they violate; [`PAGE`] documents both.

mod list;
mod python;
mod rules;

use crate::steps::{Outcome, Tally, parse_result, single};
use crate::{root, term};
use list::{FAULTS, Fault, TestSet};
use rules::{ELSEWHERE, Rule};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Page with all faults, relative to the repository's root.
const PAGE: &str = "docs/faults.md";
/// Names of unit tests and of Python tests in [`TestSet::binary`].
const UNIT_TESTS: &str = "lib";
const PYTEST: &str = "pytest";
/// Time limit for tests without a fault.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Tests count as failed if a fault makes them slower by more than this factor, and slower than a minimum time: they
/// may hang.
const MAX_SLOWDOWN: u32 = 4;
const MIN_SLOW_TIME: Duration = Duration::from_secs(30);
/// Polling interval for running test binaries.
const STEP: Duration = Duration::from_millis(5);

/// Runs the tests of all faults, or of those whose names, packages or tests contain `filter`.
pub(crate) fn main(filter: &str) -> ExitCode {
    single("faults", |tally| check(filter, tally))
}

/// Regenerates the page.
pub(crate) fn write_page() -> ExitCode {
    let is_written = std::fs::write(root::root().join(PAGE), page()).is_ok();
    if is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs as part of `cargo xtask nightly`.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    check("", tally)
}

/// Runs each set of tests once without a fault, and once with each of its faults.
fn check(filter: &str, tally: &mut Tally) -> Outcome {
    let is_chosen = |fault: &&Fault| fault.contains(filter);
    let faults: Vec<Fault> = FAULTS.iter().filter(is_chosen).copied().collect();
    if faults.is_empty() {
        term::out(format!("no fault has `{filter}` in its name, package or tests\n"));
    }
    let Some(binaries) = build(&faults) else { return Outcome::Failed };
    let mut is_ok = true;
    for faults in faults.chunk_by(|left, right| left.tests == right.tests) {
        let tests = faults[0].tests;
        let Some(binary) = binaries.get(&(tests.package.into(), tests.binary.into())) else {
            is_ok &= missing(&tests, faults.len() as u64, tally);
            continue;
        };
        let start = Instant::now();
        is_ok &= count(&format!("{} pass without a fault", tests.words()), binary.passes(tests.filter), tally);
        let max_time = MIN_SLOW_TIME.max(MAX_SLOWDOWN * start.elapsed());
        for fault in faults {
            let is_detected = !binary.run(fault.tests.filter, fault.name, max_time);
            is_ok &= count(&format!("{} detect {}", tests.words(), fault.name), is_detected, tally);
        }
    }
    Outcome::of(is_ok && !faults.is_empty())
}

/// Prints and counts a result.
pub(crate) fn count(check: &str, is_ok: bool, tally: &mut Tally) -> bool {
    term::out(format!("{check}: {}\n", if is_ok { "yes" } else { "NO" }));
    if is_ok {
        tally.totals.passed += 1;
    } else {
        tally.totals.failed += 1;
        tally.failures.push(check.into());
    }
    is_ok
}

/// Counts faults whose tests were not built: skipped for Python, which may not be installed, otherwise failed.
fn missing(tests: &TestSet, count: u64, tally: &mut Tally) -> bool {
    let is_python = tests.binary == PYTEST;
    let outcome = if is_python { "skipped (see `cargo xtask python`)" } else { "NOT BUILT" };
    term::out(format!("{}: {outcome}\n", tests.words()));
    let counted = if is_python { &mut tally.totals.skipped } else { &mut tally.totals.failed };
    *counted += count;
    is_python
}

impl Fault {
    /// Returns whether the name, package or tests contain `text`.
    fn contains(&self, text: &str) -> bool {
        [self.name, self.tests.package, self.tests.filter].iter().any(|name| name.contains(text))
    }
}

impl TestSet {
    /// Describes the tests: `polyhaul-text (all) format_fixed`.
    fn words(&self) -> String {
        format!("{} ({}) {}", self.package, self.binary, self.filter).trim_end().to_owned()
    }
}

/// A line of Cargo's JSON messages.
#[derive(Deserialize)]
struct Artifact {
    /// `path+file:///folder#name@version`, without the name if it equals the folder's.
    package_id: String,
    manifest_path: PathBuf,
    target: ArtifactTarget,
    profile: ArtifactProfile,
    /// Path of the program.
    executable: PathBuf,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct ArtifactProfile {
    test: bool,
}

impl Artifact {
    /// Returns the package and target of a test binary, or `None` for other messages.
    fn names(&self) -> Option<(String, String)> {
        let (folder, version) = self.package_id.rsplit_once('#')?;
        let package = version.split_once('@').map_or_else(|| folder.rsplit('/').next(), |(name, _)| Some(name))?;
        let is_integration_test = self.target.kind.iter().any(|kind| kind == "test");
        let target = if is_integration_test { &self.target.name } else { UNIT_TESTS };
        self.profile.test.then(|| (package.into(), target.into()))
    }
}

/// A test program.
struct TestBinary {
    program: PathBuf,
    /// Arguments before the filter.
    arguments: Vec<OsString>,
    /// Folder of its package.
    folder: PathBuf,
    /// First entry of Python's search path.
    search_path: Option<PathBuf>,
}

/// Test binaries by package and target.
type TestBinaries = BTreeMap<(String, String), TestBinary>;

/// Builds the tests of these faults. A single call of Cargo builds the Rust tests, so that all packages share their
/// features.
fn build(faults: &[Fault]) -> Option<TestBinaries> {
    let is_python = |fault: &&Fault| fault.tests.binary == PYTEST;
    let mut binaries = TestBinaries::new();
    let rust: Vec<Fault> = faults.iter().filter(|fault| !is_python(fault)).copied().collect();
    if !rust.is_empty() {
        build_rust(&rust, &mut binaries)?;
    }
    if let Some(fault) = faults.iter().find(is_python)
        && let Some(binary) = python::build()
    {
        binaries.insert((fault.tests.package.into(), PYTEST.into()), binary);
    }
    Some(binaries)
}

fn build_rust(faults: &[Fault], binaries: &mut TestBinaries) -> Option<()> {
    let packages: BTreeSet<&str> = faults.iter().map(|fault| fault.tests.package).collect();
    let targets: BTreeSet<&str> = faults.iter().map(|fault| fault.tests.binary).collect();
    let mut command = root::cargo();
    command.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    packages.iter().for_each(|package| _ = command.args(["-p", package]));
    targets.iter().for_each(|target| match *target {
        UNIT_TESTS => _ = command.arg("--lib"),
        target => _ = command.args(["--test", target]),
    });
    if packages.contains("polyhaul-cli") {
        command.args(["--features", "polyhaul-cli/full"]);
    }
    let output =
        with_faults(&mut command).stderr(Stdio::inherit()).output().ok().filter(|output| output.status.success())?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(artifact) = serde_json::from_str::<Artifact>(line) else { continue };
        if let Some(names) = artifact.names() {
            let folder = artifact.manifest_path.parent().unwrap_or(&artifact.manifest_path).to_path_buf();
            let program = artifact.executable;
            binaries.insert(names, TestBinary { program, arguments: Vec::new(), folder, search_path: None });
        }
    }
    Some(())
}

/// Enables planted faults in a build, in a separate target folder.
fn with_faults(command: &mut Command) -> &mut Command {
    command.env("RUSTFLAGS", "--cfg polyhaul_faults").env("CARGO_TARGET_DIR", folder())
}

/// Target folder of builds with faults.
fn folder() -> PathBuf {
    root::root().join("target/faults")
}

impl TestBinary {
    /// Returns whether tests match the filter and all pass without a fault; otherwise prints their output.
    fn passes(&self, filter: &str) -> bool {
        let has_passed = self.run(filter, "", MAX_TIME);
        let text = std::fs::read_to_string(output_path()).unwrap_or_default();
        // pytest fails if it collects no tests.
        let mut totals = text.lines().filter_map(parse_result);
        let is_ok = has_passed && (self.search_path.is_some() || totals.any(|totals| totals.passed > 0));
        if !is_ok {
            term::out(text);
        }
        is_ok
    }

    /// Returns whether the tests pass with this fault; an empty name plants none. Output goes to a file, since a
    /// detected fault prints a lot.
    fn run(&self, filter: &str, fault: &str, max_time: Duration) -> bool {
        let Ok(output) = File::create(output_path()) else { return false };
        let Ok(errors) = output.try_clone() else { return false };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(Some(filter).filter(|filter| !filter.is_empty())).current_dir(&self.folder);
        command.envs(self.search_path.iter().map(|path| ("PYTHONPATH", path))).env("PYTHONSAFEPATH", "1");
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("POLYHAUL_FAULT", fault);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().is_ok_and(|tests| has_passed(tests, max_time))
    }
}

/// File with the output of the last test binary.
fn output_path() -> PathBuf {
    folder().join("output.txt")
}

/// Waits for tests up to a time limit; returns whether they passed.
fn has_passed(mut tests: Child, max_time: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < max_time {
        match tests.try_wait() {
            Ok(None) => std::thread::sleep(STEP),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    // Also kills programs that the tests started: they are in the same process group.
    root::succeeds(Command::new("kill").args(["-KILL", "--", &format!("-{}", tests.id())]));
    _ = tests.kill();
    _ = tests.wait();
    false
}

/// Formats the page: each rule with its faults.
fn page() -> String {
    let mut page = String::from(PAGE_HEAD);
    for rule in Rule::all() {
        let (number, words) = rule.words();
        _ = write!(page, "\n## {number}: {words}\n\n");
        if let Some((_, means)) = ELSEWHERE.iter().find(|(other, _)| *other == rule) {
            _ = writeln!(page, "Without a fault; checked by {means}.");
            continue;
        }
        page.push_str("| fault | what goes wrong | tests |\n| --- | --- | --- |\n");
        for fault in FAULTS.iter().filter(|fault| fault.breaks.contains(&rule)) {
            let Fault { name, what, tests, .. } = fault;
            _ = writeln!(page, "| `{name}` | {what} | {} |", tests.words());
        }
    }
    page
}

/// Introduction of the page.
const PAGE_HEAD: &str = "\
# Planted faults

Each row is a fault that can be planted in a test build: its name, what goes wrong, and the tests that detect it
(package, test binary, filter). Each section is about an invariant (I, see `ARCHITECTURE.md`) or a
promise (P) that its faults break. `cargo xtask faults` plants each fault in turn, and fails if the tests still pass.
`cargo xtask fault-page` generates this page from `tools/xtask/src/faults/list.rs`.
";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sources of everything that is released.
    fn sources() -> String {
        let mut folders = ["crates", "surfaces"].map(|folder| root::root().join(folder)).to_vec();
        let mut text = String::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with("node_modules") {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    text += &std::fs::read_to_string(path).unwrap();
                }
            }
        }
        text
    }

    #[test]
    fn every_fault_is_planted_once() {
        let text = sources();
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        // Faults may also be planted in models.
        let places = |kind: &str, name: &str| text.matches(&format!("{kind}(\"{name}\")")).count();
        for name in &names {
            assert_eq!(places("planted", name) + places("mutated", name), 1, "{name}");
        }
        let planted = text.split("planted(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
        assert_eq!(planted.filter(|name| !names.contains(name)).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn every_rule_is_broken_by_a_fault() {
        for rule in Rule::all() {
            let is_broken = FAULTS.iter().any(|fault| fault.breaks.contains(&rule));
            let is_elsewhere = ELSEWHERE.iter().any(|(other, _)| *other == rule);
            assert!(is_broken != is_elsewhere, "{rule:?}");
        }
    }

    #[test]
    fn every_crate_has_a_fault() {
        let root = root::root();
        let crates = ["crates", "crates/core", "crates/formats", "surfaces"];
        let folders = crates.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
        let is_crate = |folder: &PathBuf| folder.join("Cargo.toml").exists() && !folder.ends_with("core/fault");
        for folder in folders.map(|entry| entry.unwrap().path()).filter(is_crate) {
            let is_planted = root::output(Command::new("grep").args(["-rlF", "planted(\""]).arg(folder.join("src")));
            assert!(is_planted.is_some(), "{}", folder.display());
        }
    }

    #[test]
    fn the_page_is_current() {
        assert_eq!(std::fs::read_to_string(root::root().join(PAGE)).unwrap(), page(), "run `cargo xtask fault-page`");
    }
}
