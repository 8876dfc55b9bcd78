//! Renderer scenes: the options that apply to them, and the errors for options that do not apply.

use crate::common::{Folder, Ran, run};
use std::fs;

const MESH: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
    element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";

const SCENE: &str = r#"Film "rgb" "string filename" "out.exr"
WorldBegin
Texture "t" "spectrum" "imagemap" "string filename" "tex.png"
Material "diffuse" "texture reflectance" "t" "spectrum eta" "metal-Cu-eta"
ObjectBegin "leaf"
Shape "plymesh" "string filename" "m.ply"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
ObjectEnd
AttributeBegin
Translate 1 2 3
ObjectInstance "leaf"
AttributeEnd
ObjectInstance "leaf"
Include "sub/b.pbrt"
Shape "sphere" "float radius" 2
"#;

/// A scene of several files in a temporary folder.
fn scene(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    for inner in ["s/sub", "out"] {
        fs::create_dir_all(folder.path(inner)).unwrap();
    }
    folder.file("s/m.ply", MESH);
    folder.file("s/sub/n.ply", MESH);
    folder.file("s/tex.png", "");
    folder.file("s/out.exr", "");
    folder.file("s/sub/b.pbrt", "Shape \"plymesh\" \"string filename\" \"n.ply\"\n");
    let scene = folder.file("s/a.pbrt", SCENE);
    (folder, scene)
}

/// The file names in a text, in order.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split("\"string filename\" \"").nth(1)?.split('"').next()).collect()
}

#[track_caller]
fn says(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.stderr.contains(word), "{word} is missing in {ran:?}");
    }
}

#[test]
fn references_are_found_from_the_new_place() {
    let (folder, scene) = scene("pbrt-references");
    // Next to the old scene. The folder of the included file no longer matters.
    let beside = folder.path("s/b.pbrt");
    let ran = run(&["convert", &scene, &beside]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    assert_eq!(names(&fs::read_to_string(&beside).unwrap()), ["out.exr", "tex.png", "m.ply", "sub/n.ply"]);
    // In the parent folder.
    let above = folder.path("b.pbrt");
    run(&["convert", "--lazy", &scene, &above]).expect(0);
    assert_eq!(names(&fs::read_to_string(&above).unwrap()), ["out.exr", "s/tex.png", "s/m.ply", "s/sub/n.ply"]);
    assert_eq!(run(&["info", "--json", &above]).expect(0).json()["render"]["unique_triangles"], 3);
    // Elsewhere: the conversion warns, and reading the references needs a flag.
    let out = folder.path("out/b.pbrt");
    for lazy in [&["--lazy"][..], &[]] {
        let ran = run(&[&["convert", &scene, &out], lazy].concat()).expect(0);
        says(&ran, &["outside-reference", "`../s/tex.png` is outside the output's folder"]);
        says(&ran, &["use `--copy-assets`", "--allow-outside"]);
    }
    let text = fs::read_to_string(&out).unwrap();
    assert_eq!(names(&text), ["out.exr", "../s/tex.png", "../s/m.ply", "../s/sub/n.ply"]);
    assert!(text.contains("\"spectrum eta\" \"metal-Cu-eta\""), "{text}");
    says(
        &run(&["info", &out]).expect(0),
        &["missing-mesh", "is outside the scene's folder", "use `--allow-outside` to read it"],
    );
    assert_eq!(run(&["info", "--json", "--allow-outside", &out]).expect(0).json()["render"]["unread_meshes"], 0);
}

#[test]
fn lazy_reads_no_mesh() {
    let (folder, scene) = scene("pbrt-lazy");
    let value = run(&["info", "--json", "--lazy", &scene]).expect(0).json();
    assert_eq!((&value["render"]["unread_meshes"], &value["warnings"]["total"]), (&2.into(), &0.into()));
    folder.file("s/m.ply", "no mesh");
    run(&["validate", "--lazy", &scene]).expect(0);
    run(&["validate", &scene]).expect(1);
    let object = folder.path("a.obj");
    let ran = run(&["convert", "--lazy", &scene, &object]).expect(2);
    says(&ran, &["--lazy keeps meshes in their files", "the output format is obj"]);
    let obj = folder.file("b.obj", crate::common::SOUND);
    says(
        &run(&["convert", "--lazy", &obj, &folder.path("b.pbrt")]).expect(2),
        &["only to pbrt input", "input format is obj"],
    );
    let ran = run(&["convert", "--lazy", "--meshes", "inline", &scene, &folder.path("c.pbrt")]).expect(2);
    says(&ran, &["cannot be used with", "remove one of the two options"]);
    assert_eq!(folder.names(), ["b.obj", "out", "s"]);
}

#[test]
fn meshes_go_where_they_are_asked_to() {
    let (folder, scene) = scene("pbrt-meshes");
    let inline = run(&["convert", &scene, "-", "--to", "pbrt", "--meshes", "inline", "--compact"]).expect(0).stdout;
    assert_eq!((inline.matches("trianglemesh").count(), inline.matches("plymesh").count()), (3, 0), "{inline}");
    assert!(inline.lines().all(|line| !line.starts_with(' ')), "{inline}");
    let count = |text: &str| text.matches("plymesh").count();
    let written = |place: &str| {
        run(&["convert", &scene, &folder.path("s/b.pbrt"), "--meshes", place]).expect(0);
        fs::read_to_string(folder.path("s/b.pbrt")).unwrap()
    };
    assert_eq!(count(&written("ply:4")), 2);
    assert!(!fs::exists(folder.path("s/b-mesh-1.ply")).unwrap());
    assert_eq!(count(&written("ply")), 3);
    let value = run(&["info", "--json", &folder.path("s/b.pbrt")]).expect(0).json();
    assert_eq!((&value["render"]["unique_triangles"], &value["render"]["unread_meshes"]), (&3.into(), &0.into()));
    // A mesh with a polygon cannot be a triangle mesh, so it stays in its file.
    folder.file("s/m.ply", &MESH.replace("vertex 3", "vertex 5").replace("3 0 1 2", "1 1 0\n2 1 0\n5 0 1 2 3 4"));
    let ran = run(&["convert", &scene, "-", "--to", "pbrt", "--meshes", "inline"]).expect(0);
    assert_eq!(count(&ran.stdout), 1);
    says(&ran, &["left-in-files"]);
}

#[test]
fn new_files_of_meshes_take_no_place_of_old_ones() {
    let (folder, scene) = scene("pbrt-taken");
    fs::rename(folder.path("s/m.ply"), folder.path("s/a-mesh-1.ply")).unwrap();
    folder.file("s/a.pbrt", &SCENE.replace("m.ply", "./a-mesh-1.ply"));
    for _ in 0..2 {
        run(&["convert", &scene, &scene, "--meshes", "ply"]).expect(0);
        assert_eq!(fs::read_to_string(folder.path("s/a-mesh-1.ply")).unwrap(), MESH);
        let text = fs::read_to_string(&scene).unwrap();
        assert_eq!(names(&text), ["out.exr", "tex.png", "./a-mesh-1.ply", "a-mesh-2.ply", "sub/n.ply"]);
    }
}

#[test]
fn parts_are_imported() {
    let (folder, scene) = scene("pbrt-parts");
    let moved = |x: usize| format!("AttributeBegin\nTranslate {x} 0 0\nObjectInstance \"leaf\"\nAttributeEnd\n");
    folder.file("s/a.pbrt", &(SCENE.to_owned() + &(0..60).map(moved).collect::<String>()));
    let out = folder.path("s/b.pbrt.gz");
    run(&["convert", &scene, &out, "--parts", "3"]).expect(0);
    assert!(fs::exists(folder.path("s/b-part-3.pbrt.gz")).unwrap());
    let counts = |path: &str| {
        let mut render = run(&["info", "--json", path]).expect(0).json_file()["render"].clone();
        // The counts of directives and files differ.
        for what in ["directives", "files"] {
            render.as_object_mut().unwrap().remove(what).unwrap();
        }
        render
    };
    assert_eq!(counts(&out), counts(&scene));
}

#[test]
fn instances_are_flattened_or_stand_once() {
    let (folder, scene) = scene("pbrt-instances");
    let objects = |how: &[&str]| {
        let text = run(&[&["convert", &scene, "-", "-q"], how].concat()).expect(0).stdout;
        text.lines().filter_map(|line| line.strip_prefix("o ").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(objects(&[]), ["plymesh-3", "leaf", "leaf", "leaf", "leaf"]);
    assert_eq!(objects(&["--instances", "flatten"]), objects(&[]));
    assert_eq!(objects(&["--instances", "once"]), ["plymesh-3", "leaf", "leaf"]);
    let counts = |how: &str| {
        let out = folder.path("s/b.pbrt");
        run(&["convert", &scene, &out, "--instances", how]).expect(0);
        let value = run(&["info", "--json", &out]).expect(0).json();
        ["shapes", "definitions", "instances", "instanced_triangles"].map(|key| value["render"][key].as_u64().unwrap())
    };
    assert_eq!(counts("flatten"), [6, 0, 0, 5]);
    // Flattened shapes are where the instances were.
    let [shown, flat] = [scene.clone(), folder.path("s/b.pbrt")].map(|path| {
        let text = run(&["convert", "-q", &path, "-"]).expect(0).stdout;
        let mut lines: Vec<_> = text.lines().filter(|line| line.starts_with("v ")).map(str::to_owned).collect();
        lines.sort();
        lines
    });
    assert_eq!(shown, flat);
    assert_eq!(counts("once"), [4, 0, 0, 3]);
}

#[test]
fn options_for_pbrt_are_for_pbrt() {
    let (folder, scene) = scene("pbrt-usage");
    let object = folder.path("a.obj");
    for option in [&["--parts", "4"][..], &["--meshes", "ply"], &["--compact"]] {
        let ran = run(&[&["convert", &scene, &object], option].concat()).expect(2);
        says(&ran, &[option[0], "applies only to pbrt output, but the output format is obj", "--to pbrt"]);
    }
    let bad = [
        (["--parts", "-3"], "expected 0 to 5000"),
        (["--parts", "5001"], "expected 0 to 5000"),
        (["--parts", "x"], "expected 0 to 5000"),
        (["--meshes", "plly"], "expected keep, inline, ply or ply:N"),
        (["--meshes", "ply:-1"], "expected keep, inline, ply or ply:N"),
        (["--instances", "twice"], "expected auto, flatten, once"),
    ];
    for (option, message) in bad {
        says(&run(&[&["convert", &scene, "b.pbrt"], &option[..]].concat()).expect(2), &[message]);
    }
    says(&run(&["convert", &scene, "-", "--to", "pbrt", "--parts", "3"]).expect(2), &["cannot be written to a stream"]);
    assert_eq!(folder.names(), ["out", "s"]);
}

#[test]
fn every_error_is_listed_with_its_place() {
    let (folder, scene) = scene("pbrt-validate");
    run(&["validate", &scene]).expect(0);
    folder.file(
        "s/a.pbrt",
        "Film \"rgb\" 5\nWorldBegin\nShape \"sphere\" \"float radius\" [1\nInclude \"sub/b.pbrt\"\nFoo\n",
    );
    folder.file("s/sub/b.pbrt", "Translate 1 x 2\nShape \"plymesh\" \"string filename\" \"n.ply\"\nAttributeEnd\n");
    folder.file("s/sub/n.ply", "ply\nformat ascii 1.0\nend_head");
    for threads in ["1", "2", "7"] {
        let ran = run(&["validate", "-j", threads, &scene]).expect(1);
        let at = |file: &str| format!("--> {}", folder.path(file));
        says(&ran, &[&at("s/a.pbrt:1:12"), &at("s/a.pbrt:3:31"), &at("s/sub/b.pbrt:1:13"), &at("s/a.pbrt:5:1")]);
        says(&ran, &[&format!("(included at {}:4:1)", folder.path("s/a.pbrt")), "broken-mesh"]);
        says(&ran, &[&folder.path("s/sub/n.ply"), &folder.path("s/sub/b.pbrt:3:1")]);
        assert!(ran.stdout.contains("invalid with 6 warnings"), "{ran:?}");
    }
}

#[test]
fn the_demo_makes_an_island() {
    let folder = Folder::new("pbrt-demo");
    let kept_folder = folder.path("kept");
    let args = ["demo", "--json", "--kind", "pbrt", "--size", "200KB", "--compress", "gzip", "--keep", &kept_folder];
    let value = run(&args).expect(0).json();
    assert_eq!((&value["same"], &value["kind"]), (&true.into(), &"pbrt".into()));
    let json = run(&["info", "--json", &format!("{kept_folder}/demo.pbrt.gz")]).expect(0).json();
    for key in ["shapes", "instances"] {
        assert_eq!(json["render"][key], value["render"][key], "{key}");
    }
    assert!(fs::exists(format!("{kept_folder}/demo-part-2.pbrt.gz")).unwrap());
    let ran = run(&["demo", "--kind", "pbrt", "--size", "1MB"]).expect(0);
    assert!(ran.stdout.contains("instances; verified by reading back"), "{ran:?}");
    says(&run(&["demo", "--kind", "stl"]).expect(2), &["possible values: obj, pbrt"]);
}

#[test]
fn assets_are_copied_on_request() {
    let (folder, scene) = scene("pbrt-copied");
    let out = folder.path("out/b.pbrt");
    let ran = run(&["convert", &scene, &out, "--copy-assets"]).expect(0);
    says(&ran, &["3 referenced files copied"]);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    let value = run(&["convert", "--json", &scene, &folder.path("new.obj"), "--copy-assets"]).expect(0).json();
    assert_eq!((&value["copied_files"], &value["copied_bytes"]), (&0.into(), &0.into()));
    assert_eq!(run(&["info", "--json", &out]).expect(0).json()["warnings"]["total"], 0);
    let ran = run(&["convert", &scene, "-", "--to", "pbrt", "--copy-assets"]).expect(2);
    says(&ran, &["cannot be copied", "omit `--copy-assets`"]);
    // A file outside the folder is copied only on request, and the warning is an error with --strict.
    let outside =
        folder.file("s/sub/c.pbrt", "WorldBegin\nLightSource \"infinite\" \"string filename\" \"../tex.png\"\n");
    let ran = run(&["convert", &outside, &folder.path("out/c.pbrt"), "--copy-assets"]).expect(0);
    says(&ran, &["uncopied-reference", "`../tex.png` was not copied", "use `--allow-outside`"]);
    let ran = run(&["convert", &outside, &folder.path("out/d.pbrt"), "--strict"]).expect(1);
    says(&ran, &["is outside the output's folder", "--copy-assets", "without `--strict`"]);
    assert!(!fs::exists(folder.path("out/d.pbrt")).unwrap());
    run(&["convert", &outside, &folder.path("out/d.pbrt"), "--copy-assets", "--allow-outside", "--strict"]).expect(0);
}
