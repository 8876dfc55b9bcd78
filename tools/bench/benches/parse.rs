//! Nanoseconds per value of parsing text, for each instruction set.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --no-default-features --bench parse`. Throughput is in
//! values per second, for scans in bytes. `rows` uses an existing index; `read` includes building it.
//! `cargo xtask bench numbers` compares them with fast-float2 and Rust's parser.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::Lists;
use polyhaul_text::parse::rows::{VALUE_SLACK, Window, face_rows, float_rows, long_float_rows};
use polyhaul_text::parse::tokens::{self, TokenPrecision};
use polyhaul_text::scan::{Index, MAX_ENDS, MAX_LINES, PADDING};
use std::fmt::Write;

/// Lines per text: more than branch predictors memorize.
const LINES: usize = 20_000;

fn main() {
    divan::main();
}

/// A text of rows.
#[derive(Clone, Copy)]
enum RowText {
    V,
    Vt,
    Face,
}

const ROW_TEXTS: [RowText; 3] = [RowText::V, RowText::Vt, RowText::Face];

impl std::fmt::Debug for RowText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RowText::V => "v, 3 floats",
            RowText::Vt => "vt, 2 floats",
            RowText::Face => "f, 12 indices",
        })
    }
}

/// Returns a generator of reproducible pseudorandom numbers from -1 to 1.
fn randoms() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

impl RowText {
    fn values(self) -> usize {
        LINES * [3, 2, 12][self as usize]
    }

    /// Formats the text, with padding.
    fn padded(self) -> Vec<u8> {
        let mut random = randoms();
        let mut text = "\n".repeat(PADDING);
        for line in 0..LINES {
            let _ = match self {
                RowText::V => writeln!(text, "v {:.6} {:.6} {:.6}", 20.0 * random(), random(), 20.0 * random()),
                RowText::Vt => writeln!(text, "vt {:.6} {:.6}", random().abs(), random().abs()),
                RowText::Face => {
                    let [a, b, c, d] = [line + 500_000, line + 500_001, line + 501_002, line + 501_001];
                    writeln!(text, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c} {d}/{d}/{d}")
                }
            };
        }
        text += &"\n".repeat(PADDING);
        text.into_bytes()
    }

    /// Parses all rows of a window; returns their number.
    fn parse(self, window: Window<'_>, out: &mut Output) -> usize {
        match self {
            RowText::V => float_rows(window, 0, b"v", &mut out.triples),
            RowText::Vt => float_rows(window, 0, b"vt", &mut out.pairs),
            RowText::Face => face_rows(window, 0, b"f", &mut out.values, &mut out.row_ends).rows,
        }
    }
}

struct Output {
    triples: Vec<[f32; 3]>,
    pairs: Vec<[f32; 2]>,
    values: Vec<u32>,
    row_ends: Vec<u32>,
}

impl Output {
    fn new() -> Output {
        Output {
            triples: vec![[0.0; 3]; MAX_LINES],
            pairs: vec![[0.0; 2]; MAX_LINES],
            values: vec![0; MAX_ENDS + VALUE_SLACK],
            row_ends: vec![0; MAX_LINES],
        }
    }
}

/// Indexes a text window by window.
fn scan(padded: &[u8], level: Level, index: &mut Index, mut visit: impl FnMut(&Index)) {
    let end = padded.len() - PADDING;
    let mut start = PADDING;
    while start < end {
        index.scan(padded, start, end, level);
        visit(index);
        start = index.next_start();
    }
}

/// A benchmark of one text with one instruction set.
#[derive(Clone, Copy)]
struct Case<T> {
    level: Level,
    text: T,
}

impl<T: std::fmt::Debug> std::fmt::Debug for Case<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("").field(&self.level).field(&self.text).finish()
    }
}

fn cases() -> impl Iterator<Item = Case<RowText>> {
    Level::all().flat_map(|level| ROW_TEXTS.map(|text| Case { level, text }))
}

#[divan::bench(args = cases())]
fn index(bencher: Bencher<'_, '_>, case: Case<RowText>) {
    let padded = case.text.padded();
    let mut index = Box::new(Index::new());
    bencher
        .counter(BytesCount::new(padded.len()))
        .bench_local(|| scan(black_box(&padded), case.level, &mut index, |_| {}));
}

#[divan::bench(args = cases())]
fn rows(bencher: Bencher<'_, '_>, Case { level, text }: Case<RowText>) {
    let padded = text.padded();
    let mut out = Output::new();
    let mut indices = Vec::new();
    scan(&padded, level, &mut Index::new(), |index| indices.push(index.clone()));
    bencher.counter(ItemsCount::new(text.values())).bench_local(|| {
        let parsed: usize =
            indices.iter().map(|index| text.parse(Window { padded: &padded, index, level }, &mut out)).sum();
        assert_eq!(parsed, LINES);
    });
}

#[divan::bench(args = cases())]
fn read(bencher: Bencher<'_, '_>, Case { level, text }: Case<RowText>) {
    let padded = text.padded();
    let mut out = Output::new();
    let mut index = Box::new(Index::new());
    bencher.counter(ItemsCount::new(text.values())).bench_local(|| {
        let mut parsed = 0;
        scan(&padded, level, &mut index, |index| {
            parsed += text.parse(Window { padded: &padded, index, level }, &mut out)
        });
        assert_eq!(parsed, LINES);
    });
}

/// A text of numbers that [`rows`] does not cover: lines of three, and lists.
#[derive(Clone, Copy, PartialEq)]
enum NumberText {
    LongRows,
    LongSingles,
    LongDoubles,
    NearDoubles,
    Exponents,
    Integers,
    List,
    LongList,
    IntegerList,
}

use NumberText::*;

const NUMBERS: [NumberText; 9] =
    [LongRows, LongSingles, LongDoubles, NearDoubles, Exponents, Integers, List, LongList, IntegerList];

impl std::fmt::Debug for NumberText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LongRows => "v, 3 floats of 17 digits",
            LongSingles => "17 digits as f32s",
            LongDoubles => "17 digits as f64s",
            NearDoubles => "17 digits as f64s for f32s",
            Exponents => "exponents as f64s",
            Integers => "integers",
            List => "list of floats",
            LongList => "list of floats of 17 digits",
            IntegerList => "list of integers",
        })
    }
}

impl NumberText {
    fn padded(self) -> Vec<u8> {
        let mut random = randoms();
        let mut text = "\n".repeat(PADDING);
        for _ in 0..3 * LINES {
            let _ = match self {
                LongRows | LongSingles | LongDoubles | NearDoubles | LongList => {
                    write!(text, " {:.16}", 2.0 * random())
                }
                Exponents => write!(text, " {:.6}e{:+03}", 9.9 * random(), (9.0 * random()) as i32),
                Integers | IntegerList => write!(text, " {}", (500_000.0 * (1.0 + random())) as i32),
                List => write!(text, " {:.6}", 20.0 * random()),
            };
        }
        // A new line after every three values, with or without a keyword.
        let keyword = if self == LongRows { "v" } else { "" };
        let mut lines = "\n".repeat(PADDING);
        for (at, word) in text.split_ascii_whitespace().enumerate() {
            let _ = match at % 3 {
                0 => write!(lines, "{keyword} {word}"),
                1 => write!(lines, " {word}"),
                _ => writeln!(lines, " {word}"),
            };
        }
        lines += &"\n".repeat(PADDING);
        lines.into_bytes()
    }

    /// Parses all numbers of a window; returns their count.
    fn parse(self, window: Window<'_>, out: &mut NumberOutput) -> usize {
        let count = window.tokens_of_lines();
        match self {
            LongRows => 3 * long_float_rows(window, 0, b"v", &mut out.rows),
            LongSingles => tokens::floats(window, 0, &mut out.singles[..count]),
            Integers => tokens::integers(window, 0, &mut out.integers[..count]),
            NearDoubles => {
                tokens::doubles(window, 0, TokenPrecision::Single, &mut out.doubles[..count], &mut out.marks[..count])
            }
            _ => tokens::doubles(window, 0, TokenPrecision::Double, &mut out.doubles[..count], &mut out.marks[..count]),
        }
    }
}

#[derive(Default)]
struct NumberOutput {
    rows: Vec<[f32; 3]>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    marks: Vec<u8>,
    integers: Vec<i32>,
}

trait Whole {
    fn tokens_of_lines(&self) -> usize;
}

impl Whole for Window<'_> {
    fn tokens_of_lines(&self) -> usize {
        self.index.lines().last().map_or(0, |line| line.tokens as usize)
    }
}

#[divan::bench(args = Level::all().flat_map(|level| NUMBERS.map(|text| Case { level, text })))]
fn numbers(bencher: Bencher<'_, '_>, Case { level, text }: Case<NumberText>) {
    let padded = text.padded();
    let mut out = NumberOutput {
        rows: vec![[0.0; 3]; MAX_LINES],
        singles: vec![0.0; MAX_ENDS],
        doubles: vec![0.0; MAX_ENDS],
        marks: vec![0; MAX_ENDS],
        integers: vec![0; MAX_ENDS],
    };
    let mut indices = Vec::new();
    scan(&padded, level, &mut Index::new(), |index| indices.push(index.clone()));
    bencher.counter(ItemsCount::new(3 * LINES)).bench_local(|| {
        let parsed = match text {
            List | LongList => {
                out.singles.clear();
                let mut lists = Lists::new(black_box(&padded), padded.len() - PADDING - 1, level);
                lists.f32s(PADDING, &mut out.singles).map_or(0, |_| out.singles.len())
            }
            IntegerList => {
                out.integers.clear();
                let mut lists = Lists::new(black_box(&padded), padded.len() - PADDING - 1, level);
                lists.i32s(PADDING, &mut out.integers).map_or(0, |_| out.integers.len())
            }
            _ => indices.iter().map(|index| text.parse(Window { padded: &padded, index, level }, &mut out)).sum(),
        };
        assert_eq!(parsed, 3 * LINES);
    });
}
