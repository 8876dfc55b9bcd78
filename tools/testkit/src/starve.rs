//! Fails every large allocation of a piece of work once: lack of memory must be an error, never an abort.
//!
//! Only allocations of at least 1 KiB fail: smaller allocations include those of the standard library, for example to
//! start a thread. If one of these fails, the process aborts; stable Rust cannot prevent that, and a host program would
//! abort likewise.
//!
//! Since an abort is the bug to find, the work runs in child processes; a child proceeds from one allocation to the
//! next until it dies, and the next child resumes after that allocation.
//!
//! The test binary must use [`Failing`](crate::alloc::Failing) as its allocator.

use crate::alloc::{self, fail_at, tell};
use crate::corpus::Folder;
use crate::output::Shared;
use polyhaul::model::Scene;
use polyhaul::{ErrorKind, Output, Result, WriteOptions, Writer};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Smaller allocations always succeed.
const MIN_BYTES: usize = 1024;
/// Cap on the memory of a child, so that a runaway allocation does not exhaust the machine.
const MAX_BYTES: u64 = 1 << 30;
/// Number of dead children after which the test stops.
const MAX_DEATHS: usize = 60;

/// Tolerance for live memory between runs: covers thread caches, but not a leaked block per run.
const MAX_LEAKED_BYTES: i64 = 64 << 10;

const CHILD: &str = "POLYHAUL_TEST_STARVED_IN";
const FIRST: &str = "POLYHAUL_TEST_STARVED_FIRST";
const TELL: &str = "POLYHAUL_TEST_STARVED_TELL";

/// A test, and the allocations that fail.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Test name with its modules; a child runs only this test.
    pub test: &'a str,
    /// Returns the number of the allocation to fail after a given allocation.
    pub next: fn(u64) -> u64,
    /// Minimum number of errors: with fewer, the work was not starved.
    pub least_errors: u64,
    /// Memory that the work keeps permanently after its first success, such as tables.
    pub kept_bytes: i64,
    /// Minimum size of allocations to fail; smaller allocations do not depend on the input.
    pub min_bytes: usize,
}

impl<'a> Plan<'a> {
    /// Fails every allocation of at least 1 KiB, one after another.
    pub fn of(test: &'a str) -> Plan<'a> {
        Plan { test, next: |number| number + 1, least_errors: 5, kept_bytes: 0, min_bytes: MIN_BYTES }
    }
}

/// Runs the work repeatedly, with a different one of its large allocations failing each time: it must succeed or return
/// [`ErrorKind::Memory`]. Call this as the entire body of a test.
///
/// `start` runs in a child, may use the folder that it receives, and returns the work and a check, which is called
/// after each run with whether the work succeeded.
pub fn every_allocation<W, C>(plan: Plan<'_>, start: impl FnOnce(&Path) -> (W, C))
where
    W: FnMut() -> Result<()>,
    C: FnMut(bool),
{
    match std::env::var_os(CHILD) {
        Some(folder) => child(plan, || start(Path::new(&folder))),
        None => parent(plan.test),
    }
}

/// Returns whether this process is a child of such a test.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// [`every_allocation`] for writing a scene to memory or to a file.
pub fn every_allocation_of_writing(plan: Plan<'_>, to_file: bool, start: impl FnOnce() -> (Scene, WriteOptions)) {
    every_allocation_of_saving(plan, to_file.then_some("out.obj"), || {
        let (scene, options) = start();
        move |output| Writer::new(output).options(&options).scene(&scene).map(drop)
    });
}

/// [`every_allocation`] for writing, to memory or to a file of this name: the result must be the same each time, a file
/// that could not be replaced must be unchanged, and no other files may remain.
pub fn every_allocation_of_saving<S>(plan: Plan<'_>, file: Option<&str>, start: impl FnOnce() -> S)
where
    S: Fn(Output) -> Result<()>,
{
    every_allocation(plan, |folder| {
        let save = start();
        // Reserved in advance, so that the output itself never allocates.
        let shared = Shared::with_room(32 << 20);
        let out = file.map(|name| folder.join(name));
        let written = shared.clone();
        let path = out.clone();
        let place = folder.to_path_buf();
        let write = move || {
            shared.lock().clear();
            save(match &out {
                Some(out) => Output::Path(out.clone()),
                None => Output::Writer(Box::new(shared.clone()), "memory".into()),
            })
        };
        write().unwrap();
        let to_file = path.is_some();
        let written = move || path.as_ref().map_or_else(|| written.lock().clone(), |path| std::fs::read(path).unwrap());
        let count = move || std::fs::read_dir(&place).unwrap().count();
        let expected = written();
        let files = count();
        let check = move |is_well: bool| {
            assert!(!is_well && !to_file || written() == expected, "other bytes");
            assert_eq!(count(), files, "files left behind");
        };
        (write, check)
    });
}

/// Fails the allocations sequentially, and prints the number of each before it fails.
fn child<W, C>(plan: Plan<'_>, start: impl FnOnce() -> (W, C))
where
    W: FnMut() -> Result<()>,
    C: FnMut(bool),
{
    alloc::cap(MAX_BYTES);
    if std::env::var_os(TELL).is_some() {
        tell();
    }
    let (mut work, mut check) = start();
    let mut number = std::env::var(FIRST).ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    // Counts an error for each allocation that earlier children have handled.
    let mut errors = number;
    let mut least_live = i64::MAX;
    loop {
        say(&format!("allocation {number}"));
        let (result, was_hit) = fail_at(number, plan.min_bytes, &mut work);
        check(result.is_ok());
        match result {
            Ok(()) if !was_hit => break,
            Err(error) if !was_hit || error.kind() != ErrorKind::Memory => panic!("{error:?}"),
            Ok(()) => {}
            Err(_) => errors += 1,
        }
        number = (plan.next)(number);
        let live = alloc::live_bytes();
        least_live = least_live.min(live);
        assert!(
            live < least_live + MAX_LEAKED_BYTES + plan.kept_bytes,
            "{} bytes were not given back",
            live - least_live
        );
    }
    assert!(errors >= plan.least_errors, "only {errors} errors");
    say("done");
}

/// Prints a line for the parent.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Starts children until one completes.
fn parent(test: &str) {
    let folder = Folder::new("starved").unwrap();
    let mut first = 0;
    let mut count = 0;
    let mut deaths = BTreeMap::new();
    while count < MAX_DEATHS {
        let (is_well, said) = run(test, folder.path(), first, false);
        let (number, words) = last(&said);
        if is_well {
            assert_eq!(words, "done", "{said}");
            break;
        }
        let number = number.unwrap_or_else(|| panic!("the work did not begin: {said}"));
        let culprit = culprit(test, folder.path(), number);
        deaths.entry(culprit).or_insert_with(|| format!("allocation {number}: {words}"));
        count += 1;
        first = number + 1;
    }
    assert!(deaths.is_empty(), "{count} times the process ended, first at these allocations: {deaths:#?}");
}

/// Runs a child; returns whether it succeeded, and its output.
fn run(test: &str, folder: &Path, first: u64, tells: bool) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, folder).env(FIRST, first.to_string()).env("RUST_BACKTRACE", "0");
    if tells {
        command.env(TELL, "1");
    }
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the number of the last allocation that a child printed, and the output after it.
fn last(said: &str) -> (Option<u64>, String) {
    let lines: Vec<&str> = said.lines().collect();
    let place = lines.iter().rposition(|line| line.starts_with("allocation "));
    let number = place.and_then(|place| lines[place].strip_prefix("allocation ")?.parse().ok());
    (number, lines[place.map_or(0, |place| place + 1)..].join("\n"))
}

/// Returns the stack of the allocation that aborts the process. With several threads, allocations vary in order between
/// runs, so a child may print stacks of failures that it survived; the last stack is the right one.
fn culprit(test: &str, folder: &Path, number: u64) -> String {
    let (is_well, said) = run(test, folder, number, true);
    if is_well {
        return "somebody who was not there again".to_owned();
    }
    let (_, words) = last(&said);
    let culprit = words.lines().rev().find_map(|line| line.strip_prefix("asked for by "));
    culprit.unwrap_or("somebody else").to_owned()
}
