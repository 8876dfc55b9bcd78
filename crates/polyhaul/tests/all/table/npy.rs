//! Numpy arrays: headers as numpy writes them, types, orders, damage.

use crate::table::support::{column, error, load, only, shown, table, table_of, try_written, written};
use polyhaul::model::{Table, Values};
use polyhaul::options::{ColumnName, RunOptions, TableReadOptions};
use polyhaul::{ErrorKind, Format, Input, Output, Reader, WriteOptions, Writer};
use polyhaul_testkit::hostile::{Hostile, Sizes};
use polyhaul_testkit::output::Shared;

/// A file with the layout of `numpy.save`.
fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    let before = if version == 1 { 10 } else { 12 };
    let total = (before + header.len() + 1).next_multiple_of(64);
    match version {
        1 => file.extend(((total - before) as u16).to_le_bytes()),
        _ => file.extend(((total - before) as u32).to_le_bytes()),
    }
    file.extend(header.bytes());
    file.resize(total - 1, b' ');
    file.push(b'\n');
    file.extend(data);
    file
}

fn plain(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    npy(1, &format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"), data)
}

fn unnamed(row_count: usize, columns: Vec<Values>) -> Table {
    table_of(row_count, columns.into_iter().map(|values| column("", values)).collect())
}

#[test]
fn arrays_of_one_and_two_dimensions() {
    let data: Vec<u8> = [1.5_f32, -2.0, 0.25, 4.0, 5.0, 6.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let big: Vec<u8> = [1.5_f32, -2.0, 0.25, 4.0, 5.0, 6.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    let rows = |columns: [[f32; 2]; 3]| unnamed(2, columns.map(|values| Values::F32(values.into())).into());
    let expected = rows([[1.5, 4.0], [-2.0, 5.0], [0.25, 6.0]]);
    assert_eq!(table(plain("<f4", false, "(2, 3)", &data), "x.npy"), expected);
    assert_eq!(table(plain(">f4", false, "(2, 3)", &big), "x.npy"), expected);
    assert_eq!(table(plain("<f4", true, "(2, 3)", &data), "x.npy"), rows([[1.5, -2.0], [0.25, 4.0], [5.0, 6.0]]));
    let six = [1.5, -2.0, 0.25, 4.0, 5.0, 6.0];
    assert_eq!(table(plain("<f4", false, "(6,)", &data), "x.npy"), unnamed(6, vec![Values::F32(six.into())]));
    for version in [2, 3] {
        let header = "{'shape': (2L, 3L), \"fortran_order\": False, 'descr': '<f4'}";
        assert_eq!(table(npy(version, header, &data), "x.npy"), expected);
    }
    assert_eq!(table(plain("<f8", false, "(0, 3)", &[]), "x.npy").columns.len(), 3);
    assert_eq!(table(plain("<f8", false, "(5, 0)", &[]), "x.npy").columns.len(), 0);
}

#[test]
fn every_type() {
    let bytes: Vec<u8> = (1..=16).map(|n| n * 15).collect();
    let eight = |at: usize| <[u8; 8]>::try_from(&bytes[at..at + 8]).unwrap();
    let arrays: [(&str, Values); 11] = [
        ("|b1", Values::U8(bytes.clone().into())),
        ("|u1", Values::U8(bytes.clone().into())),
        ("|i1", Values::I8(bytes.iter().map(|&byte| byte as i8).collect())),
        ("<u2", Values::U16(bytes.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect())),
        ("<i2", Values::I16(bytes.chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect())),
        (">i4", Values::I32(bytes.chunks(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect())),
        ("<u4", Values::U32(bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())),
        ("<i8", Values::I64([0, 8].map(|at| i64::from_le_bytes(eight(at))).into())),
        (">u8", Values::U64([0, 8].map(|at| u64::from_be_bytes(eight(at))).into())),
        (">f8", Values::F64([0, 8].map(|at| f64::from_be_bytes(eight(at))).into())),
        ("<f4", Values::F32(bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())),
    ];
    for (descr, values) in arrays {
        let file = plain(descr, false, &format!("({},)", values.len()), &bytes);
        assert_eq!(shown(&table(file, "x.npy")), shown(&unnamed(values.len(), vec![values])), "{descr}");
    }
}

#[test]
fn records_are_columns() {
    let descr = "[('x', '<f4'), ('', '|V3'), (('a title', '\u{e9}\\'t'), '|u1'), ('n', '>i2')]";
    let header = format!("{{'descr': {descr}, 'fortran_order': True, 'shape': (2,)}}");
    let data = [0, 0, 0x80, 0x3F, 9, 9, 9, 7, 1, 2, 0, 0, 0, 0xC0, 9, 9, 9, 8, 0xFF, 0xFE];
    let expected = table_of(
        2,
        vec![
            column("x", Values::F32([1.0, -2.0].into())),
            column("\u{e9}'t", Values::U8([7, 8].into())),
            column("n", Values::I16([258, -2].into())),
        ],
    );
    assert_eq!(table(npy(3, &header, &data), "x.npy"), expected);
    let picked =
        TableReadOptions::default().with_columns(Some(vec![ColumnName::Name("n".into())])).with_max_rows(Some(1));
    let loaded = only(load(npy(3, &header, &data), "x.npy", picked).unwrap());
    assert_eq!(loaded, table_of(1, vec![column("n", Values::I16([258].into()))]));
}

#[test]
fn names_are_latin1_before_version_3() {
    // The two bytes of this letter in UTF-8 are also valid Latin-1.
    let header = "{'descr': [('\u{e9}', '|u1')], 'fortran_order': False, 'shape': (1,)}";
    for (version, name) in [(1, "\u{c3}\u{a9}"), (2, "\u{c3}\u{a9}"), (3, "\u{e9}")] {
        let expected = table_of(1, vec![column(name, Values::U8([7].into()))]);
        assert_eq!(table(npy(version, header, &[7]), "x.npy"), expected, "version {version}");
    }
}

#[test]
fn integer_positions_keep_their_digits() {
    let points = |file: Vec<u8>| Reader::new(Input::Memory(file, "x.npy".into())).scene().unwrap();
    let data: Vec<u8> = [16_777_217_i32, 0, -5, 1, 2, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
    let loaded = points(plain("<i4", false, "(2, 3)", &data));
    assert_eq!(loaded.value.meshes[0].exact_position(0), Some([16_777_217.0, 0.0, -5.0]));
    assert!(loaded.report.warnings.is_empty());
    let small: Vec<u8> = [7_i64, 8, -9].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(!points(plain("<i8", false, "(1, 3)", &small)).value.meshes[0].is_exact());
    // Doubles cannot represent the first of these integers.
    let data: Vec<u8> = [(1_u64 << 53) + 1, 2, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(points(plain("<u8", false, "(1, 3)", &data)).report.warnings.counts()["rounded"], 1);
}

#[test]
fn what_is_not_read_is_refused() {
    let refused = [
        ("'<f2'", "(1,)"),
        ("'<c8'", "(1,)"),
        ("'|O'", "(1,)"),
        ("'<U3'", "(1,)"),
        ("'<M8[s]'", "(1,)"),
        ("'<f4'", "()"),
        ("'<f4'", "(1, 1, 1)"),
        ("[('a', '<f4', (3,))]", "(1,)"),
        ("[('a', [('b', '<f4')])]", "(1,)"),
        ("[('a', '<f4')]", "(2, 2)"),
    ];
    for (descr, shape) in refused {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        let error = error(npy(1, &header, &[0; 64]), "x.npy", TableReadOptions::default());
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{descr}: {error}");
    }
    for bad in
        ["", "{", "[]", "{'descr': 3}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "{'descr': '<f4'} 1"]
    {
        assert_eq!(
            error(npy(1, bad, &[0; 64]), "x.npy", TableReadOptions::default()).kind(),
            ErrorKind::Malformed,
            "{bad}"
        );
    }
    assert_eq!(error("no array", "x.npy", TableReadOptions::default()).kind(), ErrorKind::Malformed);
    assert_eq!(error(npy(9, "{}", &[]), "x.npy", TableReadOptions::default()).kind(), ErrorKind::Unsupported);
    let endless = [b"\x93NUMPY\x02\0".as_slice(), &u32::MAX.to_le_bytes()].concat();
    assert_eq!(error(endless, "x.npy", TableReadOptions::default()).kind(), ErrorKind::Limit);
}

#[test]
fn counts_that_no_bytes_back_are_errors() {
    for (shape, fortran) in
        [("(4000000000,)", false), ("(4000000000, 60000)", false), ("(4000000000, 60000)", true), ("(3, 1)", false)]
    {
        let file = plain("<f8", fortran, shape, &[0; 16]);
        assert_eq!(error(file.clone(), "x.npy", TableReadOptions::default()).kind(), ErrorKind::Malformed, "{shape}");
        let stream = Input::Reader(Box::new(Hostile::new(file, Sizes::All)), "x.npy".into());
        let error = Reader::new(stream).tables().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    }
    for shape in ["(18446744073709551615,)", "(1, 18446744073709551615)", "(1, 200000)"] {
        assert_eq!(
            error(plain("<f8", false, shape, &[]), "x.npy", TableReadOptions::default()).kind(),
            ErrorKind::Limit
        );
    }
}

#[test]
fn what_follows_the_array_is_noted() {
    let descr = "[('x', '<f4'), ('n', '>i2')]";
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,)}}");
    let file = npy(1, &header, &[1; 12]);
    let loaded = load([&file[..], b"more"].concat(), "x.npy", TableReadOptions::default()).unwrap();
    assert_eq!(loaded.report.warnings.counts()["trailing-data"], 1);
}

#[test]
fn what_is_written_comes_back() {
    let same = unnamed(3, vec![Values::F32([1.0, f32::NAN, -0.0].into()), Values::F32([4.0, 5.0, 6.0].into())]);
    let mixed = table_of(
        2,
        vec![
            column("it's", Values::I8([-1, 2].into())),
            column("\u{3b1}", Values::F64([0.1, f64::INFINITY].into())),
            column("c", Values::U64([u64::MAX, 0].into())),
        ],
    );
    let single = unnamed(2, vec![Values::I16([-5, 6].into())]);
    for original in [same, mixed, single, unnamed(0, vec![])] {
        let mut expected = None;
        for (threads, chunk_bytes) in [(1, None), (2, Some(1)), (7, Some(20))] {
            let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
            let bytes = try_written(&original, &[], Format::Npy, &WriteOptions::default().with_run(run)).unwrap();
            assert_eq!(expected.get_or_insert(bytes.clone()), &bytes);
            assert_eq!(shown(&table(bytes, "x.npy")), shown(&original));
        }
    }
    let twice = table_of(1, vec![column("a", Values::I8([1].into())), column("a", Values::F32([1.0].into()))]);
    assert_eq!(try_written(&twice, &[], Format::Npy, &WriteOptions::default()).unwrap_err().kind(), ErrorKind::Usage);
    // As `numpy.save` writes `numpy.arange(3, dtype="<i2")`.
    let three = unnamed(3, vec![Values::I16([0, 1, 2].into())]);
    let written = try_written(&three, &[], Format::Npy, &WriteOptions::default()).unwrap();
    assert_eq!(written, plain("<i2", false, "(3,)", &[0, 0, 1, 0, 2, 0]));
}

#[test]
fn rows_without_columns_are_not_written() {
    let file = plain("<f4", false, "(4000000000, 0)", &[]);
    let ply = "ply\nformat binary_little_endian 1.0\nelement vertex 0\nend_header\n";
    let texts = [(Format::Csv, ""), (Format::Txt, ""), (Format::Xyz, ""), (Format::Pts, "0\n")];
    for (format, expected) in texts.into_iter().chain([(Format::Ply, ply)]) {
        let out = Shared::default();
        let write = WriteOptions::default().with_format(Some(format));
        let converted = Reader::new(Input::Memory(file.clone(), "x.npy".into()))
            .convert(Writer::new(Output::Writer(Box::new(out.clone()), "y".into())).options(&write))
            .unwrap();
        assert_eq!(String::from_utf8(out.take()).unwrap(), expected);
        assert_eq!(converted.warnings.counts()["element-left-out"], 4_000_000_000, "{format:?}");
        let table = Table { name: "vertex".into(), ..table(file.clone(), "x.npy") };
        assert_eq!(written(&table, format, &write), expected);
    }
}
