//! Writes float scalars and bytes as Python's `str` does.

use super::super::parsed::ParsedDigits;
use super::super::pen::Pen;
use super::super::scientific::put_exponent;
use super::super::shortest;

/// Stores an f64 as `str(np.float64(value))`: in plain notation from 10^-4 to below 10^16, otherwise with an exponent.
///
/// # Safety
/// 24 bytes of room, and `SLACK` more.
pub(super) unsafe fn put_f64(pen: Pen, value: f64) -> Pen {
    if !value.is_finite() {
        // SAFETY: `nan` and `inf` with a sign have at most 4 bytes.
        return unsafe { pen.copy(word(value)) };
    }
    // SAFETY: `text` is from `zmij` for this value; the room is this function's condition.
    shortest::digits_of_f64(value, |text| unsafe { put(pen, value, [1e16; 2], text) })
}

/// Stores an f32 as `str(np.float32(value))`: in plain notation from 10^-4 to below 10^6 (with NumPy before 2.4, below
/// 10^16), otherwise with an exponent.
///
/// # Safety
/// 24 bytes of room, and `SLACK` more.
pub(super) unsafe fn put_f32(pen: Pen, value: f32, older: bool) -> Pen {
    if !value.is_finite() {
        // SAFETY: `nan` and `inf` with a sign have at most 4 bytes.
        return unsafe { pen.copy(word(value.into())) };
    }
    let plain_below = if older { [1e16, 1e12] } else { [1e6; 2] };
    // SAFETY: `text` is from `zmij` for this value; the room is this function's condition.
    shortest::digits_of_f32(value, |text| unsafe { put(pen, value.into(), plain_below, text) })
}

fn word(value: f64) -> &'static [u8] {
    match (value.is_nan(), value < 0.0) {
        (true, _) => b"nan",
        (false, false) => b"inf",
        (false, true) => b"-inf",
    }
}

/// Stores values from 1e-4 to below the first limit in plain notation, and other values with an exponent. Below the
/// second limit, `text` is already plain.
///
/// # Safety
/// 24 bytes of room, and `SLACK` more. `text` has the shortest digits of `value`, at most 24 bytes.
#[inline(always)]
unsafe fn put(pen: Pen, value: f64, plain_below: [f64; 2], text: &[u8]) -> Pen {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..plain_below[1]).contains(&magnitude) {
        // SAFETY: `text` has at most 24 bytes, and is stored exactly.
        return unsafe { pen.copy_short(text) };
    }
    // SAFETY: the conditions are the same; `value` is not zero, which the branch above handles.
    unsafe { put_reformatted(pen, value, magnitude >= 1e-4 && magnitude < plain_below[0], text) }
}

/// # Safety
/// 24 bytes of room, and `SLACK` more. `text` has the shortest digits of `value`, which is not zero.
unsafe fn put_reformatted(pen: Pen, value: f64, plain: bool, text: &[u8]) -> Pen {
    // SAFETY: at most 17 digits: with sign and point 19 bytes, and `put_exponent` stores 6, within `SLACK`. A plain
    // integer is below 10^16, so sign, digits, zeros and `.0` are 19 bytes.
    unsafe {
        let digits = ParsedDigits::read(text);
        let (first, rest) = digits.text().split_at(1);
        let pen = pen.put([b'-'], usize::from(value < 0.0));
        if plain {
            // Integers from 10^12 on: all other texts are already plain.
            let whole = (digits.exponent.max(0) as usize + 1).max(digits.count);
            return pen.copy(digits.text()).open_gap(0, whole - digits.count, b'0').copy(b".0");
        }
        let pen = pen.copy(first);
        let pen = if rest.is_empty() { pen } else { pen.put([b'.'], 1).copy(rest) };
        put_exponent(pen, digits.exponent, false)
    }
}

/// Calls `piece` with each character of `str(np.bytes_(bytes))`.
pub(super) fn quoted(bytes: &[u8], mut piece: impl FnMut(&[u8])) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    let mut text = |characters: &[u8]| characters.iter().for_each(|&character| piece(&[character]));
    text(&[b'b', quote]);
    for &byte in bytes {
        let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
        match byte {
            b'\n' => text(b"\\n"),
            b'\r' => text(b"\\r"),
            b'\t' => text(b"\\t"),
            b'\\' => text(b"\\\\"),
            _ if byte == quote => text(&[b'\\', quote]),
            b' '..=b'~' => text(&[byte]),
            _ => text(&[b'\\', b'x', hex(byte >> 4), hex(byte)]),
        }
    }
    text(&[quote]);
}
