//! Checks that small expensive inputs keep the bound on memory in all commands. Each input runs in a separate process,
//! so that a runaway job does not affect the others.

#![allow(clippy::print_stdout, reason = "a child reports to its parent")]

use polyhaul::ReadOptions;
use polyhaul_testkit::alloc::{self, Counting, measure};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::worst::{MAX_INPUT_BYTES, Work, inputs, max_bytes};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CHILD: &str = "POLYHAUL_TEST_WORST";
/// Cap on the memory of a child process.
const CAP_BYTES: u64 = 3 << 30;
/// Maximum number of allocations per byte of input, beyond a constant: superlinear work makes more.
const MAX_COUNT_PER_BYTE: u64 = 4;

#[test]
fn there_are_fifty_of_all_formats_and_small() {
    let inputs = inputs();
    assert!(inputs.len() >= 50, "{}", inputs.len());
    let names: HashSet<String> = inputs.iter().map(|input| format!("{} {}", input.format(), input.name)).collect();
    assert_eq!(names.len(), inputs.len());
    let large = inputs.iter().filter(|input| input.bytes() > MAX_INPUT_BYTES);
    let large: Vec<_> = large.map(|input| format!("{} {}: {}", input.format(), input.name, input.bytes())).collect();
    assert!(large.is_empty(), "{large:#?}");
}

/// Runs in the child, with the path of an input, its size and the size of its content: prints a line for each command,
/// and one for each violated bound.
fn child(input: &str) {
    alloc::cap(CAP_BYTES);
    let [path, input_bytes, content_bytes] = input.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let input_bytes: u64 = input_bytes.parse().unwrap();
    let allowed = max_bytes(input_bytes, content_bytes.parse().unwrap());
    let mut options = ReadOptions::default();
    options.run.threads = Some(1);
    // Previews have separate tests for time; `bench-obj worst` measures them with these inputs.
    for work in Work::ALL.into_iter().filter(|work| *work != Work::Preview) {
        let (result, used) = measure(|| work.run(Path::new(path), &options));
        let said = result.err().map_or("ok".into(), |error| error.to_string());
        println!("{work:?}: {} MiB, {} allocations, {said:.120}", used.peak_bytes >> 20, used.count);
        if used.peak_bytes > allowed {
            println!("TOO MUCH {work:?}: {} of {allowed} bytes", used.peak_bytes);
        }
        if used.count > 100_000 + MAX_COUNT_PER_BYTE * input_bytes {
            println!("TOO MANY {work:?}: {} allocations", used.count);
        }
    }
}

#[test]
fn small_inputs_keep_to_the_bound() {
    if let Ok(input) = std::env::var(CHILD) {
        return child(&input);
    }
    let folder = Folder::new("worst").unwrap();
    let mut complaints = String::new();
    for input in inputs() {
        let path = input.save(&folder).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["small_inputs_keep_to_the_bound", "--exact", "--nocapture"])
            .env(CHILD, format!("{}\n{}\n{}", path.display(), input.bytes(), input.content_bytes))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{} {}\n{said}", input.format(), input.name);
        if !output.status.success() || said.contains("TOO M") {
            let stderr = String::from_utf8_lossy(&output.stderr);
            complaints += &format!("{} {}\n{said}\n{stderr}\n", input.format(), input.name);
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}
