//! Builds the program of all fuzz targets, and runs libFuzzer on a target.

use super::record::{Progress, Turn, progress};
use super::targets::Target;
use crate::{root, term};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Instrumentation that guides the fuzzer: edge counters. Comparisons are not traced, because dictionaries and seeds
/// contain the words of the formats. The sanitizer detects out-of-bounds accesses.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Zsanitizer=address --cfg fuzzing";

/// A small quarantine and short allocation stacks save a third of the time.
const ASAN_OPTIONS: &str =
    "quarantine_size_mb=4:thread_local_quarantine_size_kb=64:malloc_context_size=4:detect_stack_use_after_return=0";

/// In-memory file system.
const MEMORY_FOLDER: &str = "/dev/shm";

const NO_NIGHTLY: &str = "fuzzing needs a nightly toolchain: rustup toolchain install nightly";

/// The built program.
pub(super) struct Engine {
    program: PathBuf,
}

impl Engine {
    /// Builds the program; the error names a missing requirement.
    pub(super) fn build() -> Result<Engine, String> {
        let version =
            root::output(Command::new("rustup").args(["run", "nightly", "rustc", "-vV"])).ok_or(NO_NIGHTLY)?;
        // With an explicit target, the flags do not apply to build scripts.
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or(NO_NIGHTLY)?;
        let folder = root::root().join("tools/fuzz");
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "build", "--release", "--target", host, "--target-dir", "target"]);
        if !root::runs(command.current_dir(&folder).env("RUSTFLAGS", FLAGS)) {
            return Err("the program of the fuzz targets was not built".into());
        }
        Ok(Engine { program: folder.join("target").join(host).join("release/polyhaul-fuzz") })
    }

    /// Fuzzes one target. Returns `None` if it could not run.
    pub(super) fn run(&self, target: &Target, max_bytes: usize, seconds: u64) -> Option<Turn> {
        let name = target.name;
        term::out(format!("\n== fuzz {name}, {seconds} s, inputs of up to {max_bytes} bytes\n"));
        // libFuzzer adds new inputs to the first folder and only reads the other folders.
        let [corpus, artifacts] = ["corpus", "artifacts"].map(|kind| format!("tools/fuzz/{kind}/{name}/"));
        for folder in [&corpus, &artifacts] {
            if let Err(error) = std::fs::create_dir_all(root::root().join(folder)) {
                term::err(format!("{folder}: {error}\n"));
                return None;
            }
        }
        let mut command = Command::new(&self.program);
        command.current_dir(root::root()).args([&corpus, target.seeds]);
        command.arg(format!("-artifact_prefix={artifacts}"));
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-max_len={max_bytes}"));
        command.arg(format!("-dict=tools/fuzz/dictionaries/{name}.dict"));
        // Selecting inputs by rare features costs a quarter of the time here.
        command.arg("-entropic=0");
        // A second is plenty for such small inputs, but the machine may be busy.
        command.args(["-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1"]);
        // The state of an exiting thread is reported as a leak of 32 bytes; the tests of the C library check for leaks.
        command.arg("-detect_leaks=0");
        // Logs are synced after each line, which is slow on disk.
        if Path::new(MEMORY_FOLDER).is_dir() {
            command.env("TMPDIR", MEMORY_FOLDER);
        }
        follow(name, command.env("POLYHAUL_FUZZ_TARGET", name).env("ASAN_OPTIONS", ASAN_OPTIONS))
    }
}

/// Runs libFuzzer, prints its output except for progress, and counts its executions. Returns `None` if it did not run.
fn follow(name: &str, command: &mut Command) -> Option<Turn> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
    let mut points: Vec<Progress> = Vec::new();
    for line in BufReader::new(child.stderr.take()?).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match progress(&line) {
            Some(point) => {
                let edges = points.last().map_or(0, |last| last.edges).max(point.edges);
                points.push(Progress { edges, ..point });
            }
            None if is_chatter(&line) => {}
            None => term::err(format!("{name}: {line}\n")),
        }
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let last = points.last()?;
    term::out(format!("{name}: {} executions reached {} edges\n", last.executions, last.edges));
    Some(Turn { points, seconds: start.elapsed().as_secs(), found_something: !is_well })
}

/// Returns whether a line of libFuzzer is irrelevant, such as its recommended dictionary.
fn is_chatter(line: &str) -> bool {
    ["INFO:", "Dictionary:", "######", "\"", "stat::", "\tNEW_FUNC"].iter().any(|start| line.starts_with(start))
}
