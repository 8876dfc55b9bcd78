//! Parses the numbers of lists that are longer than a piece in advance, on the workers that read them.
//!
//! A part of a file without a directive is nearly always inside one list. If a number is a list element, its value does
//! not depend on the preceding text, but only [`super::parse`] finds out whether it is one. It uses the parsed numbers
//! where it would have parsed the same text itself; otherwise (in a comment, or in a list of another type), it parses
//! the whole text again.

use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::chunk::ParsedAhead;
use polyhaul_pipeline::huge;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::{Lists, ends_token, is_blank};
use polyhaul_text::parse::positions::DigitLoss;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Minimum number of numbers to parse in advance.
const MIN_NUMBERS: usize = 64;
/// Typical bytes of a number and its separator, for the first allocation.
pub(super) const NUMBER_BYTES: usize = 8;

/// Numbers of a list, parsed in advance.
pub(super) struct AheadNumbers {
    values: AheadValues,
    loss: DigitLoss,
    /// Number of line feeds in their text, and number of bytes after the last one.
    pub(super) lines: u32,
    pub(super) tail: usize,
    pool: Arc<AheadPool>,
}

enum AheadValues {
    Floats(Vec<f32>),
    /// All numbers are integers, without negative zeros.
    Integers(Vec<i32>),
}

/// Vectors for reuse. Without a pool, the numbers of every long list would cause page faults twice.
#[derive(Default)]
pub(super) struct AheadPool {
    floats: AheadVectors<f32>,
    integers: AheadVectors<i32>,
}

#[derive(Default)]
struct AheadVectors<T>(Mutex<Vec<Vec<T>>>);

impl AheadNumbers {
    pub(super) fn len(&self) -> usize {
        match &self.values {
            AheadValues::Floats(values) => values.len(),
            AheadValues::Integers(values) => values.len(),
        }
    }

    /// Returns the precision that the numbers would lose as float coordinates.
    pub(super) fn loss(&self) -> DigitLoss {
        self.loss
    }

    /// Appends the numbers to a list of floats, to which about `later` more will be appended. Always returns `true`:
    /// converting an integer yields the same float as parsing its digits.
    pub(super) fn floats(&self, out: &mut Vec<f32>, later: usize) -> Result<bool> {
        match &self.values {
            AheadValues::Floats(values) => huge::extend(out, values, later)?,
            AheadValues::Integers(values) => {
                out.try_reserve(values.len()).map_err(Error::from)?;
                out.extend(values.iter().map(|&value| value as f32));
            }
        }
        Ok(true)
    }

    /// Appends the numbers to a list of integers. Returns `false` if they are floats.
    pub(super) fn integers(&self, out: &mut Vec<i32>, later: usize) -> Result<bool> {
        let AheadValues::Integers(values) = &self.values else { return Ok(false) };
        huge::extend(out, values, later)?;
        Ok(true)
    }
}

impl Drop for AheadNumbers {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.values, AheadValues::Floats(Vec::new())) {
            AheadValues::Floats(values) => self.pool.floats.put(values),
            AheadValues::Integers(values) => self.pool.integers.put(values),
        }
    }
}

impl<T> AheadVectors<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an empty vector with capacity for the numbers in `bytes` of text.
    fn take(&self, bytes: usize) -> Option<Vec<T>> {
        let mut values = self.lock().pop().unwrap_or_default();
        values.try_reserve(bytes / NUMBER_BYTES).ok()?;
        Some(values)
    }

    fn put(&self, mut values: Vec<T>) {
        values.clear();
        let mut pool = self.lock();
        // If the pool cannot grow, the vector is freed.
        if pool.try_reserve(1).is_ok() {
            pool.push(values);
        }
    }
}

impl AheadPool {
    /// Parses the numbers in `range`, from the first number that starts in it to the last number that ends in it or to
    /// another token. Returns `None` if there are fewer than [`MIN_NUMBERS`], or if the next token may be a directive.
    pub(super) fn numbers(self: &Arc<Self>, text: &[u8], range: Range<usize>) -> Option<ParsedAhead> {
        let share = text.get(range.clone())?;
        // The first number may start before the range.
        let start = range.start + share.iter().position(|&byte| is_blank(byte))? + 1;
        // `Lists` needs white space after its text.
        let end = range.start + share.iter().rposition(|&byte| is_blank(byte))?;
        if start >= end {
            return None;
        }
        let mut loss = DigitLoss::default();
        let (values, stop) = self.integers(text, start..end).or_else(|| self.floats(text, start..end, &mut loss))?;
        // A capital letter after white space may start a directive, so it must stay in the text.
        let next = text.get(stop..range.end)?.iter().find(|&&byte| !is_blank(byte));
        if next.is_some_and(u8::is_ascii_uppercase) {
            return None;
        }
        let skipped = text.get(start..stop)?;
        let lines = skipped.iter().map(|&byte| u32::from(byte == b'\n')).sum();
        let tail = skipped.len() - memchr::memrchr(b'\n', skipped).map_or(0, |at| at + 1);
        if let AheadValues::Integers(values) = &values {
            // An integer loses precision only if no float equals it.
            loss.short = values.iter().map(|&value| u64::from(is_between_floats(value))).sum();
        }
        let numbers = AheadNumbers { values, loss, lines, tail, pool: self.clone() };
        (numbers.len() >= MIN_NUMBERS).then(|| ParsedAhead { range: start..stop, values: Box::new(numbers) })
    }

    /// Parses numbers up to another token. Returns `None` unless all are integers.
    fn integers(&self, text: &[u8], range: Range<usize>) -> Option<(AheadValues, usize)> {
        let mut values = self.integers.take(range.len())?;
        let stop = Lists::new(text, range.end, Level::best()).i32s(range.start, &mut values)?.offset;
        let stop = stop.min(range.end);
        // If the next token may be a number, the list contains floats.
        let is_end = stop == range.end || text.get(stop).is_some_and(|&byte| ends_token(byte) || byte == b'#');
        // A negative zero keeps its sign only as a float.
        if !is_end || memchr::memmem::find(&text[range.start..stop], b"-0").is_some() {
            self.integers.put(values);
            return None;
        }
        Some((AheadValues::Integers(values), stop))
    }

    /// Parses numbers as floats up to another token.
    fn floats(&self, text: &[u8], range: Range<usize>, loss: &mut DigitLoss) -> Option<(AheadValues, usize)> {
        let mut values = self.floats.take(range.len())?;
        let stop = Lists::new(text, range.end, Level::best()).coordinates(range.start, &mut values, loss)?.offset;
        Some((AheadValues::Floats(values), stop.min(range.end)))
    }
}

/// Returns whether a 32-bit float cannot represent an integer exactly.
fn is_between_floats(value: i32) -> bool {
    f64::from(value as f32) != f64::from(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a text after its first token: returns the rest, the numbers, the line count and the tail.
    fn parsed(text: &str) -> Option<(String, AheadValues, u32, usize)> {
        let padded = [&[b'\n'; 128], text.as_bytes(), &[b'\n'; 128]].concat();
        let ParsedAhead { range, values } = Arc::new(AheadPool::default()).numbers(&padded, 128..128 + text.len())?;
        let mut numbers = values.downcast::<AheadNumbers>().ok()?;
        let values = std::mem::replace(&mut numbers.values, AheadValues::Integers(Vec::new()));
        Some((String::from_utf8_lossy(&padded[range.end..]).trim_end().into(), values, numbers.lines, numbers.tail))
    }

    #[test]
    fn zeros_with_a_sign_are_floats() {
        let list = |zero: &str| format!("5 {} {zero} 7 8", "12 ".repeat(80));
        for (zero, is_float) in [("0", false), ("-0", true), ("-1", false), ("-0.0", true), ("1e2", true)] {
            let (_, values, ..) = parsed(&list(zero)).unwrap();
            let signed = |values: &[f32]| values.iter().any(|value| value.to_bits() == (-0.0f32).to_bits());
            match values {
                AheadValues::Floats(values) => assert!(is_float && signed(&values) == zero.starts_with("-0")),
                AheadValues::Integers(_) => assert!(!is_float, "{zero}"),
            }
        }
    }

    #[test]
    fn a_list_of_integers_ends_where_one_of_floats_follows() {
        let text = format!("1 {}\n3 ] \"point3 P\" [ 0.5 {}", "12 ".repeat(80), "1.5 ".repeat(80));
        let (rest, values, lines, tail) = parsed(&text).unwrap();
        assert!(matches!(values, AheadValues::Integers(values) if values.len() == 81 && values[80] == 3));
        assert!(rest.starts_with("] \"point3"));
        assert_eq!((lines, tail), (1, 2));
    }

    #[test]
    fn a_few_numbers_are_left_alone() {
        assert!(parsed(&"1 ".repeat(MIN_NUMBERS)).is_none());
        assert!(parsed(&"1 ".repeat(MIN_NUMBERS + 2)).is_some());
        assert!(parsed(&"x ".repeat(200)).is_none());
        assert!(parsed("").is_none() && parsed("x").is_none() && parsed("x y").is_none() && parsed("1 2 3").is_none());
    }

    #[test]
    fn a_possible_directive_stays_in_the_text() {
        assert!(parsed(&("x\n".to_owned() + &"1 ".repeat(80) + "Foo 1 2 3")).is_none());
        assert!(parsed(&("x\n".to_owned() + &"1 ".repeat(80) + "] Foo")).is_some());
    }
}
