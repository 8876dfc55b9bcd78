//! Parses the values of options: sizes, rates, times, kinds of warnings, names of output files. Nothing is opened.

use crate::picture;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use polyhaul::options::{KindSet, OptionValue, Strict};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

/// A parser with some names for completions; it may accept other values too.
#[derive(Clone)]
pub struct Choices<T> {
    names: &'static [&'static str],
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Choices<T> {
    /// Offers `names`, which `parse` must accept.
    pub fn with(names: &'static [&'static str], parse: fn(&str) -> Result<T, String>) -> Choices<T> {
        Choices { names, parse }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Choices<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        TypedValueParser::parse_ref(&self.parse, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}

/// Parses a size in bytes: `64MB` and `64M` are 64,000,000, `64MiB` is 67,108,864, `64` is 64.
pub fn size(text: &str) -> Result<u64, String> {
    match u64::parse(text) {
        Ok(0) => Err("expected more than 0".into()),
        Ok(bytes) => Ok(bytes),
        Err(_) if text.contains(char::is_alphabetic) => {
            Err("expected a number with one of the units B, KB, MB, GB, TB, KiB, MiB, GiB or TiB".into())
        }
        Err(_) => Err("expected a size, such as 64MB, 1.5GB or 512KiB".into()),
    }
}

/// Parses the level of `--strict`.
pub fn strict(text: &str) -> Result<Strict, String> {
    Strict::parse(text)
}

/// Parses comma-separated kinds of warnings.
pub fn kinds(text: &str) -> Result<KindSet, String> {
    KindSet::parse(text)
}

/// Parses the path of an output file that must have one of the extensions `endings`, so that an input given by mistake
/// is not overwritten. Paths without an extension (`/dev/fd/3`) are accepted.
pub fn file_named(endings: &'static [&'static str]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let is_accepted = |ending: &OsStr| endings.iter().any(|accepted| ending.eq_ignore_ascii_case(accepted));
        if path.as_os_str() == "-" {
            return Err("expected a file; standard output is used for results".to_owned());
        }
        if path.extension().is_none_or(is_accepted) {
            Ok(path)
        } else {
            Err(format!("expected a name ending in .{}", endings.join(" or .")))
        }
    })
}

/// Like [`file_named`], for charts in the formats that this build supports.
pub fn chart_file() -> impl TypedValueParser<Value = PathBuf> {
    file_named(picture::ENDINGS).try_map(|path| match picture::missing_feature(&path) {
        Some(message) => Err(message),
        None => Ok(path),
    })
}

/// Parses a rate in bytes per second: a size with its unit, with or without `/s`.
pub fn rate(text: &str) -> Result<u64, String> {
    let text = text.strip_suffix("/s").or(text.strip_suffix("/S")).unwrap_or(text).trim();
    if text.parse::<f64>().is_ok_and(|number| number >= 0.0) {
        return Err(format!("expected a rate with a unit, such as {text}MB/s"));
    }
    match size(text) {
        Err(error) if error.starts_with("expected a size") => {
            Err("expected a rate, such as 500MB/s, 1.5GB/s or 64MiB/s".into())
        }
        rate => rate,
    }
}

/// Parses a time of up to an hour: `100us`, `5ms`, `0.1s`.
pub fn latency(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err("expected one of the units ns, us, ms or s".into()),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * factor).filter(|&seconds| seconds <= 3600.0);
    seconds.map(Duration::from_secs_f64).ok_or("expected a time of up to 3600s, such as 100us, 5ms or 0.1s".into())
}

/// Parses the size of the demo's scene. Smaller scenes yield meaningless rates; larger scenes exceed 32-bit indices.
pub fn demo_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (100_000..=4_000_000_000).contains(&bytes) { Ok(bytes) } else { Err("expected a size from 100KB to 4GB".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_and_binary() {
        let good = [
            ("64", 64),
            ("64MB", 64_000_000),
            ("64M", 64_000_000),
            ("64mib", 67_108_864),
            ("1.5k", 1_500),
            ("2 GiB", 2 << 30),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in good {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "MB", "-1", "1e3", "1..5MB", "5XB", "99999999999999TB", "1.5.5"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_sizes_per_second() {
        let good = [("500MB/s", 500_000_000), ("1.5gb/S", 1_500_000_000), ("64MiB/s", 64 << 20), ("64 MiB", 64 << 20)];
        for (text, bytes) in good {
            assert_eq!(rate(text), Ok(bytes), "{text}");
        }
        let bad = [("/s", "500MB/s"), ("fast", "unit"), ("0MB/s", "more than 0"), ("5MB/min", "unit")];
        // A unit is required, since 100 bytes per second is hardly ever intended.
        let bare = [("100", "with a unit, such as 100MB/s"), ("1.5", "such as 1.5MB/s"), ("100/s", "such as 100MB/s")];
        for (text, says) in bad.into_iter().chain(bare).chain([("0", "with a unit")]) {
            assert!(rate(text).is_err_and(|error| error.contains(says)), "{text}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        let good =
            [("100us", 100_000), ("5 ms", 5_000_000), ("0.1s", 100_000_000), ("7µs", 7_000), ("20NS", 20), ("0s", 0)];
        for (text, time_ns) in good {
            assert_eq!(latency(text), Ok(Duration::from_nanos(time_ns)), "{text}");
        }
        for (text, says) in [("5", "unit"), ("ms", "100us"), ("-1ms", "unit"), ("3601s", "3600s"), ("1..2s", "100us")] {
            assert!(latency(text).is_err_and(|error| error.contains(says)), "{text}");
        }
    }
}
