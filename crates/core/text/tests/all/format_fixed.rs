//! Compares fixed digits with Rust's exact formatter and with output of C's printf.

use crate::sizes::sized;
use polyhaul_text::format::{MAX_DIGITS, MAX_FIXED_F32, MAX_FIXED_F64, Page};

/// SplitMix64: deterministic and good enough to pick test values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn fixed_f32(value: f32, digits: usize) -> String {
    let mut buffer = [0; MAX_FIXED_F32];
    let mut page = Page::new(&mut buffer);
    page.fixed_f32(value, digits);
    assert!(!page.overflowed(), "{value:e}");
    let careful = String::from_utf8(page.as_bytes().to_vec()).unwrap();
    let mut buffer = [0; 256];
    let mut page = Page::new(&mut buffer);
    page.fixed_f32(value, digits);
    assert_eq!(page.as_bytes(), careful.as_bytes(), "the same with and without room to spare");
    careful
}

fn fixed_f64(value: f64, digits: usize) -> String {
    let mut buffer = [0; MAX_FIXED_F64];
    let mut page = Page::new(&mut buffer);
    page.fixed_f64(value, digits);
    assert!(!page.overflowed(), "{value:e}");
    let careful = String::from_utf8(page.as_bytes().to_vec()).unwrap();
    let mut buffer = [0; 512];
    let mut page = Page::new(&mut buffer);
    page.fixed_f64(value, digits);
    assert_eq!(page.as_bytes(), careful.as_bytes(), "the same with and without room to spare");
    careful
}

fn check_f32(bits: u32, digits: usize) {
    let value = f32::from_bits(bits);
    if value.is_finite() {
        assert_eq!(fixed_f32(value, digits), format!("{value:.digits$}"), "bits {bits:#x}, {digits} digits");
    }
}

fn check_f64(bits: u64, digits: usize) {
    let value = f64::from_bits(bits);
    if value.is_finite() {
        assert_eq!(fixed_f64(value, digits), format!("{value:.digits$}"), "bits {bits:#x}, {digits} digits");
    }
}

#[test]
fn f32_of_every_exponent() {
    let mut random = Random(1);
    for exponent in (0..255u32).step_by(sized(1, 101)) {
        let picks = [0, 1, 0x40_0000, 0x7F_FFFE, 0x7F_FFFF, random.next() as u32, random.next() as u32];
        for significand in picks {
            let bits = exponent << 23 | significand & 0x7F_FFFF;
            for digits in 0..=MAX_DIGITS {
                check_f32(bits, digits);
                check_f32(bits | 1 << 31, digits);
            }
        }
    }
}

#[test]
fn f32_of_ordinary_size() {
    let mut random = Random(2);
    for _ in 0..sized(4_000, 3) {
        let value = (random.next() as i32 as f32) * (0.5_f32).powi((random.next() % 40) as i32);
        for digits in 0..=MAX_DIGITS {
            check_f32(value.to_bits(), digits);
        }
    }
}

/// Odd multiples of 2^-(digits + 1) are exactly halfway between two numbers with that many digits.
#[test]
fn f32_ties_and_their_neighbors() {
    let mut random = Random(3);
    for digits in 0..=MAX_DIGITS {
        for _ in 0..sized(2_000, 1) {
            let odd = (random.next() as u32 >> (8 + random.next() % 24)) | 1;
            let bits = (odd as f32 / (2u64 << digits) as f32).to_bits();
            for near in [bits - 1, bits, bits + 1, bits | 1 << 31] {
                check_f32(near, digits);
            }
        }
    }
}

#[test]
fn f64_of_every_exponent() {
    let mut random = Random(4);
    for exponent in (0..2047u64).step_by(sized(1, 401)) {
        for significand in [0, 0xF_FFFF_FFFF_FFFF, random.next()] {
            let bits = exponent << 52 | significand & 0xF_FFFF_FFFF_FFFF;
            check_f64(bits, (random.next() % 13) as usize);
            check_f64(bits | 1 << 63, (random.next() % 13) as usize);
        }
    }
}

#[test]
fn f64_of_ordinary_size() {
    let mut random = Random(5);
    for _ in 0..sized(4_000, 3) {
        let value = (random.next() as i64 as f64) * (0.5_f64).powi((random.next() % 90) as i32);
        for digits in 0..=MAX_DIGITS {
            check_f64(value.to_bits(), digits);
        }
    }
}

#[test]
fn f64_ties_and_their_neighbors() {
    let mut random = Random(6);
    for digits in 0..=MAX_DIGITS {
        for _ in 0..sized(2_000, 1) {
            let odd = (random.next() >> (11 + random.next() % 53)) | 1;
            let bits = (odd as f64 / (2u64 << digits) as f64).to_bits();
            for near in [bits - 1, bits, bits + 1, bits | 1 << 63] {
                check_f64(near, digits);
            }
        }
    }
}

/// The f64s closest to a tie: their rounded products look like ties.
#[test]
fn f64_next_to_decimal_ties() {
    let mut random = Random(7);
    for digits in 0..=MAX_DIGITS {
        for _ in 0..sized(2_000, 1) {
            let integer = random.next() >> (12 + random.next() % 50);
            let bits = ((integer as f64 + 0.5) / 10f64.powi(digits as i32)).to_bits();
            for near in bits.saturating_sub(2)..=bits + 2 {
                check_f64(near, digits);
            }
        }
    }
}

/// Values around the thresholds between kernels.
#[test]
fn borders_between_the_paths() {
    let powers = (0..=22).map(|n| 10f64.powi(n));
    let twos = (30..=130).map(|n| 2f64.powi(n));
    for border in powers.chain(twos).step_by(sized(1, 62)) {
        for digits in 0..=MAX_DIGITS {
            for value in [border, border / 10f64.powi(digits as i32)] {
                let wide = value.to_bits();
                let narrow = (value as f32).to_bits();
                (wide - 3..=wide + 3).for_each(|bits| check_f64(bits, digits));
                (narrow - 3..=narrow + 3).for_each(|bits| check_f32(bits, digits));
            }
        }
    }
}

/// Output of printf("%.*f") in glibc 2.36.
#[test]
fn digits_equal_those_of_printf() {
    let cases: &[(f64, usize, &str)] = &[
        (0.0, 0, "0"),
        (-0.0, 0, "-0"),
        (-0.0, 6, "-0.000000"),
        (-1e-9, 6, "-0.000000"),
        (0.5, 0, "0"),
        (1.5, 0, "2"),
        (2.5, 0, "2"),
        (-2.5, 0, "-2"),
        (0.125, 2, "0.12"),
        (0.375, 2, "0.38"),
        (0.1, 12, "0.100000000000"),
        (2.675, 2, "2.67"),
        (1.005, 2, "1.00"),
        (0.045, 2, "0.04"),
        (9.9999995, 6, "9.999999"),
        (999.9999996, 6, "1000.000000"),
        (0.999999999999, 11, "1.00000000000"),
        (1e15, 3, "1000000000000000.000"),
        (9007199254740993.0, 1, "9007199254740992.0"),
        (1e23, 2, "99999999999999991611392.00"),
        (5e-324, 12, "0.000000000000"),
        (f64::INFINITY, 6, "inf"),
        (f64::NEG_INFINITY, 6, "-inf"),
    ];
    for &(value, digits, text) in cases {
        assert_eq!(fixed_f64(value, digits), text);
    }
    assert_eq!(fixed_f64(f64::NAN.copysign(1.0), 3), "nan");
    assert_eq!(fixed_f64(f64::NAN.copysign(-1.0), 3), "-nan");
    assert_eq!(fixed_f32(f32::NAN.copysign(-1.0), 3), "-nan");
    assert_eq!(fixed_f32(f32::MAX, 2), "340282346638528859811704183484516925440.00");
    assert_eq!(fixed_f32(16777216.0, 6), "16777216.000000");
    assert_eq!(fixed_f32(0.1, 12), "0.100000001490");
    assert_eq!(fixed_f32(f32::from_bits(1), 12), "0.000000000000");
}

#[test]
fn the_longest_texts_have_the_documented_lengths() {
    assert_eq!(fixed_f32(f32::MIN, 12).len(), MAX_FIXED_F32);
    assert_eq!(fixed_f64(f64::MIN, 12).len(), MAX_FIXED_F64);
    assert_eq!(fixed_f32(0.25, 99), fixed_f32(0.25, 12));
}
