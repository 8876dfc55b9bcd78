//! What must hold for any bytes taken as PLY or STL.

use super::options;
use crate::hostile::{Fault, Hostile, Sizes};
use crate::output::{Shared, try_named};
use crate::random::Random;
use crate::scene::broken_rule;
use crate::summary::{self, outcome};
use polyhaul::model::{Scalar, Scene, Table};
use polyhaul::options::{Digits, OnError, PlyEncoding, PlyOptions, StlOptions};
use polyhaul::{Error, ErrorKind, Format, Input, Output, ReadOptions, WriteOptions, load, load_tables, save_tables};

/// Reads a PLY file in many ways, as tables and as a scene, which must all come to the same; what was read must be
/// sound, and come back when it is written.
pub fn ply(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let options = options(&mut random);
    let both = |input: &dyn Fn() -> Input, options: &ReadOptions| {
        let (scene, tables) = (load(input(), options), load_tables(input(), options));
        [scene.as_ref().err(), tables.as_ref().err()].into_iter().flatten().for_each(no_fault);
        if let Ok(loaded) = &scene {
            assert_eq!(broken_rule(&loaded.scene), None);
        }
        for table in tables.iter().flat_map(|loaded| &loaded.tables) {
            assert!(table.columns.iter().all(|column| column.row_count() == table.row_count));
        }
        let tables = tables.map(|loaded| (format!("{:?}", loaded.tables), loaded.report.warnings));
        let left = scene.as_ref().map(|loaded| format!("{:?}", loaded.scene)).unwrap_or_default();
        (outcome(&scene), left, format!("{:?}", tables.map_err(|error| summary::error(&error))))
    };
    same_in_all_ways(data, "fuzz.ply", &options, &mut random, both);
    if let Ok(loaded) = load_tables(Input::Memory(data.to_vec(), "fuzz.ply".into()), &options) {
        tables_come_back(&loaded.tables);
    }
    if let Ok(loaded) = load(Input::Memory(data.to_vec(), "fuzz.ply".into()), &options) {
        scene_comes_back(&loaded.scene);
    }
}

/// Reads an STL file of either kind in many ways, which must all come to the same; what was read must be sound, and its
/// triangles come back when they are written.
pub fn stl(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let mut options = options(&mut random);
    options.stl.weld = random.once_in(2);
    let read = |input: &dyn Fn() -> Input, options: &ReadOptions| {
        let result = load(input(), options);
        result.as_ref().err().into_iter().for_each(no_fault);
        if let Ok(loaded) = &result {
            assert_eq!(broken_rule(&loaded.scene), None);
        }
        (outcome(&result), result.map(|loaded| format!("{:?}", loaded.scene)).unwrap_or_default())
    };
    // Of a stream nobody knows the size, so a binary file that looks like text may be either.
    let is_streamed = !data.trim_ascii_start().to_ascii_lowercase().starts_with(b"solid");
    let whole = read(&|| Input::Memory(data.to_vec(), "fuzz.stl".into()), &options);
    for _ in 0..2 {
        let other = other_way(&options, &mut random);
        let positioned = read(&|| Input::Memory(data.to_vec(), "fuzz.stl".into()), &other);
        assert_eq!(whole, positioned, "chunks of {:?}", other.run);
        if is_streamed {
            let streamed = read(&|| hostile(data, "fuzz.stl", &random), &other);
            assert_eq!(whole, streamed, "a stream, chunks of {:?}", other.run);
        }
    }
    options.stl.weld = false;
    if let Ok(loaded) = load(Input::Memory(data.to_vec(), "fuzz.stl".into()), &options) {
        triangles_come_back(&loaded.scene);
    }
}

/// No input may come to these.
pub(super) fn no_fault(error: &Error) {
    assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
}

fn other_way(options: &ReadOptions, random: &mut Random) -> ReadOptions {
    let mut other = options.clone();
    other.run.chunk_bytes = Some(1 + random.below(80));
    other.run.threads = Some(1 + random.below(2));
    other
}

fn hostile(data: &[u8], name: &str, random: &Random) -> Input {
    let reader = Hostile::new(data, Sizes::Random(random.clone())).with(Fault::Interrupted);
    Input::Reader(Box::new(reader), name.into())
}

/// Reading is the same from memory and from a stream, whatever the chunks.
pub(super) fn same_in_all_ways<T: PartialEq + std::fmt::Debug>(
    data: &[u8],
    name: &str,
    options: &ReadOptions,
    random: &mut Random,
    read: impl Fn(&dyn Fn() -> Input, &ReadOptions) -> T,
) {
    let memory = || Input::Memory(data.to_vec(), name.into());
    let expected = read(&memory, options);
    for _ in 0..2 {
        let other = other_way(options, random);
        assert_eq!(expected, read(&memory, &other), "chunks of {:?}", other.run);
        let streamed = read(&|| hostile(data, name, random), &other);
        assert_eq!(expected, streamed, "a stream, chunks of {:?}", other.run);
    }
}

const ENCODINGS: [PlyEncoding; 3] = [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian];

fn encoded(encoding: PlyEncoding) -> WriteOptions {
    let ply = PlyOptions { encoding, ..PlyOptions::default() };
    WriteOptions { format: Some(Format::Ply), ply, ..WriteOptions::default() }
}

/// Tables without wide integers, which PLY has not, are the same when they were written and read.
fn tables_come_back(tables: &[Table]) {
    let is_wide = |scalar| matches!(scalar, Scalar::I64 | Scalar::U64);
    if tables.iter().flat_map(|table| &table.columns).any(|column| is_wide(column.values.scalar())) {
        return;
    }
    // Control characters in names are not written as they are.
    let is_odd = |name: &str| name.contains(char::is_control) || name.contains(char::is_whitespace);
    let names = tables.iter().flat_map(|table| table.columns.iter().map(|column| &column.name).chain([&table.name]));
    if names.into_iter().any(|name| is_odd(name)) {
        return;
    }
    for encoding in ENCODINGS {
        let shared = Shared::default();
        let output = Output::Writer(Box::new(shared.clone()), "x.ply".into());
        save_tables(tables, &[], &[], output, &encoded(encoding)).expect("tables that were read are written");
        let input = Input::Memory(shared.take(), "x.ply".into());
        let back = load_tables(input, &ReadOptions::default()).expect("what is written is read").tables;
        let shown = |tables: &[Table]| format!("{tables:?}");
        assert_eq!(shown(&back), shown(tables), "{encoding:?}");
    }
}

/// The mesh of a scene has as many positions, faces and lines when it was written and read.
fn scene_comes_back(scene: &Scene) {
    for encoding in ENCODINGS {
        let bytes = match try_named(scene, "x.ply", &encoded(encoding)) {
            Ok(bytes) => bytes,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::Usage, "{error}"),
        };
        let back =
            load(Input::Memory(bytes, "x.ply".into()), &ReadOptions::default()).expect("what is written is read");
        assert_eq!(broken_rule(&back.scene), None);
        let faces = |scene: &Scene| scene.meshes.iter().map(|mesh| mesh.faces.len()).sum::<usize>();
        assert_eq!(faces(&back.scene), faces(scene), "{encoding:?}");
    }
}

/// Every bit of every triangle comes back from both kinds; a NaN is any other in text.
fn triangles_come_back(scene: &Scene) {
    for ascii in [false, true] {
        let stl = StlOptions { ascii, digits: Digits::Shortest, ..StlOptions::default() };
        let options = WriteOptions { format: Some(Format::Stl), stl, ..WriteOptions::default() };
        let bytes = match try_named(scene, "x.stl", &options) {
            Ok(bytes) => bytes,
            Err(error) => panic!("a scene that was read is not written: {error}"),
        };
        let strict = ReadOptions { on_error: OnError::Raise, ..ReadOptions::default() };
        let back = load(Input::Memory(bytes, "x.stl".into()), &strict).expect("what is written is read");
        assert_eq!(triangles(&back.scene), triangles(scene), "as text: {ascii}");
    }
}

fn triangles(scene: &Scene) -> Vec<String> {
    let mut all = Vec::new();
    for mesh in &scene.meshes {
        for (face, corners) in mesh.faces.corner_positions.chunks(3).enumerate() {
            let corners: Vec<_> = corners.iter().map(|&corner| mesh.positions[corner as usize]).collect();
            all.push(format!("{:?} {corners:?}", mesh.normals[face]));
        }
    }
    all
}
