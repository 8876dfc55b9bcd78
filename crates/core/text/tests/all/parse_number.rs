//! Compares single tokens with Rust's parsers.

use crate::parse_support::Random;
use crate::sizes::sized;
use polyhaul_text::parse::number::{self, IntegerError};

/// Compares a float with the result of Rust's parser, which accepts the same notation.
fn float(token: &str) {
    let single = token.parse::<f32>().ok();
    let double = token.parse::<f64>().ok();
    assert_eq!(number::f32(token.as_bytes()).map(f32::to_bits), single.map(f32::to_bits), "{token:?}");
    assert_eq!(number::f64(token.as_bytes()).map(f64::to_bits), double.map(f64::to_bits), "{token:?}");
}

#[test]
fn floats_of_all_notations() {
    for token in [
        "",
        "+",
        "-",
        ".",
        "+.",
        "-.",
        "0",
        "-0",
        "+0",
        "-0.0",
        "5.",
        ".5",
        "+.5",
        "-5.e1",
        "1e5",
        "1E5",
        "1e+5",
        "1e-5",
        "1e",
        "1e+",
        "e5",
        ".e5",
        "1.e",
        "1..",
        "1.2.3",
        "inf",
        "INF",
        "-inf",
        "+Infinity",
        "infinit",
        "infinity",
        " 1",
        "1 ",
        "1_0",
        "1,5",
        "0x10",
        "1e400",
        "-1e400",
        "1e-400",
        "3.4028236e38",
        "3.4028235677973366e38",
        "1e-46",
        "7.006492321624085e-46",
        "7.006492321624086e-46",
        "1.1754943508222875e-38",
        "179769313486231580793e289",
        "2.4703282292062327e-324",
        "1\0",
        "\u{661}",
    ] {
        float(token);
    }
    for token in ["nan", "NaN", "-nan", "+NAN"] {
        assert!(number::f32(token.as_bytes()).is_some_and(f32::is_nan), "{token}");
        assert!(number::f64(token.as_bytes()).is_some_and(f64::is_nan), "{token}");
    }
    assert_eq!(number::f32(b"\xFF"), None);
}

#[test]
fn floats_of_many_digits() {
    for size in [15, 16, 17, 19, 20, 40, 800, 10_000].into_iter().take(sized(8, 6)) {
        float(&"9".repeat(size));
        float(&format!("0.{}1", "0".repeat(size)));
        float(&format!("1.{}e-3", "3".repeat(size)));
        float(&format!("16777217.{}1", "0".repeat(size)));
        float(&format!("9007199254740993.{}1", "0".repeat(size)));
        float(&format!("{}e-{size}", "1".repeat(size)));
    }
}

#[test]
fn random_tokens() {
    let mut random = Random::new(1);
    for _ in 0..sized(30_000, 50) {
        let size = random.below(9);
        float(&random.word(b"0123456789.-+eE", size));
        let size = random.below(24);
        integer(&random.word(b"0123456789", size));
        let size = random.below(5);
        integer(&random.word(b"019-+. ", size));
    }
    for _ in 0..sized(20_000, 5) {
        let bits = random.bits();
        float(&format!("{:e}", f64::from_bits(bits & !(1 << 62))));
        float(&format!("{}", f32::from_bits(bits as u32 & !(1 << 30))));
    }
}

/// Checks midpoints between adjacent floats as text: exact ones, and ones slightly above and below.
fn halfway(random: &mut Random) {
    // f64s that are integers: the midpoint is an integer, too.
    let shift = random.below(10);
    let middle = ((1u64 << 53 | random.bits() >> 11) * 2 + 1) << shift;
    for digits in [middle - 1, middle, middle + 1] {
        float(&format!("{digits}"));
        float(&format!("{digits}.0"));
        float(&format!("-{digits}e0"));
    }
    // With a power of ten: the digits have a factor of 5 that cancels out with it.
    let fifths = (1u64 << 53 | random.bits() >> 11) * 5;
    for digits in [fifths - 1, fifths, fifths + 1] {
        float(&format!("{digits}e-1"));
        float(&format!("{digits}e1"));
    }
    // f32s: the midpoint is an f64, and Rust writes all of its digits.
    let single = f32::from_bits(random.bits() as u32 & 0x3FFF_FFFF | 0x2000_0000);
    let middle = (f64::from(single) + f64::from(single.next_up())) / 2.0;
    for value in [middle.next_down(), middle, middle.next_up()] {
        float(&format!("{value}"));
        float(&format!("{value:.17}"));
        float(&format!("{value:.16e}"));
    }
}

#[test]
fn long_numbers_and_halves() {
    let mut random = Random::new(2);
    for _ in 0..sized(20_000, 5) {
        halfway(&mut random);
        let size = 14 + random.below(7);
        let digits = random.digits(size);
        let point = random.below(size + 1);
        float(&format!("{}.{}", &digits[..point], &digits[point..]));
        float(&format!("{digits}e{}", random.below(130) as i32 - 65));
        float(&format!("0.{}{digits}", "0".repeat(random.below(6))));
        // The smallest and largest numbers.
        let bits = random.bits();
        float(&format!("{:e}", f64::from_bits(bits >> 12)));
        float(&format!("{:e}", f32::from_bits(bits as u32 >> 9)));
        float(&format!("{:.17e}", f32::from_bits(bits as u32 >> 7)));
        float(&format!("{:e}", f64::from_bits(bits >> 4 | 0x7FE << 52)));
    }
}

fn integer(token: &str) {
    let digits = token.strip_prefix(['-', '+']).unwrap_or(token);
    let error = |digits: &str| {
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            IntegerError::Overflow
        } else {
            IntegerError::Malformed
        }
    };
    assert_eq!(number::i64(token.as_bytes()), token.parse().map_err(|_| error(digits)), "{token:?}");
    let unsigned =
        if token.starts_with('+') { Err(IntegerError::Malformed) } else { token.parse().map_err(|_| error(token)) };
    assert_eq!(number::u64(token.as_bytes()), unsigned, "{token:?}");
}

#[test]
fn integers_at_their_limits() {
    for token in [
        "",
        "-",
        "+",
        "0",
        "-0",
        "+5",
        "007",
        "--5",
        "+-5",
        "5-",
        "1.0",
        "1e3",
        " 1",
        "1 ",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551616",
        "99999999999999999999x",
        "\u{661}",
        "1\0",
    ] {
        integer(token);
    }
    integer(&"9".repeat(sized(10_000, 400)));
    integer(&format!("{}7", "0".repeat(sized(10_000, 400))));
    integer(&format!("{}x", "9".repeat(sized(10_000, 400))));
}
