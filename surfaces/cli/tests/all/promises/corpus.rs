//! Converts every OBJ file of the test data.

use super::{assert_no_panic, shell, stderr};
use crate::common::{Folder, command, data};
use std::fs;
use std::path::{Path, PathBuf};

/// All `.obj` files below a folder, sorted by name.
fn samples(folder: &str) -> Vec<PathBuf> {
    let mut samples = Vec::new();
    let mut folders = vec![PathBuf::from(data(folder))];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "obj") {
                samples.push(path);
            }
        }
    }
    samples.sort();
    assert!(samples.len() > 9, "{folder}: {samples:?}");
    samples
}

/// The names and bytes of all files in a folder.
fn content(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), fs::read(folder.path(&name)).unwrap());
    folder.names().into_iter().map(read).collect()
}

/// Converts a file into an empty folder; returns the files there.
fn converted(path: &Path, threads: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Folder::new(&format!("corpus{threads}"));
    let target = folder.path(path.file_name().unwrap().to_str().unwrap());
    let output = command().args(["convert", "-q", threads]).arg(path).arg(target).output().unwrap();
    assert_no_panic(&stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{} {threads}: {}", path.display(), stderr(&output));
    content(&folder)
}

#[test]
fn good_files_give_the_same_bytes_on_any_threads() {
    for path in samples("good").into_iter().chain(samples("blender")) {
        let single_threaded = converted(&path, "-j1");
        assert!(single_threaded.iter().any(|(name, _)| name.ends_with(".obj")), "{}", path.display());
        for threads in ["-j2", "-j3", "-j7", "-j64"] {
            assert!(converted(&path, threads) == single_threaded, "{} {threads}", path.display());
        }
    }
}

/// Whether a message contains a file name and a line.
fn has_place(text: &str, name: &str) -> bool {
    let mut after = text.match_indices(name).map(|(at, name)| &text[at + name.len()..]);
    after.any(|after| {
        after
            .trim_start_matches(".obj")
            .trim_start_matches(".mtl")
            .strip_prefix(':')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Runs the command with limits on memory and time.
fn confined(path: &Path, flags: &str, out: &str) -> std::process::Output {
    let limits = if cfg!(target_os = "linux") { "ulimit -v 2000000; ulimit -t 20; exec timeout 30" } else { "exec" };
    let script = format!("{limits} \"$0\" convert $1 \"$2\" \"$3\"");
    shell(&script, &[flags, path.to_str().unwrap(), out])
}

#[test]
fn bad_files_end_in_an_answer() {
    for path in samples("bad") {
        for flags in ["-j1", "-j7", "-j2 --on-error warn", "--strict"] {
            let folder = Folder::new("corpus-bad");
            let output = confined(&path, flags, &folder.path("out.obj"));
            let said = stderr(&output);
            let case = format!("{} {flags}", path.display());
            assert_no_panic(&said);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{case}: {:?} {said}", output.status);
            let is_made = folder.names().contains(&"out.obj".to_owned());
            assert_eq!(is_made, output.status.success(), "{case}: {:?}", folder.names());
            assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")), "{case}: {:?}", folder.names());
            if !output.status.success() {
                assert!(folder.names().is_empty(), "{case}: {:?}", folder.names());
                let name = path.file_stem().unwrap().to_str().unwrap();
                assert!(said.contains("error: ") && has_place(&said, name), "{case}: no place: {said}");
            }
        }
    }
}

/// Files that hostile files name are neither written nor opened for writing.
#[test]
fn bad_files_write_nothing_elsewhere() {
    for path in samples("bad") {
        let parent = Folder::new("corpus-outside");
        fs::create_dir(parent.path("inner")).unwrap();
        let output = confined(&path, "-q --on-error warn", &parent.path("inner/out.obj"));
        assert_eq!(parent.names(), ["inner"], "{}: {}", path.display(), stderr(&output));
        for entry in fs::read_dir(parent.path("inner")).unwrap() {
            assert!(entry.unwrap().file_type().unwrap().is_file(), "{}", path.display());
        }
    }
}

/// A bad file causes the same error with any number of threads.
#[test]
fn bad_files_fail_alike_on_any_threads() {
    for path in samples("bad") {
        let answer = |threads: &str| {
            let folder = Folder::new("corpus-alike");
            let target = folder.path("out.obj");
            let output = command().args(["convert", "-q", threads]).arg(&path).arg(&target).output().unwrap();
            (output.status.code(), stderr(&output).replace(&target, "out"), content(&folder))
        };
        let single_threaded = answer("-j1");
        for threads in ["-j2", "-j7", "-j64"] {
            assert!(answer(threads) == single_threaded, "{} {threads}: {}", path.display(), single_threaded.1);
        }
    }
}
