//! Nanoseconds per value and per line of each kernel that formats numbers.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --no-default-features --bench format`. Throughput is in
//! values (or lines) per second. `cargo xtask bench numbers` compares them with Rust's and C's formatters, zmij and
//! ryu.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use polyhaul_text::format::{FixedLine, IndexLine, NumberLines, Page};

/// Values per iteration: their text stays in the L1 cache, like a page in use.
const COUNT: usize = 3 * 512;

fn main() {
    divan::main();
}

fn random() -> impl Iterator<Item = u64> {
    let mut state = 1u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 31)
    })
}

/// Returns values uniformly distributed over [-range, range].
fn doubles(range: f64) -> Vec<f64> {
    random().take(COUNT).map(|bits| bits as i64 as f64 / 2f64.powi(63) * range).collect()
}

fn floats(range: f64) -> Vec<f32> {
    doubles(range).into_iter().map(|value| value as f32).collect()
}

fn rows<const N: usize>(range: f64) -> Vec<[f32; N]> {
    floats(range).as_chunks::<N>().0.to_vec()
}

fn double_rows<const N: usize>(range: f64) -> Vec<[f64; N]> {
    doubles(range).as_chunks::<N>().0.to_vec()
}

/// Appends all values to a page that is cleared before each pass.
fn append_all<T: Copy>(bencher: Bencher<'_, '_>, values: &[T], append: impl Fn(&mut Page<'_>, T) + Sync) {
    let mut buffer = vec![0; 1 << 16];
    bencher.counter(ItemsCount::new(values.len())).bench_local(|| {
        let mut page = Page::new(&mut buffer);
        for &value in black_box(values) {
            append(&mut page, value);
            page.byte(b' ');
        }
        page.len()
    });
}

fn line_all<const N: usize, R: polyhaul_text::format::Real>(
    bencher: Bencher<'_, '_>,
    rows: &[[R; N]],
    line: &FixedLine<'_>,
) {
    let mut buffer = vec![0; 1 << 17];
    bencher.counter(ItemsCount::new(rows.len())).bench_local(|| {
        let mut page = Page::new(&mut buffer);
        page.fixed_lines(line, black_box(rows))
    });
}

mod fixed {
    use super::*;

    #[divan::bench(args = [2, 4, 6, 9, 12])]
    fn polyhaul_f32(bencher: Bencher<'_, '_>, digits: usize) {
        append_all(bencher, &floats(100.0), |page, value| page.fixed_f32(value, digits));
    }

    #[divan::bench]
    fn polyhaul_f32_literal_6(bencher: Bencher<'_, '_>) {
        append_all(bencher, &floats(100.0), |page, value| page.fixed_f32(value, 6));
    }

    #[divan::bench(args = [2, 6, 12])]
    fn polyhaul_f64(bencher: Bencher<'_, '_>, digits: usize) {
        append_all(bencher, &doubles(100.0), |page, value| page.fixed_f64(value, digits));
    }

    #[divan::bench]
    fn polyhaul_f64_to_a_million_6(bencher: Bencher<'_, '_>) {
        append_all(bencher, &doubles(1e6), |page, value| page.fixed_f64(value, 6));
    }
}

mod lines {
    use super::*;

    #[divan::bench(args = [2, 4, 6])]
    fn polyhaul_3_f32(bencher: Bencher<'_, '_>, digits: usize) {
        line_all(bencher, &rows::<3>(100.0), &FixedLine::new(b"v ", digits));
    }

    #[divan::bench(args = [2, 4, 6])]
    fn polyhaul_3_f32_portable(bencher: Bencher<'_, '_>, digits: usize) {
        line_all(bencher, &rows::<3>(100.0), &FixedLine::new(b"v ", digits).portable());
    }

    #[divan::bench]
    fn polyhaul_3_f32_line_by_line(bencher: Bencher<'_, '_>) {
        let rows = rows::<3>(100.0);
        let line = FixedLine::new(b"v ", 6);
        let mut buffer = vec![0; 1 << 17];
        bencher.counter(ItemsCount::new(rows.len())).bench_local(|| {
            let mut page = Page::new(&mut buffer);
            black_box(&rows).iter().for_each(|&row| page.fixed_line(&line, row));
            page.len()
        });
    }

    #[divan::bench]
    fn polyhaul_2_f32(bencher: Bencher<'_, '_>) {
        line_all(bencher, &rows::<2>(1.0), &FixedLine::new(b"vt ", 6));
    }

    #[divan::bench]
    fn polyhaul_6_f32(bencher: Bencher<'_, '_>) {
        line_all(bencher, &rows::<6>(100.0), &FixedLine::new(b"", 6));
    }

    #[divan::bench]
    fn polyhaul_6_f32_portable(bencher: Bencher<'_, '_>) {
        line_all(bencher, &rows::<6>(100.0), &FixedLine::new(b"", 6).portable());
    }

    #[divan::bench]
    fn polyhaul_3_f32_to_a_million(bencher: Bencher<'_, '_>) {
        line_all(bencher, &rows::<3>(1e6), &FixedLine::new(b"v ", 6));
    }

    #[divan::bench]
    fn polyhaul_3_f32_to_a_million_portable(bencher: Bencher<'_, '_>) {
        line_all(bencher, &rows::<3>(1e6), &FixedLine::new(b"v ", 6).portable());
    }

    #[divan::bench]
    fn polyhaul_3_f64(bencher: Bencher<'_, '_>) {
        line_all(bencher, &double_rows::<3>(100.0), &FixedLine::new(b"v ", 6));
    }

    #[divan::bench]
    fn polyhaul_3_f64_portable(bencher: Bencher<'_, '_>) {
        line_all(bencher, &double_rows::<3>(100.0), &FixedLine::new(b"v ", 6).portable());
    }
}

mod shortest {
    use super::*;

    #[divan::bench]
    fn polyhaul_f32(bencher: Bencher<'_, '_>) {
        append_all(bencher, &floats(100.0), |page, value| page.shortest_f32(value));
    }

    #[divan::bench]
    fn polyhaul_f64(bencher: Bencher<'_, '_>) {
        append_all(bencher, &doubles(100.0), |page, value| page.shortest_f64(value));
    }

    /// Benchmarks rows of three values.
    fn rows<R: polyhaul_text::format::Real>(bencher: Bencher<'_, '_>, values: &[R]) {
        let mut buffer = vec![0; 1 << 16];
        let lines = NumberLines::new(3, b' ', [b"\n"]);
        bencher.counter(ItemsCount::new(values.len())).bench_local(|| {
            let mut page = Page::new(&mut buffer);
            page.shortest_lines(&lines, 0, black_box(values))
        });
    }

    #[divan::bench]
    fn polyhaul_rows_of_f32(bencher: Bencher<'_, '_>) {
        rows(bencher, &floats(100.0));
    }

    #[divan::bench]
    fn polyhaul_rows_of_f64(bencher: Bencher<'_, '_>) {
        rows(bencher, &doubles(100.0));
    }
}

mod integers {
    use super::*;

    /// Returns vertex indices of a mesh with `limit` vertices.
    fn indices(limit: u64) -> Vec<u32> {
        random().take(COUNT).map(|bits| (bits % limit) as u32 + 1).collect()
    }

    #[divan::bench(args = [1_000, 2_000_000, 10_000_000])]
    fn polyhaul_u32(bencher: Bencher<'_, '_>, limit: u64) {
        append_all(bencher, &indices(limit), |page, value| page.u32(value));
    }

    #[divan::bench(args = [2_000_000, 10_000_000])]
    fn polyhaul_face_of_4_corners(bencher: Bencher<'_, '_>, limit: u64) {
        let corners: Vec<[u32; 3]> = indices(limit).as_chunks::<3>().0.to_vec();
        let faces = corners.as_chunks::<4>().0;
        let line = IndexLine::new(b"f");
        let mut buffer = vec![0; 1 << 16];
        bencher.counter(ItemsCount::new(faces.len())).bench_local(|| {
            let mut page = Page::new(&mut buffer);
            black_box(faces).iter().for_each(|&face| page.index_line(&line, face));
            page.len()
        });
    }
}
