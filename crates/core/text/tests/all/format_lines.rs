//! Compares whole lines with single values, on every path and for every buffer size.

use crate::sizes::sized;
use polyhaul_text::format::{FixedLine, IndexLine, MAX_DIGITS, Page, Real};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }

    /// Returns a value, mostly of ordinary magnitude; sometimes a tie, a threshold between kernels, or a huge, tiny or
    /// special value.
    fn value(&mut self) -> f64 {
        let plain = self.next() as i64 as f64 * 2f64.powi(-63);
        match self.next() % 24 {
            0 => (self.next() % 4096) as f64 / 64.0,
            1 => -((self.next() % 4096) as f64 / 8192.0),
            2 => plain * 10f64.powi((self.next() % 40) as i32 - 20),
            3 => 10f64.powi((self.next() % 16) as i32),
            4 => -0.0,
            5 => f64::from_bits(self.next() & 0x7FEF_FFFF_FFFF_FFFF | self.next() << 63),
            6 => 10f64.powi((self.next() % 16) as i32) - 1e-7,
            7 => f64::NAN,
            8 => f64::NEG_INFINITY,
            9 => 9.9999999e12 / 10f64.powi((self.next() % 13) as i32),
            n => plain * 10f64.powi(n as i32 % 8),
        }
    }
}

/// Reference: a line written value by value.
fn value_by_value<R: Real>(prefix: &[u8], values: &[R], append: impl Fn(&mut Page<'_>, R), ends: [u8; 2]) -> Vec<u8> {
    let mut buffer = vec![0; 16384];
    let mut page = Page::new(&mut buffer);
    page.bytes(prefix);
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            page.byte(ends[0]);
        }
        append(&mut page, value);
    }
    page.byte(ends[1]);
    page.as_bytes().to_vec()
}

fn lines<const N: usize, R: Real>(line: &FixedLine<'_>, rows: &[[R; N]], room: usize) -> (Vec<u8>, usize) {
    let mut buffer = vec![0xAA; room];
    let mut page = Page::new(&mut buffer);
    let count = page.fixed_lines(line, rows);
    (page.as_bytes().to_vec(), count)
}

fn check_rows<const N: usize>(random: &mut Random, prefix: &[u8]) {
    let count = sized(60, 9);
    for digits in (0..=MAX_DIGITS).step_by(sized(1, 5)) {
        let wide: Vec<[f64; N]> = (0..count).map(|_| std::array::from_fn(|_| random.value())).collect();
        let narrow: Vec<[f32; N]> = wide.iter().map(|row| row.map(|value| value as f32)).collect();
        let fast = FixedLine::new(prefix, digits).separator(b';').end(b'|');
        let plain = fast.clone().portable();
        let expected: Vec<u8> = narrow
            .iter()
            .flat_map(|row| value_by_value(prefix, row, |page, value| page.fixed_f32(value, digits), [b';', b'|']))
            .collect();
        assert_eq!(lines(&plain, &narrow, sized(1 << 18, 1 << 14)), (expected.clone(), count));
        assert_eq!(lines(&fast, &narrow, sized(1 << 18, 1 << 14)), (expected, count));
        let expected: Vec<u8> = wide
            .iter()
            .flat_map(|row| value_by_value(prefix, row, |page, value| page.fixed_f64(value, digits), [b';', b'|']))
            .collect();
        assert_eq!(lines(&plain, &wide, sized(1 << 18, 1 << 14)), (expected.clone(), count));
        assert_eq!(lines(&fast, &wide, sized(1 << 18, 1 << 14)), (expected, count));
    }
}

#[test]
fn lines_equal_single_values_on_every_path() {
    let mut random = Random(11);
    check_rows::<0>(&mut random, b"empty");
    check_rows::<1>(&mut random, b"");
    check_rows::<2>(&mut random, b"vt ");
    check_rows::<3>(&mut random, b"v ");
    check_rows::<4>(&mut random, b"sixteen bytes is");
    check_rows::<6>(&mut random, b"more than sixteen bytes ");
    check_rows::<9>(&mut random, b"\t");
}

/// The vector kernels and the portable writer write the same bytes for a long run of ordinary values.
#[test]
fn vector_and_scalar_lines_are_equal() {
    let mut random = Random(12);
    for digits in (0..=MAX_DIGITS).step_by(sized(1, 5)) {
        let rows: Vec<[f64; 3]> = (0..sized(4_000, 40))
            .map(|_| {
                std::array::from_fn(|_| random.next() as i64 as f64 * 2f64.powi(-63 + (random.next() % 12) as i32))
            })
            .collect();
        let narrow: Vec<[f32; 3]> = rows.iter().map(|row| row.map(|value| value as f32)).collect();
        let fast = FixedLine::new(b"v ", digits);
        let plain = fast.clone().portable();
        assert!(lines(&fast, &rows, sized(1 << 21, 1 << 14)) == lines(&plain, &rows, sized(1 << 21, 1 << 14)));
        assert!(lines(&fast, &narrow, sized(1 << 21, 1 << 14)) == lines(&plain, &narrow, sized(1 << 21, 1 << 14)));
    }
}

/// Single values that the vector kernels cannot write, among ordinary ones: ties, values next to them, special values.
#[test]
fn one_hard_value_among_plain_ones() {
    let mut random = Random(13);
    let odd = [f64::NAN, -f64::INFINITY, 1e13, 1e13 - 1.0, -9.9999999999995e12, 1e300, f64::MAX, -0.0, 5e-324];
    for digits in (0..=MAX_DIGITS).step_by(sized(1, 5)) {
        let power = 10f64.powi(digits as i32);
        let fast = FixedLine::new(b"", digits);
        let plain = FixedLine::new(b"", digits).portable();
        for round in (0..300).step_by(sized(1, 75)) {
            let mut rows = [[0.25, -1.5, 12.375]; 8];
            let tie = (random.next() >> 30) as f64 + 0.5;
            let near_tie = f64::from_bits((tie / power).to_bits() - 1 + random.next() % 3);
            let hard = if round < 200 { near_tie } else { odd[round % odd.len()] / [1.0, power][round % 2] };
            rows[(random.next() % 8) as usize][round % 3] = hard;
            assert_eq!(lines(&fast, &rows, 1 << 14), lines(&plain, &rows, 1 << 14), "{hard:e} with {digits} digits");
            let narrow = rows.map(|row| row.map(|value| value as f32));
            assert_eq!(lines(&fast, &narrow, 1 << 14), lines(&plain, &narrow, 1 << 14));
        }
    }
}

#[test]
fn lines_stop_at_the_last_that_fits() {
    let rows: Vec<[f32; 3]> = (0..40).map(|n| [n as f32, 0.5, -1e3 * n as f32]).collect();
    for line in [FixedLine::new(b"v ", 2), FixedLine::new(b"v ", 2).portable()] {
        let (whole, count) = lines(&line, &rows, 1 << 16);
        assert_eq!(count, rows.len());
        for room in (0..=whole.len()).step_by(sized(1, 97)) {
            let (text, count) = lines(&line, &rows, room);
            assert!(whole.starts_with(&text));
            assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), count);
            let next = whole[text.len()..].iter().position(|&byte| byte == b'\n').map_or(room + 1, |offset| offset + 1);
            assert!(text.len() + next > room, "one more line would have fitted");
        }
    }
}

#[test]
fn a_single_line_overflows_as_a_whole() {
    let line = FixedLine::new(b"v ", 6);
    let text = b"v 1.000000 2.000000 3.000000\n";
    for room in (0..100).step_by(sized(1, 7)) {
        let mut buffer = vec![0; room];
        let mut page = Page::new(&mut buffer);
        page.fixed_line(&line, [1.0_f32, 2.0, 3.0]);
        assert_eq!(page.overflowed(), room < text.len());
        assert_eq!(page.as_bytes(), if room < text.len() { &b""[..] } else { &text[..] });
    }
}

#[test]
fn no_line_is_longer_than_documented() {
    let line = FixedLine::new(b"v ", 12);
    let (text, _) = lines(&line, &[[f32::MIN; 3]], 4096);
    assert_eq!(text.len(), line.max_bytes::<f32>(3));
    let (text, _) = lines(&line, &[[f64::MIN; 5]], 4096);
    assert_eq!(text.len(), line.max_bytes::<f64>(5));
    let line = IndexLine::new(b"f").double_joint(b'/');
    let mut buffer = [0; 256];
    let mut page = Page::new(&mut buffer);
    page.index_line(&line, [[u32::MAX; 2]; 3]);
    assert!(page.len() <= line.max_bytes(3, 2));
}

#[test]
fn index_lines_in_every_amount_of_room() {
    let corners = [[1, 20, 300], [4000, 50_000, 600_000], [7_000_000, 80_000_000, 900_000_000], [u32::MAX, 0, 1]];
    let cases: [(IndexLine<'_>, &str); 3] = [
        (IndexLine::new(b"f"), "f 1/20/300 4000/50000/600000 7000000/80000000/900000000 4294967295/0/1\n"),
        (IndexLine::new(b"").joint(b','), " 1,20,300 4000,50000,600000 7000000,80000000,900000000 4294967295,0,1\n"),
        (
            IndexLine::new(b"a long prefix of the line").double_joint(b'/'),
            "a long prefix of the line 1//20//300 4000//50000//600000 7000000//80000000//900000000 4294967295//0//1\n",
        ),
    ];
    for (line, text) in cases {
        for room in (0..400).step_by(sized(1, 37)) {
            let mut buffer = vec![0; room];
            let mut page = Page::new(&mut buffer);
            page.index_line(&line, corners);
            let expected = if room < text.len() { "" } else { text };
            assert_eq!(std::str::from_utf8(page.as_bytes()).unwrap(), expected);
            assert_eq!(page.overflowed(), room < text.len());
        }
    }
}

/// An iterator with a wrong length must not write past the room that was counted for it.
#[test]
fn a_lying_iterator_is_cut_off() {
    struct Liar(u32);
    impl Iterator for Liar {
        type Item = [u32; 1];
        fn next(&mut self) -> Option<[u32; 1]> {
            self.0 += 1;
            (self.0 < 1_000_000).then_some([self.0])
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (2, Some(2))
        }
    }
    impl ExactSizeIterator for Liar {}
    let mut buffer = [0; 200];
    let mut page = Page::new(&mut buffer);
    page.index_line(&IndexLine::new(b"2"), Liar(0));
    assert_eq!(page.as_bytes(), b"2 1 2\n");
}
