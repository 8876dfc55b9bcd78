//! Tables: written values are read back in every encoding.

use crate::ply_write::support::*;
use polyhaul::model::{Column, Table, Values};
use polyhaul::{ErrorKind, Format, WriteOptions};
use polyhaul_testkit::random::Random;
use polyhaul_text::format::Page;

fn all_types(rows: usize) -> Table {
    let mut random = Random::new(7);
    let mut bits = move || random.bits();
    let columns = vec![
        column("a", Values::I8((0..rows).map(|_| bits() as i8).collect())),
        column("b", Values::F32((0..rows).map(|_| (bits() as i32) as f32 / 1024.0).collect())),
        column("c", Values::U16((0..rows).map(|_| bits() as u16).collect())),
        column("d", Values::F64((0..rows).map(|_| bits() as i64 as f64 / 3.0).collect())),
        column("e", Values::U8((0..rows).map(|_| bits() as u8).collect())),
        column("f", Values::I16((0..rows).map(|_| bits() as i16).collect())),
        column("g", Values::U32((0..rows).map(|_| bits() as u32).collect())),
        column("h", Values::I32((0..rows).map(|_| bits() as i32).collect())),
    ];
    Table { name: "all".into(), row_count: rows, columns }
}

fn lists(rows: usize) -> Table {
    let mut random = Random::new(11);
    let mut list = |name: &str, max: u64, make: fn(Vec<u64>) -> Values| {
        let mut offsets = vec![0u32];
        let mut values = Vec::new();
        for _ in 0..rows {
            let count = random.bits() % (max + 1);
            values.extend((0..count).map(|_| random.bits()));
            offsets.push(values.len() as u32);
        }
        Column { name: name.into(), values: make(values), offsets: Some(offsets.into()) }
    };
    let bytes = |values: Vec<u64>| Values::U8(values.into_iter().map(|v| v as u8).collect());
    let floats = |values: Vec<u64>| Values::F32(values.into_iter().map(|v| (v as i16).into()).collect());
    let columns = vec![
        list("x", 3, bytes),
        column("n", Values::I16((0..rows).map(|i| i as i16).collect())),
        list("y", 300, floats),
    ];
    Table { name: "lists".into(), row_count: rows, columns }
}

#[test]
fn every_type_comes_back() {
    let mut faces = column("vertex_indices", Values::I32((0..3000).collect()));
    faces.offsets = Some((0..=1000).map(|i| 3 * i).collect());
    let triangles = Table { name: "face".into(), row_count: 1000, columns: vec![faces] };
    let floats = (0..13).map(|i| column(&format!("f{i}"), Values::F32((0..700).map(|row| (row * i) as f32).collect())));
    let wide = Table { name: "wide".into(), row_count: 700, columns: floats.collect() };
    let narrow = Table { name: "narrow".into(), row_count: 700, columns: wide.columns[..12].to_vec() };
    let tables = [all_types(1000), lists(500), triangles, wide, narrow];
    for encoding in ENCODINGS {
        let written = read_tables(&write_tables(&tables, &encoded(encoding)).unwrap());
        assert!(written == tables, "{encoding:?}");
    }
    // Small whole numbers are exact in fixed digits too.
    let written = read_tables(&write_tables(&tables[2..], &fixed(3)).unwrap());
    assert!(written == tables[2..]);
}

/// The text of a single number.
fn alone(write: impl Fn(&mut Page<'_>)) -> String {
    let mut buffer = [0; 64];
    let mut page = Page::new(&mut buffer);
    write(&mut page);
    String::from_utf8_lossy(page.as_bytes()).into_owned()
}

#[test]
fn rows_of_different_numbers_are_the_text_of_each() {
    let Table { columns, .. } = all_types(900);
    // All types except doubles and wide integers, which f32 cannot store; all except f32, which f64 formats with other
    // digits.
    for names in ["abcef", "bbb", "acdefgh", "d", "bd"] {
        let columns: Vec<Column> = names
            .chars()
            .enumerate()
            .map(|(place, name)| {
                let column = columns.iter().find(|column| column.name.starts_with(name)).unwrap();
                Column { name: format!("{name}{place}"), ..column.clone() }
            })
            .collect();
        let shown = |column: &Column, row: usize| match &column.values {
            Values::I8(values) => values[row].to_string(),
            Values::U8(values) => values[row].to_string(),
            Values::I16(values) => values[row].to_string(),
            Values::U16(values) => values[row].to_string(),
            Values::I32(values) => values[row].to_string(),
            Values::U32(values) => values[row].to_string(),
            Values::F32(values) => alone(|page| page.shortest_f32(values[row])),
            Values::F64(values) => alone(|page| page.shortest_f64(values[row])),
            _ => unreachable!(),
        };
        let line = |row: usize| columns.iter().map(|column| shown(column, row)).collect::<Vec<_>>().join(" ");
        let table = Table { name: "rows".into(), row_count: 900, columns: columns.clone() };
        let text = write_tables(&[table], &encoded(PlyEncoding::Ascii)).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (_, body) = text.split_once("end_header\n").unwrap();
        assert_eq!(body.lines().count(), 900);
        body.lines().zip((0..900).map(line)).for_each(|(written, line)| assert_eq!(written, line, "{names}"));
    }
}

#[test]
fn wide_integers_are_written_where_they_fit() {
    let table = |values| Table { name: "t".into(), row_count: 2, columns: vec![column("v", values)] };
    for encoding in ENCODINGS {
        let written = |values| write_tables(&[table(values)], &encoded(encoding)).map(|bytes| read_tables(&bytes));
        let read = |values| written(values).unwrap()[0].columns[0].values.clone();
        assert_eq!(read(Values::I64([-1, i64::from(i32::MAX)].into())), Values::I32([-1, i32::MAX].into()));
        assert_eq!(read(Values::I64([0, i64::from(u32::MAX)].into())), Values::U32([0, u32::MAX].into()));
        assert_eq!(read(Values::U64([0, u64::from(u32::MAX)].into())), Values::U32([0, u32::MAX].into()));
        for values in [Values::I64([-1, i64::from(u32::MAX)].into()), Values::U64([0, 1 << 32].into())] {
            let error = written(values).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert_eq!(
                error.diagnostic().message,
                "column `v` has integers that need more than 32 bits, which PLY cannot store"
            );
        }
    }
}

#[test]
fn what_is_no_table_is_refused() {
    let short = Table { name: "t".into(), row_count: 3, columns: vec![column("v", Values::U8([1, 2].into()))] };
    assert_eq!(write_tables(&[short], &encoded(ENCODINGS[0])).unwrap_err().kind(), ErrorKind::Usage);
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    assert_eq!(write_tables(&[], &options).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn numbers_that_are_none_have_their_names() {
    let values = Values::F32([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0].into());
    let table = Table { name: "t".into(), row_count: 4, columns: vec![column("v", values)] };
    for options in [encoded(ENCODINGS[0]), fixed(0)] {
        let bytes = write_tables(std::slice::from_ref(&table), &options).unwrap();
        assert_eq!(parts(&bytes).1, b"nan\ninf\n-inf\n-0\n");
    }
}

#[test]
fn columns_without_names_get_some() {
    let names = ["", "column_3", "", "column_1", ""];
    let columns = names.map(|name| column(name, Values::U8([1, 2].into()))).into();
    let table = Table { name: "t".into(), row_count: 2, columns };
    for encoding in ENCODINGS {
        let read = read_tables(&write_tables(std::slice::from_ref(&table), &encoded(encoding)).unwrap());
        let names: Vec<_> = read[0].columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["column_1_column_1", "column_3", "column_3_column_3", "column_1", "column_5"]);
        assert!(read[0].columns.iter().all(|names| names.values == column("", Values::U8([1, 2].into())).values));
    }
}

#[test]
fn names_that_would_be_one_are_refused() {
    let values = || Values::U8([1, 2].into());
    let table = |name: &str, columns: [&str; 2]| Table {
        name: name.into(),
        row_count: 2,
        columns: columns.map(|name| column(name, values())).into(),
    };
    let error = |tables: &[Table]| write_tables(tables, &encoded(ENCODINGS[1])).unwrap_err();
    let properties = error(&[table("t", ["a b", "a_b"])]);
    assert_eq!(properties.kind(), ErrorKind::Usage);
    assert_eq!(properties.diagnostic().message, "two properties would be named `a_b` in the file");
    let elements = error(&[table("a b", ["x", "y"]), table("a\tb", ["x", "y"])]);
    assert_eq!(elements.diagnostic().message, "two elements would be named `a_b` in the file");
}
