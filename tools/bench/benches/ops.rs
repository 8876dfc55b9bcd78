//! Cost of welding and triangulating, compared with the simplest way to weld. Run with
//! `cargo bench --manifest-path tools/bench/Cargo.toml --bench ops`.
//!
//! Each line is the minimum of several runs. Adversarial shapes come last: they should take about as long per corner as
//! the others.
#![allow(clippy::print_stdout)]

use polyhaul::model::{Axes, Elements, Mesh, Scene};
use polyhaul::ops::{MeshOps, SceneOps};
use polyhaul::options::RunOptions;
use polyhaul_geometry::vertices::{Vertices, VerticesStream};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Returns the number of runs, and the number of corners of adversarial polygons.
fn size() -> (usize, usize) {
    // Cargo passes `--bench` to benchmarks, but not when it runs them as tests.
    if std::env::args().any(|argument| argument == "--bench") { (5, 100_000) } else { (1, 10_000) }
}

fn options(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads))
}

/// Runs `work` on fresh input and prints the minimum time per item, for `count` items.
fn time<I, O>(name: &str, count: usize, input: impl Fn() -> I, work: impl Fn(I) -> O) -> Duration {
    let run = |_| {
        let input = input();
        let start = Instant::now();
        let output = work(input);
        let elapsed = start.elapsed();
        drop(output);
        elapsed
    };
    let min = (0..size().0).map(run).min().unwrap_or_default();
    let each = min.as_nanos() as f64 / count.max(1) as f64;
    println!("{name:40} {:9.2} ms {each:9.2} ns each", min.as_secs_f64() * 1e3);
    min
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

/// Creates a grid of quads with a uv and a normal per position.
fn grid(side: u32) -> Mesh {
    let row = side + 1;
    let points = || (0..row * row).map(|i| [(i % row) as f32, (i / row) as f32]);
    let quads = (0..side * side).map(|i| i / side * row + i % side);
    let corners: Vec<u32> = quads.flat_map(|i| [i, i + 1, i + 1 + row, i + row]).collect();
    Mesh {
        positions: points().map(|[x, y]| [x, y, (x * 0.01).sin()]).collect(),
        uvs: points().collect(),
        normals: vec![[0.0, 0.0, 1.0]; (row * row) as usize].into(),
        faces: Elements {
            offsets: (0..=side * side).map(|face| 4 * face).collect(),
            corner_positions: corners.clone().into(),
            corner_uvs: corners.clone().into(),
            corner_normals: corners.into(),
        },
        ..Mesh::default()
    }
}

/// Creates the same grid with faces and positions in random order.
fn shuffled(side: u32) -> Mesh {
    let mut mesh = grid(side);
    let mut state = 1;
    let mut shuffle = |count: usize| {
        let mut order: Vec<u32> = (0..count as u32).collect();
        (1..count).for_each(|i| order.swap(i, random(&mut state) as usize % (i + 1)));
        order
    };
    let faces = shuffle((side * side) as usize);
    let places = shuffle(mesh.positions.len());
    let old = &mesh.faces.corner_positions;
    let corners = faces.iter().flat_map(|&face| &old[4 * face as usize..][..4]);
    let corners: Vec<u32> = corners.map(|&position| places[position as usize]).collect();
    mesh.faces.corner_uvs = corners.clone().into();
    mesh.faces.corner_normals = corners.clone().into();
    mesh.faces.corner_positions = corners.into();
    mesh
}

/// Creates a mesh with all corners at one position, each with a separate uv.
fn fan(corners: usize) -> Mesh {
    Mesh {
        positions: vec![[0.0; 3]].into(),
        uvs: vec![[0.0; 2]; corners].into(),
        faces: Elements {
            corner_positions: vec![0; corners].into(),
            corner_uvs: (0..corners as u32).collect(),
            ..Elements::default()
        },
        ..Mesh::default()
    }
}

/// Welds the simplest way: with one map from indices to vertices.
fn weld_with_a_map(mesh: &Mesh) -> (Vec<u32>, Vec<(u32, u32, u32)>) {
    let faces = &mesh.faces;
    let mut seen = HashMap::new();
    let mut vertices = Vec::new();
    let corners = faces.corner_positions.iter().zip(&faces.corner_uvs).zip(&faces.corner_normals);
    let corner_vertices = corners.map(|((&position, &uv), &normal)| {
        *seen.entry((position, uv, normal)).or_insert_with(|| {
            vertices.push((position, uv, normal));
            vertices.len() as u32 - 1
        })
    });
    (corner_vertices.collect(), vertices)
}

/// Adds a separate normal for each face.
fn with_hard_edges(mut mesh: Mesh) -> Mesh {
    let corners = mesh.faces.corner_positions.len() as u32;
    mesh.normals = vec![[0.0, 0.0, 1.0]; corners as usize / 4].into();
    mesh.faces.corner_normals = (0..corners).map(|corner| corner / 4).collect();
    mesh
}

/// Welds a mesh; vertices are numbered by position.
fn vertices(mesh: &Mesh, threads: usize) -> Vertices {
    let Elements { corner_positions, corner_uvs, corner_normals, .. } = &mesh.faces;
    let streams = [corner_uvs, corner_normals].map(|stream| VerticesStream::Listed(stream));
    Vertices::from_corners(corner_positions, mesh.positions.len(), streams, &options(threads)).unwrap()
}

fn welding() {
    let meshes =
        [("grid", grid(1000)), ("grid, hard edges", with_hard_edges(grid(1000))), ("shuffled grid", shuffled(1000))];
    for (name, mesh) in meshes {
        let corners = mesh.faces.corner_positions.len();
        let map = time(&format!("weld {name}, HashMap"), corners, || (), |()| weld_with_a_map(&mesh));
        for threads in [1, 2] {
            let name = format!("weld {name}, {threads} threads");
            let weld = time(&name, corners, || (), |()| mesh.weld_with(&options(threads)).unwrap());
            println!("{:40} {:9.1} x", "", map.as_secs_f64() / weld.as_secs_f64());
            let name = name.replace("weld", "vertices of");
            time(&name, corners, || (), |()| vertices(&mesh, threads));
        }
    }
    let mesh = fan(1_000_000);
    time("weld a million corners at one position", 1_000_000, || (), |()| mesh.weld_with(&options(2)).unwrap());
}

fn polygon(points: Vec<[f64; 2]>) -> Mesh {
    Mesh {
        faces: Elements {
            offsets: vec![0, points.len() as u32].into(),
            corner_positions: (0..points.len() as u32).collect(),
            ..Elements::default()
        },
        positions: points.into_iter().map(|[x, y]| [x as f32, y as f32, 1.0]).collect(),
        ..Mesh::default()
    }
}

fn around(turn: f64, radius: f64) -> [f64; 2] {
    let angle = turn * std::f64::consts::TAU;
    [radius * angle.cos(), radius * angle.sin()]
}

/// Generates polygons with many corners.
fn hostile() -> Vec<(&'static str, Vec<[f64; 2]>)> {
    let (_, count) = size();
    let mut state = 3;
    let mut unit = || random(&mut state) as f64 / f64::from(1u32 << 31);
    let part = move |i: usize| i as f64 / count as f64;
    let comb = (0..count).map(|i| [part(i), if i.is_multiple_of(2) { 1.0 } else { 0.01 }]);
    let comb: Vec<_> = comb.chain([[1.0, 0.0], [0.0, 0.0]]).rev().collect();
    let slanted = comb.iter().map(|&[x, y]| [x + 0.9 * y, y]).collect();
    let arm = |i: usize, gap: f64| around(part(i) * 500.0, 1.0 + part(i) * 100.0 + gap);
    let spiral = (0..count / 2).map(|i| arm(i, 0.15)).chain((0..count / 2).rev().map(|i| arm(i, 0.0)));
    let ring = (0..=count / 2).map(|i| around(2.0 * part(i % (count / 2)), 2.0));
    let ring = ring.chain((0..=count / 2).rev().map(|i| around(2.0 * part(i % (count / 2)), 1.0)));
    let petals =
        (0..count / 3).flat_map(|i| [[0.0; 2], around(3.0 * part(i), 1.0), around(3.0 * part(i) + part(1), 1.0)]);
    // A zigzag band: the corners of each side are near every edge of the other.
    let zigzag = |i: usize| [part(i) * 2.0, if i.is_multiple_of(2) { 1.0 } else { 0.0 }];
    let band = (0..count / 2).map(zigzag).chain((0..count / 2).rev().map(|i| [zigzag(i)[0], zigzag(i)[1] + 1e-3]));
    vec![
        ("circle", (0..count).map(|i| around(part(i), 1.0)).collect()),
        ("comb", comb),
        ("slanted comb", slanted),
        ("spiral", spiral.collect()),
        ("star", (0..count).map(|i| around(part(i), if i.is_multiple_of(2) { 1.0 } else { 0.01 })).collect()),
        ("ring with a bridge", ring.collect()),
        ("burst", (0..count).map(|i| around(part(i), 0.05 + unit())).collect()),
        ("flower", petals.collect()),
        ("zigzag band", band.rev().collect()),
        ("noise", (0..count).map(|_| [unit(), unit()]).collect()),
        ("one line", (0..count).map(|i| [unit() * (1.0 + part(i)), 0.0]).collect()),
        ("one point", vec![[0.5, 0.5]; count]),
    ]
}

fn cutting() {
    let quads = grid(1000);
    for threads in [1, 2] {
        let cut = |mut mesh: Mesh| mesh.triangulate_with(&options(threads)).map(|_| mesh);
        time(&format!("cut 1M quads, {threads} threads"), 1_000_000, || quads.clone(), cut);
    }
    let mut small = polygon((0..400_000).map(|i| around(f64::from(i) / 8.0, 1.0 + f64::from(i % 2))).collect());
    small.faces.offsets = (0..=50_000).map(|face| 8 * face).collect();
    let cut = |mut mesh: Mesh| mesh.triangulate_with(&options(1)).map(|_| mesh);
    time("cut 50k stars of 8 corners, per corner", 400_000, || small.clone(), cut);
    for (name, points) in hostile() {
        let count = points.len();
        let mesh = polygon(points);
        time(&format!("cut a {name}, per corner"), count, || mesh.clone(), cut);
    }
}

fn main() {
    welding();
    cutting();

    let scene = Scene { meshes: vec![grid(1000)], axes: Axes::BLENDER, ..Scene::default() };
    let turn = |mut scene: Scene| scene.transform_axes_with(Axes::OBJ, 1.5, &options(2)).map(|()| scene);
    time("turn 1M positions and normals, 2 threads", 1_000_000, || scene.clone(), turn);
}
