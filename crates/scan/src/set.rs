//! Sets of rows: one bit per row, with a rank index.

use polyhaul_model::error::{Error, Result, planted};
use polyhaul_pipeline::arrays::zeroed;

/// Words between rank counts: a count for every 512 rows takes an eighth of the memory of the bits.
const STEP: usize = 8;

/// A set of rows to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSet {
    words: Vec<u64>,
    rows: u64,
    /// The number of kept rows before every [`STEP`]th word; computed by [`RowSet::seal`].
    before: Vec<u64>,
    kept: u64,
}

impl RowSet {
    /// The number of rows, kept or not.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of kept rows.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether all rows are kept.
    pub fn is_all(&self) -> bool {
        self.kept == self.rows
    }

    /// Whether a row is kept.
    pub fn has(&self, row: u64) -> bool {
        row < self.rows && self.words[(row / 64) as usize] >> (row % 64) & 1 == 1
    }

    /// The number of kept rows before `row`. For a kept row, this is its new index.
    pub fn rank(&self, row: u64) -> u64 {
        if row >= self.rows {
            return self.kept;
        }
        let word = (row / 64) as usize;
        let bit = row % 64;
        let whole: u64 = self.words[word / STEP * STEP..word].iter().map(|word| u64::from(word.count_ones())).sum();
        let last = (self.words[word] & ((1 << bit) - u64::from(!planted("rank-self")))).count_ones();
        self.before[word / STEP] + whole + u64::from(last)
    }

    /// The kept rows among `count` rows starting at `first`, in order, as offsets from `first`.
    pub fn among(&self, first: u64, count: usize) -> impl Iterator<Item = usize> {
        let end = first.saturating_add(count as u64).min(self.rows);
        let words = first / 64..end.div_ceil(64).max(first / 64);
        words.flat_map(move |index| {
            let start = index * 64;
            let mut word = self.words.get(index as usize).copied().unwrap_or(0);
            word &= u64::MAX << first.saturating_sub(start).min(63);
            if end - start.min(end) < 64 {
                word &= (1 << (end - start.min(end))) - 1;
            }
            std::iter::from_fn(move || {
                let bit = u64::from(word.trailing_zeros());
                // Clear the lowest bit.
                word &= word.checked_sub(1)?;
                Some((start + bit - first) as usize)
            })
        })
    }

    /// Creates a sealed set of the items below `count` for which `keeps` returns `true`.
    pub(crate) fn from_fn(count: usize, mut keeps: impl FnMut(usize) -> Result<bool>) -> Result<RowSet> {
        let mut words: Vec<u64> = zeroed(count.div_ceil(64), "the rows to keep")?;
        for item in 0..count {
            words[item / 64] |= u64::from(keeps(item)?) << (item % 64);
        }
        let mut set = RowSet { words, rows: count as u64, ..RowSet::default() };
        set.seal()?;
        Ok(set)
    }

    /// Appends rows. Bit `i` of `bits` is 1 if the `i`-th of these rows is kept.
    pub(crate) fn extend(&mut self, bits: &[u64], rows: usize) -> Result<()> {
        self.words.try_reserve(bits.len() + 1).map_err(|_| Error::memory("the rows to keep"))?;
        let shift = self.rows % 64;
        let mut left = rows as u64;
        for &bits in bits {
            let count = left.min(64);
            let bits = if count < 64 { bits & ((1 << count) - 1) } else { bits };
            match self.words.last_mut().filter(|_| shift > 0) {
                Some(last) => {
                    *last |= bits << shift;
                    if shift + count > 64 {
                        self.words.push(bits >> (64 - shift));
                    }
                }
                None => self.words.push(bits),
            }
            left -= count;
        }
        self.rows += rows as u64;
        Ok(())
    }

    /// Removes kept rows for which `keeps` returns `false`. `keeps` is called once for each kept row, in order.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut() -> bool) {
        for word in &mut self.words {
            let mut left = *word;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left ^= bit;
                if !keeps() {
                    *word ^= bit;
                }
            }
        }
    }

    /// Computes the rank counts. Must be called after the last change.
    pub(crate) fn seal(&mut self) -> Result<()> {
        let steps = self.words.len().div_ceil(STEP);
        self.before.clear();
        self.before.try_reserve_exact(steps).map_err(|_| Error::memory("the rows to keep"))?;
        self.kept = 0;
        for step in self.words.chunks(STEP) {
            self.before.push(self.kept);
            self.kept += step.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        Ok(())
    }

    /// Counts the kept rows of a set that is not sealed yet.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[&[bool]]) -> RowSet {
        let mut set = RowSet::default();
        for part in parts {
            let word = |bits: &[bool]| bits.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
            let words: Vec<u64> = part.chunks(64).map(word).collect();
            set.extend(&words, part.len()).unwrap();
        }
        set.seal().unwrap();
        set
    }

    #[test]
    fn sets_of_parts_are_those_of_all_rows() {
        let bits: Vec<bool> = (0..1500).map(|row: u32| row.wrapping_mul(2_654_435_761) >> 29 != 0).collect();
        let whole = set(&[&bits]);
        for cuts in [[0, 1, 63], [64, 65, 200], [1, 2, 700], [63, 127, 1499], [512, 1024, 1500]] {
            let [a, b, c] = cuts;
            assert_eq!(set(&[&bits[..a], &bits[a..b], &bits[b..c], &bits[c..]]), whole, "{cuts:?}");
        }
        let mut rank = 0;
        for (row, &is_set) in bits.iter().enumerate() {
            assert_eq!((whole.has(row as u64), whole.rank(row as u64)), (is_set, rank), "{row}");
            rank += u64::from(is_set);
        }
        assert_eq!((whole.kept(), whole.rank(5000), whole.has(1500)), (rank, rank, false));
        for (first, count) in [(0, 1500), (0, 0), (3, 60), (64, 64), (100, 1), (63, 2), (1490, 100), (1500, 3), (9, 55)]
        {
            let expected: Vec<_> = (0..count).filter(|at| bits.get(first + at).is_some_and(|&is_set| is_set)).collect();
            assert_eq!(whole.among(first as u64, count).collect::<Vec<_>>(), expected, "{first} {count}");
        }
    }
}
