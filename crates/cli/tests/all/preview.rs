//! `polyhaul preview`: pictures of files, one or many.

use crate::common::{Folder, run, run_piped};
use std::path::Path;

const SQUARE: &str = "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 1 0 1 0 0\nv 0 1 0 1 0 0\nf 1 2 3 4\n";

/// The size of a PNG, and how many bits a sample has.
fn png(path: &str) -> ([u32; 2], u8) {
    let bytes = std::fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{path}");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    ([number(16), number(20)], bytes[24])
}

#[test]
fn a_mesh_is_drawn_the_same_for_any_number_of_threads() {
    let folder = Folder::new("preview-mesh");
    let (mesh, picture) = (folder.file("a.obj", SQUARE), folder.path("a.png"));
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
    for options in
        ["--view=front", "--style=normals", "--style=depth", "--style=id", "--up-axis=Z", "--background=none"]
    {
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
    let (from, to) = (folder.path("in"), folder.path("out"));
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
    // A level of the image that fits.
    assert_eq!(png(&folder.path("out/i.tga.png")), ([50, 25], 8));
    assert!(!Path::new(&folder.path("out/bad.obj.png")).exists());
}

#[test]
fn streams_and_other_image_formats_are_written() {
    let folder = Folder::new("preview-stream");
    let output = run_piped(&["preview", "-", "-o", "-", "--size", "16x16"], SQUARE.as_bytes());
    assert!(output.status.success() && output.stdout.starts_with(b"\x89PNG"), "{output:?}");
    let (mesh, picture) = (folder.file("a.obj", SQUARE), folder.path("a.jpg"));
    run(&["preview", &mesh, "-o", &picture]).expect(0);
    assert!(std::fs::read(&picture).unwrap().starts_with(&[0xFF, 0xD8]));
}

#[test]
fn wrong_requests_are_refused() {
    let folder = Folder::new("preview-usage");
    let mesh = folder.file("a.obj", SQUARE);
    let refused = |args: &[&str], wanted: &str| {
        let ran = run(&[&["preview", &mesh], args].concat()).expect(2);
        assert!(ran.stderr.contains(wanted), "{wanted}: {ran:?}");
    };
    refused(&[], "--output");
    refused(&["-o", &folder.path("b.obj")], "obj is not an image format");
    refused(&["-o", &folder.path("b")], "cannot infer the image format");
    refused(&["-o", &folder.path("b.dds")], "a picture cannot be written as dds");
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
    assert!(ran.stderr.contains("the folder for pictures is an input"), "{ran:?}");
    assert!(std::fs::read(&picture).unwrap() == before && std::fs::read_dir(folder.path("in")).unwrap().count() == 2);
}

#[test]
fn all_faces_of_flattened_scenes_are_drawn() {
    let folder = Folder::new("preview-pbrt");
    let points: Vec<_> = (0..4).flat_map(|x| [format!("{x} 0 0"), format!("{x} 1 0")]).collect();
    let quads: Vec<_> = (0..3).map(|x| format!("{} {} {} {}", 2 * x, 2 * x + 2, 2 * x + 1, 2 * x + 3)).collect();
    let halves =
        (0..3).map(|x| [2 * x, 2 * x + 2, 2 * x + 3, 2 * x, 2 * x + 3, 2 * x + 1].map(|it| it.to_string()).join(" "));
    let halves: Vec<_> = halves.collect();
    let draw = |name: &str, shape: &str, indices: &[String]| {
        let (indices, points) = (indices.join(" "), points.join(" "));
        let text = format!("WorldBegin\nShape \"{shape}\" \"integer indices\" [{indices}] \"point3 P\" [{points}]\n");
        let (scene, picture) = (folder.file(&format!("{name}.pbrt"), &text), folder.path(&format!("{name}.png")));
        run(&["preview", &scene, "-o", &picture, "--view", "front", "--size", "64x48", "--style", "normals"]).expect(0);
        std::fs::read(&picture).unwrap()
    };
    assert!(draw("quads", "bilinearmesh", &quads) == draw("halves", "trianglemesh", &halves));
}
