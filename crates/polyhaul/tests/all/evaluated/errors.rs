//! Scenes that break a rule, failing writers, cancelled writes: an error, and no partial output.

use super::by_hand::{named, single, strip};
use super::scenes::IDENTITY;
use super::support::*;
use polyhaul::ErrorKind;
use polyhaul::model::{Array, Domain, Mesh, Object, Scene, VertexGroup};
use std::fs;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A mesh with all arrays per domain, face or position.
fn full() -> Mesh {
    let mut mesh = strip();
    mesh.uv_domain = Domain::Corner;
    mesh.normal_domain = Domain::Vertex;
    mesh.uvs = (0..12).map(|i| [i as f32, 0.0]).collect();
    mesh.normals = vec![[0.0, 0.0, 1.0]; 6].into();
    mesh.face_materials = vec![0, 1, 0, 1].into();
    mesh.face_smooth = vec![0, 1, 0, 1].into();
    mesh.colors = vec![[0.5; 4]; 6].into();
    mesh.sharp_edges = vec![[0, 5]].into();
    mesh.lines.offsets = vec![0, 2].into();
    mesh.lines.corner_positions = vec![4, 5].into();
    mesh.points = vec![3].into();
    mesh.vertex_groups = vec![VertexGroup { name: "bone".into(), weights: vec![1.0; 6].into() }];
    mesh
}

/// Two valid objects, the second of mesh 1.
fn good() -> Scene {
    let mut scene = single(full(), Some(vec![Some(0), Some(1)]));
    scene.meshes.push(full());
    let two = Object { transform: Some(IDENTITY), ..named("two", 1, &scene) };
    scene.objects.push(two);
    scene
}

fn shorten<T: Clone>(array: &mut Array<T>) {
    array.to_mut().unwrap().pop();
}

/// A fault in the second mesh.
type Fault = (&'static str, fn(&mut Mesh));

const FAULTS: [Fault; 33] = [
    ("too few uvs", |mesh| shorten(&mut mesh.uvs)),
    ("too many uvs", |mesh| mesh.uvs.to_mut().unwrap().push([0.0; 2])),
    ("too few normals", |mesh| shorten(&mut mesh.normals)),
    ("normals of faces", |mesh| mesh.normal_domain = Domain::Face),
    ("uvs of positions", |mesh| mesh.uv_domain = Domain::Vertex),
    ("uvs without faces", |mesh| mesh.faces = Default::default()),
    ("normals of corners", |mesh| mesh.normal_domain = Domain::Corner),
    ("too few slots", |mesh| shorten(&mut mesh.face_materials)),
    ("too many slots", |mesh| mesh.face_materials.to_mut().unwrap().push(0)),
    ("too few flags", |mesh| shorten(&mut mesh.face_smooth)),
    ("too many flags", |mesh| mesh.face_smooth.to_mut().unwrap().push(0)),
    ("too few colours", |mesh| shorten(&mut mesh.colors)),
    ("too many weights", |mesh| mesh.vertex_groups[0].weights.to_mut().unwrap().push(0.0)),
    ("no weights", |mesh| mesh.vertex_groups[0].weights = Array::default()),
    ("a sharp edge past the end", |mesh| mesh.sharp_edges.to_mut().unwrap()[0][1] = 6),
    ("a corner past the end", |mesh| mesh.faces.corner_positions.to_mut().unwrap()[11] = 6),
    ("a corner of nothing", |mesh| mesh.faces.corner_positions.to_mut().unwrap()[0] = u32::MAX),
    ("a line past the end", |mesh| mesh.lines.corner_positions.to_mut().unwrap()[1] = 6),
    ("a point past the end", |mesh| mesh.points.to_mut().unwrap()[0] = 6),
    ("a point of nothing", |mesh| mesh.points.to_mut().unwrap()[0] = u32::MAX),
    ("offsets that begin late", |mesh| mesh.faces.offsets.to_mut().unwrap()[0] = 1),
    ("offsets that end early", |mesh| mesh.faces.offsets.to_mut().unwrap()[4] = 11),
    ("offsets that end late", |mesh| mesh.faces.offsets.to_mut().unwrap()[4] = 13),
    ("offsets that go down", |mesh| mesh.faces.offsets.to_mut().unwrap()[1..3].copy_from_slice(&[6, 3])),
    ("an empty face", |mesh| mesh.faces.offsets.to_mut().unwrap()[1] = 0),
    ("a face of two corners", |mesh| mesh.faces.offsets.to_mut().unwrap()[1] = 2),
    ("no offsets", |mesh| mesh.faces.offsets = Array::default()),
    ("one offset", |mesh| mesh.faces.offsets = vec![0].into()),
    ("huge offsets", |mesh| mesh.faces.offsets.to_mut().unwrap()[2] = u32::MAX),
    ("a uv index past the end", |mesh| {
        mesh.uv_domain = Domain::Indexed;
        mesh.faces.corner_uvs = vec![12; 12].into();
    }),
    ("too few uv indices", |mesh| {
        mesh.uv_domain = Domain::Indexed;
        mesh.faces.corner_uvs = vec![0; 11].into();
    }),
    ("a normal index past the end", |mesh| {
        mesh.normal_domain = Domain::Indexed;
        mesh.faces.corner_normals = vec![6; 12].into();
    }),
    ("indices without normals", |mesh| {
        mesh.normal_domain = Domain::Indexed;
        mesh.normals = Array::default();
        mesh.faces.corner_normals = vec![0; 12].into();
    }),
];

#[test]
fn a_good_scene_is_written() {
    let written = text(&good(), &plain());
    assert_eq!((lines(&written, "f").len(), lines(&written, "v").len()), (8, 12));
}

#[test]
fn a_broken_mesh_is_an_error_that_names_it() {
    for (what, fault) in FAULTS {
        let mut scene = good();
        fault(&mut scene.meshes[1]);
        scene.objects[1].end = scene.meshes[1].counts();
        let error = try_bytes(&scene, &plain()).err().unwrap_or_else(|| panic!("{what}: no error"));
        assert_eq!(error.kind(), ErrorKind::Usage, "{what}: {error}");
        let message = error.to_string();
        assert!(message.contains("mesh 1") || message.contains("`two`"), "{what}: {message}");
    }
}

#[test]
fn a_broken_mesh_touches_no_file() {
    let folder = new_folder();
    let mut scene = good();
    fs::write(folder.join("a.obj"), "old").unwrap();
    scene.meshes[1].uvs = vec![[0.0; 2]; 5].into();
    polyhaul::write(&scene, folder.join("a.obj")).unwrap_err();
    assert_eq!((folder.names(), folder.text("a.obj")), (vec!["a.obj".into()], "old".into()));
}

#[test]
fn a_broken_object_is_an_error_that_names_it() {
    let faults: [fn(&mut Object); 9] = [
        |object| object.mesh = 2,
        |object| object.mesh = usize::MAX,
        |object| object.materials = Some(vec![None, Some(2)]),
        |object| object.materials = Some(vec![Some(usize::MAX)]),
        |object| object.end.faces = 3,
        |object| object.end.faces = 5,
        |object| object.start.positions = 1,
        |object| object.end = Default::default(),
        |object| object.end.normals = u32::MAX,
    ];
    let mut wrong = Vec::new();
    for (number, fault) in faults.into_iter().enumerate() {
        let mut scene = good();
        fault(&mut scene.objects[1]);
        match std::panic::catch_unwind(AssertUnwindSafe(|| try_bytes(&scene, &plain()))) {
            Ok(Err(error)) if error.kind() == ErrorKind::Usage && error.to_string().contains("two") => {}
            Ok(Err(error)) => wrong.push(format!("{number}: {error:?}")),
            Ok(Ok(_)) => wrong.push(format!("{number}: no error")),
            Err(_) => wrong.push(format!("{number}: a panic")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Borrowed memory is checked and written like owned memory.
#[test]
fn shared_arrays_are_as_good_as_owned_ones() {
    let mut scene = good();
    let before = bytes(&scene, &plain());
    scene.meshes[1].points = Array::shared(Arc::new(scene.meshes[1].points.to_vec()));
    scene.meshes[1].positions.share();
    assert!(bytes(&scene, &plain()) == before);
    scene.meshes[1].points = Array::shared(Arc::new(vec![6]));
    assert_eq!(try_bytes(&scene, &plain()).unwrap_err().kind(), ErrorKind::Usage);
}
