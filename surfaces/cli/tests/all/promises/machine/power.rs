//! Power loss: data that never reached the disk although its rename did, and the reverse.

use super::{Counts, finish_batch, library, run_with_faults, shim};
use crate::common::{Folder, run};
use crate::promises::{BIG, assert_no_panic, blender};
use std::fs;

const PREVIOUS: &str = "previous";

/// States after a power loss. Either the rename did not happen, or it did and the unsynced data is missing, cut at a
/// sector, zeroed, or replaced by sectors of an older file.
const STATES: [&str; 5] = ["before", "empty", "cut", "zeros", "old"];

/// The torn states of a file that a reader detects.
#[derive(Clone, Copy, PartialEq)]
enum Detection {
    /// Every state: the format has a size or a count, and a checksum or a syntax.
    Everything,
    /// All states except an empty file, which is valid.
    ExceptEmpty,
    /// Only wrong sizes: sectors with other content are valid numbers.
    Sizes,
}

/// The content of a file after a power loss at a rename, and whether it is valid.
fn after_power_loss(source: &str, name: &str, rename: usize, state: &str, durable: &[&str]) -> (Vec<u8>, bool) {
    let folder = Folder::new(&format!("machine-power-{name}-{state}-{}", durable.len()));
    let target = folder.file(name, PREVIOUS);
    let args = [&["convert", "-q", "-j1", source, &target], durable].concat();
    let output = run_with_faults(shim().unwrap(), &args, &[("FAULT_POWER", &format!("{rename}:{state}"))]);
    assert!(!output.status.success(), "{name} {state}");
    let content = fs::read(&target).unwrap();
    let checked = run(&["validate", "--strict", &target]);
    assert_no_panic(&checked.stderr);
    (content, checked.code == 0)
}

fn check(source: &str, name: &str, detection: Detection) {
    let Some(shim) = shim() else { return };
    let folder = Folder::new(&format!("machine-power-{name}"));
    let complete = folder.path(name);
    // A material library is renamed before its scene.
    let last_rename = Counts::of(shim, &["convert", "-q", "-j1", source, &complete], "none").renames;
    let complete = fs::read(complete).unwrap();
    for state in STATES {
        let (content, is_valid) = after_power_loss(source, name, last_rename, state, &[]);
        if state == "before" {
            assert_eq!(content, PREVIOUS.as_bytes(), "{name}");
            continue;
        }
        assert!(content != complete, "{name} {state} is not torn");
        let must_be_reported = match detection {
            Detection::Everything => true,
            Detection::ExceptEmpty => state != "empty",
            Detection::Sizes => matches!(state, "empty" | "cut"),
        };
        assert!(!(must_be_reported && is_valid), "{name} {state}: {} bytes are accepted", content.len());
    }
    // Data synced before the rename cannot be lost.
    for state in ["empty", "zeros"] {
        let (content, _) = after_power_loss(source, name, last_rename, state, &["--durable"]);
        assert!(content == complete, "{name} {state}: {} bytes", content.len());
    }
}

#[test]
fn text() {
    for name in ["a.off", "a.pbrt"] {
        check(&blender(BIG), name, Detection::Everything);
    }
    check(&blender("opt_default"), "a.obj", Detection::ExceptEmpty);
    let folder = Folder::new("machine-power-table");
    let rows: String = (0..20_000).map(|row| format!("{row}.5,{row},{}\n", row * 2)).collect();
    let table = folder.file("t.csv", &format!("x,y,z\n{rows}"));
    check(&table, "a.csv", Detection::ExceptEmpty);
    check(&table, "a.xyz", Detection::ExceptEmpty);
}

#[test]
fn binary() {
    check(&blender(BIG), "a.ply", Detection::Everything);
    check(&blender(BIG), "a.stl", Detection::Sizes);
    check(&blender(BIG), "a.glb", Detection::Sizes);
}

#[test]
fn compressed() {
    for name in ["a.ply.gz", "a.ply.zst", "a.obj.gz"] {
        check(&blender(BIG), name, Detection::Everything);
    }
}

#[test]
fn images() {
    let image = crate::common::data("../bmp/good/rgb24.bmp");
    check(&image, "a.png", Detection::Everything);
    check(&image, "a.tga", Detection::Sizes);
}

/// Variants of a file whose last sectors were not written: cut at a sector, zeroed, or with other content.
fn torn(bytes: &[u8]) -> Vec<Vec<u8>> {
    let middle = bytes.len() / 2 / 512 * 512;
    let last = bytes.len() / 512 * 512;
    let mut states = Vec::new();
    for start in [0, 512, middle, last] {
        let rest = bytes.len() - start;
        states.push(bytes[..start].to_vec());
        states.push([&bytes[..start], &vec![0; rest]].concat());
        states.push([&bytes[..start], &b"old sector\n".repeat(rest / 11 + 1)[..rest]].concat());
    }
    // A zeroed sector in the middle.
    states.push([&bytes[..512], &[0; 512], &bytes[1024..]].concat());
    states
}

/// Assets whose rows are lost are converted again; a damaged manifest is written again.
#[test]
fn logs_and_manifests() {
    let folder = Folder::new("machine-power-batch");
    let library = library(&folder);
    let out = folder.path("out");
    finish_batch(&library, &out);
    for place in ["log", "manifest"] {
        let path = match place {
            "log" => fs::read_dir(folder.path("out/.polyhaul/log")).unwrap().next().unwrap().unwrap().path(),
            _ => folder.path("out/.polyhaul/manifest.jsonl").into(),
        };
        let Ok(bytes) = fs::read(&path) else { continue };
        for state in torn(&bytes) {
            let _ = fs::remove_dir_all(&out);
            finish_batch(&library, &out);
            let log = fs::read_dir(folder.path("out/.polyhaul/log")).unwrap().next().unwrap().unwrap().path();
            fs::write(if place == "log" { &log } else { &path }, &state).unwrap();
            let status = run(&["batch", "status", &out]);
            assert_no_panic(&status.stderr);
            assert!([0, 2].contains(&status.code), "{place}, {} bytes: {status:?}", state.len());
            finish_batch(&library, &out);
        }
    }
}

/// A truncated output is converted again.
#[test]
fn outputs_that_were_cut() {
    let folder = Folder::new("machine-power-outputs");
    let library = library(&folder);
    let out = folder.path("out");
    finish_batch(&library, &out);
    let path = folder.path("out/3.ply");
    let bytes = fs::read(&path).unwrap();
    for length in [0, 1, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        finish_batch(&library, &out);
        assert!(fs::read(&path).unwrap() == bytes, "{length}");
    }
}
