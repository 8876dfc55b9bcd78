//! `polyhaul preview`: pictures of files, one or many.

use crate::common::{Folder, run, run_piped};
use std::path::Path;

const SQUARE: &str = "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 1 0 1 0 0\nv 0 1 0 1 0 0\nf 1 2 3 4\n";

/// The size of a PNG, and its bits per sample.
fn png(path: &str) -> ([u32; 2], u8) {
    let bytes = std::fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{path}");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    ([number(16), number(20)], bytes[24])
}

#[test]
fn a_mesh_is_drawn_the_same_for_any_number_of_threads() {
    let folder = Folder::new("preview-mesh");
    let mesh = folder.file("a.obj", SQUARE);
    let picture = folder.path("a.png");
    let ran = run(&["preview", &mesh, "-o", &picture, "--size", "64x48", "-j", "1"]).expect(0);
    assert!(ran.stderr.contains(": drawn in ") && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(png(&picture), ([64, 48], 8));
    let first = std::fs::read(&picture).unwrap();
    for options in [["-j", "2"], ["-j", "7"]] {
        let other = folder.path("b.png");
        run(&[&["preview", &mesh, "-o", &other, "--size", "64x48"], &options[..]].concat()).expect(0);
        assert!(std::fs::read(&other).unwrap() == first);
    }
    let mut seen = vec![first];
    for options in [
        "--view=front",
        "--style=normals",
        "--style=depth",
        "--style=id",
        "--style=uv",
        "--style=wire",
        "--up-axis=Z",
        "--background=none",
    ] {
        run(&["preview", &mesh, "-o", &picture, "--size", "64x48", options]).expect(0);
        let bytes = std::fs::read(&picture).unwrap();
        assert!(!seen.contains(&bytes), "{options}");
        seen.push(bytes);
    }
}

#[test]
fn all_kinds_of_files_have_pictures_named_after_them() {
    let folder = Folder::new("preview-many");
    std::fs::create_dir_all(folder.path("in/sub")).unwrap();
    folder.file("in/a.obj", SQUARE);
    folder.file("in/a.xyz", "0 0 0\n1 2 3\n");
    folder.file("in/sub/b.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
    folder.file(
        "in/sub/c.pbrt",
        "WorldBegin\nShape \"trianglemesh\" \"integer indices\" [0 1 2] \"point3 P\" [0 0 0 1 0 0 0 1 0]\n",
    );
    let tga = [&[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 0, 100, 0, 8, 0][..], &[99; 20_000]].concat();
    std::fs::write(folder.path("in/i.tga"), tga).unwrap();
    folder.file("in/bad.obj", "v 0 0 0\nf 1 2 x\n");
    let from = folder.path("in");
    let to = folder.path("out");
    let arguments = ["preview", &from, "-o", &to, "--recursive", "--size", "64x64", "--json"];
    let value = run(&arguments).expect(3).json();
    assert_eq!((value["drawn"].as_u64(), value["failed"].as_u64()), (Some(5), Some(1)));
    let files = value["files"].as_array().unwrap();
    let outcomes: Vec<_> = files.iter().map(|file| file["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["drawn", "drawn", "failed", "drawn", "drawn", "drawn"]);
    assert!(files[0]["first_pixel_seconds"].as_f64().unwrap() > 0.0 && files[2]["error"]["line"].as_u64() == Some(2));
    for name in ["a.obj.png", "a.xyz.png", "sub/b.off.png", "sub/c.pbrt.png"] {
        assert_eq!(png(&folder.path(&format!("out/{name}"))), ([64, 64], 8), "{name}");
    }
    // A mip level of the right size.
    assert_eq!(png(&folder.path("out/i.tga.png")), ([50, 25], 8));
    // By default, only a summary is printed; with -v, also a line for each picture.
    let words = &arguments[..arguments.len() - 1];
    let said = run(words).expect(3).stderr;
    assert!(said.contains("\n5 pictures drawn, 1 failed in ") && !said.contains("a.obj.png: drawn"), "{said}");
    assert!(run(&[words, &["-v"]].concat()).expect(3).stderr.contains("a.obj.png: drawn in "));
    assert!(!Path::new(&folder.path("out/bad.obj.png")).exists());
}

#[test]
fn streams_and_other_image_formats_are_written() {
    let folder = Folder::new("preview-stream");
    let output = run_piped(&["preview", "-", "-o", "-", "--size", "16x16"], SQUARE.as_bytes());
    assert!(output.status.success() && output.stdout.starts_with(b"\x89PNG"), "{output:?}");
    let mesh = folder.file("a.obj", SQUARE);
    let picture = folder.path("a.jpg");
    run(&["preview", &mesh, "-o", &picture]).expect(0);
    assert!(std::fs::read(&picture).unwrap().starts_with(&[0xFF, 0xD8]));
}

#[test]
fn wrong_requests_are_refused() {
    let folder = Folder::new("preview-usage");
    let mesh = folder.file("a.obj", SQUARE);
    let refused = |args: &[&str], expected: &str| {
        let ran = run(&[&["preview", &mesh], args].concat()).expect(2);
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    };
    refused(&[], "--output");
    refused(&["-o", &folder.path("b.obj")], "obj is not an image format");
    refused(&["-o", &folder.path("b")], "cannot infer the image format");
    refused(&["-o", &folder.path("b.dds")], "pictures cannot be written as dds");
    refused(&["-o", &folder.path("b.png"), "--size", "0x5"], "expected a width and a height");
    refused(&["-o", &folder.path("b.png"), "--background", "redd"], "expected a color");
    refused(&[&mesh, "-o", &folder.path("b.png")], "several pictures cannot be written to");
    assert_eq!(folder.names(), ["a.obj"]);
}

#[test]
fn no_input_becomes_its_own_picture() {
    let folder = Folder::new("preview-own");
    std::fs::create_dir_all(folder.path("in")).unwrap();
    let mesh = folder.file("in/a.obj", SQUARE);
    let picture = folder.path("in/a.png");
    run(&["preview", &mesh, "-o", &picture]).expect(0);
    let before = std::fs::read(&picture).unwrap();
    let ran = run(&["preview", &picture, "-o", &picture, "--size", "8x8"]).expect(2);
    assert!(ran.stderr.contains("would be overwritten by its picture"), "{ran:?}");
    let ran = run(&["preview", &folder.path("in"), "-o", &folder.path("in")]).expect(2);
    assert!(ran.stderr.contains("the output folder is also an input"), "{ran:?}");
    assert!(std::fs::read(&picture).unwrap() == before && std::fs::read_dir(folder.path("in")).unwrap().count() == 2);
}

#[test]
fn all_faces_of_flattened_scenes_are_drawn() {
    let folder = Folder::new("preview-pbrt");
    let points: Vec<_> = (0..4).flat_map(|x| [format!("{x} 0 0"), format!("{x} 1 0")]).collect();
    let quads: Vec<_> = (0..3).map(|x| format!("{} {} {} {}", 2 * x, 2 * x + 2, 2 * x + 1, 2 * x + 3)).collect();
    let halves = (0..3)
        .map(|x| [2 * x, 2 * x + 2, 2 * x + 3, 2 * x, 2 * x + 3, 2 * x + 1].map(|index| index.to_string()).join(" "));
    let halves: Vec<_> = halves.collect();
    let draw = |name: &str, shape: &str, indices: &[String]| {
        let indices = indices.join(" ");
        let points = points.join(" ");
        let text = format!("WorldBegin\nShape \"{shape}\" \"integer indices\" [{indices}] \"point3 P\" [{points}]\n");
        let scene = folder.file(&format!("{name}.pbrt"), &text);
        let picture = folder.path(&format!("{name}.png"));
        run(&["preview", &scene, "-o", &picture, "--view", "front", "--size", "64x48", "--style", "normals"]).expect(0);
        std::fs::read(&picture).unwrap()
    };
    assert!(draw("quads", "bilinearmesh", &quads) == draw("halves", "trianglemesh", &halves));
}

#[test]
fn a_sheet_has_all_pictures_and_the_errors() {
    let folder = Folder::new("preview-sheet");
    std::fs::create_dir_all(folder.path("in")).unwrap();
    folder.file("in/a.obj", SQUARE);
    folder.file("in/b.xyz", "0 0 0\n1 2 3\n");
    folder.file("in/bad.obj", "v 0 0 0\nf 1 2 x\n");
    let from = folder.path("in");
    let sheet = folder.path("all.png");
    let arguments = ["preview", &from, "-o", &sheet, "--sheet", "--size", "64x48"];
    run(&arguments).expect(3);
    // Two columns and two rows, with two lines of text per picture.
    assert_eq!(png(&sheet), ([2 * 72 + 8, 2 * 76 + 8], 8));
    let first = std::fs::read(&sheet).unwrap();
    run(&[&arguments[..], &["-j", "1"]].concat()).expect(3);
    assert!(std::fs::read(&sheet).unwrap() == first);
    let ran = run(&["preview", &from, "-o", &folder.path("all.obj"), "--sheet"]).expect(2);
    assert!(ran.stderr.contains("obj is not an image format"), "{ran:?}");
    let mesh = folder.path("in/a.obj");
    let ran = run(&["preview", &mesh, "-o", &sheet, "--sheet", "--size", "16384x16384"]).expect(2);
    assert!(ran.stderr.contains("a sheet of 1 pictures would have"), "{ran:?}");
}

#[test]
fn textures_are_drawn_and_missing_ones_are_warnings() {
    let folder = Folder::new("preview-textures");
    folder.file("a.mtl", "newmtl m\nmap_Kd red.tga\n");
    let text = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\n";
    let mesh = folder.file("a.obj", text);
    let picture = folder.path("a.png");
    let ran = run(&["preview", &mesh, "-o", &picture, "--size", "64x48"]).expect(0);
    assert!(ran.stderr.contains("warning[missing-texture]") && ran.stderr.contains("red.tga"), "{ran:?}");
    let gray = std::fs::read(&picture).unwrap();
    // One pixel with 24 bits, in blue, green, red order.
    std::fs::write(folder.path("red.tga"), [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 0, 0, 255]).unwrap();
    let ran = run(&["preview", &mesh, "-o", &picture, "--size", "64x48"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    assert!(std::fs::read(&picture).unwrap() != gray);
    run(&["preview", &mesh, "-o", &picture, "--size", "64x48", "--strict"]).expect(0);
}

#[test]
fn the_first_pixel_is_told() {
    let folder = Folder::new("preview-first-pixel");
    let scene = "LookAt 0 0 -5 0 0 0 0 1 0\nCamera \"perspective\"\nWorldBegin\nShape \"sphere\"\n";
    let scene = folder.file("a.pbrt", scene);
    let picture = folder.path("a.png");
    let trace = folder.path("a.json");
    let value = run(&["preview", &scene, "-o", &picture, "--json", "--trace", &trace]).expect(0).json();
    let first = value["files"][0]["first_pixel_seconds"].as_f64().unwrap();
    assert!(first > 0.0, "{value}");
    let trace: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    assert!(trace["otherData"]["first_pixel_ns"].as_u64().unwrap() > 0);
    let sections = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "section");
    let names: Vec<_> = sections.map(|section| section["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "flatten", "trees", "draw", "refine", "write"]);
    let chart = folder.path("chart.svg");
    let sweep = ["sweep", &scene, "--until", "first-pixel", "--rates", "unlimited", "--codecs", "as-is", "--warm"];
    let cache = folder.path("cache");
    let ran = run(&[&sweep[..], &["--rounds", "1", "--chart", &chart, "--cache", &cache]].concat()).expect(0);
    assert!(std::fs::read_to_string(&chart).unwrap().contains("first pixel"), "{ran:?}");
    run(&["sweep", &scene, "--until", "first-pixel", "--model"]).expect(2);
}

/// A glTF file with 1,200 instances of a mesh of 10,000 triangles.
fn many_places() -> String {
    let places = 1200;
    let numbers: Vec<_> = (0..places).map(|at| at.to_string()).collect();
    let node = |at: usize| format!("{{\"mesh\":0,\"translation\":[{},{},0]}}", at % 40, at / 40);
    let nodes: Vec<_> = (0..places).map(node).collect();
    let positions = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA";
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[{}]}}],"nodes":[{}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],"accessors":[
        {{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}},
        {{"componentType":5125,"count":30000,"type":"SCALAR"}}],"bufferViews":[{{"buffer":0,"byteLength":36}}],
        "buffers":[{{"byteLength":36,"uri":"data:application/octet-stream;base64,{positions}"}}]}}"#,
        numbers.join(","),
        nodes.join(",")
    )
}

#[test]
fn coarse_pictures_say_so_in_previews_and_batches() {
    let folder = Folder::new("preview-coarse");
    std::fs::create_dir_all(folder.path("in")).unwrap();
    folder.file("in/a.gltf", &many_places());
    let asset = folder.path("in/a.gltf");
    let arguments = ["preview", &asset, "-o", &folder.path("a.png"), "--size", "64x48"];
    let value = run(&[&arguments[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(value["warnings"]["counts"]["coarse-picture"].as_u64(), Some(1), "{value}");
    let ran = run(&[&arguments[..], &["--strict"]].concat()).expect(0);
    assert!(ran.stderr.contains("note[coarse-picture]: the picture is coarse"), "{ran:?}");
    let from = folder.path("in");
    let to = folder.path("out");
    let batch = ["batch", &from, "-o", &to, "--to", "glb", "--preview", "64"];
    run(&batch).expect(0);
    let rows = run(&["batch", "rows", &to]).expect(0);
    assert!(rows.stdout.contains("coarse-picture"), "{rows:?}");
}
