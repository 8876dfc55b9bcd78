//! Tables: a failed allocation is an error, never an abort, while reading and writing.

use polyhaul::model::{Column, Table, Values};
use polyhaul::options::{Digits, OnError, RunOptions, SceneWriteOptions};
use polyhaul::{Format, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::output::Shared;
use polyhaul_testkit::starve::{Plan, every_allocation};

/// Rows of integers that become floats, comments, broken rows, large integers.
fn text(rows: usize) -> Vec<u8> {
    let mut text = format!("# {}\nx,y,{}\n", "c".repeat(3000), "name".repeat(500));
    for row in 0..rows {
        let value = if row % 7 == 0 { row as f64 / 4.0 } else { row as f64 };
        text.push_str(&format!("{row},{value},{}\n", u64::MAX / 3 + row as u64));
        text.push_str(if row % 50 == 0 { "1,2\n" } else { "" });
    }
    text.into_bytes()
}

fn options(threads: usize) -> ReadOptions {
    let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(20_000));
    ReadOptions::default().with_run(run).with_on_error(OnError::Warn)
}

fn table() -> Table {
    let column = |name: &str, values| Column { name: name.repeat(900), values, offsets: None };
    let floats: Vec<f32> = (0..9000).map(|n| n as f32 / 3.0).collect();
    let columns = vec![column("a", Values::F32(floats.into())), column("b", Values::I64((0..9000).collect()))];
    Table { name: String::new(), row_count: 9000, columns }
}

fn reading(test: &str, threads: usize, name: &'static str, bytes: fn() -> Vec<u8>) {
    let test = &format!("table::{test}");
    every_allocation(Plan { least_errors: 4, ..Plan::of(test) }, |_| {
        let bytes = std::sync::Arc::new(bytes());
        let read = move || {
            Reader::new(Input::Shared(bytes.clone(), name.into())).options(&options(threads)).tables().map(drop)
        };
        (read, |_| ())
    });
}

fn npy() -> Vec<u8> {
    let shared = Shared::default();
    let options = WriteOptions::default().with_format(Some(Format::Npy));
    Writer::new(Output::Writer(Box::new(shared.clone()), "x".into())).options(&options).tables(&[table()]).unwrap();
    shared.take()
}

#[test]
fn reading_text() {
    reading("reading_text", 1, "x.csv", || text(3000));
}

#[test]
fn reading_text_on_two_threads() {
    reading("reading_text_on_two_threads", 2, "x.csv", || text(3000));
}

#[test]
fn reading_arrays() {
    reading("reading_arrays", 1, "x.npy", npy);
}

#[test]
fn reading_into_one_array_and_points() {
    every_allocation(Plan::of("table::reading_into_one_array_and_points"), |_| {
        let text = std::sync::Arc::new("1 2 3 255 0 0 9\n".repeat(3000).into_bytes());
        let read = move || {
            Reader::new(Input::Shared(text.clone(), "x.txt".into())).options(&options(1)).array()?;
            Reader::new(Input::Shared(text.clone(), "x.pts".into())).options(&options(1)).scene().map(drop)
        };
        (read, |_| ())
    });
}

#[test]
fn writing() {
    every_allocation(Plan::of("table::writing"), |_| {
        let table = table();
        let shared = Shared::with_room(4 << 20);
        let comments = ["c".repeat(4000)];
        let write = move || {
            for (format, digits) in [(Format::Csv, Digits::Fixed(3)), (Format::Npy, Digits::Shortest)] {
                shared.lock().clear();
                let style = SceneWriteOptions::default().with_digits(Some(digits));
                let options = WriteOptions::default().with_format(Some(format)).with_scene(style);
                let output = Output::Writer(Box::new(shared.clone()), "memory".into());
                Writer::new(output).options(&options).tables_with(std::slice::from_ref(&table), &comments, &[])?;
            }
            Ok(())
        };
        (write, |_| ())
    });
}
