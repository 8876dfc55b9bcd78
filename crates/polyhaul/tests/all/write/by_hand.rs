//! Scenes that no file contains: several meshes, instances, sections, and names that would inject lines.

use super::meaning::meaning;
use super::support::*;
use polyhaul::ErrorKind;
use polyhaul::model::{Counts, Curve, Elements, Material, Mesh, Object, ObjectKind, Run, Scene, TextureMap};

/// A fault, and how to create it.
type Fault = (&'static str, fn(&mut Mesh));
/// A string in a material.
type Place = (&'static str, fn(&mut Material, String));

/// Two triangles over four positions, with a uv and a normal each.
fn mesh(shift: f32) -> Mesh {
    Mesh {
        positions: [0.0, 1.0, 2.0, 3.0].map(|x| [x + shift, 0.0, 0.0]).to_vec().into(),
        uvs: vec![[0.5, shift]].into(),
        normals: vec![[0.0, 1.0, 0.0]].into(),
        faces: Elements {
            offsets: vec![0, 3, 6].into(),
            corner_positions: vec![0, 1, 2, 1, 2, 3].into(),
            corner_uvs: vec![0; 6].into(),
            corner_normals: vec![0; 6].into(),
        },
        ..Mesh::default()
    }
}

/// The same with a material.
fn painted(shift: f32) -> Mesh {
    Mesh { material_runs: vec![Run { at: Counts::default(), value: 0 }], ..mesh(shift) }
}

fn object(name: &str, mesh: usize, start: Counts, end: Counts) -> Object {
    Object { name: name.into(), kind: ObjectKind::Object, mesh, start, end, ..Object::default() }
}

fn whole(name: &str, mesh: usize) -> Object {
    object(name, mesh, Counts::default(), self::mesh(0.0).counts())
}

#[track_caller]
fn check(scene: &Scene) -> String {
    let written = text(scene, &plain());
    let again = parse(written.as_str()).unwrap_or_else(|error| panic!("{error}\n{written}"));
    let reread = meaning(&again);
    let expected = meaning(scene);
    assert!(reread == expected, "{}\n{written}", difference(&reread, &expected));
    written
}

#[test]
fn nothing_is_nothing() {
    let scenes = [
        Scene::default(),
        Scene { meshes: vec![Mesh::default()], ..Scene::default() },
        Scene { meshes: vec![Mesh::default()], objects: vec![Object::default(); 3], ..Scene::default() },
    ];
    for scene in scenes {
        assert_eq!(text(&scene, &plain()), "o \n".repeat(scene.objects.len()));
    }
}

#[test]
fn meshes_without_objects_follow_one_another() {
    let scene = Scene { meshes: vec![mesh(0.0), mesh(5.0)], ..Scene::default() };
    let written = text(&scene, &plain());
    assert_eq!(
        lines(&written, "f"),
        ["f 1/1/1 2/1/1 3/1/1", "f 2/1/1 3/1/1 4/1/1", "f 5/2/2 6/2/2 7/2/2", "f 6/2/2 7/2/2 8/2/2"]
    );
}

#[test]
fn meshes_with_an_object_each() {
    let scene =
        Scene { meshes: vec![mesh(0.0), mesh(5.0)], objects: vec![whole("a", 1), whole("b", 0)], ..Scene::default() };
    check(&scene);
}

#[test]
fn an_instance_is_written_twice() {
    let scene = Scene { meshes: vec![mesh(0.0)], objects: vec![whole("a", 0), whole("b", 0)], ..Scene::default() };
    let written = check(&scene);
    assert_eq!((lines(&written, "v").len(), lines(&written, "f").len()), (8, 4));
    assert_eq!(lines(&written, "f")[3], "f 6/2/2 7/2/2 8/2/2");
}

/// A mesh of two objects, each with everything that its faces use.
fn halves() -> Scene {
    let mut both = mesh(0.0);
    let other = mesh(5.0);
    both.positions.to_mut().unwrap().extend(&other.positions);
    both.uvs.to_mut().unwrap().extend(&other.uvs);
    both.normals.to_mut().unwrap().extend(&other.normals);
    both.faces.offsets.to_mut().unwrap().extend([9, 12]);
    both.faces.corner_positions.to_mut().unwrap().extend([4, 5, 6, 5, 6, 7]);
    both.faces.corner_uvs.to_mut().unwrap().extend([1; 6]);
    both.faces.corner_normals.to_mut().unwrap().extend([1; 6]);
    both.material_runs =
        vec![Run { at: Counts::default(), value: 0 }, Run { at: Counts { faces: 3, ..Counts::default() }, value: 1 }];
    let middle = mesh(0.0).counts();
    let end = both.counts();
    let objects = vec![object("first", 0, Counts::default(), middle), object("second", 0, middle, end)];
    let materials = ["red", "blue"].map(|name| Material { name: name.into(), ..Material::default() }).to_vec();
    Scene { meshes: vec![both], objects, materials, ..Scene::default() }
}

#[test]
fn a_part_of_a_mesh_can_be_written_alone() {
    let mut scene = halves();
    check(&scene);
    scene.objects.remove(0);
    let written = check(&scene);
    assert_eq!(lines(&written, "f"), ["f 1/1/1 2/1/1 3/1/1", "f 2/1/1 3/1/1 4/1/1"]);
    assert_eq!(lines(&written, "usemtl"), ["usemtl red", "usemtl blue"]);
}

#[test]
fn parts_may_come_in_any_order() {
    let mut scene = halves();
    scene.objects.swap(0, 1);
    check(&scene);
    scene.objects.push(scene.objects[0].clone());
    check(&scene);
    scene.meshes.push(painted(9.0));
    scene.objects.insert(1, whole("between", 1));
    check(&scene);
}

#[test]
fn a_mesh_between_the_parts_of_another() {
    let mut scene = halves();
    scene.meshes.push(painted(9.0));
    scene.objects.insert(1, whole("between", 1));
    check(&scene);
    // The second half uses a position of the first, which requires that nothing is written between.
    scene.meshes[0].faces.corner_positions.to_mut().unwrap()[6] = 0;
    assert_eq!(try_bytes(&scene, &plain()).unwrap_err().kind(), ErrorKind::Usage);
    scene.objects.remove(1);
    check(&Scene { meshes: scene.meshes[..1].to_vec(), ..scene });
}

/// Using an element of another object is an error if that object is not written.
#[test]
fn elements_of_others_are_refused() {
    let faults: [Fault; 6] = [
        ("a position", |mesh| mesh.faces.corner_positions.to_mut().unwrap()[7] = 3),
        ("a uv", |mesh| mesh.faces.corner_uvs.to_mut().unwrap()[7] = 0),
        ("a normal", |mesh| mesh.faces.corner_normals.to_mut().unwrap()[7] = 0),
        ("a position of a line", |mesh| {
            mesh.lines =
                Elements { offsets: vec![0, 2].into(), corner_positions: vec![5, 3].into(), ..Elements::default() };
        }),
        ("a position of a point", |mesh| mesh.points = vec![3].into()),
        ("a position of a curve", |mesh| {
            let at = mesh.counts();
            mesh.curves =
                vec![Curve { degree: 1, control_points: vec![3, 5], knots: vec![0.0; 4], at, ..Curve::default() }];
        }),
    ];
    for (what, fault) in faults {
        let mut scene = halves();
        fault(&mut scene.meshes[0]);
        scene.objects[1].end = scene.meshes[0].counts();
        scene.objects.remove(0);
        let written = try_bytes(&scene, &plain());
        let kind =
            written.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Usage), "{what}");
    }
}

/// The state of one mesh must not leak into the next.
#[test]
fn a_mesh_without_state_has_none() {
    let mut first = mesh(0.0);
    first.groups = vec!["left".into()];
    let at_once = Run { at: Counts::default(), value: 0 };
    first.material_runs = vec![at_once];
    first.group_runs = vec![at_once];
    first.smoothing_runs = vec![Run { value: 7, ..at_once }];
    let materials = vec![Material { name: "red".into(), ..Material::default() }];
    let meshes = vec![first, mesh(5.0)];
    let objects = vec![whole("a", 0), whole("b", 1)];
    check(&Scene { meshes, objects, materials, ..Scene::default() });
}

#[test]
fn sections_that_do_not_exist_are_refused() {
    let faults: [fn(&mut Object); 5] = [
        |object| object.mesh = 1,
        |object| object.mesh = usize::MAX,
        |object| object.end.faces = 3,
        |object| object.end.positions = u32::MAX,
        |object| (object.start.uvs, object.end.uvs) = (1, 0),
    ];
    for fault in faults {
        let mut scene = Scene { meshes: vec![mesh(0.0)], objects: vec![whole("a", 0)], ..Scene::default() };
        fault(&mut scene.objects[0]);
        assert_eq!(try_bytes(&scene, &plain()).unwrap_err().kind(), ErrorKind::Usage);
    }
}

/// Written unescaped, each of these would be more than a name.
const NASTY: [&str; 9] = [
    "two\nv 9 9 9",
    "two\rv 9 9 9",
    "two\r\nv 9 9 9",
    "\nf 1 2 3",
    "end\n",
    "nul\0nul",
    "tail\\",
    " ",
    "\u{85}\u{2028}",
];

/// Writes a scene with a hostile name somewhere: an error, or a file with the same faces and positions and as many
/// names.
#[track_caller]
fn check_names(what: &str, place: impl Fn(&mut Scene, &str)) {
    for name in NASTY {
        let mut scene = halves();
        scene.meshes[0].groups = vec!["left".into()];
        scene.meshes[0].group_runs = scene.meshes[0].material_runs[..1].to_vec();
        scene.material_libraries = vec!["all.mtl".into()];
        place(&mut scene, name);
        let written = match try_bytes(&scene, &plain()) {
            Ok(written) => String::from_utf8(written).unwrap(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Usage, "{what} {name:?}");
                continue;
            }
        };
        let again = parse(written.as_str()).unwrap_or_else(|error| panic!("{what} {name:?}: {error}\n{written}"));
        assert_eq!(again.totals(), scene.totals(), "{what} {name:?}:\n{written}");
        assert_eq!(again.meshes[0].faces, scene.meshes[0].faces, "{what} {name:?}:\n{written}");
        assert_eq!(again.objects.len(), 2, "{what} {name:?}:\n{written}");
        assert_eq!(lines(&written, "usemtl").len(), 2, "{what} {name:?}:\n{written}");
    }
}

#[test]
fn names_inject_nothing() {
    check_names("object", |scene, name| scene.objects[0].name = name.into());
    check_names("group", |scene, name| scene.meshes[0].groups[0] = name.into());
    check_names("material", |scene, name| scene.materials[0].name = name.into());
    check_names("library", |scene, name| scene.material_libraries[0] = name.into());
}

/// A library with a hostile string somewhere has the same materials when it is read again.
#[test]
fn materials_inject_nothing() {
    let places: [Place; 6] = [
        ("name", |material, text| material.name = text),
        ("statement", |material, text| material.other = vec![text]),
        ("file", |material, text| material.maps[0].file = text),
        ("keyword", |material, text| material.maps[0].keyword = text),
        ("projection", |material, text| material.maps[0].projection = Some(text)),
        ("color space", |material, text| material.maps[0].color_space = Some(text)),
    ];
    for (what, place) in places {
        for text in NASTY.map(|text| text.replace("v 9 9 9", "newmtl extra").replace("f 1 2 3", "newmtl extra")) {
            if what == "name" && text.trim().is_empty() {
                // A name of white space cannot be written.
                continue;
            }
            let mut scene = halves();
            scene.materials[0].maps = vec![TextureMap { file: "wood.png".into(), ..TextureMap::default() }];
            place(&mut scene.materials[0], text.clone());
            let folder = new_folder();
            if let Err(error) = polyhaul::Writer::new(folder.join("a.obj")).options(&plain()).scene(&scene) {
                assert_eq!((error.kind(), folder.names()), (ErrorKind::Usage, vec![]), "{what} {text:?}");
                continue;
            }
            let library = folder.text("a.mtl");
            let again = polyhaul::read(folder.join("a.obj"));
            let again = again.unwrap_or_else(|error| panic!("{what} {text:?}: {error}\n{library}"));
            let materials: Vec<_> = again.materials.iter().map(|material| (&material.name, material.missing)).collect();
            let is_found = materials.len() == 2 && materials.iter().all(|(_, missing)| !missing);
            assert!(is_found, "{what} {text:?}: {materials:?}\n{library}");
            assert_eq!(again.totals(), scene.totals(), "{what} {text:?}");
        }
    }
}

/// Characters that a file cannot represent: white space around a name.
#[test]
fn blanks_around_names_change_no_more_than_the_name() {
    let mut scene = halves();
    scene.objects[0].name = "  a  ".into();
    scene.materials[0].name = "\tred ".into();
    let again = read(text(&scene, &plain()));
    assert_eq!(again.totals(), scene.totals());
    assert_eq!((again.objects.len(), again.materials.len()), (2, 2));
}
