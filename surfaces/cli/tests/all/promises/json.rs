//! The JSON object of `--json` has the same keys, whatever happens.

use super::{BIG, blender};
use crate::common::{BROKEN, Folder, Ran, SOUND, run, run_with};
use serde_json::Value;

const SHARED: [&str; 13] = [
    "command",
    "bytes_in",
    "plain_bytes_in",
    "bytes_out",
    "moved_in",
    "moved_out",
    "seconds",
    "phases",
    "peak_bytes",
    "spilled_bytes",
    "threads",
    "warnings",
    "verdict",
];
const COUNTS: [&str; 17] = [
    "objects",
    "positions",
    "uvs",
    "normals",
    "colors",
    "faces",
    "triangles",
    "quads",
    "polygons",
    "corners",
    "lines",
    "points",
    "curves",
    "groups",
    "materials",
    "missing_materials",
    "textures",
];

#[track_caller]
fn has(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

#[track_caller]
fn has_shared(value: &Value) {
    has(value, &SHARED);
    has(&value["warnings"], &["total", "counts", "listed"]);
    for listed in value["warnings"]["listed"].as_array().unwrap() {
        has(listed, &["code", "message", "file", "line", "column", "offset"]);
    }
    for phase in value["phases"].as_array().unwrap() {
        assert!(phase["name"].is_string() && phase["seconds"].is_f64(), "{phase}");
    }
}

#[track_caller]
fn error(ran: &Ran, kind: &str) {
    let value = ran.json();
    has_shared(&value);
    has(&value["error"], &["kind", "message", "file", "line", "column", "offset", "expected", "hint"]);
    assert_eq!(value["error"]["kind"], kind, "{value}");
    assert!(ran.stderr.is_empty(), "{ran:?}");
}

#[test]
fn convert_tells_what_it_did() {
    let folder = Folder::new("json-convert");
    let value = run(&["convert", "--json", &blender(BIG), &folder.path("out.obj")]).expect(0).json();
    has_shared(&value);
    has(&value, &COUNTS);
    has(&value, &["input", "output"]);
    assert_eq!(
        (&value["command"], &value["faces"], &value["materials"]),
        (&"convert".into(), &41_000.into(), &4.into())
    );
    let size: u64 = folder.names().iter().map(|name| std::fs::metadata(folder.path(name)).unwrap().len()).sum();
    assert_eq!(value["bytes_out"], size);
    for (list, sum) in [("moved_in", "bytes_in"), ("moved_out", "bytes_out")] {
        let parts = value[list].as_array().unwrap();
        parts.iter().for_each(|part| has(part, &["format", "codec", "bytes", "plain_bytes"]));
        let formats: Vec<_> = parts.iter().map(|part| part["format"].as_str().unwrap()).collect();
        assert_eq!(formats, ["obj", "mtl"], "{list}");
        let bytes: u64 = parts.iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert_eq!(value[sum], bytes, "{list}");
    }
    let phases: Vec<_> =
        value["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert!(phases.contains(&"read") && phases.contains(&"write"), "{phases:?}");
    assert!(value["threads"].as_u64() >= Some(1) && value["seconds"].as_f64() > Some(0.0));
}

#[test]
fn info_tells_what_is_inside() {
    let ran = run(&["info", "--json", &blender(BIG)]).expect(0);
    has_shared(&ran.json());
    has(&ran.json(), &COUNTS);
    has(&ran.json_file(), &COUNTS);
    let names = ["object_names", "material_names", "material_libraries", "texture_files"];
    has(&ran.json_file(), &["file", "file_bytes", "bounds"]);
    has(&ran.json_file(), &names);
}

/// The keys of the object, and of each of its files.
fn keys_of_info(inputs: &[&str], code: i32) -> (Vec<String>, Vec<Vec<String>>) {
    let value = run(&[&["info", "--json"], inputs].concat()).expect(code).json();
    let keys = |value: &Value| value.as_object().unwrap().keys().filter(|key| *key != "error").cloned().collect();
    let files = value["files"].as_array().unwrap().iter().map(keys).collect();
    (keys(&value), files)
}

#[test]
fn info_has_one_shape_for_one_input_and_for_many() {
    let folder = Folder::new("json-info-shape");
    let first = folder.file("a.obj", SOUND);
    let second = folder.file("b.obj", SOUND);
    let none = folder.path("none.obj");
    let (single, files) = keys_of_info(&[&first], 0);
    let (double, both) = keys_of_info(&[&first, &second], 0);
    assert_eq!((&single, files.len(), both.len()), (&double, 1, 2));
    assert_eq!(both, [&files[0][..], &files[0][..]]);
    // Unreadable inputs are in the array too.
    assert_eq!(keys_of_info(&[&none], 1).0, single);
    assert_eq!(keys_of_info(&[&first, &none], 3).0, single);
    let sum = run(&["info", "--json", &first, &second]).expect(0).json();
    assert_eq!((&sum["faces"], &sum["files"][0]["faces"]), (&4.into(), &2.into()));
    assert_eq!(sum["files"][1]["file_bytes"], SOUND.len());
}

#[test]
fn validate_tells_every_complaint() {
    let value = run_with(&["validate", "--json", "-"], BROKEN.as_bytes()).expect(1).json();
    has_shared(&value);
    has(&value, &["valid", "files", "error"]);
    has(&value["files"][0], &["file", "valid", "bytes_in", "warnings", "error"]);
}

#[test]
fn errors_are_objects() {
    let folder = Folder::new("json-errors");
    let broken = folder.file("broken.obj", BROKEN);
    let sound = folder.file("sound.obj", SOUND);
    let out = folder.path("out.obj");
    error(&run(&["convert", "--json", &broken, &out]).expect(1), "malformed");
    error(&run(&["convert", "--json", &folder.path("gone.obj"), &out]).expect(1), "io");
    error(&run(&["convert", "--json", &sound, &folder.path("gone/out.obj")]).expect(1), "io");
    error(&run(&["convert", "--json", &sound, &out, "--limit", "elements=1"]).expect(1), "limit");
    error(&run(&["convert", "--json", &sound, &folder.path("out.docx")]).expect(2), "usage");
    error(&run(&["convert", "--json", "--strict", "--on-error", "warn", &sound, &out]).expect(2), "usage");
    let value = run(&["convert", "--json", &sound]).expect(2).json();
    has(&value["error"], &["kind", "message", "file", "line", "column", "offset", "expected", "hint"]);
    assert_eq!(folder.names(), ["broken.obj", "sound.obj"]);
}

#[test]
fn a_write_that_fails_is_an_object_with_the_file() {
    let folder = Folder::new("json-write");
    std::fs::create_dir(folder.path("out.obj")).unwrap();
    let ran = run(&["convert", "--json", &blender("opt_default"), &folder.path("out.obj")]).expect(1);
    error(&ran, "io");
    assert_eq!(ran.json()["error"]["file"], folder.path("out.obj"));
}
