//! `cargo xtask test`: everything that must hold before a change lands, with only the tools that come with Rust.
//!
//! Steps run one after the other and continue after a failure, so that one run shows everything. A step whose tool is
//! not installed is skipped with a note. The last line is the sum of all tests: `N passed, N failed, N skipped`.

use crate::{api, capi, deny, hosts, python, root, term, tidy, web};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A system for which programs are compiled here, where its standard library is installed.
struct Cross {
    target: &'static str,
    /// The compression libraries are written in C,
    c: &'static str,
    /// and meshoptimizer in C++.
    cpp: &'static str,
}

const WINDOWS: Cross =
    Cross { target: "x86_64-pc-windows-gnu", c: "x86_64-w64-mingw32-gcc", cpp: "x86_64-w64-mingw32-g++" };
const AARCH64: Cross =
    Cross { target: "aarch64-unknown-linux-gnu", c: "aarch64-linux-gnu-gcc", cpp: "aarch64-linux-gnu-g++" };

/// What runs programs for aarch64, and where Debian has the C library for these.
const EMULATOR: &str = "qemu-aarch64";
const EMULATED_LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Tests by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// What the test binaries reported so far.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    /// Names of the tests that failed, for the summary: their output may be thousands of lines up.
    pub(crate) failures: Vec<String>,
}

/// How a step ended. The text of a skipped step says why.
pub(crate) enum Outcome {
    Ok,
    Failed,
    Skipped(String),
}

impl Outcome {
    /// The outcome of a command that ended well, or did not.
    pub(crate) fn of(ok: bool) -> Outcome {
        if ok { Outcome::Ok } else { Outcome::Failed }
    }

    /// Its word in the table.
    fn word(&self) -> String {
        match self {
            Outcome::Ok => "ok".into(),
            Outcome::Failed => "FAILED".into(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
        }
    }
}

/// The steps that ran so far.
#[derive(Default)]
struct Run {
    rows: Vec<(String, Outcome, Duration)>,
    tally: Tally,
}

/// Runs the step of the Python package alone.
pub(crate) fn python() -> ExitCode {
    let mut run = Run::default();
    run.step("python", |tally| python::step(false, tally));
    run.finish()
}

/// Runs a step that tests the wheel in another program alone.
pub(crate) fn host(name: &str, step: fn(&mut Tally) -> Outcome) -> ExitCode {
    let mut run = Run::default();
    run.step(name, step);
    run.finish()
}

/// Runs the step of the dependencies alone.
pub(crate) fn deny() -> ExitCode {
    let mut run = Run::default();
    run.step("licences and advisories", |_| deny::step());
    run.finish()
}

/// Runs all steps; `quick` leaves out lints, documentation and cross checks.
pub(crate) fn main(quick: bool) -> ExitCode {
    let mut run = Run::default();
    run.step("tidy", |_| Outcome::of(tidy::main() == ExitCode::SUCCESS));
    run.step("format", |_| format());
    if !quick {
        run.step("clippy", |_| clippy());
        run.step("features", |_| features());
        run.step("without optimization", |_| unoptimized());
    }
    run.step("tests", |tally| tests(&["--all-targets"], tally));
    run.step("python", |tally| python::step(quick, tally));
    if !quick {
        run.step("blender", hosts::blender);
        run.step("neighbors", hosts::neighbors);
        run.step("ray", hosts::ray);
        run.step("browser", web::step);
        run.step("doc tests", |tally| tests(&["--doc"], tally));
        run.step("documentation", |_| documentation());
        run.step("public interface", |_| api::step());
        run.step("licences and advisories", |_| deny::step());
        run.step("kernels of aarch64", emulated);
        run.step("kernels of WebAssembly", web::kernels);
        for system in [WINDOWS, AARCH64] {
            run.step(&format!("check {}", system.target), |_| system.check());
        }
    }
    run.finish()
}

impl Run {
    /// Runs one step under its heading and notes its outcome and time.
    fn step(&mut self, name: &str, body: impl FnOnce(&mut Tally) -> Outcome) {
        term::out(format!("\n== {name}\n"));
        let start = Instant::now();
        let outcome = body(&mut self.tally);
        if !matches!(outcome, Outcome::Ok) {
            term::out(format!("{name}: {}\n", outcome.word()));
        }
        self.rows.push((name.into(), outcome, start.elapsed()));
    }

    /// The table of times, then the sum of all tests alone on the last line.
    fn finish(&self) -> ExitCode {
        term::out(format!("\n== summary\n{}", table(&self.rows)));
        for name in &self.tally.failures {
            term::out(format!("failed: {name}\n"));
        }
        let Totals { passed, failed, skipped } = self.tally.totals;
        term::out(format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
        let any_failed = self.rows.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed));
        if any_failed || failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// One line per step: name, time, outcome.
fn table(rows: &[(String, Outcome, Duration)]) -> String {
    let line = |(name, outcome, time): &(String, Outcome, Duration)| {
        format!("{name:<32} {:>7.1} s  {}\n", time.as_secs_f64(), outcome.word())
    };
    rows.iter().map(line).collect()
}

/// Every file is as rustfmt would write it.
fn format() -> Outcome {
    if !root::succeeds(root::cargo().args(["fmt", "--version"])) {
        return Outcome::Skipped("rustfmt is not installed (rustup component add rustfmt)".into());
    }
    status(root::cargo().args(["fmt", "--all", "--check"]))
}

/// No lint of the compiler or of clippy speaks up, tests and benches included.
fn clippy() -> Outcome {
    if !root::succeeds(root::cargo().args(["clippy", "--version"])) {
        return Outcome::Skipped("clippy is not installed (rustup component add clippy)".into());
    }
    status(root::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// The library builds with single formats, and reading OBJ requires no image library.
fn features() -> Outcome {
    let alone = [
        "",
        "obj",
        "ply",
        "stl",
        "off",
        "table",
        "pbrt",
        "gltf",
        "tga",
        "png",
        "exr",
        "dds",
        "cloud",
        "meshopt",
        "rust-zstd",
    ];
    let library = ["-p", "polyhaul", "--no-default-features", "--features"];
    let builds = |features: &&str| root::runs(root::cargo().arg("check").args(library).arg(features));
    if !alone.iter().all(builds) {
        return Outcome::Failed;
    }
    let tree = root::output(root::cargo().arg("tree").args(library).args(["obj", "-e", "normal", "--prefix", "none"]));
    let is_of_images = |line: &str| {
        let name = line.split(' ').next().unwrap_or_default();
        ["png", "exr", "zune-jpeg", "jpeg-encoder", "bcdec_rs", "intel_tex_2"].contains(&name)
    };
    Outcome::of(tree.is_some_and(|tree| !tree.lines().any(is_of_images)))
}

/// The program links when it is built without optimization.
fn unoptimized() -> Outcome {
    status(capi::unoptimized("polyhaul-cli").args(["--config", "profile.dev.package.intel_tex_2.opt-level=0"]))
}

/// Links that lead nowhere are errors. Libraries alone: the command's binary has the library's name, and so has the C
/// library, whose reference is its header.
fn documentation() -> Outcome {
    let mut command = root::cargo();
    status(
        command
            .args(["doc", "--workspace", "--exclude", "polyhaul-capi", "--no-deps", "--lib"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

impl Cross {
    /// The workspace passes the compiler; nothing is linked or run.
    fn check(&self) -> Outcome {
        match self.missing(&[self.c, self.cpp]) {
            Some(what) => Outcome::Skipped(what),
            None => status(root::cargo().args(["check", "--workspace", "--target", self.target])),
        }
    }

    /// What is not installed: the standard library, or one of `programs`.
    fn missing(&self, programs: &[&str]) -> Option<String> {
        if let Some(missing) = missing_target(self.target) {
            return Some(missing);
        }
        let is_missing = |program: &&&str| !root::succeeds(Command::new(program).arg("--version"));
        programs.iter().find(is_missing).map(|program| format!("{program} is not installed"))
    }
}

/// Says that the standard library for a target is not installed, if so.
pub(crate) fn missing_target(target: &str) -> Option<String> {
    let installed = sysroot().is_some_and(|sysroot| sysroot.join("lib/rustlib").join(target).join("lib").is_dir());
    (!installed).then(|| format!("not installed (rustup target add {target})"))
}

/// The kernels for aarch64 give the results of the portable ones, in an emulator.
fn emulated(tally: &mut Tally) -> Outcome {
    if cfg!(target_arch = "aarch64") {
        return Outcome::Skipped("this is one: the other tests have them".into());
    }
    if let Some(what) = AARCH64.missing(&[AARCH64.c, EMULATOR]) {
        return Outcome::Skipped(what);
    }
    let mut command = root::cargo();
    command.args(["test", "-p", "polyhaul-text", "--no-fail-fast", "--tests", "--target", AARCH64.target]);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", AARCH64.c);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {EMULATED_LIBRARIES}"));
    counted(&mut command, tally)
}

/// Where the toolchain keeps its standard libraries. Asks rustc, since rustup need not be there.
fn sysroot() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim()))
}

/// Runs `command` with its output on the terminal.
fn status(command: &mut Command) -> Outcome {
    Outcome::of(root::runs(command))
}

/// Runs `cargo test` over the workspace.
fn tests(selection: &[&str], tally: &mut Tally) -> Outcome {
    let mut command = root::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).args(selection);
    counted(&mut command, tally)
}

/// Runs `cargo test` and adds up what its test binaries report.
pub(crate) fn counted(command: &mut Command, tally: &mut Tally) -> Outcome {
    let mut sum = Totals::default();
    let ok = each_line(command, |line| {
        sum.add(parse_result(line).unwrap_or_default());
        tally.failures.extend(parse_failure(line));
    });
    // A binary that did not build, or was killed, reports no result: it counts as one failure.
    sum.failed = sum.failed.max(u64::from(!ok));
    tally.totals.add(sum);
    Outcome::of(ok)
}

/// Runs `command`, passes its output on and shows each line of it; returns whether it succeeded.
pub(crate) fn each_line(command: &mut Command, mut show: impl FnMut(&str)) -> bool {
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            term::out(format!("{line}\n"));
            show(&line);
        }
    }
    child.wait().is_ok_and(|status| status.success())
}

impl Totals {
    pub(crate) fn add(&mut self, other: Totals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// The name in a line `test parse::tests::empty ... FAILED`.
fn parse_failure(line: &str) -> Option<String> {
    Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.into())
}

/// The numbers of a line `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn parse_result(line: &str) -> Option<Totals> {
    let (_, counts) = line.strip_prefix("test result:")?.split_once(". ")?;
    let count = |word: &str| {
        let part = counts.split(';').map(str::trim).find_map(|part| part.strip_suffix(word))?;
        part.trim().parse().ok()
    };
    Some(Totals { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_test_binaries_are_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!(parse_result(line), Some(Totals { passed: 12, failed: 3, skipped: 1 }));
        assert_eq!(parse_result("test tidy::tests::ok ... ok"), None);
        assert_eq!(parse_failure("test a::b ... FAILED"), Some("a::b".into()));
        assert_eq!(parse_failure("test a::b ... ok"), None);
        assert_eq!(parse_result("test result: something else. 1 passed"), None);
    }

    #[test]
    fn the_table_has_a_line_for_each_step() {
        let rows = [
            ("tests".into(), Outcome::Ok, Duration::from_millis(1540)),
            ("clippy".into(), Outcome::Skipped("not installed".into()), Duration::ZERO),
        ];
        let lines: Vec<String> =
            table(&rows).lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["tests 1.5 s ok", "clippy 0.0 s skipped: not installed"]);
    }
}
