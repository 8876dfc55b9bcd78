//! Generates PLY files: the grid as triangles, with a normal and a uv per position, binary and ASCII; and splats.
//!
//! All rows of an element have the same size, as written by a scanner or an exporter; only the meshes of [`colors`] and
//! of some styles have colors. ASCII files also come in the styles of [`super::styles`].

use super::styles::{Style, TIDY, style};
use super::{Failure, Grid, Text, hash};

/// Size of a vertex with its two triangles.
const BINARY_BYTES_PER_VERTEX: f64 = 32.0 + 2.0 * 13.0;
/// Approximate size of a vertex in ASCII, with its two triangles.
const ASCII_BYTES_PER_VERTEX: f64 = 120.0;
/// Approximate size of a vertex with a color in ASCII, with its two triangles.
const COLORED_BYTES_PER_VERTEX: f64 = 90.0;
/// Approximate size of a vertex with a normal in ASCII, with its two triangles; larger for doubles.
const STYLED_BYTES_PER_VERTEX: f64 = 104.0;
const STYLED_DOUBLE_BYTES_PER_VERTEX: f64 = 174.0;
const VERTEX: [&str; 8] = ["x", "y", "z", "nx", "ny", "nz", "s", "t"];
/// Columns of a splat before and after its 45 coefficients.
const SPLAT: [&[&str]; 2] = [
    &["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"],
    &["opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"],
];
const SPLAT_COEFFICIENTS: usize = 45;

/// Writes a mesh, little-endian.
pub fn binary(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let grid = grid(megabytes, BINARY_BYTES_PER_VERTEX);
    mesh_header(text, "binary_little_endian", &grid);
    for (row, column) in grid.vertices(0) {
        floats(text, &vertex(&grid, row, column))?;
    }
    for triangle in triangles(&grid) {
        text.bytes(&[3]);
        triangle.iter().for_each(|corner| text.bytes(&corner.to_le_bytes()));
        text.spill()?;
    }
    Ok(())
}

/// Writes such a mesh in ASCII.
pub fn ascii(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let grid = grid(megabytes, ASCII_BYTES_PER_VERTEX);
    mesh_header(text, "ascii", &grid);
    for (row, column) in grid.vertices(0) {
        text.numbers(&vertex(&grid, row, column))?;
    }
    faces(text, &grid, &TIDY)
}

/// Writes a mesh in ASCII, like a scanner: positions with colors of four bytes.
pub fn colors(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let grid = grid(megabytes, COLORED_BYTES_PER_VERTEX);
    let (vertex_count, face_count) = sizes(&grid);
    header(text, "ascii");
    element(text, "vertex", vertex_count, &VERTEX[..3]);
    for name in ["red", "green", "blue", "alpha"] {
        text.bytes(format!("property uchar {name}\n").as_bytes());
    }
    face_header(text, face_count);
    text.counts[0] = vertex_count;
    text.counts[2] = face_count;
    for (row, column) in grid.vertices(0) {
        let [x, y, z] = grid.position(row, column);
        let [red, green, blue, _] = hash(row, column, 4).to_le_bytes();
        text.bytes(format!("{x:.6} {y:.6} {z:.6} {red} {green} {blue} 255\n").as_bytes());
        text.spill()?;
    }
    faces(text, &grid, &TIDY)
}

/// Writes a mesh in ASCII in the style of another program: positions and normals, as doubles if the program uses them,
/// and four bytes of color if it has any.
pub fn styled(text: &mut Text, name: &str, megabytes: u64) -> Result<(), Failure> {
    let style = style(name)?;
    let grid =
        grid(megabytes, if style.has_doubles() { STYLED_DOUBLE_BYTES_PER_VERTEX } else { STYLED_BYTES_PER_VERTEX });
    let (vertex_count, face_count) = sizes(&grid);
    let scalar = if style.has_doubles() { "double" } else { "float" };
    let mut lines = vec!["ply".to_owned(), "format ascii 1.0".into(), format!("element vertex {vertex_count}")];
    lines.extend(VERTEX[..6].iter().map(|name| format!("property {scalar} {name}")));
    let colors = ["red", "green", "blue", "alpha"];
    lines.extend(colors.iter().filter(|_| style.colored).map(|name| format!("property uchar {name}")));
    lines.push(format!("element face {face_count}"));
    lines.extend(["property list uchar int vertex_indices".to_owned(), "end_header".into()]);
    for line in lines {
        text.bytes(line.as_bytes());
        style.end(text)?;
    }
    text.counts[0] = vertex_count;
    text.counts[2] = face_count;
    for (row, column) in grid.vertices(0) {
        style.values(text, &grid.position(row, column));
        style.normal(text, &grid.normal(row, column));
        for byte in hash(row, column, 4).to_le_bytes().iter().filter(|_| style.colored) {
            text.bytes(style.gap);
            text.integer(u64::from(*byte));
        }
        // A row does not start with a gap.
        text.line.drain(..style.gap.len());
        style.end(text)?;
    }
    faces(text, &grid, &style)
}

/// Writes the triangles as rows of text.
fn faces(text: &mut Text, grid: &Grid, style: &Style) -> Result<(), Failure> {
    for triangle in triangles(grid) {
        text.bytes(b"3");
        for corner in triangle {
            text.bytes(style.gap);
            text.integer(u64::from(corner));
        }
        style.end(text)?;
    }
    Ok(())
}

/// Writes points of 62 floats, little-endian.
pub fn splat(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let coefficients: Vec<String> = (0..SPLAT_COEFFICIENTS).map(|index| format!("f_rest_{index}")).collect();
    let [before, after] = SPLAT;
    let middle = coefficients.iter().map(String::as_str);
    let names: Vec<&str> = before.iter().copied().chain(middle).chain(after.iter().copied()).collect();
    let count = (megabytes * 1_000_000 / (4 * names.len() as u64)) as u32;
    header(text, "binary_little_endian");
    element(text, "vertex", u64::from(count), &names);
    text.bytes(b"end_header\n");
    text.counts[0] = u64::from(count);
    for index in 0..count {
        let value = |column: usize| hash(index, column as u32, 3) as i32 as f32 / 2_147_483_648.0;
        let row: [f32; 62] = std::array::from_fn(value);
        floats(text, &row)?;
    }
    Ok(())
}

pub(super) fn grid(megabytes: u64, bytes_per_vertex: f64) -> Grid {
    let side = (megabytes as f64 * 1e6 / bytes_per_vertex).sqrt() as u32;
    Grid { rows: side, columns: side, seed: 1, seam: 0, origin: [0.0; 3], size: 4.0 }
}

fn mesh_header(text: &mut Text, format: &str, grid: &Grid) {
    let (vertex_count, face_count) = sizes(grid);
    header(text, format);
    element(text, "vertex", vertex_count, &VERTEX);
    face_header(text, face_count);
    text.counts[0] = vertex_count;
    text.counts[2] = face_count;
}

/// Returns the numbers of vertices and faces.
fn sizes(grid: &Grid) -> (u64, u64) {
    let [rows, columns] = [grid.rows, grid.columns].map(u64::from);
    (rows * columns, 2 * (rows - 1) * columns)
}

fn face_header(text: &mut Text, count: u64) {
    element(text, "face", count, &[]);
    text.bytes(b"property list uchar int vertex_indices\nend_header\n");
}

pub(super) fn header(text: &mut Text, format: &str) {
    text.bytes(format!("ply\nformat {format} 1.0\ncomment made by polyhaul's benchmark\n").as_bytes());
}

/// Declares an element whose properties are all floats.
pub(super) fn element(text: &mut Text, name: &str, count: u64, floats: &[&str]) {
    text.bytes(format!("element {name} {count}\n").as_bytes());
    floats.iter().for_each(|float| text.bytes(format!("property float {float}\n").as_bytes()));
}

/// Returns position, normal and uv.
fn vertex(grid: &Grid, row: u32, column: u32) -> [f32; 8] {
    let [x, y, z] = grid.position(row, column);
    let [nx, ny, nz] = grid.normal(row, column);
    let [s, t] = grid.uv(row, column);
    [x, y, z, nx, ny, nz, s, t]
}

/// Returns two triangles per square. The last column of squares connects back to the first and closes the tube.
pub(super) fn triangles(grid: &Grid) -> impl Iterator<Item = [u32; 3]> + use<> {
    let columns = grid.columns;
    let squares = (0..grid.rows - 1).flat_map(move |row| (0..columns).map(move |column| (row, column)));
    squares.flat_map(move |(row, column)| {
        let at = |row: u32, column: u32| row * columns + column % columns;
        let [a, b, c, d] = [at(row, column), at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)];
        [[a, b, c], [a, c, d]]
    })
}

fn floats(text: &mut Text, values: &[f32]) -> Result<(), Failure> {
    values.iter().for_each(|value| text.bytes(&value.to_le_bytes()));
    text.spill()
}
