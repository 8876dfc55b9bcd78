//! Tests the page: integers, shortest digits, and overflow.

use crate::sizes::sized;
use polyhaul_text::format::{MAX_I32, MAX_I64, MAX_SHORTEST_F32, MAX_SHORTEST_F64, MAX_U32, MAX_U64, Page};

fn text(write: impl Fn(&mut Page<'_>)) -> String {
    let mut buffer = [0; 512];
    let mut page = Page::new(&mut buffer);
    write(&mut page);
    let roomy = page.as_bytes().to_vec();
    // The text fits a buffer of exactly its size; if the buffer has one byte less, nothing is written.
    let mut exact = vec![0xAA; roomy.len()];
    let mut page = Page::new(&mut exact);
    write(&mut page);
    assert_eq!((page.as_bytes(), page.overflowed()), (&roomy[..], false));
    let mut short = vec![0xAA; roomy.len() - 1];
    let mut page = Page::new(&mut short);
    write(&mut page);
    assert_eq!((page.as_bytes(), page.overflowed()), (&b""[..], true));
    String::from_utf8(roomy).unwrap()
}

#[test]
fn integers_at_every_length_and_sign() {
    let mut edges = vec![0u64, u64::MAX, i64::MAX as u64, 1 << 63, u32::MAX as u64, 1 << 31, (1 << 31) - 1];
    for power in 0..20 {
        let ten = 10u64.pow(power);
        edges.extend([ten - 1, ten, ten + 1, ten.saturating_mul(9), ten / 7 * 3]);
    }
    for n in edges {
        assert_eq!(text(|page| page.u64(n)), n.to_string());
        assert_eq!(text(|page| page.u32(n as u32)), (n as u32).to_string());
        for signed in [n as i64, (n as i64).wrapping_neg()] {
            assert_eq!(text(|page| page.i64(signed)), signed.to_string());
            assert_eq!(text(|page| page.i32(signed as i32)), (signed as i32).to_string());
        }
    }
    assert_eq!(text(|page| page.i64(i64::MIN)).len(), MAX_I64);
    assert_eq!(text(|page| page.i32(i32::MIN)).len(), MAX_I32);
    assert_eq!(text(|page| page.u64(u64::MAX)).len(), MAX_U64);
    assert_eq!(text(|page| page.u32(u32::MAX)).len(), MAX_U32);
}

#[test]
fn integers_by_the_thousand() {
    let mut buffer = [0; 64];
    let mut page = Page::new(&mut buffer);
    let stride = sized(1, 29_989);
    for n in (0..1_100_000u32).step_by(stride).chain((0..400_000).step_by(stride).map(|k| k * 10_737)) {
        page.clear();
        page.u32(n);
        let mut rest = n;
        let digits = page.as_bytes().iter().rev().all(|&digit| {
            let is_right = digit == b'0' + (rest % 10) as u8;
            rest /= 10;
            is_right
        });
        assert!(digits && rest == 0 && (n == 0 || page.as_bytes()[0] != b'0'), "{n}");
    }
}

#[test]
fn shortest_has_the_documented_notation() {
    let cases: &[(f32, &str)] = &[
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-100.0, "-100"),
        (0.1, "0.1"),
        (16777216.0, "16777216"),
        (1e12, "1000000000000"),
        (9.9999e12, "9999900000000"),
        (1e13, "1e13"),
        (1.5e20, "1.5e20"),
        (1e-6, "0.000001"),
        (9.5e-7, "9.5e-7"),
        (1e-7, "1e-7"),
        (f32::MAX, "3.4028235e38"),
        (f32::from_bits(1), "1e-45"),
        (f32::INFINITY, "inf"),
        (f32::NEG_INFINITY, "-inf"),
    ];
    for &(value, expected) in cases {
        assert_eq!(text(|page| page.shortest_f32(value)), expected);
    }
    let cases: &[(f64, &str)] = &[
        (0.1, "0.1"),
        (1e15, "1000000000000000"),
        (9e15, "9000000000000000"),
        (1e16, "1e16"),
        (1e100, "1e100"),
        (1e-5, "0.00001"),
        (9.5e-6, "9.5e-6"),
        (0.1 + 0.2, "0.30000000000000004"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (5e-324, "5e-324"),
    ];
    for &(value, expected) in cases {
        assert_eq!(text(|page| page.shortest_f64(value)), expected);
    }
    assert_eq!(text(|page| page.shortest_f32(f32::NAN.copysign(-1.0))), "-nan");
    assert_eq!(text(|page| page.shortest_f64(f64::NAN.copysign(1.0))), "nan");
}

#[test]
fn shortest_parses_back_and_keeps_its_length() {
    let mut state = 1u64;
    let mut buffer = [0; 64];
    let mut page = Page::new(&mut buffer);
    for _ in 0..sized(200_000, 30) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wide = f64::from_bits(state.rotate_left(17));
        let narrow = f32::from_bits((state >> 32) as u32);
        if narrow.is_finite() {
            page.clear();
            page.shortest_f32(narrow);
            let back: f32 = std::str::from_utf8(page.as_bytes()).unwrap().parse().unwrap();
            assert_eq!(back.to_bits(), narrow.to_bits());
            assert!(page.len() <= MAX_SHORTEST_F32);
        }
        if wide.is_finite() {
            page.clear();
            page.shortest_f64(wide);
            let back: f64 = std::str::from_utf8(page.as_bytes()).unwrap().parse().unwrap();
            assert_eq!(back.to_bits(), wide.to_bits());
            assert!(page.len() <= MAX_SHORTEST_F64);
        }
    }
}

#[test]
fn a_full_page_keeps_its_text_and_says_so() {
    let mut buffer = [0; 6];
    let mut page = Page::new(&mut buffer);
    page.bytes(b"abc");
    page.u32(1234);
    assert!(page.overflowed());
    assert_eq!(page.as_bytes(), b"abc");
    page.u32(123);
    assert_eq!((page.as_bytes(), page.room()), (&b"abc123"[..], 0));
    page.byte(b'x');
    page.bytes(b"");
    assert_eq!((page.as_bytes(), page.overflowed()), (&b"abc123"[..], true));
    page.truncate(3);
    assert_eq!((page.as_bytes(), page.overflowed()), (&b"abc"[..], false));
    page.clear();
    assert!(page.is_empty());
}

#[test]
fn nothing_fits_an_empty_page() {
    let mut page = Page::new(&mut []);
    page.fixed_f32(1.0, 6);
    page.shortest_f64(1.0);
    page.u64(1);
    assert_eq!((page.len(), page.overflowed()), (0, true));
}

#[test]
fn whole_undoes_text_that_does_not_fit() {
    let mut buffer = [0; 8];
    let mut page = Page::new(&mut buffer);
    assert!(page.whole(|page| page.bytes(b"v 1\n")));
    assert!(!page.whole(|page| {
        page.bytes(b"v ");
        page.fixed_f32(1.0, 6);
    }));
    assert!(page.overflowed());
    assert_eq!(page.as_bytes(), b"v 1\n");
    assert!(page.whole(|page| page.bytes(b"f 1\n")));
    assert_eq!((page.as_bytes(), page.overflowed()), (&b"v 1\nf 1\n"[..], true));
}
