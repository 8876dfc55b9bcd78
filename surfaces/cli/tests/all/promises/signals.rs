//! SIGINT and SIGTERM while a file is written: the exit code shows the signal, and nothing is left behind.

use super::{BIG, COMMAND, assert_no_panic, blender, skip, stderr};
use crate::common::{Folder, command};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Waits for the process to exit, which must happen.
#[track_caller]
fn wait(child: Child) -> std::process::Output {
    let (sender, receiver) = std::sync::mpsc::channel();
    let id = child.id();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    receiver.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("process {id} hangs")).unwrap()
}

/// Waits until a condition holds; `false` on timeout.
fn until(what: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while !what() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_while_writing_leaves_the_old_file() {
    for (signal, code, threads) in
        [("-INT", 130, "-j1"), ("-TERM", 143, "-j1"), ("-INT", 130, "-j2"), ("-TERM", 143, "-j7")]
    {
        let folder = Folder::new(&format!("signal{signal}{threads}"));
        let target = folder.file("a.obj", "old");
        let log = Folder::new(&format!("signal-log{signal}{threads}"));
        let log = log.path("log");
        // The tracer delays every write and runs as a separate process (-D), so the child is the command itself.
        let tracer = ["-D", "-f", "-qq", "-o", &log, "-e", "trace=write", "-e", "inject=write:delay_enter=150000"];
        let mut command = Command::new("strace");
        command.args(tracer).args([COMMAND, "convert", "-q", threads, &blender(BIG), &target]);
        let Ok(child) = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            return skip("strace is not installed");
        };
        if !until(|| folder.names().iter().any(|name| name.ends_with(".tmp"))) {
            let output = wait(child);
            return skip(&format!("strace may not trace: {}", stderr(&output)));
        }
        send(&child, signal);
        let output = wait(child);
        assert_eq!(output.status.code(), Some(code), "{signal} {threads}: {}", stderr(&output));
        assert_no_panic(&stderr(&output));
        assert!(until(|| folder.names() == ["a.obj"]), "{:?}", folder.names());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
    }
}

/// A reader that stops reading does not keep the command alive.
#[test]
fn a_signal_ends_a_write_that_hangs() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = command();
        child.args(["convert", "-q", &blender(BIG), "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        // A command that writes already catches signals, and the pipe does not hold all its output.
        pipe.read_exact(&mut [0]).unwrap();
        send(&child, signal);
        assert_eq!(wait(child).status.code(), Some(code));
        drop(pipe);
    }
}

/// Waits until the command catches SIGINT, which is signal 2.
#[cfg(target_os = "linux")]
fn until_it_catches(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let catches = |text: &str| {
        text.lines().any(|line| line.starts_with("SigCgt:") && "2367abef".contains(&line[line.len() - 1..]))
    };
    assert!(until(|| std::fs::read_to_string(&status).is_ok_and(|text| catches(&text))));
}

/// One signal ends the command while it waits for a FIFO that has no reader, no writer, or a reader that does not read.
#[test]
#[cfg(target_os = "linux")]
fn one_signal_ends_a_wait_for_the_other_side_of_a_fifo() {
    let folder = Folder::new("signal-fifo");
    let fifo = folder.path("fifo.obj");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let small = blender("opt_default");
    let big = blender(BIG);
    let out = folder.path("out.obj");
    for (args, has_reader, signal, code) in [
        ([small.as_str(), &fifo], false, "-INT", 130),
        ([&small, &fifo], false, "-TERM", 143),
        ([&big, &fifo], true, "-TERM", 143),
        ([&fifo, &out], false, "-INT", 130),
        ([&fifo, &out], false, "-TERM", 143),
    ] {
        // Opened for reading and writing, so that the FIFO has a reader, which never reads.
        let open = || std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
        let reader = has_reader.then(open);
        let mut child = command();
        child.args(["convert", "-q"]).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        until_it_catches(&child);
        std::thread::sleep(Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "it should wait: {args:?}");
        send(&child, signal);
        assert_eq!(wait(child).status.code(), Some(code), "{args:?}");
        assert_eq!(folder.names(), ["fifo.obj"]);
        drop(reader);
    }
}
