//! Parses numbers written with shortest digits, to rewrite them in another notation.

/// The significant digits of a number, and the decimal exponent of the first one.
pub(super) struct ParsedDigits {
    digits: [u8; 20],
    pub(super) count: usize,
    pub(super) exponent: i32,
}

impl ParsedDigits {
    pub(super) fn text(&self) -> &[u8] {
        &self.digits[..self.count]
    }

    /// Parses a decimal number with an optional point and exponent. Zero has one digit.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut digits = Self { digits: [b'0'; 20], count: 0, exponent: -1 };
        let mut bytes = text.iter();
        let mut behind_point = false;
        for &byte in bytes.by_ref() {
            match byte {
                b'.' => behind_point = true,
                b'0'..=b'9' if digits.count > 0 || byte != b'0' => {
                    digits.exponent += i32::from(!behind_point);
                    if let Some(slot) = digits.digits.get_mut(digits.count) {
                        *slot = byte;
                        digits.count += 1;
                    }
                }
                b'0' if behind_point => digits.exponent -= 1,
                b'e' => break,
                _ => {}
            }
        }
        let negative = bytes.as_slice().first() == Some(&b'-');
        let exponent =
            bytes.filter(|byte| byte.is_ascii_digit()).fold(0, |sum, digit| 10 * sum + i32::from(digit - b'0'));
        digits.exponent += if negative { -exponent } else { exponent };
        let zeros = digits.text().iter().rev().take_while(|&&digit| digit == b'0').count();
        digits.count = (digits.count - zeros).max(1);
        digits
    }
}
