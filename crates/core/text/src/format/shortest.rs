//! Writes the shortest digits that parse back to the same value, in the notation shared by the text formats.
//!
//! The `zmij` crate computes the digits (the shortest ones and, among those, the ones closest to the value). The
//! notation is this crate's own: no trailing `.0`, no `+` in exponents, `nan` and `inf` as with fixed digits.

use super::Page;
use super::parsed::ParsedDigits;
use super::pen::Pen;

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

/// Appends an f32 in the notation of [`NumberLines::python`](super::NumberLines::python).
pub(super) fn python_f32(page: &mut Page<'_>, value: f32) {
    if value == 0.0 || !value.is_finite() {
        shortest_f32(page, value);
    } else {
        digits_of_f32(value, |text| python(page, value < 0.0, text));
    }
}

/// Appends an f64 in the notation of [`NumberLines::python`](super::NumberLines::python).
pub(super) fn python_f64(page: &mut Page<'_>, value: f64) {
    if value == 0.0 || !value.is_finite() {
        shortest_f64(page, value);
    } else {
        digits_of_f64(value, |text| python(page, value < 0.0, text));
    }
}

fn python(page: &mut Page<'_>, is_negative: bool, text: &[u8]) {
    let digits = ParsedDigits::read(text);
    let (first, rest) = digits.text().split_at(1);
    page.whole(|page| {
        match digits.exponent {
            -4..13 => return finite(page, text),
            _ if is_negative => page.byte(b'-'),
            _ => {}
        }
        if let 13..16 = digits.exponent {
            let point = digits.exponent as usize + 1;
            let (whole, fraction) = digits.text().split_at(point.min(digits.text().len()));
            page.bytes(whole);
            (whole.len()..point).for_each(|_| page.byte(b'0'));
            if !fraction.is_empty() {
                page.byte(b'.');
                page.bytes(fraction);
            }
            return;
        }
        page.bytes(first);
        if !rest.is_empty() {
            page.byte(b'.');
            page.bytes(rest);
        }
        page.bytes(if digits.exponent < 0 { b"e-" } else { b"e+" });
        let exponent = digits.exponent.unsigned_abs();
        if exponent < 10 {
            page.byte(b'0');
        }
        page.u32(exponent);
    });
}

#[inline(always)]
fn finite(page: &mut Page<'_>, text: &[u8]) {
    match pieces(text) {
        (digits, []) => page.bytes(digits),
        (digits, exponent) => {
            page.whole(|page| {
                page.bytes(digits);
                page.bytes(exponent);
            });
        }
    }
}

/// Stores an f32.
///
/// # Safety
/// `MAX_SHORTEST_F32` bytes of room.
#[inline]
pub(super) unsafe fn put_f32(pen: Pen, value: f32) -> Pen {
    // SAFETY: `MAX_SHORTEST_F32` bytes are the longest text of an f32, and `nan` and `inf` have at most 4.
    unsafe {
        if value.is_finite() {
            digits_of_f32(value, |text| put(pen, text))
        } else {
            pen.copy(nonfinite(value.is_nan(), value.is_sign_negative()))
        }
    }
}

/// Stores an f64.
///
/// # Safety
/// `MAX_SHORTEST_F64` bytes of room.
#[inline]
pub(super) unsafe fn put_f64(pen: Pen, value: f64) -> Pen {
    // SAFETY: `MAX_SHORTEST_F64` bytes are the longest text of an f64, and `nan` and `inf` have at most 4.
    unsafe {
        if value.is_finite() {
            digits_of_f64(value, |text| put(pen, text))
        } else {
            pen.copy(nonfinite(value.is_nan(), value.is_sign_negative()))
        }
    }
}

/// Calls `then` with the shortest digits of a finite f32: in plain notation (integers end in `.0`) from 1e-6 to below
/// 1e13, otherwise with an exponent.
#[inline(always)]
pub(super) fn digits_of_f32<T>(value: f32, then: impl FnOnce(&[u8]) -> T) -> T {
    then(zmij::Buffer::new().format_finite(value).as_bytes())
}

/// Calls `then` with the shortest digits of a finite f64: in plain notation (integers end in `.0`) from 1e-5 to below
/// 1e16, otherwise with an exponent.
#[inline(always)]
pub(super) fn digits_of_f64<T>(value: f64, then: impl FnOnce(&[u8]) -> T) -> T {
    then(zmij::Buffer::new().format_finite(value).as_bytes())
}

/// # Safety
/// Needs room for `text`.
#[inline(always)]
unsafe fn put(pen: Pen, text: &[u8]) -> Pen {
    let (digits, exponent) = pieces(text);
    // SAFETY: `digits` and `exponent` are disjoint parts of `text`, so together no longer, and both are stored exactly.
    unsafe {
        let pen = pen.copy_short(digits);
        if exponent.is_empty() { pen } else { pen.copy(exponent) }
    }
}

/// Splits a text into the parts to write: the part before a final `.0` or before `+`, and the exponent after `+`.
#[inline(always)]
fn pieces(text: &[u8]) -> (&[u8], &[u8]) {
    match text {
        [whole @ .., b'.', b'0'] => (whole, &[]),
        [digits @ .., b'+', _, _] | [digits @ .., b'+', _, _, _] => (digits, &text[digits.len() + 1..]),
        _ => (text, &[]),
    }
}

/// Returns `nan` or `inf` as glibc's printf writes them, including the sign of NaN.
#[cold]
pub(super) fn nonfinite(nan: bool, negative: bool) -> &'static [u8] {
    match (nan, negative) {
        (true, false) => b"nan",
        (true, true) => b"-nan",
        (false, false) => b"inf",
        (false, true) => b"-inf",
    }
}
