//! Compares the shortest digits of many values at a time with those of single values, which have a different
//! implementation.

use crate::sizes::sized;
use polyhaul_text::format::{MAX_SHORTEST_F64, NumberLines, Page, Real};

/// Number of values compared per block.
const BLOCK: usize = 1024;

/// Values that are compared in blocks: as a list, and as single values.
struct Values<R> {
    values: Vec<R>,
    append: fn(&mut Page<'_>, R),
    texts: [Vec<u8>; 2],
}

impl<R: Real> Values<R> {
    fn new(append: fn(&mut Page<'_>, R)) -> Self {
        let text = || vec![0; 2 * BLOCK * (MAX_SHORTEST_F64 + 2)];
        Self { values: Vec::new(), append, texts: [text(), text()] }
    }

    fn push(&mut self, value: R) {
        self.values.push(value);
        if self.values.len() == BLOCK {
            self.compare();
        }
    }

    fn compare(&mut self) {
        let [block_text, single_text] = &mut self.texts;
        let mut block = Page::new(block_text);
        assert_eq!(block.shortest_lines(&NumberLines::new(1, b',', [b"\n"]), 0, &self.values), self.values.len());
        let mut singles = Page::new(single_text);
        for &value in &self.values {
            (self.append)(&mut singles, value);
            singles.byte(b'\n');
        }
        if block.as_bytes() != singles.as_bytes() {
            let lines = |page: &Page<'_>| String::from_utf8_lossy(page.as_bytes()).into_owned();
            lines(&block).lines().zip(lines(&singles).lines()).for_each(|(block, single)| assert_eq!(block, single));
            panic!("the numbers of lines differ");
        }
        self.values.clear();
    }
}

impl<R> Drop for Values<R> {
    fn drop(&mut self) {
        // Without comparing the last block, the test could not fail.
        assert!(self.values.is_empty() || std::thread::panicking());
    }
}

fn both(fill: impl FnOnce(&mut Values<f32>, &mut Values<f64>)) {
    let mut singles = Values::new(|page, value| page.shortest_f32(value));
    let mut doubles = Values::new(|page, value| page.shortest_f64(value));
    fill(&mut singles, &mut doubles);
    singles.compare();
    doubles.compare();
}

fn random() -> impl Iterator<Item = u64> {
    let mut state = 7u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ (state >> 31)).rotate_left(29)
    })
}

#[test]
fn every_exponent_with_edges_and_random_fractions() {
    both(|singles, doubles| {
        let mut random = random();
        for field in (0..=0x1FFu32).step_by(sized(1, 101)) {
            for fraction in [0, 1, 2, 3, 0x7F_FFFF, 0x7F_FFFE, 0x40_0000, 0x20_0000, 0x3F_FFFF] {
                singles.push(f32::from_bits(field << 23 | fraction));
            }
            random
                .by_ref()
                .take(sized(200, 5))
                .for_each(|bits| singles.push(f32::from_bits(field << 23 | (bits >> 41) as u32)));
        }
        for field in (0..=0xFFFu64).step_by(sized(1, 801)) {
            for fraction in [0, 1, 2, 3, (1 << 52) - 1, (1 << 52) - 2, 1 << 51, 1 << 50] {
                doubles.push(f64::from_bits(field << 52 | fraction));
            }
            random.by_ref().take(sized(40, 3)).for_each(|bits| doubles.push(f64::from_bits(field << 52 | bits >> 12)));
        }
    });
}

#[test]
fn round_numbers() {
    both(|singles, doubles| {
        for n in (0..20_000u32).step_by(sized(1, 4001)) {
            for scale in [1.0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1.0 / 256.0, 1.0 / 1024.0, 1e4, 1e9, 1e12] {
                let value = f64::from(n) * scale;
                doubles.push(value);
                doubles.push(-value);
                singles.push(value as f32);
            }
        }
        for power in (-345..=310).step_by(sized(1, 131)) {
            let value: f64 = format!("1e{power}").parse().unwrap();
            for bits in [value.to_bits().saturating_sub(1), value.to_bits(), value.to_bits() + 1] {
                doubles.push(f64::from_bits(bits));
                singles.push(f64::from_bits(bits) as f32);
            }
        }
        for bits in (0..30_000).step_by(sized(1, 6001)) {
            singles.push(f32::from_bits(bits));
            doubles.push(f64::from_bits(bits.into()));
        }
    });
}

/// Returns the text after number `index` of a list whose lines cycle through `ends`.
fn behind<'e>(index: usize, columns: usize, ends: &[&'e str]) -> &'e str {
    if (index + 1).is_multiple_of(columns) { ends[index / columns % ends.len()] } else { "," }
}

/// Compares lists whose lines have `E` different endings with single values, for buffers of all sizes; the first number
/// has index `first`.
fn list_of<const E: usize>(columns: usize, first: usize, ends: [&str; E]) {
    let values: Vec<f64> = random().take(3 * 40).map(|bits| (bits >> 40) as f64 / 1024.0).collect();
    let integers: Vec<i32> = random().take(3 * 40).map(|bits| (bits as i32) >> (bits >> 59)).collect();
    let lines = NumberLines::new(columns, b',', ends.map(str::as_bytes));
    let compare = |texts: &[String], write: &dyn Fn(&mut Page<'_>) -> usize| {
        let text = |at: usize| texts[at].clone() + behind(first + at, columns, &ends);
        let texts: Vec<String> = (0..texts.len()).map(text).collect();
        let whole = texts.concat();
        for room in (0..whole.len() + 200).step_by(sized(7, 307)) {
            let mut buffer = vec![0xAA; room];
            let mut page = Page::new(&mut buffer);
            let count = write(&mut page);
            assert_eq!(String::from_utf8_lossy(page.as_bytes()), texts[..count].concat());
            assert!(count == texts.len() || page.len() + texts[count].len() > room, "{room}");
            assert_eq!(page.overflowed(), count < texts.len());
        }
        let behind_all: usize = (first..first + texts.len()).map(|at| lines.bytes_behind(at)).sum();
        assert_eq!(behind_all, (first..first + texts.len()).map(|at| behind(at, columns, &ends).len()).sum());
    };
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    compare(&texts, &|page| page.shortest_lines(&lines, first, &values));
    let texts: Vec<String> = integers.iter().map(i32::to_string).collect();
    compare(&texts, &|page| page.integer_lines(&lines, first, &integers));
}

#[test]
fn numbers_of_lists_have_separators_and_ends_and_fit_whole_or_not_at_all() {
    list_of(3, 0, ["\n"]);
    list_of(24, 41, ["\n            "]);
    list_of(7, 5, ["", " and a text of more than sixteen bytes ", ";"]);
    list_of(1, 2, [" 0 ", " 1 ]"]);
    let mut buffer = [0; 64];
    let mut page = Page::new(&mut buffer);
    assert_eq!(page.shortest_lines(&NumberLines::new(0, b' ', [b";"]), 0, &[1.0_f32, 2.0]), 2);
    assert_eq!(page.as_bytes(), b"1;2;");
}

#[test]
#[ignore = "minutes in a release build: `cargo test --release -p polyhaul-text --test all -- --ignored`"]
fn every_f32_and_many_f64() {
    both(|singles, doubles| {
        (0..0x7F80_0000).for_each(|bits| singles.push(f32::from_bits(bits)));
        random().take(100_000_000).for_each(|bits| doubles.push(f64::from_bits(bits)));
    });
}

#[test]
fn numbers_in_the_notation_of_python_have_exponents_of_two_digits() {
    let values = [
        0.0,
        -0.0,
        1e-4,
        9.9999e-5,
        -1e-5,
        1.25e-5,
        1e-7,
        1.234567e-7,
        1e-10,
        1e-44,
        0.5,
        123_456_790.0,
        9.999e12,
        1e13,
        -1.5e13,
        1e15,
        1e16,
        1.5e16,
        3.4e38,
        f32::INFINITY,
        1.0,
    ];
    let expected = "0 -0 0.0001 9.9999e-05 -1e-05 1.25e-05 1e-07 1.234567e-07 1e-10 1e-44 0.5 123456790 9999000000000 \
                    10000000000000 -15000000000000 1000000000000000 1e+16 1.5e+16 3.4e+38 inf 1\n";
    let lines = NumberLines::new(values.len(), b' ', [b"\n"]).python(true);
    for size in [expected.len(), 4096] {
        let mut buffer = vec![0; size];
        let mut page = Page::new(&mut buffer);
        assert_eq!(page.shortest_lines(&lines, 0, &values), values.len());
        assert_eq!(page.as_bytes(), expected.as_bytes());
    }
    // A page that ends anywhere contains only complete numbers, and the next page continues.
    for size in (40..expected.len()).step_by(sized(1, 83)) {
        let mut buffer = vec![0; size];
        let mut page = Page::new(&mut buffer);
        let first = page.shortest_lines(&lines, 0, &values);
        let mut text = page.as_bytes().to_vec();
        let mut rest = vec![0; 4096];
        let mut page = Page::new(&mut rest);
        assert_eq!(page.shortest_lines(&lines, first, &values[first..]), values.len() - first);
        text.extend_from_slice(page.as_bytes());
        assert_eq!(text, expected.as_bytes());
    }
    let doubles = [1e-5, 12_345_678_901_234.5, 1e16, 1e300];
    let mut buffer = [0; 256];
    let mut page = Page::new(&mut buffer);
    page.shortest_lines(&NumberLines::new(4, b' ', [b"\n"]).python(true), 0, &doubles);
    assert_eq!(page.as_bytes(), b"1e-05 12345678901234.5 1e+16 1e+300\n");
}
