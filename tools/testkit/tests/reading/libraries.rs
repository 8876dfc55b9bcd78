//! Material libraries: name resolution, and files that must not be opened.

use crate::{options, read};
use polyhaul::model::Scene;
use polyhaul::{Input, Loaded, ReadOptions};
use polyhaul_testkit::corpus::Folder;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Creates a folder `scene` with a library, and one outside that must not be read.
fn place() -> Folder {
    let folder = Folder::new("libraries").unwrap();
    folder.file("scene/inside.mtl", "newmtl inside\nKd 1 0 0\n").unwrap();
    folder.file("scene/sub folder/deep.mtl", "newmtl deep\nKd 0 1 0\n").unwrap();
    folder.file("outside/secret.mtl", "newmtl secret\nKd 0 0 1\n").unwrap();
    folder
}

/// Reads a scene that refers to this library; panics if that blocks.
fn load(folder: &Folder, library: &str, options: &ReadOptions) -> Loaded<Scene> {
    let text = format!("mtllib {library}\nv 0 0 0\n");
    let scene = folder.file("scene/scene.obj", text).unwrap();
    let (sender, receiver) = mpsc::channel();
    let options = options.clone();
    std::thread::spawn(move || drop(sender.send(read(Input::Path(scene), &options))));
    let result = receiver.recv_timeout(Duration::from_secs(20));
    result.unwrap_or_else(|_| panic!("{library:?} blocks")).unwrap()
}

fn materials(loaded: &Loaded<Scene>) -> Vec<&str> {
    loaded.value.materials.iter().map(|m| m.name.as_str()).collect()
}

#[test]
fn names_that_are_read() {
    let folder = place();
    let names = [
        ("inside.mtl", vec!["inside"]),
        ("./inside.mtl", vec!["inside"]),
        (".\\inside.mtl", vec!["inside"]),
        ("sub folder/deep.mtl", vec!["deep"]),
        ("sub folder\\deep.mtl", vec!["deep"]),
        ("inside.mtl sub folder/deep.mtl", vec!["inside", "deep"]),
        ("inside.mtl inside.mtl", vec!["inside"]),
        ("inside.mtl  ", vec!["inside"]),
        ("../scene/inside.mtl", vec!["inside"]),
    ];
    for (name, expected) in names {
        let loaded = load(&folder, name, &options(1, None));
        assert_eq!(materials(&loaded), expected, "{name}");
        assert!(loaded.report.warnings.is_empty(), "{name}: {:?}", loaded.report.warnings);
    }
}

/// Checks that names which lead outside, or to something other than a file, are not opened.
fn refused(folder: &Folder, names: &[&str]) {
    for name in names {
        let loaded = load(folder, name, &options(1, None));
        assert!(materials(&loaded).is_empty(), "{name} was read");
        assert_eq!(loaded.report.warnings.counts().get("missing-library"), Some(&1), "{name}");
        assert!(loaded.report.bytes_in < 100, "{name}: {} bytes", loaded.report.bytes_in);
    }
}

#[test]
fn names_that_lead_outside() {
    let folder = place();
    let absolute = folder.path().join("outside/secret.mtl").display().to_string();
    let names = [
        "../outside/secret.mtl",
        "..\\outside\\secret.mtl",
        "sub folder/../../outside/secret.mtl",
        "./../outside/secret.mtl",
        "/../outside/secret.mtl",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/environ",
        "C:/secret.mtl",
        "C:secret.mtl",
        "\\\\server\\share\\secret.mtl",
        "\\\\.\\pipe\\secret",
        "~/secret.mtl",
        "file:///etc/passwd",
        ".",
        "..",
        "sub folder",
        "nowhere.mtl",
        "inside.mtl/",
        &absolute,
    ];
    refused(&folder, &names);
}

#[test]
fn a_caller_may_allow_what_lies_outside() {
    let folder = place();
    let allow = options(1, None).with_allow_outside(true);
    let absolute = folder.path().join("outside/secret.mtl").display().to_string();
    for name in ["../outside/secret.mtl", &absolute] {
        assert_eq!(materials(&load(&folder, name, &allow)), ["secret"], "{name}");
    }
    let devices: &[&str] = if cfg!(unix) { &["/dev/zero", "/dev/null", "/"] } else { &[] };
    for name in devices {
        assert!(materials(&load(&folder, name, &allow)).is_empty(), "{name}");
    }
}

#[test]
#[cfg(unix)]
fn links_pipes_and_devices() {
    use std::os::unix::fs::symlink;
    let folder = place();
    let scene = folder.path().join("scene");
    symlink("../outside/secret.mtl", scene.join("out.mtl")).unwrap();
    symlink("../outside", scene.join("out")).unwrap();
    symlink("/dev/zero", scene.join("zero.mtl")).unwrap();
    symlink("loop.mtl", scene.join("loop.mtl")).unwrap();
    symlink("nothing", scene.join("dangling.mtl")).unwrap();
    symlink("inside.mtl", scene.join("good.mtl")).unwrap();
    let pipe = |path: &Path| std::process::Command::new("mkfifo").arg(path).status().is_ok_and(|s| s.success());
    assert!(pipe(&scene.join("pipe.mtl")), "mkfifo");
    let _socket = std::os::unix::net::UnixListener::bind(scene.join("socket.mtl")).unwrap();
    let names = ["out.mtl", "out/secret.mtl", "zero.mtl", "loop.mtl", "dangling.mtl", "pipe.mtl", "socket.mtl"];
    refused(&folder, &names);
    assert_eq!(materials(&load(&folder, "good.mtl", &options(1, None))), ["inside"]);
    let allow = options(1, None).with_allow_outside(true);
    for name in ["pipe.mtl", "zero.mtl", "socket.mtl"] {
        assert!(materials(&load(&folder, name, &allow)).is_empty(), "{name}");
    }
    assert_eq!(materials(&load(&folder, "out.mtl", &allow)), ["secret"]);
}

/// The folder itself may be reached through a link, since the caller named it.
#[test]
#[cfg(unix)]
fn a_scene_in_a_folder_behind_a_link() {
    let folder = place();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("scene", &link).unwrap();
    folder.file("scene/scene.obj", "mtllib inside.mtl\nusemtl inside\n").unwrap();
    let loaded = read(Input::Path(link.join("scene.obj")), &options(1, None)).unwrap();
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
}

/// Scenes from memory have no libraries, whatever their name.
#[test]
fn memory_has_no_folder() {
    let folder = place();
    let name = folder.path().join("scene/scene.obj").display().to_string();
    let text = b"mtllib inside.mtl\nusemtl inside\n".to_vec();
    let loaded = read(Input::Memory(text, name), &options(1, None)).unwrap();
    assert!(loaded.value.materials[0].missing);
    let counts = loaded.report.warnings.counts();
    assert_eq!(counts.get("missing-library"), Some(&1), "{counts:?}");
}

#[test]
fn materials_that_no_library_defines() {
    let folder = place();
    let text = "mtllib inside.mtl\nv 0 0 0\nusemtl inside\np 1\nusemtl other\np 1\nusemtl other\np 1\nusemtl\np 1\n";
    let scene = folder.file("scene/uses.obj", text).unwrap();
    let loaded = read(Input::Path(scene.clone()), &options(1, None)).unwrap();
    assert_eq!(loaded.report.warnings.counts().get("missing-material"), Some(&1));
    assert_eq!(loaded.report.warnings.kept()[0].diagnostic.place.line, Some(5));
    let flags: Vec<_> = loaded.value.materials.iter().map(|m| (m.name.as_str(), m.missing)).collect();
    assert_eq!(flags, [("inside", false), ("other", true), ("", true)]);
    let without = options(1, None).with_load_materials(false);
    let loaded = read(Input::Path(scene), &without).unwrap();
    assert!(loaded.report.warnings.is_empty());
    assert!(loaded.value.materials.iter().all(|m| m.missing));
    assert_eq!(loaded.value.material_libraries, ["inside.mtl"]);
}

/// Different spellings of the same file must not multiply the work.
#[test]
fn one_library_under_many_names() {
    let folder = place();
    let mut names = String::new();
    for number in 0..64 {
        let bits = (0..6).map(|bit| if number >> bit & 1 == 1 { '/' } else { '\\' });
        names += &format!("mtllib .{}inside.mtl\n", bits.collect::<String>());
    }
    let scene = folder.file("scene/many.obj", &names).unwrap();
    let loaded = read(Input::Path(scene), &options(1, None)).unwrap();
    assert_eq!(materials(&loaded), ["inside"]);
    let library_bytes = loaded.report.bytes_in - names.len() as u64;
    assert!(library_bytes < 10 * 25, "the library was read {} times", library_bytes / 24);
}
