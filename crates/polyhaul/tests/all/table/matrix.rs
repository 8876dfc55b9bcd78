//! The same table or error for any threads, chunks, splits and compression; damaged text.

use crate::table::support::{only, shown};
use polyhaul::model::{Scalar, Values};
use polyhaul::options::{ColumnTypes, TableReadOptions};
use polyhaul::{Input, ReadOptions, Reader};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNKS: [usize; 6] = [1, 7, 64, 300, 4096, 1 << 20];

/// Complete result of a read.
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

/// Reads a text in all ways, with equal results.
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

const TYPES: [ColumnTypes; 3] = [ColumnTypes::Auto, ColumnTypes::All(Scalar::F64), ColumnTypes::All(Scalar::F32)];

/// Regular numbers, which are parsed on the fast path if a chunk has no others.
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
        // With irregular lines, a single chunk is irregular; of many chunks, most are regular.
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

/// Quotes around numbers have no effect; quotes around anything else are reported at their position.
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
