//! Recorded programs behave as usual, and their calls are counted: forks in threads, cancellation, signals, sandboxes.
//!
//! `awkward.c` has the programs. Without a C compiler, the tests pass with a note on standard error.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use polyhaul_watch::files::{File, Kind, NameCalls};
use polyhaul_watch::preload;
use polyhaul_watch::timeline::{Activity, Line};
use polyhaul_watch::trace::{End, Seen, Wanted};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The compiled programs, or `None` without a compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| common::compiled("awkward")).as_deref()
}

/// A run of a case: its output and its end.
#[derive(Debug, PartialEq)]
struct Ran {
    text: String,
    end: End,
}

/// The command that runs a case and writes its output to a file.
fn command(program: &Path, case: &str, output: &Path) -> Vec<OsString> {
    let script = r#"exec "$0" "$1" > "$2" < /dev/null"#;
    let parts: [&Path; 6] = ["sh".as_ref(), "-c".as_ref(), script.as_ref(), program, case.as_ref(), output];
    parts.map(OsString::from).to_vec()
}

/// Runs a case without and with the recorder, asserts that both are the same, and returns what was recorded.
#[track_caller]
fn record(case: &str) -> Option<Seen> {
    use std::os::unix::process::ExitStatusExt;
    let program = program()?;
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{case}.txt"));
    let parts = command(program, case, &output);
    let status = Command::new(&parts[0]).args(&parts[1..]).status().unwrap();
    let end = status.signal().map_or_else(|| End::Code(status.code().unwrap()), End::Signal);
    // A daemon outlives its parent.
    for _ in 0..10_000 {
        if fs::metadata(&output).unwrap().len() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let plain = Ran { text: fs::read_to_string(&output).unwrap(), end };
    let request = Wanted { all: true, locks: true, profile: true, ..Wanted::default() };
    let seen = preload::watch(&parts, request, &|_| ()).unwrap();
    let recorded = Ran { text: fs::read_to_string(&output).unwrap(), end: seen.end };
    assert_eq!(recorded, plain);
    Some(seen)
}

fn file<'a>(seen: &'a Seen, name: &str) -> &'a File {
    let named = |file: &&File| file.name == name;
    seen.files.list().iter().find(named).unwrap_or_else(|| panic!("no {name}: {:?}", seen.files.list()))
}

#[test]
fn children_of_threads_are_recorded() {
    let Some(seen) = record("forks") else { return };
    let null = file(&seen, "/dev/null");
    assert_eq!((null.writes.calls, null.writes.bytes, null.opens), (160, 160, 161));
    assert_eq!((seen.processes, seen.threads), (161, 169));
}

#[test]
fn children_that_borrow_memory_leave_their_parent_alone() {
    let Some(seen) = record("vfork") else { return };
    assert_eq!(seen.processes, 53);
}

#[test]
fn a_thread_may_execute_another_program() {
    let Some(seen) = record("exec") else { return };
    assert_eq!((seen.processes, seen.threads), (1, 2));
}

#[test]
fn the_environment_is_the_same() {
    record("environment");
}

#[test]
fn descriptors_of_the_recorder_cannot_be_closed() {
    record("closefrom");
}

#[test]
fn signals_arrive_during_calls() {
    record("signals");
}

#[test]
fn threads_can_be_canceled() {
    let Some(seen) = record("cancel") else { return };
    assert_eq!(seen.threads, 102);
}

#[test]
fn sandboxes_are_respected() {
    let Some(seen) = record("sandbox") else { return };
    assert_eq!((file(&seen, "/dev/zero").reads.calls, seen.end), (100, End::Code(4)));
}

#[test]
fn small_stacks_suffice() {
    let Some(seen) = record("coroutine") else { return };
    let reads: u64 =
        seen.files.list().iter().filter(|file| file.name.ends_with("/stat")).map(|file| file.reads.calls).sum();
    assert_eq!(reads, 100);
}

#[test]
fn handlers_on_another_stack_are_recorded() {
    let Some(seen) = record("alternate") else { return };
    assert_eq!(file(&seen, "/dev/null").writes.calls, 100);
}

#[test]
fn the_timeline_shows_what_threads_do() {
    let Some(seen) = record("phases") else { return };
    let sum = |line: &Line, activity| -> u64 {
        line.intervals.iter().map(|interval| u64::from(interval.us[activity as usize])).sum()
    };
    let lines = &seen.timeline.lines;
    let busy = lines.iter().max_by_key(|line| sum(line, Activity::Running)).unwrap();
    let running = sum(busy, Activity::Running);
    assert!(running >= 100_000 && sum(busy, Activity::Asleep) >= 250_000, "{busy:?}");
    assert!(busy.intervals.iter().any(|interval| interval.read_bytes > 0));
    let waiter = lines.iter().find(|line| line.name == "waiter").unwrap();
    assert!(sum(waiter, Activity::Locked) >= 350_000 && sum(waiter, Activity::Running) < 50_000, "{waiter:?}");
    let last = seen.timeline.moments.last().unwrap();
    assert!(last.cpu_ns >= 100_000_000 && seen.timeline.peak_bytes > 100_000, "{last:?}");
    let locked = seen.timeline.moments.iter().filter(|moment| moment.locked == 1).count();
    assert!(locked > 0 && seen.timeline.hidden_threads == 0);
}

#[test]
fn operations_of_io_uring_are_counted() {
    let Some(seen) = record("uring") else { return };
    let text = fs::read_to_string(Path::new(env!("CARGO_TARGET_TMPDIR")).join("uring.txt")).unwrap();
    assert_eq!((seen.has_queues, format!("{} submitted\n", seen.queued)), (true, text));
}

#[test]
fn calls_on_names_are_counted() {
    let Some(seen) = record("names") else { return };
    let NameCalls { lookups, changes, listings } = seen.name_calls;
    assert!(lookups.failed >= 1000 && (lookups.failed..1200).contains(&lookups.calls), "{lookups:?}");
    // The folder is made 101 times and removed as often. One call lists it, another one finds its end.
    assert_eq!((changes.calls, changes.failed, listings.calls), (202, 0, 2));
    assert!(changes.seconds > 0.0 && seen.used.kernel_ns > 0, "{changes:?}");
}

#[test]
fn far_reads_are_told_from_near_ones() {
    let Some(seen) = record("jumps") else { return };
    let file = seen.files.list().iter().find(|file| file.name.contains("awkward-jumps")).unwrap();
    assert_eq!((file.reads.calls, file.seeks, file.jumps), (150, 101, 50));
}

#[test]
fn large_allocations_are_counted() {
    let Some(seen) = record("memory") else { return };
    let allocations = &seen.allocations;
    assert_eq!((allocations.calls, allocations.bytes), (5, 10 << 20));
    let stacks = allocations.stacks.sorted();
    let frames = seen.shelf.frames(stacks[0].0);
    assert!(stacks[0].2 > 0 && frames.len() > 1, "{stacks:?} {frames:?}");
}

#[test]
fn a_thousand_threads_are_recorded() {
    record("threads");
}

#[test]
fn calls_of_many_threads_are_all_counted() {
    let Some(seen) = record("many") else { return };
    let zero = file(&seen, "/dev/zero");
    assert_eq!((zero.reads.calls, zero.reads.bytes, zero.opens, zero.kind), (60_000, 60_000, 60_000, Kind::Device));
    assert_eq!((zero.reads.usual_size(), seen.threads), (Some(1), 601));
}

#[test]
fn samples_interrupt_no_call() {
    let Some(seen) = record("sleeps") else { return };
    let sampled_ns = seen.cpu.stacks().total_ns();
    // The program works for 250 ms.
    assert!((125_000_000..500_000_000).contains(&sampled_ns) && seen.cpu.threads().len() == 1, "{:?}", seen.cpu);
}

#[test]
fn the_signal_of_samples_is_free_for_the_program() {
    let Some(seen) = record("handlers") else { return };
    assert_eq!(seen.end, End::Signal(61));
}

#[test]
fn samples_end_no_program_that_is_executed() {
    let Some(seen) = record("relay") else { return };
    assert_eq!((seen.processes, seen.threads), (1, 1));
}

#[test]
fn detached_threads_end() {
    let Some(seen) = record("detached") else { return };
    assert_eq!((file(&seen, "/dev/zero").reads.calls, seen.threads), (200, 201));
}

#[test]
fn a_process_may_outlive_its_first_thread() {
    let Some(seen) = record("outlived") else { return };
    assert_eq!((file(&seen, "/dev/zero").reads.calls, seen.threads), (100, 2));
}

#[test]
fn a_restarted_call_can_be_canceled() {
    record("restarted");
}

#[test]
fn what_outlives_the_first_process_is_recorded() {
    let Some(seen) = record("daemon") else { return };
    assert_eq!(seen.processes, 2);
}

#[test]
fn calls_before_a_crash_are_kept() {
    let Some(seen) = record("crash") else { return };
    assert_eq!((file(&seen, "/dev/zero").reads.calls, seen.end), (10, End::Signal(libc::SIGABRT)));
}

#[test]
fn programs_that_cannot_be_started_are_errors() {
    let request = Wanted::default();
    let failure = preload::watch(&["/does/not/exist".into()], request, &|_| ());
    assert!(matches!(failure, Err(polyhaul_watch::trace::Failure::Program(_))));
}
