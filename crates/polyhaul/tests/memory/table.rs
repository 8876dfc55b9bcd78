//! Reading needs memory for the columns and the limit, writing only for the limit.

use crate::alone;
use polyhaul::model::{Column, Scalar, Table, Values};
use polyhaul::options::{ColumnTypes, Digits, RunOptions, SceneWriteOptions, TableReadOptions};
use polyhaul::{Format, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::alloc;
use std::io::Read;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
/// Allowed memory beyond the limit.
const EXTRA_BYTES: u64 = 8 * MIB;

/// Repeats the same bytes.
struct Repeat {
    bytes: &'static [u8],
    left: usize,
}

impl Read for Repeat {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = (out.len() / self.bytes.len()).clamp(1, 4096).min(self.left);
        for place in out.chunks_exact_mut(self.bytes.len()).take(count) {
            place.copy_from_slice(self.bytes);
        }
        self.left -= count;
        Ok(count * self.bytes.len())
    }
}

#[test]
fn reading_takes_the_columns_and_the_limit() {
    let _turn = alone();
    const ROW: &[u8] = b"12.345678 -0.25 7\n";
    let rows = 3_000_000;
    let types = ColumnTypes::All(Scalar::F32);
    let text = Arc::new(ROW.repeat(rows));
    for (threads, memory_limit) in [(1, MIB), (2, 4 * MIB), (7, 64 * MIB)] {
        let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
        let table = TableReadOptions::default().with_types(types.clone());
        let options = ReadOptions::default().with_run(run).with_table(table);
        let (result, used) =
            alloc::measure(|| Reader::new(Input::Shared(text.clone(), "x.txt".into())).options(&options).tables());
        let columns = 12 * rows as u64;
        assert_eq!(result.unwrap().value.tables[0].heap_bytes(), columns);
        // Columns are slightly too large until their end is known.
        let max_bytes = columns + columns / 40 + memory_limit + EXTRA_BYTES;
        assert!(used.peak_bytes <= max_bytes, "{} MiB of {}", used.peak_bytes / MIB, max_bytes / MIB);
        // The size of a stream is unknown, so columns double.
        let reader = Repeat { bytes: ROW, left: rows };
        let (result, used) =
            alloc::measure(|| Reader::new(Input::Reader(Box::new(reader), "x.txt".into())).options(&options).tables());
        assert_eq!(result.unwrap().value.tables[0].row_count, rows);
        assert!(used.peak_bytes <= 3 * columns + memory_limit + EXTRA_BYTES, "{} MiB", used.peak_bytes / MIB);
    }
}

#[test]
fn writing_takes_the_limit() {
    let _turn = alone();
    let columns =
        (0..3).map(|_| Column { values: Values::F32((0..2_000_000).map(|n| n as f32).collect()), ..Column::default() });
    let table = Table { name: String::new(), row_count: 2_000_000, columns: columns.collect() };
    for format in [Format::Csv, Format::Npy] {
        for (threads, memory_limit) in [(1, 2 * MIB), (2, 8 * MIB), (7, 64 * MIB)] {
            for digits in [Digits::Fixed(6), Digits::Shortest] {
                let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
                let style = SceneWriteOptions::default().with_digits(Some(digits));
                let options = WriteOptions::default().with_format(Some(format)).with_run(run).with_scene(style);
                let output = Output::Writer(Box::new(std::io::sink()), "nowhere".into());
                let (result, used) =
                    alloc::measure(|| Writer::new(output).options(&options).tables(std::slice::from_ref(&table)));
                result.unwrap();
                let max_bytes = memory_limit + EXTRA_BYTES;
                assert!(used.peak_bytes <= max_bytes, "{} MiB of {}", used.peak_bytes / MIB, max_bytes / MIB);
            }
        }
    }
}
