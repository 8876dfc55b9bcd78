//! `copy_assets` copies referenced files, and changes no other file.

use super::support::*;
use polyhaul::options::Cancel;
use polyhaul::{ErrorKind, Input, ReadOptions, WriteOptions};
use polyhaul_testkit::zip;
use std::fs;

/// A scene with two different files of the same name, one of them used twice, and one outside its folder.
fn scene() -> Folder {
    let folder = new_folder();
    for name in ["s/one/t.png", "s/two/T.png", "s/t.ply.gz", "up.png"] {
        folder.file(name, name).unwrap();
    }
    let maps = "map_Kd one/t.png\nmap_Ks two/T.png\nmap_Ns ./one/../one/t.png\nbump t.ply.gz\n";
    folder.file("s/a.mtl", format!("newmtl m\n{maps}")).unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    folder
}

fn copied(folder: &Folder, to: &str) -> polyhaul::Report {
    try_convert(&folder.join("s/a.obj"), &folder.join(to), &ReadOptions::default(), &COPYING()).unwrap()
}

#[test]
fn each_file_is_copied_once_under_a_name_of_its_own() {
    let folder = scene();
    for _ in 0..2 {
        let report = copied(&folder, "t/b.obj");
        assert_eq!(said(&folder.join("t/a.mtl"), "map_Kd "), ["t.png"]);
        assert_eq!(said(&folder.join("t/a.mtl"), "map_Ks "), ["T-2.png"]);
        assert_eq!(said(&folder.join("t/a.mtl"), "map_Ns "), ["t.png"]);
        let tree = tree(&folder.join("t"));
        assert_eq!(tree.keys().collect::<Vec<_>>(), ["T-2.png", "a.mtl", "b.obj", "t.ply.gz", "t.png"]);
        assert_eq!(tree["T-2.png"], b"s/two/T.png");
        assert_eq!(counts(&report.warnings).len(), 0);
        assert!(unfound(&folder.join("t/b.obj"), &ReadOptions::default()).is_empty());
    }
    // The second time, all copies exist already.
    assert_eq!(copied(&folder, "t/b.obj").copied_files, 0);
    let report = copied(&folder, "v/b.obj");
    assert_eq!((report.copied_files, report.copied_bytes), (3, 32));
    assert_eq!(report.bytes_out, tree(&folder.join("v")).values().map(|bytes| bytes.len() as u64).sum::<u64>());
}

#[test]
fn no_file_is_replaced_but_an_equal_one_is_used() {
    let folder = scene();
    folder.file("t/t.png", "mine").unwrap();
    folder.file("t/t-2.png", "s/one/t.png").unwrap();
    folder.file("t/t.ply.gz/x", "a folder").unwrap();
    let report = copied(&folder, "t/b.obj");
    assert_eq!(said(&folder.join("t/a.mtl"), "map_Kd "), ["t-2.png"]);
    assert_eq!(said(&folder.join("t/a.mtl"), "bump "), ["t-2.ply.gz"]);
    assert_eq!((folder.text("t/t.png").as_str(), report.copied_files), ("mine", 2));
}

#[test]
fn the_files_of_the_output_keep_their_names() {
    let folder = new_folder();
    for name in ["s/x/b.obj", "s/x/a.mtl", "s/x/b.mtl"] {
        folder.file(name, name).unwrap();
    }
    folder.file("s/a.mtl", "newmtl m\nmap_Kd x/b.obj\nmap_Ks x/a.mtl\nbump x/b.mtl\n").unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    copied(&folder, "t/b.obj");
    let names: Vec<_> = tree(&folder.join("t")).into_keys().collect();
    assert_eq!(names, ["a-2.mtl", "a.mtl", "b-2.mtl", "b-2.obj", "b.obj"]);
    assert_eq!(polyhaul::read(folder.join("t/b.obj")).unwrap().materials[0].maps[0].file, "b-2.obj");
}

#[test]
fn what_lies_below_the_output_is_linked() {
    let folder = scene();
    let report = copied(&folder, "b.obj");
    assert_eq!((report.copied_files, said(&folder.join("a.mtl"), "map_Ks ")), (0, vec!["s/two/T.png".to_owned()]));
}

#[test]
fn files_outside_go_along_only_if_they_could_be_read() {
    let folder = new_folder();
    folder.file("up.png", "up").unwrap();
    let absolute = folder.join("up.png").display().to_string();
    folder.file("s/a.mtl", format!("newmtl m\nmap_Kd ../up.png\nmap_Ks {absolute}\nbump ..\\up.png\n")).unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = copied(&folder, "t/b.obj");
    assert_eq!(report.copied_files, 0);
    let messages = messages(&report.warnings, "uncopied-reference");
    assert!(messages.len() == 3 && messages[0].contains("use `--allow-outside`"), "{messages:?}");
    assert_eq!(said(&folder.join("t/a.mtl"), "map_Kd "), ["../up.png"]);
    let report = try_convert(&folder.join("s/a.obj"), &folder.join("u/b.obj"), &ALLOWED(), &COPYING()).unwrap();
    assert_eq!((report.copied_files, counts(&report.warnings).len()), (1, 0));
    for word in ["map_Kd ", "map_Ks ", "bump "] {
        assert_eq!(said(&folder.join("u/a.mtl"), word), ["up.png"]);
    }
}

/// For any names and links, copies are in the output's folder, and no file that may block is opened.
#[cfg(unix)]
#[test]
fn hostile_names_and_links_do_no_harm() {
    use std::os::unix::fs::symlink;
    let folder = new_folder();
    folder.file("secret", "secret").unwrap();
    folder.file("s/.bashrc", "x").unwrap();
    folder.file("s/in/ok.png", "ok").unwrap();
    fs::create_dir(folder.join("t")).unwrap();
    symlink(folder.join("secret"), folder.join("s/link.png")).unwrap();
    symlink("/dev/zero", folder.join("s/zero.png")).unwrap();
    symlink(folder.path(), folder.join("s/up")).unwrap();
    // An existing link in the output's folder is not written through.
    symlink(folder.join("made"), folder.join("t/ok.png")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(folder.join("s/fifo.png")).status().unwrap();
    assert!(fifo.success());
    let names =
        ["link.png", "zero.png", "up/secret", "fifo.png", ".bashrc", "in/ok.png", "in", "/dev/zero", "gone\u{7}.png"];
    let maps: String = names.iter().map(|name| format!("map_Kd {name}\n")).collect();
    folder.file("s/a.mtl", format!("newmtl m\n{maps}")).unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = copied(&folder, "t/b.obj");
    let names: Vec<_> = tree(&folder.join("t")).into_keys().collect();
    assert_eq!(names, ["_bashrc", "a.mtl", "b.obj", "ok-2.png", "ok.png"]);
    let counts = counts(&report.warnings);
    let expected = [("missing-reference", 1), ("uncopied-reference", 2), ("unresolved-reference", 4)];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
    assert!(!fs::exists(folder.join("made")).unwrap());
    // With permission, regular files that the links lead to are copied.
    let report = try_convert(&folder.join("s/a.obj"), &folder.join("u/b.obj"), &ALLOWED(), &COPYING()).unwrap();
    assert_eq!(report.copied_files, 3);
    let missing = unfound(&folder.join("s/a.obj"), &ReadOptions::default());
    assert_eq!(missing.get("irregular-texture"), Some(&2), "{missing:?}");
    assert_eq!(missing.get("outside-texture"), Some(&4), "{missing:?}");
}

#[test]
fn textures_of_obj_go_along_to_pbrt() {
    let folder = scene();
    let report =
        try_convert(&folder.join("s/a.obj"), &folder.join("t/b.pbrt"), &ReadOptions::default(), &COPYING()).unwrap();
    assert_eq!(counts(&report.warnings).len(), 0, "{:?}", report.warnings.kept());
    assert!(unfound(&folder.join("t/b.pbrt"), &ReadOptions::default()).is_empty());
    assert!(said(&folder.join("t/b.pbrt"), "\"string filename\" ").contains(&"t.png".to_owned()));
}

#[test]
fn pbrt_scenes_take_their_files_along() {
    let folder = new_folder();
    folder.file("s/geo/m.ply", MESH).unwrap();
    folder.file("s/b-part-1.pbrt", "tex").unwrap();
    let text = "WorldBegin\nTexture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"b-part-1.pbrt\"\n\
        Material \"conductor\" \"spectrum eta\" \"metal-Cu-eta\"\n\
        Shape \"plymesh\" \"string filename\" \"geo/m.ply\"\nShape \"plymesh\" \"string filename\" \"geo/m.ply\"\n";
    folder.file("s/a.pbrt", text).unwrap();
    let mut write = COPYING();
    write.pbrt.parts = 2;
    let report =
        try_convert(&folder.join("s/a.pbrt"), &folder.join("t/b.pbrt"), &ReadOptions::default(), &write).unwrap();
    assert_eq!(report.copied_files, 2);
    let names: Vec<_> = tree(&folder.join("t")).into_keys().collect();
    assert!(names.contains(&"asset-b-part-1.pbrt".to_owned()) && names.contains(&"m.ply".to_owned()), "{names:?}");
    let again = polyhaul::inspect::info(Input::Path(folder.join("t/b.pbrt")), &ReadOptions::default()).unwrap();
    assert_eq!((again.1.warnings.total(), again.0.render.unwrap().contents.unread_meshes), (0, 0));
}

/// Any failure leaves the folder unchanged.
#[test]
fn a_failure_removes_the_copies() {
    let folder = scene();
    folder.file("t/b.obj", "old").unwrap();
    folder.file("t/own", "mine").unwrap();
    let before = tree(&folder.join("t"));
    let failing = |write: &WriteOptions| {
        let result = try_convert(&folder.join("s/a.obj"), &folder.join("t/b.obj"), &ReadOptions::default(), write);
        let error = result.unwrap_err();
        assert_eq!(tree(&folder.join("t")), before, "{error}");
        error.kind()
    };
    // The main file cannot be renamed into place.
    fs::remove_file(folder.join("t/b.obj")).unwrap();
    fs::create_dir(folder.join("t/b.obj")).unwrap();
    let result = try_convert(&folder.join("s/a.obj"), &folder.join("t/b.obj"), &ReadOptions::default(), &COPYING());
    assert!(result.is_err());
    assert_eq!(tree(&folder.join("t")).into_keys().collect::<Vec<_>>(), ["own"]);
    fs::remove_dir(folder.join("t/b.obj")).unwrap();
    folder.file("t/b.obj", "old").unwrap();
    // Cancelled jobs.
    let cancel = Cancel::default();
    let mut write = COPYING();
    write.run.cancel = cancel.clone();
    cancel.cancel();
    assert_eq!(failing(&write), ErrorKind::Cancelled);
    // A NaN scale fails when the main file is formatted.
    let mut write = COPYING();
    write.scene.global_scale = f64::NAN;
    failing(&write);
}

/// If a file cannot be copied, neither it nor the copies before it remain.
#[cfg(unix)]
#[test]
fn a_second_copy_that_fails_removes_the_first() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scene();
    fs::set_permissions(folder.join("s/two/T.png"), fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(folder.join("s/two/T.png")).is_ok() {
        return; // root reads everything
    }
    let result = try_convert(&folder.join("s/a.obj"), &folder.join("t/b.obj"), &ReadOptions::default(), &COPYING());
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
    assert!(tree(&folder.join("t")).is_empty());
}

/// The same without permissions: the second copy comes from a damaged archive.
#[test]
fn a_second_copy_that_is_damaged_removes_the_first() {
    let text = format!("mtllib a.mtl\nusemtl m\n{FACE}");
    let files: [(&str, &[u8]); 4] = [
        ("a.obj", text.as_bytes()),
        ("a.mtl", b"newmtl m\nmap_Kd one.png\nmap_Ks two.png\n"),
        ("one.png", b"whole"),
        ("two.png", b"damaged"),
    ];
    let mut members = files.map(|(name, bytes)| zip::Member::new(name, bytes, zip::Method::Deflate));
    let folder = new_folder();
    let mut convert_packed = |name: &str| {
        let packed = folder.file(name, zip::archive(&members, b"")).unwrap().join("a.obj");
        members[3].crc ^= 1;
        try_convert(&packed, &folder.join("t/b.obj"), &ReadOptions::default(), &COPYING())
    };
    assert_eq!(convert_packed("whole.zip").unwrap().copied_files, 2);
    fs::remove_dir_all(folder.join("t")).unwrap();
    folder.file("t/b.obj", "old").unwrap();
    assert!(convert_packed("damaged.zip").is_err());
    assert_eq!(tree(&folder.join("t")).into_iter().collect::<Vec<_>>(), [("b.obj".to_owned(), b"old".to_vec())]);
}

#[test]
fn a_scene_of_unknown_origin_says_what_is_not_copied() {
    let folder = scene();
    let mut scene = polyhaul::read(folder.join("s/a.obj")).unwrap();
    scene.materials[0].folder = Default::default();
    scene.folder = Default::default();
    let report = polyhaul::Writer::new(folder.join("b.obj")).options(&COPYING()).scene(&scene).unwrap();
    assert_eq!(counts(&report.warnings).into_iter().collect::<Vec<_>>(), [("uncopied-reference", 4)]);
}
