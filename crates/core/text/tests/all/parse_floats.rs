//! Checks rows of floats on every level: values are correct to the last bit, and rows that are not plain are rejected.

use crate::parse_support::{Random, line_of, windows, words};
use crate::sizes::sized;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::number;
use polyhaul_text::parse::rows::{Window, float_rows};
use polyhaul_text::scan::{Index, MAX_LINES, PADDING};

/// Whether a word has the documented notation of a plain float: up to 14 characters after an optional minus.
fn is_plain(word: &str) -> bool {
    let size = word.strip_prefix('-').unwrap_or(word);
    let digits = size.replacen('.', "", 1);
    size.len() <= 14 && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value is so close to the midpoint between two f32s that a kernel may reject it.
fn is_near_middle(word: &str) -> bool {
    let low = word.parse::<f64>().unwrap().to_bits() & 0x1FFF_FFFF;
    low.abs_diff(0x1000_0000) <= 8
}

/// Returns the values of a plain row; `None` if the line is not a plain row.
fn naive<const N: usize>(line: &[u8], keyword: &str) -> Option<Vec<f32>> {
    let words = words(line, keyword).filter(|words| words.len() == N)?;
    words.into_iter().map(|word| is_plain(word).then(|| word.parse().unwrap())).collect()
}

/// Parses a text on all levels; returns the number of parsed rows and the number of plain ones.
fn check<const N: usize>(text: &[u8], keyword: &str) -> (usize, usize) {
    let mut parsed = 0;
    let mut plain = 0;
    windows(text, |windows| {
        let lines = windows[0].index.lines().len();
        let mut line = 0;
        while line < lines {
            let rows = rows_on_all::<N>(windows, line, keyword);
            parsed += rows;
            plain += rows;
            line += rows;
            if line < lines {
                let left = line_of(windows[0], line);
                if naive::<N>(left, keyword).is_some() {
                    plain += 1;
                    let near = words(left, keyword).is_some_and(|words| words.into_iter().any(is_near_middle));
                    assert!(near, "left: {}", String::from_utf8_lossy(left));
                }
                line += 1;
            }
        }
    });
    (parsed, plain)
}

/// Parses rows from `line` on; checks that their number is the same on every level and that values equal those of
/// Rust's parser bit by bit.
fn rows_on_all<const N: usize>(windows: &[Window<'_>], line: usize, keyword: &str) -> usize {
    let mut counts = windows.iter().map(|&window| {
        let mut out = vec![[f32::NAN; N]; MAX_LINES];
        let rows = float_rows(window, line, keyword.as_bytes(), &mut out);
        for (row, values) in out[..rows].iter().enumerate() {
            let text = line_of(window, line + row);
            let shown = String::from_utf8_lossy(text);
            let expected = naive::<N>(text, keyword).unwrap_or_else(|| panic!("{:?} parsed {shown:?}", window.level));
            let is_same = expected.iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(is_same, "{:?}: {shown:?} is {expected:?}, not {values:?}", window.level);
        }
        rows
    });
    let first = counts.next().unwrap();
    assert!(counts.all(|count| count == first), "levels differ at line {line}");
    first
}

/// Returns rows of words, `N` per line.
fn lines<const N: usize>(keyword: &str, words: &[String]) -> String {
    words.chunks_exact(N).map(|row| format!("{keyword} {}\n", row.join(" "))).collect()
}

fn plain_word(random: &mut Random) -> String {
    let sign = random.pick(&["", "-"]);
    let size = 1 + random.below(14);
    let mut word = random.word(b"0123456789", size);
    if size > 1 && random.below(4) > 0 {
        let at = random.below(size);
        word.replace_range(at..at + 1, ".");
    }
    format!("{sign}{word}")
}

#[test]
fn plain_rows_of_any_width() {
    let mut random = Random::new(1);
    let values: Vec<String> = (0..sized(24_000, 120)).map(|_| plain_word(&mut random)).collect();
    for (parsed, plain) in [
        check::<2>(lines::<2>("vt", &values).as_bytes(), "vt"),
        check::<3>(lines::<3>("v", &values).as_bytes(), "v"),
        check::<4>(lines::<4>("keyword8", &values).as_bytes(), "keyword8"),
    ] {
        // Integers of nine digits and more are often halfway between two f32s.
        assert!(parsed > plain / 20 * 19, "{parsed} of {plain}");
    }
}

#[test]
fn zeros_and_points_at_the_ends() {
    let words = [
        "0",
        "-0",
        "-0.0",
        "0.0",
        "5.",
        ".5",
        "-.5",
        "-5.",
        "00000000000001",
        "000.0000000000",
        "-00012.50",
        "99999999999999",
        "9.999999999999",
        ".9999999999999",
        "9999999999999.",
        "-99999999999999",
        "00000000000000",
    ];
    let values: Vec<String> =
        words.iter().flat_map(|a| words.iter().flat_map(|b| [*a, *b, *a])).map(String::from).collect();
    let (parsed, plain) = check::<3>(lines::<3>("v", &values).as_bytes(), "v");
    assert_eq!((parsed, plain), (words.len() * words.len(), words.len() * words.len()));
}

#[test]
fn rows_that_are_not_plain_are_rejected() {
    let bad = [
        "-",
        ".",
        "-.",
        "1-2",
        "1.2.3",
        "..",
        "--1",
        "1-",
        "+1",
        "1e5",
        "1E5",
        "nan",
        "inf",
        "0x1",
        "1,5",
        "1_0",
        "1/2",
        "/1",
        "1/",
        "/",
        "\0",
        "1\0",
        "\x001",
        "#",
        "\\",
        "1\\",
        "é",
        "123456789012345",
        "-123456789012345",
        "1.3456789012345",
        "1234567890123456",
        "12345678901234567",
        "-1234567890123456",
        "12345678.123456789",
        "9999999999999999999999999999999999999999",
        "0.1x",
        "x0.1",
        "- 1",
        "1 .",
        "/ 1",
        "1 /",
    ];
    for word in bad {
        for at in 0..3 {
            let mut row = ["1.5", "-2", "3"];
            row[at] = word;
            let text = format!("v 1 2 3\nv {}\nv 4 5 6\n", row.join(" "));
            assert_eq!(check::<3>(text.as_bytes(), "v"), (2, 2), "{text}");
        }
    }
}

#[test]
fn other_lines_are_rejected() {
    for line in [
        "v",
        "v ",
        "v 1",
        "v 1 2",
        "v 1 2 3 4",
        "v1 2 3",
        "v1 2 3 4",
        "vn 1 2 3",
        "V 1 2 3",
        " v 1 2 3",
        "v/ 1 2 3",
        "v/1 2 3",
        "v 1 2 3 #",
        "v 1 2 3/",
        "v 1 2 /3",
        "",
        " ",
        "#",
        "v\0 1 2 3",
        "\0v 1 2 3",
        "v 1 2 3 \\",
        "v 1 2\\ 3",
        "1 2 3",
        "v v 1 2",
    ] {
        for ending in ["\n", "\r\n", "\r"] {
            let text = format!("v 7 8 9\n{line}{ending}v 7 8 9\n");
            assert_eq!(check::<3>(text.as_bytes(), "v"), (2, 2), "{text:?}");
        }
    }
}

#[test]
fn any_white_space_separates() {
    for space in ["  ", "\t", "\x0B", "\x0C", " \t ", &" ".repeat(20), &" ".repeat(70)] {
        for ending in ["\n", "\r\n", "\r", " \n", "\t\r\n", "\n\n"] {
            let text = format!("v{space}1.25{space}-2{space}.5{ending}").repeat(9);
            assert_eq!(check::<3>(text.as_bytes(), "v").0, 9, "{text:?}");
        }
    }
}

#[test]
fn runs_of_every_length_between_other_lines() {
    let mut text = String::new();
    for run in 0..12 {
        text += &"v 1.5 2.25 -3\n".repeat(run);
        text += "vt 1 2\nvt 3 4\nvt 5 6\n#\n";
    }
    assert_eq!(check::<3>(text.as_bytes(), "v").0, 66);
    assert_eq!(check::<2>(text.as_bytes(), "vt").0, 36);
}

#[test]
fn random_bytes() {
    let mut random = Random::new(2);
    for _ in 0..sized(60, 1) {
        let text = random.word(b"0123456789.-+eE/ \t\r\n#vfn\\\0x", sized(4000, 300));
        check::<3>(text.as_bytes(), "v");
        let text = random.word(b"0123....--  \nvvvv", sized(4000, 300)).replace('\n', "\nv ");
        check::<2>(text.as_bytes(), "v");
    }
}

#[test]
fn rows_with_one_changed_byte() {
    let mut random = Random::new(3);
    let values: Vec<String> = (0..sized(300, 60)).map(|_| plain_word(&mut random)).collect();
    let text = lines::<3>("v", &values).into_bytes();
    for _ in 0..sized(400, 3) {
        let mut changed = text.clone();
        let at = random.below(text.len());
        changed[at] = random.pick(&[b"\n", b"-", b".", b"/", b" ", b"9", b"\0", b"\xFF", b"\r", b"e"])[0];
        check::<3>(&changed, "v");
    }
}

/// Returns decimals at and next to the midpoint between two f32s, truncated to `size` characters.
fn near_middles(random: &mut Random, size: usize) -> Vec<String> {
    let exponent = random.below(44) as i32 - 20;
    let low = (1.0 + (random.bits() >> 41) as f32 / (1 << 23) as f32) * 2f32.powi(exponent);
    let middle = (f64::from(low) + f64::from(low.next_up())) / 2.0;
    let whole = format!("{}", middle as u64).len();
    let Some(places) = size.checked_sub(whole + 1) else { return Vec::new() };
    let scaled = middle * 10f64.powi(places as i32);
    let nearest = scaled.round() as i64;
    (-2..=2)
        .map(|step| {
            let digits = format!("{:0width$}", nearest + step, width = places + 1);
            let (before, after) = digits.split_at(digits.len() - places);
            if places == 0 { before.to_string() } else { format!("{before}.{after}") }
        })
        .collect()
}

#[test]
fn halfway_cases_are_rounded_once() {
    let mut random = Random::new(4);
    let mut values: Vec<String> = [
        "16777217",
        "16777219",
        "-16777221",
        "33554434",
        "33554438",
        "8388608.5",
        "8388609.5",
        "4194304.25",
        "4194304.75",
        "2097152.125",
        "1048576.0625",
        "524288.03125",
        "262144.015625",
        "131072.0078125",
        "1.000000059604",
        "1.000000178814",
        "0.500000029802",
    ]
    .map(String::from)
    .to_vec();
    while values.len() < sized(30_000, 90) {
        let size = 8 + random.below(7);
        values.extend(near_middles(&mut random, size).into_iter().filter(|word| word.len() <= 15));
    }
    let (parsed, plain) = check::<2>(lines::<2>("v", &values).as_bytes(), "v");
    assert!(parsed < plain, "no value was near enough to test anything");
    assert!(parsed > plain / 2, "{parsed} of {plain}");
    for word in &values {
        assert_eq!(number::f32(word.as_bytes()).map(f32::to_bits), word.parse().ok().map(f32::to_bits));
    }
}

#[test]
fn output_sizes_and_missing_lines() {
    let text = "v 1 2 3\n".repeat(10);
    windows(text.as_bytes(), |windows| {
        for &window in windows {
            for room in 0..12 {
                let mut out = vec![[0.0; 3]; room];
                assert_eq!(float_rows(window, 0, b"v", &mut out), room.min(10));
            }
            let mut out = [[0.0; 3]; 20];
            for line in 0..20 {
                assert_eq!(float_rows(window, line, b"v", &mut out), 10usize.saturating_sub(line));
            }
            assert_eq!(float_rows(window, usize::MAX, b"v", &mut out), 0);
            assert_eq!(float_rows(window, 0, b"", &mut out), 0);
            assert_eq!(float_rows(window, 0, b"v 1 2 3\nv", &mut out), 0);
        }
    });
}

#[test]
fn an_index_of_another_text() {
    let text = crate::parse_support::padded("v 1 2 3\n".repeat(10).as_bytes());
    let mut index = Index::new();
    for level in Level::all() {
        index.scan(&text, PADDING, text.len() - PADDING, level);
        let mut out = [[0.0; 3]; 20];
        for size in (0..text.len()).step_by(sized(1, 13)) {
            let window = Window { padded: &text[..size], index: &index, level };
            assert_eq!(float_rows(window, 0, b"v", &mut out), 0, "a shorter one");
        }
        let other = vec![b'-'; text.len()];
        assert_eq!(float_rows(Window { padded: &other, index: &index, level }, 0, b"v", &mut out), 0);
        let empty = Index::new();
        assert_eq!(float_rows(Window { padded: &text, index: &empty, level }, 0, b"v", &mut out), 0);
    }
}
