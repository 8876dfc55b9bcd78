//! `polyhaul watch`: counts are exact, exit codes and signals pass through, and the program does not notice.
//!
//! If tracing is not allowed or Python is missing, the test passes with a note on standard error.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use crate::common::{Folder, SOUND, command, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn skip(why: &str) -> bool {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
    false
}

/// Whether this system allows tracing.
fn may_watch() -> bool {
    let ran = run(&["watch", "true"]);
    ran.code == 0 || skip(&ran.stderr)
}

/// The options for each way to watch a program.
fn recorders() -> Vec<[&'static str; 2]> {
    let mut recorders = vec![["--recorder", "trace"]];
    let ran = run(&["watch", "--recorder", "preload", "true"]);
    if ran.code == 0 || skip(&ran.stderr) {
        recorders.push(["--recorder", "preload"]);
    }
    recorders
}

/// The real interpreter, since `python3` may be a script that locates it.
fn python() -> Option<&'static str> {
    static PATH: OnceLock<Option<String>> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let trial = Command::new("python3").args(["-c", "import os, sys; os.pread; print(sys.executable)"]).output();
        let path = trial
            .ok()
            .filter(|output| output.status.success())
            .and_then(|output| String::from_utf8(output.stdout).ok());
        path.map(|path| path.trim().to_owned())
    });
    path.as_deref()
}

fn has_python() -> bool {
    may_watch() && (python().is_some() || skip("there is no python3"))
}

/// Watches a Python script that runs in a folder; returns its output and the report.
fn watch_python(folder: &Folder, options: &[&str], script: &str) -> (Output, Value) {
    let report = folder.path("report.json");
    let mut watching = command();
    watching.args(["watch", "--json", "-o", &report]).args(options);
    let output = watching.args(["--", python().unwrap(), "-c", script]).current_dir(folder.path("")).output().unwrap();
    let text = std::fs::read_to_string(&report).unwrap();
    assert_eq!(text.lines().count(), 1, "{text} {output:?}");
    (output, serde_json::from_str(&text).unwrap())
}

#[track_caller]
fn file<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["files"].as_array().unwrap();
    rows.iter().find(|row| row["file"] == name).unwrap_or_else(|| panic!("no {name}: {report}"))
}

#[track_caller]
fn assert_calls(moved: &Value, calls: u64, bytes: u64) {
    assert_eq!((moved["calls"].as_u64(), moved["bytes"].as_u64()), (Some(calls), Some(bytes)), "{moved}");
}

#[test]
fn small_reads_are_counted_and_come_first() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-small");
    folder.file("texture.tga", &"rgb".repeat(5_000));
    let script = "
import os
f = os.open('texture.tga', os.O_RDONLY)
for i in range(5000): assert os.pread(f, 3, 3 * i) == b'rgb'
assert os.pread(f, 3, 15000) == b''
";
    for how in recorders() {
        let (output, report) = watch_python(&folder, &[how[0], how[1], "--stacks"], script);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let texture = file(&report, "texture.tga");
        assert_calls(&texture["reads"], 5_001, 15_000);
        assert_eq!((&texture["opens"], &texture["reads"]["usual_bytes"]), (&1.into(), &3.into()));
        let sizes = serde_json::json!([{"from": 0, "below": 1, "calls": 1}, {"from": 1, "below": 16, "calls": 5000}]);
        assert_eq!(texture["reads"]["sizes"], sizes);
        assert_eq!(
            (&report["exit_code"], &report["command"], &report["processes"]),
            (&0.into(), &"watch".into(), &1.into())
        );
        let stack = &texture["stacks"][0]["frames"];
        let frames: Vec<_> = stack.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(frames.len() > 4 && frames[0].contains("pread"), "{frames:?}");
    }
    // The text is sorted by the time that buffering would save.
    let ran = command()
        .args(["watch", python().unwrap(), "-c", script])
        .current_dir(folder.path(""))
        .output()
        .map(|output| String::from_utf8(output.stderr).unwrap())
        .unwrap();
    assert!(ran.contains("\n  texture.tga: 5,001 reads of 3 bytes, "), "{ran}");
}

/// If a shell execs the command, the shell's children become children of the command.
#[test]
fn children_of_others_are_not_waited_for() {
    if !may_watch() {
        return;
    }
    let start = Instant::now();
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 30 2>/dev/null & exec \"$0\" watch --json -- true", env!("CARGO_BIN_EXE_polyhaul")]);
    let output = shell.stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
    assert!(output.status.success() && start.elapsed() < Duration::from_secs(25), "{output:?}");
}

/// What a report says about each file in the working folder: opens, reads, writes, syncs and mappings. Libraries are
/// loaded before a recorder can count.
fn counts(report: &Value) -> BTreeMap<String, [u64; 7]> {
    let rows = report["files"].as_array().unwrap().iter();
    let rows = rows.filter(|row| !row["file"].as_str().unwrap().starts_with('/'));
    let paths = ["/opens", "/reads/calls", "/reads/bytes", "/writes/calls", "/writes/bytes", "/syncs", "/maps"];
    rows.map(|row| {
        let counts = paths.map(|path| row.pointer(path).unwrap().as_u64().unwrap());
        (row["file"].as_str().unwrap().to_owned(), counts)
    })
    .collect()
}

/// Stops and replaced instructions are independent ways to see the calls.
#[test]
fn both_recorders_count_the_same() {
    let has_tools = run(&["watch", "--no-locks", "--", "sh", "-c", "command -v sort gzip cmp dd"]).code == 0;
    if !has_tools && !skip("sort, gzip, cmp or dd is missing") || recorders().len() < 2 {
        return;
    }
    let folder = Folder::new("watch-both");
    let lines: String = (0..20_000).map(|line| format!("{} {line}\n", line * 7919 % 20_011)).collect();
    folder.file("lines.txt", &lines);
    let scripts = [
        "sort -n lines.txt -o sorted.txt && cp sorted.txt copy.txt && cmp sorted.txt copy.txt",
        "gzip -k lines.txt && gunzip -c lines.txt.gz > again.txt && tail -c 5 again.txt",
        "dd if=lines.txt of=small.bin bs=7 count=999 conv=fsync 2> /dev/null && wc small.bin",
        "while read first rest; do echo $first; done < sorted.txt > first.txt; head -n 3 first.txt",
        "mkdir d && for n in 1 2 3; do grep $n lines.txt > d/$n; done; cat d/* > all.txt; rm -r d",
    ];
    for script in scripts {
        let count = |recorder: &str| {
            let report = folder.path("report.json");
            let mut watching = command();
            watching.args(["watch", "--json", "-o", &report, "--recorder", recorder, "--", "sh", "-c", script]);
            let output = watching.current_dir(folder.path("")).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let value: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
            for made in ["lines.txt.gz", "again.txt"] {
                let _ = std::fs::remove_file(folder.path(made));
            }
            (output.stdout, counts(&value))
        };
        assert_eq!(count("preload"), count("trace"), "{script}");
    }
}

/// One thread waits for another that starts later, while the others read all the time.
#[test]
fn every_thread_has_its_turn() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-turns");
    folder.file("a", "abc");
    let script = "
import os, threading
f = os.open('a', os.O_RDONLY)
reads, is_over = [0] * 8, []
def read(index):
    while not is_over:
        os.pread(f, 3, 0)
        reads[index] += 1
threads = [threading.Thread(target=read, args=(index,)) for index in range(8)]
[t.start() for t in threads]
while min(reads) < 20: os.pread(f, 1, 0)
is_over.append(1)
[t.join() for t in threads]
";
    let (output, report) = watch_python(&folder, &[], script);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(file(&report, "a")["reads"]["calls"].as_u64() >= Some(160), "{report}");
}

/// Whether the interpreter has a third-party package.
fn has_package(name: &str) -> bool {
    let import = |python| Command::new(python).args(["-c", &format!("import {name}")]).output();
    has_python()
        && (import(python().unwrap()).is_ok_and(|output| output.status.success())
            || skip(&format!("python3 has no {name}")))
}

#[test]
fn pillow_reading_is_watched() {
    if !has_package("PIL") {
        return;
    }
    let folder = Folder::new("watch-pillow");
    let script = "
from PIL import Image
Image.effect_noise((640, 480), 90).convert('RGB').save('a.tga')
assert Image.open('a.tga').convert('L').getextrema()[1] > 0
";
    let (output, report) = watch_python(&folder, &[], script);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let image = file(&report, "a.tga");
    let size = std::fs::metadata(folder.path("a.tga")).unwrap().len();
    assert_eq!((image["writes"]["bytes"].as_u64(), image["opens"].as_u64()), (Some(size), Some(2)), "{image}");
    assert!(image["reads"]["bytes"].as_u64() >= Some(640 * 480 * 3), "{image}");
}

#[test]
fn blender_exporting_is_watched() {
    if !has_package("bpy") {
        return;
    }
    let folder = Folder::new("watch-blender");
    let script = "
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.mesh.primitive_grid_add(x_subdivisions=200, y_subdivisions=200)
bpy.ops.wm.obj_export(filepath='grid.obj')
";
    let (output, report) = watch_python(&folder, &[], script);
    assert!(output.status.success(), "{output:?}");
    let grid = file(&report, "grid.obj");
    let size = std::fs::metadata(folder.path("grid.obj")).unwrap().len();
    assert_eq!(grid["writes"]["bytes"].as_u64(), Some(size), "{grid}");
    assert!(size > 1_000_000 && report["threads_seen"].as_u64() > Some(1), "{report}");
}

#[test]
fn children_and_threads_are_followed() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-children");
    folder.file("a", &"x".repeat(1_000));
    let script = "
import os, subprocess, sys, threading
one = 'import os; f = os.open(\"a\", os.O_RDONLY); [os.read(f, 10) for i in range(100)]'
subprocess.run([sys.executable, '-c', one], check=True)
f = os.open('a', os.O_RDONLY)
def work():
    for i in range(50): os.pread(f, 4, i)
threads = [threading.Thread(target=work) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
pid = os.fork()
if pid == 0:
    # The descriptor is inherited, and what lies behind it does not change with its number.
    g = os.dup(f); os.close(f); os.pread(g, 7, 0); os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
g = os.open('b', os.O_WRONLY | os.O_CREAT); os.dup2(g, f); os.write(f, b'12345'); os.writev(g, [b'6', b'78']); os.fsync(f)
";
    let (output, report) = watch_python(&folder, &[], script);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let a = file(&report, "a");
    let b = file(&report, "b");
    assert_calls(&a["reads"], 100 + 200 + 1, 1_000 + 800 + 7);
    assert_calls(&b["writes"], 2, 8);
    assert_eq!((&a["opens"], &b["opens"], &b["syncs"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!(report["processes"], 3);
    assert!(report["threads_seen"].as_u64().unwrap() >= 7, "{report}");
}

#[test]
fn copies_in_the_kernel_and_maps_count() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-copies");
    folder.file("a", &"x".repeat(10_000));
    let script = "
import mmap, os
f = os.open('a', os.O_RDWR)
g = os.open('b', os.O_WRONLY | os.O_CREAT)
assert os.sendfile(g, f, 0, 6000) == 6000
m = mmap.mmap(f, 8192, access=mmap.ACCESS_READ)
r, w = os.pipe(); os.write(w, b'123'); assert os.read(r, 10) == b'123'
try: os.read(99, 5)
except OSError: pass
try: os.open('none', os.O_RDONLY)
except OSError: pass
";
    for how in recorders() {
        let (output, report) = watch_python(&folder, &how, script);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_calls(&file(&report, "a")["reads"], 1, 6_000);
        assert_calls(&file(&report, "b")["writes"], 1, 6_000);
        assert_eq!((&file(&report, "a")["maps"], &file(&report, "a")["mapped_bytes"]), (&1.into(), &8192.into()));
        let others = report["others"].as_array().unwrap();
        let pipes = others.iter().find(|row| row["file"] == "pipes").unwrap();
        assert_calls(&pipes["reads"], 1, 3);
        assert!(report["failed_opens"].as_u64().unwrap() > 0);
        let failed: u64 = others.iter().filter_map(|row| row["reads"]["failed"].as_u64()).sum();
        assert_eq!(failed, 1, "{others:?}");
    }
}

#[test]
fn waits_for_locks_are_told_by_thread() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-locks");
    let script = "
import threading
lock = threading.Lock()
lock.acquire()
t = threading.Thread(target=lambda: lock.acquire(timeout=0.5))
t.start(); t.join()
";
    let (output, report) = watch_python(&folder, &[], script);
    assert!(output.status.success(), "{output:?}");
    let threads = report["locks"]["threads"].as_array().unwrap();
    // The wait lasts at least half a second, from which the report subtracts the time of other programs.
    let number = |name: &str| threads[0][name].as_f64().unwrap();
    assert!(number("seconds") > 0.01 && number("share") > 0.0 && number("share") <= 1.0, "{threads:?}");
    let (_, report) = watch_python(&folder, &["--no-locks"], script);
    assert!(report["locks"].is_null());
}

#[test]
fn the_program_sees_nothing_of_it() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-unseen");
    folder.file("a", &"x".repeat(1_000));
    // The traced thread is pinned to one processor, but it, its children and its threads see all of them.
    let script = "
import os, threading, subprocess, sys
all = os.sched_getaffinity(0)
f = os.open('a', os.O_RDONLY)
def busy(): [os.pread(f, 1, i) for i in range(500)]
busy(); assert os.sched_getaffinity(0) == all
busy(); seen = []
t = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0))); t.start(); t.join(); assert seen == [all]
busy(); subprocess.run([sys.executable, '-c', 'import os, sys; sys.exit(len(os.sched_getaffinity(0)) != %d)' % len(all)], check=True)
print('out', flush=True); print('err', file=sys.stderr)
";
    let (output, report) = watch_python(&folder, &[], script);
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]), "{output:?}");
    assert_calls(&file(&report, "a")["reads"], 1_500, 1_500);
}

#[test]
fn an_exec_by_a_second_thread_is_followed() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("watch-exec");
    folder.file("a", &"x".repeat(100));
    let script = "
import os, sys, threading, time
after = 'import os; f = os.open(\"a\", os.O_RDONLY); [os.read(f, 10) for i in range(10)]; os._exit(5)'
threading.Thread(target=lambda: os.execv(sys.executable, [sys.executable, '-c', after])).start()
time.sleep(100)
";
    let (output, report) = watch_python(&folder, &[], script);
    assert_eq!((output.status.code(), &report["exit_code"]), (Some(5), &5.into()), "{output:?}");
    assert_calls(&file(&report, "a")["reads"], 10, 100);
}

#[test]
fn our_own_command_is_watched() {
    if !may_watch() {
        return;
    }
    let folder = Folder::new("watch-own");
    let scene = folder.file("a.obj", SOUND);
    let out = folder.path("b.obj");
    let polyhaul = env!("CARGO_BIN_EXE_polyhaul");
    let report = folder.path("report");
    let ran = run(&["watch", "--json", "-o", &report, polyhaul, "convert", "-q", &scene, &out]).expect(0);
    assert!(ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    // At least the size, since the start of the file may be read twice to detect the format.
    assert!(file(&value, &scene)["reads"]["bytes"].as_u64().unwrap() >= SOUND.len() as u64);
    assert_eq!(value["bytes_out"].as_u64(), std::fs::metadata(out).ok().map(|data| data.len()));
}

#[test]
fn codes_and_signals_pass_through() {
    if !may_watch() {
        return;
    }
    let ends = [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)];
    for (script, code) in ends {
        let ran = run(&["watch", "sh", "-c", script]).expect(code);
        assert!(ran.stderr.contains("\nwatched sh -c "), "{ran:?}");
    }
    let caught = "trap 'exit 3' TERM; kill -TERM $$; sleep 10";
    run(&["watch", "--", "sh", "-c", caught]).expect(3);
    // Stopped and continued from outside, as by a terminal. Repeatedly, since the first attempt may come too early.
    let stopped = "(while :; do sleep 0.05; kill -CONT $$; done) & kill -STOP $$; kill $!; wait; exit 4";
    run(&["watch", "sh", "-c", stopped]).expect(4);
}

#[test]
fn what_cannot_be_started_has_the_codes_of_shells() {
    if !may_watch() {
        return;
    }
    let folder = Folder::new("watch-missing");
    let missing = run(&["watch", "--", &folder.path("none")]).expect(127);
    assert!(missing.stderr.starts_with("error: ") && missing.stderr.contains("cannot start"), "{missing:?}");
    let plain = run(&["watch", "--json", &folder.file("plain", "x")]).expect(126);
    let value: Value = serde_json::from_str(&plain.stderr).unwrap();
    assert_eq!(value["error"]["kind"], "io");
    run(&["watch", "-o", &folder.path("none/report"), "true"]).expect(1);
    // The old report stays if there is no new one.
    let report = folder.file("report", "of before");
    run(&["watch", "-o", &report, "--", &folder.path("none")]).expect(127);
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "of before");
    run(&["watch", "-o", &report, "--", "true"]).expect(0);
    assert!(std::fs::read_to_string(&report).unwrap().contains("\nwatched true"));
}

/// Starts watching a shell that reports when it is ready; returns the process and a function that sends signals.
fn waiting(arguments: &[&str]) -> (std::process::Child, impl Fn(&std::process::Child, &str) + use<>) {
    use std::io::Read;
    let mut watching = command();
    watching.arg("watch").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = watching.spawn().unwrap();
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    let send = |child: &std::process::Child, signal: &str| {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    };
    (child, send)
}

#[test]
fn a_request_to_end_reaches_the_program() {
    if !may_watch() {
        return;
    }
    let (child, send) = waiting(&["sh", "-c", "trap 'exit 9' TERM; echo; while :; do sleep 0.05; done"]);
    // SIGINT is not forwarded, since a terminal would send it to the program too.
    send(&child, "-INT");
    send(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(9) && text.contains("exit code 9"), "{text}");
}

#[test]
fn what_outlives_the_first_process_is_timed_and_can_be_ended() {
    if !may_watch() {
        return;
    }
    // The child reports that it is ready only some time after the first process has ended.
    let child = "while kill -0 $0 2>/dev/null; do sleep 0.01; done; sleep 0.3; trap 'exit 9' TERM; echo; \
                 while :; do sleep 0.05; done";
    let (child, send) = waiting(&["--json", "sh", "-c", "sh -c \"$0\" $$ & exit 6", child]);
    // Longer than the grace period after a signal to the command itself.
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(1_000));
    send(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    let value: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &value["exit_code"]), (Some(6), &6.into()), "{value}");
    let run = value["run_seconds"].as_f64().unwrap();
    let cost = value["watch_seconds"].as_f64().unwrap();
    assert!(run >= 1.0 && cost < run, "{value}");
}

#[test]
fn when_watching_is_killed_the_program_is_not_left_behind() {
    if !may_watch() {
        return;
    }
    let folder = Folder::new("watch-killed");
    let script = format!("echo $$ > {}; echo; while :; do sleep 0.05; done", folder.path("pid"));
    let (mut child, send) = waiting(&["sh", "-c", &script]);
    let id = std::fs::read_to_string(folder.path("pid")).unwrap();
    send(&child, "-KILL");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let status = format!("/proc/{}/status", id.trim());
    let end = Instant::now() + Duration::from_secs(20);
    let lives = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ"));
    while lives() {
        assert!(Instant::now() < end, "{}", std::fs::read_to_string(&status).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    }
}
