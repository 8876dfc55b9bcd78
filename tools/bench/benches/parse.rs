//! Nanoseconds per value of reading text, per level of instructions.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --no-default-features --bench parse`. Throughput is in
//! values per second, for scans in bytes. `rows` takes an index that exists already; `read` makes it, too.
//! `cargo xtask bench numbers` has fast-float2 and Rust's parser beside them.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::Lists;
use polyhaul_text::parse::rows::{VALUE_SLACK, Window, face_rows, float_rows, long_float_rows};
use polyhaul_text::parse::tokens::{self, Precision};
use polyhaul_text::scan::{Index, MAX_ENDS, MAX_LINES, PADDING};
use std::fmt::Write;

/// Lines of a text: more than branch predictors learn by heart.
const LINES: usize = 20_000;

fn main() {
    divan::main();
}

/// A text and how it is read.
#[derive(Clone, Copy)]
enum Kind {
    V,
    Vt,
    Face,
}

const KINDS: [Kind; 3] = [Kind::V, Kind::Vt, Kind::Face];

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::V => "v, 3 floats",
            Kind::Vt => "vt, 2 floats",
            Kind::Face => "f, 12 indices",
        })
    }
}

/// Numbers from -1 to 1, the same in every run.
fn randoms() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

impl Kind {
    fn values(self) -> usize {
        LINES * [3, 2, 12][self as usize]
    }

    /// The text with its padding.
    fn text(self) -> Vec<u8> {
        let mut random = randoms();
        let mut text = "\n".repeat(PADDING);
        for line in 0..LINES {
            let _ = match self {
                Kind::V => writeln!(text, "v {:.6} {:.6} {:.6}", 20.0 * random(), random(), 20.0 * random()),
                Kind::Vt => writeln!(text, "vt {:.6} {:.6}", random().abs(), random().abs()),
                Kind::Face => {
                    let [a, b, c, d] = [line + 500_000, line + 500_001, line + 501_002, line + 501_001];
                    writeln!(text, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c} {d}/{d}/{d}")
                }
            };
        }
        text += &"\n".repeat(PADDING);
        text.into_bytes()
    }

    /// Takes all rows of a window; returns how many there were.
    fn take(self, window: Window<'_>, out: &mut Output) -> usize {
        match self {
            Kind::V => float_rows(window, 0, b"v", &mut out.triples),
            Kind::Vt => float_rows(window, 0, b"vt", &mut out.pairs),
            Kind::Face => face_rows(window, 0, b"f", &mut out.values, &mut out.row_ends).rows,
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

/// Scans a text window by window.
fn scan(padded: &[u8], level: Level, index: &mut Index, mut visit: impl FnMut(&Index)) {
    let (mut at, end) = (PADDING, padded.len() - PADDING);
    while at < end {
        index.scan(padded, at, end, level);
        visit(index);
        at = index.next_start();
    }
}

fn cases() -> impl Iterator<Item = (Level, Kind)> {
    Level::all().flat_map(|level| KINDS.map(|kind| (level, kind)))
}

#[divan::bench(args = cases())]
fn index(bencher: Bencher<'_, '_>, (level, kind): (Level, Kind)) {
    let (padded, mut index) = (kind.text(), Box::new(Index::new()));
    bencher.counter(BytesCount::new(padded.len())).bench_local(|| scan(black_box(&padded), level, &mut index, |_| {}));
}

#[divan::bench(args = cases())]
fn rows(bencher: Bencher<'_, '_>, (level, kind): (Level, Kind)) {
    let (padded, mut out, mut indices) = (kind.text(), Output::new(), Vec::new());
    scan(&padded, level, &mut Index::new(), |index| indices.push(index.clone()));
    bencher.counter(ItemsCount::new(kind.values())).bench_local(|| {
        let taken: usize =
            indices.iter().map(|index| kind.take(Window { padded: &padded, index, level }, &mut out)).sum();
        assert_eq!(taken, LINES);
    });
}

#[divan::bench(args = cases())]
fn read(bencher: Bencher<'_, '_>, (level, kind): (Level, Kind)) {
    let (padded, mut out, mut index) = (kind.text(), Output::new(), Box::new(Index::new()));
    bencher.counter(ItemsCount::new(kind.values())).bench_local(|| {
        let mut taken = 0;
        scan(&padded, level, &mut index, |index| {
            taken += kind.take(Window { padded: &padded, index, level }, &mut out)
        });
        assert_eq!(taken, LINES);
    });
}

/// Numbers that [`rows`] does not take: lines of three, and lists.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
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

use Numbers::*;

const NUMBERS: [Numbers; 9] =
    [LongRows, LongSingles, LongDoubles, NearDoubles, Exponents, Integers, List, LongList, IntegerList];

impl std::fmt::Debug for Numbers {
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

impl Numbers {
    fn text(self) -> Vec<u8> {
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
        // A line for each three, with a keyword or without.
        let (mut lines, keyword) = ("\n".repeat(PADDING), if self == LongRows { "v" } else { "" });
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

    /// Takes all numbers of a window; returns how many there were.
    fn take(self, window: Window<'_>, out: &mut NumberOutput) -> usize {
        let count = window.tokens_of_lines();
        match self {
            LongRows => 3 * long_float_rows(window, 0, b"v", &mut out.rows),
            LongSingles => tokens::floats(window, 0, &mut out.singles[..count]),
            Integers => tokens::integers(window, 0, &mut out.integers[..count]),
            NearDoubles => {
                tokens::doubles(window, 0, Precision::Single, &mut out.doubles[..count], &mut out.marks[..count])
            }
            _ => tokens::doubles(window, 0, Precision::Double, &mut out.doubles[..count], &mut out.marks[..count]),
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

#[divan::bench(args = Level::all().flat_map(|level| NUMBERS.map(|numbers| (level, numbers))))]
fn numbers(bencher: Bencher<'_, '_>, (level, numbers): (Level, Numbers)) {
    let padded = numbers.text();
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
        let taken = match numbers {
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
            _ => indices.iter().map(|index| numbers.take(Window { padded: &padded, index, level }, &mut out)).sum(),
        };
        assert_eq!(taken, 3 * LINES);
    });
}
