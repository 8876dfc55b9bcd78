//! Location and name of the material library.

use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Color, Counts, Material, Mesh, Run, Scene};
use polyhaul::options::ObjWriteOptions;
use std::fs;

/// A triangle with these materials; names that start with `?` are used but undefined.
fn scene(libraries: &[&str], materials: &[&str]) -> Scene {
    let material = |name: &&str| match name.strip_prefix('?') {
        Some(name) => Material { name: name.into(), missing: true, ..Material::default() },
        None => Material { name: (*name).into(), diffuse: Some(Color::Rgb([0.5; 3])), ..Material::default() },
    };
    let mut mesh = Mesh { positions: vec![[0.0; 3]; 3].into(), ..Mesh::default() };
    mesh.faces.offsets = vec![0, 3].into();
    mesh.faces.corner_positions = vec![0, 1, 2].into();
    if !materials.is_empty() {
        mesh.material_runs = vec![Run { at: Counts::default(), value: 0 }];
    }
    Scene {
        meshes: vec![mesh],
        materials: materials.iter().map(material).collect(),
        material_libraries: libraries.iter().map(|&name| name.into()).collect(),
        ..Scene::default()
    }
}

const RED: &str = "# polyhaul MTL File\n\nnewmtl red\nKd 0.500000 0.500000 0.500000\n";

/// The folder's files after writing `out.obj` to it, and the `mtllib` line.
#[track_caller]
fn written(folder: &Folder, scene: &Scene) -> (Vec<String>, String) {
    polyhaul::write(scene, folder.join("out.obj")).unwrap();
    let text = folder.text("out.obj");
    (folder.names(), lines(&text, "mtllib").join(","))
}

#[track_caller]
fn expect(output: (Vec<String>, String), names: &[&str], line: &str) {
    assert_eq!((output.0.iter().map(String::as_str).collect::<Vec<_>>(), output.1.as_str()), (names.to_vec(), line));
}

#[test]
fn without_materials_there_is_none() {
    expect(written(&new_folder(), &scene(&[], &[])), &["out.obj"], "");
    let folder = new_folder();
    let options = with(WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false)));
    polyhaul::Writer::new(folder.join("out.obj")).options(&options).scene(&scene(&["all.mtl"], &["red"])).unwrap();
    assert_eq!(folder.names(), ["out.obj"]);
}

#[test]
fn without_a_name_it_takes_the_scenes() {
    let folder = new_folder();
    expect(written(&folder, &scene(&[], &["red"])), &["out.mtl", "out.obj"], "mtllib out.mtl");
    assert_eq!(folder.text("out.mtl"), RED);
    let folder = new_folder();
    polyhaul::write(&scene(&[], &["red"]), folder.join("scene.v1.obj")).unwrap();
    assert_eq!(folder.names(), ["scene.v1.mtl", "scene.v1.obj"]);
}

#[test]
fn it_keeps_its_name() {
    let folder = new_folder();
    for _ in 0..2 {
        expect(written(&folder, &scene(&["all.mtl"], &["red"])), &["all.mtl", "out.obj"], "mtllib all.mtl");
        assert_eq!(folder.text("all.mtl"), RED);
    }
}

#[test]
fn another_file_of_its_name_is_left_alone() {
    let folder = new_folder();
    folder.file("all.mtl", "newmtl other\n").unwrap();
    let written = written(&folder, &scene(&["all.mtl"], &["red"]));
    expect(written, &["all.mtl", "out.mtl", "out.obj"], "mtllib out.mtl");
    assert_eq!((folder.text("all.mtl").as_str(), folder.text("out.mtl").as_str()), ("newmtl other\n", RED));
}

#[test]
fn a_folder_or_a_link_of_its_name_is_left_alone() {
    let folder = new_folder();
    fs::create_dir(folder.join("all.mtl")).unwrap();
    let written = written(&folder, &scene(&["all.mtl"], &["red"]));
    expect(written, &["all.mtl", "out.mtl", "out.obj"], "mtllib out.mtl");
}

/// A dangling link that leads out of the folder must not be followed: the name came from a file.
#[cfg(unix)]
#[test]
fn a_link_that_leads_outside_is_not_followed() {
    let folder = new_folder();
    let outside = new_folder();
    std::os::unix::fs::symlink(outside.join("made"), folder.join("all.mtl")).unwrap();
    polyhaul::write(&scene(&["all.mtl"], &["red"]), folder.join("out.obj")).unwrap();
    assert_eq!(outside.names(), Vec::<String>::new());
}

#[test]
fn several_libraries_become_one() {
    let folder = new_folder();
    let written = written(&folder, &scene(&["one.mtl", "two.mtl"], &["red"]));
    expect(written, &["out.mtl", "out.obj"], "mtllib out.mtl");
}

/// For any name, the file is in the scene's folder or not written, and the name in the scene leads to the materials.
#[test]
fn it_never_leaves_the_folder() {
    let names = [
        "sub/all.mtl",
        "../all.mtl",
        "/tmp/polyhaul-write-test/all.mtl",
        "..",
        ".",
        "",
        "..\\all.mtl",
        "sub\\all.mtl",
        "C:all.mtl",
        "C:\\all.mtl",
        "./all.mtl",
        "sub/",
        "a/../../all.mtl",
        "~/all.mtl",
        " ",
        "all.mtl ",
        "-",
        "nul\0.mtl",
        "line\n.mtl",
        "tail\\",
    ];
    let wrong: Vec<String> =
        names.into_iter().filter_map(|name| wrong_place(name).map(|why| format!("{name:?}: {why}"))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Describes the fault of a written scene with this library name, if any.
fn wrong_place(name: &str) -> Option<String> {
    let parent = new_folder();
    fs::create_dir(parent.join("inner")).unwrap();
    let out = parent.join("inner/out.obj");
    if let Err(error) = polyhaul::write(&scene(&[name], &["red"]), &out) {
        return Some(error.to_string());
    }
    if parent.names() != ["inner"] {
        return Some(format!("written outside: {:?}", parent.names()));
    }
    let inside: Vec<_> = fs::read_dir(parent.join("inner")).unwrap().map(|entry| entry.unwrap().path()).collect();
    if inside.len() != 2 || !inside.iter().all(|path| path.is_file()) {
        return Some(format!("not two files: {inside:?}"));
    }
    let again = match polyhaul::read(&out) {
        Ok(again) => again,
        Err(error) => return Some(error.to_string()),
    };
    let line = fs::read_to_string(&out).unwrap().lines().nth(1).map(str::to_owned);
    let is_found = again.materials.len() == 1 && !again.materials[0].missing;
    (!is_found).then(|| format!("the materials are lost, {line:?}, {inside:?}"))
}

#[test]
fn a_name_that_is_too_long_is_not_kept() {
    let folder = new_folder();
    let name = format!("{}.mtl", "x".repeat(300));
    expect(written(&folder, &scene(&[&name], &["red"])), &["out.mtl", "out.obj"], "mtllib out.mtl");
}

/// The library must not replace the scene that refers to it.
#[test]
fn a_library_that_is_called_like_the_scene_gets_another_name() {
    let folder = new_folder();
    let out = folder.join("out.obj");
    polyhaul::write(&scene(&["out.obj"], &["red"]), &out).unwrap();
    let again = polyhaul::read(&out).unwrap();
    assert_eq!(again.meshes[0].faces.len(), 1);
    assert!(!again.materials[0].missing, "{:?}: {}", folder.names(), folder.text("out.obj"));
}

#[test]
fn a_scene_that_is_called_like_a_library_keeps_both() {
    let folder = new_folder();
    let out = folder.join("out.mtl");
    let options = WriteOptions::default().with_format(Some(polyhaul::Format::Obj));
    match polyhaul::Writer::new(&out).options(&options).scene(&scene(&[], &["red"])) {
        Err(error) => assert_eq!(error.kind(), polyhaul::ErrorKind::Usage),
        Ok(_) => {
            let again = polyhaul::ReadOptions::default().with_format(Some(polyhaul::Format::Obj));
            let again = polyhaul::Reader::new(out).options(&again).scene().unwrap().value;
            assert_eq!(again.meshes[0].faces.len(), 1);
            assert!(!again.materials[0].missing, "{:?}: {}", folder.names(), folder.text("out.mtl"));
        }
    }
}

#[test]
fn a_library_that_was_not_found_is_named_and_not_made() {
    expect(written(&new_folder(), &scene(&["gone.mtl"], &["?red"])), &["out.obj"], "mtllib gone.mtl");
    let outside = written(&new_folder(), &scene(&["../gone.mtl"], &["?red"]));
    expect(outside, &["out.obj"], "mtllib ../gone.mtl");
    let folder = new_folder();
    folder.file("gone.mtl", "newmtl red\nKd 1 0 0\n").unwrap();
    expect(written(&folder, &scene(&["gone.mtl"], &["?red"])), &["gone.mtl", "out.obj"], "mtllib gone.mtl");
    assert_eq!(folder.text("gone.mtl"), "newmtl red\nKd 1 0 0\n");
}

#[test]
fn missing_materials_without_a_library_make_none() {
    expect(written(&new_folder(), &scene(&[], &["?red"])), &["out.obj"], "");
}

#[test]
fn missing_materials_are_not_made_up() {
    let folder = new_folder();
    expect(written(&folder, &scene(&["all.mtl"], &["?blue", "red"])), &["all.mtl", "out.obj"], "mtllib all.mtl");
    assert_eq!(folder.text("all.mtl"), RED);
}

#[test]
fn streams_name_it_and_write_none() {
    assert_eq!(text(&scene(&["all.mtl"], &["red"]), &plain()).lines().next(), Some("mtllib all.mtl"));
    assert!(lines(&text(&scene(&[], &["red"]), &plain()), "mtllib").is_empty());
}

/// The library of a scene from a stream cannot be found, but the written file still refers to it.
#[test]
fn a_scene_from_a_stream_keeps_its_reference() {
    let folder = new_folder();
    folder.file("all.mtl", "newmtl red\nKd 1 0 0\n").unwrap();
    let scene = read("mtllib all.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n");
    expect(written(&folder, &scene), &["all.mtl", "out.obj"], "mtllib all.mtl");
}

/// Converting a scene in its own folder under another name does not damage the original.
#[test]
fn a_copy_beside_the_scene_leaves_its_library_alone() {
    let folder = new_folder();
    let library = "# mine\nnewmtl red\nKd 1 0 0\nunknown statement\n";
    folder.file("a.mtl", library).unwrap();
    let scene = folder.file("a.obj", "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n").unwrap();
    polyhaul::write(&polyhaul::read(&scene).unwrap(), folder.join("b.obj")).unwrap();
    assert_eq!(folder.text("a.mtl"), library);
    assert_eq!(folder.names(), ["a.mtl", "a.obj", "b.mtl", "b.obj"]);
    let again = polyhaul::read(folder.join("b.obj")).unwrap();
    assert_eq!(again.materials, polyhaul::read(scene).unwrap().materials);
}

/// Names with spaces are single names, also when they are read again.
#[test]
fn a_name_with_spaces_leads_to_the_materials() {
    for name in ["my scene.mtl", "a.mtl b.mtl", "a.mtl copy"] {
        let folder = new_folder();
        polyhaul::write(&scene(&[name], &["red"]), folder.join("out.obj")).unwrap();
        let again = polyhaul::read(folder.join("out.obj")).unwrap();
        assert!(!again.materials[0].missing, "{name}: {:?}", folder.names());
    }
    let folder = new_folder();
    polyhaul::write(&scene(&[], &["red"]), folder.join("my own scene.obj")).unwrap();
    assert!(!polyhaul::read(folder.join("my own scene.obj")).unwrap().materials[0].missing);
}

/// Found by fuzzing: an empty name left a space at the end of the line, which reading dropped.
#[test]
fn empty_names_of_libraries_leave_no_spaces() {
    let written = text(&scene(&["", "a.mtl", "", "b.mtl", ""], &["?x"]), &plain());
    assert!(written.starts_with("mtllib a.mtl b.mtl\n"), "{written}");
}
