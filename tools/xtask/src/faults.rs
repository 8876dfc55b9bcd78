//! `cargo xtask faults`: plants faults one at a time, and checks that the tests detect each.
//!
//! The places call `planted` of `polyhaul-fault`, which is `false` unless it was built with `--cfg polyhaul_faults`.
//! All test binaries are built once; a variable selects the fault. A fault that no test detects is a missing test.
//!
//! `list` has the faults, `rules` what they break; both are the page [`PAGE`].

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

/// The page with all faults, relative to the repository's root.
const PAGE: &str = "docs/faults.md";
/// The names that stand for unit tests and for tests in Python in [`TestSet::binary`].
const UNIT_TESTS: &str = "lib";
const PYTEST: &str = "pytest";
/// How long tests may take without a fault.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Tests that a fault makes so many times slower, and at least so slow, count as failed: they may wait forever.
const MAX_SLOWDOWN: u32 = 4;
const MIN_SLOW_TIME: Duration = Duration::from_secs(30);
/// How often a test binary that runs is looked at.
const STEP: Duration = Duration::from_millis(5);

/// Runs the tests of all faults, or of those whose names, packages or tests contain `filter`.
pub(crate) fn main(filter: &str) -> ExitCode {
    single("faults", |tally| check(filter, tally))
}

/// Writes the page anew.
pub(crate) fn write_page() -> ExitCode {
    let is_written = std::fs::write(root::root().join(PAGE), page()).is_ok();
    if is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The part of `cargo xtask nightly`.
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

/// Counts faults whose tests were not built: skipped for those in Python, which may not be installed.
fn missing(tests: &TestSet, count: u64, tally: &mut Tally) -> bool {
    let is_python = tests.binary == PYTEST;
    let outcome = if is_python { "skipped (see `cargo xtask python`)" } else { "NOT BUILT" };
    term::out(format!("{}: {outcome}\n", tests.words()));
    let counted = if is_python { &mut tally.totals.skipped } else { &mut tally.totals.failed };
    *counted += count;
    is_python
}

impl Fault {
    /// Whether its name, its package or its tests contain a text.
    fn contains(&self, text: &str) -> bool {
        [self.name, self.tests.package, self.tests.filter].iter().any(|name| name.contains(text))
    }
}

impl TestSet {
    /// The target and the filter: `polyhaul-text (all) format_fixed`.
    fn words(&self) -> String {
        format!("{} ({}) {}", self.package, self.binary, self.filter).trim_end().to_owned()
    }
}

/// A line of Cargo's messages about a build.
#[derive(Deserialize)]
struct Artifact {
    /// `path+file:///folder#name@version`, or without the name if the folder has it.
    package_id: String,
    manifest_path: PathBuf,
    target: ArtifactTarget,
    profile: ArtifactProfile,
    /// The program.
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
    /// The names of the package and the target of a test binary; `None` for others.
    fn names(&self) -> Option<(String, String)> {
        let (folder, version) = self.package_id.rsplit_once('#')?;
        let package = version.split_once('@').map_or_else(|| folder.rsplit('/').next(), |(name, _)| Some(name))?;
        let is_integration_test = self.target.kind.iter().any(|kind| kind == "test");
        let target = if is_integration_test { &self.target.name } else { UNIT_TESTS };
        self.profile.test.then(|| (package.into(), target.into()))
    }
}

/// A program that runs tests.
struct TestBinary {
    program: PathBuf,
    /// Its arguments before the filter.
    arguments: Vec<OsString>,
    /// The folder of its package.
    folder: PathBuf,
    /// Where Python looks for packages first.
    search_path: Option<PathBuf>,
}

/// Test binaries by package and target.
type TestBinaries = BTreeMap<(String, String), TestBinary>;

/// Builds the tests of these faults. Those in Rust take one call of Cargo, so that all packages have the same features.
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

/// Makes Cargo build faults, in a folder of their own.
fn with_faults(command: &mut Command) -> &mut Command {
    command.env("RUSTFLAGS", "--cfg polyhaul_faults").env("CARGO_TARGET_DIR", folder())
}

/// The folder for builds with faults.
fn folder() -> PathBuf {
    root::root().join("target/faults")
}

impl TestBinary {
    /// Whether there are tests for this filter, and all pass without a fault; otherwise prints what they print.
    fn passes(&self, filter: &str) -> bool {
        let has_passed = self.run(filter, "", MAX_TIME);
        let text = std::fs::read_to_string(output_path()).unwrap_or_default();
        // pytest fails if it finds no test.
        let mut totals = text.lines().filter_map(parse_result);
        let is_ok = has_passed && (self.search_path.is_some() || totals.any(|totals| totals.passed > 0));
        if !is_ok {
            term::out(text);
        }
        is_ok
    }

    /// Whether the tests pass with this fault; an empty name plants none. A detected fault prints a lot, which is kept
    /// in a file.
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

/// The file with the output of the last test binary.
fn output_path() -> PathBuf {
    folder().join("output.txt")
}

/// Waits for tests, but not forever; whether they passed.
fn has_passed(mut tests: Child, max_time: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < max_time {
        match tests.try_wait() {
            Ok(None) => std::thread::sleep(STEP),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    // With the programs that the tests started, which are in the same group.
    root::succeeds(Command::new("kill").args(["-KILL", "--", &format!("-{}", tests.id())]));
    _ = tests.kill();
    _ = tests.wait();
    false
}

/// The page: each rule with its faults.
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

/// The start of the page.
const PAGE_HEAD: &str = "\
# Planted faults

Each row is a fault that can be planted in a test build, the invariant (I, see [ARCHITECTURE](../ARCHITECTURE.md)) or
promise (P) that it breaks, and the tests that detect it: package, test binary, filter. `cargo xtask faults` plants each
one in turn, and fails if its tests pass. `cargo xtask fault-page` generates this page from
`tools/xtask/src/faults/list.rs`.
";

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources of everything that is shipped.
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
        // Those of models may be among the faults, too.
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
