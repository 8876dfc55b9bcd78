//! Compares runs of tokens with single tokens, on every level.

use crate::parse_support::{Random, windows};
use crate::sizes::sized;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::parse::rows::long_float_rows;
use polyhaul_text::parse::tokens::TokenPrecision;
use polyhaul_text::parse::{number, tokens};
use polyhaul_text::scan::{Index, PADDING};

/// Parses a text as floats and as integers from token `first` on; also returns whether any token ends at a slash.
fn parsed(text: &str, first: usize, level: Level) -> (Vec<f32>, Vec<i32>, bool) {
    let mut padded = vec![b'\n'; PADDING];
    padded.extend(text.bytes());
    let end = padded.len();
    padded.extend([b'\n'; PADDING]);
    let mut index = Index::new();
    index.scan(&padded, PADDING, end, level);
    let window = Window { padded: &padded, index: &index, level };
    let mut floats = vec![0.0; 100];
    let mut integers = vec![0; 100];
    let count = tokens::floats(window, first, &mut floats);
    floats.truncate(count);
    let count = tokens::integers(window, first, &mut integers);
    integers.truncate(count);
    (floats, integers, window.has_slash(0..100))
}

#[test]
fn runs_stop_at_tokens_that_are_not_plain() {
    for level in Level::all() {
        let (floats, integers, has_slash) = parsed("0 -1 22 333\n4444 -55555 00000000 12345678 ", 0, level);
        assert_eq!(floats, [0.0, -1.0, 22.0, 333.0, 4444.0, -55555.0, 0.0, 12345678.0], "{level:?}");
        assert_eq!(integers, [0, -1, 22, 333, 4444, -55555, 0, 12345678], "{level:?}");
        assert!(!has_slash);
        let (floats, integers, _) = parsed("1 2.5 -.5 7. 1e5 +6 7 inf 9\n", 0, level);
        let expected = [1.0, 2.5, -0.5, 7.0, 1e5, 6.0, 7.0];
        assert_eq!((floats.as_slice(), integers.as_slice()), (&expected[..], &[1][..]), "{level:?}");
        let (floats, integers, _) = parsed("x 2 3\n", 1, level);
        assert_eq!((floats.as_slice(), integers.as_slice()), (&[2.0, 3.0][..], &[2, 3][..]), "{level:?}");
        assert!(parsed("1 2 3/4 5\n", 0, level).2);
        assert_eq!(parsed("1\n", 5, level), (vec![], vec![], false));
    }
}

#[test]
fn words_that_are_not_plain_numbers_stop_a_run() {
    for level in Level::all() {
        for word in ["-", ".", "-.", "+1", "1-", "--1", "1.2.3", "0x1", "nan", "a1", "1a", "123456789", "-123456789"] {
            let (_, integers, _) = parsed(&format!("7 {word} 8\n"), 0, level);
            assert_eq!(integers, [7], "{word} {level:?}");
        }
        for word in ["-", ".", "-.", "+-1", "1-", "--1", "1.2.3", "0x1", "nan", "a1", "1a", "1e", "1e99", "1e-40"] {
            let (floats, _, _) = parsed(&format!("7 {word} 8\n"), 0, level);
            assert_eq!(floats, [7.0], "{word} {level:?}");
        }
        // Numbers follow these words, so that kernels try to convert several at once.
        for word in [
            "1.2.3",
            "1e",
            "-",
            "12345678901234567e",
            "12345678901234567e1234",
            "12345678901234567e+",
            "-+12345678901234567",
            "12345678901234567-",
            "1e5e3",
            "1234567.890.123456",
            "x12345678901234567",
        ] {
            for before in 1..4 {
                let text = format!("{}{word}{}\n", "7 ".repeat(before), " 8.0000000000000000".repeat(12));
                assert_eq!(parsed(&text, 0, level).0, vec![7.0; before], "{word} {level:?}");
            }
        }
    }
}

#[test]
fn numbers_of_every_length_are_correct() {
    for level in Level::all() {
        let words: Vec<String> = (0..60).map(|n| format!("{}", (n as f64 * 12345.678).powi(n % 4))).collect();
        let words: Vec<&str> = words.iter().map(|word| &word[..word.len().min(12)]).collect();
        let (floats, _, _) = parsed(&(words.join(" ") + "\n"), 0, level);
        for (float, word) in floats.iter().zip(&words) {
            assert_eq!(Some(*float), number::f32(word.as_bytes()), "{word} {level:?}");
        }
        assert!(floats.len() > 3, "{level:?}");
    }
}

/// Returns a number in a notation that programs write, with up to 19 digits. It is not halfway between two floats,
/// which could stop a run.
fn any_word(random: &mut Random) -> String {
    loop {
        let word = random_word(random);
        // Here, the only midpoints between two f64s have a last digit of 5 right after the point.
        if number::narrow(word.parse().unwrap()).is_some() && !word.contains("5E7") {
            return word;
        }
    }
}

fn random_word(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "+"]);
    let count = 1 + random.below(10);
    let whole = random.digits(count);
    let count = random.below(10);
    let fraction = random.word(b"0123456789", count);
    let exponent = random.pick(&["", "", "", "e+00", "e-05", "E7", "e12"]);
    if count == 0 { format!("{sign}{whole}{exponent}") } else { format!("{sign}{whole}.{fraction}{exponent}") }
}

#[test]
fn any_notation_has_the_nearest_value_on_every_level() {
    let mut random = Random::new(11);
    for turn in 0..sized(300, 2) {
        // In some rounds most numbers are plain, so that the kernels alternate.
        let word =
            |random: &mut Random| if turn % 3 == 0 && random.below(9) > 0 { "1.5".into() } else { any_word(random) };
        let words: Vec<String> = (0..90).map(|_| word(&mut random)).collect();
        let text = format!(" {}\n", words.join(" "));
        windows(text.as_bytes(), |windows| {
            for &window in windows {
                let mut floats = vec![0.0; 90];
                let mut doubles = vec![0.0; 90];
                let mut marks = vec![9; 90];
                let count = tokens::floats(window, 0, &mut floats);
                assert_eq!(count, 90, "{:?}: {:?}", window.level, words.get(count));
                let count = tokens::doubles(window, 0, TokenPrecision::Double, &mut doubles, &mut marks);
                assert_eq!(count, 90, "{:?}: {:?}", window.level, words.get(count));
                for (at, word) in words.iter().enumerate() {
                    let value: f64 = word.parse().unwrap();
                    assert_eq!(doubles[at].to_bits(), value.to_bits(), "{word} {:?}", window.level);
                    assert_eq!(
                        floats[at].to_bits(),
                        word.parse::<f32>().unwrap().to_bits(),
                        "{word} {:?}",
                        window.level
                    );
                    assert_eq!(marks[at] & 1 == 0, !word.contains(['.', 'e', 'E']), "{word} {:?}", window.level);
                    if let Some(narrow) = number::narrow(value) {
                        assert_eq!(narrow.to_bits(), floats[at].to_bits(), "{word}");
                    }
                }
            }
        });
    }
}

fn check_rows<const N: usize>(random: &mut Random) {
    let rows: Vec<Vec<String>> = (0..30).map(|_| (0..N).map(|_| any_word(random)).collect()).collect();
    let text: String = rows.iter().map(|row| format!("vn \t{}\r\n", row.join("  "))).collect();
    windows((text + "vn 1 nan 3\nv 1 2 3\n").as_bytes(), |windows| {
        for &window in windows {
            let mut out = vec![[0.0f32; N]; 40];
            let count = long_float_rows(window, 0, b"vn", &mut out);
            assert_eq!(count, 30, "{:?}: {:?}", window.level, rows.get(count));
            for (values, row) in out.iter().zip(&rows) {
                let expected = row.iter().map(|word| word.parse::<f32>().unwrap().to_bits());
                assert!(values.iter().map(|value| value.to_bits()).eq(expected), "{row:?}: {values:?}");
            }
            for line in [30, 31, 32, 5000, usize::MAX] {
                assert_eq!(long_float_rows(window, line, b"vn", &mut out), 0);
            }
            assert_eq!(long_float_rows(window, 0, b"v", &mut out), 0);
            assert_eq!(long_float_rows(window, 0, b"vn", &mut out[..7]), 7);
        }
    });
}

#[test]
fn rows_of_long_numbers_have_the_nearest_values() {
    let mut random = Random::new(12);
    for _ in 0..sized(20, 1) {
        check_rows::<2>(&mut random);
        check_rows::<3>(&mut random);
        check_rows::<4>(&mut random);
        check_rows::<6>(&mut random);
        check_rows::<7>(&mut random);
    }
}

/// Returns a number with 14 to 18 digits as programs print it, often close to the midpoint between two f32s.
fn long_word(random: &mut Random, style: u64) -> String {
    let bits = (random.bits() as u32 & 0x8000_FFFF) | (96 + random.below(48) as u32) << 23;
    let value = f32::from_bits(bits);
    let next = f32::from_bits(bits + 1);
    let middle = (f64::from(value) + f64::from(next)) / 2.0;
    let value = match random.below(4) {
        0 => middle,
        1 => middle * (1.0 + f64::EPSILON * random.below(40) as f64),
        2 => middle * (1.0 - f64::EPSILON * random.below(40) as f64),
        _ => middle * (1.0 + random.below(1000) as f64 * 1e-10),
    };
    match style {
        0 => format!("{value:.15}"),
        1 => format!("{value:.8}"),
        2 => c_exponent(&format!("{value:.9e}")),
        3 => c_exponent(&format!("{value:.16e}")),
        _ => format!("{value}"),
    }
}

#[test]
fn values_for_f32s_are_near_enough_and_integers_exact() {
    let mut random = Random::new(14);
    for turn in 0..sized(300, 2) {
        let words: Vec<String> = (0..90)
            .map(|_| match random.below(if turn % 2 == 0 { 3 } else { 40 }) {
                0 => any_word(&mut random),
                1 => format!("{}", random.bits() as i64 >> random.below(64)),
                2 => random.pick(&["-0", "0", "-0.0", "0.1", "0.10000000149011612", "1e5", "1E-05"]).into(),
                _ => long_word(&mut random, turn % 5),
            })
            .collect();
        windows(format!(" {}\n", words.join(" ")).as_bytes(), |windows| {
            for &window in windows {
                let near = all_doubles(window, &words, TokenPrecision::Single);
                let exact = all_doubles(window, &words, TokenPrecision::Double);
                for (word, (near, exact)) in words.iter().zip(near.into_iter().zip(exact)) {
                    assert_eq!((near.0 as f32).to_bits(), (exact.0 as f32).to_bits(), "{word} {:?}", window.level);
                    assert_eq!(number::narrow(near.0).is_some(), number::narrow(exact.0).is_some(), "{word}");
                    assert_eq!(near.1, exact.1, "{word} {:?}", window.level);
                    assert!(near.1 & 1 != 0 || near.0.to_bits() == exact.0.to_bits(), "{word} {:?}", window.level);
                }
            }
        });
    }
}

/// Returns all numbers of a window with their marks. Numbers that stop a run are parsed by Rust's parser.
fn all_doubles(window: Window<'_>, words: &[String], precision: TokenPrecision) -> Vec<(f64, u8)> {
    let mut values = vec![0.0; words.len()];
    let mut marks = vec![9; words.len()];
    let mut at = 0;
    while at < words.len() {
        at += tokens::doubles(window, at, precision, &mut values[at..], &mut marks[at..]);
        if let Some(word) = words.get(at) {
            values[at] = word.parse().unwrap();
            let is_integer = !word.contains(['.', 'e', 'E']) && word != "-0";
            marks[at] = if !is_integer { 1 } else { 2 * u8::from(values[at].abs() > (1u64 << 53) as f64) };
            at += 1;
        }
    }
    values.into_iter().zip(marks).collect()
}

/// Rewrites an exponent as C prints it: `1.5e-03` for `1.5e-3`.
fn c_exponent(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[test]
fn rows_in_one_style_have_the_nearest_values() {
    let mut random = Random::new(13);
    for turn in 0..sized(100, 4) {
        let rows: Vec<[String; 3]> = (0..40).map(|_| [(); 3].map(|()| long_word(&mut random, turn % 5))).collect();
        let text: String = rows.iter().map(|row| format!("v {}\n", row.join(" "))).collect();
        windows(text.as_bytes(), |windows| {
            for &window in windows {
                let mut out = [[0.0f32; 3]; 40];
                let mut line = 0;
                while line < 40 {
                    let count = long_float_rows(window, line, b"v", &mut out[line..]);
                    for at in line..line + count {
                        let expected = rows[at].each_ref().map(|word| word.parse::<f32>().unwrap());
                        assert_eq!(
                            out[at].map(f32::to_bits),
                            expected.map(f32::to_bits),
                            "{:?} {:?}",
                            rows[at],
                            window.level
                        );
                    }
                    // Parsing may stop at rows with an exact midpoint between two floats, or with more than 19 digits.
                    line += count + 1;
                }
            }
        });
    }
}

#[test]
fn long_rows_stop_at_invalid_lines() {
    let bad = [
        "1.2345678901234567 2 x",
        "1.5e+0 1 .",
        "1.234567890123456e+5x 1 2",
        "1.2345678901234567.5 1 2",
        "e+05 1 2",
        "1.5e+999 1 2",
        "--1.5e+01 1 2",
        "1.23456789012345678901234567890123456 1 2",
        "1e+05e+05 1 2",
        "1.5f+01 1 2",
    ];
    for row in bad {
        windows(
            format!("v 1.5e+01 -2.5e-01 3.5\nv 1.5e+01 -2.5e-01 3.5\nv 1 2.5e+00 3\nv 1 2 3\nv {row}\n").as_bytes(),
            |windows| {
                for &window in windows {
                    let mut out = [[0.0f32; 3]; 8];
                    assert_eq!(long_float_rows(window, 0, b"v", &mut out), 4, "{row} {:?}", window.level);
                    assert_eq!(out[..4], [[15.0, -0.25, 3.5], [15.0, -0.25, 3.5], [1.0, 2.5, 3.0], [1.0, 2.0, 3.0]]);
                }
            },
        );
    }
}
