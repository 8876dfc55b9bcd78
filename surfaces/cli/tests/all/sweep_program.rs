//! `polyhaul sweep --program`: commands run at each rate until they exit or print a line, and runs that fail say so.
//!
//! If programs cannot be recorded here, the tests pass with a note.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use crate::common::{Folder, Ran, run};
use serde_json::Value;
use std::io::Write;
use std::time::Instant;

const BYTES: usize = 2_000_000;

/// Runs a sweep. Returns `None` if this build has no recorder.
fn sweep(args: &[&str]) -> Option<Ran> {
    let ran = run(&[&["sweep", "--program", "--rounds", "1"], args].concat());
    if ran.stderr.contains("needs the recorder, which") {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no recorder");
        return None;
    }
    Some(ran)
}

fn input(folder: &Folder) -> String {
    folder.file("input", &"x".repeat(BYTES))
}

fn cells(value: &Value) -> &Vec<Value> {
    value["cells"].as_array().unwrap()
}

#[test]
fn commands_are_compared_at_each_rate() {
    let folder = Folder::new("sweep-program");
    let input = input(&folder);
    let half = folder.file("half", &"x".repeat(BYTES / 2));
    let plain = format!("plain=cat '{input}'");
    let shorter = format!("half=cat '{half}' # {{threads}}");
    let [csv, svg] = ["out.csv", "out.svg"].map(|name| folder.path(name));
    let rates = ["--rates", "20MB/s,unlimited", "--sweep-threads", "1,2", "--json", "--csv", &csv, "--chart", &svg];
    let Some(ran) = sweep(&[&["--variant", &plain, "--variant", &shorter], &rates[..]].concat()) else { return };
    let value = ran.expect(0).json();
    assert_eq!([&value["stored"][0]["name"], &value["stored"][1]["name"]], ["plain", "half"]);
    // Starting the programs reads some bytes, too.
    let read = |index: usize| value["stored"][index]["bytes"].as_u64().unwrap() as usize;
    assert!((BYTES..BYTES + 500_000).contains(&read(0)) && (BYTES / 2..BYTES / 2 + 500_000).contains(&read(1)));
    assert_eq!(cells(&value).len(), 8);
    for cell in cells(&value) {
        let seconds = cell["median_seconds"].as_f64().unwrap();
        let bytes = if cell["stored"] == "plain" { BYTES } else { BYTES / 2 };
        let transfer = if cell["device"] == "rate" { bytes as f64 / 20e6 - 0.001 } else { 0.0 };
        assert!(seconds > transfer && cell["note"].is_null(), "{cell}");
    }
    // Which command is faster depends on the machine.
    assert!(!value["advice"][0]["advice"].as_array().unwrap().is_empty(), "{value}");
    assert!(std::fs::read_to_string(svg).unwrap().contains("Run time of cat"));
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 9);
}

#[test]
fn a_line_of_output_ends_a_run() {
    let folder = Folder::new("sweep-program-until");
    let input = input(&folder);
    let variant = format!("one=cat '{input}' > /dev/null; echo now Rendering; sleep 1000");
    let start = Instant::now();
    let args = ["--variant", &variant, "--until", "Rendering", "--rates", "20MB/s", "--sweep-threads", "1", "--json"];
    let Some(ran) = sweep(&args) else { return };
    let value = ran.expect(0).json();
    let slow = cells(&value).iter().find(|cell| cell["device"] == "rate").unwrap();
    assert!(slow["median_seconds"].as_f64() > Some(0.099) && start.elapsed().as_secs() < 500, "{slow}");
    assert_eq!(value["asset"], "cat, until \"Rendering\"");
}

#[test]
fn runs_that_fail_are_told() {
    let folder = Folder::new("sweep-program-fails");
    let input = input(&folder);
    let good = format!("good=cat '{input}'");
    let bad = "bad=echo no such scene >&2; exit 3";
    let args = ["--variant", &good, "--variant", bad, "--rates", "1GB/s", "--sweep-threads", "1"];
    let Some(ran) = sweep(&args) else { return };
    let text = ran.expect(0).stdout;
    assert!(text.contains("note: bad at unlimited: failed with exit code 3: no such scene"), "{text}");
    let ran = sweep(&["--variant", bad, "--rates", "1GB/s"]).unwrap().expect(2);
    assert!(ran.stderr.contains("no command ran as requested: failed with exit code 3: no such scene"), "{ran:?}");
    let args = ["--variant", "slow=sleep 1000", "--rates", "1GB/s", "--time-limit", "0.3s"];
    let ran = sweep(&args).unwrap().expect(2);
    assert!(ran.stderr.contains("stopped after 0."), "{ran:?}");
    let args = ["--variant", &good, "--until", "never", "--rates", "1GB/s"];
    let ran = sweep(&args).unwrap().expect(2);
    assert!(ran.stderr.contains("exited without printing \"never\""), "{ran:?}");
}

#[test]
fn cold_runs_say_if_files_stay_cached() {
    let folder = Folder::new("sweep-program-cold");
    let input = input(&folder);
    let good = format!("good=cat '{input}'");
    let args = ["--variant", &good, "--rates", "1GB/s", "--sweep-threads", "1", "--cold", "--json"];
    let Some(ran) = sweep(&args) else { return };
    let value = ran.expect(0).json();
    let cold = cells(&value).iter().find(|cell| cell["device"] == "disk").unwrap();
    // Some file systems keep everything in memory.
    let is_told = cold["note"].as_str().is_some_and(|note| note.contains("came from the disk"));
    assert!(cold["median_seconds"].as_f64() > Some(0.0) && (is_told || cold["note"].is_null()), "{cold}");
}

#[test]
fn mistakes_are_explained() {
    let cases: [(&[&str], &str); 5] = [
        (&["--program"], "--variant"),
        (&["--program", "--variant", "viewer a.pbrt"], "expected a name and a command"),
        (&["--program", "--variant", "a=b", "in.obj"], "cannot be used with"),
        (&["--variant", "a=true"], "--program"),
        (&["--program", "--variant", "a=true", "--until", "first-pixel"], "text of an output line"),
    ];
    for (args, says) in cases {
        let ran = run(&[&["sweep"], args].concat()).expect(2);
        assert!(ran.stderr.contains(says) || ran.stderr.contains("needs the recorder, which"), "{args:?}: {ran:?}");
    }
    let ran = run(&["sweep", "a.obj", "--until", "Rendering"]).expect(2);
    assert!(ran.stderr.contains("--until LINE needs --program"), "{ran:?}");
}
