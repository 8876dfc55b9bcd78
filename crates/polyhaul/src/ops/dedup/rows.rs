//! Equal rows of floats: their bits decide, except that zero and minus zero are one. NaN equals nothing.
//!
//! A key has 64 bits, so three floats take two rounds: the numbers of the first two are numbered together with
//! the third.

use super::{BATCH, Dedup, Items, Key, Unique};
use crate::error::Result;
use crate::options::Cancel;

/// The places where equal rows often meet: one per row, and how many places there are.
pub(crate) type Hints<'a> = Option<(&'a [u32], usize)>;

/// Numbers the distinct rows by their first appearance.
///
/// # Errors
/// As [`Dedup::run`].
pub(crate) fn number_rows<const N: usize>(
    rows: &[[f32; N]],
    hints: Hints<'_>,
    threads: usize,
    cancel: &Cancel,
) -> Result<Unique> {
    const { assert!(N >= 2) };
    let (mut dedup, mut found) = (Dedup::new(), Unique::default());
    dedup.run(&Pairs { rows, hints, numbers: None, part: 1 }, threads, cancel, &mut found)?;
    for part in 2..N {
        let numbers = std::mem::take(&mut found.of_item);
        dedup.run(&Pairs { rows, hints, numbers: Some(&numbers), part }, threads, cancel, &mut found)?;
    }
    Ok(found)
}

/// Rows by one part and all parts before it.
struct Pairs<'a, const N: usize> {
    rows: &'a [[f32; N]],
    hints: Hints<'a>,
    /// Equal where the parts before are; `None` where there is one such part.
    numbers: Option<&'a [u32]>,
    part: usize,
}

impl<const N: usize> Pairs<'_, N> {
    fn key(&self, item: usize) -> Key {
        let row = &self.rows[item];
        // Adding 0 makes minus zero zero.
        let bits = |part: f32| u64::from((part + 0.0).to_bits());
        let (before, is_nan) = match self.numbers {
            Some(numbers) => (u64::from(numbers[item]), false),
            None => (bits(row[0]), row[0].is_nan()),
        };
        let last = row[self.part];
        if is_nan || last.is_nan() { Key::Alone } else { Key::Value(before << 32 | bits(last)) }
    }
}

impl<const N: usize> Items for Pairs<'_, N> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [Key; BATCH]) {
        for (key, &offset) in keys.iter_mut().zip(offsets) {
            *key = self.key(start + usize::from(offset));
        }
    }

    #[inline]
    fn hint(&self, item: usize) -> usize {
        self.hints.map_or(0, |(places, _)| places[item] as usize)
    }

    fn hint_count(&self) -> usize {
        self.hints.map_or(0, |(_, count)| count)
    }

    #[inline]
    fn surely_same(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.rows[a], &self.rows[b]);
        a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() && !a.is_nan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NONE;

    #[test]
    fn all_parts_count_and_the_sign_of_zero_does_not() {
        let rows = [[0.0, 1.0, 2.0], [0.0, 1.0, 3.0], [-0.0, 1.0, 2.0], [0.0, f32::NAN, 2.0], [0.0, f32::NAN, 2.0]];
        for hints in [None, Some((&[0, 0, 0, 0, 0][..], 1))] {
            for threads in [1, 3] {
                let found = number_rows(&rows, hints, threads, &Cancel::default()).unwrap();
                assert_eq!((found.first, found.of_item), (vec![0, 1, 3, 4], vec![0, 1, 0, 2, 3]));
            }
        }
        let flat = number_rows(&[[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], None, 1, &Cancel::default()).unwrap();
        assert_eq!(flat.of_item, [0, 1, 0]);
    }

    #[test]
    fn many_rows_are_numbered_as_one_by_one() {
        let rows: Vec<[f32; 3]> = (0..300_000u32).map(|i| [i % 7, i % 11, i % 1013].map(|part| part as f32)).collect();
        let found = number_rows(&rows, None, 2, &Cancel::default()).unwrap();
        let (mut seen, mut first) = (std::collections::HashMap::new(), Vec::new());
        for (item, row) in (0..).zip(&rows) {
            let next = seen.len() as u32;
            let number = *seen.entry(row.map(f32::to_bits)).or_insert(next);
            if number == next {
                first.push(item);
            }
            assert!(number != NONE && found.of_item[item as usize] == number);
        }
        assert_eq!(found.first, first);
    }
}
