//! Compares the outcome of every OBJ file of `testdata/obj` with `testdata/obj/expected`.
//!
//! After an intentional change, `POLYHAUL_BLESS=1 cargo test -p polyhaul-testkit --test reading expected` updates the
//! expectations; review the difference before committing it.

use crate::{lenient, options, read};
use polyhaul::{Input, ReadOptions};
use polyhaul_testkit::corpus::{Sample, root, samples};
use polyhaul_testkit::output::difference;
use polyhaul_testkit::summary;
use std::fs;

/// Compares all files of a folder with their expectations, each read in these ways.
fn check(folder: &str, ways: &[(&str, ReadOptions)]) {
    let files = samples(folder, "obj");
    assert!(!files.is_empty(), "no files in {folder}");
    let bless = std::env::var_os("POLYHAUL_BLESS").is_some();
    let mut wrong = Vec::new();
    for file in files {
        let actual = text(&file, ways);
        let name = file.name.strip_prefix("obj/").unwrap_or(&file.name);
        let path = root().join("obj/expected").join(name).with_extension("txt");
        if bless {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &actual).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{}\n{}", file.name, difference(&actual, &expected)));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// Prints the outcome of a file in each way.
fn text(file: &Sample, ways: &[(&str, ReadOptions)]) -> String {
    let mut text = String::new();
    for (way, options) in ways {
        let result = read(Input::Path(file.path.clone()), options);
        text += &format!("== {way}\n{}", summary::outcome(&result));
    }
    // Paths and system messages differ between machines.
    let root = format!("{}/", root().display());
    let not_there = std::io::Error::from_raw_os_error(NOT_FOUND).to_string();
    text.replace(&root, "").replace(&not_there, "it is not there")
}

/// The system's error code for a missing file: ENOENT, ERROR_FILE_NOT_FOUND.
const NOT_FOUND: i32 = 2;

#[test]
fn good_files() {
    check("obj/good", &[("as it is", options(1, None))]);
}

#[test]
fn files_of_blender() {
    check("obj/blender", &[("as it is", options(1, None))]);
}

#[test]
fn bad_files() {
    let ways = [("as it is", options(1, None)), ("with warnings for errors", lenient())];
    check("obj/bad", &ways);
}
