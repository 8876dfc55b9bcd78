//! Scenes through `convert`, `info` and the other subcommands for scenes.

use crate::common::{BROKEN, Folder, Ran, SOUND, data, run, run_with};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

#[track_caller]
fn has_shared_keys(value: &Value) {
    for key in ["bytes_in", "bytes_out", "seconds", "phases", "peak_bytes", "threads", "warnings"] {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
    for key in ["total", "counts", "listed"] {
        assert!(value["warnings"].get(key).is_some(), "warnings.{key} is missing in {value}");
    }
}

#[test]
fn info_counts() {
    let ran = run_with(&["info", "--json", "-"], SOUND.as_bytes()).expect(0);
    let value = ran.json();
    has_shared_keys(&value);
    let counts = [("objects", 1), ("positions", 4), ("uvs", 0), ("normals", 0), ("faces", 2), ("corners", 7)];
    for (key, count) in counts.into_iter().chain([("materials", 0), ("triangles", 1), ("quads", 1)]) {
        assert_eq!(value[key], count, "{key}");
    }
    assert_eq!(value["bounds"], json!({"min": [0.0, 0.0, -2.5], "max": [1.0, 1.0, 0.0]}));
    assert_eq!(value["bytes_in"], SOUND.len());
    assert_eq!(ran.json_file()["object_names"], json!(["thing"]));
    assert!(ran.stderr.is_empty());
}

#[test]
fn info_talks_to_people() {
    let ran = run(&["info", &data("good/assimp/box.obj")]).expect(0);
    assert!(ran.stdout.contains("6 quads") && ran.stdout.contains("-0.5 -0.5 -0.5 to 0.5 0.5 0.5"), "{ran:?}");
}

#[test]
fn stl_and_ply_are_formats_too() {
    let folder = Folder::new("scenes-formats");
    let cube = data("../stl/good/cube_binary.stl");
    let welded = run(&["convert", &cube, "-", "--to", "ply", "--ascii", "--weld"]).expect(0);
    assert!(welded.stdout.contains("element vertex 8\n") && welded.stdout.contains("element face 12\n"), "{welded:?}");
    assert!(welded.stdout.contains("\n3 0 1 2 0 0 -1\n"), "{welded:?}");
    let text = folder.path("cube.stl");
    let back = folder.path("back.stl.gz");
    run(&["convert", &cube, &text, "--ascii", "--digits", "1", "--global-scale", "2"]).expect(0);
    assert!(fs::read_to_string(&text).unwrap().contains("    vertex 2.0 2.0 0.0\n"));
    run(&["convert", &text, &back]).expect(0);
    let value = run(&["info", "--json", &back]).expect(0).json();
    assert_eq!((&value["triangles"], &value["bounds"]["max"]), (&json!(12), &json!([2.0, 2.0, 2.0])));
    // Dropped content is reported.
    let scene = folder.file("a.obj", SOUND);
    let ran = run(&["convert", &scene, &folder.path("a.ply"), "--big-endian"]).expect(0);
    assert!(ran.stderr.contains("dropped 1 object name, which PLY cannot store"), "{ran:?}");
    assert!(fs::read(folder.path("a.ply")).unwrap().starts_with(b"ply\nformat binary_big_endian 1.0\n"));
}

#[test]
fn an_empty_scene_has_no_bounds() {
    let value = run_with(&["info", "--json", "--from", "obj", "-"], b"").expect(0).json();
    assert_eq!((&value["bounds"], &value["objects"]), (&Value::Null, &json!(0)));
}

#[test]
fn several_files_are_an_array_with_sums() {
    let folder = Folder::new("scenes-several");
    let first = folder.file("one.obj", SOUND);
    let second = folder.file("two.obj", SOUND);
    let value = run(&["info", "--json", &first, &second]).expect(0).json();
    has_shared_keys(&value);
    assert_eq!(value["faces"], 4);
    assert_eq!((&value["files"][1]["file"], &value["files"][1]["faces"]), (&json!(second), &json!(2)));
    let ran = run(&["info", "--json", &first, &folder.path("none.obj")]).expect(3);
    let value = ran.json();
    assert_eq!((&value["faces"], &value["files"][1]["error"]["kind"]), (&json!(2), &json!("io")));
    run(&["info", &folder.path("none.obj"), &folder.path("nine.obj")]).expect(1);
}

#[test]
fn errors_show_the_place() {
    let folder = Folder::new("scenes-errors");
    let scene = folder.file("broken.obj", BROKEN);
    let ran = run(&["info", &scene]).expect(1);
    assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error: "), "{ran:?}");
    assert!(ran.stderr.contains(&format!("--> {scene}:6:")) && ran.stderr.contains("6 | f 1 2 9"), "{ran:?}");
    let ran = run(&["info", "--json", &scene]).expect(1);
    let error = &ran.json()["error"];
    assert_eq!((&error["kind"], &error["line"], &error["file"]), (&json!("malformed"), &json!(6), &json!(scene)));
    assert!(error["column"].is_u64() && error["offset"].is_u64() && ran.stderr.is_empty());
}

#[test]
fn a_missing_file_is_an_error() {
    for args in [&["info", "none.obj"][..], &["validate", "none.obj"], &["convert", "none.obj", "out.obj"]] {
        let ran = run(args).expect(1);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("none.obj"), "{ran:?}");
        let value = run(&[&["--json"], args].concat()).expect(1).json();
        assert_eq!(value["error"]["kind"], "io");
    }
}

#[test]
fn what_is_no_scene_says_so() {
    let folder = Folder::new("scenes-none");
    let file = folder.file("letter.doc", "Dear reader,\nf this\n");
    let ran = run(&["info", &file]);
    assert!(matches!(ran.code, 1 | 2) && ran.stderr.contains("help: "), "{ran:?}");
}

#[test]
fn on_error_warn_goes_on() {
    let ran = run_with(&["info", "--json", "--on-error", "warn", "-"], BROKEN.as_bytes()).expect(0);
    let value = ran.json();
    assert_eq!(value["faces"], 1);
    assert!(value["warnings"]["total"].as_u64() >= Some(1));
    assert_eq!(value["warnings"]["listed"][0]["line"], 6);
    let ran = run_with(&["info", "--on-error", "warn", "-"], BROKEN.as_bytes()).expect(0);
    assert!(ran.stderr.starts_with("warning["), "{ran:?}");
    let ran = run_with(&["info", "-q", "--on-error", "warn", "-"], BROKEN.as_bytes()).expect(0);
    assert!(ran.stderr.is_empty() && !ran.stdout.is_empty());
}

#[test]
fn converting_twice_gives_the_same_bytes() {
    let folder = Folder::new("scenes-convert");
    let first = folder.path("one.obj");
    let second = folder.path("two.obj");
    let ran = run(&["convert", &data("good/assimp/box.obj"), &first]).expect(0);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("6 faces"), "{ran:?}");
    assert!(run(&["convert", "-q", &first, &second]).expect(0).stderr.is_empty());
    let geometry = |path: &str| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter(|line| !line.starts_with("mtllib")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(geometry(&first), geometry(&second));
    let value = run(&["convert", "--json", &first, &second]).expect(0).json();
    has_shared_keys(&value);
    assert_eq!((&value["faces"], &value["output"]), (&json!(6), &json!(second)));
    assert_eq!(value["phases"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_may_be_converted_into_itself() {
    let folder = Folder::new("scenes-itself");
    let scene = folder.file("a.obj", SOUND);
    run(&["convert", &scene, &scene]).expect(0);
    assert!(fs::read_to_string(&scene).unwrap().contains("v 0.000000 1.000000 -2.500000\n"));
    let names = folder.names();
    assert!(names.iter().all(|name| ["a.mtl", "a.obj"].contains(&name.as_str())), "{names:?}");
}

#[test]
fn a_failed_conversion_leaves_the_old_file() {
    let folder = Folder::new("scenes-failed");
    let scene = folder.file("broken.obj", BROKEN);
    let old = folder.file("old.obj", "old");
    run(&["convert", &scene, &old]).expect(1);
    assert_eq!(fs::read_to_string(&old).unwrap(), "old");
    assert_eq!(folder.names(), ["broken.obj", "old.obj"]);
}

fn converted(flags: &[&str]) -> Ran {
    run_with(&[&["convert", "-q", "-", "-"], flags].concat(), SOUND.as_bytes()).expect(0)
}

#[test]
fn streams_and_flags() {
    assert!(converted(&[]).stdout.contains("v 1.000000 0.000000 0.000000\n"));
    assert!(converted(&["--digits", "2"]).stdout.contains("v 0.00 1.00 -2.50\n"));
    assert!(converted(&["--digits", "2", "--position-digits", "shortest"]).stdout.contains("v 0 1 -2.5\n"));
    assert!(converted(&["--global-scale", "10", "--digits", "1"]).stdout.contains("v 0.0 10.0 -25.0\n"));
    assert!(converted(&["--object-groups"]).stdout.contains("g thing\n"));
    let triangles = converted(&["--triangulate"]).stdout;
    assert_eq!(triangles.lines().filter(|line| line.starts_with("f ")).count(), 3);
    let turned = converted(&["--up-axis", "Z", "--forward-axis", "NEGATIVE_Y", "--digits", "1"]).stdout;
    assert_ne!(turned, converted(&["--digits", "1"]).stdout);
}

#[test]
fn the_object_goes_to_standard_error_when_the_scene_goes_to_standard_output() {
    let ran = run_with(&["convert", "--json", "-", "-"], SOUND.as_bytes()).expect(0);
    assert!(ran.stdout.contains("\nf 1 2 3\n"), "{ran:?}");
    let value: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!((&value["faces"], &value["bytes_out"]), (&json!(2), &json!(ran.stdout.len())));
}

#[test]
fn what_blender_wrote_comes_back() {
    let name = data("blender/opt_default.obj");
    let ran = run(&["convert", "-q", &name, "-"]).expect(0);
    let body = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("mtllib"));
        lines.map(String::from).collect::<Vec<_>>()
    };
    assert!(body(&ran.stdout) == body(&fs::read_to_string(name).unwrap()));
}

#[test]
fn threads_and_memory_change_nothing() {
    let name = data("blender/monkey2.obj");
    let single_threaded = run(&["convert", "-q", "-j1", &name, "-"]).expect(0).stdout;
    for flags in [["-j7", "--memory-limit=64MB"], ["-j2", "--memory-limit=1MiB"]] {
        assert!(run(&[&["convert", "-q", &name, "-"], &flags[..]].concat()).expect(0).stdout == single_threaded);
    }
}

#[test]
fn slower_devices_change_nothing_but_the_time() {
    let name = data("blender/monkey2.obj");
    let plain = run(&["convert", "-q", &name, "-"]).expect(0).stdout;
    let bytes = fs::metadata(&name).unwrap().len();
    // Throttle each direction to take 20 ms.
    let rates = [("--read-rate", 50 * bytes), ("--write-rate", 50 * plain.len() as u64)];
    for (option, rate) in rates {
        let start = Instant::now();
        let ran = run(&["convert", "-q", &name, "-", option, &format!("{rate}B/s"), "--read-latency=1ms"]).expect(0);
        assert!(ran.stdout == plain && start.elapsed() >= Duration::from_millis(20), "{:?}", start.elapsed());
    }
    let start = Instant::now();
    let out = Folder::new("slower-devices");
    run(&["convert", "-q", &name, &out.path("x.obj"), "--write-latency", "0.02s"]).expect(0);
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn limits_are_kept_and_named() {
    let ran = run_with(&["info", "--limit", "elements=3", "-"], SOUND.as_bytes()).expect(1);
    assert!(ran.stderr.contains("elements"), "{ran:?}");
    run_with(&["info", "--limit", "elements=7", "-"], SOUND.as_bytes()).expect(0);
}

#[test]
fn every_job_knows_what_limited_it() {
    let folder = Folder::new("scenes-verdict");
    let first = data("good/assimp/box.obj");
    let two = folder.path("two.obj");
    let ran = run(&["convert", "-v", &first, &two]).expect(0);
    let judged =
        |text: &str| ["limited by", "no single cause", "too short to judge"].iter().any(|cause| text.contains(cause));
    assert!(judged(&ran.stderr), "{ran:?}");
    for args in [&["convert", &first, &two][..], &["info", &first], &["validate", &first], &["info", &first, &two]] {
        assert!(judged(&run(&[args, &["-v"]].concat()).expect(0).stderr), "{args:?}");
        assert!(!judged(&run(&[args, &["-q"]].concat()).expect(0).stderr), "{args:?}");
        let verdict = &run(&[args, &["--json"]].concat()).expect(0).json()["verdict"];
        for key in ["bound", "share", "seconds", "best_possible_seconds", "times_off", "advice", "causes"] {
            assert!(verdict.get(key).is_some(), "{key} is missing in {verdict}");
        }
        let causes = verdict["causes"].as_array().unwrap();
        let sum: f64 = causes.iter().map(|cause| cause["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-6 && verdict["bound"].is_string(), "{verdict}");
    }
    let value = run(&["demo", "--json", "--size", "200KB"]).expect(0).json();
    assert!(value["verdict"].is_null());
    for way in ["write", "read"] {
        assert!(value["verdicts"][way]["bound"].is_string(), "{value}");
    }
    let ran = run(&["demo", "--size", "200KB", "-v"]).expect(0);
    assert!(ran.stderr.contains("write: ") && ran.stderr.contains("read: "), "{ran:?}");
    assert!(ran.stderr.contains("--report demo.html"), "{ran:?}");
}
