//! Compares row formats with the C library's `snprintf`: every letter and flag, widths and precisions, every path.
#![cfg(unix)]

use std::ffi::{CString, c_char, c_int};

use polyhaul_text::format::{Page, PrintfDialect, RowFormat, StridedColumn, ValueType};

unsafe extern "C" {
    fn snprintf(buffer: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

/// The texts of values by C's `snprintf`, concatenated.
struct SnprintfText {
    text: Vec<u8>,
}

impl SnprintfText {
    fn reals(template: &str, values: impl Iterator<Item = f64>) -> Self {
        let template = CString::new(template).unwrap();
        let mut text = Vec::new();
        let mut buffer = [0u8; 1024];
        for value in values {
            // SAFETY: the size is the buffer's own, and all templates here take one double.
            let length = unsafe { snprintf(buffer.as_mut_ptr().cast(), buffer.len(), template.as_ptr(), value) };
            text.extend_from_slice(&buffer[..length as usize]);
        }
        Self { text }
    }

    fn integers(template: &str, values: impl Iterator<Item = i64>) -> Self {
        let template = CString::new(template.replace(['d', 'i'], "ld")).unwrap();
        let mut text = Vec::new();
        let mut buffer = [0u8; 1024];
        for value in values {
            // SAFETY: the size is the buffer's own, and all templates here take one long.
            let length = unsafe { snprintf(buffer.as_mut_ptr().cast(), buffer.len(), template.as_ptr(), value) };
            text.extend_from_slice(&buffer[..length as usize]);
        }
        Self { text }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }
}

/// Returns the texts of one column by a row format, written through pages of `room` bytes.
fn formatted(template: &str, kind: ValueType, data: &[u8], room: usize) -> Vec<u8> {
    let count = data.len() / kind.bytes();
    let columns = [StridedColumn::new(data, 0, kind.bytes(), count, kind).unwrap()];
    let format = RowFormat::printf(template, &[kind], PrintfDialect::C).unwrap();
    let rows = format.over(&columns).unwrap();
    let mut buffer = vec![0xAA; room];
    let mut text = Vec::new();
    let mut row = 0;
    while row < count {
        let mut page = Page::new(&mut buffer);
        let written = rows.write(&mut page, row..count).unwrap();
        assert!(written > 0 && !page.overflowed());
        text.extend_from_slice(page.as_bytes());
        row += written;
    }
    text
}

fn check(template: &str, written: &[u8], expected: &SnprintfText) {
    if written == expected.text {
        return;
    }
    let lines = |text: &[u8]| text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    for (written, expected) in lines(written).iter().zip(lines(&expected.text)) {
        let [written, expected] = [written, &expected].map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!(written, expected, "{template:?}");
    }
    panic!("{template:?}: the texts differ in length");
}

fn check_reals(template: &str, values: &[f64]) {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    check(
        template,
        &formatted(template, ValueType::F64, &data, 4096),
        &SnprintfText::reals(template, values.iter().copied()),
    );
    let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let data: Vec<u8> = narrow.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let wide = narrow.iter().map(|&value| f64::from(value));
    check(template, &formatted(template, ValueType::F32, &data, 4096), &SnprintfText::reals(template, wide));
}

/// Returns zeros, limits of the types, powers of ten and two and their neighbors, ties, runs of nines, and special
/// values.
fn edges() -> Vec<f64> {
    let mut values = vec![0.0, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::from_bits(0xF_FFFF_FFFF_FFFF)];
    values.extend([f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), f64::from(f32::from_bits(1))]);
    values.extend([f64::INFINITY, f64::NAN, 0.1, 0.3, 1.0 / 3.0, 2.0 / 3.0, 123456789.0, 0.000123456789]);
    for power in (-30..40).chain([-323, -308, -307, -100, 100, 307, 308]) {
        let ten: f64 = format!("1e{power}").parse().unwrap();
        values.extend([ten, ten * 9.5, ten * 9.995, ten * 9.9999995, ten * 5.0, ten * 5.2, ten * 2.5]);
        values.extend([ten.to_bits() - 1, ten.to_bits() + 1].map(f64::from_bits));
    }
    // Ties of up to 19 digits start at 2^-28.
    for power in [-1074, -1022, -149, -126, -60, 23, 24, 30, 52, 53, 63, 64, 100, 1023].into_iter().chain(-30..12) {
        let two = if power < -1022 { f64::from_bits(1 << (power + 1074)) } else { 2f64.powi(power) };
        values.extend([two, two * 1.5, two * 1.25, two * 3.0 * 1.125]);
    }
    for eighths in 0..80 {
        values.push(f64::from(eighths) / 8.0 + f64::from(eighths % 7) * 100.0);
    }
    let negative: Vec<f64> = values.iter().map(|value| -value).collect();
    values.extend(negative);
    values
}

#[test]
#[cfg_attr(miri, ignore = "calls snprintf")]
fn edges_with_every_letter_and_precision() {
    let values = edges();
    for letter in ["f", "e", "g", "F", "E", "G"] {
        for precision in (0..=25).chain([30, 40, 50, 60]) {
            check_reals(&format!("%.{precision}{letter}\n"), &values);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls snprintf")]
fn edges_with_every_flag_and_width() {
    let values: Vec<f64> =
        edges().into_iter().step_by(9).chain([0.0, -0.0, 100.0, 1e6, f64::NAN, -f64::INFINITY]).collect();
    for flags in 0..32 {
        let flags: String =
            "-+ 0#".chars().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, flag)| flag).collect();
        for width in ["", "1", "7", "13", "40"] {
            for rest in [".0f", ".3f", "f", ".14f", ".0e", ".5e", ".0g", "g", ".17g", ".22g", "E", "G"] {
                check_reals(&format!("[%{flags}{width}{rest}]\n"), &values);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls snprintf")]
fn integers_with_every_flag_width_and_precision() {
    let mut values = vec![0, 1, -1, 9, 10, -10, 99, 100, 12345, -123456, i64::MAX, i64::MIN, i64::MIN + 1];
    values.extend((0..19).flat_map(|power| [10i64.pow(power) - 1, -(10i64.pow(power))]));
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    for flags in 0..32 {
        let flags: String =
            "-+ 0#".chars().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, flag)| flag).collect();
        for width in ["", "1", "5", "12", "30"] {
            for precision in ["", ".", ".0", ".1", ".4", ".25"] {
                let template = format!("<%{}{width}{precision}d>\n", flags.replace('#', ""));
                check(
                    &template,
                    &formatted(&template, ValueType::I64, &data, 1024),
                    &SnprintfText::integers(&template, values.iter().copied()),
                );
            }
        }
    }
    for (kind, bytes) in [(ValueType::I8, 1), (ValueType::I16, 2), (ValueType::I32, 4)] {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..bytes].to_vec()).collect();
        let cut = |value: i64| value << (64 - 8 * bytes) >> (64 - 8 * bytes);
        let template = "%d\n";
        check(
            template,
            &formatted(template, kind, &data, 1024),
            &SnprintfText::integers(template, values.iter().map(|&value| cut(value))),
        );
    }
}

/// Returns one of the doubles next to a decimal number that ends in 5.
fn near_tie(random: &mut Random) -> f64 {
    let integer = random.next() % 10u64.pow((random.next() % 19) as u32);
    let tie: f64 = format!("{integer}5e{}", (random.next() % 600) as i32 - 300).parse().unwrap();
    f64::from_bits((tie.to_bits() + random.next() % 5).saturating_sub(2))
}

/// Random bit patterns and ordinary values, with common formats.
#[test]
#[cfg_attr(miri, ignore = "calls snprintf")]
fn random_values() {
    let mut random = Random(5);
    let templates = [
        "%9.3f\n", "%.0f\n", "%.4f\n", "%.2f\n", "%.6f\n", "%.6e\n", "%g\n", "%.17g\n", "%.18e\n", "%.15f\n", "%.9g\n",
        "%.10e\n",
    ];
    for template in templates {
        let values: Vec<f64> = (0..15_000)
            .map(|index| match index / 320 % 5 {
                0 => f64::from_bits(random.next().rotate_left(20)),
                1 => random.next() as i64 as f64 * 2f64.powi(-(40 + (random.next() % 30) as i32)),
                2 => random.next() as i64 as f64 * 2f64.powi(-57 - (index % 8)),
                3 => near_tie(&mut random),
                _ => ((random.next() % 2_000_000) as f64 - 1e6) / 10f64.powi((random.next() % 7) as i32),
            })
            .collect();
        check_reals(template, &values);
    }
}
