//! Expected bytes, and content that OFF cannot store.

use crate::off::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Column, Domain, Elements, NONE, Object, Values};
use polyhaul::options::{Digits, SceneWriteOptions};
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::options::scene_options;

fn shortest(mesh: Mesh) -> String {
    text(&scene_of(mesh), WriteOptions::default())
}

/// Warnings from writing a scene.
fn warned(scene: &Scene, off: WriteOptions) -> Vec<(&'static str, u64)> {
    codes(&try_written(scene, &written(off)).unwrap().1)
}

#[test]
fn meshes_are_vertices_and_faces() {
    assert_eq!(shortest(square()), "OFF\n4 1 0\n0 0 0.5\n2 0 0.5\n2 2 0.5\n0 2 0.5\n4 0 1 2 3\n");
    assert_eq!(text(&Scene::default(), WriteOptions::default()), "OFF\n0 0 0\n");
    let fixed = WriteOptions::default().with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Fixed(2))));
    assert!(text(&scene_of(square()), fixed).contains("\n2.00 0.00 0.50\n"));
    let written = text(&scene_of(square()), scene_options(|scene| scene.triangulate = true));
    assert!(written.starts_with("OFF\n4 2 0\n") && written.ends_with("3 0 1 2\n3 0 2 3\n"), "{written}");
}

#[test]
fn keywords_say_what_vertices_have() {
    let mut mesh = square();
    mesh.normals = [[0.0, 0.0, 1.0]; 4].into();
    mesh.normal_domain = Domain::Vertex;
    assert!(shortest(mesh.clone()).starts_with("NOFF\n4 1 0\n0 0 0.5 0 0 1\n"));
    mesh.colors = [[1.0, 0.0, 0.2, 1.0]; 4].into();
    assert!(shortest(mesh.clone()).starts_with("CNOFF\n4 1 0\n0 0 0.5 0 0 1 255 0 51 255\n"));
    mesh.uvs = [[0.25, 0.75]; 4].into();
    mesh.uv_domain = Domain::Vertex;
    let whole = scene_of(mesh);
    assert!(
        text(&whole, WriteOptions::default()).starts_with("STCNOFF\n4 1 0\n0 0 0.5 0 0 1 255 0 51 255 0.25 0.75\n")
    );
    let fixed = WriteOptions::default().with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Fixed(1))));
    assert!(text(&whole, fixed.clone()).starts_with("STCNOFF\n4 1 0\n0.0 0.0 0.5 0.0 0.0 1.0 255 0 51 255 0.2 0.8\n"));
    let floats = fixed.clone().with_scene(fixed.scene.with_float_colors(true));
    assert!(text(&whole, floats).starts_with("STCNOFF\n4 1 0\n0.0 0.0 0.5 0.0 0.0 1.0 1.0 0.0 0.2 1.0 0.2 0.8\n"));
    let bare = WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_uv(false).with_normals(false).with_colors(false));
    assert_eq!(text(&whole, bare), shortest(square()));
}

#[test]
fn vertices_are_split_where_corners_differ() {
    let mut mesh = square();
    mesh.faces = Elements {
        offsets: [0, 3, 6].into(),
        corner_positions: [0, 1, 2, 0, 2, 3].into(),
        corner_uvs: [0, 1, 2, 0, 3, NONE].into(),
        ..Elements::default()
    };
    mesh.uvs = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]].into();
    mesh.points = [2].into();
    let expected = "STOFF\n5 3 0\n0 0 0.5 0 0\n2 0 0.5 1 0\n2 2 0.5 1 1\n0 2 0.5 0 0\n2 2 0.5 0.5 0.5\n\
                    3 0 1 2\n3 0 4 3\n1 2\n";
    assert_eq!(shortest(mesh.clone()), expected);
    mesh.uvs = [[0.5, 0.5], [0.25, 0.25]].into();
    mesh.uv_domain = Domain::Face;
    mesh.faces.corner_uvs = [].into();
    let written = shortest(mesh.clone());
    assert!(written.starts_with("STOFF\n6 3 0\n") && written.contains("3 0 1 2\n3 4 5 3\n"), "{written}");
    mesh.normals = (0..6).map(|i| [i as f32, 0.0, 0.0]).collect();
    mesh.normal_domain = Domain::Corner;
    let written = shortest(mesh);
    assert!(written.starts_with("STNOFF\n6 3 0\n") && written.contains("2 2 0.5 4 0 0 0.25 0.25\n"), "{written}");
}

#[test]
fn lines_and_points_are_small_faces() {
    let mut mesh = square();
    mesh.lines =
        Elements { offsets: [0, 3, 5].into(), corner_positions: [0, 1, 2, 3, 0].into(), ..Elements::default() };
    mesh.points = [3, 1].into();
    let written = shortest(mesh.clone());
    assert!(
        written.starts_with("OFF\n4 6 0\n") && written.ends_with("4 0 1 2 3\n2 0 1\n2 1 2\n2 3 0\n1 3\n1 1\n"),
        "{written}"
    );
    assert_eq!(warned(&scene_of(mesh), WriteOptions::default()), []);
}

#[test]
fn objects_stand_where_they_are() {
    let moved = [[-1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let mut mesh = square();
    mesh.normals = [[1.0, 0.0, 0.0]; 4].into();
    mesh.normal_domain = Domain::Vertex;
    let object = |transform| Object { end: mesh.counts(), transform, ..Object::default() };
    let objects = vec![object(None), object(Some(moved))];
    let written = text(&Scene { objects, meshes: vec![mesh.clone()], ..Scene::default() }, WriteOptions::default());
    assert!(written.starts_with("NOFF\n8 2 0\n") && written.ends_with("4 0 1 2 3\n4 4 7 6 5\n"), "{written}");
    assert!(written.contains("2 0 0.5 1 0 0\n") && written.contains("3 0 0.5 -1 0 0\n"), "{written}");
    // If one mesh has colors, a mesh without colors is white.
    let mut colored = square();
    colored.colors = [[0.0, 0.0, 0.0, 1.0]; 4].into();
    let written = text(&Scene { meshes: vec![colored, square()], ..Scene::default() }, WriteOptions::default());
    assert!(written.contains("0 2 0.5 0 0 0 255\n0 0 0.5 255 255 255 255\n"), "{written}");
}

#[test]
fn colors_stay_what_they_are() {
    let colored = |color: [f32; 4]| {
        let mut mesh = square();
        mesh.colors = [color, [0.0, 0.0, 0.0, 0.0], color, color].into();
        scene_of(mesh)
    };
    let again = |scene: &Scene, off| load(text(scene, off)).unwrap().value.meshes[0].colors.to_vec();
    let floats = WriteOptions::default().with_scene(SceneWriteOptions::default().with_float_colors(true));
    for color in [[1.0; 4], [1.0 / 255.0; 4], [0.0, 1.0 / 255.0, 0.0, 0.0], [0.2, 0.4, 0.6, 0.8], [0.0; 4]] {
        let scene = colored(color);
        for off in [WriteOptions::default(), floats.clone()] {
            assert_eq!(again(&scene, off.clone()), scene.meshes[0].colors.to_vec(), "{off:?}");
            assert_eq!(warned(&scene, off), []);
        }
    }
    let odd = colored([0.123, 2.5, f32::NAN, 1.0]);
    assert_eq!(warned(&odd, floats.clone()), [("clamped-color", 3), ("missing-color", 3)]);
    assert_eq!(
        warned(&odd, WriteOptions::default()),
        [("changed-colors", 3), ("clamped-color", 3), ("missing-color", 3)]
    );
    assert_eq!(again(&odd, floats)[0], [0.123, 1.0, 1.0, 1.0]);
}

#[test]
fn what_was_read_is_written_and_read_again() {
    for file in samples("off/good", "off") {
        let first = load(file.bytes()).unwrap().value;
        for off in [
            WriteOptions::default(),
            WriteOptions::default().with_scene(SceneWriteOptions::default().with_float_colors(true)),
        ] {
            let again = load(text(&first, off.clone())).unwrap();
            assert!(again.report.warnings.is_empty(), "{}", file.name);
            let shown = |scene: &Scene| format!("{:?} {:?} {:?}", scene.meshes, scene.objects, scene.comments);
            if off.scene.float_colors || !file.name.contains("color_floats") {
                assert_eq!(shown(&again.value), shown(&first), "{}", file.name);
            }
        }
    }
}

#[test]
fn what_off_has_no_place_for_is_counted() {
    let mut mesh = square();
    mesh.normals = [[0.0, 0.0, 1.0]].into();
    mesh.normal_domain = Domain::Face;
    let column = |name: &str, values| Column { name: name.into(), values, offsets: None };
    mesh.vertex_columns = vec![column("heat", Values::U8([1; 4].into()))];
    mesh.face_columns = vec![column("attribute", Values::U16([7].into()))];
    let object = Object { name: "o".into(), end: mesh.counts(), ..Object::default() };
    let comments = vec!["a\0b".into(), "c\nd".into()];
    let scene = Scene { objects: vec![object], comments, infos: vec!["i".into()], ..scene_of(mesh) };
    let codes = ["changed-remarks", "left-out-columns", "left-out-names", "left-out-normals", "left-out-remarks"];
    assert_eq!(warned(&scene, WriteOptions::default()), codes.into_iter().zip([1, 2, 1, 1, 1]).collect::<Vec<_>>());
    assert!(text(&scene, WriteOptions::default()).starts_with("OFF\n# a_b\n# c\n# d\n4 1 0\n"));
}
