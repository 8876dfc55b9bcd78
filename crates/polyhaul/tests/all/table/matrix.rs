//! The same table, or the same error, for any threads, chunks, splits and compression; damaged text.

use crate::table::support::{only, shown};
use polyhaul::model::{Scalar, Values};
use polyhaul::options::{ColumnTypes, Limits, MissingValue, OnError, TableReadOptions};
use polyhaul::{Input, ReadOptions, Reader};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNKS: [usize; 6] = [1, 7, 64, 300, 4096, 1 << 20];

/// All that reading tells.
fn outcome(input: Input, options: &ReadOptions) -> String {
    match Reader::new(input).options(options).tables() {
        Ok(loaded) => {
            let comments = format!("{:?}", loaded.value.comments);
            let warnings = format!("{:?}", loaded.report.warnings);
            format!("{}\n{comments}\n{warnings}", shown(&only(loaded)))
        }
        Err(error) => format!("{error:?}\n{:?}", error.diagnostic()),
    }
}

fn memory(text: &[u8]) -> Input {
    Input::Memory(text.to_vec(), "x.csv".into())
}

fn stream(text: &[u8], sizes: Sizes) -> Input {
    Input::Reader(Box::new(Hostile::new(text, sizes).with(Fault::Interrupted)), "x.csv".into())
}

fn options(threads: usize, chunk_bytes: Option<usize>, base: &ReadOptions) -> ReadOptions {
    let run = base.run.clone().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
    base.clone().with_run(run)
}

/// A text is read in all ways, which come to the same.
fn check(text: &[u8], base: &ReadOptions) -> String {
    let expected = outcome(memory(text), &options(1, None, base));
    for threads in THREADS {
        for chunk_bytes in CHUNKS {
            let options = options(threads, Some(chunk_bytes), base);
            assert_eq!(outcome(memory(text), &options), expected, "{threads} threads, {chunk_bytes} bytes");
        }
        let options = options(threads, Some(50), base);
        for sizes in [Sizes::All, Sizes::One, Sizes::Random(Random::new(threads as u64))] {
            assert_eq!(outcome(stream(text, sizes), &options), expected, "a stream, {threads} threads");
        }
    }
    expected
}

/// Rows of all that there is, with a fault now and then.
fn rows(seed: u64, count: usize, faults: bool) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = String::from("# made\nx, y,\"z, or not\"\n");
    for _ in 0..count {
        let mut value = || match random.below(if faults { 60 } else { 30 }) {
            0 => "1e3".into(),
            1 => String::new(),
            2 => "12345678901234567".into(),
            3 => "-0".into(),
            4 => "\"7\"".into(),
            5 => "1.25".into(),
            31 => "what".into(),
            32 => "1,2".into(),
            n => format!("{}", n as i64 - 20),
        };
        text.push_str(&format!("{},{}, {}", value(), value(), value()));
        text.push_str(["\n", "\r\n", " # c\n", "\n\n", "\n# comment\n", "\n"][random.below(6)]);
    }
    text.into_bytes()
}

fn missing(missing: MissingValue) -> ReadOptions {
    ReadOptions::default().with_table(TableReadOptions::default().with_missing(missing))
}

#[test]
fn whatever_the_threads_and_chunks() {
    for seed in 0..4 {
        let outcome = check(&rows(seed, 300, false), &missing(MissingValue::Nan));
        assert!(outcome.starts_with("300 rows; x=F64"), "{outcome}");
    }
    assert!(check(&rows(9, 300, true), &missing(MissingValue::Value(3.0))).starts_with("Malformed"));
    assert!(check(&rows(8, 300, false), &missing(MissingValue::Error)).contains("missing value"));
    // Integers to the last row but one, which is a float.
    let mut text = "123,4\n".repeat(500);
    assert!(check(text.as_bytes(), &ReadOptions::default()).starts_with("500 rows; =I64"));
    text.push_str("0.5,9007199254740993\n1,1\n");
    let outcome = check(text.as_bytes(), &ReadOptions::default());
    assert!(outcome.starts_with("502 rows; =F64([123.0") && outcome.contains("9007199254740993, 1]"), "{outcome}");
    check("\n#\n\na b\n\n# x\n\n1 2".as_bytes(), &ReadOptions::default());
}

const TYPES: [ColumnTypes; 3] = [ColumnTypes::Auto, ColumnTypes::All(Scalar::F64), ColumnTypes::All(Scalar::F32)];

/// Numbers as programs print them, which are taken at once wherever a chunk has no others.
fn regular(seed: u64, count: usize) -> String {
    let mut random = Random::new(seed);
    let mut value = || (random.below(2_000_000_000) as f64 - 1e9) / 10f64.powi(random.below(9) as i32);
    (0..count).map(|_| format!("{:.6},{:.6},{:.6}\n", value(), value(), value())).collect()
}

#[test]
fn regular_rows_are_as_any_others() {
    for types in TYPES {
        let table = TableReadOptions::default().with_types(types);
        let mut base = ReadOptions::default().with_table(table);
        let rows = regular(1, 120);
        let others = "1,2.5e3,-0\n# c\n";
        // With a line in it that is not regular, one chunk of all of it is none; many have at most one that is none.
        let text = [&rows, others, &regular(2, 120), "1.000000,2.000000,3.000000"].concat();
        let outcome = check(text.as_bytes(), &base);
        assert!(outcome.starts_with("242 rows; "), "{outcome}");
        assert_eq!(check(rows.as_bytes(), &base), check(rows.trim_end().as_bytes(), &base));
        let broken = check([&rows, "1.000000,2.000000\n"].concat().as_bytes(), &base);
        assert!(broken.contains("line: Some(121)"), "{broken}");
        base.table.max_rows = Some(50);
        assert!(check(rows.as_bytes(), &base).starts_with("50 rows; "));
        base.limits.elements = 49;
        assert!(check(rows.as_bytes(), &base).contains("line: Some(50)"));
    }
}

/// Quotes around numbers mean nothing, and those around anything else are found where they are.
#[test]
fn quoted_rows_are_as_any_others() {
    let quoted =
        |text: &str| text.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect::<String>();
    let mixed = |text: &str| text.lines().map(|line| line.replacen(',', ",\"", 1) + "\"\n").collect::<String>();
    let three = |text: String| text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    for types in TYPES {
        let mut base = ReadOptions::default().with_table(TableReadOptions::default().with_types(types));
        let rows: String = three(regular(4, 120));
        let expected = check(rows.as_bytes(), &base);
        assert_eq!(check(quoted(&rows).as_bytes(), &base), expected);
        assert_eq!(check(quoted(&rows).replace('\n', "\r\n").trim_end().as_bytes(), &base), expected);
        assert_eq!(check(mixed(&rows).as_bytes(), &base), expected);
        for special in
            ["\"1,5\",2", "\"\",2", "\"1", "\"1\"\"\",2", "\" 1\",2", "\"#\",2", "1\",2", "\"x\",\"2\"", "\"3\" # c"]
        {
            let text = [&quoted(&rows), special, "\n", &quoted(&rows)].concat();
            let outcome = check(text.as_bytes(), &base);
            assert!(outcome.starts_with("241 rows") || outcome.contains("line: Some(121)"), "{special}: {outcome}");
        }
        base.table.max_rows = Some(50);
        assert!(check(quoted(&rows).as_bytes(), &base).starts_with("50 rows; "));
    }
}

#[test]
fn regular_rows_are_one_array() {
    let text = regular(3, 300);
    let expected = regular(3, 300).replace('\n', ",");
    let expected: Vec<&str> = expected.trim_end_matches(',').split(',').collect();
    for threads in THREADS {
        for chunk_bytes in CHUNKS {
            for types in TYPES {
                let mut options = options(threads, Some(chunk_bytes), &ReadOptions::default());
                options.table.types = types;
                let array = Reader::new(memory(text.as_bytes())).options(&options).array().unwrap();
                match &array.value.values {
                    Values::F64(values) => {
                        assert!(values.iter().zip(&expected).all(|(value, token)| Ok(*value) == token.parse()))
                    }
                    Values::F32(values) => {
                        assert!(values.iter().zip(&expected).all(|(value, token)| Ok(*value) == token.parse()));
                    }
                    other => panic!("{other:?}"),
                }
                assert_eq!((array.value.row_count, array.value.values.len()), (300, 900));
            }
        }
    }
}

#[test]
fn broken_rows_are_left_out_and_counted() {
    let warn = missing(MissingValue::Nan).with_on_error(OnError::Warn);
    let outcome = check(&rows(9, 300, true), &warn);
    assert!(outcome.contains("not-a-number") && outcome.contains("ragged-row"), "{outcome}");
}

#[test]
fn limits_hold_to_the_row() {
    let text = rows(2, 60, true);
    for elements in [0, 1, 30, 50] {
        let limits = Limits::default().with_elements(elements);
        let base = missing(MissingValue::Nan).with_limits(limits).with_on_error(OnError::Warn);
        let outcome = check(&text, &base);
        assert!(outcome.starts_with("Limit") && outcome.contains("(elements)"), "{outcome}");
    }
    for max_rows in [0, 1, 7, 40, 1000] {
        let mut base = missing(MissingValue::Nan).with_on_error(OnError::Warn);
        base.table.max_rows = Some(max_rows);
        check(&text, &base);
    }
    let long = [b"1,2\n".repeat(40), b"3,".to_vec(), b" ".repeat(300), b"4\n".to_vec(), b"x,y\n".repeat(40)].concat();
    let limits = Limits::default().with_line_bytes(200);
    let outcome = check(&long, &ReadOptions::default().with_limits(limits));
    assert!(outcome.contains("longer than the limit of 200 bytes") && outcome.contains("line: Some(41)"), "{outcome}");
    for (columns, is_well) in [(1, false), (2, true)] {
        let limits = Limits::default().with_columns(columns);
        let outcome = check(b"1,2\n", &ReadOptions::default().with_limits(limits));
        assert_eq!(!outcome.contains("more columns than the limit of 1 (columns)"), is_well, "{outcome}");
    }
}
