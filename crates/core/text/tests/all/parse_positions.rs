//! Compares coordinates and their losses on every level with exact integer arithmetic.

use crate::parse_support::{Random, line_of, windows, words};
use crate::sizes::sized;
use polyhaul_text::parse::number;
use polyhaul_text::parse::positions::{DigitLoss, position_rows, position_tokens};
use polyhaul_text::parse::rows::Window;

/// The loss of a number as an f32, by definition.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    Nothing,
    /// Too close to half a unit of the last digit to decide.
    Unclear,
    Short,
    Long,
}

/// Returns the loss of a decimal number with up to 30 digits, fewer than 10 of them after the point, and no exponent.
fn naive(token: &str) -> Loss {
    let (whole, part) =
        token.trim_start_matches(['-', '+']).split_once('.').unwrap_or((token.trim_start_matches('-'), ""));
    let part = part.trim_end_matches('0');
    let digits = format!("{whole}{part}");
    let significant = digits.trim_start_matches('0');
    let significant = if part.is_empty() { significant.trim_end_matches('0') } else { significant };
    let single: f32 = token.parse().unwrap();
    let double: f64 = token.parse().unwrap();
    if f64::from(single) == double {
        return Loss::Nothing;
    }
    if significant.len() > 12 {
        return Loss::Long;
    }
    // |d / 10^p - m 2^e| in units of 2^-SCALE / 10^p.
    const SCALE: i32 = 60;
    let decimal = digits.parse::<i128>().unwrap() << SCALE;
    let bits = single.abs().to_bits() as i32;
    let mantissa = i128::from(bits & 0x7F_FFFF | 0x80_0000);
    let power = (bits >> 23) - 150 + SCALE;
    let tens = 10i128.pow(part.len() as u32);
    let binary = if power >= 0 { (mantissa * tens) << power } else { (mantissa * tens) >> -power };
    // The unit of an integer with trailing zeros is larger.
    let zeros = if part.is_empty() { digits.len() - digits.trim_end_matches('0').len() } else { 0 };
    let error = (decimal - binary).abs() / 10i128.pow(zeros as u32);
    let half = 1i128 << (SCALE - 1);
    match error {
        error if error <= half => Loss::Nothing,
        error if error <= half + half / 256 => Loss::Unclear,
        _ => Loss::Short,
    }
}

#[test]
fn losses_as_defined() {
    let cases = [
        ("5411234.456", Loss::Short),
        ("454123.125", Loss::Nothing),
        ("100.12345", Loss::Nothing),
        ("100.123456", Loss::Short),
        ("16777217", Loss::Short),
        ("16777216", Loss::Nothing),
        ("167772160", Loss::Nothing),
        ("0.1", Loss::Nothing),
        ("0.30000000000000004", Loss::Long),
        ("123456789012", Loss::Short),
        ("1234567890123", Loss::Long),
        ("1234567890120", Loss::Short),
        ("0.333333333333", Loss::Short),
        ("0.3333333333333", Loss::Long),
    ];
    for (token, expected) in cases {
        let mut loss = DigitLoss::default();
        loss.add(token.as_bytes());
        let counted = match (loss.short, loss.long) {
            (1, 0) => Loss::Short,
            (0, 1) => Loss::Long,
            _ => Loss::Nothing,
        };
        assert_eq!((counted, naive(token)), (expected, expected), "{token}");
    }
}

/// Expected losses of the coordinates of rows; `unclear` counts those that are too close to half a unit to decide.
#[derive(Debug, Default)]
struct Expected {
    short: u64,
    long: u64,
    unclear: u64,
}

impl Expected {
    fn add(&mut self, row: &[&str]) {
        for token in &row[..3] {
            match naive(token) {
                Loss::Short => self.short += 1,
                Loss::Long => self.long += 1,
                Loss::Unclear => self.unclear += 1,
                Loss::Nothing => {}
            }
        }
    }

    fn check(&self, loss: &DigitLoss) {
        let possible = self.short..=self.short + self.unclear;
        if loss.counts_all {
            assert!(possible.contains(&loss.short), "{self:?} {loss:?}");
            assert_eq!(loss.long, self.long, "{self:?} {loss:?}");
        } else if self.unclear == 0 {
            assert_eq!(loss.short > 0, self.short > 0, "{self:?} {loss:?}");
            assert!(self.short > 0 || loss.long == self.long, "{self:?} {loss:?}");
        }
    }
}

fn losses() -> [DigitLoss; 2] {
    [false, true].map(|counts_all| DigitLoss { counts_all, ..DigitLoss::default() })
}

/// Parses rows of a text on all levels, with and without doubles, and checks values and losses; losses of rows that
/// kernels reject are added separately. Returns the expected numbers of short and of long losses.
fn check_rows<const N: usize>(text: &str) -> (u64, u64) {
    let mut expected = Expected::default();
    let mut by_level = Vec::new();
    let mut fast = 0;
    windows(text.as_bytes(), |windows| {
        by_level.resize(windows.len(), [losses(), losses()]);
        let lines: Vec<Vec<&str>> =
            (0..windows[0].index.lines().len()).filter_map(|line| words(line_of(windows[0], line), "v")).collect();
        lines.iter().for_each(|row| expected.add(row));
        for (window, by_doubles) in windows.iter().zip(&mut by_level) {
            for (has_doubles, losses) in [false, true].into_iter().zip(by_doubles) {
                for loss in losses {
                    fast += check_window::<N>(*window, &lines, has_doubles, loss);
                }
            }
        }
    });
    by_level.iter().flatten().flatten().for_each(|loss| expected.check(loss));
    assert!(fast > 0);
    (expected.short, expected.long)
}

/// Number of rows parsed at once.
const ROWS: usize = if cfg!(miri) { 20 } else { 200 };

fn check_window<const N: usize>(
    window: Window<'_>,
    lines: &[Vec<&str>],
    has_doubles: bool,
    loss: &mut DigitLoss,
) -> usize {
    let mut line = 0;
    let mut fast = 0;
    while line < lines.len() {
        let mut singles = [[7.0; N]; ROWS];
        let mut doubles = [[7.0; N]; ROWS];
        let out = if has_doubles { &mut doubles[..] } else { &mut [] };
        let parsed = position_rows(window, line, b"v", &mut singles, out, loss);
        for (at, row) in lines[line..line + parsed].iter().enumerate() {
            let expected: Vec<u32> = row.iter().map(|token| token.parse::<f32>().unwrap().to_bits()).collect();
            assert_eq!(singles[at].map(f32::to_bits)[..], expected, "{row:?} on {:?}", window.level);
            let expected: Vec<u64> = row.iter().map(|token| token.parse::<f64>().unwrap().to_bits()).collect();
            assert!(!has_doubles || doubles[at].map(f64::to_bits)[..] == expected, "{row:?} on {:?}", window.level);
        }
        assert!(singles[parsed..].iter().all(|row| row.map(f32::to_bits) == [7f32.to_bits(); N]), "{:?}", window.level);
        line += parsed;
        fast += parsed;
        if parsed < ROWS && line < lines.len() {
            lines[line][..3].iter().for_each(|token| loss.add(token.as_bytes()));
            line += 1;
        }
    }
    fast
}

/// Returns a coordinate of a kind found in files.
fn coordinate(random: &mut Random, is_short: bool) -> String {
    let whole = if is_short { random.below(5) } else { random.below(9) };
    let places = if is_short { random.below(6 - whole) } else { random.below(10) };
    let whole = if whole == 0 { "0".to_owned() } else { random.digits(whole) };
    let sign = random.pick(&["", "", "-"]);
    match places {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{}", random.word(b"0123456789", places)),
    }
}

fn row(random: &mut Random, width: usize, is_short: bool) -> String {
    let numbers: Vec<String> = (0..width)
        .map(|at| match random.below(200) {
            0 if !is_short || at >= 3 => format!("{}.{}", random.digits(9), random.digits(9)),
            1 => "0.00000012345".to_owned(),
            _ => coordinate(random, is_short),
        })
        .collect();
    format!("v {}{}", numbers.join(random.pick(&[" ", " ", "  ", "\t"])), random.pick(&["\n", "\n", "\r\n"]))
}

fn text(random: &mut Random, rows: usize, width: usize, is_short: bool) -> String {
    (0..rows).map(|_| row(random, width, is_short)).collect()
}

#[test]
fn every_level_finds_every_loss() {
    let mut random = Random::new(5);
    for rows in [1, 2, 3, 4, 5, 63, 64, 65, 130, 700].into_iter().step_by(sized(1, 3)).take(sized(10, 2)) {
        check_rows::<3>(&text(&mut random, rows, 3, false));
        check_rows::<4>(&text(&mut random, rows, 4, false));
        check_rows::<6>(&text(&mut random, rows, 6, false));
        check_rows::<7>(&text(&mut random, rows, 7, false));
    }
    let (short, long) = check_rows::<3>(&text(&mut random, sized(4000, 40), 3, false));
    assert!(short > sized(3000, 10) && long > sized(1000, 3), "{short} {long}");
}

#[test]
fn numbers_of_floats_lose_nothing() {
    let mut random = Random::new(6);
    // Six digits, which an f32 always keeps. The other numbers of a row may lose any precision.
    assert_eq!(check_rows::<3>(&text(&mut random, sized(2000, 12), 3, true)), (0, 0));
    assert_eq!(check_rows::<7>(&text(&mut random, sized(500, 6), 7, true)), (0, 0));
    // Floats as programs print them: rounded to fixed decimals, with 9 significant digits, with the shortest digits.
    let floats: String = (0..sized(3000, 12))
        .map(|_| {
            let value = f32::from_bits((random.bits() as u32 & 0x87FF_FFFF) + 0x3C00_0000);
            let nine = (8.0 - f64::from(value.abs()).log10().floor()) as usize;
            format!("v {value:.6} {value:.nine$} {value}\n")
        })
        .collect();
    let (short, long) = check_rows::<3>(&floats);
    assert_eq!((short, long), (0, 0));
}

/// A single lossy number among many floats is found at any position.
#[test]
fn one_loss_is_found_wherever_it_is() {
    let mut random = Random::new(7);
    let plain: Vec<String> = (0..sized(300, 9)).map(|_| row(&mut random, 3, true)).collect();
    for at in (0..plain.len()).step_by(sized(1, 7)) {
        for place in 0..3 {
            let mut numbers = ["1", "2", "3"];
            numbers[place] = random.pick(&["5411234.456", "-5411234.456", "0.123456789", "5411234.4567890123"]);
            let odd = format!("v {}\n", numbers.join(" "));
            let text: String =
                plain.iter().enumerate().map(|(row, text)| if row == at { &odd } else { text }).cloned().collect();
            let (short, long) = check_rows::<3>(&text);
            assert_eq!(short + long, 1);
        }
    }
}

#[test]
fn tokens_of_any_width() {
    let mut random = Random::new(8);
    let mut slow = 0;
    for width in (3..=12).step_by(sized(1, 4)) {
        let rows = sized(40, 12);
        let text = format!(" {}", text(&mut random, rows, width, false).replace("v ", ""));
        let tokens: Vec<&str> = text.split_ascii_whitespace().collect();
        let mut expected = Expected::default();
        tokens.chunks(width).for_each(|row| expected.add(row));
        windows(text.as_bytes(), |windows| {
            for &window in windows {
                let mut loss = losses()[1];
                let mut singles = vec![7.0; rows * width];
                let mut doubles = vec![7.0; rows * width];
                let mut at = 0;
                while at < tokens.len() {
                    let singles = &mut singles[at..];
                    let doubles = &mut doubles[at..];
                    let parsed = position_tokens(window, at, width, singles, doubles, &mut loss) * width;
                    at += parsed;
                    if at < tokens.len() && parsed == 0 {
                        let row = &tokens[at..at + width];
                        row[..3].iter().for_each(|token| loss.add(token.as_bytes()));
                        for (place, token) in row.iter().enumerate() {
                            singles[place] = token.parse().unwrap();
                            doubles[place] = token.parse().unwrap();
                        }
                        slow += 1;
                        at += width;
                    }
                }
                expected.check(&loss);
                for ((token, single), double) in tokens.iter().zip(&singles).zip(&doubles) {
                    assert_eq!(number::f32(token.as_bytes()), Some(*single));
                    assert_eq!(number::f64(token.as_bytes()), Some(*double));
                }
            }
        });
    }
    assert!(slow < 50, "{slow}");
}
