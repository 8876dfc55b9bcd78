//! PLY files through the command.

use crate::common::{Folder, run, run_confined, run_with};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder of `testdata/ply`.
fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ply").join(folder);
    let folders = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path());
    folders.flat_map(|folder| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path())).collect()
}

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ply/good");
    root.join(name).display().to_string()
}

#[test]
fn info_shows_elements_and_properties() {
    let ran = run(&["info", &file("generated/mesh_rgba_be.ply")]).expect(0);
    for part in [
        "PLY binary big endian",
        "float x, y, z, nx, ny, nz; uchar red, green, blue, alpha",
        "list uchar int vertex_indices",
        "with colors",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let value = run(&["info", "--json", &file("generated/all_types_le.ply")]).expect(0).json_file();
    assert_eq!(value["header"]["format"], "PLY binary little endian");
    assert_eq!(value["header"]["comments"][0], "made for tests");
    assert_eq!(
        value["header"]["elements"][1]["properties"][2],
        json!({"name": "tags", "type": "ushort", "list": "uchar"})
    );
}

#[test]
fn good_files_become_obj() {
    let folder = Folder::new("ply-good");
    let output = folder.path("x.obj");
    for path in files("good") {
        let path = path.display().to_string();
        run(&["convert", &path, &output]).expect(0);
        run(&["info", &path]).expect(0);
        run(&["validate", &output]).expect(0);
    }
    run(&["convert", &file("assimp/cube_uv.ply"), &output]).expect(0);
    let text = fs::read_to_string(&output).unwrap();
    for keyword in ["v ", "vt ", "vn ", "f "] {
        assert!(text.lines().any(|line| line.starts_with(keyword)), "{keyword}");
    }
}

#[test]
fn bad_files_end_in_an_error() {
    let folder = Folder::new("ply-bad");
    for path in files("bad") {
        let path = path.display().to_string();
        let ran = run_confined(&["info", &path]).expect(1);
        assert!(ran.stderr.starts_with("error: "), "{path}: {ran:?}");
        run_confined(&["convert", &path, &folder.path("x.obj")]).expect(1);
        assert!(!run_confined(&["validate", &path]).stdout.is_empty(), "{path}");
    }
}

#[test]
fn standard_input_is_read_on_request() {
    let bytes = fs::read(file("happly/platonic_shelf.ply")).unwrap();
    let text = fs::read(file("happly/platonic_shelf_ascii.ply")).unwrap();
    let [binary, ascii] =
        [bytes, text].map(|file| run_with(&["info", "--from", "ply", "--json", "-"], &file).expect(0).json_file());
    assert!(binary["positions"].as_u64() > Some(0));
    for key in ["positions", "faces", "corners", "bounds"] {
        assert_eq!(binary[key], ascii[key], "{key}");
    }
}
