//! Mesh operations through the public interface: shapes that are hard to triangulate, scenes whose runs and objects
//! must follow, and the same result for any number of threads.

use polyhaul::ErrorKind;
use polyhaul::model::{Counts, Curve, Elements, Mesh, Object, Run, Scene};
use polyhaul::ops::{MeshOps, SceneOps, TriangleMap};
use polyhaul::options::RunOptions;
use polyhaul_geometry::triangulate::{triangulate_scene_bounded, triangulate_scene_positions};
use std::collections::HashMap;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];

fn options(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads))
}

/// A pseudorandom number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize * limit) >> 31
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 24) as f64 / f64::from(1 << 24)
    }
}

type Point = [f64; 2];

fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn area(polygon: &[Point]) -> f64 {
    (1..polygon.len() - 1).map(|i| turn(polygon[0], polygon[i], polygon[i + 1])).sum::<f64>() / 2.0
}

/// A mesh with one face in the plane x = 2.
fn one_face(polygon: &[Point]) -> Mesh {
    Mesh {
        positions: polygon.iter().map(|&[y, z]| [2.0, y as f32, z as f32]).collect(),
        faces: Elements {
            offsets: vec![0, polygon.len() as u32].into(),
            corner_positions: (0..polygon.len() as u32).collect(),
            ..Elements::default()
        },
        ..Mesh::default()
    }
}

fn triangles(polygon: &[Point]) -> Vec<[u32; 3]> {
    let mut mesh = one_face(polygon);
    mesh.triangulate_with(&options(1)).unwrap();
    mesh.faces.corner_positions.chunks(3).map(|corners| [corners[0], corners[1], corners[2]]).collect()
}

/// Checks that each polygon edge is used once and each diagonal once in each direction, with no other edges.
fn assert_is_whole(count: usize, triangles: &[[u32; 3]]) {
    assert_eq!(triangles.len(), count - 2);
    let mut edges = HashMap::new();
    for &[a, b, c] in triangles {
        for edge in [[a, b], [b, c], [c, a]] {
            *edges.entry(edge).or_insert(0) += 1;
        }
    }
    for (&[a, b], &times) in &edges {
        let is_side = (a + 1) % count as u32 == b;
        assert_eq!(times, 1, "{a} {b}");
        assert!(is_side != edges.contains_key(&[b, a]), "{a} {b}");
    }
    assert_eq!(edges.len(), count + 2 * (count - 3));
}

/// Checks that no triangle is flipped; in a complete triangulation, no triangles overlap then.
fn assert_is_cut_right(name: &str, polygon: &[Point]) {
    for polygon in [polygon.to_vec(), polygon.iter().rev().copied().collect()] {
        let triangles = triangles(&polygon);
        assert_is_whole(polygon.len(), &triangles);
        let polygon: Vec<Point> = polygon.iter().map(|p| p.map(|part| f64::from(part as f32))).collect();
        let area = area(&polygon);
        let corner = |corner: u32| polygon[corner as usize];
        let parts = triangles.iter().map(|&[a, b, c]| turn(corner(a), corner(b), corner(c)) / 2.0);
        let sum: f64 = parts.map(f64::abs).sum();
        assert!((sum - area.abs()).abs() <= 1e-9 * area.abs(), "{name}: {sum} for {area}");
    }
}

fn comb(teeth: usize) -> Vec<Point> {
    let top = (0..teeth).flat_map(|i| [[i as f64, 100.0], [i as f64 + 0.5, 1.0]]);
    top.chain([[teeth as f64, 0.0], [0.0, 0.0]]).rev().collect()
}

fn diagonal_comb(teeth: usize) -> Vec<Point> {
    comb(teeth).into_iter().map(|[x, y]| [x + 0.9 * y * teeth as f64 / 100.0, y * teeth as f64 / 100.0]).collect()
}

fn spiral(steps: usize) -> Vec<Point> {
    let arm = |i: usize, gap: f64| {
        let angle = i as f64 * 0.05;
        let radius = 10.0 + angle + gap;
        [radius * angle.cos(), radius * angle.sin()]
    };
    let outside = (0..steps).map(|i| arm(i, 1.5));
    outside.chain((0..steps).rev().map(|i| arm(i, 0.0))).collect()
}

fn star(spikes: usize) -> Vec<Point> {
    let corner = |i: usize| {
        let radius = if i.is_multiple_of(2) { 100.0 } else { 1.0 };
        let angle = std::f64::consts::PI * i as f64 / spikes as f64;
        [radius * angle.cos(), radius * angle.sin()]
    };
    (0..2 * spikes).map(corner).collect()
}

/// A ring: a hole joined to the outline by a bridge that is traversed twice.
fn ring(sides: usize) -> Vec<Point> {
    let corner = |i: usize, radius: f64| {
        let angle = std::f64::consts::TAU * (i % sides) as f64 / sides as f64;
        [radius * angle.cos(), radius * angle.sin()]
    };
    let outside = (0..=sides).map(|i| corner(i, 2.0));
    outside.chain((0..=sides).rev().map(|i| corner(i, 1.0))).collect()
}

/// A rectangle with square holes in columns, joined by bridges from the bottom edge upwards.
fn sieve(columns: usize, rows: usize) -> Vec<Point> {
    let hole = |x: f64, row: usize, side: f64| {
        let y = row as f64 + 0.5;
        [[x, y - 0.25], [x + side, y], [x, y + 0.25]]
    };
    let column = |i: usize| {
        let x = i as f64 + 0.5;
        let up = (0..rows).flat_map(move |row| hole(x, row, -0.25));
        let down = (0..rows)
            .rev()
            .flat_map(move |row| hole(x, row, 0.25).into_iter().rev().skip(usize::from(row + 1 == rows)));
        [[x, 0.0]].into_iter().chain(up).chain(down).chain([[x, 0.0]])
    };
    let right = columns as f64;
    let top = rows as f64;
    let bottom = [[0.0, 0.0]].into_iter().chain((0..columns).flat_map(column));
    bottom.chain([[right, 0.0], [right, top], [0.0, top]]).collect()
}

/// Leaves around a center to which the outline returns after each leaf.
fn flower(leaves: usize) -> Vec<Point> {
    let at = |step: usize| {
        let angle = std::f64::consts::PI * step as f64 / leaves as f64;
        [angle.cos(), angle.sin()]
    };
    (0..leaves).flat_map(|i| [[0.0, 0.0], at(2 * i), at(2 * i + 1)]).collect()
}

/// Random distances from the center.
fn burst(corners: usize, random: &mut Random) -> Vec<Point> {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / corners as f64;
        let radius = 0.05 + random.unit();
        [radius * angle.cos(), radius * angle.sin()]
    };
    (0..corners).map(corner).collect()
}

/// The outline of a random union of grid cells, grown cell by cell without holes: many corners on straight lines.
fn grown(cells: usize, random: &mut Random) -> Vec<Point> {
    let mut outline: Vec<[i32; 2]> = vec![[0, 0], [1, 0], [1, 1], [0, 1]];
    for _ in 0..cells {
        let at = random.below(outline.len());
        let a = outline[at];
        let b = outline[(at + 1) % outline.len()];
        // A cell on the right of the edge a -> b, where both new corners are free.
        let out = [b[1] - a[1], a[0] - b[0]];
        let c = [a[0] + out[0], a[1] + out[1]];
        let d = [b[0] + out[0], b[1] + out[1]];
        if !outline.contains(&c) && !outline.contains(&d) {
            outline.splice(at + 1..at + 1, [c, d]);
        }
    }
    outline.into_iter().map(|p| p.map(f64::from)).collect()
}

/// The simplest method: repeatedly cuts the first convex corner without another corner in its triangle.
fn naive(polygon: &[Point]) -> Option<f64> {
    let mut left = polygon.to_vec();
    let mut sum = 0.0;
    while left.len() > 3 {
        let count = left.len();
        let ear = (0..count).find(|&i| {
            let a = left[(i + count - 1) % count];
            let b = left[i];
            let c = left[(i + 1) % count];
            let inside = |p: Point| turn(a, b, p) >= 0.0 && turn(b, c, p) >= 0.0 && turn(c, a, p) >= 0.0;
            turn(a, b, c) > 0.0 && !left.iter().any(|&p| p != a && p != b && p != c && inside(p))
        })?;
        sum += turn(left[(ear + count - 1) % count], left[ear], left[(ear + 1) % count]) / 2.0;
        left.remove(ear);
    }
    Some(sum + area(&left))
}

#[test]
fn random_polygons_are_cut_as_the_simplest_method_does() {
    let mut random = Random(1);
    for size in 5..80 {
        for polygon in [burst(size, &mut random), grown(size, &mut random)] {
            if let Some(sum) = naive(&polygon) {
                assert!((sum - area(&polygon)).abs() < 1e-9 * sum.abs(), "the simplest method is right");
            }
            assert_is_cut_right("random", &polygon);
        }
    }
}

#[test]
fn large_polygons_are_cut_right() {
    let mut random = Random(2);
    for (name, polygon) in [
        ("comb", comb(4_000)),
        ("diagonal comb", diagonal_comb(1_000)),
        ("spiral", spiral(4_000)),
        ("star", star(4_000)),
        ("ring", ring(2_000)),
        ("flower", flower(300)),
        ("sieve", sieve(30, 20)),
        ("small sieve", sieve(2, 2)),
        ("circle", ring(4_000)[..4_000].to_vec()),
        ("burst", burst(8_000, &mut random)),
        ("grown", grown(4_000, &mut random)),
    ] {
        assert_is_cut_right(name, &polygon);
    }
}

/// A scene of polygons.
fn polygons(polygons: &[Vec<Point>]) -> Scene {
    let mut mesh = Mesh::default();
    let positions: Vec<_> = polygons.iter().flatten().map(|&[x, y]| [x as f32, y as f32, 0.0]).collect();
    let mut offsets = vec![0];
    polygons.iter().for_each(|polygon| offsets.push(offsets[offsets.len() - 1] + polygon.len() as u32));
    mesh.faces.corner_positions = (0..positions.len() as u32).collect::<Vec<_>>().into();
    mesh.faces.offsets = offsets.into();
    mesh.positions = positions.into();
    Scene { meshes: vec![mesh], ..Scene::default() }
}

#[test]
fn pictures_triangulate_simple_polygons_as_others_do() {
    let run = options(2);
    let mut random = Random(3);
    let simple = [
        comb(4_000),
        diagonal_comb(1_000),
        spiral(4_000),
        star(4_000),
        flower(300),
        sieve(30, 20),
        burst(8_000, &mut random),
    ];
    let mut bounded = polygons(&simple);
    let mut whole = polygons(&simple);
    assert_eq!(triangulate_scene_bounded(&mut bounded, &run).unwrap(), 0);
    triangulate_scene_positions(&mut whole, &run).unwrap();
    assert!(bounded.meshes == whole.meshes);
}

/// A letter o from a modeling program: the last two corners repeat the bridge.
#[rustfmt::skip]
const LETTER: [Point; 66] = [
    [2.25515, 3.07623], [2.11586, 3.03398], [1.98749, 2.96537], [1.87497, 2.87303], [1.78263, 2.76051],
    [1.71402, 2.63214], [1.67177, 2.49285], [1.6575, 2.348], [1.67177, 2.20315], [1.71402, 2.06386],
    [1.78263, 1.93549], [1.87497, 1.82297], [1.98749, 1.73063], [2.11586, 1.66202], [2.25515, 1.61977],
    [2.4, 1.6055], [2.54485, 1.61977], [2.68414, 1.66202], [2.81251, 1.73063], [2.92503, 1.82297],
    [3.01737, 1.93549], [3.08598, 2.06386], [3.12823, 2.20315], [3.1425, 2.348], [3.12823, 2.49285],
    [3.08598, 2.63214], [3.01737, 2.76051], [2.92503, 2.87303], [2.81251, 2.96537], [2.68414, 3.03398],
    [2.54485, 3.07623], [2.4, 3.0905], [2.4, 3.0375], [2.53412, 3.02429], [2.66309, 2.98517],
    [2.78195, 2.92164], [2.88614, 2.83614], [2.97164, 2.73195], [3.03517, 2.61309], [3.07429, 2.48412],
    [3.0875, 2.35], [3.07429, 2.21588], [3.03517, 2.08691], [2.97164, 1.96805], [2.88614, 1.86386],
    [2.78195, 1.77836], [2.66309, 1.71483], [2.53412, 1.67571], [2.4, 1.6625], [2.26588, 1.67571],
    [2.13691, 1.71483], [2.01805, 1.77836], [1.91386, 1.86386], [1.82836, 1.96805], [1.76483, 2.08691],
    [1.72571, 2.21588], [1.7125, 2.35], [1.72571, 2.48412], [1.76483, 2.61309], [1.82836, 2.73195],
    [1.91386, 2.83614], [2.01805, 2.92164], [2.13691, 2.98517], [2.26588, 3.02429], [2.4, 3.0375],
    [2.4, 3.0905],
];

#[test]
fn an_outline_with_a_bridged_hole_is_cut_right() {
    assert_is_cut_right("letter", &LETTER);
}

#[test]
fn straight_corners_do_not_make_flat_triangles() {
    let side = |from: Point, to: Point| {
        (0..10).map(move |i| [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * f64::from(i) / 10.0))
    };
    let corners = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]];
    let square: Vec<Point> = (0..4).flat_map(|i| side(corners[i], corners[(i + 1) % 4])).collect();
    let cut = triangles(&square);
    assert_is_whole(40, &cut);
    let corner = |corner: u32| square[corner as usize];
    assert!(cut.iter().all(|&[a, b, c]| turn(corner(a), corner(b), corner(c)) > 0.1));
}

#[test]
fn polygons_in_any_plane_are_cut_right() {
    let mut random = Random(3);
    for _ in 0..50 {
        let polygon = grown(20, &mut random);
        let mut axis = || [0, 1, 2].map(|_| random.unit() - 0.5);
        let u = axis();
        let v = axis();
        let at = axis();
        let mut mesh = one_face(&polygon);
        let place = |p: Point| [0, 1, 2].map(|i| (p[0] * u[i] + p[1] * v[i] + at[i]) as f32);
        mesh.positions = polygon.iter().map(|&p| place(p)).collect();
        mesh.triangulate_with(&options(1)).unwrap();
        let cut: Vec<[u32; 3]> = mesh.faces.corner_positions.chunks(3).map(|c| [c[0], c[1], c[2]]).collect();
        assert_is_whole(polygon.len(), &cut);
        let corner = |corner: u32| polygon[corner as usize];
        let sum: f64 = cut.iter().map(|&[a, b, c]| turn(corner(a), corner(b), corner(c)).abs() / 2.0).sum();
        assert!((sum - area(&polygon)).abs() < 1e-9 * sum);
    }
}

#[test]
fn degenerate_polygons_lose_no_corner() {
    let mut random = Random(4);
    let mut noise = |count: usize| (0..count).map(|_| [random.unit(), random.unit()]).collect();
    let shapes: [Vec<Point>; 10] = [
        vec![[1.0, 1.0]; 100],
        (0..100).map(|i| [f64::from(i), 0.0]).collect(),
        (0..100).map(|i| [f64::from(i % 2), 0.0]).collect(),
        vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.5]],
        (0..5).map(|i| [0.8, 1.6].map(|step| (f64::from(i) * step * 3.0).sin())).collect(),
        vec![[f64::NAN, 0.0]; 6],
        vec![[0.0, 0.0], [f64::INFINITY, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.5]],
        noise(70),
        noise(3000),
        flower(3000),
    ];
    for polygon in shapes {
        let cut = triangles(&polygon);
        assert_is_whole(polygon.len(), &cut);
    }
}

#[test]
fn quads_far_from_the_origin_are_cut() {
    // Thin steps along z at x = 14678, where coordinates have few digits after the point.
    let positions = (0..16).map(|i| [14678.0 + (i / 8) as f32, (i % 2) as f32, 9605.0 + (i % 8 / 2) as f32]);
    let faces = [
        [9, 11, 3, 1],
        [4, 12, 10, 2],
        [2, 10, 9, 1],
        [3, 4, 2, 1],
        [10, 12, 11, 9],
        [11, 13, 5, 3],
        [6, 14, 12, 4],
        [5, 6, 4, 3],
        [12, 14, 13, 11],
        [13, 15, 7, 5],
        [8, 16, 14, 6],
        [15, 16, 8, 7],
        [7, 8, 6, 5],
        [14, 16, 15, 13],
    ];
    let mut mesh = Mesh {
        positions: positions.collect(),
        faces: Elements {
            offsets: (0..=14).map(|face| 4 * face).collect(),
            corner_positions: faces.as_flattened().iter().map(|corner| corner - 1).collect(),
            corner_uvs: (0..14).flat_map(|_| [0, 1, 2, 3]).collect(),
            ..Elements::default()
        },
        ..Mesh::default()
    };
    mesh.triangulate_with(&options(1)).unwrap();
    assert_eq!(mesh.faces.len(), 28);
    for triangle in mesh.faces.corner_positions.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| mesh.positions[triangle[i] as usize]);
        let square = |a: [f32; 3], b: [f32; 3]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f32>();
        let mut sides = [square(a, b), square(b, c), square(c, a)];
        sides.sort_by(f32::total_cmp);
        assert_eq!(sides, [1.0, 1.0, 2.0]);
    }
}

/// A mesh of regular faces with 3 to 12 corners and some noise.
fn mixed(faces: usize, seed: u64) -> Mesh {
    let mut random = Random(seed);
    let mut mesh = Mesh::default();
    mesh.faces.offsets.to_mut().unwrap().push(0);
    for _ in 0..faces {
        let corners = 3 + random.below(10);
        for i in 0..corners {
            let angle = std::f64::consts::TAU * i as f64 / corners as f64;
            let radius = 0.3 + random.unit();
            mesh.faces.corner_positions.to_mut().unwrap().push(mesh.positions.len() as u32);
            mesh.faces.corner_normals.to_mut().unwrap().push(random.below(5) as u32);
            mesh.positions
                .to_mut()
                .unwrap()
                .push([radius * angle.cos(), radius * angle.sin(), 0.1 * random.unit()].map(|v| v as f32));
        }
        mesh.faces.offsets.to_mut().unwrap().push(mesh.positions.len() as u32);
    }
    mesh.normals = vec![[0.0, 0.0, 1.0]; 5].into();
    mesh
}

#[test]
fn threads_make_no_difference() {
    let mesh = mixed(20_000, 5);
    let cut = |threads: usize| {
        let mut mesh = mesh.clone();
        let map = mesh.triangulate_with(&options(threads)).unwrap();
        let welded = mesh.weld_with(&options(threads)).unwrap();
        (mesh, map, welded)
    };
    let single_threaded = cut(1);
    assert_eq!(single_threaded.0.faces.len(), mesh.positions.len() - 2 * mesh.faces.len());
    assert_eq!(single_threaded.2.vertex_positions, first_seen(&single_threaded.0));
    for threads in THREADS {
        assert!(cut(threads) == single_threaded, "{threads} threads");
    }
}

/// Positions in the order of their first use by corners.
fn first_seen(mesh: &Mesh) -> Vec<u32> {
    let mut seen = vec![false; mesh.positions.len()];
    let corners = mesh.faces.corner_positions.iter().copied();
    corners.filter(|&position| !std::mem::replace(&mut seen[position as usize], true)).collect()
}

fn counts(faces: u32) -> Counts {
    Counts { positions: 7, faces, ..Counts::default() }
}

fn runs(faces: &[u32]) -> Vec<Run> {
    faces.iter().zip(1..).map(|(&faces, value)| Run { at: counts(faces), value }).collect()
}

#[test]
fn runs_objects_and_curves_follow_their_faces() {
    let sizes = [4, 3, 6, 5];
    let mut mesh = mixed(10, 6);
    mesh.faces.offsets = vec![0].into();
    for size in sizes {
        let end = mesh.faces.offsets.last().unwrap() + size;
        mesh.faces.offsets.to_mut().unwrap().push(end);
    }
    mesh.faces.corner_positions.to_mut().unwrap().truncate(18);
    mesh.faces.corner_normals.to_mut().unwrap().truncate(18);
    // Triangles per face: 2, 1, 4, 3.
    mesh.material_runs = runs(&[0, 1, 2, 4]);
    mesh.group_runs = runs(&[3]);
    mesh.smoothing_runs = runs(&[0, 0, 3]);
    mesh.curves = vec![Curve { at: counts(2), ..Curve::default() }];
    let other = Mesh { faces: Elements::default(), ..mesh.clone() };
    let object = |mesh, start, end| Object { mesh, start: counts(start), end: counts(end), ..Object::default() };
    let scene = Scene {
        meshes: vec![mesh, other],
        objects: vec![object(0, 0, 2), object(0, 2, 4), object(1, 0, 0), object(7, 1, 3)],
        ..Scene::default()
    };
    for threads in THREADS {
        let mut scene = scene.clone();
        scene.triangulate_with(&options(threads)).unwrap();
        let mesh = &scene.meshes[0];
        assert_eq!(mesh.faces.offsets, (0..=10).map(|i| 3 * i).collect::<Vec<u32>>());
        assert_eq!((&mesh.material_runs, &mesh.group_runs), (&runs(&[0, 2, 3, 10]), &runs(&[7])));
        assert_eq!(mesh.smoothing_runs, runs(&[0, 0, 7]));
        assert_eq!(mesh.curves[0].at, counts(3));
        let expected = [object(0, 0, 3), object(0, 3, 10), object(1, 0, 0), object(7, 1, 3)];
        assert_eq!(scene.objects, expected);
    }
}

#[test]
fn triangles_stay_what_they_are() {
    let mut mesh = mixed(100, 7);
    mesh.triangulate_with(&options(2)).unwrap();
    let before = mesh.clone();
    let map = mesh.triangulate_with(&options(2)).unwrap();
    assert_eq!(mesh, before);
    assert_eq!((map.triangles(5), map.face(5)), (5..6, Some(5)));
    assert_eq!(Mesh::default().triangulate_with(&options(2)).unwrap(), TriangleMap::default());
}

#[test]
fn faces_that_make_no_sense_are_errors_and_change_nothing() {
    let good = mixed(10, 8);
    let spoiled = |spoil: &dyn Fn(&mut Elements)| {
        let mut mesh = good.clone();
        spoil(&mut mesh.faces);
        mesh
    };
    for (mut mesh, message) in [
        (spoiled(&|f| f.corner_positions.to_mut().unwrap()[5] = 1000), "corner 5 has position 1000"),
        (spoiled(&|f| f.corner_positions.to_mut().unwrap()[5] = u32::MAX), "corner 5 has position NONE"),
        (spoiled(&|f| f.offsets.to_mut().map(|o| o[4] = o[3] + 2).unwrap()), "face 3 has fewer than three corners"),
        (spoiled(&|f| f.offsets.to_mut().unwrap()[4] = u32::MAX), "face 4 has fewer than three corners"),
        (spoiled(&|f| f.offsets.to_mut().unwrap()[4] = 0), "face 3 has fewer than three corners"),
        (spoiled(&|f| *f.offsets.to_mut().unwrap().last_mut().unwrap() += 1), "face offsets range from 0 to"),
        (spoiled(&|f| f.offsets.to_mut().unwrap()[0] = 1), "face offsets range from 1 to"),
        (spoiled(&|f| f.offsets.to_mut().unwrap().clear()), "face offsets range from 0 to 0"),
        (spoiled(&|f| f.corner_normals.to_mut().unwrap().truncate(3)), "corner_normals has 3 indices for"),
    ] {
        let before = mesh.clone();
        let error = mesh.triangulate_with(&options(3)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.diagnostic().message.starts_with(message), "{error}");
        assert_eq!(mesh, before);
    }
}

#[test]
fn a_scene_with_a_bad_mesh_stays_consistent() {
    let bad = Mesh { faces: Elements { corner_positions: vec![0].into(), ..Elements::default() }, ..Mesh::default() };
    let good = mixed(10, 9);
    let end = good.counts();
    let object = Object { end, ..Object::default() };
    let mut scene = Scene { meshes: vec![good, bad], objects: vec![object], ..Scene::default() };
    assert!(scene.triangulate_with(&options(1)).is_err());
    assert_eq!(scene.objects[0].end, scene.meshes[0].counts());
    assert!(scene.objects[0].end.faces > end.faces);
}

#[test]
fn a_cancelled_cut_changes_nothing() {
    let mut mesh = mixed(10, 10);
    let before = mesh.clone();
    let options = options(2);
    options.cancel.cancel();
    assert_eq!(mesh.triangulate_with(&options).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(mesh, before);
}
