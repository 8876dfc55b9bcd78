//! Closed pipes and streams, full disks, and the demo.

use crate::common::{Folder, SOUND, command, run};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Runs the command with a standard output that has no reader; returns the exit code and standard error.
fn run_deaf(args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command().args(args).stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(SOUND.as_bytes());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    for args in [
        &["--help"][..],
        &["completions", "bash"],
        &["man"],
        &["info", "-q", "-"],
        &["info", "--json", "-"],
        &["validate", "-q", "-"],
        &["validate", "--json", "-"],
        &["convert", "-q", "-", "-"],
    ] {
        assert_eq!(run_deaf(args), (Some(0), String::new()), "{args:?}");
    }
    let (code, json) = run_deaf(&["convert", "--json", "-", "-"]);
    assert!(code == Some(0) && json.starts_with("{\"command\"") && !json.contains("\"error\""), "{json}");
}

/// A broken pipe is a success only on standard output.
#[test]
#[cfg(unix)]
fn a_fifo_whose_reader_leaves_is_an_error() {
    let folder = Folder::new("streams-fifo");
    let scene = folder.file("in.obj", &SOUND.repeat(50_000));
    let fifo = folder.path("out.obj");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let child = command().args(["convert", "-q", &scene, &fifo]).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(&mut std::fs::File::open(&fifo).unwrap(), &mut [0; 10]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Runs the command with redirections such as `>&-`; returns the exit code and standard error.
#[cfg(unix)]
fn run_closed(redirection: &str, args: &[&str]) -> (Option<i32>, String) {
    let script = format!("exec \"$0\" \"$@\" {redirection}");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &script, env!("CARGO_BIN_EXE_polyhaul")]).args(args).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
#[cfg(unix)]
fn streams_that_are_closed_are_errors() {
    let folder = Folder::new("streams-closed");
    let scene = folder.file("in.obj", SOUND);
    let out = folder.path("out.obj");
    for args in [&["info", &scene][..], &["--help"], &["completions", "bash"], &["convert", &scene, "-"]] {
        let (code, stderr) = run_closed(">&-", args);
        let is_named = stderr.contains("standard output") && stderr.contains(": it is closed");
        assert!(code == Some(1) && is_named, "{args:?} {stderr}");
    }
    let (code, stderr) = run_closed("<&-", &["convert", "-", &out]);
    assert!(code == Some(1) && stderr.contains("cannot open standard input: it is closed"), "{stderr}");
    // Other commands do not need the streams, and no file gets the descriptor of a closed one.
    assert_eq!(run_closed("<&- >&- 2>&-", &["convert", "-q", &scene, &out]), (Some(0), String::new()));
    assert_eq!(folder.names(), ["in.obj", "out.obj"]);
    assert_eq!(run_closed("> /dev/null < /dev/null", &["info", "-q", &scene]), (Some(0), String::new()));
    assert_eq!(run(&["info", "-q", &out]).expect(0).stderr, "");
}

#[test]
fn strict_refuses_what_the_target_cannot_store() {
    let folder = Folder::new("streams-strict");
    let scene = folder.file("a.obj", &format!("{SOUND}o b\nl 1 2\n"));
    let target = folder.file("a.stl", "old");
    let ran = run(&["convert", "--strict=all", &scene, &target]).expect(1);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("stores only triangles"), "{ran:?}");
    assert!(ran.stderr.contains("without `--strict`"), "{ran:?}");
    assert_eq!(std::fs::read(&target).unwrap(), b"old");
    let ran = run(&["convert", "--strict=all", "--to", "stl", &scene, "-"]).expect(1);
    assert!(ran.stdout.is_empty(), "{ran:?}");
    let allow = "--allow=changed-faces,left-out-names";
    run(&["convert", "--strict=all", &scene, &target, allow, "--allow", "left-out-lines"]).expect(0);
    // STL cannot store these anyway, so they are only notes.
    let ran = run(&["convert", "--strict", &scene, &target]).expect(0);
    assert!(ran.stderr.starts_with("note[changed-faces]: "), "{ran:?}");
    let ran = run(&["convert", "--allow", "left-out-name", &scene, &target]).expect(2);
    assert!(ran.stderr.contains("did you mean `left-out-names`?"), "{ran:?}");
    run(&["convert", "--strict=none", &scene, &target]).expect(2);
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
    // For these, 1 would mean that the files differ or have faults.
    let folder = Folder::new("streams-full");
    let scene = folder.file("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for args in [&["diff", "--json", &scene, &scene][..], &["check", "--json", "--allow-open", &scene]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command().args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {output:?}");
    }
}

/// Holds on every system, even for input with other line endings.
#[test]
fn lines_end_with_lf_and_nothing_has_colors() {
    let folder = Folder::new("streams-lines");
    let has_lf_alone = |what: &str, bytes: &[u8]| assert!(!bytes.iter().any(|b| b"\r\x1b".contains(b)), "{what}");
    let crlf = |text: &str| text.replace('\n', "\r\n");
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.file("in/a.mtl", &crlf("newmtl red\nKd 1 0 0\n# end\n"));
    let scene = folder.file("in/a.obj", &crlf(&format!("# text\nmtllib a.mtl\nusemtl red\n{SOUND}f 1 2 9\n")));
    let input = folder.path("in");
    let out = folder.path("out");
    let reports = ["--report", "r.html", "--chart", "c.svg", "--trace", "t.json"];
    let convert = ["convert", "-v", "--on-error", "warn", &scene];
    let runs = [
        &["info", &scene][..],
        &["info", "--json", &scene],
        &["validate", &scene],
        &["convert", "--help"],
        &["man"],
        &["completions", "powershell"],
        &[&convert[..], &["x.obj"], &reports].concat(),
        &[&convert[..], &["x.ply", "--ascii"]].concat(),
        &[&convert[..], &["x.stl", "--ascii"]].concat(),
        &[&convert[..], &["x.off"]].concat(),
        &[&convert[..], &["x.csv"]].concat(),
        &[&convert[..], &["x.gltf"]].concat(),
        &[&convert[..], &["x.pbrt"]].concat(),
        &["batch", &input, "-o", &out, "--to", "off"],
        &["batch", "rows", &out],
        &["batch", "status", &out],
    ];
    for args in runs {
        let output = command().args(args).current_dir(folder.path("")).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{args:?} {output:?}");
        has_lf_alone(&format!("{args:?}"), &[output.stdout, output.stderr].concat());
    }
    let mut folders = vec![std::path::PathBuf::from(folder.path(""))];
    let mut written = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let extension = path.extension().unwrap_or_default();
            if path.is_dir() && !path.ends_with("in") {
                folders.push(path);
            } else if path.is_file() && !["bin", "parquet"].iter().any(|binary| *binary == extension) {
                has_lf_alone(&path.display().to_string(), &std::fs::read(&path).unwrap());
                written += 1;
            }
        }
    }
    assert!(written >= 10, "{written} files");
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
    assert!(table.contains("verified by reading back") && table.contains("% of plain write"), "{table}");
    assert!(folder.names().is_empty());
    let kept_folder = folder.path("kept");
    let text = temporary(command().args(["demo", "--json", "--size", "200KB", "--keep", &kept_folder]));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["same"], &value["folder"]), (&json!(true), &json!(kept_folder)));
    let names: Vec<_> = value["rates"].as_array().unwrap().iter().map(|rate| rate["name"].clone()).collect();
    assert_eq!(names, ["write", "plain write", "read", "plain read"]);
    let bytes = value["bytes"].as_u64().unwrap();
    assert!((100_000..400_000).contains(&bytes), "{bytes}");
    assert_eq!(std::fs::metadata(format!("{kept_folder}/demo.obj")).unwrap().len(), bytes);
    assert_eq!(run(&["info", "--json", &format!("{kept_folder}/demo.obj")]).expect(0).json()["faces"], value["faces"]);
}
