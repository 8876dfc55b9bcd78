//! Writes numbers with any conversion: flags, width, precision and letter.

use super::super::fixed::{self, MAX_DIGITS, Scale};
use super::super::pen::Pen;
use super::super::scientific::{self, Notation};
use super::super::shortest;
use super::super::{exact, integer};
use super::column::{StridedColumn, ValueType};
use super::python;
use super::spec::{Conversion, ConversionSpec, PrintfDialect};

/// Conversion of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberConversion {
    pub(super) spec: ConversionSpec,
    pub(super) dialect: PrintfDialect,
}

impl NumberConversion {
    /// Stores a value. Sets `refused` if it cannot be converted.
    ///
    /// # Safety
    /// `spec.max_bytes(column.kind())` and `SLACK` bytes of room.
    pub(super) unsafe fn put(&self, pen: Pen, column: &StridedColumn<'_>, row: usize, refused: &mut bool) -> Pen {
        // SAFETY: every arm requires the same as this function. An integer as text has at most 21 bytes, of the 24 that
        // `max_bytes` counts, and `column.integer` is 0 or 1 for a bool.
        unsafe {
            match (self.spec.conversion, column.kind()) {
                (Conversion::Text, ValueType::F32 | ValueType::F64) => self.text(pen, column, row),
                (Conversion::Text, _) => {
                    let (negative, magnitude) = column.integer(row);
                    self.pad(pen, 0, integer::u64(pen.put([b'-'], usize::from(negative)), magnitude), false)
                }
                (Conversion::Integer, ValueType::F32 | ValueType::F64) => {
                    self.truncated(pen, column.real(row), refused)
                }
                (Conversion::Integer, _) => {
                    let (negative, magnitude) = column.integer(row);
                    self.integer(pen, negative, |pen| integer::u64(pen, magnitude), magnitude == 0)
                }
                _ => self.real(pen, column.real(row)),
            }
        }
    }

    /// Returns whether the value can be converted.
    pub(super) fn accepts(&self, column: &StridedColumn<'_>, row: usize) -> bool {
        self.spec.conversion != Conversion::Integer || column.real(row).is_finite()
    }

    /// Stores a float with `%d`.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(never)]
    unsafe fn truncated(&self, pen: Pen, value: f64, refused: &mut bool) -> Pen {
        if !value.is_finite() {
            *refused = true;
            return pen;
        }
        let value = value.trunc();
        // SAFETY: the whole part of an f64 has at most 309 digits (39 if the column is of f32), which `max_bytes`
        // counts together with a sign; the 32 bytes more are within `SLACK`.
        unsafe { self.integer(pen, value < 0.0, |pen| exact::magnitude(pen, value.abs(), 0), value == 0.0) }
    }

    /// Stores sign, zeros up to the precision, digits and padding.
    ///
    /// # Safety
    /// As for [`put`](Self::put). `digits` stores no more than `max_bytes` counts for them, and `SLACK`.
    #[inline(always)]
    unsafe fn integer(&self, start: Pen, negative: bool, digits: impl FnOnce(Pen) -> Pen, zero: bool) -> Pen {
        // SAFETY: sign and digits are counted by `max_bytes`, which has the larger of digits and precision, so that the
        // gap of zeros fits; `count` bytes from `first` were stored by `digits`.
        unsafe {
            let first = self.sign(start, negative);
            let mut pen = digits(first);
            if let Some(precision) = self.spec.precision {
                let count = pen.since(first);
                if precision == 0 && zero && self.dialect == PrintfDialect::C {
                    pen = first;
                } else if precision > count {
                    pen = pen.open_gap(count, precision - count, b'0');
                }
            }
            let zeros = self.spec.zero && (self.dialect != PrintfDialect::C || self.spec.precision.is_none());
            self.pad(start, first.since(start), pen, zeros)
        }
    }

    /// Stores a value with `%f`, `%e` or `%g`.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline]
    unsafe fn real(&self, start: Pen, value: f64) -> Pen {
        // SAFETY: `max_bytes` counts a sign, the whole part (39 digits for f32), a point and the digits of `%f`, or
        // `precision` + 8 for `%e` and `%g`. `fixed`, `magnitude`, `scientific` and `general` store past them within
        // `SLACK` only.
        unsafe {
            if !value.is_finite() {
                return self.word(start, value);
            }
            let first = self.sign(start, value.is_sign_negative());
            let magnitude = value.abs();
            let precision = self.spec.digits();
            let notation = Notation { precision, upper: self.spec.upper, alternate: self.spec.alternate };
            let pen = match self.spec.conversion {
                Conversion::Scientific => scientific::scientific(first, magnitude, notation),
                Conversion::General => scientific::general(first, magnitude, notation),
                _ => {
                    let pen = match precision {
                        0..=MAX_DIGITS => fixed::fixed(first, magnitude, Scale::new(precision)),
                        _ => exact::magnitude(first, magnitude, precision),
                    };
                    pen.put([b'.'], usize::from(precision == 0 && self.spec.alternate))
                }
            };
            self.pad(start, first.since(start), pen, self.spec.zero)
        }
    }

    /// Stores an infinity or NaN.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[cold]
    unsafe fn word(&self, start: Pen, value: f64) -> Pen {
        let of_c = self.dialect == PrintfDialect::C;
        let negative = value.is_sign_negative() && (of_c || !value.is_nan());
        let word = match (value.is_nan(), self.spec.upper) {
            (true, false) => b"nan",
            (true, true) => b"NAN",
            (false, false) => b"inf",
            (false, true) => b"INF",
        };
        // SAFETY: a sign and three letters are 4 bytes, fewer than `SLACK`; `pad` stops at `spec.width`, which
        // `max_bytes` counts.
        unsafe {
            let first = self.sign(start, negative);
            self.pad(start, first.since(start), first.copy(word), self.spec.zero && !of_c)
        }
    }

    /// Stores a float as text.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(never)]
    unsafe fn text(&self, start: Pen, column: &StridedColumn<'_>, row: usize) -> Pen {
        // SAFETY: `max_bytes` counts 24 bytes for text, enough for all four, followed by `SLACK`. `pad` stops at
        // `spec.width`, which `max_bytes` counts too.
        unsafe {
            let pen = match (self.dialect, column.kind()) {
                (PrintfDialect::C, ValueType::F32) => shortest::put_f32(start, f32::from_ne_bytes(column.get(row))),
                (PrintfDialect::C, _) => shortest::put_f64(start, column.real(row)),
                (dialect, ValueType::F32) => {
                    python::put_f32(start, f32::from_ne_bytes(column.get(row)), dialect == PrintfDialect::OlderNumpy)
                }
                _ => python::put_f64(start, column.real(row)),
            };
            self.pad(start, 0, pen, false)
        }
    }

    /// # Safety
    /// One byte of room.
    #[inline(always)]
    unsafe fn sign(&self, pen: Pen, negative: bool) -> Pen {
        // Branch-free: signs are unpredictable.
        let sign = if negative { b'-' } else { self.spec.plus.unwrap_or(b'-') };
        let count = usize::from(negative | self.spec.plus.is_some());
        // SAFETY: `put` stores one byte and advances by `count`, 0 or 1.
        unsafe { pen.put([sign], count) }
    }

    /// Pads the text stored since `start`, whose first `sign_bytes` are a sign, to the width. Truncates text to the
    /// precision first.
    ///
    /// # Safety
    /// `spec.width` bytes of room from `start`. `pen` came from `start`, and `sign_bytes` of the stored bytes are the
    /// sign.
    #[inline(always)]
    unsafe fn pad(&self, start: Pen, sign_bytes: usize, pen: Pen, zeros: bool) -> Pen {
        let mut count = pen.since(start);
        let mut pen = pen;
        // SAFETY: the moved bytes were stored between `start` and `pen`, and a gap ends at `spec.width` from `start`.
        // `start.advance(count)` is `pen` or before it.
        unsafe {
            if self.spec.conversion == Conversion::Text
                && let Some(precision) = self.spec.precision
            {
                count = count.min(precision);
                pen = start.advance(count);
            }
            if count >= self.spec.width {
                return pen;
            }
            let gap = self.spec.width - count;
            match (self.spec.left, zeros) {
                (true, _) => pen.open_gap(0, gap, b' '),
                (false, true) => pen.open_gap(count - sign_bytes, gap, b'0'),
                (false, false) => pen.open_gap(count, gap, b' '),
            }
        }
    }
}
