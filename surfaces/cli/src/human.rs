//! Formats numbers, sizes and names for people.

use crate::format;
use polyhaul::Report;
use polyhaul::measure::Container;
use polyhaul::place::{self, PlaceKind};
use polyhaul::printable::printable;
pub use polyhaul::report::{count, day};
use std::path::Path;

/// A path or URL without its secrets, such as passwords in URLs.
pub fn path(path: &Path) -> String {
    safe(&place::shown(path))
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

/// The size of a file without the files it references, or `None` for streams, URLs and archive members.
pub fn file_bytes(path: &Path) -> Option<u64> {
    if format::is_stream(path) || place::is_url(path) {
        return None;
    }
    place::find(path).ok().filter(|info| info.kind == PlaceKind::File).and_then(|info| info.bytes)
}

/// The size of an input: `104.2 MB`, or `19.8 MB gzip, 104.2 MB decompressed`; if other files were read with it,
/// `104.2 MB; 120.3 MB read`. `file_bytes` is the size of the file itself.
pub fn input(file_bytes: Option<u64>, report: &Report) -> String {
    let file = file_bytes.unwrap_or(report.bytes_in);
    if let Some(codec) = report.codec {
        let of_codec = report.reads.iter().filter(|moved| moved.codec == Some(codec));
        let plain = of_codec.map(|moved| moved.plain_bytes).sum();
        return format!("{} {codec}, {} decompressed", bytes(file), bytes(plain));
    }
    let shown = bytes(file);
    let read = bytes(report.bytes_in);
    if report.bytes_in > file && read != shown { format!("{shown}; {read} read") } else { shown }
}

/// The size of an output: `104.2 MB`; if other files were written with it, `920 B; 120.3 MB in 2 files`.
pub fn output(path: &Path, report: &Report) -> String {
    let file = output_bytes(path, report).unwrap_or(report.bytes_out);
    let others = match report.files.len() {
        0 | 1 => String::new(),
        count => {
            let total = report.files.iter().map(|file| file.bytes).sum();
            format!("; {} in {}", bytes(total), plural(count as u64, "file"))
        }
    };
    bytes(file) + &others
}

/// The size of an output without other files written with it.
pub fn output_bytes(path: &Path, report: &Report) -> Option<u64> {
    let shown = place::shown(path);
    report.files.iter().find(|file| file.path == shown).map(|file| file.bytes)
}

/// The limits of a container: `container of 1.5 cores, 4.3 GB`, or `None` without limits.
pub fn container(container: Container) -> Option<String> {
    let cores = container.cores.map(|cores| format!("{} core{}", number(cores), if cores == 1.0 { "" } else { "s" }));
    let limits: Vec<_> = cores.into_iter().chain(container.memory_bytes.map(bytes)).collect();
    (!limits.is_empty()).then(|| format!("container of {}", limits.join(", ")))
}

/// A duration: `0.12 s`, `3.4 ms`.
pub fn seconds(value: f64) -> String {
    if value < 0.1 { format!("{:.1} ms", value * 1000.0) } else { format!("{value:.2} s") }
}

/// A rate: `1,234 MB/s`; a dash if the time was too short to measure.
pub fn rate(bytes: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "-".into();
    }
    format!("{} MB/s", count((bytes as f64 / seconds / 1e6).round() as u64))
}

/// A number with at most 9 significant digits: `-0.25`, `1.5e30`.
pub fn number(value: f64) -> String {
    coordinate(format!("{value:.8e}").parse().unwrap_or(value))
}

/// A coordinate with all its digits, with an exponent if it is very small or large: `5411234.456`.
pub fn coordinate(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || !size.is_finite() || (1e-5..1e9).contains(&size) => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// A count with its noun: `1 face`, `2 faces`.
pub fn plural(value: u64, word: &str) -> String {
    let ending = if value == 1 { "" } else { "s" };
    format!("{} {word}{ending}", count(value))
}

/// A name on one line, safe for a terminal: see [`polyhaul::printable`].
pub fn safe(name: &str) -> String {
    printable(&name.replace(['\n', '\r', '\t'], " "), char::REPLACEMENT_CHARACTER).into_owned()
}

/// A longer name of a function is shown without its template arguments.
const MAX_FUNCTION_CHARS: usize = 60;

/// A function's name, on one line; if it is long, without template arguments: `Writer<…>::write`.
pub fn function(name: &str) -> String {
    if name.chars().count() <= MAX_FUNCTION_CHARS {
        return safe(name);
    }
    let mut text = String::new();
    // Whether what each open bracket encloses is left out.
    let mut brackets: Vec<bool> = Vec::new();
    let mut is_shown = true;
    for (at, char) in name.char_indices() {
        let before = &name[..at];
        let is_operator = before.trim_end_matches(['<', '>', '=', '-']).ends_with("operator");
        match char {
            '<' if !is_operator => {
                let is_list = before.ends_with(|char: char| char.is_alphanumeric() || char == '_');
                if is_shown {
                    text.push_str(if is_list { "<…>" } else { "<" });
                }
                brackets.push(is_shown && is_list);
                is_shown &= !is_list;
            }
            '>' if !is_operator && !before.ends_with('-') => {
                let Some(is_list) = brackets.pop() else { return safe(name) };
                if is_shown {
                    text.push('>');
                }
                is_shown |= is_list;
            }
            char if is_shown => text.push(char),
            _ => {}
        }
    }
    if brackets.is_empty() { safe(&text) } else { safe(name) }
}

/// The first `shown` names, and the number of the rest.
pub fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>, shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let mut text = names.take(shown).map(safe).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {} more", count(more as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_functions_have_no_template_arguments() {
        let long = |name: &str| function(&name.replace("LONG", &"x".repeat(60)));
        assert_eq!(function("a<b>::c"), "a<b>::c");
        assert_eq!(long("a::b<LONG, d<e> >::f<g>"), "a::b<…>::f<…>");
        assert_eq!(long("<a::b<LONG> as c>::d"), "<a::b<…> as c>::d");
        assert_eq!(long("a<LONG>::operator<< <b>"), "a<…>::operator<< <b>");
        assert_eq!(long("a<LONG>::operator->"), "a<…>::operator->");
        for unbalanced in ["a<LONG", "a>LONG"] {
            assert_eq!(long(unbalanced), unbalanced.replace("LONG", &"x".repeat(60)));
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([bytes(999), bytes(1000), bytes(999_960)], ["999 B", "1.0 kB", "1.0 MB"]);
        assert_eq!([bytes(104_200_000), bytes(5_000_000_000_000_000)], ["104.2 MB", "5000.0 TB"]);
        assert_eq!([seconds(0.0034), seconds(1.234)], ["3.4 ms", "1.23 s"]);
        assert_eq!([rate(2_000_000_000, 1.0), rate(1, 0.0)], ["2,000 MB/s", "-"]);
        assert_eq!([plural(1, "face"), plural(2, "face")], ["1 face", "2 faces"]);
    }

    #[test]
    fn limits_of_containers_are_named() {
        let mut limits = Container::default();
        assert_eq!(container(limits), None);
        limits.cores = Some(1.5);
        assert_eq!(container(limits).unwrap(), "container of 1.5 cores");
        limits.memory_bytes = Some(4 << 30);
        assert_eq!(container(limits).unwrap(), "container of 1.5 cores, 4.3 GB");
    }

    #[test]
    fn numbers_have_nine_digits_at_most() {
        let texts = [0.1 + 0.2, -0.0, 1.0 / 3.0, 123_456_789.123, 1e300, 1.5e-7, f64::MAX].map(number);
        assert_eq!(texts, ["0.3", "-0", "0.333333333", "123456789", "1e300", "1.5e-7", "1.79769313e308"]);
        assert_eq!([0.1, 16_777_216.0, 1e30, -1.5e-7].map(coordinate), ["0.1", "16777216", "1e30", "-1.5e-7"]);
        assert_eq!(coordinate(5_411_234.456), "5411234.456");
        assert_eq!([number(f64::INFINITY), number(f64::NAN)], ["inf", "NaN"]);
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert_eq!(safe("a\u{1b}[31m\nb\u{202e}\u{9b}c"), "a\u{fffd}[31m b\u{fffd}\u{fffd}c");
        assert_eq!(names(["a", "b", "c"].into_iter(), 2), "a, b and 1 more");
        assert_eq!(names(["a"].into_iter(), 2), "a");
    }
}
