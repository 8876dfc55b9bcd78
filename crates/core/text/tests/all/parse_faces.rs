//! Compares rows of faces on every level with a parser that splits strings.

use crate::parse_support::{Random, line_of, windows, words};
use crate::sizes::sized;
use polyhaul_text::parse::rows::{CornerForm, FaceRows, VALUE_SLACK, Window, face_rows};
use polyhaul_text::scan::{MAX_ENDS, MAX_LINES};

/// Parses a plain index: whether it is negative (relative), and the bits of its value.
fn index(text: &str) -> Option<(bool, u32)> {
    let is_number = |digits: &str, max_size: usize| {
        (1..=max_size).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (negative, plain) = match text.strip_prefix('-') {
        Some(digits) => (true, is_number(digits, 7)),
        None => (false, is_number(text, 8)),
    };
    plain.then(|| text.parse::<i32>().unwrap()).filter(|&value| value != 0).map(|value| (negative, value as u32))
}

/// Returns the notation and values of a corner.
fn corner(word: &str) -> Option<(CornerForm, Vec<(bool, u32)>)> {
    let parts: Vec<&str> = word.split('/').collect();
    let (form, parts) = match parts[..] {
        [_] => (CornerForm::Position, parts),
        [_, _] => (CornerForm::PositionUv, parts),
        [position, "", normal] => (CornerForm::PositionNormal, vec![position, normal]),
        [_, _, _] => (CornerForm::All, parts),
        _ => return None,
    };
    let mut values = parts.into_iter().map(index).collect::<Option<Vec<_>>>()?;
    if form == CornerForm::PositionNormal {
        values.insert(1, (values[0].0, 0));
    }
    Some((form, values))
}

/// Returns the notation and values of a plain row, and whether they are negative; `None` if the line is not a plain
/// row.
fn naive(line: &[u8], keyword: &str) -> Option<(CornerForm, bool, Vec<u32>)> {
    // Splitting at white space makes a lone slash a corner, but the parser treats it as part of one.
    let words = words(line, keyword)?;
    let corners = words.into_iter().map(corner).collect::<Option<Vec<_>>>()?;
    let (form, values) = corners.first()?;
    let negative = values[0].0;
    let plain = corners.len() >= 3 && corners.iter().all(|(other, _)| other == form);
    let values: Vec<_> = corners.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let plain = plain && values.len() <= 63 && values.iter().all(|value| value.0 == negative);
    plain.then(|| (*form, negative, values.into_iter().map(|(_, value)| value).collect()))
}

/// Parses the rows from `line` on; checks that the result is the same on every level.
fn rows_on_all(windows: &[Window<'_>], line: usize, keyword: &str) -> (FaceRows, Vec<u32>, Vec<u32>) {
    let mut results = windows.iter().map(|&window| {
        let mut values = vec![7; sized(MAX_ENDS, 600) + VALUE_SLACK];
        let mut row_ends = vec![7; sized(MAX_LINES, 60)];
        let parsed = face_rows(window, line, keyword.as_bytes(), &mut values, &mut row_ends);
        values.truncate(parsed.values);
        row_ends.truncate(parsed.rows);
        (parsed, values, row_ends)
    });
    let first = results.next().unwrap();
    for other in results {
        assert_eq!(
            other,
            first,
            "levels differ at line {line}: {:?}",
            String::from_utf8_lossy(line_of(windows[0], line))
        );
    }
    first
}

/// Parses a text on all levels; returns the number of parsed rows.
fn check(text: &[u8], keyword: &str) -> usize {
    let mut count = 0;
    windows(text, |windows| {
        let lines = windows[0].index.lines().len();
        let mut line = 0;
        while line < lines {
            let (parsed, values, row_ends) = rows_on_all(windows, line, keyword);
            let mut start = 0;
            for (row, &end) in row_ends.iter().enumerate() {
                let text = line_of(windows[0], line + row);
                let row_values = values[start..end as usize].to_vec();
                assert_eq!(
                    naive(text, keyword),
                    Some((parsed.form, parsed.is_negative, row_values)),
                    "{:?}",
                    String::from_utf8_lossy(text)
                );
                start = end as usize;
            }
            assert_eq!(start, parsed.values);
            count += parsed.rows;
            line += parsed.rows;
            if line < lines {
                let next = naive(line_of(windows[0], line), keyword);
                let should_continue = next.is_some_and(|(form, sign, _)| {
                    parsed.rows == 0 || (form, sign) == (parsed.form, parsed.is_negative)
                });
                assert!(!should_continue, "left: {:?}", String::from_utf8_lossy(line_of(windows[0], line)));
                line += usize::from(parsed.rows == 0);
            }
        }
    });
    count
}

fn row(random: &mut Random, form: CornerForm, corners: usize, max_digits: usize) -> String {
    let mut number = || {
        let count = 1 + random.below(max_digits);
        random.digits(count)
    };
    let corner = |_| match form {
        CornerForm::Position => number(),
        CornerForm::PositionUv => format!("{}/{}", number(), number()),
        CornerForm::PositionNormal => format!("{}//{}", number(), number()),
        CornerForm::All => format!("{}/{}/{}", number(), number(), number()),
    };
    format!("f {}\n", (0..corners).map(corner).collect::<Vec<_>>().join(" "))
}

const FORMS: [CornerForm; 4] =
    [CornerForm::Position, CornerForm::PositionUv, CornerForm::PositionNormal, CornerForm::All];

#[test]
fn all_forms_with_1_to_63_indices() {
    let mut random = Random::new(1);
    for form in FORMS {
        let stride = form.stride();
        for corners in (3..=63 / stride).step_by(sized(1, 15)) {
            let text: String = (0..9).map(|_| row(&mut random, form, corners, 8)).collect();
            assert_eq!(check(text.as_bytes(), "f"), 9, "{form:?} {corners}");
        }
        let text = row(&mut random, form, 63 / stride + 1, 3);
        assert_eq!(check(text.as_bytes(), "f"), 0);
    }
}

/// Negates the indices of a row.
fn negative(row: &str) -> String {
    let minus = |word: &str| match word {
        "f" | "" => word.to_owned(),
        word => word
            .split('/')
            .map(|part| if part.is_empty() { String::new() } else { format!("-{part}") })
            .collect::<Vec<_>>()
            .join("/"),
    };
    row.trim_end().split(' ').map(minus).collect::<Vec<_>>().join(" ") + "\n"
}

#[test]
fn indices_that_count_backwards() {
    let mut random = Random::new(7);
    for form in FORMS {
        for corners in (3..=63 / form.stride()).step_by(sized(1, 15)) {
            let text: String = (0..9).map(|_| negative(&row(&mut random, form, corners, 7))).collect();
            assert_eq!(check(text.as_bytes(), "f"), 9, "{form:?} {corners}");
        }
        // Runs end where the sign changes, and rows with both signs are rejected.
        let rows = [1, 2, 3, 4, 5].map(|_| row(&mut random, form, 4, 7));
        let text = rows.iter().flat_map(|row| [row.clone(), row.clone(), negative(row)]).collect::<String>();
        assert_eq!(check(text.as_bytes(), "f"), 15, "{form:?}");
        let mixed = rows[0].replacen(' ', " -", 1);
        assert_eq!(check(format!("{}{mixed}{}", rows[1], negative(&rows[2])).as_bytes(), "f"), 2, "{form:?}");
        for _ in 0..sized(300, 3) {
            let mut changed = text.clone().into_bytes();
            let at = random.below(changed.len());
            changed[at] = random.pick(&[b"\n", b"-", b"0", b"/", b" ", b"9", b"\0", b"\xFF"])[0];
            check(&changed, "f");
        }
    }
}

#[test]
fn forms_and_sizes_mixed() {
    let mut random = Random::new(2);
    for max_digits in (1..=9).step_by(sized(1, 7)) {
        let text: String = (0..sized(1500, 40))
            .map(|_| {
                let form = FORMS[random.below(4)];
                let corners = if random.below(9) == 0 { 3 + random.below(60) } else { 3 + random.below(3) };
                row(&mut random, form, corners, max_digits)
            })
            .collect();
        let parsed = check(text.as_bytes(), "f");
        assert!(parsed > sized(300, 8), "{parsed} with up to {max_digits} digits");
    }
}

#[test]
fn long_runs_of_one_shape() {
    let mut random = Random::new(3);
    let count = sized(400, 12);
    for form in FORMS {
        for corners in [3, 4, 5] {
            let text: String = (0..count).map(|_| row(&mut random, form, corners, 7)).collect();
            assert_eq!(check(text.as_bytes(), "f"), count);
        }
    }
}

#[test]
fn eight_digits_and_more() {
    for (number, plain) in [
        ("99999999", true),
        ("10000000", true),
        ("00000001", true),
        ("123456789", false),
        ("000000001", false),
        ("00000000", false),
    ] {
        for space in [" ", "  ", "\t \t"] {
            let text = format!("f{space}{number}{space}2{space}{number}{space}4\n").repeat(5);
            assert_eq!(check(text.as_bytes(), "f"), if plain { 5 } else { 0 }, "{text}");
            let text = format!("f{space}{number}/1/{number}{space}2/{number}/3{space}1/1/{number}\n").repeat(5);
            assert_eq!(check(text.as_bytes(), "f"), if plain { 5 } else { 0 }, "{text}");
        }
    }
}

#[test]
fn tokens_further_apart_than_a_vector() {
    let mut random = Random::new(6);
    let count = sized(40, 5);
    for form in FORMS {
        for max_digits in (6..=8).step_by(sized(1, 2)) {
            for spaces in [1, 1, 2, 3, 9].into_iter().step_by(sized(1, 4)) {
                let row = |_| {
                    let line = row(&mut random, form, 4, 1);
                    let mut digits = |byte: u8| match byte {
                        b'0'..=b'9' => {
                            let count = max_digits - random.below(2);
                            random.digits(count)
                        }
                        b' ' => " ".repeat(1 + random.below(spaces)),
                        _ => char::from(byte).into(),
                    };
                    line.bytes().map(&mut digits).collect::<String>()
                };
                let text: String = (0..count).map(row).collect();
                assert_eq!(check(text.as_bytes(), "f"), count);
            }
        }
    }
}

#[test]
fn rows_that_are_not_plain_are_rejected() {
    for word in [
        "0",
        "00",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "x",
        "",
        "\0",
        "1x",
        "x1",
        "-",
        "#",
        "\\",
        "1\\",
        "12345678x",
        "x12345678",
        "-12345678",
        "-1234567",
    ] {
        for corners in [
            "{} 2 3",
            "1 {} 3",
            "1 2 3 {}",
            "1/2 {}/3 4/5",
            "1/2 3/4 5/{}",
            "1//2 {}//3 4//5",
            "1//2 3//4 5//{}",
            "{}/1/2 3/4/5 6/7/8",
            "1/2/3 4/{}/5 6/7/8",
            "1/2/3 4/5/6 7/8/{}",
            "1/{}/3 4/{}/6 7/8/9",
            "1//3 4/{}/6 7//9",
        ] {
            let plain = "f 1/2/3 4/5/6 7/8/9\n";
            let text = format!("{plain}f {}\n{plain}", corners.replace("{}", word));
            let is_plain = naive(text.lines().nth(1).unwrap().as_bytes(), "f").is_some();
            assert_eq!(check(text.as_bytes(), "f"), 2 + usize::from(is_plain), "{text:?}");
        }
    }
}

#[test]
fn slashes_in_odd_places() {
    for line in [
        "f 1 2 /3",
        "f 1 2 3/",
        "f /1 2 3",
        "f 1/ 2/ 3/",
        "f /1 /2 /3",
        "f 1/2 3/4 5",
        "f 1 2/3 4/5",
        "f 1/2/ 3/4/ 5/6/",
        "f /1/2 /3/4 /5/6",
        "f // // //",
        "f / / /",
        "f 1//2 3//4 5/6",
        "f 1//2 3/4/5 6//7",
        "f 1/2/3/4 5/6/7/8 9/1/2/3",
        "f 1/2/3 4/5/6",
        "f 1/2 3/4",
        "f 1 2",
        "f",
        "f 1",
        "f/ 1 2 3",
        "f/1 2 3",
        "f/1/2 3/4 5/6",
        "fo 1 2 3",
        "g 1 2 3",
        " f 1 2 3",
        "f1 2 3 4",
        "f 1 /2 3 /4 5 /6",
        "f 1/ 2 3/ 4 5/ 6",
        "f 1/ /2 3/ /4 5/ /6",
        "f 1// 2// 3//",
        "f 1/2 /3 4/5 /6 7/8 /9",
    ] {
        for ending in ["\n", "\r\n", " \n"] {
            let plain = "f 1 2 3\n".repeat(3);
            let text = format!("{plain}{line}{ending}{plain}");
            assert_eq!(check(text.as_bytes(), "f"), 6, "{text:?}");
        }
    }
}

#[test]
fn random_bytes() {
    let mut random = Random::new(4);
    for _ in 0..sized(60, 1) {
        check(random.word(b"0123456789.-+eE/ \t\r\n#vfn\\\0x", 4000).as_bytes(), "f");
        check(random.word(b"0123////    \n", 4000).replace('\n', "\nf ").as_bytes(), "f");
        check(random.word(b"1234567   \n", 4000).replace('\n', "\nf ").as_bytes(), "f");
    }
}

#[test]
fn rows_with_one_changed_byte() {
    let mut random = Random::new(5);
    for form in FORMS {
        let text: String = (0..12).map(|_| row(&mut random, form, 4, 8)).collect();
        for _ in 0..sized(300, 3) {
            let mut changed = text.clone().into_bytes();
            let at = random.below(text.len());
            changed[at] = random.pick(&[b"\n", b"-", b"0", b"/", b" ", b"9", b"\0", b"\xFF", b"\r", b"."])[0];
            check(&changed, "f");
        }
    }
}

#[test]
fn output_sizes_and_missing_lines() {
    let text = "f 1/2 3/4 5/6\n".repeat(30);
    windows(text.as_bytes(), |windows| {
        for &window in windows {
            for room in [0, 1, VALUE_SLACK, VALUE_SLACK + 5, VALUE_SLACK + 6, VALUE_SLACK + 17, VALUE_SLACK + 100]
                .into_iter()
                .step_by(sized(1, 3))
            {
                let mut values = vec![0; room];
                let mut row_ends = vec![0; 40];
                let parsed = face_rows(window, 0, b"f", &mut values, &mut row_ends);
                assert_eq!(parsed.rows, room.saturating_sub(VALUE_SLACK) / 6, "{:?}", window.level);
            }
            let mut values = vec![0; 1000];
            let mut row_ends = vec![0; 40];
            for room in (0..40).step_by(sized(1, 19)) {
                let parsed = face_rows(window, 0, b"f", &mut values, &mut row_ends[..room]);
                assert_eq!((parsed.rows, parsed.values), (room.min(30), 6 * room.min(30)));
            }
            for line in [30, 31, 2000, usize::MAX] {
                assert_eq!(face_rows(window, line, b"f", &mut values, &mut row_ends), FaceRows::default());
            }
            assert_eq!(face_rows(window, 0, b"f 1/2 3/4", &mut values, &mut row_ends), FaceRows::default());
            let short = Window { padded: &window.padded[..window.padded.len() - 1], ..window };
            assert_eq!(face_rows(short, 0, b"f", &mut values, &mut row_ends), FaceRows::default());
        }
    });
}
