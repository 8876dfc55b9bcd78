//! Cases that random scenes lack: runs, curves, points, names that would inject lines, digits.

use super::differential::compare;
use super::reference;
use super::scenes::{self, IDENTITY, Numbers};
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{
    Axes, Counts, Curve, Domain, Elements, Material, Mesh, NONE, Object, ObjectKind, Run, Scene, VertexGroup,
};
use polyhaul::ops::MeshOps;
use polyhaul::options::{Dialect, Digits, ObjWriteOptions, RunOptions, SceneWriteOptions, Smoothing};
use polyhaul::{ErrorKind, Input};

/// Four triangles in a row.
pub fn strip() -> Mesh {
    Mesh {
        positions: (0..6).map(|i| [i as f32, (i % 2) as f32, 0.0]).collect(),
        faces: Elements {
            offsets: vec![0, 3, 6, 9, 12].into(),
            corner_positions: vec![0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5].into(),
            ..Elements::default()
        },
        ..Mesh::default()
    }
}

pub fn named(name: &str, mesh: usize, scene: &Scene) -> Object {
    Object { name: name.into(), mesh, end: scene.meshes[mesh].counts(), ..Object::default() }
}

/// The mesh as an evaluated object with these slots.
pub fn single(mesh: Mesh, materials: Option<Vec<Option<usize>>>) -> Scene {
    let looks = ["red", "blue"].map(|name| Material { name: name.into(), ..Material::default() });
    let mut scene = Scene { meshes: vec![mesh], materials: looks.to_vec(), ..Scene::default() };
    let transform = Some(IDENTITY);
    scene.objects = vec![Object { transform, materials, ..named("one", 0, &scene) }];
    scene
}

fn at(faces: u32, value: u32) -> Run {
    Run { at: Counts { positions: 6, faces, ..Counts::default() }, value }
}

/// All lines except positions.
fn rest(scene: &Scene, obj: &WriteOptions) -> Vec<String> {
    let text = text(scene, &with(obj));
    text.lines().filter(|line| !line.starts_with("v ") && !line.starts_with("o ")).map(String::from).collect()
}

#[test]
fn material_runs_hold_where_there_are_no_slots() {
    let mesh = Mesh { material_runs: vec![at(1, 1), at(2, 0), at(3, NONE)], ..strip() };
    let obj = WriteOptions::default();
    let lines = rest(&single(mesh.clone(), None), &obj);
    assert_eq!(lines, ["f 1 2 3", "usemtl blue", "f 2 3 4", "usemtl red", "f 3 4 5", "usemtl (null)", "f 4 5 6"]);
    let none = ["f 1 2 3", "f 2 3 4", "f 3 4 5", "f 4 5 6"];
    assert_eq!(rest(&single(mesh.clone(), Some(vec![])), &obj), none);
    let off = WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false));
    assert_eq!(rest(&single(mesh.clone(), None), &off), none);
    assert_eq!(rest(&single(mesh, Some(vec![Some(0)])), &obj)[0], "usemtl red");
}

#[test]
fn smoothing_runs_hold_where_there_are_no_flags() {
    let mesh = Mesh { smoothing_runs: vec![at(1, 7), at(3, 0)], ..strip() };
    let obj = WriteOptions::default();
    let lines = rest(&single(mesh.clone(), None), &obj);
    assert_eq!(lines, ["f 1 2 3", "s 7", "f 2 3 4", "f 3 4 5", "s 0", "f 4 5 6"]);
    let flags = Mesh { face_smooth: vec![0, 0, 9, 0].into(), ..mesh };
    let written = rest(&single(flags, None), &obj);
    assert_eq!(written, ["s 0", "f 1 2 3", "f 2 3 4", "s 1", "f 3 4 5", "s 0", "f 4 5 6"]);
}

/// An object without slots and flags must not have the material and the smoothing of the object before it.
#[test]
fn objects_inherit_no_material_and_no_smoothing() {
    let mut scene = single(Mesh { face_smooth: vec![1; 4].into(), ..strip() }, Some(vec![Some(0)]));
    scene.meshes.push(strip());
    for name in ["two", "three"] {
        let object = Object { transform: Some(IDENTITY), materials: Some(vec![]), ..named(name, 1, &scene) };
        scene.objects.push(object);
    }
    let lines = rest(&scene, &WriteOptions::default());
    assert_eq!(lines[..3], ["s 1", "usemtl red", "f 1 2 3"]);
    assert_eq!(lines[6..9], ["s 0", "usemtl (null)", "f 7 8 9"]);
    assert_eq!(lines.len(), 16);
    let mut blender = WriteOptions::default();
    blender.scene.dialect = Dialect::Blender;
    assert!(rest(&scene, &blender).iter().all(|line| line != "s 0" && line != "usemtl (null)"));
}

/// Without faces, the first slot is the material of lines and points, as in glTF files.
#[test]
fn lines_and_points_without_faces_have_the_material_of_the_first_slot() {
    let mut scene = single(strip(), Some(vec![Some(0)]));
    let lines = Elements { offsets: vec![0, 2].into(), corner_positions: vec![0, 1].into(), ..Elements::default() };
    scene.meshes.push(Mesh { faces: Elements::default(), lines, points: vec![2].into(), ..strip() });
    scene.meshes.push(Mesh { faces: Elements::default(), points: vec![3].into(), ..strip() });
    for (name, mesh, slot) in [("two", 1, Some(1)), ("three", 2, None), ("four", 1, None), ("five", 2, Some(0))] {
        let object = Object { transform: Some(IDENTITY), materials: Some(vec![slot]), ..named(name, mesh, &scene) };
        scene.objects.push(object);
    }
    let lines = rest(&scene, &WriteOptions::default());
    let expected = ["usemtl blue", "l 7 8", "p 9", "usemtl (null)", "p 16", "l 19 20", "p 21", "usemtl red", "p 28"];
    assert_eq!(lines[0], "usemtl red");
    assert_eq!(lines[5..], expected);
    let mut blender = WriteOptions::default();
    blender.scene.dialect = Dialect::Blender;
    assert_eq!(rest(&scene, &blender).iter().filter(|line| line.starts_with("usemtl")).count(), 1);
}

#[test]
fn group_runs_hold_where_no_vertex_groups_are_asked_for() {
    let weights = vec![1.0, 1.0, 1.0, f32::NAN, f32::NAN, f32::NAN].into();
    let vertex_groups = vec![VertexGroup { name: "the bone".into(), weights }];
    let groups = vec!["left arm".into()];
    let mesh = Mesh { group_runs: vec![at(1, 0), at(2, NONE)], groups, ..strip() };
    let obj = WriteOptions::default();
    let lines = rest(&single(mesh, None), &obj);
    assert_eq!(lines[..3], ["f 1 2 3", "g left arm", "f 2 3 4"]);
    assert!(lines[3].starts_with('g') && !lines[3].contains("left"), "{lines:?}");
    let mesh = Mesh { vertex_groups, ..strip() };
    let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_vertex_groups(true));
    let lines = rest(&single(mesh, None), &obj);
    assert_eq!(lines, ["g the bone", "f 1 2 3", "f 2 3 4", "f 3 4 5", "g off", "f 4 5 6"]);
}

/// A triangle touches the center of a closed fan without sharing an edge: as in Blender, the fan may have the
/// triangle's bit, but the triangle may not have the fan's.
#[test]
fn bits_differ_where_a_group_ends() {
    let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
    let written = |faces: Vec<[u32; 3]>| {
        let corner_positions = faces.into_flattened().into();
        let offsets = vec![0, 3, 6, 9, 12, 15].into();
        let faces = Elements { offsets, corner_positions, ..Elements::default() };
        let positions = (0..7).map(|i| [i as f32, 0.0, 0.0]).collect();
        let mesh = Mesh { positions, faces, face_smooth: vec![1; 5].into(), ..Mesh::default() };
        let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_smoothing(Smoothing::BitFlags));
        let lines = rest(&single(mesh, None), &obj);
        lines.into_iter().filter(|line| line.starts_with('s')).collect::<Vec<_>>()
    };
    assert_eq!(written([[0, 5, 6]].into_iter().chain(fan).collect()), ["s 1"]);
    assert_eq!(written(fan.into_iter().chain([[0, 5, 6]]).collect()), ["s 1", "s 2"]);
}

/// As in Blender: the first group contains the faces whose corners are members without weight.
#[test]
fn members_without_weight_are_in_the_first_group() {
    let group = |name: &str, weights: [f32; 6]| VertexGroup { name: name.into(), weights: weights.to_vec().into() };
    let first = group("first", [f32::NAN; 6]);
    let second = group("second", [0.0, f32::NAN, f32::NAN, f32::NAN, f32::NAN, 0.5]);
    let mesh = Mesh { vertex_groups: vec![first, second], ..strip() };
    let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_vertex_groups(true));
    let lines = rest(&single(mesh, None), &obj);
    assert_eq!(lines, ["g first", "f 1 2 3", "g off", "f 2 3 4", "f 3 4 5", "g second", "f 4 5 6"]);
}

/// Smoothing groups as in 3ds Max files: each side of a sharp edge has its own.
#[test]
fn smoothing_groups_end_at_sharp_edges_and_flat_faces() {
    let mesh = Mesh { face_smooth: vec![1; 4].into(), sharp_edges: vec![[3, 2]].into(), ..strip() };
    let groups = |mesh: &Mesh, smoothing| {
        let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_smoothing(smoothing));
        let lines = rest(&single(mesh.clone(), None), &obj);
        lines.into_iter().filter(|line| line.starts_with('s')).collect::<Vec<_>>()
    };
    assert_eq!(groups(&mesh, Smoothing::Groups), ["s 1", "s 2"]);
    assert_eq!(groups(&mesh, Smoothing::BitFlags), ["s 1", "s 2"]);
    let all_edges = Mesh { sharp_edges: vec![[1, 2], [2, 3], [3, 4]].into(), ..mesh.clone() };
    assert_eq!(groups(&all_edges, Smoothing::Groups), ["s 1", "s 2", "s 3", "s 4"]);
    // The fourth triangle shares positions only with the second and the third.
    assert_eq!(groups(&all_edges, Smoothing::BitFlags), ["s 1", "s 2", "s 4", "s 1"]);
    // A flat face has a number and a bit of its own.
    let flat = Mesh { face_smooth: vec![1, 0, 1, 1].into(), ..mesh };
    assert_eq!(groups(&flat, Smoothing::Groups), ["s 1", "s 0", "s 3"]);
    let first = Mesh { face_smooth: vec![0, 1, 1, 0].into(), ..flat };
    assert_eq!(groups(&first, Smoothing::Groups), ["s 0", "s 2", "s 3", "s 0"]);
    assert_eq!(groups(&first, Smoothing::BitFlags), ["s 0", "s 2", "s 4", "s 0"]);
}

/// Forty triangles around a position, each in its own group: more groups than bits.
#[test]
fn groups_beyond_the_last_bit_have_none() {
    let corners: Vec<u32> = (0..40).flat_map(|i| [0, 1 + 2 * i, 2 + 2 * i]).collect();
    let mesh = Mesh {
        positions: vec![[1.0; 3]; 81].into(),
        faces: Elements {
            offsets: (0..=40).map(|i| 3 * i).collect(),
            corner_positions: corners.into(),
            ..Elements::default()
        },
        face_smooth: vec![1; 40].into(),
        ..Mesh::default()
    };
    let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_smoothing(Smoothing::BitFlags));
    let written = text(&single(mesh, None), &with(&obj));
    let mut expected: Vec<_> = (0..32).map(|bit| format!("s {}", 1u32 << bit)).collect();
    expected.push("s 0".into());
    assert_eq!(lines(&written, "s"), expected);
}

#[test]
fn loose_edges_and_points_follow_the_faces() {
    let mut mesh = strip();
    mesh.lines.offsets = vec![0, 2, 5].into();
    mesh.lines.corner_positions = vec![0, 5, 1, 2, 3].into();
    mesh.points = vec![5, 0].into();
    let mut scene = single(mesh, None);
    scene.objects.push(Object { name: "two".into(), ..scene.objects[0].clone() });
    let lines = rest(&scene, &WriteOptions::default());
    assert_eq!(lines[4..8], ["l 1 6", "l 2 3 4", "p 6", "p 1"]);
    assert_eq!(lines[8..], ["f 7 8 9", "f 8 9 10", "f 9 10 11", "f 10 11 12", "l 7 12", "l 8 9 10", "p 12", "p 7"]);
}

#[test]
fn a_curve_is_moved_and_named_by_counting_backwards() {
    let curve = Curve {
        degree: 1,
        control_points: vec![0, 1, 2, 0],
        knots: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        range: [1.0, 4.0],
        at: Counts::default(),
        ..Curve::default()
    };
    let positions = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into();
    let mesh = Mesh { positions, curves: vec![curve], ..Mesh::default() };
    let mut scene = Scene { meshes: vec![strip(), mesh], axes: Axes::BLENDER, ..Scene::default() };
    let mut moved = IDENTITY;
    moved[2][3] = 2.0;
    let curve = named("the curve", 1, &scene);
    scene.objects = vec![
        Object { transform: Some(IDENTITY), ..named("mesh", 0, &scene) },
        Object { transform: Some(moved), kind: ObjectKind::Group, ..curve },
        Object { transform: Some(IDENTITY), ..named("mesh", 0, &scene) },
    ];
    let written = text(&scene, &plain());
    let start = written.find("g the curve").unwrap();
    let expected = "g the curve\ncstype bspline\ndeg 1\nv 1.000000 2.000000 0.000000\nv 0.000000 2.000000 -1.000000\n\
        v 0.000000 3.000000 0.000000\ncurv 1.000000 4.000000 -3 -2 -1 -3\n\
        parm u 0.000000 1.000000 2.000000 3.000000 4.000000 5.000000\nend\no mesh\n";
    assert!(written[start..].starts_with(expected), "{}", &written[start..]);
    assert!(written.ends_with("f 13 14 15\n"), "{written}");
}

/// A triangle, a curve over three positions, a triangle.
fn around_a_curve() -> Scene {
    let curve = Curve { degree: 1, control_points: vec![0, 1, 2], knots: vec![0.0; 5], ..Curve::default() };
    let mesh = Mesh { positions: vec![[1.0, 0.0, 0.0]; 3].into(), curves: vec![curve], ..Mesh::default() };
    let mut scene = Scene { meshes: vec![strip(), mesh], ..Scene::default() };
    let object = |mesh, scene: &Scene| Object { transform: Some(IDENTITY), ..named("o", mesh, scene) };
    scene.objects = vec![object(0, &scene), object(1, &scene), object(0, &scene)];
    scene
}

/// Indices stay valid, whatever is dropped.
#[test]
fn indices_stay_right_where_curves_are_left_out() {
    for export_curves in [true, false] {
        let obj = WriteOptions::default().with_obj(ObjWriteOptions::default().with_curves(export_curves));
        let written = text(&around_a_curve(), &with(&obj));
        let count = lines(&written, "v").len();
        let last = format!("f {} {} {}", count - 2, count - 1, count);
        assert_eq!(lines(&written, "f").last(), Some(&last.as_str()), "export_curves: {export_curves}\n{written}");
    }
}

/// A mesh may have more positions than its curves use, and faces that use them.
#[test]
fn positions_beside_curves_are_written() {
    for start in [0, 3] {
        let mut scene = around_a_curve();
        let mut mesh = strip();
        let at = Counts { positions: start, ..Counts::default() };
        let control_points = (start..start + 3).collect();
        mesh.curves = vec![Curve { degree: 1, control_points, knots: vec![0.0; 5], at, ..Curve::default() }];
        scene.meshes[1] = mesh;
        scene.objects[1].end = scene.meshes[1].counts();
        let written = text(&scene, &plain());
        assert_eq!((lines(&written, "v").len(), lines(&written, "f").len()), (18, 12), "{start}:\n{written}");
    }
}

/// A mesh without objects is written as if it had one: transformed once, with merged values.
#[test]
fn a_mesh_without_an_object_is_turned_once() {
    let mut mesh = strip();
    mesh.normals = vec![[0.0, 1.0, 0.0]; 12].into();
    mesh.normal_domain = Domain::Corner;
    let scene = Scene { meshes: vec![mesh], axes: Axes::BLENDER, ..Scene::default() };
    let obj = WriteOptions::default().with_scene(SceneWriteOptions::default().with_global_scale(10.0));
    let written = text(&scene, &with(&obj));
    assert_eq!(lines(&written, "v")[1], "v 10.000000 0.000000 -10.000000");
    assert_eq!(lines(&written, "vn"), ["vn -0.0000 -0.0000 -1.0000"]);
    assert_eq!(lines(&written, "f")[0], "f 1//1 2//1 3//1");
}

/// A mesh with evaluated and other objects: axes and scale must affect both.
#[test]
fn an_instance_as_read_is_turned_beside_an_evaluated_one() {
    let mut scene = Scene { meshes: vec![strip()], axes: Axes::BLENDER, ..Scene::default() };
    let plainly = named("as read", 0, &scene);
    scene.objects = vec![Object { transform: Some(IDENTITY), ..named("moved", 0, &scene) }, plainly];
    let obj = WriteOptions::default().with_scene(SceneWriteOptions::default().with_global_scale(10.0));
    let written = text(&scene, &with(&obj));
    let positions = lines(&written, "v");
    assert_eq!(positions[1], "v 10.000000 0.000000 -10.000000");
    assert_eq!(positions[7], "v 10.000000 0.000000 -10.000000", "the second object has other positions");
}

/// Written unescaped, each of these would be more than a name.
const NASTY: [&str; 10] = [
    "two\nv 9 9 9",
    "two\rv 9 9 9",
    "two\r\nv 9 9 9",
    "\nf 1 2 3",
    "end\n",
    "nul\0nul",
    "tail\\",
    "",
    "   ",
    "\u{85}\u{2028}",
];

#[track_caller]
fn check_names(what: &str, obj: &WriteOptions, place: impl Fn(&mut Scene, &str)) {
    for name in NASTY {
        let weights = vec![1.0; 6].into();
        let mesh = Mesh { vertex_groups: vec![VertexGroup { name: "bone".into(), weights }], ..strip() };
        let mut scene = single(mesh, Some(vec![Some(0)]));
        scene.objects.push(Object { name: "two".into(), ..scene.objects[0].clone() });
        place(&mut scene, name);
        let written = match try_bytes(&scene, &with(obj)) {
            Ok(written) => String::from_utf8(written).unwrap(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Usage, "{what} {name:?}");
                continue;
            }
        };
        let input = Input::Memory(written.clone().into_bytes(), "memory.obj".into());
        let again = polyhaul::Reader::new(input).scene();
        let again = again.unwrap_or_else(|error| panic!("{what} {name:?}: {error}\n{written}")).value;
        assert_eq!((again.meshes.len(), again.objects.len()), (1, 2), "{what} {name:?}:\n{written}");
        let counts = again.meshes[0].counts();
        assert_eq!((counts.positions, counts.faces), (12, 8), "{what} {name:?}:\n{written}");
        assert_eq!(lines(&written, "usemtl").len(), 2, "{what} {name:?}:\n{written}");
    }
}

#[test]
fn names_inject_nothing() {
    let vertex_groups = WriteOptions::default().with_obj(ObjWriteOptions::default().with_vertex_groups(true));
    let groups = WriteOptions::default()
        .with_obj(ObjWriteOptions::default().with_object_groups(true).with_material_groups(true));
    for obj in [&vertex_groups, &groups] {
        check_names("object", obj, |scene, name| scene.objects[0].name = name.into());
        check_names("mesh", obj, |scene, name| scene.objects[0].mesh_name = name.into());
        check_names("material", obj, |scene, name| scene.materials[0].name = name.into());
        check_names("bone", obj, |scene, name| scene.meshes[0].vertex_groups[0].name = name.into());
    }
}

#[test]
fn digits_are_those_asked_for() {
    for seed in 0..200 {
        let scene = scenes::scene(&mut Random::new(seed), Numbers::Tame);
        let digits = |digits| {
            WriteOptions::default().with_obj(
                ObjWriteOptions::default()
                    .with_position_digits(Some(Digits::Fixed(digits)))
                    .with_uv_digits(Some(Digits::Fixed(digits)))
                    .with_color_digits(Some(Digits::Fixed(digits))),
            )
        };
        for obj in [digits(0), digits(3), digits(12)] {
            let written = text(&scene, &with(&obj));
            compare(&format!("seed {seed}"), &written, &reference::write(&scene, &obj, None));
        }
    }
}

/// Shortest digits are lossless: positions and uvs read back with the same bits.
#[test]
fn shortest_digits_read_back() {
    let mut random = Random::new(7);
    let mut mesh = strip();
    mesh.positions = (0..6).map(|_| [random.unit(), random.unit() * 1e9, random.unit() * 1e-9]).collect();
    mesh.uvs = (0..12).map(|_| [random.unit(), random.unit()]).collect();
    mesh.normals = (0..12).map(|_| [random.unit(), random.unit(), random.unit()]).collect();
    mesh.uv_domain = Domain::Corner;
    mesh.normal_domain = Domain::Corner;
    let shortest = Digits::Shortest;
    let obj = WriteOptions::default().with_obj(
        ObjWriteOptions::default()
            .with_position_digits(Some(shortest))
            .with_uv_digits(Some(shortest))
            .with_normal_digits(Some(shortest)),
    );
    let written = bytes(&single(mesh.clone(), None), &with(&obj));
    let again = polyhaul::Reader::new(Input::Memory(written, "a.obj".into())).scene().unwrap().value;
    let again = &again.meshes[0];
    assert_eq!(again.positions, mesh.positions);
    assert_eq!(again.uvs, mesh.uvs);
    assert_eq!(again.normals.len(), 12);
    for (normal, given) in again.normals.iter().zip(&mesh.normals) {
        let square: f32 = normal.iter().map(|c| c * c).sum();
        assert!((square - 1.0).abs() < 1e-5, "{normal:?}");
        assert!(normal.iter().zip(given).all(|(a, b)| a * b >= 0.0), "{normal:?} {given:?}");
    }
}

#[test]
fn triangles_are_cut_before_anything_else() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut scene = scenes::scene(&mut random, Numbers::Tame);
        let obj = scenes::options(&mut random);
        let kinds: Vec<bool> = scene.objects.iter().map(|object| scene.is_evaluated(object)).collect();
        for (object, is_evaluated) in scene.objects.iter_mut().zip(kinds) {
            // The same object, still evaluated whatever happens to its mesh.
            object.transform = object.transform.or(is_evaluated.then_some(IDENTITY));
        }
        let mut cut = scene.clone();
        for (mesh, cut) in scene.meshes.iter().zip(&mut cut.meshes) {
            *cut = cut_as_blender(mesh);
        }
        for object in &mut cut.objects {
            object.end = cut.meshes[object.mesh].counts();
        }
        let with_triangles = obj.clone().with_scene(obj.scene.with_triangulate(true));
        let written = text(&scene, &with(&with_triangles));
        assert!(lines(&written, "f").iter().all(|face| face.split(' ').count() == 4));
        compare(&format!("seed {seed}"), &written, &reference::write(&cut, &obj, None));
    }
}

/// Triangulates a mesh as Blender does, from the rules alone, except polygons with more than four corners.
fn cut_as_blender(mesh: &Mesh) -> Mesh {
    let corners = mesh.faces.corner_positions.len();
    let numbers: Vec<[f32; 3]> = (0..corners).map(|corner| [corner as f32, 0.0, 0.0]).collect();
    let faces = Elements { corner_uvs: vec![].into(), corner_normals: vec![].into(), ..mesh.faces.clone() };
    let positions = mesh.positions.clone();
    let mut probe =
        Mesh { positions, faces, normals: numbers.into(), normal_domain: Domain::Corner, ..Mesh::default() };
    let map = probe.triangulate_with(&RunOptions::default()).unwrap();
    let old_corner = |corner: usize| match probe.normal_domain {
        Domain::Corner => corner,
        _ => probe.normals[probe.faces.corner_normals[corner] as usize][0] as usize,
    };
    let mut kept_triangles = vec![];
    let mut others = vec![];
    for face in 0..mesh.faces.len() {
        let corners = mesh.faces.corners(face);
        let mut triangles: Vec<[usize; 3]> = match corners.len() {
            4 => quad_triangles(mesh, corners.start)
                .map(|triangle| triangle.map(|corner| corners.start + corner))
                .to_vec(),
            _ => map
                .triangles(face as u32)
                .map(|triangle| [0, 1, 2].map(|i| old_corner(3 * triangle as usize + i)))
                .collect(),
        };
        let stays = if corners.len() == 4 { 0 } else { triangles.len() - 1 };
        kept_triangles.push((face, triangles.remove(stays)));
        others.extend(triangles.into_iter().map(|triangle| (face, triangle)));
    }
    kept_triangles.extend(others);
    let by_face = |face: usize, corner: usize, domain: Domain, stream: &[u32]| match domain {
        Domain::Indexed => stream.get(corner).copied(),
        Domain::Corner => Some(corner as u32),
        Domain::Face => Some(face as u32),
        Domain::Vertex => None,
    };
    let corner = || kept_triangles.iter().flat_map(|(face, triangle)| triangle.map(|corner| (*face, corner)));
    let mut cut = mesh.clone();
    cut.faces.offsets =
        if kept_triangles.is_empty() { vec![] } else { (0..=kept_triangles.len() as u32).map(|i| 3 * i).collect() }
            .into();
    cut.faces.corner_positions = corner().map(|(_, corner)| mesh.faces.corner_positions[corner]).collect();
    let attribute = |has: bool, domain: Domain, stream: &[u32]| -> Vec<u32> {
        if has { corner().filter_map(|(face, corner)| by_face(face, corner, domain, stream)).collect() } else { vec![] }
    };
    cut.faces.corner_uvs = attribute(!mesh.uvs.is_empty(), mesh.uv_domain, &mesh.faces.corner_uvs).into();
    cut.faces.corner_normals =
        attribute(!mesh.normals.is_empty(), mesh.normal_domain, &mesh.faces.corner_normals).into();
    let indexed = |domain: Domain| if domain == Domain::Vertex { domain } else { Domain::Indexed };
    cut.uv_domain = indexed(mesh.uv_domain);
    cut.normal_domain = indexed(mesh.normal_domain);
    cut.face_materials =
        kept_triangles.iter().filter_map(|(face, _)| mesh.face_materials.get(*face).copied()).collect();
    cut.face_smooth = kept_triangles.iter().filter_map(|(face, _)| mesh.face_smooth.get(*face).copied()).collect();
    cut
}

/// The two triangles of a quad, as corner numbers: the one that replaces the quad in the list of faces, and the one
/// added after all faces.
fn quad_triangles(mesh: &Mesh, first: usize) -> [[usize; 3]; 2] {
    let point = |i: usize| mesh.positions[mesh.faces.corner_positions[first + i] as usize].map(f64::from);
    let sub = |p: [f64; 3], q: [f64; 3]| [0, 1, 2].map(|i| p[i] - q[i]);
    let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    let cross =
        |u: [f64; 3], v: [f64; 3]| [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let unit = |v: [f64; 3]| v.map(|part| part / dot(v, v).sqrt());
    let even = [[0, 2, 3], [0, 1, 2]];
    let odd = [[1, 3, 0], [1, 2, 3]];
    let normal = cross(sub(point(0), point(2)), sub(point(1), point(3)));
    if dot(normal, normal) == 0.0 {
        return even;
    }
    // The corners in the plane across both diagonals.
    let along = unit(sub(point(0), point(2)));
    let across = cross(unit(normal), along);
    let flat = |i: usize| [dot(sub(point(i), point(0)), along), dot(sub(point(i), point(0)), across)];
    let area = |[a, b, c]: [usize; 3]| {
        let [a, b, c] = [flat(a), flat(b), flat(c)];
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let length = |a: usize, b: usize| (flat(a)[0] - flat(b)[0]).hypot(flat(a)[1] - flat(b)[1]);
    let shape =
        |[a, b, c]: [usize; 3]| area([a, b, c]).abs() / (length(a, b) + length(b, c) + length(c, a)).max(1e-300);
    let turned = |[a, b, c]: [usize; 3]| cross(sub(point(b), point(a)), sub(point(c), point(a)));
    let fold = |pair: [[usize; 3]; 2]| dot(turned(pair[0]), turned(pair[1])) < 0.0;
    let shapes = |pair: [[usize; 3]; 2]| shape(pair[0]) + shape(pair[1]);
    let is_odd = match (fold(even), fold(odd)) {
        (false, false) => shapes(odd) >= shapes(even) * (1.0 - 1e-6),
        (is_folded, other) => is_folded && !other,
    };
    if is_odd { odd } else { even }
}

/// Triangles have the slot, the flag and the values of the face they were cut from.
#[test]
fn triangles_keep_what_faces_have() {
    let mut mesh = Mesh {
        positions: [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]].map(|[x, y]| [x, y, 0.0]).into(),
        ..Mesh::default()
    };
    mesh.faces.offsets = vec![0, 5, 8].into();
    mesh.faces.corner_positions = vec![0, 1, 2, 3, 4, 4, 2, 1].into();
    mesh.uv_domain = Domain::Corner;
    mesh.normal_domain = Domain::Face;
    mesh.uvs = (0..8).map(|i| [i as f32, 0.5]).collect();
    mesh.normals = vec![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]].into();
    mesh.face_materials = vec![1, 0].into();
    mesh.face_smooth = vec![1, 0].into();
    let obj = WriteOptions::default().with_scene(SceneWriteOptions::default().with_triangulate(true));
    let written = rest(&single(mesh, Some(vec![Some(0), Some(1)])), &obj);
    let state: Vec<_> = written.iter().filter(|line| !line.starts_with('f') && !line.starts_with('v')).collect();
    assert_eq!(state, ["s 0", "usemtl red", "s 1", "usemtl blue"]);
    let faces: Vec<_> = written.iter().filter(|line| line.starts_with('f')).collect();
    assert_eq!(faces.len(), 4);
    let uvs: Vec<_> = written.iter().filter(|line| line.starts_with("vt")).collect();
    let corner = |corner: &str| {
        let [position, uv, normal] = corner.split('/').map(|n| n.parse::<usize>().unwrap()).collect::<Vec<_>>()[..]
        else {
            panic!("{corner}")
        };
        (position, uvs[uv - 1].as_str(), normal)
    };
    let corners: Vec<_> = faces.iter().flat_map(|face| face.split(' ').skip(1).map(corner)).collect();
    for (position, uv, normal) in &corners[3..] {
        assert_eq!((*uv, *normal), (format!("vt {}.000000 0.500000", position - 1).as_str(), 1), "{faces:?}");
    }
    let last = [(5, "vt 5.000000 0.500000", 2), (3, "vt 6.000000 0.500000", 2), (2, "vt 7.000000 0.500000", 2)];
    assert_eq!(corners[..3], last);
}

/// An object that is evaluated only because of its domains stays evaluated when its faces are triangulated.
#[test]
fn triangles_of_domains_are_still_merged() {
    let mut mesh = strip();
    mesh.normals = vec![[0.0, 0.0, 2.0]; 12].into();
    mesh.normal_domain = Domain::Corner;
    mesh.uvs = vec![[0.5, 0.5]; 12].into();
    mesh.uv_domain = Domain::Corner;
    let mut scene = Scene { meshes: vec![mesh], ..Scene::default() };
    scene.objects = vec![named("one", 0, &scene)];
    let obj = WriteOptions::default();
    let expected = rest(&scene, &obj);
    assert_eq!(expected[..2], ["vn -0.0000 -0.0000 1.0000", "vt 0.500000 0.500000"]);
    let obj = obj.clone().with_scene(obj.scene.with_triangulate(true));
    assert_eq!(rest(&scene, &obj), expected);
}
