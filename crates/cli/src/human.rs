//! Numbers, sizes and names for people.

use polyhaul::Report;

/// A count with separators: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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

/// The day of a time in seconds since 1970, in UTC: `2026-11-22`.
pub fn date(unix_s: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // 400 years have 146,097 days, so that only the years of the last such cycle are gone through.
    let (cycles, mut days) = (unix_s / 86_400 / 146_097, unix_s / 86_400 % 146_097);
    let mut year = 1970 + 400 * cycles;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        (days, month) = (days - length, month + 1);
    }
    format!("{year}-{month:02}-{:02}", days + 1)
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
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([bytes(999), bytes(1000), bytes(999_960)], ["999 B", "1.0 kB", "1.0 MB"]);
        assert_eq!([bytes(104_200_000), bytes(5_000_000_000_000_000)], ["104.2 MB", "5000.0 TB"]);
        assert_eq!([seconds(0.0034), seconds(1.234)], ["3.4 ms", "1.23 s"]);
        assert_eq!([rate(2_000_000_000, 1.0), rate(1, 0.0)], ["2,000 MB/s", "-"]);
        assert_eq!([plural(1, "face"), plural(2, "face")], ["1 face", "2 faces"]);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        // As `date -u -d @N +%F` has them.
        for (unix_s, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_704_067_199, "2023-12-31"),
            (1_795_305_600, "2026-11-22"),
            (4_107_542_400, "2100-03-01"),
            (13_574_563_199, "2400-02-28"),
            (13_574_649_599, "2400-02-29"),
        ] {
            assert_eq!(date(unix_s), day);
        }
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert!(!safe("a\u{1b}[31m\nb\u{202e}").contains(['\u{1b}', '\n', '\u{202e}']));
        assert_eq!(names(["a", "b", "c"].into_iter(), 2), "a, b and 1 more");
        assert_eq!(names(["a"].into_iter(), 2), "a");
    }
}
