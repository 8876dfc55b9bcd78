//! One token at a time, against Rust's own parsers.

mod parse_support;

use parse_support::Random;
use polyhaul_text::parse::number::{self, IntegerError};

/// Whether Rust's parser takes it too: it knows the same notation.
fn float(token: &str) {
    let (short, long) = (token.parse::<f32>().ok(), token.parse::<f64>().ok());
    assert_eq!(number::f32(token.as_bytes()).map(f32::to_bits), short.map(f32::to_bits), "{token:?}");
    assert_eq!(number::f64(token.as_bytes()).map(f64::to_bits), long.map(f64::to_bits), "{token:?}");
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
    for size in [15, 16, 17, 19, 20, 40, 800, 10_000] {
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
    for _ in 0..30_000 {
        let size = random.below(9);
        float(&random.word(b"0123456789.-+eE", size));
        let size = random.below(24);
        integer(&random.word(b"0123456789", size));
        let size = random.below(5);
        integer(&random.word(b"019-+. ", size));
    }
    for _ in 0..20_000 {
        let bits = random.bits();
        float(&format!("{:e}", f64::from_bits(bits & !(1 << 62))));
        float(&format!("{}", f32::from_bits(bits as u32 & !(1 << 30))));
    }
}

fn integer(token: &str) {
    let digits = token.strip_prefix(['-', '+']).unwrap_or(token);
    let error = |digits: &str| match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => IntegerError::Overflow,
        false => IntegerError::Malformed,
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
    integer(&"9".repeat(10_000));
    integer(&format!("{}7", "0".repeat(10_000)));
    integer(&format!("{}x", "9".repeat(10_000)));
}
