//! Shortest digits that parse back to the same value, in the notation that text formats share.
//!
//! The digits come from the `zmij` crate (of the shortest, the closest to the value). The notation
//! is ours: no trailing `.0`, no `+` in exponents, `nan` and `inf` as the fixed digits have them.

use super::Page;

/// Appends an f32.
#[inline]
pub(super) fn shortest_f32(page: &mut Page<'_>, value: f32) {
    if value.is_finite() {
        finite(page, zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        page.bytes(nonfinite(value.is_nan(), value.is_sign_negative()));
    }
}

/// Appends an f64.
#[inline]
pub(super) fn shortest_f64(page: &mut Page<'_>, value: f64) {
    if value.is_finite() {
        finite(page, zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        page.bytes(nonfinite(value.is_nan(), value.is_sign_negative()));
    }
}

#[inline(always)]
fn finite(page: &mut Page<'_>, text: &[u8]) {
    match text {
        [whole @ .., b'.', b'0'] => page.bytes(whole),
        [digits @ .., b'+', _, _] | [digits @ .., b'+', _, _, _] => {
            let exponent = &text[digits.len() + 1..];
            page.whole(|page| {
                page.bytes(digits);
                page.bytes(exponent);
            });
        }
        _ => page.bytes(text),
    }
}

/// The words of glibc's printf, the sign of NaN included.
#[cold]
pub(super) fn nonfinite(nan: bool, negative: bool) -> &'static [u8] {
    match (nan, negative) {
        (true, false) => b"nan",
        (true, true) => b"-nan",
        (false, false) => b"inf",
        (false, true) => b"-inf",
    }
}
