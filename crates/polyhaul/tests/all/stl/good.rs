//! Valid files and their content.

use crate::stl::*;
use polyhaul::inspect;
use polyhaul::model::Scene;
use polyhaul::model::{Domain, ObjectKind, Values};

fn warnings(loaded: &Loaded<Scene>) -> Vec<&'static str> {
    loaded.report.warnings.counts().keys().copied().collect()
}

#[test]
fn both_kinds_say_the_same() {
    let binary = load(file("good/cube_binary.stl")).unwrap();
    let mesh = &binary.value.meshes[0];
    assert_eq!((mesh.positions.len(), mesh.faces.len(), mesh.normals.len()), (36, 12, 12));
    assert_eq!(mesh.positions[..3], [[0.0; 3], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]);
    assert_eq!((mesh.normal_domain, mesh.normals[0]), (Domain::Face, [0.0, 0.0, -1.0]));
    assert!(mesh.faces.corner_positions.iter().copied().eq(0..36));
    assert!(mesh.face_columns.is_empty());
    assert_eq!(binary.value.comments, ["a cube"]);
    for name in ["good/cube_ascii.stl", "good/crlf_upper.stl", "good/solid_binary.stl", "good/no_endsolid.stl"] {
        assert!(load(file(name)).unwrap().value.meshes == binary.value.meshes, "{name}");
        let streamed = polyhaul::Reader::new(stream(file(name))).scene().unwrap();
        assert!(streamed.value.meshes == binary.value.meshes, "{name}");
    }
    assert!(warnings(&binary).is_empty());
}

#[test]
fn solids_are_objects() {
    let scene = load(file("good/two_solids.stl")).unwrap().value;
    let objects: Vec<_> = scene.objects.iter().map(|object| (&*object.name, object.mesh, object.end.faces)).collect();
    assert_eq!(objects, [("bottom part", 0, 2), ("lid", 1, 3)]);
    assert_eq!(scene.meshes[1].normals[0], [0.0, 0.0, 1.0]);
    assert_eq!(scene.meshes[1].faces.corner_positions[..4], [0, 1, 2, 3]);
    let cube = load(file("good/cube_binary.stl")).unwrap().value;
    assert_eq!(cube.objects[0].kind, ObjectKind::Unnamed);
    // Written as OBJ, it is a regular scene.
    let obj = polyhaul_testkit::output::text(&scene, &Default::default());
    assert_eq!(obj.lines().filter(|line| line.starts_with("o ")).count(), 2);
}

#[test]
fn attributes_are_kept() {
    let loaded = load(file("good/attributes.stl")).unwrap();
    let column = &loaded.value.meshes[0].face_columns[0];
    let expected = [0, 0, 0x801f].into_iter().chain((0..9).map(|i| i * 1000)).collect();
    assert_eq!((&*column.name, &column.values), ("attribute", &Values::U16(expected)));
    assert!(warnings(&loaded).is_empty());
    assert_eq!(loaded.value.comments, ["COLOR=\u{ff}\u{80}"]);
}

#[test]
fn welding_is_asked_for() {
    for name in ["good/cube_binary.stl", "good/cube_ascii.stl", "good/attributes.stl"] {
        let scene = load_with(file(name), &welded()).unwrap().value;
        let mesh = &scene.meshes[0];
        let loose = &load(file(name)).unwrap().value.meshes[0];
        assert_eq!((mesh.positions.len(), mesh.faces.len()), (8, 12));
        for (corner, &position) in mesh.faces.corner_positions.iter().enumerate() {
            assert_eq!(mesh.positions[position as usize], loose.positions[corner]);
        }
        assert_eq!(scene.objects[0].end.positions, 8);
    }
}

#[test]
fn oddities_are_noted() {
    for (name, code, faces) in
        [("good/no_endsolid.stl", "missing-endsolid", 12), ("good/trailing.stl", "trailing-bytes", 12)]
    {
        let loaded = load(file(name)).unwrap();
        assert_eq!((warnings(&loaded), loaded.value.meshes[0].faces.len()), (vec![code], faces));
        let strict = ReadOptions::default().with_strict(true);
        assert!(load_with(file(name), &strict).is_err());
        assert_eq!(warnings(&polyhaul::Reader::new(stream(file(name))).scene().unwrap()), [code]);
    }
    for name in ["good/empty_ascii.stl", "good/empty_binary.stl"] {
        let loaded = load(file(name)).unwrap();
        assert_eq!((loaded.value.meshes[0].faces.len(), warnings(&loaded).len()), (0, 0), "{name}");
    }
    let many = b"solid a\nendsolid\nsolid b\nendsolid b\n".to_vec();
    let loaded = load(many).unwrap();
    assert_eq!((&*loaded.value.objects[0].name, warnings(&loaded)), ("b", vec!["empty-solid"]));
    let last = [file("good/two_solids.stl"), b"solid c\nendsolid c\n".to_vec()].concat();
    let loaded = load(last).unwrap();
    assert_eq!((loaded.value.objects.len(), warnings(&loaded)), (2, vec!["empty-solid"]));
}

#[test]
fn statements_need_no_lines_of_their_own() {
    let mesh = &load(file("good/one_line.stl")).unwrap().value.meshes[0];
    assert_eq!(mesh.positions, load(file("good/cube_ascii.stl")).unwrap().value.meshes[0].positions[..9]);
    let nan = &load(file("good/nan.stl")).unwrap().value.meshes[0];
    assert!(nan.normals[0][0].is_nan() && nan.positions[1] == [f32::INFINITY, 0.0, f32::NEG_INFINITY]);
}

#[test]
fn it_is_inspected_like_any_scene() {
    let input = |name: &str| Input::Path(corpus::root().join("stl").join(name));
    let (inventory, report) = inspect::info(input("good/two_solids.stl"), &ReadOptions::default()).unwrap();
    assert_eq!((inventory.contents.triangles, inventory.contents.objects), (5, 2));
    assert_eq!(inventory.object_names, ["bottom part", "lid"]);
    assert!(report.bytes_in > 500);
    assert!(inspect::validate(input("good/cube_binary.stl"), &ReadOptions::default()).unwrap().valid);
    let validation = inspect::validate(input("bad/nested.stl"), &ReadOptions::default()).unwrap();
    assert!(!validation.valid && validation.error.unwrap().place().line == Some(8));
}

#[test]
fn welding_is_the_same_everywhere() {
    let cube = file("good/cube_binary.stl");
    let many: Vec<u8> = {
        let facets = cube[84..].repeat(200);
        let mut bytes = cube[..80].to_vec();
        bytes.extend((facets.len() as u32 / 50).to_le_bytes());
        bytes.extend(facets);
        bytes
    };
    let expected = load_with(many.clone(), &welded()).unwrap().value;
    assert_eq!(expected.meshes[0].positions.len(), 8);
    for count in [2, 7] {
        let options = welded().with_run(run(count, Some(999)));
        assert!(load_with(many.clone(), &options).unwrap().value == expected);
    }
}
