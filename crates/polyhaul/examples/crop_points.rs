//! Keeps the points of a scan that lie within a distance of a point, with all their columns.
//!
//!     cargo run --release --example crop_points -- scan.ply part.ply 2.5

use polyhaul::model::{Column, Table, Values};
use polyhaul::{Error, ErrorKind, Reader, Result, Writer};
use std::path::Path;

/// Copies the points closer than `radius` to `center`; returns their number.
pub fn crop(input: &Path, output: &Path, center: [f64; 3], radius: f64) -> Result<usize> {
    let mut tables = Reader::new(input).tables()?.value.tables;
    let missing = || Error::new(ErrorKind::Usage, "the file has no points");
    let points = tables.first_mut().ok_or_else(missing)?;
    let is_inside = inside(points, center, radius).ok_or_else(missing)?;
    for column in &mut points.columns {
        column.values = kept(&column.values, &is_inside);
    }
    points.row_count = is_inside.iter().filter(|is_inside| **is_inside).count();
    let count = points.row_count;
    Writer::new(output).tables(&tables[..1])?;
    Ok(count)
}

/// Returns for each point whether it is inside; `None` without columns x, y and z.
fn inside(points: &Table, center: [f64; 3], radius: f64) -> Option<Vec<bool>> {
    let [x, y, z] = ["x", "y", "z"].map(|name| points.columns.iter().find(|column| column.name == name).map(numbers));
    let axes = [x?, y?, z?];
    let distance = |row: usize| -> f64 { (0..3).map(|axis| (axes[axis][row] - center[axis]).powi(2)).sum() };
    Some((0..points.row_count).map(|row| distance(row) < radius * radius).collect())
}

fn numbers(column: &Column) -> Vec<f64> {
    match &column.values {
        Values::F32(values) => values.iter().map(|&value| value.into()).collect(),
        Values::F64(values) => values.to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the selected values, in the same type.
fn kept(values: &Values, is_kept: &[bool]) -> Values {
    macro_rules! select {
        ($($kind:ident)+) => {
            match values {
                $(Values::$kind(values) => {
                    let selected = values.iter().zip(is_kept).filter(|(_, is_kept)| **is_kept);
                    Values::$kind(selected.map(|(value, _)| *value).collect::<Vec<_>>().into())
                })+
            }
        };
    }
    select!(I8 U8 I16 U16 I32 U32 I64 U64 F32 F64)
}

#[allow(dead_code, reason = "tests call `crop`")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, radius] = arguments.as_slice() else {
        eprintln!("usage: crop_points INPUT OUTPUT RADIUS");
        std::process::exit(2);
    };
    let radius = radius.parse().expect("the radius is a number");
    println!("{} points", crop(Path::new(input), Path::new(output), [0.0; 3], radius)?);
    Ok(())
}
