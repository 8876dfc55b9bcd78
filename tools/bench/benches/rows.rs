//! Time to format records as `{flag:y/n} {value:.2f}\n`, and matrices with each conversion of printf.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --no-default-features --bench rows`. Each iteration
//! writes 1,024 pages of 1,024 records, every page into the same buffer; throughput is in records per second.
//! `cargo xtask bench records` compares them with C's `snprintf` and Rust's `write!`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use polyhaul_text::format::{FixedLine, MAX_FIXED_F32, Page, PrintfDialect, RowFormat, StridedColumn, ValueType};

fn main() {
    divan::main();
}

const PAGES: usize = 1024;
const PER_PAGE: usize = 1024;

fn random() -> impl Iterator<Item = u64> {
    let mut state = 1u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 31)
    })
}

/// Packed records: a bool, three bytes of padding, an f32.
fn records() -> Vec<u8> {
    let mut bytes = Vec::new();
    for bits in random().take(PAGES * PER_PAGE) {
        let value = (bits as i64 as f64 / 2f64.powi(63) * 100.0) as f32;
        bytes.extend_from_slice(&[(bits >> 20) as u8 & 1, 0, 0, 0]);
        bytes.extend_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn parse(record: &[u8; 8]) -> (bool, f32) {
    (record[0] != 0, f32::from_ne_bytes([record[4], record[5], record[6], record[7]]))
}

/// Formats all rows, page by page.
fn write_all(bencher: Bencher<'_, '_>, format: &RowFormat, columns: &[StridedColumn<'_>]) {
    let rows = format.over(columns).unwrap();
    let mut buffer = vec![0; PER_PAGE * 64];
    bencher.counter(ItemsCount::new(rows.count())).bench_local(|| {
        let mut sum = 0;
        let mut row = 0;
        while row < rows.count() {
            let mut page = Page::new(&mut buffer);
            row += black_box(&rows).write(&mut page, row..(row + PER_PAGE).min(rows.count())).unwrap();
            sum += page.len();
        }
        sum
    });
}

#[divan::bench]
fn polyhaul_records(bencher: Bencher<'_, '_>) {
    all_records(bencher, |format| format);
}

#[divan::bench]
fn polyhaul_portable(bencher: Bencher<'_, '_>) {
    all_records(bencher, RowFormat::portable);
}

fn all_records(bencher: Bencher<'_, '_>, change: impl FnOnce(RowFormat) -> RowFormat) {
    let records = records();
    let kinds = [("flag", 0, ValueType::Bool), ("value", 4, ValueType::F32)];
    let columns =
        kinds.map(|(_, offset, kind)| StridedColumn::new(&records, offset, 8, PAGES * PER_PAGE, kind).unwrap());
    let format = RowFormat::fields("{flag:y/n} {value:.2f}\n", |name| {
        kinds.iter().position(|&(field, ..)| field == name).map(|index| (index, kinds[index].2))
    });
    write_all(bencher, &change(format.unwrap()), &columns);
}

/// Matrices of three columns, as for `np.savetxt`; throughput is in rows.
mod matrix {
    use super::*;

    fn all(bencher: Bencher<'_, '_>, conversion: &str, kind: ValueType) {
        let values = random().take(3 * PAGES * PER_PAGE).map(|bits| bits as i64 as f64 / 2f64.powi(63) * 100.0);
        let data: Vec<u8> = match kind {
            ValueType::F32 => values.flat_map(|value| (value as f32).to_ne_bytes()).collect(),
            ValueType::I32 => values.flat_map(|value| ((value * 1e5) as i32).to_ne_bytes()).collect(),
            _ => values.flat_map(f64::to_ne_bytes).collect(),
        };
        let size = kind.bytes();
        let columns =
            [0, 1, 2].map(|index| StridedColumn::new(&data, index * size, 3 * size, PAGES * PER_PAGE, kind).unwrap());
        let template = [conversion; 3].join(" ") + "\n";
        let format = RowFormat::printf(&template, &[kind; 3], PrintfDialect::Python).unwrap();
        write_all(bencher, &format, &columns);
    }

    #[divan::bench(args = ["%.2f", "%.6f", "%9.3f", "%.6e", "%g", "%s"])]
    fn f32(bencher: Bencher<'_, '_>, conversion: &str) {
        all(bencher, conversion, ValueType::F32);
    }

    #[divan::bench(args = ["%.6f", "%.10f", "%.18f", "%.6e", "%.18e", "%.25e", "%g", "%.17g", "%s"])]
    fn f64(bencher: Bencher<'_, '_>, conversion: &str) {
        all(bencher, conversion, ValueType::F64);
    }

    #[divan::bench(args = ["%d", "%8d"])]
    fn i32(bencher: Bencher<'_, '_>, conversion: &str) {
        all(bencher, conversion, ValueType::I32);
    }

    #[divan::bench]
    fn fixed_lines_f32(bencher: Bencher<'_, '_>) {
        let data: Vec<f32> = random()
            .take(3 * PAGES * PER_PAGE)
            .map(|bits| (bits as i64 as f64 / 2f64.powi(63) * 100.0) as f32)
            .collect();
        let mut buffer = vec![0; PER_PAGE * (MAX_FIXED_F32 + 40) * 3];
        let line = FixedLine::new(b"", 6);
        bencher.counter(ItemsCount::new(PAGES * PER_PAGE)).bench_local(|| {
            let mut sum = 0;
            for rows in black_box(&data).as_chunks::<3>().0.chunks(PER_PAGE) {
                let mut page = Page::new(&mut buffer);
                page.fixed_lines(&line, rows);
                sum += page.len();
            }
            sum
        });
    }
}

#[divan::bench]
fn page_by_hand(bencher: Bencher<'_, '_>) {
    let records = records();
    let mut buffer = vec![0; PER_PAGE * 64];
    bencher.counter(ItemsCount::new(PAGES * PER_PAGE)).bench_local(|| {
        let mut sum = 0;
        for records in black_box(&records).chunks_exact(8 * PER_PAGE) {
            let mut page = Page::new(&mut buffer);
            for record in records.as_chunks::<8>().0 {
                let (flag, value) = parse(record);
                page.bytes(if flag { b"y " } else { b"n " });
                page.fixed_f32(value, 2);
                page.byte(b'\n');
            }
            sum += page.len();
        }
        sum
    });
}
