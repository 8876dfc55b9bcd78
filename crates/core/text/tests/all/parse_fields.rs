//! Checks the ranges of table fields on every level, and their values to the last bit.

use crate::parse_support::{Random, padded};
use crate::sizes::sized;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::fields::{FIELD_SLACK, IndexedFields, MAX_EXACT, NOT_INTEGER, PICK_SLACK, WIDE};
use polyhaul_text::scan::{Index, PADDING, Separator, is_space};

/// Returns the fields of a line, by definition.
fn naive_fields(line: &str, separator: Separator) -> Vec<&str> {
    match separator {
        Separator::Blanks => line.split(|c: char| is_space(c as u8)).filter(|field| !field.is_empty()).collect(),
        Separator::Byte(_) if line.is_empty() => Vec::new(),
        Separator::Byte(byte) => {
            line.split(char::from(byte)).map(|field| field.trim_matches(|c: char| is_space(c as u8))).collect()
        }
    }
}

fn naive_lines(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).collect()
}

/// Calls `check` with the fields of each window on each level, and the expected lines.
fn windows(text: &str, separator: Separator, mut check: impl FnMut(IndexedFields<'_>, &[&str])) {
    let bytes = padded(text.as_bytes());
    let end = bytes.len() - PADDING;
    let lines = naive_lines(text);
    for level in Level::all() {
        let mut index = Box::new(Index::new());
        let mut start = PADDING;
        let mut checked = 0;
        while start < end {
            let fields = IndexedFields::scan(&mut index, &bytes, start..end, separator, level);
            let count = fields.index().lines().len();
            assert!(count > 0, "{level:?}: a line is too long for a window");
            check(fields, &lines[checked..checked + count]);
            checked += count;
            start = fields.index().next_start();
        }
        assert_eq!(checked, lines.len(), "{level:?}");
    }
}

/// Checks the number of fields on each line.
fn check_lines(text: &str, separator: Separator) {
    windows(text, separator, |fields, lines| {
        for (number, line) in lines.iter().enumerate() {
            let expected = naive_fields(line, separator);
            let range = fields.first_of(number)..fields.first_of(number + 1);
            assert_eq!(range.len(), expected.len(), "{line:?}");
            assert!(fields.lines_of(number, expected.len()) >= 1);
            assert_eq!(fields.lines_of(number, expected.len() + 1), 0);
        }
    });
}

/// Returns the expected value and mark of a field for [`FieldRun::f64s`](polyhaul_text::parse::fields::FieldRun::f64s).
fn naive_value(field: &str) -> Option<(f64, u8)> {
    let bare = field.strip_prefix(['-', '+']).unwrap_or(field);
    let is_integer = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
    if bare.starts_with(['+', '-']) {
        return None;
    }
    let value: f64 = field.parse().ok()?;
    if !is_integer {
        return Some((value, NOT_INTEGER));
    }
    match bare.parse::<u64>() {
        _ if bare.len() > 19 => Some((value, WIDE)),
        Ok(0) if field.starts_with('-') => Some((value, NOT_INTEGER)),
        Ok(size) if size <= MAX_EXACT => Some((value, 0)),
        _ => Some((value, WIDE)),
    }
}

/// Compares all values of a text, starting at any field, with the naive ones.
fn check_values(text: &str, separator: Separator) {
    windows(text, separator, |fields, lines| {
        let expected: Vec<&str> = lines.iter().flat_map(|line| naive_fields(line, separator)).collect();
        let count = expected.len();
        let mut singles = vec![0f32; count + FIELD_SLACK];
        let mut doubles = vec![0f64; count + FIELD_SLACK];
        let mut marks = vec![7; count + FIELD_SLACK];
        let mut at = 0;
        while at < count {
            let converted = fields.all(0..count).f64s(at, &mut doubles[at..], &mut marks[at..]);
            let plain = expected[at..].iter().take_while(|field| naive_value(field).is_some()).count();
            assert_eq!(converted, plain, "{:?}", &expected[at..count.min(at + 9)]);
            for field in at..at + converted {
                let (value, mark) = naive_value(expected[field]).unwrap();
                assert_eq!(doubles[field].to_bits(), value.to_bits(), "{:?}", expected[field]);
                assert_eq!(marks[field], mark, "{:?}", expected[field]);
            }
            at += converted + 1;
        }
        at = 0;
        while at < count {
            let converted = fields.all(0..count).f32s(at, &mut singles[at..]);
            let plain = expected[at..].iter().take_while(|field| field.parse::<f32>().is_ok()).count();
            assert_eq!(converted, plain);
            for field in at..at + converted {
                let value: f32 = expected[field].parse().unwrap();
                assert_eq!(singles[field].to_bits(), value.to_bits(), "{:?}", expected[field]);
            }
            at += converted + 1;
        }
    });
}

/// Returns a number with many digits, in a usual notation or in one that is almost valid.
fn long_word(random: &mut Random) -> String {
    let value = (random.bits() >> 11) as f64 / (1u64 << 53) as f64 * [1.0, 1e3, 1e-5, 1e9][random.below(4)];
    let places = 10 + random.below(14);
    match random.below(8) {
        0 => format!("{value}"),
        1 => format!("{value:.places$}"),
        2 => format!("{value:e}"),
        3 => format!("{value:.places$e}").replace('e', "E"),
        4 => {
            let text = format!("{value:.places$e}");
            let (digits, power) = text.split_once('e').unwrap();
            let power: i32 = power.parse().unwrap();
            format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
        }
        5 => format!("{}.{}", random.digits(places), random.digits(places)),
        6 => format!(
            "{}e{}",
            random.digits(places),
            random.pick(&["", "+", "-", "5", "-05", "+005", "1000", "1x", "1."])
        ),
        _ => "0".repeat(places) + random.pick(&["", ".", "e", "..", ".e1", "7"]),
    }
}

/// Numbers with up to 17 digits and an exponent, as `%e` prints them.
#[test]
fn columns_of_exponents_have_the_nearest_values() {
    let mut random = Random::new(26);
    for separator in [Separator::Blanks, Separator::Byte(b',')] {
        let between = if separator == Separator::Blanks { ' ' } else { ',' };
        for round in 0..sized(60, 1) {
            let mut text = String::new();
            for cell in 0..sized(400, 60) {
                let digits = if round % 4 == 0 { random.below(17) } else { round % 15 };
                let size = [0, 3, 22, 40, 300][random.below(5)];
                let exponent = random.below(2 * size + 1) as i32 - size as i32;
                let sign = random.pick(&["", "-"]);
                let head = random.digits(1);
                let tail = if digits > 0 { random.digits(digits) } else { String::new() };
                let point = if digits > 0 || random.below(9) == 0 { "." } else { "" };
                let power = if exponent < 0 { '-' } else { '+' };
                text += &format!("{sign}{head}{point}{tail}e{power}{:02}", exponent.abs());
                text.push(if cell % 5 == 4 { '\n' } else { between });
            }
            check_values(&text, separator);
        }
    }
}

/// Returns a word that is usually a number.
fn word(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "-", "+"]);
    let size = 1 + random.below(9);
    let mut word = random.word(b"0123456789", size);
    match random.below(40) {
        0 => {
            return (*random.pick(&[
                "nan", "-inf", "x", "1 2", "x 3", "7  8", "1e5", "-2.5e-7", "0x1", "1_0", "1/2", "-", ".", "1.2.3",
            ]))
            .into();
        }
        1 => return sign.to_owned() + &random.digits(15 + size),
        2 | 30..=33 => return sign.to_owned() + &long_word(random),
        3 => return format!("0.{}", random.digits(12 + size)),
        5 => return format!("{}{}", sign, ["0", "-0", "0.0", "00"][random.below(4)]),
        6..=24 => word.replace_range(size / 2..size / 2 + 1, "."),
        _ => {}
    }
    // Sometimes the midpoint between two f32s.
    if random.below(50) == 0 {
        return format!("{}", 16_777_217 + 2 * random.below(1000));
    }
    format!("{sign}{word}")
}

#[test]
fn lines_have_the_expected_fields() {
    for separator in [Separator::Blanks, Separator::Byte(b','), Separator::Byte(b'\t'), Separator::Byte(b' ')] {
        check_lines("1,2\n\n 1 , 2\t3 \r\n,\n\t\n , \r4\n\r\n5\n", separator);
        check_lines("\n\n\n", separator);
    }
    let mut random = Random::new(3);
    for separator in [Separator::Blanks, Separator::Byte(b';'), Separator::Byte(b'/'), Separator::Byte(b'|')] {
        for _ in 0..sized(40, 1) {
            let text = random.word(b"12 \t\n\n;/|\r;", sized(700, 100));
            if !text.contains("\r\r\n") {
                check_lines(&(text + "1\n"), separator);
            }
        }
    }
}

#[test]
fn values_are_correct_to_the_last_bit() {
    let mut random = Random::new(4);
    for (separator, between) in [
        (Separator::Blanks, [" ", "\t", "  "]),
        (Separator::Byte(b','), [",", ", ", " ,"]),
        (Separator::Byte(b'\t'), ["\t"; 3]),
        (Separator::Byte(b'/'), ["/"; 3]),
    ] {
        for columns in [1, 2, 3, 7, 16] {
            let mut text = String::new();
            for _ in 0..sized(3000, 40) / columns {
                for column in 0..columns {
                    text.push_str(if column > 0 { random.pick(&between) } else { "" });
                    // A slash separates words only with one of these separators.
                    let word = word(&mut random);
                    text.push_str(if word.contains(['/', ' ']) && columns == 1 { "8" } else { &word });
                }
                text.push_str(random.pick(&["\n", "\n", "\r\n"]));
            }
            check_values(&text, separator);
        }
    }
}

#[test]
fn ranges_outside_the_text_are_empty() {
    let bytes = padded(b"1,2\n3,4\n");
    let end = bytes.len() - PADDING;
    for level in Level::all() {
        let mut index = Box::new(Index::new());
        let fields = IndexedFields::scan(&mut index, &bytes, PADDING..end, Separator::Byte(b','), level);
        let mut values = [0.0; 4 + FIELD_SLACK];
        let mut marks = [0; 4 + FIELD_SLACK];
        let f64s = |range, values: &mut [f64], marks: &mut [u8]| fields.all(range).f64s(0, values, marks);
        assert_eq!(f64s(0..100, &mut values, &mut marks), 4);
        assert_eq!(values[..4], [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(f64s(1..3, &mut values, &mut marks), 2);
        assert_eq!(values[..2], [2.0, 3.0]);
        assert_eq!(f64s(0..4, &mut values[..4 + FIELD_SLACK - 1], &mut marks), 3);
        assert_eq!(f64s(9..12, &mut values, &mut marks), 0);
        assert_eq!(fields.all(0..4).f64s(5, &mut values, &mut marks), 0);
        assert_eq!(fields.all(0..4).f32s(0, &mut []), 0);
        let mut ends = [7; 4 + PICK_SLACK];
        let picked = fields.pick(0, 2, 2, &[1, 0], &mut ends);
        assert_eq!((picked.f64s(0, &mut values, &mut marks), values[..4].to_vec()), (4, vec![2.0, 1.0, 4.0, 3.0]));
        assert_eq!((picked.range(0), picked.range(3)), (fields.field(1), fields.field(2)));
        assert_eq!(fields.pick(1, 1, 2, &[1], &mut ends).f64s(0, &mut values, &mut marks), 1);
        assert_eq!(values[0], 4.0);
        for (line, rows, stride, columns) in [(0, 3, 2, &[0][..]), (0, 2, 2, &[2]), (0, 2, 3, &[0]), (2, 1, 2, &[0])] {
            assert_eq!(fields.pick(line, rows, stride, columns, &mut ends).len(), 0, "{line} {rows} {stride}");
        }
        assert_eq!(fields.pick(0, 2, 2, &[0, 1], &mut [0; 3]).len(), 0);
        assert_eq!(fields.field(99), fields.field(98));
        // No fields are found in text without padding.
        let fields = IndexedFields::scan(&mut index, b"1,2\n", 0..4, Separator::Byte(b','), level);
        assert_eq!(fields.all(0..2).f64s(0, &mut values, &mut marks), 0);
        assert_eq!(fields.pick(0, 1, 2, &[0], &mut ends).len(), 0);
    }
}
