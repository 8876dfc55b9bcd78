//! The material library: which materials appear, under which names, in which order.

use super::by_hand::{named, single, strip};
use super::scenes::{self, IDENTITY, Numbers};
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Array, Color, Material, Object, Run, Scene};
use polyhaul::options::{Dialect, ObjWriteOptions};

fn material(name: &str, red: f32) -> Material {
    Material { name: name.into(), diffuse: Some(Color::Rgb([red, 0.0, 0.0])), ..Material::default() }
}

/// Objects with these slots; each is the strip with slots 0, 1, 2 and 7 for its faces.
fn scene(materials: &[&str], slots: &[Option<Vec<Option<usize>>>]) -> Scene {
    let mut mesh = strip();
    mesh.face_materials = vec![0, 1, 2, 7].into();
    let mut scene = Scene { meshes: vec![mesh], ..Scene::default() };
    scene.materials = materials.iter().map(|name| material(name, 0.5)).collect();
    for slots in slots {
        let object = Object { transform: Some(IDENTITY), materials: slots.clone(), ..named("one", 0, &scene) };
        scene.objects.push(object);
    }
    scene
}

/// The `mtllib` line and the names in the library; `None` without a library.
fn written(scene: &Scene, obj: &WriteOptions) -> (Vec<String>, Option<Vec<String>>) {
    let folder = new_folder();
    polyhaul::Writer::new(folder.join("a.obj")).options(&with(obj)).scene(scene).unwrap();
    let words = |name: &str, keyword: &str| {
        let text = folder.text(name);
        lines(&text, keyword).into_iter().map(|line| line[keyword.len()..].trim_start().to_owned()).collect()
    };
    let has_library = folder.names().contains(&"a.mtl".into());
    (words("a.obj", "mtllib"), has_library.then(|| words("a.mtl", "newmtl")))
}

#[track_caller]
fn check(scene: &Scene, expected: &[&str]) {
    let (line, library) = written(scene, &WriteOptions::default());
    assert_eq!(line, ["a.mtl"]);
    assert_eq!(library.unwrap(), expected);
}

#[test]
fn materials_of_slots_by_name() {
    let names = ["zinc", "Alum", "not used", "\u{e9}tain", "brass"];
    check(&scene(&names, &[Some(vec![Some(0), Some(1)])]), &["Alum", "zinc"]);
    check(&scene(&names, &[Some(vec![Some(3), Some(1), Some(4)])]), &["Alum", "brass", "\u{e9}tain"]);
    // Blender writes the materials in slots, whether a face uses them or not.
    check(&scene(&names, &[Some(vec![Some(3), None, None, Some(2)])]), &["not_used", "\u{e9}tain"]);
    check(&scene(&names, &[Some(vec![Some(0)]), None, Some(vec![None, Some(4)])]), &["brass", "zinc"]);
    // One material in two slots, and in two objects.
    check(&scene(&names, &[Some(vec![Some(0), Some(0)]), Some(vec![Some(0)])]), &["zinc"]);
}

#[test]
fn names_are_those_of_usemtl() {
    let names = ["two words", "a\tb", "tail "];
    let scene = scene(&names, &[Some(vec![Some(0), Some(1), Some(2)])]);
    check(&scene, &["a\tb", "tail_", "two_words"]);
    let written = text(&scene, &plain());
    assert_eq!(lines(&written, "usemtl"), ["usemtl two_words", "usemtl a\tb", "usemtl tail_", "usemtl (null)"]);
}

/// Names are sorted as written: `a_b` after `aab`, although a space sorts before everything.
#[test]
fn renamed_materials_sort_by_their_new_name() {
    check(&scene(&["a b", "aZb", "aab"], &[Some(vec![Some(0), Some(1), Some(2)])]), &["aZb", "a_b", "aab"]);
}

#[test]
fn without_slots_there_is_an_empty_library_in_blenders_dialect_alone() {
    let mut blender = WriteOptions::default();
    blender.scene.dialect = Dialect::Blender;
    for scene in
        [scene(&["red"], &[Some(vec![])]), scene(&[], &[Some(vec![None])]), scene(&["red"], &[None, Some(vec![])])]
    {
        assert_eq!(written(&scene, &blender), (vec!["a.mtl".to_owned()], Some(vec![])));
        assert_eq!(written(&scene, &WriteOptions::default()), (vec![], None));
    }
}

#[test]
fn where_nobody_speaks_of_materials_there_is_no_library() {
    let (line, library) = written(&scene(&[], &[None, None]), &WriteOptions::default());
    assert_eq!((line.len(), library), (0, None));
    // Materials without references belong to no object.
    let (line, library) = written(&scene(&["red"], &[None]), &WriteOptions::default());
    assert_eq!((line.len(), library), (0, None));
    let off = WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false));
    let (line, library) = written(&scene(&["red"], &[Some(vec![Some(0)])]), &off);
    assert_eq!((line.len(), library), (0, None));
}

#[test]
fn faces_without_slots_use_the_first() {
    let mut red_blue = scene(&["red", "blue"], &[Some(vec![Some(1), Some(0)])]);
    red_blue.meshes[0].face_materials = Array::default();
    check(&red_blue, &["blue", "red"]);
    assert_eq!(lines(&text(&red_blue, &plain()), "usemtl"), ["usemtl blue"]);
    let mut none = red_blue.clone();
    none.meshes[0].faces = Default::default();
    none.objects[0].end = none.meshes[0].counts();
    check(&none, &["blue", "red"]);
}

#[test]
fn runs_and_objects_as_read_bring_their_materials() {
    let mut runs = single(strip(), None);
    runs.meshes[0].material_runs = vec![Run { value: 1, ..Run::default() }];
    check(&runs, &["blue"]);
    // A scene from a file keeps its complete library.
    let mut mixed = scene(&["two words", "unused"], &[Some(vec![Some(0)])]);
    mixed.meshes.push(strip());
    let as_read = named("as read", 1, &mixed);
    mixed.objects.push(as_read);
    let (_, library) = written(&mixed, &WriteOptions::default());
    let library = library.unwrap();
    assert!(library.contains(&"two_words".into()) && library.contains(&"unused".into()), "{library:?}");
}

/// Two materials whose written names are equal both keep their properties.
#[test]
fn one_definition_for_each_name() {
    let mut scene = scene(&["a b", "a_b"], &[Some(vec![Some(0), Some(1)])]);
    scene.materials[1].diffuse = Some(Color::Rgb([1.0, 1.0, 1.0]));
    check(&scene, &["a_b", "a_b.001"]);
    scene.materials[1] = Material { name: "a_b".into(), ..scene.materials[0].clone() };
    check(&scene, &["a_b", "a_b.001"]);
}

/// A stream cannot store a library; its name is only written if the scene has one.
#[test]
fn a_stream_names_the_library_that_the_scene_names() {
    let mut scene = scene(&["red"], &[Some(vec![Some(0)])]);
    assert_eq!(lines(&text(&scene, &plain()), "mtllib").len(), 0);
    scene.material_libraries = vec!["all.mtl".into()];
    assert_eq!(lines(&text(&scene, &plain()), "mtllib"), ["mtllib all.mtl"]);
}

#[test]
fn a_compressed_scene_has_a_plain_library() {
    let scene = scene(&["red"], &[Some(vec![Some(0)])]);
    let folder = new_folder();
    polyhaul::Writer::new(folder.join("a.obj.gz")).scene(&scene).unwrap();
    assert_eq!(folder.names(), ["a.mtl", "a.obj.gz"]);
    assert!(folder.text("a.mtl").contains("newmtl red\nKd 0.500000 0.000000 0.000000\n"), "{}", folder.text("a.mtl"));
}

/// Material name of each face, as read.
fn face_materials(scene: &Scene) -> Vec<String> {
    let mesh = &scene.meshes[0];
    let of_face = |face: u32| {
        let run = mesh.material_runs.iter().rfind(|run| run.at.faces <= face);
        run.and_then(|run| scene.materials.get(run.value as usize)).map_or("", |material| &material.name).to_owned()
    };
    (0..mesh.faces.len() as u32).map(of_face).collect()
}

#[test]
fn materials_come_back_defined() {
    let mut slots_seen = 0;
    for seed in 0..120 {
        let mut scene = scenes::scene(&mut Random::new(seed), Numbers::Tame);
        // Without slots, a face has the last material before it, in Blender's files too.
        scene.objects.retain(|object| object.materials.as_ref().is_some_and(|slots| !slots.is_empty()));
        let folder = new_folder();
        polyhaul::Writer::new(folder.join("a.obj")).options(&plain()).scene(&scene).unwrap();
        let again = polyhaul::read(folder.join("a.obj")).unwrap();
        let mut expected = Vec::new();
        for object in &scene.objects {
            let mesh = &scene.meshes[object.mesh];
            let slot = |face: usize| mesh.face_materials.get(face).copied().unwrap_or(0);
            let mut faces: Vec<usize> = (0..mesh.faces.len()).collect();
            faces.sort_by_key(|&face| slot(face));
            expected.extend(faces.into_iter().map(|face| {
                let index = usize::try_from(slot(face)).ok();
                let material = index.and_then(|index| *object.materials.as_ref().unwrap().get(index)?);
                material.map_or(String::new(), |material| scene.materials[material].name.replace(' ', "_"))
            }));
        }
        slots_seen += expected.iter().filter(|name| !name.is_empty()).count();
        if !expected.is_empty() {
            assert_eq!(face_materials(&again), expected, "seed {seed}");
        }
        assert!(again.materials.iter().all(|material| !material.missing || material.name.is_empty()), "seed {seed}");
    }
    assert!(slots_seen > 100, "{slots_seen}");
}
