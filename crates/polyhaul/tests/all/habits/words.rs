//! Splits text into lines and words, for changes that apply to most formats.

use polyhaul_testkit::random::Random;

/// Lines of a text, each with its LF; `None` if it is not text, or has other line endings.
pub fn lines(bytes: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0') && text.matches('\r').count() == text.matches("\r\n").count())
        .then(|| text.split_inclusive('\n').map(str::to_string).collect())
}

/// Picks the number of a line for which `is_wanted` returns `true`.
pub fn pick(lines: &[String], random: &mut Random, is_wanted: impl Fn(&str) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..lines.len()).filter(|&line| is_wanted(&lines[line])).collect();
    (!places.is_empty()).then(|| *random.pick(&places))
}

/// The first word of a line.
pub fn keyword(line: &str) -> &str {
    line.split_ascii_whitespace().next().unwrap_or("")
}

/// Replaces a word of a line; words are then separated by single spaces.
pub fn with_word(line: &str, number: usize, word: &str) -> Option<String> {
    let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
    *words.get_mut(number)? = word;
    Some(words.join(" ") + "\n")
}

/// Whether a line continues on the next one.
pub fn is_continued(line: &str) -> bool {
    line.trim_end().ends_with('\\')
}
