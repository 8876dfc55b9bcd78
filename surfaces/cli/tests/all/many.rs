//! Several inputs and folders: what is found, what is skipped, where it goes.

use crate::common::{Folder, run};
use std::path::Path;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
const BAD: &str = "v 0 0 0\nf 1 2 x\n";

/// A folder `in` with meshes, an image, and a file without a format.
fn folder(test: &str) -> (Folder, String, String) {
    let folder = Folder::new(test);
    std::fs::create_dir_all(folder.path("in/sub/deep")).unwrap();
    for name in ["in/b.obj", "in/a.obj", "in/sub/c.obj", "in/sub/deep/d.OBJ"] {
        folder.file(name, TRIANGLE);
    }
    folder.file("in/readme.md", "no mesh");
    folder.file("in/plain", TRIANGLE);
    let tga = [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 1, 2];
    std::fs::write(folder.path("in/i.tga"), tga).unwrap();
    let from = folder.path("in");
    let to = folder.path("out");
    (folder, from, to)
}

/// The files below a folder, by their paths in it.
fn files(folder: &str) -> Vec<String> {
    fn list(folder: &Path, below: &str, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap()) {
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                list(&entry.path(), &format!("{name}/"), names);
            } else {
                names.push(name);
            }
        }
    }
    let mut names = Vec::new();
    list(Path::new(folder), "", &mut names);
    names.sort();
    names
}

#[test]
fn a_folder_is_mirrored() {
    let (folder, from, to) = folder("many-mirror");
    let ran = run(&["convert", &from, &to, "--to", "ply"]).expect(0);
    assert!(ran.stderr.starts_with("2 files converted; ") && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(files(&to), ["a.ply", "b.ply"]);
    let ran = run(&["convert", &from, &to, "--to", "ply", "--recursive", "--compress", "zstd"]).expect(0);
    assert!(ran.stderr.starts_with("4 files converted; "), "{ran:?}");
    let outputs = ["a.ply", "a.ply.zst", "b.ply", "b.ply.zst", "sub/c.ply.zst", "sub/deep/d.ply.zst"];
    assert_eq!(files(&to), outputs);
    // Each is the file that a conversion of its own makes.
    let single = folder.path("single.ply");
    run(&["convert", &folder.path("in/a.obj"), &single]).expect(0);
    assert_eq!(std::fs::read(&single).unwrap(), std::fs::read(folder.path("out/a.ply")).unwrap());
}

#[test]
fn patterns_choose_files_of_folders_alone() {
    let (folder, from, to) = folder("many-include");
    let given = folder.path("in/plain");
    let convert = |include: &[&str]| {
        let _ = std::fs::remove_dir_all(&to);
        let include = include.iter().flat_map(|pattern| ["--include", pattern]);
        let fixed = ["convert", &from, &given, &to, "--to", "stl", "--recursive", "--from", "obj"];
        run(&fixed.into_iter().chain(include).collect::<Vec<_>>()).expect(0);
        files(&to)
    };
    assert_eq!(convert(&["[ab].obj"]), ["a.stl", "b.stl", "plain.stl"]);
    assert_eq!(convert(&["sub/*.obj"]), ["plain.stl", "sub/c.stl"]);
    assert_eq!(convert(&["sub/*/*.obj", "A*"]), ["a.stl", "plain.stl", "sub/deep/d.stl"]);
    assert_eq!(convert(&["sub/**/*"]), ["plain.stl", "sub/c.stl", "sub/deep/d.stl"]);
    let ran = run(&["convert", &from, &to, "--to", "stl", "--include", "a[b"]).expect(2);
    assert!(ran.stderr.contains("invalid pattern `a[b`"), "{ran:?}");
    let ran = run(&["info", &from, "--include", "*.fbx"]).expect(2);
    assert!(ran.stderr.contains("no files found in ") && ran.stderr.contains("--recursive"), "{ran:?}");
}

#[test]
fn what_exists_or_is_old_is_skipped_on_request() {
    let (folder, from, to) = folder("many-skip");
    let convert = |options: &[&str]| {
        let value = run(&[&["convert", &from, &to, "--to", "ply", "--json"], options].concat()).expect(0).json();
        ["converted", "skipped", "failed"].map(|name| value[name].as_u64().unwrap())
    };
    assert_eq!(convert(&["--no-clobber"]), [2, 0, 0]);
    assert_eq!(convert(&["--no-clobber"]), [0, 2, 0]);
    assert_eq!(convert(&["--newer"]), [0, 2, 0]);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(folder.path("in/a.obj")).unwrap().set_modified(later).unwrap();
    assert_eq!(convert(&["--newer"]), [1, 1, 0]);
    assert_eq!(convert(&["--no-clobber", "--recursive"]), [2, 2, 0]);
    let single = folder.path("out/a.ply");
    let ran = run(&["convert", &folder.path("in/b.obj"), &single, "--no-clobber"]).expect(0);
    assert!(ran.stderr.starts_with("0 files converted, 1 skipped; "), "{ran:?}");
    run(&["convert", &from, &to, "--to", "ply", "--no-clobber", "--newer"]).expect(2);
}

#[test]
fn a_dry_run_lists_and_writes_nothing() {
    let (folder, from, to) = folder("many-dry");
    let ran = run(&["convert", &from, &to, "--to", "ply", "--dry-run"]).expect(0);
    let line = |name: &str| format!("{from}/{name}.obj -> {to}/{name}.ply\n");
    assert_eq!(ran.stdout, line("a") + &line("b"));
    assert!(!Path::new(&to).exists());
    std::fs::create_dir(&to).unwrap();
    folder.file("out/a.ply", "old");
    let ran = run(&["convert", &from, &to, "--to", "ply", "--dry-run", "--no-clobber"]).expect(0);
    assert_eq!(ran.stdout, format!("{from}/a.obj: skipped, the output exists\n{}", line("b")));
    assert_eq!(files(&to), ["a.ply"]);
    let value = run(&["convert", &from, &to, "--to", "ply", "--dry-run", "--json"]).expect(0).json();
    assert_eq!((value["dry_run"].as_bool(), value["files"][1]["outcome"].as_str()), (Some(true), Some("planned")));
}

#[test]
fn a_bad_file_does_not_stop_the_others() {
    let (folder, from, to) = folder("many-bad");
    folder.file("in/a1.obj", BAD);
    let ran = run(&["convert", &from, &to, "--to", "ply"]).expect(3);
    assert!(ran.stderr.contains("a1.obj:2:7") && ran.stderr.contains("2 files converted, 1 failed; "), "{ran:?}");
    assert_eq!(files(&to), ["a.ply", "b.ply"]);
    let value = run(&["convert", &from, &to, "--to", "ply", "--json"]).expect(3).json();
    let outcomes: Vec<_> =
        value["files"].as_array().unwrap().iter().map(|file| file["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["converted", "failed", "converted"]);
    assert_eq!((value["files"][0]["faces"].as_u64(), value["files"][1]["error"]["line"].as_u64()), (Some(1), Some(2)));
    run(&["convert", &folder.path("in/a1.obj"), &to, "--to", "ply"]).expect(1);
}

#[test]
fn outputs_that_cannot_be_are_refused_before_anything_is_read() {
    let (folder, from, to) = folder("many-usage");
    let refused = |args: &[&str], expected: &str| {
        let ran = run(args).expect(2);
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        assert!(!Path::new(&to).exists());
    };
    refused(&["convert", &from], "the output is missing");
    refused(&["convert", &from, &to], "cannot infer the output format for the folder");
    refused(&["convert", &from, &to, "--to", "bmp"], "possible values");
    refused(&["convert", &from, "-", "--to", "ply"], "several inputs cannot be written to `-`");
    refused(&["convert", &from, &folder.path("in/a.obj"), "--to", "ply"], "several inputs cannot be written to");
    refused(&["convert", "-", &from, &to, "--to", "ply"], "standard input (-) has no name");
    refused(&["convert", &from, &folder.path("new.ply"), "--to", "ply"], "several inputs cannot be written to");
    folder.file("in/a.ply", "ply\n");
    refused(&["convert", &from, &to, "--to", "stl"], "a.ply would be written to the same file");
}

#[test]
fn an_output_that_is_another_input_is_refused() {
    let (folder, from, to) = folder("many-overwrite");
    std::fs::create_dir_all(folder.path("out/sub")).unwrap();
    let other = folder.file("out/sub/c.ply", "ply\n");
    let ran = run(&["convert", &other, &from, &to, "--to", "ply", "--recursive"]).expect(2);
    assert!(ran.stderr.contains("c.ply is an input, and would be overwritten by "), "{ran:?}");
    assert_eq!(files(&to), ["sub/c.ply"]);
    // Its own input may be replaced, as by a conversion on its own.
    let ran = run(&["convert", &folder.path("in/a.obj"), &from, "--to", "obj"]).expect(0);
    assert!(ran.stderr.starts_with("1 file converted; "), "{ran:?}");
}

#[test]
fn outputs_below_the_inputs_are_not_inputs() {
    let (folder, from, _) = folder("many-below");
    let to = folder.path("in/sub/deep");
    for _ in 0..2 {
        let ran = run(&["convert", &from, &to, "--to", "obj", "--recursive"]).expect(0);
        assert!(ran.stderr.starts_with("3 files converted; "), "{ran:?}");
    }
    assert_eq!(files(&to).into_iter().filter(|name| !name.ends_with(".mtl")).count(), 4);
}

#[test]
fn folders_are_looked_at_and_checked_in_the_order_of_names() {
    let (folder, from, _) = folder("many-info");
    let names = |args: &[&str], code: i32| {
        let value = run(args).expect(code).json();
        let files = value["files"].as_array().unwrap().iter();
        files.map(|file| file["file"].as_str().unwrap()[from.len() + 1..].to_owned()).collect::<Vec<_>>()
    };
    let inputs = ["a.obj", "b.obj", "i.tga", "sub/c.obj", "sub/deep/d.OBJ"];
    for threads in ["1", "2", "7"] {
        assert_eq!(names(&["info", &from, "--recursive", "--json", "-j", threads], 0), inputs);
    }
    assert_eq!(names(&["validate", &from, "--json"], 0), inputs[..3]);
    folder.file("in/b.obj", BAD);
    assert_eq!(names(&["validate", &from, "--json"], 3), inputs[..3]);
    let ran = run(&["info", &from, "-q"]).expect(3);
    assert!(
        ran.stdout.contains("a.obj") && ran.stdout.contains("i.tga") && ran.stderr.contains("b.obj:2:7"),
        "{ran:?}"
    );
}
