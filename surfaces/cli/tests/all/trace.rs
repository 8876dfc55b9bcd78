//! `--trace`, `--report`, `--chart`: the files are written whatever the result of the run, and do not change it.

use crate::common::{Folder, Ran, SOUND, command, run, run_with};
use serde_json::Value;

/// The events of a trace.
fn events(path: &str) -> Vec<Value> {
    let page: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!((&page["displayTimeUnit"], page["otherData"].is_object()), (&Value::from("ms"), true));
    page["traceEvents"].as_array().unwrap().clone()
}

/// The number of events with this kind and name.
fn count(events: &[Value], kind: &str, name: &str) -> usize {
    events.iter().filter(|event| event["ph"] == kind && event["name"] == name).count()
}

/// A scene that is read in many chunks.
fn large() -> String {
    let line = |i: u32| format!("v {}.5 {}.25 0.125\nf 1 2 -1\n", i % 1000, i % 77);
    "v 0 0 0\nv 1 0 0\n".to_owned() + &(0..60_000).map(line).collect::<String>()
}

#[test]
fn a_trace_has_the_whole_run_and_changes_nothing() {
    let folder = Folder::new("trace-same");
    let input = folder.file("in.obj", &large());
    let plain = folder.path("plain.obj");
    run(&["convert", &input, &plain]).expect(0);
    for threads in ["1", "3"] {
        let output = folder.path("out.obj");
        let trace = folder.path("t.json");
        let ran = run(&["convert", &input, &output, "--trace", &trace, "-j", threads, "--json"]).expect(0);
        assert_eq!(ran.json()["command"], "convert");
        assert_eq!(std::fs::read(&output).unwrap(), std::fs::read(&plain).unwrap());
        let events = events(&trace);
        for span in ["read", "cut", "parse", "place", "build", "format", "write"] {
            assert!(count(&events, "X", span) > 0, "{span}");
        }
        assert!(count(&events, "C", "bytes in") > 0 && count(&events, "C", "bytes out") > 0);
        assert_eq!((count(&events, "i", &input) > 0, count(&events, "i", &output)), (true, 1));
        assert_eq!(count(&events, "C", "cores busy") > 0, cfg!(unix));
        let title = events.iter().find(|event| event["name"] == "process_name").unwrap();
        assert!(title["args"]["name"].as_str().unwrap().starts_with("polyhaul convert "));
    }
    assert_eq!(folder.names(), ["in.obj", "out.obj", "plain.obj", "t.json"]);
}

#[test]
fn a_run_that_fails_leaves_a_trace_and_its_own_error() {
    let folder = Folder::new("trace-failed");
    let input = folder.file("in.obj", "v 0 0 0\nf 1 2 x\n");
    let trace = folder.path("t.json");
    let output = folder.path("out.obj");
    let again = folder.path("again.obj");
    let ran = run(&["convert", &input, &output, "--trace", &trace]).expect(1);
    assert_eq!(ran.stderr, run(&["convert", &input, &again]).expect(1).stderr);
    assert!(count(&events(&trace), "i", &input) > 0);
    assert_eq!(folder.names(), ["in.obj", "t.json"]);
    let missing = folder.path("missing.obj");
    for args in [["info", &missing], ["validate", &missing]] {
        run(&[args.as_slice(), &["--trace", &trace]].concat()).expect(1);
        assert_eq!(count(&events(&trace), "X", "parse"), 0);
    }
}

#[test]
fn standard_streams_stay_what_they_are() {
    let folder = Folder::new("trace-streams");
    let trace = folder.path("t.json");
    let args = ["convert", "-", "-", "--from", "obj"];
    let plain = run_with(&args, SOUND.as_bytes()).expect(0);
    let traced = run_with(&[args.as_slice(), &["--trace", &trace]].concat(), SOUND.as_bytes()).expect(0);
    assert_eq!(plain.stdout, traced.stdout);
    assert_eq!(count(&events(&trace), "i", "standard output"), 1);
    let a = folder.file("a.obj", SOUND);
    let b = folder.file("b.obj", SOUND);
    let ran = run(&["info", &a, &b, "--trace", &trace, "--json"]).expect(0);
    assert_eq!((&ran.json()["command"], count(&events(&trace), "M", "process_name")), (&"info".into(), 1));
}

#[test]
#[cfg(unix)]
fn hostile_names_do_not_break_the_trace() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("trace-names");
    let mut name = OsStr::new(&folder.path("")).to_owned();
    name.push(OsStr::from_bytes(b"a\"\\\n\t\x01\x7f<script>.obj"));
    // Use invalid UTF-8 on systems that allow it in names.
    let mut odd = name.clone();
    odd.push(OsStr::from_bytes(b"\xff.obj"));
    let name = if std::fs::write(&odd, SOUND).is_ok() { odd } else { name };
    std::fs::write(&name, SOUND).unwrap();
    let [output, trace, page] = ["out.obj", "t.json", "r.html"].map(|name| folder.path(name));
    let mut command = command();
    command.args([OsStr::new("convert"), &name, OsStr::new(&output)]).args(["--trace", &trace, "--report", &page]);
    assert!(command.output().unwrap().status.success());
    assert!(count(&events(&trace), "i", &name.to_string_lossy()) > 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.matches("<script>").count() <= 2, "{page}");
}

#[test]
fn a_page_and_a_picture_are_written_beside_the_trace() {
    let folder = Folder::new("trace-page");
    let input = folder.file("in.obj", &large());
    let [output, trace, page, picture] = ["out.ply", "t.json", "r.html", "c.SVG"].map(|name| folder.path(name));
    let args = ["convert", &input, &output, "--trace", &trace, "--report", &page, "--chart", &picture];
    run(&args).expect(0);
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    assert!(text(&page).contains("polyhaul convert ") && text(&picture).starts_with("<svg"));
    assert!(count(&events(&trace), "X", "parse") > 0);
    let nowhere = folder.path("no/c.svg");
    run(&["convert", &input, &output, "--trace", &trace, "--chart", &nowhere]).expect(1);
    let ran = run(&["convert", &input, &output, "--chart", &folder.path("c.jpg")]).expect(2);
    assert!(ran.stderr.contains("expected a name ending in .svg or .png"), "{}", ran.stderr);
}

#[cfg(feature = "png-charts")]
#[test]
fn a_chart_is_drawn_as_png() {
    let folder = Folder::new("trace-png");
    let input = folder.file("in.obj", SOUND);
    let chart = folder.path("c.PNG");
    run(&["info", &input, "--chart", &chart]).expect(0);
    let pixels = std::fs::read(chart).unwrap();
    assert!(pixels.starts_with(b"\x89PNG\r\n\x1a\n") && pixels.get(16..20) == Some(&2400_u32.to_be_bytes()));
}

#[cfg(not(feature = "png-charts"))]
#[test]
fn a_build_without_png_charts_names_the_feature() {
    let folder = Folder::new("trace-png");
    let input = folder.file("in.obj", SOUND);
    let chart = folder.path("c.PNG");
    for command in ["info", "sweep"] {
        let ran = run(&[command, &input, "--chart", &chart]).expect(2);
        refused(&ran, &folder, "without the feature `png-charts`; write an .svg, or install");
    }
}

/// Asserts that nothing was done before the error.
#[track_caller]
fn refused(ran: &Ran, folder: &Folder, message: &str) {
    assert!(ran.stderr.contains(message) && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(folder.names(), ["in.obj"]);
}

#[test]
fn a_path_that_cannot_be_written_to_is_told_before_the_work() {
    let folder = Folder::new("trace-refused");
    let input = folder.file("in.obj", SOUND);
    let output = folder.path("out.obj");
    let convert = |trace: &str| run(&["convert", &input, &output, "--trace", trace]);
    let nowhere = folder.path("no/such/folder/t.json");
    refused(&convert(&nowhere).expect(1), &folder, "t.json");
    refused(&convert(&folder.path("")).expect(1), &folder, "cannot create");
    refused(&convert(&input).expect(2), &folder, "expected a name ending in .json");
    refused(&convert("-").expect(2), &folder, "standard output is used for results");
    let ran = run(&["convert", &input, &output, "--trace", &nowhere, "--json"]).expect(1);
    assert_eq!((&ran.json()["command"], &ran.json()["error"]["kind"]), (&"convert".into(), &"io".into()));
    let ran = run(&["convert", &input, "-", "--trace", &nowhere, "--json"]).expect(1);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("\"kind\":\"io\""), "{ran:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_device_is_written_straight_into() {
    let folder = Folder::new("trace-device");
    let input = folder.file("in.obj", SOUND);
    run(&["info", &input, "--trace", "/dev/null"]).expect(0);
    // A disk that is full at the end causes an error.
    let ran = run(&["info", &input, "--trace", "/dev/full"]).expect(1);
    assert!(ran.stderr.contains("/dev/full") && ran.stdout.contains("faces"), "{ran:?}");
    let ran = run(&["info", &input, "--trace", "/dev/full", "--json"]).expect(1);
    assert_eq!((&ran.json()["error"]["kind"], &ran.json()["command"]), (&"io".into(), &"info".into()));
}
