//! Generates a closed surface, like scanners and modelers: a sphere with bumps, with well-shaped triangles.
//!
//! The grids of the other inputs are noise: rendered, they are millions of long and thin triangles.

use super::ply::{element, header};
use super::{Failure, Text};
use std::f64::consts::{PI, TAU};

/// Returns the number of points around the sphere, which is also the number from pole to pole.
fn side(megabytes: u64, bytes_per_vertex: f64) -> u32 {
    (megabytes as f64 * 1e6 / bytes_per_vertex).sqrt() as u32
}

fn row(side: u32, row: u32) -> Vec<[f32; 3]> {
    let u = TAU * f64::from(row) / f64::from(side - 1);
    let point = |column: u32| {
        let v = 0.02 + (PI - 0.04) * f64::from(column) / f64::from(side - 1);
        let bumps = 0.08 * (9.0 * u).sin() * (11.0 * v).sin() + 0.01 * (140.0 * u).sin() * (150.0 * v).sin();
        let radius = 1.0 + bumps;
        [radius * u.cos() * v.sin(), radius * v.cos(), radius * u.sin() * v.sin()].map(|value| value as f32)
    };
    (0..side).map(point).collect()
}

/// Writes binary STL with zero normals, which the reader computes.
pub fn stl(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let side = side(megabytes, 100.0);
    text.bytes(&[0; 80]);
    text.bytes(&(2 * (side - 1) * (side - 1)).to_le_bytes());
    let mut upper = row(side, 0);
    for number in 1..side {
        let lower = row(side, number);
        for at in 0..side as usize - 1 {
            let [a, b, c, d] = [upper[at], upper[at + 1], lower[at + 1], lower[at]];
            for triangle in [[[0.0; 3], a, b, c], [[0.0; 3], a, c, d]] {
                triangle.as_flattened().iter().for_each(|value: &f32| text.bytes(&value.to_le_bytes()));
                text.bytes(&[0, 0]);
            }
            text.spill()?;
        }
        text.counts[0] += 6 * u64::from(side - 1);
        text.counts[2] += 2 * u64::from(side - 1);
        upper = lower;
    }
    Ok(())
}

/// Writes binary PLY.
pub fn ply(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    let side = side(megabytes, 38.0);
    let vertices = u64::from(side) * u64::from(side);
    let faces = 2 * u64::from(side - 1) * u64::from(side - 1);
    header(text, "binary_little_endian");
    element(text, "vertex", vertices, &["x", "y", "z"]);
    text.bytes(format!("element face {faces}\nproperty list uchar int vertex_indices\nend_header\n").as_bytes());
    for number in 0..side {
        for point in row(side, number) {
            point.iter().for_each(|value| text.bytes(&value.to_le_bytes()));
        }
        text.spill()?;
    }
    for (upper, at) in (0..side - 1).flat_map(|upper| (0..side - 1).map(move |at| (upper, at))) {
        let [a, b] = [upper * side + at, upper * side + at + 1];
        for triangle in [[a, b, b + side], [a, b + side, a + side]] {
            text.bytes(&[3]);
            triangle.iter().for_each(|corner| text.bytes(&corner.to_le_bytes()));
        }
        text.spill()?;
    }
    text.counts[0] = vertices;
    text.counts[2] = faces;
    Ok(())
}
