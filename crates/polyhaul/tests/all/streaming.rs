//! Conversions in parts have the same bytes and warnings as conversions as a whole, or are declined.

use polyhaul::model::{Bounds, Column, Table, Values};
use polyhaul::options::{ColumnName, Compression, OnError, RowOptions};
use polyhaul::{Content, Error, Format, ReadOptions, Reader, Report, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::options::PlyEncoding;
use std::path::Path;

/// Part size for which files of a megabyte are streamed, and one for which they are not.
const SMALL: usize = 20_000;
const LARGE: usize = 1 << 30;

/// Outcome of a conversion: bytes, warnings, and whether it was streamed.
type Outcome = Result<(Vec<u8>, Vec<String>, bool), String>;

fn convert(from: &Path, to: &Path, part: usize, read: &ReadOptions, write: &WriteOptions) -> Outcome {
    let mut read = read.clone();
    read.run.chunk_bytes = Some(part);
    let mut is_streamed = false;
    let shown = |error: Error| format!("{:?} {error}", error.kind());
    let writer = Writer::new(to).options(write);
    let conversion = Reader::new(from)
        .options(&read)
        .convert_with(writer, |content, _| {
            is_streamed = matches!(content, Content::Rows(_) | Content::Splats(_));
            Ok(())
        })
        .map_err(shown)?;
    let report: Report = conversion.report();
    let counts = report.warnings.counts().iter().map(|(code, count)| format!("{code}: {count}"));
    let words =
        report.warnings.kept().iter().map(|warning| format!("{:?}", warning.diagnostic).replace("parts-", "whole-"));
    let warnings = counts.chain(words).collect();
    let bytes = std::fs::read(to).unwrap();
    assert_eq!(report.bytes_out, bytes.len() as u64);
    Ok((bytes, warnings, is_streamed))
}

/// Converts in both ways; returns whether small parts were streamed.
#[track_caller]
pub(crate) fn same(folder: &Folder, from: &Path, name: &str, read: &ReadOptions, write: &WriteOptions) -> bool {
    let whole = convert(from, &folder.join(&format!("whole-{name}")), LARGE, read, write);
    let parts = convert(from, &folder.join(&format!("parts-{name}")), SMALL, read, write);
    match (whole, parts) {
        (Ok((whole, whole_warnings, false)), Ok((parts, part_warnings, is_streamed))) => {
            assert!(whole == parts, "{name}: other bytes");
            assert_eq!(whole_warnings, part_warnings, "{name}");
            is_streamed
        }
        (Err(whole), Err(parts)) => {
            assert_eq!(whole, parts.replace("parts-", "whole-"), "{name}");
            false
        }
        (whole, parts) => {
            panic!("{name}: {:?} but {:?}", whole.map(|converted| converted.1), parts.map(|converted| converted.1))
        }
    }
}

/// Vertices with values of several types, and faces; `lengths` are the lengths of their lists, repeated.
fn mesh(rows: usize, lengths: &[usize]) -> Vec<Table> {
    let column = |name: &str, values: Values| Column { name: name.into(), values, offsets: None };
    let floats = |step: f32| Values::F32((0..rows).map(|row| (row as f32 * step).sin()).collect());
    let columns = vec![
        column("x", floats(0.1)),
        column("y", floats(0.7)),
        column("z", floats(1.3)),
        column("red", Values::U8((0..rows).map(|row| row as u8).collect())),
        column("time", Values::F64((0..rows).map(|row| row as f64 / 3.0).collect())),
        column("mark", Values::I16((0..rows).map(|row| (row % 1000) as i16 - 500).collect())),
    ];
    let vertices = Table { name: "vertex".into(), row_count: rows, columns };
    let mut offsets = vec![0];
    let mut corners = Vec::new();
    for &length in lengths.iter().cycle().take(rows) {
        let first = 7 * corners.len();
        corners.extend((first..first + length).map(|corner| (corner % rows) as u32));
        offsets.push(corners.len() as u32);
    }
    let lists =
        Column { name: "vertex_indices".into(), values: Values::U32(corners.into()), offsets: Some(offsets.into()) };
    let flags = column("flags", Values::U8((0..rows).map(|row| row as u8 / 2).collect()));
    let faces = Table { name: "face".into(), row_count: rows, columns: vec![lists, flags] };
    vec![vertices, faces]
}

fn write_mesh(folder: &Folder, name: &str, tables: &[Table], encoding: PlyEncoding) -> std::path::PathBuf {
    let path = folder.join(name);
    let mut options = WriteOptions::default();
    encoding.set(&mut options);
    let remarks = [vec!["by a test".to_owned()], vec!["scanner 7".to_owned()]];
    Writer::new(&path).options(&options).tables_with(tables, &remarks[0], &remarks[1]).unwrap();
    path
}

#[test]
fn every_target_has_the_same_bytes() {
    let folder = Folder::new("streaming-targets").unwrap();
    for (number, lengths) in [&[3][..], &[3, 4, 5, 0]].into_iter().enumerate() {
        let from = write_mesh(&folder, &format!("{number}.ply"), &mesh(40_000, lengths), PlyEncoding::LittleEndian);
        for encoding in [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian] {
            let mut write = WriteOptions::default();
            encoding.set(&mut write);
            assert!(same(&folder, &from, "a.ply", &ReadOptions::default(), &write), "{encoding:?} {lengths:?}");
        }
        for name in ["a.csv", "a.tsv", "a.txt", "a.npy", "a.csv.zst"] {
            assert!(
                same(&folder, &from, name, &ReadOptions::default(), &WriteOptions::default()),
                "{name} {lengths:?}"
            );
        }
    }
}

#[test]
fn lists_of_other_lengths_are_found_wherever_they_are() {
    let folder = Folder::new("streaming-lengths").unwrap();
    let mut lengths = vec![3; 40_000];
    // The file has the same size as if all rows were alike.
    lengths[30_000] = 2;
    lengths[30_001] = 4;
    let from = write_mesh(&folder, "a.ply", &mesh(lengths.len(), &lengths), PlyEncoding::LittleEndian);
    for name in ["b.ply", "b.csv"] {
        assert!(!same(&folder, &from, name, &ReadOptions::default(), &WriteOptions::default()), "{name}");
    }
    // Replaces a face with one that has one corner fewer.
    let mut bytes = std::fs::read(&from).unwrap();
    let end = bytes.len() - 14 * 5_000;
    assert_eq!(bytes[end], 3);
    bytes[end] = 2;
    std::fs::write(&from, bytes).unwrap();
    assert!(!same(&folder, &from, "b.ply", &ReadOptions::default(), &WriteOptions::default()));
}

#[test]
fn an_empty_last_element_hides_no_missing_bytes() {
    let folder = Folder::new("streaming-empty").unwrap();
    let mut tables = mesh(40_000, &[3]);
    tables[1].row_count = 0;
    tables[1].columns = tables[1]
        .columns
        .iter()
        .map(|column| Column {
            values: Values::empty(column.values.scalar()),
            offsets: column.offsets.as_ref().map(|_| vec![0].into()),
            ..column.clone()
        })
        .collect();
    let from = write_mesh(&folder, "a.ply", &tables, PlyEncoding::LittleEndian);
    assert!(same(&folder, &from, "b.ply", &ReadOptions::default(), &WriteOptions::default()));
    let bytes = std::fs::read(&from).unwrap();
    for size in [bytes.len() - 9, bytes.len() - 500_000] {
        std::fs::write(&from, &bytes[..size]).unwrap();
        for name in ["b.ply", "b.csv"] {
            assert!(!same(&folder, &from, name, &ReadOptions::default(), &WriteOptions::default()), "{name} {size}");
        }
    }
}

#[test]
fn elements_columns_and_codecs_are_those_asked_for() {
    let folder = Folder::new("streaming-options").unwrap();
    let from = write_mesh(&folder, "in.ply", &mesh(40_000, &[3]), PlyEncoding::BigEndian);
    let mut read = ReadOptions::default();
    read.table.element = Some("vertex".into());
    read.table.columns = Some(vec![ColumnName::Name("mark".into()), ColumnName::Index(0)]);
    let write = WriteOptions::default();
    for name in ["a.ply", "a.csv", "a.npy"] {
        assert!(same(&folder, &from, name, &read, &write), "{name}");
    }
    read.table.columns = Some(vec![ColumnName::Name("missing".into())]);
    assert!(!same(&folder, &from, "a.csv", &read, &write));
    read.table = polyhaul::options::TableReadOptions::default();
    read.table.element = Some("face".into());
    // Lists cannot be written as rows of numbers.
    assert!(!same(&folder, &from, "a.csv", &read, &write));
    read.table.columns = Some(vec![ColumnName::Name("flags".into())]);
    assert!(same(&folder, &from, "a.csv", &read, &write));
    let packed = write.clone().with_compression(Compression::Gzip);
    assert!(same(&folder, &from, "a.ply", &ReadOptions::default(), &packed));
}

#[test]
fn what_is_unusual_is_read_as_a_whole() {
    let folder = Folder::new("streaming-unusual").unwrap();
    let read = ReadOptions::default();
    let write = WriteOptions::default();
    // A list that is too long for the length type chosen from the first lists.
    let mut tables = mesh(40_000, &[3]);
    tables[1] = mesh(40_000, &[vec![3; 39_999], vec![300]].concat()).remove(1);
    let longer = write_mesh(&folder, "longer.ply", &tables, PlyEncoding::LittleEndian);
    assert!(!same(&folder, &longer, "a.ply", &read, &write));

    let good = std::fs::read(write_mesh(&folder, "good.ply", &mesh(40_000, &[3]), PlyEncoding::LittleEndian)).unwrap();
    let cut = folder.file("cut.ply", &good[..good.len() - 9]).unwrap();
    assert!(!same(&folder, &cut, "a.ply", &read, &write));
    let more = folder.file("more.ply", [&good[..], b"more"].concat()).unwrap();
    // Data after the last row does not affect the rows before it.
    assert!(same(&folder, &more, "a.ply", &read, &write));
    assert!(same(&folder, &more, "a.ply", &read.clone().with_on_error(OnError::Warn), &write));
    assert!(!same(&folder, &more, "a.ply", &read.clone().with_strict(true), &write));
    // No partial file is visible.
    assert!(folder.names().iter().all(|name| !name.contains("tmp")), "{:?}", folder.names());
}

#[test]
fn an_error_of_the_caller_leaves_the_old_file() {
    let folder = Folder::new("streaming-before").unwrap();
    let from = write_mesh(&folder, "in.ply", &mesh(40_000, &[3]), PlyEncoding::LittleEndian);
    let to = folder.file("out.csv", "old").unwrap();
    let mut read = ReadOptions::default();
    read.run.chunk_bytes = Some(SMALL);
    let refused = Reader::new(&from)
        .options(&read)
        .convert_with(Writer::new(&to).format(Format::Csv), |_, _| Err(Error::cancelled()))
        .unwrap_err();
    assert_eq!(refused.kind(), Error::cancelled().kind());
    assert_eq!(folder.text("out.csv"), "old");
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn chosen_rows_have_the_same_bytes() {
    let folder = Folder::new("streaming-rows").unwrap();
    let from = write_mesh(&folder, "in.ply", &mesh(40_000, &[3, 4]), PlyEncoding::LittleEndian);
    let filter = |text: &str| RowOptions::default().with_filter(Some(text.parse().unwrap()));
    let shift = [[1.0, 0.0, 0.0, 5.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let bounds = Bounds { min: [-1.0; 3], max: [1.0, 0.8, 0.9] };
    for (number, rows) in [
        filter("x > -0.5 and red != 7"),
        filter("mark >= 0").with_every(3).with_bounds(Some(bounds)),
        filter("y < 0.9").with_sample(Some(20_000)),
        RowOptions::default().with_every(7),
        RowOptions::default().with_transform(Some(shift)),
        filter("x > 100"),
    ]
    .into_iter()
    .enumerate()
    {
        let read = ReadOptions::default().with_rows(rows);
        for name in ["a.ply", "a.csv", "a.npy"] {
            assert!(same(&folder, &from, name, &read, &WriteOptions::default()), "{name} {number}");
        }
        let mut columns = read.clone();
        columns.table.element = Some("vertex".into());
        columns.table.columns = Some(vec![ColumnName::Name("time".into())]);
        assert!(same(&folder, &from, "b.csv", &columns, &WriteOptions::default()), "{number}");
    }
    // Errors are the same, too.
    for rows in [filter("nope > 0"), filter("vertex_indices > 0"), RowOptions::default().with_every(0)] {
        let read = ReadOptions::default().with_rows(rows);
        assert!(!same(&folder, &from, "c.ply", &read, &WriteOptions::default()));
    }
}

#[test]
fn rows_of_a_file_are_those_of_its_scene() {
    let folder = Folder::new("streaming-scene").unwrap();
    let from = write_mesh(&folder, "in.ply", &mesh(5000, &[3]), PlyEncoding::Ascii);
    let rows = RowOptions::default().with_filter(Some("red > 127 and mark < 100".parse().unwrap())).with_every(2);
    let read = ReadOptions::default().with_rows(rows);
    let tables = Reader::new(&*from).options(&read).tables().unwrap().value.tables;
    let scene = Reader::new(&*from).options(&read).scene().unwrap().value;
    let mesh = &scene.meshes[0];
    assert!(tables[0].row_count > 100 && tables[0].row_count < 1000);
    assert_eq!(mesh.positions.len(), tables[0].row_count);
    let Values::F32(x) = &tables[0].columns[0].values else { panic!() };
    assert!(mesh.positions.iter().zip(x).all(|(position, x)| position[0] == *x));
    let Values::U32(corners) = &tables[1].columns[0].values else { panic!() };
    assert_eq!(mesh.faces.corner_positions, *corners);
    // Batches contain the same rows, whatever their size.
    for bytes in [1, 1 << 10, 1 << 30] {
        let mut rows = Vec::new();
        let batches = Reader::new(&*from).options(&read).batches(bytes, |batch| {
            let Values::F32(x) = &batch.columns[0].values else { panic!() };
            rows.extend_from_slice(x);
            Ok(())
        });
        batches.unwrap();
        assert_eq!(rows, x.as_slice(), "{bytes}");
    }
}

#[test]
fn elements_that_refer_to_chosen_vertices_may_have_any_columns() {
    let folder = Folder::new("streaming-indices").unwrap();
    let rows = 40_000;
    let numbers = |step: u32| Values::U32((0..rows as u32).map(|row| row.wrapping_mul(step) % rows as u32).collect());
    let column = |name: &str, values: Values| Column { name: name.into(), values, offsets: None };
    let columns = vec![column("mark", numbers(5)), column("vertex1", numbers(1)), column("vertex2", numbers(3))];
    let edges = Table { name: "edge".into(), row_count: rows, columns };
    let mut tables = mesh(rows, &[3]);
    // A number before the list, and another list after it.
    let list = tables[1].columns[0].clone();
    tables[1].columns.insert(0, column("level", numbers(7)));
    tables[1].columns.push(Column { name: "others".into(), ..list });
    tables.push(edges);
    let from = write_mesh(&folder, "in.ply", &tables, PlyEncoding::LittleEndian);
    let rows = RowOptions::default().with_filter(Some("mark > 0 and y < 0.5".parse().unwrap()));
    let read = ReadOptions::default().with_rows(rows);
    assert!(same(&folder, &from, "a.ply", &read, &WriteOptions::default()));
    let loaded = Reader::new(&*folder.join("parts-a.ply")).tables().unwrap().value.tables;
    assert!(loaded.iter().all(|table| table.row_count > 100 && table.row_count < 40_000));

    // The first face, which determines the type of list lengths, may be dropped.
    let mut tables = mesh(40_000, &[3]);
    tables[1] = mesh(40_000, &[vec![300], vec![3; 39_999]].concat()).remove(1);
    let from = write_mesh(&folder, "long.ply", &tables, PlyEncoding::LittleEndian);
    assert!(!same(&folder, &from, "b.ply", &read, &WriteOptions::default()));
}

#[test]
fn batches_end_once_whatever_is_wrong_with_the_file() {
    let folder = Folder::new("streaming-batches").unwrap();
    let good = std::fs::read(write_mesh(&folder, "in.ply", &mesh(40_000, &[3]), PlyEncoding::LittleEndian)).unwrap();
    let more = folder.file("more.ply", [&good[..], b"more"].concat()).unwrap();
    let read = ReadOptions::default().with_on_error(OnError::Warn);
    let mut count = 0;
    let mut sizes = Vec::new();
    let reader = Reader::new(&*more).options(&read);
    let report = reader.batches(1 << 18, |batch| {
        sizes.push(batch.row_count);
        count += batch.row_count;
        Ok(())
    });
    assert_eq!((count, report.unwrap().warnings.total()), (40_000, 1));
    assert!(sizes.len() > 2 && sizes.iter().all(|&rows| rows > 0));
    // An error of the caller ends the job, whatever its kind.
    let mut calls = 0;
    let failed = Reader::new(&*more).batches(1 << 18, |_| {
        calls += 1;
        Err(Error::new(polyhaul::ErrorKind::Malformed, "enough"))
    });
    assert_eq!((failed.unwrap_err().to_string().as_str(), calls), ("enough", 1));
    // A truncated file is an error, after the batches before the end.
    let cut = folder.file("cut.ply", &good[..good.len() / 4]).unwrap();
    let failed = Reader::new(&*cut).batches(1 << 16, |_| Ok(())).unwrap_err();
    assert!(failed.to_string().contains("cut.ply"), "{failed}");
}
