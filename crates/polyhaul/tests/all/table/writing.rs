//! Tables as text: separators, digits, names, comments; the same bytes for any threads.

use crate::table::support::*;
use polyhaul::model::{Column, Table, Values};
use polyhaul::options::{
    Delimiter, Digits, RunOptions, SceneWriteOptions, TableHeader, TableReadOptions, TableWriteOptions,
};
use polyhaul::{ErrorKind, Format, Input, Output, Reader, WriteOptions, Writer};
use polyhaul_testkit::output::Shared;
use polyhaul_testkit::random::Random;

fn styled(table: TableWriteOptions) -> WriteOptions {
    WriteOptions::default().with_table(table)
}

fn small() -> Table {
    table_of(
        2,
        vec![
            column("a", ints([1, -20])),
            column("b c", floats([0.1, f64::NAN])),
            column("d", Values::F32([1e20, -0.5].into())),
            column("e", Values::U8([0, 255].into())),
        ],
    )
}

#[test]
fn formats_have_their_separators() {
    let plain = WriteOptions::default();
    assert_eq!(written(&small(), Format::Csv, &plain), "a,\"b c\",d,e\n1,0.1,1e20,0\n-20,nan,-0.5,255\n");
    assert_eq!(written(&small(), Format::Tsv, &plain), "a\t\"b c\"\td\te\n1\t0.1\t1e20\t0\n-20\tnan\t-0.5\t255\n");
    assert_eq!(written(&small(), Format::Txt, &plain), "1 0.1 1e20 0\n-20 nan -0.5 255\n");
    assert_eq!(written(&small(), Format::Pts, &plain), "2\n1 0.1 1e20 0\n-20 nan -0.5 255\n");
    let style = TableWriteOptions::default()
        .with_out_delimiter(Some(Delimiter::Byte(b';')))
        .with_out_header(TableHeader::Absent)
        .with_nan(String::new());
    assert_eq!(written(&small(), Format::Csv, &styled(style)), "1;0.1;1e20;0\n-20;;-0.5;255\n");
    let style = TableWriteOptions::default().with_out_header(TableHeader::Present);
    assert_eq!(written(&small(), Format::Txt, &styled(style)), "a \"b c\" d e\n1 0.1 1e20 0\n-20 nan -0.5 255\n");
}

#[test]
fn digits_are_for_all_or_for_each() {
    let style = TableWriteOptions::default().with_out_header(TableHeader::Absent);
    let two_places = SceneWriteOptions::default().with_digits(Some(Digits::Fixed(2)));
    assert_eq!(
        written(&small(), Format::Csv, &styled(style.clone()).with_scene(two_places)),
        "1,0.10,100000002004087734272.00,0\n-20,nan,-0.50,255\n"
    );
    let each = vec![Digits::Shortest, Digits::Fixed(0), Digits::Fixed(3), Digits::Shortest];
    let style = style.with_column_digits(each);
    assert_eq!(written(&small(), Format::Csv, &styled(style)), "1,0,100000002004087734272.000,0\n-20,nan,-0.500,255\n");
    let style = TableWriteOptions::default().with_column_digits(vec![Digits::Fixed(1)]);
    assert_eq!(try_written(&small(), &[], Format::Csv, &styled(style)).unwrap_err().kind(), ErrorKind::Usage);
}

/// Output of C's printf, by Rust's formatter; NaN without a sign.
fn naive(columns: &[Vec<f64>], digits: usize) -> String {
    let row = |row: usize| {
        let values = columns.iter().map(|column| match column[row] {
            value if value.is_nan() => "nan".into(),
            value if value.is_infinite() => format!("{value}"),
            value => format!("{value:.digits$}"),
        });
        values.collect::<Vec<_>>().join(",") + "\n"
    };
    (0..columns[0].len()).map(row).collect()
}

#[test]
fn whole_lines_are_as_value_by_value() {
    let mut random = Random::new(1);
    for count in [1, 2, 3, 4, 5, 6, 7, 8, 12, 17] {
        let mut column = || -> Vec<f64> {
            (0..1500)
                .map(|_| match random.below(2000) {
                    0 => f64::NAN,
                    1 => -f64::INFINITY,
                    2 => 1e30,
                    _ => f64::from(random.unit() * 200.0 - 100.0),
                })
                .collect()
        };
        let columns: Vec<Vec<f64>> = (0..count).map(|_| column()).collect();
        let of = |values: fn(&[f64]) -> Values| -> Table {
            table_of(
                1500,
                columns.iter().map(|column| Column { values: values(column), ..Column::default() }).collect(),
            )
        };
        let doubles = of(|column| Values::F64(column.to_vec().into()));
        let singles = of(|column| Values::F32(column.iter().map(|&value| value as f32).collect()));
        let single_values: Vec<Vec<f64>> =
            columns.iter().map(|column| column.iter().map(|&value| f64::from(value as f32)).collect()).collect();
        for digits in [0, 6, 12] {
            let options = WriteOptions::default()
                .with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Fixed(digits))));
            assert_eq!(written(&doubles, Format::Csv, &options), naive(&columns, digits.into()));
            assert_eq!(written(&singles, Format::Csv, &options), naive(&single_values, digits.into()));
        }
    }
}

#[test]
fn names_and_comments_come_back() {
    let names = ["plain", "a,b", "say \"x\"", "two words", "#no comment", " edges ", "\u{e9}"];
    let columns: Vec<_> = names.iter().map(|name| column(name, ints([1]))).collect();
    let table = table_of(1, columns);
    let comments = ["one".to_owned(), "two\nlines".to_owned(), String::new()];
    for format in [Format::Csv, Format::Tsv] {
        let bytes = try_written(&table, &comments, format, &WriteOptions::default()).unwrap();
        let loaded =
            load(bytes, if format == Format::Csv { "x.csv" } else { "x.tsv" }, TableReadOptions::default()).unwrap();
        assert_eq!(loaded.value.comments, ["one", "two_lines", ""]);
        assert_eq!(only(loaded), table);
    }
}

/// The marks that a reader removes before the first name, and the default comment in files without comments.
#[test]
fn names_that_start_like_marks_come_back() {
    for name in ["%change", "//x", "#id", "-#id"] {
        let table = table_of(1, vec![column(name, ints([1])), column("b", ints([2]))]);
        for comment in ["# ", ""] {
            let style = TableWriteOptions::default().with_out_comment(comment.into());
            for (format, file) in [(Format::Csv, "x.csv"), (Format::Tsv, "x.tsv")] {
                let bytes = try_written(&table, &[], format, &styled(style.clone())).unwrap();
                assert_eq!(only(load(bytes, file, TableReadOptions::default()).unwrap()), table);
            }
        }
    }
}

/// Pages of any size have the same bytes.
#[test]
fn pages_may_be_asked_to_be_huge() {
    let expected = try_written(&small(), &[], Format::Csv, &WriteOptions::default()).unwrap();
    let run = RunOptions::default().with_chunk_bytes(Some(usize::MAX));
    let options = WriteOptions::default().with_run(run);
    assert_eq!(try_written(&small(), &[], Format::Csv, &options).unwrap(), expected);
    assert!(!try_written(&small(), &[], Format::Npy, &options).unwrap().is_empty());
}

#[test]
fn what_has_no_place_is_refused() {
    let refused = |table: &Table, format| try_written(table, &[], format, &WriteOptions::default()).unwrap_err().kind();
    let lists = Column { offsets: Some([0, 1, 2].into()), ..column("l", ints([1, 2])) };
    let short = table_of(3, vec![column("s", ints([1, 2]))]);
    for format in [Format::Csv, Format::Xyz, Format::Npy] {
        assert_eq!(refused(&table_of(2, vec![lists.clone()]), format), ErrorKind::Usage);
        assert_eq!(refused(&short, format), ErrorKind::Usage);
    }
    let style = TableWriteOptions::default().with_out_delimiter(Some(Delimiter::Byte(b'e')));
    assert_eq!(try_written(&small(), &[], Format::Csv, &styled(style)).unwrap_err().kind(), ErrorKind::Usage);
    for (nan, format) in [
        ("", Format::Txt),
        ("a\tb", Format::Xyz),
        ("a,b", Format::Csv),
        ("\n", Format::Tsv),
        ("\"", Format::Csv),
        ("#", Format::Csv),
    ] {
        let style = styled(TableWriteOptions::default().with_nan(nan.into()));
        assert_eq!(try_written(&small(), &[], format, &style).unwrap_err().kind(), ErrorKind::Usage, "{nan:?}");
    }
    let blank = styled(TableWriteOptions::default().with_nan(String::new()));
    let single = table_of(2, vec![column("s", ints([1, 2]))]);
    assert_eq!(try_written(&single, &[], Format::Csv, &blank).unwrap_err().kind(), ErrorKind::Usage);
    for nan in ["", " ", "#N/A", "NULL"] {
        let style = styled(TableWriteOptions::default().with_nan(nan.into()));
        assert!(try_written(&small(), &[], Format::Csv, &style).is_ok(), "{nan:?}");
    }
    assert_eq!(written(&table_of(0, vec![]), Format::Csv, &WriteOptions::default()), "");
    assert_eq!(written(&table_of(2, vec![]), Format::Csv, &WriteOptions::default()), "");
}

#[test]
fn columns_without_names_and_rows_are_a_counted_loss() {
    let counts = |to: Format| {
        let input = Input::Memory(b",".to_vec(), "x.txt".into());
        let output = Output::Writer(Box::new(Shared::default()), "out".into());
        let report = Reader::new(input).convert(Writer::new(output).format(to)).unwrap();
        report.warnings.counts().clone()
    };
    assert_eq!(counts(Format::Txt).get("left-out-columns"), Some(&2));
    assert_eq!(counts(Format::Npy).get("left-out-columns"), None);
}
