//! Formats numbers and names for reports.
//!
//! Sizes use powers of 1000, except for size classes of calls, which are powers of two. Contains nothing about jobs.

use polyhaul_model::error::planted;
use polyhaul_model::printable::is_active;
use polyhaul_model::warnings::with_separators;
use polyhaul_trace::Phase;
use std::fmt::Write;

/// Name of a phase, as worded in verdicts.
pub(super) fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Read => "reading",
        Phase::Write => "writing",
        Phase::Sync => "syncing",
        Phase::Host => "host callbacks",
        Phase::Throttle => "throttled",
        Phase::Decompress => "decompressing",
        Phase::Compress => "compressing",
        Phase::Cut => "splitting",
        Phase::Parse => "parsing",
        Phase::Format => "formatting",
        Phase::Place => "ordering",
        Phase::Build => "building the model",
        Phase::Decode => "decoding pixels",
        Phase::Encode => "encoding pixels",
        Phase::Transform => "transforming the model",
        Phase::Draw => "drawing",
        Phase::WaitInput => "waiting for input",
        Phase::WaitTurn => "waiting for its turn",
        Phase::WaitEnd => "waiting for the end",
        Phase::Lock => "locks",
        Phase::Await => "waiting for locks or threads",
        Phase::Run => "running",
        Phase::Ready => "waiting for a core",
        Phase::Sleep => "asleep",
        _ => "other",
    }
}

/// Count with thousands separators: `1,234,567`.
pub fn count(value: u64) -> String {
    with_separators(value)
}

/// Size: `104 MB`, `1.25 GB`.
pub(super) fn bytes(value: f64) -> String {
    scaled(value, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// Rate in bytes per second: `1.25 GB/s`.
pub(super) fn rate(value: f64) -> String {
    bytes(value) + "/s"
}

/// Lower bound of a size class: `64 KiB`.
pub(super) fn size_class(value: u64) -> String {
    scaled(value as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// Duration: `2.51 s`, `340 ms`, `12 µs`.
pub(super) fn time(value_ns: u64) -> String {
    let value = value_ns as f64;
    match value_ns {
        0..1_000 => format!("{value_ns} ns"),
        // From 999.5 on, a value would be rounded to `1000` of its unit.
        1_000..999_500 => three_digits(value / 1e3) + " µs",
        999_500..999_500_000 => three_digits(value / 1e6) + " ms",
        999_500_000..100_000_000_000 => three_digits(value / 1e9) + " s",
        _ => count((value / 1e9).round() as u64) + " s",
    }
}

/// Duration given in seconds.
pub(super) fn seconds(value: f64) -> String {
    time((value * 1e9).max(0.0) as u64)
}

/// Formats a fraction as a percentage: `62%`.
pub(super) fn share(value: f64) -> String {
    let percent = 100.0 * value;
    match percent {
        _ if percent > 0.0 && percent < 0.05 => "< 0.1%".to_owned(),
        _ if percent > 0.0 && percent < 0.95 => format!("{percent:.1}%"),
        _ => format!("{percent:.0}%"),
    }
}

/// Date and time: `2026-11-22 08:10 UTC`.
pub(super) fn date(unix_s: u64) -> String {
    let minutes = unix_s / 60 % 1440;
    format!("{} {:02}:{:02} UTC", day(unix_s), minutes / 60, minutes % 60)
}

/// Date of a time in seconds since 1970, in UTC: `2026-11-22`.
pub fn day(unix_s: u64) -> String {
    // Years start on March 1, so that leap days come last (Hinnant, chrono-Compatible Low-Level Date Algorithms).
    let days = unix_s / 86_400 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{day:02}", era * 400 + year + next)
}

/// Replaces a character that controls a terminal, ends a line or changes the text direction.
pub(super) fn plain(c: char) -> char {
    if is_active(c) { char::REPLACEMENT_CHARACTER } else { c }
}

/// Escapes untrusted text for HTML and XML, including attribute values.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '"' | '\'' if !planted("markup-raw") => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            _ => out.push(plain(c)),
        }
    }
    out
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    // A value at or above this limit would be rounded to `1000` of the smaller unit.
    while value >= 0.9995 * step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let number = if unit == 0 { format!("{value:.0}") } else { three_digits(value) };
    format!("{number} {}", units.get(unit).unwrap_or(&""))
}

/// Formats three significant digits, without trailing zeros.
fn three_digits(value: f64) -> String {
    // Values at or above these limits are rounded up to one more digit before the point.
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([bytes(999.0), bytes(1000.0), bytes(999_960.0)], ["999 B", "1 kB", "1 MB"]);
        assert_eq!([bytes(104_250_000.0), rate(1.25e9)], ["104 MB", "1.25 GB/s"]);
        assert_eq!([size_class(512), size_class(65_536), size_class(1 << 63)], ["512 B", "64 KiB", "8 EiB"]);
        assert_eq!(
            [time(999), time(12_000), time(340_000_000), time(2_510_000_000)],
            ["999 ns", "12 µs", "340 ms", "2.51 s"]
        );
        assert_eq!([time(999_999), time(999_999_999), time(u64::MAX)], ["1 ms", "1 s", "18,446,744,074 s"]);
        assert_eq!([share(0.0), share(0.004), share(0.62), share(1.0)], ["0%", "0.4%", "62%", "100%"]);
        assert_eq!([share(0.0004), share(0.0006)], ["< 0.1%", "0.1%"]);
    }

    #[test]
    fn verdicts_and_phases_share_their_words() {
        use crate::verdict::Bound;
        for (phase, bound) in [
            (Phase::Read, Bound::Read),
            (Phase::Write, Bound::Write),
            (Phase::Host, Bound::Host),
            (Phase::Decompress, Bound::Decompress),
            (Phase::Compress, Bound::Compress),
            (Phase::Parse, Bound::Parse),
            (Phase::Format, Bound::Format),
            (Phase::Build, Bound::Build),
            (Phase::Decode, Bound::Decode),
            (Phase::Encode, Bound::Encode),
            (Phase::Transform, Bound::Transform),
            (Phase::Draw, Bound::Draw),
            (Phase::Lock, Bound::Locks),
        ] {
            assert_eq!(phase_words(phase), bound.words());
        }
        let words: std::collections::BTreeSet<_> = Phase::ALL.into_iter().map(phase_words).collect();
        assert_eq!(words.len(), Phase::ALL.len());
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_334_999), "2026-11-22 08:09 UTC");
        assert!(date(u64::MAX).ends_with("UTC"));
        // As printed by `date -u -d @N +%F`.
        for (unix_s, expected) in [
            (951_868_800, "2000-03-01"),
            (1_704_067_199, "2023-12-31"),
            (4_107_542_400, "2100-03-01"),
            (13_574_563_199, "2400-02-28"),
            (13_574_649_599, "2400-02-29"),
        ] {
            assert_eq!(day(unix_s), expected);
        }
    }

    #[test]
    fn nothing_gets_out_of_markup() {
        assert_eq!(
            escaped("a<b>&\"'\u{1b}\n\u{202e}\u{9b}é"),
            "a&#60;b&#62;&#38;&#34;&#39;\u{fffd}\u{fffd}\u{fffd}\u{fffd}é"
        );
    }
}
