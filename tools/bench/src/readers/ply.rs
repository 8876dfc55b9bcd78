//! Readers of PLY files. polyhaul reads a file as a scene (in [`super`]) and, here, as tables; its peers need the
//! columns in advance.

use super::{ModelCounts, report};
use crate::Failure;
use ply_rs_bw::parser::{Parser, Reader};
use ply_rs_bw::ply::{PropertyAccess, PropertyAccessResult};
use polyhaul::{Loaded, ReadOptions, Tables};
use serde::Deserialize;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Block size of the peers.
const BUFFER_BYTES: usize = 256 << 10;

/// Declares a row of floats for both peers.
macro_rules! row {
    ($row:ident: $($name:ident)*) => {
        #[derive(Default, Deserialize)]
        struct $row { $($name: f32),* }

        impl PropertyAccess for $row {
            fn new() -> Self {
                $row::default()
            }

            fn set_float(&mut self, name: &str, value: f32) -> PropertyAccessResult {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return PropertyAccessResult::Ignored,
                }
                PropertyAccessResult::Set
            }
        }
    };
}

row!(Vertex: x y z nx ny nz s t);
row!(Splat: x y z nx ny nz f_dc_0 f_dc_1 f_dc_2
    f_rest_0 f_rest_1 f_rest_2 f_rest_3 f_rest_4 f_rest_5 f_rest_6 f_rest_7 f_rest_8
    f_rest_9 f_rest_10 f_rest_11 f_rest_12 f_rest_13 f_rest_14 f_rest_15 f_rest_16 f_rest_17
    f_rest_18 f_rest_19 f_rest_20 f_rest_21 f_rest_22 f_rest_23 f_rest_24 f_rest_25 f_rest_26
    f_rest_27 f_rest_28 f_rest_29 f_rest_30 f_rest_31 f_rest_32 f_rest_33 f_rest_34 f_rest_35
    f_rest_36 f_rest_37 f_rest_38 f_rest_39 f_rest_40 f_rest_41 f_rest_42 f_rest_43 f_rest_44
    opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3);

/// A face with any number of corners.
#[derive(Default, Deserialize)]
struct Polygon {
    vertex_indices: Vec<i32>,
}

impl PropertyAccess for Polygon {
    fn new() -> Self {
        Polygon::default()
    }

    fn set_list_int(&mut self, _: &str, value: Vec<i32>) -> PropertyAccessResult {
        self.vertex_indices = value;
        PropertyAccessResult::Set
    }
}

/// A face with exactly three corners, stored without a vector.
#[derive(Deserialize)]
struct Triangle {
    #[expect(dead_code, reason = "what is read is only counted")]
    vertex_indices: [i32; 3],
}

#[derive(Deserialize)]
struct Mesh<F> {
    vertex: Vec<Vertex>,
    face: Vec<F>,
}

#[derive(Deserialize)]
struct Splats {
    vertex: Vec<Splat>,
}

/// Reads `file` with the reader `name`, and prints the measurement.
pub fn main(name: &str, file: &Path, threads: usize) -> Result<(), Failure> {
    match name {
        "polyhaul-tables" => report(|| load(file, threads), found),
        "serde-ply" => report(|| Ok(serde_ply::from_reader(open(file)?)?), mesh_found::<Polygon>),
        "serde-ply-triangles" => report(|| Ok(serde_ply::from_reader(open(file)?)?), mesh_found::<Triangle>),
        "serde-ply-splat" => report(|| Ok(serde_ply::from_reader(open(file)?)?), splats_found),
        "ply-rs-bw" => report(|| ply_rs_mesh(file), mesh_found),
        "ply-rs-bw-splat" => report(|| ply_rs_splats(file), splats_found),
        _ => Err(format!("no reader {name}").into()),
    }
}

fn open(file: &Path) -> std::io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(BUFFER_BYTES, File::open(file)?))
}

fn load(file: &Path, threads: usize) -> Result<Loaded<Tables>, Failure> {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    Ok(polyhaul::Reader::new(super::input(file)).options(&options).tables()?)
}

fn found(loaded: &Loaded<Tables>) -> ModelCounts {
    let rows =
        |name| loaded.value.tables.iter().find(|table| table.name == name).map_or(0, |table| table.row_count as u64);
    ModelCounts {
        positions: rows("vertex"),
        faces: rows("face"),
        model_bytes: Some(loaded.value.tables.iter().map(|table| table.heap_bytes()).sum()),
    }
}

fn mesh_found<F>(mesh: &Mesh<F>) -> ModelCounts {
    ModelCounts { positions: mesh.vertex.len() as u64, faces: mesh.face.len() as u64, model_bytes: None }
}

fn splats_found(splats: &Splats) -> ModelCounts {
    ModelCounts { positions: splats.vertex.len() as u64, faces: 0, model_bytes: None }
}

fn ply_rs_mesh(file: &Path) -> Result<Mesh<Polygon>, Failure> {
    let mut reader = Reader::new(open(file)?);
    let vertices = Parser::<Vertex>::new();
    let header = vertices.read_header(&mut reader)?;
    Ok(Mesh {
        vertex: vertices.read_payload_for_element(&mut reader, &header.elements["vertex"], &header)?,
        face: Parser::new().read_payload_for_element(&mut reader, &header.elements["face"], &header)?,
    })
}

fn ply_rs_splats(file: &Path) -> Result<Splats, Failure> {
    let mut reader = Reader::new(open(file)?);
    let splats = Parser::<Splat>::new();
    let header = splats.read_header(&mut reader)?;
    Ok(Splats { vertex: splats.read_payload_for_element(&mut reader, &header.elements["vertex"], &header)? })
}
