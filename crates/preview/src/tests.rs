//! Compares pictures with the result of casting a ray through every sample, and with variants that must not differ.

use super::*;
use crate::frame::{PLACES, SAMPLES};
use crate::scene::PartKind;
use polyhaul_geometry::linear::{cross, dot, subtract, unit, wide};
use polyhaul_model::{Color, Column, Counts, Domain, Elements, Material, Mesh, Object, Run, Samples, Values};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};
use std::ops::Range;

/// Deterministic pseudorandom numbers from -1 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn point(&mut self) -> [f32; 3] {
        [self.next(), self.next(), self.next()]
    }
}

fn triangles(positions: Vec<[f32; 3]>) -> Mesh {
    let count = positions.len() as u32;
    let faces = Elements {
        offsets: (0..=count / 3).map(|face| 3 * face).collect::<Vec<_>>().into(),
        corner_positions: (0..count).collect::<Vec<_>>().into(),
        ..Elements::default()
    };
    Mesh { positions: positions.into(), faces, ..Mesh::default() }
}

fn scene(mesh: Mesh) -> Scene {
    Scene { meshes: vec![mesh], ..Scene::default() }
}

/// Random triangles of all sizes.
fn soup(count: usize) -> Mesh {
    let mut random = Random(count as u64);
    let mut positions = Vec::new();
    for number in 0..count {
        let center = random.point();
        let size = [0.02, 0.1, 0.5][number % 3];
        for _ in 0..3 {
            let offset = random.point();
            positions.push(std::array::from_fn(|axis| center[axis] + size * offset[axis]));
        }
    }
    triangles(positions)
}

fn bytes(image: &Image) -> &[u8] {
    let Samples::U8(bytes) = &image.samples else { panic!("not bytes") };
    bytes
}

fn pixel(image: &Image, x: usize, y: usize) -> [u8; 4] {
    let at = 4 * (y * image.width + x);
    bytes(image)[at..at + 4].try_into().unwrap()
}

fn options(threads: usize) -> PreviewOptions {
    PreviewOptions::default().with_size([160, 120]).with_run(RunOptions::default().with_threads(Some(threads)))
}

#[test]
fn every_sample_shows_what_a_ray_meets_first() {
    let scene = scene(soup(300));
    let mut parts = SceneParts::from_scene(&scene).unwrap();
    let size = [160, 120];
    let frame = Frame::new(size[0], size[1]).unwrap();
    let bounds = parts.bounds().unwrap();
    let camera = Camera::framing(bounds, View::Iso, Axes::OBJ, size);
    draw::draw(&mut parts, &Textures::default(), &camera, &frame, &PictureWork::new(&options(1))).unwrap();
    let mut same = 0;
    let mut total = 0;
    for (x, y) in (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y))) {
        for (sample, hit) in frame.hits(x, y).into_iter().enumerate() {
            let [dx, dy] = PLACES[sample].map(|place| place as f64 / 256.0);
            let ray = camera.ray([x as f64 + dx, y as f64 + dy]);
            let met = (0..300).filter_map(|face| Some((meet(&parts, face, &camera, ray)?, face)));
            let nearest = met.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, face)| face);
            let drawn = hit.and_then(|hit| Some(parts.find(hit.payload)?.0.face_of(parts.find(hit.payload)?.1).0));
            total += 1;
            same += usize::from(drawn == nearest);
        }
    }
    assert_eq!(total, size[0] * size[1] * SAMPLES);
    // Corners are snapped to 256ths of a pixel, so edges differ.
    assert!(same as f64 > 0.999 * total as f64, "{same} of {total}");
}

/// Distance at which a ray hits a face: intersects the plane of the face, and tests the point against its edges.
fn meet(parts: &SceneParts<'_>, face: usize, camera: &Camera, ray: [f64; 3]) -> Option<f64> {
    let part = &parts.parts[0];
    let [a, b, c] = [0, 1, 2].map(|corner| wide(part.corner(3 * face + corner)));
    let normal = cross(subtract(b, a), subtract(c, a));
    let far = dot(normal, subtract(a, camera.eye())) / dot(normal, ray);
    let at = std::array::from_fn(|axis| camera.eye()[axis] + far * ray[axis]);
    let side = |from, to| dot(normal, cross(subtract(to, from), subtract(at, from)));
    (far > 0.0 && side(a, b) >= 0.0 && side(b, c) >= 0.0 && side(c, a) >= 0.0).then_some(far)
}

#[test]
fn pictures_are_the_same_for_any_number_of_threads() {
    let mut random = Random(7);
    let cloud = Mesh { positions: (0..20_000).map(|_| random.point()).collect::<Vec<_>>().into(), ..Mesh::default() };
    let lines =
        Elements { offsets: vec![0, 3, 5].into(), corner_positions: vec![0, 1, 2, 3, 4].into(), ..Elements::default() };
    let mixed = Mesh { lines, ..soup(40_000) };
    for mesh in [soup(50_000), cloud, mixed] {
        let scene = scene(mesh);
        for style in [Style::Shaded, Style::Normals, Style::Depth, Style::Id, Style::Uv, Style::Wire] {
            let draw = |threads: usize| preview(&scene, &options(threads).with_style(style)).unwrap();
            let single_threaded = draw(1);
            assert!([2, 3, 8].into_iter().all(|threads| draw(threads) == single_threaded), "{style:?}");
        }
    }
}

/// A square of two triangles that faces +z.
fn square() -> Mesh {
    let corner = |x: f32, y: f32| [x, y, 0.0];
    let a = corner(-1.0, -1.0);
    let b = corner(1.0, -1.0);
    let c = corner(1.0, 1.0);
    let d = corner(-1.0, 1.0);
    triangles(vec![a, b, c, a, c, d])
}

#[test]
fn a_square_from_the_front_is_where_it_should_be() {
    let draw = |style| {
        let options = options(2).with_view(View::Front).with_style(style).with_background([0; 4]);
        preview(&scene(square()), &options).unwrap()
    };
    let picture = draw(Style::Normals);
    assert_eq!(pixel(&picture, 80, 60), [128, 128, 255, 255]);
    assert_eq!(pixel(&picture, 2, 2), [0; 4]);
    // 92% of the height, and as wide.
    let covered: f64 = bytes(&picture).chunks(4).map(|pixel| f64::from(pixel[3]) / 255.0).sum();
    assert!((covered - 110.4 * 110.4).abs() < 0.01 * covered, "{covered}");
    let both = draw(Style::Shaded);
    let mut turned = square();
    turned.faces.corner_positions = vec![0, 2, 1, 3, 5, 4].into();
    let options = options(1).with_view(View::Front).with_background([0; 4]);
    assert_eq!(preview(&scene(turned), &options).unwrap(), both);
}

#[test]
fn colors_come_from_vertices_or_else_from_materials() {
    let id = |scene: &Scene| pixel(&preview(scene, &options(1).with_view(View::Front)).unwrap(), 80, 60);
    let gray = id(&scene(square()));
    assert!(gray[0] == gray[1] && gray[1] == gray[2] && gray[0] > 100, "{gray:?}");
    let red = Material { diffuse: Some(Color::Rgb([1.0, 0.0, 0.0])), ..Material::default() };
    let run = Run { at: Counts::default(), value: 0 };
    let mut with_material = scene(Mesh { material_runs: vec![run], ..square() });
    with_material.materials.push(red);
    let [r, g, b, a] = id(&with_material);
    assert!(r > 150 && g == 0 && b == 0 && a == 255);
    let green = vec![[0.0, 1.0, 0.0, 1.0]; 6];
    with_material.meshes[0].colors = green.into();
    let [r, g, b, _] = id(&with_material);
    assert!(r == 0 && g > 150 && b == 0);
}

#[test]
fn faces_have_the_materials_of_their_slots() {
    let colors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let materials = colors.map(|color| Material { diffuse: Some(Color::Rgb(color)), ..Material::default() });
    let mesh = Mesh { face_materials: vec![1, 1].into(), ..square() };
    let object = Object { end: mesh.counts(), materials: Some(vec![Some(1), Some(0)]), ..Object::default() };
    let scene = Scene { materials: materials.into(), objects: vec![object], ..scene(mesh) };
    let [r, g, b, _] = pixel(&preview(&scene, &options(1).with_view(View::Front)).unwrap(), 80, 60);
    assert!(r > 150 && g == 0 && b == 0, "{r} {g} {b}");
}

#[test]
fn objects_are_drawn_where_their_transforms_put_them() {
    let mesh = Mesh { normals: vec![[0.0, 0.0, 1.0]; 6].into(), normal_domain: Domain::Vertex, ..square() };
    let counts = mesh.counts();
    // Rotated by 90 degrees around y and scaled: it faces +x.
    let transform = [[0.0, 0.0, 1.0, 5.0], [0.0, 1.0, 0.0, 0.0], [-3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let object = Object { transform: Some(transform), end: counts, ..Object::default() };
    let scene = Scene { objects: vec![object], ..scene(mesh) };
    let options = options(1).with_view(View::Right).with_style(Style::Normals);
    let picture = preview(&scene, &options).unwrap();
    assert_eq!(pixel(&picture, 80, 60), [128, 128, 255, 255]);
    assert_eq!(pixel(&picture, 80, 5), options.background);
}

#[test]
fn hostile_scenes_are_pictures_too() {
    let odd = [f32::NAN, f32::INFINITY, f32::MAX, -f32::MAX, f32::MIN_POSITIVE, 0.0];
    let positions: Vec<_> = (0..odd.len().pow(3)).map(|n| [odd[n % 6], odd[n / 6 % 6], odd[n / 36]]).collect();
    let outside = Elements {
        offsets: vec![0, 1, 2, 5, 9, 9].into(),
        corner_positions: vec![0, 1, 900, 901, 902, 3, 4, 5, u32::MAX].into(),
        corner_normals: vec![NONE_OR_MORE; 9].into(),
        ..Elements::default()
    };
    let broken = Mesh { faces: outside.clone(), lines: outside, points: vec![7, 999_999].into(), ..Mesh::default() };
    let broken = Mesh { positions: vec![[0.0; 3]; 6].into(), ..broken };
    for mesh in [triangles(positions.clone()), Mesh { positions: positions.into(), ..Mesh::default() }, broken] {
        for view in [View::Iso, View::Top] {
            preview(&scene(mesh.clone()), &options(2).with_view(view)).unwrap();
        }
    }
    let empty = preview(&Scene::default(), &options(1)).unwrap();
    assert!(bytes(&empty).chunks(4).all(|pixel| pixel == options(1).background));
    for size in [[0, 10], [10, 0], [MAX_SIDE + 1, 1]] {
        let error = preview(&Scene::default(), &options(1).with_size(size)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}

/// A normal index that is out of range.
const NONE_OR_MORE: u32 = 77;

#[test]
fn smoothing_groups_shade_what_has_no_normals() {
    // A roof: two squares that meet in a ridge along y.
    let positions =
        vec![[-1.0, -1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0]];
    let corner_positions = vec![0, 1, 2, 3, 1, 4, 5, 2];
    let faces =
        Elements { offsets: vec![0, 4, 8].into(), corner_positions: corner_positions.into(), ..Elements::default() };
    let flat = Mesh { positions: positions.into(), faces, ..Mesh::default() };
    let run = |faces: u32, value: u32| Run { at: Counts { faces, ..Counts::default() }, value };
    let colors = |mesh: Mesh| {
        let options = options(1).with_view(View::Front).with_style(Style::Normals);
        let axes = Axes::OBJ;
        let picture = preview(&scene(mesh), &options.with_axes(Some(axes))).unwrap();
        let row: std::collections::BTreeSet<_> = (0..160).map(|x| pixel(&picture, x, 60)).collect();
        row.len()
    };
    // Background and two sides; with smoothing, normals that turn from one side to the other.
    let few = colors(flat.clone());
    assert!((3..=5).contains(&few), "{few}");
    assert_eq!(colors(Mesh { smoothing_runs: vec![run(0, 0)], ..flat.clone() }), few);
    assert_eq!(colors(Mesh { smoothing_runs: vec![run(0, 1), run(1, 2)], ..flat.clone() }), few);
    assert!(colors(Mesh { smoothing_runs: vec![run(0, 1)], ..flat.clone() }) > 20);
    assert!(colors(Mesh { face_smooth: vec![1, 1].into(), ..flat }) > 20);
}

#[test]
fn clouds_are_drawn_as_points() {
    let cloud = Mesh { positions: vec![[0.0; 3], [1.0, 1.0, 0.0]].into(), ..Mesh::default() };
    let scene = scene(cloud);
    let parts = SceneParts::from_scene(&scene).unwrap();
    assert_eq!(parts.parts[0].kind, PartKind::Positions);
    let picture = preview(&scene, &options(1).with_view(View::Front).with_background([0; 4])).unwrap();
    let covered = bytes(&picture).chunks(4).filter(|pixel| pixel[3] == 255).count();
    assert!((32..80).contains(&covered), "{covered}");
}

#[test]
fn pieces_are_drawn_as_the_model_is() {
    let mesh = soup(3000);
    let whole = preview(&scene(mesh.clone()), &options(2)).unwrap();
    let orders = [
        KnownPositions::All(&mesh.positions),
        KnownPositions::Sample(&mesh.positions[..6000]),
        KnownPositions::Sample(&mesh.positions[..9]),
        KnownPositions::Unknown,
    ];
    for (number, positions_known) in orders.into_iter().enumerate() {
        let mut bounds = None;
        let mut readings = 0;
        let picture = loop {
            readings += 1;
            let options = options(2);
            let drawing = MeshDrawing::new(&options, Axes::OBJ, 0, bounds).unwrap();
            drawing.start(positions_known).unwrap();
            for (number, positions) in mesh.positions.chunks(999).enumerate() {
                let first_face = 333 * number as u64;
                let faces = PieceFaces::Triangles;
                drawing.take(&MeshPiece { first_face, positions, faces, ..MeshPiece::default() }).unwrap();
            }
            match drawing.finish().unwrap() {
                Streamed::Picture(picture) => break picture,
                Streamed::Again(exact) => bounds = Some(exact),
                Streamed::Declined => panic!("declined"),
            }
        };
        assert_eq!(readings, if number < 2 { 1 } else { 2 }, "{number}");
        // Bounds from a sample differ from the exact ones.
        if number == 1 {
            continue;
        }
        let differences = bytes(&whole).iter().zip(bytes(&picture)).map(|(a, b)| a.abs_diff(*b));
        let (max, sum) = differences.fold((0, 0u64), |(max, sum), by| (by.max(max), sum + u64::from(by)));
        // Normals are quantized to ten bits per coordinate, and among equally near surfaces a different one may win.
        assert!(sum < whole.width as u64 * whole.height as u64 / 10, "{number}: {sum} {max}");
    }
}

#[test]
fn lists_of_any_size_and_indices_out_of_range_are_drawn_or_left_out() {
    let positions = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
    let draw = |offsets: &[u32], corners: &[u32]| {
        let options = options(1).with_view(View::Front).with_background([0; 4]);
        let drawing = MeshDrawing::new(&options, Axes::OBJ, 0, None).unwrap();
        drawing.start(KnownPositions::All(&positions)).unwrap();
        let faces = PieceFaces::Lists { offsets, corners };
        let colors = &[[255, 0, 0, 255]; 4];
        drawing
            .take(&MeshPiece { first_face: 0, positions: &positions, colors, faces, ..MeshPiece::default() })
            .unwrap();
        let Streamed::Picture(picture) = drawing.finish().unwrap() else { panic!("bounds were known") };
        picture
    };
    let square = draw(&[0, 4], &[0, 1, 2, 3]);
    let [r, g, b, a] = pixel(&square, 80, 60);
    assert!(r > 150 && g < 10 && b < 10 && a == 255);
    assert_eq!(draw(&[0, 0, 1, 3, 7], &[9, 0, 1, 0, 1, 2, 3]), square);
    assert_eq!(pixel(&draw(&[0, 3], &[0, 1, 4]), 80, 60)[3], 0);
    assert_eq!(pixel(&draw(&[0, 9, 2], &[0, 1]), 80, 60)[3], 0);
}

/// A soup and a line with a width, instances of them, everything twice, and instances that cannot be shown.
fn instanced() -> (Scene, Vec<Range<usize>>, Vec<PlacedInstance>) {
    let mesh = soup(400);
    let lines = Elements { offsets: vec![0, 3].into(), corner_positions: vec![0, 1, 2].into(), ..Elements::default() };
    let width = Column { name: "width".into(), values: Values::F32(vec![0.2, 0.1, 0.05].into()), offsets: None };
    let positions = vec![[-1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0]];
    let curve = Mesh { positions: positions.into(), lines, vertex_columns: vec![width], ..Mesh::default() };
    let object = |mesh: usize, end: Counts, shift: f64| {
        let rows = [[1.0, 0.0, 0.0, shift], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        Object { mesh, end, transform: Some(rows), ..Object::default() }
    };
    let objects = vec![object(0, mesh.counts(), 0.0), object(0, mesh.counts(), 1.5), object(1, curve.counts(), 0.0)];
    let scene = Scene { meshes: vec![mesh, curve], objects, ..Scene::default() };
    let place = |x: f32, y: f32, scale: f32| [[0.0, scale, 0.0, x], [-scale, 0.0, 0.0, y], [0.0, 0.0, scale, 0.1 * x]];
    let instance = |definition: u32, place| PlacedInstance { definition, place };
    let mut instances: Vec<_> = (0..40).map(|n| instance(n % 2, place((n % 8) as f32, (n / 8) as f32, 0.2))).collect();
    instances.extend([
        instance(7, place(0.0, 0.0, 1.0)),
        instance(0, place(f32::NAN, 0.0, 1.0)),
        instance(0, place(3.0, 3.0, f32::INFINITY)),
        instance(1, place(3.0, 3.0, 0.0)),
        instance(0, [[0.0; 4]; 3]),
    ]);
    (scene, vec![0..2, 2..3], instances)
}

#[test]
fn instances_are_where_flattened_objects_are() {
    let (scene, definitions, mut instances) = instanced();
    instances.truncate(40);
    // Only rasterized lines have a width in pixels.
    instances.retain(|instance| instance.definition == 0);
    let instanced = Instanced {
        scene: &scene,
        definitions: &definitions,
        instances: &instances,
        camera: None,
        textures: &Textures::default(),
    };
    let options = options(2).with_view(View::Iso).with_background([0; 4]);
    let drawing = InstancedDrawing::new(instanced, &options).unwrap();
    assert!((1..=72).contains(&drawing.instance_bytes()), "{}", drawing.instance_bytes());
    drawing.first().unwrap();
    let cast = drawing.rest().unwrap().image;
    let mut flat = Scene { meshes: scene.meshes.clone(), ..Scene::default() };
    for instance in &instances {
        for object in &scene.objects[..2] {
            let inner = object.transform.unwrap().map(|row| row.map(|entry| entry as f32));
            let row = |row: [f32; 4]| -> [f64; 4] {
                std::array::from_fn(|at| {
                    let sum = (0..3).map(|k| row[k] * inner[k][at]).sum::<f32>() + if at == 3 { row[3] } else { 0.0 };
                    f64::from(sum)
                })
            };
            let [x, y, z] = instance.place.map(row);
            flat.objects.push(Object { transform: Some([x, y, z, [0.0, 0.0, 0.0, 1.0]]), ..object.clone() });
        }
    }
    let drawn = preview(&flat, &options).unwrap();
    let differing = bytes(&cast).chunks(4).zip(bytes(&drawn).chunks(4));
    let differing = differing.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 24)).count();
    // Bounds and therefore cameras differ by rounding, and so do edges.
    assert!(differing < 160 * 120 / 50, "{differing}");
}

#[test]
fn instanced_pictures_are_the_same_for_any_number_of_threads_and_nothing_hostile_matters() {
    let (scene, definitions, instances) = instanced();
    let draw = |threads: usize, camera: Option<SceneCamera>, size: [usize; 2]| {
        let instanced = Instanced {
            scene: &scene,
            definitions: &definitions,
            instances: &instances,
            camera,
            textures: &Textures::default(),
        };
        let options = options(threads).with_size(size);
        let drawing = InstancedDrawing::new(instanced, &options).unwrap();
        (drawing.first().unwrap().image, drawing.rest().unwrap().image)
    };
    // From the center of the scene, mirrored.
    let axes = [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let inside = SceneCamera { axes, eye: [3.5, 2.5, -0.2], tangent: 1.0 };
    for camera in [None, Some(inside)] {
        for size in [[160, 120], [3, 5], [9, 1]] {
            let single_threaded = draw(1, camera, size);
            assert!([2, 3, 8].into_iter().all(|threads| draw(threads, camera, size) == single_threaded));
        }
    }
    let (first, whole) = draw(2, None, [160, 120]);
    let background = options(1).background;
    let covered = |image: &Image| bytes(image).chunks(4).filter(|pixel| *pixel != background).count();
    assert!(covered(&first) > 1000 && covered(&whole) >= covered(&first));
    let none = Instanced {
        scene: &Scene::default(),
        definitions: &[],
        instances: &instances,
        camera: None,
        textures: &Textures::default(),
    };
    let options = options(1);
    let empty = InstancedDrawing::new(none, &options).unwrap().first().unwrap().image;
    assert_eq!(covered(&empty), 0);
}

#[test]
fn what_is_drawn_first_is_where_rays_would_meet_it() {
    let (scene, definitions, mut instances) = instanced();
    instances.truncate(40);
    let axes = [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let draw = |definitions: &[Range<usize>], instances: &[PlacedInstance], eye: [f64; 3]| {
        let camera = Some(SceneCamera { axes, eye, tangent: 1.0 });
        let textures = &Textures::default();
        let instanced = Instanced { scene: &scene, definitions, instances, camera, textures };
        let options = options(2).with_style(Style::Normals).with_background([0; 4]);
        let drawing = InstancedDrawing::new(instanced, &options).unwrap();
        let first = drawing.first().unwrap().image;
        (first, drawing.rest().unwrap().image, drawing.instance_bytes() > 0)
    };
    // Definitions with a single instance are rasterized, which leaves nothing to ray-cast.
    let own_definitions: Vec<_> =
        instances.iter().map(|instance| definitions[instance.definition as usize].clone()).collect();
    let own_instances: Vec<_> =
        (0..).zip(&instances).map(|(definition, &instance)| PlacedInstance { definition, ..instance }).collect();
    for eye in [[3.5, 2.5, -3.0], [3.5, 2.5, -0.2], [2.0, 1.0, -0.5]] {
        let (first, cast, has_rays) = draw(&definitions, &instances, eye);
        let (_, drawn, has_other_rays) = draw(&own_definitions, &own_instances, eye);
        // An instance that contains the camera may hide all others.
        assert!(!has_other_rays && (has_rays || eye[2] > -1.0));
        let differing = |a: &Image, b: &Image| {
            let pixels = bytes(a).chunks(4).zip(bytes(b).chunks(4));
            pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 24)).count()
        };
        assert!(differing(&cast, &drawn) < 160 * 120 / 100, "{eye:?}: {}", differing(&cast, &drawn));
        let covered = |image: &Image| bytes(image).chunks(4).filter(|pixel| pixel[3] > 0).count();
        assert!(
            covered(&first) * 2 > covered(&cast) && covered(&cast) > 500,
            "{eye:?}: {} {}",
            covered(&first),
            covered(&cast)
        );
    }
}

#[test]
fn wide_lines_are_as_wide_as_they_say() {
    let lines = Elements { offsets: vec![0, 2].into(), corner_positions: vec![0, 1].into(), ..Elements::default() };
    let width = Column { name: "width".into(), values: Values::F32(vec![0.5, 0.5].into()), offsets: None };
    let positions = vec![[0.0, -50.0, 5.0], [0.0, 50.0, 5.0]];
    let mesh = Mesh { positions: positions.into(), lines, vertex_columns: vec![width], ..Mesh::default() };
    let object = Object { end: mesh.counts(), ..Object::default() };
    let scene = Scene { meshes: vec![mesh], objects: vec![object], ..Scene::default() };
    let place = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let instances = [PlacedInstance { definition: 0, place }];
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let camera = Some(SceneCamera { axes, eye: [0.0; 3], tangent: 1.0 });
    let instanced = Instanced {
        scene: &scene,
        definitions: std::slice::from_ref(&(0..1)),
        instances: &instances,
        camera,
        textures: &Textures::default(),
    };
    let options = options(1).with_size([200, 100]).with_background([0; 4]);
    let drawing = InstancedDrawing::new(instanced, &options).unwrap();
    drawing.first().unwrap();
    let picture = drawing.rest().unwrap().image;
    // 100 pixels are 10 units at this distance, so the line is 5 pixels wide.
    let covered: f64 = (0..200).map(|x| f64::from(pixel(&picture, x, 50)[3]) / 255.0).sum();
    assert!((covered - 5.0).abs() < 0.6, "{covered}");
    assert_eq!(pixel(&picture, 100, 50)[3], 255);
}

/// Splats of random shapes and colors.
fn splats(count: usize) -> Mesh {
    let mut random = Random(99);
    let names =
        ["f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"];
    let rest: Vec<String> = (0..9).map(|number| format!("f_rest_{number}")).collect();
    let names = names.iter().map(|name| (*name).to_owned()).chain(rest);
    let columns = names.map(|name| {
        let value = |random: &mut Random| match &name[..3] {
            "opa" => 3.0 * random.next(),
            "sca" => -2.5 + 0.8 * random.next(),
            _ => random.next(),
        };
        let values: Vec<f32> = (0..count).map(|_| value(&mut random)).collect();
        Column { name, values: Values::F32(values.into()), offsets: None }
    });
    let vertex_columns = columns.collect();
    let positions: Vec<_> = (0..count).map(|_| random.point()).collect();
    Mesh { positions: positions.into(), vertex_columns, ..Mesh::default() }
}

/// Renders splats by the definition: every splat at every pixel, in double precision, with a numerical derivative of
/// the projection.
fn splats_by_definition(mesh: &Mesh, camera: &Camera, size: [usize; 2]) -> Vec<[f64; 3]> {
    let column = |name: &str, at: usize| {
        let column = mesh.vertex_columns.iter().find(|column| column.name == name).unwrap();
        let Values::F32(values) = &column.values else { panic!("no floats") };
        f64::from(values[at])
    };
    let focal = camera.focal();
    let project = |at: [f64; 3]| {
        let [x, y, z] = camera.rows().map(|row| dot(row, subtract(at, camera.eye())));
        [size[0] as f64 / 2.0 + focal * x / -z, size[1] as f64 / 2.0 - focal * y / -z]
    };
    let depth = |at: usize| -dot(camera.rows()[2], subtract(wide(mesh.positions[at]), camera.eye()));
    let mut order: Vec<usize> = (0..mesh.positions.len()).collect();
    order.sort_by(|&a, &b| depth(a).total_cmp(&depth(b)));
    let mut pixels = vec![([0.0; 3], 1.0); size[0] * size[1]];
    for at in order {
        let position = wide(mesh.positions[at]);
        let step = 1e-5;
        let center = project(position);
        let [w, x, y, z] = [0, 1, 2, 3].map(|part| column(&format!("rot_{part}"), at));
        let length = (w * w + x * x + y * y + z * z).sqrt();
        let w = w / length;
        let axis = [x, y, z].map(|part| part / length);
        // Displacement of the projection by each rotated axis of the splat.
        let moves: Vec<[f64; 2]> = (0..3)
            .map(|number| {
                let mut unit = [0.0; 3];
                unit[number] = column(&format!("scale_{number}"), at).exp();
                let twice = cross(axis, unit).map(|part| 2.0 * part);
                let inner = cross(axis, twice);
                let turned: [f64; 3] = std::array::from_fn(|k| unit[k] + w * twice[k] + inner[k]);
                let moved = project(std::array::from_fn(|k| position[k] + step * turned[k]));
                [(moved[0] - center[0]) / step, (moved[1] - center[1]) / step]
            })
            .collect();
        let sum = |a: usize, b: usize| moves.iter().map(|by| by[a] * by[b]).sum::<f64>();
        let xx = sum(0, 0) + 0.3;
        let xy = sum(0, 1);
        let yy = sum(1, 1) + 0.3;
        let determinant = xx * yy - xy * xy;
        let opacity = 1.0 / (1.0 + (-column("opacity", at)).exp());
        let [x, y, z] = unit(subtract(position, camera.eye()));
        let color: [f64; 3] = std::array::from_fn(|channel| {
            let rest = |number: usize| column(&format!("f_rest_{}", 3 * channel + number), at);
            let first = 0.488_602_511_902_919_9 * (-y * rest(0) + z * rest(1) - x * rest(2));
            (0.5 + 0.282_094_791_773_878_14 * column(&format!("f_dc_{channel}"), at) + first).max(0.0)
        });
        for (number, (sum, passes)) in pixels.iter_mut().enumerate() {
            let x = (number % size[0]) as f64 + 0.5 - center[0];
            let y = (number / size[0]) as f64 + 0.5 - center[1];
            let power = (yy * x * x - 2.0 * xy * x * y + xx * y * y) / determinant;
            let alpha = (opacity * (-0.5 * power).exp()).min(0.999);
            if alpha >= 1.0 / 255.0 && *passes > 1e-4 {
                (0..3).for_each(|channel| sum[channel] += *passes * alpha * color[channel]);
                *passes *= 1.0 - alpha;
            }
        }
    }
    pixels.into_iter().map(|(sum, passes)| sum.map(|value| value + passes)).collect()
}

#[test]
fn splats_are_what_their_definition_says() {
    let mesh = splats(300);
    let size = [96, 80];
    let bounds = splats::DrawnSplats::from_scene(&scene(mesh.clone())).unwrap().bounds().unwrap();
    let camera = Camera::framing(bounds, View::Iso, Axes::OBJ, size);
    let expected = splats_by_definition(&mesh, &camera, size);
    let draw = |threads: usize| {
        let options = options(threads).with_size(size).with_background([255; 4]);
        preview(&scene(mesh.clone()), &options).unwrap()
    };
    let drawn = draw(1);
    let errors = bytes(&drawn).chunks(4).zip(&expected).flat_map(|(drawn, expected)| {
        (0..3).map(|channel| f64::from(drawn[channel]) / 255.0 - expected[channel].clamp(0.0, 1.0))
    });
    let mean = errors.map(|error| error * error).sum::<f64>() / (3 * expected.len()) as f64;
    let ratio = -10.0 * mean.log10();
    assert!(ratio > 50.0, "{ratio} dB");
    assert!([2, 3, 7].into_iter().all(|threads| draw(threads) == drawn));
    assert!(bytes(&drawn).chunks(4).filter(|pixel| pixel[..3] != [255; 3]).count() > 2000);
}

#[test]
fn hostile_splats_are_pictures_too() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 0.0];
    let mut mesh = splats(36);
    for (number, column) in mesh.vertex_columns.iter_mut().enumerate() {
        let Values::F32(values) = &column.values else { panic!("no floats") };
        let values: Vec<f32> =
            values.iter().enumerate().map(|(at, &value)| if at % 13 == number { odd[at % 6] } else { value }).collect();
        column.values = Values::F32(values.into());
    }
    let mut positions = mesh.positions.to_vec();
    positions[3] = [f32::NAN; 3];
    positions[7] = [f32::INFINITY, 0.0, 1e30];
    mesh.positions = positions.into();
    preview(&scene(mesh.clone()), &options(2)).unwrap();
    mesh.positions = vec![[f32::NAN; 3]; 36].into();
    preview(&scene(mesh), &options(2)).unwrap();
}

#[test]
fn a_shadow_is_below_the_scene_and_nowhere_else() {
    // A square above the ground, seen from the front and above.
    let mut mesh = square();
    let floor = [[-1.0, -1.0, 0.0]; 3];
    let lifted = mesh.positions.iter().map(|[x, y, _]| [*x, 0.5, *y]).chain(floor).collect::<Vec<_>>();
    mesh.positions = lifted.into();
    let draw = |ground: bool, background: [u8; 4]| {
        let options = options(1).with_ground(ground).with_background(background);
        preview(&scene(mesh.clone()), &options).unwrap()
    };
    let without = draw(false, [255; 4]);
    let with = draw(true, [255; 4]);
    let pixels = bytes(&without).chunks(4).zip(bytes(&with).chunks(4));
    assert!(pixels.clone().all(|(without, with)| without.iter().zip(with).all(|(a, b)| a >= b)));
    let darker = pixels.filter(|(without, with)| without[0].saturating_sub(with[0]) > 10).count();
    assert!((300..8000).contains(&darker), "{darker}");
    assert_eq!(pixel(&with, 0, 0), [255; 4]);
    let clear = draw(true, [0; 4]);
    assert!(bytes(&clear).chunks(4).any(|pixel| pixel[0] == 0 && (40..200).contains(&pixel[3])));
}
