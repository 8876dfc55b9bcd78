//! A failed allocation is an error, never an abort.

use super::scenes::{self, IDENTITY, Numbers};
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Domain, Mesh, Object, Scene};
use polyhaul::options::{Codec, ObjWriteOptions, SceneWriteOptions, Smoothing};
use polyhaul_testkit::starve::{Plan, every_allocation_of_writing};

/// Several objects. One is larger; if `is_large`, all threads prepare it together.
fn scene(is_large: bool) -> Scene {
    let mut scene = scenes::scene(&mut Random::new(11), Numbers::Tame);
    let objects = scene.objects.clone();
    (0..4).for_each(|_| scene.objects.extend_from_slice(&objects));
    let size: usize = if is_large { 50_000 } else { 600 };
    let positions = (0..size).map(|i| [i as f32, (i * i % 97) as f32, 1.0]).collect();
    let mut mesh = Mesh { positions, ..Mesh::default() };
    mesh.faces.offsets = (0..=size as u32 - 2).map(|face| 3 * face).collect();
    mesh.faces.corner_positions = (0..size as u32 - 2).flat_map(|face| [face, face + 1, face + 2]).collect();
    mesh.uv_domain = Domain::Corner;
    mesh.normal_domain = Domain::Vertex;
    mesh.uvs = (0..3 * (size - 2)).map(|i| [(i % 1000) as f32, (i % 7) as f32]).collect();
    mesh.normals = (0..size).map(|i| [(i % 100) as f32, 1.0, 50.0]).collect();
    mesh.face_materials = (0..size - 2).map(|face| (face * 7 % 20) as i32).collect();
    mesh.face_smooth = (0..size - 2).map(|face| u8::from(face % 10 > 2)).collect();
    scene.meshes.push(mesh);
    let end = scene.meshes.last().unwrap().counts();
    let materials = (!scene.materials.is_empty()).then(|| vec![Some(0); 20]);
    let mesh = scene.meshes.len() - 1;
    let large = Object { mesh, end, materials, transform: Some(IDENTITY), ..Object::default() };
    scene.objects.insert(3, large);
    scene
}

fn check(test: &str, is_large: bool, options: WriteOptions) {
    let test = &format!("evaluated::{test}");
    // A large object takes long, so only every third allocation is tested.
    let next = if is_large { |number| number + 3 } else { |number| number + 1 };
    let plan = Plan { next, least_errors: 10, ..Plan::of(test) };
    every_allocation_of_writing(plan, false, || (scene(is_large), options));
}

fn on_threads(threads: usize) -> WriteOptions {
    with_run(&WriteOptions::default(), run(threads, None, LIMITS[0]))
}

#[test]
fn on_one_thread() {
    check("on_one_thread", false, plain());
}

#[test]
fn on_three_threads() {
    check("on_three_threads", false, on_threads(3));
}

#[test]
fn with_a_large_object() {
    check("with_a_large_object", true, on_threads(2));
}

#[test]
fn with_smoothing_groups() {
    let obj = WriteOptions::default()
        .with_obj(ObjWriteOptions::default().with_smoothing(Smoothing::BitFlags).with_vertex_groups(true));
    check("with_smoothing_groups", false, with(&obj));
}

#[test]
fn with_triangles() {
    check(
        "with_triangles",
        false,
        with(&WriteOptions::default().with_scene(SceneWriteOptions::default().with_triangulate(true))),
    );
}

#[test]
fn compressed() {
    check("compressed", false, on_threads(2).with_compression(Codec::Gzip.into()));
}
