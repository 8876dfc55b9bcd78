//! Machine faults: failing reads, files that change, clocks that jump, exhausted descriptors, power loss. A small
//! library (`shim.c`), loaded by LD_PRELOAD, injects them.

mod clocks;
mod descriptors;
mod power;
mod reads;

use super::{COMMAND, skip, stderr};
use crate::common::{Folder, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The path of the library that injects faults. Without a C compiler it is missing, and the tests pass with a note.
fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let shim = SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/promises/machine/shim.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        match compiler.output() {
            Ok(output) if output.status.success() => Some(library),
            Ok(output) => panic!("{}", stderr(&output)),
            Err(_) => None,
        }
    });
    if shim.is_none() {
        skip("there is no C compiler `cc` for the library that injects faults");
    }
    shim.as_deref()
}

/// A fault: an environment variable of the shim, and its value.
type Fault<'a> = (&'a str, &'a str);

/// Runs the command with faults. If it hangs, it is killed.
fn run_with_faults(shim: &Path, args: &[&str], faults: &[Fault<'_>]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "300", "env", "RUST_BACKTRACE=0"]).arg(format!("LD_PRELOAD={}", shim.display()));
    command.args(faults.iter().map(|(variable, value)| format!("{variable}={value}")));
    command.arg(COMMAND).args(args).output().unwrap()
}

/// The number of calls of a run that can fail.
struct Counts {
    reads: usize,
    openings: usize,
    clocks: usize,
    renames: usize,
}

impl Counts {
    /// Counts the calls of a run without faults. Reads are counted only for files whose path ends with `file`.
    fn of(shim: &Path, args: &[&str], file: &str) -> Counts {
        let folder = Folder::new(&format!("machine-counts-{:?}", std::thread::current().id()).replace(['(', ')'], ""));
        let log = folder.path("log");
        let output = run_with_faults(shim, args, &[("FAULT_LOG", &log), ("FAULT_FILE", file)]);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let text = fs::read_to_string(log).unwrap();
        let numbers: Vec<usize> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        Counts { reads: numbers[0], openings: numbers[1], clocks: numbers[2], renames: numbers[3] }
    }

    /// The numbers of the first, middle and last of `count` calls.
    fn ends(count: usize) -> Vec<usize> {
        let mut numbers = vec![1, count.div_ceil(2), count];
        numbers.dedup();
        numbers
    }
}

/// Creates a library of different small scenes in `folder`.
fn library(folder: &Folder) -> String {
    fs::create_dir(folder.path("library")).unwrap();
    for number in 0..8 {
        folder.file(&format!("library/{number}.obj"), &format!("v 0 0 0\nv 1 0 0\nv 0 1 {number}\nf 1 2 3\n"));
    }
    folder.path("library")
}

/// Converts a [`library`] without faults.
#[track_caller]
fn finish_batch(library: &str, out: &str) {
    run(&["batch", library, "-o", out, "--to", "ply", "--workers", "1", "-q"]).expect(0);
    for number in 0..8 {
        let bytes = fs::read(format!("{out}/{number}.ply")).unwrap_or_default();
        assert!(String::from_utf8_lossy(&bytes).contains("element vertex 3"), "{number}: {} bytes", bytes.len());
    }
    let rows = run(&["batch", "rows", out]).expect(0).stdout;
    let rows = rows.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut assets: Vec<String> =
        rows.filter(|row| row["status"] == "done").map(|row| row["asset"].to_string()).collect();
    assets.sort();
    assert_eq!(assets.len(), 8, "{assets:?}");
    assets.dedup();
    assert_eq!(assets.len(), 8, "{assets:?}");
}
