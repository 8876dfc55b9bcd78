//! Generates STL files: the grid as triangles, binary and ASCII, also in the styles of [`super::styles`].

use super::ply::{grid, triangles};
use super::styles::style;
use super::{Failure, Grid, Text};

/// Size of a vertex of the grid, which has two triangles.
const BINARY_BYTES_PER_VERTEX: f64 = 2.0 * 50.0;
/// Approximate size in ASCII.
const ASCII_BYTES_PER_VERTEX: f64 = 2.0 * 216.0;

/// Writes a header of 80 bytes, a count, and triangles.
pub fn binary(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let grid = grid(megabytes, BINARY_BYTES_PER_VERTEX);
    let mut title = b"made by polyhaul's benchmark".to_vec();
    title.resize(80, 0);
    text.bytes(&title);
    text.bytes(&(2 * (grid.rows - 1) * grid.columns).to_le_bytes());
    facets(text, &grid, |text, facet| {
        facet.as_flattened().iter().for_each(|value| text.bytes(&value.to_le_bytes()));
        text.bytes(&[0, 0]);
        text.spill()
    })
}

/// Writes a solid in polyhaul's own layout, with six decimals.
pub fn ascii(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    text.bytes(b"solid grid\n");
    facets(text, &grid(megabytes, ASCII_BYTES_PER_VERTEX), |text, [normal, corners @ ..]| {
        text.row(b"facet normal", normal, 6)?;
        text.bytes(b"  outer loop\n");
        corners.iter().try_for_each(|corner| text.row(b"    vertex", corner, 6))?;
        text.bytes(b"  endloop\nendfacet\n");
        Ok(())
    })?;
    text.bytes(b"endsolid grid\n");
    Ok(())
}

/// Writes the same solid in the style of another program.
pub fn styled(text: &mut Text, name: &str, megabytes: u64) -> Result<(), Failure> {
    let style = style(name)?;
    let line = |text: &mut Text, words: &[u8]| {
        text.bytes(words);
        style.end(text)
    };
    line(text, b"solid grid")?;
    facets(text, &grid(megabytes, ASCII_BYTES_PER_VERTEX), |text, [normal, corners @ ..]| {
        text.bytes(b"facet normal");
        style.values(text, normal);
        style.end(text)?;
        line(text, b"  outer loop")?;
        for corner in corners {
            text.bytes(b"    vertex");
            style.values(text, corner);
            style.end(text)?;
        }
        line(text, b"  endloop")?;
        line(text, b"endfacet")
    })?;
    line(text, b"endsolid grid")
}

/// Calls `write` with the normal and the positions of each triangle.
fn facets(
    text: &mut Text,
    grid: &Grid,
    write: impl Fn(&mut Text, &[[f32; 3]; 4]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let vertices: Vec<[f32; 3]> = grid.vertices(0).map(|(row, column)| grid.position(row, column)).collect();
    for triangle in triangles(grid) {
        let [a, b, c] = triangle.map(|corner| vertices[corner as usize]);
        let [row, column] = [triangle[0] / grid.columns, triangle[0] % grid.columns];
        write(text, &[grid.normal(row, column), a, b, c])?;
        text.counts[0] += 3;
        text.counts[2] += 1;
    }
    Ok(())
}
