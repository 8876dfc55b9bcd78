//! SIGINT, SIGTERM and SIGXFSZ.
#![cfg(unix)]

use crate::common::{Folder, SOUND, command};
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// Starts a command that blocks reading an open pipe, once it catches signals.
fn waiting(args: &[&str]) -> (Child, ChildStdin) {
    let mut child = command().args(args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(SOUND.as_bytes()).unwrap();
    // Only Linux reports caught signals; elsewhere, wait for a while.
    let status = format!("/proc/{}/status", child.id());
    let end = Instant::now() + Duration::from_secs(5);
    while cfg!(target_os = "linux") && Instant::now() < end {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        let mask = u64::from_str_radix(caught.trim(), 16).unwrap_or(0);
        if mask & (1 << 1) != 0 && mask & (1 << 14) != 0 {
            return (child, pipe);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(300));
    (child, pipe)
}

fn send(child: &Child, signal: &str) {
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_signal_ends_a_read_that_hangs() {
    let folder = Folder::new("signals-hang");
    let out = folder.path("out.obj");
    let start = Instant::now();
    let signals = [("-INT", 130), ("-TERM", 143)].map(|(signal, code)| {
        let (child, pipe) = waiting(&["convert", "-", &out]);
        send(&child, signal);
        (child, pipe, code)
    });
    for (mut child, _pipe, code) in signals {
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
    assert!(start.elapsed() < Duration::from_secs(20) && folder.names().is_empty());
}

#[test]
fn a_signal_ends_a_read_that_is_throttled() {
    let folder = Folder::new("signals-throttled");
    let scene = folder.file("in.obj", &SOUND.repeat(10_000));
    let out = folder.path("out.obj");
    let start = Instant::now();
    // The pipe only serves to wait until signals are caught.
    let (mut child, _pipe) = waiting(&["convert", &scene, &out, "--read-rate=100B/s"]);
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(20) && folder.names() == ["in.obj"]);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (mut child, _pipe) = waiting(&["info", "-"]);
    send(&child, "-TERM");
    send(&child, "-INT");
    let code = child.wait().unwrap().code();
    // The system decides which of two pending signals is delivered first.
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}

#[test]
fn a_file_that_grows_too_large_is_an_error() {
    let folder = Folder::new("signals-size");
    let scene = folder.file("a.obj", &"v 1 2 3\n".repeat(20_000));
    let out = folder.path("out.obj");
    let script = "ulimit -f 8; exec \"$0\" convert \"$1\" \"$2\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_polyhaul"), &scene, &out])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && stderr.starts_with("error: "), "{:?} {stderr}", output.status);
    assert_eq!(folder.names(), ["a.obj"]);
}
