//! One conversion of a template: flags, width, precision, letter.

use super::column::ValueType;
use super::error::{TemplateError, TemplateProblem};

/// Maximum precision: decimals of `%f` and `%e`, significant digits of `%g`, minimum digits of `%d`.
pub const MAX_PRECISION: usize = 60;
/// Maximum width of a field.
pub const MAX_WIDTH: usize = 400;

/// The `printf` that a row format follows where implementations differ.
///
/// C keeps the sign of NaN (`-nan`), pads infinities and NaN with spaces despite the flag `0`, ignores this flag if an
/// integer has a precision, and writes nothing for 0 with `%.0d`. In these cases, Python writes `nan`, pads with zeros,
/// and writes `0`. For text, C means this crate's own notation (shortest digits as in
/// [`super::super::Page::shortest_f64`], `true` and `false`, bytes up to the first NUL), and Python means `str` of a
/// NumPy scalar (`1.0`, `1e-05`, `True`, `b'text'`, bytes without trailing NULs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrintfDialect {
    /// Like C's `printf` (glibc).
    C,
    /// Like Python's `%` with NumPy scalars, as in `np.savetxt`.
    Python,
    /// Like `Python`, with a NumPy (before about 2.4) whose `str(np.float32(1e6))` is `1000000.0` rather than `1e+06`.
    OlderNumpy,
}

/// Kind of conversion, selected by its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Integer,
    Fixed,
    Scientific,
    General,
    Text,
}

/// Flags, width, precision and conversion of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConversionSpec {
    pub(super) conversion: Conversion,
    pub(super) upper: bool,
    /// The letter is `u`: C ignores the flags `+` and space.
    pub(super) unsigned: bool,
    pub(super) left: bool,
    pub(super) zero: bool,
    pub(super) alternate: bool,
    /// Byte before a non-negative number.
    pub(super) plus: Option<u8>,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

impl ConversionSpec {
    /// The plain value, as text without flags, width or precision.
    pub(super) const AS_IS: Self = Self {
        conversion: Conversion::Text,
        upper: false,
        unsigned: false,
        left: false,
        zero: false,
        alternate: false,
        plus: None,
        width: 0,
        precision: None,
    };

    /// An integer without flags, width or precision.
    pub(super) const PLAIN_INTEGER: Self = Self { conversion: Conversion::Integer, ..Self::AS_IS };
    /// A number with fixed digits, without flags or width.
    pub(super) const PLAIN_FIXED: Self = Self { conversion: Conversion::Fixed, ..Self::AS_IS };

    /// Parses flags, width, precision and letter at `start`. Also returns the offset after them.
    pub(super) fn parse(template: &[u8], start: usize) -> Result<(Self, usize), TemplateError> {
        let mut spec = Self::AS_IS;
        let mut offset = start;
        loop {
            match template.get(offset) {
                Some(b'-') => spec.left = true,
                Some(b'0') => spec.zero = true,
                Some(b'#') => spec.alternate = true,
                Some(b'+') => spec.plus = Some(b'+'),
                Some(b' ') => spec.plus = spec.plus.or(Some(b' ')),
                _ => break,
            }
            offset += 1;
        }
        let (width, after) = number(template, offset);
        spec.width = width.unwrap_or(0);
        if spec.width > MAX_WIDTH {
            return Err(TemplateError { offset, length: after - offset, problem: TemplateProblem::TooWide });
        }
        offset = after;
        if template.get(offset) == Some(&b'.') {
            let (precision, after) = number(template, offset + 1);
            spec.precision = Some(precision.unwrap_or(0));
            offset = after;
        }
        let digits = offset;
        spec.letter(template, offset)?;
        if spec.conversion != Conversion::Text && spec.precision.is_some_and(|precision| precision > MAX_PRECISION) {
            return Err(TemplateError { offset: start, length: digits - start, problem: TemplateProblem::TooPrecise });
        }
        Ok((spec, offset + 1))
    }

    fn letter(&mut self, template: &[u8], offset: usize) -> Result<(), TemplateError> {
        let Some(letter) = template.get(offset) else {
            return Err(TemplateError { offset, length: 0, problem: TemplateProblem::Unfinished });
        };
        self.conversion = match letter {
            b'd' | b'i' | b'u' => Conversion::Integer,
            b'f' | b'F' => Conversion::Fixed,
            b'e' | b'E' => Conversion::Scientific,
            b'g' | b'G' => Conversion::General,
            b's' => Conversion::Text,
            _ => return Err(TemplateError { offset, length: 1, problem: TemplateProblem::UnknownConversion }),
        };
        self.unsigned = *letter == b'u';
        self.upper = letter.is_ascii_uppercase();
        Ok(())
    }

    /// Returns the number of digits after the point (for `%g`, of significant digits): the precision, or 6 by default.
    pub(super) fn digits(&self) -> usize {
        self.precision.unwrap_or(6)
    }

    /// Returns whether the conversion has no width, sign, `#` or uppercase letter.
    pub(super) fn is_plain(&self) -> bool {
        self.width == 0 && self.plus.is_none() && !self.alternate && !self.upper
    }

    /// Returns the maximum length of the text of a value of type `kind`, in bytes.
    pub(super) fn max_bytes(&self, kind: ValueType) -> usize {
        let whole = match kind {
            ValueType::F32 => 39,
            ValueType::F64 => 309,
            ValueType::Bool => 1,
            _ => 20,
        };
        let bytes = match (self.conversion, kind) {
            (Conversion::Text, ValueType::Bytes(count)) => {
                let quoted = count.saturating_mul(4).saturating_add(3);
                self.precision.map_or(quoted, |precision| quoted.min(precision))
            }
            // The width counts characters, so it may add as many bytes.
            (Conversion::Text, ValueType::Text(count)) => count.saturating_add(self.width),
            (Conversion::Text, _) => 24,
            (Conversion::Integer, _) => 1 + whole.max(self.precision.unwrap_or(0)),
            (Conversion::Fixed, _) => 1 + whole + 1 + self.digits(),
            (Conversion::Scientific | Conversion::General, _) => 1 + self.digits() + 8,
        };
        bytes.max(self.width)
    }
}

/// Parses a decimal number at `start`, if any. Returns the number, which saturates, and its end.
fn number(template: &[u8], start: usize) -> (Option<usize>, usize) {
    let digits = template.get(start..).unwrap_or_default();
    let count = digits.iter().take_while(|digit| digit.is_ascii_digit()).count();
    let value = digits[..count]
        .iter()
        .fold(0usize, |sum, digit| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    ((count > 0).then_some(value), start + count)
}
