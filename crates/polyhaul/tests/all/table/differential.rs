//! Compared with a sequential reader, on random tables without quotes.

use crate::table::support::{load, only, shown};
use polyhaul::model::{Column, Table, Values};
use polyhaul::options::{ColumnName, Delimiter, MissingValue, TableHeader, TableReadOptions};
use polyhaul_testkit::random::Random;

/// Parses a number by its definition: an integer, or a float.
fn number(field: &str) -> Result<(Option<i64>, f64), ()> {
    let bare = field.strip_prefix(['-', '+']).unwrap_or(field);
    let digits = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
    let value: f64 = field.parse().map_err(drop)?;
    let is_minus_zero = value == 0.0 && field.starts_with('-');
    let integer = field.parse().ok().filter(|_: &i64| digits && !is_minus_zero);
    Ok((integer, value))
}

/// Reads a table; `None` if there is an error.
fn naive(text: &str, delimiter: Option<char>) -> Option<Table> {
    let mut rows: Vec<Vec<(Option<i64>, f64)>> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let line = line.split('#').next().unwrap_or_default();
        let fields: Vec<&str> = match delimiter {
            None => line.split_ascii_whitespace().collect(),
            Some(_) if line.trim().is_empty() => Vec::new(),
            Some(delimiter) => line.split(delimiter).map(str::trim).collect(),
        };
        if fields.is_empty() {
            continue;
        }
        let row = fields.iter().map(|field| if field.is_empty() { Ok((None, f64::NAN)) } else { number(field) });
        let row: Vec<_> = row.collect::<Result<_, ()>>().ok()?;
        if rows.first().is_some_and(|first| first.len() != row.len()) {
            return None;
        }
        rows.push(row);
    }
    let count = rows.first().map_or(0, Vec::len);
    let columns = (0..count).map(|place| {
        let integers: Option<Vec<i64>> = rows.iter().map(|row| row[place].0).collect();
        let floats: Vec<f64> = rows.iter().map(|row| row[place].1).collect();
        let values = integers.map_or_else(|| Values::F64(floats.into()), |integers| Values::I64(integers.into()));
        Column { name: String::new(), values, offsets: None }
    });
    Some(Table { name: String::new(), row_count: rows.len(), columns: columns.collect() })
}

fn field(random: &mut Random) -> String {
    let digits = random.below(30);
    match random.below(40) {
        0 => String::new(),
        1 => "nan".into(),
        2 => format!("{}e{}", random.below(1000), random.below(600) as i64 - 300),
        3 => format!("{}", random.bits() as i64),
        4 => format!("-0.{}", random.bits()),
        5 => (*random.pick(&["0", "-0", "+4", "1.", ".5", "9007199254740993", "x", "1 2", "-", "1e", "00017"])).into(),
        6..=20 => format!("{}", random.below(2000) as i64 - 1000),
        _ => format!("{:.*}", digits % 9, random.unit() * 200.0 - 100.0),
    }
}

/// Checks that columns selected in any order equal those of the whole table.
fn picked(random: &mut Random, expected: &Table, text: &str, options: TableReadOptions) {
    if expected.columns.is_empty() {
        return;
    }
    let picks: Vec<usize> = (0..=random.below(3)).map(|_| random.below(expected.columns.len())).collect();
    let columns = picks.iter().map(|&place| expected.columns[place].clone()).collect();
    let expected = Table { columns, ..expected.clone() };
    let picks = picks.into_iter().map(ColumnName::Index).collect();
    let loaded = load(text, "x.csv", options.with_columns(Some(picks))).map(only).unwrap();
    assert_eq!(shown(&loaded), shown(&expected), "{text}");
}

#[test]
fn random_tables_are_what_the_definition_says() {
    let mut random = Random::new(7);
    let mut read = 0;
    for round in 0..600 {
        let (delimiter, byte) = *random.pick(&[
            (None, Delimiter::Blanks),
            (Some(','), Delimiter::Byte(b',')),
            (Some('\t'), Delimiter::Byte(b'\t')),
        ]);
        let rows = random.below(60);
        let columns = 1 + random.below(6);
        let mut text = String::new();
        for _ in 0..rows {
            let fields: Vec<String> =
                (0..columns + usize::from(random.once_in(900))).map(|_| field(&mut random)).collect();
            text.push_str(&fields.join(&delimiter.unwrap_or(' ').to_string()));
            text.push_str(random.pick::<&str>(&["\n", "\n", "\r\n", " \n", "\r", " # c\n", "\n\n#\n"]));
        }
        let options = TableReadOptions::default()
            .with_delimiter(Some(byte))
            .with_header(TableHeader::Absent)
            .with_missing(MissingValue::Nan);
        let loaded = load(text.as_str(), "x.csv", options.clone()).map(only);
        match (naive(&text, delimiter), &loaded) {
            (Some(expected), Ok(loaded)) => {
                assert_eq!(shown(loaded), shown(&expected), "{round}: {text}");
                picked(&mut random, &expected, &text, options);
            }
            (None, Err(_)) => continue,
            (expected, loaded) => {
                panic!("{round}: {} rows, but {loaded:?}: {text}", expected.map_or(0, |table| table.row_count))
            }
        }
        read += 1;
    }
    assert!(read > 100, "only {read} were tables");
}
