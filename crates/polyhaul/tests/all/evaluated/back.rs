//! What was written reads back: positions, faces with their values, materials, smoothing.

use super::scenes::{self, Numbers};
use super::support::*;
use polyhaul::Input;
use polyhaul::WriteOptions;
use polyhaul::model::{Axes, Domain, Mesh, NONE, Scene};
use polyhaul::options::SceneWriteOptions;

/// The uv of a corner, as an evaluated mesh says it.
fn uv(mesh: &Mesh, face: usize, corner: usize) -> Option<[f32; 2]> {
    let place = match mesh.uv_domain {
        Domain::Indexed => *mesh.faces.corner_uvs.get(corner).filter(|place| **place != NONE)? as usize,
        Domain::Corner => corner,
        Domain::Vertex => mesh.faces.corner_positions[corner] as usize,
        Domain::Face => face,
    };
    mesh.uvs.get(place).copied()
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-6 + 1e-6 * b.abs()
}

/// All faces of a scene that nothing turns or sorts: corners with positions and uvs, and flags.
fn check(scene: &Scene, again: &Scene, what: &str) {
    let read = &again.meshes[0];
    let mut positions = 0;
    let mut faces = 0;
    assert_eq!(again.objects.len(), scene.objects.len(), "{what}");
    for object in &scene.objects {
        let mesh = &scene.meshes[object.mesh];
        for (i, given) in mesh.positions.iter().enumerate() {
            let position = read.positions[positions + i];
            assert!(position.iter().zip(given).all(|(a, b)| near(*a, *b)), "{what}: {position:?}, {given:?}");
        }
        for face in 0..mesh.faces.len() {
            let given = mesh.faces.corners(face);
            let corners = read.faces.corners(faces + face);
            assert_eq!(given.len(), corners.len(), "{what}");
            for (given, corner) in given.zip(corners) {
                let position = mesh.faces.corner_positions[given] as usize + positions;
                assert_eq!(read.faces.corner_positions[corner] as usize, position, "{what}");
                let read_uv = uv(read, 0, corner);
                match (uv(mesh, face, given), read_uv) {
                    (Some([a, b]), Some([c, d])) => assert!(near(c, a) && near(d, b), "{what}"),
                    (given, read_uv) => assert_eq!(given, read_uv, "{what}"),
                }
            }
        }
        positions += mesh.positions.len();
        faces += mesh.faces.len();
    }
    assert_eq!((read.positions.len(), read.faces.len()), (positions, faces), "{what}");
}

#[test]
fn positions_faces_and_uvs_come_back() {
    for seed in 0..300 {
        let mut scene = scenes::scene(&mut Random::new(seed), Numbers::Tame);
        scene.axes = Axes::OBJ;
        for mesh in &mut scene.meshes {
            mesh.face_materials = Default::default();
        }
        for object in &mut scene.objects {
            object.transform = None;
        }
        let written =
            bytes(&scene, &with(&WriteOptions::default().with_scene(SceneWriteOptions::default().with_normals(false))));
        let input = Input::Memory(written, "memory.obj".into());
        let again = polyhaul::Reader::new(input).scene().unwrap().value;
        check(&scene, &again, &format!("seed {seed}"));
    }
}

/// Per face the name of its material, from what was read.
fn materials(scene: &Scene) -> Vec<String> {
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
        // Without slots a face has the material before it, in Blender's files too.
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
                let place = usize::try_from(slot(face)).ok();
                let material = place.and_then(|place| *object.materials.as_ref().unwrap().get(place)?);
                material.map_or(String::new(), |material| scene.materials[material].name.replace(' ', "_"))
            }));
        }
        slots_seen += expected.iter().filter(|name| !name.is_empty()).count();
        if !expected.is_empty() {
            assert_eq!(materials(&again), expected, "seed {seed}");
        }
        assert!(again.materials.iter().all(|material| !material.missing || material.name.is_empty()), "seed {seed}");
    }
    assert!(slots_seen > 100, "{slots_seen}");
}
