//! The values of a table: the type of a token or of a column, and whether the column can store the token.

use polyhaul_model::Scalar;
use polyhaul_model::error::{Result, try_push};
use polyhaul_text::parse::fields::{MAX_EXACT, NOT_INTEGER};
use polyhaul_text::parse::number;
use std::ops::RangeInclusive;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableHeadKind {
    /// Integers if all values are integers, otherwise f64s.
    Auto,
    F32,
    F64,
    Integer(Scalar),
}

impl TableHeadKind {
    pub(super) fn from_scalar(scalar: Option<Scalar>) -> TableHeadKind {
        match scalar {
            None => TableHeadKind::Auto,
            Some(Scalar::F32) => TableHeadKind::F32,
            Some(Scalar::F64) => TableHeadKind::F64,
            Some(integer) => TableHeadKind::Integer(integer),
        }
    }
}

/// A parsed value.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableValue {
    /// The nearest f64 or, if the column stores f32s, the nearest f32.
    pub(super) number: f64,
    /// [`NOT_INTEGER`] or 0.
    pub(super) mark: u8,
    /// The integer, if `number` may be inexact.
    pub(super) wide: Option<WideInteger>,
}

/// An integer that f64 may not represent exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WideInteger {
    /// An integer that fits in an i64 or a u64.
    Exact(i128),
    /// An integer that fits in neither, so its column has floats.
    Rounded,
}

/// A wide integer in a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// Index among the values of the chunk.
    pub(super) cell: u32,
    negative: bool,
    size: u64,
}

impl Wide {
    /// Returns the integer; `None` if it has more than 64 bits.
    pub(super) fn value(self) -> Option<i128> {
        // 0 represents more than 64 bits, because no wide integer is 0.
        let size = i128::from(self.size);
        (size > 0).then_some(if self.negative { -size } else { size })
    }

    /// Whether the integer fits in a u64 but not in an i64.
    pub(super) fn is_unsigned(self) -> bool {
        !self.negative && self.size > i64::MAX as u64
    }

    /// Whether f64 cannot represent the value.
    pub(super) fn is_rounded(self) -> bool {
        self.value().is_none_or(|value| value as f64 as i128 != value)
    }
}

/// Statistics of wide integers in a column of a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WideColumn {
    /// Number of integers that f64 cannot represent.
    pub(super) rounded: u64,
    /// Whether any integer fits in a u64 but not in an i64.
    pub(super) has_unsigned: bool,
    /// Whether any value is negative. Only determined if `has_unsigned`.
    pub(super) has_negative: bool,
}

impl WideColumn {
    /// Combines the statistics of two columns.
    pub(super) fn with(self, other: WideColumn) -> WideColumn {
        WideColumn {
            rounded: self.rounded + other.rounded,
            has_unsigned: self.has_unsigned || other.has_unsigned,
            has_negative: self.has_negative || other.has_negative,
        }
    }
}

/// Converts a float to a value. The value counts as an integer if it has no fraction.
pub(super) fn f64_of(number: f64) -> TableValue {
    let is_integer = number.trunc() == number && number.abs() <= MAX_EXACT as f64;
    // An integer column would lose the sign of -0.
    let is_minus_zero = number == 0.0 && number.is_sign_negative();
    TableValue { number, mark: if is_integer && !is_minus_zero { 0 } else { NOT_INTEGER }, wide: None }
}

/// Returns the range of an integer type.
pub(super) fn range_of(scalar: Scalar) -> RangeInclusive<i128> {
    let bits = 8 * scalar.bytes() as u32;
    match scalar {
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => 0..=(1 << bits) - 1,
        _ => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
    }
}

/// Whether a parsed number is certainly correct when converted to the type of a column.
pub(super) fn check_number(number: f64, kind: TableHeadKind) -> bool {
    match kind {
        TableHeadKind::Auto | TableHeadKind::F64 => true,
        // Rounding to f64 and then to f32 can differ from rounding once only if the f64 is halfway between two f32s, or
        // so small that f32s have fewer bits.
        TableHeadKind::F32 => {
            number.to_bits() & 0x1FFF_FFFF != 0x1000_0000 && (number == 0.0 || number.abs() >= 1.2e-38)
        }
        TableHeadKind::Integer(scalar) => {
            let is_exact = number.trunc() == number && number.abs() < MAX_EXACT as f64;
            is_exact && range_of(scalar).contains(&(number as i128))
        }
    }
}

impl TableValue {
    /// Parses a token for a column. Returns `None` if it is not a value, or if the column cannot store it.
    pub(super) fn from_token(token: &[u8], kind: TableHeadKind) -> Option<TableValue> {
        if kind == TableHeadKind::F32 {
            return number::f32(token).map(|value| TableValue {
                number: f64::from(value),
                mark: NOT_INTEGER,
                wide: None,
            });
        }
        let Some(value) = TableValue::integer(token) else {
            let number = number::f64(token)?;
            let wide = is_rounded_integer(token, number).then_some(WideInteger::Rounded);
            return check_number(number, kind).then_some(TableValue { number, mark: NOT_INTEGER, wide });
        };
        let whole = match value.wide {
            Some(WideInteger::Exact(whole)) => whole,
            _ => value.number as i128,
        };
        match kind {
            TableHeadKind::Integer(scalar) => range_of(scalar).contains(&whole).then_some(value),
            // An integer that fits in neither an i64 nor a u64 turns the column into floats.
            _ if whole < i128::from(i64::MIN) => {
                let wide = is_rounded_integer(token, value.number).then_some(WideInteger::Rounded);
                Some(TableValue { mark: NOT_INTEGER, wide, ..value })
            }
            _ => Some(value),
        }
    }

    /// Parses NaN or infinity as C libraries spell them, for a column that can store them.
    pub(super) fn special(token: &[u8], kind: TableHeadKind) -> Option<TableValue> {
        let number = number::msvc_special(token).filter(|_| !matches!(kind, TableHeadKind::Integer(_)))?;
        Some(TableValue { number, mark: NOT_INTEGER, wide: None })
    }

    /// Parses an integer of at most 64 bits, with an optional sign.
    fn integer(token: &[u8]) -> Option<TableValue> {
        let (negative, digits) = match token {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, token),
        };
        let size = number::u64(digits).ok()?;
        let number = if negative { -(size as f64) } else { size as f64 };
        let mark = if negative && size == 0 { NOT_INTEGER } else { 0 };
        let whole = if negative { -i128::from(size) } else { i128::from(size) };
        Some(TableValue { number, mark, wide: (size > MAX_EXACT).then_some(WideInteger::Exact(whole)) })
    }

    /// Adds the integer to `wides` if it is wide.
    pub(super) fn note_wide(&self, cell: usize, wides: &mut Vec<Wide>) -> Result<()> {
        let Some(wide) = self.wide else { return Ok(()) };
        let whole = match wide {
            WideInteger::Exact(whole) => whole,
            WideInteger::Rounded => 0,
        };
        // 64 bits suffice for the magnitude: exact integers fit in an i64 or a u64.
        let wide = Wide { cell: cell as u32, negative: whole < 0, size: whole.unsigned_abs() as u64 };
        try_push(wides, wide, "integers")
    }
}

/// Whether a token is an integer that differs from the nearest f64, `number`. Integers with more than 128 bits count as
/// different.
fn is_rounded_integer(token: &[u8], number: f64) -> bool {
    let digits = token.strip_prefix(b"-").or_else(|| token.strip_prefix(b"+")).unwrap_or(token);
    let is_integer = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let exact = std::str::from_utf8(token).ok().and_then(|text| text.parse::<i128>().ok());
    // 2^127 and larger numbers would saturate to the largest `i128`.
    let differs = |exact: i128| number >= i128::MAX as f64 || number as i128 != exact;
    is_integer && exact.is_none_or(differs)
}

/// Whether a token is a number with a decimal comma.
pub(super) fn has_decimal_comma(token: &[u8]) -> bool {
    token.contains(&b',') && token.iter().all(|byte| byte.is_ascii_digit() || b"+-,".contains(byte))
}
