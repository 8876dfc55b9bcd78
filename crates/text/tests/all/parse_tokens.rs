//! Runs of tokens against one token at a time, on every level.

use polyhaul_text::cpu::Level;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::parse::{number, tokens};
use polyhaul_text::scan::{Index, PADDING};

/// What of a text is taken as floats and as integers from token `first` on, and the tokens that have a slash.
fn taken(text: &str, first: usize, level: Level) -> (Vec<f32>, Vec<i32>, bool) {
    let mut padded = vec![b'\n'; PADDING];
    padded.extend(text.bytes());
    let end = padded.len();
    padded.extend([b'\n'; PADDING]);
    let mut index = Index::new();
    index.scan(&padded, PADDING, end, level);
    let window = Window { padded: &padded, index: &index, level };
    let (mut floats, mut integers) = (vec![0.0; 100], vec![0; 100]);
    let count = tokens::floats(window, first, &mut floats);
    floats.truncate(count);
    let count = tokens::integers(window, first, &mut integers);
    integers.truncate(count);
    (floats, integers, window.has_slash(0..100))
}

#[test]
fn runs_are_taken_up_to_what_is_not_plain() {
    for level in Level::all() {
        let (floats, integers, has_slash) = taken("0 -1 22 333\n4444 -55555 00000000 12345678 ", 0, level);
        assert_eq!(floats, [0.0, -1.0, 22.0, 333.0, 4444.0, -55555.0, 0.0, 12345678.0], "{level:?}");
        assert_eq!(integers, [0, -1, 22, 333, 4444, -55555, 0, 12345678], "{level:?}");
        assert!(!has_slash);
        let (floats, integers, _) = taken("1 2.5 -.5 7. 1e5 6 7 8 9\n", 0, level);
        assert_eq!((floats.as_slice(), integers.as_slice()), (&[1.0, 2.5, -0.5, 7.0][..], &[1][..]), "{level:?}");
        let (floats, integers, _) = taken("x 2 3\n", 1, level);
        assert_eq!((floats.as_slice(), integers.as_slice()), (&[2.0, 3.0][..], &[2, 3][..]), "{level:?}");
        assert!(taken("1 2 3/4 5\n", 0, level).2);
        assert_eq!(taken("1\n", 5, level), (vec![], vec![], false));
    }
}

#[test]
fn words_that_are_no_plain_numbers_are_not_taken() {
    for level in Level::all() {
        for word in ["-", ".", "-.", "+1", "1-", "--1", "1.2.3", "0x1", "nan", "a1", "1a", "123456789", "-123456789"] {
            let (_, integers, _) = taken(&format!("7 {word} 8\n"), 0, level);
            assert_eq!(integers, [7], "{word} {level:?}");
        }
        for word in ["-", ".", "-.", "+1", "1-", "--1", "1.2.3", "0x1", "nan", "a1", "1a"] {
            let (floats, _, _) = taken(&format!("7 {word} 8\n"), 0, level);
            assert_eq!(floats, [7.0], "{word} {level:?}");
        }
    }
}

#[test]
fn every_length_of_number_is_right() {
    for level in Level::all() {
        let words: Vec<String> = (0..60).map(|n| format!("{}", (n as f64 * 12345.678).powi(n % 4))).collect();
        let words: Vec<&str> = words.iter().map(|word| &word[..word.len().min(12)]).collect();
        let (floats, _, _) = taken(&(words.join(" ") + "\n"), 0, level);
        for (float, word) in floats.iter().zip(&words) {
            assert_eq!(Some(*float), number::f32(word.as_bytes()), "{word} {level:?}");
        }
        assert!(floats.len() > 3, "{level:?}");
    }
}
