//! Clocks that jump while the command runs: the result is the same, and no duration is negative.

use super::{Counts, finish_batch, library, run_with_faults, shim};
use crate::common::{Folder, run};
use crate::promises::{BIG, assert_no_panic, blender, stderr};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Jumps in seconds: by seconds, days and years, to before 1970 and after 2106.
const JUMPS: [&str; 6] = ["-5", "-86400", "-3000000000", "7", "100000000", "6000000000"];

/// Makes the clocks jump at the first reading of a clock, early, in the middle and at the last one.
fn check(name: &str, args: &[&str], check_output: impl Fn(&str)) {
    let Some(shim) = shim() else { return };
    let count = Counts::of(shim, args, "none").clocks;
    assert!(count > 4, "{name} reads no clock: {count}");
    for number in [1, 2, count / 4, count / 2, count - 1] {
        for jump in JUMPS {
            let output = run_with_faults(shim, args, &[("FAULT_CLOCK", &format!("{number}:{jump}"))]);
            let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
            let case = format!("{name}, reading {number} of {count}, {jump} s: {text}");
            assert_no_panic(&text);
            assert!(output.status.success(), "{case}");
            let is_negative =
                |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_numeric));
            let has_negative = stderr(&output).split([' ', ',', '(', ':']).any(is_negative);
            assert!(!has_negative && !text.contains("NaN") && !text.contains("inf "), "{case}");
            check_output(&case);
        }
    }
}

fn big_ply(folder: &Folder) -> String {
    let path = folder.path("m.ply");
    run(&["convert", "-q", &blender(BIG), &path]).expect(0);
    path
}

#[test]
fn conversions() {
    let folder = Folder::new("machine-clock-convert");
    let mesh = big_ply(&folder);
    let target = folder.path("out.obj");
    check("convert", &["convert", &mesh, &target], |case| {
        assert!(Path::new(&target).exists(), "{case}");
        fs::remove_file(&target).unwrap();
    });
}

#[test]
fn information_and_pictures() {
    let folder = Folder::new("machine-clock-info");
    let mesh = big_ply(&folder);
    check("validate", &["validate", &mesh], |_| ());
    check("info", &["info", "--json", &mesh], |_| ());
    let scene = blender("opt_default");
    check("preview", &["preview", &scene, "-o", &folder.path("out.png"), "--size", "64x64"], |_| ());
}

#[test]
fn traces_and_reports() {
    let folder = Folder::new("machine-clock-trace");
    let mesh = big_ply(&folder);
    let trace = folder.path("trace.json");
    let report = folder.path("report.html");
    let args = ["convert", &mesh, &folder.path("out.stl"), "--trace", &trace, "--report", &report];
    check("trace", &args, |case| {
        let value: Value = serde_json::from_str(&fs::read_to_string(&trace).unwrap()).unwrap();
        let events = value.as_array().or_else(|| value["traceEvents"].as_array()).unwrap();
        assert!(events.len() > 10, "{case}");
        for event in events {
            for key in ["ts", "dur"] {
                assert!(event[key].as_f64().unwrap_or(0.0) >= 0.0, "{event} {case}");
            }
        }
        let page = fs::read_to_string(&report).unwrap();
        assert!(!page.contains("NaN") && !page.contains(">-") && page.ends_with("</html>\n"), "{case}");
    });
}

#[test]
fn batches() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("machine-clock-batch");
    let library = library(&folder);
    for (index, jump) in JUMPS.into_iter().enumerate() {
        for number in [1, 10, 100] {
            let out = folder.path(&format!("out-{index}-{number}"));
            let args = ["batch", &library, "-o", &out, "--to", "ply", "--workers", "1", "-q"];
            let output = run_with_faults(shim, &args, &[("FAULT_CLOCK", &format!("{number}:{jump}"))]);
            let message = stderr(&output);
            assert_no_panic(&message);
            assert!(output.status.success(), "reading {number}, {jump} s: {message}");
            for line in run(&["batch", "rows", &out]).expect(0).stdout.lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                assert!(row["seconds"].as_f64().unwrap() >= 0.0 && row["started"].as_f64().is_some(), "{row}");
            }
            // With a correct clock again, the next run finds all assets done.
            let again = run(&["batch", &library, "-o", &out, "--to", "ply", "--workers", "1"]).expect(0);
            assert!(format!("{}{}", again.stdout, again.stderr).contains("8 already done"), "{again:?}");
            finish_batch(&library, &out);
        }
    }
}
