//! Helpers for tests of tables.

pub use crate::support::column;
use polyhaul::model::{Column, Table, Values};
use polyhaul::options::{RunOptions, TableReadOptions};
use polyhaul::{Error, Format, Input, Loaded, Output, ReadOptions, Reader, Result, Tables, WriteOptions, Writer};
use polyhaul_testkit::output::Shared;

/// Reads text with these table options, on one thread.
pub fn load(text: impl Into<Vec<u8>>, name: &str, table: TableReadOptions) -> Result<Loaded<Tables>> {
    let run = RunOptions::default().with_threads(Some(1));
    Reader::new(Input::Memory(text.into(), name.into()))
        .options(&ReadOptions::default().with_run(run).with_table(table))
        .tables()
}

#[track_caller]
pub fn table(text: impl Into<Vec<u8>>, name: &str) -> Table {
    only(load(text, name, TableReadOptions::default()).unwrap())
}

#[track_caller]
pub fn with(text: &str, options: TableReadOptions) -> Table {
    only(load(text, "x.csv", options).unwrap())
}

#[track_caller]
pub fn only(loaded: Loaded<Tables>) -> Table {
    let [table] = <[Table; 1]>::try_from(loaded.value.tables).unwrap();
    table
}

#[track_caller]
pub fn error(text: impl Into<Vec<u8>>, name: &str, options: TableReadOptions) -> Error {
    load(text, name, options).unwrap_err()
}

/// Message, location and hint of an error.
#[track_caller]
pub fn complaint(text: &str, options: TableReadOptions) -> String {
    error(text, "x.csv", options).to_string()
}

pub fn ints<const N: usize>(values: [i64; N]) -> Values {
    Values::I64(values.into())
}

pub fn floats<const N: usize>(values: [f64; N]) -> Values {
    Values::F64(values.into())
}

/// A table without a name.
pub fn table_of(row_count: usize, columns: Vec<Column>) -> Table {
    Table { name: String::new(), row_count, columns }
}

/// Names and values as text, since NaN does not equal itself.
pub fn shown(table: &Table) -> String {
    let columns = table.columns.iter().map(|column| format!("{}={:?}", column.name, column.values));
    format!("{} rows; {}", table.row_count, columns.collect::<Vec<_>>().join("; "))
}

pub fn try_written(table: &Table, comments: &[String], format: Format, options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    let options = options.clone().with_format(Some(format));
    let output = Output::Writer(Box::new(shared.clone()), "memory".into());
    Writer::new(output).options(&options).tables_with(std::slice::from_ref(table), comments, &[])?;
    Ok(shared.take())
}

#[track_caller]
pub fn written(table: &Table, format: Format, options: &WriteOptions) -> String {
    String::from_utf8(try_written(table, &[], format, options).unwrap()).unwrap()
}
