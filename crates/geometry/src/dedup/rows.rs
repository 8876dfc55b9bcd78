//! Deduplicates rows of floats by their bits, except that 0 equals -0 and NaN is unequal to everything.
//!
//! A key has 64 bits, so rows of three floats take two rounds: the first round numbers pairs of the first two floats,
//! and the second round numbers pairs of that number and the third float.

use super::{BATCH, Dedup, DedupKey, Items, Unique};
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::Cancel;

/// Slots that equal rows tend to share: one per row, and the number of slots.
pub type Hints<'a> = Option<(&'a [u32], usize)>;

/// Numbers the distinct rows by their first appearance.
///
/// # Errors
/// As for `Dedup::run`.
pub fn number_rows<const N: usize>(
    rows: &[[f32; N]],
    hints: Hints<'_>,
    threads: usize,
    cancel: &Cancel,
) -> Result<Unique> {
    const { assert!(N >= 2) };
    let mut unique = Unique::default();
    Dedup::new().run(&Pairs { rows, hints }, threads, cancel, &mut unique)?;
    (2..N).try_fold(unique, |unique, part| {
        // Rows that all differ stay distinct.
        if unique.first.len() == rows.len() {
            return Ok(unique);
        }
        let bits_of = |item: usize| bits(rows[item][part]);
        number_joined(&unique.of_item, unique.first.len(), bits_of, threads, cancel)
    })
}

/// Numbers items by both an existing number below `count` and an additional part, compared by its bits. A part of
/// `None` is unequal to everything.
///
/// # Errors
/// As for `Dedup::run`.
pub fn number_joined(
    numbers: &[u32],
    count: usize,
    part: impl Fn(usize) -> Option<u32> + Sync,
    threads: usize,
    cancel: &Cancel,
) -> Result<Unique> {
    let mut unique = Unique::default();
    Dedup::new().run(&DedupJoined { numbers, count, part }, threads, cancel, &mut unique)?;
    Ok(unique)
}

/// Returns the bits to compare, or `None` for NaN, which is unequal to everything.
#[inline]
fn bits(part: f32) -> Option<u32> {
    // Adding 0 turns -0 into 0.
    if part.is_nan() { None } else { Some((part + 0.0).to_bits()) }
}

fn key(first: Option<u32>, second: Option<u32>) -> DedupKey {
    match (first, second) {
        (Some(first), Some(second)) => DedupKey::Value(u64::from(first) << 32 | u64::from(second)),
        _ => DedupKey::Alone,
    }
}

/// Rows keyed by their first two floats.
struct Pairs<'a, const N: usize> {
    rows: &'a [[f32; N]],
    hints: Hints<'a>,
}

impl<const N: usize> Items for Pairs<'_, N> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        for (place, &offset) in keys.iter_mut().zip(offsets) {
            let row = &self.rows[start + usize::from(offset)];
            *place = key(bits(row[0]), bits(row[1]));
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
        let a = &self.rows[a];
        let b = &self.rows[b];
        // Comparing bits tells 0 and -0 apart, which is allowed here: such rows get equal keys later.
        a.iter().zip(b).take(2).all(|(a, b)| a.to_bits() == b.to_bits() && !a.is_nan())
    }
}

/// Items keyed by a number and a part.
struct DedupJoined<'a, F> {
    numbers: &'a [u32],
    count: usize,
    part: F,
}

impl<F: Fn(usize) -> Option<u32> + Sync> Items for DedupJoined<'_, F> {
    fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        for (place, &offset) in keys.iter_mut().zip(offsets) {
            let item = start + usize::from(offset);
            *place = key(Some(self.numbers[item]), (self.part)(item));
        }
    }

    #[inline]
    fn hint(&self, item: usize) -> usize {
        self.numbers[item] as usize
    }

    fn hint_count(&self) -> usize {
        self.count
    }

    #[inline]
    fn surely_same(&self, a: usize, b: usize) -> bool {
        let part = (self.part)(a);
        self.numbers[a] == self.numbers[b] && part.is_some() && part == (self.part)(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::NONE;

    #[test]
    fn all_parts_count_and_the_sign_of_zero_does_not() {
        let rows = [[0.0, 1.0, 2.0], [0.0, 1.0, 3.0], [-0.0, 1.0, 2.0], [0.0, f32::NAN, 2.0], [0.0, f32::NAN, 2.0]];
        for hints in [None, Some((&[0, 0, 0, 0, 0][..], 1))] {
            for threads in [1, 3] {
                let unique = number_rows(&rows, hints, threads, &Cancel::default()).unwrap();
                assert_eq!((unique.first, unique.of_item), (vec![0, 1, 3, 4], vec![0, 1, 0, 2, 3]));
            }
        }
        let flat = number_rows(&[[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], None, 1, &Cancel::default()).unwrap();
        assert_eq!(flat.of_item, [0, 1, 0]);
    }

    #[test]
    fn many_rows_are_numbered_as_one_by_one() {
        let rows: Vec<[f32; 3]> = (0..300_000u32).map(|i| [i % 7, i % 11, i % 1013].map(|part| part as f32)).collect();
        let unique = number_rows(&rows, None, 2, &Cancel::default()).unwrap();
        let mut seen = std::collections::HashMap::new();
        let mut first = Vec::new();
        for (item, row) in (0..).zip(&rows) {
            let next = seen.len() as u32;
            let number = *seen.entry(row.map(f32::to_bits)).or_insert(next);
            if number == next {
                first.push(item);
            }
            assert!(number != NONE && unique.of_item[item as usize] == number);
        }
        assert_eq!(unique.first, first);
    }
}
