//! Values of options as text.

use super::scene::Origin;
use crate::severity::{KindSet, Strict};
use crate::{Axis, Bounds, Encoding, Texel};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The kind of an option's values, from which surfaces make flags, types and checks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second value.
    Integer(i128, i128),
    /// A positive number.
    Positive,
    /// Any text.
    Text,
    /// One of several names.
    Choice(&'static [OptionChoice]),
    /// Text of another form.
    Special {
        /// The name of the form in help and stubs, such as `Digits`.
        name: &'static str,
        /// The form in words, such as `0 to 12, or shortest`.
        expected: &'static str,
        /// Words that are values, such as `shortest`.
        words: &'static [&'static str],
    },
    /// A value, or a word for its absence: `none`, or `auto` if a value is chosen in that case.
    Optional(&'static OptionKind, &'static str),
}

/// A name that an option accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionChoice {
    /// The name.
    pub name: &'static str,
    /// What it means, in lines of Markdown.
    pub docs: &'static str,
    /// The only format that the name applies to; empty for all formats of the option.
    pub format: &'static str,
}

impl OptionKind {
    /// The same kind; if its values are integers, limited to a range.
    #[doc(hidden)]
    pub const fn within(self, range: &RangeInclusive<i128>) -> OptionKind {
        match self {
            OptionKind::Integer(..) => OptionKind::Integer(*range.start(), *range.end()),
            other => other,
        }
    }

    /// Fails if a value is a number outside a range.
    #[doc(hidden)]
    pub fn check(range: &RangeInclusive<i128>, value: &impl OptionValue) -> Result<(), String> {
        match value.number() {
            Some(number) if !range.contains(&number) => {
                Err(format!("expected {}", OptionKind::Integer(*range.start(), *range.end()).expected()))
            }
            _ => Ok(()),
        }
    }

    /// The accepted values in words, such as `weak or strong`.
    pub fn expected(&self) -> String {
        match self {
            OptionKind::Flag => "true or false".into(),
            OptionKind::Integer(min, max) if *max >= i128::from(u32::MAX) => {
                format!("a whole number of at least {min}")
            }
            OptionKind::Integer(min, max) => format!("{min} to {max}"),
            OptionKind::Positive => "a positive number".into(),
            OptionKind::Text => "text".into(),
            OptionKind::Choice(choices) => {
                let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
                match names.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => names.concat(),
                }
            }
            OptionKind::Special { expected, .. } => (*expected).into(),
            OptionKind::Optional(kind, none) => format!("{}, or {none}", kind.expected()),
        }
    }

    /// The kind of the values without the word for their absence.
    pub const fn inner(&self) -> &OptionKind {
        match self {
            OptionKind::Optional(kind, _) => kind,
            kind => kind,
        }
    }

    /// The choices; empty unless the kind is a choice.
    pub fn choices(&self) -> &'static [OptionChoice] {
        match self.inner() {
            OptionKind::Choice(choices) => choices,
            _ => &[],
        }
    }
}

/// A type whose values people write as text.
pub trait OptionValue: Sized {
    /// The kind of the values.
    const KIND: OptionKind;

    /// The word for the absence of a value, in options that allow it.
    const NONE: &'static str = "none";

    /// Parses a value.
    ///
    /// # Errors
    /// A description of the expected text, such as `expected 0 to 12, or shortest`.
    fn parse(text: &str) -> Result<Self, String>;

    /// The text that [`parse`](Self::parse) reads as this value.
    fn print(&self) -> String;

    /// The value as a whole number, if it is one.
    fn number(&self) -> Option<i128> {
        None
    }
}

impl OptionValue for bool {
    const KIND: OptionKind = OptionKind::Flag;

    fn parse(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| format!("expected {}", Self::KIND.expected()))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl OptionValue for $type {
            const KIND: OptionKind = OptionKind::Integer(<$type>::MIN as i128, <$type>::MAX as i128);

            fn parse(text: &str) -> Result<$type, String> {
                text.parse().map_err(|_| "expected a whole number".into())
            }

            fn print(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<i128> {
                Some(*self as i128)
            }
        }
    )+};
}

integers!(u8 u16 u32 usize i32);

/// The text may have a unit of sizes: `64MB` is 64,000,000, `64MiB` is 2^26.
impl OptionValue for u64 {
    const KIND: OptionKind = OptionKind::Integer(0, u64::MAX as i128);

    fn parse(text: &str) -> Result<u64, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let error = || "expected a whole number, or a size such as 64MB, 1.5GB or 512KiB".to_string();
        let unit = unit_bytes(unit.trim_start()).ok_or_else(error)?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).ok_or_else(error);
        }
        let size = number.parse::<f64>().map_err(|_| error())? * unit as f64;
        if unit > 1 && size < u64::MAX as f64 { Ok(size as u64) } else { Err(error()) }
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn number(&self) -> Option<i128> {
        Some((*self).into())
    }
}

/// The number of bytes in a unit of sizes, ignoring case; `None` for an unknown unit.
fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let prefix = unit.strip_suffix('b').unwrap_or(&unit);
    let (prefix, base) = prefix.strip_suffix('i').map_or((prefix, 1000_u64), |prefix| (prefix, 1024));
    let power = match prefix {
        "" if base == 1000 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    Some(base.pow(power))
}

impl OptionValue for f64 {
    const KIND: OptionKind = OptionKind::Positive;

    fn parse(text: &str) -> Result<f64, String> {
        let number = text.parse().ok().filter(|number: &f64| number.is_normal() && *number > 0.0);
        number.ok_or_else(|| format!("expected {}", Self::KIND.expected()))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for String {
    const KIND: OptionKind = OptionKind::Text;

    fn parse(text: &str) -> Result<String, String> {
        Ok(text.into())
    }

    fn print(&self) -> String {
        self.clone()
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: OptionKind = OptionKind::Optional(&T::KIND, T::NONE);

    fn parse(text: &str) -> Result<Option<T>, String> {
        if text == T::NONE { Ok(None) } else { T::parse(text).map(Some) }
    }

    fn print(&self) -> String {
        self.as_ref().map_or_else(|| T::NONE.into(), T::print)
    }

    fn number(&self) -> Option<i128> {
        self.as_ref().and_then(T::number)
    }
}

/// An axis is a letter with an optional sign (`-Z`), or Blender's name (`NEGATIVE_Z`); case is ignored.
impl OptionValue for Axis {
    const KIND: OptionKind = {
        const fn axis(name: &'static str) -> OptionChoice {
            OptionChoice { name, docs: "", format: "" }
        }
        OptionKind::Choice(&[axis("X"), axis("Y"), axis("Z"), axis("-X"), axis("-Y"), axis("-Z")])
    };

    fn parse(text: &str) -> Result<Axis, String> {
        let letters = text.to_ascii_uppercase().replace("NEGATIVE_", "-").replace("POSITIVE_", "");
        match letters.trim_start_matches('+') {
            "X" => Ok(Axis::X),
            "Y" => Ok(Axis::Y),
            "Z" => Ok(Axis::Z),
            "-X" => Ok(Axis::NegativeX),
            "-Y" => Ok(Axis::NegativeY),
            "-Z" => Ok(Axis::NegativeZ),
            _ => Err(format!("expected {}", Self::KIND.expected())),
        }
    }

    fn print(&self) -> String {
        let letters = match self {
            Axis::X => "X",
            Axis::Y => "Y",
            Axis::Z => "Z",
            Axis::NegativeX => "-X",
            Axis::NegativeY => "-Y",
            Axis::NegativeZ => "-Z",
        };
        letters.into()
    }
}

/// The encodings in which textures are written. `print` also names those that are only read, for reports.
impl OptionValue for Encoding {
    const KIND: OptionKind = {
        const fn encoding(name: &'static str, docs: &'static str) -> OptionChoice {
            OptionChoice { name, docs, format: "" }
        }
        OptionKind::Choice(&[
            encoding("bc1", "RGB, 4 bits per pixel."),
            encoding("bc3", "RGBA, 8 bits per pixel."),
            encoding("bc4", "One channel, 4 bits per pixel."),
            encoding("bc5", "Two channels, 8 bits per pixel."),
            encoding("bc6h", "HDR RGB, 8 bits per pixel."),
            encoding("bc7", "RGBA in the best quality, 8 bits per pixel."),
            encoding("rgba8", "Uncompressed RGBA, 32 bits per pixel."),
        ])
    };
    // An encoding is chosen for each image.
    const NONE: &'static str = "auto";

    fn parse(text: &str) -> Result<Encoding, String> {
        const ENCODINGS: [Encoding; 7] = [
            Encoding::Bc1,
            Encoding::Bc3,
            Encoding::Bc4 { signed: false },
            Encoding::Bc5 { signed: false },
            Encoding::Bc6h { signed: false },
            Encoding::Bc7,
            Encoding::Plain { channels: 4, texel: Texel::U8 },
        ];
        let named = ENCODINGS.into_iter().find(|encoding| encoding.to_string() == text);
        named.ok_or_else(|| format!("expected {}", Self::KIND.expected()))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

/// `true` and `false` are also accepted as `losses` and `off`.
impl OptionValue for Strict {
    const KIND: OptionKind = {
        const fn choice(name: &'static str, docs: &'static str) -> OptionChoice {
            OptionChoice { name, docs, format: "" }
        }
        OptionKind::Choice(&[
            choice("false", "Warnings are not errors."),
            choice("true", "Losses and faults are errors."),
            choice("all", "Notes are errors too."),
        ])
    };

    fn parse(text: &str) -> Result<Strict, String> {
        match text {
            "false" | "off" => Ok(Strict::Off),
            "true" | "losses" => Ok(Strict::Losses),
            "all" => Ok(Strict::All),
            _ => Err(format!("expected {}", Self::KIND.expected())),
        }
    }

    fn print(&self) -> String {
        let text = match self {
            Strict::Off => "false",
            Strict::Losses => "true",
            Strict::All => "all",
        };
        text.into()
    }
}

/// A list of codes, separated by commas.
impl OptionValue for KindSet {
    const KIND: OptionKind = OptionKind::Special {
        name: "Kinds",
        expected: "kinds of warnings, separated by commas, such as `left-out-uvs`",
        words: &[],
    };

    fn parse(text: &str) -> Result<KindSet, String> {
        let mut set = KindSet::default();
        let codes = text.split(',').map(str::trim).filter(|code| !code.is_empty());
        codes.into_iter().try_for_each(|code| set.insert(code))?;
        Ok(set)
    }

    fn print(&self) -> String {
        self.codes().collect::<Vec<_>>().join(",")
    }
}

/// The minimum and the maximum of x, y and z.
impl OptionValue for Bounds<f64> {
    const KIND: OptionKind = OptionKind::Special {
        name: "Box",
        expected: "six numbers, separated by commas: minimum x, y, z, then maximum x, y, z",
        words: &[],
    };

    fn parse(text: &str) -> Result<Bounds<f64>, String> {
        let [a, b, c, d, e, f] = numbers::<6>(text)?;
        let bounds = Bounds { min: [a, b, c], max: [d, e, f] };
        if (0..3).any(|axis| bounds.min[axis] > bounds.max[axis]) {
            return Err("the first three numbers must not be larger than the others".into());
        }
        Ok(bounds)
    }

    fn print(&self) -> String {
        join(self.min.iter().chain(&self.max))
    }
}

impl OptionValue for Origin {
    const KIND: OptionKind =
        OptionKind::Special { name: "Origin", expected: "auto, none or x,y,z", words: &["auto", "none"] };

    fn parse(text: &str) -> Result<Origin, String> {
        match text {
            "auto" => Ok(Origin::Auto),
            "none" => Ok(Origin::None),
            _ => numbers::<3>(text).map(Origin::At).map_err(|_| format!("expected {}", Self::KIND.expected())),
        }
    }

    fn print(&self) -> String {
        match self {
            Origin::Auto => "auto".into(),
            Origin::None => "none".into(),
            Origin::At(point) => join(point.iter()),
        }
    }
}

/// The first three rows of a matrix in row-major order; the last row is 0, 0, 0, 1.
impl OptionValue for [[f64; 4]; 4] {
    const KIND: OptionKind = OptionKind::Special {
        name: "Matrix",
        expected: "12 numbers, separated by commas: a 3x4 row-major matrix",
        words: &[],
    };

    fn parse(text: &str) -> Result<[[f64; 4]; 4], String> {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = numbers::<12>(text)?;
        Ok([[a, b, c, d], [e, f, g, h], [i, j, k, l], [0.0, 0.0, 0.0, 1.0]])
    }

    fn print(&self) -> String {
        join(self.as_flattened().iter().take(12))
    }
}

/// Parses `N` finite numbers, separated by commas.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| format!("expected {N} numbers, separated by commas"))
}

/// A list separated by commas.
impl<T: OptionItem> OptionValue for Vec<T> {
    const KIND: OptionKind = OptionKind::Special { name: T::LIST, expected: T::EXPECTED, words: &[] };

    fn parse(text: &str) -> Result<Vec<T>, String> {
        if text.is_empty() { Ok(Vec::new()) } else { text.split(',').map(T::parse_item).collect() }
    }

    fn print(&self) -> String {
        join(self.iter().map(T::print_item))
    }
}

/// An item of a list in an option.
pub trait OptionItem: Sized {
    /// The name of the list in help and stubs, such as `Columns`.
    const LIST: &'static str;
    /// The form of the list in words.
    const EXPECTED: &'static str;

    /// Parses an item.
    ///
    /// # Errors
    /// A description of the expected text.
    fn parse_item(text: &str) -> Result<Self, String>;

    /// The text of the item.
    fn print_item(&self) -> String;
}

fn join(items: impl Iterator<Item = impl Display>) -> String {
    let mut list = String::new();
    for item in items {
        if !list.is_empty() {
            list.push(',');
        }
        list += &item.to_string();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Digits;

    /// Checks that values have these texts, and that none of the other texts is a value.
    fn check<T: OptionValue + PartialEq + std::fmt::Debug>(values: &[(T, &str)], others: &[&str]) {
        for (value, text) in values {
            assert_eq!(T::parse(text).as_ref(), Ok(value), "{text}");
            assert_eq!(T::parse(&value.print()).as_ref(), Ok(value), "{text}");
        }
        for text in others {
            assert!(T::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_have_texts() {
        check(&[(true, "true"), (false, "false")], &["", "yes", "1"]);
        check(&[(0u8, "0"), (255, "255")], &["256", "-1", "", "x"]);
        check(
            &[(64_000_000u64, "64MB"), (1500, "1.5k"), (2 << 30, "2 GiB"), (u64::MAX, "18446744073709551615")],
            &["MB", "1..5MB", "5XB", "1.5", "99999999999999TB", "-1"],
        );
        check(&[(0.01f64, "0.01"), (2.0, "2")], &["0", "-1", "nan", "inf", "x", "1e-320"]);
        check(&[(None, "none"), (Some(7i32), "7")], &["", "7.5"]);
        check(&[(Axis::NegativeX, "-X"), (Axis::NegativeX, "negative_x"), (Axis::Z, "positive_z")], &["W", ""]);
        check(
            &[
                (None, "auto"),
                (Some(Encoding::Bc7), "bc7"),
                (Some(Encoding::Bc4 { signed: false }), "bc4"),
                (Some(Encoding::default()), "rgba8"),
            ],
            &["none", "bc2", "BC7", ""],
        );
        check(&[(Digits::Fixed(12), "12"), (Digits::Shortest, "shortest")], &["13", "-1", "", "six"]);
        check(&[(vec![Digits::Fixed(1), Digits::Shortest], "1, shortest"), (Vec::new(), "")], &["1,", "x"]);
        let bounds = Bounds { min: [-1.0, 0.0, 0.5], max: [1.0, 0.0, 2.0] };
        check(&[(bounds, "-1,0,0.5,1,0,2")], &["1,2,3", "1,0,0,0,0,0", "0,0,0,0,0,inf"]);
        let matrix = [[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 1.0, 4.0], [0.0, 0.0, 0.0, 1.0]];
        check(&[(matrix, "1,0,0,2,0,1,0,3,0,0,1,4")], &["1", ""]);
    }
}
