//! Scenes that would take minutes: the work count is independent of the thread count and within the budget.

use super::*;
use polyhaul_model::{Elements, Mesh, Object, Samples};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};

/// Work units of the base budget.
const BASE: u64 = 512 * 800 * 600;

/// Deterministic pseudorandom numbers from 0 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    fn point(&mut self) -> [f32; 3] {
        [self.next(), self.next(), self.next()]
    }
}

fn mesh(positions: Vec<[f32; 3]>, corners: Vec<u32>) -> Mesh {
    let offsets: Vec<u32> = (0..=corners.len() as u32 / 3).map(|face| 3 * face).collect();
    let faces = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
    Mesh { positions: positions.into(), faces, ..Mesh::default() }
}

fn triangle(repeats: usize) -> Mesh {
    mesh(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0, 1, 2].repeat(repeats))
}

/// Triangles between random points of the unit cube.
fn random_triangles(count: usize) -> Mesh {
    let mut random = Random(count as u64);
    let positions: Vec<_> = (0..3 * count).map(|_| random.point()).collect();
    mesh(positions, (0..3 * count as u32).collect())
}

fn options(size: [usize; 2], threads: usize) -> PreviewOptions {
    PreviewOptions::default().with_size(size).with_run(RunOptions::default().with_threads(Some(threads)))
}

fn draw(scene: &Scene, options: &PreviewOptions) -> CountedPicture {
    preview_textured(scene, &Textures::default(), options).unwrap()
}

fn bytes(picture: &CountedPicture) -> &[u8] {
    let Samples::U8(bytes) = &picture.image.samples else { panic!("not bytes") };
    bytes
}

/// Renders with one thread, and checks that more threads yield the same picture.
fn draw_by_all(scene: &Scene, options: &PreviewOptions) -> CountedPicture {
    let drawn = draw(scene, options);
    let run = RunOptions::default().with_threads(Some(5));
    assert!(draw(scene, &options.clone().with_run(run)) == drawn);
    drawn
}

#[test]
fn repeated_triangles_cost_next_to_nothing() {
    let once = draw(&Scene { meshes: vec![triangle(1)], ..Scene::default() }, &options([800, 600], 2));
    let repeated = Scene { meshes: vec![triangle(20_000)], ..Scene::default() };
    let drawn = draw_by_all(&repeated, &options([800, 600], 1));
    assert_eq!(drawn.image, once.image);
    assert!(!drawn.is_coarse && drawn.work < BASE / 4, "{}", drawn.work);
}

#[test]
fn repeated_objects_cost_next_to_nothing() {
    let object = |number: usize| {
        let mut transform = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        transform[0][3] = (number % 2) as f64;
        let mut object = Object { mesh: 0, transform: Some(transform), ..Object::default() };
        object.end.faces = u32::MAX;
        object
    };
    let scene = |meshes: Mesh, count: usize| Scene {
        meshes: vec![meshes],
        objects: (0..count).map(object).collect(),
        ..Scene::default()
    };
    let options = options([160, 120], 2);
    let twice = draw(&scene(random_triangles(10_000), 2), &options);
    let drawn = draw_by_all(&scene(random_triangles(10_000), 2_000), &options);
    assert!(drawn.image == twice.image && drawn.work < 2 * twice.work, "{} {}", drawn.work, twice.work);
}

#[test]
fn large_triangles_are_drawn_from_front_to_back_within_the_budget() {
    let scene = Scene { meshes: vec![random_triangles(8_000)], ..Scene::default() };
    let options = options([320, 240], 2);
    let direct = draw(&scene, &options);
    let tiles = draw_by_all(&scene, &options.with_budget(WorkBudget::Fixed));
    assert!(tiles.work < BASE / 3 && direct.work > tiles.work, "{} {}", tiles.work, direct.work);
    // Dropped triangles are behind drawn ones, or outside the tile.
    let pairs = bytes(&tiles).chunks(4).zip(bytes(&direct).chunks(4));
    let different = pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 16)).count();
    assert!(different < 320 * 240 / 10, "{different}");
}

#[test]
fn tiles_show_what_all_triangles_show() {
    // Layers from back to front: the nearest ones hide the others.
    let layer = |number: usize| {
        let z = number as f32 * -1e-3;
        [[-1.0, -1.0, z], [3.0, -1.0, z], [-1.0, 3.0, z]]
    };
    let positions: Vec<_> = (0..3_000).rev().flat_map(layer).collect();
    let corners = (0..positions.len() as u32).collect();
    let scene = Scene { meshes: vec![mesh(positions, corners)], ..Scene::default() };
    let options = options([160, 120], 2).with_view(View::Front);
    let direct = draw(&scene, &options);
    let tiles = draw_by_all(&scene, &options.with_budget(WorkBudget::Fixed));
    assert!(tiles.image == direct.image);
    assert!(tiles.work < BASE / 3 && direct.work > tiles.work, "{} {}", tiles.work, direct.work);
}

#[test]
fn large_meshes_at_many_places_are_points() {
    let transform = |number: usize| {
        let [x, y] = [number % 100, number / 100].map(|at| 2.0 * at as f64);
        [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    };
    let object = |number: usize| {
        let mut object = Object { mesh: 0, transform: Some(transform(number)), ..Object::default() };
        object.end.faces = u32::MAX;
        object
    };
    let objects: Vec<_> = (0..10_000).map(object).collect();
    let scene = Scene { meshes: vec![random_triangles(5_000)], objects, ..Scene::default() };
    let options = options([320, 240], 2).with_view(View::Front).with_background([0; 4]);
    let drawn = draw_by_all(&scene, &options);
    assert!(drawn.is_coarse && drawn.work < 3 * BASE, "{}", drawn.work);
    let covered = bytes(&drawn).chunks(4).filter(|pixel| pixel[3] > 127).count();
    // The meshes fill a quarter of a square that is nearly as high as the picture; points cover more of it.
    assert!((10_000..50_000).contains(&covered), "{covered}");
}

#[test]
fn fixed_budgets_draw_large_scenes_as_points() {
    let mut random = Random(1);
    let positions: Vec<_> = (0..9_000_000).map(|_| random.point()).collect();
    let scene = Scene { meshes: vec![Mesh { positions: positions.into(), ..Mesh::default() }], ..Scene::default() };
    let drawn = draw(&scene, &options([160, 120], 2).with_budget(WorkBudget::Fixed));
    assert!(drawn.is_coarse && drawn.work <= BASE / 2, "{}", drawn.work);
}

#[test]
fn lines_across_the_picture_are_within_the_budget() {
    let mut random = Random(3);
    let positions: Vec<_> = (0..200).map(|_| random.point()).collect();
    let corners: Vec<u32> = (0..60_000).map(|_| (random.next() * 199.0) as u32).collect();
    let lines = Elements {
        offsets: vec![0, corners.len() as u32].into(),
        corner_positions: corners.into(),
        ..Elements::default()
    };
    let mesh = Mesh { positions: positions.into(), lines, ..Mesh::default() };
    let scene = Scene { meshes: vec![mesh], ..Scene::default() };
    let drawn = draw_by_all(&scene, &options([400, 300], 2).with_budget(WorkBudget::Fixed));
    assert!(drawn.work < BASE / 2, "{}", drawn.work);
}

#[test]
fn pieces_with_too_many_large_triangles_are_declined() {
    let options = options([160, 120], 2);
    for (count, expected) in [(100, true), (100_000, false)] {
        let drawing = MeshDrawing::new(&options, Axes::OBJ, 0, None).unwrap();
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].repeat(count);
        drawing.start(KnownPositions::Sample(&positions[..3])).unwrap();
        let piece = MeshPiece { positions: &positions, faces: PieceFaces::Triangles, ..MeshPiece::default() };
        drawing.take(&piece).unwrap();
        let is_drawn = matches!(drawing.finish().unwrap(), Streamed::Picture(_));
        assert_eq!(is_drawn, expected, "{count}");
    }
}

#[test]
fn rays_through_many_hollow_instances_are_within_the_budget() {
    // Two small triangles in opposite corners: rays hit the bounding box, but nothing in it.
    let corner = |at: f32| [[at; 3], [at + 0.01, at, at], [at, at + 0.01, at]];
    let positions = [corner(-1.0), corner(1.0)].concat();
    let mut object = Object { mesh: 0, ..Object::default() };
    object.end.faces = u32::MAX;
    let scene = Scene { meshes: vec![mesh(positions, (0..6).collect())], objects: vec![object], ..Scene::default() };
    let place = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let instances = vec![PlacedInstance { definition: 0, place }; 5_000];
    let draw = |threads: usize| {
        let definitions = std::slice::from_ref(&(0..1));
        let textures = Textures::default();
        let instanced =
            Instanced { scene: &scene, definitions, instances: &instances, textures: &textures, camera: None };
        let options = options([160, 120], threads).with_budget(WorkBudget::Fixed);
        let drawing = InstancedDrawing::new(instanced, &options).unwrap();
        drawing.first().unwrap();
        drawing.rest().unwrap()
    };
    let drawn = draw(1);
    assert!(drawn.is_coarse && drawn.work < BASE, "{}", drawn.work);
    assert!(draw(5) == drawn);
}
