//! Operations on double-precision coordinates: each is applied before rounding.

use crate::precise::samples::{self, TEXTS, points, positions};
use crate::support::{memory, read_options};
use polyhaul::model::{Axes, Mesh, Object, Scene};
use polyhaul::ops::{MeshOps, SceneOps, SectionPositions};
use polyhaul::options::{OptionGroup, Origin};
use polyhaul::{Format, ReadOptions, Reader};

fn survey() -> Scene {
    samples::scene(samples::obj(&points()), "a.obj")
}

fn read_with(set: &[(&str, &str)], text: &str, name: &str) -> Scene {
    let mut options: ReadOptions = read_options(2, 300);
    for (option, value) in set {
        options.set(option, value).unwrap();
    }
    Reader::new(memory(text, name)).options(&options).scene().unwrap().value
}

/// A transform that moves the data near the origin is applied before rounding.
#[test]
fn a_transform_is_applied_in_double_precision() {
    let expected: Vec<[f64; 3]> = points().iter().map(|[x, y, z]| [x - 454_123.0, y - 5_411_234.0, *z]).collect();
    for (name, text) in TEXTS {
        let moved = read_with(&[("transform", "1,0,0,-454123,0,1,0,-5411234,0,0,1,0")], &text(&points()), name);
        assert!(samples::error(&positions(&moved), &expected) < 1e-9, "{name}");
    }
}

#[test]
fn boxes_are_of_doubles() {
    let inside = points().iter().filter(|[x, ..]| *x <= 454_123.244).count();
    for (name, text) in TEXTS {
        let scene = read_with(&[("bounds", "0,0,0,454123.244,9e9,9e9")], &text(&points()), name);
        let mut inside_points = positions(&scene);
        inside_points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        inside_points.dedup();
        assert_eq!(inside_points.len(), inside, "{name}");
    }
}

/// Positions of the corners of all faces.
fn corners(mesh: &Mesh) -> Vec<[f64; 3]> {
    mesh.faces.corner_positions.iter().map(|&at| mesh.exact_position(at as usize).unwrap()).collect()
}

#[test]
fn operations_on_meshes_keep_doubles() {
    let scene = survey();
    let mesh = &scene.meshes[0];
    // Sections have the vertices of their faces, in order.
    let end = mesh.counts();
    let start = polyhaul::model::Counts { faces: end.faces / 2, ..Default::default() };
    let section = mesh.section(start, end, SectionPositions::Used).unwrap();
    assert!(section.is_exact() && section.positions.len() < mesh.positions.len());
    assert_eq!(corners(&section), corners(mesh)[start.faces as usize * 3..]);
    // Facets share corners after welding: floats cannot distinguish them, doubles can.
    let welded = read_with(&[("weld", "true")], &samples::stl(&points()), "a.stl");
    assert_eq!(corners(&welded.meshes[0]), corners(mesh));
    assert_eq!(welded.meshes[0].positions.len(), 40);
    // A polygon is triangulated by its exact corners.
    let ring = [[0.0, 0.0], [0.004, 0.0], [0.004, 0.004], [0.001, 0.001]];
    let polygon: String =
        ring.iter().map(|[x, y]| format!("v {:.3} {:.3} 0\n", 454_123.0 + x, 5_411_234.0 + y)).collect();
    let mut polygon = samples::scene(polygon + "f 1 2 3 4\n", "a.obj");
    polygon.triangulate().unwrap();
    let triangles = corners(&polygon.meshes[0]);
    let area = |corner: &[[f64; 3]]| {
        let [a, b, c] = [corner[0], corner[1], corner[2]];
        ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2.0
    };
    assert_eq!(triangles.len(), 6);
    assert!(triangles.chunks(3).all(|corner| area(corner) > 1e-7), "{triangles:?}");
}

#[test]
fn axes_and_scale_apply_to_doubles() {
    let mut scene = survey();
    scene.transform_axes(Axes::OBJ, 1000.0).unwrap();
    scene.transform_axes(Axes::OBJ, 0.001).unwrap();
    assert!(samples::error(&positions(&scene), &points()) < 2e-9);
    let mesh = &scene.meshes[0];
    let nearest: Vec<[f32; 3]> = mesh.exact_positions.iter().map(|row| row.map(|value| value as f32)).collect();
    assert_eq!(mesh.positions, nearest);
}

/// Formats without transforms place objects with large transforms in double precision.
#[test]
fn transforms_of_objects_are_applied_in_double_precision() {
    let local: Vec<[f32; 3]> = (0..40).map(|at| [0.25 * at as f32, 0.5, -0.125 * at as f32]).collect();
    let faces = survey().meshes[0].faces.clone();
    let mesh = Mesh { positions: local.clone().into(), faces, ..Mesh::default() };
    let offset = [454_123.125, 5_411_234.456, 100.5];
    let matrix: [[f64; 4]; 4] = std::array::from_fn(|row| {
        std::array::from_fn(|at| if at == 3 && row < 3 { offset[row] } else { f64::from(u8::from(at == row)) })
    });
    let object = |transform| Object { mesh: 0, end: mesh.counts(), transform, ..Object::default() };
    let scene =
        Scene { objects: vec![object(Some(matrix)), object(None)], meshes: vec![mesh.clone()], ..Scene::default() };
    let near: Vec<[f64; 3]> = local.iter().map(|row| row.map(f64::from)).collect();
    let far: Vec<[f64; 3]> = near.iter().map(|row| [0, 1, 2].map(|axis| row[axis] + offset[axis])).collect();
    for format in [Format::Obj, Format::Ply, Format::Off] {
        let (bytes, _) = crate::support::try_written(&scene, &samples::to(format)).unwrap();
        let back = positions(&samples::scene(&bytes, &format!("b.{}", format.name())));
        // A file may have rotated axes: the smaller distance counts.
        let placed = samples::error(&back, &far).min(samples::error(&back, &turned(&far)));
        assert!(placed < 1e-9, "{}: {placed}", format.name());
        let placed = samples::error(&back, &near).min(samples::error(&back, &turned(&near)));
        assert!(placed < 1e-9, "{}: {placed}", format.name());
    }
}

/// Formats without transforms store all positions in one type: a double applies all transforms, and one mesh of doubles
/// makes doubles of all.
#[test]
fn one_double_places_all_objects() {
    let mesh = |x: f32| Mesh { positions: vec![[x, 2.0, 3.0]].into(), ..Mesh::default() };
    let meshes = vec![mesh(1.0), mesh(0.1)];
    let moved = |number: usize, by: f64| {
        let matrix = [[1.0, 0.0, 0.0, by], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        Object { mesh: number, end: meshes[number].counts(), transform: Some(matrix), ..Object::default() }
    };
    let placed = Scene { objects: vec![moved(0, 0.1), moved(1, 16.0)], meshes: meshes.clone(), ..Scene::default() };
    let partly = Scene { objects: vec![moved(0, 16.0), moved(1, 0.0)], meshes: meshes.clone(), ..Scene::default() };
    let plain = Scene { meshes: meshes.clone(), ..Scene::default() };
    let tenth = f64::from(0.1_f32);
    let origin = Origin::At([0.5, 0.0, 0.0]);
    for (scene, origin, xs) in [
        (&placed, Origin::None, [1.1, tenth + 16.0]),
        (&partly, origin, [16.5, tenth - 0.5]),
        (&plain, origin, [0.5, tenth - 0.5]),
    ] {
        let expected = xs.map(|x| [x, 2.0, 3.0]);
        for format in [Format::Ply, Format::Npy, Format::Csv] {
            let mut options = samples::to(format);
            options.scene.origin = origin;
            let (bytes, _) = crate::support::try_written(scene, &options).unwrap();
            let back = positions(&samples::scene(&bytes, &format!("b.{}", format.name())));
            let error = samples::error(&back, &expected).min(samples::error(&back, &turned(&expected)));
            // Text says no type: these digits fit 32-bit floats.
            let max_error = if format == Format::Csv { 1e-6 } else { 1e-9 };
            assert!(error < max_error, "{}: {back:?}, expected {expected:?}", format.name());
        }
    }
}

fn turned(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    points.iter().map(|&[x, y, z]| [x, -z, y]).collect()
}
