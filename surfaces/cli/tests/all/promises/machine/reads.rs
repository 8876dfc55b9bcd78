//! Reads that fail, and files that shrink, grow or change while they are read, with every reader.

use super::{Counts, run_with_faults, shim};
use crate::common::{Folder, run};
use crate::promises::{BIG, assert_no_panic, blender, shell, stderr};
use std::fs;
use std::path::Path;

/// A file to read, the options to create it, and the extension of its target.
struct Input {
    name: &'static str,
    options: &'static [&'static str],
    target: &'static str,
}

const fn input(name: &'static str, target: &'static str) -> Input {
    Input { name, options: &[], target }
}

const fn ascii(name: &'static str, target: &'static str) -> Input {
    Input { name, options: &["--ascii"], target }
}

/// The faults of a read, and the expected text of the message.
const FAULTS: [(&str, &str); 4] =
    [("eio", "Input/output error"), ("half", CHANGED), ("grow", CHANGED), ("touch", CHANGED)];

/// The file shrank or changed, whichever is noticed first.
const CHANGED: &str = "while it was being read";

/// Creates each input from `source`, and injects faults into its first, a middle and its last read.
fn check_inputs(source: &str, inputs: &[Input]) {
    let Some(shim) = shim() else { return };
    for input in inputs {
        let folder = Folder::new(&format!("machine-reads-{}", input.name));
        let path = folder.path(input.name);
        run(&[&["convert", "-q", source, &path], input.options].concat()).expect(0);
        check_file(shim, &folder, input.name, &path, input.target);
    }
}

/// Injects faults into the reads of a file in `folder` while converting `input`, which is the file or one of its
/// members.
fn check_file(shim: &Path, folder: &Folder, name: &str, input: &str, target: &str) {
    let path = folder.path(name);
    let bytes = fs::read(&path).unwrap();
    let target = folder.path(&format!("out.{target}"));
    let names = folder.names();
    let args = |threads| ["convert", threads, input, &target];
    let file = format!("/{name}");
    // With two threads, the number of reads depends on the timing.
    let reads = Counts::of(shim, &args("-j1"), &file).reads;
    fs::remove_file(&target).unwrap();
    assert!(reads > 0, "{name}");
    // Later reads of an archive search for files that the member references.
    let numbers = if input == path { Counts::ends(reads) } else { vec![1] };
    for number in numbers {
        let args = args(if number == 1 { "-j2" } else { "-j1" });
        for (action, words) in FAULTS {
            fs::write(&path, &bytes).unwrap();
            let fault = format!("{number}:{action}");
            let output = run_with_faults(shim, &args, &[("FAULT_FILE", &file), ("FAULT_READ", &fault)]);
            let message = stderr(&output);
            let case = format!("{name}, read {number} of {reads}, {action}: {:?} {message}", output.status);
            assert_no_panic(&message);
            assert!(message.contains(words) && message.contains(name), "{case}");
            assert_eq!(output.status.code(), Some(1), "{case}");
            assert!(action != "eio" || message.contains("at byte "), "{case}");
            assert_eq!(folder.names(), names, "{case}");
        }
    }
}

#[test]
fn meshes() {
    let binary = [input("a.ply", "stl"), input("a.stl", "ply"), input("a.glb", "ply")];
    let text = [ascii("t.ply", "stl"), ascii("t.stl", "ply"), input("a.off", "ply"), input("a.obj", "ply")];
    check_inputs(&blender(BIG), &binary);
    check_inputs(&blender(BIG), &text);
    check_inputs(&blender("opt_default"), &[input("a.pbrt", "ply")]);
}

#[test]
fn compressed_files() {
    let inputs =
        [input("a.ply.gz", "stl"), input("a.ply.zst", "stl"), input("a.obj.gz", "ply"), input("a.obj.lz4", "ply")];
    check_inputs(&blender(BIG), &inputs);
}

#[test]
fn members_of_archives() {
    let Some(shim) = shim() else { return };
    for name in ["stored.zip", "deflated.zip", "descriptors.zip", "zip64.zip"] {
        let folder = Folder::new(&format!("machine-reads-{name}"));
        let path = folder.path(name);
        fs::copy(crate::common::data(&format!("../zip/good/{name}")), &path).unwrap();
        check_file(shim, &folder, name, &format!("{path}/scene/tri.obj"), "ply");
    }
}

/// An incompressible image of 2 MB.
fn noise(folder: &Folder) -> String {
    let head = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xBC, 2, 0xE8, 3, 24, 0x20];
    let mut state = 1_u32;
    let pixels = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let path = folder.path("noise.tga");
    fs::write(&path, head.into_iter().chain(pixels.take(2_100_000)).collect::<Vec<_>>()).unwrap();
    path
}

#[test]
fn images() {
    let folder = Folder::new("machine-noise");
    let inputs = [input("a.tga", "png"), input("a.png", "tga"), input("a.jpg", "tga"), input("a.exr", "tga")];
    check_inputs(&noise(&folder), &inputs);
    check_inputs(&noise(&folder), &[input("a.hdr", "tga")]);
}

#[test]
fn images_that_are_only_read() {
    let Some(shim) = shim() else { return };
    for name in ["bmp/good/rgb24.bmp", "psd/good/rgb_rle.psd", "ktx2/good/rgba8.ktx2"] {
        let (_, file) = name.rsplit_once('/').unwrap();
        let folder = Folder::new(&format!("machine-reads-{file}"));
        fs::copy(crate::common::data(&format!("../{name}")), folder.path(file)).unwrap();
        check_file(shim, &folder, file, &folder.path(file), "png");
    }
}

#[test]
fn tables_and_splats() {
    let folder = Folder::new("machine-table");
    let rows: String = (0..60_000).map(|row| format!("{row}.5,{row},{}\n", row * 2)).collect();
    let table = folder.file("table.csv", &format!("x,y,z\n{rows}"));
    let inputs = [input("a.csv", "npy"), input("a.npy", "csv"), input("a.xyz", "csv"), input("a.pts", "csv")];
    check_inputs(&table, &inputs);
    let splats = crate::common::data("../spz/good/v3_degree3.spz");
    check_inputs(&splats, &[input("a.spz", "ply"), input("a.splat", "ply"), input("s.ply", "spz")]);
}

/// Creates a scene with references to other files.
fn scene_with_references(folder: &Folder) {
    folder.file("a.obj", "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n");
    folder.file("a.mtl", "newmtl m\nKd 1 0 0\nmap_Kd t.tga\n");
    fs::rename(noise(folder), folder.path("t.tga")).unwrap();
    folder.file("inner.pbrt", "Shape \"plymesh\" \"string filename\" \"m.ply\"\n");
    folder.file("a.pbrt", "WorldBegin\nInclude \"inner.pbrt\"\n");
    run(&["convert", "-q", &blender(BIG), &folder.path("m.ply")]).expect(0);
}

/// An unreadable reference is dropped with a warning that has the reason, or an error if losses are errors.
#[test]
fn referenced_files() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("machine-references");
    scene_with_references(&folder);
    let cases = [
        ("a.mtl", "a.obj", "ply"),
        ("t.tga", "a.obj", "glb"),
        ("m.ply", "a.pbrt", "obj"),
        ("inner.pbrt", "a.pbrt", "ply"),
    ];
    for (file, scene, target) in cases {
        let bytes = fs::read(folder.path(file)).unwrap();
        let scene = folder.path(scene);
        let target = folder.path(&format!("out.{target}"));
        for (action, words) in FAULTS {
            for strict in [&["--strict"][..], &[]] {
                fs::write(folder.path(file), &bytes).unwrap();
                let _ = fs::remove_file(&target);
                let args = [&["convert", &scene, &target], strict].concat();
                let fault = format!("1:{action}");
                let output =
                    run_with_faults(shim, &args, &[("FAULT_FILE", &format!("/{file}")), ("FAULT_READ", &fault)]);
                let message = stderr(&output);
                let case = format!("{file} {action} {strict:?}: {:?} {message}", output.status);
                assert_no_panic(&message);
                // The changed file may also be invalid.
                let is_expected = message.contains(words) || message.contains("inner.pbrt:");
                assert!(is_expected && message.contains(file), "{case}");
                let is_error = !strict.is_empty() || file == "inner.pbrt";
                assert_eq!(output.status.code(), Some(i32::from(is_error)), "{case}");
                assert_eq!(Path::new(&target).exists(), !is_error, "{case}");
            }
        }
        fs::write(folder.path(file), &bytes).unwrap();
    }
}

#[test]
fn all_commands() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("machine-commands");
    scene_with_references(&folder);
    let mesh = folder.path("m.ply");
    let image = folder.path("t.tga");
    let picture = folder.path("out.png");
    let textures = folder.path("textures");
    let commands: [(&str, &[&str], i32); 7] = [
        ("m.ply", &["info", &mesh], 1),
        ("m.ply", &["validate", &mesh], 1),
        ("m.ply", &["preview", "-q", &mesh, "-o", &picture], 1),
        ("m.ply", &["diff", &mesh, &mesh], 2),
        ("t.tga", &["info", &image], 1),
        ("t.tga", &["preview", "-q", &image, "-o", &picture], 1),
        ("t.tga", &["texture", "-q", &image, "-o", &textures], 1),
    ];
    for (file, args, code) in commands {
        let bytes = fs::read(folder.path(file)).unwrap();
        for (action, words) in FAULTS {
            fs::write(folder.path(file), &bytes).unwrap();
            let fault = format!("1:{action}");
            let output = run_with_faults(shim, args, &[("FAULT_FILE", &format!("/{file}")), ("FAULT_READ", &fault)]);
            let message = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
            assert_no_panic(&message);
            assert_eq!(output.status.code(), Some(code), "{args:?} {action}: {message}");
            assert!(message.contains(words) && message.contains(file), "{args:?} {action}: {message}");
            assert!(!Path::new(&picture).exists() && !Path::new(&textures).join("t.dds").exists(), "{args:?} {action}");
        }
        fs::write(folder.path(file), &bytes).unwrap();
    }
}

/// Standard input is read like a file if it is one, and like a stream from a pipe. Reads of either can fail.
#[test]
fn standard_input() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("machine-stdin");
    let path = folder.path("m.ply");
    run(&["convert", "-q", &blender(BIG), &path]).expect(0);
    let bytes = fs::read(&path).unwrap();
    let target = folder.path("out.stl");
    for (action, words) in FAULTS {
        fs::write(&path, &bytes).unwrap();
        let script = "LD_PRELOAD=$1 FAULT_FILE=/m.ply FAULT_READ=2:$2 \"$0\" convert -q --from ply - \"$4\" < \"$3\"";
        let output = shell(script, &[shim.to_str().unwrap(), action, &path, &target]);
        assert_eq!(output.status.code(), Some(1), "{action}: {}", stderr(&output));
        assert!(stderr(&output).contains(words) && folder.names() == ["m.ply"], "{action}: {}", stderr(&output));
    }
    fs::write(&path, &bytes).unwrap();
    let script = "cat \"$2\" | LD_PRELOAD=$1 FAULT_FILE=] FAULT_READ=2:eio \"$0\" convert -q --from ply - \"$3\"";
    let output = shell(script, &[shim.to_str().unwrap(), &path, &target]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("Input/output error"), "{}", stderr(&output));
}
