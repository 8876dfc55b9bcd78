//! Tests row formats: templates, records, every path with the same rows, every amount of room.

use crate::sizes::sized;
use polyhaul_text::format::{
    ColumnsError, MAX_PRECISION, MAX_WIDTH, Page, PrintfDialect, RowFormat, StridedColumn, TemplateError,
    TemplateProblem, ValueType,
};

/// Records of [`RECORD_BYTES`] with the fields [`FIELDS`].
struct Records {
    bytes: Vec<u8>,
    count: usize,
}

const FIELDS: [(&str, usize, ValueType); 7] = [
    ("flag", 0, ValueType::Bool),
    ("small", 1, ValueType::I8),
    ("short", 2, ValueType::U16),
    ("value", 4, ValueType::F32),
    ("wide", 8, ValueType::F64),
    ("id", 16, ValueType::I64),
    ("name", 24, ValueType::Bytes(7)),
];
const RECORD_BYTES: usize = 32;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ (*state >> 29)
}

impl Records {
    /// Creates records with ordinary values and, with `odd`, some values that do not fit cells.
    fn new(count: usize, odd: bool) -> Self {
        let mut state = 7;
        let mut bytes = Vec::new();
        for index in 0..count {
            let bits = random(&mut state);
            let plain = bits as i64 as f64 * 2f64.powi(-57 - (index % 7) as i32);
            let wide = match index % 45 {
                7 if odd => 1e300,
                19 if odd => f64::NAN,
                33 if odd => -f64::INFINITY,
                _ => plain * 1000.0,
            };
            bytes.extend([(bits >> 40) as u8 & 1, (bits >> 33) as u8]);
            bytes.extend(((bits >> 21) as u16).to_ne_bytes());
            bytes.extend((plain as f32).to_ne_bytes());
            bytes.extend(wide.to_ne_bytes());
            bytes.extend((bits as i64 >> (bits % 60)).to_ne_bytes());
            bytes.extend(&b"abcdefg\0"[..(bits >> 9) as usize % 8]);
            bytes.resize(RECORD_BYTES * (index + 1), 0);
        }
        Self { bytes, count }
    }

    fn columns(&self) -> [StridedColumn<'_>; 7] {
        FIELDS.map(|(_, offset, kind)| StridedColumn::new(&self.bytes, offset, RECORD_BYTES, self.count, kind).unwrap())
    }

    /// Writes all rows through pages of `room` bytes.
    fn text(&self, format: &RowFormat, room: usize) -> String {
        let columns = self.columns();
        let rows = format.over(&columns).unwrap();
        let mut buffer = vec![0xAA; room];
        let mut text = String::new();
        let mut row = 0;
        while row < self.count {
            let mut page = Page::new(&mut buffer);
            let written = rows.write(&mut page, row..self.count).unwrap();
            assert!(written > 0 && !page.overflowed());
            text.push_str(std::str::from_utf8(page.as_bytes()).unwrap());
            row += written;
        }
        text
    }
}

fn field(name: &str) -> Option<(usize, ValueType)> {
    FIELDS.iter().position(|&(field, ..)| field == name).map(|index| (index, FIELDS[index].2))
}

fn fields(template: &str) -> RowFormat {
    RowFormat::fields(template, field).unwrap()
}

#[test]
fn named_fields_as_documented() {
    let mut bytes = vec![0; 32];
    bytes[0] = 1;
    bytes[1] = -5i8 as u8;
    bytes[2..4].copy_from_slice(&513u16.to_ne_bytes());
    bytes[4..8].copy_from_slice(&0.1f32.to_ne_bytes());
    bytes[8..16].copy_from_slice(&(-1234.5f64).to_ne_bytes());
    bytes[16..24].copy_from_slice(&(i64::MIN).to_ne_bytes());
    bytes[24..27].copy_from_slice(b"rod");
    let record = Records { bytes, count: 1 };
    let cases = [
        ("", ""),
        ("only text: 100 % {{}}\n", "only text: 100 % {}\n"),
        ("{flag:y/n} {value:.2f}\n", "y 0.10\n"),
        ("{flag}{flag:d}{flag:/off}{flag:on/}|{flag:6s}|{flag:-6s}|", "true1on|  true|true  |"),
        ("{flag:a text of more than sixteen bytes/no}", "a text of more than sixteen bytes"),
        ("{small} {short} {id}", "-5 513 -9223372036854775808"),
        ("{small:+05d},{short:06d},{short:-6d},{short: d}", "-0005,000513,513   , 513"),
        ("{value} {wide} {wide:.3e} {wide:g} {wide:+010.2f}", "0.1 -1234.5 -1.234e+03 -1234.5 -001234.50"),
        ("<{name}> <{name:5s}> <{name:-5s}> <{name:.2s}>", "<rod> <  rod> <rod  > <ro>"),
        ("{value:8s}|{wide:-9s}|{small:4s}", "     0.1|-1234.5  |  -5"),
        ("{wide:d} {value:d} {small:.1f} {short:e}", "-1234 0 -5.0 5.130000e+02"),
        ("é{value:.1f}é", "é0.1é"),
    ];
    for (template, expected) in cases {
        assert_eq!(record.text(&fields(template), 500), expected, "{template}");
    }
}

fn problem(template: &str) -> (usize, usize, TemplateProblem) {
    let error = RowFormat::fields(template, field).unwrap_err();
    (error.offset, error.length, error.problem)
}

#[test]
fn template_errors_have_a_location() {
    assert_eq!(problem("a {flag"), (2, 5, TemplateProblem::UnmatchedBrace));
    assert_eq!(problem("a } b"), (2, 1, TemplateProblem::UnmatchedBrace));
    assert_eq!(problem("a {nobody:.2f}"), (3, 6, TemplateProblem::UnknownField));
    assert_eq!(problem("{}"), (1, 0, TemplateProblem::UnknownField));
    assert_eq!(problem("{value:yes/no}"), (7, 6, TemplateProblem::NotABool(ValueType::F32)));
    assert_eq!(problem("{flag:a/b/c}"), (6, 5, TemplateProblem::TwoTexts));
    assert_eq!(problem("{flag:x}"), (6, 1, TemplateProblem::UnknownConversion));
    assert_eq!(problem("{value:.2}"), (9, 0, TemplateProblem::Unfinished));
    assert_eq!(problem("{value:.2fm}"), (10, 1, TemplateProblem::UnknownConversion));
    assert_eq!(problem("{value:>8.2f}"), (7, 1, TemplateProblem::UnknownConversion));
    assert_eq!(problem("{name:d}"), (6, 1, TemplateProblem::NotANumber(ValueType::Bytes(7))));
    let printf = |template: &str| {
        RowFormat::printf(template, &[ValueType::F64, ValueType::Bytes(3)], PrintfDialect::C).unwrap_err()
    };
    let error = |offset, length, problem| TemplateError { offset, length, problem };
    assert_eq!(printf("ab %d"), error(5, 0, TemplateProblem::TooManyColumns));
    assert_eq!(printf("%d %s %f"), error(6, 2, TemplateProblem::TooFewColumns));
    assert_eq!(printf("%d %5.1f"), error(3, 5, TemplateProblem::NotANumber(ValueType::Bytes(3))));
    for (template, offset) in [("x%x", 2), ("%ld", 1), ("%*d", 1), ("%.*f", 2), ("%a", 1), ("%c", 1), ("% %", 2)] {
        assert_eq!(printf(template), error(offset, 1, TemplateProblem::UnknownConversion), "{template}");
    }
    for (template, offset) in [("%", 1), ("%-08", 4), ("%.3", 3)] {
        assert_eq!(printf(template), error(offset, 0, TemplateProblem::Unfinished));
    }
    assert_eq!(printf("%401d"), error(1, 3, TemplateProblem::TooWide));
    assert_eq!(printf("%99999999999999999999999999d").problem, TemplateProblem::TooWide);
    assert_eq!(printf("%.61f"), error(1, 3, TemplateProblem::TooPrecise));
    assert_eq!(printf("%.99999999999999999999999999g").problem, TemplateProblem::TooPrecise);
    assert_eq!(printf("%x").to_string().split(':').next(), Some("template, byte 1"));
}

/// Random strings of the characters that have a meaning in templates.
#[test]
fn hostile_templates_never_panic() {
    let letters: Vec<char> = "%%%{{}}:/.0159-+ #dfegsFEGlx*\u{e9}".chars().collect();
    let mut state = 3;
    let record = Records::new(3, true);
    for _ in 0..sized(60_000, 60) {
        let length = random(&mut state) as usize % 14;
        let template: String = (0..length).map(|_| letters[random(&mut state) as usize % letters.len()]).collect();
        let _ = RowFormat::printf(&template, &[ValueType::F32, ValueType::Bytes(2)][..length % 3], PrintfDialect::C);
        let named = template.replace(":", "flag:").replace('{', "{value").replace("valueflag", "flag");
        for template in [&template, &named] {
            if let Ok(format) = RowFormat::fields(template, field) {
                let columns = record.columns();
                let _ = format.over(&columns).unwrap().write(&mut Page::new(&mut [0; 5000]), 0..3);
            }
        }
    }
}

#[test]
fn columns_must_match_the_format() {
    let records = Records::new(5, false);
    let columns = records.columns();
    let format = fields("{wide:.1f} {flag:y/n}");
    assert_eq!(format.over(&columns[..4]).unwrap_err(), ColumnsError::Missing { column: 4 });
    let mut other = columns;
    other[0] = columns[1];
    let error = ColumnsError::Type { column: 0, expected: ValueType::Bool, found: ValueType::I8 };
    assert_eq!(format.over(&other).unwrap_err(), error);
    assert_eq!(error.to_string(), "column 0 has type i8; the template expects bool");
    let rows = format.over(&columns).unwrap();
    assert_eq!(rows.count(), 5);
    let mut buffer = [0; 1000];
    assert_eq!(rows.write(&mut Page::new(&mut buffer), 3..1000), Ok(2));
    assert_eq!(rows.write(&mut Page::new(&mut buffer), 7..9), Ok(0));
}

#[test]
fn columns_are_inside_their_bytes() {
    let bytes = [0; 20];
    let column = |offset, stride, count, kind| StridedColumn::new(&bytes, offset, stride, count, kind).is_some();
    assert!(column(0, 4, 5, ValueType::F32) && !column(0, 4, 6, ValueType::F32) && !column(1, 4, 5, ValueType::F32));
    assert!(column(12, 0, usize::MAX, ValueType::F64) && !column(13, 0, 1, ValueType::F64));
    // Without rows, nothing is checked.
    assert!(column(20, 1, 0, ValueType::F64) && column(21, 1, 0, ValueType::F64));
    assert!(!column(0, usize::MAX, 3, ValueType::U8) && !column(usize::MAX, 1, 1, ValueType::U8));
}

/// Templates for each kind of step and for mixtures of them.
const TEMPLATES: [&str; 12] = [
    "{flag:y/n} {value:.2f}\n",
    "{value:.6f} {wide:.6f} {value:.0f}\n",
    "{value:9.3f} {value:-9.1f}|{id:15d};{small:-4d}|\n",
    "{small},{short},{flag:d}\n",
    "v {value:.4f} {value:.4f} {value:.4f}\n",
    "{wide:.12f}\n",
    "{id}\n",
    "{name} {value} {wide}\n",
    "{wide:.3e} {wide:g} {flag:yes indeed, it is/no} {short:08d}\n",
    "{name:10s}{value:.1f}a text that is longer than sixteen bytes{value:.1f}\n",
    "{value:d} {small:.3f} {short:g} {flag:6s}\n",
    "{value:.1f}{value:.2f}{value:.3f}{value:.4f}{value:.5f}{value:.6f}{value:.7f}{value:.8f}{value:.9f}{small}\n",
];

/// Blocks of rows use cells and single rows do not; the text is the same.
#[test]
fn blocks_are_equal_to_single_rows() {
    for odd in [false, true] {
        let records = Records::new(sized(333, 18), odd);
        for template in TEMPLATES.into_iter().step_by(sized(1, 5)) {
            let format = fields(template);
            let whole = records.text(&format, sized(1 << 20, 1 << 14));
            assert!(whole == records.text(&format.clone().portable(), 3000), "{template}");
            let columns = records.columns();
            let rows = format.over(&columns).unwrap();
            let mut buffer = vec![0; 4000];
            let mut text = String::new();
            for row in 0..records.count {
                // A page with ample room, and one that just fits the row.
                let mut page = Page::new(&mut buffer);
                assert_eq!(rows.write(&mut page, row..row + 1), Ok(1));
                let alone = page.as_bytes().to_vec();
                let mut exact = vec![0; alone.len()];
                let mut page = Page::new(&mut exact);
                assert_eq!(rows.write(&mut page, row..row + 1), Ok(1));
                assert_eq!(page.as_bytes(), alone, "{template}");
                assert!(alone.len() <= format.max_bytes());
                text.push_str(std::str::from_utf8(&alone).unwrap());
            }
            assert!(whole == text, "{template}");
        }
    }
}

/// Values around all thresholds between narrow cells, wide cells and no cells, for all precisions and widths.
#[test]
fn cells_are_equal_to_single_values() {
    let mut state = 11;
    let mut values = Vec::new();
    for power in (-12..16).step_by(sized(1, 14)) {
        let ten = 10f64.powi(power);
        for factor in [0.5, 0.99999999, 1.0, 1.00000001, 2.5, 9.9999999999, 5.0 + random(&mut state) as f64 / 1e20] {
            values.extend([ten * factor, -ten * factor]);
        }
    }
    for digits in (0..=12).step_by(sized(1, 12)) {
        for width in ["", "1", "9", "15", "16", "-14"].into_iter().step_by(sized(1, 5)) {
            let template = format!("%{width}.{digits}f|");
            let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            let narrow: Vec<u8> = values.iter().flat_map(|&value| (value as f32).to_ne_bytes()).collect();
            for (kind, data) in [(ValueType::F64, &data), (ValueType::F32, &narrow)] {
                let format = RowFormat::printf(&template, &[kind], PrintfDialect::C).unwrap();
                for (index, value) in values.iter().enumerate() {
                    // The same value 32 times, so that no other value prevents cells.
                    let columns = [StridedColumn::new(data, index * kind.bytes(), 0, 32, kind).unwrap()];
                    let mut buffer = [0; 16_000];
                    let mut page = Page::new(&mut buffer);
                    assert_eq!(format.over(&columns).unwrap().write(&mut page, 0..32), Ok(32));
                    let mut single = [0; 600];
                    let mut expected = Page::new(&mut single);
                    match kind {
                        ValueType::F32 => expected.fixed_f32(*value as f32, digits),
                        _ => expected.fixed_f64(*value, digits),
                    }
                    let expected = std::str::from_utf8(expected.as_bytes()).unwrap();
                    let wide: usize = width.trim_start_matches('-').parse().unwrap_or(0);
                    let expected = if width.starts_with('-') {
                        format!("{expected:<wide$}|")
                    } else {
                        format!("{expected:>wide$}|")
                    };
                    assert!(page.as_bytes() == expected.repeat(32).as_bytes(), "{template} of {kind} {value:e}");
                }
            }
        }
    }
}

#[test]
fn whole_rows_in_every_amount_of_room() {
    let records = Records::new(40, true);
    let columns = records.columns();
    for template in TEMPLATES {
        let format = fields(template);
        let rows = format.over(&columns).unwrap();
        let whole = records.text(&format, 1 << 20);
        let mut buffer = vec![0; whole.len() + 200];
        for room in (0..whole.len().min(1500)).chain(whole.len() - 30..=whole.len() + 200).step_by(sized(1, 311)) {
            let buffer = &mut buffer[..room];
            buffer.fill(0xAA);
            let mut page = Page::new(buffer);
            let count = rows.write(&mut page, 0..40).unwrap();
            assert!(!page.overflowed() && whole.as_bytes().starts_with(page.as_bytes()));
            assert_eq!(page.as_bytes().iter().filter(|&&byte| byte == b'\n').count(), count);
            let next = whole[page.len()..].find('\n').map_or(room + 1, |offset| offset + 1);
            assert!(page.len() + next > room, "{template}: one more row would have fitted into {room}");
        }
    }
}

#[test]
fn limits_are_reached() {
    let template = format!("%-{MAX_WIDTH}.{MAX_PRECISION}f|%.{MAX_PRECISION}e|%{MAX_WIDTH}s|");
    let data = f64::MIN.to_ne_bytes();
    let columns = [StridedColumn::new(&data, 0, 8, 1, ValueType::F64).unwrap(); 3];
    let format = RowFormat::printf(&template, &[ValueType::F64; 3], PrintfDialect::C).unwrap();
    let mut buffer = vec![0; 2000];
    let mut page = Page::new(&mut buffer);
    assert_eq!(format.over(&columns).unwrap().write(&mut page, 0..1), Ok(1));
    assert!(page.len() > 2 * MAX_WIDTH && page.len() <= format.max_bytes());
}

#[test]
fn a_format_without_columns_has_unlimited_rows() {
    let format = RowFormat::printf("a row\n", &[], PrintfDialect::Python).unwrap();
    let rows = format.over(&[]).unwrap();
    let mut buffer = [0; 20];
    let mut page = Page::new(&mut buffer);
    assert_eq!(rows.write(&mut page, 0..usize::MAX), Ok(3));
    assert_eq!(page.as_bytes(), b"a row\na row\na row\n");
    let nothing = RowFormat::printf("", &[], PrintfDialect::Python).unwrap();
    assert_eq!(nothing.over(&[]).unwrap().write(&mut page, 5..1000), Ok(995));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "it has no threads")]
fn threads_share_rows() {
    let records = Records::new(sized(2000, 750), true);
    let format = fields("{flag:y/n} {value:.2f} {wide:.3e}\n");
    let columns = records.columns();
    let rows = format.over(&columns).unwrap();
    let part = |range: std::ops::Range<usize>| {
        let mut buffer = vec![0; 1 << 17];
        let mut page = Page::new(&mut buffer);
        assert_eq!(rows.write(&mut page, range.clone()), Ok(range.len()));
        page.as_bytes().to_vec()
    };
    let parts = std::thread::scope(|scope| {
        let workers = [0..700, 700..703, 703..records.count].map(|range| scope.spawn(|| part(range)));
        workers.map(|worker| worker.join().unwrap())
    });
    assert_eq!(parts.concat(), records.text(&format, 3000).as_bytes());
}
