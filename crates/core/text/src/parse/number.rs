//! Parses one token in any notation. This is the exact path, and the authority on whether a token is a number.

use super::consts::{BELOW_SINGLE, HALF_SINGLE};
use super::decimal::Decimal;
use polyhaul_fault::planted;

/// Reason why a token was not converted to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerError {
    /// The token is not a decimal integer.
    Malformed,
    /// The integer does not fit the type.
    Overflow,
}

/// Parses all of `token` as a decimal number. Returns the nearest f32, or `None` if the token is not a number.
///
/// Accepts an optional sign, digits with or without a point (`.5`, `5.`), an exponent, and `nan`, `inf` and `infinity`
/// in any case. Values that are too large become infinite, and values that are too small become zero.
/// ```
/// use polyhaul_text::parse::number;
/// assert_eq!(number::f32(b"-.5e1"), Some(-5.0));
/// assert_eq!(number::f32(b"0x10"), None);
/// ```
pub fn f32(token: &[u8]) -> Option<f32> {
    Decimal::from_token(token).and_then(Decimal::f32).or_else(|| any_f32(token))
}

/// Parses all of `token` as a decimal number. Returns the nearest f64, or `None` if the token is not a number. Accepts
/// the same notation as [`f32()`].
pub fn f64(token: &[u8]) -> Option<f64> {
    Decimal::from_token(token).and_then(Decimal::f64).or_else(|| any_f64(token))
}

/// Rounds `value`, the nearest f64 of a decimal number, to that number's nearest f32. Returns `None` if rounding twice
/// may give a different result (`value` is halfway between two f32s), or if the f32 would be infinite or subnormal.
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

/// Handles `nan` and `inf`, many digits, large exponents, and ties that the faster paths leave open.
#[cold]
#[inline(never)]
pub(super) fn any_f32(token: &[u8]) -> Option<f32> {
    fast_float2::parse(token).ok()
}

/// Like [`any_f32`], for f64.
#[cold]
#[inline(never)]
pub(super) fn any_f64(token: &[u8]) -> Option<f64> {
    if planted("parse-single") {
        return any_f32(token).map(f64::from);
    }
    fast_float2::parse(token).ok()
}

/// Parses all of `token` as a NaN or an infinity as spelled by C libraries.
///
/// Accepts an optional sign and, in any case: `nan`, `inf` and `infinity`; `nan(ind)`, `nan(snan)` and other payloads
/// of letters, digits and underscores; and the spellings of Microsoft's library until 2013: `1.#QNAN`, `1.#SNAN`,
/// `1.#IND` and `1.#INF`, with further digits (`1.#INF00`) and an exponent (`1.#QNANe+000`). That library also rounded
/// these letters to the requested decimals: rounded NaNs are recognized (`1.#R`, `1.#QO`), but `1.#J` and `1.#IO` are
/// rejected, because both infinity and NaN round to them.
/// ```
/// use polyhaul_text::parse::number;
/// assert_eq!(number::msvc_special(b"-1.#INF00"), Some(f64::NEG_INFINITY));
/// assert!(number::msvc_special(b"-nan(ind)").is_some_and(f64::is_nan));
/// assert_eq!(number::msvc_special(b"1.5"), None);
/// ```
#[cold]
pub fn msvc_special(token: &[u8]) -> Option<f64> {
    let (sign, unsigned) = match token {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        _ => (1.0, token),
    };
    let size = match unsigned {
        [b'1', b'.', b'#', letters @ ..] => msvc_letters(letters)?,
        _ => c99_special(unsigned)?,
    };
    Some(f64::copysign(size, sign))
}

/// Returns the value of the letters after `1.#`, which may be followed by digits and an exponent, or `None` for any
/// other text.
fn msvc_letters(text: &[u8]) -> Option<f64> {
    let letters_end = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    let (letters, digits) = text.split_at(letters_end);
    let bare = match letters {
        [rest @ .., b'e' | b'E'] if matches!(digits, [b'+' | b'-', ..]) => rest,
        _ => letters,
    };
    if !is_digits_and_exponent(&text[bare.len()..]) {
        return None;
    }
    const NANS: [&[u8]; 9] = [b"IND", b"QNAN", b"QNB", b"QO", b"R", b"SNAN", b"SNB", b"SO", b"T"];
    if bare.eq_ignore_ascii_case(b"INF") {
        return Some(f64::INFINITY);
    }
    NANS.iter().any(|word| bare.eq_ignore_ascii_case(word)).then_some(f64::NAN)
}

/// Returns whether `text` consists of digits (possibly none) and an optional exponent with a sign.
fn is_digits_and_exponent(text: &[u8]) -> bool {
    let digits_end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    match &text[digits_end..] {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] => !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Returns the value of `nan`, `nan(letters)`, `inf` or `infinity`, in any case, or `None` for any other text.
fn c99_special(text: &[u8]) -> Option<f64> {
    if [&b"inf"[..], b"infinity"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(f64::INFINITY);
    }
    let (start, rest) = text.split_at_checked(3)?;
    let is_word = |payload: &[u8]| payload.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_nan = match rest {
        [] => true,
        [b'(', payload @ .., b')'] => is_word(payload),
        _ => false,
    };
    (is_nan && start.eq_ignore_ascii_case(b"nan")).then_some(f64::NAN)
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

#[cfg(test)]
mod tests {
    use super::msvc_special;

    #[test]
    fn spellings_of_nan_and_infinity_by_c_libraries_are_recognized() {
        let nans = "1.#QNAN 1.#qnan0 -1.#IND -1.#IND00 +1.#SNAN 1.#QNAN0e+000 1.#QNANe+00 1.#R 1.#QO 1.#QNB nan NaN \
                    -nan(ind) nan(snan) NAN(0x8_f) nan()";
        for token in nans.split_whitespace() {
            assert!(msvc_special(token.as_bytes()).is_some_and(f64::is_nan), "{token}");
        }
        for token in "1.#INF +1.#inf 1.#INF00 1.#INFe+000 1.#INF00E+000 inf Infinity +INF".split_whitespace() {
            assert_eq!(msvc_special(token.as_bytes()), Some(f64::INFINITY), "{token}");
        }
        for token in "-1.#INF -inf -1.#INF000 -Infinity".split_whitespace() {
            assert_eq!(msvc_special(token.as_bytes()), Some(f64::NEG_INFINITY), "{token}");
        }
    }

    #[test]
    fn other_tokens_are_not_special() {
        let others = "1 1.# 1.#J 1.#IO 1.#INFx 1.#INF0x 1.#INFe 1.#INFe+ 1.#INF0e+x 2.#INF 1#INF nan( nan(a b) \
                      nan(ind infinite na + - 1.#INF.0 --inf";
        for token in others.split_whitespace() {
            assert_eq!(msvc_special(token.as_bytes()), None, "{token}");
        }
        assert_eq!(msvc_special(b""), None);
    }
}
