//! Numbers of lists that are longer than a piece, parsed in advance by the workers that read them.
//!
//! A share of a file without a directive is nearly always a part of one list. Its numbers mean the same whatever
//! precedes them, provided that they are list elements, which is known only in [`super::parse`]: it uses them where it
//! would have parsed them itself. Where it would not (in a comment, or in a list of another type), it parses the whole
//! text once more.

use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::chunk::ParsedAhead;
use polyhaul_pipeline::huge;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::{Lists, ends_token, is_blank};
use polyhaul_text::parse::positions::DigitLoss;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Fewer numbers are not parsed in advance.
const MIN_NUMBERS: usize = 64;
/// The usual bytes of a number and its separator, for the first allocation.
pub(super) const NUMBER_BYTES: usize = 8;

/// Numbers of a list.
pub(super) struct AheadNumbers {
    values: AheadValues,
    loss: DigitLoss,
    /// The number of line ends in their text, and the bytes after the last one.
    pub(super) lines: u32,
    pub(super) tail: usize,
    pool: Arc<AheadPool>,
}

enum AheadValues {
    Floats(Vec<f32>),
    /// All are integers, and none is a zero with a sign.
    Integers(Vec<i32>),
}

/// Vectors for reuse. Otherwise the numbers of a list of megabytes would take fresh memory twice.
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

    /// What they lose as floats if they are coordinates: whether there are short numbers that do, and how many long
    /// ones.
    pub(super) fn loss(&self) -> DigitLoss {
        self.loss
    }

    /// Appends them to a list of floats, which `later` more will follow. Converting an integer gives the same float as
    /// parsing its digits.
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

    /// Appends them to a list of integers; `false` if they are floats.
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

    /// An empty vector with room for the numbers of a text of `bytes`.
    fn take(&self, bytes: usize) -> Option<Vec<T>> {
        let mut values = self.lock().pop().unwrap_or_default();
        values.try_reserve(bytes / NUMBER_BYTES).ok()?;
        Some(values)
    }

    fn put(&self, mut values: Vec<T>) {
        values.clear();
        let mut pool = self.lock();
        // Without memory for another entry, the vector is freed.
        if pool.try_reserve(1).is_ok() {
            pool.push(values);
        }
    }
}

impl AheadPool {
    /// Parses the numbers of `range`, from the first that starts in it up to the last that ends in it, or up to another
    /// token.
    pub(super) fn numbers(self: &Arc<Self>, text: &[u8], range: Range<usize>) -> Option<ParsedAhead> {
        let share = text.get(range.clone())?;
        let start = range.start + share.iter().position(|&byte| is_blank(byte))? + 1;
        // The byte after the text of `Lists` is white space.
        let end = range.start + share.iter().rposition(|&byte| is_blank(byte))?;
        if start >= end {
            return None;
        }
        let mut loss = DigitLoss::default();
        let (values, stop) = self.integers(text, start..end).or_else(|| self.floats(text, start..end, &mut loss))?;
        // A capital after white space may start a directive, which the text must still contain.
        let next = text.get(stop..range.end)?.iter().find(|&&byte| !is_blank(byte));
        if next.is_some_and(u8::is_ascii_uppercase) {
            return None;
        }
        let skipped = text.get(start..stop)?;
        let lines = skipped.iter().map(|&byte| u32::from(byte == b'\n')).sum();
        let tail = skipped.len() - memchr::memrchr(b'\n', skipped).map_or(0, |at| at + 1);
        if let AheadValues::Integers(values) = &values {
            loss.short = values.iter().map(|&value| u64::from(is_between_floats(value))).sum();
        }
        let numbers = AheadNumbers { values, loss, lines, tail, pool: self.clone() };
        (numbers.len() >= MIN_NUMBERS).then(|| ParsedAhead { range: start..stop, values: Box::new(numbers) })
    }

    /// The numbers of a range up to another token, if all are integers.
    fn integers(&self, text: &[u8], range: Range<usize>) -> Option<(AheadValues, usize)> {
        let mut values = self.integers.take(range.len())?;
        let stop = Lists::new(text, range.end, Level::best()).i32s(range.start, &mut values)?.offset;
        let stop = stop.min(range.end);
        let is_end = stop == range.end || text.get(stop).is_some_and(|&byte| ends_token(byte) || byte == b'#');
        // As floats, some zeros have a sign.
        if !is_end || memchr::memmem::find(&text[range.start..stop], b"-0").is_some() {
            self.integers.put(values);
            return None;
        }
        Some((AheadValues::Integers(values), stop))
    }

    /// The numbers of a range up to another token.
    fn floats(&self, text: &[u8], range: Range<usize>, loss: &mut DigitLoss) -> Option<(AheadValues, usize)> {
        let mut values = self.floats.take(range.len())?;
        let stop = Lists::new(text, range.end, Level::best()).coordinates(range.start, &mut values, loss)?.offset;
        Some((AheadValues::Floats(values), stop.min(range.end)))
    }
}

/// Whether an integer is not a 32-bit float.
fn is_between_floats(value: i32) -> bool {
    f64::from(value as f32) != f64::from(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for a text without its first token: the rest, floats or integers, the lines and the tail.
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
