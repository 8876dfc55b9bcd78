//! Parses text into rows, word by word: the slow path, which accepts everything and describes faults.
//!
//! Accepts rows over several lines, and any notation and type. Runs of plain lines go through [`super::lines`]. Both
//! produce the bytes of a binary file in this machine's byte order, so that all rows reach the arrays in the same way.

use super::header::{Element, Property};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::names;
use polyhaul_text::parse::number::{self, IntegerError};
use polyhaul_text::scan::is_space;
use std::ops::Range;

/// Progress in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlyWordsProgress {
    /// Index of the property that the next word belongs to.
    property: usize,
    /// Number of remaining values of the current list, once its count is known.
    left: Option<u64>,
    /// Whether the last word was an integer written as a decimal.
    pub(super) was_decimal: bool,
}

/// The role of a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// A part of a row.
    Part,
    /// The last word of a row.
    Last,
}

/// The reason why a word does not fit.
#[derive(Debug)]
pub(super) struct PlyFault {
    pub(super) message: String,
    pub(super) expected: String,
}

impl PlyWordsProgress {
    /// Returns whether the next word starts a row.
    pub(super) fn is_fresh(&self) -> bool {
        self.property == 0 && self.left.is_none()
    }

    /// Processes the next word of a row of `element`, and appends its number to `row`.
    pub(super) fn feed(
        &mut self,
        element: &Element,
        word: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<std::result::Result<Fed, PlyFault>> {
        // A number takes at most 8 bytes, so appending it below cannot fail.
        row.try_reserve(8).map_err(|_| Error::memory("a row"))?;
        let Some(property) = element.properties.get(self.property) else { return Ok(Ok(Fed::Last)) };
        let (scalar, is_count) = match (property.count, self.left) {
            (Some(count), None) => (count, true),
            _ => (property.item, false),
        };
        let count = match append(scalar, word, row) {
            Ok(count) => {
                self.was_decimal = is_decimal(scalar, word);
                count
            }
            Err(why) => return Ok(Err(fault(element, property, scalar, is_count, word, why))),
        };
        if is_count {
            let Ok(count) = u64::try_from(count) else {
                return Ok(Err(fault(element, property, scalar, true, word, Why::Range)));
            };
            self.left = Some(count);
        } else {
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
        if self.left.is_none_or(|left| left == 0) {
            self.property += 1;
            self.left = None;
        }
        if self.property < element.properties.len() {
            return Ok(Ok(Fed::Part));
        }
        self.property = 0;
        self.left = None;
        Ok(Ok(Fed::Last))
    }
}

enum Why {
    Malformed,
    Range,
}

impl From<IntegerError> for Why {
    fn from(error: IntegerError) -> Why {
        match error {
            IntegerError::Malformed => Why::Malformed,
            IntegerError::Overflow => Why::Range,
        }
    }
}

/// Appends a number. Returns its value if it is an integer of up to 63 bits.
fn append(scalar: Scalar, word: &[u8], row: &mut Vec<u8>) -> std::result::Result<i64, Why> {
    match scalar {
        Scalar::F32 => {
            let special = || number::msvc_special(word).map(|value| value as f32);
            row.extend(number::f32(word).or_else(special).ok_or(Why::Malformed)?.to_ne_bytes());
        }
        Scalar::F64 => {
            let special = || number::msvc_special(word);
            row.extend(number::f64(word).or_else(special).ok_or(Why::Malformed)?.to_ne_bytes());
        }
        Scalar::U64 => {
            let digits = word.strip_prefix(b"+").unwrap_or(word);
            let decimal = || whole(word).and_then(|number| u64::try_from(number).ok());
            let number = number::u64(digits).or_else(|error| decimal().ok_or(error))?;
            row.extend(number.to_ne_bytes());
            return Ok(number.min(i64::MAX as u64) as i64);
        }
        _ => {
            let number = number::i64(word).or_else(|error| whole(word).ok_or(error))?;
            return if push(scalar, number, row) { Ok(number) } else { Err(Why::Range) };
        }
    }
    Ok(0)
}

/// Parses an integer written as a decimal, as some programs write colors: `255.0`, `2.55e2`.
pub(super) fn whole(word: &[u8]) -> Option<i64> {
    // Above 2^53, the nearest double of a decimal may be a different integer.
    const MAX: f64 = 9_007_199_254_740_992.0;
    let value = number::f64(word)?;
    (value.fract() == 0.0 && value.abs() <= MAX).then_some(value as i64)
}

/// Returns whether a word for the integer type `scalar` is written as a decimal.
pub(super) fn is_decimal(scalar: Scalar, word: &[u8]) -> bool {
    !matches!(scalar, Scalar::F32 | Scalar::F64) && word.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// Appends an integer as an integer type; returns `false` if it does not fit.
#[inline]
pub(super) fn push(scalar: Scalar, number: i64, row: &mut Vec<u8>) -> bool {
    macro_rules! push {
        ($type:ty) => {
            match <$type>::try_from(number) {
                Ok(number) => row.extend_from_slice(&number.to_ne_bytes()),
                Err(_) => return false,
            }
        };
    }
    match scalar {
        Scalar::I8 => push!(i8),
        Scalar::U8 => push!(u8),
        Scalar::I16 => push!(i16),
        Scalar::U16 => push!(u16),
        Scalar::I32 => push!(i32),
        Scalar::U32 => push!(u32),
        Scalar::I64 => push!(i64),
        Scalar::U64 => push!(u64),
        Scalar::F32 | Scalar::F64 => return false,
    }
    true
}

fn fault(element: &Element, property: &Property, scalar: Scalar, is_count: bool, word: &[u8], why: Why) -> PlyFault {
    let text = String::from_utf8_lossy(&word[..word.len().min(400)]);
    let word = names::shown(&text);
    let element = names::shown(&element.name);
    let property = names::shown(&property.name);
    let of = if is_count { format!("the count of `{property}`") } else { format!("`{property}`") };
    let message = match why {
        Why::Malformed => format!("`{word}` is not a valid value for {of} of `{element}`"),
        Why::Range => format!("`{word}` does not fit in {of} of `{element}`"),
    };
    PlyFault { message, expected: range_of(scalar, is_count) }
}

/// Describes the range of a type.
fn range_of(scalar: Scalar, is_count: bool) -> String {
    let (low, high) = match scalar {
        Scalar::I8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Scalar::U8 => (0, i128::from(u8::MAX)),
        Scalar::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Scalar::U16 => (0, i128::from(u16::MAX)),
        Scalar::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Scalar::U32 => (0, i128::from(u32::MAX)),
        Scalar::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Scalar::U64 => (0, i128::from(u64::MAX)),
        Scalar::F32 | Scalar::F64 => return "a number".into(),
    };
    format!("an integer from {} to {high}", if is_count { 0 } else { low })
}

/// Iterates over the words of `text[from..to]`.
pub(super) fn words(text: &[u8], from: usize, to: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = from;
    let end = to.min(text.len());
    std::iter::from_fn(move || {
        while at < end && is_space(text[at]) {
            at += 1;
        }
        let start = at;
        while at < end && !is_space(text[at]) {
            at += 1;
        }
        (start < at).then_some(start..at)
    })
}
