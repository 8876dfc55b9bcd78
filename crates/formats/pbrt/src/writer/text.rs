//! Writes words, strings, numbers and indentation in pbrt's syntax.

use polyhaul_model::render::Step;
use polyhaul_text::format::Page;

/// Spaces per scope.
const INDENT: usize = 4;
/// Maximum depth of indentation.
const MAX_DEPTH: usize = 16;
/// A line feed and the maximum indentation.
const NEW_LINE: [u8; 1 + INDENT * MAX_DEPTH] = {
    let mut text = [b' '; 1 + INDENT * MAX_DEPTH];
    text[0] = b'\n';
    text
};

/// Returns a line feed and the indentation for a depth.
pub(super) fn new_line(depth: u32) -> &'static [u8] {
    &NEW_LINE[..1 + INDENT * (depth as usize).min(MAX_DEPTH)]
}

const REPLACE: &str = "Transform";
const CONCAT: &str = "ConcatTransform";

/// Writes tokens to a page.
pub(super) struct PbrtPen<'p, 'b> {
    pub(super) page: &'p mut Page<'b>,
    pub(super) compact: bool,
    /// Whether a number was NaN.
    pub(super) bad: bool,
}

impl PbrtPen<'_, '_> {
    /// Writes the indentation of a line.
    pub(super) fn indent(&mut self, depth: u32) {
        if !self.compact {
            self.page.bytes(&new_line(depth)[1..]);
        }
    }

    /// Writes a line with a directive that has no quoted arguments.
    pub(super) fn line(&mut self, depth: u32, word: &str) {
        self.indent(depth);
        self.page.bytes(word.as_bytes());
        self.page.byte(b'\n');
    }

    /// Writes a directive and its quoted arguments.
    pub(super) fn head(&mut self, word: &str, strings: &[&str]) {
        self.page.bytes(word.as_bytes());
        for text in strings {
            self.page.byte(b' ');
            self.string(text);
        }
    }

    /// Writes a line with a directive and its quoted arguments.
    pub(super) fn named(&mut self, depth: u32, word: &str, strings: &[&str]) {
        self.indent(depth);
        self.head(word, strings);
        self.page.byte(b'\n');
    }

    /// Writes a quoted string.
    pub(super) fn string(&mut self, text: &str) {
        self.page.byte(b'"');
        self.name(text);
        self.page.byte(b'"');
    }

    /// Writes text with escapes, without quotes.
    pub(super) fn name(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|&byte| escape(byte).is_some()) {
            self.page.bytes(&rest[..at]);
            self.page.byte(b'\\');
            self.page.byte(escape(rest[at]).unwrap_or_default());
            rest = &rest[at + 1..];
            if self.page.overflowed() {
                return;
            }
        }
        self.page.bytes(rest);
    }

    /// Writes an `f32` with the minimum number of digits, or an infinity as a number out of range.
    #[inline]
    pub(super) fn single(&mut self, value: f32) {
        let whole = value as i32;
        // Integers below 2^24 are exact. Negative zero takes the next branch, which keeps its sign.
        if whole as f32 == value && whole.unsigned_abs() < 1 << 24 && (whole != 0 || value.to_bits() == 0) {
            self.page.i32(whole);
        } else if value.is_finite() {
            self.page.shortest_f32(value);
        } else {
            self.endless(value.into());
        }
    }

    /// Writes an `f64` with the minimum number of digits that read back as the same value.
    #[inline]
    pub(super) fn double(&mut self, value: f64) {
        let whole = value as i32;
        if f64::from(whole) == value && (whole != 0 || value.to_bits() == 0) {
            self.page.i32(whole);
        } else if is_between_singles(value) {
            self.all_digits(value);
        } else if value.is_finite() {
            self.page.shortest_f64(value);
        } else {
            self.endless(value);
        }
    }

    #[cold]
    fn endless(&mut self, value: f64) {
        self.bad |= value.is_nan();
        self.page.bytes(if value < 0.0 { b"-1e999" } else { b"1e999" });
    }

    /// Writes all digits of a midpoint between two `f32`s. A shorter decimal would lie on one side of it, and pbrt
    /// would round it to that side.
    #[cold]
    fn all_digits(&mut self, value: f64) {
        // This is exact: a midpoint above 1e-37 is a multiple of 2^-147, so it has at most 147 decimal places.
        let text = format!("{value:.180}");
        self.page.bytes(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
    }

    /// Writes a directive and its numbers.
    pub(super) fn numbers(&mut self, word: &str, numbers: &[f64]) {
        self.page.bytes(word.as_bytes());
        for &number in numbers {
            self.page.byte(b' ');
            self.double(number);
        }
    }

    /// Writes a directive and 16 numbers in brackets.
    fn matrix(&mut self, word: &str, numbers: &[f64; 16]) {
        self.brackets(word, |pen| {
            for (at, &number) in numbers.iter().enumerate() {
                if at > 0 {
                    pen.page.byte(b' ');
                }
                pen.double(number);
            }
        });
    }

    /// Writes a line with a matrix whose 16 numbers are already formatted.
    pub(super) fn text_matrix(&mut self, depth: u32, step: &Step, numbers: &[u8]) {
        let word = if matches!(step, Step::Replace(_)) { REPLACE } else { CONCAT };
        self.indent(depth);
        self.brackets(word, |pen| pen.page.bytes(numbers));
        self.page.byte(b'\n');
    }

    fn brackets(&mut self, word: &str, write: impl FnOnce(&mut Self)) {
        self.page.bytes(word.as_bytes());
        self.page.bytes(if self.compact { b" [" } else { b" [ " });
        write(self);
        self.page.bytes(if self.compact { b"]" } else { b" ]" });
    }

    /// Writes a line with the step of a node.
    pub(super) fn step(&mut self, depth: u32, step: &Step) {
        self.indent(depth);
        match step {
            Step::Translate(numbers) => self.numbers("Translate", numbers),
            Step::Scale(numbers) => self.numbers("Scale", numbers),
            Step::Rotate(numbers) => self.numbers("Rotate", numbers),
            Step::LookAt(numbers) => self.numbers("LookAt", numbers),
            Step::Replace(numbers) => self.matrix(REPLACE, numbers),
            Step::Concat(numbers) => self.matrix(CONCAT, numbers),
            // Never reached: a path ends before an inverse, and instances only have matrices.
            Step::Inverse => {}
        }
        self.page.byte(b'\n');
    }
}

/// Returns the character after the backslash if a byte must be escaped.
fn escape(byte: u8) -> Option<u8> {
    Some(match byte {
        8 => b'b',
        12 => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        b'\\' | b'"' => byte,
        _ => return None,
    })
}

/// Returns whether a number is a midpoint between two `f32`s.
#[inline]
fn is_between_singles(value: f64) -> bool {
    // A double has 29 more mantissa bits than a float; at a midpoint, only the highest of these bits is set.
    value.to_bits() & 0x1fff_ffff == 0x1000_0000 && value.abs() < f64::from(f32::MAX) && value.abs() > 1e-37
}

/// Returns whether all numbers are finite and none is a midpoint, so that their shortest decimals read back as the same
/// value in either precision.
pub(super) fn are_plain(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |plain, &number| plain & number.is_finite() & !is_between_singles(number))
}
