//! One value of a table: the type of a token or a column, and whether the column can store it.

use polyhaul_model::Scalar;
use polyhaul_model::error::{Result, try_push};
use polyhaul_text::parse::fields::{MAX_EXACT, NOT_INTEGER};
use polyhaul_text::parse::number;
use std::ops::RangeInclusive;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableHeadKind {
    /// Integers as long as all values are integers.
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

/// A value as the parser keeps it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableValue {
    /// The nearest f64, or f32 if the column stores f32s.
    pub(super) number: f64,
    /// [`NOT_INTEGER`], or 0.
    pub(super) mark: u8,
    /// The integer, where `number` is only near it.
    pub(super) wide: Option<i128>,
}

/// An integer that no f64 keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// Which of the chunk's values it is.
    pub(super) cell: u32,
    negative: bool,
    size: u64,
}

impl Wide {
    /// The integer.
    pub(super) fn value(self) -> i128 {
        if self.negative { -i128::from(self.size) } else { i128::from(self.size) }
    }
}

/// Returns a float as a value: an integer if it has no fraction.
pub(super) fn f64_of(number: f64) -> TableValue {
    let is_integer = number.trunc() == number && number.abs() <= MAX_EXACT as f64;
    let is_minus_zero = number == 0.0 && number.is_sign_negative();
    TableValue { number, mark: if is_integer && !is_minus_zero { 0 } else { NOT_INTEGER }, wide: None }
}

/// The values of an integer type.
pub(super) fn range_of(scalar: Scalar) -> RangeInclusive<i128> {
    let bits = 8 * scalar.bytes() as u32;
    match scalar {
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => 0..=(1 << bits) - 1,
        _ => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
    }
}

/// Whether a parsed number is as its column holds it, for certain.
pub(super) fn check_number(number: f64, kind: TableHeadKind) -> bool {
    match kind {
        TableHeadKind::Auto | TableHeadKind::F64 => true,
        // Not in the middle of two f32s, and not so small that these have fewer bits.
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
    /// Returns the value of a token in a column; `None` if it is not a value, or one that the column cannot store.
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
            return check_number(number, kind).then_some(TableValue { number, mark: NOT_INTEGER, wide: None });
        };
        let whole = value.wide.unwrap_or(value.number as i128);
        match kind {
            TableHeadKind::Integer(scalar) => range_of(scalar).contains(&whole).then_some(value),
            // An integer that does not fit an i64 makes the column one of floats.
            _ if i64::try_from(whole).is_err() => Some(TableValue { mark: NOT_INTEGER, wide: None, ..value }),
            _ => Some(value),
        }
    }

    /// The value of a token that is an integer of at most 64 bits and a sign.
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
        Some(TableValue { number, mark, wide: (size > MAX_EXACT).then_some(whole) })
    }

    /// Keeps the integer of a chunk's value, if it is needed.
    pub(super) fn note_wide(&self, cell: usize, wides: &mut Vec<Wide>) -> Result<()> {
        let Some(wide) = self.wide else { return Ok(()) };
        let wide = Wide { cell: cell as u32, negative: wide < 0, size: wide.unsigned_abs() as u64 };
        try_push(wides, wide, "integers")
    }
}
