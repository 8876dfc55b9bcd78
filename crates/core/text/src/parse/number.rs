//! Parses one token in any notation: the exact path, which also decides whether a token is a number.

use super::consts::{BELOW_SINGLE, HALF_SINGLE};
use super::decimal::Decimal;

/// The reason that a token is not an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerError {
    /// The token is not written as an integer.
    Malformed,
    /// The integer is too large for the type.
    Overflow,
}

/// Parses all of `token` as a decimal number and returns the nearest f32.
///
/// Accepts an optional sign, digits with or without a point (`.5`, `5.`), an exponent, and `nan`, `inf` and `infinity`
/// in any case. Values that are too large become infinite; values that are too small become zero.
/// ```
/// use polyhaul_text::parse::number;
/// assert_eq!(number::f32(b"-.5e1"), Some(-5.0));
/// assert_eq!(number::f32(b"0x10"), None);
/// ```
pub fn f32(token: &[u8]) -> Option<f32> {
    Decimal::from_token(token).and_then(Decimal::f32).or_else(|| any_f32(token))
}

/// Parses all of `token` as a decimal number and returns the nearest f64; notation as for [`f32()`].
pub fn f64(token: &[u8]) -> Option<f64> {
    Decimal::from_token(token).and_then(Decimal::f64).or_else(|| any_f64(token))
}

/// Returns the nearest f32 of a decimal number whose nearest f64 is `value`; `None` if that is uncertain, because the
/// value is halfway between two f32s, or if it is infinite or subnormal as an f32.
/// ```
/// use polyhaul_text::parse::number;
/// assert_eq!(number::narrow(0.1), Some(0.1));
/// assert_eq!(number::narrow(1.0 + f64::from(f32::EPSILON) / 2.0), None);
/// assert_eq!(number::narrow(1e300), None);
/// ```
#[inline(always)]
pub fn narrow(value: f64) -> Option<f32> {
    let single = value as f32;
    let is_normal = value.abs() >= f64::from(f32::MIN_POSITIVE) && single.is_finite();
    let is_certain = value.to_bits() & BELOW_SINGLE != HALF_SINGLE;
    (is_certain && is_normal || value == 0.0).then_some(single)
}

/// `nan` and `inf`, many digits, large exponents, and ties that no faster path decides.
#[cold]
#[inline(never)]
pub(super) fn any_f32(token: &[u8]) -> Option<f32> {
    fast_float2::parse(token).ok()
}

/// [`any_f32`] for f64.
#[cold]
#[inline(never)]
pub(super) fn any_f64(token: &[u8]) -> Option<f64> {
    fast_float2::parse(token).ok()
}

/// Parses all of `token` as a decimal integer with an optional sign.
/// ```
/// use polyhaul_text::parse::number::{self, IntegerError};
/// assert_eq!(number::i64(b"-12"), Ok(-12));
/// assert_eq!(number::i64(b"1.5"), Err(IntegerError::Malformed));
/// assert_eq!(number::i64(b"9223372036854775808"), Err(IntegerError::Overflow));
/// ```
pub fn i64(token: &[u8]) -> Result<i64, IntegerError> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    };
    let size = u64(digits)?;
    let value = if negative { 0i64.checked_sub_unsigned(size) } else { 0i64.checked_add_unsigned(size) };
    value.ok_or(IntegerError::Overflow)
}

/// Parses all of `token` as a decimal integer without a sign.
pub fn u64(token: &[u8]) -> Result<u64, IntegerError> {
    if token.is_empty() || !token.iter().all(u8::is_ascii_digit) {
        return Err(IntegerError::Malformed);
    }
    if let Some(Decimal { digits, .. }) = Decimal::from_token(token) {
        return Ok(digits);
    }
    token
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .ok_or(IntegerError::Overflow)
}
