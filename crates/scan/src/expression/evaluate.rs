//! Evaluates steps over blocks of rows: each step is one loop over a block, which the compiler can vectorize.

use super::{One, Step, Two};
use polyhaul_model::error::planted;

/// Rows per block: a few blocks fit in the cache of a core.
pub(crate) const BLOCK: usize = 1024;

/// Values of a block.
type Numbers = [f64; BLOCK];

/// Evaluates steps. Reuses its memory for all blocks.
#[derive(Default)]
pub(crate) struct Bench {
    stack: Vec<Box<Numbers>>,
}

impl Bench {
    /// Evaluates at most [`BLOCK`] rows and returns their results. If the steps form a condition, results other than 0
    /// are true. `column` fills in the values of the column with the given index.
    pub(crate) fn evaluate(&mut self, steps: &[Step], rows: usize, column: impl Fn(usize, &mut [f64])) -> &[f64] {
        let mut top = 0;
        for step in steps {
            match *step {
                Step::Number(value) => self.room(top)[..rows].fill(value),
                Step::Column(index) => column(index, &mut self.room(top)[..rows]),
                Step::One(function) => {
                    top -= 1;
                    apply_one(function, &mut self.room(top)[..rows]);
                }
                Step::Two(two) => {
                    top -= 2;
                    if let [left, right, ..] = &mut self.stack[top..] {
                        apply_two(two, &mut left[..rows], &right[..rows]);
                    }
                }
            }
            top += 1;
        }
        self.stack.first().map_or(&[], |result| &result[..rows])
    }

    fn room(&mut self, at: usize) -> &mut Numbers {
        if at == self.stack.len() {
            self.stack.push(Box::new([0.0; BLOCK]));
        }
        &mut self.stack[at]
    }
}

fn truth(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

fn apply_one(function: One, values: &mut [f64]) {
    fn each(values: &mut [f64], change: impl Fn(f64) -> f64) {
        values.iter_mut().for_each(|value| *value = change(*value));
    }
    match function {
        One::Negate => each(values, |value| -value),
        One::Not => each(values, |value| truth(value == 0.0)),
        One::Abs => each(values, f64::abs),
        One::Sqrt => each(values, f64::sqrt),
        One::Exp => each(values, f64::exp),
        One::Log => each(values, f64::ln),
        One::Floor => each(values, f64::floor),
        One::Sigmoid => each(values, |value| 1.0 / (1.0 + (-value).exp())),
        One::IsFinite => each(values, |value| truth(value.is_finite())),
    }
}

fn apply_two(two: Two, left: &mut [f64], right: &[f64]) {
    fn each(left: &mut [f64], right: &[f64], join: impl Fn(f64, f64) -> f64) {
        left.iter_mut().zip(right).for_each(|(left, &right)| *left = join(*left, right));
    }
    match two {
        Two::Add => each(left, right, |a, b| a + b),
        Two::Subtract => each(left, right, |a, b| a - b),
        Two::Multiply => each(left, right, |a, b| a * b),
        Two::Divide => each(left, right, |a, b| a / b),
        Two::Remainder => each(left, right, |a, b| a % b),
        Two::Less => each(left, right, |a, b| truth(a < b)),
        Two::LessOrEqual => each(left, right, |a, b| truth(a < b || a == b && !planted("filter-border"))),
        Two::Greater => each(left, right, |a, b| truth(a > b)),
        Two::GreaterOrEqual => each(left, right, |a, b| truth(a >= b)),
        Two::Equal => each(left, right, |a, b| truth(a == b)),
        Two::NotEqual => each(left, right, |a, b| truth(a != b)),
        Two::And => each(left, right, |a, b| a * b),
        Two::Or => each(left, right, |a, b| truth(a + b > 0.0)),
        Two::Min => each(left, right, f64::min),
        Two::Max => each(left, right, f64::max),
    }
}
