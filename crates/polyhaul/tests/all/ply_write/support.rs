//! Shared helpers.

use crate::ply::reference;
pub use crate::support::{column, scene_of as scene, try_written as write};
use polyhaul::model::{Elements, Mesh, Scene, Table};
use polyhaul::options::Digits;
use polyhaul::{Format, Input, Output, Reader, Report, Result, WriteOptions};
pub use polyhaul_testkit::options::PlyEncoding;
use polyhaul_testkit::output::Shared;

pub const ENCODINGS: [PlyEncoding; 3] = PlyEncoding::ALL;

pub fn options(options: WriteOptions) -> WriteOptions {
    options.with_format(Some(Format::Ply))
}

pub fn encoded(encoding: PlyEncoding) -> WriteOptions {
    options(encoding.options())
}

pub fn fixed(digits: u8) -> WriteOptions {
    let mut options = encoded(PlyEncoding::Ascii);
    options.scene.digits = Some(Digits::Fixed(digits));
    options
}

pub fn write_tables(tables: &[Table], options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    let output = Output::Writer(Box::new(shared.clone()), "out".into());
    polyhaul::Writer::new(output).options(options).tables_with(tables, &["a table".into()], &["from a test".into()])?;
    Ok(shared.take())
}

/// The text without its header, and the header.
#[track_caller]
pub fn parts(bytes: &[u8]) -> (String, &[u8]) {
    let end = b"end_header\n";
    let at = bytes.windows(end.len()).position(|window| window == end).unwrap() + end.len();
    (String::from_utf8(bytes[..at].into()).unwrap(), &bytes[at..])
}

/// The elements of a file; the slow reader must read the same.
#[track_caller]
pub fn read_tables(bytes: &[u8]) -> Vec<Table> {
    let loaded = Reader::new(Input::Memory(bytes.to_vec(), "x.ply".into())).tables().unwrap();
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    assert_eq!(reference::of_tables(&loaded.value.tables), reference::read(bytes).unwrap());
    loaded.value.tables
}

/// The text of a written scene.
#[track_caller]
pub fn text(scene: &Scene, options: &WriteOptions) -> String {
    String::from_utf8(write(scene, options).unwrap().0).unwrap()
}

/// Count of a warning.
pub fn count(report: &Report, code: &str) -> u64 {
    report.warnings.counts().get(code).copied().unwrap_or(0)
}

pub fn elements(faces: &[&[u32]]) -> Elements {
    let mut elements = Elements { offsets: vec![0].into(), ..Elements::default() };
    let mut corners = Vec::new();
    for face in faces {
        corners.extend_from_slice(face);
        elements.offsets.to_mut().unwrap().push(corners.len() as u32);
    }
    elements.corner_positions = corners.into();
    if faces.is_empty() { Elements::default() } else { elements }
}

/// A square face.
pub fn square() -> Mesh {
    let positions = [[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [1.0, 1.0, 0.5], [0.0, 1.0, 0.5]];
    Mesh { positions: positions.into(), ..Mesh::default() }
}
