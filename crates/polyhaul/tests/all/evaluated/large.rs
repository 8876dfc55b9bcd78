//! Objects that all threads prepare together, mixed with small ones.

use super::by_hand::{named, strip};
use super::differential::compare;
use super::reference;
use super::scenes::{self, IDENTITY, Numbers};
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Domain, Elements, Mesh, NONE, Object, Scene};
use polyhaul::options::{ObjWriteOptions, SceneWriteOptions, Smoothing};

/// Minimum number of corners of an object that all threads prepare.
const LARGE_CORNERS: usize = 1 << 17;

/// Index of the large object.
const LARGE: usize = 1;

/// A mesh with about `corners` corners, with values from pools that span chunks.
fn mesh(random: &mut Random, corners: usize, uv_domain: Domain, normal_domain: Domain) -> Mesh {
    let positions = corners / 4;
    let mut mesh = Mesh { uv_domain, normal_domain, ..Mesh::default() };
    mesh.positions = (0..positions).map(|_| [random.unit(), random.unit() * 10.0, random.unit()]).collect();
    let mut offsets = vec![0];
    let mut stream = Vec::with_capacity(corners);
    while stream.len() < corners {
        let size = (3 + random.below(3)).min(corners - stream.len());
        let size = if corners - stream.len() - size < 3 { corners - stream.len() } else { size };
        let first = random.below(positions - 10);
        stream.extend((0..size).map(|i| (first + i) as u32));
        offsets.push(stream.len() as u32);
    }
    let faces = offsets.len() - 1;
    let count = |domain| match domain {
        Domain::Indexed => 70_000,
        Domain::Corner => corners,
        Domain::Vertex => positions,
        Domain::Face => faces,
    };
    // A few values far apart, and many that occur once.
    let pool = [-0.0, 0.0, 1.0, f32::NAN, f32::INFINITY, 0.25];
    let value = |random: &mut Random| if random.once_in(3) { random.unit() } else { *random.pick(&pool) };
    mesh.uvs = (0..count(uv_domain)).map(|_| [value(random), value(random)]).collect();
    mesh.normals = (0..count(normal_domain)).map(|_| [value(random), random.unit(), 0.5]).collect();
    mesh.faces = Elements { offsets: offsets.into(), corner_positions: stream.into(), ..Elements::default() };
    let indices = |random: &mut Random| {
        let slot = |_| if random.once_in(50) { NONE } else { random.below(70_000) as u32 };
        (0..corners).map(slot).collect()
    };
    if uv_domain == Domain::Indexed {
        mesh.faces.corner_uvs = indices(random);
    }
    if normal_domain == Domain::Indexed {
        mesh.faces.corner_normals = indices(random);
    }
    mesh.face_smooth = (0..faces).map(|face| (face / 1000 % 2) as u8).collect();
    mesh
}

#[track_caller]
fn check(what: &str, scene: &Scene, obj: &WriteOptions) {
    let written = bytes(scene, &with(obj));
    let statements = without_comments(std::str::from_utf8(&written).unwrap());
    compare(what, &statements, &reference::write(scene, obj, None));
    for (threads, chunk_bytes, limit) in [(2, None, 1), (3, Some(10_000), LIMITS[0]), (64, Some(777), 1)] {
        let again = bytes(scene, &with_run(obj, run(threads, chunk_bytes, limit)));
        assert!(again == written, "{what}: {threads} threads, {chunk_bytes:?}, {limit}");
    }
}

fn large(corners: usize, uvs: Domain, normals: Domain) -> Scene {
    let mut random = Random::new(corners as u64);
    let mut scene = scenes::scene(&mut random, Numbers::Tame);
    scene.meshes.push(mesh(&mut random, corners, uvs, normals));
    let mut transform = IDENTITY;
    transform[0] = [0.5, -0.25, 2.0, 1.0];
    let object = Object { transform: Some(transform), ..named("large", scene.meshes.len() - 1, &scene) };
    scene.objects.insert(LARGE, object);
    scene
}

#[test]
fn corners() {
    check("corners", &large(LARGE_CORNERS + 5000, Domain::Corner, Domain::Corner), &WriteOptions::default());
}

#[test]
fn positions_and_faces() {
    check("positions", &large(2 * LARGE_CORNERS + 1, Domain::Vertex, Domain::Face), &WriteOptions::default());
}

#[test]
fn indices_with_gaps() {
    check("indices", &large(LARGE_CORNERS + 70_000, Domain::Indexed, Domain::Indexed), &WriteOptions::default());
}

#[test]
fn faces_and_positions() {
    check("faces", &large(LARGE_CORNERS + 30_000, Domain::Face, Domain::Vertex), &WriteOptions::default());
}

/// One corner fewer than a large object, exactly as many, and one more.
#[test]
fn sizes_around_the_border() {
    for corners in LARGE_CORNERS - 1..=LARGE_CORNERS + 1 {
        let mut scene = large(corners, Domain::Vertex, Domain::Face);
        let mesh = scene.objects[LARGE].mesh;
        scene.meshes[mesh].uvs = Default::default();
        scene.objects[LARGE].end = scene.meshes[mesh].counts();
        compare("border", &text(&scene, &plain()), &reference::write(&scene, &WriteOptions::default(), None));
    }
}

#[test]
fn slots_and_smoothing_groups() {
    let obj = WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_uv(false).with_normals(false))
        .with_obj(ObjWriteOptions::default().with_smoothing(Smoothing::Groups).with_material_groups(true));
    for slots in [3, 20] {
        let mut scene = large(LARGE_CORNERS + 100, Domain::Corner, Domain::Face);
        let mesh = scene.objects[LARGE].mesh;
        let mut random = Random::new(1);
        let faces = scene.meshes[mesh].faces.len();
        scene.meshes[mesh].face_materials = (0..faces).map(|_| random.below(slots) as i32 - 1).collect();
        // A strip, so that runs of smooth faces are groups.
        let offsets = scene.meshes[mesh].faces.offsets.clone();
        let stream = scene.meshes[mesh].faces.corner_positions.to_mut().unwrap();
        for face in 0..faces {
            for (corner, position) in (offsets[face]..offsets[face + 1]).zip(face % 5000..) {
                stream[corner as usize] = position as u32;
            }
        }
        let material = |slot: usize| (slot < scene.materials.len()).then_some(slot);
        scene.objects[LARGE].materials = Some((0..slots).map(material).collect());
        check(&format!("{slots} slots"), &scene, &obj);
    }
}

/// Chunks of a byte: as many pages as bytes.
#[test]
fn chunks_of_a_byte() {
    let mut random = Random::new(5);
    let corners = LARGE_CORNERS;
    let mut wide = mesh(&mut random, corners, Domain::Corner, Domain::Corner);
    // Most of the text is dropped, for speed.
    wide.uvs = Default::default();
    wide.normals = Default::default();
    let mut scene = Scene { meshes: vec![wide, strip()], ..Scene::default() };
    scene.objects = vec![Object { transform: Some(IDENTITY), ..named("wide", 0, &scene) }, named("small", 1, &scene)];
    let obj = WriteOptions::default();
    let expected = bytes(&scene, &plain());
    let written = bytes(&scene, &with_run(&obj, run(3, Some(1), 1)));
    assert!(written == expected);
}

/// Large objects in sequence, with small ones between.
#[test]
fn instances_of_a_large_mesh() {
    let mut scene = large(LARGE_CORNERS + 1, Domain::Face, Domain::Face);
    let object = scene.objects[LARGE].clone();
    scene.objects.insert(0, Object { transform: None, ..object.clone() });
    scene.objects.insert(0, object);
    let obj = WriteOptions::default().with_scene(SceneWriteOptions::default().with_uv(false));
    check("instances", &scene, &obj);
}

/// All corners at one position, with different values: no list may be searched for each corner.
#[test]
fn corners_at_one_position_take_linear_time() {
    let corners = 600_000;
    let mut mesh = Mesh { positions: vec![[0.0; 3]].into(), ..Mesh::default() };
    mesh.faces.offsets = (0..=corners as u32 / 3).map(|face| 3 * face).collect();
    mesh.faces.corner_positions = vec![0; corners].into();
    mesh.uv_domain = Domain::Corner;
    mesh.normal_domain = Domain::Corner;
    mesh.uvs = (0..corners).map(|i| [i as f32, 0.5]).collect();
    mesh.normals = (0..corners).map(|i| [1.0, (i % 1000) as f32 / 500.0, (i / 1000) as f32 / 300.0]).collect();
    let mut scene = Scene { meshes: vec![mesh], ..Scene::default() };
    scene.objects = vec![named("one", 0, &scene)];
    let written = text(&scene, &plain());
    assert_eq!(lines(&written, "vt").len(), corners);
}
