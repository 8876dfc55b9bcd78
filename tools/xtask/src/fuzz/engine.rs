//! The program of all fuzz targets: building it, and a turn of libFuzzer with one target.

use super::record::{Progress, Turn, progress};
use super::targets::Target;
use crate::{root, term};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What the fuzzer learns from: counters of branches, and the numbers that are compared. The sanitizer finds reads and
/// writes outside of allocations.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address --cfg fuzzing";

/// Small stores of freed memory and short stacks of allocations: a third of the time is saved.
const ASAN_OPTIONS: &str =
    "quarantine_size_mb=4:thread_local_quarantine_size_kb=64:malloc_context_size=4:detect_stack_use_after_return=0";

/// A file system in memory.
const MEMORY_FOLDER: &str = "/dev/shm";

const NO_NIGHTLY: &str = "fuzzing needs a nightly toolchain: rustup toolchain install nightly";

/// The program that was built.
pub(super) struct Engine {
    program: PathBuf,
}

impl Engine {
    /// Builds the program, or returns what is missing.
    pub(super) fn build() -> Result<Engine, String> {
        let version =
            root::output(Command::new("rustup").args(["run", "nightly", "rustc", "-vV"])).ok_or(NO_NIGHTLY)?;
        // Flags are for the target alone if it is named, and not for scripts that run during the build.
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or(NO_NIGHTLY)?;
        let folder = root::root().join("tools/fuzz");
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "build", "--release", "--target", host, "--target-dir", "target"]);
        if !root::runs(command.current_dir(&folder).env("RUSTFLAGS", FLAGS)) {
            return Err("the program of the fuzz targets was not built".into());
        }
        Ok(Engine { program: folder.join("target").join(host).join("release/polyhaul-fuzz") })
    }

    /// Fuzzes one target; `None` where it could not run.
    pub(super) fn run(&self, target: &Target, max_bytes: usize, seconds: u64) -> Option<Turn> {
        let name = target.name;
        term::out(format!("\n== fuzz {name}, {seconds} s, inputs of up to {max_bytes} bytes\n"));
        // libFuzzer adds its findings to the first folder and only reads the second.
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
        // Choosing by rare features costs a quarter of the time here.
        command.arg("-entropic=0");
        // A second is a lot for so few bytes, but other work on the machine takes time, too.
        command.args(["-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1"]);
        // A thread that is about to end is taken for a leak of 32 bytes; the tests of the C library look for leaks.
        command.arg("-detect_leaks=0");
        // Logs are synced with the disk after each line: 20 times as slow.
        if Path::new(MEMORY_FOLDER).is_dir() {
            command.env("TMPDIR", MEMORY_FOLDER);
        }
        follow(name, command.env("POLYHAUL_FUZZ_TARGET", name).env("ASAN_OPTIONS", ASAN_OPTIONS))
    }
}

/// Runs libFuzzer, shows what it prints except for its progress, and counts its executions; `None` where it did not
/// run.
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

/// Whether a line of libFuzzer is of no use here, such as the words that it found.
fn is_chatter(line: &str) -> bool {
    ["INFO:", "Dictionary:", "######", "\"", "stat::", "\tNEW_FUNC"].iter().any(|start| line.starts_with(start))
}
