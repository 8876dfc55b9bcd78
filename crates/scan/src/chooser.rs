//! Evaluates rows and builds the set of rows to keep.

use crate::expression::{BLOCK, Bench, Step};
use crate::fields::{Field, Fields};
use crate::options::RowOptions;
use crate::set::RowSet;
use polyhaul_geometry::clean::mixed;
use polyhaul_model::Bounds;
use polyhaul_model::error::{Result, planted};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Number of 64-bit words of the result per work item.
const TURN: usize = 256;
const WORD: usize = u64::BITS as usize;

/// Selects rows, part by part.
pub struct Chooser<'o> {
    options: &'o RowOptions,
    run: &'o RunOptions,
    set: RowSet,
    /// Rows to skip before the next row that [`RowOptions::every`] keeps.
    skip: u64,
}

impl<'o> Chooser<'o> {
    /// Creates a chooser without rows.
    ///
    /// # Errors
    /// The same errors as [`RowOptions::check`].
    pub fn new(options: &'o RowOptions, run: &'o RunOptions) -> Result<Chooser<'o>> {
        options.check()?;
        Ok(Chooser { options, run, set: RowSet::default(), skip: 0 })
    }

    /// Evaluates the filter and the box for the rows of a part. Parts can be evaluated in any order.
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Usage`] if a column does not exist or does not have one number per row;
    /// [`polyhaul_model::error::ErrorKind::Memory`]; cancellation.
    pub fn look(&self, fields: &Fields<'_>) -> Result<Passed> {
        let RowOptions { filter, bounds, .. } = self.options;
        let rows = fields.rows();
        let tests = Tests {
            steps: filter.as_ref().map_or(&[], |filter| filter.steps()),
            columns: filter.as_ref().map(|filter| fields.bind(filter)).transpose()?.unwrap_or_default(),
            bounds: bounds.map(|bounds| fields.positions().map(|positions| (bounds, positions))).transpose()?,
        };
        let mut words: Vec<u64> = zeroed(rows.div_ceil(WORD), "the rows to keep")?;
        let turns = words.chunks_mut(TURN).enumerate();
        let threads = self.run.worker_threads();
        try_for_each_item(threads, &self.run.cancel, turns, Bench::default, |bench, (turn, words)| {
            tests.turn(turn * TURN * WORD, rows, words, bench);
            Ok(())
        })?;
        if let Some(last) = words.last_mut().filter(|_| !rows.is_multiple_of(WORD)) {
            *last &= (1 << (rows % WORD)) - 1;
        }
        Ok(Passed { words, rows })
    }

    /// Appends evaluated rows, in order, and applies [`RowOptions::every`].
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Memory`].
    pub fn add(&mut self, Passed { mut words, rows }: Passed) -> Result<()> {
        let every = self.options.every;
        if every > 1 {
            for word in &mut words {
                self.thin(word, every);
            }
        }
        self.set.extend(&words, rows)
    }

    /// Like [`Chooser::add`], but returns the final set of these rows. Ignores [`RowOptions::sample`], which needs the
    /// total number of rows that pass.
    ///
    /// # Errors
    /// The same errors as [`Chooser::add`].
    pub fn decide(&mut self, passed: Passed) -> Result<RowSet> {
        self.add(passed)?;
        let mut set = std::mem::take(&mut self.set);
        set.seal()?;
        Ok(set)
    }

    /// Keeps every n-th of the rows that passed.
    fn thin(&mut self, word: &mut u64, every: u64) {
        let mut left = *word;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            if self.skip > 0 {
                *word ^= bit;
                self.skip -= 1;
            } else {
                self.skip = every - u64::from(!planted("every-more"));
            }
        }
    }

    /// Returns the final set, after all rows were added.
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Memory`].
    pub fn finish(mut self) -> Result<RowSet> {
        if let Some(count) = self.options.sample {
            let mut pick = Picks::new(self.set.count(), count);
            self.set.retain(|| pick.next());
        }
        self.set.seal()?;
        Ok(self.set)
    }
}

/// The rows that pass the filter and are in the box, as one bit per evaluated row.
pub struct Passed {
    words: Vec<u64>,
    rows: usize,
}

/// Conditions on a row.
struct Tests<'a> {
    steps: &'a [Step],
    columns: Vec<Field<'a>>,
    bounds: Option<(Bounds<f64>, [Field<'a>; 3])>,
}

impl Tests<'_> {
    /// Evaluates rows, starting at `start`, and sets the bit in `words` of each row that passes.
    fn turn(&self, start: usize, rows: usize, words: &mut [u64], bench: &mut Bench) {
        for (block, words) in words.chunks_mut(BLOCK / WORD).enumerate() {
            let first = start + block * BLOCK;
            let count = (words.len() * WORD).min(rows - first);
            words.fill(u64::MAX);
            if !self.steps.is_empty() {
                let fill = |index: usize, out: &mut [f64]| self.columns[index].fill(first, out);
                narrow(words, bench.evaluate(self.steps, count, fill), |value| value != 0.0);
            }
            for (bounds, axis) in self.bounds.iter().flat_map(|bounds| (0..3).map(move |axis| (bounds, axis))) {
                let (Bounds { min, max }, fields) = bounds;
                let range = min[axis]..=max[axis];
                let values = bench.evaluate(&[Step::Column(0)], count, |_, out| fields[axis].fill(first, out));
                narrow(words, values, |value| range.contains(&value));
            }
        }
    }
}

/// Clears the bits of values that do not pass.
fn narrow(words: &mut [u64], values: &[f64], passes: impl Fn(f64) -> bool) {
    for (word, values) in words.iter_mut().zip(values.chunks(WORD)) {
        let bits = values.iter().rev().fold(0, |bits, &value| bits << 1 | u64::from(passes(value)));
        *word &= bits;
    }
}

/// Selects a random subset of a given size; all subsets have the same probability (Knuth, The Art of Computer
/// Programming, volume 2, 3.4.2, algorithm S).
struct Picks {
    left: u64,
    wanted: u64,
    state: u64,
}

impl Picks {
    fn new(rows: u64, count: u64) -> Picks {
        Picks { left: rows, wanted: count.min(rows), state: 0 }
    }

    fn next(&mut self) -> bool {
        self.state = self.state.wrapping_add(1);
        // A random number below `left`: the upper half of the product of `left` and a random 64-bit number.
        let below = (u128::from(mixed(self.state)) * u128::from(self.left)) >> 64;
        let is_taken = below < u128::from(self.wanted);
        self.left -= 1;
        self.wanted -= u64::from(is_taken);
        is_taken
    }
}
