//! Properties of any text parsed as numbers.

use super::trial::Effort;
use polyhaul_text::cpu::Level;
use polyhaul_text::format::Page;
use polyhaul_text::parse::number::{self, IntegerError};
use polyhaul_text::parse::positions::{DigitLoss, position_rows};
use polyhaul_text::parse::rows::{VALUE_SLACK, Window, face_rows, float_rows, long_float_rows};
use polyhaul_text::scan::{Index, MAX_ENDS, MAX_LINES, PADDING, is_space};

/// Maximum number of tokens to parse individually when fuzzing: the rest of a long text adds little.
const MAX_TOKENS: usize = 64;

/// Parses every token as every type of number and compares with the standard library; parses rows with every
/// instruction set, which may leave different rows to the slow path; formats every number, which must parse back to the
/// same value.
pub fn numbers(data: &[u8], effort: Effort) {
    let tokens = data.split(|&byte| is_space(byte)).filter(|token| !token.is_empty());
    let max_tokens = if effort == Effort::Full { usize::MAX } else { MAX_TOKENS };
    for token in tokens.take(max_tokens) {
        floats(token);
        integers(token);
    }
    rows(data);
}

fn floats(token: &[u8]) {
    let expected = text(token).and_then(|text| text.parse::<f32>().ok());
    let parsed = number::f32(token);
    assert_eq!(parsed.map(same_nan), expected.map(same_nan), "f32 {token:?}");
    let expected = text(token).and_then(|text| text.parse::<f64>().ok());
    let parsed = number::f64(token);
    let bits = |value: f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
    assert_eq!(parsed.map(bits), expected.map(bits), "f64 {token:?}");
    let Some(single) = number::f32(token) else { return };
    let Some(double) = parsed else { return };
    for digits in [0, 4, 6, 12] {
        let expected = format!("{single:.digits$} {double:.digits$}");
        let written = formatted(|page| {
            page.fixed_f32(single, digits);
            page.byte(b' ');
            page.fixed_f64(double, digits);
        });
        if single.is_finite() && double.is_finite() {
            assert_eq!(written, expected, "{digits} digits");
        }
    }
    let short = formatted(|p| p.shortest_f32(single));
    let long = formatted(|p| p.shortest_f64(double));
    assert_eq!(number::f32(short.as_bytes()).map(same_nan), Some(same_nan(single)), "{short}");
    assert_eq!(number::f64(long.as_bytes()).map(bits), Some(bits(double)), "{long}");
}

fn text(token: &[u8]) -> Option<&str> {
    std::str::from_utf8(token).ok()
}

fn same_nan(value: f32) -> u32 {
    if value.is_nan() { u32::MAX } else { value.to_bits() }
}

fn formatted(write: impl FnOnce(&mut Page)) -> String {
    let mut buffer = [0; 1000];
    let mut page = Page::new(&mut buffer);
    write(&mut page);
    assert!(!page.overflowed());
    String::from_utf8_lossy(page.as_bytes()).into_owned()
}

fn integers(token: &[u8]) {
    let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    match number::i64(token) {
        Ok(value) => assert_eq!(text(token).and_then(|t| t.parse().ok()), Some(value)),
        Err(error) => {
            assert!(text(token).is_none_or(|t| t.parse::<i64>().is_err()), "{token:?}");
            assert_eq!(error == IntegerError::Overflow, plain, "{token:?}");
        }
    }
    match number::u64(token) {
        Ok(value) => assert_eq!(text(token).and_then(|t| t.parse().ok()), Some(value)),
        Err(error) => assert_eq!(error == IntegerError::Overflow, plain && digits.len() == token.len()),
    }
}

/// Checks that the row kernels and the slow path return equal values.
fn rows(data: &[u8]) {
    let mut padded = vec![b' '; PADDING];
    padded.extend_from_slice(data);
    padded.push(b'\n');
    padded.resize(padded.len() + PADDING, b'7');
    let end = padded.len() - PADDING;
    let mut index = Box::new(Index::new());
    let mut values = vec![0; MAX_ENDS + VALUE_SLACK];
    for level in Level::all() {
        let mut start = PADDING;
        while start < end {
            index.scan(&padded, start, end, level);
            if index.lines().is_empty() {
                // A line with more tokens than a window is left to the slow path.
                let next = padded[start..end].iter().position(|&b| b == b'\n');
                start += next.map_or(end, |next| next + 1);
                continue;
            }
            let window = Window { padded: &padded, index: &index, level };
            window_rows(window, &mut values);
            start = index.next_start();
        }
    }
}

/// Checks that the kernel and the slow path return equal coordinates and losses of digits for a row.
fn position_row(window: Window<'_>, line: usize, tokens: &[&[u8]]) {
    let mut singles = [[0.0; 3]; 1];
    let mut doubles = [[0.0; 3]; 1];
    let mut loss = DigitLoss { counts_all: true, ..DigitLoss::default() };
    if position_rows(window, line, b"v", &mut singles, &mut doubles, &mut loss) == 0 {
        return;
    }
    let mut slow = DigitLoss { counts_all: true, ..DigitLoss::default() };
    for (place, token) in tokens[1..].iter().enumerate() {
        slow.add(token);
        assert_eq!(number::f32(token).map(f32::to_bits), Some(singles[0][place].to_bits()), "{token:?}");
        assert_eq!(number::f64(token).map(f64::to_bits), Some(doubles[0][place].to_bits()), "{token:?}");
    }
    assert_eq!((loss.short, loss.largest), (slow.short, slow.largest), "{tokens:?}");
    // The kernel may count a long number whose value happens to be an f32.
    assert!(loss.long >= slow.long, "{tokens:?}");
}

/// Compares every row of a window with the slow path.
fn window_rows(window: Window<'_>, values: &mut [u32]) {
    let mut row_ends = vec![0; MAX_LINES];
    for line in 0..window.index.lines().len() {
        let start = window.index.line_start(line);
        let bytes = &window.padded[start..window.index.lines()[line].newline as usize];
        let tokens: Vec<&[u8]> = bytes.split(|&b| is_space(b)).filter(|t| !t.is_empty()).collect();
        for kernel in [float_rows, long_float_rows] {
            let mut out = [[0.0; 3]; 1];
            if kernel(window, line, b"v", &mut out) == 1 {
                let slow: Vec<_> = tokens[1..].iter().filter_map(|t| number::f32(t)).collect();
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
                assert!(slow.len() == 3 && slow.iter().zip(&out[0]).all(same), "{slow:?} {out:?}");
            }
        }
        position_row(window, line, &tokens);
        let faces = face_rows(window, line, b"f", values, &mut row_ends[..1]);
        if faces.rows == 1 {
            let taken = &values[..faces.values];
            let slow = tokens[1..].iter().flat_map(|token| token.split(|&b| b == b'/'));
            let index = |part| text(part).and_then(|t| t.parse::<i64>().ok()).unwrap_or(0);
            let slow: Vec<i64> = slow.map(index).collect();
            // Negative indices are returned as two's complement.
            let value = |&bits: &u32| if faces.is_negative { i64::from(bits as i32) } else { i64::from(bits) };
            assert_eq!(slow, taken.iter().map(value).collect::<Vec<_>>(), "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
