//! Throttled programs take at least the time that their bytes take at the given rate, however they move them: all
//! threads and processes together.
//!
//! `slowed.c` has the programs. Without a C compiler, the tests pass with a note on standard error. How exact rates are
//! is measured in benchmarks: here, machines may be slow.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use polyhaul_watch::preload;
use polyhaul_watch::slowed::{SlowDevice, SlowedCalls};
use polyhaul_watch::trace::{End, Seen, Wanted};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const BYTES: u64 = 1_000_000;

/// A megabyte takes 0.1 s.
const RATE: u64 = 10_000_000;

/// Waits shorter than this are left to the next call, and the device is idle for a moment before the first one.
const SHORT: f64 = 0.001;

fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| common::compiled("slowed")).as_deref()
}

/// Runs a case in its own folder. Returns what was seen, and the seconds that it took.
fn ran(case: &str, name: &str, request: Wanted) -> Option<(Seen, f64)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slowed-runs").join(name);
    fs::create_dir_all(&folder).unwrap();
    let bytes: Vec<u8> = (0..BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
    fs::write(folder.join("input"), bytes).unwrap();
    let script = OsString::from("cd \"$0\" && exec \"$1\" \"$2\"");
    let command = ["sh".into(), "-c".into(), script, folder.into(), program()?.into(), case.into()];
    let start = Instant::now();
    let seen = preload::watch(&command, request, &|_| ()).unwrap();
    assert_eq!(seen.end, End::Code(0), "{case}");
    Some((seen, start.elapsed().as_secs_f64()))
}

fn rated() -> SlowDevice {
    SlowDevice { bytes_per_second: Some(RATE), latency: Duration::ZERO }
}

/// Asserts that the input, and at most what starting takes, was counted, and that it took its time.
#[track_caller]
fn assert_slow(slowed: Option<SlowedCalls>, seconds: f64, case: &str) {
    let slowed = slowed.unwrap();
    assert!(slowed.bytes >= BYTES && slowed.bytes < BYTES + 500_000, "{case}: {slowed:?}");
    let seconds_of_bytes = slowed.bytes as f64 / RATE as f64 - SHORT;
    assert!(slowed.seconds >= seconds_of_bytes && seconds >= seconds_of_bytes, "{case}: {slowed:?}, {seconds}");
}

#[test]
fn reads_take_their_time() {
    for case in ["small", "large", "threads", "children", "mapped", "vectors", "sent"] {
        let request = Wanted { slow: [rated(), SlowDevice::default()], ..Wanted::default() };
        let Some((seen, seconds)) = ran(case, case, request) else { return };
        assert_slow(seen.slowed[0], seconds, case);
        assert_eq!(seen.slowed[1], None);
    }
}

#[test]
fn mapped_files_have_their_bytes_and_take_their_time() {
    for case in ["mapped_shared", "mapped_end", "mapped_by_threads", "mapped_forked"] {
        let request = Wanted { slow: [rated(), SlowDevice::default()], ..Wanted::default() };
        let Some((seen, seconds)) = ran(case, case, request) else { return };
        assert_slow(seen.slowed[0], seconds, case);
    }
    for case in [
        "mapped_written",
        "mapped_emptied",
        "mapped_moved",
        "mapped_moved_partly",
        "mapped_written_here",
        "unmapped",
        "mapped_often",
        "mapped_changing",
    ] {
        let slow = SlowDevice { bytes_per_second: Some(100 * RATE), latency: Duration::from_micros(10) };
        let request = Wanted { slow: [slow, SlowDevice::default()], ..Wanted::default() };
        let Some((seen, _)) = ran(case, case, request) else { return };
        // Only what shows changes is not filled page by page, and what is too much.
        let is_held = ["mapped_often", "mapped_changing", "mapped_written_here"].contains(&case);
        assert!(is_held || seen.held_maps == 0 || !has_faults(), "{case}: {}", seen.held_maps);
    }
}

/// Whether this process may handle the page faults of others.
fn has_faults() -> bool {
    let is_root = fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("Uid:\t0\t"));
    let is_open = fs::read_to_string("/proc/sys/vm/unprivileged_userfaultfd").is_ok_and(|text| text.trim() == "1");
    is_root || is_open
}

#[test]
fn writes_take_their_time() {
    for case in ["written", "sent"] {
        let request = Wanted { slow: [SlowDevice::default(), rated()], ..Wanted::default() };
        let Some((seen, seconds)) = ran(case, &format!("writes-{case}"), request) else { return };
        assert_slow(seen.slowed[1], seconds, case);
        assert_eq!(seen.slowed[0], None);
    }
}

#[test]
fn latencies_add_to_each_call() {
    let slow = SlowDevice { bytes_per_second: None, latency: Duration::from_millis(2) };
    let request = Wanted { slow: [slow, SlowDevice::default()], ..Wanted::default() };
    let Some((seen, seconds)) = ran("children", "latency", request) else { return };
    // Each of four processes reads 25 times, and they wait at the same time.
    let slowed = seen.slowed[0].unwrap();
    assert!(slowed.calls >= 100 && seconds >= 25.0 * 0.002, "{slowed:?}, {seconds}");
}

#[test]
fn pipes_are_not_slowed_down() {
    let request = Wanted { slow: [rated(); 2], ..Wanted::default() };
    let Some((seen, _)) = ran("piped", "piped", request) else { return };
    assert!(seen.slowed.iter().all(|slowed| slowed.unwrap().bytes < 500_000), "{:?}", seen.slowed);
}

#[test]
fn answered_reads_take_their_time() {
    let request = Wanted { cured: vec!["*/input".into()], slow: [rated(), SlowDevice::default()], ..Wanted::default() };
    let Some((seen, seconds)) = ran("small", "cured", request) else { return };
    assert!(seen.cures.iter().any(|cure| cure.answered > 5000), "{:?}", seen.cures);
    assert_slow(seen.slowed[0], seconds, "cured");
}
