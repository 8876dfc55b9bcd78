//! Expected bytes, and content that STL cannot store.

use crate::stl::*;
use polyhaul::model::{Column, Domain, Elements, Mesh, Object, Scene, Values};
use polyhaul::options::{Digits, SceneWriteOptions};
use polyhaul::{Format, Report, WriteOptions};

fn write(scene: &Scene, stl: WriteOptions) -> (Vec<u8>, Report) {
    try_written(scene, &stl.with_format(Some(Format::Stl))).unwrap()
}

fn text(scene: &Scene) -> String {
    let ascii = WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_ascii(true).with_digits(Some(Digits::Fixed(1))));
    String::from_utf8(write(scene, ascii).0).unwrap()
}

const TEXT: &str = "solid
facet normal 0.0 0.0 1.0
  outer loop
    vertex 0.0 0.0 0.5
    vertex 2.0 0.0 0.5
    vertex 2.0 2.0 0.5
  endloop
endfacet
facet normal 0.0 0.0 1.0
  outer loop
    vertex 0.0 0.0 0.5
    vertex 2.0 2.0 0.5
    vertex 0.0 2.0 0.5
  endloop
endfacet
endsolid
";

#[test]
fn faces_are_cut_and_normals_worked_out() {
    assert_eq!(text(&scene_of(square())), TEXT);
    assert_eq!(text(&Scene::default()), "solid\nendsolid\n");
    let (bytes, _) = write(&scene_of(square()), WriteOptions::default());
    assert!(bytes.starts_with(b"polyhaul ") && bytes.len() == 184);
    assert_eq!(bytes[80..84], 2u32.to_le_bytes());
    let mut first = Vec::new();
    for part in [0.0f32, 0.0, 1.0, 0.0, 0.0, 0.5, 2.0, 0.0, 0.5, 2.0, 2.0, 0.5] {
        first.extend(part.to_le_bytes());
    }
    first.extend([0, 0]);
    assert_eq!(bytes[84..134], first);
}

#[test]
fn what_was_read_is_written_as_it_was() {
    for name in ["good/cube_binary.stl", "good/solid_binary.stl", "good/attributes.stl", "good/empty_binary.stl"] {
        let loaded = load(file(name)).unwrap();
        let (bytes, report) = write(&loaded.value, WriteOptions::default());
        if name != "good/attributes.stl" {
            assert!(bytes == file(name), "{name}");
        }
        assert!(bytes[84..] == file(name)[84..] && report.warnings.is_empty(), "{name}: {:?}", report.warnings);
    }
}

#[test]
fn text_has_the_fewest_digits_of_each_number() {
    let point = |i: u32| [i as f32 * 0.37, -1e-9 / (i + 1) as f32, (i % 7) as f32];
    let positions: Vec<[f32; 3]> = (0..3000).map(point).collect();
    let normals: Vec<[f32; 3]> = (0..1000).map(|i| point(i * 5).map(|v| v - 0.5)).collect();
    let faces = Elements {
        offsets: (0..=1000).map(|i| 3 * i).collect::<Vec<u32>>().into(),
        corner_positions: (0..3000).collect::<Vec<u32>>().into(),
        ..Elements::default()
    };
    let number = |v: f32| if v != 0.0 && v.abs() < 1e-6 { format!("{v:e}") } else { v.to_string() };
    let shown = |vector: &[f32; 3]| vector.map(number).join(" ");
    let mut expected = "solid\n".to_string();
    for (normal, corners) in normals.iter().zip(positions.chunks(3)) {
        expected += &format!("facet normal {}\n  outer loop\n", shown(normal));
        corners.iter().for_each(|corner| expected += &format!("    vertex {}\n", shown(corner)));
        expected += "  endloop\nendfacet\n";
    }
    expected += "endsolid\n";
    let mesh = Mesh {
        positions: positions.into(),
        normals: normals.into(),
        normal_domain: Domain::Face,
        faces,
        ..Mesh::default()
    };
    let ascii = WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_ascii(true).with_digits(Some(Digits::Shortest)));
    let text = String::from_utf8(write(&scene_of(mesh), ascii).0).unwrap();
    assert!(text == expected, "{text}");
}

#[test]
fn objects_stand_where_they_are() {
    let mut mesh = square();
    mesh.normals = [[0.0, 0.0, 1.0]].into();
    mesh.normal_domain = Domain::Face;
    mesh.faces = Elements { offsets: [0, 3].into(), corner_positions: [0, 1, 2].into(), ..Elements::default() };
    let moved = [[-1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let object =
        |name: &str, transform| Object { name: name.into(), end: mesh.counts(), transform, ..Object::default() };
    let objects = vec![object("here", None), object("there", Some(moved))];
    let written = text(&Scene { objects, meshes: vec![mesh.clone()], ..Scene::default() });
    assert!(written.contains("endsolid here\nsolid there\nfacet normal -0.0 0.0 1.0\n"), "{written}");
    assert!(written.contains("    vertex 5.0 0.0 0.5\n    vertex 3.0 2.0 0.5\n    vertex 3.0 0.0 0.5\n"), "{written}");
}

#[test]
fn degenerate_triangles_have_no_direction() {
    let mut mesh = square();
    mesh.positions = [[1.0; 3], [f32::NAN; 3], [3e38, 0.0, 0.0]].into();
    mesh.faces =
        Elements { offsets: [0, 3, 6].into(), corner_positions: [0, 0, 0, 0, 1, 2].into(), ..Elements::default() };
    let written = text(&scene_of(mesh));
    assert_eq!(written.matches("facet normal 0.0 0.0 0.0").count(), 2, "{written}");
}

#[test]
fn what_stl_has_no_place_for_is_counted() {
    let mut mesh = square();
    mesh.uvs = [[0.0; 2]; 4].into();
    mesh.uv_domain = Domain::Vertex;
    mesh.colors = [[1.0; 4]; 4].into();
    let column = |name: &str, values| Column { name: name.into(), values, offsets: None };
    mesh.vertex_columns = vec![column("heat", Values::U8([1; 4].into()))];
    mesh.face_columns = vec![column("attribute", Values::U16([7].into()))];
    let object = Object { name: "o".into(), end: mesh.counts(), ..Object::default() };
    let scene = Scene { objects: vec![object], comments: vec!["a".into(), "b".into()], ..scene_of(mesh) };
    let (bytes, report) = write(&scene, WriteOptions::default());
    let codes = ["left-out-uvs", "left-out-colors", "left-out-columns", "left-out-names", "left-out-remarks"];
    let counts = report.warnings.counts();
    assert_eq!(codes.map(|code| counts.get(code).copied().unwrap_or(0)), [4, 4, 1, 1, 1]);
    // Both triangles of the quad keep its attribute.
    assert_eq!((bytes[132], bytes[182]), (7, 7));
}

#[test]
fn names_leave_text_what_it_is() {
    let mut scene = scene_of(square());
    for (name, written) in [
        ("a\0b\tc\nd", "a_b_c_d"),
        ("caf\u{e9} \\", "caf\u{e9} \\"),
        ("my Facet Normal x", "my Facet_Normal x"),
        ("facet normal", "facet normal"),
    ] {
        let end = scene.meshes[0].counts();
        scene.objects = vec![Object { name: name.into(), end, ..Object::default() }];
        let back = load(text(&scene).into_bytes()).unwrap();
        assert_eq!(back.value.objects[0].name, written);
    }
}

#[test]
fn changed_names_and_comments_are_counted() {
    let mut scene = scene_of(square());
    let end = scene.meshes[0].counts();
    let object = |name: &str| Object { name: name.into(), end, ..Object::default() };
    let ascii = || WriteOptions::default().with_scene(SceneWriteOptions::default().with_ascii(true));
    let count = |scene: &Scene, options: WriteOptions, code: &str| {
        let (_, report) = write(scene, options);
        report.warnings.counts().get(code).copied().unwrap_or(0)
    };
    for (name, changed) in [("a\0b", 1), (" a", 1), ("facet normal x", 1), ("a\\", 0), ("facet normal", 0)] {
        scene.objects = vec![object(name)];
        assert_eq!(count(&scene, ascii(), "changed-names"), changed, "{name:?}");
    }
    // An object without faces is not written, and neither is its name.
    scene.objects = vec![object("a"), Object { start: end, ..object("empty") }];
    assert_eq!(count(&scene, ascii(), "left-out-names"), 1);
    for (comment, changed) in [("a".repeat(81), 1), ("a".repeat(80), 0), ("Solid as a rock".into(), 1)] {
        scene.comments = vec![comment.clone()];
        assert_eq!(count(&scene, WriteOptions::default(), "changed-remarks"), changed, "{comment}");
        assert_eq!(count(&scene, WriteOptions::default(), "left-out-remarks"), 0, "{comment}");
        assert_eq!(count(&scene, ascii(), "left-out-remarks"), 1, "{comment}");
    }
}
