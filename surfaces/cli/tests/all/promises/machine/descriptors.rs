//! Running out of file descriptors: each open call fails once, or with all later ones.

use super::{Counts, finish_batch, library, run_with_faults, shim};
use crate::common::{Folder, SOUND, run};
use crate::promises::{assert_no_panic, blender, shell, stderr};
use std::fs;
use std::path::Path;

/// Fails each open call of a run: the output is complete, or missing and the message has the reason.
fn check(folder: &Folder, args: &[&str], target: &str) {
    let Some(shim) = shim() else { return };
    let names = folder.names();
    let openings = Counts::of(shim, args, "none").openings;
    let complete = folder.names();
    let bytes = fs::read(target).unwrap();
    assert!(openings > 4);
    let mut failures = 0;
    for number in 1..=openings {
        for error in ["EMFILE", "ENFILE", "EMFILE:all"] {
            for name in folder.names() {
                if !names.contains(&name) {
                    fs::remove_file(folder.path(&name)).unwrap();
                }
            }
            let output = run_with_faults(shim, args, &[("FAULT_OPEN", &format!("{number}:{error}"))]);
            let message = stderr(&output);
            let case = format!("{args:?}, opening {number} of {openings}, {error}: {:?} {message}", output.status);
            assert_no_panic(&message);
            if output.status.success() {
                // Nothing is lost, or a warning has the reason.
                let is_complete = fs::read(target).unwrap() == bytes && folder.names() == complete;
                assert!(is_complete || message.contains("Too many open files"), "{case}");
            } else {
                failures += 1;
                assert_eq!(output.status.code(), Some(1), "{case}");
                assert!(message.contains("Too many open files"), "{case}");
                assert_eq!(folder.names(), names, "{case}");
            }
        }
    }
    assert!(failures >= 6, "{args:?}: {failures} failures");
}

#[test]
fn a_scene_with_a_library() {
    let folder = Folder::new("machine-descriptors-scene");
    check(
        &folder,
        &["convert", &blender("opt_default"), &folder.path("out.obj"), "--durable"],
        &folder.path("out.obj"),
    );
}

#[test]
fn includes_and_copies() {
    let folder = Folder::new("machine-descriptors-pbrt");
    let inputs = Folder::new("machine-descriptors-inputs");
    inputs.file("inner.pbrt", "Shape \"plymesh\" \"string filename\" \"m.ply\"\n");
    let scene = inputs.file("a.pbrt", "WorldBegin\nInclude \"inner.pbrt\"\n");
    run(&["convert", "-q", &blender("opt_default"), &inputs.path("m.ply")]).expect(0);
    let target = folder.path("out.pbrt");
    check(&folder, &["convert", &scene, &target, "--copy-assets"], &target);
}

#[test]
fn archives_and_textures() {
    let folder = Folder::new("machine-descriptors-zip");
    let member = format!("{}/scene/tri.obj", crate::common::data("../zip/good/deflated.zip"));
    check(&folder, &["convert", &member, &folder.path("out.ply")], &folder.path("out.ply"));
    let folder = Folder::new("machine-descriptors-texture");
    let image = crate::common::data("../bmp/good/rgb24.bmp");
    check(&folder, &["convert", &image, &folder.path("out.png")], &folder.path("out.png"));
}

#[test]
fn batches_resume() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("machine-descriptors-batch");
    let library = library(&folder);
    for number in (1..60).step_by(6) {
        for error in ["EMFILE", "EMFILE:all"] {
            let out = folder.path(&format!("out-{number}-{}", error.len()));
            let args = ["batch", &library, "-o", &out, "--to", "ply", "--workers", "1", "-q"];
            let output = run_with_faults(shim, &args, &[("FAULT_OPEN", &format!("{number}:{error}"))]);
            let message = stderr(&output);
            assert_no_panic(&message);
            let is_known = output.status.success() || message.contains("Too many open files");
            assert!(is_known || output.status.code() == Some(3), "{number} {error}: {:?} {message}", output.status);
            let again = run(&["batch", &library, "-o", &out, "--to", "ply", "--workers", "1", "-q", "--retry-failed"]);
            again.expect(0);
            finish_batch(&library, &out);
        }
    }
}

/// Hundreds of files fail in a process with a low descriptor limit.
#[test]
fn failures_leak_no_descriptor() {
    let folder = Folder::new("machine-descriptors-leak");
    fs::create_dir(folder.path("in")).unwrap();
    for number in 0..150 {
        folder.file(&format!("in/bad{number}.obj"), "mtllib none.mtl\nv 0 0 0\nf 1 2 9\n");
        folder.file(&format!("in/cut{number}.ply"), "ply\nformat binary_little_endian 1.0\nelement vertex 9\n");
    }
    folder.file("in/z.obj", SOUND);
    let script = "ulimit -n 48; exec \"$0\" convert -q \"$1\" \"$2\" --to stl";
    let output = shell(script, &[&folder.path("in"), &folder.path("out")]);
    let message = stderr(&output);
    assert_no_panic(&message);
    assert!(output.status.code() == Some(3) && !message.contains("Too many open files"), "{message}");
    assert!(Path::new(&folder.path("out/z.stl")).exists());
}
