//! Compares facets on every level with a parser that splits strings.

use crate::parse_support::{Random, line_of, windows};
use crate::sizes::sized;
use polyhaul_text::parse::facets::{Facet, LINES, facets};
use polyhaul_text::parse::positions::DigitLoss;

/// Words of each line of a facet; a dot stands for a number.
const SHAPE: [&[&str]; LINES] = [
    &["facet", "normal", ".", ".", "."],
    &["outer", "loop"],
    &["vertex", ".", ".", "."],
    &["vertex", ".", ".", "."],
    &["vertex", ".", ".", "."],
    &["endloop"],
    &["endfacet"],
];

/// Returns the numbers of the facet on these lines; `None` if they are not a facet.
fn naive(lines: &[&[u8]]) -> Option<Vec<f32>> {
    let mut numbers = Vec::new();
    for (line, shape) in lines.iter().zip(SHAPE) {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split([' ', '\t', '\x0B', '\x0C', '\r']).filter(|word| !word.is_empty()).collect();
        if words.len() != shape.len() {
            return None;
        }
        for (word, expected) in words.into_iter().zip(shape) {
            match *expected {
                "." => numbers.push(word.parse().ok()?),
                keyword => word.eq_ignore_ascii_case(keyword).then_some(())?,
            }
        }
    }
    (lines.len() == LINES).then_some(numbers)
}

/// Parses a text on all levels; returns the number of facets in it.
fn check(text: &[u8]) -> usize {
    let mut count = 0;
    windows(text, |windows| {
        let lines: Vec<&[u8]> = (0..windows[0].index.lines().len()).map(|line| line_of(windows[0], line)).collect();
        let mut line = 0;
        while line < lines.len() {
            let mut expected = lines[line..].chunks(LINES).map_while(naive).take(70).peekable();
            let step = if expected.peek().is_some() { 0 } else { 1 };
            let expected: Vec<Vec<f32>> = expected.collect();
            for &window in windows {
                let mut out: [Facet; 70] = [[[7.0; 3]; 4]; 70];
                assert_eq!(
                    facets(window, line, &mut out, &mut [], &mut DigitLoss::default()),
                    expected.len(),
                    "line {line} on {:?}",
                    window.level
                );
                for (facet, expected) in out.iter().zip(&expected) {
                    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(facet.as_flattened()), bits(expected), "line {line} on {:?}", window.level);
                }
            }
            count += expected.len();
            line += step + LINES * expected.len();
        }
    });
    count
}

fn number(random: &mut Random) -> String {
    let digits = 1 + random.below(9);
    let number = random.digits(digits);
    match random.below(12) {
        0 => format!("-{number}"),
        1 => format!("{number}e-5"),
        2 => format!("+0.{number}E+03"),
        3 => format!("-.{number}{number}{number}"),
        _ => format!("{}.{number}", random.below(100)),
    }
}

/// Returns a facet that is usually valid.
fn facet(random: &mut Random) -> String {
    let odd = random.below(40);
    let mut text = String::new();
    for shape in SHAPE {
        text.push_str(&" \t"[..random.below(3)]);
        for word in shape {
            let word = if *word == "." { number(random) } else { (*word).to_owned() };
            let word = if random.below(30) == 0 { word.to_uppercase() } else { word };
            text.push_str(&word);
            text.push_str(random.pick(&[" ", "  ", "\t", " "]));
        }
        text.push_str(random.pick(&["\n", "\n", "\r\n", " \n"]));
    }
    match odd {
        0 => text.replacen(' ', "/", 1),
        1 => text.replacen("vertex", "xvertex", 1),
        2 => text.replacen("loop", "loop\n", 1),
        3 => text.replacen("endloop", "endloop 1", 1),
        4 => text.replacen('.', "x", 1),
        5 => text.replacen("outer", "\nouter", 1),
        6 => text.replacen("vertex", "verte", 1),
        7 => text.replacen("vertex", "\x01vertex", 1),
        8 => format!("{text}endsolid\nsolid facet\n"),
        _ => text,
    }
}

#[test]
fn only_facets_are_parsed() {
    let mut random = Random::new(1);
    let mut parsed = 0;
    for count in [1, 2, 31, 32, 33, 64, 65, 400, 2000].into_iter().step_by(sized(1, 4)).take(sized(9, 2)) {
        let text: String = (0..count).map(|_| facet(&mut random)).collect();
        parsed += check(text.as_bytes());
    }
    assert!(sized(1800..2600, 20..34).contains(&parsed), "{parsed}");
}

#[test]
fn every_number_may_be_odd() {
    let plain = "FACET normal 0 0 1\nouter loop\nvertex 1 2 3\nvertex 4 5 6\nvertex 7 8 9\nendloop\nendfacet\n";
    for (offset, _) in plain.match_indices(|c: char| c.is_ascii_digit()).step_by(sized(1, 5)) {
        for (number, is_valid) in [("1e3", true), ("nan", true), ("1.x", false), ("-", false), ("0x1", false)] {
            let mut odd = plain.to_owned();
            odd.replace_range(offset..=offset, number);
            let expected = if is_valid { 5 } else { 4 };
            assert_eq!(check((plain.repeat(2) + &odd + plain + plain).as_bytes()), expected, "{odd}");
        }
    }
    assert_eq!(check(plain.trim_end().as_bytes()), 0, "the last line has no end");
}
