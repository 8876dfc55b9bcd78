//! Hostile text: it becomes an error or a table, quickly, and in memory proportional to its size.

use crate::table::support::{complaint, error, load, table, with};
use polyhaul::ErrorKind;
use polyhaul::model::{Scalar, Values};
use polyhaul::options::{ColumnTypes, MissingValue, TableHeader, TableReadOptions};

fn options() -> TableReadOptions {
    TableReadOptions::default()
}

#[test]
fn ten_million_columns_are_a_limit() {
    for unit in ["1,", "x,", "1 ", ","] {
        let text = unit.repeat(10_000_000);
        let error = error(text, "x.csv", options().with_missing(MissingValue::Nan));
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains("more columns than the limit `columns` (100000)"), "{error}");
    }
    // An overlong row in a table of two columns is a single broken row.
    let text = format!("1,2\n{}\n", "1,".repeat(1_000_000));
    assert!(complaint(&text, options()).starts_with("x.csv:2:1: this row has 1,000,001 values; expected 2"));
}

#[test]
fn wide_rows_are_rows() {
    let row: Vec<String> = (0..20_000).map(|n| format!("{n}.5")).collect();
    let text = format!("{}\n", row.join(" ")).repeat(3);
    let table = table(text.as_str(), "x.txt");
    assert_eq!((table.row_count, table.columns.len()), (3, 20_000));
    assert_eq!(table.columns[19_999].values, Values::F64([19_999.5; 3].into()));
}

#[test]
fn enormous_lines_and_numbers() {
    let digits = "1".repeat(10_000);
    let zeros = format!("0.{}1", "0".repeat(10_000));
    let digits_table = table(format!("{digits} {zeros} {digits}e-9999\n"), "x.txt");
    let values: Vec<_> = digits_table.columns.iter().map(|column| column.values.clone()).collect();
    assert_eq!(values[0], Values::F64([f64::INFINITY].into()));
    assert_eq!(values[1], Values::F64([0.0].into()));
    assert_eq!(values[2], Values::F64([1.111_111_111_111_111_2].into()));
    let blank = format!("1{}2\n", " ".repeat(3_000_000));
    assert_eq!(table(blank, "x.txt").columns.len(), 2);
    let name = format!("{},b\n1,2\n", "a".repeat(100_000));
    assert_eq!(error(name, "x.csv", options()).kind(), ErrorKind::Limit);
    let quotes = "\"".repeat(1_000_001);
    assert!(load(format!("1\n{quotes}\n"), "x.csv", options()).is_err());
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(error(&b"\xFF\xFE1\0,\0"[..], "x.csv", options()).kind(), ErrorKind::Unsupported);
    assert_eq!(complaint("1\n2\0x\n", options()), "x.csv:2:1: `2?x` is not a number");
    assert!(load(&b"1\n\xFF\xFF\n"[..], "x.csv", options()).is_err());
    assert!(load(vec![0; 100_000], "x.csv", options().with_header(TableHeader::Absent)).is_err());
    assert_eq!(table("1\r2\r3", "x.csv").row_count, 3);
    assert_eq!(table("1 \\\n", "x.csv").row_count, 0);
}

#[test]
fn f32s_are_right_wherever_they_stand() {
    // Midpoints between two f32s, enough to make every batch fall back.
    let text: String = (0..5000).map(|n| format!("{} {}.5\n", 16_777_217 + 2 * n, 8_388_608 + n)).collect();
    let table = with(&text, options().with_types(ColumnTypes::All(Scalar::F32)));
    let expected = |row: usize| [(16_777_217 + 2 * row) as f32, (8_388_608.0 + row as f64 + 0.5) as f32];
    for (place, column) in table.columns.iter().enumerate() {
        let Values::F32(values) = &column.values else { panic!("{column:?}") };
        assert!(values.iter().enumerate().all(|(row, value)| *value == expected(row)[place]));
    }
}
