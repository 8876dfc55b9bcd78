//! Reading from memory and from hostile readers, and what came of it as text.

use polyhaul::model::{Array, Column, Mesh, Scene, Table, Values};
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Input, Loaded, ReadOptions, Reader, Result, Tables};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;
use std::fmt::{Debug, Write};

pub const NAME: &str = "x.ply";

pub fn memory(bytes: &[u8]) -> Input {
    Input::Memory(bytes.to_vec(), NAME.into())
}

/// A reader that gives what bytes it likes, and is interrupted on the way.
pub fn stream(bytes: &[u8], seed: u64) -> Input {
    let sizes = if seed == 0 { Sizes::One } else { Sizes::Random(Random::new(seed)) };
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(Fault::Interrupted)), NAME.into())
}

/// Options with these threads and chunks; the library's choice for `None`.
pub fn options(threads: usize, chunk_bytes: impl Into<Option<usize>>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options.run.chunk_bytes = chunk_bytes.into();
    options
}

pub fn lenient() -> ReadOptions {
    options(1, None).with_on_error(polyhaul::options::OnError::Warn)
}

pub fn tables(text: impl AsRef<[u8]>) -> Vec<Table> {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).tables().unwrap().value.tables
}

pub fn scene(text: impl AsRef<[u8]>) -> Loaded<Scene> {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).scene().unwrap()
}

/// The error that reading comes to.
pub fn error(text: impl AsRef<[u8]>) -> Error {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).scene().map(|_| ()).unwrap_err()
}

/// Some lines of a header of this form, and the line that ends it.
pub fn header(form: &str, lines: &str) -> String {
    format!("ply\nformat {form} 1.0\n{lines}end_header\n")
}

/// What a reading as tables comes to.
pub fn tables_text(result: &Result<Loaded<Tables>>) -> String {
    match result {
        Ok(Loaded { value: Tables { tables, comments, infos }, report }) => {
            let mut out = format!("comments {comments:?} infos {infos:?}\n");
            tables.iter().for_each(|table| self::table(&mut out, table));
            warnings(&mut out, &report.warnings);
            out
        }
        Err(error) => failure(error),
    }
}

/// What a reading as a scene comes to.
pub fn scene_text(result: &Result<Loaded<Scene>>) -> String {
    match result {
        Ok(Loaded { value: scene, report }) => {
            let Scene { meshes, objects, tables, comments, infos, .. } = scene;
            let mut out = format!("comments {comments:?} infos {infos:?} objects {objects:?}\n");
            meshes.iter().for_each(|mesh| self::mesh(&mut out, mesh));
            tables.iter().for_each(|table| self::table(&mut out, table));
            warnings(&mut out, &report.warnings);
            out
        }
        Err(error) => failure(error),
    }
}

fn failure(error: &Error) -> String {
    format!("{:?} {:?}\n", error.kind(), error.diagnostic())
}

fn warnings(out: &mut String, warnings: &Warnings) {
    for (code, count) in warnings.counts() {
        let _ = writeln!(out, "{count} {code}");
    }
    for warning in warnings.kept() {
        let _ = writeln!(out, "{warning:?}");
    }
}

fn mesh(out: &mut String, mesh: &Mesh) {
    array(out, "positions", &mesh.positions);
    array(out, "colors", &mesh.colors);
    array(out, "uvs", &mesh.uvs);
    array(out, "normals", &mesh.normals);
    let _ = writeln!(out, "{:?} {:?}", mesh.uv_domain, mesh.normal_domain);
    for (name, elements) in [("faces", &mesh.faces), ("lines", &mesh.lines)] {
        array(out, name, &elements.offsets);
        array(out, name, &elements.corner_positions);
    }
    mesh.vertex_columns.iter().chain(&mesh.face_columns).for_each(|column| self::column(out, column));
}

fn table(out: &mut String, table: &Table) {
    let _ = writeln!(out, "table {} {}", table.name, table.row_count);
    table.columns.iter().for_each(|column| self::column(out, column));
}

fn column(out: &mut String, column: &Column) {
    let name = &column.name;
    if let Some(offsets) = &column.offsets {
        array(out, "offsets", offsets);
    }
    match &column.values {
        Values::I8(values) => array(out, name, values),
        Values::U8(values) => array(out, name, values),
        Values::I16(values) => array(out, name, values),
        Values::U16(values) => array(out, name, values),
        Values::I32(values) => array(out, name, values),
        Values::U32(values) => array(out, name, values),
        Values::I64(values) => array(out, name, values),
        Values::U64(values) => array(out, name, values),
        Values::F32(values) => array(out, name, values),
        Values::F64(values) => array(out, name, values),
    }
}

fn array<T: Debug>(out: &mut String, name: &str, values: &Array<T>) {
    if !values.is_empty() {
        let _ = writeln!(out, "{name} {values:?}");
    }
}

/// A column as lists of numbers, each as text.
pub fn rows_of(column: &Column) -> Vec<Vec<String>> {
    fn all<T: Debug>(values: &[T]) -> Vec<String> {
        values.iter().map(|value| format!("{value:?}")).collect()
    }
    let values = match &column.values {
        Values::I8(values) => all(values),
        Values::U8(values) => all(values),
        Values::I16(values) => all(values),
        Values::U16(values) => all(values),
        Values::I32(values) => all(values),
        Values::U32(values) => all(values),
        Values::I64(values) => all(values),
        Values::U64(values) => all(values),
        Values::F32(values) => all(values),
        Values::F64(values) => all(values),
    };
    match &column.offsets {
        Some(offsets) => {
            let list = |pair: &[u32]| values[pair[0] as usize..pair[1] as usize].to_vec();
            offsets.windows(2).map(list).collect()
        }
        None => values.into_iter().map(|value| vec![value]).collect(),
    }
}
