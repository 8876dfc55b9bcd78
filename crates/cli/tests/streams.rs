//! Pipes that close, disks that are full, and the demo.

mod common;

use common::{Folder, SOUND, command, run};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Runs with a standard output that nobody reads; returns the exit code and standard error.
fn run_deaf(args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command().args(args).stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(SOUND.as_bytes());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_pipe_is_a_quiet_failure() {
    for args in [
        &["--help"][..],
        &["completions", "bash"],
        &["man"],
        &["info", "-"],
        &["info", "--json", "-"],
        &["validate", "-"],
        &["validate", "--json", "-"],
    ] {
        assert_eq!(run_deaf(args), (Some(1), String::new()), "{args:?}");
    }
}

#[test]
fn a_scene_that_nobody_reads_is_an_error() {
    let (code, stderr) = run_deaf(&["convert", "-", "-"]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    for args in [&["info", "-"][..], &["info", "--json", "-"], &["validate", "-"], &["convert", "-", "-"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = command();
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(SOUND.as_bytes());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && stderr.starts_with("error: "), "{args:?} {stderr}");
    }
}

#[test]
fn the_demo_checks_itself_and_cleans_up() {
    let folder = Folder::new("streams-demo");
    let temporary = |command: &mut std::process::Command| {
        let output = command.env("TMPDIR", folder.path("")).env("TMP", folder.path("")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let table = temporary(command().args(["demo", "--size", "1MB"]));
    assert!(table.contains("the same") && table.contains("% of plain write"), "{table}");
    assert!(folder.names().is_empty());
    let kept = folder.path("kept");
    let text = temporary(command().args(["demo", "--json", "--size", "200KB", "--keep", &kept]));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["same"], &value["folder"]), (&json!(true), &json!(kept)));
    let names: Vec<_> = value["rates"].as_array().unwrap().iter().map(|rate| rate["name"].clone()).collect();
    assert_eq!(names, ["write", "plain write", "read", "plain read"]);
    let bytes = value["bytes"].as_u64().unwrap();
    assert!((100_000..400_000).contains(&bytes), "{bytes}");
    assert_eq!(std::fs::metadata(format!("{kept}/demo.obj")).unwrap().len(), bytes);
    assert_eq!(run(&["info", "--json", &format!("{kept}/demo.obj")]).expect(0).json()["faces"], value["faces"]);
}
