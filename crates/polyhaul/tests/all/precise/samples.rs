//! Georeferenced samples: the same 40 points in every format.

use crate::support::{memory, read_options, try_converted};
use polyhaul::model::{Mesh, Scene};
use polyhaul::options::Precision;
use polyhaul::{Format, Input, Reader, Report, WriteOptions};

/// Survey coordinates in millimeters, whose nearest f32s are up to a quarter of a meter away.
pub fn points() -> Vec<[f64; 3]> {
    let point = |at: u32| {
        let at = f64::from(at);
        [454_123_125.0 + 17.0 * at, 5_411_234_456.0 + 1013.0 * at, 100_500.0 + 3.0 * at * at]
            .map(|value| value / 1000.0)
    };
    (0..40).map(point).collect()
}

/// A fan of triangles over the points.
fn triangles() -> Vec<[usize; 3]> {
    (1..39).map(|at| [0, at, at + 1]).collect()
}

fn text(points: &[[f64; 3]], separator: &str) -> String {
    points.iter().map(|[x, y, z]| format!("{x}{separator}{y}{separator}{z}\n")).collect()
}

pub fn obj(points: &[[f64; 3]]) -> String {
    let faces = triangles().into_iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1));
    points.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).chain(faces).collect()
}

pub fn off(points: &[[f64; 3]]) -> String {
    let faces: String = triangles().into_iter().map(|[a, b, c]| format!("3 {a} {b} {c}\n")).collect();
    format!("OFF\n{} {} 0\n{}{faces}", points.len(), triangles().len(), text(points, " "))
}

pub fn stl(points: &[[f64; 3]]) -> String {
    let facet = |corners: [usize; 3]| {
        let vertices: String = corners
            .map(|at| points[at].map(|value| value.to_string()).join(" "))
            .iter()
            .map(|vertex| format!("vertex {vertex}\n"))
            .collect();
        format!("facet normal 0 0 1\nouter loop\n{vertices}endloop\nendfacet\n")
    };
    format!("solid survey\n{}endsolid survey\n", triangles().into_iter().map(facet).collect::<String>())
}

pub fn ply(points: &[[f64; 3]]) -> String {
    let lines = "property double x\nproperty double y\nproperty double z\n";
    let faces: String = triangles().into_iter().map(|[a, b, c]| format!("3 {a} {b} {c}\n")).collect();
    let vertices = text(points, " ");
    let count = triangles().len();
    format!(
        "ply\nformat ascii 1.0\nelement vertex {}\n{lines}element face {count}\n\
         property list uchar int vertex_indices\nend_header\n{vertices}{faces}",
        points.len()
    )
}

pub fn csv(points: &[[f64; 3]]) -> String {
    format!("x,y,z\n{}", text(points, ","))
}

pub fn xyz(points: &[[f64; 3]]) -> String {
    text(points, " ")
}

/// Formats points as text.
type TextOf = fn(&[[f64; 3]]) -> String;

/// Text samples by file name.
pub const TEXTS: [(&str, TextOf); 6] =
    [("a.obj", obj), ("a.off", off), ("a.stl", stl), ("a.ply", ply), ("a.csv", csv), ("a.xyz", xyz)];

/// Reads the scene of a file.
pub fn scene(bytes: impl AsRef<[u8]>, name: &str) -> Scene {
    Reader::new(memory(bytes, name)).scene().unwrap().value
}

/// All positions of a scene, as stored, in double precision.
pub fn positions(scene: &Scene) -> Vec<[f64; 3]> {
    let of = |mesh: &Mesh| (0..mesh.positions.len()).map(|at| mesh.exact_position(at).unwrap()).collect::<Vec<_>>();
    scene.meshes.iter().flat_map(of).collect()
}

/// Maximum distance of the sample's points from the nearest of these positions. Facets repeat points.
pub fn error(positions: &[[f64; 3]], points: &[[f64; 3]]) -> f64 {
    let distance = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|axis| (a[axis] - b[axis]).abs()).fold(0.0, f64::max);
    let nearest = |point: &[f64; 3]| positions.iter().map(|other| distance(point, other)).fold(f64::MAX, f64::min);
    points.iter().map(nearest).fold(0.0, f64::max)
}

/// Options for writing a format.
pub fn to(format: Format) -> WriteOptions {
    WriteOptions::default().with_format(Some(format))
}

/// Converts the file `name` and reads the result with all digits; also returns the combined report.
pub fn converted(bytes: impl AsRef<[u8]>, name: &str, options: &WriteOptions) -> (Scene, Report) {
    let (bytes, report) = try_converted(memory(bytes, name), &read_options(2, None), options).unwrap();
    let format = options.format.unwrap();
    let read = read_options(1, None).with_precision(Precision::Double).with_format(Some(format));
    let input = Input::Memory(bytes, format!("b.{}", format.name()));
    (Reader::new(input).options(&read).scene().unwrap().value, report)
}
