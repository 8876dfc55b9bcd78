//! The values of options: sizes, rates, times, axes, digits, limits. Text in, value or message out; nothing is opened.

use crate::picture;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use polyhaul::options::{Axis, Digits, Limits};
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const KIB: u64 = 1 << 10;

/// Parses a value with some names offered by completions; other texts may be valid, too.
#[derive(Clone)]
pub struct Choices<T> {
    names: &'static [&'static str],
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Choices<T> {
    /// These names, which `parse` accepts.
    pub fn with(names: &'static [&'static str], parse: fn(&str) -> Result<T, String>) -> Choices<T> {
        Choices { names, parse }
    }
}

impl<T: FromStr<Err = String>> Choices<T> {
    /// These names of a type that is parsed.
    pub fn from_names(names: &'static [&'static str]) -> Choices<T> {
        Choices { names, parse: T::from_str }
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

/// Parses a direction of an axis.
pub fn direction() -> Choices<Direction> {
    Choices::from_names(&["X", "Y", "Z", "-X", "-Y", "-Z"])
}

/// Parses digits after the point.
pub fn places() -> Choices<Places> {
    Choices::from_names(&["shortest"])
}

/// A size in bytes: `64MB` and `64M` are 64,000,000, `64MiB` is 67,108,864, `64` is 64.
pub fn size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = unit_bytes(unit.trim()).ok_or("expected one of the units B, KB, MB, GB, TB, KiB, MiB, GiB or TiB")?;
    // Whole numbers stay exact; only a fraction goes through floating point.
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => fraction(number, factor),
    };
    match bytes.ok_or("expected a size, such as 64MB, 1.5GB or 512KiB")? {
        0 => Err("expected more than 0".into()),
        bytes => Ok(bytes),
    }
}

fn fraction(number: &str, factor: u64) -> Option<u64> {
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn unit_bytes(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => KIB,
        "mi" | "mib" => KIB.pow(2),
        "gi" | "gib" => KIB.pow(3),
        "ti" | "tib" => KIB.pow(4),
        _ => return None,
    })
}

/// A path of a file to write whose name ends in one of `endings`, so that an input given by mistake is not replaced.
/// Names without an extension are fine (`/dev/fd/3`).
pub fn file_named(endings: &'static [&'static str]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let is_one = |ending: &std::ffi::OsStr| endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
        if path.as_os_str() == "-" {
            return Err("expected a file; standard output is used for results".to_owned());
        }
        if path.extension().is_none_or(is_one) {
            Ok(path)
        } else {
            Err(format!("expected a name ending in .{}", endings.join(" or .")))
        }
    })
}

/// The same for a chart, in a format that this build draws.
pub fn chart_file() -> impl TypedValueParser<Value = PathBuf> {
    file_named(picture::ENDINGS).try_map(|path| match picture::missing_feature(&path) {
        Some(message) => Err(message),
        None => Ok(path),
    })
}

/// Bytes per second: a size with its unit, with or without `/s`.
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

/// A time: `100us`, `5ms`, `0.1s`.
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

/// The size of the demo's scene: less would make rates meaningless, more would exceed 32-bit indices.
pub fn demo_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (100_000..=4_000_000_000).contains(&bytes) { Ok(bytes) } else { Err("expected a size from 100KB to 4GB".into()) }
}

/// A factor above 0.
pub fn scale(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(factor) if factor.is_normal() && factor > 0.0 => Ok(factor),
        _ => Err("expected a number greater than 0".into()),
    }
}

/// A direction of an axis, as Blender names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction(pub Axis);

const DIRECTIONS: [(Axis, &str, &str); 6] = [
    (Axis::X, "X", "POSITIVE_X"),
    (Axis::Y, "Y", "POSITIVE_Y"),
    (Axis::Z, "Z", "POSITIVE_Z"),
    (Axis::NegativeX, "-X", "NEGATIVE_X"),
    (Axis::NegativeY, "-Y", "NEGATIVE_Y"),
    (Axis::NegativeZ, "-Z", "NEGATIVE_Z"),
];

impl Direction {
    fn index(self) -> usize {
        DIRECTIONS.iter().position(|entry| entry.0 == self.0).unwrap_or_default()
    }

    /// The axis without its sign: 0, 1 or 2.
    pub fn line(self) -> usize {
        self.index() % 3
    }

    /// A direction that does not lie on the same line.
    pub fn another(self) -> Direction {
        Direction(DIRECTIONS[(self.line() + 2) % 3].0)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DIRECTIONS[self.index()].1)
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let upper = text.to_ascii_uppercase();
        let found = DIRECTIONS.iter().find(|entry| upper == entry.1 || upper == entry.2);
        found.map(|entry| Direction(entry.0)).ok_or("expected X, Y, Z, -X, -Y or -Z".into())
    }
}

/// Digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(pub Digits);

impl FromStr for Places {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u8>() {
            Ok(digits) if digits <= 12 => Ok(Places(Digits::Fixed(digits))),
            _ if text == "shortest" => Ok(Places(Digits::Shortest)),
            _ => Err("expected 0 to 12, or shortest".into()),
        }
    }
}

/// The place of a limit among all of them.
type Field = fn(&mut Limits) -> &mut u64;

/// The limits by name.
const LIMITS: [(&str, Field); 17] = [
    ("line_bytes", |limits| &mut limits.line_bytes),
    ("name_bytes", |limits| &mut limits.name_bytes),
    ("elements", |limits| &mut limits.elements),
    ("objects", |limits| &mut limits.objects),
    ("materials", |limits| &mut limits.materials),
    ("pixels", |limits| &mut limits.pixels),
    ("image_ratio", |limits| &mut limits.image_ratio),
    ("columns", |limits| &mut limits.columns),
    ("properties", |limits| &mut limits.properties),
    ("header_bytes", |limits| &mut limits.header_bytes),
    ("files", |limits| &mut limits.files),
    ("included_bytes", |limits| &mut limits.included_bytes),
    ("instanced_elements", |limits| &mut limits.instanced_elements),
    ("instanced_objects", |limits| &mut limits.instanced_objects),
    ("referenced_file_bytes", |limits| &mut limits.referenced_file_bytes),
    ("decompressed_bytes", |limits| &mut limits.decompressed_bytes),
    ("decompressed_ratio", |limits| &mut limits.decompressed_ratio),
];

/// A change of one of the library's limits.
#[derive(Clone, Debug)]
pub struct Limit {
    field: Field,
    value: u64,
}

impl Limit {
    /// Makes the change.
    pub fn apply(&self, limits: &mut Limits) {
        *(self.field)(limits) = self.value;
    }
}

/// A limit as `NAME=N`, where N may have a unit.
pub fn limit(text: &str) -> Result<Limit, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=N")?;
    let name = name.replace('-', "_");
    match LIMITS.iter().find(|(known, _)| *known == name) {
        Some(&(_, field)) => Ok(Limit { field, value: size(value)? }),
        None => Err(format!("expected one of the limits {}", limit_names())),
    }
}

/// The help of `--limit`.
pub fn limit_help() -> String {
    format!("Change a limit: {}", limit_names())
}

fn limit_names() -> String {
    LIMITS.map(|(name, _)| name).join(", ")
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
        // Nobody means 100 bytes per second.
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

    #[test]
    fn axes_have_two_spellings() {
        for (axis, short, long) in DIRECTIONS {
            assert_eq!(short.parse(), Ok(Direction(axis)));
            assert_eq!(long.to_lowercase().parse(), Ok(Direction(axis)));
            let direction = Direction(axis);
            assert_ne!(direction.line(), direction.another().line());
            assert_eq!(direction.to_string(), short);
        }
        assert!("W".parse::<Direction>().is_err());
    }

    #[test]
    fn digits_end_at_twelve() {
        assert_eq!("12".parse(), Ok(Places(Digits::Fixed(12))));
        assert_eq!("shortest".parse(), Ok(Places(Digits::Shortest)));
        for text in ["13", "-1", "", "six"] {
            assert!(text.parse::<Places>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_change_one_field() {
        let mut limits = Limits::default();
        limit("line-bytes=1MB").unwrap().apply(&mut limits);
        assert_eq!(limits, Limits::default().with_line_bytes(1_000_000));
        assert!(limit("speed=1").is_err() && limit("files").is_err() && limit("files=x").is_err());
    }

    #[test]
    fn scales_are_above_zero() {
        assert_eq!(scale("0.01"), Ok(0.01));
        for text in ["0", "-1", "nan", "inf", "x", "1e-45"] {
            assert!(scale(text).is_err(), "{text}");
        }
    }
}
