//! Compares the line index and the line counter with a loop over bytes.

use crate::parse_support::{Random, windows};
use crate::sizes::sized;
use polyhaul_text::lines;
use polyhaul_text::scan::{PADDING, is_space};

fn naive(text: &[u8]) -> Vec<usize> {
    let ends = |at: &usize| text[*at] == b'\n' || text[*at] == b'\r' && text.get(at + 1) != Some(&b'\n');
    (0..text.len()).filter(ends).collect()
}

#[test]
fn lines_of_any_ending() {
    let mut random = Random::new(1);
    for alphabet in [&b"ab\r\n"[..], b"\r\n", b"aaaaaaaaaaaaaaaaaaaaaaaaaaa\n", b"aaaaaaaa\r", b"a"] {
        for size in (0..300).chain([509, 510, 511, 512, 765, 5000]).step_by(sized(1, 101)) {
            let text = random.word(alphabet, size).into_bytes();
            let expected = naive(&text);
            assert_eq!(lines::count(&text), expected.len());
            let mut newlines = Vec::new();
            windows(&text, |windows| {
                for window in windows {
                    assert_eq!(window.index.lines(), windows[0].index.lines());
                }
                newlines.extend(windows[0].index.lines().iter().map(|line| line.newline as usize - PADDING));
            });
            assert_eq!(newlines, expected);
        }
    }
}

#[test]
fn counts_of_more_than_a_byte() {
    for size in [254, 255, 256, 257, 1000, 100_000].into_iter().take(sized(6, 5)) {
        assert_eq!(lines::count(&vec![b'\n'; size]), size);
        assert_eq!(lines::count(&vec![b'\r'; size]), size);
        assert_eq!(lines::count(&b"\r\n".repeat(size)), size);
        assert_eq!(lines::count(&b"\n\r".repeat(size)), size + 1);
    }
}

#[test]
fn white_space_equals_that_of_c() {
    let spaces: Vec<u8> = (0..=255).filter(|&byte| is_space(byte)).collect();
    assert_eq!(spaces, b"\t\n\x0B\x0C\r ");
}
