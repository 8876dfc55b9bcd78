//! Words, strings and numbers in pbrt's syntax, and indentation.

use polyhaul_model::render::Step;
use polyhaul_text::format::Page;

/// Spaces per scope.
const INDENT: usize = 4;
/// The depth up to which lines are indented.
const MAX_DEPTH: usize = 16;
/// The line feed and the indentation of the deepest line.
const NEW_LINE: [u8; 1 + INDENT * MAX_DEPTH] = {
    let mut text = [b' '; 1 + INDENT * MAX_DEPTH];
    text[0] = b'\n';
    text
};

/// A line feed and the indentation after it.
pub(super) fn new_line(depth: u32) -> &'static [u8] {
    &NEW_LINE[..1 + INDENT * (depth as usize).min(MAX_DEPTH)]
}

const REPLACE: &str = "Transform";
const CONCAT: &str = "ConcatTransform";

/// Writes text to a page.
pub(super) struct PbrtPen<'p, 'b> {
    pub(super) page: &'p mut Page<'b>,
    pub(super) compact: bool,
    /// Whether a number was NaN.
    pub(super) bad: bool,
}

impl PbrtPen<'_, '_> {
    /// The space in front of a directive.
    pub(super) fn indent(&mut self, depth: u32) {
        if !self.compact {
            self.page.bytes(&new_line(depth)[1..]);
        }
    }

    /// A line of one word.
    pub(super) fn line(&mut self, depth: u32, word: &str) {
        self.indent(depth);
        self.page.bytes(word.as_bytes());
        self.page.byte(b'\n');
    }

    /// A word, and strings.
    pub(super) fn head(&mut self, word: &str, strings: &[&str]) {
        self.page.bytes(word.as_bytes());
        for text in strings {
            self.page.byte(b' ');
            self.string(text);
        }
    }

    /// A line of a word and strings.
    pub(super) fn named(&mut self, depth: u32, word: &str, strings: &[&str]) {
        self.indent(depth);
        self.head(word, strings);
        self.page.byte(b'\n');
    }

    /// A string in quotes.
    pub(super) fn string(&mut self, text: &str) {
        self.page.byte(b'"');
        self.name(text);
        self.page.byte(b'"');
    }

    /// Text in quotes.
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

    /// The fewest digits of an f32; infinity is a number that is too large for one.
    #[inline]
    pub(super) fn single(&mut self, value: f32) {
        let whole = value as i32;
        if whole as f32 == value && whole.unsigned_abs() < 1 << 24 && (whole != 0 || value.to_bits() == 0) {
            self.page.i32(whole);
        } else if value.is_finite() {
            self.page.shortest_f32(value);
        } else {
            self.endless(value.into());
        }
    }

    /// The fewest digits of an f64 that reads back as the same.
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

    /// Fewer digits would lie on one side of the midpoint between two f32s, and pbrt would read them as the f32 there.
    #[cold]
    fn all_digits(&mut self, value: f64) {
        let text = format!("{value:.180}");
        self.page.bytes(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
    }

    /// A word, and numbers.
    pub(super) fn numbers(&mut self, word: &str, numbers: &[f64]) {
        self.page.bytes(word.as_bytes());
        for &number in numbers {
            self.page.byte(b' ');
            self.double(number);
        }
    }

    /// 16 numbers in brackets.
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

    /// A line of a matrix whose 16 numbers are text already.
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

    /// A line with the step of a node.
    pub(super) fn step(&mut self, depth: u32, step: &Step) {
        self.indent(depth);
        match step {
            Step::Translate(numbers) => self.numbers("Translate", numbers),
            Step::Scale(numbers) => self.numbers("Scale", numbers),
            Step::Rotate(numbers) => self.numbers("Rotate", numbers),
            Step::LookAt(numbers) => self.numbers("LookAt", numbers),
            Step::Replace(numbers) => self.matrix(REPLACE, numbers),
            Step::Concat(numbers) => self.matrix(CONCAT, numbers),
            // Paths along the tree stop at an inverse.
            Step::Inverse => {}
        }
        self.page.byte(b'\n');
    }
}

/// The character after the backslash.
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

/// Whether a number is the midpoint between two f32s.
#[inline]
fn is_between_singles(value: f64) -> bool {
    value.to_bits() & 0x1fff_ffff == 0x1000_0000 && value.abs() < f64::from(f32::MAX) && value.abs() > 1e-37
}

/// Whether the fewest digits of all numbers are read as the same in any precision, and all numbers are finite.
pub(super) fn are_plain(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |plain, &number| plain & number.is_finite() & !is_between_singles(number))
}
