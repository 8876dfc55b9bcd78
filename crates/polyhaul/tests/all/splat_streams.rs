//! Splats packed while they are read have the same bytes and warnings as splats packed from memory.

use crate::streaming::same;
use polyhaul::model::splats::{ANTIALIASED, HARMONICS};
use polyhaul::model::{Axis, Column, Table, Values};
use polyhaul::options::{RowOptions, RunOptions};
use polyhaul::{Content, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::options::PlyEncoding;
use std::path::{Path, PathBuf};

const NAMES: [&str; 2] = ["a.spz", "a.splat"];

/// A table of splats; `extra` are columns after the usual ones.
fn splats(rows: usize, degree: usize, has_normals: bool, extra: Vec<Column>) -> Table {
    let mut state = 9u32;
    let mut column = |name: &str, far: f32| {
        let values = (0..rows).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            far * ((state >> 8) as f32 / 8_388_608.0 - 1.0)
        });
        Column { name: name.into(), values: Values::F32(values.collect()), offsets: None }
    };
    let mut columns: Vec<Column> = ["x", "y", "z"].map(|name| column(name, 3000.0)).into();
    if has_normals {
        columns.extend(["nx", "ny", "nz"].map(|name| column(name, 1.0)));
    }
    columns.extend((0..3).map(|number| column(&format!("f_dc_{number}"), 4.0)));
    columns.extend((0..3 * HARMONICS[degree]).map(|number| column(&format!("f_rest_{number}"), 1.3)));
    columns.push(column("opacity", 8.0));
    columns.extend((0..3).map(|number| column(&format!("scale_{number}"), 12.0)));
    columns.extend((0..4).map(|number| column(&format!("rot_{number}"), 1.0)));
    columns.extend(extra);
    Table { name: "vertex".into(), row_count: rows, columns }
}

fn written(folder: &Folder, tables: &[Table], [comments, infos]: [&[String]; 2], encoding: PlyEncoding) -> PathBuf {
    let path = folder.join("in.ply");
    let mut options = WriteOptions::default();
    encoding.set(&mut options);
    Writer::new(&path).options(&options).tables_with(tables, comments, infos).unwrap();
    path
}

/// Writes a file with only splats.
fn plain(folder: &Folder, degree: usize) -> PathBuf {
    written(folder, &[splats(4000, degree, false, Vec::new())], [&[], &[]], PlyEncoding::LittleEndian)
}

#[test]
fn every_degree_and_version_has_the_same_bytes() {
    let folder = Folder::new("splat-streams").unwrap();
    for degree in 0..HARMONICS.len() {
        let table = splats(4000, degree, degree % 2 == 0, Vec::new());
        let infos = if degree == 3 { vec![ANTIALIASED.to_owned(), "scanner 7".to_owned()] } else { Vec::new() };
        let comments = ["by a test".to_owned()];
        let encoding = if degree == 1 { PlyEncoding::BigEndian } else { PlyEncoding::LittleEndian };
        let from = written(&folder, &[table], [&comments, &infos], encoding);
        for (version, max_degree) in [(2, 4), (3, 4), (3, 1), (4, 2), (4, 0)] {
            for threads in [1, 3] {
                let run = RunOptions::default().with_threads(Some(threads));
                let read = ReadOptions::default().with_run(run.clone());
                let mut write = WriteOptions::default().with_run(run);
                write.splats.spz_version = version;
                write.splats.sh_degree = max_degree;
                for name in NAMES {
                    assert!(same(&folder, &from, name, &read, &write), "{name} {degree} {version} {max_degree}");
                }
            }
        }
    }
}

#[test]
fn chosen_splats_have_the_same_bytes() {
    let folder = Folder::new("splat-streams-chosen").unwrap();
    let from = plain(&folder, 3);
    let filter = |text: &str| RowOptions::default().with_filter(Some(text.parse().unwrap()));
    for rows in [
        filter("opacity > 0 and f_rest_44 < 0.5"),
        filter("x > 0").with_every(3),
        filter("y < 0").with_sample(Some(700)),
    ] {
        let read = ReadOptions::default().with_rows(rows);
        for name in NAMES {
            assert!(same(&folder, &from, name, &read, &WriteOptions::default()), "{name}");
        }
    }
    let nothing = ReadOptions::default().with_rows(filter("x > 1e9"));
    assert!(!same(&folder, &from, "a.spz", &nothing, &WriteOptions::default()));
}

#[test]
fn what_is_not_splats_alone_is_read_as_a_scene() {
    let folder = Folder::new("splat-streams-unusual").unwrap();
    let read = ReadOptions::default();
    let write = WriteOptions::default();
    let column = |name: &str, values: Values| Column { name: name.into(), values, offsets: None };
    let rows = 4000;
    let values = || Values::F32((0..rows).map(|row| row as f32).collect());
    let extras = [
        vec![column("mark", values())],
        vec![column("f_rest_0", values())],
        vec![column("nx", values()), column("ny", values())],
        vec![column("red", Values::U8((0..rows).map(|row| row as u8).collect()))],
    ];
    let mut tables: Vec<Vec<Table>> = extras.map(|extra| vec![splats(rows, 0, false, extra)]).into();
    let mut wide = splats(rows, 0, false, Vec::new());
    wide.columns[1].values = Values::F64((0..rows).map(|row| row as f64 / 3.0).collect());
    tables.push(vec![wide]);
    let mut incomplete = splats(rows, 1, false, Vec::new());
    incomplete.columns.retain(|column| column.name != "scale_1");
    tables.push(vec![incomplete]);
    let others = Table { name: "camera".into(), row_count: rows, columns: vec![column("x", values())] };
    tables.push(vec![splats(rows, 0, false, Vec::new()), others]);
    tables.push(vec![Table { name: "splat".into(), ..splats(rows, 0, false, Vec::new()) }]);
    for (number, tables) in tables.iter().enumerate() {
        let from = written(&folder, tables, [&[], &[]], PlyEncoding::LittleEndian);
        assert!(NAMES.iter().all(|name| !same(&folder, &from, name, &read, &write)), "{number}");
    }
    // Comments that name a texture are plain text in these formats.
    let textured = ["TextureFile a.png".to_owned()];
    let from = written(&folder, &[splats(rows, 0, false, Vec::new())], [&textured, &[]], PlyEncoding::LittleEndian);
    assert!(same(&folder, &from, "a.spz", &read, &write));
    let from = written(&folder, &[splats(rows, 0, false, Vec::new())], [&[], &[]], PlyEncoding::Ascii);
    assert!(!same(&folder, &from, "a.spz", &read, &write));
}

#[test]
fn options_that_move_or_refuse_take_a_scene() {
    let folder = Folder::new("splat-streams-options").unwrap();
    let from = plain(&folder, 1);
    let read = ReadOptions::default();
    let turn = [[0.0, 1.0, 0.0, 5.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let moved = read.clone().with_rows(RowOptions::default().with_transform(Some(turn)));
    let mut changes: Vec<(ReadOptions, WriteOptions)> = vec![(moved, WriteOptions::default())];
    let setters: [fn(&mut WriteOptions); 6] = [
        |write| write.scene.up_axis = Some(Axis::Z),
        |write| write.scene.global_scale = 2.0,
        |write| write.strict = true.into(),
        |write| write.splats.sh_degree = 5,
        |write| write.splats.spz_version = 1,
        |write| write.splats.spz_level = 99,
    ];
    for (number, change) in setters.into_iter().enumerate() {
        let mut write = WriteOptions::default();
        change(&mut write);
        if number < 5 {
            changes.push((read.clone(), write));
        } else {
            // An error of the compressor, after the splats were packed.
            same(&folder, &from, "a.spz", &read, &write);
        }
    }
    for (number, (read, write)) in changes.iter().enumerate() {
        assert!(!same(&folder, &from, "a.spz", read, write), "{number}");
    }
    let mut table = read.clone();
    table.table.element = Some("vertex".into());
    assert!(!same(&folder, &from, "a.spz", &table, &WriteOptions::default()));
}

#[test]
fn damage_is_the_same_error() {
    let folder = Folder::new("splat-streams-damage").unwrap();
    let bytes = std::fs::read(plain(&folder, 2)).unwrap();
    let read = ReadOptions::default();
    let write = WriteOptions::default();
    let cut = folder.file("cut.ply", &bytes[..bytes.len() - 1]).unwrap();
    let more = folder.file("more.ply", [&bytes[..], b"more"].concat()).unwrap();
    assert!(NAMES.iter().all(|name| !same(&folder, &cut, name, &read, &write)));
    // Data after the last splat is a warning that does not depend on how the file was read.
    assert!(NAMES.iter().all(|name| same(&folder, &more, name, &read, &write)));
}

#[test]
fn the_counts_are_those_of_the_scene() {
    let folder = Folder::new("splat-streams-counts").unwrap();
    let from = written(&folder, &[splats(4000, 1, true, Vec::new())], [&[], &[]], PlyEncoding::LittleEndian);
    let counts = |from: &Path, chunk: usize| {
        let mut read = ReadOptions::default();
        read.run.chunk_bytes = Some(chunk);
        let mut contents = None;
        let writer = Writer::new(folder.join("a.splat"));
        let reader = Reader::new(from).options(&read);
        let result = reader.convert_with(writer, |content, _| {
            contents = Some(match content {
                Content::Scene(scene) => (polyhaul::inspect::Contents::from_scene(scene), false),
                Content::Splats(contents) => (*contents, true),
                _ => panic!(),
            });
            Ok(())
        });
        result.unwrap();
        contents.unwrap()
    };
    let (whole, is_whole_streamed) = counts(&from, 1 << 30);
    let (parts, are_parts_streamed) = counts(&from, 20_000);
    assert!(!is_whole_streamed && are_parts_streamed);
    assert_eq!(whole, parts);
}
