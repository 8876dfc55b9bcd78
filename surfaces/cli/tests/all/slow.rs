//! The programs of `examples/slow`: watching names the fault of each, and writes the page, the trace, the chart and the
//! stacks.
//!
//! Without a C compiler, the tests pass with a note on standard error.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use crate::common::{Folder, command, run};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// Compiles an example. Returns its path, or `None` if it cannot be compiled or recorded.
fn compile(folder: &Folder, name: &str) -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/slow/{name}.c"));
    let target = folder.path(name);
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", &target]).arg(source).arg("-lm");
    let is_compiled = compile.status().is_ok_and(|status| status.success());
    assert!(is_compiled || Command::new("cc").arg("--version").output().is_err(), "{name} has faults");
    let can_record = is_compiled && run(&["watch", "--recorder", "preload", "true"]).code == 0;
    if !can_record {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no C compiler or no recorder");
    }
    can_record.then_some(target)
}

/// Watches a program in the folder, with these options.
fn watch(folder: &Folder, options: &[&str], program: &[&str]) -> Output {
    let output = watch_any(folder, options, program);
    assert!(output.status.success(), "{output:?}");
    output
}

/// Like `watch`, with any exit code.
fn watch_any(folder: &Folder, options: &[&str], program: &[&str]) -> Output {
    let mut watching = command();
    watching.arg("watch").args(options).arg("--").args(program).current_dir(folder.path(""));
    watching.output().unwrap()
}

fn report(folder: &Folder, program: &[&str]) -> Value {
    let output = watch(folder, &["--json"], program);
    serde_json::from_slice(&output.stderr).unwrap()
}

/// Whether other programs took the processors, so that the verdict names them instead.
fn is_crowded(report: &Value) -> bool {
    report["verdict"]["cause"] == "crowded"
}

#[test]
fn the_exporter_is_limited_by_formatting() {
    let folder = Folder::new("slow-exporter");
    let Some(exporter) = compile(&folder, "exporter") else { return };
    let report = report(&folder, &[&exporter, "mesh.obj", "400000"]);
    let verdict = &report["verdict"];
    assert!(is_crowded(&report) || verdict["cause"] == "computing", "{verdict}");
    assert!(is_crowded(&report) || verdict["function"].as_str().unwrap().contains("printf"), "{verdict}");
    assert!(report["cpu_seconds"].as_f64().unwrap() > 0.02 && report["peak_bytes"].as_u64().unwrap() > 500_000);
    assert!(report["best_possible_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_viewer_waits_for_a_slow_disk() {
    let folder = Folder::new("slow-viewer");
    let has_recorder = run(&["watch", "--recorder", "preload", "true"]).code == 0;
    if !has_recorder || Command::new("python3").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no recorder or no python3");
        return;
    }
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slow/viewer.py");
    std::fs::create_dir(folder.path("textures")).unwrap();
    for name in ["textures/a.raw", "textures/b.raw"] {
        std::fs::write(folder.path(name), vec![7; 6_000_000]).unwrap();
    }
    let program = ["python3", viewer.to_str().unwrap(), "textures"];
    let output = watch(&folder, &["--read-rate", "20MB/s", "--json"], &program);
    let report: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(output.stdout, b"12 MB\n");
    let verdict = &report["verdict"];
    // On a busy machine, most of the time goes elsewhere.
    let is_busy = is_crowded(&report) || report["run_seconds"].as_f64() > Some(1.2);
    assert!(is_busy || (verdict["cause"] == "disk" && verdict["is_writing"] == false), "{verdict}");
    let slowed = &report["slowed_reads"];
    assert!(slowed["bytes"].as_u64() >= Some(12_000_000) && slowed["bytes_per_second"] == 20_000_000, "{slowed}");
    assert!(report["run_seconds"].as_f64() >= Some(0.599), "{report}");
}

#[test]
fn the_importer_is_limited_by_small_reads() {
    let folder = Folder::new("slow-importer");
    let Some(importer) = compile(&folder, "importer") else { return };
    assert!(
        Command::new(&importer).args(["--make", "part.tga"]).current_dir(folder.path("")).status().unwrap().success()
    );
    let report = report(&folder, &[&importer, "part.tga"]);
    let row = report["files"].as_array().unwrap().iter().find(|row| row["file"] == "part.tga").unwrap();
    assert_eq!((row["reads"]["calls"].as_u64(), row["seeks"].as_u64()), (Some(262_145), Some(524_288)));
    let verdict = &report["verdict"];
    assert!(is_crowded(&report) || verdict["cause"] == "small_calls", "{verdict}");
    assert!(is_crowded(&report) || verdict["caller"] == "load_pixels", "{verdict}");
}

#[test]
fn the_importer_is_fixed_without_a_rebuild() {
    let folder = Folder::new("slow-fixed");
    let Some(importer) = compile(&folder, "importer") else { return };
    let make = Command::new(&importer).args(["--make", "part.tga"]).current_dir(folder.path("")).status();
    assert!(make.unwrap().success());
    let output = watch(&folder, &["--fix"], &[&importer, "part.tga"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{printed}");
    let report = String::from_utf8(output.stderr).unwrap();
    let answered = format!("{}: 786,4", folder.path("part.tga"));
    assert!(report.contains("× faster (both recorded)") && report.contains(&answered), "{report}");
    let output = watch(&folder, &["--fix"], &["true"]);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(
        report.ends_with("nothing to fix: no files read in many small calls, and no waits for an allocator\n"),
        "{report}"
    );
}

#[test]
fn outputs_of_fixed_runs_are_compared() {
    let folder = Folder::new("slow-verified");
    let Some(importer) = compile(&folder, "importer") else { return };
    let make = Command::new(&importer).args(["--make", "part.tga"]).current_dir(folder.path("")).status();
    assert!(make.unwrap().success());
    let script = r#""$0" part.tga > same; cat same; date +%s%N > other"#;
    let output = watch(&folder, &["--fix", "--verify", "same"], &["sh", "-c", script, &importer]);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && report.contains("\nfixed: ") && !report.contains("differs"), "{report}");
    let options = ["--fix", "--verify", "same", "--verify", "other"];
    let output = watch_any(&folder, &options, &["sh", "-c", script, &importer]);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && report.contains("other differs from the first run"), "{report}");
    assert!(!report.contains("\nfixed: ") && !report.contains("same differs"), "{report}");
}

#[test]
fn remedies_are_kept_as_rules() {
    let folder = Folder::new("slow-rule");
    let Some(importer) = compile(&folder, "importer") else { return };
    let make = |name: &str| Command::new(&importer).args(["--make", name]).current_dir(folder.path("")).status();
    assert!(make("part.tga").unwrap().success());
    let output = watch(&folder, &["--fix", "--save", "rule.toml"], &[&importer, "part.tga"]);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(report.ends_with("to keep it, use `polyhaul run --rule rule.toml`\n"), "{report}");
    let output = watch(&folder, &["--json", "--fix", "--save", "rule.toml"], &[&importer, "part.tga"]);
    assert!(serde_json::from_slice::<Value>(&output.stderr).unwrap()["fixed"].is_object());
    let rule = std::fs::read_to_string(folder.path("rule.toml")).unwrap();
    assert!(rule.contains(&folder.path("part.tga")) && rule.contains("\nbuild_id = \""), "{rule}");
    let ruled = |rule: &str, program: &[&str]| {
        let mut running = command();
        running.args(["run", "--rule", rule, "--"]).args(program).current_dir(folder.path("")).output().unwrap()
    };
    let output = ruled("rule.toml", &[&importer, "part.tga"]);
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{output:?}");
    // Another program runs without the remedy.
    let output = ruled("rule.toml", &["sh", "-c", "echo it; exit 3"]);
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b"it\n"[..]));
    assert!(note.starts_with("note: ignoring rule.toml: it was made for another build of "), "{note}");
    folder.file("bad.toml", "version = 1\nfiles = 7\n");
    let output = ruled("bad.toml", &["true"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("error: bad.toml:2: "), "{error}");
    let output = ruled("none.toml", &["true"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = watch(&folder, &["--fix", "--save", "none.toml"], &["true"]);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(report.ends_with("none.toml was not written: no remedy helped\n"), "{report}");
}

#[test]
fn the_serializer_is_limited_by_a_lock() {
    let folder = Folder::new("slow-serializer");
    let Some(serializer) = compile(&folder, "serializer") else { return };
    let report = report(&folder, &[&serializer]);
    let verdict = &report["verdict"];
    if !is_crowded(&report) {
        assert_eq!((verdict["cause"].as_str(), verdict["threads"].as_u64()), (Some("lock"), Some(17)), "{verdict}");
        // The first thread waits for the end of the others, not for the lock.
        assert!(verdict["waiting_threads"].as_u64().unwrap() <= 16, "{verdict}");
    }
}

#[test]
fn pages_traces_charts_and_stacks_are_written() {
    let folder = Folder::new("slow-page");
    let Some(serializer) = compile(&folder, "serializer") else { return };
    let files = ["page.html", "trace.json", "chart.svg", "stacks.txt"].map(|name| folder.path(name));
    let options = ["--report", &files[0], "--trace", &files[1], "--chart", &files[2], "--folded", &files[3]];
    let output = watch(&folder, &options, &[&serializer]);
    assert_eq!(output.stdout, b"done\n");
    let [page, trace, chart, stacks] = files.map(|file| std::fs::read_to_string(file).unwrap());
    assert!(page.starts_with("<!doctype html>") && page.contains("class=flames") && page.contains("serialize"));
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["rows"].as_array().map(Vec::len), data["names"].as_array().map(Vec::len));
    assert!(data["names"][0].as_str().unwrap().starts_with("serializer "), "{}", data["names"]);
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "await" || event["name"] == "run"), "{events:?}");
    assert!(chart.starts_with("<svg") && chart.contains("serializer "));
    for line in stacks.lines() {
        let (functions, milliseconds) = line.rsplit_once(' ').unwrap();
        assert!(!functions.is_empty() && milliseconds.parse::<u64>().unwrap() > 0, "{line}");
    }
    assert!(stacks.contains("serialize;"), "{stacks}");
}

#[test]
fn files_that_cannot_be_written_are_errors_before_the_program_starts() {
    let folder = Folder::new("slow-unwritable");
    let missing = folder.path("missing/page.html");
    for option in ["--report", "--folded"] {
        let mut watching = command();
        watching.args(["watch", option, &missing, "--", "touch", "started"]).current_dir(folder.path(""));
        let output = watching.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!Path::new(&folder.path("started")).exists());
    }
}
