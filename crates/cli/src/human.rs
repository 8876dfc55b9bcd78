//! Numbers, sizes and names for people.

use polyhaul::Report;
pub use polyhaul::report::{count, day};

/// A size: `104.2 MB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if value < 1000 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1000.0;
    let mut unit = 0;
    while scaled >= 999.95 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// What was read: `104.2 MB`, or `19.8 MB of gzip, 104.2 MB of text`.
pub fn input(report: &Report) -> String {
    match report.codec {
        Some(codec) => format!("{} of {codec}, {} of text", bytes(report.bytes_in), bytes(report.plain_bytes_in)),
        None => bytes(report.bytes_in),
    }
}

/// A duration: `0.12 s`, `3.4 ms`.
pub fn seconds(value: f64) -> String {
    if value < 0.1 { format!("{:.1} ms", value * 1000.0) } else { format!("{value:.2} s") }
}

/// A rate: `1,234 MB/s`; a dash where the time was too short to tell.
pub fn rate(bytes: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "-".into();
    }
    format!("{} MB/s", count((bytes as f64 / seconds / 1e6).round() as u64))
}

/// The word with its count, in the plural where that is right: `1 face`, `2 faces`.
pub fn plural(value: u64, word: &str) -> String {
    let ending = if value == 1 { "" } else { "s" };
    format!("{} {word}{ending}", count(value))
}

/// A name on one line, safe for a terminal: control and direction characters are replaced.
pub fn safe(name: &str) -> String {
    annotate_snippets::normalize_untrusted_str(name).replace(['\n', '\r'], " ")
}

/// The first few names, and how many more there are.
pub fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>, shown: usize) -> String {
    let more = all.len().saturating_sub(shown);
    let mut text = all.take(shown).map(safe).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {} more", count(more as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([bytes(999), bytes(1000), bytes(999_960)], ["999 B", "1.0 kB", "1.0 MB"]);
        assert_eq!([bytes(104_200_000), bytes(5_000_000_000_000_000)], ["104.2 MB", "5000.0 TB"]);
        assert_eq!([seconds(0.0034), seconds(1.234)], ["3.4 ms", "1.23 s"]);
        assert_eq!([rate(2_000_000_000, 1.0), rate(1, 0.0)], ["2,000 MB/s", "-"]);
        assert_eq!([plural(1, "face"), plural(2, "face")], ["1 face", "2 faces"]);
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert!(!safe("a\u{1b}[31m\nb\u{202e}").contains(['\u{1b}', '\n', '\u{202e}']));
        assert_eq!(names(["a", "b", "c"].into_iter(), 2), "a, b and 1 more");
        assert_eq!(names(["a"].into_iter(), 2), "a");
    }
}
