//! Checks which texts are grids, and the values of grids to the last bit.

use crate::parse_support::{Random, padded};
use crate::sizes::sized;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::grid::{Grid, MAX_COLUMNS};
use polyhaul_text::scan::{PADDING, Separator};
use std::mem::MaybeUninit;

/// Returns the numbers of a grid, by definition; `None` if the text is not a grid.
fn naive(text: &str, separator: u8, columns: usize) -> Option<Vec<&str>> {
    let rows = text.strip_suffix('\n')?.split('\n').map(|line| line.split(char::from(separator)).collect::<Vec<_>>());
    let rows: Vec<_> = rows.collect();
    let places = rows[0][0].len() - rows[0][0].find('.')? - 1;
    let is_plain = |field: &&str| {
        let bare = field.strip_prefix('-').unwrap_or(field);
        let point = bare.find('.');
        let digits = bare.bytes().filter(u8::is_ascii_digit).count();
        point == bare.len().checked_sub(places + 1) && digits + 1 == bare.len() && field.len() <= 16
    };
    let is_grid = (1..=MAX_COLUMNS).contains(&columns)
        && (1..=14).contains(&places)
        && rows.iter().all(|row| row.len() == columns && row.iter().all(is_plain));
    is_grid.then(|| rows.concat())
}

fn filled<T: Copy>(values: &[MaybeUninit<T>]) -> Vec<T> {
    // SAFETY: all were written.
    values.iter().map(|value| unsafe { value.assume_init() }).collect()
}

/// Compares a text with the definition of a grid, and its values, starting at any number, with Rust's parser.
fn check(grid: &mut Grid, text: &str, separator: Separator, columns: usize) -> bool {
    let bytes = padded(text.as_bytes());
    let byte = match separator {
        Separator::Byte(byte) => byte,
        Separator::Blanks
            if text.split_ascii_whitespace().next().is_some_and(|first| text[first.len()..].starts_with('\t')) =>
        {
            b'\t'
        }
        Separator::Blanks => b' ',
    };
    let expected = naive(text, byte, columns);
    for level in Level::all() {
        let is_grid = grid.scan(&bytes, PADDING..PADDING + text.len(), separator, columns, level).unwrap();
        if Level::all().count() < 3 || level != Level::best() {
            assert!(!is_grid, "{level:?}");
            continue;
        }
        assert_eq!(is_grid, expected.is_some(), "{text:?}");
        assert_eq!(grid.len(), expected.as_ref().map_or(0, Vec::len));
        let Some(expected) = &expected else { continue };
        for first in [0, 1, 7, expected.len() / 2, expected.len()] {
            let Some(expected) = expected.get(first..) else { continue };
            for count in [expected.len(), expected.len() / 2, expected.len().min(9)] {
                let mut doubles = vec![MaybeUninit::uninit(); count];
                grid.f64s(&bytes, first, &mut doubles);
                let mut singles = vec![MaybeUninit::uninit(); count];
                grid.f32s(&bytes, first, &mut singles);
                for ((token, double), single) in expected.iter().zip(filled(&doubles)).zip(filled(&singles)) {
                    assert_eq!(double.to_bits(), token.parse::<f64>().unwrap().to_bits(), "{token}");
                    assert_eq!(single.to_bits(), token.parse::<f32>().unwrap().to_bits(), "{token}");
                }
            }
        }
    }
    expected.is_some()
}

/// Returns the text of a grid of random numbers.
fn grid_text(random: &mut Random, rows: usize, columns: usize, places: usize, separator: u8) -> String {
    let mut text = String::new();
    for row in 0..rows * columns {
        let mut room = 15 - places;
        if random.below(2) == 0 {
            text.push('-');
            room -= 1;
        }
        let digits = |random: &mut Random, count: usize| -> String {
            (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
        };
        let whole = random.below(1 + room);
        text += &digits(random, whole);
        text.push('.');
        text += &digits(random, places);
        text.push(if (row + 1) % columns == 0 { '\n' } else { char::from(separator) });
    }
    text
}

#[test]
fn grids_of_all_shapes_have_the_nearest_values() {
    let mut random = Random::new(5);
    let mut grid = Grid::default();
    for places in (1..=14).step_by(sized(1, 6)) {
        for columns in [1, 2, 3, 5, 8, 63, 64] {
            for (byte, separator) in
                [(b',', Separator::Byte(b',')), (b' ', Separator::Blanks), (b'\t', Separator::Blanks)]
            {
                let text = grid_text(&mut random, 1 + sized(200, 20) / columns, columns, places, byte);
                assert!(check(&mut grid, &text, separator, columns) || columns == 1 && byte == b'\t', "{text}");
            }
        }
    }
    let long = grid_text(&mut random, sized(5000, 90), 3, 6, b' ');
    assert!(check(&mut grid, &long, Separator::Blanks, 3));
    assert!(!check(&mut grid, &grid_text(&mut random, 3, 65, 6, b' '), Separator::Blanks, 65));
}

#[test]
fn other_texts_are_not_grids() {
    let mut grid = Grid::default();
    for text in [
        "1.5,2.5\n1.5\n",
        "1.5,2.5\n1.5,2.5,3.5\n",
        "1.5\n2.5,3.5\n4.5\n",
        "1.5,2.5",
        "1.5,2.5\n\n",
        "\n1.5,2.5\n",
        "1.5,2\n",
        "1.5,2.55\n",
        "1.5,2.5\r\n",
        "1.5,\n",
        ",1.5\n",
        "1.5, 2.5\n",
        "1.5,+2.5\n",
        "1.5,--2.5\n",
        "1.5,2-.5\n",
        "1.5,2.-5\n",
        "1.5,1.2.5\n",
        "1.5,nan\n",
        "1.5,1e.5\n",
        "1.5,-.5\n",
        "1.5,.5\n",
        "1.5,2.5 # no\n",
        "1.5,\"2.5\"\n",
        "1,2\n",
        "1.,2.\n",
        ".,.\n",
        "1.5,123456789012345.5\n",
        "1.5,12345678901234.5\n",
        "1.5,-1234567890123.5\n",
        "1.5,-12345678901234.5\n",
        "1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\n1.5,2.5\nx",
        "0.123456789012345,0.123456789012345\n",
        ".12345678901234,.12345678901234\n",
    ] {
        check(&mut grid, text, Separator::Byte(b','), 2);
    }
    assert!(check(&mut grid, "1.5,-.5\n", Separator::Byte(b','), 2));
    assert!(!check(&mut grid, "1.50,.5.\n", Separator::Byte(b','), 2));
}

/// Replaces one byte of a grid at a time: most results are not grids.
#[test]
fn a_changed_byte_is_noticed() {
    let mut random = Random::new(6);
    let mut grid = Grid::default();
    for columns in [1, 3, 7] {
        let text = grid_text(&mut random, 60 / columns, columns, 2, b',').into_bytes();
        for at in (0..text.len()).step_by(sized(1, 43)) {
            for byte in *b"0.-,\n\r +e\"#" {
                let mut changed = text.clone();
                changed[at] = byte;
                check(&mut grid, &String::from_utf8(changed).unwrap(), Separator::Byte(b','), columns);
            }
        }
    }
}

#[test]
fn floats_between_two_f32s_are_rounded_once() {
    let mut grid = Grid::default();
    // 2^24 + 1 and its neighbors, and other midpoints between two f32s.
    let text =
        "16777217.0000000,16777216.9999999\n16777217.0000001,16777219.0000000\n8388608.5000000,8388609.5000000\n";
    assert!(check(&mut grid, text, Separator::Byte(b','), 2));
    assert!(check(
        &mut grid,
        "1.00000005960464\n1.00000005960465\n0.00000000000001\n-.00000000000000\n",
        Separator::Blanks,
        1
    ));
}
