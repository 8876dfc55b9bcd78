//! Helpers of the parse tests: random numbers, padded text, one window per level.
#![allow(dead_code, reason = "each test binary uses its own part")]

use polyhaul_text::cpu::Level;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::scan::{Index, PADDING, is_space};

/// Pseudorandom numbers, identical on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ mixed >> 32
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// Returns a string of random characters from an alphabet.
    pub fn word(&mut self, alphabet: &[u8], size: usize) -> String {
        (0..size).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// Returns a number with `count` digits and no leading zeros.
    pub fn digits(&mut self, count: usize) -> String {
        self.word(b"123456789", 1) + &self.word(b"0123456789", count - 1)
    }
}

/// Adds padding that looks like numbers.
pub fn padded(text: &[u8]) -> Vec<u8> {
    let mut padded = vec![b'8'; PADDING];
    padded.extend_from_slice(text);
    padded.resize(padded.len() + PADDING, b'8');
    padded
}

/// Calls `visit` with each window of a text, indexed on every level.
pub fn windows(text: &[u8], mut visit: impl FnMut(&[Window<'_>])) {
    let padded = padded(text);
    let end = padded.len() - PADDING;
    let levels: Vec<Level> = Level::all().collect();
    let mut indices = vec![Index::new(); levels.len()];
    let mut start = PADDING;
    while start < end {
        for (index, &level) in indices.iter_mut().zip(&levels) {
            index.scan(&padded, start, end, level);
        }
        let pairs = indices.iter().zip(&levels);
        let windows: Vec<_> = pairs.map(|(index, &level)| Window { padded: &padded, index, level }).collect();
        visit(&windows);
        let next = indices[0].next_start();
        if next == start {
            break;
        }
        start = next;
    }
}

/// Returns a line of a window, without its newline.
pub fn line_of<'a>(window: Window<'a>, line: usize) -> &'a [u8] {
    &window.padded[window.index.line_start(line)..window.index.lines()[line].newline as usize]
}

/// Returns the words after the keyword at the start of a line; `None` if it does not start with the keyword.
pub fn words<'a>(line: &'a [u8], keyword: &str) -> Option<Vec<&'a str>> {
    let rest = line.strip_prefix(keyword.as_bytes())?;
    let is_separated = rest.first().is_none_or(|&byte| is_space(byte));
    let words = rest.split(|&byte| is_space(byte)).filter(|word| !word.is_empty());
    is_separated.then(|| words.map(|word| std::str::from_utf8(word).unwrap_or("?")).collect())
}
