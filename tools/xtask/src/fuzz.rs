//! `cargo xtask fuzz [TARGET] [--seconds N]` and `cargo xtask fuzz --all --hours N`: runs cargo-fuzz over the targets
//! of `tools/fuzz/`, seeded with the test data.
//!
//! A long run gives turns to the target with the fewest executions so far, keeps the corpus in tools/fuzz/corpus, and
//! adds each turn to the table of `tools/fuzz/RECORD.md` (see `tools/xtask/src/fuzz/record.rs`). It needs a nightly
//! toolchain and cargo-fuzz, and says so if they are missing. The bodies of the targets are in the test kit, and run
//! there over the same files as normal tests: the smoke run needs neither.

mod record;

use crate::{root, term, usage_error};
use record::{Record, Turn};
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A fuzz target. Its words are in `tools/fuzz/dictionaries`.
struct Target {
    name: &'static str,
    /// The folder of test data that seeds it.
    seeds: &'static str,
    /// The largest input of most turns: small ones run often, and most faults need few bytes.
    max_bytes: usize,
}

const fn target(name: &'static str, seeds: &'static str, max_bytes: usize) -> Target {
    Target { name, seeds, max_bytes }
}

const TARGETS: &[Target] = &[
    target("obj", "testdata/obj", 4096),
    target("mtl", "testdata/obj", 4096),
    target("numbers", "testdata/obj", 1024),
    target("filter", "testdata/filter", 256),
    target("packed", "testdata", 4096),
    target("zip", "testdata/zip", 4096),
    target("ply", "testdata/ply", 4096),
    target("stl", "testdata/stl", 4096),
    target("off", "testdata/off", 4096),
    target("gltf", "testdata/glb", 4096),
    target("spz", "testdata/spz", 4096),
    target("splat", "testdata/splat", 4096),
    target("sog", "testdata/sog/joined", 8192),
    target("pbrt", "testdata/pbrt", 4096),
    target("table", "testdata/table", 4096),
    target("convert", "testdata/table", 4096),
    target("tga", "testdata/tga", 8192),
    target("hdr", "testdata/hdr", 8192),
    target("bmp", "testdata/bmp", 8192),
    target("psd", "testdata/psd", 8192),
    target("dds", "testdata/dds", 8192),
    target("ktx2", "testdata/ktx2", 8192),
    target("png", "testdata/png", 8192),
    target("jpeg", "testdata/jpg", 8192),
    target("exr", "testdata/exr", 16_384),
];

/// The largest input of the other turns.
const LARGE_INPUT_BYTES: usize = 65_536;

/// One turn in this many has large inputs.
const LARGE_SHARE: u64 = 8;

/// How long each target runs by default.
const SECONDS: u64 = 60;

/// The longest turn of a long run: short enough that all targets have had one after a few hours.
const TURN_SECONDS: u64 = 600;

/// Small stores of freed memory and short stacks of allocations: a third of the time is saved.
const ASAN_OPTIONS: &str =
    "quarantine_size_mb=4:thread_local_quarantine_size_kb=64:malloc_context_size=4:detect_stack_use_after_return=0";

const MISSING: &str = "\
fuzzing needs a nightly toolchain and cargo-fuzz:
    rustup toolchain install nightly
    cargo install cargo-fuzz
";

/// What to run.
#[derive(Debug, PartialEq)]
enum Plan<'a> {
    /// One target, or each target once.
    Once { name: Option<&'a str>, seconds: u64 },
    /// All targets in turn for this long, with the totals recorded.
    Long { seconds: u64 },
}

/// Fuzzes as `args` say.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let Some(plan) = parse(args) else {
        return usage_error();
    };
    if !root::succeeds(nightly().args(["fuzz", "--version"])) {
        term::err(MISSING);
        return ExitCode::FAILURE;
    }
    let failed = match plan {
        Plan::Once { name, seconds } => once(name, seconds),
        Plan::Long { seconds } => long(Duration::from_secs(seconds)),
    };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse<'a>(args: &[&'a str]) -> Option<Plan<'a>> {
    if let ["--all", "--hours", hours] = args {
        let hours: f64 = hours.parse().ok().filter(|hours| (0.0..=1e6).contains(hours))?;
        return Some(Plan::Long { seconds: (hours * 3600.0) as u64 });
    }
    let (name, options) = match args {
        [name, rest @ ..] if !name.starts_with('-') => (Some(*name), rest),
        rest => (None, rest),
    };
    let seconds = match options {
        [] => SECONDS,
        ["--seconds", number] => number.parse().ok()?,
        _ => return None,
    };
    let is_known = name.is_none_or(|name| TARGETS.iter().any(|target| target.name == name));
    is_known.then_some(Plan::Once { name, seconds })
}

/// Fuzzes one target, or all of them even after one found something; returns how many did.
fn once(name: Option<&str>, seconds: u64) -> usize {
    let chosen = TARGETS.iter().filter(|target| name.is_none_or(|name| name == target.name));
    chosen.filter(|target| run(target, target.max_bytes, seconds).is_none_or(|turn| turn.found_something)).count()
}

/// Gives turns to the targets until the time is up; returns how many found something. Such a target has no more turns:
/// it would only find the same again.
fn long(time: Duration) -> usize {
    let end = Instant::now() + time;
    let mut stopped: Vec<&str> = Vec::new();
    let mut record = match Record::load() {
        Ok(record) => record,
        Err(error) => {
            term::err(format!("{}: {error}\n", record::PATH));
            return 1;
        }
    };
    let turn_seconds = (time.as_secs() / TARGETS.len() as u64).clamp(1, TURN_SECONDS);
    for number in 0.. {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        let open = TARGETS.iter().filter(|target| !stopped.contains(&target.name));
        let Some(target) = open.min_by_key(|target| record.executions(target.name)).filter(|_| left > 0) else {
            break;
        };
        // The number is unrelated to the target, so each gets large inputs at some time.
        let is_large = number % LARGE_SHARE == LARGE_SHARE - 1;
        let max_bytes = if is_large { LARGE_INPUT_BYTES } else { target.max_bytes };
        let turn = run(target, max_bytes, turn_seconds.min(left));
        if turn.as_ref().is_none_or(|turn| turn.found_something) {
            stopped.push(target.name);
        }
        let Some(turn) = turn else { continue };
        record.add(target.name, &turn);
        if let Err(error) = record.save() {
            term::err(format!("{}: {error}\n", record::PATH));
        }
    }
    stopped.len()
}

/// A call of the nightly cargo, in the root folder.
fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(root::root());
    command
}

/// Fuzzes one target; `None` where it could not run.
fn run(target: &Target, max_bytes: usize, seconds: u64) -> Option<Turn> {
    term::out(format!("\n== fuzz {}, {seconds} s, inputs of up to {max_bytes} bytes\n", target.name));
    // libFuzzer adds its findings to the first folder and only reads the second.
    let corpus = format!("tools/fuzz/corpus/{}", target.name);
    if let Err(error) = std::fs::create_dir_all(root::root().join(&corpus)) {
        term::err(format!("{corpus}: {error}\n"));
        return None;
    }
    let mut command = nightly();
    command.args(["fuzz", "run", "--fuzz-dir", "tools/fuzz", target.name, &corpus, target.seeds, "--"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={max_bytes}"));
    command.arg(format!("-dict=tools/fuzz/dictionaries/{}.dict", target.name));
    // Choosing by rare features costs a quarter of the time here.
    command.arg("-entropic=0");
    // A second is a lot for so few bytes, but other work on the machine takes time, too.
    command.args(["-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1"]);
    // A thread that is about to end is taken for a leak of 32 bytes; the tests of the C library look for leaks.
    command.arg("-detect_leaks=0");
    follow(command.env("ASAN_OPTIONS", ASAN_OPTIONS))
}

/// Runs libFuzzer, shows what it prints and counts its executions; `None` where it did not run.
fn follow(command: &mut Command) -> Option<Turn> {
    let start = Instant::now();
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    let mut executions = None;
    for line in BufReader::new(child.stderr.take()?).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        term::err(format!("{line}\n"));
        executions = record::executions(&line).or(executions);
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    Some(Turn { executions: executions?, seconds: start.elapsed().as_secs(), found_something: !is_well })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_and_time_are_read() {
        assert_eq!(parse(&[]), Some(Plan::Once { name: None, seconds: SECONDS }));
        assert_eq!(parse(&["obj"]), Some(Plan::Once { name: Some("obj"), seconds: SECONDS }));
        assert_eq!(parse(&["mtl", "--seconds", "5"]), Some(Plan::Once { name: Some("mtl"), seconds: 5 }));
        assert_eq!(parse(&["--seconds", "5"]), Some(Plan::Once { name: None, seconds: 5 }));
        assert_eq!(parse(&["--all", "--hours", "1.5"]), Some(Plan::Long { seconds: 5400 }));
        for wrong in [&["dxf"][..], &["--seconds"], &["--seconds", "soon"], &["obj", "mtl"], &["--all"]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(parse(&["--all", "--hours", "-1"]), None);
    }

    #[test]
    fn every_target_has_its_body_and_its_words() {
        let manifest = std::fs::read_to_string(root::root().join("tools/fuzz/Cargo.toml")).unwrap();
        for Target { name, .. } in TARGETS {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            assert!(root::root().join(format!("tools/fuzz/fuzz_targets/{name}.rs")).exists(), "{name}");
            assert!(root::root().join(format!("tools/fuzz/dictionaries/{name}.dict")).exists(), "{name}");
        }
    }
}
